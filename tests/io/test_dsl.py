"""DSL: GeNIe's old text files read to the numbers in them, and errors say where they are."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from tests.io.text_samples import check_refused
from text_samples import DSL

from plausible.cpds import DeterministicCPD, TableCPD
from plausible.errors import FormatError
from plausible.io.dsl import FORMAT, parse_dsl
from plausible.models import VariableNotes


def test_a_file_as_genie_writes_it():
    network = parse_dsl(DSL)
    assert list(network.variables) == ["Rain", "Hose", "Wet", "Puddle"]
    wet = network.cpd("Wet")
    assert wet.parent_names == ("Hose", "Rain")
    assert wet.values.tolist() == [[[0.99, 0.01], [0.9, 0.1], [0.8, 0.2]], [[0.7, 0.3], [0.6, 0.4], [0, 1]]]
    puddle = network.cpd("Puddle")
    assert isinstance(puddle, DeterministicCPD)
    assert puddle.positions.tolist() == [[0, 1], [1, 1]]
    notes = network.notes
    assert (notes.name, notes.description, notes.properties) == (
        'The "lawn"',
        "by hand",
        {"Author": "nobody; {really}"},
    )
    assert notes.of("Rain") == VariableNotes("Does it rain?", "", (107.0, 255.0))
    assert notes.of("Hose") == VariableNotes()


def test_a_truth_table_may_be_given_by_zeros_and_ones():
    text = DSL.replace("RESULTINGSTATES = (deep, flat, flat, flat)", "PROBABILITIES = (1, 0, 0, 1, 0, 1, 0, 1)")
    assert parse_dsl(text).cpd("Puddle").to_table().values[:, :, 1].tolist() == [[0, 1], [1, 1]]


NOISY = """net n {
 node A { TYPE = CPT; PARENTS = (); DEFINITION = { NAMESTATES = (x, y); PROBABILITIES = (0.5, 0.5); }; };
 node B { TYPE = CPT; PARENTS = (); DEFINITION = { NAMESTATES = (u, v, w); PROBABILITIES = (0.5, 0.25, 0.25); }; };
 node C { TYPE = NOISY_MAX; PARENTS = (A, B); DEFINITION = {
   NAMESTATES = (high, low, none);
   STRENGTHS = (0, 1, 2, 0, 1);
   PROBABILITIES = (0.5, 0.25, 0.25, 0, 0, 1, 0.25, 0.5, 0.25, 0.125, 0.125, 0.75, 0, 0, 1, 0.0625, 0.0625, 0.875);
 }; };
};"""


def test_a_noisy_max_is_the_strongest_of_independent_effects():
    """By enumeration of the effects of A, B and the leak; the rows of B are those of w, u, v, as STRENGTHS says."""
    effects_a = {"x": [0.5, 0.25, 0.25], "y": [0, 0, 1]}
    effects_b = {"w": [0.25, 0.5, 0.25], "u": [0.125, 0.125, 0.75], "v": [0, 0, 1]}
    leak = [0.0625, 0.0625, 0.875]
    table = parse_dsl(NOISY).cpd("C")
    assert isinstance(table, TableCPD)
    for i, a in enumerate("xy"):
        for j, b in enumerate("uvw"):
            expected = np.zeros(3)
            for parts in product(range(3), repeat=3):
                expected[min(parts)] += effects_a[a][parts[0]] * effects_b[b][parts[1]] * leak[parts[2]]
            assert np.allclose(table.values[i, j], expected, atol=1e-15)


@pytest.mark.parametrize(
    ("old", "new", "part"),
    [
        ("STRENGTHS = (0, 1, 2, 0, 1)", "STRENGTHS = (0, 1, 2, 0)", "must list each state"),
        ("STRENGTHS = (0, 1, 2, 0, 1)", "STRENGTHS = (0, 1, 2, 2, 1)", "'B' must list 0 to 2"),
        ("STRENGTHS = (0, 1, 2, 0, 1)", "STRENGTHS = (0, 1, x, 0, 1)", "'B' must list 0 to 2"),
        ("0.0625, 0.0625, 0.875", "0.0625, 0.0625, 0.875, 0, 0, 1", "needs 18 numbers; the file has 21"),
        ("0.0625, 0.0625, 0.875", "0.0625, 0.0625, 0.5", "sums to 0.625"),
    ],
)
def test_a_noisy_max_that_does_not_fit_is_refused(old, new, part):
    with pytest.raises(FormatError) as raised:
        parse_dsl(NOISY.replace(old, new))
    assert part in raised.value.problem
    assert raised.value.line in (6, 7)


@pytest.mark.parametrize(("num_parents", "part"), [(40, "table of 2199023255552 numbers"), (500, "500 parents")])
def test_a_noisy_max_of_many_parents_can_not_make_a_small_file_huge(num_parents, part):
    names = [f"X{i}" for i in range(num_parents)]
    nodes = "".join(
        f"node {name} {{ TYPE = CPT; DEFINITION = {{ NAMESTATES = (x, y); PROBABILITIES = (0.5, 0.5); }}; }};"
        for name in names
    )
    rows = ", ".join(["0.5, 0.5, 0, 1"] * num_parents + ["0, 1"])
    text = (
        f"net n {{ {nodes} node Y {{ TYPE = NOISY_MAX; PARENTS = ({', '.join(names)}); "
        f"DEFINITION = {{ NAMESTATES = (a, b); PROBABILITIES = ({rows}); }}; }}; }};"
    )
    with pytest.raises(FormatError, match=part):
        parse_dsl(text)


NODE = (
    "net n {\n node A { TYPE = CPT; PARENTS = (); DEFINITION = { NAMESTATES = (x, y); PROBABILITIES = (1, 0); }; };\n"
)


@pytest.mark.parametrize(
    ("text", "place", "part"),
    [
        ("", (1, 1), "no block"),
        ("bnet x { };", (1, 1), "Expected 'net name"),
        ("net a { };\nnet b { };", (2, 1), "two net blocks"),
        ("net a { };\nx = 5;", (2, 5), "outside of the net block"),
        ("net a {", (1, 1), "is not closed"),
        ("net a {\n noode A { };\n};", (2, 2), "Expected 'node name"),
        ("net a {\n node A { TYPE = LIST; };\n};", (2, 2), "influence diagram"),
        ("net a {\n node A { TYPE = CTP; };\n};", (2, 2), "Did you mean 'CPT'?"),
        ("net a {\n node A { TYPE = CPT; };\n};", (2, 2), "no NAMESTATES"),
        ("net a {\n node A { TYPE = CPT; DEFINITION = { NAMESTATES = (x); }; };\n};", (2, 2), "no PROBABILITIES"),
        (NODE + " node A { TYPE = CPT; DEFINITION = { NAMESTATES = (x); }; };\n};", (3, 2), "declared twice"),
        (NODE.replace("(1, 0)", "(1, 0, 0)") + "};", (2, 89), "needs 2 numbers; the file has 3"),
        (NODE.replace("(1, 0)", "(1, zero)") + "};", (2, 93), "not 'zero'"),
        (NODE.replace("(1, 0)", "(1, , 0)") + "};", (2, 91), "entry is empty"),
        (NODE.replace("(1, 0)", "(1, 0.5)") + "};", (2, 89), "sums to 1.5"),
        (NODE.replace("(1, 0)", "1, 0") + "};", (2, 89), "balanced parentheses"),
        (NODE.replace("PARENTS = ()", "PARENTS = (B)") + "};", (2, 33), "'B', a parent of 'A', is not declared"),
        (NODE.replace("CPT", "TRUTHTABLE").replace("PROBABILITIES = (1, 0)", "RESULTINGSTATES = (x, y)") + "};",
         (2, 98), "needs 1 states; the file has 2"),
        (NODE.replace("CPT", "TRUTHTABLE").replace("PROBABILITIES = (1, 0)", "RESULTINGSTATES = (z)") + "};",
         (2, 98), "'z' is not a state of 'A'"),
        (NODE.replace("PARENTS = ();", "SCREEN = { POSITION = { CENTER_X = a; CENTER_Y = 1; }; };") + "};",
         (2, 58), "Expected a number, not 'a'"),
    ],
)  # fmt: skip
def test_an_error_says_what_is_wrong_and_where(text, place, part):
    check_refused(parse_dsl, text, part, place)


def test_many_one_state_parents_are_refused_and_not_crashed_on():
    names = [f"X{i}" for i in range(80)]
    nodes = "".join(
        f"node {name} {{ TYPE = CPT; DEFINITION = {{ NAMESTATES = (x); PROBABILITIES = (1); }}; }};" for name in names
    )
    definition = "DEFINITION = { NAMESTATES = (a); RESULTINGSTATES = (a); PROBABILITIES = (1); };"
    for kind in ("CPT", "TRUTHTABLE"):
        with pytest.raises(FormatError, match="80 parents"):
            parse_dsl(f"net n {{ {nodes} node Y {{ TYPE = {kind}; PARENTS = ({', '.join(names)}); {definition} }}; }};")


def test_the_format_is_read_only():
    assert FORMAT.write is None
    assert FORMAT.extensions == (".dsl",)
