"""Hints for attributes that other libraries have."""

from __future__ import annotations

import copy
import pickle
import re
import traceback
from importlib import import_module

import numpy as np
import pandas as pd
import pytest

import plausible as pb
from plausible.base import hints
from plausible.base.hints import Hinted, HintedNames
from plausible.errors import PlausibleError, UnknownAttribute

ASIA = pb.examples.load("asia")
ROWS = pd.DataFrame({"A": [0, 1, 1, 0, 1], "B": [0, 1, 0, 0, 1]})
DIAGRAM = pb.InfluenceDiagram(
    chance=[pb.TableCPD("rain", [0.8, 0.2])],
    decisions=[pb.Decision("umbrella", 2)],
    utilities=[pb.Utility(["rain", "umbrella"], [[1, 0.5], [0, 0.5]])],
)
HMM = pb.HiddenMarkovModel([0.5, 0.5], [[0.7, 0.3], [0.3, 0.7]], [[0.9, 0.1], [0.2, 0.8]])
OBJECTS = [
    ("net", ASIA),
    ("net", ASIA.to_markov_network()),
    ("factor", ASIA.query("lung")),
    ("factor", pb.learn.graphical_lasso({"a": [1.0, 2.0, 4.0], "b": [1.0, 3.0, 2.0]}).network),
    ("graph", ASIA.graph),
    ("graph", ASIA.graph.moralize()),
    *(("graph", kind("A -> B")) for kind in (pb.CausalGraph, pb.graphs.MixedGraph, pb.PDAG, pb.MAG, pb.PAG)),
    ("diagram", DIAGRAM),
    ("result", pb.learn.structure(ROWS)),
    ("fit", pb.learn.em("A -> B", ROWS)),
    ("model", HMM),
    ("model", pb.models.HiddenSemiMarkovModel([0.5, 0.5], [[0, 1], [1, 0]], [[0.5, 0.5]] * 2, [[0.9, 0.1]] * 2)),
    ("model", pb.LinearDynamicalSystem(0.9, 1.0, 1.0, 1.0, 0.0, "stationary")),
    ("net model", HMM.to_dynamic_network()),
    ("model", pb.RelationalModel(pb.Schema(coin={"id": [1]}), [pb.TableCPD("coin.side", [0.5, 0.5])])),
    ("model", pb.PlateModel([pb.TableCPD("side[coin]", [0.5, 0.5])], plates={"coin": 2})),
]
CALL = re.compile(r"(?<!')\b(net|model|graph|factor|diagram|result|fit|pb)((?:\.\w+(?:\(\))?)+)")


def reached(start: object, path: str) -> object:
    """What a chain of attributes and calls without arguments leads to."""
    for step in path.split(".")[1:]:
        start = getattr(start, step.removesuffix("()"))
        start = start() if step.endswith("()") else start
    return start


@pytest.mark.parametrize(("word", "thing"), OBJECTS, ids=lambda part: part if isinstance(part, str) else type(part))
def test_every_call_that_a_hint_names_exists(word, thing):
    """Each chain of names in a sentence can be followed from the object that the sentence is about."""
    assert type(thing)._hints
    for name, sentence in type(thing)._hints.items():
        assert not hasattr(thing, name), f"the hint for {name} can never be shown"
        for start, path in CALL.findall(sentence):
            assert start in (*word.split(), "pb"), sentence
            reached(pb if start == "pb" else thing, path)


@pytest.mark.parametrize(
    ("model", "name", "told"),
    [
        (HMM.to_dynamic_network(), "query", "Use model.smooth(rows)"),
        (HMM, "query", "model.unroll(5).query"),
        (HMM, "fit", "pb.learn.hmm"),
        (HMM, "score", "model.log_likelihood(rows)"),
        (HMM, "decode", "model.mpe(rows)"),
        (pb, "GaussianHMM", "pb.HiddenMarkovModel"),
        (pb, "KalmanFilter", "pb.LinearDynamicalSystem"),
    ],
    ids=str,
)
def test_what_other_libraries_call_things_in_time_gets_advice(model, name, told):
    """The names that come first to mind."""
    with pytest.raises(AttributeError, match=re.escape(told)):
        getattr(model, name)


@pytest.mark.parametrize("package", hints.PACKAGE_HINTS)
def test_every_call_that_the_hint_of_a_module_names_exists(package):
    """Each sentence is shown for a name that is not there, and its calls can be followed."""
    module, known = import_module(package), {"net": ASIA, "diagram": DIAGRAM, "pb": pb}
    for name, sentence in hints.PACKAGE_HINTS[package].items():
        with pytest.raises(AttributeError, match=re.escape(f"has no attribute {name!r}. {sentence}")):
            getattr(module, name)
        for start, path in CALL.findall(sentence):
            reached(known[start], path)


@pytest.mark.parametrize(
    ("module", "name", "advice"),
    [
        (pb, "read_bif", "pb.load("),
        (pb, "BIFReader", "pb.load("),
        (pb, "TabularCPD", "pb.TableCPD("),
        (pb, "HillClimbSearch", "pb.learn.structure("),
        (pb.learn, "HillClimbSearch", "pb.learn.structure("),
        (pb.learn, "fit", "pb.learn.parameters("),
        (pb.learn, "mle", "pb.learn.parameters("),
        (pb, "cpquery", "net.query("),
        (pb, "cpdist", "net.sample("),
        (pb.causal, "effect", "pb.causal.estimate_effect"),
        (pb.examples, "alarm", "pb.examples.load("),
    ],
)
def test_a_name_of_another_library_leads_to_the_one_here(module, name, advice):
    """As for attributes of values."""
    assert not hasattr(module, name)
    with pytest.raises(AttributeError, match=re.escape(advice)):
        getattr(module, name)


def test_every_page_is_used():
    """No page of hints stands in the file for nothing."""
    of_values = set(hints.__all__) - {"PACKAGE_HINTS"}
    pages = [page for name, page in vars(hints).items() if name in of_values and name.endswith("_HINTS")]
    assert all(any(type(thing)._hints.items() >= page.items() for _, thing in OBJECTS) for page in pages)


@pytest.mark.parametrize(
    ("name", "advice"),
    {
        "nodes": "net.graph.nodes",
        "edges": "net.graph.edges",
        "predict": "net.compile().predict(frame, target)",
        "fit": "pb.learn.parameters(net, frame)",
        "plot": "net.picture(evidence)",
        "get_cpds": "net.cpd(name)",
        "add_edge": "net.with_edge(source, target)",
        "to_bif": "pb.save(net, 'model.bif')",
        "varables": "Did you mean 'variables'?",
    }.items(),
)
def test_an_unknown_attribute_of_a_network_says_what_to_use(name, advice):
    """Names from other libraries get the right call, typing errors a close match; hasattr stays false."""
    assert not hasattr(ASIA, name)
    with pytest.raises(PlausibleError, match=re.escape(advice)) as raised:
        getattr(ASIA, name)
    assert isinstance(raised.value, AttributeError)
    shown = "".join(traceback.format_exception(raised.value))
    assert shown.count("Did you mean") == advice.count("Did you mean"), "Python adds no suggestion of its own"


@pytest.mark.parametrize("name", ["_repr_png_", "__array__", "_ipython_canary_method_should_not_exist_", "_typo"])
def test_protocols_get_the_plain_error(name):
    """Private names, which libraries ask for, are no case for advice."""
    with pytest.raises(AttributeError) as raised:
        getattr(ASIA, name)
    assert type(raised.value) is AttributeError


@pytest.mark.parametrize("thing", [thing for word, thing in OBJECTS if word != "result"], ids=type)
def test_hinted_values_are_still_copied_pickled_and_put_into_arrays(thing):
    """What looks attributes up on empty or foreign objects works as before."""
    assert type(copy.copy(thing)) is type(copy.deepcopy(thing)) is type(thing)
    assert type(pickle.loads(pickle.dumps(thing))) is type(thing)
    holder = np.empty(1, dtype=object)
    holder[0] = thing
    assert pd.Series(holder).iloc[0] is thing


def test_the_error_survives_a_process_boundary():
    """A copy says the same."""
    error = UnknownAttribute(pb.BayesianNetwork, "nodez", "Use x.")
    assert str(pickle.loads(pickle.dumps(error))) == str(copy.copy(error)) == str(error)


def test_a_fault_inside_of_a_property_is_not_hidden():
    """An AttributeError raised by the code of a property comes through as it is."""

    class Broken(Hinted):
        @property
        def size(self) -> int:
            return self.name.size  # type: ignore[attr-defined]

        @property
        def worse(self) -> int:
            return (1).nothing  # type: ignore[attr-defined]

    with pytest.raises(AttributeError, match="'int' object has no attribute 'nothing'"):
        _ = Broken().worse
    with pytest.raises(UnknownAttribute, match="has no attribute 'name'"):
        _ = Broken().size


def test_the_names_of_a_page_cost_a_factor_nothing():
    """A class with `__getattr__` is read more slowly: factors have none, and offer no name of the page."""
    factor = ASIA.query("lung")
    assert not hasattr(pb.Factor, "__getattr__")
    assert not set(pb.Factor._hints) & set(dir(factor))
    assert {"values", "scope", "marginalize"} <= set(dir(factor))
    with pytest.raises(UnknownAttribute, match=r"A Factor has no attribute 'get_value'\. Write factor\[state\]"):
        _ = factor.get_value


def test_a_hint_never_hides_an_attribute():
    """A class that has the name keeps it, its own or inherited."""

    class Table(HintedNames):
        _hints = {"size": "Use x.", "old": "Use size."}

        size = 3

    class Wide(Table):
        old = 4

    assert (Table().size, Wide().size, Wide().old) == (3, 3, 4)


def test_a_graph_is_not_searched_for_a_graph(monkeypatch):
    """Misses are slow in hinted classes: a graph where a graph is wanted causes none."""
    missed: list[str] = []
    monkeypatch.setattr(Hinted, "__getattr__", lambda self, name: missed.append(name))
    assert ASIA.query("lung", {"xray": "yes"}).names == ("lung",)
    assert missed == []
