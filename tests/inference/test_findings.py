"""Impact, conflict and information against tables written out by hand and by enumeration."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from network_oracle import joint_of_bayesian_network, posterior, random_network, total
from plausible.errors import ImpossibleEvidence, UnknownVariable
from plausible.factors import Factor
from plausible.inference import smallest_contradiction
from plausible.inference.findings import (
    conflict,
    conflict_explanations,
    evidence_impact,
    impossible_evidence,
    information_about,
)
from plausible.variables import Variable
from refusals import refuses
from seeds import few_of

SEEDS = st.integers(0, 10**6)


def _possible(rng, net, joint, count):
    """States of some variables that can occur together: those of a possible assignment."""
    rows = [assignment for assignment, weight in joint if weight > 0]
    row = rows[rng.integers(len(rows))]
    return {name: row[name] for name in rng.permutation(list(net.variables))[:count].tolist()}


def _asker(net, joint, target):
    variable = net.variables[target]

    def ask(evidence):
        table = posterior(joint, [target], evidence)
        return Factor((variable,), [table.get((state,), 0.0) for state in variable.states])

    return ask


@settings(max_examples=16, deadline=None)
@given(seed=SEEDS)
def test_impacts_compare_the_posterior_with_those_of_fewer_findings(seed):
    """Divergences, changes and log Bayes factors of enumerated posteriors; with zeros and one-state variables."""
    rng = np.random.default_rng(seed)
    net = random_network(rng, num_variables=5)
    joint = joint_of_bayesian_network(net)
    evidence = _possible(rng, net, joint, 3)
    target = rng.choice([name for name in net.variables if name not in evidence])
    impact = evidence_impact(_asker(net, joint, target), evidence)
    now = posterior(joint, [target], evidence)
    assert sorted(finding.name for finding in impact) == sorted(evidence)
    assert all(a.divergence >= b.divergence - 1e-12 for a, b in zip(impact.findings, impact.findings[1:], strict=False))
    for finding in impact:
        rest = {name: state for name, state in evidence.items() if name != finding.name}
        before = posterior(joint, [target], rest)
        divergence = math.fsum(p * math.log(p / before[key]) for key, p in now.items() if p > 0)
        assert finding.divergence == pytest.approx(divergence, abs=1e-12)
        for state in net.variables[target].states:
            then, after = before.get((state,), 0.0), now.get((state,), 0.0)
            assert finding.change[state] == pytest.approx(after - then, abs=1e-12)
            _check_bayes_factor(joint, finding, {target: state}, rest)


def _check_bayes_factor(joint, finding, event, rest):
    """log P(f | t, rest) / P(f | not t, rest), from counts of the joint."""
    (target, state), seen = next(iter(event.items())), {finding.name: finding.finding}
    with_t = total(joint, {**rest, **event})
    without_t = total(joint, rest) - with_t
    answer = finding.log_bayes_factors[state]
    if with_t < 1e-12 or without_t < 1e-12:
        return
    above = total(joint, {**rest, **event, **seen}) / with_t
    below = (total(joint, {**rest, **seen}) - total(joint, {**rest, **event, **seen})) / without_t
    if above > 1e-9 and below > 1e-9:
        assert answer == pytest.approx(math.log(above / below), abs=1e-6), target
    elif above == 0:
        assert answer == -math.inf


def test_certainty_before_and_after_has_bayes_factors_without_nan():
    """Zero where nothing could change, infinite where a finding settles the matter."""
    joint = Factor({"T": 2, "A": 2}, [[0.5, 0.25], [0.0, 0.25]])

    def ask(evidence):
        return joint.reduce(evidence).marginal("T").normalize()

    settled = evidence_impact(ask, {"A": 0})["A"]
    assert settled.log_bayes_factors == {0: math.inf, 1: -math.inf}
    assert settled.log_bayes_factors_alone == settled.log_bayes_factors
    one = Variable("S", 1)
    known = evidence_impact(lambda evidence: Factor((one,), [1.0]), {"A": 0})["A"]
    assert known.log_bayes_factors == {0: 0.0}
    assert known.divergence == known.divergence_alone == 0.0


def test_findings_in_the_context_stay_in_every_question():
    """They are never left out and never examined."""
    asked = []

    def ask(evidence):
        asked.append(dict(evidence))
        return Factor({"T": 2}, [0.5, 0.5])

    impact = evidence_impact(ask, {"input": 1, "A": 0, "B": 1}, context={"input": 1})
    assert [finding.name for finding in impact] == ["A", "B"]
    assert len(impact) == 2
    assert all(evidence["input"] == 1 for evidence in asked)
    with pytest.raises(UnknownVariable, match="this evidence"):
        impact["C"]


def test_the_frame_has_a_row_for_each_finding_and_state():
    """Most decisive finding first; without findings it is empty."""
    joint = Factor({"T": 2, "A": 2, "B": 2}, [[[0.3, 0.1], [0.05, 0.05]], [[0.05, 0.05], [0.1, 0.3]]])

    def ask(evidence):
        return joint.reduce(evidence).marginal("T").normalize()

    frame = evidence_impact(ask, {"B": 1, "A": 1}).to_frame()
    assert frame["variable"].tolist() == ["A", "A", "B", "B"]
    assert frame["posterior"].tolist() == pytest.approx([1 / 7, 6 / 7] * 2)
    assert (frame["posterior"] - frame["without"]).tolist() == pytest.approx(frame["change"].tolist())
    assert len(evidence_impact(ask, {}).to_frame()) == 0


# --- conflict ---


@settings(max_examples=16, deadline=None)
@given(seed=SEEDS)
def test_the_conflict_is_the_log_ratio_to_independent_findings(seed):
    """conf(e), the partial conflicts, and conf(e, h) with a hypothesis as one more finding, of enumerated sums."""
    rng = np.random.default_rng(seed)
    net = random_network(rng, num_variables=5)
    joint = joint_of_bayesian_network(net)
    evidence = _possible(rng, net, joint, int(rng.integers(0, 5)))

    def log_probability(some):
        value = total(joint, some)
        return math.log(value) if value > 0 else -math.inf

    found = conflict(log_probability, evidence)
    whole = total(joint, evidence)
    expected = math.fsum(math.log(total(joint, {name: state})) for name, state in evidence.items()) - math.log(whole)
    assert found.value == pytest.approx(expected, abs=1e-12)
    for name, state in evidence.items():
        rest = {other: seen for other, seen in evidence.items() if other != name}
        partial = math.log(total(joint, {name: state}) * total(joint, rest) / whole)
        assert found.partial[name] == pytest.approx(partial, abs=1e-9)
    _check_explanations(net, joint, evidence, found)


def _check_explanations(net, joint, evidence, found):
    hidden = [name for name in net.variables if name not in evidence]
    prior = {name: _asker(net, joint, name)({}) for name in hidden}
    after = {name: _asker(net, joint, name)(evidence) for name in hidden}
    table = conflict_explanations(found, prior, after)
    assert np.all(np.diff(table["conflict"]) >= 0)
    for row in table.itertuples():
        hypothesis = {row.variable: row.state}
        above = math.fsum(math.log(total(joint, {name: state})) for name, state in {**evidence, **hypothesis}.items())
        expected = above - math.log(total(joint, {**evidence, **hypothesis}))
        assert row.conflict == pytest.approx(expected, abs=1e-9)
        assert row.explains == (found.value > 0 and row.conflict <= 0)


def test_no_finding_and_one_finding_have_no_conflict():
    """There is nothing to disagree with."""
    joint = Factor({"A": 2, "B": 2}, [[0.4, 0.1], [0.1, 0.4]])

    def log_probability(some):
        return math.log(joint.reduce(some).sum())

    assert conflict(log_probability, {}).value == pytest.approx(0.0)
    assert not conflict(log_probability, {"A": 1}).is_positive
    assert conflict(log_probability, {"A": 1}).partial == {"A": pytest.approx(0.0)}
    assert conflict(log_probability, {"A": 1, "B": 1}).value < 0


def test_impossible_findings_are_named():
    """Only those that contradict each other; a context that is impossible by itself is named too."""

    def log_probability(some):
        return -math.inf if {"A", "C"} <= some.keys() else 0.0

    with pytest.raises(ImpossibleEvidence, match="A=1, C=1 has probability zero together, whatever"):
        conflict(log_probability, {"A": 1, "B": 1, "C": 1})
    refuses(ImpossibleEvidence, "'A': 1", conflict, log_probability, {"A": 1, "C": 1}, context={"A": 1, "C": 1})


# --- printing ---


def test_an_impact_prints_the_change_and_the_first_findings():
    """However many findings there are, and however many states the target has."""
    target = Variable("T", [f"state {place}" for place in range(30)])
    findings = {f"finding {place}": place for place in range(25)}

    def ask(evidence):
        return Factor((target,), np.eye(30)[0] * 0.5 + 0.5 / 30 if evidence else np.full(30, 1 / 30))

    lines = repr(evidence_impact(ask, findings)).splitlines()
    assert lines[0].startswith("P(T) by 25 findings: state 0 0.03333 -> 0.5167, state 1 0.03333 -> 0.01667")
    assert lines[0].endswith("... (30 in all)")
    assert lines[1].startswith("  finding 0=0: 0 nats, ")
    assert len(lines) == 12
    assert lines[-1] == "  ... (25 in all)"
    few = repr(evidence_impact(ask, {"A": "a"}))
    assert "in all" in few.splitlines()[0]
    assert few.splitlines()[1:] == [f"  {evidence_impact(ask, {'A': 'a'})['A']}"]


# --- information ---


def test_no_information_is_plain_zero():
    """Neither minus zero nor a negative remainder of rounding."""
    certain = Factor({"T": 2}, [0.0, 1.0])
    answers = information_about(
        certain, {1: {"X": Factor({"X": 2}, [1.0, 0.0]), "Y": Factor({"Y": 3}, [0.1, 0.2, 0.7])}}
    )
    assert [math.copysign(1, number) for number in answers.values()] == [1.0, 1.0]
    assert list(answers.values()) == [0.0, 0.0]
    rng = np.random.default_rng(0)
    for _ in range(200):  # X does not depend on T: rounding alone is left
        target, same = rng.dirichlet(np.ones(3)), Factor({"X": 4}, rng.dirichlet(np.ones(4)))
        answer = information_about(Factor({"T": 3}, target), {state: {"X": same} for state in range(3)})["X"]
        assert math.copysign(1, answer) == 1.0
        assert answer < 1e-15


@settings(max_examples=16, deadline=None)
@given(seed=SEEDS)
def test_information_equals_the_double_sum_over_pairs(seed):
    """I(T; X | e) = Σ P(t, x | e) log P(t, x | e) / (P(t | e) P(x | e))."""
    rng = np.random.default_rng(seed)
    net = random_network(rng, num_variables=5)
    joint = joint_of_bayesian_network(net)
    evidence = _possible(rng, net, joint, 1)
    target = rng.choice([name for name in net.variables if name not in evidence])
    others = [name for name in net.variables if name != target]
    now = _asker(net, joint, target)(evidence)
    given_state = {
        state: {name: _asker(net, joint, name)({**evidence, target: state}) for name in others}
        for state in net.variables[target].states
        if now[{target: state}] > 0
    }
    answers = information_about(now, given_state, base=2)
    for name in others:
        pairs = posterior(joint, [target, name], evidence)
        left, right = posterior(joint, [target], evidence), posterior(joint, [name], evidence)
        expected = math.fsum(p * math.log2(p / (left[t,] * right[x,])) for (t, x), p in pairs.items() if p > 0)
        assert answers[name] == pytest.approx(expected, abs=1e-10)
        assert answers[name] >= 0


@pytest.mark.parametrize("seed", few_of(12, 20))
def test_contradiction_is_impossible_and_can_spare_nothing(seed):
    """With random sets of findings that can't hold together."""
    rng = np.random.default_rng(seed)
    names = list("abcdefg")
    cores = [set(rng.permutation(names)[: rng.integers(1, 4)]) for _ in range(3)]

    def possible(found):
        return not any(core <= found.keys() for core in cores)

    result = smallest_contradiction(dict.fromkeys(names, 0), possible)
    assert not possible(result)
    for name in result:
        assert possible({other: 0 for other in result if other != name})


def test_possible_evidence_has_no_contradiction():
    """There is nothing to name."""
    assert smallest_contradiction({"a": 1}, lambda found: True) is None
    assert impossible_evidence({"a": 1}, lambda found: True) is None


@pytest.mark.parametrize(
    ("core", "message"),
    [
        ({"a"}, "The evidence a=1 has probability zero."),
        ({"a", "b"}, "The evidence a=1, b='x' has probability zero together, whatever the other findings."),
        ({"a", "b", "c"}, "The evidence a=1, b='x', c=3 has probability zero together."),
    ],
)
def test_message_names_the_findings(core, message):
    """And says whether others matter."""
    evidence = {"a": 1, "b": "x", "c": 3}
    assert str(impossible_evidence(evidence, lambda found: not core <= found.keys())) == message


@pytest.mark.parametrize("core", [(0,), (299,), (10, 200), (0, 1, 2), (3, 77, 150, 298)])
def test_few_calls_find_a_small_contradiction_among_many_findings(core):
    """k out of n = 300 in at most 2k log2(n/k) + 2k calls (Junker's bound) and two more, not one for each finding."""
    calls = 0

    def possible(found):
        nonlocal calls
        calls += 1
        return not set(core) <= found.keys()

    assert smallest_contradiction(dict.fromkeys(range(300), 0), possible) == dict.fromkeys(core, 0)
    assert calls <= 2 * len(core) * math.log2(300 / len(core)) + 2 * len(core) + 2


def test_nothing_is_named_where_everything_is_impossible():
    """No finding is to blame."""
    assert smallest_contradiction({"a": 1}, lambda found: False) == {}
    assert impossible_evidence({"a": 1}, lambda found: False) is None
    assert impossible_evidence({}, lambda found: False) is None
