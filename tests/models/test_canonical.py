"""Hammersley and Clifford as a construction."""

from __future__ import annotations

import numpy as np
import pytest

from network_oracle import random_markov_network
from plausible.errors import InvalidModel
from plausible.factors import Factor
from plausible.graphs import UndirectedGraph
from plausible.models import canonical_network, ising


@pytest.mark.parametrize("seed", range(15))
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
