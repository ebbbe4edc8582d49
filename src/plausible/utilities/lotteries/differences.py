"""Derivatives of a function that is known by its values, at whatever scale it bends."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from plausible.base.arrays import Floats

#: Steps are tried from the greatest to the least of these, four times smaller each.
_GREATEST, _LEAST, _FACTOR = 2.0**66, 2.0**-200, 4.0
#: Steps are this often what floats can tell apart at the place, at least.
_LEAST_SPACINGS = 64
#: A derivative whose estimates differ by a greater share has no limit.
_MOST_DOUBT = 0.1
_EPS = 2.0**-52


@dataclass(frozen=True, slots=True)
class Differences:
    """Central differences of a function at one place."""

    #: The first and the second derivative; NaN where the estimates have no limit, as at a kink.
    slope: float
    curvature: float


def differences(function: Callable[[Floats], Floats], place: float, room: float) -> Differences:
    """Derivatives by central differences over steps of all sizes, of which that is taken where estimates agree best.

    Differences over too large a step miss how the function bends, those over too small a one are rounding. Estimates
    are extrapolated (Richardson 1911) and compared with that of the next step, relative to themselves.

    Parameters
    ----------
    function
        Values at places, one for each; NaN or infinite where it has none.
    place
        Where.
    room
        How far the function is known to both sides.

    Examples
    --------
    >>> found = differences(lambda x: -np.exp(-1e6 * x), place=1e-6, room=1e-6)
    >>> round(-found.curvature / found.slope, 1)
    1000000.0
    """
    least = max(_LEAST_SPACINGS * math.ulp(place), _LEAST)
    count = max(3, math.floor(math.log(min(_GREATEST, room / 2) / least, _FACTOR)))
    greatest = 2.0 ** math.floor(math.log2(min(_GREATEST, room / 2)))
    steps = greatest * _FACTOR ** -np.arange(float(count))
    below, above = place - steps, place + steps
    with np.errstate(all="ignore"):
        values = function(np.concatenate([below, [place], above]))
        low, middle, high = values[:count], values[count], values[count + 1 :]
        lost = 4 * _EPS * np.maximum(np.maximum(np.abs(low), np.abs(high)), abs(middle))
        slopes = (high - low) / (above - below)
        slope = _limit(slopes, lost / steps)
        # Places are rounded too, which a steep function feels.
        lost = lost + 4 * abs(slope) * math.ulp(place)
        curvature = _limit((low - 2 * middle + high) / steps**2, lost / steps**2)
    return Differences(slope, curvature)


def _limit(estimates: Floats, lost: Floats) -> float:
    """What estimates of falling steps, wrong by terms of step², come to; 0 if that is within doubt, NaN if none."""
    better = estimates[1:] + np.diff(estimates) / (_FACTOR**2 - 1)
    doubts = np.abs(np.diff(better)) + lost[2:]
    better = better[1:]
    doubts[~np.isfinite(doubts)] = np.inf
    shares = np.divide(doubts, np.abs(better), out=np.full(doubts.shape, np.inf), where=better != 0)
    shares[~np.isfinite(shares)] = np.inf
    best = int(shares.argmin())
    if shares[best] <= _MOST_DOUBT:
        return float(better[best])
    surest = int(doubts.argmin())
    return 0.0 if abs(better[surest]) <= doubts[surest] < np.inf else math.nan
