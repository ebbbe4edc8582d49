"""Errors about arguments name the class that users know."""

from __future__ import annotations

import inspect
import pickle

import pytest

import plausible as pb
from plausible.base.hints import keyword_advice
from plausible.base.method_names import keyword_hints, own_methods

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


ROWS = ASIA.sample(50, seed=1)


@pytest.mark.parametrize(
    ("call", "error", "advice"),
    [
        (lambda: ASIA.query("lung", evidnce={}), TypeError, "BayesianNetwork.query.* Did you mean 'evidence'"),
        (lambda: ASIA.query(variables=["lung"]), TypeError, "Use targets="),
        (lambda: ASIA.map(variables=["lung"]), TypeError, "Use names="),
        (lambda: ASIA.sample(n=3), TypeError, "Use num_rows="),
        (lambda: ASIA.to_markov_network().sample(3, random_state=1), TypeError, "MarkovNetwork.sample.* Use seed="),
        (lambda: pb.learn.em(ASIA.graph, ROWS, max_iter=5), TypeError, r"^em\(\) .* Use max_steps="),
        (lambda: pb.learn.parameters(ASIA.graph, ROWS, pseudo_counts=1), TypeError, r"^parameters\(\) .* Use prior="),
        (lambda: pb.learn.cross_validate(ROWS, cv=5), TypeError, "Use num_folds="),
        (lambda: pb.load("x.bif", leniant=True), TypeError, r"^load\(\) .* Did you mean 'lenient'"),
        (lambda: pb.Knowledge(whitelist=[]), TypeError, "Use required="),
        (lambda: pb.learn.structure(ROWS, "tan", target="lung"), ValueError, "Use class_variable="),
        (lambda: pb.learn.structure(ROWS, max_indegree=2), ValueError, r"knowledge=Knowledge\(max_parents=2\)\.$"),
        (lambda: pb.learn.pc(ROWS, white_list=[("A", "B")]), ValueError, r"knowledge=Knowledge\(required="),
        (lambda: pb.learn.pc(ROWS, significance_level=0.1), ValueError, "Use alpha="),
        (lambda: pb.learn.pc(ROWS, test="chi2"), ValueError, "Did you mean 'chi-square'"),
    ],
)
def test_a_keyword_of_another_library_or_misspelt_leads_to_the_one_here(call, error, advice):
    """For doors of everyday use, whatever this Python suggests by itself."""
    with pytest.raises(error, match=advice):
        call()


def test_an_error_inside_of_a_door_stays_as_it_is():
    """Only the call's own keywords are advised on; the signature stays that of the function."""

    @keyword_hints
    def door(*, seed=None):
        return (lambda other: other)(random_state=seed)

    with pytest.raises(TypeError) as inner:
        door(seed=1)
    assert "Use seed=" not in str(inner.value)
    assert list(inspect.signature(door).parameters) == ["seed"]


@pytest.mark.parametrize("part", list(inspect.signature(pb.Knowledge).parameters))
def test_every_part_of_knowledge_is_known_as_such(part):
    assert f"Knowledge({part}=...)" in keyword_advice(part, ["knowledge"])
