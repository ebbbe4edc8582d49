"""Loops over whole vectors of numbers, each with its twin in NumPy."""

from __future__ import annotations

import math

import numpy as np

from plausible.base.arrays import Floats
from plausible.kernels.jit import kernel, reordering_kernel, twin_of


@reordering_kernel
def total_of(values: Floats) -> float:
    total = 0.0
    for i in range(values.size):
        total += values[i]
    return total


@twin_of(total_of)
def _total_of(values: Floats) -> float:
    return float(values.sum())


@kernel
def largest_of(values: Floats) -> float:
    best = -np.inf
    for i in range(values.size):
        best = max(best, values[i])
    return best


@twin_of(largest_of)
def _largest_of(values: Floats) -> float:
    return float(values.max(initial=-np.inf))


@kernel
def smallest_log(values: Floats) -> float:
    """The logarithm of the smallest positive number, at most zero."""
    smallest = 1.0
    for i in range(values.size):
        if 0.0 < values[i] < smallest:
            smallest = values[i]
    return float(np.log(smallest))


@twin_of(smallest_log)
def _smallest_log(values: Floats) -> float:
    return float(np.log(values.min(initial=1.0, where=values > 0.0)))


@kernel
def largest_log(values: Floats) -> float:
    """The logarithm of the largest number, at least zero."""
    return float(np.log(max(1.0, largest_of(values))))


@kernel
def log_sum(logs: Floats) -> float:
    """log Σ exp(x)."""
    top: float = logs.max()
    if top == -math.inf:
        return top
    return top + math.log(float(np.exp(logs - top).sum()))


@kernel
def divide(values: Floats, divisor: float) -> None:
    for i in range(values.size):
        values[i] /= divisor


@twin_of(divide)
def _divide(values: Floats, divisor: float) -> None:
    values /= divisor


@kernel
def subtract(values: Floats, amount: float) -> None:
    for i in range(values.size):
        values[i] -= amount


@twin_of(subtract)
def _subtract(values: Floats, amount: float) -> None:
    values -= amount


@kernel
def multiply_by(values: Floats, others: Floats) -> None:
    for i in range(values.size):
        values[i] *= others[i]


@twin_of(multiply_by)
def _multiply_by(values: Floats, others: Floats) -> None:
    values *= others


@kernel
def scaled(out: Floats, values: Floats, factor: float) -> None:
    """out = values * factor."""
    for i in range(out.size):
        out[i] = values[i] * factor


@twin_of(scaled)
def _scaled(out: Floats, values: Floats, factor: float) -> None:
    np.multiply(values[: out.size], factor, out=out)


@kernel
def shifted(out: Floats, values: Floats, amount: float) -> None:
    """out = values + amount."""
    for i in range(out.size):
        out[i] = values[i] + amount


@twin_of(shifted)
def _shifted(out: Floats, values: Floats, amount: float) -> None:
    np.add(values[: out.size], amount, out=out)


@kernel
def add_scaled(out: Floats, values: Floats, weight: float) -> None:
    """out += weight * values."""
    for i in range(out.size):
        out[i] += weight * values[i]


@twin_of(add_scaled)
def _add_scaled(out: Floats, values: Floats, weight: float) -> None:
    out += weight * values[: out.size]


@kernel
def negate(out: Floats, values: Floats) -> None:
    """out = -values, 0 where a value is -inf."""
    for i in range(out.size):
        out[i] = -values[i] if values[i] > -np.inf else 0.0


@twin_of(negate)
def _negate(out: Floats, values: Floats) -> None:
    out[:] = np.where(values > -np.inf, -values, 0.0)


@kernel
def logs_less(values: Floats, others: Floats) -> None:
    """log values - others."""
    for i in range(values.size):
        values[i] = np.log(values[i]) - others[i]


@twin_of(logs_less)
def _logs_less(values: Floats, others: Floats) -> None:
    values[:] = np.log(values) - others


@kernel
def quotients(values: Floats, totals: Floats, scale: float) -> None:
    """values / (totals * scale), 0 where that would divide by 0."""
    for i in range(values.size):
        divisor = totals[i] * scale
        values[i] = values[i] / divisor if divisor != 0.0 else 0.0


@twin_of(quotients)
def _quotients(values: Floats, totals: Floats, scale: float) -> None:
    divisors = totals * scale
    values[:] = np.where(divisors != 0.0, values / divisors, 0.0)


@kernel
def log_quotients(values: Floats, log_totals: Floats, log_scale: float) -> None:
    """log values - log totals - log scale, -inf where a total is 0."""
    for i in range(values.size):
        values[i] = np.log(values[i]) - log_totals[i] - log_scale if log_totals[i] > -np.inf else -np.inf


@twin_of(log_quotients)
def _log_quotients(values: Floats, log_totals: Floats, log_scale: float) -> None:
    values[:] = np.where(log_totals > -np.inf, np.log(values) - log_totals - log_scale, -np.inf)


@kernel
def subtract_squares(rows: Floats, centers: Floats, factors: Floats, constants: Floats, answers: Floats) -> None:
    """constants[k] - Σ_d ((rows[t, d] - centers[d, k]) factors[d, k])², for all t and k."""
    for t in range(len(rows)):
        for k in range(len(constants)):
            answers[t, k] = constants[k]
        for d in range(rows.shape[1]):
            number = rows[t, d]
            for k in range(len(constants)):
                distance = (number - centers[d, k]) * factors[d, k]
                answers[t, k] -= distance * distance


@twin_of(subtract_squares)
def _subtract_squares(rows: Floats, centers: Floats, factors: Floats, constants: Floats, answers: Floats) -> None:
    answers[:] = constants
    for d in range(rows.shape[1]):
        distances = (rows[:, d, None] - centers[d]) * factors[d]
        answers -= distances * distances
