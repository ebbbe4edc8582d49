"""Switching linear systems beside the sum over all courses of modes, each with its joint Gaussian."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy.stats import multivariate_normal

import plausible as pb
from plausible.errors import InvalidModel, TooLarge
from plausible.models import GPB2, IMM, Exact, RaoBlackwellised, SwitchingLinearDynamicalSystem

ENGINES = [Exact(), GPB2(), IMM(), RaoBlackwellised(50)]


def system(rng: np.random.Generator, size: int = 2, seen: int = 2, scale: float = 1.0) -> pb.LinearDynamicalSystem:
    def spread(number: int) -> np.ndarray:
        root = rng.normal(size=(number, number))
        return scale * root @ root.T + 0.1 * np.eye(number)

    transition, observation = rng.normal(size=(size, size)) / 2, rng.normal(size=(seen, size))
    mean = rng.normal(size=size)
    return pb.LinearDynamicalSystem(transition, observation, spread(size), spread(seen), mean, spread(size))


def model(seed: int, num: int = 2, engine: object = "auto") -> SwitchingLinearDynamicalSystem:
    rng = np.random.default_rng(seed)
    transition = rng.dirichlet(np.ones(num), size=num)
    return SwitchingLinearDynamicalSystem(
        rng.dirichlet(np.ones(num)), transition, [system(rng) for _ in range(num)], engine=engine
    )


def rows_of(switching: SwitchingLinearDynamicalSystem, length: int, seed: int) -> pd.DataFrame:
    rows = switching.sample(length, seed=seed)[["y1", "y2"]]
    rows.iloc[1 % length, 0] = np.nan
    if length > 2:
        rows.iloc[2] = np.nan
    return rows


def enumerated(switching: SwitchingLinearDynamicalSystem, rows: np.ndarray) -> dict[str, object]:
    """The mode probabilities, moments and likelihood, from one joint Gaussian for each course of modes."""
    length, size, num = len(rows), len(switching.states), len(switching.modes)
    weights, means, spreads, courses = [], [], [], []
    for course in itertools.product(range(num), repeat=length):
        chance = switching.initial[course[0]]
        for one, other in itertools.pairwise(course):
            chance *= switching.switch_transition[one, other]
        if chance == 0.0:
            continue
        parts = [switching.systems[mode] for mode in course]
        # x = mean + L e, with e the independent noises of all steps
        mean, lift = np.zeros(length * size), np.zeros((length * size, length * size))
        noise = np.zeros((length * size, length * size))
        for t, part in enumerate(parts):
            here, before = slice(t * size, (t + 1) * size), slice((t - 1) * size, t * size)
            lift[here, here] = np.eye(size)
            noise[here, here] = part.transition_noise if t else part.initial_covariance
            mean[here] = part.transition @ mean[before] if t else part.initial_mean
            if t:
                lift[here] += part.transition @ lift[before]
        covariance = lift @ noise @ lift.T
        seen = ~np.isnan(rows.reshape(-1))
        observe = np.zeros((rows.size, length * size))
        error = np.zeros((rows.size, rows.size))
        wide = rows.shape[1]
        for t, part in enumerate(parts):
            observe[t * wide : (t + 1) * wide, t * size : (t + 1) * size] = part.observation
            error[t * wide : (t + 1) * wide, t * wide : (t + 1) * wide] = part.observation_noise
        observe, error, values = observe[seen], error[np.ix_(seen, seen)], rows.reshape(-1)[seen]
        log = 0.0
        if seen.any():
            spread = observe @ covariance @ observe.T + error
            log = multivariate_normal.logpdf(values, observe @ mean, spread)
            gain = covariance @ observe.T @ np.linalg.inv(spread)
            mean = mean + gain @ (values - observe @ mean)
            covariance = covariance - gain @ observe @ covariance
        weights.append(np.log(chance) + log)
        means.append(mean)
        spreads.append(covariance)
        courses.append(course)
    total = np.logaddexp.reduce(weights)
    share = np.exp(np.array(weights) - total)
    center = share @ np.array(means)
    spread = sum(w * (c + np.outer(m - center, m - center)) for w, m, c in zip(share, means, spreads, strict=True))
    best = int(np.argmax(weights))
    return {
        "likelihood": total,
        "best": (courses[best], weights[best]),
        "modes": np.array([[share[[c[t] == k for c in courses]].sum() for k in range(num)] for t in range(length)]),
        "mean": center.reshape(length, size),
        "covariance": np.array([spread[t * size : (t + 1) * size, t * size : (t + 1) * size] for t in range(length)]),
    }


def test_exact_answers_are_the_sum_over_all_courses() -> None:
    """Smoothing, filtering (the last step of each prefix), the likelihood and the best course; cells are missing."""
    for seed, num, length in ((0, 2, 5), (1, 3, 4), (2, 2, 1), (3, 1, 4)):
        switching = model(seed, num, Exact())
        rows = rows_of(switching, length, seed)
        expected = enumerated(switching, rows.to_numpy())
        found, filtered = switching.smooth(rows), switching.filter(rows)
        np.testing.assert_allclose(found.probabilities, expected["modes"], atol=1e-11)
        np.testing.assert_allclose(found.mean, expected["mean"], atol=1e-10)
        np.testing.assert_allclose(found.covariance, expected["covariance"], atol=1e-10)
        assert switching.log_likelihood(rows) == pytest.approx(expected["likelihood"], abs=1e-10)
        course, log_probability = expected["best"]
        best = switching.mpe(rows)
        assert (best.states, best.log_probability) == (course, pytest.approx(log_probability, abs=1e-10))
        for t in range(length):
            prefix = enumerated(switching, rows.to_numpy()[: t + 1])
            np.testing.assert_allclose(filtered.probabilities[t], prefix["modes"][t], atol=1e-11)
            np.testing.assert_allclose(filtered.mean[t], prefix["mean"][t], atol=1e-10)
            np.testing.assert_allclose(filtered.covariance[t], prefix["covariance"][t], atol=1e-10)


@pytest.mark.parametrize("engine", ENGINES, ids=repr)
def test_one_mode_is_a_linear_system(engine: object) -> None:
    """Whatever the engine, particles included: with one mode nothing is approximated."""
    switching = model(4, 1, engine)
    (alone,) = switching.systems
    rows = rows_of(switching, 12, 4) if not isinstance(engine, Exact) else rows_of(switching, 5, 4)
    for ask in ("filter", "smooth", "predict"):
        found, expected = getattr(switching, ask)(rows), getattr(alone, ask)(rows)
        np.testing.assert_allclose(found.mean, expected.mean, atol=1e-9)
        np.testing.assert_allclose(found.covariance, expected.covariance, atol=1e-9)
    assert switching.log_likelihood(rows) == pytest.approx(alone.log_likelihood(rows), abs=1e-9)
    for name, table in alone.forecast(rows, 3).items():
        np.testing.assert_allclose(switching.forecast(rows, 3)[name], table, atol=1e-9)


@pytest.mark.parametrize("engine", ENGINES, ids=repr)
def test_zeros_of_the_chain_leave_one_course(engine: object) -> None:
    """A chain that must alternate has one course: every engine is exact, and the modes are certain."""
    both = model(5).systems
    switching = SwitchingLinearDynamicalSystem([0, 1], [[0, 1], [1, 0]], both, ["a", "b"], engine=engine)
    rows = rows_of(switching, 6, 5)
    expected, found = enumerated(switching, rows.to_numpy()), switching.smooth(rows)
    np.testing.assert_allclose(found.probabilities, [[0, 1], [1, 0]] * 3, atol=1e-12)
    np.testing.assert_allclose(found.mean, expected["mean"], atol=1e-9)
    assert switching.log_likelihood(rows) == pytest.approx(expected["likelihood"], abs=1e-9)
    assert list(switching.mpe(rows)) == ["b", "a"] * 3


@pytest.mark.parametrize(
    ("engine", "error", "log_error"),
    [(GPB2(), 0.06, 0.03), (IMM(), 0.06, 0.35), (RaoBlackwellised(3000, 1), 0.03, 0.03)],
    ids=["GPB2", "IMM", "particles"],
)
def test_approximations_are_near(engine: object, error: float, log_error: float) -> None:
    """On random models, P(mode) of filters and smoothers is near the exact one, and so is the likelihood."""
    for seed in range(3):
        switching = model(seed)
        rows = rows_of(switching, 6, seed)
        near = switching.with_engine(engine)
        for ask in ("filter", "smooth"):
            exact, found = getattr(switching.with_engine(Exact()), ask)(rows), getattr(near, ask)(rows)
            assert (exact.is_exact, found.is_exact) == (True, False)
            assert np.abs(found.probabilities - exact.probabilities).max() < error
        assert near.log_likelihood(rows) == pytest.approx(switching.log_likelihood(rows), abs=log_error)


def test_particles_estimate_the_likelihood_without_bias() -> None:
    """The mean of exp(estimate) over seeds is the likelihood, within four standard errors."""
    switching = model(6)
    rows = rows_of(switching, 5, 6)
    logs = [switching.with_engine(RaoBlackwellised(20, seed)).log_likelihood(rows) for seed in range(200)]
    ratios = np.exp(np.array(logs) - switching.log_likelihood(rows))
    assert abs(ratios.mean() - 1.0) < 4 * ratios.std() / np.sqrt(len(ratios))
    sizes = switching.with_engine(RaoBlackwellised(20)).filter(rows).effective_sizes
    assert ((sizes >= 1.0) & (sizes <= 20.0 + 1e-9)).all()


def test_the_first_row_and_rows_without_anything_are_exact() -> None:
    """One row is the sum over modes; where nothing is seen, the chain alone says the modes."""
    for engine in (GPB2(), IMM()):
        switching = model(7, 3, engine)
        rows = rows_of(switching, 1, 7)
        expected = enumerated(switching, rows.to_numpy())
        np.testing.assert_allclose(switching.smooth(rows).mean, expected["mean"], atol=1e-11)
        empty = pd.DataFrame(np.full((3, 2), np.nan), columns=["y1", "y2"])
        chain = switching.initial @ np.linalg.matrix_power(switching.switch_transition, 2)
        np.testing.assert_allclose(switching.smooth(empty).probabilities[2], chain, atol=1e-12)
        np.testing.assert_allclose(
            switching.smooth(empty).mean[2], enumerated(switching, empty.to_numpy())["mean"][2], atol=1e-11
        )


def test_the_beam_tells_the_exact_probability_of_its_course() -> None:
    """The course of `mpe` with an approximating engine is no better than the best, and its weight is its own."""
    switching = model(8)
    rows = rows_of(switching, 6, 8)
    near, best = switching.with_engine(GPB2()).mpe(rows), switching.mpe(rows)
    assert near.log_probability <= best.log_probability + 1e-12
    only = SwitchingLinearDynamicalSystem([1.0], [[1.0]], [switching.systems[0]])
    assert only.mpe(rows).log_probability == pytest.approx(switching.systems[0].log_likelihood(rows), abs=1e-10)


def test_forecasts_have_the_probability_they_claim() -> None:
    """Of draws of the next row of a mixture, the share in the interval is its level, half of the rest on each side."""
    switching = SwitchingLinearDynamicalSystem(
        [0.3, 0.7],
        [[1, 0], [0, 1]],
        [pb.LinearDynamicalSystem(1.0, 1.0, 1.0, 1.0, mean, 1.0) for mean in (-5.0, 5.0)],
    )
    table = switching.forecast(pd.DataFrame({"y1": np.zeros(0)}), 1, level=0.8)["y1"]
    drawn = switching.sample(1, seed=0, sequences=20_000)["y1"]
    assert (drawn < table["lower"].iloc[0]).mean() == pytest.approx(0.1, abs=0.01)
    assert (drawn > table["upper"].iloc[0]).mean() == pytest.approx(0.1, abs=0.01)


def test_what_can_not_switch_is_refused() -> None:
    """Other states, diffuse starts, no noise, too many courses."""
    one, wide = system(np.random.default_rng(0)), system(np.random.default_rng(0), size=3)
    half = [[0.5, 0.5], [0.5, 0.5]]
    with pytest.raises(InvalidModel, match="other states"):
        SwitchingLinearDynamicalSystem([0.5, 0.5], half, [one, wide])
    with pytest.raises(InvalidModel, match="infinite variance"):
        SwitchingLinearDynamicalSystem([1.0], [[1.0]], [one.with_parameters(initial_covariance="diffuse")])
    with pytest.raises(InvalidModel, match="without noise"):
        SwitchingLinearDynamicalSystem([1.0], [[1.0]], [one.with_parameters(observation_noise=[0.0, 1.0])])
    switching = SwitchingLinearDynamicalSystem([0.5, 0.5], half, [one, one], engine=Exact(max_histories=30))
    with pytest.raises(TooLarge, match="2\\^5 courses"):
        switching.filter(rows_of(switching, 5, 0))
    assert isinstance(switching.with_engine("auto").engine_for(10), GPB2)
