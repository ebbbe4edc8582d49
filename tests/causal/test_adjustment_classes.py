"""Adjustment in classes of graphs: right if it is right in all members."""

from __future__ import annotations

import numpy as np

import adjustment_oracle as oracle
from marked_graph_oracles import consistent_orientations, subsets
from plausible.causal.adjustment.sets import (
    adjustment_set,
    adjustment_sets,
    check_adjustment,
    is_adjustment_set,
    optimal_adjustment_set,
)
from plausible.errors import NotSupported
from plausible.graphs import DAG, MAG, PAG, PDAG, apply_meek_rules, essential_graph
from refusals import refuses


def _random_class(rng, nodes):
    """The class PDAG of a random DAG, with some of its directions known besides."""
    pairs = [(a, b) for a, _, b in oracle.random_edges(rng, nodes, rng.uniform(0.3, 0.9), 0.0)]
    pdag = essential_graph(DAG(pairs, nodes=list(nodes)))
    for _ in range(int(rng.integers(0, 3))):
        if pdag.undirected_edges:
            a, b = pdag.undirected_edges[int(rng.integers(len(pdag.undirected_edges)))]
            pdag = apply_meek_rules(pdag.with_direction(*((a, b) if (a, b) in pairs else (b, a))))
    return pdag


def test_sets_for_a_pdag_are_right_in_all_its_dags():
    """With one and two treatments, with and without background knowledge; optimal sets agree, too."""
    rng = np.random.default_rng(0)
    num_right = 0
    for _ in range(80):
        nodes = "ABCDE"[: int(rng.integers(3, 6))]
        pdag = _random_class(rng, nodes)
        members = list(consistent_orientations(nodes, set(pdag.directed_edges), list(pdag.undirected_edges)))
        x = list(nodes[: int(rng.integers(1, 3))])
        y = [nodes[len(x)]]
        graphs = [[(a, "->", b) for a, b in arrows] for arrows in members]
        right = set.intersection(*(oracle.valid_sets(nodes, edges, x, y) for edges in graphs))
        others = [node for node in nodes if node not in (*x, *y)]
        found = {frozenset(given) for given in subsets(others) if is_adjustment_set(pdag, y, x, given)}
        assert found == right, pdag
        assert set(adjustment_sets(pdag, y, x)) == oracle.minimal(right)
        if right:
            best = {optimal_adjustment_set(DAG(arrows, nodes=list(nodes)), y, x) for arrows in members}
            assert best == {optimal_adjustment_set(pdag, y, x)}
            num_right += len(members) > 1
    assert num_right > 4


def test_sets_for_a_pag_are_right_in_all_causal_graphs_with_its_separations():
    """All classes over four nodes, each against every causal graph with latent causes that is in it."""
    graphs = oracle.AllGraphs(4)
    names = "XYAB"
    valid = {given: graphs.valid(0, 1, given) for given in subsets([2, 3])}
    num_right = 0
    for members in graphs.classes():
        pag = PAG(graphs.class_edges(members, names), nodes=list(names))
        right = {frozenset(names[i] for i in given) for given, is_valid in valid.items() if is_valid[members].all()}
        found = {frozenset(given) for given in subsets("AB") if is_adjustment_set(pag, "Y", "X", given)}
        assert found == right, pag
        assert set(adjustment_sets(pag, "Y", "X")) == oracle.minimal(right)
        num_right += bool(right)
    assert num_right > 50


def test_an_edge_that_may_be_confounded_leaves_no_set():
    """X -> Y alone may hide a latent common cause; a node that points into X alone makes it visible."""
    check = check_adjustment(MAG("X -> Y"), "Y", "X")
    assert not check.is_valid
    assert str(check.unclear) == "X -> Y"
    assert "no set will do" in str(check)
    assert is_adjustment_set(PAG("A o-> X; B o-> X; X -> Y"), "Y", "X")
    assert adjustment_set(PAG("X o-o Y"), "Y", "X") is None
    assert adjustment_set(PDAG("X - Y"), "Y", "X") is None


def test_a_pdag_is_closed_before_it_is_asked():
    """A -> X - Y without a collider at X means X -> Y."""
    assert adjustment_set(PDAG("A -> X - Y"), "Y", "X") == frozenset()


def test_what_a_class_has_no_answer_to_is_refused():
    """The back-door criterion is about one graph; selection hides the effect."""
    refuses(NotSupported, "back-door", check_adjustment, PDAG("X - Y"), "Y", "X", criterion="back-door")
    refuses(NotSupported, "selection", adjustment_set, MAG("X - A; Y"), "Y", "X")


def test_the_reason_of_a_directed_edge_is_that_it_may_hide_a_common_cause():
    """Only where the mark at the treatment is open, it is open whether a causal path begins there."""
    assert "'A -> B' may hide a common cause (it is not visible): no set" in str(
        check_adjustment(MAG("A -> B"), "B", "A")
    )
    assert "'A o-> B' leaves open whether a causal path" in str(check_adjustment(PAG("A o-> B"), "B", "A"))
    assert "'A - B' leaves open whether a causal path" in str(check_adjustment(PDAG("A - B"), "B", "A"))
