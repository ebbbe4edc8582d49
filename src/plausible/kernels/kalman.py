"""Linear dynamical systems: the Kalman filter, one observed number at a time, for many sequences.

Numbers of one step are made independent of each other first, so that an observation is a division and no inversion, any
of them may be missing, and none needs noise. Variances that are infinite at the start are kept apart, as a matrix whose
columns are the directions of which nothing is known (Durbin & Koopman 2012, chapters 5 and 6). Covariances are updated
in Joseph's form, or by their roots. They do not depend on what is observed, so once they stop changing only means are
updated.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from plausible.base.arrays import Flags, Floats, Ints
from plausible.kernels.jit import kernel, twin_of
from plausible.kernels.small_matrices import (
    copy_matrix,
    copy_vector,
    differ,
    fill_vector,
    inner,
    joseph,
    sandwich,
    transform,
    triangularize,
)
from plausible.kernels.vectors import add_scaled, divide, scaled

_LOG_2PI = math.log(2 * math.pi)
_EPSILON = 2.220446049250313e-16
#: A variance left of a number without noise is rounding below this share of what it was made of; a length, its root.
_ROUNDING = 64 * _EPSILON
#: A number that was certain before may miss its value by this share of what that was made of.
_CERTAIN = 1e-9
#: The first step of a sequence, and the one after its last.
Span = tuple[int, int]
#: A number that moves along the diffuse directions by less than this share of its parts does not move.
_PARALLEL = 1e-12


class KalmanSystem(NamedTuple):
    """The matrices of a system; the first four are one for each step, or one for all of them."""

    transition: Floats  # [step, state, state before]
    transition_noise: Floats  # [step, state, state]
    observation: Floats  # [step, observed, state]
    observation_noise: Floats  # [step, observed, observed]
    mean: Floats  # of the first step, before its observation
    covariance: Floats
    diffuse: Floats  # [direction, state]: directions with infinite variance
    #: Roots U with Uᵀ U the noise [step, :, :] and the covariance; empty but for the square-root form.
    noise_root: Floats
    covariance_root: Floats


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


class Belief(NamedTuple):
    """What is known of the state at one step."""

    mean: Floats
    covariance: Floats
    root: Floats  # U with Uᵀ U the covariance; empty but for the square-root form
    diffuse: Floats


class View(NamedTuple):
    """The observed numbers of a step, made independent: L⁻¹ of them, where their noise has the covariance L D Lᵀ."""

    is_seen: Flags
    rows: Floats
    noises: Floats
    lower: Floats
    values: Floats
    sizes: Floats  # of the numbers that a value is the difference of, by which its rounding is judged


class Latest(NamedTuple):
    """The latest step that was worked out in full, which those after it may repeat."""

    predicted: Floats  # the covariance before the observation
    covariance: Floats  # after it
    root: Floats
    surprises: Floats
    variances: Floats
    gains: Floats
    moved: Floats  # room


class Space(NamedTuple):
    """Room for intermediate results."""

    vector: Floats
    moved: Floats
    direction: Floats
    work: Floats
    before: Floats
    tall: Floats


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


def new_view(num: int, size: int) -> View:
    """Room for what is seen: so many numbers of so many states."""
    flags = np.zeros(num, dtype=np.bool_)
    return View(flags, np.zeros((num, size)), np.zeros(num), np.zeros((num, num)), np.zeros(num), np.zeros(num))


def new_space(size: int) -> Space:
    """Room for intermediate results about so many states."""
    square, tall = np.zeros((size, size)), np.zeros((2 * size + 1, size))
    return Space(np.zeros(size), np.zeros(size), np.zeros(size), square, square.copy(), tall)


# --- what is seen at a step ---


@kernel
def look(system: KalmanSystem, step: int, row: Floats, view: View, is_new: bool) -> tuple[int, bool]:
    """How many numbers of a row are seen, and whether they are others than before; the view is made anew if so."""
    num_seen, has_changed = 0, is_new or len(system.observation) > 1 or len(system.observation_noise) > 1
    for i in range(len(row)):
        is_seen = not math.isnan(row[i])
        num_seen += is_seen
        if view.is_seen[i] != is_seen:
            view.is_seen[i] = is_seen
            has_changed = True
    if has_changed:
        rows = system.observation[step if len(system.observation) > 1 else 0]
        make_independent(rows, system.observation_noise[step if len(system.observation_noise) > 1 else 0], view)
    place = 0
    for i in range(len(row)):
        if view.is_seen[i]:
            view.values[place] = row[i] - inner(view.lower[place, :place], view.values[:place])
            view.sizes[place] = abs(row[i]) + _size_of(view.lower[place, :place], view.sizes[:place])
            place += 1
    return num_seen, has_changed


@kernel
def make_independent(rows: Floats, noise: Floats, view: View) -> None:
    """The triangle L, the noises D and the rows L⁻¹ C of the numbers that are seen."""
    place = 0
    for i in range(len(noise)):
        if not view.is_seen[i]:
            continue
        copy_vector(rows[i], view.rows[place])
        left, before = noise[i, i], 0
        for j in range(i):
            if not view.is_seen[j]:
                continue
            shared = noise[i, j]
            for k in range(before):
                shared -= view.lower[place, k] * view.lower[before, k] * view.noises[k]
            share = shared / view.noises[before] if view.noises[before] > 0.0 else 0.0
            view.lower[place, before] = share
            add_scaled(view.rows[place], view.rows[before], -share)
            left -= share * share * view.noises[before]
            before += 1
        view.noises[place] = left if left > _ROUNDING * noise[i, i] else 0.0
        place += 1


# --- one number ---


@kernel
def observe(
    belief: Belief, rank: int, row: Floats, noise: float, value: float, size: float, gain: Floats, space: Space
) -> tuple[float, float, float, int]:
    """Learn one number; its surprise, its variance, its log-density, and how many directions are diffuse after it.

    The variance is infinite, and the gain zero, where the number was known before; rounding is judged by `size`, that
    of the numbers that the value is the difference of.
    """
    transform(belief.covariance, row, space.moved)
    variance = inner(row, space.moved) + noise
    surprise, length = value - inner(row, belief.mean), 0.0
    if rank > 0:
        length = _diffuse_length(belief.diffuse, rank, row, space.direction)
    if length > 0.0:
        variance = length * length
        fill_vector(gain, 0.0)
        for k in range(rank):
            add_scaled(gain, belief.diffuse[k], space.direction[k])
        _turn(belief.diffuse, rank, space.direction, length)
        rank -= 1
        log_density = -0.5 * _LOG_2PI - math.log(length)
    else:
        spread = _spread(belief.covariance, row) if noise == 0.0 else 0.0
        if variance <= _ROUNDING * spread:
            room = spread**0.5 + size + _size_of(row, belief.mean)
            fill_vector(gain, 0.0)
            return surprise, math.inf, (0.0 if abs(surprise) <= _CERTAIN * room else -math.inf), rank
        copy_vector(space.moved, gain)
        log_density = -0.5 * (_LOG_2PI + math.log(variance) + surprise * surprise / variance)
    divide(gain, variance)
    add_scaled(belief.mean, gain, surprise)
    _update(belief, gain, row, noise, space)
    return surprise, variance, log_density, rank


@kernel
def _update(belief: Belief, gain: Floats, row: Floats, noise: float, space: Space) -> None:
    """The covariance after a number; without noise, what rounding left of variances that are gone is nothing."""
    covariance, size = belief.covariance, len(gain)
    for i in range(size):
        space.vector[i] = covariance[i, i]
    if belief.root.size:
        tall = space.tall[: size + 1]
        copy_matrix(belief.root, tall)
        for k in range(size):
            add_scaled(tall[k], gain, -inner(row, belief.root[k]))
        scaled(tall[size], gain, math.sqrt(noise))
        triangularize(tall, belief.root)
        _square(belief)
    else:
        joseph(covariance, gain, row, noise, space.moved, space.work)
    if noise == 0.0:
        for i in range(size):
            if covariance[i, i] <= _ROUNDING * space.vector[i]:
                for k in range(size):
                    covariance[i, k], covariance[k, i] = 0.0, 0.0
                for k in range(len(belief.root)):
                    belief.root[k, i] = 0.0


@kernel
def _square(belief: Belief) -> None:
    """The covariance of a root, which is an upper triangle."""
    root = belief.root
    for i in range(len(root)):
        for j in range(i + 1):
            number = 0.0
            for k in range(j + 1):
                number += root[k, i] * root[k, j]
            belief.covariance[i, j] = number
            belief.covariance[j, i] = number


@kernel
def _spread(covariance: Floats, row: Floats) -> float:
    """What the variance of a number would be if all its parts moved together."""
    total = 0.0
    for i in range(len(row)):
        total += abs(row[i]) * covariance[i, i] ** 0.5
    return total * total


@kernel
def _size_of(row: Floats, mean: Floats) -> float:
    total = 0.0
    for i in range(len(row)):
        total += abs(row[i] * mean[i])
    return total


@kernel
def _diffuse_length(diffuse: Floats, rank: int, row: Floats, direction: Floats) -> float:
    """How far a number moves along the diffuse directions, which are written down; zero where that is rounding."""
    length, most = 0.0, 0.0
    for k in range(rank):
        total, size = 0.0, 0.0
        for i in range(len(row)):
            part = row[i] * diffuse[k, i]
            total += part
            size += abs(part)
        direction[k] = total
        length, most = math.hypot(length, total), math.hypot(most, size)
    return length if length > _PARALLEL * most else 0.0


@kernel
def _turn(diffuse: Floats, rank: int, direction: Floats, length: float) -> None:
    """Turn the diffuse directions until the first is the only one along which a number moves, and drop that one."""
    head = direction[0]
    pivot = head + length if head > 0.0 else head - length
    scale = length * (length + abs(head))
    for i in range(diffuse.shape[1]):
        total = diffuse[0, i] * pivot
        for k in range(1, rank):
            total += diffuse[k, i] * direction[k]
        share = total / scale
        for k in range(1, rank):
            diffuse[k - 1, i] = diffuse[k, i] - share * direction[k]
        diffuse[rank - 1, i] = 0.0


# --- from step to step ---


@kernel
def predict(system: KalmanSystem, step: int, belief: Belief, rank: int, space: Space) -> None:
    """Uncertainty of the step before becomes that of a step, before its observation."""
    transition = system.transition[step if len(system.transition) > 1 else 0]
    number = step if len(system.transition_noise) > 1 else 0
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
        _square(belief)
    else:
        copy_matrix(belief.covariance, space.before)
        sandwich(system.transition_noise[number], 1.0, transition, space.before, space.work, belief.covariance)


@kernel
def predict_mean(system: KalmanSystem, step: int, offsets: Floats, t: int, belief: Belief, space: Space) -> None:
    """The mean of a step before its observation."""
    copy_vector(belief.mean, space.vector)
    transform(system.transition[step if len(system.transition) > 1 else 0], space.vector, belief.mean)
    if len(offsets):
        add_scaled(belief.mean, offsets[t], 1.0)


@kernel
def _known_part(variances: Floats, num_seen: int) -> float:
    """What the variances of a step say of its log-density; NaN where one was certain: no step repeats it."""
    total = 0.0
    for i in range(num_seen):
        total -= 0.5 * (_LOG_2PI + math.log(variances[i]))
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
    is_constant = len(system.transition) * len(system.transition_noise) == 1
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
            may_repeat = step > 0 and is_constant and not has_changed and not math.isnan(known)
            if may_repeat and not differ(belief.covariance, latest.predicted, 2.0 * _EPSILON * (len(belief.mean) + 2)):
                span = (t, last)
                t = _repeat(system.transition[0], values, offsets, span, view, known, latest, belief, is_kept, steps)
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
                total -= 0.5 * (_LOG_2PI + math.log(variance) + surprise * surprise / variance)
                steps.surprises[t, i], steps.variances[t, i] = surprise, variance
                add_scaled(mean, steps.gains[twin, i], surprise)
            copy_matrix(steps.gains[twin, :num_seen], steps.gains[t])
            copy_vector(mean, steps.means[t])
            copy_matrix(steps.covariances[twin], steps.covariances[t])
            steps.log_densities[t], steps.ranks[t], steps.is_steady[t] = total, 0, steps.is_steady[twin]


@kernel
def walk(transition: Floats, starts: Ints, states: Floats) -> None:
    """Add to each state, but the first of a sequence, what the transition makes of the one before it."""
    moved = np.zeros(states.shape[1])
    for sequence in range(len(starts) - 1):
        for t in range(starts[sequence] + 1, starts[sequence + 1]):
            transform(transition, states[t - 1], moved)
            add_scaled(states[t], moved, 1.0)
