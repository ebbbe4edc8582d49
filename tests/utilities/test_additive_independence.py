"""Additive independence of partitions, plain and conditional: against ranks of matrices and random lotteries."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import plausible as pb
from plausible import errors
from plausible.utilities import additive_independence, conditional_additive_independence, utility_independence
from refusals import refuses

SEEDS = st.integers(0, 10**6)


def _lottery(pairs, utility):
    values = np.zeros(utility.shape)
    for outcome, weight in pairs:
        values[tuple(variable.index(outcome[variable.name]) for variable in utility.scope)] += weight
    return values


def _check_pair(utility, pair, groups):
    """Both lotteries have the same marginals on every group, and the difference of worth that is claimed."""
    first, second = (_lottery(side, utility) for side in (pair.first, pair.second))
    assert first.sum() == pytest.approx(1.0)
    for group in groups:
        gone = tuple(axis for axis, name in enumerate(utility.names) if name not in group)
        assert first.sum(axis=gone) == pytest.approx(second.sum(axis=gone), abs=1e-9)
    assert ((first - second) * utility.values).sum() == pytest.approx(pair.difference)
    assert pair.difference > 0


def _is_sum(values, axes_of_groups):
    """U is Σ U_i iff it equals the sum of its group means, less what is counted twice."""
    total = values.mean() * (1 - len(axes_of_groups))
    for axes in axes_of_groups:
        gone = tuple(axis for axis in range(values.ndim) if axis not in axes)
        total = total + values.mean(axis=gone, keepdims=True)
    return np.allclose(total, values)


@settings(max_examples=40, deadline=None)
@given(
    seed=SEEDS,
    shape=st.lists(st.integers(1, 3), min_size=3, max_size=3),
    groups=st.sampled_from([[[0], [1], [2]], [[0, 1], [2]], [[1], [2, 0]], [[0, 1, 2]]]),
    is_sum=st.booleans(),
)
def test_additive_independence_equals_the_sum_of_group_means(seed, shape, groups, is_sum):
    """For sums by construction and for any other table; the parts reproduce the sum, the witness convicts."""
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 4, size=shape).astype(float)
    if is_sum:
        gone = [tuple(axis for axis in range(3) if axis not in axes) for axes in groups]
        values = sum(rng.normal(size=shape).mean(axis=axes, keepdims=True) for axes in gone) + np.zeros(shape)
    utility = pb.Factor(dict(zip("ABC", shape, strict=True)), values)
    named = [["ABC"[axis] for axis in group] for group in groups]
    answer = additive_independence(utility, named)
    assert answer.holds == _is_sum(values, groups)
    assert answer.holds or not is_sum
    if answer.holds:
        assert answer.utility.table().values == pytest.approx(values, abs=1e-9)
    else:
        _check_pair(utility, answer.witness, named)


def test_no_utility_with_the_order_of_success_and_fame_is_additive():
    """(s0, f1) < (s0, f0) < (s1, f0) < (s1, f1): whatever the numbers are."""
    rng = np.random.default_rng(0)
    for low, mid, high, top in np.sort(rng.normal(size=(20, 4)), axis=1):
        assert not additive_independence(pb.Factor({"S": 2, "F": 2}, [[mid, low], [high, top]]), ["S", "F"]).holds


def test_the_reference_sets_the_parts_and_not_the_sum():
    """U_i(z_i) = U(z_i, v*) - U(v*) but for the first, which keeps U(v*)."""
    utility = pb.Factor({"A": 2, "B": 3}, np.add.outer([1.0, 4.0], [0.0, 2.0, 7.0]))
    answer = additive_independence(utility, ["A", "B"], reference={"A": 1, "B": 2})
    first, second = answer.utility.parts
    assert first.values.tolist() == [8.0, 11.0]
    assert second.values.tolist() == [-7.0, -5.0, 0.0]


def test_mutual_utility_independence_does_not_make_a_utility_additive():
    """(1 + a)(1 + b): each is utility independent of the other, and a mixed difference is left."""
    utility = pb.Factor({"A": 2, "B": 2}, [[1, 2], [2, 4]])
    assert utility_independence(utility, "A").holds
    assert utility_independence(utility, "B").holds
    assert additive_independence(utility, ["A", "B"]).deviation == pytest.approx(1.0)


@settings(max_examples=30, deadline=None)
@given(seed=SEEDS, shape=st.lists(st.integers(1, 3), min_size=4, max_size=4), is_sum=st.booleans())
def test_conditional_additive_independence_is_additive_independence_in_every_context(seed, shape, is_sum):
    """X = {A, D}, Y = {B}, Z = {C}: by the rank of differences in each slice."""
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 3, size=shape).astype(float)
    if is_sum:
        values = rng.normal(size=(shape[0], 1, shape[2], shape[3])) + rng.normal(size=(1, shape[1], shape[2], 1))
    utility = pb.Factor(dict(zip("ABCD", shape, strict=True)), values)
    answer = conditional_additive_independence(utility, ["A", "D"], "B")
    slices = [values[:, :, c, :] for c in range(shape[2])]
    assert answer.holds == all(_is_sum(one, [[0, 2], [1]]) for one in slices)
    assert answer.holds or not is_sum
    if answer.holds:
        assert answer.utility.table().values == pytest.approx(values, abs=1e-9)
        assert [set(scope) for scope in answer.utility.scopes] == [{"A", "D", "C"}, {"B", "C"}]
    else:
        _check_pair(utility, answer.witness, [["A", "D", "C"], ["B", "C"]])


def test_what_is_no_partition_is_refused():
    """The relations are about all attributes, each in one group."""
    utility = pb.Factor({"A": 2, "B": 2, "C": 2}, np.zeros((2, 2, 2)))
    refuses(errors.InvalidArgument, "'C' stands in no group", additive_independence, utility, ["A", "B"])
    with pytest.raises(errors.InvalidArgument, match="'A' stands in two groups"):
        additive_independence(utility, [["A", "B"], ["A", "C"]])
    with pytest.raises(errors.InvalidArgument, match="'C' stands in no group"):
        conditional_additive_independence(utility, "A", "B", given=[])
    with pytest.raises(errors.InvalidArgument, match="at least one attribute on each side"):
        conditional_additive_independence(utility, "A", [], given=["B", "C"])
    refuses(errors.InvalidArgument, "tolerance", additive_independence, utility, ["A", "B", "C"], tolerance=-1)
