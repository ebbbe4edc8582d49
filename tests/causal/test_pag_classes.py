"""Equivalence classes of ancestral graphs, against all ancestral graphs one by one."""

from __future__ import annotations

from itertools import combinations, product
from types import SimpleNamespace

import numpy as np
import pytest

from causal_class_oracle import (
    ARROW,
    TAIL,
    all_classes,
    closure,
    common_marks,
    members_of_model,
    model,
    of_graph,
    of_pag,
)
from plausible.errors import InvalidArgument, InvalidGraph, UnknownVariable
from plausible.graphs.ancestral import MAG, PAG
from plausible.graphs.ancestral_class import (
    ancestral_member,
    is_member,
    pag_member,
    pag_members,
    pag_of,
    stands_for_class,
)
from plausible.graphs.dag import DAG
from plausible.graphs.mark_masks import MarkMasks
from plausible.graphs.marks import Edge, Mark
from plausible.graphs.pag_questions import (
    ancestry,
    definite_ancestors,
    is_visible,
    pag_separated,
    possible_ancestors,
    possibly_directed_paths,
    visible_edges,
)
from plausible.graphs.pag_rules import MarkRules
from plausible.graphs.random import erdos_renyi_dag
from seeds import few_of

MARKS = {TAIL: Mark.TAIL, ARROW: Mark.ARROW, None: Mark.CIRCLE}


def graph_of(marks, kind=MAG):
    """A graph of the library."""
    pairs = [pair for pair in combinations(range(len(marks)), 2) if marks[pair[0]][pair[1]] != 0]
    return kind([Edge(a, b, MARKS[marks[b][a]], MARKS[marks[a][b]]) for a, b in pairs], nodes=range(len(marks)))


def random_class(rng, num_observed, *, selection=False):
    """A random DAG with latent and selected nodes, and its class by enumeration: (pag, members, model)."""
    num_latent, num_selected = int(rng.integers(0, 4)), int(rng.integers(1, 3)) if selection else 0
    size = num_observed + num_latent + num_selected
    observed, hidden = range(num_observed), range(num_observed, num_observed + num_latent)
    selected = range(num_observed + num_latent, size)
    num_edges = size * size
    while num_edges > 7:  # the number of graphs to try is exponential in it
        dag = erdos_renyi_dag(size, float(rng.uniform(0.2, 0.5)), nodes=range(size), seed=rng)
        independent = model(of_graph(dag), observed, selected)
        num_edges = num_observed * (num_observed - 1) // 2 - len({(x, y) for x, y, _ in independent})
    found = members_of_model(num_observed, independent, lines=selection)
    return pag_of(dag, latent=list(hidden), selection=list(selected)), found, independent


@pytest.mark.parametrize("size", [1, 2, 3, pytest.param(4, marks=pytest.mark.slow)])
@pytest.mark.parametrize("lines", [False, True])
def test_pag_has_the_marks_common_to_all_equivalent_graphs_exhaustively(size, lines):
    """Of all MAGs of up to four nodes, with and without undirected edges."""
    for members in all_classes(size, lines=lines).values():
        expected = common_marks(members)
        for member in members[:: max(len(members) // 2, 1)]:
            assert of_pag(pag_of(graph_of(member)), range(size)) == expected


@pytest.mark.parametrize("seed", range(2))
def test_pag_of_a_random_dag_has_the_marks_common_to_all_equivalent_graphs(seed):
    """Five observed nodes, up to three latent and two selected ones: rules R5, R9 and R10 need that many."""
    rng = np.random.default_rng(seed)
    for round_ in range(8):
        pag, members, _ = random_class(rng, 5, selection=round_ % 4 == 0)
        assert of_pag(pag, range(5)) == common_marks(members)


@pytest.mark.slow
@pytest.mark.parametrize("seed", few_of(6, 20))
def test_pag_of_many_random_dags_has_the_marks_common_to_all_equivalent_graphs(seed):
    """Five and six observed nodes."""
    rng = np.random.default_rng(1000 + seed)
    for round_ in range(50):
        pag, members, _ = random_class(rng, 5 + (round_ % 10 == 9), selection=round_ % 4 == 0)
        assert of_pag(pag, pag.nodes) == common_marks(members)


@pytest.mark.parametrize(
    ("dag", "latent", "selection", "expected"),
    [
        # R4: the middle of a discriminating path, a collider or not.
        ("A -> B; B <- L -> C; B -> D; C -> D; M -> C; M -> D", "LM", "", None),
        # R5: a cycle without a chord is selection.
        ("A -> S1 <- B; B -> S2 <- C; C -> S3 <- D; D -> S4 <- A", "", ["S1", "S2", "S3", "S4"], "A - B - C - D - A"),
        # R9: W is an ancestor of Z, whichever way the path of circles goes.
        ("W -> X -> Y -> Z; W -> Z", "", "", "W o-o X o-o Y; W -> Z; Y -> Z"),
        # R10: A is no collider between B and D, hence a cause of one of them, and both are causes of C.
        (
            "E -> B -> C; E -> D -> C; E -> A; A -> B; A -> C; A -> D",
            "",
            "",
            "E o-o A; B o-o E o-o D; B o-o A o-o D; B -> C; D -> C; A -> C",
        ),
    ],
)
def test_single_rules_make_the_marks_that_enumeration_says(dag, latent, selection, expected):
    """The classic small examples."""
    graph = DAG(dag)
    latent, selection = list(latent), list(selection)
    found = pag_of(graph, latent=latent, selection=selection)
    if expected is not None:
        assert found == PAG(expected)
    places = {node: place for place, node in enumerate(graph.nodes)}
    again = {places[node]: place for place, node in enumerate(found.nodes)}
    wanted = model(of_graph(graph), sorted(again), [places[node] for node in selection])
    wanted = frozenset((again[x], again[y], tuple(again[z] for z in given)) for x, y, given in wanted)
    members = members_of_model(len(again), wanted, lines=bool(selection))
    assert of_pag(found, found.nodes) == common_marks(members)


def test_rules_do_not_count_on_ambiguous_triples():
    """A o-> B o-o C with A and C apart is B -> C by R1, unless B may be a collider after all."""
    for ambiguous, is_directed in (((), True), ([(0, 1, 2)], False), ([(2, 1, 0)], False)):
        masks = MarkMasks.of(PAG("A o-> B o-o C"))
        MarkRules(masks, lambda path: None, ambiguous=ambiguous).close()
        assert (masks.mark(1, 2), masks.mark(2, 1)) == ((Mark.TAIL, Mark.ARROW) if is_directed else (Mark.CIRCLE,) * 2)


@pytest.mark.parametrize("lines", [False, True])
def test_members_are_all_equivalent_graphs_each_once(lines):
    """All MAGs of three nodes, and some classes of four."""
    for size, step in ((3, 1), (4, 72)):
        for members in list(all_classes(size, lines=lines).values())[::step]:
            pag = graph_of(common_marks(members), PAG)
            found = list(pag_members(pag, selection=lines))
            assert len(found) == len(set(found)) == len(members)
            assert set(found) == {graph_of(member) for member in members}
            assert list(pag_members(pag, 2, selection=lines)) == found[:2]
            assert all(is_member(member, pag) for member in found)


def test_asked_marks_are_in_the_member_or_in_no_member():
    """For each circle of a class both marks can be had; another mark than a common one can't."""
    rng = np.random.default_rng(5)
    for _ in range(3):
        pag, members, _ = random_class(rng, 5)
        for edge in pag.edges:
            for end in edge.ends:
                for mark in (Mark.TAIL, Mark.ARROW):
                    asked = [(end, edge.other(end), mark)]
                    if any(MARKS[one[edge.other(end)][end]] is mark for one in members):
                        found = pag_member(pag, asked)
                        assert found.edges_between(end, edge.other(end))[0].mark_at(end) is mark
                        assert is_member(found, pag)
                    else:
                        with pytest.raises(InvalidGraph, match="No member"):
                            pag_member(pag, asked)


def test_graphs_that_are_no_class_have_no_member():
    """Nodes on a path of circles around four nodes, and an unshielded collider that is not marked."""
    for text in ("A o-o B o-o C o-o D o-o A", "A -> B o-o C"):
        with pytest.raises(InvalidGraph, match="stands for no class"):
            pag_member(PAG(text))
    assert pag_member(PAG("", nodes=["A"])) == MAG("", nodes=["A"])
    with pytest.raises(InvalidArgument, match="MAG is about observed nodes"):
        pag_of(MAG("A -> B"), latent="A")


@pytest.mark.parametrize(
    ("asked", "error", "match"),
    [
        (("D", "J", Mark.ARROW), InvalidArgument, "at 'D' on an edge to 'J', but there is no edge"),
        (("D", "S", Mark.TAIL), InvalidArgument, "at 'D' on an edge to 'S', but there is no edge"),
        (("D", "G", "arrow"), InvalidArgument, "asks for 'arrow' at 'D': a member has Mark.TAIL or Mark.ARROW"),
        (("D", "G", Mark.CIRCLE), InvalidArgument, "Mark.CIRCLE"),
        (("D", "Z", Mark.ARROW), UnknownVariable, "'Z'"),
        (("D", "G"), InvalidArgument, r"such as \('A', 'B', Mark.TAIL\)"),
    ],
)
def test_marks_that_can_not_be_placed_are_refused_by_name(asked, error, match):
    with pytest.raises(error, match=match):
        pag_member(PAG("D o-> G; I o-> G; G -> J; I o-o S"), having=[asked])


def test_a_graph_stands_for_a_class_iff_it_is_the_pag_of_some_mag_exhaustively():
    """All graphs of three nodes with marks of any kind against all classes of MAGs; narrowed, with some more marks."""
    ends = [(left, right) for left in Mark for right in Mark]
    classes = [graph_of(common_marks(members), PAG) for members in all_classes(3, lines=False).values()]
    every_mag = [graph_of(member) for members in all_classes(3, lines=False).values() for member in members]
    with_pags = [(mag, pag_of(mag)) for mag in every_mag]
    for marks in product([None, *ends], repeat=3):
        edges = [Edge(a, b, *two) for (a, b), two in zip(combinations(range(3), 2), marks, strict=True) if two]
        if any(edge.is_undirected for edge in edges):
            continue
        try:
            graph = PAG(edges, nodes=range(3))
        except InvalidGraph:
            continue
        assert stands_for_class(graph) == (graph in classes)
        fits = any(_has_marks(mag, graph) and _has_marks(graph, pag) for mag, pag in with_pags)
        assert stands_for_class(graph, narrowed=True) == fits


def _has_marks(graph, fewer):
    """Whether a graph has the edges of another, and its marks but for circles."""
    if {frozenset(edge.ends) for edge in graph.edges} != {frozenset(edge.ends) for edge in fewer.edges}:
        return False
    return all(
        edge.mark_at(end) in (Mark.CIRCLE, graph.edges_between(*edge.ends)[0].mark_at(end))
        for edge in fewer.edges
        for end in edge.ends
    )


def test_questions_take_text_and_what_has_a_graph():
    """As other doors do: arrow text, a PAG, and results that have one as their `.graph`."""
    text = "D o-> G; I o-> G; G -> J; I o-o S"
    for given in (text, PAG(text), SimpleNamespace(graph=PAG(text))):
        assert definite_ancestors(given, "J") == {"G"}
        assert possible_ancestors(given, "J") == {"D", "I", "G", "S"}
        assert ancestry(given, "G", "J") == "certain"
        assert is_visible(given, "G", "J")
        assert [edge.ends for edge in visible_edges(given)] == [("G", "J")]
        assert next(possibly_directed_paths(given, "D", "J")) == ("D", "G", "J")
        assert pag_separated(given, "D", "S")
        assert pag_member(given) == MAG("D -> G; I -> G; G -> J; I -> S")
        assert is_member("D -> G <- I -> S; G -> J", given)
        assert len(list(pag_members(given))) == 8
        assert stands_for_class(given)


def test_the_member_of_adjustment_is_that_of_the_class():
    """Both directions of work on one class take one MAG."""
    rng = np.random.default_rng(8)
    for _ in range(20):
        dag = erdos_renyi_dag(7, 0.35, seed=rng)
        pag = pag_of(dag, latent=dag.nodes[:2])
        member = ancestral_member(pag)
        assert {str(edge) for edge in member.edges} == {str(edge) for edge in pag_member(pag).edges}


def check_questions(pag, members, independent, *, lines):
    """Ancestors and separation in a PAG, against all members."""
    size = range(len(members[0]))
    kinds = (TAIL, ARROW) if lines else (ARROW,)
    for b in size:
        above = [closure(member, [b], kinds) - {b} for member in members]
        assert definite_ancestors(pag, b) <= set.intersection(*above)
        if not lines:
            assert definite_ancestors(pag, b) == set.intersection(*above)
            assert possible_ancestors(pag, b) == set.union(*above)
            for a in set(size) - {b}:
                expected = "certain" if all(a in one for one in above) else "possible"
                assert ancestry(pag, a, b) == (expected if any(a in one for one in above) else "impossible")
    for a, b in combinations(size, 2):
        rest = [node for node in size if node not in (a, b)]
        for number in range(len(rest) + 1):
            for given in combinations(rest, number):
                assert pag_separated(pag, a, b, given) == ((a, b, given) in independent)


@pytest.mark.parametrize("lines", [False, True])
def test_ancestors_and_separation_are_what_all_members_say_exhaustively(lines):
    """All classes of up to four nodes. With selection ancestors may be those of a selected node."""
    for size in (2, 3, 4):
        for independent, members in list(all_classes(size, lines=lines).items())[:: 1 if size < 4 else 12]:
            check_questions(graph_of(common_marks(members), PAG), members, independent, lines=lines)


@pytest.mark.parametrize("seed", range(2))
def test_ancestors_and_separation_are_what_all_members_say(seed):
    """Random classes of five nodes."""
    rng = np.random.default_rng(50 + seed)
    for _ in range(4):
        pag, members, independent = random_class(rng, 5)
        check_questions(pag, members, independent, lines=False)


@pytest.mark.slow
def test_an_edge_is_visible_iff_a_latent_common_cause_would_change_the_class():
    """For A -> B of a member M: adding A <- L -> B to M as a DAG keeps its MAG iff the edge is not visible."""
    rng = np.random.default_rng(3)
    num_visible = 0
    for _ in range(80):
        size = int(rng.integers(4, 8))
        dag = erdos_renyi_dag(size, 0.4, nodes=range(size), seed=rng)
        latent = [node for node in range(size) if rng.random() < 0.1]
        pag = pag_of(dag, latent=latent)
        visible = {edge.ends for edge in visible_edges(pag)}
        num_visible += len(visible)
        for edge in pag.edges:
            for a, b in (edge.ends, edge.ends[::-1]):
                assert is_visible(pag, a, b) == ((a, b) in visible)
            if edge.is_directed:
                a, b = edge.ends
                members = list(pag_members(pag, 50))
                changed = [pag_of(_confounded(one, a, b), latent=_hidden(one, a, b)) != pag for one in members]
                if (a, b) in visible:
                    assert all(changed)
                elif len(members) < 50:
                    assert not all(changed)
    assert num_visible > 5


def _confounded(member, a, b):
    pairs = [edge.ends for edge in member.edges if edge.is_directed]
    for edge in member.edges:
        if edge.is_bidirected:
            pairs += [(("L", *edge.ends), end) for end in edge.ends]
    return DAG([*pairs, ("new", a), ("new", b)], nodes=member.nodes)


def _hidden(member, a, b):
    return [node for node in _confounded(member, a, b).nodes if node not in member]


def test_edge_with_one_open_end_never_has_a_path_back():
    """X o-> Y (the case of figure 21.8): no member has a directed path from Y to X, some have one from X to Y."""
    pag = PAG("X o-> Y; Z o-> Y")
    assert (ancestry(pag, "Y", "X"), ancestry(pag, "X", "Y")) == ("impossible", "possible")


def test_student_example():
    """I o-o S, D o-> G, I o-> G, G -> J; a latent cause of G and J instead of the edge is another class."""
    expected = PAG("I o-o S; D o-> G; I o-> G; G -> J")
    assert pag_of("D -> G <- I -> S; G -> J") == expected
    other = pag_of("D -> G <- I -> S; G <- L -> J", latent="L")
    assert other != expected
    assert pag_separated(other, "J", ["I", "D"])
    assert not pag_separated(expected, "J", "I")
    assert not pag_separated(expected, "J", "D")


def test_confounded_effect_and_plain_effect_share_a_pag_but_pure_confounding_is_another_claim():
    """Erratum of the text after definition 21.7: S -> C covers an effect with and without a common cause only.

    In a PAG with S -> C, S is an ancestor of C in all members; S <-> C is none of them.
    """
    plain, both = pag_of("A -> S -> C; B -> S"), pag_of("A -> S -> C; B -> S; S <- L -> C", latent="L")
    assert plain.has_edge("S", "C", "->")
    assert not both.has_edge("S", "C", "->")  # the confounder shows: A and B are joined with C
    two = PAG("S o-o C")
    assert {str(member) for member in pag_members(two)} == {"S -> C", "C -> S", "S <-> C"}
