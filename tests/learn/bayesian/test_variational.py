"""Variational Bayes against enumeration, and against its own theorems."""

import math
import pickle
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import digamma, gammaln

from bayesian_oracle import GRAPH, ROWS, SCOPES, SIZES, Enumerated, columns
from plausible.data.table import Table
from plausible.errors import InvalidArgument, TooLarge, UnknownVariable
from plausible.graphs import DAG
from plausible.learn.bayesian.completion_problem import CompletionProblem, FamilyTables
from plausible.learn.bayesian.variational import (
    cluster_by_variational_bayes,
    first_beliefs,
    named_beliefs,
    swept,
    variational_bayes,
    variational_init,
    variational_step,
)
from plausible.learn.estimation.priors import K2, Dirichlet
from plausible.learn.incomplete.em import learn_em
from plausible.variables import Variable
from refusals import refuses


def table_with_settings():
    """`b` was set from outside in the third row."""
    mask = np.zeros(len(ROWS), dtype=bool)
    mask[2] = True
    is_set = np.zeros(ROWS.shape, dtype=bool)
    is_set[2, 1] = True
    return Table.read(columns(ROWS), GRAPH.variables, interventions={"b": mask}), is_set


def alphas(value):
    """The same pseudo-count everywhere."""
    return [np.full([SIZES[v] for v in scope], value) for scope in SCOPES]


def oracle_step(parameters, alpha, is_set):
    """One update by listing the completions of each row: expected counts, Σ log of the sums, KL to the prior."""
    logs = [digamma(a) - digamma(a.sum(axis=-1, keepdims=True)) for a in parameters]
    counts, total = [np.zeros(a.shape) for a in parameters], 0.0
    for row, mask in zip(ROWS, is_set, strict=True):
        weights = {}
        for filled in np.ndindex(*SIZES):
            if all(code in (-1, x) for code, x in zip(row, filled, strict=True)):
                cells = [tuple(filled[v] for v in scope) for scope in SCOPES]
                kept = [t[c] for t, c, s in zip(logs, cells, SCOPES, strict=True) if not mask[s[-1]]]
                weights[filled] = math.exp(sum(kept))
        total += math.log(sum(weights.values()))
        for filled, weight in weights.items():
            for f, scope in enumerate(SCOPES):
                if not mask[scope[-1]]:
                    counts[f][tuple(filled[v] for v in scope)] += weight / sum(weights.values())
    divergence = 0.0
    for a, prior, log in zip(parameters, alpha, logs, strict=True):
        divergence += (gammaln(a.sum(axis=-1)) - gammaln(prior.sum(axis=-1))).sum()
        divergence += (gammaln(prior) - gammaln(a) + (a - prior) * log).sum()
    return counts, total - divergence


@pytest.mark.parametrize("value", [0.3, 1.0, 4.0])
@pytest.mark.parametrize("seed", [0, 1])
def test_a_step_is_the_update_by_listing_completions_and_the_bound_rises_below_the_evidence(value, seed):
    """Q(h) ∝ Π exp(E[ln θ]), a = α + expected counts; F never falls and F <= log P(D)."""
    table, is_set = table_with_settings()
    problem = CompletionProblem.of(GRAPH, table, Dirichlet(value))
    exact = Enumerated(ROWS, SIZES, SCOPES, alphas(value), is_set).log_evidence
    state, bounds = variational_init(problem, seed), []
    for _ in range(12):
        bounds.append(state.bound)
        before = list(problem.tables.named(state.parameters).values())
        counts, bound = oracle_step(before, alphas(value), is_set)
        assert state.bound == pytest.approx(bound, abs=1e-9)
        assert state.bound < exact
        np.testing.assert_allclose(state.counts, np.concatenate([c.ravel() for c in counts]), atol=1e-10)
        state = pickle.loads(pickle.dumps(variational_step(problem, state)))
    assert np.diff([*bounds, state.bound]).min() >= -1e-10
    again = variational_bayes(GRAPH, table, Dirichlet(value), start=state, max_steps=0)
    assert again.bound == state.bound
    assert exact - state.bound < 3.0


def test_complete_rows_have_their_marginal_likelihood_as_the_bound():
    """With nothing missing Q(θ) is the posterior, and F = log P(D)."""
    rows = np.where(ROWS < 0, 1, ROWS)
    fit = variational_bayes(GRAPH, columns(rows), K2())
    exact = Enumerated(rows, SIZES, SCOPES, alphas(1.0))
    assert fit.bound == pytest.approx(exact.log_evidence, abs=1e-9)
    for name, wanted in zip("abc", exact.means(), strict=True):
        np.testing.assert_allclose(fit.posterior[name].mean, wanted)
        np.testing.assert_allclose(fit.network.cpd(name).values, wanted)


def test_beliefs_in_rows_are_those_under_the_geometric_means_of_tables():
    """Q(a) of each row, rows in the order of the data; NaN for a row that weighs nothing."""
    weights = np.array([1.0, 0.5, 2.0, 1.0, 1.0, 0.0])
    fit = variational_bayes(GRAPH, Table.read(columns(ROWS), GRAPH.variables, weights=weights), K2())
    found = fit.probabilities("a")
    assert np.isnan(found[5]).all()
    logs = [
        np.exp(digamma(a) - digamma(a.sum(axis=-1, keepdims=True)))
        for a in fit.problem.tables.named(fit.state.parameters).values()
    ]
    joint = np.einsum("a,ab,bac->abc", *logs)
    for row, chances in zip(ROWS[:5], found, strict=False):
        place = tuple(slice(None) if code < 0 else slice(code, code + 1) for code in row)
        wanted = np.zeros(2)
        wanted[place[0]] = joint[place].sum(axis=(1, 2))
        np.testing.assert_allclose(chances, wanted / wanted.sum(), atol=1e-12)
    with pytest.raises(UnknownVariable):
        fit.probabilities("d")


def test_expected_logs_are_differences_of_digammas_and_tend_to_logarithms():
    """ψ(5) - ψ(8) = -.509524, ψ(50) - ψ(80) = -.473774, ln(5/8) = -.470004."""
    coin = FamilyTables({"coin": Variable("coin", 2)}, {"coin": ()})
    found = [coin.expected_logs(np.array([5.0, 3.0]) * scale)[0] for scale in (1, 10, 1e6)]
    np.testing.assert_allclose(found, [-0.509524, -0.473774, -0.470004], atol=1e-6)


def test_clusters_follow_the_update_of_naive_bayes():
    """Q(c) ∝ exp(ψ(a_c) - ψ(Σ a)) Π exp(ψ(b_xc) - ψ(Σ b_c)), a missing feature summed over (example 19.13)."""
    rng = np.random.default_rng(2)
    cluster = rng.random(60) < 0.4
    rows = (rng.random((60, 4)) < np.where(cluster, 0.9, 0.15)[:, None]).astype(int)
    rows[rng.random(rows.shape) < 0.1] = -1
    names = ["w", "x", "y", "z"]
    fit = cluster_by_variational_bayes(columns(rows, names), 2, seed=1)
    q = np.full((60, 2), 0.0)
    named = fit.problem.tables.named(fit.state.parameters)
    for m, row in enumerate(rows):
        for c in range(2):
            total = digamma(named["cluster"][c]) - digamma(named["cluster"].sum())
            for name, x in zip(names, row, strict=True):
                logs = digamma(named[name][c]) - digamma(named[name][c].sum())
                total += logs[x] if x >= 0 else np.logaddexp(*logs)
            q[m, c] = math.exp(total)
    q /= q.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(fit.probabilities("cluster"), q, atol=1e-10)
    agree = (fit.probabilities("cluster").argmax(axis=1) == cluster).mean()
    assert max(agree, 1 - agree) > 0.85
    assert fit.bounds[0] == max(fit.bounds) == fit.bound
    assert len(fit.bounds) == 5


def test_a_hidden_variable_leaves_a_bound_for_each_order_of_its_states():
    """Permuting the states of a start permutes the result: the bound is the same, and below log P(D) of them all."""
    rows = np.array([[0, 0], [1, 1], [1, 1], [0, 1], [0, 0]])
    problem = CompletionProblem.of("H -> x; H -> y", columns(rows, "xy"), K2(), hidden={"H": 2})
    state = variational_init(problem, 4)
    named = problem.tables.named(state.counts)
    flipped = type(state)(state.parameters, problem.tables.flat({k: v[::-1] for k, v in named.items()}), state.bound)
    for _ in range(40):
        state, flipped = variational_step(problem, state), variational_step(problem, flipped)
    assert flipped.bound == pytest.approx(state.bound, abs=1e-9)
    turned = {k: v[::-1] for k, v in problem.tables.named(flipped.parameters).items()}
    np.testing.assert_allclose(problem.tables.flat(turned), state.parameters, atol=1e-6)
    hidden = np.column_stack([np.full(len(rows), -1), rows])
    exact = Enumerated(hidden, [2, 2, 2], [(0,), (0, 1), (0, 2)], [np.ones(2), np.ones((2, 2)), np.ones((2, 2))])
    assert state.bound < exact.log_evidence


def test_with_many_rows_the_fit_is_that_of_em():
    """ψ(z) ~ ln z: means under Q tend to the EM estimate as rows repeat."""
    few = np.array([[0, 0], [0, 1], [0, 0], [0, -1], [1, 1], [1, 0], [1, 1], [-1, 1], [-1, -1]])
    rows = columns(np.repeat(few, 2000, axis=0), "ab")
    fit = variational_bayes("a -> b", rows, tolerance=1e-12, max_steps=400)
    em = learn_em("a -> b", rows, tolerance=1e-12)
    for name in "ab":
        np.testing.assert_allclose(fit.network.cpd(name).values, em.network.cpd(name).values, atol=2e-3)


def test_runs_end_by_progress_time_and_steps_and_small_priors_are_refused():
    """Each way to stop is told; pseudo-counts that underflow name a row."""
    data = columns(ROWS)
    assert variational_bayes(GRAPH, data, progress=lambda state: state.bound > -1e9).stopped_by == "interrupted"
    assert variational_bayes(GRAPH, data, time_limit=0).stopped_by == "time limit"
    assert variational_bayes(GRAPH, data, max_steps=1, tolerance=0).stopped_by == "step limit"
    assert variational_bayes(GRAPH, data, K2()).converged
    refuses(InvalidArgument, "pseudo-counts are too small", variational_step, *_starved())
    refuses(InvalidArgument, "already", cluster_by_variational_bayes, {"cluster": [0, 1]}, 2)


def _starved():
    """A state that expects nothing of a row's states, under tiny pseudo-counts."""
    problem = CompletionProblem.of(DAG([], nodes=["a"]), {"a": [0, 1]}, Dirichlet(1e-5))
    state = variational_init(problem)
    return problem, type(state)(state.parameters, np.array([2.0, 0.0]), state.bound)


TWO_CAUSES = "H -> a; H -> b; H -> c; G -> a; G -> c"
SEEN = {"a": [0, 0, 1, None, 1, 0] * 3, "b": [0, None, 1, 1, 1, 0] * 3, "c": [None, 0, 1, 1, 0, 0] * 3}


@pytest.mark.parametrize("seed", range(3))
def test_the_bound_of_mean_field_rises_and_stays_below_that_of_the_exact_posterior(seed):
    """A product over cells is one of all Q(h): at the same Q(θ) its bound is at most that of the best one."""
    fit = variational_bayes(TWO_CAUSES, SEEN, hidden={"H": 2, "G": 3}, cells="mean-field", seed=seed)
    assert (np.diff(fit.trace) >= -1e-9).all()
    exact = replace(fit.state, beliefs=None)
    assert fit.bound <= variational_step(fit.problem, exact).bound + 1e-9
    assert fit.bound < variational_bayes(TWO_CAUSES, SEEN, hidden={"H": 2, "G": 3}, restarts=5, seed=seed).bound


def test_one_update_of_mean_field_is_that_by_listing_states():
    """q(g) ∝ exp Σ_h q(h) [ln θ(g) + ln θ(a | h, g) + ln θ(c | h, g)], in the order of the sweep."""
    problem = CompletionProblem.of("H -> x; G -> x", {"x": [0, 1]}, hidden={"H": 2, "G": 2})
    rng = np.random.default_rng(0)
    logs = np.log(problem.tables.draw(np.ones(len(problem.pseudo_counts)), rng))
    found = named_beliefs(problem, swept(problem, logs, first_beliefs(problem)))
    tables, order = problem.tables.named(logs), list(problem.tables.variables)
    x = tables["x"] if problem.tables.parents["x"] == ("H", "G") else tables["x"].swapaxes(0, 1)
    for row in range(2):
        q = {"H": np.full(2, 0.5), "G": np.full(2, 0.5)}
        for name in (n for n in order if n in q):
            other = "G" if name == "H" else "H"
            score = tables[name] + (x[..., row] @ q[other] if name == "H" else q[other] @ x[..., row])
            q[name] = np.exp(score) / np.exp(score).sum()
        for name, belief in q.items():
            np.testing.assert_allclose(found[name][row], belief, atol=1e-12)


def test_with_one_missing_cell_a_row_mean_field_is_exact():
    data = {"a": [0, 1, None, 1, 0], "b": [0, None, 1, 1, 0], "c": [None, 1, 1, 0, 0]}
    start = variational_bayes("a -> b; b -> c; a -> c", data, max_steps=0).state
    problem = CompletionProblem.of("a -> b; b -> c; a -> c", data)
    factored = variational_step(problem, replace(start, beliefs=first_beliefs(problem)))
    exact = variational_step(problem, start)
    assert factored.bound == pytest.approx(exact.bound, abs=1e-9)
    np.testing.assert_allclose(factored.counts, exact.counts, atol=1e-9)


def test_a_graph_that_is_too_wide_for_a_clique_tree_has_a_bound():
    """A hidden grid of 24 x 24: "auto" takes mean field, "exact" is refused."""
    num = 24
    edges = [(f"h{i}_{j}", f"h{i + 1}_{j}") for i in range(num - 1) for j in range(num)]
    edges += [(f"h{i}_{j}", f"h{i}_{j + 1}") for i in range(num) for j in range(num - 1)]
    graph = DAG([*edges, (f"h{num - 1}_{num - 1}", "x")])
    hidden = {f"h{i}_{j}": 2 for i in range(num) for j in range(num)}
    fit = variational_bayes(graph, {"x": [0, 1, 1]}, hidden=hidden, max_steps=2)
    assert (np.diff(fit.trace) >= -1e-9).all()
    assert fit.probabilities("h3_3").sum(axis=1) == pytest.approx([1.0] * 3)
    with pytest.raises(TooLarge):
        variational_bayes(graph, {"x": [0, 1, 1]}, hidden=hidden, cells="exact", max_steps=0)
    refuses(InvalidArgument, "'mean-field'", variational_bayes, "a -> b", {"a": [0, 1], "b": [0, 1]}, cells="meanfield")


def test_clustering_takes_progress_and_a_limit_of_time():
    data = {name: [0, 1, 1, 0] * 5 for name in "abc"}
    assert cluster_by_variational_bayes(data, 2, time_limit=0).stopped_by == "time limit"
    assert cluster_by_variational_bayes(data, 2, progress=lambda state: True).stopped_by == "interrupted"
