"""EM with numbers against brute force over configurations, closed forms, and a numerical optimiser."""

import math
import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize

from completion_oracle import assert_rises
from hybrid_oracle import Enumerated, random_hybrid
from plausible.cpds import ConditionalGaussianCPD, LinearGaussianCPD, LogisticCPD, TableCPD
from plausible.data.table import Table
from plausible.errors import ImpossibleEvidence, InvalidArgument, NotSupported
from plausible.graphs import DAG
from plausible.learn.estimation.families import ParameterKnowledge
from plausible.learn.estimation.priors import K2
from plausible.learn.incomplete.cases import Cases
from plausible.learn.incomplete.em import em_run, learn_em
from plausible.learn.incomplete.gaussian_expectations import HybridExpectations
from plausible.learn.incomplete.gaussian_maximization import GaussianMomentLearner, gaussian_lines
from plausible.learn.incomplete.gaussian_rows import NumberUnits, column_units
from plausible.learn.incomplete.problem import PlainEM, em_functional, observed_log_likelihood, read_problem
from plausible.learn.incomplete.starts_and_stops import SymmetricStart
from plausible.learn.learned_parameters import ExpectedCounts, fit_parameters, learn_parameters
from plausible.learn.missingness.mcar_tests import fit_gaussian
from plausible.learn.mixtures.clustering import MixtureClustering
from plausible.models import BayesianNetwork
from plausible.search.run import Stops
from plausible.variables import Variable


def incomplete(net, rng, num_rows, missing=0.4):
    """Rows that the network gives, cells missing at random."""
    frame = net.sample(num_rows, seed=int(rng.integers(2**31)))
    columns = {}
    for name, column in frame.items():
        gone = rng.random(num_rows) < missing
        columns[name] = [None if lost else value for value, lost in zip(column.tolist(), gone, strict=True)]
    return columns


def test_a_column_that_varies_by_rounding_alone_has_no_variance():
    """Rounding is relative to the mean; what is not missing counts by its weight."""
    numbers = np.array([[1e9, 1e-9, 5.0], [1e9 + 1e-6, 3e-9, np.nan], [1e9, 2e-9, 8.0]])
    center, variance = column_units(numbers, np.array([1.0, 1.0, 2.0]))
    np.testing.assert_allclose(center, [1e9, 2e-9, 7.0], rtol=1e-12)
    np.testing.assert_allclose(variance, [0.0, 5e-19, 2.0], rtol=1e-9)


def raw_units(net):
    names = tuple(name for name, v in net.variables.items() if v.is_continuous)
    return NumberUnits(names, np.zeros(len(names)), np.ones(len(names)))


def oracle_expectations(net, columns, weights):
    """Counts and second moments of all families, and log-likelihoods, configuration by configuration."""
    num_rows = len(weights)
    counts, logs = {}, []
    for name, cpd in net.cpds.items():
        discrete = [v.num_states for v in cpd.scope if not v.is_continuous]
        size = [1 + sum(v.is_continuous for v in cpd.scope)] * 2 if cpd.variable.is_continuous else []
        counts[name] = np.zeros([*discrete, *size])
    for row in range(num_rows):
        evidence = {name: column[row] for name, column in columns.items() if column[row] is not None}
        found = Enumerated(net, evidence)
        logs.append(found.log_total)
        for (config, _, mean, covariance, _), chance in zip(found.found, found.weights, strict=True):
            for name, cpd in net.cpds.items():
                place = tuple(config[v.name] for v in cpd.scope if not v.is_continuous)
                if not cpd.variable.is_continuous:
                    counts[name][place] += weights[row] * chance
                    continue
                axes = [found.order.index(v.name) for v in cpd.scope if v.is_continuous]
                z = np.array([1.0, *mean[axes]])
                second = np.outer(z, z)
                second[1:, 1:] += covariance[np.ix_(axes, axes)]
                counts[name][place] += weights[row] * chance * second
    return counts, np.array(logs)


@pytest.mark.parametrize("seed", range(8))
def test_expected_counts_and_moments_are_those_of_all_configurations(seed):
    """Σ P(x, u | row) and Σ E[z zᵀ; a | row]; one-state variables, zeros in tables and loose parts occur."""
    rng = np.random.default_rng(seed)
    net = random_hybrid(rng, 3, 4, zero_variances=False)
    columns, weights = incomplete(net, rng, 15), rng.choice([0.5, 1.0, 2.0], size=15)
    cases = Cases.of(net.variables, Table.read(columns, net.variables, weights=weights), has_numbers=True)
    found = HybridExpectations(cases, raw_units(net)).at(net)
    counts, logs = oracle_expectations(net, columns, weights)
    np.testing.assert_allclose(found.case_log_likelihoods, logs, atol=1e-8)
    assert found.log_likelihood == pytest.approx(float(weights @ logs))
    assert set(found.counts) == set(counts)
    for name, wanted in counts.items():
        np.testing.assert_allclose(found.counts[name], wanted, atol=1e-7, rtol=1e-7, err_msg=name)


@pytest.mark.parametrize("seed", range(4))
def test_em_never_lowers_the_likelihood_of_what_was_observed(seed):
    """Neither for hidden states nor for missing numbers, and the reported likelihood is that of brute force."""
    rng = np.random.default_rng(100 + seed)
    net = random_hybrid(rng, 2, 3, zero_variances=False)
    columns = incomplete(net, rng, 60, missing=0.3)
    fit = learn_em(net, columns, start="random", seed=seed, max_steps=25, tolerance=0)
    assert_rises(fit.trace)
    assert fit.log_likelihood == pytest.approx(oracle_expectations(fit.network, columns, np.ones(60))[1].sum())


def test_complete_rows_give_the_closed_form_in_one_step():
    """From any start; the tables are frequencies and the lines least squares in each context."""
    rng = np.random.default_rng(0)
    kind, x = rng.integers(2, size=50), rng.normal(5, 3, size=50)
    y = np.where(kind == 1, 1 + 2 * x, -x) + rng.normal(size=50)
    data = {"kind": kind, "x": x, "y": y}
    fit = learn_em("kind -> y <- x", data, start="random", max_steps=1, tolerance=0)
    for state in (0, 1):
        rows = kind == state
        design = np.column_stack([np.ones(rows.sum()), x[rows]])
        beta, rest, *_ = np.linalg.lstsq(design, y[rows], rcond=None)
        line = fit.network.cpd("y").given({"kind": state})
        np.testing.assert_allclose([line.intercept, *line.coefficients], beta, atol=1e-9)
        assert line.variance == pytest.approx(rest[0] / rows.sum())
    assert fit.network.cpd("x").variance == pytest.approx(x.var())
    assert learn_em("kind -> y <- x", data).num_steps == 2  # the second finds nothing more
    assert fit.network.is_close(learn_parameters("kind -> y <- x", data), 1e-8)


def test_the_fixed_point_is_where_an_optimiser_finds_the_greatest_observed_likelihood():
    """A chain x -> y -> z with cells missing at random, by BFGS on the joint Gaussian."""
    rng = np.random.default_rng(4)
    x = rng.normal(1, 2, size=40)
    y = 0.5 + x + rng.normal(size=40)
    z = -y + rng.normal(0, 0.7, size=40)
    rows = np.column_stack([x, y, z])
    rows[rng.random(rows.shape) < 0.3] = np.nan

    def loss(theta):
        a, b, c, d, e, *logs = theta
        B = np.zeros((3, 3))
        B[1, 0], B[2, 1] = c, e
        inverse = np.linalg.inv(np.eye(3) - B)
        mean, covariance = inverse @ [a, b, d], inverse @ np.diag(np.exp(logs)) @ inverse.T
        total = 0.0
        for row in rows:
            seen = ~np.isnan(row)
            inside, away = covariance[np.ix_(seen, seen)], (row - mean)[seen]
            total += np.linalg.slogdet(2 * np.pi * inside)[1] + away @ np.linalg.solve(inside, away)
        return total / 2

    best = minimize(loss, np.zeros(8), method="BFGS", options={"gtol": 1e-6})
    fit = learn_em("x -> y -> z", dict(zip("xyz", rows.T, strict=True)), tolerance=1e-13, max_steps=3000)
    assert_rises(fit.trace)
    assert fit.log_likelihood == pytest.approx(-best.fun, abs=1e-6)
    net = fit.network
    found = [net.cpd("x").intercept, net.cpd("y").intercept, *net.cpd("y").coefficients, net.cpd("z").intercept]
    np.testing.assert_allclose(found, best.x[:4], atol=1e-3)


def test_a_hidden_class_over_numbers_is_the_mixture_of_gaussians():
    """H above a chain of regressions among all numbers has the likelihood of full covariances."""
    rng = np.random.default_rng(7)
    cluster = rng.random(150) < 0.4
    x = np.where(cluster, 3.0, 0.0) + rng.normal(size=150)
    y = np.where(cluster, -x, 0.5 * x) + rng.normal(0, 0.5, size=150)
    frame = pd.DataFrame({"x": x, "y": y}).mask(rng.random((150, 2)) < 0.15)
    mixture = MixtureClustering(2, covariance="full", seed=1, tolerance=1e-12, max_steps=2000).fit(frame)
    start = mixture.to_network()
    stays = learn_em(start, frame, start=start, tolerance=1e-12, max_steps=5)
    assert stays.trace[0] == pytest.approx(mixture.log_likelihood_, abs=1e-6)
    assert stays.log_likelihood == pytest.approx(mixture.log_likelihood_, abs=1e-5)
    own = learn_em("H -> x -> y; H -> y", frame, hidden={"H": 2}, restarts=6, seed=3, tolerance=1e-10, max_steps=2000)
    assert_rises(own.trace)
    assert own.log_likelihood == pytest.approx(mixture.log_likelihood_, abs=1e-3)


def test_a_hidden_number_over_three_is_factor_analysis():
    """x_i = λ_i h + noise: three observed variables are fitted without a rest, as there are six free covariances."""
    rng = np.random.default_rng(2)
    h = rng.normal(size=400)
    rows = np.column_stack([h + 0.5 * rng.normal(size=400), 2 * h + rng.normal(size=400), -h + rng.normal(size=400)])
    data = dict(zip("abc", rows.T, strict=True))
    fit = learn_em("h -> a; h -> b; h -> c", data, hidden=[Variable("h")], seed=1, tolerance=1e-12, max_steps=5000)
    assert_rises(fit.trace)
    covariance = np.cov(rows.T, bias=True)
    wanted = -0.5 * 400 * (np.linalg.slogdet(2 * np.pi * covariance)[1] + 3)
    assert fit.log_likelihood == pytest.approx(wanted, abs=1e-3)
    with pytest.warns(SymmetricStart, match="'h'"):
        learn_em("h -> a; h -> b; h -> c", data, hidden=[Variable("h")], start="uniform", max_steps=2)


def test_a_floor_bounds_the_likelihood_where_a_component_falls_on_one_row():
    """A cluster on a single number has no smallest variance; with the floor its variance is just that."""
    data = {"x": [0.0, 0.5, 1.0, 1.5, 2.0, 1000.25]}
    kinds = {"x": GaussianMomentLearner(variance_floor=1e-4)}
    fit = learn_em("H -> x", data, hidden={"H": 2}, kinds=kinds, restarts=3, tolerance=1e-10)
    assert_rises(fit.trace)
    floor = 1e-4 * np.var(data["x"])
    assert fit.network.cpd("x").variance.min() == pytest.approx(floor)
    exact = {"x": [0.5, 1.5, 2.5, None], "y": [1.0, 3.0, 5.0, 9.5]}  # y = 2 x
    line = learn_em("x -> y", exact, kinds={"y": GaussianMomentLearner(1e-3)}, max_steps=50).network.cpd("y")
    assert line.variance >= 1e-3 * np.var(exact["y"]) * (1 - 1e-12)
    with pytest.raises(InvalidArgument, match="no bound"):
        GaussianMomentLearner(variance_floor=0.0)
    with pytest.raises(InvalidArgument, match="number of cases"):
        GaussianMomentLearner(prior_cases=-1.0)


def test_map_em_climbs_the_likelihood_and_the_prior_to_the_ridge_estimate():
    """With complete rows: pseudo-cases s I added to the moments of standardised columns."""
    rng = np.random.default_rng(5)
    x = rng.normal(10, 4, size=30)
    y = 3 * x + rng.normal(size=30)
    kinds = {name: GaussianMomentLearner(prior_cases=5.0) for name in "xy"}
    fit = learn_em("x -> y", {"x": x, "y": y}, kinds=kinds)
    u, v = (x - x.mean()) / x.std(), (y - y.mean()) / y.std()
    beta = u @ v / (u @ u + 5)
    assert fit.network.cpd("y").coefficients[0] == pytest.approx(beta * y.std() / x.std())
    rest = ((v - beta * u) ** 2).sum() + 5 * (1 + beta**2)
    assert fit.network.cpd("y").variance == pytest.approx(rest / 35 * y.var())
    log_prior = -2.5 * (math.log(rest / 35) + (1 + beta**2) * 35 / rest) - 2.5 * (math.log(1.0) + 1.0)
    assert fit.objective == pytest.approx(fit.log_likelihood + log_prior)
    y[::3] = np.nan
    partly = learn_em("k -> y <- x", {"x": x, "y": y}, K2(), hidden={"k": 2}, kinds=kinds, tolerance=0, max_steps=40)
    assert_rises(partly.trace)


def test_rows_in_which_a_number_was_set_say_nothing_about_its_causes():
    """log P(rest | do(x)), and the moments of x without these rows."""
    net = BayesianNetwork(
        TableCPD("k", [0.3, 0.7]),
        ConditionalGaussianCPD("x", [1.0, -1.0], {}, 1.0, [Variable("k", 2)]),
        LinearGaussianCPD("y", 0.5, {"x": 2.0}, 0.5),
    )
    columns = {"k": [None, 1, None, 0], "x": [2.0, 3.5, 1.0, None], "y": [None, 6.0, 2.0, 1.5]}
    table = Table.read(columns, net.variables, interventions={"x": [False, True, True, False]})
    found = HybridExpectations(Cases.of(net.variables, table, has_numbers=True), raw_units(net)).at(net)
    cut = net.with_cpd(LinearGaussianCPD("x", 0.0))
    free, _ = oracle_expectations(net, {n: [c[0], c[3]] for n, c in columns.items()}, np.ones(2))
    logs = oracle_expectations(cut, columns, np.ones(4))[1] + 0.5 * np.log(2 * np.pi)
    logs += np.array([0, 3.5, 1.0, 0]) ** 2 / 2
    np.testing.assert_allclose(found.counts["x"], free["x"], atol=1e-9)
    np.testing.assert_allclose(found.case_log_likelihoods[[1, 2]], logs[[1, 2]], atol=1e-9)
    assert found.counts["k"].sum() == pytest.approx(4)
    missing = Table.read({"x": [None, 1.0]}, [Variable("x")], interventions={"x": [True, False]})
    with pytest.raises(InvalidArgument, match="'x' was set from outside in row 0"):
        learn_em(DAG([], nodes=["x"]), missing)


def test_a_discrete_child_of_numbers_is_learned_where_it_is_observed_and_refused_elsewhere():
    rng = np.random.default_rng(1)
    x = rng.normal(size=200)
    label = (rng.random(200) < 1 / (1 + np.exp(-2 * x))).astype(int)
    other = x + rng.normal(size=200)
    other[::4] = np.nan
    fit = learn_em("label <- x -> other", {"x": x, "label": label, "other": other})
    assert isinstance(fit.network.cpd("label"), LogisticCPD)
    whole = learn_parameters("x -> label", {"x": x, "label": label})
    assert fit.network.cpd("label").is_close(whole.cpd("label"), 1e-9)
    alone = learn_em("x -> other", {"x": x, "other": other})
    own = whole.cpd("label").log_probability({"x": x, "label": label}).sum()
    assert fit.log_likelihood == pytest.approx(alone.log_likelihood + own)
    x[3] = np.nan
    with pytest.raises(NotSupported, match="'x' is missing in 1 row"):
        learn_em("label <- x -> other", {"x": x, "label": label, "other": other})


def test_the_front_door_completes_missing_numbers():
    """learn_parameters and fit_parameters give what learn_em finds; tables have a posterior from expected counts."""
    rng = np.random.default_rng(9)
    x = rng.normal(size=60)
    kind = [None if rng.random() < 0.3 else int(v > 0) for v in x]
    frame = pd.DataFrame({"kind": pd.array(kind, dtype="Int64"), "x": np.where(rng.random(60) < 0.2, np.nan, x)})
    with pytest.warns(ExpectedCounts):
        fit = fit_parameters("kind -> x", frame, K2())
    em = learn_em("kind -> x", frame, K2(), tolerance=1e-8)
    assert fit.network.cpd("x") == em.network.cpd("x")
    assert fit.network.is_close(em.network, 1e-3)
    assert fit.posterior["kind"].counts.sum() == pytest.approx(60)
    assert learn_parameters("kind -> x", frame, K2()).is_close(fit.network, 1e-12)


def test_a_context_of_which_nothing_is_expected_keeps_its_line_and_is_reported():
    start = BayesianNetwork(
        TableCPD("k", [0.5, 0.5, 0.0]), ConditionalGaussianCPD("x", [0.0, 3.0, 7.0], {}, [1.0, 1.0, 2.0], ["k"])
    )
    fit = learn_em(start, {"x": [0.5, 2.5, None]}, start=start, max_steps=3)
    line = fit.network.cpd("x").given({"k": 2})
    assert (line.intercept, line.variance) == (7.0, 2.0)
    assert fit.unidentified["x"].tolist() == [False, False, True]
    assert fit.poorly_determined(0.1)["x"].tolist() == [False, False, True]


def test_states_of_a_run_can_be_pickled_and_gone_on_with():
    rng = np.random.default_rng(8)
    x = rng.normal(size=40)
    data = {"x": np.where(rng.random(40) < 0.3, np.nan, x), "y": x + rng.normal(size=40)}
    problem = read_problem("H -> x -> y", data, {"H": 2})
    problem = replace(problem, expectation=pickle.loads(pickle.dumps(problem.expectation)))
    start = learn_em("H -> x -> y", data, hidden={"H": 2}, max_steps=0).network
    states = [problem.at(start)]
    for _ in range(2):
        states.append(pickle.loads(pickle.dumps(PlainEM().step(problem, states[-1]))))
    run = em_run(problem, states[0], Stops(max_steps=2, tolerance=0.0))
    assert run.trace == pytest.approx([state.objective for state in states])
    held = learn_em("x -> y", data, stopping="validation", validation={"x": [0.5, None], "y": [1.5, 0.0]})
    assert held.converged
    assert learn_em("x -> y", data, stopping="parameters", tolerance=1e-8).converged


def test_degenerate_rows_and_wrong_questions():
    """No rows, empty rows, constant columns; impossible states, zero variances and other learners are refused."""
    nothing = learn_em(BayesianNetwork(LinearGaussianCPD("x", 1.0)), {"x": [None, None]}, max_steps=3)
    assert nothing.log_likelihood == 0.0
    constant = learn_em("x -> y", {"x": [2.5, 2.5, None], "y": [1.5, None, 0.5]})
    assert np.isfinite(constant.log_likelihood)
    net = BayesianNetwork(
        TableCPD("k", [1.0, 0.0]), ConditionalGaussianCPD("x", [0.0, 1.0], {}, 1.0, [Variable("k", 2)])
    )
    with pytest.raises(ImpossibleEvidence, match="Row 1"):
        learn_em(net, {"k": [0, 1], "x": [0.5, None]}, start=net)
    sharp = BayesianNetwork(LinearGaussianCPD("x", 0.0), LinearGaussianCPD("y", 0.0, {"x": 1.0}, 0.0))
    with pytest.raises(NotSupported, match="'y' has the variance zero"):
        learn_em(sharp, {"x": [1.5, None], "y": [1.5, 2.0]}, knowledge=ParameterKnowledge(fixed=[sharp.cpd("y")]))
    with pytest.raises(NotSupported, match="'x' is continuous: EM learns it"):
        learn_em(DAG([], nodes=["x"]), {"x": [1.5, None]}, kinds={"x": "logistic"})
    with pytest.raises(NotSupported, match="expected counts are those of discrete"):
        Cases.of([Variable("x")], {"x": [1.5]})


def test_large_means_cost_no_digits_and_units_do_not_matter():
    """The same rows in other units give the same lines in these units."""
    rng = np.random.default_rng(6)
    x = rng.normal(size=60)
    y = x + rng.normal(size=60)
    x[rng.random(60) < 0.3] = np.nan
    y[rng.random(60) < 0.3] = np.nan
    near = learn_em("x -> y", {"x": x, "y": y}, tolerance=0, max_steps=60).network
    far = learn_em("x -> y", {"x": 1e6 + x, "y": 1e-3 * y}, tolerance=0, max_steps=60).network
    first, second = gaussian_lines(near.cpd("y")), gaussian_lines(far.cpd("y"))
    np.testing.assert_allclose(second.coefficients, 1e-3 * first.coefficients, rtol=1e-7)
    np.testing.assert_allclose(second.variance, 1e-6 * first.variance, rtol=1e-7)


def gaussian_kl(mean, covariance, other_mean, other_covariance):
    """KL(N ‖ N') in closed form."""
    inverse = np.linalg.inv(other_covariance)
    shift = other_mean - mean
    logs = np.linalg.slogdet(other_covariance)[1] - np.linalg.slogdet(covariance)[1]
    return 0.5 * (np.trace(inverse @ covariance) + shift @ inverse @ shift - len(mean) + logs)


def test_the_functional_of_numbers_lies_below_the_likelihood_by_the_divergence_of_gaussians():
    """Rows without any cell: Q is N(x, y) under one network, and ℓ = 0, so that F = -KL to that of the other."""
    nets = [
        BayesianNetwork(LinearGaussianCPD("x", a, variance=v), LinearGaussianCPD("y", b, {"x": c}, variance=w))
        for a, b, c, v, w in ((0.5, 1.0, 2.0, 1.5, 0.4), (-0.2, 0.3, 1.0, 0.7, 2.0))
    ]
    found = em_functional(nets[0], {"x": [None], "y": [None]}, completing=nets[1])
    moments = [
        (np.array([a, b + c * a]), np.array([[v, c * v], [c * v, c * c * v + w]]))
        for a, b, c, v, w in ((0.5, 1.0, 2.0, 1.5, 0.4), (-0.2, 0.3, 1.0, 0.7, 2.0))
    ]
    assert found.log_likelihood == pytest.approx(0.0, abs=1e-12)
    assert found.divergence == pytest.approx(gaussian_kl(*moments[1], *moments[0]))
    entropy = 0.5 * np.linalg.slogdet(2 * math.pi * math.e * moments[1][1])[1]
    assert found.entropy == pytest.approx(entropy)


@pytest.mark.parametrize("seed", range(3))
def test_the_functional_of_mixed_rows_is_the_likelihood_where_a_network_completes_itself(seed):
    rng = np.random.default_rng(seed)
    net = BayesianNetwork(
        TableCPD("c", [0.3, 0.7]),
        ConditionalGaussianCPD("x", [0.0, 2.0], {}, [1.0, 0.5], ["c"]),
        LogisticCPD("d", ["x"], {"x": 1.0}, -0.5),
    )
    x = rng.normal(size=8)
    rows = {"c": [None if rng.random() < 0.5 else int(rng.random() < 0.5) for _ in x], "x": x, "d": [0, 1] * 4}
    found = em_functional(net, rows)
    assert found.divergence == pytest.approx(0.0, abs=1e-9)
    assert found.log_likelihood == observed_log_likelihood(net, rows)
    density = [
        sum(
            p * math.exp(-((v - m) ** 2) / 2 / s) / math.sqrt(2 * math.pi * s)
            for state, (p, m, s) in enumerate(((0.3, 0.0, 1.0), (0.7, 2.0, 0.5)))
            if given in (None, state)
        )
        for v, given in zip(x, rows["c"], strict=True)
    ]
    child = [1 / (1 + math.exp((0.5 - v) * (1 if d else -1))) for v, d in zip(x, rows["d"], strict=True)]
    assert found.log_likelihood == pytest.approx(np.log(density).sum() + np.log(child).sum())


def test_a_row_that_counts_twice_is_two_rows_of_a_gaussian():
    rng = np.random.default_rng(5)
    numbers = rng.normal(size=(30, 3)) @ rng.normal(size=(3, 3))
    numbers[rng.random(numbers.shape) < 0.25] = np.nan
    weights = rng.integers(0, 3, size=30)
    once = fit_gaussian(numbers, weights).state
    repeated = fit_gaussian(np.repeat(numbers, weights, axis=0)).state
    np.testing.assert_allclose(once.mean, repeated.mean, atol=1e-9)
    np.testing.assert_allclose(once.covariance, repeated.covariance, atol=1e-9)
    net = "a -> b; a -> c; b -> c"
    rows = dict(zip("abc", np.repeat(numbers, weights, axis=0).T, strict=True))
    fit = learn_em(net, rows, tolerance=1e-13, max_steps=5000)
    lines = gaussian_lines(fit.network.cpd("b"))
    slope = once.covariance[0, 1] / once.covariance[0, 0]
    np.testing.assert_allclose(lines.coefficients[0], [slope], atol=1e-4)
