"""Structural EM against its theorems, and counts of available cases against loops over rows."""

import pickle

import numpy as np
import pytest

from completion_oracle import incomplete_table, oracle_counts
from network_oracle import random_network
from plausible.data.table_statistics import TableStatistics
from plausible.errors import InvalidArgument, NotSupported
from plausible.graphs import DAG
from plausible.learn.incomplete.em import learn_em
from plausible.learn.incomplete_structures.available import AvailableStatistics, PairwiseStatistics
from plausible.learn.incomplete_structures.starts import DisconnectedHidden
from plausible.learn.incomplete_structures.structural_em import SEMRules, completed_scores, learn_structural_em
from plausible.learn.structures.knowledge import Knowledge
from plausible.learn.structures.structure import METHODS, learn_structure

NAMES = ["p", "q", "r", "s"]
OPTIONS = {"tan": {"class_variable": "q"}, "k2": {"order": ["q", "p", "r", "s"]}, "annealing": {"max_steps": 200}}


def holes(seed, num_rows=300, missing=0.2):
    """A chain of three and a coin, cells missing at random."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 2, size=(4, num_rows))
    codes[1] = np.where(rng.random(num_rows) < 0.9, codes[0], codes[1])
    codes[2] = np.where(rng.random(num_rows) < 0.85, codes[1], codes[2])
    lost = rng.random(codes.shape) < missing
    return {
        n: [None if gone else int(c) for c, gone in zip(codes[i], lost[i], strict=True)] for i, n in enumerate(NAMES)
    }


def oracle_bic(network, rows, weights):
    """ℓ(observed) - ½ ln N Dim, the likelihood by listing completions."""
    likelihood = oracle_counts(network, rows, weights, [next(iter(network.variables))])[1]
    dimension = sum(np.prod(c.values.shape[:-1], initial=1.0) * (c.values.shape[-1] - 1) for c in network.cpds.values())
    return likelihood - 0.5 * np.log(max(weights.sum(), 1.0)) * dimension


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
