"""Notebooks show what `print` shows."""

from __future__ import annotations

import ast
import html
import inspect
import json
import pickle
import re
from enum import Enum
from functools import cache
from html.parser import HTMLParser
from importlib import import_module
from pathlib import Path

import pandas as pd
import pytest

import plausible as pb
from plausible.base.records import TextTable, html_of, to_plain
from plausible.data.table import Table
from plausible.errors import UnknownVariable
from plausible.inference import QueryInfo
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


@cache
def sources() -> list[str]:
    return [path.read_text(encoding="utf-8") for path in Path(pb.__file__).parent.rglob("*.py")]


def classes_in(texts: list[str]) -> list[tuple[ast.ClassDef, set[str]]]:
    """The classes in some of the source, with the names that they define."""
    found = []
    for node in (node for text in texts for node in ast.walk(ast.parse(text))):
        if isinstance(node, ast.ClassDef):
            names = {part.name for part in node.body if isinstance(part, ast.FunctionDef)}
            names |= {ast.unparse(part.targets[0]) for part in node.body if isinstance(part, ast.Assign)}
            found.append((node, names))
    return found


@cache
def printing_classes() -> list[tuple[ast.ClassDef, set[str]]]:
    """The classes that have a `__str__` of their own."""
    own = classes_in([text for text in sources() if "def __str__" in text])
    return [(node, names) for node, names in own if "__str__" in names]


def heirs_of_printing_classes() -> list[tuple[ast.ClassDef, set[str]]]:
    """The classes that print as one that they are made from, or as one that it is made from."""
    bases = {
        name: set(re.findall(r"\w+", listed))
        for text in sources()
        for name, listed in re.findall(r"^class (\w+)\((.*)\):$", text, re.MULTILINE)
    }
    own = printing = {node.name for node, _ in printing_classes()}
    while more := {name for name, listed in bases.items() if listed & printing} - printing:
        printing = printing | more
    wanted = re.compile(rf"^class ({'|'.join(printing - own)})\(", re.MULTILINE)
    return [part for part in classes_in(list(filter(wanted.search, sources()))) if part[0].name in printing - own]


def test_so_does_every_class_of_the_package_that_calls_hand_out():
    """Records that are not in a public list come back from calls too: the source is looked through."""
    missing = []
    for node, names in printing_classes():
        is_error = re.search("Error|Exception", " ".join(map(ast.unparse, node.bases)))
        is_record = any(ast.unparse(decorator).startswith("record") for decorator in node.decorator_list)
        missing += [] if is_error or is_record or "_repr_html_" in names else [node.name]
    assert missing == []


#: Small values whose fields say more than their text, or that users write themselves.
WRITTEN = {
    *("AffineMap", "Context", "Immorality", "Indifference", "Junction", "Limit", "Monotone", "NoDirectEffect"),
    *("Planes", "Program", "QueryTerm", "RiskInterval", "Statement", "Step", "Symbol", "TakenStep", "TextLines"),
    *("TextTable", "Finding", "Lagged"),
}


def test_a_shell_shows_what_print_shows():
    """Records that print well don't show their fields instead, a page long: the source is looked through.

    `dataclass` writes a `__repr__` into each class, one that is made from a record too.
    """
    raw = set()
    for node, names in printing_classes() + heirs_of_printing_classes():
        kinds = [ast.unparse(part) for part in (*node.decorator_list, *node.bases)]
        is_plain = any(k == "NamedTuple" or (k.startswith("dataclass") and "repr=False" not in k) for k in kinds)
        raw |= {node.name} if is_plain and "__repr__" not in names else set()
    assert raw == WRITTEN


ASIA = pb.examples.load("asia")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (ASIA.query("lung").info, "<QueryInfo: variable elimination, exact, cost 6>"),
        (
            QueryInfo(
                "chains", exact=False, converged=False, error=0.25, num_steps=1, effective_samples=2.5, advice="Wait."
            ),
            "<QueryInfo: chains, approximate, not converged, error 0.25, 1 sample, effective samples 2.5; Wait.>",
        ),
        (
            ASIA.conflict({"xray": "yes", "smoke": "no"}),
            "<Conflict: the findings disagree: conf(e) = 0.4708 nats, by finding: xray 0.4708, smoke 0.4708>",
        ),
        (
            pb.causal.identify("S -> T -> C; S <-> C", outcome="C", treatment="S"),
            "<Estimand: P(c | do(s)) = Σ_t P(t | s) Σ_s' P(c | t, s') P(s')>",
        ),
        (
            ASIA.sensitivity("lung", "yes", {"xray": "yes"}, parameter=("xray", {"either": "no"}, "yes")),
            "<SensitivityFunction: P(lung=yes | e) = 0.488711 at P(xray=yes | either=no) = 0.05>",
        ),
    ],
    ids=lambda part: type(part).__name__,
)
def test_records_of_everyday_calls_are_short_at_the_prompt(value, text):
    """Kind and contents in a line."""
    assert repr(value) == text
    assert value._repr_html_()


def test_records_with_several_lines_are_shown_as_they_print():
    """Plans, comparisons of tables, and graphs that were learned by tests."""
    plan = ASIA.explain("lung")
    assert repr(plan) == str(plan)
    assert str(plan).startswith("clique tree: 2 factors over 2 variables\n")
    rows = {"A": [0, 1] * 50, "B": [0, 1] * 50}
    assert repr(pb.learn.pc(rows)) == "2 variables, 0 directed and 1 undirected edges; 1 test\nA - B"
    assert repr(pb.causal.fci(rows)).splitlines()[1:] == ["A o-o B"]


@pytest.mark.parametrize("ask", [ASIA.marginals, ASIA.compile().marginals, ASIA.to_markov_network().marginals])
def test_marginals_are_a_dictionary_that_prints_as_a_table(ask):
    """Equal to a plain one; a row for each variable; long ones are cut."""
    beliefs = ask({"xray": "yes"})
    assert isinstance(beliefs, dict)
    assert beliefs == dict(beliefs)
    assert pickle.loads(pickle.dumps(beliefs)) == beliefs
    assert repr(beliefs).splitlines()[2:4] == [
        "asia     | yes 0.0131555, no 0.986844",
        "tub      | yes 0.0924109, no 0.907589",
    ]
    assert cells(beliefs._repr_html_())[1] == ["asia", "yes 0.0131555, no 0.986844"]
    assert repr(type(beliefs)()) == "{}"
    assert beliefs.get("lungs") is None
    with pytest.raises(UnknownVariable, match=r"'lungs' is not a variable of these answers. Did you mean 'lung'\?"):
        beliefs["lungs"]


@pytest.mark.parametrize(
    "answers",
    [
        ASIA.marginals(targets=["lung"]),
        ASIA.marginals(engine=pb.LoopyBP()),
        ASIA.to_markov_network().marginals(engine=pb.LoopyBP()),
        pb.BayesianNetwork(pb.TableCPD("A", [0.5, 0.5]), pb.LinearGaussianCPD("X", variance=1.0)).compile().marginals(),
    ],
)
def test_so_are_those_of_other_ways_to_an_answer(answers):
    """Whatever engine gives them."""
    assert repr(answers).startswith("variable | distribution")


@pytest.mark.parametrize(
    "engine", [ASIA.compile(), pb.BayesianNetwork(pb.LinearGaussianCPD("X", variance=1.0)).compile()]
)
def test_compiled_engines_show_their_variables(engine):
    """The title is what a shell shows."""
    text = engine._repr_html_()
    assert repr(engine).strip("<>") in html.unescape(text)
    assert [row[0] for row in cells(text)] == ["variable", *engine.variables]


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
    "answers": NET.marginals(),
    "engine": NET.compile(),
    "conflict": NET.conflict({EVIL: "<b>", "y": "no"}),
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
    drawn = {"svg", "style", "g", "title", "rect", "ellipse", "polygon", "path", "text", "details", "summary"}
    told = {"table", "thead", "tbody", "tr", "th", "td", "pre", "p", "b", "div"}
    assert set(re.findall(r"</?(\w+)", text)) <= told | drawn
    assert "alert('&')" in html.unescape(re.sub(r"<[^>]*>", "", text)), "the name can be read"


MODELS = ("network", "Markov network", "factor graph", "diagram", "engine", "distribution", "variable", "sets")
RESULTS = {name: value for name, value in SHOWN.items() if name not in MODELS and "graph" not in name}


@pytest.mark.parametrize("value", RESULTS.values(), ids=RESULTS)
def test_results_are_told_in_types_that_json_knows(value):
    """What JSON gives back is what was told, which is not empty; frames have rows."""
    told = value.to_dict()
    assert told
    assert json.loads(json.dumps(to_plain(told))) == to_plain(told)
    if hasattr(value, "to_frame"):
        assert len(value.to_frame())


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
    assert len(re.sub(r"<svg.*</svg>", "", text, flags=re.S)) < 6000
    assert len(text) < 12_000
    assert text.count("...") == 1


def test_models_and_tables_print_what_is_in_them():
    """In a shell one line; printed the names, states and parents too, and of very many an excerpt."""
    net = pb.examples.load("asia")
    assert "\n" not in repr(net)
    for printed in (str(net), str(net.to_markov_network()), str(net.to_factor_graph())):
        assert all(name in printed for name in net.variables)
    assert [part.strip() for part in str(net).splitlines()[-1].split("|")][:3] == ["dysp", "yes, no", "bronc, either"]
    table = Table.read({"colour": ["red", "blue"], "size": [0.5, 1.5]})
    assert str(table).splitlines()[0] == repr(table)
    assert [line.split(" | ")[-1].strip() for line in str(table).splitlines()[3:]] == ["blue, red", "continuous"]
    many = Table.read({f"v{place}": [0, 1] for place in range(1000)})
    assert len(str(many).splitlines()) < 30
    assert "980 more rows" in str(many)
