"""What functions of a graph accept in its place, and what they say to the rest."""

from __future__ import annotations

import networkx as nx
import pytest

import plausible as pb
from plausible import graphs
from plausible.errors import CyclicGraph, InvalidGraph, NotSupported
from refusals import refuses

TEXT = "D -> G -> L; I -> G; I -> S"
ORDER = ["D", "S", "I", "L", "G"]


class Model:
    """Anything with a graph."""

    def __init__(self, graph):
        self.graph = graph

    def __repr__(self):
        return f"Model({self.graph!r})"


def never(x, y, given):
    """A distribution without independencies."""
    return False


OF_A_DAG = {
    "compelled_edges": (),
    "covered_edges": (),
    "essential_graph": (),
    "immoralities": (),
    "reversible_edges": (),
    "compare_structure": (pb.DAG(TEXT),),
    "is_i_equivalent": (pb.DAG(TEXT),),
    "latent_projection": {"observed": ["D", "G"]},
    "mag_of": {"latent": "G"},
}
OF_A_DAG_OR_UNDIRECTED = {
    "adjacency_matrix": (),
    "all_independencies": (),
    "count_walks": (2,),
    "eliminate": (ORDER,),
    "elimination_cliques": (ORDER,),
    "elimination_cost": (ORDER, dict.fromkeys(ORDER, 2)),
    "elimination_order": (),
    "fill_edges": (ORDER,),
    "find_unentailed": (never,),
    "find_violation": (never,),
    "incidence_matrix": (),
    "induced_graph": (ORDER,),
    "induced_width": (ORDER,),
    "is_cycle": (["D", "G", "I", "D"],),
    "is_i_map": (never,),
    "is_minimal_i_map": (never,),
    "is_path": (["D", "G"],),
    "is_perfect_map": (never,),
    "is_walk": (["D", "G"],),
    "junction_tree": (),
    "local_independencies": (),
    "markov_blanket_independencies": (),
    "minimal_triangulation": (),
    "pairwise_independencies": (),
    "triangulate": (),
}
OF_AN_UNDIRECTED = {
    "all_cliques": (),
    "chordless_cycle": (),
    "clique_matrix": ([["A", "B"]],),
    "clique_tree": (),
    "cycles": (),
    "global_independencies": (),
    "is_chordal": (),
    "is_clique": (["A", "B"],),
    "is_maximal_clique": (["A", "B"],),
    "maximal_cliques": (),
    "maximum_cardinality_search": (),
    "maximum_spanning_forest": (lambda a, b: 1.0,),
    "maximum_spanning_tree": (lambda a, b: 1.0,),
    "minimum_spanning_forest": (lambda a, b: 1.0,),
    "minimum_spanning_tree": (lambda a, b: 1.0,),
    "perfect_elimination_order": (),
}
OF_A_PDAG = {"apply_meek_rules": (), "consistent_extension": (), "is_essential_graph": ()}
OF_A_CLASS = {"class_members": (), "class_size": ()}
CHORDAL = "A - B - C - A; C - D"


def answer(name, graph, arguments):
    """What the function says, in a form that can be compared."""
    function = getattr(graphs, name)
    result = function(graph, **arguments) if isinstance(arguments, dict) else function(graph, *arguments)
    return repr(list(result)) if hasattr(result, "__next__") else repr(result)


@pytest.mark.parametrize(
    ("name", "arguments", "text", "kind"),
    [
        *((name, arguments, TEXT, pb.DAG) for name, arguments in (OF_A_DAG | OF_A_DAG_OR_UNDIRECTED).items()),
        *((name, arguments, CHORDAL, pb.UndirectedGraph) for name, arguments in OF_AN_UNDIRECTED.items()),
        *((name, arguments, "A -> B - C", pb.PDAG) for name, arguments in OF_A_PDAG.items()),
        *((name, arguments, "A -> B - C", pb.PDAG) for name, arguments in OF_A_CLASS.items()),
    ],
)
def test_a_model_or_text_stands_for_its_graph(name, arguments, text, kind):
    """f(graph) = f(model with this graph) = f(its text) = f(the networkx graph)."""
    graph = kind(text)
    expected = answer(name, graph, arguments)
    assert answer(name, Model(graph), arguments) == expected
    assert answer(name, text, arguments) == expected
    assert answer(name, graph.to_networkx(), arguments) == expected


EVERY_FUNCTION = OF_A_DAG | OF_A_DAG_OR_UNDIRECTED | OF_AN_UNDIRECTED | OF_A_PDAG | OF_A_CLASS


@pytest.mark.parametrize("name", EVERY_FUNCTION)
@pytest.mark.parametrize("stranger", [7, None, ["A", "B"], Model(3), pb.TableCPD("A", [0.5, 0.5])], ids=repr)
def test_what_is_no_graph_is_refused_by_name(name, stranger):
    """The error says what was given and what is expected, before anything is computed."""
    with pytest.raises(NotSupported, match=rf"Expected an? .*, not an? {type(stranger).__name__}"):
        answer(name, stranger, EVERY_FUNCTION[name])


@pytest.mark.parametrize("name", EVERY_FUNCTION)
def test_text_without_an_edge_is_refused(name):
    """`essential_graph("asia")` means the example, not a graph with the one node asia."""
    with pytest.raises(InvalidGraph, match=r"'asia' is graph text without an edge.*\('asia'\)"):
        answer(name, "asia", EVERY_FUNCTION[name])


def test_networks_stand_for_their_graphs():
    """The findings of a new user: a network was an AttributeError."""
    asia, ring = pb.examples.load("asia"), pb.examples.load("misconception")
    assert graphs.junction_tree(asia) == graphs.junction_tree(asia.graph)
    assert graphs.essential_graph(asia) == graphs.essential_graph(asia.graph)
    assert graphs.compare_structure(asia, asia).shd == 0
    assert graphs.class_size(asia) == graphs.class_size(asia.graph)
    assert graphs.local_independencies(ring) == graphs.local_independencies(ring.graph)
    assert graphs.is_i_equivalent("A -> B", "B -> A")
    assert (pb.DAG(asia), pb.UndirectedGraph(ring)) == (asia.graph, ring.graph)
    assert pb.CausalGraph(asia) == pb.CausalGraph(asia.graph)
    assert pb.PDAG(Model(pb.PDAG("A - B"))) == pb.PDAG("A - B")


@pytest.mark.parametrize(
    ("name", "graph", "message"),
    [
        ("is_chordal", pb.DAG("A -> B"), r"Expected an UndirectedGraph.*not a DAG\. Take its \.moralize\(\)"),
        ("essential_graph", pb.PDAG("A - B"), r"Expected a DAG.*not a PDAG.*consistent_extension"),
        ("essential_graph", pb.CausalGraph("A <-> B"), r"Expected a DAG.*not a CausalGraph.*to_dag"),
        ("junction_tree", pb.PDAG("A - B"), "Expected a DAG or UndirectedGraph.*not a PDAG"),
        ("class_size", pb.UndirectedGraph("A - B"), "Expected a DAG or PDAG.*not an UndirectedGraph"),
        ("is_chordal", Model(pb.DAG("A -> B")), "not a Model whose graph is a DAG.*moralize"),
        ("mag_of", pb.UndirectedGraph("A - B"), "Expected a DAG or CausalGraph.*not an UndirectedGraph"),
    ],
)
def test_another_kind_of_graph_is_refused_with_the_way_out(name, graph, message):
    """Kinds are not guessed: a DAG has both a moral graph and a skeleton."""
    refuses(NotSupported, message, getattr(graphs, name), graph)


def test_text_that_could_be_a_member_or_a_class_is_refused():
    """A -> B as a DAG has two equivalent ones, as a PDAG it stands for itself."""
    for function in (graphs.class_size, graphs.class_members):
        refuses(InvalidGraph, r"Write DAG\('A -> B'\) or PDAG\('A -> B'\)", function, "A -> B")
    assert graphs.class_size(pb.DAG("A -> B")) == 2
    assert graphs.class_size(pb.PDAG("A -> B")) == 1


def test_text_that_fits_no_kind_says_why():
    """The first kind that was asked for tells what is wrong."""
    with pytest.raises(CyclicGraph):
        graphs.junction_tree("A -> B -> A")
    refuses(InvalidGraph, "A DAG has only edges", graphs.junction_tree, "A <-> B")
    refuses(InvalidGraph, "Undirected edges are written 'A - B'", pb.learn.markov, "A -> B", {"A": [0, 1], "B": [0, 1]})
    refuses(InvalidGraph, "See MixedGraph", pb.UndirectedGraph, "A <-> B")
    refuses(InvalidGraph, "undirected", graphs.essential_graph, nx.Graph([("A", "B")]))


def test_marks_of_a_networkx_graph_are_not_lost():
    """The undirected edge of a PDAG does not become an arrow on its way through networkx."""
    pdag = pb.PDAG("A -> B - C").to_networkx()
    refuses(InvalidGraph, "'B' - 'C' is not '->'", pb.DAG, pdag)
    marked = nx.Graph()
    marked.add_edge("A", "B", marks="<->")
    refuses(InvalidGraph, "'A' <-> 'B' is not '-'", pb.UndirectedGraph, marked)
    assert pb.DAG(pb.PDAG("A -> B").to_networkx()) == pb.DAG("A -> B")


def test_factors_are_assigned_to_clusters_only():
    """A network has no clusters; its junction tree has."""
    asia = pb.examples.load("asia")
    for function in (graphs.assign_factors, graphs.is_family_preserving):
        refuses(NotSupported, r"not a BayesianNetwork.*junction_tree", function, asia, [["smoke"]])
    assert graphs.is_family_preserving(graphs.junction_tree(asia), [["smoke"]])


@pytest.mark.parametrize("kind", [pb.DAG, pb.UndirectedGraph, pb.CausalGraph, pb.PDAG, pb.graphs.MixedGraph])
def test_a_graph_can_not_be_made_of_a_number_or_a_matrix(kind):
    """What is no list of edges is named."""
    refuses(InvalidGraph, "Can't read a graph from", kind, 5)
    refuses(InvalidGraph, "from_adjacency", kind, graphs.adjacency_matrix("A -> B -> C"))


@pytest.mark.parametrize("kind", [pb.DAG, pb.CausalGraph, pb.PDAG, pb.graphs.MixedGraph, pb.MAG, pb.PAG])
def test_pairs_are_directed_edges_of_every_kind(kind):
    """[(A, B)] means A -> B wherever graphs are made, and edits speak the same language."""
    graph = kind([("A", "B"), ("B", "C")])
    assert graph == kind("A -> B -> C")
    assert graph.has_edge("A", "B")
    assert not graph.has_edge("B", "A")
    assert graph.without_edge("A", "B") == kind("B -> C; A")
    assert graph.without_edge("A", "B").with_edge("A", "B") == graph
    assert (graph.num_nodes, graph.num_edges) == (3, 2)


def test_other_edges_are_named_by_their_symbol():
    """The symbol comes last and is `->` where it is left out."""
    graph = pb.CausalGraph([("A", "B"), ("A", "<->", "B")])
    assert graph == pb.CausalGraph("A -> B; A <-> B")
    assert graph.has_edge("B", "A", "<->")
    assert graph.without_edge("A", "B", "<->") == pb.CausalGraph("A -> B")
    assert graph.without_edge("B", "A", "<-") == pb.CausalGraph("A <-> B")
    assert pb.UndirectedGraph("A - B; C").num_nodes == 3


def test_given_is_named_where_there_is_no_second_side():
    """d_connected(x, y) beside d_separated(x, y) read y as observed."""
    with pytest.raises(TypeError):
        pb.DAG("A -> B -> C").d_connected("A", "C")
    assert pb.DAG("A -> B -> C").d_connected("A", given="B") == {"A"}


def test_a_stranger_is_not_a_node():
    """A graph has nodes, not variables."""
    with pytest.raises(pb.errors.UnknownVariable, match=r"'Grss' is not a node of this graph\. Did you mean 'Grass'"):
        pb.DAG("Rain -> Grass").parents("Grss")
    refuses(pb.errors.UnknownVariable, "7 is not a node of this graph", pb.UndirectedGraph("A - B").separated, 7, "B")
