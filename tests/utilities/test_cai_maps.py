"""Additive independence and CAI-maps: against ranks, lotteries, all partitions, and Markov networks of P ∝ exp(U)."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import plausible as pb
from plausible import errors
from plausible.examples.library import prenatal_utility
from plausible.utilities import (
    AdditiveUtility,
    additive_independence,
    cai_map,
    conditional_additive_independence,
    utility_independence,
)
from refusals import refuses

SEEDS = st.integers(0, 10**6)
NAMES = "ABCDE"


def _random_utility(rng, num_attributes, num_parts, scale=1.0, max_states=3):
    sizes = {name: int(rng.integers(1, max_states + 1)) for name in NAMES[:num_attributes]}
    variables = {name: pb.Variable(name, size) for name, size in sizes.items()}
    parts = []
    for _ in range(num_parts):
        chosen = rng.permutation(list(sizes))[: rng.integers(1, 3)]
        scope = [variables[str(name)] for name in chosen]
        parts.append(pb.Factor(scope, scale * rng.normal(size=[v.num_states for v in scope])))
    return AdditiveUtility(parts, variables=variables.values())


def test_conditional_additive_independence_is_independence_under_exp_u():
    """Lemma 22.1 on a random U1(X, Z) + U2(Y, Z): P(x, y | z) = P(x | z) P(y | z) to rounding."""
    rng = np.random.default_rng(3)
    values = rng.normal(size=(3, 1, 4)) + rng.normal(size=(1, 2, 4))
    joint = np.exp(values) / np.exp(values).sum()
    given_z = joint / joint.sum(axis=(0, 1))
    gap = given_z - given_z.sum(axis=1, keepdims=True) * given_z.sum(axis=0, keepdims=True)
    assert np.abs(gap).max() < 1e-15
    utility = pb.Factor({"X": 3, "Y": 2, "Z": 4}, values)
    assert conditional_additive_independence(utility, "X", "Y").holds
    network = AdditiveUtility([utility]).gibbs_network()
    assert network.joint().reorder(["X", "Y", "Z"]).values == pytest.approx(joint)
    assert network.joint().is_independent("X", "Y", "Z")
    assert not network.joint().is_independent("X", "Z", "Y")


@settings(max_examples=25, deadline=None)
@given(seed=SEEDS, num_attributes=st.integers(1, 4), num_parts=st.integers(0, 4))
def test_the_map_has_an_edge_where_exp_u_has_no_independence_given_the_rest(seed, num_attributes, num_parts):
    """Pairwise and blanket procedures give the graph that P ∝ exp(U) gives, and U is a sum over its cliques."""
    utility = _random_utility(np.random.default_rng(seed), num_attributes, num_parts)
    table = utility.table()
    found = cai_map(table)
    joint = table.exp().normalize()
    names = table.names
    for a, b in itertools.combinations(names, 2):
        rest = [name for name in names if name not in (a, b)]
        assert found.graph.has_edge(a, b) != joint.is_independent(a, b, rest)
    assert set(map(frozenset, cai_map(table, "blanket").graph.edges)) == set(map(frozenset, found.graph.edges))
    assert found.decomposition().table().is_close(table)
    assert {frozenset(edge) for edge in found.graph.edges} <= {frozenset(edge) for edge in utility.graph.edges}


@settings(max_examples=8, deadline=None)
@given(seed=SEEDS)
def test_the_minimal_map_is_perfect_for_partitions(seed):
    """Every CA-independence of a full partition is a separation, and the other way round (theorem 22.5)."""
    table = _random_utility(np.random.default_rng(seed), 4, 4, max_states=2).table()
    found = cai_map(table)
    assert found.is_perfect()
    for places in itertools.product(range(3), repeat=4):
        x, y, z = ([n for n, place in zip(table.names, places, strict=True) if place == k] for k in range(3))
        if x and y:
            holds = conditional_additive_independence(table, x, y, z).holds
            assert found.is_independent(x, y, z) == holds


def test_a_map_that_is_not_the_utilitys_is_not_perfect():
    """`is_perfect` is able to fail: one edge more, or one less."""
    table = pb.Factor({"A": 2, "B": 2, "C": 2}, np.random.default_rng(0).normal(size=(2, 2, 2)).cumsum(axis=0))
    found = cai_map(table)
    assert found.graph.num_edges == 3
    assert not replace(found, graph=found.graph.without_edge("A", "B")).is_perfect()


def test_utilities_of_any_size_keep_their_map():
    """exp(1e6) is no float, and utilities of 1e-9 are flat under exp: the map is the same."""
    base = _random_utility(np.random.default_rng(11), 5, 4)
    expected = set(map(frozenset, cai_map(base.table()).graph.edges))
    assert expected
    for scale in (1e-9, 1e6, 1e12):
        scaled = base.table() * scale
        for method in ("pairwise", "blanket"):
            assert set(map(frozenset, cai_map(scaled, method).graph.edges)) == expected


def test_the_prenatal_map_is_down_loss_future_with_two_attributes_alone():
    """Box 22.A: 108 outcomes, 18 entries of rank 13, edges down - loss - future."""
    utility = prenatal_utility()
    found = cai_map(utility.table())
    assert set(map(frozenset, found.graph.edges)) == {frozenset(["down", "loss"]), frozenset(["loss", "future"])}
    assert found.is_independent(["testing", "knowledge"], ["down", "loss", "future"])
    assert found.is_independent("down", ["future", "testing", "knowledge"])
    assert not found.is_independent("down", "loss")
    parts = found.decomposition()
    assert sorted(map(sorted, parts.scopes)) == [["down", "loss"], ["future", "loss"], ["knowledge"], ["testing"]]
    assert parts.table().is_close(utility.table())
    assert (utility.num_outcomes, utility.num_entries, utility.num_free_parameters) == (108, 18, 13)
    indicators = [
        np.equal.outer(cells, np.arange(cells.max() + 1))
        for cells in (
            np.indices((3, 3, 2, 3, 2)).reshape(5, -1)[0],
            np.indices((3, 3, 2, 3, 2)).reshape(5, -1)[1],
            np.array([3, 1]) @ np.indices((3, 3, 2, 3, 2)).reshape(5, -1)[[2, 3]],
            np.array([2, 1]) @ np.indices((3, 3, 2, 3, 2)).reshape(5, -1)[[3, 4]],
        )
    ]
    assert np.hstack(indicators).shape == (108, 18)
    assert np.linalg.matrix_rank(np.hstack(indicators).astype(float)) == 13


def test_mistakes_and_empty_utilities():
    """A constant has a map without edges; unknown methods and overlapping sets are errors."""
    assert cai_map(pb.Factor.scalar(3.0)).decomposition()[{}] == 3.0
    flat = cai_map(pb.Factor({"A": 2, "B": 1}, [[5.0], [5.0]]))
    assert flat.graph.num_edges == 0
    assert flat.decomposition()[{"A": 1, "B": 0}] == 5.0
    refuses(errors.InvalidArgument, "method", cai_map, pb.Factor({"A": 2}, [0, 1]), "magic")
    refuses(errors.InvalidArgument, "two groups", flat.is_independent, "A", ["A", "B"])


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
        assert answer.witness.difference >= 0.999 * answer.deviation / (2 * (len(groups) - 1))


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
