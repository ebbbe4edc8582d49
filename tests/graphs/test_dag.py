"""DAGs and undirected graphs as values: reading, relations, orders, edits."""

from __future__ import annotations

import copy
import pickle

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph_strategies import dags, few, node_sets, undirected_graphs
from plausible.errors import CyclicGraph, InvalidGraph, UnknownVariable
from plausible.graphs.dag import DAG
from plausible.graphs.undirected import UndirectedGraph
from refusals import refuses

STUDENT = DAG("D -> G <- I -> S; G -> L")


# --- reading ---


def test_all_ways_of_writing_a_dag_give_the_same_graph():
    pairs = [("D", "G"), ("I", "G"), ("I", "S"), ("G", "L")]
    for other in (DAG(pairs), DAG(nx.DiGraph(pairs)), DAG(nx.MultiDiGraph(pairs)), DAG(STUDENT), DAG(iter(pairs))):
        assert other == STUDENT
        assert hash(other) == hash(STUDENT)


def test_all_ways_of_writing_an_undirected_graph_give_the_same_graph():
    pairs = [("A", "B"), ("B", "C")]
    graph = UndirectedGraph("C - B - A")
    for other in (UndirectedGraph(pairs), UndirectedGraph(nx.Graph(pairs)), UndirectedGraph(map(frozenset, pairs))):
        assert other == graph
        assert hash(other) == hash(graph)


def test_nodes_keep_their_order_and_edges_count_once():
    graph = DAG([("B", "A"), ("C", "A"), ("B", "A")], nodes=["C", "D"])
    assert graph.nodes == ("C", "D", "B", "A")
    assert graph.edges == (("C", "A"), ("B", "A"))
    assert graph.num_edges == 2
    assert UndirectedGraph([("B", "A"), ("A", "B")]).num_edges == 1


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        ([("A", "A")], "'A' to itself"),
        (["AB"], "is not an edge"),
        ([("A", "B", "C")], "is not an edge"),
        ([3], "is not an edge"),
        ([{"A", "B"}], "no direction"),
        ([(["A"], "B")], "hashable"),
        ("A - B", "only edges '->' and '<-'"),
        (nx.Graph([("A", "B")]), "directed networkx graph"),
    ],
)
def test_what_is_no_edge_is_refused(edges, message):
    refuses(InvalidGraph, message, DAG, edges)


@pytest.mark.parametrize(
    ("edges", "message"),
    [("A -> B", "only edges '-'"), (nx.DiGraph([("A", "B")]), "undirected networkx graph"), ([("A", "A")], "itself")],
)
def test_what_is_no_undirected_edge_is_refused(edges, message):
    refuses(InvalidGraph, message, UndirectedGraph, edges)


def test_text_is_not_taken_for_a_list_of_nodes():
    for kind in (DAG, UndirectedGraph):
        refuses(InvalidGraph, r"Write nodes=\['Rain'\]", kind, (), nodes="Rain")


def test_unknown_nodes_are_named_with_close_matches():
    graph = DAG("Rain -> Grass")
    for ask in (graph.parents, graph.ancestors, graph.degree, graph.subgraph):
        refuses(UnknownVariable, r"'Grss' is not a node of this graph. Did you mean 'Grass'", ask, "Grss")
    refuses(UnknownVariable, "3", graph.ancestors, 3)
    refuses(UnknownVariable, "Snow", graph.ancestors, ["Rain", "Snow"])
    with pytest.raises(UnknownVariable):
        graph.ancestors((["Rain"],))


def test_a_tuple_can_be_a_node_or_several_nodes():
    graph = DAG([(("X", 0), ("X", 1)), (("X", 1), ("X", 2))])
    assert graph.ancestors(("X", 1)) == {("X", 0)}
    assert graph.ancestors((("X", 1), ("X", 2))) == {("X", 0), ("X", 1)}


# --- relations ---


def test_relations_of_the_student_graph():
    assert STUDENT.parents("G") == ("D", "I")
    assert STUDENT.children("I") == ("G", "S")
    assert STUDENT.neighbors("G") == ("D", "I", "L")
    assert STUDENT.degree("G") == 3
    assert STUDENT.ancestors("L") == {"D", "I", "G"}
    assert STUDENT.descendants(["D", "S"]) == {"G", "L"}
    assert STUDENT.non_descendants("G") == {"D", "I", "S"}
    assert STUDENT.roots == ("D", "I")
    assert STUDENT.leaves == ("S", "L")
    assert STUDENT.is_adjacent("G", "D")
    assert not STUDENT.has_edge("G", "D")


def test_markov_blanket_of_burglary_is_alarm_and_earthquake():
    assert set(DAG("B -> A <- E; A -> J; A -> M").markov_blanket("B")) == {"A", "E"}


@given(dags(7))
@few(24)
def test_relations_equal_their_definitions_in_networkx(graph):
    other = nx.DiGraph(list(graph.edges))
    other.add_nodes_from(graph.nodes)
    assert graph.to_networkx().edges == other.edges
    for node in graph.nodes:
        assert set(graph.parents(node)) == set(other.predecessors(node))
        assert set(graph.children(node)) == set(other.successors(node))
        assert graph.ancestors(node) == nx.ancestors(other, node)
        assert graph.descendants(node) == nx.descendants(other, node)
        spouses = {parent for child in other.successors(node) for parent in other.predecessors(child)}
        expected = (set(other.predecessors(node)) | set(other.successors(node)) | spouses) - {node}
        assert set(graph.markov_blanket(node)) == expected


@given(dags(7))
@few(24)
def test_moral_graph_joins_the_parents_of_a_common_child(graph):
    married = {frozenset((a, b)) for c in graph.nodes for a in graph.parents(c) for b in graph.parents(c) if a != b}
    assert set(map(frozenset, graph.moralize().edges)) == married | set(map(frozenset, graph.edges))
    assert graph.moralize().nodes == graph.skeleton().nodes == graph.nodes


# --- orders and cycles ---


@given(dags(8))
@few(24)
def test_topological_order_numbers_parents_first_and_is_the_first_such_order(graph):
    """It equals networkx's lexicographically first order by node position."""
    place = {node: position for position, node in enumerate(graph.topological_order)}
    assert all(place[a] < place[b] for a, b in graph.edges)
    key = graph.nodes.index
    assert list(graph.topological_order) == list(nx.lexicographical_topological_sort(graph.to_networkx(), key=key))


def test_a_cycle_is_refused_and_carried_by_the_error():
    with pytest.raises(CyclicGraph, match="directed cycle: ") as caught:
        DAG("R -> A -> B -> C -> A; C -> D -> E")
    cycle = caught.value.cycle
    assert set(cycle) == {"A", "B", "C"}
    assert set(zip(cycle, (*cycle[1:], cycle[0]), strict=True)) == {("A", "B"), ("B", "C"), ("C", "A")}


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)).filter(lambda pair: pair[0] != pair[1]), max_size=12))
@few(60)
def test_a_graph_is_refused_exactly_if_it_has_a_cycle(pairs):
    """The cycle reported is one of the graph."""
    if nx.is_directed_acyclic_graph(nx.DiGraph(pairs)):
        assert set(DAG(pairs).edges) == set(pairs)
        return
    with pytest.raises(CyclicGraph) as caught:
        DAG(pairs)
    cycle = caught.value.cycle
    assert len(set(cycle)) == len(cycle)
    assert set(zip(cycle, (*cycle[1:], cycle[0]), strict=True)) <= set(pairs)


# --- edits and values ---


def test_edits_return_new_graphs_and_leave_the_old_one():
    before = str(STUDENT)
    assert STUDENT.with_edge("D", "S").has_edge("D", "S")
    assert STUDENT.with_node("H").nodes == (*STUDENT.nodes, "H")
    assert not STUDENT.without_edge("D", "G").has_edge("D", "G")
    assert STUDENT.without_node("G") == DAG("I -> S", nodes=["D", "L"])
    assert STUDENT.with_reversed_edge("G", "L").parents("G") == ("D", "I", "L")
    assert STUDENT.without_incoming("G").roots == ("D", "G", "I")
    assert STUDENT.without_outgoing(["I", "G"]) == DAG("D -> G; I; S; L")
    assert str(STUDENT) == before
    with pytest.raises(CyclicGraph):
        STUDENT.with_edge("L", "D")
    refuses(InvalidGraph, "no edge 'D' -> 'S'", STUDENT.without_edge, "D", "S")


def test_undirected_edits_return_new_graphs():
    square = UndirectedGraph("A - B - C - D - A")
    assert square.with_edge("A", "C").num_edges == 5
    assert square.without_edge("B", "A") == UndirectedGraph("B - C - D - A")
    assert square.without_node("A") == UndirectedGraph("B - C - D")
    assert square.with_node("E").degree("E") == 0
    assert square.markov_blanket("A") == ("B", "D")
    refuses(InvalidGraph, "no edge 'A' - 'C'", square.without_edge, "A", "C")


@given(dags(6, min_nodes=1), st.data())
@few(20)
def test_induced_subgraph_has_the_edges_among_its_nodes(graph, data):
    kept = data.draw(node_sets(graph))
    part = graph.subgraph(kept)
    assert set(part.nodes) == kept
    assert set(part.edges) == {(a, b) for a, b in graph.edges if a in kept and b in kept}
    assert graph.skeleton().subgraph(kept) == part.skeleton()


@given(dags(6), undirected_graphs(6))
@few(12)
def test_graphs_survive_copies_and_pickles(dag, undirected):
    for graph in (dag, undirected):
        assert pickle.loads(pickle.dumps(graph)) == graph
        assert copy.deepcopy(graph) == graph
        assert type(graph)(graph.to_networkx()) == graph


def test_equality_is_by_content_not_by_order_or_kind():
    assert DAG("A -> B; C -> B") == DAG("C -> B; A -> B")
    assert DAG("A -> B") != DAG("A -> B; C")
    assert DAG("A; B") != UndirectedGraph("A; B")
    assert DAG("A -> B") != DAG("B -> A")


def test_repr_can_be_evaluated_even_if_nodes_are_not_text():
    for graph in (DAG([(1, 2)], nodes=[3]), UndirectedGraph([(1, "1")]), DAG(), UndirectedGraph()):
        assert eval(repr(graph)) == graph
    assert repr(DAG([(i, i + 1) for i in range(13)])) == "<DAG: 14 nodes, 13 edges>"


def test_the_empty_graph_has_nothing():
    for graph in (DAG(), UndirectedGraph()):
        assert (graph.nodes, graph.edges, len(graph), str(graph)) == ((), (), 0, "")
    assert DAG().topological_order == DAG().roots == DAG().leaves == ()
