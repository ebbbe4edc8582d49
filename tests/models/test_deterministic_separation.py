"""Separation in networks where some variables are functions of others."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from plausible.cpds import DeterministicCPD, LinearGaussianCPD, Multiplexer, TableCPD
from plausible.errors import UnknownVariable
from plausible.models import BayesianNetwork
from plausible.variables import Variable


def _random_network(rng):
    """Binary variables over a random DAG, about half of them functions of their parents."""
    cpds = []
    for place in range(5):
        parents = [f"X{other}" for other in range(place) if rng.random() < 0.5]
        if rng.random() < 0.5:
            outputs = rng.integers(0, 2, size=2 ** len(parents))
            values = np.eye(2)[outputs].reshape([2] * len(parents) + [2])
        else:
            first = rng.uniform(0.1, 0.9, size=[2] * len(parents))
            values = np.stack([first, 1 - first], axis=-1)
        cpds.append(TableCPD(f"X{place}", values, parents=parents))
    return BayesianNetwork(cpds)


@pytest.mark.parametrize("seed", range(6))
def test_what_is_separated_is_independent(seed):
    """Soundness: every separation holds as a numeric independence in the joint."""
    net = _random_network(np.random.default_rng(seed))
    joint, names = net.joint(), list(net.variables)
    for x, y in combinations(names, 2):
        rest = [name for name in names if name not in (x, y)]
        for size in range(len(rest) + 1):
            for given in combinations(rest, size):
                if net.d_separated(x, y, given):
                    assert joint.is_independent(x, y, given)


@pytest.mark.parametrize("seed", range(12))
def test_nothing_that_the_graph_separates_is_lost(seed):
    """The graph's own separations stay."""
    net = _random_network(np.random.default_rng(seed))
    for x, y in combinations(net.variables, 2):
        for z in net.variables:
            if z not in (x, y) and net.graph.d_separated(x, y, given=[z]):
                assert net.d_separated(x, y, given=[z])


def test_functions_of_observed_variables_count_as_observed():
    """A xor B known makes its two noisy readings independent (overview, item 54)."""
    bits = [Variable("A", 2), Variable("B", 2)]
    net = BayesianNetwork(
        TableCPD(bits[0], [0.5, 0.5]),
        TableCPD(bits[1], [0.3, 0.7]),
        DeterministicCPD("X", lambda a, b: a ^ b, parents=bits, states=[0, 1]),
        TableCPD("R1", [[0.9, 0.1], [0.2, 0.8]], parents=["X"]),
        TableCPD("R2", [[0.7, 0.3], [0.4, 0.6]], parents=["X"]),
    )
    assert not net.graph.d_separated("R1", "R2", given=["A", "B"])
    assert net.d_separated("R1", "R2", given=["A", "B"])
    assert not net.d_separated("R1", "R2", given=["A"])


def test_functions_of_functions_are_known_too():
    """The closure goes on down the graph, whatever the kind of function."""
    chosen = Multiplexer("M", selector="S", inputs=["A", "B"], states=[0, 1])
    net = BayesianNetwork(
        TableCPD("A", [0.5, 0.5]),
        TableCPD("B", [0.5, 0.5]),
        TableCPD("S", [0.5, 0.5], states=["A", "B"]),
        chosen,
        TableCPD("N", [[0, 1], [1, 0]], parents=["M"]),
        TableCPD("Y", [[0.9, 0.1], [0.2, 0.8]], parents=["N"]),
        TableCPD("Z", [[0.9, 0.1], [0.2, 0.8]], parents=["N"]),
    )
    assert net.d_separated("Y", "Z", given=["A", "B", "S"])


def test_a_number_without_noise_is_known():
    """A linear Gaussian of variance zero is a function."""
    net = BayesianNetwork(
        LinearGaussianCPD("A", intercept=0.0, variance=1.0),
        LinearGaussianCPD("B", intercept=1.0, coefficients={"A": 2.0}, variance=0.0),
        LinearGaussianCPD("C", intercept=0.0, coefficients={"B": 1.0}, variance=1.0),
        LinearGaussianCPD("D", intercept=0.0, coefficients={"B": 1.0}, variance=1.0),
    )
    assert net.d_separated("C", "D", given="A")


def test_unknown_names_are_refused():
    """As in graph questions."""
    with pytest.raises(UnknownVariable):
        _random_network(np.random.default_rng(0)).d_separated("X0", "X1", given=["X9"])
