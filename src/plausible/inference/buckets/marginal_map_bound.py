"""What mini-buckets say about maxima of sums."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from plausible.base.arrays import Ints
from plausible.inference.info import QueryInfo

__all__ = ["MarginalMapBound", "marginal_map_bound"]


@dataclass(frozen=True, slots=True, eq=False)
class MarginalMapBound:
    """States of the maximised variables, and where log max Σ Π φ lies, `problem.log_scale` left out.

    Attributes
    ----------
    states
        The position of the state of each maximised variable, in the order asked for.
    lower
        log Σ Π φ over the others, given these states, is at least this; so the maximum is.
    upper
        No states have a larger log Σ Π φ.
    info
        How they were found; `error` is the gap.
    """

    states: Ints
    lower: float
    upper: float
    info: QueryInfo


def marginal_map_bound(states: Ints, lower: float, upper: float, info: QueryInfo) -> MarginalMapBound:
    """The record, with the gap as its error; there is none where nothing bounds the maximum from below."""
    gap = max(0.0, upper - lower) if lower > -math.inf else None
    return MarginalMapBound(states, lower, upper, replace(info, error=gap))
