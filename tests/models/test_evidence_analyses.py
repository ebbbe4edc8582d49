"""Information, impact and conflict as methods of networks, against queries and enumeration."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from network_oracle import (
    asia_network,
    binary,
    joint_of_bayesian_network,
    measure_of_markov_network,
    posterior,
    random_markov_network,
    random_network,
)
from plausible.cpds import ConditionalGaussianCPD, TableCPD
from plausible.errors import ImpossibleEvidence, InvalidArgument, NotSupported, UnknownVariable
from plausible.models import BayesianNetwork
from plausible.variables import Variable, jeffrey, likelihood

SEEDS = st.integers(0, 10**6)


def _rows(model):
    return joint_of_bayesian_network(model) if isinstance(model, BayesianNetwork) else measure_of_markov_network(model)


def _possible(rng, rows, count):
    live = [assignment for assignment, weight in rows if weight > 0]
    row = live[rng.integers(len(live))]
    return {name: row[name] for name in rng.permutation(list(row))[:count].tolist()}


def _information(rows, target, name, evidence):
    pairs = posterior(rows, [target, name], evidence)
    left, right = posterior(rows, [target], evidence), posterior(rows, [name], evidence)
    return math.fsum(p * math.log(p / (left[t,] * right[x,])) for (t, x), p in pairs.items() if p > 0)


@pytest.mark.parametrize("make", [random_network, random_markov_network], ids=["bayesian", "markov"])
@settings(max_examples=8, deadline=None)
@given(seed=SEEDS)
def test_mutual_information_with_all_variables_equals_enumeration(make, seed):
    """Sorted, without the target and what is observed; with zeros and one-state variables."""
    rng = np.random.default_rng(seed)
    model = make(rng)
    rows = _rows(model)
    evidence = _possible(rng, rows, 2)
    target = rng.choice([name for name in model.variables if name not in evidence])
    table = model.mutual_information(target, evidence)
    assert set(table.index) == set(model.variables) - set(evidence) - {target}
    assert np.all(np.diff(table["mutual_information"]) <= 0)
    whole = _information(rows, target, target, evidence) if model.variables[target].num_states > 1 else 0.0
    for name, row in table.iterrows():
        expected = _information(rows, target, name, evidence)
        assert row["mutual_information"] == pytest.approx(expected, abs=1e-10)
        if whole > 1e-6:
            assert row["share"] == pytest.approx(expected / _entropy(rows, target, evidence), abs=1e-8)
        assert row["entropy"] == pytest.approx(_entropy(rows, name, evidence), abs=1e-10)
    assert model.entropy(target, evidence) == pytest.approx(_entropy(rows, target, evidence), abs=1e-10)


def _entropy(rows, name, evidence):
    return -math.fsum(p * math.log(p) for p in posterior(rows, [name], evidence).values() if p > 0)


def test_information_in_bits_after_jeffrey_evidence_is_that_of_the_updated_joint():
    """The rule fixes P(B), not P(B | target): the updated joint is q(b) P(a | b)."""
    net = BayesianNetwork(binary("A", 0.25), binary("B", [0.1, 0.6], ["A"]), binary("C", [0.3, 0.9], ["B"]))
    evidence = {"B": jeffrey([0.5, 0.5])}
    updated = [
        (row, weight / {False: 0.775, True: 0.225}[row["B"]] * 0.5) for row, weight in joint_of_bayesian_network(net)
    ]
    table = net.mutual_information("A", evidence, base=2)
    for name in ("B", "C"):
        expected = _information(updated, "A", name, {}) / math.log(2)
        assert table.loc[name, "mutual_information"] == pytest.approx(expected, abs=1e-12)


def test_an_observed_target_is_not_uncertain():
    """No information is left to be had."""
    table = asia_network().mutual_information("T", {"T": True})
    assert (table["mutual_information"] == 0).all()
    assert (table["share"] == 0).all()


def test_joint_entropy_follows_the_chain_rule():
    """H(A, B) = H(A) + Σ P(a) H(B | a)."""
    net = BayesianNetwork(binary("A", 0.25), binary("B", [0.1, 0.6], ["A"]))
    given = 0.75 * net.entropy("B", {"A": False}) + 0.25 * net.entropy("B", {"A": True})
    assert net.entropy(["A", "B"]) == pytest.approx(net.entropy("A") + given)
    with pytest.raises(InvalidArgument, match="base"):
        net.entropy("A", base=0.5)


@pytest.mark.parametrize("make", [random_network, random_markov_network], ids=["bayesian", "markov"])
@settings(max_examples=8, deadline=None)
@given(seed=SEEDS)
def test_conflict_and_impact_equal_enumeration(make, seed):
    """conf(e) of enumerated probabilities, and posteriors without each finding."""
    rng = np.random.default_rng(seed)
    model = make(rng)
    rows = _rows(model)
    evidence = _possible(rng, rows, 3)
    whole = math.fsum(weight for _, weight in rows)

    def log_probability(some):
        chosen = [weight for row, weight in rows if all(row[name] == state for name, state in some.items())]
        return math.log(math.fsum(chosen) / whole)

    expected = math.fsum(log_probability({n: s}) for n, s in evidence.items()) - log_probability(evidence)
    assert model.conflict(evidence).value == pytest.approx(expected, abs=1e-9)
    target = next(name for name in model.variables if name not in evidence)
    for finding in model.evidence_impact(target, evidence):
        rest = {name: state for name, state in evidence.items() if name != finding.name}
        before = posterior(rows, [target], rest)
        for state in model.variables[target].states:
            assert finding.without[state] == pytest.approx(before.get((state,), 0.0), abs=1e-10)


def test_the_scale_of_likelihoods_does_not_change_the_conflict():
    """Virtual evidence counts by its ratios."""
    net = asia_network()
    values = [net.conflict({"X": likelihood([k, 9 * k]), "D": False}).value for k in (1e-9, 1.0, 7.0)]
    assert values == pytest.approx([values[0]] * 3)


def test_a_rare_state_explains_a_conflict():
    """A positive x-ray of someone who does not smoke disagrees less once tuberculosis is assumed."""
    net = asia_network()
    evidence = {"X": True, "S": False}
    assert net.conflict(evidence).is_positive
    table = net.conflict_explanations(evidence)
    best = table.iloc[0]
    assert best["explains"]
    hypothesis = {best["variable"]: best["state"]}
    assert net.conflict({**evidence, **hypothesis}).value == pytest.approx(best["conflict"])
    assert set(table["variable"]).isdisjoint(evidence)


def test_measurements_and_inputs_have_impact_and_conflict():
    """Numbers are findings like others; inputs are part of every question."""
    source, class_ = Variable("U", 2), Variable("C", 2)
    net = BayesianNetwork(
        TableCPD(class_, [[0.9, 0.1], [0.4, 0.6]], parents=[source]),
        ConditionalGaussianCPD("m", parents=[class_], intercept=[0.0, 3.0], coefficients={}, variance=[1.0, 1.0]),
        TableCPD("S", [[0.8, 0.2], [0.3, 0.7]], parents=[class_]),
        inputs=[source],
    )
    evidence = {"U": 1, "m": 0.0, "S": 1}
    impact = net.evidence_impact("C", evidence)
    assert [finding.name for finding in impact] == ["m", "S"]
    assert impact["m"].log_bayes_factors[0] == pytest.approx(4.5)
    assert impact.prior.values == pytest.approx([0.4, 0.6])
    densities = [math.exp(-0.5 * mean**2) / math.sqrt(2 * math.pi) for mean in (0.0, 3.0)]
    together = 0.4 * densities[0] * 0.2 + 0.6 * densities[1] * 0.7
    alone = (0.4 * densities[0] + 0.6 * densities[1]) * (0.4 * 0.2 + 0.6 * 0.7)
    assert net.conflict(evidence).value == pytest.approx(math.log(alone / together))
    table = net.mutual_information("C", {"U": 1, "m": 0.0})
    assert table.index.tolist() == ["S"]


def test_impossible_evidence_is_named():
    """By every question."""
    net = BayesianNetwork(binary("A", 0.25), binary("B", [0.0, 0.6], ["A"]), binary("C", 0.5))
    evidence = {"A": False, "B": True, "C": True}
    for ask in (
        lambda: net.conflict(evidence),
        lambda: net.conflict_explanations(evidence),
        lambda: net.evidence_impact("C", evidence),
        lambda: net.mutual_information("C", evidence),
        lambda: net.entropy("C", evidence),
    ):
        with pytest.raises(ImpossibleEvidence, match="A=False, B=True"):
            ask()


def test_wrong_names_are_refused():
    """With close matches; jeffrey evidence has no probability, so no conflict."""
    net = asia_network()
    with pytest.raises(UnknownVariable):
        net.mutual_information("Z")
    with pytest.raises(UnknownVariable):
        net.evidence_impact("Z", {})
    with pytest.raises(UnknownVariable):
        net.conflict({"Z": True})
    with pytest.raises(NotSupported, match="jeffrey"):
        net.conflict({"X": jeffrey([0.5, 0.5])})
