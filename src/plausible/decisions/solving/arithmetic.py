"""How the probabilities of joint factors are multiplied and summed: as they are, scaled, or in logarithms."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from typing import NamedTuple, TypeVar

import numpy as np

from plausible.base import Floats, logarithms
from plausible.factors.alignment import reduce_axes

#: Tables from this size on are summed by merged axes; below it NumPy's own sum takes less time.
_LARGE = 2048

ResultT = TypeVar("ResultT")


class Pair(NamedTuple):
    """A joint factor (φ, μ) on arrays; φ up to a scale, `None` for μ = 0. Axes of length one stand for any length."""

    probability: Floats
    utility: Floats | None

    @property
    def expected_utility(self) -> float:
        """μ of a pair over nothing."""
        return 0.0 if self.utility is None else float(self.utility)


class Arithmetic:
    """What stands for a probability, and how such numbers are multiplied and summed: here as they are."""

    __slots__ = ()

    def read(self, table: Floats) -> Floats:
        """What stands for a table of probabilities."""
        return table

    def times(self, one: Floats, other: Floats) -> Floats:
        """The product of two tables that broadcast."""
        return one * other

    def reduced(self, pair: Pair, axes: tuple[int, ...]) -> Pair:
        """Sum axes out: (Σ φ, Σ φ μ / Σ φ), with 0/0 = 0."""
        phi, mu = pair
        total = summed(phi, axes)
        if mu is None or not axes:
            return Pair(total, mu)
        weighted = summed(phi * mu, axes)
        return Pair(total, weighted / np.where(total > 0, total, 1.0))

    def plain(self, table: Floats) -> Floats:
        """The probabilities themselves, up to a scale."""
        return table

    def logs(self, table: Floats) -> Floats:
        """Their logarithms, up to a constant."""
        return logarithms(table)

    def product(self, tables: Iterable[Floats]) -> Floats:
        """What stands for the product of tables of probabilities; there must be one."""
        return reduce(self.times, map(self.read, tables))


class _Scaled(Arithmetic):
    """The largest entry of every table is one, so that no evidence is too unlikely."""

    __slots__ = ()

    def read(self, table: Floats) -> Floats:
        peak = table.max()
        return table / peak if peak > 0 else table

    def times(self, one: Floats, other: Floats) -> Floats:
        return self.read(one * other)

    def reduced(self, pair: Pair, axes: tuple[int, ...]) -> Pair:
        phi, mu = super().reduced(pair, axes)
        return Pair(self.read(phi), mu)


class _Logs(Arithmetic):
    """Logarithms: entries of one table may be further apart than floats are, and other tables bring them together."""

    __slots__ = ()

    def read(self, table: Floats) -> Floats:
        return logarithms(table)

    def times(self, one: Floats, other: Floats) -> Floats:
        return one + other

    def reduced(self, pair: Pair, axes: tuple[int, ...]) -> Pair:
        logs, mu = pair
        peaks = np.maximum.reduce(logs, axis=axes, keepdims=True)
        peaks = np.where(peaks > -np.inf, peaks, 0.0)
        total, mu = super().reduced(Pair(np.exp(logs - peaks), mu), axes)
        sums = logarithms(total) + peaks.reshape(total.shape)
        peak = sums.max()
        return Pair(sums - peak if peak > -np.inf else sums, mu)

    def plain(self, table: Floats) -> Floats:
        peak = table.max()
        return np.asarray(np.exp(table - peak if peak > -np.inf else table))

    def logs(self, table: Floats) -> Floats:
        return table


PLAIN, SCALED, LOGS = Arithmetic(), _Scaled(), _Logs()


def scaled_or_logs(compute: Callable[[Arithmetic], ResultT]) -> ResultT:
    """A result with scaled probabilities or, if some number on the way gets too small for a float, with logarithms."""
    try:
        with np.errstate(under="raise", over="raise"):
            return compute(SCALED)
    except FloatingPointError:
        return compute(LOGS)


def summed(table: Floats, axes: tuple[int, ...]) -> Floats:
    if not axes:
        return table
    if table.size < _LARGE:
        return np.asarray(np.add.reduce(table, axis=axes))
    return reduce_axes(np.add, np.ascontiguousarray(table), axes)


def summed_to(table: Floats, axes: Sequence[int]) -> Floats:
    """A table summed to some of its axes, in their order."""
    gone, kept = tuple(axis for axis in range(table.ndim) if axis not in axes), sorted(axes)
    total = np.add.reduce(table, axis=gone) if gone else table
    return np.asarray(total).transpose([kept.index(axis) for axis in axes])


def placed(table: np.ndarray, axes: Sequence[int], ndim: int) -> np.ndarray:
    """A table whose axes are some of those of a larger one, as one that broadcasts over it."""
    shape = [1] * ndim
    for axis, length in zip(axes, table.shape, strict=True):
        shape[axis] = length
    order = sorted(range(len(axes)), key=axes.__getitem__)
    return table.transpose(order).reshape(shape)
