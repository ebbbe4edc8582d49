"""Sums of weighted samples, and what they say: frequencies, standard errors, effective size, mean weight."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from plausible.base.arrays import Floats
from plausible.inference.estimate import Estimate
from plausible.inference.info import QueryInfo

__all__ = ["SampleSums"]


#: The half-width of a 95 % interval, in standard errors.
_WIDTH = 1.96
#: What never happened in n samples has, with 95 % confidence, a probability below this over n (rule of three).
_UNSEEN = 3.0
#: With fewer effective samples, normal intervals are not to be trusted.
_ENOUGH = 100.0


@dataclass(frozen=True, slots=True, eq=False)
class SampleSums:
    """Weights of independent samples, added up over all of them and over the cells of some tables.

    Attributes
    ----------
    num_samples
        How many were drawn, those of weight zero included.
    log_unit
        The sums are multiples of the number with this logarithm, which the weights do not exceed; -inf if all
        weights are zero.
    total, squares
        The sum of the weights and that of their squares.
    cells, cell_squares
        For each group of variables the same sums over the samples in each cell, an axis for each variable.
    is_constant
        Whether all samples have the same weight, whatever is drawn.
    tail_shape
        Pareto's k of the largest weights, -inf where they don't differ or have not been looked at; see `weight_tails`.
    """

    num_samples: int
    log_unit: float
    total: float
    squares: float
    cells: tuple[Floats, ...]
    cell_squares: tuple[Floats, ...]
    is_constant: bool = False
    tail_shape: float = -math.inf

    @classmethod
    def merged(cls, parts: Iterable[SampleSums]) -> SampleSums:
        """The sums over several parts, at least one; the order decides about the last bits."""
        whole: SampleSums | None = None
        for part in parts:
            whole = part if whole is None else whole._with(part)
        assert whole is not None
        return whole

    def _with(self, other: SampleSums) -> SampleSums:
        unit = max(self.log_unit, other.log_unit)
        if unit == -math.inf:
            mine = theirs = 0.0
        else:
            mine, theirs = math.exp(self.log_unit - unit), math.exp(other.log_unit - unit)
        pairs = zip(self.cells, other.cells, strict=True)
        squares = zip(self.cell_squares, other.cell_squares, strict=True)
        return SampleSums(
            self.num_samples + other.num_samples,
            unit,
            mine * self.total + theirs * other.total,
            mine**2 * self.squares + theirs**2 * other.squares,
            tuple(mine * left + theirs * right for left, right in pairs),
            tuple(mine**2 * left + theirs**2 * right for left, right in squares),
            self.is_constant,
        )

    @property
    def is_zero(self) -> bool:
        """Whether all samples have weight zero."""
        return self.total == 0

    @property
    def effective_size(self) -> float:
        """(Σ w)² / Σ w²: so many samples of equal weight are worth as much (Kish 1965); zero if none has weight."""
        return 0.0 if self.is_zero else self.total**2 / self.squares

    @property
    def is_enough(self) -> bool:
        """Whether there are effective samples enough for error bars to mean something."""
        return self.effective_size >= _ENOUGH

    @property
    def frequencies(self) -> tuple[Floats, ...]:
        """For each group Σ w 1{x} / Σ w, the self-normalised estimate of P(x | e)."""
        return tuple(np.asarray(cells / cells.sum()) for cells in self.cells)

    @property
    def standard_errors(self) -> tuple[Floats, ...]:
        """Those of the frequencies p, by the delta method: √(Σ w² (1{x} - p)²) / Σ w (Owen 2013, §9.2)."""
        return tuple(
            np.sqrt(inside * (1 - p) ** 2 + np.maximum(self.squares - inside, 0.0) * p**2) / self.total
            for p, inside in zip(self.frequencies, self.cell_squares, strict=True)
        )

    @property
    def error(self) -> float:
        """A 95 % bound on the error of the worst frequency."""
        varying = [errors for errors in self.standard_errors if errors.size > 1]
        if not varying:
            return 0.0
        worst = max(float(errors.max()) for errors in varying)
        # A table whose samples are all in one cell has no variance, but is no more certain than the samples are many.
        return min(1.0, max(_WIDTH * worst, _UNSEEN / self.effective_size))

    def log_mean(self, info: QueryInfo, log_limit: float) -> Estimate:
        """The logarithm of the mean weight, with a 95 % interval: log w̄ ± 1.96 √(Σ (w - w̄)²) / Σ w.

        Where all weights are zero, the rule of three and the logarithm of the largest possible weight, `log_limit`,
        give the upper end.
        """
        if self.is_zero:
            upper = min(log_limit, log_limit + math.log(_UNSEEN / self.num_samples))
            return Estimate(-math.inf, info, upper=upper)
        value = self.log_unit + math.log(self.total / self.num_samples)
        if self.is_constant:
            return Estimate.within(value, info)
        spread = math.sqrt(max(1 / self.effective_size - 1 / self.num_samples, 0.0))
        width = max(_WIDTH * spread, _UNSEEN / self.num_samples)
        return Estimate(value, info, lower=value - width, upper=min(value + width, log_limit))
