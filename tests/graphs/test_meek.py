"""Meek's rules against all consistent orientations."""

import random
from itertools import combinations

import pytest

from marked_graph_oracles import consistent_orientations, unshielded_colliders
from plausible.errors import InvalidGraph
from plausible.graphs.dag import DAG
from plausible.graphs.equivalence import essential_graph
from plausible.graphs.meek import Orientation, apply_meek_rules
from plausible.graphs.mixed import PDAG
from refusals import refuses
from seeds import few_of


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("A -> B - C", "A -> B -> C"),
        ("A -> B -> C; A - C", "A -> B -> C; A -> C"),
        ("A - B; A - C -> B; A - D -> B", "A -> B; A - C -> B; A - D -> B"),
        ("A - B; A - D -> C -> B; A - C", "A -> B; A - D -> C -> B; A - C"),
        ("A - B - C", "A - B - C"),
        ("A -> B <- C", "A -> B <- C"),
        ("A - B - C - A", "A - B - C - A"),
        ("A - B - C - D - A", "A - B - C - D - A"),
        ("", ""),
        ("A; B", "A; B"),
    ],
    ids=["rule 1", "rule 2", "rule 3", "rule 4", "chain", "collider", "triangle", "square", "empty", "no edges"],
)
def test_each_rule_directs_what_it_says_and_no_more(before, after):
    """Whatever the names of the nodes are."""
    assert apply_meek_rules(PDAG(before)) == PDAG(after)
    for seed in range(5):
        letters = list("ABCD")
        random.Random(seed).shuffle(letters)
        renaming = str.maketrans("ABCD", "".join(letters))
        assert apply_meek_rules(PDAG(before.translate(renaming))) == PDAG(after.translate(renaming))


def intersection(members, lines):
    """The arrows on lines that all members share."""
    shared = frozenset.intersection(*members)
    return {arrow for a, b in lines for arrow in ((a, b), (b, a)) if arrow in shared}


def random_dag(rng, nodes, probability):
    return [(a, b) for a, b in combinations(rng.sample(nodes, len(nodes)), 2) if rng.random() < probability]


@pytest.mark.parametrize("num_nodes", [4, 5])
def test_the_closure_of_a_class_with_knowledge_is_what_all_members_share(num_nodes):
    """Completeness: every edge left undirected occurs in both directions."""
    rng = random.Random(num_nodes)
    nodes = list("ABCDE"[:num_nodes])
    num_informed = 0
    for _ in range(120):
        truth = random_dag(rng, nodes, rng.choice([0.5, 0.8, 1.0]))
        pdag = essential_graph(DAG(truth, nodes=nodes))
        known = [pair for pair in truth if set(pair) in map(set, pdag.undirected_edges) and rng.random() < 0.4]
        for source, target in known:
            pdag = pdag.with_direction(source, target)
        members = list(consistent_orientations(nodes, pdag.directed_edges, pdag.undirected_edges))
        closed = apply_meek_rules(pdag)
        forced = intersection(members, pdag.undirected_edges)
        num_informed += bool(known and forced)
        assert set(closed.directed_edges) == set(pdag.directed_edges) | forced
        assert closed.skeleton() == pdag.skeleton()
        assert closed.nodes == pdag.nodes
        assert apply_meek_rules(closed) == closed
    assert num_informed > 10


@pytest.mark.parametrize("num_nodes", [4, 5])
def test_the_closure_of_any_pdag_directs_what_all_its_dags_share(num_nodes):
    """Soundness and completeness for PDAGs of any kind; a refusal means that no DAG fits."""
    rng = random.Random(10 + num_nodes)
    nodes = list("ABCDE"[:num_nodes])
    refused = 0
    for _ in range(120):
        arrows = random_dag(rng, nodes, 0.7)
        lines = [arrow for arrow in arrows if rng.random() < 0.6]
        arrows = [arrow for arrow in arrows if arrow not in lines]
        pdag = PDAG([(a, "->", b) for a, b in arrows] + [(a, "-", b) for a, b in lines], nodes=nodes)
        members = list(consistent_orientations(nodes, arrows, lines))
        try:
            closed = apply_meek_rules(pdag)
        except InvalidGraph:
            refused += 1
            assert not members
            continue
        if members:
            assert set(closed.directed_edges) == set(arrows) | intersection(members, lines)
    assert refused


@pytest.mark.parametrize("seed", few_of(12, 60))
def test_knowledge_that_comes_bit_by_bit_leads_to_the_same_closure(seed):
    """Closing again after each new direction, from that edge only, is closing once at the end."""
    rng = random.Random(seed)
    nodes = list("ABCDE")
    truth = random_dag(rng, nodes, 0.8)
    start = essential_graph(DAG(truth, nodes=nodes))
    work = Orientation(start)
    assert work.close() == []
    known = start
    for source, target in rng.sample(truth, len(truth)):
        if known.has_edge(source, target, "-"):
            known = known.with_direction(source, target)
        a, b = nodes.index(source), nodes.index(target)
        if b in work.neighbors[a]:
            work.orient(a, b)
            work.close(fresh=(a, b))
        assert work.to_pdag() == apply_meek_rules(known)


def test_contradictions_are_refused_by_name():
    refuses(InvalidGraph, r"new immorality '(B -> C <- D|A -> B <- C)'", apply_meek_rules, PDAG("A -> B - C <- D"))
    refuses(InvalidGraph, r"force the cycle .*B -> C", apply_meek_rules, PDAG("A -> B - C - D - A"))


def test_rule_4_matters_with_knowledge():
    """In a square with one chord, two known directions fix a third edge that rules 1 to 3 leave open."""
    square = PDAG("A - B - C - D - A; A - C")
    informed = square.with_direction("D", "C").with_direction("C", "B")
    members = list(consistent_orientations("ABCD", informed.directed_edges, informed.undirected_edges))
    assert all(("A", "B") in member for member in members)
    assert not unshielded_colliders(informed.directed_edges, informed.undirected_edges)
    assert apply_meek_rules(informed) == PDAG("A -> B; C -> B; D -> C; A - D; A - C")
