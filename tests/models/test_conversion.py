"""Conversions between models keep the joint distribution."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from network_oracle import (
    asia_network,
    binary,
    joint_of_bayesian_network,
    measure_of_markov_network,
    random_markov_network,
    random_network,
)
from plausible.cpds import NoisyOr, TableCPD
from plausible.errors import InvalidModel
from plausible.factors import Factor
from plausible.graphs import DAG, UndirectedGraph
from plausible.graphs.chordal import is_chordal
from plausible.models import (
    BayesianNetwork,
    MarkovNetwork,
    Notes,
    chain_rule_network,
    factorizes,
    ising,
    to_bayesian_network,
)
from plausible.variables import Variable
from refusals import refuses
from seeds import few_of

SEEDS = few_of(8, 30)


@pytest.mark.parametrize("seed", SEEDS)
def test_moralisation_keeps_the_joint(seed):
    """The Markov network of the families has the moral graph, Z = 1 and the same joint."""
    net = random_network(np.random.default_rng(seed))
    markov = net.to_markov_network()
    assert markov.graph == net.graph.moralize()
    assert list(markov.variables) == list(net.variables)
    assert markov.log_partition() == pytest.approx(0.0, abs=1e-12)
    joint = markov.joint()
    for assignment, probability in joint_of_bayesian_network(net):
        assert joint[assignment] == pytest.approx(probability, abs=1e-12)


def test_structured_cpds_become_tables():
    """No auxiliary variable is left in the Markov network."""
    net = BayesianNetwork(binary("A", 0.2), binary("B", 0.3), NoisyOr("Y", ["A", "B"], activation=[0.8, 0.5], leak=0.1))
    markov = net.to_markov_network()
    assert list(markov.variables) == ["A", "B", "Y"]
    assert markov.graph == net.graph.moralize()
    assert markov.joint().is_close(net.joint())


def looped_network(rng, length):
    """A loop without a chord, its variables in any order; another variable hangs on it, and one stands alone."""
    variables = [Variable(f"X{i}", int(rng.integers(2, 4))) for i in range(length + 2)]
    *loop, tail, lonely = rng.permutation(length + 2)
    pairs = [*zip(loop, [*loop[1:], loop[0]], strict=True), (loop[0], tail)]
    factors = [
        Factor([variables[a], variables[b]], rng.gamma(1.0, size=(variables[a].num_states, variables[b].num_states)))
        for a, b in pairs
    ]
    factors[0] = Factor(factors[0].scope, factors[0].values * (rng.random(factors[0].values.shape) > 0.2))
    return MarkovNetwork(
        [*factors, Factor([variables[lonely]], [0.5] * variables[lonely].num_states)], variables=variables
    )


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("length", [0, 4, 5])
def test_any_markov_network_can_be_directed_after_triangulation(seed, length):
    """Zeros, lonely variables and disconnected parts included; without a loop that lacks a chord no edge is added."""
    rng = np.random.default_rng(seed)
    net = (looped_network(rng, length) if length else random_markov_network(rng)).with_notes(Notes("kept"))
    directed = to_bayesian_network(net, triangulate=True)
    assert list(directed.variables) == list(net.variables)
    measure = measure_of_markov_network(net)
    total = sum(value for _, value in measure)
    for (_, value), (_, probability) in zip(measure, joint_of_bayesian_network(directed), strict=True):
        assert probability == pytest.approx(value / total, abs=1e-12)
    assert directed.notes.name == "kept"
    filled = directed.graph.skeleton()
    assert directed.graph.moralize() == filled
    assert is_chordal(filled)
    assert net.graph.is_subgraph(filled)
    added = filled.num_edges - net.graph.num_edges
    assert added == max(length - 3, 0)  # the fewest chords that a loop can do with
    if length:
        refuses(InvalidModel, "has no chord", to_bayesian_network, net)
    else:
        assert to_bayesian_network(net) == directed


def test_a_loop_without_chord_is_refused_by_name():
    """The four students: no Bayesian network has their independencies."""
    loop = ising("A - B - C - D - A", coupling=0.7)
    with pytest.raises(InvalidModel, match="has no chord") as caught:
        to_bayesian_network(loop)
    assert {name for name in "ABCD" if name in str(caught.value)} == set("ABCD")
    assert to_bayesian_network(loop, triangulate=True).joint().is_close(loop.joint())


def test_no_distribution_can_not_be_directed():
    """Z = 0."""
    with pytest.raises(InvalidModel, match="partition function is zero"):
        to_bayesian_network(MarkovNetwork(Factor({"A": 2}, [0, 0])))


def test_extreme_potentials_keep_their_ratios():
    """Rows far below the smallest float still become conditional distributions."""
    a, b = Variable("A", 2), Variable("B", 2)
    net = MarkovNetwork([Factor((a, b), [[1.0, 2.0], [1e-200, 3e-200]]), *[Factor((b, a), [[1.0, 1e-200]] * 2)] * 3])
    directed = to_bayesian_network(net)
    assert directed.graph == DAG("A -> B")
    assert directed.cpd("B").values[1] == pytest.approx([0.25, 0.75])


def test_chordal_network_of_hundreds_of_variables():
    """A long chain is directed without a joint table."""
    net = ising(UndirectedGraph([(f"X{i}", f"X{i + 1}") for i in range(399)]), coupling=-0.3)
    directed = to_bayesian_network(net)
    assert directed.num_parameters == 1 + 399 * 2
    assert directed.query(["X0", "X1"]).is_close(net.query(["X0", "X1"]), 1e-10)


# --- the chain rule ---


@pytest.mark.parametrize("seed", range(5))
def test_every_joint_in_every_order_is_a_network(seed):
    """P(x) = Π P(x_i | x_1 ... x_{i-1})."""
    rng = np.random.default_rng(seed)
    joint = random_network(rng, num_variables=4, max_states=3).joint()
    for order in permutations(joint.names):
        net = chain_rule_network(joint, order)
        assert list(net.variables) == list(order)
        assert net.graph.num_edges == 6
        assert net.graph.topological_order == order
        assert net.joint().is_close(joint, 1e-12)


def test_chain_rule_takes_the_order_of_the_scope():
    """And normalises what it is given."""
    net = chain_rule_network(Factor({"B": 2, "A": 2}, [[1, 2], [3, 4]]))
    assert net.graph == DAG("B -> A")
    assert net.query(["A", "B"])[0, 1] == pytest.approx(0.3)


# --- factorisation over a DAG ---


@pytest.mark.parametrize("seed", SEEDS)
def test_a_network_factorises_over_its_graph_and_any_with_more_edges(seed):
    """P = Π P(x_i | u_i) holds for the graph that made it."""
    net = random_network(np.random.default_rng(seed))
    joint = net.joint()
    assert factorizes(joint, net.graph)
    order = net.graph.topological_order
    complete = DAG([(a, b) for i, a in enumerate(order) for b in order[i + 1 :]], nodes=order)
    assert factorizes(joint, complete)


def test_xor_factorises_over_no_smaller_graph():
    """Pairwise independence is not enough: every pair is independent, yet Y needs both parents."""
    net = BayesianNetwork(binary("A", 0.5), binary("B", 0.5), binary("Y", [[0, 1], [1, 0]], ["A", "B"]))
    joint = net.joint()
    assert factorizes(joint, DAG("A -> Y <- B"))
    assert not factorizes(joint, DAG("A -> Y; B"))
    assert not factorizes(joint, DAG("A; B; Y"))
    assert factorizes(joint, DAG("Y -> B <- A"))


def test_factorisation_needs_the_same_variables():
    """The error names one that is missing."""
    with pytest.raises(ValueError, match="'B' is in one of them only"):
        factorizes(Factor({"A": 2, "B": 2}, np.ones((2, 2))), DAG("A"))


def test_asia_both_ways():
    """To a Markov network, and back to a Bayesian network over a triangulated graph."""
    net = asia_network()
    back = to_bayesian_network(net.to_markov_network(), triangulate=True)
    assert back.joint().is_close(net.joint(), 1e-12)
    assert back.query("L", {"X": True, "D": True}).is_close(net.query("L", {"X": True, "D": True}))


def test_one_state_variables():
    """They carry no information and do no harm."""
    net = BayesianNetwork(TableCPD("A", [1.0]), TableCPD("B", [[0.5, 0.5]], parents=["A"]))
    assert to_bayesian_network(net.to_markov_network()).joint().is_close(net.joint())
