"""FCI against the PAG of the graph that answers its questions, and its manners with data and contradictions."""

from __future__ import annotations

import hashlib
from functools import partial

import numpy as np
import pandas as pd
import pytest

from plausible.causal.discovery.fci import fci
from plausible.causal.discovery.mark_confidence import bootstrap_marks
from plausible.causal.discovery.skeleton_phases import check_colliders, possible_causes_of, possible_d_sep
from plausible.errors import InvalidArgument, InvalidGraph, UnknownVariable
from plausible.graphs.ancestral import PAG, mag_of
from plausible.graphs.ancestral_class import pag_of
from plausible.graphs.causal_graph import CausalGraph
from plausible.graphs.dag import DAG
from plausible.graphs.mark_masks import MarkMasks
from plausible.graphs.marks import Mark
from plausible.graphs.random import erdos_renyi_dag
from plausible.learn.constraint_based.orientation import find_colliders
from plausible.learn.constraint_based.skeleton import Skeleton, SkeletonProgress, SkeletonSearch
from plausible.learn.independence.independence_test import FunctionTest, MSeparationOracle
from plausible.learn.structures.knowledge import Constraints, Knowledge
from refusals import refuses
from seeds import few_of


def random_hidden_dag(rng, num_nodes, *, selection=False):
    """A DAG, its latent nodes and its selected ones."""
    dag = erdos_renyi_dag(num_nodes, float(rng.uniform(0.15, 0.6)), seed=rng)
    mixed = [str(node) for node in rng.permutation(dag.nodes)]
    latent, selected = int(rng.integers(0, num_nodes // 2)), int(rng.integers(1, 3)) if selection else 0
    return dag, mixed[:latent], mixed[latent : latent + selected]


def true_mark(dag, latent, selected, node, other):
    """What ancestry in the true graph makes of an end."""
    return Mark.TAIL if node in dag.ancestors([other, *selected]) else Mark.ARROW


def check_oracle_fci(seed, num_graphs, sizes):
    rng = np.random.default_rng(seed)
    for round_ in range(num_graphs):
        dag, latent, selected = random_hidden_dag(rng, int(rng.integers(*sizes)), selection=round_ % 3 == 0)
        expected = pag_of(dag, latent=latent, selection=selected)
        variant = ("stable", "conservative", "majority", "original")[round_ % 4]
        found = fci(MSeparationOracle(dag, latent, selected), selection=bool(selected), variant=variant)
        assert found.graph == expected
        assert not found.conflicts
        assert not found.ambiguous
        for edge in found.graph.edges:
            for end in edge.ends:
                true = true_mark(dag, latent, selected, end, edge.other(end))
                assert edge.mark_at(end) in (Mark.CIRCLE, true)


@pytest.mark.parametrize("seed", range(2))
def test_fci_with_an_oracle_finds_the_pag(seed):
    """All variants, random DAGs with latent and selected nodes; marks are true of the DAG."""
    check_oracle_fci(seed, 15, (3, 11))


@pytest.mark.slow
@pytest.mark.parametrize("seed", few_of(8, 40))
def test_fci_with_an_oracle_finds_the_pag_of_thousands_of_graphs(seed):
    """Up to eleven nodes."""
    check_oracle_fci(100 + seed, 75, (4, 12))


def test_second_phase_takes_out_an_edge_that_neighbours_can_not():
    """X5 and X6 are separated only by sets with a node that is next to neither."""
    graph = CausalGraph(
        "X0 -> X3; X0 -> X4; X0 <-> X6; X1 -> X2; X1 -> X3; X1 <-> X5; X2 -> X3; X2 -> X4; X2 <-> X5; X3 <-> X5; "
        "X3 -> X6; X4 -> X5; X4 <-> X6"
    )
    oracle = MSeparationOracle(graph)
    short, full = fci(oracle, max_path_length=1), fci(oracle)
    assert full.graph == pag_of(graph)
    assert short.graph.is_adjacent("X5", "X6")
    assert not full.graph.is_adjacent("X5", "X6")
    assert sum(full.num_tests) > sum(short.num_tests)


def test_possible_d_sep_is_what_paths_say():
    """By definition: paths whose inner nodes are colliders or in triangles."""
    rng = np.random.default_rng(2)
    for _ in range(10):
        dag, latent, _ = random_hidden_dag(rng, 8)
        pag = pag_of(dag, latent=latent)
        masks = MarkMasks.of(pag)
        for place in range(len(pag)):
            for longest in (None, 1, 2):
                found = possible_d_sep(masks, place, longest)
                assert {pag.nodes[b] for b in range(len(pag)) if found >> b & 1} == _ends(pag, place, longest)


def _ends(pag, start, longest):
    first = pag.nodes[start]
    found, stack = set(), [(first, other) for other in pag.adjacent(first)]
    while stack:
        path = stack.pop()
        found.add(path[-1])
        for after in pag.adjacent(path[-1]):
            before, node = path[-2:]
            edges = (*pag.edges_between(node, before), *pag.edges_between(node, after))
            is_collider = all(edge.mark_at(node) is Mark.ARROW for edge in edges)
            is_open = after not in path and (is_collider or pag.is_adjacent(before, after))
            if is_open and (longest is None or len(path) <= longest):
                stack.append((*path, after))
    return found


def test_possible_causes_are_what_paths_say():
    """By definition: paths to the nodes on which no arrowhead points back."""
    rng = np.random.default_rng(3)
    for _ in range(30):
        dag, latent, _ = random_hidden_dag(rng, 8)
        pag = pag_of(dag, latent=latent)
        masks = MarkMasks.of(pag)
        for goals in range(1, 1 << len(pag), 3):
            expected = {node for place, node in enumerate(pag.nodes) if goals >> place & 1}
            for _ in pag.nodes:
                ends = [(end, edge.other(end), edge.mark_at(end)) for edge in pag.edges for end in edge.ends]
                expected |= {end for end, other, mark in ends if other in expected and mark is not Mark.ARROW}
            found = possible_causes_of(masks, goals)
            assert {node for place, node in enumerate(pag.nodes) if found >> place & 1} == expected


def test_possible_d_sep_within_a_set_is_that_of_the_subgraph():
    """Nodes outside might as well not be there."""
    rng = np.random.default_rng(5)
    for _ in range(10):
        dag, latent, _ = random_hidden_dag(rng, 8)
        pag = pag_of(dag, latent=latent)
        kept = [node for node in pag.nodes if rng.random() < 0.7]
        part = PAG([edge for edge in pag.edges if set(edge.ends) <= set(kept)], nodes=kept)
        within = sum(1 << place for place, node in enumerate(pag.nodes) if node in kept)
        for place, node in enumerate(kept):
            found = possible_d_sep(MarkMasks.of(pag), pag.nodes.index(node), None, within)
            assert {other for bit, other in enumerate(pag.nodes) if found >> bit & 1} == _ends(part, place, None)


@pytest.mark.parametrize("seed", few_of(1, 3))
def test_second_phase_asks_little_more_than_the_first(seed):
    """Thirty nodes, three of them latent: few edges are in doubt, though `possible_d_sep` holds most of the nodes."""
    dag = erdos_renyi_dag(30, 0.1, seed=seed)
    latent = list(dag.nodes[::10])
    oracle = MSeparationOracle(dag, latent)
    short, full = fci(oracle, max_path_length=1), fci(oracle)
    assert full.graph == pag_of(dag, latent=latent)
    assert sum(full.num_tests) < 1.2 * sum(short.num_tests)


def test_fci_recovers_the_student_example_from_rows():
    """I o-o S, D o-> G, I o-> G, G -> J from linear Gaussian rows."""
    rng = np.random.default_rng(1)
    noise = rng.normal(size=(5, 5000))
    d, i = noise[0], noise[1]
    g = d + i + noise[2]
    frame = pd.DataFrame({"D": d, "I": i, "G": g, "S": i + noise[3], "J": g + noise[4]})
    found = fci(frame, alpha=0.001)
    assert found.graph == PAG("I o-o S; D o-> G; I o-> G; G -> J")
    assert found.separating_sets[frozenset("DI")] == ()
    assert "4 edges with 4 open ends" in str(found)
    assert found.member().has_edge("G", "J")
    assert "no selection" in found.assumptions
    assert "no selection" not in fci(frame, selection=True).assumptions


def test_fci_finds_a_latent_common_cause_from_rows():
    """A -> B <- L -> C <- D."""
    rng = np.random.default_rng(2)
    a, d, hidden = rng.normal(size=(3, 4000))
    b, c = a + hidden + rng.normal(size=4000), d + hidden + rng.normal(size=4000)
    found = fci({"A": a, "B": b, "C": c, "D": d}, alpha=0.001)
    assert found.graph == PAG("A o-> B <-> C <-o D")


# --- knowledge ---


def test_forbidden_both_ways_leaves_a_common_cause():
    """Neither causes the other, and they depend on each other."""
    oracle = MSeparationOracle("A <- L -> B", latent="L")
    assert fci(oracle).graph == PAG("A o-o B")
    assert fci(oracle, knowledge=Knowledge(forbidden=[("A", "B"), ("B", "A")])).graph == PAG("A <-> B")


def test_required_edges_and_tiers_direct_edges():
    """A chain that tests alone leave open; and what follows by the rules."""
    oracle = MSeparationOracle("A -> B -> C")
    assert fci(oracle).graph == PAG("A o-o B o-o C")
    assert fci(oracle, knowledge=Knowledge(required="A -> B")).graph == PAG("A -> B -> C")
    assert fci(oracle, knowledge=Knowledge(tiers=[["A"], ["B", "C"]])).graph == PAG("A o-> B -> C")


def test_knowledge_that_is_true_gives_true_marks_and_no_conflicts():
    """Tiers along the true order: all marks of the result are those of the true MAG, and none is lost."""
    rng = np.random.default_rng(4)
    gained = 0
    for round_ in range(30):
        dag, latent, selected = random_hidden_dag(rng, 8, selection=round_ % 3 == 0)
        observed = [node for node in dag.topological_order if node not in (*latent, *selected)]
        cut = len(observed) // 2
        known = Knowledge(tiers=[observed[:cut], observed[cut:]])
        oracle = MSeparationOracle(dag, latent, selected)
        plain = fci(oracle, selection=bool(selected))
        told = fci(oracle, selection=bool(selected), knowledge=known)
        true = mag_of(dag, latent=latent, selection=selected)
        assert not told.conflicts
        for edge in told.graph.edges:
            before, right = plain.graph.edges_between(*edge.ends)[0], true.edges_between(*edge.ends)[0]
            for end in edge.ends:
                assert edge.mark_at(end) in (Mark.CIRCLE, right.mark_at(end))
                assert before.mark_at(end) in (Mark.CIRCLE, edge.mark_at(end))
                gained += before.mark_at(end) is not edge.mark_at(end)
    assert gained > 10


def test_knowledge_against_the_tests_stands_and_is_reported():
    """B is a collider, but a required edge leaves it."""
    found = fci(MSeparationOracle("A -> B <- C"), knowledge=Knowledge(required="B -> A"))
    assert found.graph.has_edge("B", "A")
    assert [(one.kind, one.names) for one in found.conflicts] == [("against knowledge", ("B", "A"))]
    assert "which stands" in str(found.conflicts[0])


# --- contradictions, limits, mistakes ---


def random_answers(names, seed):
    """Tests that contradict each other at will, the same for the same question."""

    def answer(x, y, given):
        digest = hashlib.sha256(repr((seed, x, y, given)).encode()).digest()
        return digest[0] / 255 if digest[1] < 20 else 0.0

    return FunctionTest(names, answer)


@pytest.mark.parametrize("variant", ["stable", "majority", "conservative"])
@pytest.mark.parametrize("selection", [False, True])
def test_contradictory_tests_give_a_graph_that_no_order_of_columns_changes(variant, selection):
    """Whatever the tests say there is a PAG without contradictory marks; conflicts tell."""
    num_conflicts = 0
    for seed in range(14):
        names = "ABCDEFGH"
        found = fci(random_answers(names, seed), variant=variant, selection=selection)
        turned = fci(random_answers(names[::-1], seed), variant=variant, selection=selection)
        assert found.graph == turned.graph
        assert found.conflicts == turned.conflicts
        num_conflicts += len(found.conflicts)
        assert selection or not any(edge.is_undirected for edge in found.graph.edges)
        assert all(str(one) for one in found.conflicts)
    assert num_conflicts > 0 or variant == "conservative"


def has_member(found):
    try:
        found.member()
    except InvalidGraph:
        return False
    return True


def test_selection_that_was_not_allowed_for_is_a_conflict():
    """Four pairs with a selected effect each: a cycle of circles without a chord stands for no class."""
    oracle = MSeparationOracle(
        "A -> S1 <- B; B -> S2 <- C; C -> S3 <- D; D -> S4 <- A", selection=["S1", "S2", "S3", "S4"]
    )
    found = fci(oracle)
    assert found.graph == PAG("A o-o B o-o C o-o D o-o A")
    assert [one.names for one in found.conflicts if one.kind == "undirected"] == [
        ("A", "B"),
        ("A", "D"),
        ("B", "C"),
        ("C", "D"),
    ]
    assert "tells of selection, feedback or unfaithfulness" in str(found.conflicts[-1])
    assert not fci(oracle, selection=True).conflicts


@pytest.mark.parametrize("selection", [False, True])
def test_a_graph_without_members_has_a_conflict_that_says_so(selection):
    """Contradictory tests: "no class" is among the conflicts if and only if the class has no member."""
    counts = {True: 0, False: 0}
    for seed in range(30):
        found = fci(random_answers("ABCDEF", seed), selection=selection)
        is_told = "no class" in [one.kind for one in found.conflicts]
        assert is_told != has_member(found)
        counts[is_told] += 1
    assert min(counts.values()) > 1


def test_degenerate_tables():
    """No variables, one, constants, and variables without anything to do with each other."""
    assert fci(FunctionTest("", lambda *_: 1.0)).graph == PAG("", nodes=())
    assert fci(FunctionTest("A", lambda *_: 1.0)).graph == PAG("", nodes=["A"])
    assert fci(FunctionTest("ABC", lambda *_: 1.0)).graph.num_edges == 0
    assert fci(FunctionTest("ABC", lambda *_: 0.0)).graph == PAG("A o-o B o-o C o-o A")
    frame = {"A": ["x", "y"] * 50, "B": ["u"] * 100, "C": ["x", "y"] * 50}
    assert fci(frame).graph == PAG("A o-o C", nodes=["A", "B", "C"])


def test_search_can_be_stopped_and_limited():
    """By progress, by time, by the size of sets."""
    oracle = MSeparationOracle(erdos_renyi_dag(12, 0.3, seed=1), ["X0", "X1"])
    states: list[SkeletonProgress] = []
    assert fci(oracle, progress=states.append).stopped_by == ""
    assert max(state.num_tests for state in states) > 0
    assert fci(oracle, progress=lambda _: True).stopped_by == "interrupted"
    assert fci(oracle, time_limit=0.0).stopped_by == "time limit"
    assert len(fci(oracle, max_given=1).num_tests) <= 2
    refuses(InvalidArgument, "no variant 'stabel' of FCI", fci, oracle, variant="stabel")
    refuses(InvalidArgument, "max_path_length", fci, oracle, max_path_length=0)
    with pytest.raises(UnknownVariable):
        fci(oracle, knowledge=Knowledge(required=[("X2", "Z")]))
    for rows in ({"A": ["x", None], "B": ["x", "y"]}, {"A": [0.5, None], "B": [0.1, 0.2]}):
        with pytest.raises(InvalidArgument, match=r"'A' is missing in 1 of 2 rows.*dropna.*impute.*structural_em"):
            fci(rows)


def test_oracle_answers_are_those_of_the_dag_with_its_latent_nodes_summed_out():
    """A DAG with latents, its causal graph and its MAG agree; latent nodes can't be asked about."""
    dag = DAG("A -> B <- L -> C <- D; B -> D")
    asked = MSeparationOracle(dag, latent="L")
    others = (MSeparationOracle(CausalGraph("A -> B <-> C <- D; B -> D")), MSeparationOracle(mag_of(dag, latent="L")))
    for x, y, given in (("A", "C", ""), ("A", "D", "B"), ("A", "D", ""), ("B", "C", "AD"), ("A", "C", "BD")):
        told = asked.test(x, y, list(given)).is_independent()
        assert told == dag.d_separated(x, y, list(given))
        assert all(other.test(x, y, list(given)).is_independent() == told for other in others)
    with pytest.raises(UnknownVariable):
        asked.test("A", "L")
    with pytest.raises(InvalidArgument, match="both latent and selected"):
        MSeparationOracle(dag, latent="L", selection="L")


# --- confidence ---


def test_bootstrap_counts_marks_of_the_graphs_learned():
    """A learner that always gives one graph is sure of it; shares of marks at an end sum to that of the edge."""
    data = {"A": ["x", "y"] * 10, "B": ["x", "y"] * 10, "C": ["u", "v"] * 10}
    graph = PAG("A o-> B; B -> C")
    found = bootstrap_marks(data, lambda _: graph, num_samples=3)
    assert (found.num_graphs, found.edge("A", "B"), found.edge("A", "C")) == (3, 1.0, 0.0)
    assert [found.mark("A", "B", mark) for mark in (Mark.TAIL, Mark.CIRCLE, Mark.ARROW)] == [0.0, 1.0, 0.0]
    assert (found.cause("B", "C"), found.cause("A", "C"), found.possible_causes[0, 2]) == (1.0, 0.0, 1.0)
    assert list(found.to_frame().columns) == ["at", "other", "edge", "tail", "circle", "arrow"]
    assert len(found.to_frame()) == 4
    with pytest.raises(UnknownVariable):
        found.edge("A", "Z")


def test_the_surest_ends_come_first_in_the_frame_of_bootstrapped_marks():
    """Edges by their share of the graphs, those of one share by their names, both ends of each together."""
    data = {name: ["x", "y"] * 10 for name in "ABCD"}
    rare, common = PAG("A -> B; C o-> D"), PAG("A o-o D; B; C o-> D")
    graphs = iter([rare, common, common, common])
    frame = bootstrap_marks(data, lambda _: next(graphs), num_samples=4, num_threads=1).to_frame()
    assert frame["at"].tolist() == ["C", "D", "A", "D", "A", "B"]
    assert frame["other"].tolist() == ["D", "C", "D", "A", "B", "A"]
    assert frame["edge"].tolist() == [1, 1, 0.75, 0.75, 0.25, 0.25]


def test_bootstrap_counts_causes_of_graphs_that_stand_for_a_class_only():
    """A cycle of circles without a chord would make every node a certain cause of the opposite one."""
    data = {name: ["x", "y"] * 10 for name in "ABCD"}
    cycle, chain = PAG("A o-o B o-o C o-o D o-o A"), PAG("A o-> B; C o-> B; B -> D")
    graphs = iter([cycle, chain, cycle, chain])
    found = bootstrap_marks(data, lambda _: next(graphs), num_samples=4, num_threads=1)
    assert (found.num_graphs, found.num_without_class) == (4, 2)
    assert (found.cause("A", "C"), found.cause("B", "D"), found.edge("A", "B"), found.edge("B", "D")) == (0, 1, 1, 0.5)
    none = bootstrap_marks(data, lambda _: cycle, num_samples=2)
    assert none.num_without_class == 2
    assert np.isnan(none.causes).all()


def test_bootstrap_marks_do_not_depend_on_threads():
    """Each sample has random numbers of its own."""
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 200))
    data = {"A": a, "B": b, "C": a + b + rng.normal(size=200)}
    one, two = (
        bootstrap_marks(data, partial(fci, alpha=0.01), num_samples=6, num_threads=threads) for threads in (1, 2)
    )
    assert np.array_equal(one.marks, two.marks)
    assert one.mark("C", "A", Mark.ARROW) > 0.8
    assert bootstrap_marks(data, num_samples=6, progress=lambda done, _: done >= 2).num_graphs == 2


@pytest.mark.parametrize("is_independent", [True, False])
def test_a_middle_that_the_separating_set_takes_from_an_end_is_no_collider(is_independent):
    """D separates A and C, and A - B - C is left: if D separates A and B too, A - B goes; else B is a collider."""
    neighbors = {"A": ("B",), "B": ("A", "C"), "C": ("B",), "D": ()}
    skeleton = Skeleton(neighbors, {frozenset("AC"): ("D",)}, {frozenset("AC"): 0.5}, (6, 2))
    asked = []

    def answer(x, y, given):
        asked.append((x, y, given))
        return 0.9 if is_independent and (x, y, given) == ("A", "B", ("D",)) else 0.0

    test = FunctionTest("ABCD", answer)
    known = Constraints(~np.eye(4, dtype=bool), np.zeros((4, 4), dtype=bool), 4)
    found, colliders = check_colliders(
        test, skeleton, SkeletonSearch(), known, lambda one: find_colliders(test, one, 0.05, "stable")[0]
    )
    assert {("A", "B", ("D",)), ("B", "C", ("D",))} <= set(asked)
    if is_independent:
        assert found.neighbors == {"A": (), "B": ("C",), "C": ("B",), "D": ()}
        assert found.separating_sets == {frozenset("AC"): ("D",), frozenset("AB"): ("D",)}
        assert not colliders
    else:
        assert found.neighbors == neighbors
        assert [*colliders] == [("A", "B", "C")]
    assert found.num_tests == (6, 4)
