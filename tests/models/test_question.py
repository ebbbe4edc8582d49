"""One question, one way to its answer: a kind of model that tells its variables and factors is asked everything."""

from __future__ import annotations

import math
from itertools import product as cartesian

import numpy as np
import pytest

import plausible as pb
from plausible.errors import ImpossibleEvidence, InvalidModel, NotSupported, TooLarge, UnknownVariable
from plausible.models.answers import Answers
from plausible.models.evidence_analyses import EvidenceAnalyses
from plausible.models.question import Parts


class Whispers(EvidenceAnalyses, Answers):
    """A new kind of model: words passed on along a tree, each mouth repeating what it heard or not, none normalised."""

    def __init__(self, heard_from, words, strength):
        self.heard_from, self.strength = heard_from, strength
        self._variables = {name: pb.Variable(name, words) for name in ("source", *heard_from)}

    @property
    def variables(self):
        return self._variables

    def _parts(self, names, evidence):
        table = np.ones((3, 3)) + self.strength * np.eye(3)
        table[2, 0] = 0.0
        pairs = [(self._variables[said], self._variables[name]) for name, said in self.heard_from.items()]
        return Parts(
            factors=[pb.Factor([pb.Variable("source", self._variables["source"].states)], [1.0, 2.0, 3.0])]
            + [pb.Factor(pair, table) for pair in pairs]
        )


MODEL = Whispers({"a": "source", "b": "source", "c": "a"}, ["yes", "no", "maybe"], strength=2.5)
NAMES = list(MODEL.variables)
EVIDENCE = {"c": "no", "b": pb.likelihood([0.2, 1.0, 0.5])}


def measure(states, soft=True):
    """The product of the factors at one assignment, and of the likelihood, in plain Python."""
    total = {"yes": 1.0, "no": 2.0, "maybe": 3.0}[states["source"]]
    for name, said in MODEL.heard_from.items():
        pair = states[said], states[name]
        total *= 0.0 if pair == ("maybe", "yes") else 3.5 if pair[0] == pair[1] else 1.0
    return total * ({"yes": 0.2, "no": 1.0, "maybe": 0.5}[states["b"]] if soft else 1.0)


EVERYTHING = [dict(zip(NAMES, states, strict=True)) for states in cartesian(["yes", "no", "maybe"], repeat=4)]
AGREEING = [states for states in EVERYTHING if states["c"] == "no"]
Z = sum(measure(states, soft=False) for states in EVERYTHING)
Z_GIVEN = sum(map(measure, AGREEING))


def belief(name):
    return [sum(measure(s) for s in AGREEING if s[name] == word) / Z_GIVEN for word in ("yes", "no", "maybe")]


SUMMING = [
    None,
    "auto",
    pb.inference.Enumeration(),
    pb.VariableElimination(),
    pb.JunctionTree(),
    pb.RecursiveConditioning(),
    pb.LoopyBP(),
]
DRAWING = [pb.Gibbs(num_samples=20_000, seed=3), pb.inference.Metropolis(num_samples=20_000, seed=3)]
MAXIMIZING = [None, "auto", pb.MaxProduct(), pb.BranchAndBound(), pb.inference.MiniBucketMax()]


@pytest.mark.parametrize("engine", SUMMING, ids=repr)
def test_a_new_kind_of_model_is_asked_for_beliefs_by_every_engine(engine):
    """P(X | e), P(X, Y | e), log P(e) and log Z(e) equal enumeration: the model told its variables and factors only."""
    for name in NAMES:
        np.testing.assert_allclose(MODEL.query(name, EVIDENCE, engine=engine).values, belief(name), atol=1e-7)
    joint = MODEL.query(["a", "source"], EVIDENCE, engine=engine)
    for place in cartesian(range(3), repeat=2):
        words = [joint.scope[axis].states[i] for axis, i in enumerate(place)]
        expected = sum(measure(s) for s in AGREEING if [s["a"], s["source"]] == words) / Z_GIVEN
        assert joint.values[place] == pytest.approx(expected, abs=1e-7)
    for name, answer in MODEL.marginals(EVIDENCE, engine=engine).items():
        np.testing.assert_allclose(answer.values, belief(name), atol=1e-7)
    assert MODEL.log_partition(EVIDENCE, engine=engine) == pytest.approx(math.log(Z_GIVEN))
    assert MODEL.log_probability(EVIDENCE, engine=engine) == pytest.approx(math.log(Z_GIVEN / Z))
    counts = MODEL.expected_counts({"c": ["no", None]}, engine=engine)
    for place, word in enumerate(["yes", "no", "maybe"]):
        among = [sum(measure(s, soft=False) for s in some if s["source"] == word) for some in (AGREEING, EVERYTHING)]
        totals = [sum(measure(s, soft=False) for s in some) for some in (AGREEING, EVERYTHING)]
        assert counts["0"][place] == pytest.approx(among[0] / totals[0] + among[1] / totals[1], abs=1e-7)


@pytest.mark.parametrize("engine", DRAWING, ids=repr)
def test_a_new_kind_of_model_is_sampled_by_engines(engine):
    """Chains come near the beliefs, for queries and as rows."""
    np.testing.assert_allclose(MODEL.query("a", EVIDENCE, engine=engine).values, belief("a"), atol=0.03)
    rows = MODEL.sample(8000, 1, EVIDENCE, engine=engine)
    shares = rows["source"].value_counts(normalize=True)
    np.testing.assert_allclose([shares[word] for word in ("yes", "no", "maybe")], belief("source"), atol=0.04)


@pytest.mark.parametrize("engine", MAXIMIZING, ids=repr)
def test_a_new_kind_of_model_is_asked_for_best_assignments(engine):
    """The mpe is a maximum of the product; its probability is told where log Z was computed."""
    best = MODEL.mpe(EVIDENCE, engine=engine)
    largest = max(map(measure, AGREEING))
    assert measure(dict(best)) == pytest.approx(largest)
    assert best.log_product == pytest.approx(math.log(largest))
    if engine in (None, "auto"):
        assert best.log_probability == pytest.approx(math.log(largest / Z))


def test_a_new_kind_of_model_is_asked_everything_else():
    """Lists of best assignments, marginal MAP, expectations, plans, joints, samples: all against enumeration."""
    ranked = sorted(map(measure, AGREEING), reverse=True)
    listed = MODEL.k_best(5, EVIDENCE)
    np.testing.assert_allclose([math.exp(one.log_probability) * Z for one in listed], ranked[:5])
    for engine in (None, "auto", pb.LoopyBP()):
        chosen = MODEL.map(["source"], EVIDENCE, engine=engine)
        assert chosen["source"] == ["yes", "no", "maybe"][int(np.argmax(belief("source")))]
        assert chosen.log_probability == pytest.approx(math.log(max(belief("source")) * Z_GIVEN / Z))
    gain = pb.Factor([MODEL.variables["a"], MODEL.variables["b"]], np.arange(9.0).reshape(3, 3))
    index = MODEL.variables["a"].index
    expected = sum(measure(s) * (3 * index(s["a"]) + index(s["b"])) for s in AGREEING) / Z_GIVEN
    assert MODEL.expectation(gain, EVIDENCE) == pytest.approx(expected)
    np.testing.assert_allclose(MODEL.joint().flat, [measure(s, soft=False) / Z for s in EVERYTHING])
    shares = MODEL.sample(20_000, 0, EVIDENCE)["a"].value_counts(normalize=True)
    np.testing.assert_allclose([shares.get(word, 0.0) for word in ("yes", "no", "maybe")], belief("a"), atol=0.02)
    wanted = MODEL.query("a", {"c": pb.jeffrey([0.5, 0.25, 0.25])})
    assert wanted.is_distribution()
    np.testing.assert_allclose(MODEL.query("c", {"c": pb.jeffrey([0.5, 0.25, 0.25])}).values, [0.5, 0.25, 0.25])
    assert MODEL.explain("a", EVIDENCE).fits
    assert MODEL.evidence_impact("source", {"a": "yes", "c": "no"})["a"].change is not None


class Tilted(Answers):
    """P(a) P(b | a) P(c | b), tilted by a weight on b: distributions and a factor, which do not sum to one."""

    variables = {name: pb.Variable(name, 2) for name in "abc"}

    def _parts(self, names, evidence):
        first = pb.TableCPD(self.variables["a"], [0.3, 0.7])
        return Parts(
            cpds=[
                first.bind(self.variables),
                pb.TableCPD(self.variables["b"], [[0.9, 0.1], [0.4, 0.6]], ["a"]).bind(self.variables),
                pb.TableCPD(self.variables["c"], [[0.8, 0.2], [0.5, 0.5]], ["b"]).bind(self.variables),
            ],
            factors=[pb.Factor([self.variables["b"]], [2.0, 5.0])],
        )


def test_a_model_may_have_distributions_and_factors():
    """All of them count, whatever is asked, compiled for some variables or for all."""
    model, joint = (
        Tilted(),
        np.einsum("a,ab,bc,b->abc", [0.3, 0.7], [[0.9, 0.1], [0.4, 0.6]], [[0.8, 0.2], [0.5, 0.5]], [2, 5]),
    )
    assert model.log_partition() == pytest.approx(math.log(joint.sum()))
    for answers in (model, model.compile(), model.compile("a")):
        np.testing.assert_allclose(answers.query("a").values, joint.sum(axis=(1, 2)) / joint.sum())
    for answers in (model, model.compile()):
        np.testing.assert_allclose(answers.query("a", {"c": 1}).values, joint[..., 1].sum(axis=1) / joint[..., 1].sum())
        assert answers.log_probability({"c": 1}) == pytest.approx(math.log(joint[..., 1].sum() / joint.sum()))
        assert answers.mpe().log_probability == pytest.approx(math.log(joint.max() / joint.sum()))


def test_a_new_kind_of_model_is_compiled():
    """The compiled model answers alike, and for tables of rows."""
    engine = MODEL.compile()
    np.testing.assert_allclose(engine.query("a", EVIDENCE).values, belief("a"))
    assert engine.log_probability(EVIDENCE) == pytest.approx(math.log(Z_GIVEN / Z))
    assert engine.mpe(EVIDENCE).log_probability == pytest.approx(MODEL.mpe(EVIDENCE).log_probability)
    rows = engine.predict_proba({"c": ["no", None], "b": ["yes", "no"]}, "a")
    np.testing.assert_allclose(rows.iloc[0], MODEL.query("a", {"c": "no", "b": "yes"}).values)
    assert list(MODEL.compile(targets="source").variables) == ["source", "a"]  # b and c are summed out at once


def test_a_new_kind_of_model_has_the_errors_of_all_models():
    """Contradictions are named, wrong names get close matches, costs are refused in time, do= needs a network."""
    with pytest.raises(ImpossibleEvidence, match="source='maybe', a='yes' has probability zero together"):
        MODEL.query("b", {"source": "maybe", "a": "yes", "c": "no"})
    with pytest.raises(UnknownVariable, match="Did you mean 'source'"):
        MODEL.query("sorce")
    with pytest.raises(TooLarge, match="fewer variables"):
        MODEL.query(["a", "b", "c"], budget=pb.Budget(seconds=1e-12))
    with pytest.raises(NotSupported, match="intervention"):
        MODEL.query("a", do={"source": "no"})
    with pytest.raises(NotSupported, match="jeffrey"):
        MODEL.mpe({"a": pb.jeffrey([0.2, 0.3, 0.5])})
    with pytest.raises(InvalidModel, match="rule out every assignment"):
        pb.models.FactorGraph([pb.Factor({"X": 2}, [0.0, 0.0])]).query("X")


FACTORS = [pb.Factor({"X": 2, "Y": 2}, [[4, 1], [1, 4]]), pb.Factor({"Y": 2, "Z": 3}, [[1, 2, 3], [3, 2, 2]])]


def test_factor_graphs_and_conditional_fields_answer_as_the_markov_network():
    """The same factors, the same answers; a field's inputs are given in every question."""
    network, graph = pb.MarkovNetwork(FACTORS), pb.models.FactorGraph(FACTORS)
    field = pb.models.ConditionalRandomField(*FACTORS, inputs=["X"])
    seen = {"X": 1, "Z": 2}
    for model in (graph, field):
        np.testing.assert_allclose(model.query("Y", seen).values, network.query("Y", seen).values)
        np.testing.assert_allclose(model.marginals(seen)["Y"].values, network.marginals(seen)["Y"].values)
        assert dict(model.mpe(seen)) == dict(network.mpe(seen))
        assert model.sample(5, 0, seen)["X"].tolist() == [1] * 5
    assert graph.log_probability(seen) == pytest.approx(network.log_probability(seen))
    given = network.log_probability(seen) - network.log_probability({"X": 1})
    assert field.log_probability(seen) == pytest.approx(given)
    assert field.mpe(seen).log_probability == pytest.approx(
        network.mpe(seen).log_probability - network.log_probability({"X": 1})
    )
    assert [one["Y"] for one in field.k_best(2, {"X": 1, "Z": 0})] == [1, 0]
    for ask in (field.compile, lambda: field.query("Y"), lambda: field.expected_counts({"Y": [0]})):
        with pytest.raises(InvalidModel, match="input"):
            ask()
