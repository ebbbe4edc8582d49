"""Linear dynamical systems: what all observations say of each step, from the last step back to the first.

Given the state of the next step, the later observations say nothing more of a state. So the next state is taken for an
observation of it, number by number, as the filter takes what is observed: x_t = m + J (x_t+1 - A m) + e. This gives the
smoother of Rauch, Tung & Striebel (1965) as a sum of covariances, without inverses and without differences, whether
these are singular, wide, or infinite.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from plausible.base.arrays import Flags, Floats, Ints
from plausible.kernels.jit import kernel, twin_of
from plausible.kernels.kalman import (
    Belief,
    FilteredSteps,
    KalmanSystem,
    Space,
    View,
    make_independent,
    new_space,
    observe,
)
from plausible.kernels.small_matrices import add_outer, differ, sandwich, transform
from plausible.kernels.vectors import add_scaled

#: Covariances of steps side by side that differ by no more are the same.
_ROOM = 4 * 2.220446049250313e-16
#: A correlation of infinite parts that is smaller is rounding.
_PARALLEL = 1e-9


class SmoothedSteps(NamedTuple):
    """What all observations say of each step."""

    means: Floats
    covariances: Floats  # empty where only means are asked for
    lags: Floats  # [t, i, j] = Cov(x_t i, x_t-1 j); may be empty, those of first steps are zero


class Backward(NamedTuple):
    """What is known of a step given the step after it, and room for intermediate results."""

    noise: View  # of a transition, made independent
    belief: Belief  # the noise e; its mean is not used
    gain: Floats  # J
    covariance: Floats  # of the latest step that was smoothed, but for its infinite part
    infinite: Floats
    before: Floats
    work: Floats
    space: Space


@kernel
def _new_backward(system: KalmanSystem) -> Backward:
    size = len(system.mean)
    view = View(
        np.ones(size, dtype=np.bool_), np.zeros((size, size)), np.zeros(size), np.zeros((size, size)), np.zeros(size)
    )
    belief = Belief(np.zeros(size), np.zeros((size, size)), np.zeros((0, 0)), system.diffuse.copy())
    gain, covariance, infinite = np.zeros((size, size)), np.zeros((size, size)), np.zeros((size, size))
    return Backward(
        view, belief, gain, covariance, infinite, np.zeros((size, size)), np.zeros((size, size)), new_space(system)
    )


@kernel
def _add_directions(diffuse: Floats, rank: int, out: Floats) -> None:
    """Add the infinite part of a covariance."""
    for k in range(rank):
        add_outer(out, diffuse[k], diffuse[k], 1.0)


@kernel
def _look_back(system: KalmanSystem, step: int, t: int, steps: FilteredSteps, back: Backward) -> int:
    """Learn the state of step t from that of the next, whose number in its sequence is `step`: J, and what is left.

    Tells the number of directions that stay infinite.
    """
    noise, belief, gain, rank = back.noise, back.belief, back.gain, int(steps.ranks[t])
    if len(system.transition) > 1 or len(system.transition_noise) > 1:
        number = step if len(system.transition_noise) > 1 else 0
        rows = system.transition[step if len(system.transition) > 1 else 0]
        make_independent(rows, system.transition_noise[number], noise)
    belief.mean[:] = 0.0
    belief.covariance[:] = steps.covariances[t]
    for k in range(rank):
        belief.diffuse[k] = steps.diffuse[t, k]
    size, learned = len(gain), back.space.before
    gain[:] = 0.0
    for i in range(size):
        row, column = noise.rows[i], learned[i]
        _, _, _, rank = observe(belief, rank, row, noise.noises[i], 0.0, column, back.space)
        transform(gain, row, back.space.direction)  # rows of `gain` are columns of J for now
        for k in range(i):
            add_scaled(gain[k], column, -back.space.direction[k])
        gain[i] = column
    for i in range(size - 1, -1, -1):
        for k in range(i + 1, size):
            add_scaled(gain[i], gain[k], -noise.lower[k, i])
    for i in range(size):
        for j in range(i):
            gain[i, j], gain[j, i] = gain[j, i], gain[i, j]
    return rank


@kernel
def _smooth_means(
    transition: Floats, gain: Floats, offsets: Floats, t: int, steps: FilteredSteps, means: Floats
) -> None:
    """The mean of a step: m + J (mean of the next step - A m - offset)."""
    size = len(gain)
    for i in range(size):
        means[t, i] = steps.means[t, i]
    for j in range(size):
        surprise = means[t + 1, j]
        for k in range(size):
            surprise -= transition[j, k] * steps.means[t, k]
        if len(offsets):
            surprise -= offsets[t + 1, j]
        for i in range(size):
            means[t, i] += gain[i, j] * surprise


@twin_of(_smooth_means)
def _smooth_means_at_once(
    transition: Floats, gain: Floats, offsets: Floats, t: int, steps: FilteredSteps, means: Floats
) -> None:
    surprise = means[t + 1] - transition @ steps.means[t] - (offsets[t + 1] if len(offsets) else 0.0)
    means[t] = steps.means[t] + gain @ surprise


@kernel
def _smooth_covariance(t: int, rank: int, back: Backward, smoothed: SmoothedSteps) -> None:
    """The covariance of a step, J V Jᵀ with what the next step leaves, and that with the next step, V Jᵀ."""
    if len(smoothed.lags):
        for i in range(len(back.gain)):
            transform(back.gain, back.covariance[i], smoothed.lags[t + 1, i])
    back.before[:] = back.covariance
    sandwich(back.belief.covariance, 1.0, back.gain, back.before, back.work, back.covariance)
    if rank > 0 or back.infinite.any():
        left = np.zeros(back.work.shape)
        _add_directions(back.belief.diffuse, rank, left)
        sandwich(left, 1.0, back.gain, back.infinite, back.work, back.infinite)


@kernel
def _tell(t: int, back: Backward, smoothed: SmoothedSteps) -> None:
    """Write down the covariance of a step, infinite where no observation tells."""
    out, infinite, size = smoothed.covariances[t], back.infinite, len(back.gain)
    out[:] = back.covariance
    largest = 0.0
    for i in range(size):
        largest = max(largest, infinite[i, i])
    if largest == 0.0:
        return
    for i in range(size):
        for j in range(size):
            scale = math.sqrt(infinite[i, i] * infinite[j, j])
            if scale > _PARALLEL * _PARALLEL * largest and abs(infinite[i, j]) > _PARALLEL * scale:
                out[i, j] = math.copysign(math.inf, infinite[i, j])


@kernel
def _repeat_back(
    transition: Floats,
    gain: Floats,
    offsets: Floats,
    t: int,
    first: int,
    num_like: int,
    length: int,
    steps: FilteredSteps,
    smoothed: SmoothedSteps,
) -> int:
    """Back over steps whose covariances are those of the step after them: only means differ. Tells the last of them."""
    size = len(gain)
    while True:
        for like in range(num_like):
            _smooth_means(transition, gain, offsets, t + like * length, steps, smoothed.means)
        if len(smoothed.covariances):
            for i in range(size):
                for j in range(size):
                    smoothed.covariances[t, i, j] = smoothed.covariances[t + 1, i, j]
        if len(smoothed.lags):
            for i in range(size):
                for j in range(size):
                    smoothed.lags[t + 1, i, j] = smoothed.lags[t + 2, i, j]
        if t == first or not steps.is_steady[t]:
            return t
        t -= 1


@kernel
def _smooth(
    system: KalmanSystem,
    offsets: Floats,
    first: int,
    last: int,
    num_like: int,
    steps: FilteredSteps,
    smoothed: SmoothedSteps,
    back: Backward,
) -> None:
    """Back from the last step of a sequence, and of those after it that have the same covariances, to the first."""
    length, all_of, is_settled, t = last - first, len(smoothed.covariances) > 0, False, last - 2
    for like in range(num_like):
        smoothed.means[last - 1 + like * length] = steps.means[last - 1 + like * length]
    back.covariance[:] = steps.covariances[last - 1]
    back.infinite[:] = 0.0
    _add_directions(steps.diffuse[last - 1], steps.ranks[last - 1], back.infinite)
    if all_of:
        _tell(last - 1, back, smoothed)
    while t >= first:
        step, rank, repeats = t - first, 0, t + 2 < last and steps.is_steady[t + 1]
        transition = system.transition[step + 1 if len(system.transition) > 1 else 0]
        if is_settled and repeats:
            t = _repeat_back(transition, back.gain, offsets, t, first, num_like, length, steps, smoothed) - 1
            continue
        if not repeats:
            rank = _look_back(system, step + 1, t, steps, back)
        for like in range(num_like):
            _smooth_means(transition, back.gain, offsets, t + like * length, steps, smoothed.means)
        if all_of:
            _smooth_covariance(t, rank, back, smoothed)
            _tell(t, back, smoothed)
            is_settled = not differ(back.covariance, back.before, _ROOM)
        else:
            is_settled = True
        t -= 1


@kernel
def _copy_to_like(first: int, last: int, num_like: int, numbers: Floats) -> None:
    """What holds for a sequence to those that come with the same covariances."""
    length = last - first
    for like in range(1, num_like if len(numbers) else 1):
        numbers[first + like * length : last + like * length] = numbers[first:last]


@kernel(steps=lambda system, offsets, starts, mirrors, steps, _: 10 * len(steps.means) * (len(system.mean) ** 2 + 1))
def smooth_sequences(
    system: KalmanSystem,
    offsets: Floats,
    starts: Ints,
    mirrors: Flags,
    steps: FilteredSteps,
    smoothed: SmoothedSteps,
) -> None:
    """The smoother of sequences, after `filter_sequences`; covariances and lags where there is an array for them."""
    back, sequence = _new_backward(system), 0
    make_independent(system.transition[0], system.transition_noise[0], back.noise)
    while sequence < len(starts) - 1:
        first, last, num_like = starts[sequence], starts[sequence + 1], 1
        while sequence + num_like < len(starts) - 1 and mirrors[sequence + num_like]:
            num_like += 1
        if last > first:
            _smooth(system, offsets, first, last, num_like, steps, smoothed, back)
            _copy_to_like(first, last, num_like, smoothed.covariances)
            _copy_to_like(first, last, num_like, smoothed.lags)
        sequence += num_like
