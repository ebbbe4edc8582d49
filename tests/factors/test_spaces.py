"""Finite probability spaces: the axioms, conditioning, and random variables as functions."""

from __future__ import annotations

import math
from itertools import product as cartesian

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from plausible.errors import ImpossibleEvidence, InvalidArgument
from plausible.factors import Factor, ProbabilitySpace, bayes_rule, total_probability
from refusals import refuses

CASES = settings(max_examples=24, deadline=None)
COINS = ProbabilitySpace.uniform(["HH", "HT", "TH", "TT"])
OUTCOMES = "abcdef"

spaces = (
    st.lists(st.integers(0, 5), min_size=6, max_size=6)
    .filter(any)
    .map(lambda counts: ProbabilitySpace({o: c / sum(counts) for o, c in zip(OUTCOMES, counts, strict=True)}))
)
events = st.frozensets(st.sampled_from(OUTCOMES))


def tails(outcome):
    return outcome.count("T")


# --- worked numbers ---


def test_two_fair_coins():
    """P(exactly one tail) = ½; the number of tails has pmf (¼, ½, ¼)."""
    assert COINS.probability(lambda outcome: tails(outcome) == 1) == 0.5
    assert COINS.probability({"HT", "TH"}) == 0.5
    assert COINS.random_variable("tails", tails).to_dict() == {0: 0.25, 1: 0.5, 2: 0.25}
    assert COINS.interval_probability(tails, 0, 2) == 0.5
    assert COINS.interval_probability(tails, 0, 2, closed="left") == 0.75
    assert COINS.interval_probability(tails, 0, 2, closed="both") == 1.0
    assert COINS.interval_probability(tails, low=0.5) == 0.75
    assert COINS.expectation(tails) == 1.0
    assert COINS.expectation(tails, given=lambda outcome: "T" in outcome) == pytest.approx(4 / 3)


def test_bayes_theorem_for_a_rare_disease():
    """Prior 1 %, sensitivity 90 %, false alarms 10 %: the posterior is 1/12, by labels and inside a space."""
    prior, likelihood = {"sick": 0.01, "well": 0.99}, {"sick": 0.9, "well": 0.1}
    assert total_probability(prior, likelihood) == pytest.approx(0.108)
    assert bayes_rule(prior, likelihood)["sick"] == pytest.approx(1 / 12)
    space = ProbabilitySpace(
        {(s, t): prior[s] * (likelihood[s] if t == "+" else 1 - likelihood[s]) for s, t in cartesian(prior, "+-")}
    )
    partition = {state: (lambda outcome, state=state: outcome[0] == state) for state in prior}
    assert space.bayes(partition, lambda outcome: outcome[1] == "+")["sick"] == pytest.approx(1 / 12)


def test_posterior_over_coin_biases():
    """Three hypotheses about a coin after two heads and a tail; likelihoods up to a factor give the same."""
    prior = {0.2: 0.25, 0.5: 0.5, 0.8: 0.25}
    likelihood = {θ: θ**2 * (1 - θ) for θ in prior}
    posterior = bayes_rule(prior, likelihood)
    assert posterior == pytest.approx(bayes_rule(prior, {θ: 3 * value for θ, value in likelihood.items()}))
    assert posterior[0.5] == pytest.approx(0.0625 / (0.008 + 0.0625 + 0.032))


# --- laws ---


@CASES
@given(spaces, events, events)
def test_the_laws_of_probability(space, a, b):
    """P(∅) = 0, P(Ω) = 1, complement, union, monotonicity."""
    P = space.probability
    assert P(frozenset()) == 0.0
    assert P(space.outcomes) == pytest.approx(1.0)
    assert P(space.complement(a)) == pytest.approx(1 - P(a))
    assert P(a | b) == pytest.approx(P(a) + P(b) - P(a & b))
    assert P(a & b) <= P(a) + 1e-12
    assert P(lambda outcome: outcome in a) == P(a)


@CASES
@given(spaces, events, events, events)
def test_conditioning_gives_a_space_that_obeys_the_same_laws(space, a, b, c):
    """P(A|B) = P(A∩B)/P(B); P(A∩C|B) = P(C|B) P(A|B∩C); P(B) = 0 is refused."""
    P = space.probability
    if P(b) == 0:
        refuses(ImpossibleEvidence, "probability zero", P, a, given=b)
        return
    assert P(a, given=b) == pytest.approx(P(a & b) / P(b))
    assert P(space.outcomes, given=b) == pytest.approx(1.0)
    if P(b & c) > 0:
        assert P(a & c, given=b) == pytest.approx(P(c, given=b) * P(a, given=b & c), abs=1e-12)
    assert space.is_independent(a, b) == (abs(P(a & b) - P(a) * P(b)) <= 1e-12)
    certain = min(P(a, given=b), 1 - P(a, given=b)) <= 1e-12  # only a certain event is independent of itself
    assert space.is_independent(a, a, given=b) == certain


@CASES
@given(spaces, st.lists(st.integers(0, 2), min_size=6, max_size=6), events)
def test_bayes_over_a_partition_is_conditioning_on_the_evidence(space, labels, evidence):
    """Σ_i P(A_i) P(B|A_i) = P(B), and P(A_i|B) agrees with the definition."""
    assume(space.probability(evidence) > 0)
    partition = {i: {o for o, label in zip(OUTCOMES, labels, strict=True) if label == i} for i in range(3)}
    posterior = space.bayes(partition, evidence)
    assert space.is_partition(partition.values())
    for i, event in partition.items():
        assert posterior[i] == pytest.approx(space.probability(event, given=evidence), abs=1e-12)


@CASES
@given(
    spaces,
    st.lists(st.integers(-2, 2), min_size=6, max_size=6),
    st.lists(st.sampled_from("xy"), min_size=6, max_size=6),
)
def test_random_variables_push_the_measure_forward(space, numbers, letters):
    """P(X = x, Y = y) = P{ω: X(ω) = x, Y(ω) = y}; expectation agrees with the pmf and is linear."""
    X, Y = (dict(zip(OUTCOMES, values, strict=True)).__getitem__ for values in (numbers, letters))
    joint = space.joint({"X": X, "Y": Y})
    assert joint.variable("X").states == tuple(sorted(set(numbers)))
    for x, y in cartesian(*(variable.states for variable in joint.scope)):
        assert joint[x, y] == pytest.approx(space.probability(lambda o, x=x, y=y: X(o) == x and Y(o) == y))
    mean = space.expectation(X)
    assert mean == pytest.approx(joint.marginal("X").expectation("X"), abs=1e-12)
    assert space.expectation(lambda o: 3 * X(o) + 2) == pytest.approx(3 * mean + 2)
    low, high = sorted(numbers)[1], sorted(numbers)[4]
    inside = space.probability(lambda o: low < X(o) < high)
    assert space.interval_probability(X, low, high) == pytest.approx(inside, abs=1e-12)


def test_independent_variables_multiply_their_expectations():
    """E[XY] = E[X]E[Y] for two dice, not for one die twice."""
    dice = ProbabilitySpace.uniform(cartesian(range(1, 7), repeat=2))
    assert dice.expectation(lambda o: o[0] * o[1]) == pytest.approx(3.5**2)
    assert dice.expectation(lambda o: o[0] * o[0]) == pytest.approx(91 / 6)
    assert dice.joint({"a": lambda o: o[0], "b": lambda o: o[1]}).is_independent("a", "b")
    assert not dice.joint({"a": lambda o: o[0], "sum": sum}).is_independent("a", "sum")


def test_values_that_can_not_be_sorted_keep_their_order():
    """Mixed values come as they appear."""
    space = ProbabilitySpace.uniform([1, 2, 3])
    assert space.random_variable("X", {1: "b", 2: 7, 3: "b"}.__getitem__).to_dict() == pytest.approx(
        {"b": 2 / 3, 7: 1 / 3}
    )


def test_a_factor_is_a_space_of_assignments():
    """Outcomes are tuples of states, bare states for one variable."""
    joint = Factor({"A": ["x", "y"], "B": 2}, [[0.1, 0.2], [0.3, 0.4]])
    assert ProbabilitySpace.from_factor(joint).probability(lambda o: o[0] == "y") == pytest.approx(0.7)
    assert ProbabilitySpace.from_factor(joint.marginal("A")).probability({"x"}) == pytest.approx(0.3)


# --- refusals and values ---


def test_what_is_no_space_or_event_is_refused():
    """Negative numbers, wrong sums, unknown outcomes (with close matches), bare text, overlapping partitions."""
    refuses(InvalidArgument, r"'b' is -0\.5", ProbabilitySpace, {"a": 1.0, "b": -0.5})
    refuses(InvalidArgument, r"sum to 0\.9", ProbabilitySpace, {"a": 0.4, "b": 0.5})
    refuses(InvalidArgument, "is nan", ProbabilitySpace, {"a": math.nan})
    refuses(InvalidArgument, "at least one outcome", ProbabilitySpace.uniform, [])
    with pytest.raises(InvalidArgument, match="'heads' is not an outcome"):
        ProbabilitySpace.uniform(["head", "tail"]).probability({"heads"})
    refuses(InvalidArgument, "not the text", COINS.probability, "HH")
    refuses(InvalidArgument, "no partition", COINS.bayes, {1: {"HH", "HT"}, 2: {"HT", "TH", "TT"}}, {"HH"})
    refuses(InvalidArgument, "closed is", COINS.interval_probability, tails, 0, 1, closed="open")
    with pytest.raises(ImpossibleEvidence):
        bayes_rule({"a": 1.0, "b": 0.0}, {"a": 0.0, "b": 1.0})
    for prior, likelihood in (({"a": 1.0}, {}), ({"a": 0.5}, {"a": 1}), ({}, {}), ({"a": 1.0}, {"a": -1.0})):
        with pytest.raises(InvalidArgument):
            total_probability(prior, likelihood)


def test_spaces_are_values():
    """Equal by content, hashable, read-only."""
    twin = ProbabilitySpace({"TT": 0.25, "TH": 0.25, "HT": 0.25, "HH": 0.25})
    assert twin == COINS
    assert hash(twin) == hash(COINS)
    assert COINS != "coins"
    assert list(COINS) == ["HH", "HT", "TH", "TT"]
    assert repr(COINS) == "ProbabilitySpace(4 outcomes)"
    with pytest.raises(TypeError):
        COINS.probabilities["HH"] = 1.0


@pytest.mark.parametrize("number", [math.nan, math.inf, -1.0])
def test_priors_and_likelihoods_are_numbers(number):
    """nan compares false with everything, and must not pass for that."""
    refuses(InvalidArgument, "prior of 'a'", bayes_rule, {"a": number, "b": 1.0}, {"a": 1.0, "b": 1.0})
    refuses(InvalidArgument, "likelihood of 'b'", bayes_rule, {"a": 0.5, "b": 0.5}, {"a": 1.0, "b": number})
