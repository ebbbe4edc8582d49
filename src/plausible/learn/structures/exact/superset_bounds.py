"""Upper bounds on the scores of all parent sets above one: what lets a search leave out most of them."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

import numpy as np

from plausible.data.statistics import Request, Statistics
from plausible.data.table_statistics import DataLike, read_statistics
from plausible.errors import InvalidArgument, TooLarge
from plausible.learn.scores.gaussian import GaussianLikelihood

#: Likelihoods of families with more cells are worked out by the rows.
_MAX_CELLS = 2**16


class SupersetBound(ABC):
    """What a child can score at most with some parents and any of some others."""

    __slots__ = ()

    @abstractmethod
    def upper(self, child: str, parents: Sequence[str], others: Sequence[str]) -> float:
        """No set that has all these parents, and besides them only some of the others, scores more."""

    def above(self, child: str, parents: Sequence[str], others: Sequence[str]) -> float:
        """The same of sets that have one of the others at least."""
        return self.upper(child, parents, others) if len(others) else -math.inf


class NoBound(SupersetBound):
    """Of a score of which nothing is known."""

    __slots__ = ()

    def upper(self, child: str, parents: Sequence[str], others: Sequence[str]) -> float:
        """Infinite."""
        return math.inf


class PenaltyBound(SupersetBound):
    """Of a likelihood less a price for each free parameter, such as BIC (MDL) and AIC.

    For U ⊆ U* ⊆ U⁺, score(X, U*) <= -N H(X | U⁺) - ψ(N) (|X| - 1) |U|: parents never worsen the fit, and never lower
    the price. Where the table of U⁺ would be too large only the joint states that occur are counted; if there are no
    rows to count, the first term is left out, as it is at most zero.

    Parameters
    ----------
    statistics
        Where the score has its counts from.
    price
        ψ: what a parameter costs, a number or a function of how much the rows of a child weigh; ½ ln N if not given,
        as in BIC.

    References
    ----------
    Darwiche (2009), Modeling and Reasoning with Bayesian Networks, section 17.4.3; Suzuki (1996), Learning Bayesian
    belief networks based on the MDL principle: an efficient algorithm using the branch and bound technique, ICML;
    de Campos & Ji (2011), Efficient structure learning of Bayesian networks using constraints, JMLR 12.

    Examples
    --------
    >>> from plausible.data.table_statistics import TableStatistics
    >>> statistics = TableStatistics({"A": [0, 1, 0, 1], "B": [0, 1, 1, 0], "C": [0, 1, 1, 1]})
    >>> bound = PenaltyBound(statistics, price=1.0)
    >>> round(bound.upper("A", [], ["B"]), 4), round(bound.upper("A", ["B"], ["C"]), 4)
    (-3.7726, -3.3863)
    """

    __slots__ = ("_fits", "_price", "_prices", "_sizes", "_statistics")

    def __init__(self, statistics: Statistics, price: float | Callable[[float], float] | None = None) -> None:
        if price is not None and not callable(price) and not price >= 0:
            raise InvalidArgument(f"price={price!r} must not be negative: else more parents could be cheaper.")
        self._statistics = statistics
        self._price = _half_log if price is None else price
        self._sizes = {name: statistics.variables[name].num_states for name in statistics.discrete}
        self._fits: dict[tuple[str, frozenset[str]], float] = {}
        self._prices: dict[str, float] = {}

    def upper(self, child: str, parents: Sequence[str], others: Sequence[str]) -> float:
        """The fit with all of them, at the price of the parents alone."""
        num_parameters = (self._sizes[child] - 1) * math.prod(self._sizes[name] for name in parents)
        return self._fit(child, frozenset((*parents, *others))) - self._price_for(child) * num_parameters

    def above(self, child: str, parents: Sequence[str], others: Sequence[str]) -> float:
        """The fit with all of them, at the price of the parents and of the cheapest of the others."""
        if not len(others):
            return -math.inf
        cheapest = min(others, key=lambda name: self._sizes[name])
        return self.upper(child, (*parents, cheapest), [name for name in others if name != cheapest])

    def _price_for(self, child: str) -> float:
        if child not in self._prices:
            total = float(self._statistics.counts(child).sum())
            self._prices[child] = self._price(total) if callable(self._price) else self._price
        return self._prices[child]

    def _fit(self, child: str, parents: frozenset[str]) -> float:
        """The log-likelihood with the best parameters, or zero."""
        key = child, parents
        if key not in self._fits:
            num_cells = self._sizes[child] * math.prod(self._sizes[name] for name in parents)
            few = num_cells <= _MAX_CELLS
            self._fits[key] = self._log_likelihood(*key) if few else self._log_likelihood_of_rows(*key)
        return self._fits[key]

    def _log_likelihood_of_rows(self, child: str, parents: frozenset[str]) -> float:
        """The same by the joint states that occur; zero if cells are missing, or only too large a table would tell."""
        from scipy.special import xlogy

        if any(name in self._statistics.missing for name in (child, *parents)):
            return 0.0
        try:
            (found,) = self._statistics.moments_of([Request(child, tuple(sorted(parents)))])
        except TooLarge:
            return 0.0
        is_new = (np.diff(found.states[:, :-1], axis=0, prepend=-1) != 0).any(axis=1)  # joint states are in order
        totals = np.bincount(np.cumsum(is_new), found.weight)
        return float(xlogy(found.weight, found.weight).sum() - xlogy(totals, totals).sum())

    def _log_likelihood(self, child: str, parents: frozenset[str]) -> float:
        from scipy.special import xlogy

        counts = self._statistics.counts(child, sorted(parents))
        return float(xlogy(counts, counts).sum() - xlogy(counts.sum(axis=-1), counts.sum(axis=-1)).sum())


class GaussianBound(SupersetBound):
    """Of the likelihood of linear Gaussian families less a price for each parameter: BIC and AIC of numbers.

    As in `PenaltyBound`: for U ⊆ U* ⊆ U⁺, score(X, U*) <= fit(X, U⁺) - ψ(N) (|U| + 2). With too few rows to fit U⁺
    nothing is bounded.

    Parameters
    ----------
    data
        Statistics, or what `Table.read` takes; all continuous.
    price
        ψ: what a parameter costs, a number or a function of how much the rows weigh; ½ ln N if not given, as in BIC.

    Examples
    --------
    >>> bound = GaussianBound({"a": [0.5, 1.5, 2.0, 4.5], "b": [1.0, 1.5, 2.5, 4.0]}, price=1.0)
    >>> round(bound.upper("a", [], ["b"]), 4), round(bound.upper("a", ["b"], []), 4)
    (-2.6699, -3.6699)
    """

    __slots__ = ("_fits", "_price", "_statistics")

    def __init__(self, data: DataLike, price: float | Callable[[float], float] | None = None) -> None:
        self._statistics = read_statistics(data)
        self._fits = GaussianLikelihood(0.0).on(self._statistics)
        self._price = _half_log if price is None else price

    def upper(self, child: str, parents: Sequence[str], others: Sequence[str]) -> float:
        """The fit with all of them, at the price of the parents alone."""
        return self._at_price_of(len(parents), child, (*parents, *others))

    def above(self, child: str, parents: Sequence[str], others: Sequence[str]) -> float:
        """The fit with all of them, at the price of one parent more."""
        return self._at_price_of(len(parents) + 1, child, (*parents, *others)) if len(others) else -math.inf

    def _at_price_of(self, num_parents: int, child: str, names: Sequence[str]) -> float:
        moments = self._statistics.moments(child)
        if moments.num_rows < len(names) + 2:
            return math.inf
        price = self._price(moments.weight) if callable(self._price) else self._price
        return self._fits.family(child, names) - price * (num_parents + 2)


class DirichletBound(SupersetBound):
    """Of marginal likelihoods with the same pseudo-count for each state: BDeu, BDs, K2.

    The score is a product of the predictive probabilities of rows of data, one after the other. The first row with a
    joint state of child and parents has at most 1 / |X|, and each other row at most 1. So score(X, U*) <= -q ln |X|
    where q joint states of X and U ⊆ U* were seen: with more parents there are no fewer.

    Parameters
    ----------
    statistics
        Where the score has its counts from. Rows must count once: with broken weights nothing is bounded.

    References
    ----------
    de Campos & Ji (2011), Efficient structure learning of Bayesian networks using constraints, JMLR 12, who count the
    joint states of the parents alone.

    Examples
    --------
    >>> from plausible.data.table_statistics import TableStatistics
    >>> bound = DirichletBound(TableStatistics({"A": [0, 1, 0, 1], "B": [0, 1, 1, 0]}))
    >>> round(bound.upper("A", [], ["B"]), 4), round(bound.upper("A", ["B"], []), 4)
    (-1.3863, -2.7726)
    """

    __slots__ = ("_statistics",)

    def __init__(self, statistics: Statistics) -> None:
        self._statistics = statistics

    def upper(self, child: str, parents: Sequence[str], others: Sequence[str]) -> float:
        """By the joint states that the data show."""
        counts = self._statistics.counts(child, sorted(parents))
        if counts.dtype.kind == "f" and not np.array_equal(counts, np.round(counts)):
            return math.inf
        return -float(np.count_nonzero(counts)) * math.log(counts.shape[-1])


def _half_log(total: float) -> float:
    return 0.5 * math.log(max(total, 1.0))
