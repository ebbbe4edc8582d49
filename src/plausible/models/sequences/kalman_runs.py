"""The Kalman filter and smoother on arrays: room for what the kernels write, and what they say."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from plausible.base.arrays import Flags, Floats, Ints
from plausible.kernels.kalman import FilteredSteps, filter_sequences, mirror_sequences, new_room, walk
from plausible.kernels.kalman_beliefs import KalmanSystem
from plausible.kernels.kalman_smoother import KnownSteps, SmoothedSteps, new_backward, smooth_sequences
from plausible.models.sequences.system_matrices import root_of


class ObservedNumbers(NamedTuple):
    """What is observed of sequences that lie one after the other."""

    values: Floats  # less what inputs add, NaN where missing
    offsets: Floats  # what inputs add to the state of each step; empty where there are none
    starts: Ints

    def of_sequence(self, number: int) -> ObservedNumbers:
        """One of the sequences."""
        span = slice(int(self.starts[number]), int(self.starts[number + 1]))
        return ObservedNumbers(self.values[span], self.offsets[span], np.array([0, span.stop - span.start]))


def filtered(system: KalmanSystem, observed: ObservedNumbers) -> FilteredSteps:
    """What is known of each step after its observation."""
    steps = _kept(system, len(observed.values), len(observed.values))
    mirrors, room = _mirrors(system, observed), new_room(system)
    filter_sequences(system, *observed, mirrors, True, room, steps)
    if mirrors.any():
        mirror_sequences(system, *observed, mirrors, room, steps)
    return steps


def log_densities(system: KalmanSystem, observed: ObservedNumbers) -> Floats:
    """log p(o_t | o_1 ... o_t-1) of each step, in little memory."""
    steps = _kept(system, len(observed.values), 1)
    mirrors = np.zeros(len(observed.starts) - 1, dtype=bool)
    filter_sequences(system, *observed, mirrors, False, new_room(system), steps)
    return steps.log_densities


def impossible_once(logs: Floats, starts: Ints) -> Floats:
    """Log-densities of steps, NaN after the first of its sequence that is impossible."""
    for first, last in pairwise(starts) if np.isneginf(logs).any() else ():
        is_impossible = np.isneginf(logs[first:last])
        if is_impossible.any():
            logs[first + int(np.argmax(is_impossible)) + 1 : last] = np.nan
    return logs


def smoothed(
    system: KalmanSystem,
    observed: ObservedNumbers,
    *,
    lags: bool = False,
    covariances: bool = True,
    check: Callable[[Floats], None] = lambda _: None,
) -> tuple[FilteredSteps, SmoothedSteps]:
    """What is known of each step after all observations; `check` sees the log-densities before the way back."""
    steps, num_steps, size = filtered(system, observed), len(observed.values), len(system.mean)
    check(steps.log_densities)
    answer = SmoothedSteps(
        np.empty((num_steps, size)),
        np.empty((num_steps if covariances else 0, size, size)),
        np.zeros((num_steps if lags else 0, size, size)),
    )
    back, mirrors = new_backward(system), _mirrors(system, observed)
    known = KnownSteps(steps.means, steps.covariances, steps.diffuse, steps.ranks, steps.is_steady)
    moves = system.transition, system.transition_noise, observed.offsets
    smooth_sequences(*moves, observed.starts, mirrors, back, known, answer)
    return steps, answer


def drawn(
    system: KalmanSystem, length: int, count: int, rng: np.random.Generator, offsets: Floats | None = None
) -> tuple[Floats, Floats]:
    """States and observations of sequences of a length; without offsets, noise alone, as if all means were zero.

    Diffuse parts of the start are zero.
    """
    size, num = len(system.mean), system.observation.shape[1]
    noise = rng.normal(size=(count, length, size + num))
    states = np.empty((count, length, size))
    for step, covariance in enumerate(system.transition_noise[:length]):
        states[:, step:] = noise[:, step:, :size] @ root_of(covariance)
    states[:, :1] = noise[:, :1, :size] @ root_of(system.covariance)
    flat = states.reshape(count * length, size)
    if offsets is not None:
        flat += offsets
    walk(system.transition, np.arange(count + 1, dtype=np.int64) * length, flat)
    errors = noise.reshape(count * length, size + num)[:, size:] @ root_of(system.observation_noise[0])
    return flat, flat @ system.observation[0].T + errors


def drawn_given(system: KalmanSystem, observed: ObservedNumbers, count: int, rng: np.random.Generator) -> Floats:
    """Paths of states given all observations: axes (step, path, state).

    A path of noise, and what the smoother says of the observations less those of the path (Durbin & Koopman 2002).
    """
    paths = np.empty((len(observed.values), count, len(system.mean)))
    for number, (first, last) in enumerate(pairwise(observed.starts.tolist())):
        part, length = observed.of_sequence(number), last - first
        states, values = drawn(system, length, count, rng)
        repeated = ObservedNumbers(
            np.tile(part.values, (count, 1)) - values,
            np.tile(part.offsets, (count, 1)),
            np.arange(count + 1, dtype=np.int64) * length,
        )
        _, answer = smoothed(system, repeated, covariances=False)
        paths[first:last] = (states + answer.means).reshape(count, length, -1).transpose(1, 0, 2)
    return paths


def _kept(system: KalmanSystem, num_steps: int, num_kept: int) -> FilteredSteps:
    size, num, rank = len(system.mean), system.observation.shape[1], len(system.diffuse)
    return FilteredSteps(
        np.empty((num_kept, size)),
        np.empty((num_kept, size, size)),
        np.empty(num_steps),
        np.zeros((num_kept, rank, size)),  # memory that is not touched is not taken
        np.zeros(num_kept, dtype=np.int64),
        np.zeros(num_kept, dtype=bool),
        np.empty((num_kept, num)),
        np.empty((num_kept, num)),
        np.empty((num_kept, num, size)),
    )


def _mirrors(system: KalmanSystem, observed: ObservedNumbers) -> Flags:
    """Which sequences see the same numbers as the one before them, so that their covariances are the same.

    Only where noise is on every number, so that none can be impossible, and no variance is infinite.
    """
    starts, num_sequences = observed.starts, len(observed.starts) - 1
    mirrors = np.zeros(num_sequences, dtype=bool)
    noise = system.observation_noise
    if num_sequences < 2 or len(system.diffuse) or len(noise) > 1 or not _is_definite(noise[0]):
        return mirrors
    is_missing, lengths = np.isnan(observed.values), np.diff(starts)
    if (lengths == lengths[0]).all():
        blocks = is_missing.reshape(num_sequences, -1)
        mirrors[1:] = (blocks[1:] == blocks[:-1]).all(axis=1)
        return mirrors
    for number in np.flatnonzero(lengths[1:] == lengths[:-1]) + 1:
        before, begin, end = starts[number - 1], starts[number], starts[number + 1]
        mirrors[number] = np.array_equal(is_missing[before:begin], is_missing[begin:end])
    return mirrors


def _is_definite(noise: Floats) -> bool:
    return bool(np.linalg.eigvalsh(noise).min(initial=1.0) > 1e-12 * noise.diagonal().max(initial=0.0))
