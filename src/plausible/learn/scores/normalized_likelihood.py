"""Normalised maximum likelihood: likelihoods divided by what the best fits of all data sets of the size add up to."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from plausible.base.arrays import Floats
from plausible.learn.scores.terms import Term, Terms, TermScore, n_log_n

#: From so many rows on, the expansion for two states has 13 right digits.
_LARGE = 1000
#: Up to so many states are gone through one by one, as are more if there are far more rows: a step over the states
#: takes as long as so many terms of the sum over rows.
_MANY, _TERMS_PER_STEP = 64, 64


def log_regret(total: Any, num_states: int) -> Floats:
    """ln C(N, r): the logarithm of the sum, over all data of N rows on r states, of their maximum likelihoods.

    For r = 2 it is a short sum (its terms N! / (N - k)! / N^k vanish after a few √N) or, for large N, Ramanujan's
    expansion; more states follow by C(N, r + 2) = C(N, r + 1) + N / r C(N, r), here for the quotients of neighbours,
    which stay small. With many states for one N, it is the sum over k of N! / (N - k)! / N^k times (r - 1) ... (r + k -
    2) / k!. Between whole numbers, as with weighted rows, it is interpolated.

    References
    ----------
    Kontkanen & Myllymäki (2007), A linear-time algorithm for computing the multinomial stochastic complexity,
    Information Processing Letters 103; Mononen & Myllymäki (2008), Computing the multinomial stochastic complexity in
    sub-linear time, PGM.
    """
    sizes = np.asarray(total, dtype=np.float64)[()]
    below = np.floor(sizes)
    regret = _of_whole(below, num_states)
    share = sizes - below
    if share.any():
        regret = regret + share * (_of_whole(below + 1, num_states) - regret)
    return regret


def _of_whole(sizes: Floats, num_states: int) -> Floats:
    if num_states == 1:
        return np.zeros_like(sizes)
    if sizes.ndim == 0 and num_states > _MANY and num_states * _TERMS_PER_STEP > sizes:
        return _by_sum(float(sizes), num_states)
    # `[()]` makes a plain number of an array without axes, which is faster to count with.
    quotient = _two_states(sizes)[()]
    regret = np.log(quotient)
    for states in range(1, num_states - 1):
        quotient = 1 + sizes / states / quotient
        regret = regret + np.log(quotient)
    return regret


def _by_sum(size: float, num_states: int) -> Floats:
    """ln Σ_k N!/(N-k)!/N^k · (r-1)r...(r+k-2)/k!, over k = 0, ..., N: in time that does not depend on r."""
    steps = np.arange(size)
    logs = np.concatenate(
        [[0.0], np.cumsum(np.log1p(-steps / max(size, 1)) + np.log((num_states - 1 + steps) / (steps + 1)))]
    )
    top = logs.max()
    return np.asarray(top + np.log(np.exp(logs - top).sum()))[()]


def _two_states(sizes: Floats) -> Floats:
    small = _small_sums()
    root = np.sqrt(np.pi / 2 * np.maximum(sizes, 1))
    inverse = 1 / np.maximum(sizes, 1)
    series = 2 / 3 + root * (1 + inverse * (1 / 12 + inverse * (1 / 288 - inverse * 139 / 51840)))
    series = series - inverse * (4 / 135 - inverse * 8 / 2835)
    return np.where(sizes < _LARGE, small[np.minimum(sizes, _LARGE - 1).astype(np.int64)], series)


@lru_cache(maxsize=1)
def _small_sums() -> Floats:
    """C(N, 2) for N = 0, ..., 999: each the sum of N! / (N - k)! / N^k over k = 0, ..., N."""
    sizes, steps = np.arange(1, _LARGE)[:, None], np.arange(_LARGE - 1)[None, :]
    factors = np.maximum(1 - steps / sizes, 0)
    return np.concatenate([[1.0], 1 + np.cumprod(factors, axis=1).sum(axis=1)])


@dataclass(frozen=True, slots=True)
class FactorizedNML(TermScore):
    """fNML: ln P(D | θ̂, G) - Σ ln C(N_u, r): each row of each table pays for what it could have fitted.

    There is nothing to choose, unlike α of BDeu. It is not score equivalent.

    References
    ----------
    Silander, Roos, Kontkanen & Myllymäki (2008), Factorized normalized maximum likelihood criterion for learning
    Bayesian network structures, PGM.

    Examples
    --------
    >>> scores = FactorizedNML().on_data({"rain": ["no", "yes", "no"], "grass": ["dry", "wet", "wet"]})
    >>> round(float(np.exp(scores.family("grass", ["rain"]))), 6)
    0.05
    """

    is_score_equivalent: ClassVar[bool] = False

    def terms(self, num_rows: int, num_states: int, total: float) -> Terms:
        """Those of the likelihood, with the regret of each row."""
        return Terms(n_log_n, _row_term(num_states))


@lru_cache(maxsize=256)
def _row_term(num_states: int) -> Term:
    return lambda counts: n_log_n(counts) + log_regret(counts, num_states)


@dataclass(frozen=True, slots=True)
class QuotientNML(TermScore):
    """qNML: ln P(D | θ̂, G) - Σ ln C(N, |X| |U|) / C(N, |U|): like fNML, but score equivalent.

    References
    ----------
    Silander, Leppä-aho, Jääsaari & Roos (2018), Quotient normalized maximum likelihood criterion for learning Bayesian
    network structures, AISTATS.
    """

    is_score_equivalent: ClassVar[bool] = True

    def terms(self, num_rows: int, num_states: int, total: float) -> Terms:
        """Those of the likelihood, less the difference of two regrets."""
        price = _cached_regret(total, num_rows * num_states) - _cached_regret(total, num_rows)
        return Terms(n_log_n, n_log_n, -price)


@lru_cache(maxsize=4096)
def _cached_regret(total: float, num_states: int) -> float:
    return float(log_regret(total, num_states))
