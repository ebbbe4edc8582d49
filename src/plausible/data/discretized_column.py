"""One column of numbers as intervals: labels that people can read, and the way back."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from plausible.base.arrays import Floats, Positions
from plausible.errors import InvalidArgument
from plausible.variables import Variable


class Interval(NamedTuple):
    """The numbers low <= x < high, their name, and one that stands for them; the outer ones are not bounded."""

    label: str
    low: float
    high: float
    representative: float


@dataclass(frozen=True)
class DiscretizedColumn:
    """Where a column is cut."""

    name: str  # of the column
    #: increasing; a value at a cut belongs to the interval after it. None of a column that has one interval alone
    cuts: tuple[float, ...]
    #: A number within each interval: the mean of the values that were seen there, or its middle
    representatives: tuple[float, ...]

    def __post_init__(self) -> None:
        cuts = np.array(self.cuts)
        if not np.isfinite(cuts).all() or (np.diff(cuts) <= 0).any():
            raise InvalidArgument(f"The cuts of {self.name!r} are increasing finite numbers, not {list(self.cuts)}.")
        if len(self.representatives) != len(self.cuts) + 1 or not np.array_equal(
            np.searchsorted(cuts, self.representatives, side="right"), np.arange(len(cuts) + 1)
        ):
            raise InvalidArgument(
                f"The representatives of {self.name!r} are a number within each of its {len(self.cuts) + 1} intervals, "
                f"not {list(self.representatives)}."
            )

    @classmethod
    def at(
        cls, name: str, cuts: Floats, values: Floats | None = None, weights: Floats | None = None
    ) -> DiscretizedColumn:
        """The column cut there; the values that were seen, each with its weight, tell what stands for an interval."""
        cuts = np.asarray(cuts, dtype=np.float64)
        seen = np.empty(0) if values is None else values
        mass = np.ones(len(seen)) if weights is None else weights
        where = np.searchsorted(cuts, seen, side="right")
        total = np.bincount(where, mass, len(cuts) + 1)
        scale = max(float(np.abs(seen).max(initial=0.0)), 1e-300)  # sums of large numbers must not overflow
        means = np.bincount(where, mass * (seen / scale), len(cuts) + 1) / np.where(total > 0, total, 1.0) * scale
        chosen = np.where(total > 0, means, _middles(cuts, seen))
        low, high = np.concatenate([[-np.inf], cuts]), np.concatenate([np.nextafter(cuts, -np.inf), [np.inf]])
        return cls(name, tuple(cuts.tolist()), tuple(chosen.clip(low, high).tolist()))

    @cached_property
    def variable(self) -> Variable:
        """The variable whose states are the intervals, in order."""
        texts = _short_texts(self.cuts, self.representatives)
        if not texts:
            return Variable(self.name, ["any"])
        between = [f"{low} to {high}" for low, high in pairwise(texts)]
        return Variable(self.name, [f"below {texts[0]}", *between, f"from {texts[-1]}"])

    @property
    def intervals(self) -> tuple[Interval, ...]:
        """The intervals in order."""
        limits = (-np.inf, *self.cuts, np.inf)
        states = map(str, self.variable.states)
        return tuple(map(Interval, states, limits[:-1], limits[1:], self.representatives))

    def encode(self, numbers: Floats) -> Positions:
        """The position of the interval of each number; -1 for NaN."""
        return np.where(np.isnan(numbers), -1, np.searchsorted(np.array(self.cuts), numbers, side="right"))

    def decode(self, codes: NDArray[np.signedinteger[Any]]) -> Floats:
        """What stands for the interval at each position; NaN for -1."""
        return np.asarray(np.array([*self.representatives, np.nan])[codes], dtype=np.float64)


def _middles(cuts: Floats, seen: Floats) -> Floats:
    """A number inside each interval; an outer one is taken as wide as its neighbour where no values are beyond."""
    if not len(cuts):
        return np.zeros(1) if not len(seen) else np.array([seen.mean()])
    width = np.diff(cuts) if len(cuts) > 1 else np.array([max(abs(float(cuts[0])), 1.0)])
    low, high = cuts[0] - width[0], cuts[-1] + width[-1]
    limits = np.concatenate([[min(low, seen.min(initial=low))], cuts, [max(high, seen.max(initial=high))]])
    return np.asarray(limits[:-1] / 2 + limits[1:] / 2)


def _short_texts(cuts: tuple[float, ...], representatives: tuple[float, ...]) -> list[str]:
    """Each cut with as few digits as leave its error below a hundredth of the distance to its nearest neighbour."""
    known = np.unique([*cuts, *representatives, -np.inf, np.inf])
    places = np.searchsorted(known, cuts)
    errors = np.minimum(known[places] - known[places - 1], known[places + 1] - known[places]) / 100
    return [_short_text(cut, error) for cut, error in zip(cuts, errors.tolist(), strict=True)]


def _short_text(number: float, error: float) -> str:
    texts = (f"{number:.{digits}g}" for digits in range(1, 18))
    text = next(text for text in texts if abs(float(text) - number) <= error or float(text) == number)
    return repr(float(text)).removesuffix(".0") if abs(float(text)) < 1e16 else text
