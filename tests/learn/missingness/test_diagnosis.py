"""What is missing in a table, and tests of whether it is so completely at random."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from plausible.data.table import Table
from plausible.errors import InvalidArgument
from plausible.learn.missingness.diagnosis import diagnose_missing
from plausible.learn.missingness.mcar_tests import fit_gaussian, indicator_tests, little_test
from plausible.learn.missingness.mechanisms import AtRandom, CompletelyAtRandom, hide

seeds = st.integers(0, 10**6)


@given(seed=seeds)
@settings(max_examples=25, deadline=None)
def test_the_report_counts_what_a_loop_over_rows_counts(seed):
    """Status, counts, patterns and pairs, also for hidden variables and empty tables."""
    rng = np.random.default_rng(seed)
    names, num_rows = ["a", "b", "c"], int(rng.integers(0, 12))
    share = rng.choice([0.0, 0.4, 0.9, 1.0], size=3)
    missing = rng.random((num_rows, 3)) < share
    data = {n: [None if missing[r, i] else "x" for r in range(num_rows)] for i, n in enumerate(names)}
    report = diagnose_missing(data)
    patterns = Counter(tuple(n for i, n in enumerate(names) if missing[r, i]) for r in range(num_rows))
    assert {pattern.missing: pattern.num_rows for pattern in report.patterns} == patterns
    assert [p.num_rows for p in report.patterns] == sorted(patterns.values(), reverse=True)
    assert report.num_complete == patterns[()]
    assert report.num_missing == missing.sum()
    for i, name in enumerate(names):
        count = int(missing[:, i].sum())
        status = "observed" if not count else "hidden" if count == num_rows else "partly"
        assert report.variables[name] == (status, num_rows - count, count)
    apart = {
        (names[i], names[j])
        for i in range(3)
        for j in range(i + 1, 3)
        if (~missing[:, i]).any() and (~missing[:, j]).any() and not (~missing[:, i] & ~missing[:, j]).any()
    }
    assert set(report.never_together) == apart
    assert int(report.to_frame()["num_rows"].sum()) == num_rows
    assert str(report)


def _log_likelihood(numbers, mean, covariance):
    total = 0.0
    for row in numbers:
        seen = ~np.isnan(row)
        if seen.any():
            total += stats.multivariate_normal(mean[seen], covariance[np.ix_(seen, seen)]).logpdf(row[seen])
    return total


def test_the_gaussian_of_em_is_a_maximum_of_the_observed_likelihood():
    """No small change of a mean or covariance raises it; without missing cells it is the plain estimate."""
    rng = np.random.default_rng(0)
    complete = rng.normal(size=(60, 3)) @ rng.normal(size=(3, 3)) + [5.0, -2.0, 100.0]
    fit = fit_gaussian(complete).state
    np.testing.assert_allclose(fit.mean, complete.mean(axis=0), rtol=1e-6)
    np.testing.assert_allclose(fit.covariance, np.cov(complete.T, ddof=0), rtol=1e-6)
    holes = np.where(rng.random(complete.shape) < 0.3, np.nan, complete)
    run = fit_gaussian(holes)
    assert run.converged
    fit = run.state
    best = _log_likelihood(holes, fit.mean, fit.covariance)
    for i in range(3):
        for change in (-1e-3, 1e-3):
            assert _log_likelihood(holes, fit.mean + change * np.eye(3)[i], fit.covariance) < best
            for j in range(3):
                moved = fit.covariance.copy()
                moved[i, j] += change
                moved[j, i] = moved[i, j]
                assert _log_likelihood(holes, fit.mean, moved) < best


def test_littles_statistic_is_the_sum_over_patterns():
    """By the formula, pattern by pattern, with moments that EM found; degrees of freedom Σ p_j - p."""
    rng = np.random.default_rng(1)
    numbers = rng.normal(size=(40, 2))
    numbers[:10, 0], numbers[10:25, 1] = np.nan, np.nan
    result = little_test({"x": numbers[:, 0], "y": numbers[:, 1]})
    fit = fit_gaussian(numbers).state
    spread = fit.covariance * 40 / 39
    expected = 10 * (numbers[:10, 1].mean() - fit.mean[1]) ** 2 / spread[1, 1]
    expected += 15 * (numbers[10:25, 0].mean() - fit.mean[0]) ** 2 / spread[0, 0]
    apart = numbers[25:].mean(axis=0) - fit.mean
    expected += 15 * apart @ np.linalg.inv(spread) @ apart
    assert (result.statistic, result.degrees_of_freedom) == (pytest.approx(expected), 2)
    assert result.p_value == pytest.approx(stats.chi2(2).sf(expected))
    assert result.num_patterns == 3


def _numbers(rng, by_x):
    x = rng.normal(size=200)
    rows = {"x": x, "y": 0.7 * x + rng.normal(size=200), "z": rng.normal(size=200)}
    if by_x:
        return hide(rows, AtRandom("y", ["x"], lambda value: 1 / (1 + np.exp(-1.5 * value))), seed=rng).data
    return hide(rows, CompletelyAtRandom({"y": 0.3, "z": 0.2}), seed=rng).data


def _states(rng, by_x):
    x = rng.integers(2, size=400)
    rows = {"x": x.tolist(), "y": (x ^ (rng.random(400) < 0.3)).astype(int).tolist()}
    mechanism = AtRandom("y", ["x"], {0: 0.2, 1: 0.4}) if by_x else CompletelyAtRandom({"y": 0.3})
    return hide(rows, mechanism, seed=rng).data


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "test"),
    [
        (_numbers, little_test),
        (_states, lambda data: indicator_tests(data).tests[0]),
        (_states, lambda data: indicator_tests(data, "chi-square").tests[0]),
        (_numbers, lambda data: next(t for t in indicator_tests(data).tests if t[:2] == ("y", "x"))),
    ],
    ids=["little", "g", "chi-square", "welch"],
)
def test_p_values_are_uniform_under_mcar_and_small_under_mar(make, test):
    """Kolmogorov-Smirnov over 200 tables without dependence; power above 0.9 with it."""
    rng = np.random.default_rng(7)
    chance = [test(make(rng, by_x=False)).p_value for _ in range(200)]
    assert stats.kstest(chance, "uniform").pvalue > 0.001
    power = [test(make(rng, by_x=True)).p_value < 0.05 for _ in range(40)]
    assert np.mean(power) > 0.9


def test_holms_method_bounds_any_false_alarm():
    """Of tables with six comparisons under MCAR about a twentieth at most have one below 0.05."""
    rng = np.random.default_rng(3)
    alarms = []
    for _ in range(150):
        rows = {name: rng.integers(2, size=150).tolist() for name in "abc"}
        result = indicator_tests(hide(rows, CompletelyAtRandom(0.3), seed=rng).data)
        assert len(result.tests) == 6
        raw = np.array([t.p_value for t in result.tests])
        expected = np.minimum(np.maximum.accumulate(np.sort(raw) * [6, 5, 4, 3, 2, 1]), 1)
        np.testing.assert_allclose([t.adjusted for t in result.tests], expected)
        alarms.append(bool(result.dependent()))
    assert np.mean(alarms) < 0.05 + 4 * np.sqrt(0.05 * 0.95 / 150)


def test_degenerate_tables_say_that_nothing_can_be_compared():
    """Complete tables, one pattern, constants, and states alone."""
    assert little_test({"x": [1.0, 2.0, 4.5]}).p_value == 1.0
    assert "nothing can be compared" in str(little_test({"x": [1.0, 2.0, 4.5]}))
    assert indicator_tests({"x": ["a", "b"]}).tests == ()
    assert "Nothing" in str(indicator_tests({"x": ["a", None]}))
    assert indicator_tests({"x": ["a", None, "a", None], "y": ["c"] * 4}).tests == ()
    with pytest.raises(InvalidArgument, match="no column of numbers"):
        little_test({"x": ["a", None]})
    with pytest.raises(InvalidArgument, match="'g' or 'chi-square'"):
        indicator_tests({"x": ["a", None]}, "t")
    table = Table.read({"x": [0.5, None, 2.0, 3.0], "y": [1.5, 2.0, 3.0, 4.0]})
    assert str(little_test(table)).startswith("No sign against MCAR")


def test_comparisons_of_numbers_weigh_rows_as_repeated_ones():
    rng = np.random.default_rng(0)
    weights = rng.integers(1, 4, 40)
    x = np.where(rng.random(40) < 0.4, np.nan, rng.normal(size=40))
    table = Table.read({"x": x, "y": rng.normal(size=40) + np.isnan(x)})
    weighted = indicator_tests(table.weighted(weights)).tests[0]
    repeated = indicator_tests(table.take(np.repeat(np.arange(40), weights))).tests[0]
    assert weighted.p_value == pytest.approx(repeated.p_value)
    assert weighted.p_value != pytest.approx(indicator_tests(table).tests[0].p_value)


def test_the_test_of_means_weighs_rows_as_repeated_ones():
    rng = np.random.default_rng(1)
    weights = rng.integers(0, 4, 60)
    x = np.where(rng.random(60) < 0.4, np.nan, rng.normal(size=60))
    table = Table.read({"x": x, "y": rng.normal(size=60) + np.isnan(x)})
    weighted = little_test(table.weighted(weights))
    repeated = little_test(table.take(np.repeat(np.arange(60), weights)))
    assert weighted.statistic == pytest.approx(repeated.statistic, rel=1e-5)
    assert weighted.degrees_of_freedom == repeated.degrees_of_freedom


def test_one_row_is_told_of_in_the_singular():
    text = str(diagnose_missing({"x": ["a", None, "a"], "y": [1, 2, 3]}))
    assert "1 row lacks x" in text
    assert "missing in 1 row\n" in text
    assert "2 rows lack nothing" in text
