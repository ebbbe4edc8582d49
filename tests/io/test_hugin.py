"""NET: Hugin's files read to the numbers in them, errors say where they are, and writing loses nothing."""

from __future__ import annotations

import time

import numpy as np
import pytest
from random_networks import NASTY_WORDS
from tests.io.text_samples import check_refused
from text_samples import NET

from benchmark_networks import READ, benchmark_text
from plausible.cpds import ConditionalGaussianCPD, LinearGaussianCPD, NoisyOr, TableCPD
from plausible.errors import FormatError, NotRepresentable, PlausibleWarning
from plausible.factors import Factor
from plausible.io.bif import parse_bif
from plausible.io.hugin import format_hugin, parse_hugin
from plausible.models import BayesianNetwork, MarkovNetwork, Notes, VariableNotes
from plausible.variables import Variable

CHILD = [[[0.9, 0.1], [0.4, 0.6], [0.3, 0.7]], [[0.2, 0.8], [0.1, 0.9], [0, 1]]]


def test_a_file_as_hugin_writes_it():
    network = parse_hugin(NET)
    assert list(network.variables) == ["Rain", "Sprinkler", "Grass"]
    assert network.variables["Rain"].states == ("no", "yes, \\ of course")
    assert network.cpd("Grass").parent_names == ("Rain", "Sprinkler")
    assert network.cpd("Grass").values.tolist() == CHILD
    notes = network.notes
    assert (notes.name, notes.description) == ("lawn", "Lawns, 100% wet")
    assert notes.properties == {"node_size": "(80 40)", "HR_Zoom_ZoomFactor": "100"}
    assert notes.of("Rain") == VariableNotes('does it "rain"?', "", (50.0, 150.0), {"HR_State_0": ""})
    assert notes.of("Grass").description == "a\nb"
    expected = {"subtype": "number", "state_values": "(0 1 2)", "potential.experience": "(10)"}
    assert notes.of("Sprinkler").properties == expected


def test_function_nodes_on_which_nothing_depends_are_left_out_with_one_warning():
    """Also those that only other functions depend on; the rest of the file is read as without them."""
    functions = """
    function F { label = "twice"; position = (1 2); }
    continuous function G { }
    potential (F | Rain) { model_nodes = (); model_data = (Rain); }
    potential (G | F Grass) { model_data = (2 * F); }
    """
    with pytest.warns(PlausibleWarning, match=r"function nodes \['F', 'G'\]") as caught:
        network = parse_hugin(NET + functions)
    assert len(caught) == 1
    assert network == parse_hugin(NET)


def test_fields_of_the_language_are_written_as_such_and_others_as_strings():
    text = format_hugin(parse_hugin(NET))
    assert "node_size = (80 40);" in text
    assert "state_values = (0 1 2);" in text
    assert 'HR_Zoom_ZoomFactor = "100";' in text
    assert parse_hugin(text).notes == parse_hugin(NET).notes


@pytest.mark.parametrize(
    "data",
    [
        "0.9 0.1 0.4 0.6 0.3 0.7 0.2 0.8 0.1 0.9 0 1",
        "(0.9 0.1)(0.4 0.6)(0.3 0.7)(0.2 0.8)(0.1 0.9)(0 1)",
        "((0.9, 0.1), (0.4, 0.6), (0.3, 0.7)), ((0.2, 0.8), (0.1, 0.9), (0, 1))",
    ],
)
def test_nesting_does_not_matter_as_long_as_rows_are_whole(data):
    start = NET.index("data = (((")
    text = f"{NET[:start]}data = ({data}); }}"
    assert parse_hugin(text).cpd("Grass").values.tolist() == CHILD


NODE = 'net {}\nnode A { states = ("x" "y"); }\n'
PAIR = NODE + 'node B { states = ("u" "v"); }\npotential (A) { data = (0.5 0.5); }\n'
MIXED = NODE + "potential (A) { data = (0.5 0.5); }\ncontinuous node X { }\n"


@pytest.mark.parametrize(
    ("text", "place", "part"),
    [
        ("", (1, 1), "no block"),
        ("hello", (1, 1), "'name = value;'"),
        ("net {} x = 5;", (1, 12), "outside of any block"),
        ("net {}\nnet {}", (2, 1), "two 'net' blocks"),
        ("net {}\nnodde A { }", (2, 1), "Did you mean 'node'"),
        ("net {}\ndecision D { }", (2, 1), "The decision 'D' has no states"),
        ("net {}\nutility U { }", (2, 1), "The utility 'U' has no table"),
        ("class Foo { } class Bar { }", (1, 1), "class blocks are not supported"),
        ("net {}\ninstance F : G ( ) { }", (2, 1), "instance blocks are not supported"),
        (
            "net {}\nfunction F { }\nnode A { states = (x y); }\npotential (A | F) { data = (1 0); }",
            (4, 1),
            "A depends on the function node 'F'",
        ),
        ("net {}\nnode F { states = (x y); }\nfunction F { }", (3, 1), "'F' is declared twice"),
        ("net {}\nnode A { }", (2, 1), "has no states"),
        ("net {}\nnode A { states = (); }", (2, 1), "at least one state"),
        ('net {}\nnode A { states = ("a" "a"); }', (2, 1), "stands twice"),
        ('net {}\nnode A { states = "a"; }', (2, 19), "Expected a list"),
        ('net {}\nnode A { states = ("a" ("b")); }', (2, 24), "no list inside"),
        ("net {}\nnode A { states = (a); states = (b); }", (2, 33), "'states' stands twice"),
        ("net {}\nnode A { states = (a b c; }", (2, 19), "expected ')'"),
        ('net {}\nnode A { states = ("a" "b); }', (2, 24), "string is not closed"),
        ('net {}\nnode A { states = ("a" "b")', (2, 19), "expected ';'"),
        ('net {}\nnode A { states = ("a" "b");', (2, 1), "is not closed"),
        ("net {} }", (1, 8), "closes nothing"),
        (NODE + "node A { states = (a); }", (3, 1), "declared twice"),
        (NODE, (2, 1), "'A' has no distribution"),
        (NODE + "potential (A) { }", (3, 1), "has no 'data'"),
        (NODE + "potential (A) { model_data = (Normal(0, 1)); }", (3, 1), "expressions"),
        (NODE + "potential A { data = (0.5 0.5); }", (3, 1), "potential ( child"),
        (NODE + "potential (A A) { data = (0.5 0.5); }", (3, 1), "one node before the bar"),
        (NODE + "potential (AB) { data = (0.5 0.5); }", (3, 1), "Did you mean 'A'?"),
        (NODE + "potential (A | A) { data = ((1 0)(0 1)); }", (3, 28), "stands twice"),
        (NODE + "potential (A) { data = (0.5 0.5 0); }", (3, 24), "needs 2 numbers; the file has 3"),
        (NODE + "potential (A) { data = (0.5 0.4); }", (3, 24), "sums to 0.9"),
        (NODE + "potential (A) { data = (1.5 -0.5); }", (3, 24), "no probability"),
        (NODE + "potential (A) { data = (0.5 1e999); }", (3, 24), "no probability"),
        (NODE + "potential (A) { data = (0.5 nan); }", (3, 29), "not 'nan'"),
        (NODE + "potential (A) { data = (0.5 0.5; }", (3, 24), "expected ')'"),
        (NODE + "potential (A) { data = 0.5 0.5; }", (3, 24), "balanced parentheses"),
        (NODE + "potential (A) { data = (0.5)(0.5); }", (3, 24), "balanced parentheses"),
        (NODE + "potential (A) { data = (0.5,,0.5); }", (3, 28), "entry is empty"),
        (PAIR + "potential (B | A) { data = ((0.5 0.25 0.25)(1)); }", (5, 28), "Expected 2 numbers in each"),
        (PAIR + "potential (B | A) { data = ((0.5 0.5)(0.5 0.6)); }", (5, 28), "A=y sums to 1.1"),
        (PAIR + "potential (B | C) { data = ((0.5 0.5)(0.5 0.5)); }", (5, 1), "'C', in this potential"),
        (MIXED + "potential (X | A) { data = (normal(0, 1)); }", (5, 28), "needs 2 normal distributions, not 1"),
        (MIXED + "potential (X | A) { data = (0.5 0.5); }", (5, 28), "Expected 'normal ( mean, variance )'"),
        (MIXED + "potential (X) { data = (normal(1 + Y, 1)); }", (5, 34), "'Y' is not a continuous parent"),
        (MIXED + "potential (X) { data = (normal(1 +, 1)); }", (5, 34), "Expected a sum"),
        (MIXED + "potential (X) { data = (normal(1, z)); }", (5, 34), "Expected a variance"),
        (MIXED + "potential (X) { data = (normal(1, -1)); }", (5, 24), "can't be negative"),
        ("continuous node X { states = (a b); }", (1, 30), "can't have states"),
    ],
)
def test_an_error_says_what_is_wrong_and_where(text, place, part):
    check_refused(parse_hugin, text, part, place)


@pytest.mark.parametrize(
    "text",
    [
        "a {" * 100_000,
        "a = {" * 100_000,
        'a = "' * 50_000 + "\\",
        "node A { states = " + "(" * 200_000 + ";}",
        NODE + "potential (A) { data = " + "(" * 100_000 + "1" + ")" * 100_000 + ";}",
        NODE + "potential (A) { data = (" + "normal(" * 50_000 + ";}",
    ],
)
def test_hostile_texts_are_refused_at_once(text):
    start = time.perf_counter()
    with pytest.raises(FormatError):
        parse_hugin(text)
    assert time.perf_counter() - start < 5.0


@pytest.mark.parametrize("name", ["", *NASTY_WORDS, "a\rb", "\x00", "\\n", "plausible_name"])
def test_texts_of_notes_come_back_whatever_they_are(name):
    notes = Notes(
        name=name,
        description=name,
        reference=name,
        properties={f"x{name}": name, "label": name, "name": name, "node_size": name, "plausible_x": name},
    ).with_variable("A", VariableNotes(label=name, description=name, properties={"position": name, "k": name}))
    network = BayesianNetwork(TableCPD("A", [1.0]), notes=notes)
    assert parse_hugin(format_hugin(network)).notes == notes


def test_names_become_identifiers_that_are_told_apart():
    names = ["a b", "a-b", "a_b", "node", "_node", "1st", "日本語", "_"]
    network = BayesianNetwork(*(TableCPD(name, [0.5, 0.5]) for name in names))
    text = format_hugin(network)
    written = [line.split()[1] for line in text.splitlines() if line.startswith("node")]
    assert len(set(written)) == len(names)
    assert all(name.isascii() and name.isidentifier() for name in written)
    assert parse_hugin(text) == network


def random_gaussian_network(rng: np.random.Generator) -> BayesianNetwork:
    """D -> X -> Y <- D, E; and Z, which depends on nothing."""
    d, e = Variable("sw itch", ["a", "b", "c"]), Variable("E", [0, 1])
    x, y = Variable("X"), Variable("Y 1")
    return BayesianNetwork(
        TableCPD(d, rng.dirichlet(np.ones(3))),
        TableCPD(e, rng.dirichlet(np.ones(2))),
        ConditionalGaussianCPD(x, rng.normal(size=3), {}, rng.random(3), [d]),
        ConditionalGaussianCPD(
            y, rng.normal(size=(2, 3)), {"X": rng.normal(size=(2, 3))}, rng.random((2, 3)), [e, x, d]
        ),
        LinearGaussianCPD("Z", -1e-300, {"X": -0.0, "Y 1": 1e22}, 0.0),
        LinearGaussianCPD("alone", 2.5, variance=1 / 3),
    )


@pytest.mark.parametrize("seed", range(10))
def test_conditional_gaussians_come_back(seed):
    network = random_gaussian_network(np.random.default_rng(seed))
    assert parse_hugin(format_hugin(network)) == network


def test_a_mean_is_any_sum_of_terms():
    text = (
        MIXED
        + "potential (X) { data = (normal(0, 1)); }\n"
        + (
            "continuous node Y {}\npotential (Y | A X) "
            "{ data = (normal ( 1.5 - 2*X, 1e-1 ) normal ( - X * .5 + 3 +X+X- 1e0 , .25 )); }"
        )
    )
    cpd = parse_hugin(text).cpd("Y")
    assert isinstance(cpd, ConditionalGaussianCPD)
    assert cpd.intercept.tolist() == [1.5, 2.0]
    assert cpd.coefficients["X"].tolist() == [-2.0, 1.5]
    assert cpd.variance.tolist() == [0.1, 0.25]


def test_structured_distributions_are_written_as_their_tables():
    causes = [TableCPD(name, [0.5, 0.5], states=["no", "yes"]) for name in ("a", "b")]
    network = BayesianNetwork(*causes, NoisyOr("c", ["a", "b"], [0.5, 0.25], leak=0.5))
    read = parse_hugin(format_hugin(network)).cpd("c")
    assert isinstance(read, TableCPD)
    assert read.values[:, :, 1].tolist() == [[0.5, 0.625], [0.75, 0.8125]]


@pytest.mark.parametrize(
    ("model", "part"),
    [
        (BayesianNetwork(TableCPD("x", [[1.0]], ["u"]), inputs=[Variable("u", 1)]), "'u' is one"),
        (MarkovNetwork(Factor({"A": 2}, [1.0, 2.0])), "MarkovNetwork"),
    ],
)
def test_what_the_format_can_not_hold_is_refused(model, part):
    with pytest.raises(NotRepresentable, match=part):
        format_hugin(model)


@pytest.mark.filterwarnings("ignore::plausible.errors.RoundedProbabilities")
@pytest.mark.parametrize("name", READ)
def test_benchmark_networks_go_through_net_and_back(name):
    network = parse_bif(benchmark_text(name))
    assert parse_hugin(format_hugin(network)) == network


@pytest.mark.parametrize(
    ("header", "place"),
    [
        ('name = "lawn"\n  HR_Desc = "wet";', (3, 3)),
        ("name = lawn\n  node_size = (50 50);", (3, 3)),
        ('node_size = (50 50)\n  name = "lawn";', (3, 3)),
        ("node_size = (50 50) name = lawn;", (2, 23)),
        ('name = "lawn" = ;', (2, 17)),
        ('name = "lawn" "wet";', (2, 10)),
        ('name = "lawn" wet;', (2, 10)),
    ],
)
def test_a_field_that_runs_into_the_next_is_an_error_at_its_place(header, place):
    text = f"net {{\n  {header}\n}}\nnode A {{ states = (a b); }}\npotential ( A ) {{ data = (0.5 0.5); }}\n"
    with pytest.raises(FormatError, match=r"Expected ';' after the (value of|string that is the value of)") as raised:
        parse_hugin(text)
    assert (raised.value.line, raised.value.column) == place


def test_strings_and_expressions_may_hold_signs_of_equality():
    text = """
    net { name = "a = b; c"; model_nodes = (if (A == b, c = d)); }
    node A { states = (a b); }
    potential ( A ) { data = (0.5 0.5); }
    """
    notes = parse_hugin(text).notes
    assert notes.name == "a = b; c"
    assert notes.properties["model_nodes"] == "(if (A == b, c = d))"


def test_positions_are_written_whole_and_read_to_the_fraction():
    notes = Notes().with_variable("A", VariableNotes(position=(1.25, -7.5)))
    network = BayesianNetwork(TableCPD("A", [0.5, 0.5], states=["a", "b"]), notes=notes)
    text = format_hugin(network)
    assert "  position = (1 -8);\n" in text
    assert parse_hugin(text).notes.of("A").position == (1.25, -7.5)
    assert parse_hugin(text.replace("(1 -8)", "(30 40)")).notes.of("A").position == (30.0, 40.0)
