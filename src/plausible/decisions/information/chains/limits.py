"""What observations take of a limit, in whole units."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from plausible.decisions.information.subsets import Limits
from plausible.errors import InvalidArgument, TooLarge

__all__ = ["Resource", "read_resource"]

#: The units that a budget may have.
_MAX_UNITS = 2**14


@dataclass(frozen=True, slots=True)
class Resource:
    """What there is to spend, and what observations take of it.

    Attributes
    ----------
    units
        What each observation takes; 0 where there is no limit.
    available
        How much there is; no more than all observations together take.
    size
        What a unit is in terms of costs; 1 where observations are counted.
    """

    units: Mapping[str, int]
    available: int
    size: float

    @property
    def is_limiting(self) -> bool:
        """Whether not all observations can be made."""
        return sum(self.units.values()) > self.available

    @property
    def most(self) -> int:
        """How many observations can be made at most."""
        total, number = 0, 0
        for number, taken in enumerate(sorted(self.units.values()), 1):
            total += taken
            if total > self.available:
                return number - 1
        return number


def read_resource(costs: Mapping[str, float], limits: Limits) -> Resource:
    """The limit in whole units: the largest amount that all costs are multiples of, as they are written in decimals."""
    if limits.number is not None and limits.budget != math.inf:
        raise InvalidArgument("For a chain, limits can have number= or budget=, not both.")
    if limits.number is not None:
        return Resource(dict.fromkeys(costs, 1), min(limits.number, len(costs)), 1.0)
    if limits.budget == math.inf:
        return Resource(dict.fromkeys(costs, 0), 0, 1.0)
    exact = {name: Fraction(repr(float(cost))) for name, cost in costs.items()}
    denominator = math.lcm(*(cost.denominator for cost in exact.values()))
    whole = {name: int(cost * denominator) for name, cost in exact.items()}
    divisor = math.gcd(*whole.values()) or 1
    units = {name: cost // divisor for name, cost in whole.items()}
    available = min(int(Fraction(repr(float(limits.budget))) * denominator / divisor), sum(units.values()))
    if available > _MAX_UNITS:
        raise TooLarge(
            f"The budget has {available} units of {divisor / denominator:g}, the largest amount that all costs are "
            f"multiples of; at most {_MAX_UNITS} can be dealt with. Round the costs."
        )
    return Resource(units, available, divisor / denominator)
