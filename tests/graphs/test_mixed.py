"""Marked graphs as values, the kinds of them, and what each kind refuses."""

import pickle
import random
from itertools import combinations, product

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from marked_graph_oracles import all_dags, ancestors, independence_model, is_acyclic, is_separated, subsets
from plausible.errors import CyclicGraph, InvalidArgument, InvalidGraph, UnknownVariable
from plausible.graphs.ancestral import MAG, PAG, mag_of
from plausible.graphs.causal_graph import CausalGraph, latent_projection
from plausible.graphs.dag import DAG
from plausible.graphs.marks import SYMBOLS, Edge, Mark
from plausible.graphs.mixed import PDAG, MixedGraph
from plausible.graphs.undirected import UndirectedGraph
from refusals import refuses
from seeds import few_of

NODES = ["A", "B", "C", "D", "E", "o", "a b", 'say "x"; -> y']


@st.composite
def mixed_graphs(draw):
    """Graphs with any marks, several edges between two nodes, and nodes that need quotes."""
    nodes = draw(st.lists(st.sampled_from(NODES), unique=True, max_size=6))
    pairs = list(combinations(nodes, 2))
    if not pairs:
        return MixedGraph(nodes=nodes)
    edge = st.tuples(st.sampled_from(pairs), st.sampled_from(sorted(SYMBOLS)))
    chosen = draw(st.lists(edge, max_size=10))
    return MixedGraph([(a, symbol, b) for (a, b), symbol in chosen], nodes=nodes)


def random_causal_edges(rng, num_nodes, probability=0.35):
    """Triples of an acyclic directed mixed graph, bows included."""
    nodes = [f"N{i}" for i in range(num_nodes)]
    order = rng.sample(nodes, num_nodes)
    edges = [(a, "->", b) for a, b in combinations(order, 2) if rng.random() < probability]
    edges += [(a, "<->", b) for a, b in combinations(nodes, 2) if rng.random() < probability / 2]
    return nodes, edges


# --- values ---


@given(mixed_graphs())
@settings(max_examples=32, deadline=None)
def test_arrow_text_triples_and_networkx_read_back(graph):
    """Every way out of the class is a way into it."""
    assert MixedGraph(str(graph)) == graph
    assert MixedGraph(graph.to_networkx()) == graph
    assert MixedGraph(((e.left, e.symbol, e.right) for e in graph.edges), nodes=graph.nodes) == graph
    assert MixedGraph(graph.edges, nodes=reversed(graph.nodes)) == graph
    assert pickle.loads(pickle.dumps(graph)) == graph
    assert hash(MixedGraph(str(graph))) == hash(graph)


def test_all_nine_edges_can_be_written():
    """Text, with one or two dashes, gives the marks at both ends."""
    for symbol, (left, right) in SYMBOLS.items():
        for text in (f"A {symbol} B", f"A {symbol.replace('-', '--')} B"):
            (edge,) = MixedGraph(text).edges
            assert (edge.mark_at("A"), edge.mark_at("B")) == (left, right)
    assert len(SYMBOLS) == 9


def test_an_edge_is_the_same_from_both_ends():
    edge = Edge.of("A", "o->", "B")
    assert edge == Edge.of("B", "<-o", "A") == edge.flipped()
    assert hash(edge) == hash(edge.flipped())
    assert edge != Edge.of("A", "<-o", "B")
    assert edge.other("A") == "B"
    refuses(InvalidGraph, "'C' is not an end of the edge 'A o-> B'", edge.mark_at, "C")


def test_other_graphs_are_accepted():
    assert MixedGraph(DAG("A -> B; C")) == MixedGraph("A -> B; C")
    assert PDAG(UndirectedGraph("A - B - C")) == PDAG("A - B - C")
    assert MixedGraph(CausalGraph("A -> B <-> C")) == MixedGraph("A -> B <-> C")
    assert CausalGraph(nx.DiGraph([("A", "B")])) == CausalGraph("A -> B")
    assert PDAG(nx.Graph([("A", "B")])) == PDAG("A - B")
    bow = nx.MultiDiGraph([("A", "B")])
    bow.add_edge("A", "B", marks="<->")
    assert CausalGraph(bow) == CausalGraph("A -> B; A <-> B")
    unclear = nx.Graph()
    unclear.add_edge("A", "B", marks="->")
    refuses(InvalidGraph, "DiGraph", MixedGraph, unclear)


def test_equality_ignores_order_and_minds_the_kind():
    assert CausalGraph("A -> B; C <-> D") == CausalGraph("D <-> C; B <- A")
    assert CausalGraph("A -> B") != MixedGraph("A -> B")
    assert CausalGraph("A -> B") != CausalGraph("A -> B; C")
    assert len({PDAG("A - B"), PDAG("B - A"), PDAG("A -> B")}) == 2


def test_repr_of_small_graphs_reads_back_and_of_large_ones_is_short():
    graph = CausalGraph("A -> B; A <-> B; C")
    assert eval(repr(graph)) == graph
    chain = PDAG([(i, "-", i + 1) for i in range(20)])
    assert repr(chain) == "<PDAG: 21 nodes, 20 edges>"


def test_the_empty_graph_has_nothing():
    graph = CausalGraph()
    assert (graph.nodes, graph.edges, graph.districts, graph.topological_order, str(graph)) == ((), (), (), (), "")
    assert CausalGraph(nodes=["A"]).districts == (frozenset({"A"}),)


# --- relations ---


def test_relations_on_a_small_graph():
    graph = MixedGraph("A -> B <-> C; A <-> B; B - D; D o-> E")
    assert graph.parents("B") == ("A",)
    assert graph.children("A") == ("B",)
    assert graph.siblings("B") == ("C", "A")
    assert graph.neighbors("B") == ("D",)
    assert graph.adjacent("B") == ("A", "C", "D")
    assert graph.edges_between("B", "A") == (Edge.of("A", "->", "B"), Edge.of("A", "<->", "B"))
    assert graph.edges_between("A", "E") == ()
    assert graph.has_edge("E", "D", "<-o")
    assert not graph.has_edge("D", "E")
    assert graph.num_edges == 5
    assert "A" in graph
    assert "X" not in graph
    assert graph.skeleton() == UndirectedGraph("A - B - C; B - D - E")


@pytest.mark.parametrize("seed", few_of(12, 30))
def test_ancestry_and_districts_agree_with_networkx(seed):
    rng = random.Random(seed)
    nodes, edges = random_causal_edges(rng, num_nodes=7)
    graph = CausalGraph(edges, nodes=nodes)
    directed = nx.DiGraph([(a, b) for a, symbol, b in edges if symbol == "->"])
    directed.add_nodes_from(nodes)
    bidirected = nx.Graph([(a, b) for a, symbol, b in edges if symbol == "<->"])
    bidirected.add_nodes_from(nodes)
    for node in nodes:
        assert graph.ancestors(node) == nx.ancestors(directed, node)
        assert graph.descendants([node]) == nx.descendants(directed, node)
        assert graph.district(node) == nx.node_connected_component(bidirected, node)
    assert sorted(map(sorted, graph.districts)) == sorted(map(sorted, nx.connected_components(bidirected)))
    assert [min(part) for part in graph.districts] == sorted(min(part) for part in graph.districts)
    rank = {node: time for time, node in enumerate(graph.topological_order)}
    assert all(rank[a] < rank[b] for a, b in directed.edges)
    assert graph.directed_part() == DAG(directed)
    assert graph.bidirected_part() == UndirectedGraph(bidirected)


def test_unknown_nodes_get_close_matches():
    graph = CausalGraph("Smoking -> Tar -> Cancer")
    for question in (graph.parents, graph.ancestors, graph.without_incoming, graph.subgraph, graph.without_node):
        refuses(UnknownVariable, "Did you mean 'Cancer'", question, "Cancr")


# --- edits ---


def test_edits_return_new_graphs_of_the_same_kind():
    graph = CausalGraph("A -> B")
    bow = graph.with_edge("B", "A", "<->")
    assert bow == CausalGraph("A -> B; A <-> B")
    assert bow.without_edge("B", "A", "<-") == CausalGraph("A <-> B")
    assert graph.with_node("C") == CausalGraph("A -> B; C")
    assert bow.without_node("A") == CausalGraph(nodes=["B"])
    assert graph == CausalGraph("A -> B")
    with pytest.raises(InvalidGraph, match=r"no edge 'A - B' to remove; between these nodes there is 'A -> B'"):
        graph.without_edge("A", "B", "-")
    with pytest.raises(CyclicGraph):
        graph.with_edge("B", "A")


def test_interventions_cut_every_arrowhead_at_their_targets():
    """Edges `<->` at an intervened node go as well; those out of it stay."""
    graph = CausalGraph("Z -> X -> Y; X <-> Y; Z <-> Y")
    assert graph.without_incoming("X") == CausalGraph("X -> Y; Z <-> Y")
    assert graph.without_incoming(["X", "Y"]) == CausalGraph(nodes=["X", "Y", "Z"])
    assert graph.without_outgoing("X") == CausalGraph("Z -> X; X <-> Y; Z <-> Y")
    assert graph.subgraph(["X", "Y"]) == CausalGraph("X -> Y; X <-> Y")


def test_directing_an_edge_of_a_pdag():
    assert PDAG("A - B").with_direction("B", "A") == PDAG("B -> A")
    refuses(InvalidGraph, "'A - B'", PDAG("A -> B").with_direction, "A", "B")


# --- what each kind refuses ---


@pytest.mark.parametrize(
    ("kind", "text", "error", "named"),
    [
        (PDAG, "A <-> B", InvalidGraph, "A <-> B"),
        (PDAG, "A o-> B", InvalidGraph, "A o-> B"),
        (PDAG, "A -> B; A - B", InvalidGraph, "both 'A -> B' and 'A - B'"),
        (PDAG, "A -> B -> C -> A; C -> D", CyclicGraph, "A -> B -> C -> A|B -> C -> A -> B|C -> A -> B -> C"),
        (CausalGraph, "A -> B - C", InvalidGraph, "B - C"),
        (CausalGraph, "A -> B <- C -> D -> A; D -> C", CyclicGraph, "C -> D -> C|D -> C -> D"),
        (MAG, "A o-o B", InvalidGraph, "A o-o B"),
        (MAG, "A -> B; A <-> B", InvalidGraph, "both 'A -> B' and 'A <-> B'"),
        (MAG, "A -> B -> C; C <-> A", InvalidGraph, "'A <-> C'.*A is one of C"),
        (MAG, "A -> B - C", InvalidGraph, "'B - C' meets the arrowhead of 'A -> B'"),
        (MAG, "A -> B -> C -> A", CyclicGraph, "A -> B"),
        (MAG, "A <-> B <-> C <-> D; B -> D; C -> A", InvalidGraph, "'A' and 'D' are not adjacent"),
        (PAG, "A o-> B; A -> B", InvalidGraph, "both 'A o-> B' and 'A -> B'"),
        (PAG, "A -> B -> C -> A", CyclicGraph, "A -> B"),
        (PAG, "A -> B -> C; A <-> C", InvalidGraph, "A <-> C"),
        (PAG, "A o-> B - C", InvalidGraph, "'B - C' meets the arrowhead of 'A o-> B'"),
        (MixedGraph, "A -> A", InvalidGraph, "'A' to itself"),
    ],
)
def test_a_kind_refuses_what_it_is_not_and_names_the_edge(kind, text, error, named):
    refuses(error, named, kind, text)


@pytest.mark.parametrize("item", ["A -> B", ("A",), {"A", "B"}, ("A", "=>", "B"), 7, ("A", 3, "B")])
def test_items_that_are_no_edges_are_refused(item):
    refuses(InvalidGraph, "edge", MixedGraph, [item])


def test_a_mixed_graph_with_a_cycle_has_no_topological_order():
    with pytest.raises(CyclicGraph, match=r"A -> B -> A|B -> A -> B"):
        MixedGraph("A -> B -> A").topological_order  # noqa: B018


def test_there_are_200_causal_graphs_on_three_nodes():
    """25 DAGs, and each of three pairs confounded or not."""
    found = set()
    pairs = list(combinations("XYZ", 2))
    for arrows in all_dags("XYZ"):
        for confounded in subsets(pairs):
            triples = [(a, "->", b) for a, b in arrows] + [(a, "<->", b) for a, b in confounded]
            found.add(CausalGraph(triples, nodes=["X", "Y", "Z"]))
    assert len(found) == 200


def is_maximal_ancestral(nodes, edges):
    """The definition: ancestral, and some set separates any two nodes that are not adjacent."""
    arrows = [(a, b) for a, symbol, b in edges if symbol == "->"]
    if not is_acyclic(nodes, arrows):
        return False
    heads = {b for _, symbol, b in edges if symbol != "-"} | {a for a, symbol, _ in edges if symbol == "<->"}
    for a, symbol, b in edges:
        if symbol == "<->" and (a in ancestors(edges, b) or b in ancestors(edges, a)):
            return False
        if symbol == "-" and heads & {a, b}:
            return False
    joined = {frozenset((a, b)) for a, _, b in edges}
    return all(
        frozenset(pair) in joined
        or any(is_separated(edges, *pair, z) for z in subsets(n for n in nodes if n not in pair))
        for pair in combinations(nodes, 2)
    )


def accepts(kind, edges, nodes):
    try:
        kind(edges, nodes=nodes)
    except InvalidGraph:
        return False
    return True


def test_a_mag_on_three_nodes_is_accepted_exactly_by_definition():
    """All 125 graphs with edges `->`, `<-`, `<->`, `-` or none."""
    pairs = list(combinations("ABC", 2))
    verdicts = []
    for choice in product((None, "->", "<-", "<->", "-"), repeat=3):
        triples = [(a, s, b) if s != "<-" else (b, "->", a) for (a, b), s in zip(pairs, choice, strict=True) if s]
        verdicts.append(accepts(MAG, triples, list("ABC")))
        assert verdicts[-1] == is_maximal_ancestral("ABC", triples)
    assert 0 < sum(verdicts) < len(verdicts)


@pytest.mark.parametrize("num_nodes", [4, 5])
def test_a_random_mag_is_accepted_exactly_by_definition(num_nodes):
    rng = random.Random(num_nodes)
    nodes = list("ABCDE"[:num_nodes])
    verdicts = []
    for _ in range(700):
        symbols = {pair: rng.choice([None, None, "->", "->", "<->", "<->", "-"]) for pair in combinations(nodes, 2)}
        triples = [
            (a, symbol, b) for (a, b), symbol in symbols.items() if symbol and (symbol != "-" or rng.random() < 0.3)
        ]
        verdicts.append(accepts(MAG, triples, nodes))
        assert verdicts[-1] == is_maximal_ancestral(nodes, triples)
    assert 0 < sum(verdicts) < len(verdicts)


def test_the_pag_of_the_student_network_is_accepted():
    """Causality, section 2.16: I o-o S, D o-> G, I o-> G, G -> J."""
    pag = PAG("I o-o S; D o-> G; I o-> G; G -> J")
    assert pag.edges_between("I", "S")[0].mark_at("I") is Mark.CIRCLE
    assert PAG(str(pag)) == pag
    assert PAG(MAG("A -> B <-> C")) == PAG("A -> B <-> C")


# --- graphs with latent nodes ---


def test_the_smoking_graph_is_a_latent_projection():
    dag = DAG("S -> T -> C; S <- Genotype -> C")
    assert latent_projection(dag, observed=["S", "T", "C"]) == CausalGraph("S -> T -> C; S <-> C")
    assert latent_projection(dag, observed=["S", "C"]) == CausalGraph("S -> C; S <-> C")
    assert latent_projection(dag, observed=dag.nodes) == CausalGraph(dag)
    assert latent_projection(dag, observed=[]) == CausalGraph()


def test_latent_projection_joins_all_effects_of_one_latent_node():
    """Chains of latent nodes, and one with three observed effects."""
    fork = DAG("X -> L -> A; L -> B")
    assert latent_projection(fork, observed=["A", "B", "X"]) == CausalGraph("X -> A; X -> B; A <-> B")
    dag = DAG("L -> M; L -> A; M -> B; M -> C; X -> M")
    assert latent_projection(dag, observed=list("ABCX")) == CausalGraph("X -> B; X -> C; A <-> B <-> C; A <-> C")


@pytest.mark.parametrize("seed", few_of(16, 40))
def test_the_canonical_dag_projects_back(seed):
    nodes, edges = random_causal_edges(random.Random(seed), num_nodes=6)
    graph = CausalGraph(edges, nodes=nodes)
    dag = graph.to_dag()
    assert dag.nodes[: len(graph)] == graph.nodes
    assert len(dag) == len(graph) + sum(edge.is_bidirected for edge in graph.edges)
    assert latent_projection(dag, observed=nodes) == graph


def test_names_of_latent_nodes_avoid_those_in_use():
    dag = CausalGraph("A <-> B; A -> U_A_B").to_dag()
    assert dag == DAG("A <- U_A_B_ -> B; A -> U_A_B")


@pytest.mark.parametrize("seed", range(12))
def test_a_latent_projection_keeps_the_separations_among_observed_nodes(seed):
    nodes, edges = random_causal_edges(random.Random(seed), num_nodes=6, probability=0.4)
    observed = nodes[:4]
    projected = latent_projection(CausalGraph(edges, nodes=nodes), observed=observed)
    assert projected.nodes == tuple(observed)
    triples = [(e.left, e.symbol, e.right) for e in projected.edges]
    expected = {
        (x, y, z)
        for x, y in combinations(observed, 2)
        for z in subsets(n for n in observed if n not in (x, y))
        if is_separated(edges, x, y, z)
    }
    assert independence_model(observed, triples) == expected


def test_mags_of_textbook_graphs():
    assert mag_of(DAG("A -> B -> C")) == MAG("A -> B -> C")
    assert mag_of(DAG("A -> L -> B"), latent="L") == MAG("A -> B")
    assert mag_of(DAG("A <- L -> B"), latent="L") == MAG("A <-> B")
    assert mag_of(DAG("A -> S <- B; B -> C"), selection="S") == MAG("A - B -> C")
    assert mag_of(CausalGraph("A -> B; A <-> B")) == MAG("A -> B")
    assert mag_of(DAG()) == MAG()
    refuses(InvalidArgument, "'L' can't be both", mag_of, DAG("A <- L -> B"), latent="L", selection="L")


@pytest.mark.parametrize("seed", few_of(12, 25))
def test_the_mag_has_the_separations_of_the_graph_given_the_selection(seed):
    """I(MAG) over the kept nodes is I(DAG) with the selected nodes always observed and the latent ones never."""
    rng = random.Random(seed)
    nodes = [f"N{i}" for i in range(7)]
    arrows = [(a, b) for a, b in combinations(nodes, 2) if rng.random() < 0.4]
    rng.shuffle(nodes)
    latent, selected, kept = nodes[:2], nodes[2 : 2 + seed % 2], nodes[2 + seed % 2 :]
    mag = mag_of(DAG(arrows, nodes=nodes), latent=latent, selection=selected)
    assert set(mag.nodes) == set(kept)
    triples = [(e.left, e.symbol, e.right) for e in mag.edges]
    dag_edges = [(a, "->", b) for a, b in arrows]
    expected = {
        (x, y, z)
        for x, y in combinations(kept, 2)
        for z in subsets(n for n in kept if n not in (x, y))
        if is_separated(dag_edges, x, y, (*z, *selected))
    }
    assert independence_model(kept, triples) == expected
    for edge in mag.edges:
        for end in edge.ends:
            is_ancestor = any(end in ancestors(dag_edges, effect) for effect in (edge.other(end), *selected))
            assert edge.mark_at(end) is (Mark.TAIL if is_ancestor else Mark.ARROW)


@pytest.mark.parametrize(
    ("kind", "edges"),
    [
        (MixedGraph, [(1, "->", 2), (2, "o->", "a"), (("x", 0), "-", 1)]),
        (CausalGraph, [(1, "->", 2), (2, "<->", 3)]),
        (PDAG, [(1, "->", 2), (4, "-", 3)]),
        (PAG, [(1, "o-o", 2)]),
        (MixedGraph, [("A", "<->", "B b")]),
    ],
)
def test_repr_evaluates_to_the_graph(kind, edges):
    """Text nodes and others, and nodes without edges; the order of the nodes is kept too."""
    graph = kind(edges, nodes=[0, "lonely"] if edges[0][0] == 1 else ["lonely"])
    again = eval(repr(graph), {kind.__name__: kind})
    assert again == graph
    assert set(map(type, again.nodes)) == set(map(type, graph.nodes))


def test_every_kind_of_graph_tells_what_is_adjacent():
    """One name for all, whichever end is named first."""
    for graph in (UndirectedGraph("A - B; C"), DAG("A -> B; C"), PDAG("A - B; C"), MixedGraph("A <-> B; C")):
        assert graph.is_adjacent("A", "B")
        assert graph.is_adjacent("B", "A")
        assert not graph.is_adjacent("A", "C")
        with pytest.raises(UnknownVariable):
            graph.is_adjacent("A", "X")
