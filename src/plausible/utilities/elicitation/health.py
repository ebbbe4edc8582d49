"""Units of health: micromorts, and quality-adjusted life years."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from plausible.base import Frozen, Result, TextTable, record
from plausible.errors import InvalidArgument, shortened
from plausible.utilities.lotteries.curves import TabulatedCurve
from plausible.utilities.lotteries.outcome_utilities import UtilityLike, read_utility, utility_of

#: The probability of death that is one micromort.
MICROMORT = 1e-6
_CERTAIN_DEATH = 1e6


def micromorts(probability: float) -> float:
    """A probability of death in micromorts.

    >>> round(micromorts(0.0003), 9)
    300.0
    """
    if not 0 <= probability <= 1:
        raise InvalidArgument(f"{probability!r} is no probability of death.")
    return probability * _CERTAIN_DEATH


@dataclass(frozen=True, slots=True)
class MicromortRate:
    """What a micromort is worth in money, where risks are small enough for that to be one number (Howard 1980).

    Within the limit utility is nearly linear in the risk, and amounts convert both ways. Beyond it they don't: nobody
    sells a certain death for a million times the price of a micromort, so larger risks are refused.

    >>> MicromortRate(20.0).to_dollars(340 - 16)
    6480.0
    >>> MicromortRate(20.0).disutilities(risks={"delayed lymphoma": 0.05}, payments={"biopsy": 500.0})
    {'delayed lymphoma': 50000.0, 'biopsy': 25.0}
    >>> MicromortRate(20.0).to_dollars(500_000)
    Traceback (most recent call last):
        ...
    plausible.errors.InvalidArgument: 500000 micromorts are a risk of death of 0.5, beyond the 1000 up to which ...
    """

    dollars: float = 20.0  # For one micromort: some 20 in dollars of 1980
    limit: float = 1000.0  # The greatest risk to convert, in micromorts

    def __post_init__(self) -> None:
        if not 0 < self.dollars < math.inf:
            raise InvalidArgument(f"dollars={self.dollars!r} for a micromort must be positive and finite.")
        if not 0 < self.limit < _CERTAIN_DEATH:
            raise InvalidArgument(
                f"limit={self.limit!r} must be positive, and less than the million micromorts of a certain death."
            )

    def to_dollars(self, risk: float) -> float:
        """What a risk in micromorts is worth; negative for a risk that is taken away."""
        self._check(risk)
        return risk * self.dollars

    def to_micromorts(self, dollars: float) -> float:
        """The risk in micromorts that an amount stands for."""
        self._check(dollars / self.dollars)
        return dollars / self.dollars

    def disutilities(self, risks: Mapping[str, float], payments: Mapping[str, float]) -> dict[str, float]:
        """Micromorts of outcomes: grave ones as accepted risks of a painless death, slight ones as what one pays.

        Payments are exchanged within the limit only: ask for larger ones as risks.
        """
        for outcome, risk in risks.items():
            if not 0 <= risk <= 1:
                raise InvalidArgument(f"The accepted risk of {outcome!r} is a probability, not {risk!r}.")
            if outcome in payments:
                raise InvalidArgument(f"{outcome!r} is given as a risk and as a payment; give one of them.")
        for outcome, payment in payments.items():
            if not 0 <= payment <= self.limit * self.dollars:
                raise InvalidArgument(
                    f"{payment!r} dollars for {outcome!r} are beyond what can be exchanged at a constant rate "
                    f"(0 to {self.limit * self.dollars:g}); ask for the risk that one would accept instead."
                )
        grave = {outcome: micromorts(risk) for outcome, risk in risks.items()}
        return grave | {outcome: self.to_micromorts(payment) for outcome, payment in payments.items()}

    def _check(self, risk: float) -> None:
        if not abs(risk) <= self.limit:
            raise InvalidArgument(
                f"{risk:.6g} micromorts are a risk of death of {abs(risk) * MICROMORT:.3g}, beyond the {self.limit:g} "
                f"up to which utility is taken to be linear: at larger risks no price per micromort holds. Ask for "
                f"such a risk itself (MicromortCurve), or in a standard gamble."
            )


class MicromortCurve(Frozen):
    """What somebody demands to accept a risk of death, and pays to be rid of one.

    Such curves are steeper for risks taken on than for risks taken away, and rise ever faster: beyond the greatest risk
    in the table nothing is known, and nothing is extrapolated. Risks are in micromorts, negative ones are taken away;
    amounts are demanded (positive) or paid (negative) for each. Zero is added, at an amount of 0.

    >>> asked = MicromortCurve([-100, -10, 10, 100, 1000], [-800, -150, 300, 4000, 90_000])
    >>> asked.amount(100), asked.amount(-100), round(asked.asymmetry(10), 3)
    (4000.0, -800.0, 2.0)
    """

    __slots__ = ("_curve",)

    def __init__(self, risks: npt.ArrayLike, amounts: npt.ArrayLike) -> None:
        first, second = np.atleast_1d(np.array(risks, dtype=float)), np.atleast_1d(np.array(amounts, dtype=float))
        if first.shape != second.shape:
            raise InvalidArgument(f"Give as many amounts as risks, not {second.size} for {first.size}.")
        if (np.abs(first) > _CERTAIN_DEATH).any():
            raise InvalidArgument("A certain death is a million micromorts; no risk is greater.")
        if not (first == 0).any():
            first, second = np.append(first, 0.0), np.append(second, 0.0)
        self._curve = TabulatedCurve(first, second)

    @property
    def range(self) -> tuple[float, float]:
        """The least and the greatest risk that was asked about."""
        return self._curve.domain

    def amount(self, risk: float) -> float:
        """What is demanded for a risk in micromorts, or, if it is negative, paid to be rid of it (below 0)."""
        low, high = self.range
        if not low <= risk <= high:
            raise InvalidArgument(
                f"{risk:.6g} micromorts lie outside of the {low:.6g} to {high:.6g} that were asked about; the utility "
                f"of a risk of death is not its chance times that of death, so ask about this risk."
            )
        return self._curve(risk)

    def asymmetry(self, risk: float) -> float:
        """How many times more is demanded for a risk than paid to be rid of it."""
        return self.amount(abs(risk)) / -self.amount(-abs(risk))

    def rate(self, risk: float, tolerance: float = 0.1) -> MicromortRate:
        """The price per micromort of a small risk, up to where the curve departs from it by more than this share."""
        if not 0 < risk <= self.range[1]:
            raise InvalidArgument(f"risk={risk!r} must be positive and among those asked about.")
        dollars, limit = self.amount(risk) / risk, risk
        while limit < self.range[1]:
            larger = min(1.1 * limit, self.range[1])
            if abs(self.amount(larger) / larger - dollars) > tolerance * dollars:
                break
            limit = larger
        return MicromortRate(dollars, limit)


@dataclass(frozen=True, slots=True)
class HealthTrajectory:
    """States of health, one after the other, with how many years each lasts; it may be an outcome of a `Lottery`.

    >>> HealthTrajectory((("healthy", 10), ("ill", 2))).life_years
    12.0
    """

    stages: tuple[tuple[Hashable, float], ...]  # (state, years) pairs in order

    def __post_init__(self) -> None:
        given: Any = self.stages
        read = []
        for stage in given:
            if not (isinstance(stage, (tuple, list)) and len(stage) == 2):
                raise InvalidArgument(f"{shortened(stage)} is no stage: give (state, years) pairs, such as ('ill', 2).")
            state, years = stage
            if not (isinstance(years, Real) and 0 <= float(years) < math.inf):
                raise InvalidArgument(f"{years!r} years in {state!r}: years are finite numbers and not negative.")
            read.append((state, float(years)))
        object.__setattr__(self, "stages", tuple(read))

    @property
    def life_years(self) -> float:
        """All years together."""
        return float(sum(years for _, years in self.stages))


@record
class QualityAdjustedYears(Result):
    """What a course of health is worth, in years of full health."""

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
    The trajectory is (state, years) pairs in order; the weights of the states, at most 1, are a mapping such as the
    result of `time_trade_off`, or a function.

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
    value, rate, began = read_utility(weights), math.log1p(discount), 0.0
    stages = []
    for state, years in course.stages:
        weight = utility_of(value, state)
        if weight > 1:
            raise InvalidArgument(f"The weight {weight:.6g} of {state!r} exceeds 1, the weight of full health.")
        # ∫ (1 + r)⁻ᵗ dt from when the stage began to its end.
        present = math.exp(-rate * began) * -math.expm1(-rate * years) / rate if rate else years
        stages.append((state, years, weight, weight * present))
        began += years
    return QualityAdjustedYears(math.fsum(stage[3] for stage in stages), tuple(stages), discount)
