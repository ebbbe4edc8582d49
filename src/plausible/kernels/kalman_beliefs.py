"""What a Kalman filter knows of the state of a linear system, and how it learns one observed number.

Numbers of one step are made independent of each other first, so that an observation is a division and no inversion, any
of them may be missing, and none needs noise. Variances that are infinite at the start are kept apart, as a matrix whose
columns are the directions of which nothing is known (Durbin & Koopman 2012, chapters 5 and 6). Covariances are updated
in Joseph's form, or by their roots.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from plausible.base.arrays import Flags, Floats
from plausible.kernels.jit import kernel
from plausible.kernels.small_matrices import (
    copy_matrix,
    copy_vector,
    fill_vector,
    inner,
    joseph,
    transform,
    triangularize,
)
from plausible.kernels.vectors import add_scaled, divide, scaled

LOG_2PI = math.log(2 * math.pi)
EPSILON = 2.220446049250313e-16
#: A variance left of a number without noise is rounding below this share of what it was made of; a length, its root.
_ROUNDING = 64 * EPSILON
#: A number that was certain before may miss its value by this share of what that was made of.
_CERTAIN = 1e-9
#: A number that moves along the diffuse directions by less than this share of its parts does not move.
_PARALLEL = 1e-12


class KalmanSystem(NamedTuple):
    """The matrices of a system; the first four are those of the first steps, the last that of all later ones."""

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


class Space(NamedTuple):
    """Room for intermediate results."""

    vector: Floats
    moved: Floats
    direction: Floats
    work: Floats
    before: Floats
    tall: Floats


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
    num_seen, has_changed = 0, is_new or step < max(len(system.observation), len(system.observation_noise))
    for i in range(len(row)):
        is_seen = not math.isnan(row[i])
        num_seen += is_seen
        if view.is_seen[i] != is_seen:
            view.is_seen[i] = is_seen
            has_changed = True
    if has_changed:
        rows = system.observation[min(step, len(system.observation) - 1)]
        make_independent(rows, system.observation_noise[min(step, len(system.observation_noise) - 1)], view)
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
        log_density = -0.5 * LOG_2PI - math.log(length)
    else:
        spread = _spread(belief.covariance, row) if noise == 0.0 else 0.0
        if variance <= _ROUNDING * spread:
            room = spread**0.5 + size + _size_of(row, belief.mean)
            fill_vector(gain, 0.0)
            return surprise, math.inf, (0.0 if abs(surprise) <= _CERTAIN * room else -math.inf), rank
        copy_vector(space.moved, gain)
        log_density = -0.5 * (LOG_2PI + math.log(variance) + surprise * surprise / variance)
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
        square(belief)
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
def square(belief: Belief) -> None:
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
