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
from plausible.kernels.kalman_beliefs import (
    Belief,
    KalmanSystem,
    Space,
    View,
    make_independent,
    new_space,
    new_view,
    observe,
)
from plausible.kernels.small_matrices import (
    add_outer,
    copy_matrix,
    copy_vector,
    differ,
    fill_vector,
    sandwich,
    transform,
)
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


class KnownSteps(NamedTuple):
    """What the smoother needs of `FilteredSteps`: few arrays, because each costs time to compile."""

    means: Floats
    covariances: Floats
    diffuse: Floats
    ranks: Ints
    is_steady: Flags


class Backward(NamedTuple):
    """What is known of a step given the step after it, and room for intermediate results."""

    noise: View  # of a transition, made independent
    belief: Belief  # the noise e; its mean is not used
    gain: Floats  # J
    covariance: Floats  # of the latest step that was smoothed, but for its infinite part
    infinite: Floats
    before: Floats
    space: Space


def new_backward(system: KalmanSystem) -> Backward:
    """Room for the way back through the steps of a system."""
    size = len(system.mean)
    view = new_view(size, size)
    view.is_seen[:] = True
    belief = Belief(np.zeros(size), np.zeros((size, size)), np.zeros((0, 0)), np.zeros(system.diffuse.shape))
    square = np.zeros((size, size))
    return Backward(view, belief, square, square.copy(), square.copy(), square.copy(), new_space(size))


@kernel
def _sum_directions(diffuse: Floats, rank: int, out: Floats) -> None:
    """The infinite part of a covariance."""
    for i in range(len(out)):
        fill_vector(out[i], 0.0)
    for k in range(rank):
        add_outer(out, diffuse[k], diffuse[k], 1.0)


@kernel
def _largest_variance(covariance: Floats) -> float:
    """Zero only where all of a covariance is."""
    largest = 0.0
    for i in range(len(covariance)):
        if covariance[i, i] > largest:
            largest = covariance[i, i]
    return largest


@kernel
def _look_back(
    transition: Floats, transition_noise: Floats, is_new: bool, t: int, steps: KnownSteps, back: Backward
) -> int:
    """Learn the state of step t from that of the next, whose transition this is: J, and what is left.

    Tells the number of directions that stay infinite. The noise is made independent if it `is_new`.
    """
    noise, belief, gain, rank = back.noise, back.belief, back.gain, int(steps.ranks[t])
    if is_new:
        make_independent(transition, transition_noise, noise)
    fill_vector(belief.mean, 0.0)
    copy_matrix(steps.covariances[t], belief.covariance)
    copy_matrix(steps.diffuse[t, :rank], belief.diffuse)
    size, learned = len(gain), back.space.before
    for i in range(size):
        row, column = noise.rows[i], learned[i]
        _, _, _, rank = observe(belief, rank, row, noise.noises[i], 0.0, 0.0, column, back.space)
        transform(gain[:i], row, back.space.direction)  # rows of `gain` are columns of J for now
        for k in range(i):
            add_scaled(gain[k], column, -back.space.direction[k])
        copy_vector(column, gain[i])
    for i in range(size - 1, -1, -1):
        for k in range(i + 1, size):
            add_scaled(gain[i], gain[k], -noise.lower[k, i])
    for i in range(size):
        for j in range(i):
            gain[i, j], gain[j, i] = gain[j, i], gain[i, j]
    return rank


@kernel
def _smooth_means(transition: Floats, gain: Floats, offsets: Floats, t: int, known: Floats, means: Floats) -> None:
    """The mean of a step: m + J (mean of the next step - A m - offset)."""
    size = len(gain)
    for i in range(size):
        means[t, i] = known[t, i]
    for j in range(size):
        surprise = means[t + 1, j]
        for k in range(size):
            surprise -= transition[j, k] * known[t, k]
        if len(offsets):
            surprise -= offsets[t + 1, j]
        for i in range(size):
            means[t, i] += gain[i, j] * surprise


@twin_of(_smooth_means)
def _smooth_means_at_once(
    transition: Floats, gain: Floats, offsets: Floats, t: int, known: Floats, means: Floats
) -> None:
    surprise = means[t + 1] - transition @ known[t] - (offsets[t + 1] if len(offsets) else 0.0)
    means[t] = known[t] + gain @ surprise


@kernel
def _smooth_covariance(t: int, rank: int, back: Backward, smoothed: SmoothedSteps) -> None:
    """The covariance of a step, J V Jᵀ with what the next step leaves, and that with the next step, V Jᵀ."""
    if len(smoothed.lags):
        for i in range(len(back.gain)):
            transform(back.gain, back.covariance[i], smoothed.lags[t + 1, i])
    copy_matrix(back.covariance, back.before)
    sandwich(back.belief.covariance, 1.0, back.gain, back.before, back.space.work, back.covariance)
    if rank > 0 or _largest_variance(back.infinite) > 0.0:
        left = back.space.before
        _sum_directions(back.belief.diffuse, rank, left)
        sandwich(left, 1.0, back.gain, back.infinite, back.space.work, back.infinite)


@kernel
def _tell(t: int, back: Backward, smoothed: SmoothedSteps) -> None:
    """Write down the covariance of a step, infinite where no observation tells."""
    out, infinite, size = smoothed.covariances[t], back.infinite, len(back.gain)
    copy_matrix(back.covariance, out)
    largest = _largest_variance(infinite)
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
    steps: KnownSteps,
    smoothed: SmoothedSteps,
) -> int:
    """Back over steps whose covariances are those of the step after them: only means differ. Tells the last of them."""
    while True:
        for like in range(num_like):
            _smooth_means(transition, gain, offsets, t + like * length, steps.means, smoothed.means)
        if len(smoothed.covariances):
            copy_matrix(smoothed.covariances[t + 1], smoothed.covariances[t])
        if len(smoothed.lags):
            copy_matrix(smoothed.lags[t + 2], smoothed.lags[t + 1])
        if t == first or not steps.is_steady[t]:
            return t
        t -= 1


@kernel
def _begin(last: int, length: int, num_like: int, steps: KnownSteps, smoothed: SmoothedSteps, back: Backward) -> None:
    """What is known of the last step."""
    for t in range(last, last + num_like * length, length):
        copy_vector(steps.means[t], smoothed.means[t])
    copy_matrix(steps.covariances[last], back.covariance)
    _sum_directions(steps.diffuse[last], steps.ranks[last], back.infinite)
    if len(smoothed.covariances):
        _tell(last, back, smoothed)


@kernel
def _copy_to_like(first: int, last: int, num_like: int, numbers: Floats) -> None:
    """What holds for a sequence to those that come with the same covariances."""
    if len(numbers):
        for t in range(last, last + (num_like - 1) * (last - first)):
            copy_matrix(numbers[t - (last - first)], numbers[t])


@kernel(steps=lambda transition, _, offsets, starts, *__: 10 * int(starts[-1]) * (transition.shape[1] ** 2 + 1))
def smooth_sequences(
    transition: Floats,
    transition_noise: Floats,
    offsets: Floats,
    starts: Ints,
    mirrors: Flags,
    back: Backward,
    steps: KnownSteps,
    smoothed: SmoothedSteps,
) -> None:
    """The smoother of sequences, after the filter; covariances and lags where there is an array for them.

    A sequence is smoothed together with those after it that have the same covariances.
    """
    num_moves, sequence = max(len(transition), len(transition_noise)), 0
    while sequence < len(starts) - 1:
        first, last = starts[sequence], starts[sequence + 1]
        num_like = 1
        while sequence + num_like < len(starts) - 1 and mirrors[sequence + num_like]:
            num_like += 1
        length, t, is_settled = last - first, last - 2, False
        if length:
            _begin(last - 1, length, num_like, steps, smoothed, back)
        while t >= first:
            repeats = t + 2 < last and steps.is_steady[t + 1]
            step = t + 1 - first  # the number of the next step
            rows, rank = transition[min(step, len(transition) - 1)], 0
            if is_settled and repeats:
                t = _repeat_back(rows, back.gain, offsets, t, first, num_like, length, steps, smoothed) - 1
                continue
            if not repeats:
                noise = transition_noise[min(step, len(transition_noise) - 1)]
                rank = _look_back(rows, noise, t == last - 2 or step + 1 < num_moves, t, steps, back)
            for like in range(num_like):
                _smooth_means(rows, back.gain, offsets, t + like * length, steps.means, smoothed.means)
            is_settled = True
            if len(smoothed.covariances):
                _smooth_covariance(t, rank, back, smoothed)
                _tell(t, back, smoothed)
                is_settled = not differ(back.covariance, back.before, _ROOM)
            t -= 1
        _copy_to_like(first, last, num_like, smoothed.covariances)
        _copy_to_like(first, last, num_like, smoothed.lags)
        sequence += num_like
