"""Comparing an estimated structure with a reference."""

import random
from collections import Counter
from itertools import combinations

import pytest

from plausible.errors import InvalidGraph
from plausible.graphs.comparison import Agreement, compare_structure
from plausible.graphs.dag import DAG
from plausible.graphs.equivalence import essential_graph
from plausible.graphs.marks import Edge
from plausible.graphs.mixed import PDAG
from refusals import refuses
from seeds import few_of


def test_every_difference_is_named_once():
    reference = PDAG("A -> B; C -> D; E -> F; G - H; I - J; K -> L")
    estimate = PDAG("A -> B; D -> C; E - F; G -> H; I - J; K; L; A - C")
    found = compare_structure(reference, estimate)
    assert set(found.same) == {Edge.of("A", "->", "B"), Edge.of("I", "-", "J")}
    assert found.missing == (Edge.of("K", "->", "L"),)
    assert found.extra == (Edge.of("A", "-", "C"),)
    assert found.reversed == (Edge.of("C", "->", "D"),)
    assert found.direction_lost == (Edge.of("E", "->", "F"),)
    assert found.direction_gained == (Edge.of("G", "->", "H"),)
    assert found.shd == 5
    assert found.skeleton == Agreement(num_true=5, num_false=1, num_missed=1)
    assert found.orientation == Agreement(num_true=1, num_false=2, num_missed=3)


def adjacency(arrows, lines):
    """Directed half-edges: a line has both."""
    return set(arrows) | {pair for a, b in lines for pair in ((a, b), (b, a))}


def split(rng, nodes):
    arrows, lines = [], []
    for a, b in combinations(rng.sample(nodes, len(nodes)), 2):
        kind = rng.choice([None, None, arrows, lines])
        if kind is not None:
            kind.append((a, b))
    return arrows, lines


def to_pdag(arrows, lines, nodes):
    return PDAG([(a, "->", b) for a, b in arrows] + [(a, "-", b) for a, b in lines], nodes=nodes)


@pytest.mark.parametrize("seed", few_of(16, 40))
def test_shd_and_scores_agree_with_adjacency_matrices(seed):
    """The distance is the number of pairs whose two matrix entries differ; the scores are counts of set overlaps."""
    rng = random.Random(seed)
    nodes = list("ABCDEF")
    (arrows, lines), (other_arrows, other_lines) = split(rng, nodes), split(rng, nodes)
    found = compare_structure(to_pdag(arrows, lines, nodes), to_pdag(other_arrows, other_lines, nodes[::-1]))
    mine, theirs = adjacency(arrows, lines), adjacency(other_arrows, other_lines)
    differing = [
        {(a, b), (b, a)} for a, b in combinations(nodes, 2) if {(a, b), (b, a)} & mine != {(a, b), (b, a)} & theirs
    ]
    assert found.shd == len(differing)
    assert found.shd == compare_structure(to_pdag(other_arrows, other_lines, nodes), to_pdag(arrows, lines, nodes)).shd

    true_pairs, claimed_pairs = ({frozenset(pair) for pair in entries} for entries in (mine, theirs))
    overlaps = [(true_pairs, claimed_pairs, found.skeleton), (set(arrows), set(other_arrows), found.orientation)]
    for true, claimed, agreement in overlaps:
        precision = len(true & claimed) / len(claimed) if claimed else 1.0
        recall = len(true & claimed) / len(true) if true else 1.0
        assert agreement.precision == pytest.approx(precision)
        assert agreement.recall == pytest.approx(recall)
        harmonic = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
        assert agreement.f1 == pytest.approx(harmonic if true or claimed else 1.0)


@pytest.mark.parametrize(
    ("reference", "estimate", "skeleton", "orientation"),
    [
        ("A -> B", "A; B", (1.0, 0.0, 0.0), (1.0, 0.0, 0.0)),
        ("A; B", "A -> B", (0.0, 1.0, 0.0), (0.0, 1.0, 0.0)),
        ("A; B", "A; B", (1.0, 1.0, 1.0), (1.0, 1.0, 1.0)),
        ("A - B", "A - B", (1.0, 1.0, 1.0), (1.0, 1.0, 1.0)),
        ("A -> B", "B -> A", (1.0, 1.0, 1.0), (0.0, 0.0, 0.0)),
    ],
)
def test_ratios_without_cases_are_one(reference, estimate, skeleton, orientation):
    """No claim is no false claim; F1 is one only if nothing is claimed and nothing holds."""
    found = compare_structure(PDAG(reference), PDAG(estimate))
    for agreement, expected in ((found.skeleton, skeleton), (found.orientation, orientation)):
        assert (agreement.precision, agreement.recall, agreement.f1) == expected


def test_a_graph_equals_itself_and_a_reversal_counts_one():
    dag = DAG("D -> G <- I -> S; G -> L")
    assert compare_structure(dag, dag).shd == 0
    turned = dag.with_reversed_edge("G", "L")
    assert compare_structure(dag, turned).shd == 1
    assert compare_structure(dag, dag.without_edge("G", "L")).shd == 1


def test_equivalent_dags_differ_as_dags_and_not_as_classes():
    first, second = DAG("A -> B -> C"), DAG("A <- B <- C")
    assert compare_structure(first, second).shd == 2
    assert compare_structure(essential_graph(first), essential_graph(second)).shd == 0
    assert compare_structure(first, essential_graph(first)).direction_lost == (
        Edge.of("A", "->", "B"),
        Edge.of("B", "->", "C"),
    )


def test_graphs_over_other_nodes_are_refused():
    refuses(InvalidGraph, "the estimate lacks 'C'", compare_structure, DAG("A -> B -> C"), DAG("A -> B"))
    refuses(InvalidGraph, "the reference lacks 'C'", compare_structure, DAG("A -> B"), DAG("A -> B -> C"))


def test_the_text_counts_and_lists_the_differences():
    text = str(compare_structure(PDAG("A -> B -> C; D"), PDAG("A - B; D -> C")))
    assert text.splitlines() == [
        "structural Hamming distance 3",
        "skeleton     precision 0.500, recall 0.500, F1 0.500",
        "orientation  precision 0.000, recall 0.000, F1 0.000",
        "missing (1): B -> C",
        "extra (1): D -> C",
        "direction lost (1): A -> B",
    ]
    assert Counter(text)["\n"] == 5
