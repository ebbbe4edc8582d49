"""What a score is: a number for each family, bound to data."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plausible.data.statistics import Statistics
from plausible.graphs import DAG

__all__ = ["CountScore", "FamilyScores", "Score"]

Floats = NDArray[np.float64]


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
        return np.array([self.family(child, (*parents, candidate)) for candidate in candidates])

    def reduced(self, child: str, parents: Sequence[str]) -> Floats:
        """The score of the family without each of its parents."""
        return np.array([self.family(child, [other for other in parents if other != gone]) for gone in parents])

    def graph(self, graph: DAG) -> float:
        """The sum over all families of a graph."""
        return math.fsum(self.family(name, map(str, graph.parents(name))) for name in self.names)


class Score(ABC):
    """A decomposable score: a frozen object that holds its options; `on` binds it to data."""

    __slots__ = ()

    #: Whether graphs that stand for the same independencies have the same score.
    is_score_equivalent: bool

    @abstractmethod
    def on(self, statistics: Statistics) -> FamilyScores:
        """The scores of the families of some data."""


class CountScore(Score):
    """A score of the counts of a discrete family."""

    __slots__ = ()

    @abstractmethod
    def of_counts(self, counts: NDArray[Any], total: float) -> Floats:
        """The score of each of several families of one shape.

        Parameters
        ----------
        counts
            Axes: family, joint state of the parents, state of the child.
        total
            How much all rows weigh.
        """

    def on(self, statistics: Statistics) -> FamilyScores:
        """The scores of the families of some data."""
        return _CountedScores(self, statistics)


class _CountedScores(FamilyScores):
    __slots__ = ("_cache", "_score", "_sizes", "_statistics")

    def __init__(self, score: CountScore, statistics: Statistics) -> None:
        self._score, self._statistics = score, statistics
        self._sizes: Mapping[str, int] = {name: v.num_states for name, v in statistics.variables.items()}
        self._cache: dict[tuple[str, frozenset[str]], float] = {}

    @property
    def names(self) -> Sequence[str]:
        return list(self._sizes)

    def family(self, child: str, parents: Iterable[str]) -> float:
        key = (child, frozenset(parents))
        if key not in self._cache:
            counts = self._statistics.counts(child, sorted(key[1]))
            self._cache[key] = float(self._of(counts[None])[0])
        return self._cache[key]

    def extended(self, child: str, parents: Sequence[str], candidates: Sequence[str]) -> Floats:
        """All candidates with as many states are scored at once."""
        scores = np.empty(len(candidates))
        alike: dict[int, list[int]] = {}
        for place, name in enumerate(candidates):
            alike.setdefault(self._sizes[name], []).append(place)
        counts = self._statistics.extensions(child, sorted(parents), candidates)
        for places in alike.values():
            scores[places] = self._of(np.stack([counts[place] for place in places]))
        return scores

    def reduced(self, child: str, parents: Sequence[str]) -> Floats:
        """From the counts of the whole family, one parent summed out at a time."""
        ordered = sorted(parents)
        counts = self._statistics.counts(child, ordered)
        return np.array([float(self._of(counts.sum(axis=ordered.index(gone))[None])[0]) for gone in parents])

    def _of(self, counts: NDArray[Any]) -> Floats:
        return self._score.of_counts(counts.reshape(len(counts), -1, counts.shape[-1]), self._statistics.total)
