"""Sums of weighted samples: their effective number, the tails of their weights, and what follows from them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from plausible.base.arrays import Floats
from plausible.inference.estimate import Estimate
from plausible.inference.info import QueryInfo

#: With a heavier tail means of weights converge too slowly for their errors to be believed (Vehtari et al. 2024).
MAX_TAIL_SHAPE = 0.7

#: Fewer weights than these say nothing about a tail.
_FEWEST = 5

#: k is drawn towards ½ as if so many weights had said so, which keeps small samples from crying wolf.
_PRIOR_WEIGHTS = 10


def tail_shape(log_weights: ArrayLike) -> float:
    """The shape k of a generalised Pareto distribution fitted to the largest weights.

    Weights have 1 / k finite moments: below ½ the variance is finite and the standard error means what it says; up to
    0.7 larger samples still help; above, a mode with most of the weight may never have been met. The tail is the
    largest min(n / 5, 3 √n) weights (Vehtari, Simpson, Gelman, Yao & Gabry 2024, "Pareto smoothed importance
    sampling"). k is the profile posterior mean of Zhang & Stephens (2009), in O(n log n).

    Returns
    -------
    float
        -inf where the largest weights are all the same, or there are fewer than five of them.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> bool(abs(tail_shape(-0.9 * np.log(rng.random(20_000))) - 0.9) < 0.2)  # w = u^-k has a tail of shape k
    True
    >>> tail_shape(np.zeros(100))
    -inf
    """
    logs = np.sort(np.asarray(log_weights, dtype=np.float64).ravel())
    count = int(min(len(logs) / 5, 3 * math.sqrt(len(logs))))
    if count < _FEWEST or logs[-1] == -math.inf:
        return -math.inf
    weights = np.exp(logs[-count - 1 :] - logs[-1])
    excesses = weights[1:] - weights[0]
    excesses = excesses[excesses > 1e-12]  # ties with the cut-off, of which discrete weights have many
    if len(excesses) < _FEWEST or excesses[-1] - excesses[0] < 1e-12:
        return -math.inf
    return _shape(excesses)


def _shape(excesses: Floats) -> float:
    """k of sorted positive numbers with density (1 + k x / σ)^(-1/k - 1) / σ, written by θ = -k / σ."""
    count = len(excesses)
    num_points = 30 + int(math.sqrt(count))
    quartile = excesses[int(count / 4 + 0.5) - 1]
    steps = 1 - np.sqrt(num_points / (np.arange(1, num_points + 1) - 0.5))
    points = steps / (3 * quartile) + 1 / excesses[-1]
    points[points == 0] = 1e-9 / excesses[-1]  # the exponential distribution, for which the quotient below is a limit
    shapes = np.log1p(-points[:, None] * excesses).mean(axis=1)
    # The profile log-likelihood of each point, and with a flat prior its posterior weight.
    profile = count * (np.log(-points / shapes) - shapes - 1)
    posterior = np.exp(profile - profile.max())
    theta = float(points @ posterior / posterior.sum())
    shape = float(np.log1p(-theta * excesses).mean())
    return (count * shape + _PRIOR_WEIGHTS * 0.5) / (count + _PRIOR_WEIGHTS)


#: The half-width of a 95 % interval, in standard errors.
_WIDTH = 1.96
#: What never happened in n samples has, with 95 % confidence, a probability below this over n (rule of three).
_UNSEEN = 3.0
#: With fewer effective samples, normal intervals are not to be trusted.
_ENOUGH = 100.0


@dataclass(frozen=True, slots=True, eq=False)
class SampleSums:
    """Weights of independent samples, added up over all of them and over the cells of some tables."""

    num_samples: int  # How many were drawn, those of weight zero included
    #: The sums are multiples of the number with this logarithm, which the weights do not exceed; -inf if all weights
    #: are zero.
    log_unit: float
    #: The sum of the weights and that of their squares.
    total: float
    squares: float
    #: For each group of variables the same sums over the samples in each cell, an axis for each variable.
    cells: tuple[Floats, ...]
    cell_squares: tuple[Floats, ...]
    is_constant: bool = False  # Whether all samples have the same weight, whatever is drawn
    #: Pareto's k of the largest weights, -inf where they don't differ or have not been looked at; see `weight_tails`.
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
        # a table whose samples are all in one cell has no variance, but is no more certain than the samples are many.
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
