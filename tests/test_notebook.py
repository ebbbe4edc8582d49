"""Notebooks show what `print` shows."""

from __future__ import annotations

import ast
import html
import inspect
import re
from enum import Enum
from html.parser import HTMLParser
from importlib import import_module
from pathlib import Path

import pandas as pd
import pytest

import plausible as pb
from plausible.display import TextTable, html_of
from plausible.models import FactorGraph

ROOMS = [
    import_module(f"plausible.{name}")
    for name in pb.__all__
    if inspect.ismodule(getattr(pb, name)) and hasattr(getattr(pb, name), "__all__")
]
CLASSES = {
    thing
    for thing in (getattr(room, name) for room in ROOMS for name in room.__all__)
    if inspect.isclass(thing) and not issubclass(thing, BaseException | Enum)
}
EVIL = "<script>alert('&')</script>"


def cells(text: str) -> list[list[str]]:
    """The rows of all tables in HTML."""

    class Reader(HTMLParser):
        rows: list[list[str]] = []
        is_inside = False

        def handle_starttag(self, tag, attrs):
            self.is_inside = tag in ("th", "td")
            if tag == "tr":
                self.rows = [*self.rows, []]
            if self.is_inside:
                self.rows[-1].append("")

        def handle_endtag(self, tag):
            self.is_inside = False

        def handle_data(self, data):
            if self.is_inside:
                self.rows[-1][-1] += data

    reader = Reader()
    reader.feed(text)
    return reader.rows


def test_every_public_class_that_prints_in_its_own_way_shows_itself_in_a_notebook():
    """A `__str__` without a `_repr_html_` would show a notebook less than a terminal."""
    printing = {kind for kind in CLASSES if kind.__str__ not in (object.__str__, dict.__str__, str.__str__)}
    assert len(printing) > 100
    assert [kind.__qualname__ for kind in printing if not hasattr(kind, "_repr_html_")] == []


def test_so_does_every_class_of_the_package_that_calls_hand_out():
    """Records that are not in a public list come back from calls too: the source is looked through."""
    package = Path(pb.__file__).parent
    missing = []
    for path in package.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef) and not re.search(
                "Error|Exception", " ".join(map(ast.unparse, node.bases))
            ):
                names = {part.name for part in node.body if isinstance(part, ast.FunctionDef)}
                names |= {ast.unparse(part.targets[0]) for part in node.body if isinstance(part, ast.Assign)}
                missing += [node.name] if "__str__" in names and "_repr_html_" not in names else []
    assert missing == []


NET = pb.BayesianNetwork(
    pb.TableCPD(EVIL, [0.25, 0.75], states=["<b>", "a&b"]),
    pb.TableCPD("y", [[0.5, 0.5], [0.1, 0.9]], parents=[EVIL], states=["no", EVIL]),
)
DIAGRAM = pb.InfluenceDiagram(
    chance=[pb.TableCPD(EVIL, [0.8, 0.2], states=["<i>", "b"])],
    decisions=[pb.Decision("do", [EVIL, "wait"], sees=[EVIL])],
    utilities=[pb.Utility([EVIL, "do"], [[1, 0.5], [0, 0.5]])],
)
ROWS = pd.DataFrame({EVIL: ["<", "&", "&", "<", "&", "<"], "y": [0, 1, 1, 0, 1, 1]})
GRAPH = pb.DAG([(EVIL, "y")])
SHOWN = {
    "network": NET,
    "Markov network": NET.to_markov_network(),
    "factor graph": FactorGraph(NET.to_markov_network().factors),
    "graph": NET.graph,
    "undirected graph": NET.graph.skeleton(),
    "causal graph": pb.CausalGraph(GRAPH),
    "variable": NET.variables[EVIL],
    "answer": NET.query(EVIL),
    "distribution": NET.cpd("y"),
    "best assignment": NET.mpe({}),
    "plan": NET.explain([EVIL]),
    "structure": pb.learn.structure(ROWS, knowledge=pb.Knowledge(required=[(EVIL, "y")])),
    "EM": pb.learn.em(GRAPH, ROWS),
    "fit": pb.learn.fit_parameters(GRAPH, ROWS),
    "diagram": DIAGRAM,
    "solution": DIAGRAM.solve(),
    "strategy": DIAGRAM.solve().strategy,
    "value of information": DIAGRAM.value_of_information(EVIL, decision="do"),
    "estimand": pb.causal.identify(GRAPH, outcome="y", treatment=EVIL),
    "effects": pb.causal.compare_effect(NET, "y", EVIL),
    "sensitivity": NET.sensitivity("y", "no", parameter=("y", {EVIL: "<b>"}, "no")),
    "sets": pb.causal.adjustment_sets(pb.DAG([(EVIL, "x"), (EVIL, "z"), ("x", "z")]), "z", "x"),
    "separation": NET.graph.explain_separation(EVIL, "y"),
}


@pytest.mark.parametrize("value", SHOWN.values(), ids=SHOWN)
def test_hostile_names_are_shown_as_they_are_written(value):
    """No name or state becomes markup, and none is lost."""
    text = value._repr_html_()
    assert set(re.findall(r"</?(\w+)", text)) <= {"table", "thead", "tbody", "tr", "th", "td", "pre", "p", "b", "div"}
    assert "alert('&')" in html.unescape(re.sub(r"<[^>]*>", "", text)), "the name can be read"


def test_a_network_is_a_table_of_its_variables():
    """States, parents and numbers of parameters, as counted by hand."""
    assert cells(pb.examples.load("asia")._repr_html_())[:4] == [
        ["variable", "states", "parents", "distribution", "parameters"],
        ["asia", "yes, no", "", "table", "1"],
        ["tub", "yes, no", "asia", "table", "2"],
        ["smoke", "yes, no", "", "table", "1"],
    ]


def test_an_assignment_and_a_rule_are_tables():
    """What the best assignment says of each variable; what a decision does for each thing seen."""
    assert cells(NET.mpe({})._repr_html_()) == [["variable", "state"], [EVIL, "a&b"], ["y", EVIL]]
    assert cells(DIAGRAM.solve().strategy._repr_html_()) == [[EVIL, "do"], ["<i>", EVIL], ["b", "wait"]]


@pytest.mark.parametrize(
    "rows",
    [
        (("a", "1"), ("b | c", "-2.5e-07")),
        (("+", "inf"), ("---", "3")),
        (("a", ""), ("", "")),
    ],
)
def test_a_printed_table_is_read_back_cell_by_cell(rows):
    """Bars, crosses and empty cells in the content don't shift columns; text around a table stays."""
    table = TextTable(("name", "number"), rows, 1)
    assert cells(html_of(f"Before:\n{table}\nafter")) == [["name", "number"], *map(list, rows)]
    assert re.sub(r"<table>.*</table>|<[^>]*>", "", html_of(f"Before:\n{table}\nafter")) == "Before:after"


def test_long_graphs_are_cut():
    """A thousand edges would fill the notebook."""
    chain = pb.DAG([(f"x{i}", f"x{i + 1}") for i in range(1000)])
    text = chain._repr_html_()
    assert "DAG: 1001 nodes, 1000 edges" in text
    assert len(text) < 6000
    assert text.count("...") == 1
