"""Linear dynamical systems against one Gaussian over all states and observations, conditioned by NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import plausible as pb
from gaussian_path_oracle import block, joint_moments, posterior, random_system, random_values
from plausible.errors import ImpossibleEvidence
from plausible.kernels.jit import use_tier
from plausible.models.sequences.kalman_runs import ObservedNumbers, smoothed

SEEDS = range(12)


def model_of(system, **options):
    """The model of an oracle's matrices."""
    covariance = system["P"].copy()
    unknown = system["G"].any(axis=1)
    covariance[unknown, unknown] = np.inf
    inputs = {"transition_input": system["B"], "observation_input": system["D"]} if system["B"].size else {}
    return pb.LinearDynamicalSystem(*(system[name] for name in "ACQRm"), covariance, **{**inputs, **options})


def rows_of(values, inputs=None):
    rows = {f"y{place + 1}": column for place, column in enumerate(values.T)}
    return rows | ({} if inputs is None else {f"u{place + 1}": column for place, column in enumerate(inputs.T)})


def case(seed, num_diffuse=0, num_inputs=0):
    """A system of up to five states, and rows with missing cells."""
    rng = np.random.default_rng(seed)
    num_states, num_observed = int(rng.integers(1, 6)), int(rng.integers(1, 4))
    rank = 1 if seed % 3 == 0 else None
    system = random_system(rng, num_states, num_observed, min(num_diffuse, num_states), num_inputs, rank)
    num_steps = int(rng.integers(1, 10)) + 5 * (num_diffuse > 0)
    values = random_values(rng, num_steps, num_observed)
    if num_diffuse:
        values[:2] = rng.normal(size=values[:2].shape)
    return system, values, rng.normal(size=(num_steps, num_inputs)) if num_inputs else None


@pytest.mark.parametrize("form", ["joseph", "square-root"])
@pytest.mark.parametrize("seed", SEEDS)
def test_smoothing_is_conditioning_on_all_numbers(seed, form):
    """Means, covariances and log p are those of the joint Gaussian; the last filtered step is the last smoothed one."""
    system, values, inputs = case(seed, num_inputs=seed % 3)
    model, size = model_of(system, form=form), len(system["A"])
    rows = rows_of(values, inputs)
    found, last = model.smooth(rows), model.filter(rows)
    mean, covariance, log_density = posterior(system, values, inputs)
    np.testing.assert_allclose(found.mean.ravel(), mean, rtol=1e-10, atol=1e-10)
    for t in range(len(values)):
        np.testing.assert_allclose(found.covariance[t], block(covariance, t, t, size), rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(last.mean[-1], mean[-size:], rtol=1e-10, atol=1e-10)
    assert model.log_likelihood(rows) == pytest.approx(log_density, rel=1e-10, abs=1e-10)


@pytest.mark.parametrize("seed", SEEDS)
def test_filtering_is_conditioning_on_the_rows_so_far(seed):
    """Each filtered step is the last step of the joint Gaussian given the rows up to it; steps' log p add up."""
    system, values, inputs = case(seed, num_inputs=seed % 2)
    model, size = model_of(system), len(system["A"])
    found, logs = model.filter(rows_of(values, inputs)), model.step_log_likelihoods(rows_of(values, inputs))
    before = 0.0
    for t in range(len(values)):
        so_far = None if inputs is None else inputs[: t + 1]
        mean, covariance, log_density = posterior(system, values[: t + 1], so_far)
        np.testing.assert_allclose(found.mean[t], mean[-size:], rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(found.covariance[t], covariance[-size:, -size:], rtol=1e-10, atol=1e-10)
        assert logs[t] == pytest.approx(log_density - before, rel=1e-9, abs=1e-9)
        before = log_density


@pytest.mark.parametrize("form", ["joseph", "square-root"])
@pytest.mark.parametrize("seed", SEEDS)
def test_infinite_variances_are_the_limit_of_great_ones(seed, form):
    """A diffuse start equals generalised least squares for the unknown constants."""
    system, values, _ = case(seed, num_diffuse=2)
    model, size = model_of(system, form=form), len(system["A"])
    found = model.smooth(rows_of(values))
    mean, covariance, log_density = posterior(system, values)
    scale = max(1.0, np.abs(covariance).max())
    np.testing.assert_allclose(found.mean.ravel(), mean, rtol=1e-8, atol=1e-8)
    for t in range(len(values)):
        np.testing.assert_allclose(found.covariance[t], block(covariance, t, t, size), rtol=0, atol=1e-9 * scale)
    assert model.log_likelihood(rows_of(values)) == pytest.approx(log_density, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("form", ["joseph", "square-root"])
@pytest.mark.parametrize("seed", range(4))
def test_a_state_that_is_known_for_certain_stays_so(seed, form):
    """Without variance of its own: what the other states are uncertain of is that of the joint Gaussian."""
    system, values, _ = case(3 * seed + 1)
    size, known = len(system["A"]), seed % len(system["A"])
    system["A"][known] = np.eye(size)[known]
    for name in "QP":
        system[name] = np.diag(np.where(np.arange(size) == known, 0.0, system[name].diagonal()))
    found = model_of(system, form=form).smooth(rows_of(values))
    mean, covariance, _ = posterior(system, values)
    np.testing.assert_allclose(found.mean.ravel(), mean, rtol=1e-9, atol=1e-9)
    for t in range(len(values)):
        np.testing.assert_allclose(found.covariance[t], block(covariance, t, t, size), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("num_diffuse", [0, 1])
@pytest.mark.parametrize("seed", SEEDS)
def test_lags_are_covariances_of_steps_side_by_side(seed, num_diffuse):
    """Cov(x_t, x_t-1) given all rows is the block beside the diagonal of the joint Gaussian."""
    system, values, _ = case(seed, num_diffuse)
    model, size = model_of(system), len(system["A"])
    starts = np.array([0, len(values)])
    _, answer = smoothed(model._kalman(), ObservedNumbers(values, np.zeros((0, size)), starts), lags=True)
    _, covariance, _ = posterior(system, values)
    for t in range(1, len(values)):
        expected = block(covariance, t, t - 1, size)
        np.testing.assert_allclose(answer.lags[t], expected, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("tier", ["interpreted", "compiled"])
@pytest.mark.parametrize("form", ["joseph", "square-root"])
@pytest.mark.parametrize("seed", range(4))
def test_steps_that_repeat_are_right(seed, form, tier):
    """Long enough for covariances to settle, with gaps that unsettle them: still the joint Gaussian, in both tiers."""
    rng = np.random.default_rng(seed)
    system = random_system(rng, 3, 2)
    values = random_values(rng, 110, 2, 0.0)
    if seed % 2:
        values[50:53, 0] = values[90] = np.nan
    mean, covariance, log_density = posterior(system, values)
    model = model_of(system, form=form)
    starts = np.array([0, len(values)])
    with use_tier(tier):
        steps, answer = smoothed(model._kalman(), ObservedNumbers(values, np.zeros((0, 3)), starts), lags=True)
        log_likelihood = model.log_likelihood(rows_of(values))
    assert steps.is_steady.sum() > 20
    np.testing.assert_allclose(answer.means.ravel(), mean, rtol=1e-10, atol=1e-10)
    for t in range(1, len(values)):
        np.testing.assert_allclose(answer.covariances[t], block(covariance, t, t, 3), rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(answer.lags[t], block(covariance, t, t - 1, 3), rtol=1e-10, atol=1e-10)
    assert log_likelihood == pytest.approx(log_density, rel=1e-11)


@pytest.mark.parametrize("lengths", [[6, 6, 6, 6], [3, 0, 5, 5, 1]])
def test_sequences_do_not_know_of_each_other(lengths):
    """Several sequences at once, with the same and with other missing cells, answer as each of them alone."""
    rng = np.random.default_rng(7)
    system = random_system(rng, 2, 2)
    model = model_of(system)
    parts = [random_values(rng, length, 2, 0.0) for length in lengths]
    if parts:
        parts[-1][0, 0] = np.nan
    together = model.smooth([rows_of(part) for part in parts])
    alone = [model.smooth(rows_of(part)) for part in parts]
    expected = np.concatenate([each.mean for each in alone]) if alone else np.zeros((0, 2))
    np.testing.assert_allclose(together.mean, expected, rtol=1e-12, atol=1e-12)
    if parts:
        np.testing.assert_allclose(together.covariance, np.concatenate([each.covariance for each in alone]), rtol=1e-12)
    logs = model.log_likelihoods([rows_of(part) for part in parts])
    assert logs.tolist() == pytest.approx([model.log_likelihood(rows_of(part)) for part in parts])


@pytest.mark.parametrize("seed", SEEDS)
def test_what_comes_next_is_conditioning_with_missing_rows(seed):
    """Predictions and forecasts equal those of the joint Gaussian over more steps, whose numbers are missing."""
    system, values, inputs = case(seed, num_inputs=seed % 2)
    later = None if inputs is None else np.random.default_rng(seed).normal(size=(3, 1))
    longer = np.vstack([values, np.full((3, values.shape[1]), np.nan)])
    all_inputs = None if inputs is None else np.vstack([inputs, later])
    mean, covariance, _ = posterior(system, longer, all_inputs)
    model, size = model_of(system), len(system["A"])
    told = {} if later is None else {"inputs": {"u1": later[:, 0]}}
    states = model.predict(rows_of(values, inputs), 3, **told)
    tables = model.forecast(rows_of(values, inputs), 3, level=0.6826894921370859, **told)
    for step in range(3):
        t = len(values) + step
        expected, spread = mean[t * size : t * size + size], block(covariance, t, t, size)
        np.testing.assert_allclose(states.mean[step], expected, rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(states.covariance[step], spread, rtol=1e-10, atol=1e-10)
        center = system["C"] @ expected + (0 if later is None else system["D"] @ later[step])
        width = np.sqrt(np.diag(system["C"] @ spread @ system["C"].T + system["R"]))
        for place, table in enumerate(tables.values()):
            told_row = table.iloc[step][["mean", "lower", "upper"]]
            expected_row = center[place] + np.array([0, -width[place], width[place]])
            np.testing.assert_allclose(told_row, expected_row, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_the_unrolled_network_gives_the_same_answers(seed):
    """Our Gaussian engine on the unrolled network: posteriors of states, and log p of the rows."""
    rng = np.random.default_rng(seed)
    system = random_system(rng, int(rng.integers(1, 4)), int(rng.integers(1, 3)))
    values = random_values(rng, 4, len(system["C"]))
    model = model_of(system)
    network, found = model.unroll(4), model.smooth(rows_of(values))
    names = [[f"y{place + 1}[{t}]" for place in range(values.shape[1])] for t in range(4)]
    evidence = {
        name: float(values[t, place])
        for t, row in enumerate(names)
        for place, name in enumerate(row)
        if not np.isnan(values[t, place])
    }
    for t in range(4):
        states = [f"{name}[{t}]" for name in model.states]
        answer = network.moments(states, evidence=evidence)
        np.testing.assert_allclose(answer.mean, found.mean[t], rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(answer.covariance, found.covariance[t], rtol=1e-9, atol=1e-9)
    expected = network.log_probability(evidence) if evidence else 0.0
    assert model.log_likelihood(rows_of(values)) == pytest.approx(expected, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("form", ["joseph", "square-root"])
def test_without_noise_a_state_is_known_exactly(form):
    """Two exact numbers of a line tell position and speed: what follows is certain, and other rows are impossible."""
    line = pb.LinearDynamicalSystem(
        [[1, 1], [0, 1]], [[1, 0]], [0, 0], 0.0, [0, 0], [[4.0, 0], [0, 9.0]], observations=["at"], form=form
    )
    found = line.smooth([1.0, 3.0, None, 7.0])
    np.testing.assert_allclose(found.mean, [[1, 2], [3, 2], [5, 2], [7, 2]], atol=1e-12)
    np.testing.assert_allclose(found.covariance, 0.0, atol=1e-12)
    # N(1; 0, 4) N(3; 1, 9), and nothing to learn after that.
    expected = -np.log(2 * np.pi * 6) - 0.5 * (1 / 4 + 4 / 9)
    assert line.log_likelihood([1.0, 3.0, None, 7.0]) == pytest.approx(expected)
    steps = line.step_log_likelihoods([1.0, 3.0, 6.0, 7.0])
    assert steps[2] == -np.inf
    assert np.isnan(steps[3])
    with pytest.raises(ImpossibleEvidence, match="row 2"):
        line.filter([1.0, 3.0, 6.0, 7.0])


def test_no_observation_leaves_the_prior():
    """Where nothing is observed, smoothing gives the moments of the unconditioned path."""
    system = random_system(np.random.default_rng(3), 2, 1)
    model = model_of(system)
    found = model.smooth({"y1": [None] * 5})
    mean, covariance, *_ = joint_moments(system, 5)
    np.testing.assert_allclose(found.mean.ravel(), mean, atol=1e-12)
    for t in range(5):
        np.testing.assert_allclose(found.covariance[t], block(covariance, t, t, 2), atol=1e-12)
    assert model.log_likelihood({"y1": [None] * 5}) == 0.0


def test_what_no_row_tells_stays_infinite():
    """A diffuse state that is not observed has infinite variance, filtered and smoothed; the other one has not."""
    apart = pb.LinearDynamicalSystem(np.eye(2), [[1.0, 0.0]], [0.1, 0.1], 1.0)
    for found in (apart.filter([1.0, 2.0]), apart.smooth([1.0, 2.0])):
        assert np.isfinite(found.covariance[:, 0, 0]).all()
        assert np.isinf(found.covariance[:, 1, 1]).all()
        assert (found.covariance[:, 0, 1] == 0.0).all()
    assert np.isinf(apart.predict([1.0]).covariance[0, 1, 1])


@pytest.mark.parametrize(("form", "error"), [("joseph", 1e-5), ("square-root", 1e-9)])
def test_wide_priors_keep_small_variances(form, error):
    """Variances of some tenths come out of a prior with 1e12: the square-root form keeps ten digits of them."""
    trend = pb.models.local_linear_trend(0.1, 0.01, 1.0)
    rows = np.random.default_rng(0).normal(size=50).cumsum()
    wide = trend.with_parameters(initial_covariance=[1e12, 1e12], form=form).smooth(rows)
    np.testing.assert_allclose(wide.covariance, trend.smooth(rows).covariance, rtol=0, atol=error)
    np.testing.assert_allclose(wide.mean, trend.smooth(rows).mean, rtol=0, atol=error)


def test_drawn_paths_have_the_moments_of_the_smoother():
    """Means and covariances of many paths drawn given the rows lie within five standard errors of the exact ones."""
    system = random_system(np.random.default_rng(5), 2, 1)
    model, count = model_of(system), 4000
    values = random_values(np.random.default_rng(6), 4, 1)
    draws = model.sample_posterior(rows_of(values), count, seed=0)
    paths = np.stack([draws.values[name] for name in model.states], axis=2).reshape(count, 8)
    mean, covariance, _ = posterior(system, values)
    spread = np.sqrt(np.diag(covariance))
    assert (np.abs(paths.mean(axis=0) - mean) < 5 * spread / np.sqrt(count)).all()
    errors = np.sqrt((np.outer(spread, spread) ** 2 + covariance**2) / count)
    assert (np.abs(np.cov(paths.T) - covariance) < 5 * errors).all()


def test_samples_have_the_moments_of_the_model():
    """Many sequences drawn: states and observations of two steps have the joint mean and covariance."""
    system = random_system(np.random.default_rng(8), 2, 1)
    count = 20_000
    drawn = model_of(system).sample(2, seed=0, sequences=count)
    states = drawn[["x1", "x2"]].to_numpy().reshape(count, 4)
    mean, covariance, observed, spread, *_ = joint_moments(system, 2)
    assert (np.abs(states.mean(axis=0) - mean) < 5 * np.sqrt(np.diag(covariance) / count)).all()
    assert np.cov(states.T) == pytest.approx(covariance, rel=0.1, abs=0.1)
    values = drawn["y1"].to_numpy().reshape(count, 2)
    assert values.mean(axis=0) == pytest.approx(observed, abs=0.2)
    assert np.cov(values.T) == pytest.approx(spread, rel=0.1, abs=0.1)
