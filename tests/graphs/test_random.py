"""Random graphs: they are what they claim, follow their distribution, and repeat with their seed."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, permutations
from math import comb

import numpy as np
import pytest
from scipy.stats import chisquare

from plausible.errors import CyclicGraph, InvalidArgument
from plausible.graphs.dag import DAG
from plausible.graphs.random import bounded_dag, erdos_renyi_dag, random_polytree, random_tree, uniform_dag
from refusals import refuses

KINDS = [
    lambda n, **options: erdos_renyi_dag(n, 0.4, **options),
    lambda n, **options: bounded_dag(n, 2, **options),
    uniform_dag,
    random_tree,
    random_polytree,
]


def is_uniform(draws, support):
    """Every element of the support, nothing else, and frequencies that a chi-square test does not reject."""
    counts = Counter(draws)
    assert set(counts) == set(support)
    return chisquare([counts[graph] for graph in support]).pvalue > 1e-3


def all_dags(nodes):
    """Every labelled DAG, by trying all sets of ordered pairs."""
    pairs = list(permutations(nodes, 2))
    for size in range(len(nodes) * (len(nodes) - 1) // 2 + 1):
        for edges in combinations(pairs, size):
            try:
                yield DAG(edges, nodes=nodes)
            except CyclicGraph:
                continue


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("num_nodes", [0, 1, 2, 9])
def test_a_seed_repeats_the_graph_and_names_are_kept(kind, num_nodes):
    graph = kind(num_nodes, seed=5)
    assert graph.nodes == tuple(f"X{i}" for i in range(num_nodes))
    assert str(kind(num_nodes, seed=5)) == str(graph)
    assert kind(num_nodes, seed=np.random.default_rng(5)) == graph
    named = kind(num_nodes, nodes=range(num_nodes), seed=5)
    assert named == DAG([(int(a[1:]), int(b[1:])) for a, b in graph.edges], nodes=range(num_nodes))
    with pytest.raises(InvalidArgument, match=f"{num_nodes + 1} different nodes, but num_nodes={num_nodes}"):
        kind(num_nodes, nodes=[0, *range(num_nodes + 1)])


@pytest.mark.parametrize("kind", KINDS)
def test_different_seeds_give_different_graphs(kind):
    assert len({kind(8, seed=seed) for seed in range(10)}) > 5
    refuses(InvalidArgument, "num_nodes=-1", kind, -1)


def test_erdos_renyi_graphs_have_each_edge_with_its_probability_in_either_direction():
    draws = [erdos_renyi_dag(4, 0.3, seed=seed) for seed in range(1500)]
    for a, b in permutations(draws[0].nodes, 2):
        # A binomial of 1500 draws at 0.15: four standard errors are 0.037, and of the variance below 15 %.
        assert np.mean([graph.has_edge(a, b) for graph in draws]) == pytest.approx(0.15, abs=0.037)
    assert np.var([graph.num_edges for graph in draws]) == pytest.approx(6 * 0.3 * 0.7, rel=0.15)


def test_erdos_renyi_at_its_extremes_is_empty_or_complete():
    assert erdos_renyi_dag(6, 0.0, seed=0).num_edges == 0
    complete = erdos_renyi_dag(6, 1.0, seed=0)
    assert complete.num_edges == 15
    assert all(complete.is_adjacent(a, b) for a, b in combinations(complete.nodes, 2))
    refuses(InvalidArgument, r"edge_probability=1\.5", erdos_renyi_dag, 3, 1.5)


def test_large_sparse_graphs_cost_only_their_edges():
    graph = erdos_renyi_dag(20_000, 6 / 19_999, seed=0)
    assert graph.num_edges == pytest.approx(60_000, rel=0.02)


@pytest.mark.parametrize("max_parents", [0, 1, 3, 100])
def test_bounded_graphs_respect_their_bound_and_reach_it(max_parents):
    graph = bounded_dag(60, max_parents, seed=1)
    sizes = [len(graph.parents(node)) for node in graph.nodes]
    assert max(sizes) <= max_parents
    assert max_parents > 3 or max(sizes) == max_parents
    refuses(InvalidArgument, "max_parents=-1", bounded_dag, 3, -1)


def test_uniform_graphs_hit_all_25_dags_of_three_nodes_equally_often():
    rng = np.random.default_rng(0)
    support = list(all_dags(("A", "B", "C")))
    assert len(support) == 25
    assert is_uniform([uniform_dag(3, nodes=list("ABC"), seed=rng) for _ in range(1500)], support)


def test_uniform_graphs_with_one_parent_at_most_are_uniform_over_the_forests():
    """There are (n + 1)^(n - 1) = 16 rooted labelled forests of three nodes."""
    rng = np.random.default_rng(1)
    support = [graph for graph in all_dags(("A", "B", "C")) if all(len(graph.parents(v)) <= 1 for v in "ABC")]
    assert len(support) == 16
    assert is_uniform([uniform_dag(3, max_parents=1, nodes=list("ABC"), seed=rng) for _ in range(1000)], support)
    refuses(InvalidArgument, "max_parents=-1", uniform_dag, 3, max_parents=-1)


def test_uniform_graphs_have_the_exact_mean_number_of_edges():
    """Robinson's recursion for the number of DAGs by edges, differentiated at one."""
    count, edges = [1], [0]
    for n in range(1, 11):
        parts = [((-1) ** (k + 1) * comb(n, k), k * (n - k), n - k) for k in range(1, n + 1)]
        count.append(sum(sign * 2**m * count[rest] for sign, m, rest in parts))
        edges.append(sum(sign * (2**m * edges[rest] + m * 2**m // 2 * count[rest]) for sign, m, rest in parts))
    assert count[:5] == [1, 1, 3, 25, 543]
    rng = np.random.default_rng(2)
    drawn = [uniform_dag(10, seed=rng).num_edges for _ in range(200)]
    assert np.mean(drawn) == pytest.approx(edges[10] / count[10], abs=4 * np.std(drawn) / np.sqrt(len(drawn)))


def test_zero_steps_leave_the_empty_graph():
    assert uniform_dag(5, steps=0, seed=0).num_edges == 0


def test_rooted_trees_are_uniform_over_all_labelled_ones():
    """There are n^(n - 1) = 64 of four nodes."""
    support = [graph for graph in all_dags(list("ABCD")) if graph.num_edges == 3 and graph.is_rooted_tree]
    assert len(support) == 64
    rng = np.random.default_rng(3)
    assert is_uniform([random_tree(4, nodes=list("ABCD"), seed=rng) for _ in range(2560)], support)


def test_polytrees_are_uniform_over_all_connected_labelled_ones():
    """There are 2^(n - 1) n^(n - 2) = 12 of three nodes."""
    support = [graph for graph in all_dags(list("ABC")) if graph.is_connected and graph.is_polytree]
    assert len(support) == 12
    rng = np.random.default_rng(4)
    assert is_uniform([random_polytree(3, nodes=list("ABC"), seed=rng) for _ in range(1000)], support)


@pytest.mark.parametrize("draw", [random_tree, random_polytree])
@pytest.mark.parametrize("num_nodes", range(6))
def test_a_tree_has_one_edge_less_than_nodes(draw, num_nodes):
    """Also the smallest ones."""
    graph = draw(num_nodes, seed=num_nodes)
    assert len(graph.nodes) == num_nodes
    assert graph.num_edges == max(0, num_nodes - 1)
