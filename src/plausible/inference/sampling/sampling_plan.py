"""How to draw weighted samples, on flat arrays: thresholds for each variable in turn, and tables of weights."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import accumulate, chain

import numpy as np

from plausible.base.arrays import Codes, Floats, Ints
from plausible.factors import Factor
from plausible.inference.sampling.families import log_constant
from plausible.inference.sampling.sample_sums import SampleSums
from plausible.kernels.jit import steady
from plausible.kernels.sampling import BLOCK, Lookups, draw_block, sum_samples
from plausible.variables import Variable

__all__ = ["SamplingPlan", "stream_key"]


#: Samples that one thread draws at a time; the same for any number of threads, so that sums come out bit for bit.
_SPAN = 1 << 16


def stream_key(*seed: int) -> np.uint64:
    """Where the random numbers of a run begin: another place for each sequence of numbers that are not negative."""
    return np.uint64(np.random.SeedSequence(seed).generate_state(1, np.uint64)[0])


@dataclass(frozen=True, slots=True, eq=False)
class SamplingPlan:
    """Which variables to draw, from what, and what a sample weighs; made by `SamplingPlan.of`.

    Attributes
    ----------
    variables
        Those that are drawn, in order; below they go by their places here.
    draws
        For each variable the rows F(0), F(1) ... of its cumulative distributions, by the states of its parents.
    widths
        The length of these rows: a threshold less than there are states.
    weights
        Tables of logarithms, the weight of a sample being the product of what they have for its states.
    log_weight
        The logarithm of a factor that all weights have in common.
    log_limit
        No weight has a larger logarithm.
    """

    variables: tuple[Variable, ...]
    draws: Lookups
    widths: Ints
    weights: Lookups
    log_weight: float
    log_limit: float

    @classmethod
    def of(cls, families: Sequence[Factor], weights: Sequence[Factor], log_weight: float = 0.0) -> SamplingPlan:
        """Draw the last variable of each family in turn, given those before; weigh by a product of factors.

        Rows of a family need not sum to one. Where a row is zero, the first state is drawn, so a factor of the weights
        must be zero there.
        """
        variables = tuple(family.scope[-1] for family in families)
        numbers = {variable.name: number for number, variable in enumerate(variables)}
        widths = np.array([variable.num_states - 1 for variable in variables], dtype=np.int64)
        varying = [factor for factor in weights if factor.scope]
        with np.errstate(divide="ignore"):
            logs = [np.log(factor.flat) for factor in varying]
        constant = log_weight + log_constant(weights)
        rows = [(family.scope[:-1], int(width)) for family, width in zip(families, widths, strict=True)]
        return cls(
            variables,
            _lookups(numbers, rows, [_thresholds(family) for family in families]),
            widths,
            _lookups(numbers, [(factor.scope, 1) for factor in varying], logs),
            constant,
            constant + math.fsum(float(table.max()) for table in logs),
        )

    def scaled(self, log_factor: float) -> SamplingPlan:
        """The plan with all weights multiplied."""
        return replace(self, log_weight=self.log_weight + log_factor, log_limit=self.log_limit + log_factor)

    def sums(
        self, groups: Sequence[Sequence[Variable]], num_samples: int, key: np.uint64, threads: int | None = None
    ) -> SampleSums:
        """Draw samples and add their weights up, over all and over the cells of each group of variables.

        The answer is the same for any number of threads; one for each core where left out.
        """
        starts = range(0, max(num_samples, 1), _SPAN)
        ends = [min(start + _SPAN, num_samples) for start in starts]
        if len(ends) == 1:
            return self._span(groups, key, 0, num_samples)
        width = max(1, min(threads or os.cpu_count() or 1, len(starts)))
        with steady(len(starts)), ThreadPoolExecutor(width) as pool:
            parts = pool.map(lambda start, end: self._span(groups, key, start, end), starts, ends)
            return SampleSums.merged(parts)

    def _span(self, groups: Sequence[Sequence[Variable]], key: np.uint64, start: int, end: int) -> SampleSums:

        numbers = {variable.name: number for number, variable in enumerate(self.variables)}
        shapes = [tuple(variable.num_states for variable in group) for group in groups]
        tables = [np.zeros(2 * math.prod(shape)) for shape in shapes]
        cells = _lookups(numbers, [(group, 2) for group in groups], tables)
        unit, total, squares = sum_samples(self.draws, self.widths, self.weights, cells, key, start, end)
        pairs = [
            cells.tables[first : first + table.size].reshape(*shape, 2)
            for first, table, shape in zip(cells.table_starts.tolist(), tables, shapes, strict=True)
        ]
        return SampleSums(
            end - start,
            unit + self.log_weight,
            total,
            squares,
            tuple(pair[..., 0] for pair in pairs),
            tuple(pair[..., 1] for pair in pairs),
            is_constant=self.weights.starts.size == 1,
        )

    def draw(self, num_rows: int, key: np.uint64) -> tuple[Codes, Floats]:
        """The samples themselves, a row each and a column for each variable, and the logarithms of their weights."""

        states = np.empty((len(self.variables), num_rows), dtype=np.int32)
        log_weights = np.empty(num_rows)
        places = np.empty(BLOCK, dtype=np.int32)
        block = np.empty((len(self.variables), BLOCK), dtype=np.int32)
        for start in range(0, num_rows, BLOCK):
            end = min(start + BLOCK, num_rows)
            draw_block(
                self.draws, self.widths, self.weights, key, start, end - start, block, log_weights[start:end], places
            )
            states[:, start:end] = block[:, : end - start]
        return states.T, log_weights + self.log_weight


def _thresholds(family: Factor) -> Floats:
    """F(0), F(1) ... in each row, without the last, which is one."""
    table = np.cumsum(family.flat.reshape(-1, family.scope[-1].num_states), axis=1)
    # Where only zeros follow, the quotient is exactly one, so that no uniform number below one reaches them.
    return np.divide(table, table[:, -1:], out=np.ones_like(table), where=table[:, -1:] > 0)[:, :-1].ravel()


def _lookups(
    numbers: dict[str, int], scopes: Sequence[tuple[Sequence[Variable], int]], tables: Sequence[Floats]
) -> Lookups:
    """Tables by the variables in each scope; the last one's states are so many entries apart as the number says."""

    strides = [list(_strides(scope, unit)) for scope, unit in scopes]
    return Lookups(
        _starts(strides),
        np.array([numbers[variable.name] for scope, _ in scopes for variable in scope], dtype=np.int64),
        np.array([*chain.from_iterable(strides)], dtype=np.int64),
        _starts(tables)[:-1],
        np.concatenate([*tables, np.empty(0)]),
    )


def _strides(scope: Sequence[Variable], unit: int) -> Iterator[int]:
    total = unit * math.prod(variable.num_states for variable in scope)
    for variable in scope:
        total //= variable.num_states
        yield total


def _starts(parts: Sequence[Sequence[int]] | Sequence[Floats]) -> Ints:
    return np.fromiter(accumulate((len(part) for part in parts), initial=0), dtype=np.int64)
