"""Partition functions from samples: Z as a mean of weights, and the ratio of two from samples of one."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import ArrayLike

from plausible.base.arrays import Floats
from plausible.errors import InvalidArgument, UnknownVariable
from plausible.factors import Factor
from plausible.inference.estimate import Estimate
from plausible.inference.info import QueryInfo
from plausible.inference.sampling.chain_diagnostics import effective_sample_size, interval_width
from plausible.inference.sampling.sample_sums import MAX_TAIL_SHAPE, tail_shape

#: With fewer effective samples the interval is not to be trusted.
_ENOUGH = 100.0

#: By so much rounding may carry a logarithm of a probability above zero.
_ROUNDING = 1e-9


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
    log_products = _log_product(draws, factors)
    return _log_mean(log_products - _read_densities(log_densities, log_products.shape), "importance sampling")


def log_partition_ratio(draws: Mapping[str, ArrayLike], before: Iterable[Factor], after: Iterable[Factor]) -> Estimate:
    """log Z(after) - log Z(before) = log E[Π after(X) / Π before(X)], X from the normalised product of `before`.

    For log-linear models it is log mean_k exp((θ - θ0) · f(ξ_k)) (Koller & Friedman 2009, eq. 20.16), the change of the
    log-partition function while a learner moves θ. Its variance grows with the distance: `info.advice` says when new
    samples are needed.

    Parameters
    ----------
    draws
        Samples of `before`, as in `importance_log_partition`; from Markov chains they may depend on each other, which
        the interval takes into account where the arrays are (chains, draws).
    before, after
        The factors of both products, over the same variables; `after` must not be positive where `before` is zero.

    Examples
    --------
    >>> from plausible.inference.problem import Problem
    >>> from plausible.inference.sampling.gibbs import Gibbs
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


def _read_densities(log_densities: ArrayLike, shape: tuple[int, ...]) -> Floats:
    """The logarithms of probabilities of samples, if they are that."""
    try:
        logs = np.asarray(log_densities, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidArgument("log_densities= takes an array of numbers, one for each sample.") from None
    if logs.shape != shape:
        raise InvalidArgument(f"log_densities= has the shape {logs.shape}, the draws have {shape}: give one for each.")
    if not np.isfinite(logs).all():
        raise InvalidArgument(
            f"log_densities= has entries that are no finite numbers, such as {logs[~np.isfinite(logs)][0]}: a sample "
            "of a distribution has a positive probability under it."
        )
    if logs.max() > _ROUNDING:
        raise InvalidArgument(
            f"log_densities= has the entry {logs.max():.6g}: logarithms of probabilities are not positive. Give log Q "
            "of each sample, normalised."
        )
    return logs


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
            if variable.name not in columns:
                raise UnknownVariable.named(variable.name, columns, "the draws")
            column = columns[variable.name]
            if not np.issubdtype(column.dtype, np.integer) or column.min() < 0 or column.max() >= variable.num_states:
                raise InvalidArgument(
                    f"The draws of {variable.name!r} are to be positions 0 to {variable.num_states - 1} of its states."
                )
        with np.errstate(divide="ignore"):
            total += np.log(np.asarray(factor.values)[tuple(columns[name] for name in factor.names)])
    return total


def _log_mean(log_weights: Floats, how: str) -> Estimate:
    """The logarithm of the mean weight, with an interval that knows of dependent draws."""
    count, peak = log_weights.size, float(log_weights.max())
    if peak == -math.inf:
        advice = f"None of {count} samples has a weight: draw from a distribution that is nearer."
        return Estimate(-math.inf, _info(how, count, None, 0.0, advice))
    weights = np.exp(log_weights - peak)
    mean = float(weights.mean())
    kish = float(weights.sum() ** 2 / (weights**2).sum())
    independent = float(count)
    if log_weights.ndim == 2 and log_weights.shape[1] >= 4:
        independent = min(independent, float(effective_sample_size(weights)))
    spread = math.sqrt(max(count / kish - 1, 0.0) / max(independent - 1, 1))
    size, tail = kish * independent / count, tail_shape(log_weights)
    advice = ""
    if size < min(_ENOUGH, count):
        advice = f"The {count} samples are worth {size:.3g}: draw more, or from a distribution that is nearer."
    elif tail > MAX_TAIL_SHAPE:
        advice = (
            f"The largest weights have a heavy tail (Pareto k {tail:.2g}): draw from a distribution that is nearer."
        )
    width, value = interval_width(size - 1) * spread, peak + math.log(mean)
    return Estimate(value, _info(how, count, width, size, advice), lower=value - width, upper=value + width)


def _info(how: str, count: int, error: float | None, size: float, advice: str) -> QueryInfo:
    return QueryInfo(
        how,
        exact=False,
        converged=not advice,
        error=error,
        num_steps=count,
        effective_samples=size,
        advice=advice,
    )
