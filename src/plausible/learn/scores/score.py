"""What a score is: a number for each family, bound to data.

Conventions, the same for all scores: natural logarithms; the higher, the better; the score of a graph is the sum over
its families. Rows in which the child was set from outside say nothing about its family, so that N is how much the other
rows weigh. Without rows every likelihood is one. A family of which no score can be told, because its kind is not
supported, has -inf: no search takes it.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plausible.base.arrays import Floats
from plausible.data.statistics import Statistics
from plausible.data.table import TableLike
from plausible.data.table_statistics import TableStatistics
from plausible.errors import InvalidArgument, NotSupported, UnknownVariable
from plausible.graphs import DAG

__all__ = ["CountScore", "FamilyScores", "Score", "check_family", "refuse_continuous"]


class FamilyScores(ABC):
    """The scores of all families on some data; higher is better."""

    __slots__ = ()

    @property
    @abstractmethod
    def names(self) -> Sequence[str]:
        """The variables, in the order of the data."""

    @abstractmethod
    def family(self, child: str, parents: Iterable[str]) -> float:
        """The score of a variable with these parents."""

    def extended(self, child: str, parents: Sequence[str], candidates: Sequence[str]) -> Floats:
        """The score of the family with each candidate as another parent."""
        return np.array([self.family(child, (*parents, candidate)) for candidate in candidates], dtype=np.float64)

    def extended_each(
        self, child: str, bases: Sequence[Sequence[str]], candidates: Sequence[Sequence[str]]
    ) -> list[Floats]:
        """`extended` for each of several sets of equally many parents, with candidates of its own."""
        return [self.extended(child, base, some) for base, some in zip(bases, candidates, strict=True)]

    def reduced(self, child: str, parents: Sequence[str]) -> Floats:
        """The score of the family without each of its parents."""
        without = [[other for other in parents if other != gone] for gone in parents]
        return np.array([self.family(child, others) for others in without], dtype=np.float64)

    def graph(self, graph: DAG) -> float:
        """The sum over all families of a graph."""
        return math.fsum(self.family(name, map(str, graph.parents(name))) for name in self.names)


class Score(ABC):
    """A decomposable score: a frozen object that holds its options; `on` binds it to data."""

    __slots__ = ()

    @property
    @abstractmethod
    def is_score_equivalent(self) -> bool:
        """Whether graphs that stand for the same independencies have the same score."""

    @abstractmethod
    def on(self, statistics: Statistics) -> FamilyScores:
        """The scores of the families of some data."""

    def on_data(self, data: TableLike) -> FamilyScores:
        """The scores of the families of a table, or of what `Table.read` takes."""
        return self.on(TableStatistics(data))


class CountScore(Score):
    """A score of the counts of a discrete family."""

    __slots__ = ()

    @abstractmethod
    def of_counts(self, counts: NDArray[Any], total: float) -> Floats:
        """The score of each of several families of one child and one shape.

        Parameters
        ----------
        counts
            Axes: family, joint state of the parents, state of the child.
        total
            How much the rows weigh that were counted.
        """

    def on(self, statistics: Statistics) -> FamilyScores:
        """The scores of the families of some data, whose variables are all discrete."""
        refuse_continuous(self, statistics)
        return _CountedScores(self.bound(), statistics)

    def bound(self) -> Callable[[NDArray[Any], float], Floats]:
        """What does the work of `of_counts` many times over, on one data set."""
        return self.of_counts


def refuse_continuous(score: Score, statistics: Statistics) -> None:
    """Refuse rows with numbers, which a score of counts would leave out."""
    if isinstance(statistics, TableStatistics) and statistics.table.continuous:
        raise NotSupported(
            f"{statistics.table.continuous[0]!r} is continuous, but {type(score).__name__} is a score of counts. "
            "Discretise it, leave it out, or take a score of numbers, such as 'gaussian-bic', or of mixed data: "
            "'conditional-gaussian-bic'."
        )


def check_family(child: str, parents: Iterable[str], names: Collection[str]) -> None:
    """Refuse names that are not there, and a variable that is its own parent."""
    for name in (child, *parents):
        if name not in names:
            raise UnknownVariable.named(name, names, "the data")
    if child in parents:
        raise InvalidArgument(f"{child!r} can't be its own parent; leave it out of the parents.")


class _CountedScores(FamilyScores):
    __slots__ = ("_cache", "_of_counts", "_statistics", "_variables")

    def __init__(self, of_counts: Callable[[NDArray[Any], float], Floats], statistics: Statistics) -> None:
        self._of_counts, self._statistics = of_counts, statistics
        self._variables: Mapping[str, object] = statistics.variables
        self._cache: dict[tuple[str, frozenset[str]], float] = {}

    @property
    def names(self) -> Sequence[str]:
        return list(self._variables)

    def family(self, child: str, parents: Iterable[str]) -> float:
        key = (child, frozenset(parents))
        if key not in self._cache:
            counts = self._statistics.counts(child, sorted(key[1]))
            self._cache[key] = float(self._of(counts[None])[0])
        return self._cache[key]

    def extended(self, child: str, parents: Sequence[str], candidates: Sequence[str]) -> Floats:
        """All candidates with as many states are scored at once."""
        check_family(child, (*parents, *candidates), self._variables)
        scores = np.empty(len(candidates))
        for places, counts in self._statistics.extension_stacks(child, sorted(parents), candidates):
            scores[places] = self._of(counts)
        return scores

    def reduced(self, child: str, parents: Sequence[str]) -> Floats:
        """From the counts of the whole family, one parent summed out at a time."""
        ordered = sorted(parents)
        counts = self._statistics.counts(child, ordered)
        summed = [counts.sum(axis=ordered.index(gone)) for gone in parents]
        return np.array([float(self._of(less[None])[0]) for less in summed], dtype=np.float64)

    def _of(self, counts: NDArray[Any]) -> Floats:
        """The scores of several families of one child, so that all of them have counted the same rows."""
        return self._of_counts(counts.reshape(len(counts), -1, counts.shape[-1]), float(counts[0].sum()))
