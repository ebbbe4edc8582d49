"""Information theory on factors: worked numbers, and laws against sums written out term by term."""

from __future__ import annotations

import math
from itertools import combinations, permutations
from itertools import product as cartesian

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plausible.errors import InvalidArgument, InvalidFactor, UnknownVariable
from plausible.factors import (
    Factor,
    check_distance_axioms,
    conditional_entropy,
    conditional_kl,
    cross_entropy,
    distinguishing_event,
    entropy,
    hellinger_distance,
    jensen_shannon_divergence,
    kl_chain,
    kl_divergence,
    l1_distance,
    l2_distance,
    linf_distance,
    mutual_information,
    pinsker_bound,
    total_variation,
)
from refusals import refuses

CASES = settings(max_examples=20, deadline=None)
SCOPE = {"X": 2, "Y": 3, "Z": 2, "one": 1}
JOINT = Factor({"X": 2, "Y": 2}, [[0.25, 0.25], [0.0, 0.5]])
P, Q, R = (Factor({"X": 2}, row) for row in ([0.5, 0.5], [0.75, 0.25], [0.95, 0.05]))


@st.composite
def distributions(draw, positive=False):
    """Distributions over the scope, usually with zeros."""
    counts = draw(st.lists(st.integers(1 if positive else 0, 6), min_size=12, max_size=12).filter(any))
    return Factor(SCOPE, np.array(counts, dtype=float).reshape(2, 3, 2, 1) / sum(counts))


def rows(factor):
    names = factor.names
    return [dict(zip(names, states, strict=True)) for states in cartesian(*(v.states for v in factor.scope))]


def probability(factor, context):
    """P(context) by adding the entries that agree with it."""
    return math.fsum(factor[row] for row in rows(factor) if all(row[name] == state for name, state in context.items()))


def plain_entropy(factor, names):
    """Σ P log 1/P over the assignments to some variables, in nats."""
    total = 0.0
    for states in cartesian(*(factor.variable(name).states for name in names)):
        p = probability(factor, dict(zip(names, states, strict=True)))
        total += -p * math.log(p) if p else 0.0
    return total


# --- worked numbers ---


def test_entropy_of_the_four_symbol_source():
    """P = (½, ¼, ⅛, ⅛) has 1.75 bits; uniform over N has log2 N; a certain outcome has none."""
    assert entropy(Factor({"X": 4}, [1 / 2, 1 / 4, 1 / 8, 1 / 8]), base=2) == pytest.approx(1.75)
    assert entropy(Factor.from_flat(Factor({"X": 100}, [0.01] * 100).scope, [0.01] * 100), base=2) == pytest.approx(
        math.log2(100)
    )
    assert entropy(Factor({"X": 3}, [0, 1, 0])) == 0.0
    assert entropy(Factor.scalar(1.0)) == 0.0


def test_nothing_is_plain_zero_and_not_minus_zero():
    """Of certain outcomes and of independent variables, in every measure that can't be negative."""
    certain = Factor({"X": 2, "Y": 2}, [[0.0, 1.0], [0.0, 0.0]])
    measures = [
        entropy(certain),
        entropy(Factor.scalar(1.0)),
        conditional_entropy(certain, "X", given="Y"),
        mutual_information(certain, "X", "Y"),
        kl_divergence(certain, certain),
    ]
    assert measures == [0.0] * 5
    assert [math.copysign(1, number) for number in measures] == [1.0] * 5


def test_entropies_of_a_joint_with_a_zero():
    """P = (¼, ¼; 0, ½): H(X), H(Y), H(X, Y), H(X|Y), H(Y|X) and I in bits."""
    assert entropy(JOINT, "X", base=2) == pytest.approx(1.0)
    assert entropy(JOINT, "Y", base=2) == pytest.approx(0.811278, abs=1e-6)
    assert entropy(JOINT, base=2) == pytest.approx(1.5)
    assert conditional_entropy(JOINT, "X", given="Y", base=2) == pytest.approx(0.688722, abs=1e-6)
    assert conditional_entropy(JOINT, "Y", given="X", base=2) == pytest.approx(0.5)
    assert mutual_information(JOINT, "X", "Y", base=2) == pytest.approx(0.311278, abs=1e-6)


def test_divergences_and_distances_of_two_coins():
    """P = (.5, .5), Q = (.75, .25), with Pinsker's bound."""
    assert kl_divergence(P, Q, base=2) == pytest.approx(0.207519, abs=1e-6)
    assert kl_divergence(Q, P, base=2) == pytest.approx(0.188722, abs=1e-6)
    assert (l1_distance(P, Q), linf_distance(P, Q), total_variation(P, Q)) == (0.5, 0.25, 0.25)
    assert l2_distance(P, Q) == pytest.approx(0.353553, abs=1e-6)
    assert pinsker_bound(kl_divergence(P, Q, base=2), base=2) == pytest.approx(0.536360, abs=1e-6)
    assert pinsker_bound(kl_divergence(P, Q)) == pytest.approx(0.536360, abs=1e-6)


def test_divergence_breaks_the_triangle_inequality():
    """D(P‖R) = 1.197964 > D(P‖Q) + D(Q‖R) = .532223 bits, with R = (.95, .05)."""
    assert kl_divergence(P, R, base=2) == pytest.approx(1.197964, abs=1e-6)
    assert kl_divergence(P, Q, base=2) + kl_divergence(Q, R, base=2) == pytest.approx(0.532223, abs=1e-6)
    axioms = check_distance_axioms(kl_divergence, [P, Q, R])
    assert axioms.positivity is None
    assert axioms.symmetry == (0, 1)
    assert axioms.triangle == (0, 1, 2)
    assert not axioms.is_metric


def test_mutual_information_of_functions_and_of_independent_variables():
    """I = H(X) when X is a function of Y, zero for independent ones; xor hides it from pairs."""
    parity = Factor({"X": 2, "Y": 4}, [[0.1, 0, 0.4, 0], [0, 0.2, 0, 0.3]])
    assert mutual_information(parity, "X", "Y") == pytest.approx(entropy(parity, "X"))
    xor = Factor({"A": 2, "B": 2, "C": 2}, [[[0.25, 0], [0, 0.25]], [[0, 0.25], [0.25, 0]]])
    assert mutual_information(xor, "A", "C", base=2) == pytest.approx(0.0, abs=1e-12)
    assert mutual_information(xor, "A", "C", given="B", base=2) == pytest.approx(1.0)
    assert mutual_information(xor, ["A", "B"], "C", base=2) == pytest.approx(1.0)


# --- laws ---


@CASES
@given(distributions())
def test_entropies_equal_their_sums_and_obey_their_bounds(p):
    """0 ≤ H(X) ≤ log |Val(X)|, H(X|Y) ≤ H(X), 0 ≤ I(X;Y) = I(Y;X) ≤ H(X)."""
    for names in (["X"], ["Y", "Z"], ["X", "Y", "Z", "one"], []):
        size = math.prod(SCOPE[name] for name in names)
        assert entropy(p, names) == pytest.approx(plain_entropy(p, names), abs=1e-12)
        assert -1e-12 <= entropy(p, names) <= math.log(size) + 1e-12
    joint = plain_entropy(p, ["X", "Y", "Z"])
    assert conditional_entropy(p, "X", given=["Y", "Z"]) == pytest.approx(
        joint - plain_entropy(p, ["Y", "Z"]), abs=1e-12
    )
    assert conditional_entropy(p, "X", given=["Y", "Z"]) <= conditional_entropy(p, "X", "Y") + 1e-12
    assert conditional_entropy(p, "X", given="Y") <= entropy(p, "X") + 1e-12
    information = mutual_information(p, "X", ["Y", "Z"])
    assert information == pytest.approx(mutual_information(p, ["Z", "Y"], "X"), abs=1e-12)
    assert 0 <= information <= entropy(p, "X") + 1e-12
    assert mutual_information(p, "X", "Y") <= information + 1e-12
    assert mutual_information(p, "X", "X") == pytest.approx(entropy(p, "X"))
    assert mutual_information(p, "X", "one") == pytest.approx(0.0, abs=1e-12)


@CASES
@given(distributions())
def test_the_entropy_chain_rule_gives_one_value_for_every_order(p):
    """H(X_1, ..., X_n) = Σ H(X_i | X_1..i-1), whatever the order."""
    for order in permutations(["X", "Y", "Z"]):
        terms = [conditional_entropy(p, name, given=order[:place]) for place, name in enumerate(order)]
        assert math.fsum(terms) == pytest.approx(entropy(p), abs=1e-12)


@CASES
@given(distributions(), distributions())
def test_divergence_equals_its_sum_and_is_cross_entropy_less_entropy(p, q):
    """D(P‖Q) = Σ P log P/Q ≥ 0, infinite where P > 0 = Q; axes may come in any order."""
    pairs = [(p[row], q[row]) for row in rows(p)]
    swapped = q.reorder(["Z", "one", "X", "Y"])
    if any(a > 0 == b for a, b in pairs):
        assert kl_divergence(p, swapped) == math.inf == cross_entropy(p, swapped)
    else:
        expected = math.fsum(a * math.log(a / b) for a, b in pairs if a)
        assert kl_divergence(p, swapped) == pytest.approx(expected, abs=1e-12)
        assert cross_entropy(p, swapped) == pytest.approx(expected + entropy(p), abs=1e-12)
        assert (kl_divergence(p, q) <= 1e-12) == p.is_close(q, 1e-7)
    assert kl_divergence(p, p) == 0.0
    assert l1_distance(p, q) <= pinsker_bound(kl_divergence(p, q)) + 1e-12
    assert l1_distance(p, q) <= pinsker_bound(kl_divergence(p, q, base=2), base=2) + 1e-12


@CASES
@given(distributions(), distributions(positive=True))
def test_the_divergence_chain_rule_and_monotonicity(p, q):
    """The terms of any order sum to D(P‖Q); a marginal never diverges more than the joint."""
    for order in (["X", "Y", "Z", "one"], ["Z", "one", "Y", "X"]):
        terms = kl_chain(p, q, order)
        assert list(terms) == order
        assert math.fsum(terms.values()) == pytest.approx(kl_divergence(p, q), abs=1e-12)
        for size in range(5):
            part = kl_divergence(p.marginal(order[:size]), q.marginal(order[:size]))
            assert math.fsum(list(terms.values())[:size]) == pytest.approx(part, abs=1e-12)
            assert part <= kl_divergence(p, q) + 1e-12


@CASES
@given(distributions(), distributions(positive=True))
def test_conditional_divergence_is_the_weighted_sum_over_contexts(p, q):
    """D(P(X|Y)‖Q(X|Y)) = Σ_y P(y) D(P(X|y)‖Q(X|y))."""
    expected = 0.0
    for y in range(3):
        weight, other = probability(p, {"Y": y}), probability(q, {"Y": y})
        for x in range(2):
            a, b = probability(p, {"X": x, "Y": y}), probability(q, {"X": x, "Y": y})
            expected += a * math.log((a / weight) / (b / other)) if a else 0.0
    assert conditional_kl(p, q, "X", given="Y") == pytest.approx(expected, abs=1e-12)
    assert conditional_kl(p, q, "X", given="Y", base=2) == pytest.approx(expected / math.log(2), abs=1e-12)


def test_conditional_divergence_where_a_context_is_impossible():
    """A context that only Q excludes makes it infinite; one that only P excludes does not count."""
    p, q = Factor({"Y": 2, "X": 2}, [[0.5, 0.5], [0, 0]]), Factor({"Y": 2, "X": 2}, [[0, 0], [0.5, 0.5]])
    both = Factor({"Y": 2, "X": 2}, [[0.25, 0.25], [0.25, 0.25]])
    assert conditional_kl(p, q, "X", given="Y") == math.inf
    assert conditional_kl(p, both, "X", given="Y") == pytest.approx(0.0)
    assert conditional_kl(p, both, "X", given="X") == 0.0


@CASES
@given(st.integers(0, 2**32 - 1))
def test_divergence_adds_over_independent_parts(seed):
    """D(P₁P₂‖Q₁Q₂) = D(P₁‖Q₁) + D(P₂‖Q₂)."""
    rng = np.random.default_rng(seed)
    p1, q1 = (Factor({"A": 3}, rng.dirichlet(np.ones(3))) for _ in range(2))
    p2, q2 = (Factor({"B": 2}, rng.dirichlet(np.ones(2))) for _ in range(2))
    assert kl_divergence(p1 * p2, q1 * q2) == pytest.approx(kl_divergence(p1, q1) + kl_divergence(p2, q2))


@CASES
@given(distributions(), distributions())
def test_total_variation_is_the_largest_difference_over_all_events(p, q):
    """max over all 2¹² events of |P(α) - Q(α)| = L1/2, attained where P > Q."""
    q = q.reorder(["Y", "X", "one", "Z"])
    differences = [p[row] - q[row] for row in rows(p)]
    best = max(sum(d for d in differences if d > 0), -sum(d for d in differences if d < 0))
    assert total_variation(p, q) == pytest.approx(best, abs=1e-12)
    event = distinguishing_event(p, q)
    assert sum(p[row] - q[row] for row in rows(p) if event[row]) == pytest.approx(best, abs=1e-12)
    assert l1_distance(p, q) == pytest.approx(math.fsum(map(abs, differences)))
    assert l2_distance(p, q) == pytest.approx(math.sqrt(math.fsum(d * d for d in differences)))
    assert linf_distance(p, q) == pytest.approx(max(map(abs, differences)))


def test_total_variation_against_every_event_of_a_small_space():
    """All sixteen events, one by one."""
    p, q = Factor({"X": 4}, [0.1, 0.4, 0.3, 0.2]), Factor({"X": 4}, [0.25, 0.25, 0.25, 0.25])
    events = [event for size in range(5) for event in combinations(range(4), size)]
    assert total_variation(p, q) == pytest.approx(max(abs(sum(p[x] - q[x] for x in event)) for event in events))


@CASES
@given(st.lists(distributions(), min_size=1, max_size=4))
def test_true_distances_pass_the_axioms(points):
    """L1, L2, L∞, total variation, Hellinger and the root of Jensen-Shannon are metrics."""
    distances = (l1_distance, l2_distance, linf_distance, total_variation, hellinger_distance)
    for distance in (*distances, lambda p, q: math.sqrt(jensen_shannon_divergence(p, q))):
        assert check_distance_axioms(distance, points, tolerance=1e-7).is_metric


@CASES
@given(distributions(), distributions())
def test_hellinger_and_jensen_shannon_stay_in_their_ranges(p, q):
    """0 ≤ H ≤ 1 and 0 ≤ JS ≤ log 2, even where the supports are disjoint; H² ≤ TV ≤ √2 H."""
    h, js, tv = hellinger_distance(p, q), jensen_shannon_divergence(p, q), total_variation(p, q)
    assert 0 <= h <= 1 + 1e-12
    assert 0 <= js <= math.log(2) + 1e-12
    assert h**2 <= tv + 1e-12 <= math.sqrt(2) * h + 1e-9


def test_axioms_name_what_breaks_them():
    """Positions of the points that break positivity, symmetry and the triangle inequality; infinity counts."""
    assert check_distance_axioms(lambda a, b: -1.0, [1, 2]).positivity == (0, 0)
    assert check_distance_axioms(lambda a, b: 0.0, [1, 2]).positivity == (0, 1)
    assert check_distance_axioms(lambda a, b: (a - b) ** 2, [0, 1, 2]).triangle == (0, 1, 2)
    assert check_distance_axioms(lambda a, b: abs(a - b), [0, 5, 2]).is_metric
    far = {(0, 2): math.inf, (2, 0): math.inf}
    assert check_distance_axioms(lambda a, b: far.get((a, b), float(a != b)), [0, 1, 2]).triangle == (0, 1, 2)
    skewed = {(0, 1): math.inf}
    assert check_distance_axioms(lambda a, b: skewed.get((a, b), float(a != b)), [0, 1]).symmetry == (0, 1)
    assert check_distance_axioms(lambda a, b: 0.0, []).is_metric


# --- refusals ---


def test_arguments_must_be_distributions_over_the_same_variables():
    """The error names the sum, the negative entry, the scopes or the unknown name."""
    refuses(InvalidFactor, r"\(X, Y\) sums to 2\.", entropy, JOINT * 2.0)
    refuses(InvalidFactor, r"has the entry -0\.5", kl_divergence, Factor({"X": 2}, [1.5, -0.5]), P)
    refuses(InvalidFactor, "different variables or states", kl_divergence, P, JOINT)
    refuses(InvalidFactor, "different variables or states", l1_distance, P, Factor({"X": ["a", "b"]}, [0.5, 0.5]))
    with pytest.raises(UnknownVariable):
        mutual_information(JOINT, "X", "W")
    refuses(InvalidArgument, "not an order", kl_chain, JOINT, JOINT, ["X"])
    for base in (1, 0, 0.5, -2, math.inf, math.nan):
        refuses(InvalidArgument, "base of a logarithm", entropy, P, base=base)
    refuses(InvalidArgument, "divergence can't be", pinsker_bound, -0.1)


def test_names_may_come_from_an_iterator():
    """Independent fair bits: H(X | Y, Z) = ln 2, I(X; Y | Z) = 0, though an iterator can be read once only."""
    bits = Factor({"X": 2, "Y": 2, "Z": 2}, np.full((2, 2, 2), 1 / 8))
    assert conditional_entropy(bits, iter("X"), given=iter("YZ")) == pytest.approx(math.log(2))
    assert mutual_information(bits, iter("X"), iter("Y"), given=iter("Z")) == pytest.approx(0.0, abs=1e-12)
    rng = np.random.default_rng(0)
    p, q = (Factor({"X": 2, "Y": 3}, rng.dirichlet(np.ones(6)).reshape(2, 3)) for _ in range(2))
    assert conditional_kl(p, q, iter("X"), given=iter("Y")) == conditional_kl(p, q, "X", given="Y") > 0
    assert entropy(p, iter("X")) == entropy(p, "X")
    assert list(kl_chain(p, q, iter(["Y", "X"]))) == ["Y", "X"]
