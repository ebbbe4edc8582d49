"""Elimination orders, against a simulation on networkx graphs and against bare variable elimination on scopes."""

from itertools import combinations, permutations
from math import prod

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph_strategies import few
from plausible.errors import InvalidArgument, UnknownVariable
from plausible.graphs.dag import DAG
from plausible.graphs.elimination import (
    eliminate,
    elimination_cost,
    elimination_order,
    fill_edges,
    induced_graph,
    induced_width,
)
from plausible.graphs.undirected import UndirectedGraph
from refusals import refuses

HEURISTICS = ["min-fill", "min-neighbors", "weighted-min-fill", "min-weight"]
SQUARE = UndirectedGraph("A - B - C - D - A")
STAR = UndirectedGraph("C - L1; C - L2; C - L3; C - L4")


@st.composite
def graphs(draw, max_nodes=7):
    """An undirected graph with scrambled names, possibly empty or in pieces."""
    names = draw(st.permutations([f"n{i}" for i in range(draw(st.integers(0, max_nodes)))]))
    pairs = list(combinations(names, 2))
    edges = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    return UndirectedGraph(edges, nodes=names)


@st.composite
def graphs_with_sizes(draw, max_nodes=7):
    graph = draw(graphs(max_nodes))
    return graph, {node: draw(st.integers(1, 4)) for node in graph.nodes}


def literal_run(graph, order):
    """The definition, on a networkx graph that loses a node at each step."""
    work = graph.to_networkx()
    cliques, fill = [], set()
    for node in order:
        around = list(work.neighbors(node))
        cliques.append({node, *around})
        missing = [pair for pair in combinations(around, 2) if not work.has_edge(*pair)]
        work.add_edges_from(missing)
        fill |= set(map(frozenset, missing))
        work.remove_node(node)
    return cliques, fill


def table_entries_of_variable_elimination(scopes, order, sizes):
    """Run sum-product elimination on scopes alone and add up the entries of the products."""
    factors, total = [frozenset(scope) for scope in scopes], 0
    for node in order:
        product = frozenset({node}).union(*(factor for factor in factors if node in factor))
        total += prod(sizes[member] for member in product)
        factors = [factor for factor in factors if node not in factor] + [product - {node}]
    return total


# --- worked numbers ---


def test_any_order_of_a_square_adds_one_edge_and_makes_cliques_of_three():
    for order in permutations("ABCD"):
        assert len(fill_edges(SQUARE, order)) == 1
        assert induced_width(SQUARE, order) == 2


def test_star_eliminated_from_the_centre_becomes_complete_and_from_the_leaves_stays_a_tree():
    leaves = ["L1", "L2", "L3", "L4"]
    centre_first, leaves_first = eliminate(STAR, ["C", *leaves]), eliminate(STAR, [*leaves, "C"])
    assert (len(centre_first.fill), max(map(len, centre_first.cliques))) == (6, 5)
    assert (len(leaves_first.fill), max(map(len, leaves_first.cliques))) == (0, 2)


# --- the price of an order ---


@few(24)
@given(graph=graphs(), data=st.data())
def test_cliques_and_fill_are_those_of_the_definition_for_complete_and_partial_orders(graph, data):
    shuffled = data.draw(st.permutations(graph.nodes))
    order = shuffled[: data.draw(st.integers(0, len(shuffled)))]
    cliques, fill = literal_run(graph, order)
    run = eliminate(graph, order)
    assert list(map(set, run.cliques)) == cliques
    assert set(map(frozenset, run.fill)) == fill
    assert len(run.fill) == len(fill)
    assert fill_edges(graph, order) == run.fill
    assert induced_width(graph, order) == max(map(len, cliques), default=1) - 1
    assert induced_graph(graph, order) == UndirectedGraph((*graph.edges, *map(tuple, fill)), nodes=graph.nodes)


@few(24)
@given(graph=graphs(), data=st.data())
def test_induced_graph_of_a_complete_order_is_chordal(graph, data):
    induced = induced_graph(graph, data.draw(st.permutations(graph.nodes)))
    assert nx.is_chordal(induced.to_networkx())


@few(24)
@given(case=graphs_with_sizes(), data=st.data())
def test_cost_is_the_number_of_entries_that_variable_elimination_builds(case, data):
    graph, sizes = case
    order = data.draw(st.permutations(graph.nodes))
    scopes = [*graph.edges, *((node,) for node in graph.nodes)]
    assert elimination_cost(graph, order, sizes) == table_entries_of_variable_elimination(scopes, order, sizes)


def test_dag_is_moralised_before_it_is_eliminated():
    collider = DAG("A -> C <- B; C -> D")
    assert set(eliminate(collider, ["A", "B", "C", "D"]).cliques[0]) == {"A", "B", "C"}
    assert induced_graph(collider, ["D", "C", "B", "A"]) == UndirectedGraph("A - B - C - A; C - D")
    assert elimination_order(collider) == elimination_order(collider.moralize())


def test_empty_graph_costs_nothing():
    empty = UndirectedGraph()
    assert elimination_order(empty) == ()
    assert induced_width(empty, ()) == 0
    assert elimination_cost(empty, (), {}) == 0


# --- greedy orders ---


def literal_score(work, node, heuristic, sizes):
    around = list(work.neighbors(node))
    missing = [pair for pair in combinations(around, 2) if not work.has_edge(*pair)]
    return {
        "min-fill": len(missing),
        "min-neighbors": len(around),
        "weighted-min-fill": sum(sizes[a] * sizes[b] for a, b in missing),
        "min-weight": prod(sizes[other] for other in around),
    }[heuristic]


def literal_order(graph, heuristic, sizes, keep):
    """At each step score all nodes from scratch; the first of the lowest goes."""
    work, order = graph.to_networkx(), []
    while len(order) < len(graph) - len(keep):
        waiting = [node for node in graph.nodes if node in work and node not in keep]
        node = min(waiting, key=lambda node: literal_score(work, node, heuristic, sizes))
        order.append(node)
        work.add_edges_from(combinations(list(work.neighbors(node)), 2))
        work.remove_node(node)
    return tuple(order)


@pytest.mark.parametrize("heuristic", HEURISTICS)
@few(24)
@given(case=graphs_with_sizes(max_nodes=9), data=st.data())
def test_greedy_order_takes_at_each_step_the_first_node_with_the_lowest_score(heuristic, case, data):
    """The incremental scores agree with scores from scratch; some nodes may have to stay."""
    graph, sizes = case
    keep = data.draw(st.sets(st.sampled_from(graph.nodes))) if graph.nodes else ()
    expected = literal_order(graph, heuristic, sizes, keep)
    assert elimination_order(graph, heuristic, cardinalities=sizes, keep=keep) == expected


@pytest.mark.parametrize("seed", range(5))
def test_min_fill_adds_nothing_to_a_chordal_graph_of_hundreds_of_nodes(seed):
    """A chordal graph keeps a node without fill until the end, so a greedy count of fill never pays (overview 80)."""
    rng = np.random.default_rng(seed)
    tree = nx.complete_graph(4)
    for node in range(4, 300):  # a 4-tree: each new node is joined to a clique
        base = list(nx.find_cliques(tree.subgraph(range(max(0, node - 12), node))))
        clique = base[rng.integers(len(base))]
        tree.add_edges_from((node, other) for other in clique[: rng.integers(0, len(clique) + 1)])
        tree.add_node(node)
    graph = UndirectedGraph(nx.relabel_nodes(tree, dict(enumerate(rng.permutation(300).tolist()))))
    assert fill_edges(graph, elimination_order(graph)) == ()


@pytest.mark.parametrize("heuristic", HEURISTICS)
def test_restarts_never_cost_more_and_repeat_with_their_seed(heuristic):
    for seed in range(3):
        graph = UndirectedGraph(nx.gnp_random_graph(25, 0.2, seed=seed))
        sizes = {node: 2 + node % 3 for node in graph.nodes}
        single = elimination_order(graph, heuristic, cardinalities=sizes)
        best = elimination_order(graph, heuristic, cardinalities=sizes, restarts=10, seed=seed)
        assert sorted(best) == sorted(graph.nodes)
        assert elimination_cost(graph, best, sizes) <= elimination_cost(graph, single, sizes)
        assert best == elimination_order(graph, heuristic, cardinalities=sizes, restarts=10, seed=seed)


def test_restarts_find_a_cheaper_order_where_ties_matter():
    """On a square with one large node every first step adds one edge, but not every edge is as dear."""
    sizes = {"A": 2, "B": 50, "C": 2, "D": 50}
    single = elimination_order(SQUARE, cardinalities=sizes)
    best = elimination_order(SQUARE, cardinalities=sizes, restarts=20, seed=0)
    assert elimination_cost(SQUARE, best, sizes) < elimination_cost(SQUARE, single, sizes)
    assert elimination_cost(SQUARE, best, sizes) == min(
        elimination_cost(SQUARE, order, sizes) for order in permutations("ABCD")
    )


def test_weighted_heuristics_join_the_small_nodes():
    sizes = {"A": 2, "B": 50, "C": 2, "D": 50}
    for heuristic in ("weighted-min-fill", "min-weight"):
        assert set(map(frozenset, fill_edges(SQUARE, elimination_order(SQUARE, heuristic, cardinalities=sizes)))) == {
            frozenset("AC")
        }


# --- refusals ---


def test_bad_orders_are_refused_by_name():
    refuses(UnknownVariable, "'Z'", eliminate, SQUARE, ["A", "Z"])
    refuses(InvalidArgument, "'A' twice", eliminate, SQUARE, ["A", "B", "A"])
    refuses(InvalidArgument, "text", eliminate, SQUARE, "ABCD")


def test_bad_options_are_refused_by_name():
    refuses(InvalidArgument, "'min-fil' is not an elimination heuristic", elimination_order, SQUARE, "min-fil")
    refuses(InvalidArgument, "needs cardinalities", elimination_order, SQUARE, "min-weight")
    with pytest.raises(UnknownVariable, match="lack 'D'"):
        elimination_order(SQUARE, "min-weight", cardinalities={"A": 2, "B": 2, "C": 2})
    refuses(InvalidArgument, "cardinality of 'B' is 0", elimination_cost, SQUARE, ["A"], {"A": 2, "B": 0, "D": 2})
    refuses(InvalidArgument, "restarts", elimination_order, SQUARE, restarts=-1)
    refuses(UnknownVariable, "'E'", elimination_order, SQUARE, keep="E")


# --- the compiled kernel, which takes over for large graphs ---


@pytest.mark.parametrize("heuristic", ["min-fill", "min-neighbors", "weighted-min-fill"])
@pytest.mark.parametrize("seed", range(6))
def test_the_kernel_takes_the_nodes_that_the_definition_takes(heuristic, seed, monkeypatch):
    """The same order, ties and nodes that are kept included."""
    monkeypatch.setattr("plausible.graphs.greedy.KERNEL_SIZE", 0)
    rng = np.random.default_rng(seed)
    num_nodes = [0, 1, 12, 20, 30, 30][seed]
    names = [f"n{i}" for i in rng.permutation(num_nodes)]
    edges = [pair for pair in combinations(names, 2) if rng.random() < 0.15]
    graph = UndirectedGraph(edges, nodes=names)
    sizes = {name: int(rng.integers(1, 5)) for name in names}
    kept = [name for name in names if rng.random() < 0.2 * (seed % 2)]
    order = elimination_order(graph, heuristic, cardinalities=sizes, keep=kept)
    assert order == literal_order(graph, heuristic, sizes, kept)


@pytest.mark.parametrize("heuristic", ["min-fill", "min-neighbors", "weighted-min-fill"])
def test_large_graphs_get_the_order_that_small_ones_would(heuristic, monkeypatch):
    """The same choices by the kernel and in plain Python, restarts with random ties included."""
    rng = np.random.default_rng(1)
    pairs = {(int(a), int(b)) for a, b in np.sort(rng.integers(0, 400, (550, 2))) if a != b}
    graph = UndirectedGraph(sorted(pairs), nodes=range(400))
    sizes = {node: int(rng.integers(1, 5)) for node in graph.nodes}
    orders = []
    for threshold in (0, 10**9):
        monkeypatch.setattr("plausible.graphs.greedy.KERNEL_SIZE", threshold)
        orders.append(elimination_order(graph, heuristic, cardinalities=sizes, keep=[3, 5], restarts=1, seed=2))
    assert orders[0] == orders[1]
    assert len(orders[0]) == 398


def test_scores_beyond_the_whole_numbers_of_floats_are_left_to_python(monkeypatch):
    """Two fills that differ by one part in 2**60 are told apart."""
    monkeypatch.setattr("plausible.graphs.greedy.KERNEL_SIZE", 0)
    graph = UndirectedGraph("A - X; A - Y; B - Z; B - W")
    sizes = {"A": 2, "B": 2, "X": 2**30, "Y": 2**30 + 1, "Z": 2**30, "W": 2**30}
    assert elimination_order(graph, "weighted-min-fill", cardinalities=sizes, keep=["X", "Y", "Z", "W"]) == ("B", "A")
