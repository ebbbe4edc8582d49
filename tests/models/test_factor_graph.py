"""Factor graphs."""

from __future__ import annotations

import numpy as np
import pytest

from network_oracle import asia_network, random_markov_network
from plausible.cpds import TableCPD
from plausible.errors import InvalidModel, UnknownVariable
from plausible.factors import Factor
from plausible.models import BayesianNetwork, FactorGraph, MarkovNetwork, Notes
from plausible.variables import Variable


def _ones(*names):
    return Factor(dict.fromkeys(names, 2), np.ones((2,) * len(names)))


def test_factor_graphs_tell_apart_what_markov_graphs_do_not():
    """Three pairs and one triple have the same Markov graph and different factor graphs."""
    pairs = FactorGraph([_ones("A", "B"), _ones("B", "C"), _ones("C", "A")])
    triple = FactorGraph([_ones("A", "B", "C")])
    assert pairs.to_markov_network().graph == triple.to_markov_network().graph
    assert pairs.graph != triple.graph
    assert triple.is_tree
    assert not pairs.is_tree
    assert not pairs.is_forest


def test_neighbours_are_factors_of_variables_and_scopes_of_factors():
    """In both directions, in order."""
    graph = FactorGraph({"φ": _ones("B", "A"), "ψ": _ones("B")}, variables=[Variable("Z", 3)])
    assert graph.neighbors("B") == ("φ", "ψ")
    assert graph.neighbors("φ") == ("B", "A")
    assert graph.neighbors("Z") == ()
    assert list(graph.variables) == ["Z", "B", "A"]
    assert list(graph.factors) == ["φ", "ψ"]
    assert not graph.is_tree
    assert graph.is_forest
    with pytest.raises(UnknownVariable, match="'Q' is not a variable of this factor graph"):
        graph.neighbors("Q")


def test_names_of_factors_never_meet_names_of_variables():
    """Made-up names avoid them; given ones are refused."""
    graph = FactorGraph([_ones("f0", "f1"), _ones("f1")])
    assert not set(graph.factors) & set(graph.variables)
    with pytest.raises(InvalidModel, match="'A' is the name of a factor and of a variable"):
        FactorGraph({"A": _ones("A")})


@pytest.mark.parametrize("seed", range(10))
def test_markov_network_to_factor_graph_and_back(seed):
    """Nothing is lost."""
    net = random_markov_network(np.random.default_rng(seed)).with_notes(Notes("random"))
    graph = net.to_factor_graph()
    assert graph.to_markov_network() == net
    assert graph.to_markov_network().notes.name == "random"
    assert list(graph.factors.values()) == list(net.factors)
    assert graph == net.to_factor_graph()
    assert hash(graph) == hash(net.to_factor_graph())


def test_factor_graph_of_a_bayesian_network():
    """A factor for each family, named by it; the same joint."""
    net = asia_network()
    graph = net.to_factor_graph()
    assert graph.neighbors("P(D | A, B)") == ("A", "B", "D")
    assert graph.to_markov_network().joint().is_close(net.joint())
    assert repr(graph) == "<FactorGraph: 8 variables, 8 factors>"
    polytree = net.subnetwork(["T", "S"]).to_factor_graph()
    assert polytree.is_forest


def test_networkx_graph_is_bipartite():
    """Every edge joins a variable and a factor."""
    graph = asia_network().to_factor_graph().to_networkx()
    sides = dict(graph.nodes(data="bipartite"))
    assert sorted(sides.values()) == [0] * 8 + [1] * 8
    assert all(sides[a] != sides[b] for a, b in graph.edges)
    assert graph.number_of_edges() == sum(1 + len(cpd.parents) for cpd in asia_network().cpds.values())
    assert graph.nodes["P(S)"]["factor"].is_distribution()


def test_conditional_networks_are_no_factor_graph():
    """Inputs have no distribution."""
    from plausible.cpds import TableCPD

    net = BayesianNetwork(TableCPD("Y", [[0.5, 0.5], [0.1, 0.9]], parents=["X"]), inputs=[Variable("X", 2)])
    with pytest.raises(InvalidModel, match="'X' is an input"):
        net.to_factor_graph()
    with pytest.raises(InvalidModel, match="'X' is an input"):
        net.to_markov_network()
    assert MarkovNetwork() == FactorGraph([]).to_markov_network()


def test_factors_with_the_same_written_name_are_all_kept():
    """P(a | b) may be the family of a, or a root called 'a | b'; and a variable may be called 'P(b)'."""
    rows = [[0.9, 0.1], [0.2, 0.8]]
    net = BayesianNetwork(
        TableCPD("b", [0.4, 0.6]),
        TableCPD("a", rows, parents=["b"]),
        TableCPD("a | b", [0.3, 0.7]),
        TableCPD("P(b)", [0.5, 0.5]),
    )
    graph = net.to_factor_graph()
    assert len(graph.factors) == 4
    assert {name: factor.names for name, factor in graph.factors.items()} == {
        "P(b)'": ("b",),
        "P(a | b)": ("b", "a"),
        "P(a | b)'": ("a | b",),
        "P(P(b))": ("P(b)",),
    }
    assert graph.to_markov_network().query("a | b").values.tolist() == [0.3, 0.7]
