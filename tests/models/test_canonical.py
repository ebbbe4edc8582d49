"""Hammersley and Clifford as a construction."""

from __future__ import annotations

import numpy as np
import pytest

from network_oracle import random_markov_network
from plausible.errors import InvalidGraph, InvalidModel, UnknownVariable
from plausible.factors import Factor
from plausible.graphs import UndirectedGraph
from plausible.models import canonical_network, ising


@pytest.mark.parametrize("seed", range(7))
def test_a_positive_distribution_factorises_over_its_i_maps(seed):
    """The canonical factors over the cliques of the graph multiply to P, with Z = 1, whatever the reference."""
    rng = np.random.default_rng(seed)
    net = random_markov_network(rng, zeros=0)
    joint = net.joint()
    reference = {name: variable.states[-1] for name, variable in net.variables.items()}
    for start in (None, reference):
        canonical = canonical_network(joint, net.graph, start)
        assert canonical.factorizes_over(net.graph)
        assert canonical.log_partition() == pytest.approx(0.0, abs=1e-9)
        assert canonical.joint().is_close(joint)


def test_a_graph_that_lacks_an_edge_gives_another_distribution():
    """Separation without independence: not an I-map."""
    net = ising("A - B - C - D - A", coupling=-0.8)
    assert canonical_network(net.joint(), net.graph).is_close(net)
    assert not canonical_network(net.joint(), UndirectedGraph("A - B - C - D")).is_close(net, tolerance=1e-3)


def test_factors_are_one_at_the_reference():
    """What the smaller cliques say is not said again."""
    net = ising("A - B - C", coupling=-0.8, field=0.3)
    for factor in canonical_network(net.joint(), net.graph).factors[1:]:
        for name in factor.names:
            np.testing.assert_allclose(factor.reduce({name: -1}).flat, 1.0)


def test_zeros_are_refused():
    """The theorem needs a positive distribution."""
    with pytest.raises(InvalidModel, match=r"is 0 at {'A': 1, 'B': 0}; it must be positive"):
        canonical_network(Factor({"A": 2, "B": 2}, [[1, 1], [0, 1]]), UndirectedGraph("A - B"))


def test_graph_and_reference_must_fit_the_variables():
    """Every variable is a node, every node and every name of the reference a variable."""
    joint = ising("A - B", coupling=-0.8).joint()
    with pytest.raises(UnknownVariable, match="'C' is not a variable of the joint"):
        canonical_network(joint, UndirectedGraph("A - B - C"))
    with pytest.raises(InvalidGraph, match="lacks 'B'"):
        canonical_network(joint, UndirectedGraph(nodes=["A"]))
    with pytest.raises(UnknownVariable, match=r"'b' is not a variable.*'B'"):
        canonical_network(joint, UndirectedGraph("A - B"), {"b": 1})


def test_improbable_references_overflow_nothing():
    """P(ξ*) = 1e-250 and a factor of 1e500 over the pair: the product is P all the same."""
    joint = Factor({"A": 2, "B": 2}, [[1e-250, 0.3], [0.7 - 1e-20, 1e-20]])
    network = canonical_network(joint, UndirectedGraph("A - B"), {"A": 0, "B": 0})
    assert network.log_partition() == pytest.approx(0.0, abs=1e-9)
    assert network.log_probability({"A": 0, "B": 0}) == pytest.approx(-250 * np.log(10))
    assert network.joint().is_close(joint)
