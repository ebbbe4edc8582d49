"""Likelihood less a price: for each free parameter (AIC, BIC, description length), or what any data could have fitted.

Normalised maximum likelihood divides by what the best fits of all data sets of the size add up to. Also information.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, TypeAlias

import numpy as np

from plausible.base import Floats
from plausible.data.statistics import Statistics
from plausible.data.stream_statistics import read_statistics
from plausible.data.table_statistics import DataLike
from plausible.errors import InvalidArgument
from plausible.learn.scores.score import FamilyScores, Score, Term, Terms, TermScore, n_log_n
from plausible.learn.scores.structure_prior import EdgePenalty, WithPrior

_LARGE = 1000  # From so many rows on, the expansion for two states has 13 right digits
#: Up to so many states are gone through one by one, as are more if there are far more rows: a step over the states
#: takes as long as so many terms of the sum over rows.
_MANY, _TERMS_PER_STEP = 64, 64

Penalty: TypeAlias = float | Callable[[float], float]  # ψ: the price of a parameter, a number or a function of N


def half_log(total: float) -> float:
    """½ ln N, the price of a parameter in BIC; 0 for less than one row."""
    return 0.5 * math.log(max(total, 1.0))


def check_penalty(penalty: Penalty) -> None:
    """Refuse a negative price."""
    if not callable(penalty) and not penalty >= 0:
        raise InvalidArgument(f"The price of a parameter is not negative, but penalty is {penalty}.")


def price_of(penalty: Penalty, total: float) -> float:
    """ψ(N)."""
    return penalty(total) if callable(penalty) else penalty


def _priced(price: float, num_rows: int, num_states: int) -> Terms:
    """The terms of the likelihood, less the price of all parameters."""
    return Terms(n_log_n, n_log_n, -price * num_rows * (num_states - 1))


@dataclass(frozen=True, slots=True)
class LogLikelihood(TermScore):
    """ln P(D | θ̂, G) = Σ N_ux ln(N_ux / N_u) = -N Σ H(X | U): how well the best parameters fit.

    It never falls when an edge is added, and is largest for every complete graph.

    >>> scores = LogLikelihood().on_data({"rain": ["no", "yes", "no"], "grass": ["dry", "wet", "wet"]})
    >>> round(scores.family("grass", ["rain"]), 4), round(scores.family("grass", []), 4)
    (-1.3863, -1.9095)
    """

    is_score_equivalent: ClassVar[bool] = True

    def terms(self, num_rows: int, num_states: int, total: float) -> Terms:
        return Terms(n_log_n, n_log_n)


@dataclass(frozen=True, slots=True)
class PenalizedLikelihood(TermScore):
    """ln P(D | θ̂, G) - ψ(N) Dim(G), where Dim(G) = Σ (|X| - 1) |U| is the number of free parameters.

    The penalty ψ is the price of a parameter, a number or a function of N (Darwiche 2009, Modeling and Reasoning with
    Bayesian Networks, section 17.4).

    >>> data = {"rain": ["no", "yes", "no"], "grass": ["dry", "wet", "wet"]}
    >>> hannan_quinn = PenalizedLikelihood(lambda total: math.log(math.log(total)))
    >>> round(hannan_quinn.on_data(data).family("grass", ["rain"]), 4)
    -1.5744
    """

    penalty: Penalty
    is_score_equivalent: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_penalty(self.penalty)

    def terms(self, num_rows: int, num_states: int, total: float) -> Terms:
        return _priced(price_of(self.penalty, total), num_rows, num_states)


@dataclass(frozen=True, slots=True)
class AIC(TermScore):
    """ln P(D | θ̂, G) - Dim(G), which aims at prediction and keeps more edges than BIC.

    Akaike (1974), A new look at the statistical model identification, IEEE Transactions on Automatic Control 19.
    """

    is_score_equivalent: ClassVar[bool] = True

    def terms(self, num_rows: int, num_states: int, total: float) -> Terms:
        return _priced(1.0, num_rows, num_states)


@dataclass(frozen=True, slots=True)
class BIC(TermScore):
    """ln P(D | θ̂, G) - ½ ln N Dim(G), the limit of the Bayesian scores; also called MDL.

    Software that minimises writes -2 BIC, and the MDL literature counts in bits: divide by ln 2. Schwarz (1978),
    Estimating the dimension of a model, Annals of Statistics 6.

    >>> from plausible.graphs import DAG
    >>> scores = BIC().on_data({"rain": ["no", "yes", "no"], "grass": ["dry", "wet", "wet"]})
    >>> round(scores.graph(DAG("rain -> grass")), 4)
    -4.9438
    """

    is_score_equivalent: ClassVar[bool] = True

    def terms(self, num_rows: int, num_states: int, total: float) -> Terms:
        return _priced(half_log(total), num_rows, num_states)


@dataclass(frozen=True, slots=True)
class DescriptionLength(Score):
    """The negative of Lam & Bacchus' description length, in nats as all scores: bits are -score / ln 2.

    The network takes Σ k log₂ n + d (|X| - 1) |U| bits, where k is a variable's number of parents, n the number of
    variables and d the bits of a number, by default ½ log₂ N, which is as exact as N rows can tell; the data take
    -N Σ P log₂ Q, with Q the best fit. Lam & Bacchus (1994), Learning Bayesian belief networks: an approach based on
    the MDL principle, Computational Intelligence 10.

    >>> from plausible.graphs import DAG
    >>> scores = DescriptionLength(8).on_data({"rain": ["no", "yes"], "grass": ["dry", "wet"]})
    >>> -scores.graph(DAG("rain -> grass")) / math.log(2)  # an edge, three numbers, two rows
    27.0
    """

    bits_per_number: float | None = None
    is_score_equivalent: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.bits_per_number is not None and not self.bits_per_number >= 0:
            raise InvalidArgument(f"A number takes no negative number of bits: {self.bits_per_number}.")

    def on(self, statistics: Statistics) -> FamilyScores:
        penalty = half_log if self.bits_per_number is None else self.bits_per_number * math.log(2)
        edges = EdgePenalty(1 / max(len(statistics.variables), 1))
        return WithPrior(PenalizedLikelihood(penalty), edges).on(statistics)


def conditional_entropy(data: DataLike, variable: str, given: Sequence[str] = ()) -> float:
    """H(X | U) = -Σ P(x, u) ln P(x | u) of the empirical distribution; 0 without rows.

    >>> data = {"rain": ["no", "yes", "no"], "grass": ["dry", "wet", "wet"]}
    >>> round(conditional_entropy(data, "grass", ["rain"]), 4)
    0.4621
    """
    counts = read_statistics(data).counts(variable, given)
    total = float(counts.sum())
    fit = LogLikelihood().of_counts(counts.reshape(1, -1, counts.shape[-1]), total)
    return max(0.0, -float(fit[0]) / total) if total > 0 else 0.0


def mutual_information(
    statistics: Statistics, variable: str, others: Sequence[str], given: Sequence[str] = ()
) -> float:
    """I(X; Y | Z) = H(X | Z) - H(X | Y, Z) of the empirical distribution: what the others tell about a variable.

    With a variable's parents as the others it is the family's weight of Chow & Liu and of Lam & Bacchus: the sum over
    all families is how much less the likelihood's logarithm would be without edges, divided by N.

    >>> from plausible.data.table_statistics import TableStatistics
    >>> statistics = TableStatistics({"rain": ["no", "yes", "no"], "grass": ["dry", "wet", "wet"]})
    >>> round(mutual_information(statistics, "grass", ["rain"]), 4)
    0.1744
    """
    known = conditional_entropy(statistics, variable, given)
    return max(0.0, known - conditional_entropy(statistics, variable, [*others, *given]))


def log_regret(total: Any, num_states: int) -> Floats:
    """ln C(N, r): the logarithm of the sum, over all data of N rows on r states, of their maximum likelihoods.

    For r = 2 it is a short sum (its terms N! / (N - k)! / N^k vanish after a few √N) or, for large N, Ramanujan's
    expansion; more states follow by C(N, r + 2) = C(N, r + 1) + N / r C(N, r), here for the quotients of neighbours,
    which stay small. With many states for one N, it is the sum over k of N! / (N - k)! / N^k times (r - 1) ... (r + k -
    2) / k!. Between whole numbers, as with weighted rows, it is interpolated.

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
        size, steps = float(sizes), np.arange(float(sizes))
        factors = np.log1p(-steps / max(size, 1)) + np.log((num_states - 1 + steps) / (steps + 1))
        logs = np.concatenate([[0.0], np.cumsum(factors)])
        top = logs.max()
        return np.asarray(top + np.log(np.exp(logs - top).sum()))[()]
    # `[()]` makes a plain number of an array without axes, which is faster to count with.
    small = _small_sums()
    root = np.sqrt(np.pi / 2 * np.maximum(sizes, 1))
    inverse = 1 / np.maximum(sizes, 1)
    series = 2 / 3 + root * (1 + inverse * (1 / 12 + inverse * (1 / 288 - inverse * 139 / 51840)))
    series = series - inverse * (4 / 135 - inverse * 8 / 2835)
    quotient = np.where(sizes < _LARGE, small[np.minimum(sizes, _LARGE - 1).astype(np.int64)], series)[()]
    regret = np.log(quotient)
    for states in range(1, num_states - 1):
        quotient = 1 + sizes / states / quotient
        regret = regret + np.log(quotient)
    return regret


@lru_cache(maxsize=1)
def _small_sums() -> Floats:
    """C(N, 2) for N = 0, ..., 999: each the sum of N! / (N - k)! / N^k over k = 0, ..., N."""
    sizes, steps = np.arange(1, _LARGE)[:, None], np.arange(_LARGE - 1)[None, :]
    factors = np.maximum(1 - steps / sizes, 0)
    return np.concatenate([[1.0], 1 + np.cumprod(factors, axis=1).sum(axis=1)])


@dataclass(frozen=True, slots=True)
class FactorizedNML(TermScore):
    """fNML: ln P(D | θ̂, G) - Σ ln C(N_u, r): each row of each table pays for what it could have fitted.

    There is nothing to choose, unlike α of BDeu. It is not score equivalent. Silander, Roos, Kontkanen & Myllymäki
    (2008), Factorized normalized maximum likelihood criterion for learning Bayesian network structures, PGM.

    >>> scores = FactorizedNML().on_data({"rain": ["no", "yes", "no"], "grass": ["dry", "wet", "wet"]})
    >>> round(float(np.exp(scores.family("grass", ["rain"]))), 6)
    0.05
    """

    is_score_equivalent: ClassVar[bool] = False

    def terms(self, num_rows: int, num_states: int, total: float) -> Terms:
        return Terms(n_log_n, _row_term(num_states))


@lru_cache(maxsize=256)
def _row_term(num_states: int) -> Term:
    return lambda counts: n_log_n(counts) + log_regret(counts, num_states)


@dataclass(frozen=True, slots=True)
class QuotientNML(TermScore):
    """qNML: ln P(D | θ̂, G) - Σ ln C(N, |X| |U|) / C(N, |U|): like fNML, but score equivalent.

    Silander, Leppä-aho, Jääsaari & Roos (2018), Quotient normalized maximum likelihood criterion for learning Bayesian
    network structures, AISTATS.
    """

    is_score_equivalent: ClassVar[bool] = True

    def terms(self, num_rows: int, num_states: int, total: float) -> Terms:
        price = _cached_regret(total, num_rows * num_states) - _cached_regret(total, num_rows)
        return Terms(n_log_n, n_log_n, -price)


@lru_cache(maxsize=4096)
def _cached_regret(total: float, num_states: int) -> float:
    return float(log_regret(total, num_states))
