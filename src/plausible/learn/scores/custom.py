"""Scores that a user brings as a function."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from plausible.base.arrays import Floats
from plausible.data.statistics import Statistics
from plausible.learn.scores.score import CountScore, FamilyScores, Score

__all__ = ["CountFunction", "FamilyFunction"]


@dataclass(frozen=True, slots=True)
class FamilyFunction(Score):
    """Any number for each family; asked once for each.

    Parameters
    ----------
    function
        (child, sorted parents) -> score, higher is better; -inf for a family that must not be.

    Examples
    --------
    >>> score = FamilyFunction(lambda child, parents: -len(parents))
    >>> score.on_data({"rain": ["no", "yes"], "grass": ["dry", "wet"]}).family("grass", ["rain"])
    -1.0
    """

    function: Callable[[str, tuple[str, ...]], float]
    is_score_equivalent: ClassVar[bool] = False

    def on(self, statistics: Statistics) -> FamilyScores:
        """The scores of families of all variables of the data, whatever their kind."""
        return _FunctionScores(self.function, list(statistics.variables))


class _FunctionScores(FamilyScores):
    __slots__ = ("_cache", "_function", "_names")

    def __init__(self, function: Callable[[str, tuple[str, ...]], float], names: Sequence[str]) -> None:
        self._function, self._names = function, names
        self._cache: dict[tuple[str, tuple[str, ...]], float] = {}

    @property
    def names(self) -> Sequence[str]:
        return self._names

    def family(self, child: str, parents: Iterable[str]) -> float:
        key = (child, tuple(sorted(parents)))
        if key not in self._cache:
            self._cache[key] = float(self._function(*key))
        return self._cache[key]


@dataclass(frozen=True, slots=True)
class CountFunction(CountScore):
    """Any number for the counts of each family.

    Parameters
    ----------
    function
        Counts (axes: joint state of the parents, state of the child) -> score, higher is better.

    Examples
    --------
    >>> score = CountFunction(lambda counts: counts.max(axis=1).sum())  # how often the best guess is right
    >>> score.on_data({"rain": ["no", "yes", "no"], "grass": ["dry", "wet", "wet"]}).family("grass", ["rain"])
    2.0
    """

    function: Callable[[NDArray[Any]], float]
    is_score_equivalent: ClassVar[bool] = False

    def of_counts(self, counts: NDArray[Any], total: float) -> Floats:
        """The function of each family's counts."""
        return np.array([float(self.function(one)) for one in counts], dtype=np.float64)
