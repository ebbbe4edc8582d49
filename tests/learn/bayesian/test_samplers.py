"""Samplers of parameters and completions against the list of all completions."""

import pickle
from itertools import product

import numpy as np
import pytest

from bayesian_oracle import GRAPH, ROWS, SCOPES, SIZES, Enumerated, columns, log_marginal
from completion_oracle import incomplete_table, posteriors
from network_oracle import random_network
from plausible.cpds import TableCPD
from plausible.data.table import Table
from plausible.errors import InvalidArgument, NotSupported, UnknownVariable
from plausible.graphs import DAG
from plausible.learn.bayesian.completion_problem import CompletionProblem
from plausible.learn.bayesian.parameter_draws import SAMPLERS, sample_parameters
from plausible.learn.bayesian.samplers import (
    BlockMetropolis,
    CollapsedCellGibbs,
    ParameterWalk,
    PriorWeighting,
    block_log_ratio,
    draw_rows,
    weigh_column,
)
from plausible.learn.estimation.posterior import parameter_posterior
from plausible.learn.estimation.priors import K2, Dirichlet
from plausible.models import BayesianNetwork
from plausible.search.chains import ChainLengths
from refusals import refuses

PRIOR = {"a": Dirichlet([2.0, 1.0]), "b": Dirichlet(0.5), "c": Dirichlet([0.7, 1.0, 1.5])}
SHORT = ChainLengths(num_draws=20, num_chains=2, burn_in=0, thin=1)


def alphas():
    """The pseudo-counts of `PRIOR`."""
    shapes = [(2,), (2, 2), (2, 2, 3)]
    return [np.broadcast_to(a, s) + 0.0 for a, s in zip(([2.0, 1.0], 0.5, [0.7, 1.0, 1.5]), shapes, strict=True)]


def table_with_settings(rows=ROWS):
    """`b` was set from outside in the third row."""
    mask = np.zeros(len(rows), dtype=bool)
    mask[2] = True
    is_set = np.zeros(rows.shape, dtype=bool)
    is_set[2, 1] = True
    return Table.read(columns(rows), GRAPH.variables, interventions={"b": mask}), is_set


@pytest.fixture(scope="module")
def exact():
    """All completions of `ROWS`, with a cell set from outside."""
    return Enumerated(ROWS, SIZES, SCOPES, alphas(), table_with_settings()[1])


LENGTHS = {
    "blocks": ChainLengths(num_draws=150, num_chains=2, burn_in=20, thin=1),
    "rows": ChainLengths(num_draws=150, num_chains=2, burn_in=20, thin=1),
}


@pytest.mark.parametrize("method", [name for name in SAMPLERS if name != "parameters"])
def test_every_sampler_draws_from_the_posterior_over_completions(method, exact):
    """E[θ | D] and P(next row | D) equal sums over all completions, up to the Monte Carlo error.

    The random walk is tried below, on fewer entries: here a thousand of its draws would be worth ten.
    """
    lengths = LENGTHS.get(method, ChainLengths(num_draws=300, num_chains=2, burn_in=30, thin=1))
    draws = sample_parameters(GRAPH, table_with_settings()[0], PRIOR, method=method, lengths=lengths, seed=3)
    assert min(draws.effective_sample_size, draws.weights.size) > 30
    assert_means_of_draws(draws, exact, SCOPES)


def assert_means_of_draws(draws, exact, scopes):
    """Means and predictions are averages over the draws, and within their Monte Carlo errors those over completions."""
    names, size = list(draws.problem.tables.variables), min(draws.effective_sample_size, draws.weights.size)
    tables = [draws._table(draws.means, name) for name in names]
    joint = np.ones(draws.weights.shape + (1,) * len(names))
    for table, scope in zip(tables, scopes, strict=True):
        axes = np.argsort(scope)
        spread = [table.shape[2 + scope.index(v)] if v in scope else 1 for v in range(len(names))]
        joint = joint * table.transpose(0, 1, *(2 + axes)).reshape(*table.shape[:2], *spread)
    listed = np.array(list(np.ndindex(joint.shape[2:])))
    next_row = np.reshape([exact.predictive(row) for row in listed], joint.shape[2:])
    for drawn, wanted in zip([*tables, joint], [*exact.means(), next_row], strict=True):
        mean = np.tensordot(draws.weights, drawn, axes=2)
        error = np.sqrt(np.tensordot(draws.weights, (drawn - mean) ** 2, axes=2) / size)
        assert (np.abs(mean - wanted) < 5 * error + 1e-9).all()
    for name, table in zip(names, tables, strict=True):
        np.testing.assert_allclose(draws.mean(name), np.tensordot(draws.weights, table, axes=2))
    found = np.exp(draws.log_predictive(columns(listed, names), max_draws=draws.weights.size))
    predicted = np.tensordot(draws.weights, joint, axes=2)
    np.testing.assert_allclose(found, predicted.ravel())
    beliefs = draws.predictive("a", {names[-1]: 1}, max_draws=draws.weights.size).values
    given = predicted[..., 1].reshape(2, -1).sum(axis=1)
    np.testing.assert_allclose(beliefs, given / given.sum())


@pytest.mark.parametrize(("num_draws", "worth"), [(300, 25), pytest.param(1200, 100, marks=pytest.mark.slow)])
def test_a_random_walk_that_mixes_has_the_means_over_completions(num_draws, worth):
    """With few entries, the walk is worth a twelfth of its draws and more: its means are told from the prior's."""
    rows = np.array([[0, 0], [0, 0], [0, -1], [1, 1], [-1, 1], [1, -1], [0, 0], [-1, 0], [1, 0]])
    is_set = np.zeros(rows.shape, dtype=bool)
    is_set[8, 1] = True
    exact = Enumerated(rows, [2, 2], [(0,), (0, 1)], [np.full(2, 2.0), np.full((2, 2), 2.0)], is_set)
    table = Table.read(columns(rows, "ab"), interventions={"b": is_set[:, 1]})
    lengths = ChainLengths(num_draws=num_draws, num_chains=2, burn_in=100, thin=1)
    draws = sample_parameters("a -> b", table, Dirichlet(2.0), method=ParameterWalk(tuning=100), lengths=lengths)
    assert draws.effective_sample_size > worth
    error = draws.standard_deviation("b") / np.sqrt(draws.effective_sample_size)
    assert abs(exact.means()[1][0, 0] - 0.5) > 4 * error.max()
    assert_means_of_draws(draws, exact, [(0,), (0, 1)])


@pytest.mark.parametrize("method", ["collapsed", "cells", "rows", "blocks"])
def test_chains_visit_completions_as_often_as_these_are_probable(method, exact):
    """The share of each cell's states along a chain is P(cell | D)."""
    problem = CompletionProblem.of(GRAPH, table_with_settings()[0], PRIOR)
    sampler = SAMPLERS[method]
    state, num = sampler.init(problem, 1), {"collapsed": 1000, "cells": 600}.get(method, 300)
    shares = np.zeros((len(problem.cells), 3))
    for _ in range(num):
        state = sampler.step(problem, state)
        shares[np.arange(len(shares)), state.codes[tuple(problem.cells.T)]] += 1 / num
    where = {tuple(row): m for m, row in enumerate(ROWS.tolist())}
    for (m, v), share in zip(problem.cells, shares, strict=True):
        row = where[tuple(problem.codes[m].tolist())]
        wanted = [sum(c for c, f in zip(exact.chances, exact.listed, strict=True) if f[row, v] == x) for x in range(3)]
        error = np.sqrt(np.multiply(wanted, np.subtract(1, wanted)) * 2 / num)  # as if every second step counted
        assert (np.abs(share - wanted) < 3.5 * error + 1e-9).all()


def test_a_collapsed_conditional_is_a_ratio_of_marginal_likelihoods():
    """P(x_i[m] = x | all other cells) = P(D with x) / Σ P(D with x'), to rounding: the draw turns where it says."""
    from plausible.kernels.completion import gibbs_cells

    table, is_set = table_with_settings()
    problem = CompletionProblem.of(GRAPH, table, PRIOR)
    rng = np.random.default_rng(0)
    for m, v in problem.cells:
        codes = np.where(problem.codes < 0, rng.integers(2, size=problem.codes.shape), problem.codes).astype(np.int32)
        logs = []
        for x in range(SIZES[v]):
            codes[m, v] = x
            logs.append(log_marginal(codes, SCOPES, alphas(), problem.is_set))
        chances = np.exp(np.array(logs) - np.logaddexp.reduce(logs))
        for x, edge in enumerate(np.cumsum(chances)[:-1]):
            for level, wanted in ((edge - 1e-9, x), (edge + 1e-9, x + 1)):
                drawn = codes.copy()
                entries = problem.pseudo_counts + problem.counts(drawn)
                totals = problem.tables.row_sums(entries)
                cell, levels = np.array([[m, v]], order="F"), np.array([level])
                gibbs_cells(problem.tables.arrays, entries, totals, 1.0, drawn, problem.is_set, cell, levels)
                assert drawn[m, v] == wanted
                np.testing.assert_allclose(entries, problem.pseudo_counts + problem.counts(drawn))
                np.testing.assert_allclose(totals, problem.tables.row_sums(entries))
    assert problem.is_set.sum() == is_set.sum() == 1


@pytest.mark.parametrize("seed", range(5))
def test_completions_of_random_networks_agree_with_the_rows_and_have_the_density_told(seed):
    """Observed cells stay; the log posterior is Σ log of predictions, row after row; one-state variables occur."""
    rng = np.random.default_rng(seed)
    net = random_network(rng, num_variables=5)
    table, _, _ = incomplete_table(net, rng, 9, missing=0.4, weighted=False)
    problem, names = CompletionProblem.of(net, table, K2()), list(net.variables)
    scopes = [tuple(names.index(v.name) for v in cpd.scope) for cpd in net.cpds.values()]
    ones = [np.ones([v.num_states for v in cpd.scope]) for cpd in net.cpds.values()]
    for sampler in (CollapsedCellGibbs(), BlockMetropolis()):
        state = sampler.init(problem, seed)
        for _ in range(4):
            state = sampler.step(problem, state)
            assert (state.codes[problem.codes >= 0] == problem.codes[problem.codes >= 0]).all()
            assert state.log_posterior == pytest.approx(log_marginal(state.codes, scopes, ones), abs=1e-9)


def test_whole_rows_are_drawn_from_their_joint_posterior():
    """Completions of a row come as often as P(h | o, θ) says, all missing cells together."""
    rng = np.random.default_rng(5)
    net = BayesianNetwork(
        [
            TableCPD(c.variable, rng.dirichlet(np.ones(c.variable.num_states), c.values.shape[:-1]), c.parents)
            for c in GRAPH.cpds.values()
        ]
    )
    row = np.array([[-1, -1, 1]])
    problem = CompletionProblem.of(GRAPH, columns(np.repeat(row, 6000, axis=0)), K2())
    flat = problem.tables.flat({name: cpd.values for name, cpd in net.cpds.items()})
    drawn = draw_rows(problem, flat, rng)
    _, wanted = posteriors(net, row)[0]
    for place, chance in wanted.items():
        share = (drawn == place).all(axis=1).mean()
        assert abs(share - chance) < 5 * np.sqrt(chance * (1 - chance) / 6000) + 1e-9


@pytest.mark.parametrize("column", [0, 1, 2])
def test_the_block_proposal_keeps_detailed_balance_between_all_pairs_of_completions(column):
    """P(D) T(D → D') A(D → D') = P(D') T(D' → D) A(D' → D), T from an oracle that counts by loops."""
    rows = ROWS.copy()
    rows[rows < 0] = 0
    rows[[0, 2, 4], column] = -1
    problem = CompletionProblem.of(GRAPH, columns(rows), PRIOR)
    missing = np.flatnonzero(problem.codes[:, column] < 0)
    every = Enumerated(problem.codes, SIZES, SCOPES, alphas())

    def log_draws(before):
        tables, logs = every.tables(before), []
        for m in missing:
            weights = []
            for x in range(SIZES[column]):
                row = before[m].copy()
                row[column] = x
                weights.append(np.prod([t[tuple(row[list(s)])] for t, s in zip(tables, SCOPES, strict=True)]))
            logs.append(np.log(np.array(weights) / sum(weights)))
        return logs

    def transition(logs, after):
        return sum(log[x] for log, x in zip(logs, after[missing, column], strict=True))

    assert len(every.listed) == SIZES[column] ** 3
    weighed = [weigh_column(problem, codes.astype(np.int32), column, missing) for codes in every.listed]
    each = zip(every.chances, every.listed, weighed, map(log_draws, every.listed), strict=True)
    for (p, before, *one), (q, after, *other) in product(each, repeat=2):
        ratio = block_log_ratio(one[0], other[0], before[missing, column], after[missing, column])
        forth, home = transition(one[1], after), transition(other[1], before)
        assert ratio == pytest.approx(np.log(q / p) + home - forth, abs=1e-9)
        there = np.log(p) + forth + min(0.0, ratio)
        back = np.log(q) + home + min(0.0, -ratio)
        assert there == pytest.approx(back, abs=1e-9)
    np.testing.assert_allclose(np.exp(weighed[0].log_chances).sum(axis=1), 1.0)


def test_weights_of_the_prior_estimate_the_marginal_likelihood(exact):
    """log of the mean of P(D | θ) over the prior is log P(D); the effective size falls as rows are added."""
    lengths = ChainLengths(num_draws=700, num_chains=1, burn_in=0, thin=1)
    draws = sample_parameters(GRAPH, table_with_settings()[0], PRIOR, method=PriorWeighting(), lengths=lengths)
    error = 1 / np.sqrt(draws.effective_sample_size)
    assert draws.log_marginal_likelihood == pytest.approx(exact.log_evidence, abs=4 * error)
    many = sample_parameters(GRAPH, columns(np.tile(ROWS, (20, 1))), PRIOR, method="prior", lengths=SHORT)
    assert many.effective_sample_size < draws.effective_sample_size / 10
    assert "prior is too far" in many.advice
    with pytest.raises(NotSupported, match="PriorWeighting"):
        _ = sample_parameters(GRAPH, columns(ROWS), PRIOR, lengths=SHORT).log_marginal_likelihood


@pytest.mark.parametrize("method", ["collapsed", "rows", "cells", "blocks"])
def test_complete_rows_give_independent_draws_of_the_dirichlet_posterior(method):
    """With nothing missing the means are those of α + N at each draw, and error bars those of the Dirichlets."""
    rows = np.where(ROWS < 0, 0, ROWS)
    lengths = ChainLengths(num_draws=250, num_chains=2, burn_in=0, thin=1)
    draws = sample_parameters(GRAPH, columns(rows), PRIOR, method=method, lengths=lengths)
    known = parameter_posterior(GRAPH, Table.read(columns(rows), GRAPH.variables), PRIOR)
    for name in "abc":
        np.testing.assert_allclose(draws.mean(name), known[name].mean)
        np.testing.assert_allclose(draws.standard_deviation(name), known[name].standard_deviation, rtol=0.15)
        np.testing.assert_allclose(draws.interval(name, 0.8).low, known[name].interval(0.8).low, atol=0.06)
        np.testing.assert_allclose(draws.interval(name, 0.8).high, known[name].interval(0.8).high, atol=0.06)
    slopes = {name: np.arange(draws.mean(name).size, dtype=float).reshape(draws.mean(name).shape) for name in "abc"}
    assert draws.variance_along(slopes) == pytest.approx(known.variance_along(slopes), rel=0.2)
    # by the delta method: Σ_b θ(b | a) θ(c | b, a), each factor in turn as it was drawn and the other at its mean
    b, c = draws.draws("b")[:, :, 1], draws.draws("c")[:, :, :, 1]
    told = draws.network().query("c", evidence={"a": 1}, uncertainty=draws).info.standard_deviations
    np.testing.assert_allclose(told, (b @ draws.mean("c")[:, 1] + draws.mean("b")[1] @ c).std(axis=(0, 1)), rtol=1e-6)


@pytest.mark.parametrize("method", SAMPLERS)
def test_no_rows_leave_the_prior(method):
    """Without data E[θ] = α / Σ α."""
    burn_in = SAMPLERS[method].tuning
    lengths = ChainLengths(num_draws=200, num_chains=2, burn_in=burn_in, thin=1)
    nothing = Table.read({"a": [0]}, [GRAPH.variables["a"]]).take(np.zeros(0, dtype=np.intp))
    draws = sample_parameters(DAG([], nodes=["a"]), nothing, Dirichlet([3.0, 1.0]), method=method, lengths=lengths)
    drawn = draws._table(draws.means, "a").reshape(-1, 2)
    error = drawn.std(axis=0) / np.sqrt(min(draws.effective_sample_size, len(drawn)))
    assert (np.abs(draws.mean("a") - [0.75, 0.25]) < 4 * error + 1e-12).all()
    np.testing.assert_allclose(draws.standard_deviation("a"), np.sqrt(3 / 80), rtol=0.25)  # of a Beta(3, 1)


@pytest.mark.parametrize("method", SAMPLERS)
def test_a_run_in_two_parts_is_the_run_in_one(method):
    """States can be pickled and go on as if nothing had happened; the same seed gives the same draws."""
    lengths = ChainLengths(num_draws=8, num_chains=2, burn_in=0, thin=1)
    half = ChainLengths(num_draws=4, num_chains=2, burn_in=0, thin=1)
    sampler = ParameterWalk(tuning=0) if method == "parameters" else method
    whole = sample_parameters(GRAPH, columns(ROWS), PRIOR, method=sampler, lengths=lengths, seed=7)
    first = sample_parameters(GRAPH, columns(ROWS), PRIOR, method=sampler, lengths=half, seed=7)
    again = pickle.loads(pickle.dumps(first.states))
    second = sample_parameters(GRAPH, columns(ROWS), PRIOR, method=sampler, lengths=half, start=again)
    np.testing.assert_array_equal(whole.tables[:, 4:], second.tables)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(whole.problem)).codes, whole.problem.codes)


def test_progress_and_time_end_a_run():
    """A true answer stops after that step; so does a limit of no time."""
    stopped = sample_parameters(GRAPH, columns(ROWS), PRIOR, lengths=SHORT, progress=lambda told: told.num_steps == 5)
    assert stopped.log_posteriors.shape == (2, 5)
    assert stopped.run.shortfall == "stopped by progress= after 5 of 20 steps"
    assert sample_parameters(GRAPH, columns(ROWS), PRIOR, lengths=SHORT, time_limit=0).stopped_by == "time limit"


def test_renamed_states_of_a_hidden_variable_are_brought_back_into_order():
    """Draws whose hidden states were permuted at random are, once aligned, those that they were before."""
    rng = np.random.default_rng(0)
    rows = {f"x{i}": rng.integers(2, size=12).tolist() for i in range(3)}
    draws = sample_parameters(
        "H -> x0; H -> x1; x0 -> x2; H -> x2", rows, hidden={"H": 3}, lengths=SHORT, method=CollapsedCellGibbs()
    )
    sharp = np.concatenate(
        [
            np.array(t).ravel()
            for t in (
                [0.5, 0.3, 0.2],
                [[0.9, 0.1], [0.5, 0.5], [0.1, 0.9]],
                [[0.8, 0.2], [0.2, 0.8], [0.5, 0.5]],
                [[[0.9, 0.1], [0.6, 0.4], [0.3, 0.7]], [[0.1, 0.9], [0.5, 0.5], [0.8, 0.2]]],
            )
        ]
    )
    layout = draws.problem.tables
    assert list(layout.parents) == ["H", "x0", "x1", "x2"]
    assert layout.parents["x2"] == ("x0", "H")
    mixed = np.empty((2, 20, len(sharp)))
    for place in np.ndindex(2, 20):
        order, named = rng.permutation(3), layout.named(sharp)
        named = {
            "H": named["H"][order],
            "x0": named["x0"][order],
            "x1": named["x1"][order],
            "x2": named["x2"][:, order],
        }
        mixed[place] = layout.flat(named)
    object.__setattr__(draws, "tables", mixed)
    object.__setattr__(draws, "means", mixed)
    aligned = draws.aligned()
    assert np.ptp(mixed, axis=(0, 1)).max() > 0.5
    assert np.ptp(aligned.tables, axis=(0, 1)).max() == np.ptp(aligned.means, axis=(0, 1)).max() == 0
    np.testing.assert_allclose(aligned.log_predictive(rows), draws.log_predictive(rows))


def test_diagnostics_leave_out_tables_whose_labels_switch():
    """R-hat is told of families without hidden variables, and of the log posterior."""
    rows = {"x": [0, 1, 0, 1, 1], "y": [0, None, 1, 1, 0]}
    draws = sample_parameters("H -> x; x -> y", rows, hidden={"H": 2}, lengths=SHORT)
    assert list(draws.r_hats) == ["y"]
    assert draws.diagnostics.r_hat > 0
    assert "R-hat" in draws.advice or "Draw more" in draws.advice
    refused = sample_parameters("H -> x; x -> y", rows, hidden={"H": 2}, lengths=SHORT, method=BlockMetropolis(1))
    assert set(refused.acceptance) == {"H", "y"}
    assert all(0 < share <= 1 for share in refused.acceptance.values())


def test_what_cannot_be_drawn_is_refused_with_advice():
    """Fractions of rows, priors with zeros, unknown names, draws while a walk is tuned."""
    light = Table.read(columns(ROWS), GRAPH.variables, weights=np.full(len(ROWS), 0.5))
    refuses(InvalidArgument, "weigh a fraction", sample_parameters, GRAPH, light, PRIOR, lengths=SHORT)
    walk = sample_parameters(GRAPH, light, PRIOR, lengths=SHORT, method=ParameterWalk(tuning=0))
    assert walk.tables.shape == (2, 20, 18)
    with pytest.raises(InvalidArgument, match="pseudo-counts that are zero"):
        sample_parameters(GRAPH, columns(ROWS), {"a": Dirichlet([1.0, 0.0])})
    refuses(InvalidArgument, "Did you mean 'cells'", sample_parameters, GRAPH, columns(ROWS), method="cell")
    refuses(InvalidArgument, "burn_in=0", sample_parameters, GRAPH, columns(ROWS), method="parameters", lengths=SHORT)
    draws = sample_parameters(GRAPH, columns(ROWS), lengths=SHORT)
    with pytest.raises(UnknownVariable):
        draws.mean("d")
    refuses(InvalidArgument, "between 0 and 1", draws.interval, "a", 2.0)
    refuses(InvalidArgument, "other rows", sample_parameters, GRAPH, columns(ROWS[:3]), start=draws.states)


def test_new_rows_are_not_charged_for_what_was_set_in_them():
    """log P(a, c | do(b)) is log P(a) + log P(c | a, b) at the one draw that is averaged; seen b is charged."""
    draws = sample_parameters(GRAPH, columns(ROWS), PRIOR, lengths=SHORT)
    rows = {"a": [1, 1], "b": [0, 0], "c": [2, 2]}
    table = Table.read(rows, GRAPH.variables, interventions={"b": [True, False]})
    found = draws.log_predictive(table, max_draws=1)
    a, b, c = (draws._table(draws._chosen(1)[0][1], name) for name in "abc")
    assert found[0] == pytest.approx(np.log(a[1] * c[0, 1, 2]), abs=1e-12)
    assert found[1] == pytest.approx(np.log(a[1] * b[1, 0] * c[0, 1, 2]), abs=1e-12)


@pytest.mark.parametrize(
    ("method", "other"), [("collapsed", "parameters"), ("parameters", "collapsed"), ("rows", "prior")]
)
def test_states_of_another_sampler_are_refused_by_name(method, other):
    lengths = ChainLengths(num_draws=4, num_chains=2, burn_in=0, thin=1)
    samplers = {"parameters": ParameterWalk(tuning=0)}
    states = sample_parameters(GRAPH, columns(ROWS), method=samplers.get(other, other), lengths=lengths).states
    with pytest.raises(InvalidArgument, match="states of another sampler"):
        sample_parameters(GRAPH, columns(ROWS), method=samplers.get(method, method), start=states, lengths=lengths)


def test_a_run_that_was_stopped_in_its_burn_in_finishes_it():
    """The draws are those of a run that was never stopped, and come from steps after the tuning."""
    lengths = ChainLengths(num_draws=5, num_chains=2, burn_in=20, thin=1)
    walk = ParameterWalk(tuning=20)
    whole = sample_parameters(GRAPH, columns(ROWS), PRIOR, method=walk, lengths=lengths, seed=3)
    stopped = sample_parameters(
        GRAPH, columns(ROWS), PRIOR, method=walk, lengths=lengths, seed=3, progress=lambda told: told.num_steps == 7
    )
    again = sample_parameters(GRAPH, columns(ROWS), PRIOR, method=walk, lengths=lengths, start=stopped.states)
    np.testing.assert_array_equal(again.tables, whole.tables)
    with pytest.raises(InvalidArgument, match="tuned in its first 20 steps"):
        sample_parameters(GRAPH, columns(ROWS), PRIOR, method=walk, lengths=SHORT, start=stopped.states)


def test_few_draws_are_told_and_not_an_error():
    short = sample_parameters(GRAPH, columns(ROWS), PRIOR, lengths=SHORT, progress=lambda told: told.num_steps == 2)
    assert "Chains of 2 draws" in short.advice
    assert np.isnan(short.effective_sample_size)


def test_a_walk_that_is_refused_is_told_of_its_own_options():
    wild = ParameterWalk(step_size=500.0, tuning=0)
    assert "ParameterWalk(step_size=" in sample_parameters(GRAPH, columns(ROWS), method=wild, lengths=SHORT).advice


def test_weights_that_all_underflow_are_refused():
    """With tiny pseudo-counts no draw of the prior leaves both states of a coin a chance."""
    with pytest.raises(InvalidArgument, match="no chance, up to underflow"):
        sample_parameters("a -> b", {"a": [0, 1], "b": [0, 1]}, Dirichlet(1e-6), method="prior", lengths=SHORT)
