"""Cliques, clique trees and cluster graphs, against definitions written with networkx and plain sets."""

from functools import cache
from itertools import combinations

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph_strategies import few, small_graphs
from plausible.errors import InvalidArgument, InvalidGraph, UnknownVariable
from plausible.graphs.chordal import is_chordal, triangulate
from plausible.graphs.cliques import (
    all_cliques,
    clique_tree,
    elimination_cliques,
    is_clique,
    is_maximal_clique,
    junction_tree,
    maximal_cliques,
    tree_from_elimination,
)
from plausible.graphs.cluster_graph import (
    CliqueTree,
    ClusterGraph,
    assign_factors,
    bethe_cluster_graph,
    has_running_intersection,
    is_clique_tree,
    is_family_preserving,
)
from plausible.graphs.dag import DAG
from plausible.graphs.undirected import UndirectedGraph
from refusals import refuses

SIX = DAG("a -> b; a -> c; b -> d; c -> d; b -> e; d -> e; d -> f")


@cache
def larger_graphs():
    return [UndirectedGraph(nx.gnp_random_graph(6 + seed % 20, (1 + seed % 9) / 12, seed=seed)) for seed in range(30)]


def random_dags():
    for seed in range(30):
        random = nx.gnp_random_graph(4 + seed % 25, 0.2, seed=seed, directed=True)
        yield DAG([(a, b) for a, b in random.edges if a < b], nodes=random.nodes)


def subsets(nodes):
    return [set(chosen) for size in range(1, len(nodes) + 1) for chosen in combinations(nodes, size)]


def is_complete(graph, nodes):
    return all(graph.has_edge(a, b) for a, b in combinations(nodes, 2))


def keeps_intersections_on_paths(clusters, edges):
    """The junction tree property as defined on paths: what two clusters share, all clusters between them have."""
    tree = nx.Graph(edges)
    tree.add_nodes_from(range(len(clusters)))
    for i, j in combinations(range(len(clusters)), 2):
        shared = set(clusters[i]) & set(clusters[j])
        if shared and not nx.has_path(tree, i, j):
            return False
        if shared and not all(shared <= set(clusters[k]) for k in nx.shortest_path(tree, i, j)):
            return False
    return True


def is_valid_tree(tree):
    shape = nx.Graph(tree.edges)
    shape.add_nodes_from(range(len(tree.cliques)))
    sepsets = [set(tree.cliques[i]) & set(tree.cliques[j]) for i, j in tree.edges]
    return (
        (not tree.cliques or nx.is_forest(shape))
        and len(tree.edges) == shape.number_of_edges()
        and keeps_intersections_on_paths(tree.cliques, tree.edges)
        and list(map(set, tree.sepsets)) == sepsets
    )


# --- cliques ---


def test_cliques_of_a_small_graph_are_its_complete_subsets():
    for graph in small_graphs():
        complete = [nodes for nodes in subsets(graph.nodes) if is_complete(graph, nodes)]
        maximal = [nodes for nodes in complete if not any(nodes < other for other in complete)]
        assert list(map(set, all_cliques(graph))) == complete
        assert sorted(map(sorted, maximal_cliques(graph))) == sorted(map(sorted, maximal))
        for nodes in subsets(graph.nodes):
            assert is_clique(graph, nodes) == (nodes in complete)
            assert is_maximal_clique(graph, nodes) == (nodes in maximal)


def test_maximal_cliques_agree_with_networkx_and_come_in_node_order():
    for graph in (*larger_graphs(), *map(triangulate, larger_graphs())):
        cliques = maximal_cliques(graph)
        assert {frozenset(clique) for clique in cliques} == set(map(frozenset, nx.find_cliques(graph.to_networkx())))
        rows = [[graph.nodes.index(node) for node in clique] for clique in cliques]
        assert rows == sorted(sorted(row) for row in rows)


def test_cliques_of_an_order_are_the_maximal_cliques_of_the_graph_it_induces():
    for graph in larger_graphs():
        order = graph.nodes[::-1]
        induced = triangulate(graph, order).to_networkx()
        assert set(map(frozenset, elimination_cliques(graph, order))) == set(map(frozenset, nx.find_cliques(induced)))


def test_cliques_stop_at_the_size_asked_for():
    complete = UndirectedGraph(nx.complete_graph(30))
    assert len(list(all_cliques(complete, max_size=2))) == 30 + 435
    assert list(all_cliques(complete, max_size=0)) == []


def test_no_nodes_are_a_clique_and_unknown_nodes_are_refused():
    assert is_clique(UndirectedGraph("A - B"), ())
    assert maximal_cliques(UndirectedGraph()) == ()
    assert is_maximal_clique(UndirectedGraph(), ())
    refuses(UnknownVariable, "'C'", is_clique, UndirectedGraph("A - B"), ["A", "C"])
    refuses(InvalidArgument, "lacks 'C'", elimination_cliques, UndirectedGraph("A - B; C"), ["A", "B"])


# --- the worked junction tree ---


def test_worked_junction_tree_has_the_four_cliques_and_three_separators():
    moral = SIX.moralize()
    assert {a + b for a, b in moral.edges} == {"ab", "ac", "bc", "bd", "cd", "be", "de", "df"}
    assert is_chordal(moral)
    assert triangulate(moral) == moral
    assert ["".join(clique) for clique in maximal_cliques(moral)] == ["abc", "bcd", "bde", "df"]
    tree = junction_tree(SIX)
    assert ["".join(clique) for clique in tree.cliques] == ["abc", "bcd", "bde", "df"]
    assert sorted("".join(sepset) for sepset in tree.sepsets) == ["bc", "bd", "d"]
    assert tree == clique_tree(triangulate(SIX.moralize()))


def test_worked_junction_tree_is_one_of_exactly_two():
    """Among the 16 trees over the four cliques only those with df on bcd or on bde keep the running intersection."""
    cliques = ["abc", "bcd", "bde", "df"]
    trees = [set(edges) for edges in combinations(combinations(range(4), 2), 3) if nx.is_tree(nx.Graph(edges))]
    valid = [edges for edges in trees if is_clique_tree(map(tuple, cliques), edges)]
    assert len(trees) == 16
    assert valid == [{(0, 1), (1, 2), (1, 3)}, {(0, 1), (1, 2), (2, 3)}]
    assert set(junction_tree(SIX).edges) in valid


def test_worked_families_have_a_place():
    tree = junction_tree(SIX)
    families = [(node, *SIX.parents(node)) for node in SIX.nodes]
    places = assign_factors(tree, families)
    assert ["".join(tree.cliques[place]) for place in places] == ["abc", "abc", "abc", "bcd", "bde", "df"]


# --- clique trees of graphs ---


def test_clique_tree_of_every_small_chordal_graph_is_a_tree_of_its_maximal_cliques():
    for graph in filter(is_chordal, small_graphs()):
        tree = clique_tree(graph)
        assert is_valid_tree(tree)
        assert tree.cliques == maximal_cliques(graph)


def test_junction_tree_of_a_random_graph_is_valid_and_holds_every_edge():
    for graph in larger_graphs():
        tree = junction_tree(graph)
        assert is_valid_tree(tree)
        assert is_family_preserving(tree, (*graph.edges, *((node,) for node in graph.nodes)))


def test_junction_tree_of_a_random_dag_holds_every_family():
    for dag in random_dags():
        for order in (None, dag.nodes, dag.nodes[::-1]):
            tree = junction_tree(dag, order)
            families = [(node, *dag.parents(node)) for node in dag.nodes]
            assert is_valid_tree(tree)
            for family, place in zip(families, assign_factors(tree, families), strict=True):
                assert set(family) <= set(tree.cliques[place])


def test_clique_tree_is_a_maximum_spanning_tree_of_the_clique_graph():
    """Jensen & Jensen (1994), with one tree for each piece of the graph."""
    for graph in map(triangulate, larger_graphs()):
        tree = clique_tree(graph)
        weighted = nx.Graph()
        weighted.add_nodes_from(range(len(tree.cliques)))
        for i, j in combinations(range(len(tree.cliques)), 2):
            shared = set(tree.cliques[i]) & set(tree.cliques[j])
            if shared:
                weighted.add_edge(i, j, weight=len(shared))
        best = nx.maximum_spanning_tree(weighted).size(weight="weight")
        assert sum(map(len, tree.sepsets)) == best
        assert len(tree.cliques) - len(tree.edges) == nx.number_connected_components(graph.to_networkx())


def test_clique_tree_refuses_a_graph_that_is_not_chordal():
    refuses(InvalidGraph, "not chordal", clique_tree, UndirectedGraph("A - B - C - D - A"))


def test_empty_graph_has_the_empty_tree():
    tree = junction_tree(DAG())
    assert (tree.cliques, tree.edges, tree.sepsets, tree.width) == ((), (), (), 0)


def test_tree_tells_its_neighbours_its_width_and_its_entries():
    tree = junction_tree(SIX)
    assert tree.width == 2
    assert set(tree.neighbors(1)) == {i + j - 1 for i, j in tree.edges if 1 in (i, j)}
    assert tree.num_entries(dict.fromkeys("abcdef", 3)) == 3 * 27 + 9


# --- trees of elimination runs ---


@st.composite
def runs(draw):
    """Scopes, and an order of some or all of their variables."""
    names = [f"v{i}" for i in range(draw(st.integers(1, 7)))]
    scopes = draw(st.lists(st.lists(st.sampled_from(names), unique=True, max_size=4), min_size=1, max_size=8))
    present = sorted({node for scope in scopes for node in scope})
    order = draw(st.permutations(present))
    return scopes, order[: draw(st.integers(0, len(order)))]


@few(40)
@given(run=runs())
def test_tree_of_an_elimination_run_has_the_maximal_scopes_of_its_products(run):
    """Overview 84: C_i = Scope[ψ_i]; contraction leaves the maximal ones; always a clique tree."""
    scopes, order = run
    factors, products = [frozenset(scope) for scope in scopes], []
    for node in order:
        product = frozenset().union(*(factor for factor in factors if node in factor))
        products.append(product)
        factors = [factor for factor in factors if node not in factor] + [product - {node}]
    products.append(frozenset().union(*factors))
    expected = {product for product in products if product and not any(product < other for other in products)}
    tree = tree_from_elimination(scopes, order)
    assert set(map(frozenset, tree.cliques)) == expected
    assert len(tree.cliques) == len(expected)
    assert is_valid_tree(tree)
    assert is_family_preserving(tree, [scope for scope in scopes if scope])


def test_tree_of_an_elimination_run_on_a_chain_is_a_chain():
    scopes = [["A"], ["A", "B"], ["B", "C"], ["C", "D"]]
    tree = tree_from_elimination(scopes, ["A", "B", "C", "D"])
    assert tree == CliqueTree([["A", "B"], ["B", "C"], ["C", "D"]], [(0, 1), (1, 2)])


def test_tree_of_an_elimination_run_keeps_the_query_together():
    tree = tree_from_elimination([["A", "B"], ["B", "C"], ["C", "D"]], ["B", "C"])
    assert is_family_preserving(tree, [["A", "D"]])


# --- running intersection ---


@st.composite
def cluster_forests(draw):
    """Clusters over few nodes, so that they meet often, and edges that form a forest."""
    clusters = draw(st.lists(st.sets(st.sampled_from("abcd"), max_size=3), min_size=1, max_size=5))
    parents = [draw(st.integers(-1, i - 1)) for i in range(1, len(clusters))]
    return clusters, [(parent, child) for child, parent in enumerate(parents, start=1) if parent >= 0]


@few(60)
@given(case=cluster_forests())
def test_in_a_tree_running_intersection_is_the_property_of_paths(case):
    clusters, edges = case
    assert has_running_intersection(clusters, edges) == keeps_intersections_on_paths(clusters, edges)
    assert is_clique_tree(clusters, edges) == keeps_intersections_on_paths(clusters, edges)


@st.composite
def cluster_graphs(draw):
    """Clusters with loops and with sepsets smaller than the intersections."""
    clusters = draw(st.lists(st.sets(st.sampled_from("abc"), min_size=1), min_size=1, max_size=5))
    pairs = list(combinations(range(len(clusters)), 2))
    edges = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    shared = [sorted(clusters[i] & clusters[j]) for i, j in edges]
    sepsets = [draw(st.sets(st.sampled_from(nodes))) if nodes else set() for nodes in shared]
    return clusters, edges, sepsets


@few(60)
@given(case=cluster_graphs())
def test_running_intersection_means_a_spanning_tree_for_every_node(case):
    """Overview 85: exactly one path, along sepsets with X, between any two clusters with X."""
    clusters, edges, sepsets = case
    expected = True
    for node in set().union(*clusters):
        part = nx.Graph(edge for edge, sepset in zip(edges, sepsets, strict=True) if node in sepset)
        part.add_nodes_from(i for i, cluster in enumerate(clusters) if node in cluster)
        expected = expected and nx.is_tree(part)
    graph = ClusterGraph(clusters, edges, sepsets)
    assert graph.has_running_intersection == expected
    assert has_running_intersection(clusters, edges, sepsets) == expected


def test_loop_of_clusters_may_have_the_running_intersection_but_is_no_clique_tree():
    clusters, edges = [["A", "B"], ["B", "C"], ["C", "A"]], [(0, 1), (1, 2), (2, 0)]
    assert has_running_intersection(clusters, edges)
    assert not is_clique_tree(clusters, edges)
    assert not ClusterGraph(clusters, edges, ["B", "C", "A"]).is_tree
    refuses(InvalidGraph, "loop", CliqueTree, clusters, edges)


def test_two_paths_for_one_node_break_the_running_intersection():
    """Koller & Friedman 2009, figure 11.4: B may not go round a loop."""
    clusters, edges = [["A", "B"], ["B", "C"], ["B", "D"]], [(0, 1), (1, 2), (0, 2)]
    assert not has_running_intersection(clusters, edges)
    assert has_running_intersection(clusters, edges, ["B", "B", ()])


def test_broken_trees_and_cluster_graphs_are_refused_by_name():
    with pytest.raises(InvalidGraph, match="cliques with 'B' do not hang together"):
        CliqueTree([["A", "B"], ["C"], ["B", "C"]], [(0, 1), (1, 2)])
    refuses(InvalidGraph, "cliques with 'B' do not hang together", CliqueTree, [["A", "B"], ["B", "C"]], [])
    with pytest.raises(InvalidGraph, match=r"'C' is in the sepset between \{A, B\} and \{B, C\}"):
        ClusterGraph([["A", "B"], ["B", "C"]], [(0, 1)], [["B", "C"]])
    refuses(InvalidGraph, "1 edges, 0 sepsets", ClusterGraph, [["A", "B"], ["B", "C"]], [(0, 1)], [])
    refuses(InvalidArgument, "indices end at 1", CliqueTree, [["A", "B"], ["B", "C"]], [(0, 2)])
    refuses(InvalidGraph, "to itself", CliqueTree, [["A", "B"], ["B", "C"]], [(1, 1)])


# --- factors and the Bethe cluster graph ---


def test_scope_goes_to_the_smallest_cluster_that_holds_it():
    tree = CliqueTree([["A", "B", "C"], ["B", "C"], ["C", "D"]], [(0, 1), (1, 2)])
    assert assign_factors(tree, [["C", "B"], "A", "C", (), ["D", "C"]]) == (1, 0, 1, 1, 2)


def test_scope_that_fits_nowhere_is_refused_by_name():
    tree = junction_tree(SIX)
    assert not is_family_preserving(tree, [["a", "b"], ["a", "d"]])
    assert not is_family_preserving(tree, [["z"]])
    refuses(InvalidGraph, r"\{a, d\}", assign_factors, tree, [["a", "b"], ["a", "d"]])


def test_bethe_cluster_graph_of_a_grid_has_the_running_intersection_and_small_clusters():
    """Overview 94, on a grid whose clique tree would need cliques of six."""
    grid = nx.grid_2d_graph(5, 5)
    scopes = [*([node] for node in grid.nodes), *map(list, grid.edges)]
    graph = bethe_cluster_graph(scopes)
    assert len(graph.clusters) == len(scopes) + 25
    assert len(graph.edges) == 25 + 2 * 40
    assert all(len(sepset) == 1 for sepset in graph.sepsets)
    assert max(map(len, graph.clusters)) == 2
    assert graph.has_running_intersection
    assert not graph.is_tree
    assert [set(graph.clusters[i]) for i in range(len(scopes))] == list(map(set, scopes))
    assert is_family_preserving(graph, scopes)
    assert len(graph.neighbors(len(scopes) + graph.clusters[len(scopes) :].index(((2, 2),)))) == 5


def test_bethe_cluster_graph_of_no_factors_is_empty():
    assert bethe_cluster_graph([]) == ClusterGraph([], [], [])
