"""Utilities of outcomes: reading them, which differences are noise, and the scales on which they are the same."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from plausible.base import PROOF, UTILITY_NOISE, html_of_print
from plausible.errors import InvalidArgument, shortened, suggestion


def tie_room(utilities: npt.ArrayLike, tolerance: float = PROOF) -> float:
    """A difference of expected utilities up to which actions tie: a share of the range of all that may come.

    Utilities are unique up to a positive affine map, so the room grows with their unit and, but for the 1e-13 of their
    size that floats lose, does not change when a constant is added to them.
    """
    values = np.asarray(utilities, dtype=float)
    low, high = float(values.min()), float(values.max())
    # Each by itself, as the range of large utilities may be beyond floats.
    return tolerance * high - tolerance * low + UTILITY_NOISE * max(abs(low), abs(high))


class BestActions:
    """Results with a field `best`: the actions than which none is better, in the order in which they were listed."""

    __slots__ = ()

    best: tuple[Hashable, ...]

    @property
    def action(self) -> Hashable:
        """The best action; the first listed, where several tie."""
        return self.best[0]

    @property
    def ties(self) -> tuple[Hashable, ...]:
        """The best actions, if there are several; empty, if one is the best."""
        return self.best if len(self.best) > 1 else ()


#: What outcomes are worth: a mapping from them to numbers, or a function of them.
UtilityLike: TypeAlias = Mapping[Any, float] | Callable[[Any], float]


def read_utility(utility: UtilityLike) -> Callable[[Any], float]:
    """The utility as a function, which names the outcome that a mapping lacks."""
    if isinstance(utility, Mapping):
        return partial(_looked_up, utility)
    if not callable(utility):
        raise InvalidArgument(f"A utility is a mapping from outcomes or a function of them, not {shortened(utility)}.")
    return utility


def _looked_up(table: Mapping[Any, float], outcome: Hashable) -> float:
    if outcome not in table:
        raise InvalidArgument(f"No utility is given for {outcome!r}.{suggestion(outcome, table)}")
    return float(table[outcome])


def utility_of(utility: Callable[[Any], float], outcome: Hashable) -> float:
    """What one outcome is worth, if that is a finite number."""
    value = float(utility(outcome))
    if math.isnan(value):
        raise InvalidArgument(f"The outcome {outcome!r} has no number for a utility (NaN): give it one.")
    if not math.isfinite(value):
        raise InvalidArgument(
            f"The outcome {outcome!r} has the utility {value}: utilities are finite, "
            f"as otherwise no chance of the outcome would be too small to decide everything."
        )
    return value


@dataclass(frozen=True, slots=True)
class AffineMap:
    """x ↦ intercept + slope x. With a positive slope it turns a utility function into an equivalent one.

    >>> AffineMap(slope=2.0, intercept=1.0)(3.0)
    7.0
    >>> AffineMap(slope=2.0, intercept=1.0).inverse()(7.0)
    3.0
    """

    slope: float
    intercept: float

    @property
    def is_equivalence(self) -> bool:
        """Whether it keeps every preference between lotteries."""
        return self.slope > 0

    def __call__(self, utility: float) -> float:
        """The image of one number."""
        return self.intercept + self.slope * utility

    def inverse(self) -> AffineMap:
        """The map back."""
        if self.slope == 0:
            raise InvalidArgument("A map of slope 0 takes everything to one number and has no inverse.")
        return AffineMap(1.0 / self.slope, -self.intercept / self.slope)

    def __str__(self) -> str:
        return f"{self.intercept:.6g} + {self.slope:.6g} U"

    _repr_html_ = html_of_print


def rescaled_utility(
    utility: UtilityLike, outcomes: Iterable[Hashable] | None = None, low: float = 0.0, high: float = 1.0
) -> dict[Hashable, float]:
    """The equivalent utility whose least value is `low` and whose greatest is `high`.

    The utility is a mapping, or a function of the outcomes. One that is the same everywhere becomes `low`.

    >>> {outcome: round(value, 6) for outcome, value in rescaled_utility({"bad": -7, "fair": 5, "good": 20}).items()}
    {'bad': 0.0, 'fair': 0.444444, 'good': 1.0}
    """
    if not low < high:
        raise InvalidArgument(f"low={low!r} must be less than high={high!r}.")
    if outcomes is None and not isinstance(utility, Mapping):
        raise InvalidArgument("The outcomes of a function are not known: list them with outcomes=[...].")
    value, listed = read_utility(utility), list(utility if outcomes is None else outcomes)  # type: ignore[arg-type]
    if not listed:
        raise InvalidArgument("There is no outcome to give a utility to.")
    # Halves, as the range of large utilities may be beyond floats.
    halves = np.array([utility_of(value, outcome) for outcome in listed]) / 2
    shares = (halves - halves.min()) / (float(halves.max() - halves.min()) or 1.0)
    return dict(zip(listed, (low * (1 - shares) + high * shares).tolist(), strict=True))


def affine_map(
    source: Mapping[Hashable, float], target: Mapping[Hashable, float], tolerance: float = 1e-9
) -> AffineMap | None:
    """The positive affine map that takes one utility into another, if there is one.

    Utilities that agree on all preferences between lotteries differ by such a map and by nothing else (theorem 22.1).
    The target may be missed by the tolerance, relative to its range, besides what floats lose.

    >>> print(affine_map({"a": 0, "b": 1, "c": 3}, {"a": 1, "b": 3, "c": 7}))
    1 + 2 U
    >>> affine_map({"a": 0, "b": 1, "c": 3}, {"a": 0, "b": 1, "c": 9}) is None
    True
    """
    if set(source) != set(target):
        missing = set(source) ^ set(target)
        raise InvalidArgument(
            f"Both utilities need the same outcomes; only one has {shortened(sorted(map(str, missing)))}."
        )
    if not source:
        return AffineMap(1.0, 0.0)
    first = np.array([source[outcome] for outcome in source], dtype=float)
    second = np.array([target[outcome] for outcome in source], dtype=float)
    # The map that is right for the worst and the best outcome. Halves, as the range may be beyond floats.
    low, high = int(first.argmin()), int(first.argmax())
    spread = float(first[high] / 2 - first[low] / 2)
    slope = float(second[high] / 2 - second[low] / 2) / spread if spread else 1.0
    found = AffineMap(slope, float(second[low] - slope * first[low]))
    missed = np.abs(found.intercept + found.slope * first - second)
    room = tie_room(second, tolerance) + found.slope * tie_room(first, 0.0)
    return found if found.is_equivalence and (missed <= room).all() else None
