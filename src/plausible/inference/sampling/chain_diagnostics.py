"""How far the draws of several Markov chains can be trusted: split R-hat, effective sample sizes, standard errors.

All functions take an array (chains, draws), or (chains, draws, ...) and then answer for each of the last axes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from plausible.base import SMALLEST, Floats
from plausible.errors import InvalidArgument, MissingDependency

#: Chains with a larger R-hat have not mixed (Vehtari et al. 2021).
MAX_R_HAT = 1.01

#: What n draws never showed has, with 95 % confidence, a probability below this over n (rule of three).
UNSEEN = 3.0


@dataclass(frozen=True, slots=True)
class ChainDiagnostics:
    """What the draws of one number say about themselves."""

    #: The mean of all draws and the Monte Carlo standard error of it.
    mean: float
    standard_error: float
    r_hat: float  # Rank-normalised split R-hat; one when the chains agree
    #: How many independent draws would tell as much about the middle and about the 5 % and 95 % quantiles.
    bulk_size: float
    tail_size: float
    advice: str  # What to do where the chains have not mixed; "" where they have


def diagnose(draws: ArrayLike) -> ChainDiagnostics:
    """All diagnostics of an array (chains, draws).

    >>> rng = np.random.default_rng(0)
    >>> report = diagnose(rng.standard_normal((4, 1000)))
    >>> bool(report.r_hat < 1.01), report.bulk_size > 3000, report.advice
    (True, True, '')
    >>> diagnose(rng.standard_normal((2, 500)) + [[0], [3]]).advice
    'R-hat is 1.75, more than 1.01: the chains disagree. Draw more samples, or move dependent variables in blocks.'
    """
    values = _read(draws)
    if values.ndim != 2:
        raise InvalidArgument(f"diagnose takes an array (chains, draws), not one of shape {values.shape}.")
    ratio = float(r_hat(values))
    bulk, tail = float(bulk_effective_sample_size(values)), float(tail_effective_sample_size(values))
    advice = ""
    if ratio > MAX_R_HAT:
        advice = f"{told_r_hat(ratio)}: the chains disagree. Draw more samples, or move dependent variables in blocks."
    elif min(bulk, tail) < 100 * len(values):
        advice = f"The draws are worth {min(bulk, tail):.0f} independent ones, fewer than 100 for each chain. "
        advice += "Draw more samples."
    return ChainDiagnostics(float(values.mean()), float(monte_carlo_error(values)), ratio, bulk, tail, advice)


def r_hat(draws: ArrayLike) -> Floats:
    """Rank-normalised split R-hat, the larger of that of the draws and of their distances to the median.

    √(((n - 1) W / n + B / n) / W) over the halves of the chains, W their mean variance and B / n the variance of their
    means. One if all draws are equal, infinite if chains stand still at different values. Vehtari, Gelman, Simpson,
    Carpenter & Bürkner 2021, "Rank-normalization, folding, and localization", §3-4.

    >>> float(r_hat([[1, 1, 1, 1], [2, 2, 2, 2]]))
    inf
    """
    halves = _split(_read(draws))
    folded = np.abs(halves - np.median(halves, axis=(0, 1)))
    return np.maximum(_plain_r_hat(_normal_scores(halves)), _plain_r_hat(_normal_scores(folded)))


def r_hat_of_moments(means: ArrayLike, mean_squares: ArrayLike, num_draws: int) -> Floats:
    """R-hat from the mean and the mean square of each half chain, (halves, ...), each of so many draws; no ranks."""
    averages, squares = np.asarray(means, dtype=np.float64), np.asarray(mean_squares, dtype=np.float64)
    spread = np.maximum(squares - averages**2, 0.0)
    spread[spread < 1e-14 * np.maximum(squares, SMALLEST)] = 0.0  # what rounding leaves of no spread at all
    return _ratio(spread.mean(axis=0) * num_draws / max(num_draws - 1, 1), averages.var(axis=0, ddof=1), num_draws)


def effective_sample_size(draws: ArrayLike) -> Floats:
    """How many independent draws would give the mean as well: C n / (1 + 2 Σ ρ_t), over half chains.

    Autocorrelations ρ_t are pooled over chains and cut off where the sums of adjacent pairs turn negative, made
    monotone (Geyer 1992, §3.3; Vehtari et al. 2021, eqs. 10-13). Antithetic draws may count more than once, up to
    log10 of their number. Draws that are all equal count in full. Costs a Fourier transform.

    >>> waves = np.repeat(np.random.default_rng(1).standard_normal((4, 500)), 10, axis=1)  # each draw ten times
    >>> 1500 < float(effective_sample_size(waves)) < 2500
    True
    """
    return _effective_size(_split(_read(draws)))


def bulk_effective_sample_size(draws: ArrayLike) -> Floats:
    """The effective sample size of the draws' normal scores, which exists whatever the tails are."""
    return _effective_size(_normal_scores(_split(_read(draws))))


def tail_effective_sample_size(draws: ArrayLike) -> Floats:
    """The smaller of the effective sample sizes of what lies below the 5 % and the 95 % quantile."""
    values = _read(draws)
    low, high = np.quantile(values, [0.05, 0.95], axis=(0, 1))
    return np.minimum(effective_sample_size(values <= low), effective_sample_size(values <= high))


def monte_carlo_error(draws: ArrayLike) -> Floats:
    """The standard error of the mean of all draws: their standard deviation over √(effective sample size)."""
    values = _read(draws)
    return np.asarray(values.std(axis=(0, 1), ddof=1) / np.sqrt(effective_sample_size(values)))


def told_r_hat(value: float) -> str:
    """That an R-hat is too large, with as many digits as it takes to see that."""
    texts = (f"{value:.{digits}g}" for digits in range(3, 18))
    return f"R-hat is {next(text for text in texts if float(text) > MAX_R_HAT)}, more than {MAX_R_HAT}"


def interval_width(degrees: float) -> float:
    """The half-width of a 95 % interval in standard errors that rest on so many degrees of freedom (Student 1908).

    >>> [round(interval_width(degrees), 2) for degrees in (3, 30, 300)]
    [3.18, 2.04, 1.97]
    """
    from scipy.special import stdtrit

    return float(stdtrit(max(degrees, 1.0), 0.975))


def to_arviz(draws: Mapping[str, ArrayLike]) -> Any:
    """The draws, an array (chains, draws) for each name, as an ArviZ `InferenceData` object.

    Needs ArviZ, which no extra of this package brings.
    """
    try:
        import arviz  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        raise MissingDependency("This needs ArviZ, which is optional. Install it with: pip install arviz") from None
    return arviz.from_dict({name: np.asarray(values) for name, values in draws.items()})


def _read(draws: ArrayLike) -> Floats:
    values = np.asarray(draws, dtype=np.float64)
    if values.ndim < 2 or values.shape[0] < 1 or values.shape[1] < 4:
        raise InvalidArgument(f"Expected an array (chains, draws) with four draws or more, not shape {values.shape}.")
    if not np.isfinite(values).all():
        raise InvalidArgument("The draws have entries that are no finite numbers.")
    return values


def _split(values: Floats) -> Floats:
    """The halves of each chain as chains of their own; the middle draw of an odd number is left out."""
    half = values.shape[1] // 2
    return np.concatenate([values[:, :half], values[:, -half:]])


def _normal_scores(values: Floats) -> Floats:
    """Φ⁻¹((rank - 3/8) / (S + 1/4)) over all chains, ties sharing their mean rank."""
    from scipy.special import ndtri
    from scipy.stats import rankdata

    pooled = values.reshape(values.shape[0] * values.shape[1], -1)
    scores = ndtri((rankdata(pooled, axis=0) - 0.375) / (len(pooled) + 0.25))
    return np.asarray(scores, dtype=np.float64).reshape(values.shape)


def _effective_size(halves: Floats) -> Floats:
    num_chains, num_draws = halves.shape[:2]
    # (lags, ...): the covariance of draws so far apart, summed over a chain, over its length; a mean over chains.
    length = 1 << (2 * num_draws - 1).bit_length()
    spectrum = np.fft.rfft(halves - halves.mean(axis=1, keepdims=True), length, axis=1)
    power = np.fft.irfft(spectrum.real**2 + spectrum.imag**2, length, axis=1)
    covariances = np.asarray(power[:, :num_draws].mean(axis=0) / num_draws)
    within = covariances[0] * num_draws / max(num_draws - 1, 1)
    between = halves.mean(axis=1).var(axis=0, ddof=1)
    pooled = within * (num_draws - 1) / num_draws + between
    constant = (pooled <= 1e-28 * np.maximum(np.abs(halves).max(axis=(0, 1)), SMALLEST) ** 2) | (num_draws < 2)
    correlations = 1 - (within - covariances * num_draws / max(num_draws - 1, 1)) / np.where(constant, 1.0, pooled)
    correlations[0] = 1.0
    # -1 + 2 Σ of Geyer's initial monotone sequence of pairs ρ_2k + ρ_2k+1.
    pairs = correlations[: len(correlations) // 2 * 2]
    sums = pairs[0::2] + pairs[1::2] if len(pairs) else correlations[:1]
    positive, monotone = np.logical_and.accumulate(sums > 0, axis=0), np.minimum.accumulate(sums, axis=0)
    time = np.asarray(-1 + 2 * np.where(positive, monotone, 0.0).sum(axis=0))
    time = np.maximum(time, 1 / np.log10(max(num_chains * num_draws, 2)))
    total = float(num_chains * num_draws)
    return np.where(constant, total, total / time)


def _plain_r_hat(chains: Floats) -> Floats:
    return _ratio(chains.var(axis=1, ddof=1).mean(axis=0), chains.mean(axis=1).var(axis=0, ddof=1), chains.shape[1])


def _ratio(within: Floats, between: Floats, num_draws: int) -> Floats:
    """√(pooled variance / variance within), with the limits where nothing moves."""
    still = np.where(between > 1e-28, np.inf, 1.0)
    moving = within > 0
    pooled = within * (num_draws - 1) / num_draws + between
    return np.where(moving, np.sqrt(pooled / np.where(moving, within, 1.0)), still)
