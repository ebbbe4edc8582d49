"""Answers that follow from filtered steps: states to come, forecasts, innovations, the steady state."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from plausible.base.arrays import Floats, Ints
from plausible.base.remedies import Argument, Remedy
from plausible.data.sequences import Sequences
from plausible.errors import NotSupported
from plausible.kernels.kalman import FilteredSteps
from plausible.kernels.kalman_beliefs import KalmanSystem
from plausible.models.sequences.kalman_runs import ObservedNumbers, filtered
from plausible.models.sequences.state_estimates import SteadyState, width_of

if TYPE_CHECKING:
    import pandas as pd

#: An infinite variance below this share of the largest one is rounding: what is left after observations.
_NOTHING = 1e-18
#: What is told of a number to come.
FORECAST_COLUMNS = ("mean", "lower", "upper")


def with_infinite(covariances: Floats, infinite: Floats) -> Floats:
    """Covariances with plus or minus infinity wherever their infinite part is not zero."""
    if not infinite.any():
        return covariances
    spread = np.diagonal(infinite, axis1=-2, axis2=-1)
    spread = np.where(spread > _NOTHING * spread.max(axis=-1, keepdims=True), spread, 0.0)
    scale = np.sqrt(spread[..., :, None] * spread[..., None, :])
    shares = np.divide(infinite, scale, out=np.zeros_like(infinite), where=scale > 0)
    with np.errstate(invalid="ignore"):
        return np.where(np.abs(shares) > 1e-9, np.copysign(np.inf, shares), covariances)


def told_covariances(steps: FilteredSteps) -> Floats:
    """The covariances after each observation, infinite where nothing is known yet."""
    is_diffuse = steps.ranks > 0
    if not is_diffuse.any():
        return steps.covariances
    told, directions = steps.covariances.copy(), steps.diffuse[is_diffuse]
    told[is_diffuse] = with_infinite(told[is_diffuse], np.einsum("tki,tkj->tij", directions, directions))
    return told


def states_ahead(system: KalmanSystem, steps: FilteredSteps, starts: Ints, offsets: Floats) -> tuple[Floats, Floats]:
    """Means and covariances after the last step of each sequence, a step for each offset."""
    num_sequences, num_ahead, size = len(starts) - 1, len(offsets), len(system.mean)
    transition, noise = system.transition[0], system.transition_noise[0]
    last, is_empty = np.maximum(starts[1:] - 1, 0), np.diff(starts) == 0
    mean, covariance = np.tile(system.mean, (num_sequences, 1)), np.tile(system.covariance, (num_sequences, 1, 1))
    directions = np.tile(system.diffuse, (num_sequences, 1, 1))
    full = ~is_empty
    mean[full], covariance[full] = steps.means[last[full]], steps.covariances[last[full]]
    directions[full] = steps.diffuse[last[full]]
    means, covariances = np.empty((num_sequences, num_ahead, size)), np.empty((num_sequences, num_ahead, size, size))
    for number in range(num_ahead):
        moves = full if number == 0 else np.ones(num_sequences, dtype=bool)  # empty sequences have yet to begin
        mean[moves] = mean[moves] @ transition.T + offsets[number]
        moved = transition @ covariance[moves] @ transition.T + noise
        covariance[moves] = (moved + moved.swapaxes(1, 2)) / 2
        directions[moves] = directions[moves] @ transition.T
        means[:, number] = mean
        covariances[:, number] = with_infinite(covariance, directions.swapaxes(1, 2) @ directions)
    return means, covariances


def observed_variances(observation: Floats, covariances: Floats) -> Floats:
    """Variances of C x; infinite where a state that matters is unknown."""
    is_known = np.isfinite(covariances)
    finite = np.einsum("oi,...ij,oj->...o", observation, np.where(is_known, covariances, 0.0), observation)
    if is_known.all():
        return np.asarray(finite)
    signs = np.where(is_known, 0.0, np.sign(covariances))
    infinite = np.einsum("oi,...ij,oj->...o", observation, signs, observation)
    return np.where(infinite > 1e-9, np.inf, finite)


def forecasts(
    sequences: Sequences, names: Sequence[str], centers: Floats, variances: Floats, level: float
) -> dict[str, pd.DataFrame]:
    """Column -> mean, lower and upper end of each step to come."""
    width = width_of(level) * np.sqrt(variances)
    told = np.stack([centers, centers - width, centers + width], axis=-1)
    return {name: sequences.ahead(told[:, :, place], FORECAST_COLUMNS) for place, name in enumerate(names)}


def innovations(system: KalmanSystem, observed: ObservedNumbers, steps: FilteredSteps) -> tuple[Floats, Floats]:
    """What each number has beyond its forecast from the step before, as it is and standardised; NaN where unknown."""
    values, starts = observed.values, observed.starts
    standardized = np.full(values.shape, np.nan)
    num_seen = (~np.isnan(values)).sum(axis=1)
    is_seen = ~np.isnan(values)
    ordered = np.arange(values.shape[1]) < num_seen[:, None]
    rank_before = np.append(len(system.diffuse), steps.ranks[:-1]) if len(values) else np.zeros(0, dtype=np.int64)
    firsts = starts[:-1][np.diff(starts) > 0]
    rank_before[firsts] = len(system.diffuse)
    with np.errstate(invalid="ignore"):
        told = np.where(np.isfinite(steps.variances), steps.surprises / np.sqrt(steps.variances), np.nan)
    standardized[is_seen] = told[ordered]
    standardized[rank_before > 0] = np.nan  # some of these have infinite variance
    transition, offsets = system.transition[0], observed.offsets
    before = np.empty_like(steps.means)
    before[1:] = steps.means[:-1] @ transition.T + (offsets[1:] if len(offsets) else 0.0)
    before[firsts] = system.mean
    raw = values - before @ system.observation[0].T
    raw[rank_before > 0] = np.nan
    return raw, standardized


def steady_state(system: KalmanSystem, max_steps: int) -> SteadyState:
    """Filter rows that do not matter until the covariance repeats."""
    num_steps, size = 64, system.observation.shape[1]
    while True:
        values = np.zeros((num_steps, size))
        steps = filtered(system, ObservedNumbers(values, np.zeros((0, len(system.mean))), np.array([0, num_steps])))
        if steps.is_steady[-1]:
            break
        if num_steps >= max_steps:
            raise NotSupported(
                f"The covariance has not settled after {num_steps} steps: without noise on the states it shrinks for "
                "ever, and what is not observed may grow.",
                remedies=[Remedy("raise ", Argument("max_steps"))],
            )
        num_steps = min(4 * num_steps, max_steps)
    covariance, noise = steps.covariances[-1], system.observation_noise[0]
    transition, observation = system.transition[0], system.observation[0]
    before = transition @ covariance @ transition.T + system.transition_noise[0]
    before = (before + before.T) / 2
    spread = observation @ before @ observation.T + noise
    gain = np.linalg.lstsq(spread, observation @ before, rcond=None)[0].T
    return SteadyState(covariance, before, gain, spread, int(np.argmax(steps.is_steady)))
