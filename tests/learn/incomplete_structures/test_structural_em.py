"""Structural EM against its theorems, and counts of available cases against loops over rows."""

import contextlib
import pickle
from itertools import combinations, product

import numpy as np
import pytest

from completion_oracle import incomplete_table
from incomplete_rows import holes, oracle_bic
from network_oracle import random_network
from plausible.data.table_statistics import TableStatistics
from plausible.errors import CyclicGraph, InvalidArgument, NotSupported
from plausible.graphs import DAG
from plausible.learn.incomplete.em import learn_em
from plausible.learn.incomplete_structures.available import AvailableStatistics, PairwiseStatistics
from plausible.learn.incomplete_structures.starts import DisconnectedHidden
from plausible.learn.incomplete_structures.structural_em import SEMRules, completed_scores, learn_structural_em
from plausible.learn.structures.knowledge import Knowledge
from plausible.learn.structures.structure import METHODS, learn_structure

OPTIONS = {"tan": {"class_variable": "q"}, "k2": {"order": ["q", "p", "r", "s"]}, "annealing": {"max_steps": 200}}


@pytest.mark.parametrize("seed", range(6))
def test_the_score_of_observed_cells_never_falls_and_is_bic(seed):
    """With maximum likelihood and BIC no graph is ever refused: completed data promise no more than there is."""
    rng = np.random.default_rng(seed)
    table, rows, weights = incomplete_table(random_network(rng, num_variables=4), rng, 60)
    fit = learn_structural_em(table, start="empty", seed=seed)
    assert np.diff(fit.trace).min() >= -1e-7
    assert fit.state.num_refused == 0
    assert fit.converged
    assert fit.score == pytest.approx(oracle_bic(fit.network, rows, weights))


@pytest.mark.parametrize("seed", range(8))
def test_completed_data_promise_at_most_the_true_gain(seed):
    """score(G : D*) - score(G0 : D*) <= BIC(G : D) - BIC(G0 : D), at parameters of maximum likelihood."""
    rng = np.random.default_rng(seed)
    net = random_network(rng, num_variables=4, zeros=0.0)
    table, rows, weights = incomplete_table(net, rng, 80)
    names = list(net.variables)
    first = learn_em(DAG("", nodes=names), table, tolerance=1e-12).network
    scores = completed_scores(first, table)
    for child, parent in [(1, 0), (2, 1), (3, 0)]:
        graph = DAG([(names[parent], names[child])], nodes=names)
        promised = scores.graph(graph) - scores.graph(first.graph)
        best = max((learn_em(graph, table, restarts=2, tolerance=1e-12)).runs, key=lambda run: run.objective).network
        assert promised <= oracle_bic(best, rows, weights) - oracle_bic(first, rows, weights) + 1e-5


def test_without_missing_cells_it_is_the_search_itself():
    data = holes(1, missing=0.0)
    found = learn_structure(data)
    fit = learn_structural_em(data)
    assert fit.graph == found.graph
    assert fit.score == pytest.approx(found.score)


def test_a_disconnected_hidden_variable_never_gains_an_edge_and_is_warned_of():
    with pytest.warns(DisconnectedHidden, match="'H' has no edge"):
        fit = learn_structural_em(holes(2), hidden={"H": 2}, start="empty")
    assert not fit.graph.neighbors("H")
    joined = learn_structural_em(holes(2), hidden={"H": 2}, rules=SEMRules(max_steps=3))
    assert np.diff(joined.trace).min() >= -1e-7


def test_bayesian_scores_never_fall_either_and_restarts_are_ranked():
    fit = learn_structural_em(holes(3), score="bdeu", hidden={"H": 2}, start="random", restarts=2, seed=1)
    assert np.diff(fit.trace).min() >= -1e-7
    assert fit.runs == tuple(sorted(fit.runs, reverse=True))
    assert len(fit.runs) == 3


def test_states_can_be_pickled_and_a_run_can_be_stopped():
    fit = learn_structural_em(holes(4), rules=SEMRules(progress=lambda state: True))
    assert fit.stopped == "interrupted"
    assert pickle.loads(pickle.dumps(fit.state)).trace == fit.trace
    assert learn_structural_em(holes(4), rules=SEMRules(time_limit=0.0)).stopped == "time limit"


@pytest.mark.parametrize("missing", ["sem", "available", "pairwise", "complete-rows"])
@pytest.mark.parametrize("method", METHODS)
def test_every_method_takes_missing_cells_in_every_way(method, missing):
    """The strong edges are found, and the result says what was done."""
    found = learn_structure(holes(5), method, missing=missing, **OPTIONS.get(method, {}))
    assert found.missing == missing
    assert found.graph.is_adjacent("p", "q")
    assert found.graph.is_adjacent("q", "r")


def test_available_counts_are_those_of_loops_made_up_to_all_rows():
    data = holes(6)
    for family in (["p"], ["q", "p"], ["p", "s", "r"]):
        counts = np.zeros([2] * len(family))
        for row in zip(*(data[name] for name in family), strict=True):
            if None not in row:
                counts[row] += 1
        found = AvailableStatistics(data).counts(family[-1], family[:-1])
        np.testing.assert_allclose(found, counts * 300 / counts.sum())
    hidden = AvailableStatistics({"a": [0, 1, None], "b": [None, None, 1]}).counts("a", ["b"])
    np.testing.assert_allclose(hidden, np.full((1, 2), 1.5))


def test_pairwise_counts_have_the_margins_of_their_pairs():
    """Exactly where nothing is missing; a triple without interaction of three is recovered."""
    data = holes(7, num_rows=2000, missing=0.0)
    counts, whole = PairwiseStatistics(data).counts("r", ["p", "q"]), TableStatistics(data).counts("r", ["p", "q"])
    for axis in range(3):
        np.testing.assert_allclose(counts.sum(axis=axis), whole.sum(axis=axis), atol=1e-3)


def test_numbers_are_completed_by_the_gaussian_of_all_columns():
    rng = np.random.default_rng(0)
    x = rng.normal(size=400)
    columns = {"x": x, "y": 2 * x + rng.normal(size=400), "z": rng.normal(size=400)}
    lost = {name: np.where(rng.random(400) < 0.2, np.nan, column) for name, column in columns.items()}
    assert set(learn_structure(lost).graph.skeleton().edges) == {("x", "y")}
    with pytest.raises(NotSupported, match="complete-rows"):
        learn_structure({**lost, "s": [None, *["a", "b", "a"] * 133]})


def test_statistics_are_data_too_and_wrong_words_are_refused():
    data = holes(8, missing=0.0)
    assert learn_structure(TableStatistics(data)).graph == learn_structure(data).graph
    with pytest.raises(InvalidArgument, match="available"):
        learn_structure(holes(8), missing="availble")
    with pytest.raises(InvalidArgument, match="naive-bayes"):
        learn_structural_em(holes(8), start="naive-bays")


def test_what_is_known_holds_of_the_graph():
    fit = learn_structural_em(holes(9), knowledge=Knowledge(required="s -> p", forbidden=[("p", "q"), ("q", "p")]))
    assert fit.graph.has_edge("s", "p")
    assert not fit.graph.is_adjacent("p", "q")


def test_a_start_reaches_structural_em_and_progress_is_told_of_its_steps():
    """From the first completion on: without any move allowed the start is what is left."""
    told = []
    start = DAG("s -> p, s -> q, p -> q, p -> r, s -> r", nodes=["p", "q", "r", "s"])
    found = learn_structure(holes(10), start=start, max_steps=1, escapes=0, progress=told.append)
    fit = learn_structural_em(holes(10), start=start, max_steps=1, escapes=0)
    assert found.graph == fit.graph
    assert found.trace[0][1] == pytest.approx(fit.trace[0])
    assert {step.best_score for step in told} >= set(fit.trace[1:])


@pytest.mark.parametrize("method", ["hill-climbing", "exact", "a-star"])
def test_structural_em_stops_where_progress_says_so(method):
    found = learn_structure(holes(11), method, progress=lambda state: True)
    assert found.stopped == "interrupted"
    assert learn_structure(holes(11), method, missing=SEMRules(time_limit=0.0)).stopped == "time limit"


@pytest.mark.parametrize("method", ["exact", "a-star"])
@pytest.mark.parametrize("missing", ["available", "pairwise"])
def test_no_graph_beats_an_optimum_of_separate_counts(method, missing):
    """Bounds of complete tables do not hold of them: all 543 graphs of four variables are scored."""
    found = learn_structure(holes(10, num_rows=15, missing=0.5), method, missing=missing)
    best = max(found.scores.graph(graph) for graph in all_graphs(["p", "q", "r", "s"]))
    assert found.stopped == "optimal"
    assert found.score == pytest.approx(best)


def all_graphs(names):
    """Every acyclic graph, by choosing for each pair no edge or one of two."""
    for choice in product(range(3), repeat=6):
        edges = [
            (pair if way == 1 else pair[::-1]) for way, pair in zip(choice, combinations(names, 2), strict=True) if way
        ]
        with contextlib.suppress(CyclicGraph):
            yield DAG(edges, nodes=names)


def test_pairs_that_rule_each_other_out_leave_counts_of_all_rows():
    rows = {"a": [0, 0, None, None, 1], "b": [0, 0, 1, 1, None], "c": [None, None, 0, 1, 0]}
    counts = PairwiseStatistics(rows).counts("c", ["a", "b"])
    assert counts.sum() == pytest.approx(5.0)
    assert np.isfinite(counts).all()


def test_pairwise_counts_do_not_depend_on_the_order_of_the_parents():
    """Though pairs that are counted in different rows do not agree; else gains would not be differences of scores."""
    statistics = PairwiseStatistics(holes(13, num_rows=40, missing=0.5))
    counts, turned = statistics.counts("s", ["p", "q", "r"]), statistics.counts("s", ["r", "p", "q"])
    np.testing.assert_array_equal(turned.transpose(1, 2, 0, 3), counts)
