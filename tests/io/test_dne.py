"""DNE: Netica's text files read to the numbers in them, and errors say where they are."""

from __future__ import annotations

import pytest
from tests.io.text_samples import check_refused
from text_samples import DNE

from plausible.cpds import DeterministicCPD
from plausible.io.dne import FORMAT, parse_dne
from plausible.models import VariableNotes


def test_a_file_as_netica_writes_it():
    network = parse_dne(DNE)
    assert list(network.variables) == ["Rain", "Hose", "Depth", "Boots"]
    assert network.variables["Rain"].states == ("none", "light", "heavy")
    assert network.variables["Hose"].states == ("state0", "state1")
    assert network.variables["Depth"].states == ("< 0", "0 to 2.5", ">= 2.5")
    depth = network.cpd("Depth")
    assert depth.parent_names == ("Rain", "Hose")
    assert depth.values.tolist() == [
        [[0.9, 0.1, 0], [0.4, 0.5, 0.1]],
        [[0.3, 0.4, 0.3], [0.2, 0.4, 0.4]],
        [[0.1, 0.2, 0.7], [0, 0, 1]],
    ]
    boots = network.cpd("Boots")
    assert isinstance(boots, DeterministicCPD)
    assert boots.positions.tolist() == [1, 0, 0]


def test_the_notes_of_a_file():
    notes = parse_dne(DNE).notes
    assert (notes.name, notes.description) == ("The lawn", 'first line\nsecond "line"')
    assert notes.properties["constant.TITLE1"] == "A title on the canvas"
    assert notes.properties["ElimOrder"] == "(Rain, Hose, Depth)"
    rain = notes.of("Rain")
    assert (rain.label, rain.position) == ("Does it rain?", (120.0, 60.5))
    assert rain.properties["statetitles"] == '(, , "It pours")'
    assert notes.of("Boots") == VariableNotes()
    assert notes.of("Depth").properties == {"levels": "(-INFINITY, 0, 2.5, INFINITY)", "inputs": "(, H)"}


def node(fields: str) -> str:
    return f"bnet n {{\nnode A {{ {fields} }};\n}};"


@pytest.mark.parametrize(
    ("fields", "states"),
    [
        ("discrete = TRUE; levels = (2020, 2030); probs = (0.5, 0.5);", ("2020", "2030")),
        ("discrete = FALSE; states = (low, high); levels = (0, 1, 2); probs = (0.5, 0.5);", ("low", "high")),
        ('statetitles = ("Year 1", "Year 5"); probs = (0.5, 0.5);', ("Year 1", "Year 5")),
        ("numstates = 2; states = (a, b); probs = (#1);", ("a", "b")),
        ("states = (a, b); functable = (b); probs = (0.5, 0.5);", ("a", "b")),
    ],
)
def test_states_have_names_titles_levels_or_numbers(fields, states):
    assert parse_dne(node(fields)).variables["A"].states == states


@pytest.mark.parametrize(
    ("text", "place", "part"),
    [
        ("", (1, 1), "no block"),
        ("net n { };", (1, 1), "Expected 'bnet name"),
        ("bnet n { node A { states = (a, b); ", (1, 10), "is not closed"),
        ("bnet n { node A B { }; };", (1, 10), "Expected 'node name'"),
        (node("kind = DECISION;"), (2, 1), "neither states nor levels"),
        (node("kind = UTILITY;"), (2, 1), "has no table ('functable')"),
        (node("kind = UTILTY;"), (2, 1), "Did you mean 'UTILITY'"),
        (node("kind = NATUR;"), (2, 1), "Did you mean 'NATURE'?"),
        (node("probs = (1);"), (2, 1), "neither states nor levels"),
        (node('equation = "A = 1";'), (2, 1), "it has an equation"),
        (node("states = (a, , b); probs = (1, 0);"), (2, 19), "has no name"),
        (node("states = (a, a); probs = (1, 0);"), (2, 1), "stands twice"),
        (node("numstates = 1000000000;"), (2, 22), "up to 10000"),
        (node("numstates = 3; states = (a, b);"), (2, 22), "has 2 states"),
        (node("states = (a, b);"), (2, 1), "has no table"),
        (node("states = (a, b); probs = (0.5, @);"), (2, 41), "not specified"),
        (node("states = (a, b); probs = (0.5, 0.6);"), (2, 35), "sums to 1.1"),
        (node("states = (a, b); probs = (0.5, 0.25, 0.25);"), (2, 35), "needs 2 numbers; the file has 3"),
        (node("states = (a, b); probs = (0.5, half);"), (2, 41), "not 'half'"),
        (node("states = (a, b); functable = (c);"), (2, 40), "'c' is not a state of 'A'"),
        (node("states = (a, b); functable = (#2);"), (2, 40), "'#2' is not a state of 'A'"),
        (node("states = (a, b); functable = (a, b);"), (2, 39), "needs 1 states; the file has 2"),
        (node("states = (a, b); parents = (B); probs = (1, 0);"), (2, 37), "'B', a parent of 'A', is not declared"),
        (node("states = (a, b); parents = (,); probs = (1, 0);"), (2, 37), "has no parent"),
        (node("states = (a, b); parents = (A); probs = ((1, 0), (0, 1));"), (2, 50), "stands twice"),
        (node("states = (a, b); probs = (1, 0); visual V1 { center = (1); };"), (2, 64), "center = (x, y)"),
        (node("states = (a, b); probs = (1, 0); /* open"), (2, 43), "comment is not closed"),
        (node('states = (a, b); probs = (1, 0); title = "open;'), (2, 51), "string is not closed"),
    ],
)
def test_an_error_says_what_is_wrong_and_where(text, place, part):
    check_refused(parse_dne, text, part, place)


def test_the_format_is_read_only():
    assert FORMAT.write is None
    assert ".dne" in FORMAT.extensions
