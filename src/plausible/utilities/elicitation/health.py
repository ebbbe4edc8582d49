"""Quality-adjusted life years of courses of health."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from numbers import Real
from typing import Any

from plausible.base.display import TextTable
from plausible.base.records import record
from plausible.errors import InvalidArgument, shortened
from plausible.utilities.lotteries.outcome_utilities import UtilityLike, read_utility, utility_of


@dataclass(frozen=True, slots=True)
class HealthTrajectory:
    """States of health, one after the other, with how many years each lasts; it may be an outcome of a `Lottery`.

    Examples
    --------
    >>> HealthTrajectory((("healthy", 10), ("ill", 2))).life_years
    12.0
    """

    stages: tuple[tuple[Hashable, float], ...]  # (state, years) pairs in order

    def __post_init__(self) -> None:
        object.__setattr__(self, "stages", tuple(map(_read_stage, self.stages)))

    @property
    def life_years(self) -> float:
        """All years together."""
        return float(sum(years for _, years in self.stages))


def _read_stage(stage: Any) -> tuple[Hashable, float]:
    if not (isinstance(stage, (tuple, list)) and len(stage) == 2):
        raise InvalidArgument(f"{shortened(stage)} is no stage: give (state, years) pairs, such as ('ill', 2).")
    state, years = stage
    if not (isinstance(years, Real) and 0 <= float(years) < math.inf):
        raise InvalidArgument(f"{years!r} years in {state!r}: years are finite numbers and not negative.")
    return state, float(years)


@record
class QualityAdjustedYears:
    """What a course of health is worth, in years of full health.

    Examples
    --------
    >>> float(quality_adjusted_years([("healthy", 10), ("ill", 2)], {"healthy": 1, "ill": 0.5}))
    11.0
    """

    total: float  # Σ years · weight
    stages: tuple[tuple[Hashable, float, float, float], ...]  # (state, years, weight, contribution), in order
    discount: float  # By which share a year counts less than the year before

    def __float__(self) -> float:
        return self.total

    def __str__(self) -> str:
        rows = tuple((str(state), *(f"{number:.6g}" for number in numbers)) for state, *numbers in self.stages)
        table = TextTable(("state", "years", "weight", "quality-adjusted"), rows, 1)
        return f"{table}\ntotal: {self.total:.6g} quality-adjusted years"


def quality_adjusted_years(
    trajectory: HealthTrajectory | Iterable[tuple[Hashable, float]],
    weights: UtilityLike,
    discount: float = 0.0,
) -> QualityAdjustedYears:
    """Σ years · weight over the stages of a life: 1 for health, less for illness, negative for worse than death.

    With a discount r, time t from now counts (1 + r)⁻ᵗ. The total is a utility: lotteries of trajectories have a mean.

    Parameters
    ----------
    trajectory
        (state, years) pairs in order.
    weights
        Of the states: a mapping such as the result of `time_trade_off`, or a function; at most 1.
    discount
        r, for instance 0.03; not negative.

    Examples
    --------
    >>> print(quality_adjusted_years([("healthy", 10), ("dialysis", 4), ("coma", 0.5)],
    ...                              {"healthy": 1, "dialysis": 0.6, "coma": -0.2}))
    state    | years | weight | quality-adjusted
    ---------+-------+--------+-----------------
    healthy  |    10 |      1 |               10
    dialysis |     4 |    0.6 |              2.4
    coma     |   0.5 |   -0.2 |             -0.1
    total: 12.3 quality-adjusted years
    """
    course = trajectory if isinstance(trajectory, HealthTrajectory) else HealthTrajectory(tuple(trajectory))
    if discount < 0:
        raise InvalidArgument(f"discount={discount!r} must not be negative.")
    value, began = read_utility(weights), 0.0
    stages = []
    for state, years in course.stages:
        weight = utility_of(value, state)
        if weight > 1:
            raise InvalidArgument(f"The weight {weight:.6g} of {state!r} exceeds 1, the weight of full health.")
        stages.append((state, float(years), weight, weight * _present(began, years, discount)))
        began += years
    return QualityAdjustedYears(math.fsum(stage[3] for stage in stages), tuple(stages), discount)


def _present(began: float, years: float, discount: float) -> float:
    """∫ (1 + r)⁻ᵗ dt from when a stage began to its end."""
    if discount == 0:
        return years
    rate = math.log1p(discount)
    return math.exp(-rate * began) * -math.expm1(-rate * years) / rate
