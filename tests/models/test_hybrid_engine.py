"""Tables of evidence with numbers, against enumeration row by row and SciPy's normal densities."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit
from scipy.stats import multivariate_normal, norm

from hybrid_oracle import Enumerated, gaussian_given, random_hybrid
from plausible.cpds import ConditionalGaussianCPD, LinearGaussianCPD, LogisticCPD, TableCPD
from plausible.errors import ImpossibleEvidence, InvalidArgument, NotSupported, TooLarge, UnknownVariable
from plausible.inference.gaussian.rows import GaussianBlock
from plausible.models import BayesianNetwork
from plausible.models.compiled_engines import ExactEngine, HybridEngine
from plausible.models.numbers import regression_of
from plausible.variables import Variable


def some_rows(net, rng, num_rows, missing):
    """Sampled rows with cells missing at random, as a frame and as findings."""
    frame = net.sample(num_rows, seed=int(rng.integers(2**31))).astype(object)
    frame = frame.mask(rng.random(frame.shape) < missing, None)
    findings = [{n: v for n, v in row.items() if v is not None and v == v} for row in frame.to_dict("records")]
    return frame, findings


def check_rows(net, frame, findings):
    """Every question to the table against the enumeration of each row by itself."""
    engine = net.compile()
    log_rows = engine.log_likelihood(frame)
    for row, finding in enumerate(findings):
        truth = Enumerated(net, finding)
        assert log_rows[row] == (math.inf if truth.masses else pytest.approx(truth.log_total, abs=1e-7))
    for name, variable in net.variables.items():
        others = [{n: v for n, v in finding.items() if n != name} for finding in findings]
        if variable.is_continuous:
            expected = [Enumerated(net, finding).moments([name]) for finding in others]
            found = engine.predict_moments(frame, name)
            np.testing.assert_allclose(found["mean"], [mean[0] for _, mean, _ in expected], atol=1e-7)
            np.testing.assert_allclose(found["variance"], [c[0, 0] for _, _, c in expected], atol=1e-7)
            np.testing.assert_array_equal(engine.predict(frame, name), found["mean"])
        else:
            expected = [Enumerated(net, finding).table([name], [variable.num_states]) for finding in others]
            found = engine.predict_proba(frame, name).to_numpy()
            np.testing.assert_allclose(found, expected, atol=1e-9)
            assert [variable.index(s) for s in engine.predict(frame, name)] == found.argmax(axis=1).tolist()


@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), missing=st.sampled_from([0.0, 0.3, 0.7, 1.0]))
def test_every_row_is_answered_as_by_itself(seed, missing):
    """Random tables with states and numbers missing, one-state variables and loose parts among them."""
    rng = np.random.default_rng(seed)
    net = random_hybrid(rng, int(rng.integers(0, 4)), int(rng.integers(1, 5)), zero_variances=False)
    check_rows(net, *some_rows(net, rng, 4, missing))


@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_variances_of_zero_are_exact_in_every_row(seed):
    """Deterministic numbers: point masses beat densities, row by row."""
    rng = np.random.default_rng(seed)
    net = random_hybrid(rng, int(rng.integers(0, 4)), int(rng.integers(1, 5)), zero_variances=True)
    check_rows(net, *some_rows(net, rng, 4, 0.4))


def test_rows_of_a_gaussian_network_have_the_density_of_scipy():
    """150 rows of 8 variables with many patterns of missing numbers."""
    rng = np.random.default_rng(4)
    names = [f"x{i}" for i in range(8)]
    net = BayesianNetwork(
        LinearGaussianCPD(name, rng.normal(), {p: rng.normal() for p in names[:i] if rng.random() < 0.5}, 0.3 + i)
        for i, name in enumerate(names)
    )
    frame = net.sample(150, seed=1)
    frame = frame.mask(rng.random(frame.shape) < 0.25)
    mean, covariance = gaussian_given(net, names, {})
    engine = net.compile()
    log_rows, moments = engine.log_likelihood(frame), engine.predict_moments(frame, "x3")
    for row, values in enumerate(frame.to_numpy()):
        seen = np.flatnonzero(~np.isnan(values))
        expected = multivariate_normal(mean[seen], covariance[np.ix_(seen, seen)]).logpdf(values[seen])
        assert log_rows[row] == pytest.approx(expected, abs=1e-9)
        rest = seen[seen != 3]
        gain = np.linalg.solve(covariance[np.ix_(rest, rest)], covariance[rest, 3])
        assert moments["mean"][row] == pytest.approx(mean[3] + gain @ (values[rest] - mean[rest]), abs=1e-9)
        assert moments["variance"][row] == pytest.approx(covariance[3, 3] - gain @ covariance[rest, 3], abs=1e-9)


def test_numbers_that_all_but_follow_from_others_keep_their_digits():
    """A sensor with a deviation of 1e-9 beside a prior of 1e3: the fast way gives up, the careful one is exact."""
    net = BayesianNetwork(
        LinearGaussianCPD("x", 0.0, variance=1e6),
        LinearGaussianCPD("y", 0.0, {"x": 1.0}, 1e-18),
        LinearGaussianCPD("z", 0.0, {"x": 1.0}, 1e-18),
    )
    frame = {"y": [1.0, 1.0, None], "z": [1.0 + 2e-9, None, None]}
    found = net.compile().predict_moments(frame, "x")
    np.testing.assert_allclose(found["variance"], [0.5e-18, 1e-18, 1e6], rtol=1e-9)
    np.testing.assert_allclose(found["mean"], [1.0 + 1e-9, 1.0, 0.0], rtol=1e-12)
    block = GaussianBlock.of([regression_of(net.cpds[name]) for name in ("x", "y", "z")])
    rows = np.array([[np.nan, 1.0, 1.0], [np.nan, 1.0, np.nan]])
    assert block.given(rows)[1].tolist() == [True, False]
    assert block.given(rows, target="x")[1].tolist() == [True, True]


def test_rows_whose_densities_lie_far_apart_do_not_disturb_each_other():
    """A row at 1e4 deviations beside an ordinary one, and classes further apart than floats reach."""
    kinds = Variable("A", 2)
    net = BayesianNetwork(
        TableCPD(kinds, [0.5, 0.5]),
        *(ConditionalGaussianCPD(f"x{i}", [0.0, 1.0], {}, 1.0, [kinds]) for i in range(3)),
    )
    values = [0.5, -1e4, 1e4, 40.0]
    frame = {f"x{i}": values for i in range(3)}
    logs = np.array([[3 * norm.logpdf(v, center) + math.log(0.5) for center in (0.0, 1.0)] for v in values])
    engine = net.compile()
    np.testing.assert_allclose(engine.log_likelihood(frame), np.logaddexp(*logs.T), rtol=1e-12)
    odds = engine.predict_proba(frame, "A")[1]
    np.testing.assert_allclose(odds, expit(logs[:, 1] - logs[:, 0]), rtol=1e-9)


def test_components_that_contradict_each_other_within_a_row_are_weighed():
    """Two sensors, each sure of another class by more than the smallest float: the product decides."""
    kinds = Variable("A", 2)
    net = BayesianNetwork(
        TableCPD(kinds, [0.5, 0.5]),
        ConditionalGaussianCPD("x", [0.0, 100.0], {}, 1.0, [kinds]),
        ConditionalGaussianCPD("y", [0.0, 100.0], {}, 1.0, [kinds]),
    )
    found = net.compile().predict_proba({"x": [0.0, 0.0], "y": [100.0, 100.1]}, "A")[1]
    np.testing.assert_allclose(found, [0.5, expit(0.1 * 100.0)], rtol=1e-9)


def test_expected_counts_are_sums_of_posteriors():
    """Weighted sums over rows of the joint of each family, numbers integrated out."""
    rng = np.random.default_rng(8)
    net = random_hybrid(rng, 3, 3, zero_variances=False)
    frame, findings = some_rows(net, rng, 15, 0.4)
    weights = rng.random(15)
    found = net.compile().expected_counts(frame, weights)
    discrete = [name for name, v in net.variables.items() if not v.is_continuous]
    assert list(found) == [name for name in net.variables if name in discrete]
    for name in discrete:
        scope = [v.name for v in net.cpds[name].scope]
        sizes = [net.variables[n].num_states for n in scope]
        expected = sum(w * Enumerated(net, f).table(scope, sizes) for w, f in zip(weights, findings, strict=True))
        np.testing.assert_allclose(found[name], expected, atol=1e-9)


def test_discrete_children_of_observed_numbers_are_used():
    """A sigmoid of an observed number is evidence; of a missing one it is refused, unless it is not looked at."""
    net = BayesianNetwork(
        TableCPD("A", [0.3, 0.7]),
        ConditionalGaussianCPD("x", [0.0, 2.0], {}, 1.0, ["A"]),
        LogisticCPD("alarm", ["x"], weights=[2.0], intercept=-1.0),
        TableCPD("bell", [[0.9, 0.1], [0.2, 0.8]], parents=["alarm"]),
    )
    engine = net.compile()
    frame = {"x": [0.5, 1.5, None], "bell": [1, None, None], "A": [None, 0, None]}
    rows = [{n: c[i] for n, c in frame.items() if c[i] is not None} for i in range(3)]
    rings = [0.1 + 0.7 * expit(2.0 * 0.5 - 1.0), 1.0, 1.0]
    both = 0.3 * norm.pdf(0.5, 0.0) + 0.7 * norm.pdf(0.5, 2.0)
    expected = [math.log(both * rings[0]), math.log(0.3 * norm.pdf(1.5)), 0.0]
    np.testing.assert_allclose(engine.log_likelihood(frame), expected, rtol=1e-12, atol=1e-12)
    alarms = engine.predict_proba({n: c[:2] for n, c in frame.items()}, "alarm")[1]
    np.testing.assert_allclose(alarms, [0.8 * expit(0.0) / rings[0], expit(2.0)], rtol=1e-12)
    assert [net.query("alarm", row).values[1] for row in rows[:2]] == pytest.approx(alarms.tolist())
    with pytest.raises(NotSupported, match=r"Row 1 .*'x'.*'alarm'"):
        engine.log_likelihood({"x": [0.0, None], "bell": [1, 0]})
    with pytest.raises(NotSupported, match=r"Row 2 .*'x'"):
        engine.predict_proba(frame, "alarm")


def test_switching_chains_are_answered_where_their_switches_are_seen():
    """2^40 configurations, but each row has its switches: Kalman filtering by hand. Hidden ones are refused."""
    rng = np.random.default_rng(1)
    switches = [TableCPD(f"s{i}", [0.5, 0.5]) for i in range(40)]
    steps = [LinearGaussianCPD("x0", 0.0, variance=1.0)]
    for i in range(40):
        before = Variable(f"x{i}")
        parents = [Variable(f"s{i}", 2), before]
        steps.append(ConditionalGaussianCPD(f"x{i + 1}", [0.0, 1.0], {before.name: [0.9, 1.1]}, [1.0, 2.0], parents))
    engine = BayesianNetwork(*switches, *steps).compile()
    states = rng.integers(0, 2, size=(5, 40))
    frame = {f"s{i}": states[:, i] for i in range(40)}
    mean, variance = np.zeros(5), np.ones(5)
    for i in range(40):
        slope = np.where(states[:, i], 1.1, 0.9)
        mean, variance = slope * mean + states[:, i], slope**2 * variance + 1 + states[:, i]
    found = engine.predict_moments(frame, "x40")
    np.testing.assert_allclose(found["mean"], mean, rtol=1e-10)
    np.testing.assert_allclose(found["variance"], variance, rtol=1e-10)
    with pytest.raises(TooLarge, match="discrete variables at once"):
        engine.predict_moments({"s0": [1]}, "x40")


def test_frames_of_all_kinds_are_read():
    """Pandas with its index, nullable columns, polars, lists; a column of the target is not looked at."""
    net = BayesianNetwork(
        TableCPD("A", [0.5, 0.5], states=["low", "high"]),
        ConditionalGaussianCPD("x", [0.0, 2.0], {}, 1.0, [Variable("A", ["low", "high"])]),
    )
    engine = net.compile()
    expected = expit(2.0 * np.array([0.0, 3.0, 1.0]) - 2.0)
    frames = [
        pd.DataFrame({"x": [0.0, 3.0, np.nan]}, index=[7, 8, 9]),
        pd.DataFrame({"x": pd.array([0.0, 3.0, None], dtype="Float64"), "A": ["low", None, "high"]}),
        pl.DataFrame({"x": [0.0, 3.0, None]}),
        {"x": [0, 3, None]},
    ]
    for frame in frames:
        found = engine.predict_proba(frame, "A")
        assert list(found.columns) == ["low", "high"]
        np.testing.assert_allclose(found["high"], expected, rtol=1e-12)
    assert engine.predict(frames[0], "A").tolist() == ["low", "high", "low"]
    assert list(engine.predict(frames[0], "A").index) == [7, 8, 9]
    assert engine.predict_moments({"A": ["low", None]}, "x")["variance"].tolist() == [1.0, 2.0]
    empty = engine.predict_proba(pd.DataFrame({"x": pd.Series(dtype=float)}), "A")
    assert empty.shape == (0, 2)
    assert engine.log_likelihood({"x": [None, None]}).tolist() == [0.0, 0.0]


def test_wrong_tables_and_targets_are_refused():
    net = BayesianNetwork(
        TableCPD("A", [1.0, 0.0]), ConditionalGaussianCPD("x", [0.0, 2.0], {}, [0.0, 1.0], [Variable("A", 2)])
    )
    engine = net.compile()
    with pytest.raises(NotSupported, match="predict_moments"):
        engine.predict_proba({"A": [0]}, "x")
    with pytest.raises(NotSupported, match="predict_proba"):
        engine.predict_moments({"x": [0.0]}, "A")
    with pytest.raises(UnknownVariable, match="xx"):
        engine.predict({"A": [0]}, "xx")
    with pytest.raises(UnknownVariable, match="other"):
        engine.predict({"other": [0]}, "x")
    with pytest.raises(InvalidArgument, match="Row 1 of column 'x'"):
        engine.log_likelihood({"x": [0.0, "much"]})
    with pytest.raises(InvalidArgument, match="Row 0 of column 'x'"):
        engine.log_likelihood({"x": [math.inf]})
    with pytest.raises(ImpossibleEvidence, match="Row 1"):
        engine.predict({"x": [0.0, 1.0]}, "A")
    assert engine.log_likelihood({"x": [0.0, 1.0], "A": [None, 0]}).tolist() == [math.inf, -math.inf]
    assert engine.log_likelihood({"A": [1, 0]}).tolist() == [-math.inf, 0.0]


def test_the_engine_answers_as_the_network_does():
    """One evidence at a time, the same methods; without continuous variables it is the clique tree."""
    rng = np.random.default_rng(3)
    net = random_hybrid(rng, 2, 3, zero_variances=False)
    engine = net.compile()
    assert isinstance(engine, HybridEngine)
    row = net.sample(1, seed=2).iloc[0]
    evidence = {"x0": row["x0"]}
    assert engine.log_probability(evidence) == pytest.approx(net.log_probability(evidence), abs=1e-12)
    for name, answer in engine.marginals(evidence).items():
        np.testing.assert_allclose(answer.values, net.query(name, evidence).values, atol=1e-12)
        np.testing.assert_allclose(answer.values, engine.query(name, evidence).values, atol=1e-12)
    assert engine.moments(["x1", "x2"], evidence).is_close(net.moments(["x1", "x2"], evidence))
    assert engine.mixture(["d0", "x2"], evidence).is_close(net.mixture(["d0", "x2"], evidence))
    assert engine.continuous_marginals(evidence).keys() == {"x0", "x1", "x2"}
    assert engine.mpe(evidence) == net.mpe(evidence)
    assert engine.sample(5, seed=1).shape == (5, 5)
    with pytest.raises(InvalidArgument, match="Moments"):
        engine.moments("d0")
    assert "5 variables, 3 of them continuous" in repr(engine)
    part = net.compile(targets="d0")
    assert isinstance(part, ExactEngine)
    np.testing.assert_allclose(part.query("d0").values, net.query("d0").values)
