"""The Newton direction of a penalised precision matrix, one coordinate after the other."""

from __future__ import annotations

import numpy as np

from plausible.base.arrays import Floats, Ints
from plausible.kernels.jit import kernel, reordering_kernel, twin_of
from plausible.kernels.vectors import add_scaled


@reordering_kernel
def dot_of(values: Floats, others: Floats) -> float:
    total = 0.0
    for i in range(values.size):
        total += values[i] * others[i]
    return total


@twin_of(dot_of)
def _dot_of(values: Floats, others: Floats) -> float:
    return float(np.dot(values, others))


@kernel
def _move(slope: float, curvature: float, point: float, weight: float) -> float:
    """From a point to the least value of slope · x + curvature x²/2 + weight · |x|, the first two from the point on."""
    goal = point - slope / curvature
    most = weight / curvature
    if goal > most:
        return goal - most - point
    return goal + most - point if goal < -most else -point


@kernel
def _sweep(
    covariance: Floats,
    starts: Ints,
    rows: Ints,
    slopes: Floats,
    points: Floats,
    weights: Floats,
    moves: Floats,
    product: Floats,
    column: Floats,
) -> float:
    """Meet each coordinate once; returns the sum of the sizes of the moves."""
    total = 0.0
    for j in range(covariance.shape[0]):
        if starts[j] < starts[j + 1]:
            column[:] = product[:, j]
        for place in range(starts[j], starts[j + 1]):
            i, shared = rows[place], covariance[rows[place], j]
            curvature = shared * shared + (covariance[i, i] * covariance[j, j] if i != j else 0.0)
            slope = slopes[place] + dot_of(covariance[i], column)
            move = _move(slope, curvature, points[place] + moves[place], weights[place])
            if move == 0.0:
                continue
            moves[place] += move
            total += abs(move)
            add_scaled(product[i], covariance[j], move)
            column[i] += move * covariance[j, j]
            if i != j:
                add_scaled(product[j], covariance[i], move)
                column[j] += move * shared
    return total


@kernel
def newton_direction(
    covariance: Floats,
    starts: Ints,
    rows: Ints,
    slopes: Floats,
    points: Floats,
    weights: Floats,
    max_sweeps: int,
    tolerance: float,
    moves: Floats,
    product: Floats,
) -> bool:
    """The D that minimises tr(G D) + tr(W D W D)/2 + Σ λ |X + D| over some pairs; returns whether it got there.

    Hsieh, Sustik, Dhillon & Ravikumar 2014, §3.2, with D W kept up to date. Cost: three rows of W for each
    pair and sweep.

    Parameters
    ----------
    covariance
        W = X⁻¹.
    starts, rows
        The pairs (i, j) with i <= j: those of column j are `rows[starts[j] : starts[j + 1]]`.
    slopes, points, weights
        For each pair the gradient of the smooth part, X and λ.
    tolerance
        Enough is where what is left to move, judged by how fast sweeps move less, is no more than this share of D.
    moves, product
        D for each pair, and the matrix D W, which go on from what they are.
    """
    column, before = np.empty(covariance.shape[0]), 0.0
    for _ in range(max_sweeps):
        moved = _sweep(covariance, starts, rows, slopes, points, weights, moves, product, column)
        if moved * moved <= tolerance * np.abs(moves).sum() * (before - moved):
            return True
        before = moved
    return False
