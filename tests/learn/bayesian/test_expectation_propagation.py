"""Expectation propagation against enumeration of completions, and against its own theorems."""

import pickle
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from scipy.special import gammaln

from bayesian_oracle import GRAPH, ROWS, SCOPES, SIZES, Enumerated, columns
from plausible.cpds import TableCPD
from plausible.data.table import Table
from plausible.errors import InvalidArgument, TooLarge, UnknownVariable
from plausible.graphs import DAG
from plausible.learn.bayesian.completion_problem import CompletionProblem
from plausible.learn.bayesian.expectation_propagation import (
    CaseSites,
    expectation_propagation,
    expectation_propagation_init,
    expectation_propagation_step,
)
from plausible.learn.bayesian.variational import variational_bayes
from plausible.learn.estimation.priors import K2, Dirichlet
from plausible.models import BayesianNetwork
from plausible.variables import Variable
from refusals import refuses


def alphas(value):
    """The same pseudo-count everywhere."""
    return [np.full([SIZES[v] for v in scope], value) for scope in SCOPES]


def random_rows(seed, num=7, share=0.25):
    """Rows with at most seven missing cells."""
    rng = np.random.default_rng(seed)
    rows = np.column_stack([rng.integers(0, size, num) for size in SIZES])
    rows[rng.permutation(rows.size).reshape(rows.shape) < min(7, share * rows.size)] = -1
    return rows


def exact_moments(exact):
    """E[θ | D] and Var[θ | D] of each family, as mixtures over completions."""
    firsts = [np.zeros(alpha.shape) for alpha in exact.alphas]
    seconds = [np.zeros(alpha.shape) for alpha in exact.alphas]
    for chance, filled in zip(exact.chances, exact.listed, strict=True):
        for f, scope in enumerate(exact.scopes):
            table = exact.alphas[f].copy()
            for m, row in enumerate(filled):
                if exact.is_set is None or not exact.is_set[m][scope[-1]]:
                    table[tuple(row[v] for v in scope)] += 1
            strength = table.sum(axis=-1, keepdims=True)
            firsts[f] += chance * table / strength
            seconds[f] += chance * table * (table + 1) / (strength * (strength + 1))
    return firsts, [second - first**2 for first, second in zip(firsts, seconds, strict=True)]


def distances(fit, moments):
    """The mean absolute errors of means and of variances."""
    means, variances = moments
    return np.array(
        [
            np.mean([np.abs(fit.posterior[n].mean - m).mean() for n, m in zip("abc", means, strict=True)]),
            np.mean([np.abs(fit.posterior[n].variance - v).mean() for n, v in zip("abc", variances, strict=True)]),
        ]
    )


def test_complete_rows_have_their_conjugate_posterior_and_evidence_at_once():
    """Families that are observed need no site: Q = Dirichlet(α + N) for any weights, without a step."""
    rows = np.where(ROWS < 0, 1, ROWS)
    fit = expectation_propagation(GRAPH, columns(rows), K2())
    exact = Enumerated(rows, SIZES, SCOPES, alphas(1.0))
    assert fit.converged
    assert len(fit.trace) == 1
    assert fit.log_evidence == pytest.approx(exact.log_evidence, abs=1e-9)
    means, variances = exact_moments(exact)
    for name, mean, variance in zip("abc", means, variances, strict=True):
        np.testing.assert_allclose(fit.posterior[name].mean, mean)
        np.testing.assert_allclose(fit.posterior[name].variance, variance)
        np.testing.assert_allclose(fit.network.cpd(name).values, mean)
    weighed = expectation_propagation(DAG("a"), Table.read({"a": [0, 1]}, weights=[0.5, 2.25]))
    assert weighed.posterior["a"].parameters.tolist() == [1.5, 3.25]
    wanted = gammaln(1.5) + gammaln(3.25) - gammaln(4.75)
    assert weighed.log_evidence == pytest.approx(wanted, abs=1e-12)


@pytest.mark.parametrize("value", [0.5, 1.0, 3.0])
def test_means_variances_and_evidence_are_near_enumeration_and_nearer_than_variational_bayes(value):
    """Over random rows: the errors are below a fifth of those of variational Bayes on average, log P(D) within 0.2."""
    ours, theirs = np.zeros(2), np.zeros(2)
    for seed in range(6):
        rows = random_rows(seed)
        exact = Enumerated(rows, SIZES, SCOPES, alphas(value))
        moments = exact_moments(exact)
        fit = expectation_propagation(GRAPH, columns(rows), Dirichlet(value))
        bound = variational_bayes(GRAPH, columns(rows), Dirichlet(value), tolerance=1e-10)
        assert fit.converged
        assert abs(fit.log_evidence - exact.log_evidence) < 0.2
        assert abs(fit.log_evidence - exact.log_evidence) < abs(bound.bound - exact.log_evidence)
        ours += distances(fit, moments)
        theirs += distances(bound, moments)
    assert (ours < theirs / 5).all()


@pytest.mark.parametrize("seed", range(4))
def test_one_incomplete_row_among_complete_ones_gets_exact_means_second_moments_and_evidence(seed):
    """A single site is projected from the exact posterior: means and sums of variances match, and Z is P(D)."""
    rng = np.random.default_rng(seed)
    rows = np.column_stack([rng.integers(0, size, 6) for size in SIZES])
    rows[0] = [[-1, 1, 2], [-1, -1, 0], [0, -1, 1], [-1, 0, -1]][seed]
    is_set = np.zeros(rows.shape, dtype=bool)
    is_set[3, 1] = True
    table = Table.read(columns(rows), GRAPH.variables, interventions={"b": is_set[:, 1]})
    fit = expectation_propagation(GRAPH, table, Dirichlet(0.7), damping=0.0)
    exact = Enumerated(rows, SIZES, SCOPES, alphas(0.7), is_set)
    assert fit.converged
    assert fit.log_evidence == pytest.approx(exact.log_evidence, abs=1e-9)
    for name, mean, variance in zip("abc", *exact_moments(exact), strict=True):
        np.testing.assert_allclose(fit.posterior[name].mean, mean, atol=1e-9)
        np.testing.assert_allclose(fit.posterior[name].variance.sum(axis=-1), variance.sum(axis=-1), atol=1e-9)


def test_the_evidence_of_one_incomplete_row_is_the_integral():
    """∫ (1 - t) (1 - x) · t y · [(1 - t) x + t y] over the unit cube, by Gauss's rule, exact for polynomials."""
    fit = expectation_propagation("a -> b", {"a": [0, 1, None], "b": [0, 1, 1]})
    nodes, weights = np.polynomial.legendre.leggauss(5)
    t, x, y = np.meshgrid(*[(nodes + 1) / 2] * 3, indexing="ij")
    values = (1 - t) * (1 - x) * t * y * ((1 - t) * x + t * y)
    assert fit.log_evidence == pytest.approx(np.log(np.einsum("txy,t,x,y", values, *[weights / 2] * 3)), abs=1e-12)


def test_rows_of_which_nothing_observed_depends_on_the_missing_cells_have_no_site():
    """Empty rows, and missing leaves, leave the posterior of the others as it is, even where a variable is hidden."""
    rows = np.array([[0, 0, 1], [1, 1, 2]])
    alone = expectation_propagation(GRAPH, columns(rows))
    more = np.vstack([rows, np.full((3, 3), -1), [[1, 0, -1]]])
    fit = expectation_propagation(GRAPH, columns(more))
    assert fit.cases.num_sites == 0
    np.testing.assert_array_equal(fit.posterior["c"].parameters, alone.posterior["c"].parameters)
    assert fit.posterior["a"].parameters.tolist() == [2.0, 3.0]
    was_set = Table.read({"a": [0, 1, None], "b": [0, 1, 1]}, interventions={"b": [False, False, True]})
    assert expectation_propagation("a -> b", was_set).cases.num_sites == 0
    unseen = expectation_propagation("a -> H", {"a": [0, 1, 1]}, hidden={"H": 3})
    np.testing.assert_array_equal(unseen.posterior["H"].parameters, np.ones((2, 3)))
    assert unseen.log_evidence == pytest.approx(np.log(2 / 24), abs=1e-12)


def test_degenerate_problems_have_answers():
    """No rows, no variables, and variables with one state, which count their rows."""
    empty = expectation_propagation(GRAPH, Table.read(columns(ROWS[:0]), GRAPH.variables))
    assert empty.converged
    assert empty.log_evidence == 0.0
    np.testing.assert_array_equal(empty.posterior["c"].parameters, np.ones((2, 2, 3)))
    one = BayesianNetwork(TableCPD("u", [1.0]), TableCPD("a", [[0.5, 0.5]], ["u"]), TableCPD("s", [[1.0]] * 2, ["a"]))
    data = {"u": [0, None, 0, None], "a": [0, 1, None, 1], "s": [0, 0, 0, None]}
    fit = expectation_propagation(one, data)
    assert fit.converged
    assert fit.posterior["u"].parameters.tolist() == [5.0]
    np.testing.assert_allclose(fit.posterior["a"].mean, [[0.4, 0.6]])
    assert fit.log_evidence == pytest.approx(np.log(1 / 12), abs=1e-9)
    assert expectation_propagation(DAG([]), Table.read({}, [])).log_evidence == 0.0


def test_weights_count_as_repeated_rows_and_the_order_of_rows_does_not_matter():
    repeats = np.array([1, 3, 2, 1, 2, 4])
    repeated = np.repeat(ROWS, repeats, axis=0)
    wanted = expectation_propagation(GRAPH, columns(repeated))
    weighed = expectation_propagation(GRAPH, Table.read(columns(ROWS), GRAPH.variables, weights=repeats))
    shuffled = np.random.default_rng(0).permutation(repeated)
    for fit in (weighed, expectation_propagation(GRAPH, columns(shuffled))):
        np.testing.assert_array_equal(fit.state.parameters, wanted.state.parameters)
        assert fit.trace == wanted.trace
    light = expectation_propagation(GRAPH, Table.read(columns(ROWS), GRAPH.variables, weights=repeats * 1e-6))
    np.testing.assert_allclose(light.state.parameters, light.problem.pseudo_counts, atol=1e-4)
    assert light.log_evidence == pytest.approx(0.0, abs=1e-4)


def test_repeated_rows_are_sites_of_their_own_that_agree():
    """At the fixed point, s of a site taken out once and put in again by moments is s: checked by plain loops."""
    repeated = np.repeat(ROWS[3:5], [3, 2], axis=0)
    fit = expectation_propagation(GRAPH, columns(repeated), tolerance=1e-12)
    cases = fit.cases
    for site in range(cases.num_sites):
        mine = cases.site_of_slot == site
        left = fit.state.parameters.copy()
        left[cases.entries[mine]] -= fit.state.sites[mine]
        tables = [a / a.sum(axis=-1, keepdims=True) for a in fit.problem.tables.named(left).values()]
        joint = np.einsum("a,ab,bac->abc", *tables)
        row = repeated[-1 if cases.weights[site] == 2 else 0]
        place = tuple(slice(None) if code < 0 else slice(code, code + 1) for code in row)
        kept = np.zeros(joint.shape)
        kept[place] = joint[place] / joint[place].sum()
        for f, (scope, axes) in enumerate(zip(SCOPES, ["a", "ab", "bac"], strict=True)):
            chances = np.einsum(f"abc->{axes}", kept)
            before = list(fit.problem.tables.named(left).values())[f]
            after = list(fit.problem.tables.named(fit.state.parameters).values())[f]
            for u in np.ndindex(*before.shape[:-1]):
                mean, square = _mixture_moments(before[u], chances[u])
                strength = after[u].sum()
                np.testing.assert_allclose(after[u] / strength, mean, atol=1e-9, err_msg=str(scope))
                found = (after[u] * (after[u] + 1)).sum() / (strength * (strength + 1))
                assert found == pytest.approx(square.sum(), abs=1e-9)


def _mixture_moments(cavity, chances):
    """E[θ] and E[θ²] under Σ_x p_x Dir(c + e_x) + (1 - Σ p) Dir(c)."""
    parts = [*((p, cavity + np.eye(len(cavity))[x]) for x, p in enumerate(chances)), (1 - chances.sum(), cavity)]
    mean = sum(p * a / a.sum() for p, a in parts)
    return mean, sum(p * a * (a + 1) / (a.sum() * (a.sum() + 1)) for p, a in parts)


def test_many_rows_lose_no_digits():
    """With 10¹³ complete rows one more site is that of fractions: A = (Σ m - Σ q) / (Σ q - Σ m²), s = A m - c."""
    counts = np.arange(1, 5).reshape(2, 2) * 10**12
    pairs = [*np.ndindex(2, 2), (-1, 1)]
    weights = [*counts.ravel().tolist(), 1]
    table = Table.read(columns(np.array(pairs), "ab"), weights=weights)
    fit = expectation_propagation("a -> b", table, damping=0.0, tolerance=0.0, max_steps=3)
    before = [[Fraction(int(n) + 1) for n in row] for row in (counts.sum(axis=1), *counts)]
    joint = [before[0][a] * before[1 + a][1] / sum(before[1 + a]) for a in range(2)]
    chances = [j / sum(joint) for j in joint]
    wanted = [_added(before[0], chances), *(_added(before[1 + a], [Fraction(0), chances[a]]) for a in range(2))]
    np.testing.assert_allclose(fit.state.sites, np.ravel(wanted), rtol=1e-9)


def _added(cavity, chances):
    """What moment matching adds to a row, in exact arithmetic."""
    parts = [(p, [c + (x == y) for y, c in enumerate(cavity)]) for x, p in enumerate(chances)]
    parts.append((1 - sum(chances), cavity))
    means = [sum(p * a[x] / sum(a) for p, a in parts) for x in range(len(cavity))]
    square = sum(p * a[x] * (a[x] + 1) / (sum(a) * (sum(a) + 1)) for p, a in parts for x in range(len(cavity)))
    strength = (1 - square) / (square - sum(m * m for m in means))
    return [float(strength * m - c) for m, c in zip(means, cavity, strict=True)]


def test_a_hidden_variable_is_fitted_and_states_of_a_run_go_on():
    """Two clusters are found; a pickled state goes on as the run itself; beliefs are those under the means."""
    rng = np.random.default_rng(2)
    cluster = rng.random(80) < 0.4
    rows = (rng.random((80, 4)) < np.where(cluster, 0.9, 0.1)[:, None]).astype(int)
    rows[rng.random(rows.shape) < 0.1] = -1
    graph, data = "H -> w; H -> x; H -> y; H -> z", columns(rows, "wxyz")
    fit = expectation_propagation(graph, data, hidden={"H": 2})
    assert fit.converged
    found = fit.probabilities("H")
    agree = (found.argmax(axis=1) == cluster).mean()
    assert max(agree, 1 - agree) > 0.9
    assert fit.log_evidence > variational_bayes(graph, data, hidden={"H": 2}, restarts=3).bound
    cases = CaseSites.of(CompletionProblem.of(graph, data, hidden={"H": 2}))
    state = expectation_propagation_init(cases)
    for _ in range(3):
        state = pickle.loads(pickle.dumps(expectation_propagation_step(cases, state, 0.2)))
    again = expectation_propagation(graph, data, hidden={"H": 2}, start=state)
    assert again.trace == fit.trace[3:]
    named = {name: table / table.sum(axis=-1, keepdims=True) for name, table in _named(fit).items()}
    for row, chances in zip(rows, found, strict=True):
        joint = named["H"].copy()
        for name, x in zip("wxyz", row, strict=True):
            joint = joint * (named[name][:, x] if x >= 0 else 1.0)
        np.testing.assert_allclose(chances, joint / joint.sum(), atol=1e-12)
    with pytest.raises(UnknownVariable):
        fit.probabilities("d")


def _named(fit):
    return fit.problem.tables.named(fit.state.parameters)


def test_runs_end_by_progress_time_and_steps_and_wrong_questions_are_refused():
    data = columns(ROWS)
    assert expectation_propagation(GRAPH, data, progress=lambda state: state.residual < 1e9).stopped_by == "interrupted"
    assert expectation_propagation(GRAPH, data, time_limit=0).stopped_by == "time limit"
    short = expectation_propagation(GRAPH, data, max_steps=1)
    assert short.stopped_by == "step limit"
    assert expectation_propagation(GRAPH, data, start=short.state).converged
    refuses(InvalidArgument, "positive", expectation_propagation, GRAPH, data, Dirichlet(0.0))
    refuses(InvalidArgument, "damping", expectation_propagation, GRAPH, data, damping=1.0)
    refuses(InvalidArgument, "other data", expectation_propagation, GRAPH, columns(ROWS[:2]), start=short.state)


def test_a_site_without_a_proper_cavity_stays_as_it_is_and_is_told():
    """A state in which one site is more than all of Q leaves that site, and gives no evidence."""
    cases = CaseSites.of(CompletionProblem.of(GRAPH, columns(ROWS)))
    state = expectation_propagation_init(cases)
    sites = state.sites.copy()
    slot = int(np.flatnonzero(cases.entries == cases.entries[0])[0])
    other = int(np.flatnonzero(cases.entries == cases.entries[0])[-1])
    assert slot != other
    sites[slot], sites[other] = 9.0, -8.5
    moved = type(state)(sites, sites, state.parameters, 0, 1.0, (0.0,))
    after = expectation_propagation_step(cases, moved)
    assert after.num_skipped >= 1
    assert np.isnan(after.log_evidence)
    skipped = cases.site_of_slot == cases.site_of_slot[slot]
    np.testing.assert_array_equal(after.targets[skipped], sites[skipped])


def test_small_pseudo_counts_and_a_hidden_variable_end_with_improper_cavities():
    """The run does not claim to have converged, gives no evidence, and its Q is proper all the same."""
    data = {"a": [0, 1, 0, 1, 1], "b": [0, 1, 1, 0, 1], "c": [1, 1, 0, 0, 0]}
    fit = expectation_propagation("H -> a; H -> b; H -> c", data, Dirichlet(0.05), hidden={"H": 2})
    assert fit.stopped_by == "improper cavities"
    assert not fit.converged
    assert fit.num_skipped > 0
    assert np.isnan(fit.log_evidence)
    assert (fit.state.parameters > 0).all()


def test_missing_cells_that_hang_together_in_too_many_ways_are_refused_and_others_are_not():
    """A hidden chain between seen ends has 2³⁰ completions; thirty separate gaps have sixty."""
    names = [f"x{i}" for i in range(32)]
    chain = DAG(list(pairwise(names)))
    hidden = dict.fromkeys(names[1:-1], 2)
    with pytest.raises(TooLarge, match="variational_bayes or sample_parameters"):
        expectation_propagation(chain, {names[0]: [0, 1], names[-1]: [1, 0]}, hidden=hidden)
    wide = DAG([(f"a{i}", f"b{i}") for i in range(30)])
    data = {f"a{i}": [0, 1, None] for i in range(30)} | {f"b{i}": [0, 1, 1] for i in range(30)}
    fit = expectation_propagation(wide, data)
    assert fit.converged
    single = expectation_propagation("a -> b", {"a": [0, 1, None], "b": [0, 1, 1]})
    assert fit.log_evidence == pytest.approx(30 * single.log_evidence, abs=1e-9)


def test_variables_of_the_graph_may_be_given():
    fit = expectation_propagation("a -> H", {"a": [0, 1]}, hidden=[Variable("H", ["x", "y"])])
    assert fit.network.variables["H"].states == ("x", "y")
