"""Separation in causal graphs with reasons, against paths enumerated on plain tuples."""

from __future__ import annotations

import random
from itertools import combinations

import pytest

from marked_graph_oracles import is_active, is_separated, simple_paths, subsets
from plausible.errors import UnknownVariable
from plausible.graphs import CausalGraph
from refusals import refuses
from seeds import few_of


def random_edges(rng, nodes):
    order = rng.sample(nodes, len(nodes))
    edges = [(a, "->", b) for a, b in combinations(order, 2) if rng.random() < 0.35]
    return edges + [(a, "<->", b) for a, b in combinations(nodes, 2) if rng.random() < 0.25]


def written(path):
    """A path of the oracle as the library writes a trail."""
    return path[0][0] + "".join(f" {symbol} {node}" for _, symbol, node in path)


@pytest.mark.parametrize("seed", range(6))
def test_an_explanation_shows_an_active_path_or_all_paths_blocked(seed):
    """The trails are paths of the causal graph: an active one if connected, every one if separated."""
    rng = random.Random(seed)
    nodes = list("ABCDE")
    edges = random_edges(rng, nodes)
    graph = CausalGraph(edges, nodes=nodes)
    for x, y in combinations(nodes, 2):
        paths = {written(path): path for path in simple_paths(edges, x, y)}
        for given in subsets(node for node in nodes if node not in (x, y)):
            found = graph.explain_separation(x, y, given, limit=1000)
            assert found.separated == is_separated(edges, x, y, given)
            assert {str(trail) for trail in found.trails} <= paths.keys()
            if found.separated:
                assert found.complete
                assert {str(trail) for trail in found.trails} == paths.keys()
            else:
                assert len(found.trails) == 1
            for trail in found.trails:
                assert trail.is_active == is_active(edges, paths[str(trail)], given)
                assert [junction.node for junction in trail.junctions] == list(trail.nodes[1:-1])


@pytest.mark.parametrize("seed", few_of(6, 25))
def test_a_minimal_separator_separates_and_has_no_node_to_spare(seed):
    """None is given exactly if no set of the others separates; latent nodes are never in it."""
    rng = random.Random(seed)
    nodes = list("ABCDEF")
    edges = random_edges(rng, nodes)
    graph = CausalGraph(edges, nodes=nodes)
    for x, y in combinations(nodes, 2):
        others = [node for node in nodes if node not in (x, y)]
        found = graph.minimal_separator(x, y)
        possible = [set(given) for given in subsets(others) if is_separated(edges, x, y, given)]
        if found is None:
            assert not possible
        else:
            assert set(found) in possible
            assert not any(smaller < found for smaller in possible)


@pytest.mark.parametrize("seed", range(10))
def test_a_restricted_separator_is_found_if_there_is_one(seed):
    """`restricted` limits the choice and `included` forces it."""
    rng = random.Random(100 + seed)
    nodes = list("ABCDE")
    edges = random_edges(rng, nodes)
    graph = CausalGraph(edges, nodes=nodes)
    allowed, forced = {"C", "D"}, {"E"}
    found = graph.minimal_separator("A", "B", restricted=allowed)
    possible = [set(given) for given in subsets(allowed) if is_separated(edges, "A", "B", given)]
    assert (found is None) == (not possible)
    assert found is None or (set(found) in possible and not any(smaller < found for smaller in possible))
    found = graph.minimal_separator("A", "B", included=forced)
    assert found is None or (forced <= found and is_separated(edges, "A", "B", found))


def test_a_latent_cause_is_shown_as_its_edge_and_can_not_be_asked_about():
    """The nodes of the canonical DAG are not nodes of the causal graph."""
    graph = CausalGraph("S -> T -> C; S <-> C")
    explanation = graph.explain_separation("S", "C", given="T")
    assert str(explanation) == "S and C are m-connected given T:\n  S <-> C is active"
    assert repr(explanation) == str(explanation)
    assert repr(explanation.trails[0]) == "<Trail: S <-> C is active>"
    assert graph.minimal_separator("S", "C") is None
    assert "U_S_C" in graph.to_dag()
    for ask in (graph.explain_separation, graph.minimal_separator):
        refuses(UnknownVariable, "'U_S_C' is not a node", ask, "S", "C", "U_S_C")
    refuses(UnknownVariable, "'U_S_C' is not a node", graph.minimal_separator, "S", "C", restricted="U_S_C")


def test_a_collider_between_latent_causes_is_told_as_such():
    """M-bias: A <-> Z <-> B is blocked by Z unless Z is observed."""
    graph = CausalGraph("A <-> Z <-> B")
    assert str(graph.explain_separation("A", "B")) == (
        "A and B are m-separated given nothing:\n  A <-> Z <-> B is blocked\n"
        "    Z is a collider and neither it nor a descendant is observed"
    )
    assert not graph.explain_separation("A", "B", given="Z").separated
    assert graph.minimal_separator("A", "B") == frozenset()
