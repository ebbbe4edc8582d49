"""Linear dynamical systems: the Kalman filter from step to step, for many sequences.

Covariances do not depend on what is observed, so once they stop changing only means are updated.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from plausible.base.arrays import Flags, Floats, Ints
from plausible.kernels.jit import kernel, twin_of
from plausible.kernels.kalman_beliefs import (
    EPSILON,
    LOG_2PI,
    Belief,
    KalmanSystem,
    Space,
    View,
    look,
    new_space,
    new_view,
    observe,
    square,
)
from plausible.kernels.small_matrices import copy_matrix, copy_vector, differ, inner, sandwich, transform, triangularize
from plausible.kernels.vectors import add_scaled

#: The first step of a sequence, and the one after its last.
Span = tuple[int, int]


class FilteredSteps(NamedTuple):
    """What the filter leaves of each step, after its observation; arrays of one step are written over and over."""

    means: Floats
    covariances: Floats
    log_densities: Floats  # log p(o_t | o_1 ... o_t-1), for every step
    diffuse: Floats  # [step, direction, state]: directions with infinite variance left, `ranks` of them
    ranks: Ints
    is_steady: Flags  # whether the step has the gains, and the covariance, of the step before
    #: For each number that was seen, in order, as it was made independent: value less mean, variance, gain.
    surprises: Floats
    variances: Floats
    gains: Floats


class Latest(NamedTuple):
    """The latest step that was worked out in full, which those after it may repeat."""

    predicted: Floats  # the covariance before the observation
    covariance: Floats  # after it
    root: Floats
    surprises: Floats
    variances: Floats
    gains: Floats
    moved: Floats  # room


class Room(NamedTuple):
    """What the filter writes to as it goes from step to step."""

    belief: Belief
    seen: View
    latest: Latest
    space: Space


def new_room(system: KalmanSystem) -> Room:
    """Room for the steps of a system."""
    size, num = len(system.mean), system.observation.shape[1]
    root = np.zeros(system.covariance_root.shape)
    belief = Belief(np.zeros(size), np.zeros((size, size)), root, np.zeros(system.diffuse.shape))
    latest = Latest(
        *(np.zeros((size, size)), np.zeros((size, size)), root.copy()),
        *(np.zeros(num), np.zeros(num), np.zeros((num, size)), np.zeros(size)),
    )
    return Room(belief, new_view(num, size), latest, new_space(size))


@kernel
def predict(system: KalmanSystem, step: int, belief: Belief, rank: int, space: Space) -> None:
    """Uncertainty of the step before becomes that of a step, before its observation."""
    transition = system.transition[min(step, len(system.transition) - 1)]
    number = min(step, len(system.transition_noise) - 1)
    for k in range(rank):
        copy_vector(belief.diffuse[k], space.vector)
        transform(transition, space.vector, belief.diffuse[k])
    if belief.root.size:
        size = len(transition)
        tall = space.tall[: 2 * size]
        for k in range(size):
            transform(transition, belief.root[k], tall[k])
            copy_vector(system.noise_root[number, k], tall[size + k])
        triangularize(tall, belief.root)
        square(belief)
    else:
        copy_matrix(belief.covariance, space.before)
        sandwich(system.transition_noise[number], 1.0, transition, space.before, space.work, belief.covariance)


@kernel
def predict_mean(system: KalmanSystem, step: int, offsets: Floats, t: int, belief: Belief, space: Space) -> None:
    """The mean of a step before its observation."""
    copy_vector(belief.mean, space.vector)
    transform(system.transition[min(step, len(system.transition) - 1)], space.vector, belief.mean)
    if len(offsets):
        add_scaled(belief.mean, offsets[t], 1.0)


@kernel
def _known_part(variances: Floats, num_seen: int) -> float:
    """What the variances of a step say of its log-density; NaN where one was certain: no step repeats it."""
    total = 0.0
    for i in range(num_seen):
        total -= 0.5 * (LOG_2PI + math.log(variances[i]))
    return total if total > -math.inf else math.nan


@kernel
def _begin(system: KalmanSystem, belief: Belief) -> None:
    """What is known before the first observation."""
    copy_vector(system.mean, belief.mean)
    copy_matrix(system.covariance, belief.covariance)
    copy_matrix(system.covariance_root, belief.root)
    copy_matrix(system.diffuse, belief.diffuse)


@kernel
def _settle(
    view: View, num_seen: int, belief: Belief, rank: int, latest: Latest, space: Space
) -> tuple[float, float, int]:
    """Learn all numbers of a step; their log-density, the part of it that their variances tell, the diffuse rank."""
    copy_matrix(belief.covariance, latest.predicted)
    total, had_rank = 0.0, rank
    for i in range(num_seen):
        latest.surprises[i], latest.variances[i], log_density, rank = observe(
            belief, rank, view.rows[i], view.noises[i], view.values[i], view.sizes[i], latest.gains[i], space
        )
        total += log_density
    copy_matrix(belief.covariance, latest.covariance)
    copy_matrix(belief.root, latest.root)
    return total, (math.nan if had_rank > 0 else _known_part(latest.variances, num_seen)), rank


@kernel
def _keep(t: int, belief: Belief, rank: int, num_seen: int, latest: Latest, steps: FilteredSteps) -> None:
    """Write down what is known after a step."""
    copy_vector(belief.mean, steps.means[t])
    copy_matrix(latest.covariance, steps.covariances[t])
    copy_matrix(belief.diffuse[:rank], steps.diffuse[t])
    copy_matrix(latest.gains[:num_seen], steps.gains[t])
    steps.ranks[t], steps.is_steady[t] = rank, False
    for i in range(num_seen):
        steps.surprises[t, i], steps.variances[t, i] = latest.surprises[i], latest.variances[i]


@kernel
def _repeat(
    transition: Floats,
    values: Floats,
    offsets: Floats,
    span: Span,
    view: View,
    known: float,
    latest: Latest,
    belief: Belief,
    is_kept: bool,
    steps: FilteredSteps,
) -> int:
    """Repeat the latest step for those after it that see the same numbers: only means change. Tells the next step."""
    t, last = span
    mean, moved, size, num = belief.mean, latest.moved, len(belief.mean), values.shape[1]
    rows, gains, variances, lower, seen = view.rows, latest.gains, latest.variances, view.lower, view.values
    while True:
        quadratic, place = 0.0, 0
        for i in range(num):
            if view.is_seen[i]:
                number = values[t, i]
                for k in range(place):
                    number -= lower[place, k] * seen[k]
                seen[place] = number
                for j in range(size):
                    number -= rows[place, j] * mean[j]
                for j in range(size):
                    mean[j] += gains[place, j] * number
                quadratic += number * number / variances[place]
                if is_kept:
                    steps.surprises[t, place], steps.variances[t, place] = number, variances[place]
                    for j in range(size):
                        steps.gains[t, place, j] = gains[place, j]
                place += 1
        steps.log_densities[t] = known - 0.5 * quadratic
        if is_kept:
            steps.is_steady[t], steps.ranks[t] = True, 0
            for i in range(size):
                steps.means[t, i] = mean[i]
                for j in range(size):
                    steps.covariances[t, i, j] = latest.covariance[i, j]
        t += 1
        if t == last:
            return t
        for i in range(num):
            if view.is_seen[i] == math.isnan(values[t, i]):
                return t
        for i in range(size):
            moved[i] = mean[i]
        for i in range(size):
            total = 0.0
            for j in range(size):
                total += transition[i, j] * moved[j]
            mean[i] = total
        if len(offsets):
            for i in range(size):
                mean[i] += offsets[t, i]


@twin_of(_repeat)
def _repeat_singly(
    transition: Floats,
    values: Floats,
    offsets: Floats,
    span: Span,
    view: View,
    known: float,
    latest: Latest,
    belief: Belief,
    is_kept: bool,
    steps: FilteredSteps,
) -> int:
    t, last = span
    mean, is_seen, num = belief.mean, view.is_seen, int(view.is_seen.sum())
    surprises = np.empty(num)
    while True:
        view.values[:num] = values[t, is_seen]
        for i in range(num):
            view.values[i] -= view.lower[i, :i] @ view.values[:i]
            surprise = view.values[i] - view.rows[i] @ mean
            mean += latest.gains[i] * surprise
            surprises[i] = surprise
        steps.log_densities[t] = known - 0.5 * float((surprises * surprises / latest.variances[:num]).sum())
        if is_kept:
            steps.is_steady[t], steps.ranks[t] = True, 0
            steps.means[t], steps.covariances[t], steps.surprises[t, :num] = mean, latest.covariance, surprises
            steps.variances[t, :num], steps.gains[t, :num] = latest.variances[:num], latest.gains[:num]
        t += 1
        if t == last or bool((np.isnan(values[t]) == is_seen).any()):
            return t
        latest.moved[:] = mean
        mean[:] = transition @ latest.moved + (offsets[t] if len(offsets) else 0.0)


@kernel(steps=lambda system, values, *_: 10 * len(values) * (len(system.mean) ** 2 + 1))
def filter_sequences(
    system: KalmanSystem,
    values: Floats,
    offsets: Floats,
    starts: Ints,
    mirrors: Flags,
    is_kept: bool,
    room: Room,
    steps: FilteredSteps,
) -> None:
    """The Kalman filter of sequences of `values`, NaN where nothing was seen, one after the other.

    `offsets` are added to the mean of each step but the first of a sequence; there may be none at all. `mirrors` says
    which sequences are left to `mirror_sequences`. Unless `is_kept`, only log-densities are.
    """
    belief, view, latest, space = room.belief, room.seen, room.latest, room.space
    num_moves = max(len(system.transition), len(system.transition_noise))
    for sequence in range(len(starts) - 1):
        first, last = starts[sequence], starts[sequence + 1]
        t, rank, known = last if mirrors[sequence] else first, len(system.diffuse), math.nan
        _begin(system, belief)
        while t < last:
            step = t - first
            if step > 0:
                predict_mean(system, step, offsets, t, belief, space)
                predict(system, step, belief, rank, space)
            num_seen, has_changed = look(system, step, values[t], view, step == 0)
            may_repeat = step > 0 and step + 1 >= num_moves and not has_changed and not math.isnan(known)
            if may_repeat and not differ(belief.covariance, latest.predicted, 2.0 * EPSILON * (len(belief.mean) + 2)):
                span = (t, last)
                t = _repeat(system.transition[-1], values, offsets, span, view, known, latest, belief, is_kept, steps)
                copy_matrix(latest.covariance, belief.covariance)
                copy_matrix(latest.root, belief.root)
                continue
            steps.log_densities[t], known, rank = _settle(view, num_seen, belief, rank, latest, space)
            if is_kept:
                _keep(t, belief, rank, num_seen, latest, steps)
            t += 1


@kernel
def mirror_sequences(
    system: KalmanSystem,
    values: Floats,
    offsets: Floats,
    starts: Ints,
    mirrors: Flags,
    room: Room,
    steps: FilteredSteps,
) -> None:
    """Filter the sequences that see the same numbers as the one before them, of as many steps: only means differ."""
    mean, view = room.belief.mean, room.seen
    for sequence in range(1, len(starts) - 1):
        first, last = starts[sequence], starts[sequence + 1]
        copy_vector(system.mean, mean)
        for t in range(first, last if mirrors[sequence] else first):
            step, twin, total = t - first, t - (last - first), 0.0
            if step > 0:
                predict_mean(system, step, offsets, t, room.belief, room.space)
            num_seen, _ = look(system, step, values[t], view, step == 0)
            for i in range(num_seen):
                surprise, variance = view.values[i] - inner(view.rows[i], mean), steps.variances[twin, i]
                total -= 0.5 * (LOG_2PI + math.log(variance) + surprise * surprise / variance)
                steps.surprises[t, i], steps.variances[t, i] = surprise, variance
                add_scaled(mean, steps.gains[twin, i], surprise)
            copy_matrix(steps.gains[twin, :num_seen], steps.gains[t])
            copy_vector(mean, steps.means[t])
            copy_matrix(steps.covariances[twin], steps.covariances[t])
            steps.log_densities[t], steps.ranks[t], steps.is_steady[t] = total, 0, steps.is_steady[twin]


@kernel
def walk(transitions: Floats, starts: Ints, states: Floats) -> None:
    """Add to each state, but the first of a sequence, what the transition of its step makes of the one before it."""
    moved = np.zeros(states.shape[1])
    for sequence in range(len(starts) - 1):
        for t in range(starts[sequence] + 1, starts[sequence + 1]):
            transform(transitions[min(t - starts[sequence], len(transitions) - 1)], states[t - 1], moved)
            add_scaled(states[t], moved, 1.0)
