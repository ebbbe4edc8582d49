"""The M-step of linear dynamical systems: regressions on the expected moments of states, and a start by subspaces."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

import numpy as np

from plausible.base.arrays import Floats, Ints
from plausible.kernels.kalman_smoother import SmoothedSteps
from plausible.models import LinearDynamicalSystem


class SystemRows(NamedTuple):
    """Rows as they are learned from."""

    values: Floats  # NaN where missing
    inputs: Floats
    starts: Ints


class Moments(NamedTuple):
    """Σ y yᵀ, Σ y zᵀ and Σ z zᵀ of targets y and what they are regressed on, and how many there are."""

    targets: Floats
    across: Floats
    regressors: Floats
    number: float


def maximized(
    model: LinearDynamicalSystem,
    rows: SystemRows,
    smoothed: SmoothedSteps,
    fixed: Collection[str],
    diagonal: Collection[str],
) -> LinearDynamicalSystem:
    """The system of greatest expected log-likelihood; matrices named in `fixed` stay."""
    parts: dict[str, Any] = {}
    spread = smoothed.covariances + smoothed.means[:, :, None] * smoothed.means[:, None, :]
    lengths = np.diff(rows.starts)
    firsts = rows.starts[:-1][lengths > 0]
    later = np.ones(len(spread), dtype=bool)
    later[firsts] = False
    if later.any():
        moments = _transition_moments(rows, smoothed, spread, np.flatnonzero(later))
        old = np.hstack([model.transition, model.transition_input])
        parts |= regressed(moments, old, ("transition", "transition_input", "transition_noise"), model, fixed, diagonal)
    moments = observation_moments(model, rows, smoothed)
    old = np.hstack([model.observation, model.observation_input])
    names = ("observation", "observation_input", "observation_noise")
    parts |= regressed(moments, old, names, model, fixed, diagonal)
    if not len(model.initial.diffuse):
        mean = model.initial.mean if "initial_mean" in fixed else smoothed.means[firsts].mean(axis=0)
        around = smoothed.means[firsts] - mean
        covariance = smoothed.covariances[firsts].mean(axis=0) + around.T @ around / len(firsts)
        parts |= {"initial_mean": mean}
        if "initial_covariance" not in fixed:
            parts["initial_covariance"] = covariance_of(covariance, "initial_covariance" in diagonal)
    if not model.inputs:
        parts = {name: part for name, part in parts.items() if not name.endswith("_input")}
    return model.with_parameters(**parts)


def covariance_of(matrix: Floats, is_diagonal: bool) -> Floats:
    """A covariance without what rounding left below zero."""
    if is_diagonal:
        return np.diag(np.maximum(matrix.diagonal(), 0.0))
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    if values.min(initial=0.0) >= 0:
        return (matrix + matrix.T) / 2
    clipped: Floats = (vectors * np.maximum(values, 0.0)) @ vectors.T
    return (clipped + clipped.T) / 2


def regressed(
    moments: Moments,
    old: Floats,
    names: tuple[str, str, str],
    model: LinearDynamicalSystem,
    fixed: Collection[str],
    diagonal: Collection[str],
) -> dict[str, Floats]:
    """The coefficients of states and of inputs, and the covariance of what they leave."""
    size = len(model.states)
    free = np.array([names[0] not in fixed] * size + [names[1] not in fixed] * (old.shape[1] - size), dtype=bool)
    gains = old.copy()
    if free.any():
        known = gains[:, ~free] @ moments.regressors[np.ix_(~free, free)]
        gram = moments.regressors[np.ix_(free, free)]
        gains[:, free] = np.linalg.lstsq(gram, (moments.across[:, free] - known).T, rcond=None)[0].T
    parts = {names[0]: gains[:, :size], names[1]: gains[:, size:]}
    if names[2] not in fixed:
        both = gains @ moments.across.T
        left = moments.targets - both - both.T + gains @ moments.regressors @ gains.T
        parts[names[2]] = covariance_of(left / moments.number, names[2] in diagonal)
    return parts


def _transition_moments(rows: SystemRows, smoothed: SmoothedSteps, spread: Floats, later: Ints) -> Moments:
    means, inputs = smoothed.means, rows.inputs[later]
    lag = smoothed.lags[later].sum(axis=0) + means[later].T @ means[later - 1]
    states_inputs = means[later - 1].T @ inputs
    regressors = np.block([[spread[later - 1].sum(axis=0), states_inputs], [states_inputs.T, inputs.T @ inputs]])
    across = np.hstack([lag, means[later].T @ inputs])
    return Moments(spread[later].sum(axis=0), across, regressors, float(len(later)))


def observation_moments(
    model: LinearDynamicalSystem, rows: SystemRows, smoothed: SmoothedSteps, shares: Floats | None = None
) -> Moments:
    """Missing numbers are what the state and the other numbers of their row say of them; `shares` weigh the rows."""
    size, num = len(model.states), len(model.observations)
    width = size + rows.inputs.shape[1]
    targets, across, regressors = np.zeros((num, num)), np.zeros((num, width)), np.zeros((width, width))
    seen = ~np.isnan(rows.values)
    patterns, which = np.unique(seen, axis=0, return_inverse=True)
    weights = np.ones(len(rows.values)) if shares is None else shares
    total = 0.0
    for number, is_seen in enumerate(patterns):
        chosen = np.flatnonzero(which.reshape(-1) == number)
        if not is_seen.any():  # says nothing of the observation
            continue
        own, inputs, means = weights[chosen], rows.inputs[chosen], smoothed.means[chosen]
        fixed_part, gain, left = _completed(model, rows.values[chosen], inputs, is_seen)
        covariance = np.tensordot(own, smoothed.covariances[chosen], 1)
        expected = fixed_part + means @ gain.T
        weighted, both = (expected * own[:, None]).T, (means * own[:, None]).T @ inputs
        total += float(own.sum())
        targets += weighted @ expected + gain @ covariance @ gain.T + own.sum() * left
        across += np.hstack([weighted @ means + gain @ covariance, weighted @ inputs])
        second = covariance + (means * own[:, None]).T @ means
        regressors += np.block([[second, both], [both.T, (inputs * own[:, None]).T @ inputs]])
    return Moments(targets, across, regressors, total or 1.0)


def _completed(
    model: LinearDynamicalSystem, values: Floats, inputs: Floats, seen: Any
) -> tuple[Floats, Floats, Floats]:
    """y = fixed part + gain · x + e for rows of which the same numbers are seen, and the covariance of e."""
    noise, lost = model.observation_noise, ~seen
    shares = np.linalg.lstsq(noise[np.ix_(seen, seen)], noise[np.ix_(seen, lost)], rcond=None)[0].T
    fixed_part, gain = np.where(np.isnan(values), 0.0, values), np.zeros(model.observation.shape)
    moved = inputs @ model.observation_input.T
    fixed_part[:, lost] = moved[:, lost] + (values[:, seen] - moved[:, seen]) @ shares.T
    gain[lost] = model.observation[lost] - shares @ model.observation[seen]
    left = np.zeros(noise.shape)
    left[np.ix_(lost, lost)] = noise[np.ix_(lost, lost)] - shares @ noise[np.ix_(seen, lost)]
    return fixed_part, gain, left


# --- a start ---


def subspace_start(
    rows: SystemRows, num_latent: int, names: dict[str, Any], rng: np.random.Generator | None
) -> LinearDynamicalSystem:
    """A system from the covariances between past and future numbers (Van Overschee & De Moor 1996), or a random one."""
    values = np.where(np.isnan(rows.values), 0.0, rows.values)
    num = values.shape[1]
    depth = max(2, -(-num_latent // num) + 1)
    blocks = [
        np.hstack([values[first + k : last - 2 * depth + 1 + k] for k in range(2 * depth)])
        for first, last in zip(rows.starts[:-1], rows.starts[1:], strict=True)
        if last - first >= 2 * depth
    ]
    windows = np.vstack(blocks) if blocks else np.zeros((0, 2 * depth * num))
    scale = float(np.sqrt((values**2).mean())) or 1.0
    if rng is not None or len(windows) < 4 * num_latent:
        draw = rng or np.random.default_rng(0)
        rotation = np.linalg.qr(draw.normal(size=(num_latent, num_latent)))[0]
        transition, observation = 0.9 * rotation, scale * draw.normal(size=(num, num_latent))
    else:
        past, future = windows[:, : depth * num], windows[:, depth * num :]
        left, sizes, _ = np.linalg.svd(future.T @ past / len(windows))
        observability = left[:, :num_latent] * np.sqrt(np.maximum(sizes[:num_latent], 1e-12 * sizes[0]))
        observation = observability[:num]
        transition = np.linalg.lstsq(observability[:-num], observability[num:], rcond=None)[0]
    radius = float(np.abs(np.linalg.eigvals(transition)).max(initial=0.0))
    transition = transition * min(1.0, 0.98 / radius) if radius > 0 else transition
    inputs: dict[str, Any] = {}
    if rows.inputs.shape[1]:
        inputs = {
            "transition_input": np.zeros((num_latent, rows.inputs.shape[1])),
            "observation_input": np.linalg.lstsq(rows.inputs, values, rcond=None)[0].T,
        }
    spread = scale**2 / max(float((observation**2).mean()) * num_latent, 1e-12 * scale**2)
    return LinearDynamicalSystem(
        transition,
        observation,
        np.full(num_latent, 0.3 * spread),
        np.full(num, 0.5 * scale**2),
        np.zeros(num_latent),
        np.full(num_latent, spread),
        **inputs,
        **names,
    )
