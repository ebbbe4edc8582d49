"""Family counts: the only door between learning and data."""

from __future__ import annotations

import functools
import operator
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plausible.base.tolerances import WEIGHT_NOISE
from plausible.errors import InvalidArgument
from plausible.variables import Variable

__all__ = ["CombinedStatistics", "Statistics"]

Counts = NDArray[Any]
Places = NDArray[np.int64]


class Statistics(ABC):
    """How often the joint states of families occur; sums, differences and multiples of statistics are statistics.

    Counts are whole numbers where every row counts once, else floats.
    """

    __slots__ = ()

    @property
    @abstractmethod
    def variables(self) -> Mapping[str, Variable]:
        """Name -> discrete variable, all that can be asked about."""

    @property
    @abstractmethod
    def total(self) -> float:
        """How much all rows weigh."""

    @abstractmethod
    def counts(self, child: str, parents: Sequence[str] = ()) -> Counts:
        """How often each joint state occurs: an axis for each parent, in the order given, then one for the child.

        Rows in which the child was set from outside are left out.
        """

    def extensions(self, child: str, parents: Sequence[str], candidates: Sequence[str]) -> list[Counts]:
        """For each candidate the counts of the family with it as another parent, before all others."""
        return [self.counts(child, (candidate, *parents)) for candidate in candidates]

    def extension_stacks(
        self, child: str, parents: Sequence[str], candidates: Sequence[str]
    ) -> list[tuple[Places, Counts]]:
        """The same counts, those of candidates with equally many states together.

        For each number of states: which candidates have so many, and their counts, with an axis for these before all.
        """
        counts = self.extensions(child, parents, candidates)
        alike: dict[int, list[int]] = {}
        for place, found in enumerate(counts):
            alike.setdefault(len(found), []).append(place)
        return [(np.array(places), np.stack([counts[place] for place in places])) for places in alike.values()]

    # --- arithmetic ---

    def __add__(self, other: Statistics) -> Statistics:
        """What both have counted."""
        return _combined(self, other, 1.0) if isinstance(other, Statistics) else NotImplemented

    def __sub__(self, other: Statistics) -> Statistics:
        """What was counted without what the other has counted, such as rows that are forgotten."""
        return _combined(self, other, -1.0) if isinstance(other, Statistics) else NotImplemented

    def __mul__(self, factor: float) -> Statistics:
        """Each row counted as often as the factor says."""
        return CombinedStatistics(((self, float(factor)),)) if isinstance(factor, (int, float)) else NotImplemented

    __rmul__ = __mul__


@dataclass(frozen=True, slots=True, eq=False)
class CombinedStatistics(Statistics):
    """Σ factor x statistics, all of the same variables; made by arithmetic."""

    parts: tuple[tuple[Statistics, float], ...]

    @property
    def variables(self) -> Mapping[str, Variable]:
        """Those of all parts."""
        return self.parts[0][0].variables

    @property
    def total(self) -> float:
        """How much all rows weigh."""
        return sum(factor * part.total for part, factor in self.parts)

    def counts(self, child: str, parents: Sequence[str] = ()) -> Counts:
        """How often each joint state occurs: an axis for each parent, in the order given, then one for the child."""
        return _counted(_times(factor, part.counts(child, parents)) for part, factor in self.parts)

    def extensions(self, child: str, parents: Sequence[str], candidates: Sequence[str]) -> list[Counts]:
        """For each candidate the counts of the family with it as another parent, before all others."""
        found = [part.extensions(child, parents, candidates) for part, _ in self.parts]
        factors = [factor for _, factor in self.parts]
        return [_counted(map(_times, factors, counts)) for counts in zip(*found, strict=True)]


def _combined(first: Statistics, second: Statistics, sign: float) -> Statistics:
    if dict(first.variables) != dict(second.variables):
        different = [name for name in first.variables if second.variables.get(name) != first.variables[name]]
        raise InvalidArgument(
            f"Only statistics of the same variables can be combined; these differ, as in {different[:3]}. "
            "Read both tables with the same variables=."
        )
    more = second.parts if isinstance(second, CombinedStatistics) else ((second, 1.0),)
    parts = first.parts if isinstance(first, CombinedStatistics) else ((first, 1.0),)
    return CombinedStatistics((*parts, *((part, sign * factor) for part, factor in more)))


def _counted(parts: Iterable[Counts]) -> Counts:
    """The sum, in which nothing may be left owing; rounding is."""
    listed = list(parts)
    counts = functools.reduce(operator.add, listed)
    if counts.min(initial=0) >= 0:
        return counts
    if (counts < -WEIGHT_NOISE * sum(np.abs(part) for part in listed)).any():
        raise InvalidArgument("There are negative counts. Take away only statistics of rows that were counted.")
    return np.maximum(counts, 0)


def _times(factor: float, counts: Counts) -> Counts:
    """The product; whole numbers stay whole where the factor is."""
    return counts * (int(factor) if factor.is_integer() else factor)
