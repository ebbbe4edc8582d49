"""m-separation against its definition by paths, and against d-separation with explicit latent nodes."""

import random
from itertools import combinations

import pytest

from marked_graph_oracles import is_acyclic, is_separated, subsets
from plausible.errors import NotSupported, UnknownVariable
from plausible.graphs.ancestral import MAG, mag_of
from plausible.graphs.causal_graph import CausalGraph
from plausible.graphs.dag import DAG
from plausible.graphs.mixed import MixedGraph
from refusals import refuses
from seeds import few_of


def random_edges(rng, nodes, probability):
    order = rng.sample(nodes, len(nodes))
    edges = [(a, "->", b) for a, b in combinations(order, 2) if rng.random() < probability]
    return edges + [(a, "<->", b) for a, b in combinations(nodes, 2) if rng.random() < probability / 2]


def assert_same_as_paths(graph, edges):
    for x, y in combinations(graph.nodes, 2):
        for given in subsets(node for node in graph.nodes if node not in (x, y)):
            assert graph.m_separated(x, y, given) == is_separated(edges, x, y, given), (str(graph), x, y, given)
            assert graph.m_separated(y, x, given) == graph.m_separated(x, y, given)


@pytest.mark.parametrize("seed", few_of(12, 30))
def test_m_separation_in_a_causal_graph_is_the_absence_of_active_paths(seed):
    rng = random.Random(seed)
    nodes = list("ABCDE")
    edges = random_edges(rng, nodes, rng.choice([0.25, 0.4]))
    assert_same_as_paths(CausalGraph(edges, nodes=nodes), edges)


@pytest.mark.parametrize("seed", range(10))
def test_m_separation_is_d_separation_with_explicit_latent_nodes(seed):
    """The canonical DAG, written down here by hand, has the same separations."""
    nodes = list("ABCD")
    edges = random_edges(random.Random(seed), nodes, 0.4)
    explicit = [edge for edge in edges if edge[1] == "->"]
    for a, symbol, b in edges:
        if symbol == "<->":
            explicit += [(f"L{a}{b}", "->", a), (f"L{a}{b}", "->", b)]
    assert_same_as_paths(CausalGraph(edges, nodes=nodes), explicit)


@pytest.mark.parametrize("seed", few_of(12, 20))
def test_m_separation_in_a_mag_is_the_absence_of_active_paths(seed):
    """Undirected edges, from selection, included."""
    rng = random.Random(seed)
    nodes = [f"N{i}" for i in range(8)]
    dag = DAG([(a, b) for a, b in combinations(nodes, 2) if rng.random() < 0.35], nodes=nodes)
    mag = mag_of(dag, latent=nodes[:2], selection=nodes[-1])
    assert_same_as_paths(mag, [(edge.left, edge.symbol, edge.right) for edge in mag.edges])


@pytest.mark.parametrize("seed", few_of(12, 20))
def test_m_separation_in_a_mixed_graph_refuses_directed_cycles_only(seed):
    """Where edges -> form a cycle separation need not mean independence; bows and bidirected cycles do no harm."""
    rng = random.Random(seed)
    nodes = list("ABCD")
    choices = [(a, symbol, b) for a, b in combinations(nodes, 2) for symbol in ("->", "<-", "<->")]
    edges = [edge for edge in choices if rng.random() < 0.3]
    graph = MixedGraph(edges, nodes=nodes)
    if is_acyclic(nodes, [(a, b) if symbol == "->" else (b, a) for a, symbol, b in edges if symbol != "<->"]):
        assert_same_as_paths(graph, edges)
        return
    for question in (lambda: graph.m_separated("A", "B"), lambda: graph.markov_blanket("A")):
        refuses(NotSupported, r"directed cycle . -> .", question)


@pytest.mark.parametrize("seed", range(8))
def test_sets_are_separated_if_all_their_pairs_are(seed):
    rng = random.Random(seed)
    nodes = list("ABCDEF")
    edges = random_edges(rng, nodes, 0.25)
    graph = CausalGraph(edges, nodes=nodes)
    for given in subsets("EF"):
        expected = all(is_separated(edges, x, y, given) for x in "AB" for y in "CD")
        assert graph.m_separated(["A", "B"], ["C", "D"], given) == expected


def test_overlapping_arguments():
    """A node is never separated from itself, unless it is observed; the empty set is separated from everything."""
    graph = CausalGraph("A -> B <-> C; D")
    assert not graph.m_separated("A", ["A", "D"])
    assert graph.m_separated("A", "A", given="A")
    assert graph.m_separated("A", "B", given="A")
    assert graph.m_separated("B", "A", given="A")
    assert graph.m_separated(["A", "B"], "C", given="B") == graph.m_separated("A", "C", given="B")
    assert graph.m_separated([], graph.nodes)
    assert graph.m_separated("D", ["A", "B", "C"])
    refuses(UnknownVariable, "'X'", graph.m_separated, "A", "X")


def test_the_smoking_derivation_uses_these_separations():
    """Causality, section 2.3, read without dummy parents: rules 2 and 3 as tests on mutilated graphs."""
    graph = CausalGraph("S -> T -> C; S <-> C")
    assert graph.without_outgoing("S").m_separated("T", "S")
    assert graph.without_incoming("S").without_outgoing("T").m_separated("C", "T", given="S")
    assert graph.without_incoming(["S", "T"]).m_separated("C", "S", given="T")
    assert graph.without_outgoing("T").m_separated("C", "T", given="S")
    assert graph.without_incoming("T").m_separated("S", "T")
    assert not graph.without_outgoing("S").m_separated("C", "S", given="T")


@pytest.mark.parametrize(
    ("text", "reason"),
    [("A o-> B", "'A o-> B' has a circle"), ("A -> B - C", "'B - C' meets an arrowhead at 'B'")],
)
def test_marks_without_a_clear_meaning_are_refused(text, reason):
    for question in (lambda g: g.m_separated("A", "B"), lambda g: g.markov_blanket("A")):
        refuses(NotSupported, reason, question, MixedGraph(text))


# --- Markov blankets ---


@pytest.mark.parametrize("seed", few_of(12, 30))
def test_the_markov_blanket_separates_a_node_from_the_rest_and_is_the_smallest_such_set(seed):
    nodes = list("ABCDE")
    edges = random_edges(random.Random(seed), nodes, 0.3)
    graph = CausalGraph(edges, nodes=nodes)
    for node in nodes:
        sufficient = [
            set(given)
            for given in subsets(other for other in nodes if other != node)
            if all(is_separated(edges, node, rest, given) for rest in nodes if rest != node and rest not in given)
        ]
        blanket = set(graph.markov_blanket(node))
        assert blanket in sufficient
        assert all(blanket <= other for other in sufficient)


def test_the_blanket_of_a_childless_node_is_its_district_and_the_parents_of_that():
    graph = CausalGraph("P -> A <-> B <- Q; B <-> C; R -> C; S -> R")
    assert graph.markov_blanket("A") == ("P", "B", "Q", "C", "R")


def test_in_a_dag_it_is_the_usual_blanket():
    dag = DAG("D -> G <- I -> S; G -> L; S -> J <- L")
    for kind in (CausalGraph, MAG, MixedGraph):
        for node in dag.nodes:
            assert kind(dag).markov_blanket(node) == dag.markov_blanket(node)
