"""Numbers that books and slides print, reproduced."""

from __future__ import annotations

from math import exp

import pytest

from network_oracle import asia_network, binary, burglary_network, sprinkler_network
from plausible.cpds import TableCPD
from plausible.models import BayesianNetwork

CHAIN = BayesianNetwork(
    TableCPD("A", [0.6, 0.4]),
    TableCPD("B", [[0.7, 0.3], [0.2, 0.8]], parents=["A"]),
    TableCPD("C", [[0.9, 0.1], [0.4, 0.6]], parents=["B"]),
)


def test_chain_marginals_and_posterior():
    """A -> B -> C: P(B) = (.5, .5), P(C) = (.65, .35), P(A | C=1) = (3/7, 4/7)."""
    assert CHAIN.query("B").values == pytest.approx([0.5, 0.5])
    assert CHAIN.query("C").values == pytest.approx([0.65, 0.35])
    assert CHAIN.query("A", evidence={"C": 1}).values == pytest.approx([3 / 7, 4 / 7])


def test_chain_entries():
    """The joint entries .378 and .192, and the conditional .548571."""
    assert exp(CHAIN.log_probability({"A": 0, "B": 0, "C": 0})) == pytest.approx(0.378)
    assert exp(CHAIN.log_probability({"A": 1, "B": 1, "C": 1})) == pytest.approx(0.192)
    assert CHAIN.query(["A", "B"], evidence={"C": 1})[1, 1] == pytest.approx(0.548571, abs=1e-6)


def test_joint_entry_of_the_burglary_network():
    """P(J, M, A, ¬B, ¬E) = .90 · .70 · .001 · .999 · .998 = .000628111."""
    entry = {"J": True, "M": True, "A": True, "B": False, "E": False}
    assert exp(burglary_network().log_probability(entry)) == pytest.approx(0.000628111, abs=1e-9)


@pytest.mark.parametrize(("mary", "expected"), [(True, 0.2841718), (False, 0.0051299)])
def test_posterior_of_burglary(mary, expected):
    """P(B | J, M) = .2841718 and P(B | J, ¬M) = .0051299."""
    posterior = burglary_network().query("B", evidence={"J": True, "M": mary})
    assert posterior[True] == pytest.approx(expected, abs=1e-7)


def test_reasoning_patterns():
    """Causes raise their effects, effects raise their causes, and one cause explains the other away."""
    net = burglary_network()
    prior = net.query("B")[True]
    causal = net.query("J", evidence={"B": True})[True]
    evidential = net.query("B", evidence={"A": True})[True]
    explained = net.query("B", evidence={"A": True, "E": True})[True]
    assert causal > net.query("J")[True]
    assert evidential > prior
    assert explained < evidential
    assert net.query("B", evidence={"E": True})[True] == pytest.approx(prior)
    assert evidential == pytest.approx(0.37355, abs=1e-5)
    assert explained == pytest.approx(0.00327, abs=1e-5)


def test_asia():
    """P(d) = .4359706, P(L, V, ¬S, D) = 3.8e-5, P(¬L, V, ¬S, D) = .001645875, P(L | V, ¬S, D) = .0225670."""
    net = asia_network()
    evidence = {"V": True, "S": False, "D": True}
    assert net.query("D")[True] == pytest.approx(0.4359706, abs=1e-7)
    assert exp(net.log_probability({**evidence, "L": True})) == pytest.approx(3.8e-5, abs=1e-10)
    assert exp(net.log_probability({**evidence, "L": False})) == pytest.approx(0.001645875, abs=1e-10)
    assert net.query("L", evidence=evidence)[True] == pytest.approx(0.0225670, abs=1e-7)


def test_wet_grass_given_clouds():
    """P(WetGrass | Cloudy) = .7452."""
    assert sprinkler_network().query("WetGrass", evidence={"Cloudy": True})[True] == pytest.approx(0.7452)


def test_parameters_of_network_and_joint():
    """B -> A <- E -> R with binary variables: 8 independent parameters, 15 for the joint."""
    net = BayesianNetwork(
        binary("B", 0.01),
        binary("E", 0.02),
        binary("A", [[0.1, 0.2], [0.3, 0.4]], ["B", "E"]),
        binary("R", [0, 1], ["E"]),
    )
    assert net.num_parameters == 8
    assert net.num_joint_parameters == 15


def test_implication_gives_contraposition():
    """P(B=1 | A=1) = 1 implies P(A=0 | B=0) = 1."""
    net = BayesianNetwork(binary("A", 0.3), binary("B", [0.2, 1.0], ["A"]))
    assert net.query("A", evidence={"B": False})[False] == 1.0


def test_intervention_differs_from_observation():
    """Simpson's paradox: the treatment helps both sexes and yet looks harmful, until the confounder is cut off."""
    net = BayesianNetwork(
        binary("sex", 0.5),
        binary("treated", [0.8, 0.2], ["sex"]),
        binary("recovers", [[0.2, 0.3], [0.7, 0.8]], ["sex", "treated"]),
    )
    seen = [net.query("recovers", evidence={"treated": t})[True] for t in (False, True)]
    done = [net.query("recovers", do={"treated": t})[True] for t in (False, True)]
    assert seen[1] < seen[0]
    assert done == pytest.approx([0.45, 0.55])
