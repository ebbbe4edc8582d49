"""Arrow text."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import plausible as pb
from plausible.errors import InvalidGraph
from plausible.graphs.dag import DAG
from plausible.graphs.graph_input import read_as
from plausible.graphs.text import parse_statements, quote
from plausible.graphs.undirected import UndirectedGraph
from refusals import refuses


def connections(text):
    return [(edge.left, edge.edge, edge.right) for edge in parse_statements(text)[1]]


def test_chains_and_statements_read_as_their_edges():
    assert connections("A -> B <- C; D - E, E <-> F\nG o-> H") == [
        ("A", "->", "B"),
        ("B", "<-", "C"),
        ("D", "-", "E"),
        ("E", "<->", "F"),
        ("G", "o->", "H"),
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A->B", [("A", "->", "B")]),
        ("A -- B", [("A", "-", "B")]),
        ("A --> B", [("A", "->", "B")]),
        ("A o-o B", [("A", "o-o", "B")]),
        ("Foo->Bo", [("Foo", "->", "Bo")]),
        ("A - o", [("A", "-", "o")]),
        ("A-old", [("A", "-", "old")]),
        ("A<-old", [("A", "<-", "old")]),
        ("A ->old", [("A", "->", "old")]),
        ("A o- oB", [("A", "o-", "oB")]),
        ('"x-ray" -> "blood pressure"', [("x-ray", "->", "blood pressure")]),
        (r'"say \"hi\"" -> B', [('say "hi"', "->", "B")]),
        ("α → β".replace("→", "->"), [("α", "->", "β")]),
    ],
)
def test_edges_read_with_or_without_blanks_and_quotes(text, expected):
    assert connections(text) == expected


def test_a_prime_may_end_a_name():
    """X' is how many write the next state of X; only a name that begins with a single quote looks quoted."""
    assert connections("X -> X'") == [("X", "->", "X'")]


def test_empty_statements_and_repeated_nodes_do_no_harm():
    assert parse_statements(" ;\n, A;; A ; \n") == (["A"], [])
    assert parse_statements("") == ([], [])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("A ->", "character 5.*expected a node after '->'"),
        ("A -> ; B", "character 6.*expected a node after '->'"),
        ("-> A", "character 1.*expected a node before"),
        ("A -> -> B", "character 6.*expected a node before"),
        ("A B", "character 3.*expected an edge"),
        ("A > B", "character 3.*needs double quotes"),
        ("'x -> y' -> b", "character 1.*double quotes, not in single ones"),
        ("b -> 'x'", "character 6.*double quotes, not in single ones"),
        ("A -> {B}", "character 6.*braces don't group nodes.*'A -> B; A -> C'"),
        ("A -> B}", "character 7.*braces"),
        ('A -> "B', "character 6"),
        ("A o-oB", "character 3.*is the edge 'o-o' or 'o-'.*blanks on both sides"),
        ("A <-oB", "character 3.*is the edge '<-o' or '<-'"),
        ("A -oB", "character 3.*is the edge '-o' or '-'"),
        ("A o-o", "character 3.*is the edge 'o-o' or 'o-'"),
    ],
)
def test_a_mistake_is_reported_with_its_place(text, message):
    refuses(InvalidGraph, message, parse_statements, text)


@given(st.text(max_size=6))
@settings(max_examples=40, deadline=None)
def test_every_name_survives_quoting(name):
    """Reading what `quote` wrote gives the name back, alone and at either end of an edge."""
    assert parse_statements(quote(name))[0] == [name]
    assert connections(f"{quote(name)} -> {quote(name + '!')}") == [(name, "->", name + "!")]


@given(st.lists(st.tuples(st.text(max_size=4), st.text(max_size=4)).filter(lambda pair: pair[0] < pair[1]), max_size=6))
@settings(max_examples=40, deadline=None)
def test_graphs_survive_being_written_and_read(pairs):
    for graph in (DAG(pairs, nodes=["alone"]), UndirectedGraph(pairs, nodes=["alone"])):
        assert type(graph)(str(graph)) == graph
        if graph.num_edges <= 12:
            assert eval(repr(graph)) == graph


def test_comments_and_a_leading_kind_belong_to_no_graph():
    """What the shell writes is read in Python; the kind must fit, and says which class a text means."""
    text = "# fci at alpha 0.01\n#\n  # more\nPAG: A o-> B; C o-> B\n"
    assert pb.PAG(text) == pb.PAG("A o-> B; C o-> B")
    assert pb.graphs.MixedGraph(text).num_edges == 2
    assert pb.CausalGraph("DAG: A -> B") == pb.CausalGraph("A -> B")
    assert read_as("PAG: A -> B", pb.DAG, pb.PAG) == pb.PAG("A -> B")
    assert read_as("PAG: A; B", pb.PAG) == pb.PAG(nodes=["A", "B"])
    for kind in (pb.DAG, pb.PDAG, pb.CausalGraph):
        refuses(InvalidGraph, "says that it is a PAG", kind, "PAG: A -> B")


@pytest.mark.parametrize("pair", [("#", "PAG:"), ("PAG:", "#"), ("#a", "b"), ("PAG:x", "DAG")])
def test_names_that_look_like_comments_or_kinds_come_back(pair):
    """They are quoted where they must be."""
    graph = pb.DAG([pair])
    assert pb.DAG(str(graph)) == graph
    assert pb.DAG(f"{graph}\n# a comment") == graph


def test_dot_text_has_an_end_for_each_mark():
    """`<->` dashed with two heads, circles as open dots, names quoted."""
    lines = pb.graphs.MixedGraph('"a \\" b" -> B; B <-> C; C o-> D; D o-o E; E - F').to_dot().splitlines()
    assert lines[7:-1] == [
        r'  "a \" b" -> "B";',
        '  "B" -> "C" [dir=both, arrowtail=normal, arrowhead=normal, style=dashed];',
        '  "C" -> "D" [dir=both, arrowtail=odot, arrowhead=normal];',
        '  "D" -> "E" [dir=both, arrowtail=odot, arrowhead=odot];',
        '  "E" -> "F" [dir=none];',
    ]
    assert pb.DAG("A -> B").to_dot() == pb.CausalGraph("A -> B").to_dot()
    assert "[dir=none]" in pb.UndirectedGraph("A - B").to_dot()
