"""Multiple imputation: its copies come from the posterior of what is missing, and Rubin's rules pool them."""

from __future__ import annotations

import math
import pickle
from itertools import product

import numpy as np
import pytest
from scipy import stats
from scipy.special import gammaln

from plausible.cpds import LinearGaussianCPD, TableCPD
from plausible.data.table import Table
from plausible.errors import InvalidArgument, UnknownVariable
from plausible.graphs import DAG
from plausible.learn.missingness.imputation import (
    augmentation_init,
    augmentation_step,
    multiple_imputation,
    pool_estimates,
)
from plausible.learn.missingness.mechanisms import AtRandom, hide
from plausible.models import BayesianNetwork
from plausible.variables import Variable


def _marginal_likelihood(x, y):
    """P(rows) of x -> y with all parameters integrated out, one case for each cell."""
    total = 0.0
    for counts in ([np.sum(x == s) for s in (0, 1)], *([np.sum((x == u) & (y == s)) for s in (0, 1)] for u in (0, 1))):
        total += gammaln(2) - gammaln(2 + sum(counts)) + sum(gammaln(1 + np.array(counts)))
    return math.exp(total)


def test_copies_are_drawn_from_the_posterior_of_the_missing_cells():
    """All completions of four missing cells, weighed by their marginal likelihood, against 300 copies."""
    x = np.array([0, 0, 1, 1, 1, -1, 0, -1])
    y = np.array([0, 0, 1, 1, -1, 1, -1, 0])
    places = [("x", 5), ("x", 7), ("y", 4), ("y", 6)]
    weights = {}
    for states in product((0, 1), repeat=4):
        filled = {"x": x.copy(), "y": y.copy()}
        for (name, row), state in zip(places, states, strict=True):
            filled[name][row] = state
        weights[states] = _marginal_likelihood(filled["x"], filled["y"])
    data = {n: [None if c < 0 else int(c) for c in column] for n, column in (("x", x), ("y", y))}
    made = multiple_imputation(data, "x -> y", 300, burn_in=5, thin=1, seed=0)
    found = [tuple(copy[name][row] for name, row in places) for copy in made.copies]
    total = sum(weights.values())
    expected = np.array([300 * weight / total for weight in weights.values()])
    counts = np.array([found.count(states) for states in weights])
    # Copies of one chain depend on each other a little, so that the limit is wider than that of independent draws.
    assert ((counts - expected) ** 2 / expected).sum() < 3 * stats.chi2(15).isf(1e-3)
    assert np.abs(counts - expected).max() / 300 < 0.08


def test_the_parameters_of_each_copy_are_drawn_and_not_estimated():
    """P(x) of complete rows is a Beta draw in each copy; the mean of a number varies as that of resampled rows."""
    made = multiple_imputation({"x": [0, 1, 1, 1, 0]}, DAG(nodes=["x"]), 200, burn_in=0, thin=1, seed=0)
    shares = [network.cpd("x").values[1] for network in made.networks]
    assert stats.kstest(shares, stats.beta(4, 3).cdf).pvalue > 0.01
    numbers = np.random.default_rng(0).normal(size=40)
    made = multiple_imputation({"x": numbers}, DAG(nodes=["x"]), 200, burn_in=0, thin=1, seed=0)
    means = [network.cpd("x").intercept for network in made.networks]
    assert np.std(means) == pytest.approx(numbers.std() / np.sqrt(40), rel=0.15)
    assert np.mean(means) == pytest.approx(numbers.mean(), abs=4 * numbers.std() / np.sqrt(40 * 200))


def test_pooling_follows_rubins_rules():
    """Total variance, degrees of freedom and interval by hand; small samples have fewer degrees of freedom."""
    estimates, variances = [2.0, 2.6, 2.3, 1.9], [0.2, 0.25, 0.15, 0.2]
    pooled = pool_estimates(estimates, variances, level=0.9)
    between = np.var(estimates, ddof=1)
    total = 0.2 + 1.25 * between
    degrees = 3 * (1 + 0.2 / (1.25 * between)) ** 2
    half = stats.t(degrees).ppf(0.95) * np.sqrt(total)
    assert (pooled.estimate, pooled.within, pooled.between) == pytest.approx((2.2, 0.2, between))
    assert (pooled.total_variance, pooled.degrees_of_freedom) == pytest.approx((total, degrees))
    assert pooled.interval == pytest.approx((2.2 - half, 2.2 + half))
    assert pool_estimates(estimates, variances, complete_degrees=10).degrees_of_freedom < 10
    same = pool_estimates([1.0, 1.0], [4.0, 4.0])
    assert same.interval == pytest.approx((1 - 2 * 1.959964, 1 + 2 * 1.959964), rel=1e-5)
    assert same.missing_share == 0.0
    for bad in (([1.0], [1.0]), ([1.0, 2.0], [1.0]), ([1.0, np.nan], [1.0, 1.0]), ([1.0, 2.0], [-1.0, 1.0])):
        with pytest.raises(InvalidArgument):
            pool_estimates(*bad)


def test_pooled_intervals_cover_the_truth_where_complete_cases_do_not():
    """Under MAR, P(y) from complete rows is biased; pooled intervals at 90% cover it in most of 25 tables."""
    truth, covered, missed = 0.5, 0, 0
    for seed in range(25):
        rng = np.random.default_rng(seed)
        x = rng.integers(2, size=150)
        y = np.where(rng.random(150) < 0.8, x, 1 - x)
        data = hide({"x": x.tolist(), "y": y.tolist()}, AtRandom("y", "x", {0: 0.1, 1: 0.7}), seed=rng).data
        made = multiple_imputation(data, "x -> y", 6, burn_in=3, thin=1, seed=rng)

        def share(copy):
            found = float(np.mean(copy["y"]))
            return found, found * (1 - found) / 150

        low, high = made.pool(share, level=0.9).interval
        covered += low <= truth <= high
        seen = np.array([c for c in data["y"] if c is not None])
        missed += abs(seen.mean() - truth) > 1.645 * np.sqrt(0.25 / len(seen))
    assert covered >= 25 * 0.9 - 3 * np.sqrt(25 * 0.09)
    assert missed >= 13


def test_the_chain_can_be_kept_and_resumed():
    """A pickled state and generator go on as the originals do; the same seed gives the same copies."""
    data = {"x": [0, 1, None, 1] * 5, "y": ["a", None, "b", "b"] * 5}
    generator = np.random.default_rng(3)
    state = augmentation_step(augmentation_init(data, "x -> y", generator), generator)
    kept, kept_generator = pickle.loads(pickle.dumps((state, generator)))
    first, second = augmentation_step(state, generator), augmentation_step(kept, kept_generator)
    np.testing.assert_array_equal(first.completed.codes, second.completed.codes)
    assert first.network == second.network
    assert first.num_steps == 2
    assert (
        multiple_imputation(data, "x -> y", 2, seed=4).copies == multiple_imputation(data, "x -> y", 2, seed=4).copies
    )


def test_a_caller_can_stop_and_parameters_can_be_kept():
    """By progress, by a limit of time; and draws from a network as it is."""
    network = BayesianNetwork(TableCPD("x", [0.5, 0.5]), TableCPD("y", [[1.0, 0.0], [0.0, 1.0]], parents=["x"]))
    data = {"x": [0, 1, None], "y": [None, None, 1]}
    seen = []
    stopped = multiple_imputation(data, network, 3, progress=lambda state: seen.append(state) or len(seen) == 4, seed=0)
    assert (stopped.stopped_by, stopped.copies, len(seen)) == ("interrupted", (), 4)
    assert multiple_imputation(data, network, 3, time_limit=0.0).stopped_by == "time limit"
    kept = multiple_imputation(data, network, 3, keep_parameters=True, seed=0)
    assert kept.copies == ({"x": [0, 1, 1], "y": [0, 1, 1]},) * 3
    assert kept.networks == (network,) * 3
    assert {name: mask.tolist() for name, mask in kept.filled.items()} == {
        "x": [False, False, True],
        "y": [True, True, False],
    }
    with pytest.raises(InvalidArgument, match="needs a network"):
        multiple_imputation(data, "x -> y", keep_parameters=True)
    with pytest.raises(UnknownVariable, match="'z'"):
        multiple_imputation(data, "x -> z")
    with pytest.raises(InvalidArgument, match="at least 1"):
        multiple_imputation(data, network, 0)


def test_numbers_and_hidden_variables_are_completed_too():
    """A Gaussian network by bootstrapped parameters, and a class that no row shows."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=200)
    data = {"x": x, "y": np.where(rng.random(200) < 0.3, np.nan, 2 * x + rng.normal(size=200))}
    made = multiple_imputation(data, "x -> y", 4, burn_in=3, seed=1)
    slopes = [np.polyfit(copy["x"], copy["y"], 1)[0] for copy in made.copies]
    assert all(abs(slope - 2) < 0.5 for slope in slopes)
    assert len(set(slopes)) == 4
    network = BayesianNetwork(
        TableCPD("h", [0.5, 0.5]), TableCPD(Variable("v", ["a", "b"]), [[0.9, 0.1], [0.1, 0.9]], parents=["h"])
    )
    made = multiple_imputation({"v": ["a", None, "b"]}, network, 2, seed=0)
    assert all(list(copy) == ["v"] and None not in copy["v"] for copy in made.copies)
    mixed = BayesianNetwork(TableCPD("h", [0.5, 0.5]), LinearGaussianCPD("x", 1.0))
    assert len(multiple_imputation({"x": [1.0, None, 2.0, 0.3]}, mixed, 2, burn_in=1, seed=0).copies) == 2


def test_columns_that_the_graph_lacks_come_back_as_they_are():
    """Though nothing could be said of one without any value."""
    rows = {"rain": ["no", "yes", None] * 5, "grass": ["dry", "wet", "wet"] * 5, "notes": [None] * 15}
    copy = multiple_imputation(rows, "rain -> grass", copies=1, seed=0).copies[0]
    assert None not in copy["rain"]
    assert copy["notes"] == rows["notes"]
    with pytest.raises(InvalidArgument, match="'n' is a number that no row has"):
        multiple_imputation(Table.read({"n": [None], "x": [0]}, [Variable("n")]), "x -> n", seed=0)
