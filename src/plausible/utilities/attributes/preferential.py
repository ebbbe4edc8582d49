"""Preferential independence: is the order of some attributes the same whatever the others are?"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from plausible.base.arrays import Floats
from plausible.base.records import Result, record
from plausible.errors import InvalidArgument
from plausible.factors import Factor
from plausible.factors.alignment import assignment_at
from plausible.utilities.attributes.outcome_tables import (
    Holds,
    Names,
    PreferenceChange,
    check_names,
    check_utility,
    outcome_text,
    slack,
    two_sides,
)
from plausible.variables import Assignment, State

#: Differences that are looked at in one go.
_BLOCK = 2**22
#: How many groups of outcomes that tie are printed.
_NUM_SHOWN = 8


@record
class PreferentialIndependence(Result, Holds):
    """Whether some attributes are preferentially independent of all others."""

    attributes: tuple[str, ...]  # The ones in question
    holds: bool  # Whether their outcomes come in the same order, ties included, in every context
    #: Two outcomes and two contexts that order them differently: of all the pair with the strongest reversal.
    witness: PreferenceChange | None
    #: By how much the difference of the two outcomes changes between the two contexts; zero where it holds.
    deviation: float

    def __str__(self) -> str:
        names = ", ".join(self.attributes)
        if self.holds:
            return f"{names}: preferentially independent of the other attributes"
        return f"{names}: preferences depend on the other attributes. {self.witness}"


def preferential_independence(utility: Factor, attributes: Names, tolerance: float = 1e-9) -> PreferentialIndependence:
    """Whether U(x, y) ≥ U(x', y) for one y means the same for every y (Koller & Friedman 2009, definition 22.5).

    The relation is not symmetric: see the example. Y are all other attributes; differences of at most the tolerance, as
    a share of the range of U, are indifference. All pairs of outcomes of X are looked at in all contexts: |X|² |Y|
    differences.

    Fame is only welcome together with success:

    >>> taste = Factor({"success": ["no", "yes"], "fame": ["no", "yes"]}, [[1.0, 0.0], [2.0, 3.0]])
    >>> preferential_independence(taste, "success").holds
    True
    >>> print(preferential_independence(taste, "fame"))
    fame: preferences depend on the other attributes. [fame=no] against [fame=yes]: +1 where success=no, -1 where
        success=yes
    """
    sides = two_sides(utility, attributes)
    names = tuple(variable.name for variable in sides.x)
    pair = _strongest_reversal(sides.table, slack(utility, tolerance))
    if pair is None:
        return PreferentialIndependence(names, True, None, 0.0)
    winner, loser = pair
    gain = sides.table[winner] - sides.table[loser]
    here, there = int(gain.argmax()), int(gain.argmin())
    gains = (float(gain[here]), float(gain[there]))
    better, worse = (((sides.row(number), 1.0),) for number in pair)
    change = PreferenceChange(better, worse, sides.column(here), sides.column(there), gains)
    return PreferentialIndependence(names, False, change, gains[0] - gains[1])


def _strongest_reversal(table: Floats, zero: float) -> tuple[int, int] | None:
    """Two outcomes that contexts order differently: by the greatest lesser of gain and loss, then by the gain."""
    found, best = None, (-np.inf, -np.inf)
    size = max(1, _BLOCK // max(1, table.size))
    for start in range(0, len(table), size):
        gains = table[start : start + size, None, :] - table[None]  # first outcome, second outcome, context
        most, least = gains.max(axis=2), gains.min(axis=2)
        is_changed = (most > zero) & (least <= zero)  # a change from worse to equal is one of the swapped pair
        strength = np.where(is_changed, np.minimum(most, -least), -np.inf)
        ties = np.where(strength == strength.max(), most, -np.inf)
        first, second = (int(place) for place in np.unravel_index(int(ties.argmax()), ties.shape))
        if is_changed[first, second] and (strength[first, second], most[first, second]) > best:
            found, best = (start + first, second), (strength[first, second], most[first, second])
    return found


@record
class ConditionalPreference(Result):
    """The order that a context gives to lotteries over the other attributes."""

    context: Assignment  # The attributes that are fixed
    utility: Factor  # The utility of the others in that context
    tolerance: float  # The difference of expected utilities that still counts as indifference

    def expected_utility(self, lottery: Factor) -> float:
        """Of a distribution over the free attributes, extended with certainty of the context."""
        if set(lottery.names) != set(self.utility.names):
            raise InvalidArgument(
                f"The lottery is over {list(lottery.names)}; this context needs one over {list(self.utility.names)}."
            )
        return lottery.expectation(self.utility)

    def prefers(self, first: Factor, second: Factor) -> bool:
        """Whether the first lottery is better than the second by more than the tolerance."""
        return self.expected_utility(first) - self.expected_utility(second) > self.tolerance

    def is_indifferent(self, first: Factor, second: Factor) -> bool:
        """Whether neither is preferred."""
        return not self.prefers(first, second) and not self.prefers(second, first)

    def ranking(self) -> tuple[tuple[Assignment, ...], ...]:
        """The sure outcomes from best to worst, those that tie with the next one in one group."""
        order = np.argsort(-self.utility.flat, kind="stable")
        falls = -np.diff(self.utility.flat[order]) > self.tolerance
        groups = np.split(order, np.flatnonzero(falls) + 1)
        return tuple(tuple(assignment_at(self.utility.scope, int(cell)) for cell in group) for group in groups)

    def __str__(self) -> str:
        """The sure outcomes from best to worst, the first few of many."""
        groups = self.ranking()
        told = [" ~ ".join(f"[{outcome_text(outcome)}]" for outcome in group) for group in groups[:_NUM_SHOWN]]
        end = " > ..." if len(groups) > _NUM_SHOWN else ""
        return f"where {outcome_text(self.context)}: {' > '.join(told)}{end}"


def conditional_preference(
    utility: Factor, context: Mapping[str, State], tolerance: float = 1e-9
) -> ConditionalPreference:
    """The preference over lotteries on X with Y fixed to y (Koller & Friedman 2009, definition 22.6).

    Differences of at most the tolerance, as a share of the range of U, are indifference.

    >>> taste = Factor({"success": ["no", "yes"], "fame": ["no", "yes"]}, [[1.0, 0.0], [2.0, 3.0]])
    >>> conditional_preference(taste, {"success": "yes"}).ranking()
    ((Assignment(fame='yes'),), (Assignment(fame='no'),))
    >>> print(conditional_preference(taste, {"success": "no"}))
    where success=no: [fame=no] > [fame=yes]
    """
    check_utility(utility)
    check_names(context, utility.names)
    return ConditionalPreference(Assignment(context), utility.reduce(context), slack(utility, tolerance))
