"""Gaussian, noisy-or, logistic and tree distributions learn what their likelihood says."""

import math

import numpy as np
import pytest
from scipy.special import gammaln

from plausible.cpds import LinearGaussianCPD, NoisyOr, TableCPD, TreeCPD
from plausible.data.table import Table
from plausible.errors import InvalidArgument, InvalidCPD, NotSupported, UnknownVariable
from plausible.graphs import DAG
from plausible.learn.estimation.families import ParameterKnowledge, log_likelihood
from plausible.learn.estimation.learners import LogisticLearner
from plausible.learn.estimation.priors import BDeu, Dirichlet
from plausible.learn.learned_parameters import fit_parameters, learn_parameters
from plausible.models import BayesianNetwork
from plausible.variables import Variable
from refusals import refuses


def _numbers(rng, num_rows=60):
    group = rng.choice(["a", "b", "c"], num_rows)
    x, z = rng.normal(3, 2, num_rows), rng.normal(-1, 0.5, num_rows)
    slope = {"a": 1.0, "b": -2.0, "c": 0.0}
    y = np.array([slope[g] for g in group]) * x + 0.5 * z + rng.normal(0, 0.3, num_rows)
    return {"group": group, "x": x, "z": z, "y": y}


def test_a_gaussian_has_the_mean_and_the_biased_variance_of_its_column():
    """Maximum likelihood divides by the number of cases (overview 124), weights counting as repeats."""
    values = np.array([1.5, 2.25, 4.0, 4.5])
    cpd = learn_parameters(DAG([], nodes=["y"]), {"y": values}).cpd("y")
    assert (cpd.intercept, cpd.variance) == pytest.approx((values.mean(), values.var()))
    weighted = learn_parameters(DAG([], nodes=["y"]), Table.read({"y": values}, weights=[1, 0, 2, 3])).cpd("y")
    repeated = np.repeat(values, [1, 0, 2, 3])
    assert (weighted.intercept, weighted.variance) == pytest.approx((repeated.mean(), repeated.var()))


def test_linear_gaussians_are_least_squares_in_each_context():
    data = _numbers(np.random.default_rng(0))
    net = learn_parameters("group -> y; x -> y; z -> y", data)
    cpd = net.cpd("y")
    for place, state in enumerate("abc"):
        rows = data["group"] == state
        design = np.column_stack([np.ones(rows.sum()), data["x"][rows], data["z"][rows]])
        best, *_ = np.linalg.lstsq(design, data["y"][rows], rcond=None)
        found = [cpd.intercept[place], cpd.coefficients["x"][place], cpd.coefficients["z"][place]]
        np.testing.assert_allclose(found, best, rtol=1e-8)
        assert cpd.variance[place] == pytest.approx(((data["y"][rows] - design @ best) ** 2).mean())
    plain = learn_parameters("x -> y; z -> y", data).cpd("y")
    design = np.column_stack([np.ones(60), data["x"], data["z"]])
    best, *_ = np.linalg.lstsq(design, data["y"], rcond=None)
    np.testing.assert_allclose([plain.intercept, *plain.coefficients], best, rtol=1e-8)


@pytest.mark.parametrize("kind", ["table", "noisy-or", "logistic", "tree"])
def test_weights_that_add_up_to_more_than_a_float_holds_are_refused(kind):
    """Counts and rows alike: of a variable alone, and of one whose parents are said to be known."""
    columns = {"a": [0, 1, 0, 1], "b": [0, 1, 1, 0], "x": [1.5, 2.5, 4.25, 3.0]}
    table, known = Table.read(columns, weights=[1e308] * 4), ParameterKnowledge(fixed=[TableCPD("a", [0.5, 0.5])])
    for graph, options in (("a -> b", {"kinds": {"b": kind}, "knowledge": known}), (DAG("x"), {})):
        refuses(InvalidArgument, "more than a float holds", fit_parameters, graph, table, **options)


def test_contexts_without_enough_cases_are_flagged_and_take_what_all_say():
    variables = [Variable("g", ["a", "b", "c"]), Variable("y")]
    table = Table.read({"g": ["a", "a", "a", "b"], "y": [1.0, 2.0, 6.0, 9.5]}, variables)
    fit = fit_parameters("g -> y", table)
    cpd, every = fit.network.cpd("y"), np.array([1.0, 2.0, 6.0, 9.5])
    np.testing.assert_allclose(cpd.intercept, [3.0, 9.5, every.mean()])
    np.testing.assert_allclose(cpd.variance, [np.var([1, 2, 6]), every.var(), every.var()])
    assert fit.unidentified_rows("y") == [{"g": "b"}, {"g": "c"}]
    refuses(InvalidArgument, "such as that of g=b. Give more rows, or", fit_parameters, "g -> y", table, unseen="error")
    nothing = fit_parameters("g -> y", table.take(np.arange(0))).network.cpd("y")
    np.testing.assert_allclose(nothing.variance, 1.0)


def test_collinear_and_constant_parents_are_flagged_and_still_predict():
    rng = np.random.default_rng(1)
    x = rng.normal(size=30)
    data = {"x": x, "twice": 2 * x, "one": np.full(30, 1.5), "y": 3 * x + 1}
    fit = fit_parameters("x -> y; twice -> y; one -> y", data)
    cpd = fit.network.cpd("y")
    assert isinstance(cpd, LinearGaussianCPD)
    assert "y" in fit.unidentified
    np.testing.assert_allclose(cpd.mean(data), data["y"], atol=1e-9)
    assert cpd.variance == pytest.approx(0.0, abs=1e-20)


def test_missing_numbers_of_one_variable_are_left_out_and_a_gaussian_of_states_is_refused():
    alone = learn_parameters(DAG([], nodes=["y"]), {"y": [1.5, math.nan, 2.5]}).cpd("y")
    assert (alone.intercept, alone.variance) == pytest.approx((2.0, 0.25), abs=1e-3)
    with pytest.raises(InvalidArgument, match="has states"):
        learn_parameters(DAG([], nodes=["y"]), {"y": [1, 2]}, kinds={"y": "linear-gaussian"})


def _noisy_or_rows(rng, num_rows=3000):
    parents = [Variable(name, 2) for name in ("a", "b", "never")]
    truth = NoisyOr(Variable("y", 2), parents, [0.8, 0.4, 0.5], leak=0.1)
    columns = {"a": rng.integers(2, size=num_rows), "b": rng.integers(2, size=num_rows), "never": np.zeros(num_rows)}
    columns = {name: column.astype(int) for name, column in columns.items()}
    chance = np.exp(truth.log_probability({**columns, "y": np.ones(num_rows, dtype=int)}))
    return truth, Table.read({**columns, "y": (rng.random(num_rows) < chance).astype(int)}, [*parents, truth.variable])


def test_noisy_or_is_the_maximum_of_its_likelihood_and_near_the_truth():
    rng = np.random.default_rng(4)
    truth, table = _noisy_or_rows(rng)
    graph = "a -> y; b -> y; never -> y"
    fit = fit_parameters(graph, table, kinds={"y": "noisy-or"})
    found = fit.network.cpd("y")
    np.testing.assert_allclose(found.activation[:2], truth.activation[:2], atol=0.06)
    assert fit.unidentified["y"].tolist() == [False, False, True]
    best = log_likelihood(fit.network, table)
    for _ in range(40):
        moved = np.clip(np.array([found.leak, *found.activation]) + rng.normal(0, 0.01, 4), 0, 1)
        other = NoisyOr(found.variable, found.parents, moved[1:], moved[0])
        assert log_likelihood(fit.network.with_cpd(other), table) <= best + 1e-6


def test_the_start_does_not_change_a_noisy_or_but_what_the_data_leave_open():
    truth, table = _noisy_or_rows(np.random.default_rng(4))
    graph = "a -> y; b -> y; never -> y"
    start = ParameterKnowledge(start=[NoisyOr(truth.variable, truth.parents, [0.1, 0.9, 0.3], leak=0.5)])
    one = learn_parameters(graph, table, kinds={"y": "noisy-or"}, unseen="uniform").cpd("y")
    two = learn_parameters(graph, table, kinds={"y": "noisy-or"}, unseen="uniform", knowledge=start).cpd("y")
    np.testing.assert_allclose(one.activation[:2], two.activation[:2], atol=1e-5)
    assert (one.activation[2], two.activation[2]) == pytest.approx((0.0, 0.3))


def test_sure_causes_and_causes_of_more_states():
    sure = {"a": [0, 0, 1, 1], "y": [0, 0, 1, 1]}
    found = learn_parameters("a -> y", sure, kinds={"y": "noisy-or"}).cpd("y")
    assert (found.leak, found.activation[0]) == pytest.approx((0.0, 1.0), abs=1e-6)
    with pytest.raises(InvalidCPD, match="active_states"):
        learn_parameters("a -> y", {"a": [0, 1, 2], "y": [0, 1, 1]}, kinds={"y": "noisy-or"})


@pytest.mark.parametrize("num_states", [2, 3])
def test_logistic_weights_are_where_the_penalised_likelihood_is_flat(num_states):
    """Central differences of a likelihood written out here vanish in each weight."""
    rng = np.random.default_rng(num_states)
    x, g = rng.normal(2, 3, 80), rng.integers(3, size=80)
    y = rng.integers(num_states, size=80)
    penalty = 0.7
    fit = fit_parameters("x -> y <- g", {"x": x, "g": g, "y": y}, kinds={"y": LogisticLearner(penalty)})
    cpd = fit.network.cpd("y")
    slope, effects = cpd.weights["x"], cpd.weights["g"]
    centre, scale = x.mean(), x.std()
    free = num_states - 1
    at = np.concatenate([(cpd.intercept + centre * slope)[None], (slope * scale)[None], effects])

    def value(weights):
        odds = weights[0] + ((x - centre) / scale)[:, None] * weights[1] + weights[2:][g]
        odds = np.column_stack([np.zeros(80), odds])
        logs = odds[np.arange(80), y] - np.log(np.exp(odds).sum(axis=1))
        return logs.sum() - penalty / 2 * (weights**2).sum()

    for place in np.ndindex(5, free):
        step = np.zeros((5, free))
        step[place] = 1e-5
        assert abs(value(at + step) - value(at - step)) / 2e-5 < 1e-4


def test_logistic_without_cases_or_variation_stays_finite_and_is_flagged():
    fit = fit_parameters("x -> y", {"x": [1.5, 1.5], "y": ["no", "no"]})
    assert fit.unidentified["y"].tolist() == [True]
    chance = np.exp(fit.network.cpd("y").log_probability({"x": np.array([1.5]), "y": np.array([0])}))
    assert np.isfinite(chance).all()
    refuses(InvalidArgument, "positive", LogisticLearner, 0.0)


def _best_tree_score(counts, score):
    """The greedy tree's score by recursion over dictionaries of rows; counts: {parent states: counts of the child}."""
    here = score(counts)
    num_parents = len(next(iter(counts)))
    options = []
    for axis in range(num_parents):
        parts = {}
        for key, row in counts.items():
            parts.setdefault(key[axis], {})[key[:axis] + key[axis + 1 :]] = row
        options.append((sum(score(part) for part in parts.values()), axis, parts))
    if not options or max(options, key=lambda o: o[0])[0] <= here + 1e-9:
        return here, 1
    _, _, parts = max(options, key=lambda o: o[0])
    below = [_best_tree_score(part, score) for part in parts.values()]
    return sum(s for s, _ in below), sum(n for _, n in below)


@pytest.mark.parametrize("prior", [None, BDeu(4)])
def test_trees_are_split_greedily_for_as_long_as_the_score_gains(prior):
    rng = np.random.default_rng(11)
    a, b, c = (rng.integers(size, size=400) for size in (2, 3, 2))
    y = np.where(a == 0, rng.random(400) < 0.1, np.where(b == 2, rng.random(400) < 0.9, rng.random(400) < 0.4))
    data = {"a": a, "b": b, "c": c, "y": y}
    cpd = learn_parameters("a -> y; b -> y; c -> y", data, prior, kinds={"y": "tree"}).cpd("y")
    assert isinstance(cpd, TreeCPD)
    counts = {key: np.zeros(2) for key in np.ndindex(2, 3, 2)}
    for key, value in zip(zip(a.tolist(), b.tolist(), c.tolist(), strict=True), y, strict=True):
        counts[key][int(value)] += 1

    def bic(part):
        row = np.sum(list(part.values()), axis=0)
        return sum(n * math.log(n / row.sum()) for n in row if n) - 0.5 * math.log(400)

    def bayesian(part):
        row, alpha = np.sum(list(part.values()), axis=0), 4 / 24 * len(part)
        parts = gammaln(alpha + row) - gammaln(alpha)
        return parts.sum() + gammaln(2 * alpha) - gammaln(2 * alpha + row.sum())

    _, num_leaves = _best_tree_score(counts, bic if prior is None else bayesian)
    assert len(cpd.contexts()) == num_leaves
    assert cpd.ignores("c")
    assert cpd.ignores("b", {"a": 0})
    row = counts[(0, 0, 0)] * 0
    for key, part in counts.items():
        row += part * (key[0] == 0)
    alpha = 0.0 if prior is None else 1.0
    np.testing.assert_allclose(cpd.row({"a": 0, "b": 0, "c": 0}).values, (row + alpha) / (row.sum() + 2 * alpha))


def test_trees_over_nothing_are_a_leaf():
    cpd = learn_parameters(DAG([], nodes=["y"]), {"y": [0, 1, 1, 1]}, kinds={"y": "tree"}).cpd("y")
    np.testing.assert_allclose(cpd.to_table().values, [0.25, 0.75])
    empty = Table.read({"a": [], "y": []}, [Variable("a", 2), Variable("y", 2)])
    fit = fit_parameters("a -> y", empty, kinds={"y": "tree"})
    assert fit.unidentified["y"].all()


def test_kinds_that_are_none_are_refused_by_name():
    data = {"a": [0, 1], "y": [0, 1]}
    refuses(InvalidArgument, "noisy-or", learn_parameters, "a -> y", data, kinds={"y": "noisyor"})
    refuses(UnknownVariable, "kinds=", learn_parameters, "a -> y", data, kinds={"z": "tree"})
    with pytest.raises(NotSupported, match="Only tables"):
        learn_parameters(
            "a -> y; a -> z",
            {**data, "z": [0, 1]},
            kinds={"y": "tree"},
            knowledge=ParameterKnowledge(tied=[["y", "z"]]),
        )


def test_a_fixed_distribution_of_any_kind_goes_with_a_posterior_of_the_rest():
    data = {"a": ["u", "v", "v"], "y": [0.5, 1.5, 2.5]}
    fit = fit_parameters("a -> y", data, BDeu(2))
    assert fit.posterior.fixed["y"] == fit.network.cpd("y")
    np.testing.assert_allclose(fit.posterior["a"].mean, [2 / 5, 3 / 5])
    logs = fit.posterior.log_predictive(data)
    expected = BayesianNetwork(TableCPD(Variable("a", ["u", "v"]), [0.4, 0.6]), fit.network.cpd("y"))
    np.testing.assert_allclose(logs, expected.log_likelihood(data))


@pytest.mark.parametrize("estimate", ["mean", "map", "mle"])
def test_a_tree_that_splits_everywhere_is_the_table_of_the_same_estimate(estimate):
    rows = {"a": [0, 1] * 40, "y": [0, 1] * 39 + [1, 1]}
    table = learn_parameters("a -> y", rows, Dirichlet(3.0), estimate=estimate).cpd("y")
    tree = learn_parameters("a -> y", rows, Dirichlet(3.0), estimate=estimate, kinds={"y": "tree"}).cpd("y")
    assert tree.to_table().values == pytest.approx(table.values)


@pytest.mark.parametrize("weights", [[5, 5], [2, 3]])
def test_a_gaussian_of_weighted_rows_is_that_of_repeated_ones(weights):
    """Also where there are too few different rows to tell a variance."""
    a, b, g = np.array([0.5, 1.0]), np.array([1.0, 3.5]), np.array([0, 1])
    for graph in ("a -> b", "a -> b <- g"):
        weighted = fit_parameters(graph, Table.read({"a": a, "b": b, "g": g}, weights=weights))
        repeated = fit_parameters(graph, {n: np.repeat(c, weights) for n, c in {"a": a, "b": b, "g": g}.items()})
        assert weighted.network.cpd("b") == repeated.network.cpd("b")
        assert weighted.unidentified.keys() == repeated.unidentified.keys()


def test_a_logistic_distribution_without_rows_is_even():
    table = Table.read({"x": np.empty(0), "y": []}, [Variable("y", 2)])
    fit = fit_parameters("x -> y", table)
    assert fit.network.cpd("y").weights["x"] == pytest.approx([0.0])
    assert fit.unidentified["y"].tolist() == [True]


def test_a_cause_that_is_never_active_is_named_where_that_is_an_error():
    table = Table.read({"a": [0, 0, 0], "y": [0, 1, 0]}, [Variable("a", 2)])
    with pytest.raises(InvalidArgument, match="its parent 'a' is never active"):
        learn_parameters("a -> y", table, kinds={"y": "noisy-or"}, unseen="error")


def test_error_bars_that_would_leave_out_gaussian_parameters_are_refused():
    rng = np.random.default_rng(0)
    g = rng.integers(0, 2, 50)
    fit = fit_parameters("g -> x", {"g": g, "x": rng.normal(size=50) + g})
    refuses(NotSupported, "'x' were estimated", fit.network.query, "g", evidence={"x": 1.0}, uncertainty=fit.posterior)
    bars = fit.network.query("g", uncertainty=fit).info.standard_deviations
    assert bars == pytest.approx(fit.posterior["g"].standard_deviation)
    refuses(InvalidArgument, "not a int", fit.network.query, "g", uncertainty=3)
