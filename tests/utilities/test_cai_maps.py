"""CAI-maps against the Markov networks of P ∝ exp(U), and against all partitions."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import plausible as pb
from plausible import errors
from plausible.examples.models import prenatal_utility
from plausible.utilities import AdditiveUtility, cai_map, conditional_additive_independence
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
