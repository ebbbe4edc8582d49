"""Preferential independence against the definition, pair by pair and context by context."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import plausible as pb
from plausible import errors
from plausible.utilities import conditional_preference, preferential_independence
from refusals import refuses

TASTE = pb.Factor({"S": ["s0", "s1"], "F": ["f0", "f1"]}, [[1.0, 0.0], [2.0, 3.0]])


def test_success_is_preferentially_independent_of_fame_and_not_the_other_way_round():
    """(s0, f1) < (s0, f0) < (s1, f0) < (s1, f1): the relation is not symmetric."""
    assert preferential_independence(TASTE, "S").holds
    answer = preferential_independence(TASTE, "F")
    assert not answer
    assert answer.deviation == pytest.approx(2.0)
    assert "S=s0" in str(answer)


def _signs_agree(table: np.ndarray) -> bool:
    """The definition: every two rows compare alike in every column."""
    pairs = itertools.combinations(table, 2)
    return all(len(set(np.sign(first - second))) <= 1 for first, second in pairs)


@settings(max_examples=30, deadline=None)
@given(
    shape=st.lists(st.integers(1, 3), min_size=1, max_size=3),
    seed=st.integers(0, 10**6),
    top=st.integers(1, 3),
    size=st.integers(0, 3),
)
def test_preferential_independence_equals_its_definition_ties_included(shape, seed, top, size):
    """Few different numbers, so that ties are common; the witness must show what it claims."""
    rng = np.random.default_rng(seed)
    values = rng.integers(0, top + 1, size=shape).astype(float)
    names = [f"V{i}" for i in range(len(shape))]
    chosen = names[: min(size, len(names))]
    utility = pb.Factor(dict(zip(names, shape, strict=True)), values)
    answer = preferential_independence(utility, chosen)
    rows = int(np.prod(shape[: len(chosen)]))
    assert answer.holds == _signs_agree(values.reshape(rows, -1))
    if not answer.holds:
        change = answer.witness
        for context, difference in zip((change.context, change.other_context), change.differences, strict=True):
            first = utility[{**change.first[0][0], **context}]
            second = utility[{**change.second[0][0], **context}]
            assert first - second == pytest.approx(difference)
        assert change.differences[0] > 0 >= change.differences[1]
        assert answer.deviation > 0


def test_differences_within_the_tolerance_are_ties():
    """A reversal of a millionth of the range is none with a tolerance of a thousandth."""
    utility = pb.Factor({"A": 2, "B": 2}, [[0.0, 1.0], [1e-6, 1.0 - 1e-6]])
    assert not preferential_independence(utility, "A").holds
    assert preferential_independence(utility, "A", tolerance=1e-3).holds


@given(st.integers(0, 10**6))
@settings(max_examples=12, deadline=None)
def test_conditional_preference_compares_lotteries_extended_by_the_context(seed):
    """E[U(X, y)] by a sum over all outcomes, the context having probability one."""
    rng = np.random.default_rng(seed)
    utility = pb.Factor({"A": 3, "B": 2, "C": 2}, rng.normal(size=(3, 2, 2)))
    first, second = (pb.Factor({"A": 3, "C": 2}, rng.dirichlet(np.ones(6)).reshape(3, 2)) for _ in range(2))
    preference = conditional_preference(utility, {"B": 1})
    sums = [float((lottery.values * utility.values[:, 1, :]).sum()) for lottery in (first, second)]
    assert preference.expected_utility(first) == pytest.approx(sums[0])
    assert preference.prefers(first, second) == (sums[0] > sums[1])
    assert preference.is_indifferent(first, first)
    ranked = [utility[{**group[0], "B": 1}] for group in preference.ranking()]
    assert ranked == sorted(utility.values[:, 1, :].reshape(-1), reverse=True)


def test_ranking_puts_ties_together_and_mistakes_are_named():
    """Equal outcomes are one group; unknown names and wrong lotteries are errors."""
    flat = pb.Factor({"A": 3, "B": 2}, [[1, 1], [1, 1], [2, 1]])
    assert [len(group) for group in conditional_preference(flat, {"B": 0}).ranking()] == [1, 2]
    refuses(errors.UnknownVariable, "'fame'", conditional_preference, TASTE, {"fame": 1})
    with pytest.raises(errors.InvalidArgument, match="needs one over"):
        conditional_preference(TASTE, {"F": "f0"}).expected_utility(pb.Factor({"F": ["f0", "f1"]}, [0.5, 0.5]))
    refuses(errors.UnknownVariable, "'X'", preferential_independence, TASTE, "X")
    refuses(errors.InvalidFactor, "not finite", preferential_independence, pb.Factor({"A": 2}, [0.0, np.inf]), "A")
