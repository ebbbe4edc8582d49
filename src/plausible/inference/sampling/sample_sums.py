"""Sums of weighted samples: their effective number, the tails of their weights, and what follows from them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np
from numpy.typing import ArrayLike

from plausible.base import WRITTEN_ROUNDING, Floats, QueryInfo, logarithms
from plausible.errors import InvalidArgument, UnknownVariable
from plausible.factors import Factor
from plausible.inference.estimates import Estimate
from plausible.inference.sampling.chain_diagnostics import UNSEEN, effective_sample_size, interval_width

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
    sampling"); -inf where they are all the same, or fewer than five. k is the profile posterior mean of Zhang &
    Stephens (2009), in O(n log n).
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
    #: Pareto's k of the largest weights, -inf where they don't differ or have not been looked at; see `tail_shape`.
    tail_shape: float = -math.inf

    @classmethod
    def merged(cls, parts: Iterable[SampleSums]) -> SampleSums:
        """The sums over several parts, at least one; the order decides about the last bits."""
        return reduce(cls._with, parts)

    def _with(self, other: SampleSums) -> SampleSums:
        unit = max(self.log_unit, other.log_unit)
        mine, theirs = (math.exp(each.log_unit - unit) if unit > -math.inf else 0.0 for each in (self, other))
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
        return min(1.0, max(_WIDTH * worst, UNSEEN / self.effective_size))

    def log_mean(self, info: QueryInfo, log_limit: float) -> Estimate:
        """The logarithm of the mean weight, with a 95 % interval: log w̄ ± 1.96 √(Σ (w - w̄)²) / Σ w.

        Where all weights are zero, the rule of three and the logarithm of the largest possible weight, `log_limit`,
        give the upper end.
        """
        if self.is_zero:
            upper = min(log_limit, log_limit + math.log(UNSEEN / self.num_samples))
            return Estimate(-math.inf, info, upper=upper)
        value = self.log_unit + math.log(self.total / self.num_samples)
        if self.is_constant:
            return Estimate.within(value, info)
        spread = math.sqrt(max(1 / self.effective_size - 1 / self.num_samples, 0.0))
        width = max(_WIDTH * spread, UNSEEN / self.num_samples)
        return Estimate(value, info, lower=value - width, upper=min(value + width, log_limit))


def importance_log_partition(
    draws: Mapping[str, ArrayLike], log_densities: ArrayLike, factors: Iterable[Factor]
) -> Estimate:
    """log Z of Z = Σ Π φ = E_Q[Π φ(X) / Q(X)], from samples of any distribution Q (Koller & Friedman 2009, §20.5.1.3).

    Q must be positive where the product is. The interval is that of Student's t for the effective samples, in standard
    errors of the mean weight, relative to it; `info.advice` says where the weights are too unequal for that.

    Parameters
    ----------
    draws
        For each variable of the factors the positions of its states in the samples: arrays of one shape, (draws,) or
        (chains, draws), as `Gibbs().draws(problem)` has them.
    log_densities
        log Q of each sample, of the same shape: finite, since Q drew it, and at most zero.
    factors
        Those whose product is summed.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> edge = Factor({"A": 2, "B": 2}, [[3.0, 1.0], [1.0, 2.0]])
    >>> uniform = {"A": rng.integers(0, 2, 10_000), "B": rng.integers(0, 2, 10_000)}
    >>> log_z = importance_log_partition(uniform, np.full(10_000, -np.log(4)), [edge])
    >>> log_z.lower < math.log(7) < log_z.upper < log_z.lower + 0.04
    True
    """
    products = _log_product(draws, factors)
    try:
        logs = np.asarray(log_densities, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidArgument("log_densities= takes an array of numbers, one for each sample.") from None
    if logs.shape != products.shape:
        raise InvalidArgument(
            f"log_densities= has the shape {logs.shape}, the draws have {products.shape}: give one for each."
        )
    if not np.isfinite(logs).all():
        raise InvalidArgument(
            f"log_densities= has entries that are no finite numbers, such as {logs[~np.isfinite(logs)][0]}: a sample "
            "of a distribution has a positive probability under it."
        )
    if logs.max() > WRITTEN_ROUNDING:
        raise InvalidArgument(
            f"log_densities= has the entry {logs.max():.6g}: logarithms of probabilities are not positive. Give log Q "
            "of each sample, normalised."
        )
    return _log_mean(products - logs, "importance sampling")


def log_partition_ratio(draws: Mapping[str, ArrayLike], before: Iterable[Factor], after: Iterable[Factor]) -> Estimate:
    """log Z(after) - log Z(before) = log E[Π after(X) / Π before(X)], X from the normalised product of `before`.

    For log-linear models it is log mean_k exp((θ - θ0) · f(ξ_k)) (Koller & Friedman 2009, eq. 20.16), the change of the
    log-partition function while a learner moves θ. Its variance grows with the distance: `info.advice` says when new
    samples are needed.

    Draws are samples of `before`, as in `importance_log_partition`; from Markov chains they may depend on each other,
    which the interval takes into account where the arrays are (chains, draws). Both products are over the same
    variables, and `after` must not be positive where `before` is zero.

    >>> from plausible.inference.problem import Problem
    >>> from plausible.inference.sampling.chains import Gibbs
    >>> from plausible.variables import Evidence
    >>> before, after = ([Factor({"A": 2, "B": 2}, [[w, 1.0], [1.0, 2.0]])] for w in (3.0, 4.0))
    >>> draws = Gibbs().draws(Problem.of(before, Evidence.read({}, {})))
    >>> ratio = log_partition_ratio(draws, before, after)
    >>> ratio.lower < math.log(8 / 7) < ratio.upper < ratio.lower + 0.02
    True
    """
    start = _log_product(draws, before)
    if np.isneginf(start).any():
        raise InvalidArgument("Some draws have probability zero under before=: they are no samples of it.")
    return _log_mean(_log_product(draws, after) - start, "samples of another model")


def _log_product(draws: Mapping[str, ArrayLike], factors: Iterable[Factor]) -> Floats:
    """log Π φ of each sample."""
    columns = {name: np.asarray(states) for name, states in draws.items()}
    shapes = {column.shape for column in columns.values()}
    if len(shapes) != 1 or (shape := shapes.pop()) == () or not math.prod(shape):
        raise InvalidArgument(
            "draws= takes an array of state positions for each variable, all of one shape, not empty."
        )
    total = np.zeros(shape)
    for factor in factors:
        for variable in factor.scope:
            UnknownVariable.check(variable.name, columns, "the draws")
            column = columns[variable.name]
            if not np.issubdtype(column.dtype, np.integer) or column.min() < 0 or column.max() >= variable.num_states:
                raise InvalidArgument(
                    f"The draws of {variable.name!r} are to be positions 0 to {variable.num_states - 1} of its states."
                )
        total += logarithms(np.asarray(factor.values)[tuple(columns[name] for name in factor.names)])
    return total


def _log_mean(log_weights: Floats, how: str) -> Estimate:
    """The logarithm of the mean weight, with an interval that knows of dependent draws."""
    count, peak = log_weights.size, float(log_weights.max())
    info = QueryInfo(how, exact=False, converged=False, error=None, num_steps=count, effective_samples=0.0)
    if peak == -math.inf:
        advice = f"None of {count} samples has a weight: draw from a distribution that is nearer."
        return Estimate(-math.inf, replace(info, advice=advice))
    weights = np.exp(log_weights - peak)
    kish = float(weights.sum() ** 2 / (weights**2).sum())
    independent = float(count)
    if log_weights.ndim == 2 and log_weights.shape[1] >= 4:
        independent = min(independent, float(effective_sample_size(weights)))
    spread = math.sqrt(max(count / kish - 1, 0.0) / max(independent - 1, 1))
    size, tail, advice = kish * independent / count, tail_shape(log_weights), ""
    if size < min(_ENOUGH, count):
        advice = f"The {count} samples are worth {size:.3g}: draw more, or from a distribution that is nearer."
    elif tail > MAX_TAIL_SHAPE:
        advice = f"The largest weights have a heavy tail (Pareto k {tail:.2g}): draw from a distribution that is "
        advice += "nearer."
    width, value = interval_width(size - 1) * spread, peak + math.log(float(weights.mean()))
    info = replace(info, converged=not advice, error=width, effective_samples=size, advice=advice)
    return Estimate(value, info, lower=value - width, upper=value + width)
