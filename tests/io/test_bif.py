"""BIF: every dialect reads to the same numbers, every error says where it is, and writing loses nothing."""

from __future__ import annotations

import re
import time
import warnings
from itertools import product

import numpy as np
import pytest
from random_networks import NASTY_WORDS, random_network
from tests.io.text_samples import check_refused

from benchmark_networks import READ, benchmark_text
from plausible.cpds import LinearGaussianCPD, NoisyOr, TableCPD
from plausible.errors import FormatError, NotRepresentable, RoundedProbabilities
from plausible.factors import Factor
from plausible.io.bif import format_bif, parse_bif
from plausible.models import BayesianNetwork, MarkovNetwork, Notes, VariableNotes
from plausible.variables import Variable

TWO = """network test {}
variable A { type discrete [ 2 ] { a0, a1 }; }
variable B { type discrete [ 3 ] { b0, b1, b2 }; }
variable C { type discrete [ 2 ] { c0, c1 }; }
probability ( A ) { table 0.25, 0.75; }
probability ( B ) { table 0.5, 0.25, 0.25; }
"""

# P(C = c0 | A, B), A changing slowest.
FIRST = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]
ROWS = [[p, 1 - p] for p in FIRST]


def child_rows(body: str, head: str = "probability ( C | A, B )") -> list[list[float]]:
    table = parse_bif(f"{TWO}{head} {{ {body} }}").cpd("C")
    assert table.parent_names == ("A", "B")
    return np.asarray(table.to_table().values).reshape(-1, 2).tolist()


def labelled(row: tuple[str, str], numbers: list[float]) -> str:
    return f"({row[0]}, {row[1]}) {numbers[0]!r}, {numbers[1]!r};"


CONFIGURATIONS = list(product(["a0", "a1"], ["b0", "b1", "b2"]))
WRITTEN_ROWS = [labelled(row, numbers) for row, numbers in zip(CONFIGURATIONS, ROWS, strict=True)]


@pytest.mark.parametrize("seed", range(8))
def test_rows_are_placed_by_their_labels_in_whatever_order_they_come(seed):
    order = np.random.default_rng(seed).permutation(6)
    assert child_rows(" ".join(WRITTEN_ROWS[i] for i in order)) == ROWS


@pytest.mark.parametrize(
    ("pattern", "head"),
    [
        ("({0},{1}) {2!r},{3!r};", "probability(C|A,B)"),
        ("({0}, {1}) {2!r} {3!r};", "probability ( C | A, B )"),
        ("( {0} {1} )\t{2!r}\n{3!r} ;", "probability ( C A B )"),
        ('("{0}" "{1}") {2!r}, {3!r};', 'probability ( "C" | "A" "B" )'),
        ("({0}, {1}) /* why */ {2!r}, // because\n {3!r};", "probability ( C, A, B )"),
        ("({0}, {1}) {2:.17e}, {3:.17E};", "probability ( C | A , B )"),
        ("property note {0} {1};\n({0}, {1}) {2!r}, {3!r};", "probability ( C | A, B )"),
        ("({0}, {1})\r\n  {2!r}, {3!r};\r\n", "probability\n(\nC\n|\nA,\nB\n)\n"),
    ],
)
def test_every_way_to_write_rows_reads_to_the_same_table(pattern, head):
    body = "\n".join(pattern.format(*row, *numbers) for row, numbers in zip(CONFIGURATIONS, ROWS, strict=True))
    assert child_rows(body, head) == ROWS


def test_a_table_lists_the_child_slowest_as_the_format_says():
    """The dog problem of the format's document: P(light on | family out) = 0.6 and 0.05."""
    text = """network "Dog-Problem" { //5 variables and 5 probability distributions
        property "credal-set constant-density-bounded 1.1" ;
    }
    variable  "light-on" { type discrete[2] {  "true"  "false" }; property "position = (218, 195)" ; }
    variable  "family-out" { type discrete[2] {  "true"  "false" }; property "position = (257, 99)" ; }
    probability (  "light-on"  "family-out" ) { //2 variable(s) and 4 values
        table 0.6 0.05 0.4 0.95 ;
    }
    probability (  "family-out" ) { table 0.15 0.85 ; }"""
    network = parse_bif(text)
    assert network.cpd("light-on").values.tolist() == [[0.6, 0.4], [0.05, 0.95]]
    assert network.notes.name == "Dog-Problem"
    assert network.notes.of("light-on").position == (218.0, 195.0)
    assert network.notes.properties == {"credal-set constant-density-bounded 1.1": ""}


def test_a_table_that_is_normalised_only_with_the_child_fastest_is_read_so():
    assert child_rows("table " + " ".join(f"{p!r} {q!r}" for p, q in ROWS) + ";") == ROWS


def test_a_table_normalised_both_ways_is_read_as_the_format_says():
    assert child_rows("table 0.5 0.5 0.5 0.5 0.5 0.5  0.5 0.5 0.5 0.5 0.5 0.5;")[0] == [0.5, 0.5]
    symmetric = parse_bif(
        "network n {} variable A { type discrete [ 2 ] { x, y }; } variable C { type discrete [ 2 ] { x, y }; }"
        "probability ( A ) { table 0.5, 0.5; } probability ( C | A ) { table 0.2, 0.8, 0.8, 0.2; }"
    )
    assert symmetric.cpd("C").values.tolist() == [[0.2, 0.8], [0.8, 0.2]]


def test_a_table_in_the_documented_order_may_miss_one_by_rounding():
    with pytest.warns(RoundedProbabilities, match="'C'"):
        rows = child_rows("table 0.1 0.2 0.3 0.4 0.5 0.6 0.9 0.8 0.7 0.6 0.5 0.4003;")
    assert np.allclose(rows, ROWS, atol=1e-3)
    assert np.allclose(np.sum(rows, axis=1), 1.0, atol=1e-15)


def test_the_default_fills_the_rows_that_are_left_out():
    assert child_rows("(a1, b0) 0.4, 0.6; default 0.3, 0.7;") == [[0.3, 0.7]] * 3 + [[0.4, 0.6]] + [[0.3, 0.7]] * 2
    assert child_rows("default 0.3, 0.7;") == [[0.3, 0.7]] * 6
    assert child_rows("default 0.3, 0.7; " + " ".join(WRITTEN_ROWS)) == ROWS


def test_names_of_the_wild_need_no_quotation_marks():
    text = """network unknown {
    }
    variable X-Ray/2.0 {
      type discrete [ 5 ] { <5, 5-12, >=30, 1.5, (a) };
    }
    variable größe {
      type discrete[2]{not done,all done};
    }
    probability ( X-Ray/2.0 ) { table 0.2, 0.2, 0.2, 0.2, 0.2; }
    probability ( größe | X-Ray/2.0 ) {
      (<5) 0.1, 0.9; (5-12) 0.2, 0.8; (>=30) 0.3, 0.7; (1.5) 0.4, 0.6; ((a)) 0.5, 0.5;
    }"""
    network = parse_bif(text)
    assert network.variables["X-Ray/2.0"].states == ("<5", "5-12", ">=30", "1.5", "(a)")
    assert network.variables["größe"].states == ("not done", "all done")
    assert network.cpd("größe").values[:, 0].tolist() == [0.1, 0.2, 0.3, 0.4, 0.5]
    assert network.notes.name == ""


def test_blocks_come_in_any_order_and_variables_keep_theirs():
    text = """probability ( B | A ) { (x) 1, 0; (y) 0, 1; }
    variable B { type discrete [ 2 ] { u, v }; }
    # a remark between blocks
    variable A { property colour = red; type discrete [ 2 ] { x, y }; }
    network late { property year = 1989; property a = b = c; property year = 1990; }
    probability ( A ) { table 1, 0; }"""
    network = parse_bif(text)
    assert list(network.variables) == ["B", "A"]
    assert network.notes.name == "late"
    assert network.notes.properties == {"year": "1989\n1990", "a": "b = c"}
    assert network.notes.of("A").properties == {"colour": "red"}


def test_properties_of_probability_blocks_are_kept_with_the_child():
    body = f'property source = "x}}y" // no comment; {WRITTEN_ROWS[0]} default 0.5, 0.5;'
    network = parse_bif(f"{TWO}probability ( C | A, B ) {{ {body} }}")
    assert network.notes.of("C").properties == {"probability.source": '"x}y" // no comment'}


CUT = "network n {}\nvariable A { type discrete [ 2 ] { x, y }; }\n"
PAIR = CUT + "variable B { type discrete [ 2 ] { u, v }; }\nprobability ( A ) { table 0.5, 0.5; }\n"


@pytest.mark.parametrize(
    ("text", "place", "part"),
    [
        ("", (1, 1), "no block"),
        ("<html></html>", (1, 1), "Expected a block"),
        ("\n  varible A { }", (2, 3), "Did you mean 'variable'?"),
        (CUT + "network m {}", (3, 1), "two network blocks"),
        ("network n { type discrete; }", (1, 13), "properties only"),
        ("network n {}\nvariable A { typ discrete [ 2 ] { x, y }; }", (2, 14), "Expected 'type ...;'"),
        ("network n {}\nvariable A { type discrete [ 3 ] { x, y }; }", (2, 14), "should have 3 states, but 2"),
        ("network n {}\nvariable A { type discrete [ 1000000000 ] { x, y }; }", (2, 14), "type discrete"),
        ("network n {}\nvariable A { type discrete [ 2 ] { x, y } }", (2, 43), "';'"),
        ("network n {}\nvariable A { type discrete [ 2 ] { x, x }; }", (2, 1), "'x' of 'A' stands twice"),
        ("network n {}\nvariable A { type discrete [ 0 ] { }; }", (2, 1), "at least one state"),
        ("network n {}\nvariable A { type continuous; }", (2, 19), "'continuous'"),
        ("network n {}\nvariable A { }", (2, 1), "has no 'type"),
        ("network n {}\nvariable { type discrete [ 1 ] { x }; }", (2, 1), "the name of the variable"),
        ("network n {}\nvariable A { type discrete [ 2 ] { x, y };", (2, 43), "the end of the file"),
        (CUT + "variable A { type discrete [ 1 ] { x }; }", (3, 1), "declared twice"),
        (CUT, (2, 1), "'A' has no distribution"),
        (CUT + "probability ( A ) { table 0.5, 0.5; }\nprobability ( A ) { table 0.4, 0.6; }", (4, 1), "two distr"),
        (CUT + "probability ( AA ) { table 0.5, 0.5; }", (3, 1), "Did you mean 'A'?"),
        (CUT + "probability ( ) { table 0.5, 0.5; }", (3, 1), "the name of a variable"),
        (CUT + "probability A { table 0.5, 0.5; }", (3, 1), "probability ( child"),
        (CUT + "probability ( A ) { table 0.5, 0.5 }", (3, 35), "Expected ';' after these numbers"),
        (CUT + "probability ( A ) { table 0.5, 0.5;", (3, 36), "The file ends"),
        (CUT + "probability ( A ) { table 0.5, 0.5; ", (3, 37), "The file ends"),
        (CUT + "probability ( A ) {\n  table 0.5,\n  0,5x; }", (5, 5), "Expected a number, not '5x'"),
        (CUT + "probability ( A ) { table 0.5, nan; }", (3, 32), "not 'nan'"),
        (CUT + "probability ( A ) { table 0.5, 1_0; }", (3, 32), "not '1_0'"),
        (CUT + "probability ( A ) { table 0.5, 1e999; }", (3, 1), "inf"),
        (CUT + "probability ( A ) { table 1.5, -0.5; }", (3, 1), "-0.5, which is no probability"),
        (CUT + "probability ( A ) { table 0.5, 0.4; }", (3, 1), "sums to 0.9"),
        (CUT + "probability ( A ) { table 0.5, 0.25, 0.25; }", (3, 26), "needs 2 numbers; the file has 3"),
        (CUT + "probability ( A ) { tabel 0.5, 0.5; }", (3, 21), "'table'"),
        (CUT + "probability ( A | A ) { (x) 1, 0; (y) 1, 0; }", (3, 1), "'A' stands twice"),
        (PAIR + "probability ( B | A ) { (x) 0.5, 0.5; }", (5, 24), "no row for A=y"),
        (PAIR + "probability ( B | A ) { (x) 0.5, 0.5;\n(y) 0.5 0.25 0.25; }", (6, 1), "has 3 numbers; it needs 2"),
        (PAIR + "probability ( B | A ) { (x) 0.5, 0.5;\n(x) 0.5, 0.5; }", (6, 1), "two rows for A=x"),
        (PAIR + "probability ( B | A ) { (x) 0.5, 0.5;\n(z) 0.5, 0.5; }", (6, 1), "'z' is not a state of 'A'"),
        (PAIR + "probability ( B | A ) { (x) 0.5, 0.5;\n(y, y) 0.5, 0.5; }", (6, 1), "each of its 1 parents"),
        (PAIR + "probability ( B | A ) { (x) 0.5, 0.5;\n(y) 0.5, 0.6; }", (6, 1), "sums to 1.1"),
        (PAIR + "probability ( B | A ) { (x) 0.5, 0.5;\n(y) 1.5, -0.5; }", (6, 1), "-0.5"),
        (PAIR + "probability ( B | A ) { (x) 0.5, 0.5;\n(y 0.5, 0.5; }", (6, 1), "expected ')'"),
        (CUT + "probability ( A ) {\n  table 0.5, 0.5\n}\nprobability ( B ) { table 1; }", (4, 17), "Expected ';'"),
        (PAIR + "probability ( B | A ) { (x) 0.5, 0.5;\n(y) 0.5, 0.5 }", (6, 13), "Expected ';' after these"),
        (PAIR + "probability ( B | A ) { (x) 0.5, 0.5; table 1 0 0 1; }", (5, 39), "other rows beside this table"),
        (PAIR + "probability ( B | A ) { default 0.5, 0.5; default 0.5, 0.5; }", (5, 43), "two default rows"),
        (PAIR + "probability ( B | D ) { default 0.5, 0.5; }", (5, 1), "'D', in this probability block"),
        (CUT + "probability ( A ) { table 0.5, 0.5; } /* open", (3, 39), "comment is not closed"),
        (CUT + 'variable "B { type discrete [ 1 ] { x }; }', (3, 1), "Expected '{'"),
        (
            "variable A { type discrete [ 1 ] { x }; } variable B { type discrete [ 1 ] { x }; }\n"
            "probability ( A | B ) { (x) 1; }\nprobability ( B | A ) { (x) 1; }",
            None,
            "directed cycle",
        ),
    ],
)
def test_an_error_says_what_is_wrong_and_where(text, place, part):
    check_refused(parse_bif, text, part, place)


def test_a_default_can_not_make_a_small_file_huge():
    names = [f"X{i}" for i in range(40)]
    text = "".join(f"variable {name} {{ type discrete [ 2 ] {{ x, y }}; }}\n" for name in names)
    text += "".join(f"probability ( {name} ) {{ table 1, 0; }}\n" for name in names[1:])
    with pytest.raises(FormatError, match="numbers, most of them the default"):
        parse_bif(text + f"probability ( X0 | {', '.join(names[1:])} ) {{ default 0.5, 0.5; }}")
    with pytest.raises(FormatError, match="no row for X1=x"):
        parse_bif(text + f"probability ( X0 | {', '.join(names[1:])} ) {{ }}")
    with pytest.raises(FormatError, match=r"needs 1099511627776 numbers"):
        parse_bif(text + f"probability ( X0 | {', '.join(names[1:])} ) {{ table 0.5, 0.5; }}")


@pytest.mark.parametrize(
    "text",
    [
        "probability (" * 20_000,
        'network "' * 20_000,
        "/*" * 50_000,
        '"\\' * 50_000,
        "variable A { property" * 20_000,
        CUT + "probability ( A ) {" + "(" * 100_000,
        CUT + "probability ( A ) { table " + "1" * 100_000 + ";}",
        CUT + "probability ( A ) { table 0.5, 0.5; }" + "\n" * 200_000 + "?",
        "network n {} variable A { type discrete [ 2 ] {" + '"' * 100_001 + "}",
    ],
)
def test_hostile_texts_are_refused_at_once(text):
    start = time.perf_counter()
    with pytest.raises(FormatError):
        parse_bif(text)
    assert time.perf_counter() - start < 5.0


@pytest.mark.parametrize("num_states", [1, 2])
@pytest.mark.parametrize("num_parents", [79, 500])
@pytest.mark.parametrize("body", ["default {};", "table {};", ""])
def test_a_variable_with_more_parents_than_arrays_have_axes_is_refused(num_states, num_parents, body):
    names = [f"X{i}" for i in range(num_parents + 1)]
    states, row = ("x", "1") if num_states == 1 else ("x, y", "0.5, 0.5")
    text = "".join(f"variable {name} {{ type discrete [ {num_states} ] {{ {states} }}; }}\n" for name in names)
    text += "".join(f"probability ( {name} ) {{ table {row}; }}\n" for name in names[1:])
    with pytest.raises(FormatError, match=f"{num_parents} parents"):
        parse_bif(text + f"probability ( X0 | {', '.join(names[1:])} ) {{ {body.format(row)} }}")


def test_what_is_written_for_a_small_network():
    network = BayesianNetwork(
        TableCPD("sky", [0.25, 0.75], states=["clear", "table"]),
        TableCPD("hot?", {"clear": [0.5, 0.5], "table": [0.1, 0.9]}, parents=["sky"], states=[False, True]),
        notes=Notes(name="weather").with_variable("sky", VariableNotes(label="the sky", position=(1.0, 2.5))),
    )
    assert format_bif(network) == (
        "network weather {\n}\n"
        "variable sky {\n"
        "  type discrete [ 2 ] { clear, _table };\n"
        '  property plausible_states = ["clear", "table"];\n'
        "  property position = (1, 2.5);\n"
        "  property label = the sky;\n"
        "}\n"
        "variable hot_ {\n"
        "  type discrete [ 2 ] { False, True };\n"
        '  property plausible_name = "hot?";\n'
        "  property plausible_states = [false, true];\n"
        "}\n"
        "probability ( sky ) {\n  table 0.25, 0.75;\n}\n"
        "probability ( hot_ | sky ) {\n  (clear) 0.5, 0.5;\n  (_table) 0.1, 0.9;\n}\n"
    )


@pytest.mark.parametrize("name", ["", *NASTY_WORDS, "unknown", "a\rb", "\x00", "plausible_name"])
def test_texts_of_notes_come_back_whatever_they_are(name):
    notes = Notes(
        name=name,
        description=name,
        reference=name,
        properties={f"x{name}": name, "label": name, "name": name, "plausible_x": name, name: "v"},
    ).with_variable("A", VariableNotes(label=name, description=name, properties={"position": name, "k": name}))
    network = BayesianNetwork(TableCPD("A", [1.0]), notes=notes)
    assert parse_bif(format_bif(network)).notes == notes


def test_stand_ins_for_names_that_collide_are_told_apart():
    names = ['a"b', "a_b", "a\nb", "a_b_2"]
    network = BayesianNetwork(*(TableCPD(name, [0.5, 0.5], states=['x"y', "x_y"]) for name in names))
    text = format_bif(network)
    assert parse_bif(text) == network
    assert text.count("plausible_name") == 2


def test_a_name_edited_elsewhere_wins_over_the_note_on_its_stand_in():
    network = BayesianNetwork(TableCPD('say "hi"', [0.5, 0.5], states=['"', "b"]))
    text = format_bif(network).replace("say__hi_", "greeting").replace("{ _, b }", "{ quote, b }")
    again = parse_bif(text)
    assert list(again.variables) == ["greeting"]
    assert again.variables["greeting"].states == ("quote", "b")


@pytest.mark.parametrize(
    "note",
    [
        'plausible_notes = {"notes": {"label": "x"}, "properties": {}}',
        'plausible_notes = {"notes": {"name": 5}, "properties": {}}',
        'plausible_notes = {"notes": [], "properties": 3}',
        "plausible_notes = [",
        "plausible_notes = " + "[" * 900 + "]" * 900,
    ],
)
def test_a_note_that_makes_no_sense_stays_a_property(note):
    network = parse_bif(f"network n {{ property {note}; }}")
    assert list(network.notes.properties) == ["plausible_notes"]


@pytest.mark.parametrize("depth", [1, 10, 500, 5000])
def test_states_listed_in_a_property_may_not_be_nested_without_end(depth):
    listed = "[" * depth + "1" + "]" * depth
    text = (
        f"variable A {{ type discrete [ 1 ] {{ x }}; property plausible_states = [{listed}]; }}\n"
        "probability ( A ) { table 1; }"
    )
    assert parse_bif(text).variables["A"].states == ("x",)


def test_structured_distributions_are_written_as_their_tables():
    causes = [TableCPD(name, [0.5, 0.5], states=["no", "yes"]) for name in ("a", "b")]
    network = BayesianNetwork(*causes, NoisyOr("c", ["a", "b"], [0.5, 0.25], leak=0.5))
    read = parse_bif(format_bif(network)).cpd("c")
    assert isinstance(read, TableCPD)
    assert read.values[:, :, 1].tolist() == [[0.5, 0.625], [0.75, 0.8125]]


@pytest.mark.parametrize(
    ("model", "part"),
    [
        (BayesianNetwork(LinearGaussianCPD("x")), "'x' is continuous"),
        (BayesianNetwork(TableCPD("x", [[1.0]], ["u"]), inputs=[Variable("u", 1)]), "'u' is one"),
        (MarkovNetwork(Factor({"A": 2}, [1.0, 2.0])), "MarkovNetwork"),
    ],
)
def test_what_the_format_can_not_hold_is_refused(model, part):
    with pytest.raises(NotRepresentable, match=part):
        format_bif(model)


@pytest.mark.parametrize("name", READ)
def test_benchmark_networks_read_and_come_back(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RoundedProbabilities)
        network = parse_bif(benchmark_text(name))
    assert network.num_parameters > 0
    assert all(cpd.to_table().values.min() >= 0 for cpd in network.cpds.values())
    assert parse_bif(format_bif(network)) == network


@pytest.mark.filterwarnings("ignore::plausible.errors.RoundedProbabilities")
@pytest.mark.parametrize("name", ["child", "insurance", "hailfinder", "water", "munin1"])
def test_every_line_of_a_benchmark_file_is_a_row_of_its_network(name):
    """The oracle takes the files line by line, which they allow."""
    text = benchmark_text(name)
    network = parse_bif(text)
    tables, num_lines = {}, 0
    for line in text.splitlines():
        if line.startswith("probability"):
            child, *parents = line[13:-3].replace("|", "").replace(",", "").split()
            tables[child] = network.cpd(child).values
            assert network.cpd(child).parent_names == tuple(parents)
        elif line.startswith(("  (", "  table")):
            label, _, numbers = line.strip("\n ;").replace("table ", "()", 1).partition(")")
            states = label.strip(" (").split(", ") if parents else []
            index = tuple(network.variables[p].index(s) for p, s in zip(parents, states, strict=True))
            row = tables[child][index]
            assert np.allclose(row, [float(number) for number in numbers.split(",")], rtol=0, atol=2e-6)
            num_lines += 1
    assert num_lines == sum(table[..., 0].size for table in tables.values())


def test_alarm_has_its_published_numbers():
    """Beinlich et al. 1989: 37 variables, 46 edges, 509 parameters; and one row read by eye."""
    with pytest.warns(RoundedProbabilities, match="6 rows"):
        network = parse_bif(benchmark_text("alarm"))
    assert (len(network), network.graph.num_edges, network.num_parameters) == (37, 46, 509)
    row = network.cpd("HRBP").to_factor().reduce({"ERRLOWOUTPUT": "FALSE", "HR": "HIGH"})
    assert row.values.tolist() == [0.01, 0.01, 0.98]


def test_one_warning_for_all_rounded_rows_of_a_file():
    text = PAIR.replace("0.5, 0.5", "0.5, 0.4995") + "probability ( B | A ) { (x) 0.5, 0.4999; (y) 0.3334, 0.6667; }"
    with pytest.warns(RoundedProbabilities) as caught:
        parse_bif(text)
    assert len(caught) == 1
    assert "3 rows in the tables of 2 variables" in str(caught[0].message)


def test_only_words_that_every_reader_takes_are_written():
    """Names and states are letters, digits, `_`, `.` and `-`, not digits first, except for whole numbers as states."""
    for seed in range(20):
        text = format_bif(random_network(np.random.default_rng(seed), num_variables=8))
        code = re.sub(r"(?m)^  property .*;$|^network .*$", "", text)
        keywords = {"variable", "probability", "type", "discrete", "table"}
        for word in re.findall(r"[^\s{}()\[\];,|]+", code):
            is_number = re.fullmatch(r"-?\d+|[\d.]+(e-\d+)?", word)
            assert word in keywords or is_number or re.fullmatch(r"[A-Za-z_][A-Za-z0-9_.-]*", word), word


def test_a_name_with_a_blank_is_written_as_a_word_with_a_property():
    network = BayesianNetwork(TableCPD("smoking status", [0.5, 0.5], states=["<5", "5 or more"]))
    lines = format_bif(network).splitlines()
    assert "variable smoking_status {" in lines
    assert "  type discrete [ 2 ] { _5, _5_or_more };" in lines
    assert '  property plausible_name = "smoking status";' in lines
    assert parse_bif(format_bif(network)) == network


@pytest.mark.parametrize("text", ["see https://example.org/x", "a /* b", "a; b"])
def test_properties_hold_nothing_that_others_take_for_a_comment_or_an_end(text):
    """Programs that strip comments before all else would lose the end of the statement."""
    notes = Notes(reference=text).with_variable("A", VariableNotes(description=text, properties={"url": text}))
    network = BayesianNetwork(TableCPD("A", [0.5, 0.5], states=[text, "b"]), notes=notes)
    written = format_bif(network)
    assert "//" not in written
    assert "/*" not in written
    assert all(line.count(";") <= 1 for line in written.splitlines())
    assert parse_bif(written) == network


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("(a) 0.5, 0.5 (b) 0.1, 0.9;", "(b)"),
        ("(a) 0.5, 0.5 default 0.1, 0.9;", "default"),
    ],
)
def test_a_missing_semicolon_is_guessed(body, found):
    text = (
        "variable P { type discrete [ 2 ] { a, b }; }\nvariable C { type discrete [ 2 ] { c, d }; }\n"
        f"probability ( P ) {{ table 0.5, 0.5; }}\nprobability ( C | P ) {{ {body} }}\n"
    )
    with pytest.raises(FormatError) as raised:
        parse_bif(text)
    assert f"Expected a number, not {found!r}. Is a ';' missing before it?" in str(raised.value)
    assert (raised.value.line, raised.value.column) == (4, text.split("\n")[3].index(found) + 1)
