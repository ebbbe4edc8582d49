"""Upper bounds on the scores of parent sets, and the best parents of a variable, or along an order, by them."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plausible.base import score_noise
from plausible.data.statistics import Request, Statistics
from plausible.data.stream_statistics import read_statistics
from plausible.data.table_statistics import DataLike
from plausible.errors import InvalidArgument, TooLarge
from plausible.learn.scores.dirichlet import BDeuScore, BDsScore, K2Score
from plausible.learn.scores.gaussian import GaussianLikelihood
from plausible.learn.scores.penalized import AIC, BIC, PenalizedLikelihood, Penalty, half_log, price_of
from plausible.learn.scores.score import FamilyScores, Score
from plausible.learn.structures.knowledge import FoundGraph, Knowledge, found_graph
from plausible.search.run import Clock, Run

_MAX_CELLS = 2**16  # Likelihoods of families with more cells are worked out by the rows


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
        return math.inf


class PenaltyBound(SupersetBound):
    """Of a likelihood less a price for each free parameter, such as BIC (MDL) and AIC.

    For U ⊆ U* ⊆ U⁺, score(X, U*) <= -N H(X | U⁺) - ψ(N) (|X| - 1) |U|: parents never worsen the fit, and never lower
    the price. Where the table of U⁺ would be too large only the joint states that occur are counted; if there are no
    rows to count, the first term is left out, as it is at most zero. Darwiche (2009), Modeling and Reasoning with
    Bayesian Networks, section 17.4.3; Suzuki (1996), Learning Bayesian belief networks based on the MDL principle: an
    efficient algorithm using the branch and bound technique, ICML; de Campos & Ji (2011), Efficient structure learning
    of Bayesian networks using constraints, JMLR 12. The statistics are where the score has its counts from; the price ψ
    of a parameter is a number, or a function of how much the rows of a child weigh, by default ½ ln N.

    >>> from plausible.data.table_statistics import TableStatistics
    >>> statistics = TableStatistics({"A": [0, 1, 0, 1], "B": [0, 1, 1, 0], "C": [0, 1, 1, 1]})
    >>> bound = PenaltyBound(statistics, price=1.0)
    >>> round(bound.upper("A", [], ["B"]), 4), round(bound.upper("A", ["B"], ["C"]), 4)
    (-3.7726, -3.3863)
    """

    def __init__(self, statistics: Statistics, price: Penalty | None = None) -> None:
        if price is not None and not callable(price) and not price >= 0:
            raise InvalidArgument(f"price={price!r} must not be negative: else more parents could be cheaper.")
        self._statistics = statistics
        self._price = half_log if price is None else price
        self._sizes = {name: statistics.variables[name].num_states for name in statistics.discrete}
        self._fits: dict[tuple[str, frozenset[str]], float] = {}
        self._prices: dict[str, float] = {}

    def upper(self, child: str, parents: Sequence[str], others: Sequence[str]) -> float:
        """The fit with all of them, at the price of the parents alone."""
        num_parameters = (self._sizes[child] - 1) * math.prod(self._sizes[name] for name in parents)
        if child not in self._prices:
            total = float(self._statistics.counts(child).sum())
            self._prices[child] = price_of(self._price, total)
        return self._fit(child, frozenset((*parents, *others))) - self._prices[child] * num_parameters

    def above(self, child: str, parents: Sequence[str], others: Sequence[str]) -> float:
        """The fit with all of them, at the price of the parents and of the cheapest of the others."""
        if not len(others):
            return -math.inf
        cheapest = min(others, key=lambda name: self._sizes[name])
        return self.upper(child, (*parents, cheapest), [name for name in others if name != cheapest])

    def _fit(self, child: str, parents: frozenset[str]) -> float:
        """The log-likelihood with the best parameters, or zero."""
        key = child, parents
        if key not in self._fits:
            num_cells = self._sizes[child] * math.prod(self._sizes[name] for name in parents)
            if num_cells <= _MAX_CELLS:
                counts = self._statistics.counts(child, sorted(parents))
                self._fits[key] = _likelihood(counts, counts.sum(axis=-1))
            else:
                self._fits[key] = self._fit_of_rows(child, parents)
        return self._fits[key]

    def _fit_of_rows(self, child: str, parents: frozenset[str]) -> float:
        """The same by the joint states that occur; zero if cells are missing, or only too large a table would tell."""
        if any(name in self._statistics.missing for name in (child, *parents)):
            return 0.0
        try:
            (found,) = self._statistics.moments_of([Request(child, tuple(sorted(parents)))])
        except TooLarge:
            return 0.0
        is_new = (np.diff(found.states[:, :-1], axis=0, prepend=-1) != 0).any(axis=1)  # joint states are in order
        return _likelihood(found.weight, np.bincount(np.cumsum(is_new), found.weight))


def _likelihood(counts: NDArray[Any], totals: NDArray[Any]) -> float:
    from scipy.special import xlogy

    return float(xlogy(counts, counts).sum() - xlogy(totals, totals).sum())


class GaussianBound(SupersetBound):
    """Of the likelihood of linear Gaussian families less a price for each parameter: BIC and AIC of numbers.

    As in `PenaltyBound`: for U ⊆ U* ⊆ U⁺, score(X, U*) <= fit(X, U⁺) - ψ(N) (|U| + 2). With too few rows to fit U⁺
    nothing is bounded. The data, or statistics of them, are all continuous; the price is as in `PenaltyBound`.

    >>> bound = GaussianBound({"a": [0.5, 1.5, 2.0, 4.5], "b": [1.0, 1.5, 2.5, 4.0]}, price=1.0)
    >>> round(bound.upper("a", [], ["b"]), 4), round(bound.upper("a", ["b"], []), 4)
    (-2.6699, -3.6699)
    """

    def __init__(self, data: DataLike, price: Penalty | None = None) -> None:
        self._statistics = read_statistics(data)
        self._fits = GaussianLikelihood(0.0).on(self._statistics)
        self._price = half_log if price is None else price

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
        return self._fits.family(child, names) - price_of(self._price, moments.weight) * (num_parents + 2)


class DirichletBound(SupersetBound):
    """Of marginal likelihoods with the same pseudo-count for each state: BDeu, BDs, K2.

    The score is a product of the predictive probabilities of rows of data, one after the other. The first row with a
    joint state of child and parents has at most 1 / |X|, and each other row at most 1. So score(X, U*) <= -q ln |X|
    where q joint states of X and U ⊆ U* were seen: with more parents there are no fewer. Rows must count once: with
    broken weights nothing is bounded. de Campos & Ji (2011) count the joint states of the parents alone.

    >>> from plausible.data.table_statistics import TableStatistics
    >>> bound = DirichletBound(TableStatistics({"A": [0, 1, 0, 1], "B": [0, 1, 1, 0]}))
    >>> round(bound.upper("A", [], ["B"]), 4), round(bound.upper("A", ["B"], []), 4)
    (-1.3863, -2.7726)
    """

    def __init__(self, statistics: Statistics) -> None:
        self._statistics = statistics

    def upper(self, child: str, parents: Sequence[str], others: Sequence[str]) -> float:
        """By the joint states that the data show."""
        counts = self._statistics.counts(child, sorted(parents))
        if counts.dtype.kind == "f" and not np.array_equal(counts, np.round(counts)):
            return math.inf
        return -float(np.count_nonzero(counts)) * math.log(counts.shape[-1])


def bound_for(score: Score | None, statistics: Statistics | None) -> SupersetBound | None:
    """What rules out parent sets that can't be best under a score; `None` where nothing is known of it."""
    if statistics is None:
        return None
    if isinstance(score, BIC):
        return PenaltyBound(statistics)
    if isinstance(score, AIC):
        return PenaltyBound(statistics, 1.0)
    if isinstance(score, PenalizedLikelihood):
        return PenaltyBound(statistics, score.penalty)
    if isinstance(score, GaussianLikelihood):
        return GaussianBound(statistics, score.penalty)
    return DirichletBound(statistics) if isinstance(score, (BDeuScore, BDsScore, K2Score)) else None


@dataclass(frozen=True, slots=True)
class ParentChoice:
    """The best parents of a variable, sorted, their score, and how many families were scored to find them."""

    parents: tuple[str, ...]
    score: float
    num_families: int


def optimal_parents(
    scores: FamilyScores,
    child: str,
    candidates: Sequence[str],
    *,
    required: Sequence[str] = (),
    max_parents: int | None = None,
    bound: SupersetBound | None = None,
) -> ParentChoice:
    """The parent set with the largest score among all subsets of the candidates.

    A tree of sets is searched depth first: a child of U adds a candidate later than those in U, so that each set is met
    once. U⁺ is U with all later candidates; where the bound of all sets between U and U⁺ does not exceed the best score
    so far, that of greedy search (K3) at first, the tree below U is left out (Darwiche 2009, Modeling and Reasoning
    with Bayesian Networks, section 17.4.3). At worst 2^m families.

    Parameters
    ----------
    scores, bound
        Scores of families, and the bound of the score; without it every set is scored.
    child, candidates, required
        The variable, those that may be its parents, and those that are in any case.
    max_parents
        It has no more of them, the required ones included; `None` for no limit.

    Examples
    --------
    >>> class Parity(FamilyScores):
    ...     names = ("A", "B", "C", "X")
    ...     def family(self, child, parents): return {"AB": 2.0, "": 0.0}.get("".join(sorted(parents)), -1.0)
    >>> optimal_parents(Parity(), "X", ["A", "B", "C"])
    ParentChoice(parents=('A', 'B'), score=2.0, num_families=8)
    """
    search = _SubsetSearch(scores, child, bound or NoBound())
    free = sorted(set(candidates) - {child, *required})
    room = len(free) if max_parents is None else min(max_parents - len(required), len(free))
    start = tuple(sorted(required))
    search.look_at(start, scores.family(child, start))
    search.climb(start, free, room)
    search.descend(start, free, room)
    return ParentChoice(tuple(sorted(search.best)), search.score, len(search.seen))


class _SubsetSearch:
    """The best set so far, and the scores of all that were met."""

    def __init__(self, scores: FamilyScores, child: str, bound: SupersetBound) -> None:
        self._scores, self._child, self._bound = scores, child, bound
        self.best: tuple[str, ...] = ()
        self.score = -math.inf
        self.seen: dict[frozenset[str], float] = {}

    def look_at(self, parents: tuple[str, ...], score: float) -> None:
        """Remember a set, as the best one if it is."""
        self.seen[frozenset(parents)] = score
        if len(self.seen) == 1 or score > self.score + score_noise(self.score):
            self.best, self.score = parents, score

    def climb(self, parents: tuple[str, ...], free: Sequence[str], room: int) -> None:
        """Greedy search: add the best candidate as long as the score improves."""
        while room > 0 and free:
            values = self._extended(parents, free)
            place = int(np.argmax(values))
            parents = (*parents, free[place])
            if frozenset(parents) != frozenset(self.best):
                return
            free, room = [name for name in free if name != parents[-1]], room - 1

    def descend(self, parents: tuple[str, ...], later: Sequence[str], room: int) -> None:
        """All sets between some parents and those with all later candidates, but for those ruled out."""
        if room <= 0 or not later or self._bound.above(self._child, parents, later) <= self.score:
            return
        values = self._extended(parents, later)
        for place in np.argsort([-value for value in values], kind="stable").tolist():
            self.descend((*parents, later[place]), later[place + 1 :], room - 1)

    def _extended(self, parents: tuple[str, ...], others: Sequence[str]) -> list[float]:
        """The score with each of the others as another parent; only what was not met before is worked out."""
        sets = [frozenset((*parents, name)) for name in others]
        unknown = [name for name, found in zip(others, sets, strict=True) if found not in self.seen]
        if unknown:
            scores = self._scores.extended(self._child, parents, unknown).tolist()
            for name, score in zip(unknown, scores, strict=True):
                self.look_at((*parents, name), score)
        return [self.seen[found] for found in sets]


def optimal_along_order(
    scores: FamilyScores,
    order: Sequence[str],
    knowledge: Knowledge | None = None,
    *,
    bound: SupersetBound | None = None,
) -> FoundGraph:
    """The best graph whose edges all lead forward in an order: n searches for parents that don't affect each other.

    The bound of the result is that of graphs along this order, in which causes come before effects; the other options
    are those of `find_parent_sets`.

    >>> class Pairs(FamilyScores):
    ...     names = ("A", "B", "C")
    ...     def family(self, child, parents): return -abs(len(list(parents)) - 1.0)
    >>> optimal_along_order(Pairs(), ["C", "B", "A"]).graph.edges
    (('B', 'A'), ('C', 'B'))
    """
    clock = Clock.of(None)
    names = sorted(scores.names)
    constraints = Knowledge.read(knowledge).on(names).along(order, names)
    choices = [
        optimal_parents(
            scores,
            name,
            [names[p] for p in np.flatnonzero(constraints.allowed[:, v]).tolist()],
            required=[names[p] for p in constraints.required_families[v]],
            max_parents=constraints.max_parents,
            bound=bound,
        )
        for v, name in enumerate(names)
    ]
    families = [[names.index(parent) for parent in choice.parents] for choice in choices]
    score = sum(choice.score for choice in choices)
    num_families = sum(choice.num_families for choice in choices)
    run = Run(families, num_families, "optimal", seconds=clock.seconds)
    return found_graph(scores, constraints, families, run, score)
