"""Loops over small dense matrices, each with its twin in NumPy: sums in a fixed order, which hang on no library."""

from __future__ import annotations

import math

import numpy as np

from plausible.base.arrays import Floats
from plausible.kernels.jit import kernel, twin_of


@kernel
def copy_vector(values: Floats, out: Floats) -> None:
    """out = values. As a loop, because machine code for `out[:] = values` takes far longer to make."""
    for i in range(values.size):
        out[i] = values[i]


@twin_of(copy_vector)
def _copy_vector(values: Floats, out: Floats) -> None:
    out[: len(values)] = values


@kernel
def fill_vector(out: Floats, number: float) -> None:
    """out = number, at each place."""
    for i in range(out.size):
        out[i] = number


@twin_of(fill_vector)
def _fill_vector(out: Floats, number: float) -> None:
    out[:] = number


@kernel
def copy_matrix(values: Floats, out: Floats) -> None:
    """out = values, which may have fewer rows."""
    for i in range(values.shape[0]):
        for j in range(values.shape[1]):
            out[i, j] = values[i, j]


@twin_of(copy_matrix)
def _copy_matrix(values: Floats, out: Floats) -> None:
    out[: len(values)] = values


@kernel
def inner(left: Floats, right: Floats) -> float:
    """Σ left_i right_i."""
    total = 0.0
    for i in range(left.size):
        total += left[i] * right[i]
    return total


@twin_of(inner)
def _inner(left: Floats, right: Floats) -> float:
    return float(left @ right)


@kernel
def transform(matrix: Floats, vector: Floats, out: Floats) -> None:
    """out = matrix · vector."""
    for i in range(matrix.shape[0]):
        total = 0.0
        for j in range(matrix.shape[1]):
            total += matrix[i, j] * vector[j]
        out[i] = total


@twin_of(transform)
def _transform(matrix: Floats, vector: Floats, out: Floats) -> None:
    out[: len(matrix)] = matrix @ vector


@kernel
def multiply_into(left: Floats, right: Floats, out: Floats) -> None:
    """out = left · right."""
    for i in range(left.shape[0]):
        for j in range(right.shape[1]):
            out[i, j] = 0.0
        for k in range(left.shape[1]):
            number = left[i, k]
            for j in range(right.shape[1]):
                out[i, j] += number * right[k, j]


@twin_of(multiply_into)
def _multiply_into(left: Floats, right: Floats, out: Floats) -> None:
    out[:] = left @ right


@kernel
def sandwich(base: Floats, sign: float, left: Floats, middle: Floats, work: Floats, out: Floats) -> None:
    """out = base + sign · left · middle · leftᵀ, exactly symmetric; base and middle are; out may be base."""
    multiply_into(left, middle, work)
    for i in range(left.shape[0]):
        for j in range(i + 1):
            total = 0.0
            for k in range(left.shape[1]):
                total += work[i, k] * left[j, k]
            out[i, j] = base[i, j] + sign * total
    for i in range(left.shape[0]):
        for j in range(i):
            out[j, i] = out[i, j]


@twin_of(sandwich)
def _sandwich(base: Floats, sign: float, left: Floats, middle: Floats, work: Floats, out: Floats) -> None:
    work[:] = left @ middle
    product = base + sign * (work @ left.T)
    out[:] = np.tril(product) + np.tril(product, -1).T


@kernel
def joseph(covariance: Floats, gain: Floats, row: Floats, noise: float, moved: Floats, work: Floats) -> None:
    """covariance ← (I - gain·row) covariance (I - gain·row)ᵀ + noise·gain·gainᵀ, any gain; moved = covariance·row."""
    size = gain.size
    for i in range(size):
        for j in range(size):
            work[i, j] = covariance[i, j] - gain[i] * moved[j]
    for i in range(size):
        left = -noise * gain[i]
        for k in range(size):
            left += work[i, k] * row[k]
        for j in range(i + 1):
            covariance[i, j] = work[i, j] - left * gain[j]
    for i in range(size):
        for j in range(i):
            covariance[j, i] = covariance[i, j]


@twin_of(joseph)
def _joseph(covariance: Floats, gain: Floats, row: Floats, noise: float, moved: Floats, work: Floats) -> None:
    work[:] = covariance - np.outer(gain, moved)
    product = work - np.outer(work @ row - noise * gain, gain)
    covariance[:] = np.tril(product) + np.tril(product, -1).T


@kernel
def add_outer(out: Floats, left: Floats, right: Floats, weight: float) -> None:
    """out ← out + weight · left · rightᵀ."""
    for i in range(left.size):
        for j in range(right.size):
            out[i, j] += weight * left[i] * right[j]


@twin_of(add_outer)
def _add_outer(out: Floats, left: Floats, right: Floats, weight: float) -> None:
    out += weight * np.outer(left, right)


@kernel
def differ(one: Floats, other: Floats, room: float) -> bool:
    """Whether an entry of two covariances differs by more than a share of the deviations of its row and column."""
    for i in range(one.shape[0]):
        for j in range(i + 1):
            change = one[i, j] - other[i, j]
            if not change * change <= room * room * one[i, i] * one[j, j]:
                return True
    return False


@twin_of(differ)
def _differ(one: Floats, other: Floats, room: float) -> bool:
    deviations = room * np.sqrt(one.diagonal())
    return not bool(np.all(np.tril(np.abs(one - other)) <= np.outer(deviations, deviations) / room))


@kernel
def triangularize(tall: Floats, out: Floats) -> None:
    """An upper triangle `out` with outᵀ · out = tallᵀ · tall, by Householder reflections; `tall` is used up."""
    height, width = tall.shape
    for j in range(width):
        for k in range(width):
            out[j, k] = 0.0
        size = 0.0
        for i in range(j, height):
            size = math.hypot(size, tall[i, j])
        for k in range(j + 1, width):
            if size == 0.0:
                out[j, k] = tall[j, k] if j < height else 0.0
        if size == 0.0:
            continue
        head = tall[j, j]
        pivot = head + size if head > 0.0 else head - size
        scale = size * (size + abs(head))
        out[j, j] = size
        for k in range(j + 1, width):
            total = tall[j, k] * pivot
            for i in range(j + 1, height):
                total += tall[i, k] * tall[i, j]
            share = total / scale
            for i in range(j + 1, height):
                tall[i, k] -= share * tall[i, j]
            above = tall[j, k] - share * pivot
            out[j, k] = -above if head > 0.0 else above
