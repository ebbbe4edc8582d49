"""Structural EM against its theorems, and counts of available cases against loops over rows."""

import contextlib
import pickle
from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest

from completion_oracle import incomplete_table
from incomplete_rows import holes, oracle_bic
from network_oracle import random_network
from plausible.data.table import Table
from plausible.data.table_statistics import TableStatistics
from plausible.errors import CyclicGraph, InvalidArgument
from plausible.graphs import DAG
from plausible.learn.incomplete.cases import Cases
from plausible.learn.incomplete.em import learn_em
from plausible.learn.incomplete_structures.available import (
    AvailableStatistics,
    PairwiseStatistics,
    SeparateScores,
    pairwise_moments,
)
from plausible.learn.incomplete_structures.completion import DisconnectedHidden, start_graph
from plausible.learn.incomplete_structures.rescoring import RescoringRules, learn_by_rescoring
from plausible.learn.incomplete_structures.structural_em import SEMRules, completed_scores, learn_structural_em
from plausible.learn.learned_structure import learn_structure
from plausible.learn.scores.penalized import BIC
from plausible.learn.structure_methods import METHODS
from plausible.learn.structures.knowledge import Knowledge
from plausible.variables import Variable

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


@pytest.mark.parametrize("seed", range(5))
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
        best = max(
            (learn_em(graph, table, restarts=2, tolerance=1e-10)).runs, key=lambda run: run.trace[-1]
        ).state.network
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
    assert fit.stopped_by == "interrupted"
    assert pickle.loads(pickle.dumps(fit.run)).trace == fit.trace
    assert learn_structural_em(holes(4), rules=SEMRules(time_limit=0.0)).stopped_by == "time limit"


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
    assert found.stopped_by == "interrupted"
    assert learn_structure(holes(11), method, missing=SEMRules(time_limit=0.0)).stopped_by == "time limit"


@pytest.mark.parametrize("method", ["exact", "a-star"])
@pytest.mark.parametrize("missing", ["available", "pairwise"])
def test_no_graph_beats_an_optimum_of_separate_counts(method, missing):
    """Bounds of complete tables do not hold of them: all 543 graphs of four variables are scored."""
    found = learn_structure(holes(10, num_rows=15, missing=0.5), method, missing=missing)
    best = max(found.scores.graph(graph) for graph in all_graphs(["p", "q", "r", "s"]))
    assert found.stopped_by == "optimal"
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


def noisy_copies(seed, num=10, num_rows=300, missing=0.5):
    """A chain of noisy copies with so many holes that the completions of whole rows can't be listed."""
    rng = np.random.default_rng(seed)
    codes = [rng.integers(0, 3, num_rows)]
    for _ in range(num - 1):
        codes.append(np.where(rng.random(num_rows) < 0.85, codes[-1], rng.integers(0, 3, num_rows)))
    lost = rng.random((num, num_rows)) < missing
    return {f"x{i}": [None if gone else int(c) for c, gone in zip(codes[i], lost[i], strict=True)] for i in range(num)}


def test_draws_of_large_parts_never_let_the_score_fall():
    """A search over draws is judged by exact counts of what it changed, and finds most of what exact counts find."""
    data = noisy_copies(1)
    exact = learn_structural_em(data, escapes=0)
    drawn = learn_structural_em(data, escapes=0, rules=SEMRules(max_completions=200, num_draws=20))
    assert np.diff(drawn.trace).min() >= -1e-7
    assert drawn.state.num_refused == 0
    assert drawn.score >= exact.score - 0.02 * abs(exact.score)


def test_the_time_limit_reaches_the_search_within_a_step():
    """A search that would take long stops, and what it has found so far is kept."""
    data = noisy_copies(2, num=12)
    fit = learn_structural_em(data, "annealing", rules=SEMRules(time_limit=0.5, em_steps=1), max_steps=10**9)
    assert fit.stopped_by == "time limit"
    assert fit.seconds < 60.0
    found = learn_structure(data, "annealing", time_limit=0.5, max_steps=10**9)
    assert found.stopped_by == "time limit"


def test_a_network_to_start_from_is_matched_by_the_names_of_states():
    """Whatever the order of its states; columns that it lacks are refused, those that it has more are hidden."""
    words = {name: [None if c is None else ["no", "yes"][c] for c in column] for name, column in holes(12).items()}
    turned = [Variable(name, ["yes", "no"]) for name in words]
    start = learn_em(DAG("p -> q -> r", nodes=list(words)), Table.read(words, turned), tolerance=1e-10).network
    fit = learn_structural_em(words, start=start, rules=SEMRules(max_steps=0))
    assert fit.network.variables["p"].states == ("yes", "no")
    assert fit.score == pytest.approx(completed_free_bic(start, words), rel=1e-6)
    again = learn_by_rescoring(words, start=start, rules=RescoringRules(max_steps=0))
    assert again.score == pytest.approx(fit.score)
    assert again.trace == (again.score,)
    with pytest.raises(InvalidArgument, match="'new'"):
        learn_structural_em({**words, "new": words["p"]}, start=start)


def completed_free_bic(network, words):
    """BIC of the observed cells by the engine's own likelihood of rows."""
    columns = {name: [cell if cell is not None else np.nan for cell in column] for name, column in words.items()}
    likelihood = float(network.compile().log_likelihood(pd.DataFrame(columns, dtype=object)).sum())
    return likelihood - 0.5 * np.log(300) * sum(
        np.prod(cpd.values.shape[:-1], initial=1.0) * (cpd.values.shape[-1] - 1) for cpd in network.cpds.values()
    )


def test_random_starts_without_hidden_variables_are_graphs_that_differ():
    cases = Cases.of([Variable(name, 2) for name in "pqrs"], holes(1))
    generator, known = np.random.default_rng(0), Knowledge(required="s -> p", forbidden=[("p", "q")])
    graphs = [start_graph("random", cases, known, generator) for _ in range(30)]
    assert len(set(graphs)) > 10
    assert all(graph.has_edge("s", "p") and not graph.has_edge("p", "q") for graph in graphs)
    joined = {frozenset(edge) for graph in graphs for edge in graph.edges}
    assert joined == {frozenset(pair) for pair in combinations("pqrs", 2)}


def test_restarts_without_hidden_variables_reach_other_optima():
    """A parity of two coins that no single edge shows: found from some random graph, not from the empty one."""
    rng = np.random.default_rng(3)
    codes = rng.integers(0, 2, size=(4, 400))
    codes[2] = np.where(rng.random(400) < 0.95, codes[0] ^ codes[1], codes[2])
    data = {
        name: [None if rng.random() < 0.1 else int(c) for c in column]
        for name, column in zip("pqrs", codes, strict=True)
    }
    alone = learn_structural_em(data, start="empty", escapes=0)
    restarted = learn_structural_em(data, start="empty", escapes=0, restarts=12, seed=1)
    assert restarted.score > alone.score + 50.0
    assert any(set(restarted.graph.parents(name)) | {name} >= set("pqr") for name in "pqr")


def test_available_cases_pay_the_price_of_the_rows_that_are_there():
    """A weak dependence that the few rows with both cells do not show is no edge, though all rows would show it."""
    both = [(0, 0), (1, 1)] * 9 + [(0, 1), (1, 0)] * 6
    cells = both + [(0, None), (1, None), (None, 0), (None, 1)] * 250
    data = {"x": [x for x, _ in cells], "y": [y for _, y in cells]}
    for missing in ("available", "pairwise"):
        assert learn_structure(data, missing=missing).graph.num_edges == 0
    complete = holes(1, missing=0.0)
    whole, separate = BIC().on(TableStatistics(complete)), SeparateScores(BIC(), AvailableStatistics(complete))
    for parents in ([], ["q"], ["q", "r"], ["q", "r", "s"]):
        assert separate.family("p", parents) == pytest.approx(whole.family("p", parents))


@pytest.mark.parametrize(
    ("rules", "hint"),
    [
        ({"time_limit": "x"}, "time_limit='x'"),
        ({"time_limit": -1}, "time_limit=-1"),
        ({"em_steps": -3}, "em_steps=-3"),
        ({"max_steps": -1}, "max_steps=-1"),
        ({"tolerance": float("nan")}, "tolerance=nan"),
        ({"num_draws": 0.5}, "num_draws=0.5"),
    ],
)
def test_rules_that_make_no_sense_are_refused_by_name(rules, hint):
    with pytest.raises(InvalidArgument, match=hint):
        SEMRules(**rules)


def test_wrong_knowledge_restarts_and_hidden_columns_are_refused_by_name():
    with pytest.raises(InvalidArgument, match="knowledge="):
        learn_structural_em(holes(1), knowledge={"required": "p -> q"})
    with pytest.raises(InvalidArgument, match="restarts=-1"):
        learn_structural_em(holes(1), restarts=-1)
    with pytest.raises(InvalidArgument, match="'p' is in hidden=, but has values"):
        learn_structural_em(holes(1), hidden={"p": 2})
    with pytest.raises(InvalidArgument, match="'H'"):
        learn_structural_em(holes(1), hidden={"H": 0})


@pytest.mark.parametrize("missing", ["available", "pairwise"])
def test_tables_of_numbers_are_scored_by_available_cells_too(missing):
    rng = np.random.default_rng(0)
    x = rng.normal(size=400)
    columns = {"x": x, "y": 2 * x + rng.normal(size=400), "z": rng.normal(size=400)}
    lost = {name: np.where(rng.random(400) < 0.2, np.nan, column) for name, column in columns.items()}
    found = learn_structure(lost, missing=missing)
    assert set(found.graph.skeleton().edges) == {("x", "y")}


def test_pairwise_correlations_that_contradict_each_other_are_made_positive_definite():
    up, down, gone = [1.5, -1.5, 2.5, -2.5], [-1.5, 1.5, -2.5, 2.5], [np.nan] * 4
    rows = {"x": [*up, *gone, *up], "y": [*up, *up, *gone], "z": [*gone, *up, *down]}
    moments = pairwise_moments(Table.read(rows)).moments("x")
    assert np.linalg.eigvalsh(moments.scatter).min() > 0
    assert moments.weight == 4.0


def test_a_result_says_what_it_assumes_about_missing_cells():
    assert "missing at random" in learn_structure(holes(1)).assumption
    assert "completely at random" in learn_structure(holes(1), missing="available").assumption
    assert learn_structure(holes(1, missing=0.0)).assumption == ""


def test_structure_points_to_structural_em_for_hidden_variables():
    with pytest.raises(InvalidArgument, match=r"learn\.structural_em"):
        learn_structure({"a": [0, 1]}, hidden={"H": 2})
