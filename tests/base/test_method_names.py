"""Errors about arguments name the class that users know."""

from __future__ import annotations

import inspect
import pickle

import pytest

import plausible as pb
from plausible.base.method_names import own_methods

ASIA = pb.examples.load("asia")
KINDS = [
    pb.BayesianNetwork,
    pb.MarkovNetwork,
    pb.InfluenceDiagram,
    pb.Factor,
    pb.inference.MarkovChain,
    *(pb.DAG, pb.UndirectedGraph, pb.graphs.MixedGraph, pb.PDAG, pb.CausalGraph, pb.MAG, pb.PAG),
    *(pb.learn.NaiveBayesClassifier, pb.learn.TANClassifier, pb.learn.KDBClassifier),
    *(pb.learn.BayesianNetworkClassifier, pb.learn.MixtureClustering, pb.learn.DirichletProcessMixture),
]


@pytest.mark.parametrize("kind", KINDS)
def test_every_public_method_carries_the_name_of_its_class(kind):
    """Under wrappers too; and so it can be pickled by that name."""
    for name, method in inspect.getmembers(kind, inspect.isfunction):
        if not name.startswith("_"):
            assert inspect.unwrap(method).__qualname__ == method.__qualname__ == f"{kind.__name__}.{name}"
            assert pickle.loads(pickle.dumps(method)) is method


@pytest.mark.parametrize(
    ("ask", "named"),
    [
        (lambda: ASIA.query(["lung"], evidense={}), "BayesianNetwork.query"),
        (lambda: ASIA.log_probability({}, evidense={}), "BayesianNetwork.log_probability"),
        (lambda: ASIA.conflict(evidense={}), "BayesianNetwork.conflict"),
        (lambda: ASIA.to_markov_network().conflict(evidense={}), "MarkovNetwork.conflict"),
        (lambda: ASIA.graph.d_separated("asia", "lung", evidense={}), "DAG.d_separated"),
    ],
)
def test_a_wrong_keyword_is_told_with_that_name(ask, named):
    """Bases that a class is put together from are nobody's business."""
    with pytest.raises(TypeError, match=rf"^{named}\(\) got an unexpected keyword argument 'evidense'"):
        ask()


def test_copies_keep_what_functions_have():
    """Defaults, annotations, documentation, `super` and overriding."""

    class Base:
        def word(self) -> str:
            return "base"

    class Part(Base):
        def word(self, times: int = 2, *, end: str = "!") -> str:
            """Say it."""
            return super().word() * times + end

    @own_methods
    class Whole(Part): ...

    assert Whole().word() == "basebase!"
    assert Whole().word(1, end="") == "base"
    assert Whole.word.__doc__ == "Say it."
    assert inspect.signature(Whole.word) == inspect.signature(Part.word)
    assert Part.word.__qualname__.endswith("Part.word")
