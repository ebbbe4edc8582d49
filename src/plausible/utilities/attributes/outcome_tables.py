"""Utility functions as tables: checks, sides, what counts as zero, and what shows that an independence fails."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from plausible.base import Floats, Result, record
from plausible.errors import InvalidArgument, InvalidFactor, UnknownVariable, shortened
from plausible.factors import Factor
from plausible.factors.alignment import Scope, assignment_at, num_entries
from plausible.utilities.local import seen_text
from plausible.variables import Assignment, State, Variable

#: One attribute or several, by name.
Names: TypeAlias = str | Iterable[str]


class TwoSides(NamedTuple):
    """A utility as a matrix: a row for each assignment to X, a column for each assignment to the other attributes Y."""

    table: Floats
    x: Scope
    y: Scope

    def row(self, number: int) -> Assignment:
        """The assignment to X of a row."""
        return assignment_at(self.x, number)

    def column(self, number: int) -> Assignment:
        """The assignment to Y of a column."""
        return assignment_at(self.y, number)


class Holds:
    """Results that say whether something holds, and are true if it does."""

    __slots__ = ()

    holds: bool

    def __bool__(self) -> bool:
        return self.holds


def check_utility(utility: Factor) -> None:
    """Refuse what is no table of finite numbers."""
    if not isinstance(utility, Factor):
        raise InvalidArgument(
            f"A utility over attributes is a Factor, not {type(utility).__name__}; an additive one has it as .table()."
        )
    if not np.isfinite(utility.flat).all():
        worst = int(np.argmin(np.isfinite(utility.flat)))
        raise InvalidFactor(f"The utility is not finite at {dict(assignment_at(utility.scope, worst))!r}.")


def read_numbers(values: npt.ArrayLike, what: str) -> Floats:
    """An array of numbers, NaN and infinity among them."""
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidArgument(f"{what}: expected a regular array of numbers, not {shortened(values)}.") from None


def slack(utility: Factor, tolerance: float) -> float:
    """What counts as zero: `tolerance` times the range of the utility, and never less than what rounding leaves."""
    if not 0 <= tolerance < 1:
        raise InvalidArgument(f"tolerance={tolerance!r} is a share of the range of the utility: from 0 to below 1.")
    return tolerance * (utility.max() - utility.min()) + lost_by_rounding(utility.flat)


def lost_by_rounding(values: Floats) -> float:
    """What rounding leaves of zero where numbers of these sizes cancel."""
    return 64 * float(np.finfo(float).eps) * float(np.abs(values).max(initial=0.0))


def largest_miss(residual: Floats, utility: Factor) -> float:
    """By how much a form misses the utility at most; zero where that is no more than rounding leaves."""
    missed = float(np.abs(residual).max())
    return missed if missed > lost_by_rounding(utility.flat) else 0.0


def check_names(names: Iterable[str], known: Collection[str]) -> None:
    """Refuse names that are no attributes."""
    UnknownVariable.check_all(names, known, "this utility")


def names_of(names: Names, utility: Factor) -> tuple[str, ...]:
    """Names of attributes of the utility, each once."""
    listed = tuple(dict.fromkeys((names,) if isinstance(names, str) else names))
    check_names(listed, utility.names)
    return listed


def two_sides(utility: Factor, names: Names) -> TwoSides:
    """The matrix of a utility with the named attributes as rows and all others as columns."""
    check_utility(utility)
    rows = names_of(names, utility)
    columns = tuple(name for name in utility.names if name not in rows)
    x, y = (tuple(utility.variable(name) for name in side) for side in (rows, columns))
    return TwoSides(utility.reorder([*rows, *columns]).flat.reshape(num_entries(x), -1), x, y)


def partition_of(utility: Factor, groups: Sequence[Names], what: str) -> tuple[tuple[str, ...], ...]:
    """Groups of attributes that together have each attribute of the utility once."""
    listed = tuple(names_of(group, utility) for group in groups)
    flat = [name for group in listed for name in group]
    if repeated := next((name for name in flat if flat.count(name) > 1), None):
        raise InvalidArgument(f"{what} is about a partition of the attributes, and {repeated!r} stands in two groups.")
    if missing := [name for name in utility.names if name not in flat]:
        raise InvalidArgument(
            f"{what} is about a partition of all attributes, and {missing[0]!r} stands in no group; add it to one."
        )
    return listed


def read_reference(scope: Iterable[Variable], reference: Mapping[str, State] | None) -> dict[str, int]:
    """Name -> position of the reference state of each variable: the first one, where none is given."""
    variables, given = {variable.name: variable for variable in scope}, reference or {}
    check_names(given, variables)
    return {name: variable.index(given[name]) if name in given else 0 for name, variable in variables.items()}


#: Outcomes with their probabilities.
WeightedOutcomes: TypeAlias = tuple[tuple[Assignment, float], ...]


@record
class LotteryPair(Result):
    """Two lotteries with the same marginals on every group of attributes, of different expected utility."""

    #: Outcomes with their probabilities.
    first: WeightedOutcomes
    second: WeightedOutcomes
    difference: float  # The expected utility of the first less that of the second

    def __str__(self) -> str:
        first, second = lottery_text(self.first), lottery_text(self.second)
        return f"{first} and {second} have the same marginals and differ by {self.difference:.6g}"


@record
class PreferenceChange(Result):
    """Two lotteries over some attributes, compared differently in two contexts of the others."""

    #: Outcomes of the attributes in question with their probabilities.
    first: WeightedOutcomes
    second: WeightedOutcomes
    #: Two assignments to the other attributes.
    context: Assignment
    other_context: Assignment
    #: The expected utility of the first less that of the second, in each of the two contexts.
    differences: tuple[float, float]

    def __str__(self) -> str:
        here, there = (f"{gain:+.6g}" for gain in self.differences)
        return (
            f"{lottery_text(self.first)} against {lottery_text(self.second)}: {here} where "
            f"{outcome_text(self.context)}, {there} where {outcome_text(self.other_context)}"
        )


def outcome_text(outcome: Assignment) -> str:
    """An outcome in a line."""
    return seen_text(outcome) or "nothing is said"


def lottery_text(lottery: WeightedOutcomes, most: int = 4) -> str:
    """A lottery in a line: its outcomes with their probabilities, the first few of many."""
    if len(lottery) == 1:
        return f"[{outcome_text(lottery[0][0])}]"
    shown = "; ".join(f"{outcome_text(outcome)}: {weight:.4g}" for outcome, weight in lottery[:most])
    return f"[{shown}{'; ...' if len(lottery) > most else ''}]"


def residual_pair(residual: Floats, scope: Scope) -> LotteryPair:
    """The lotteries proportional to the positive and the negative part of what a least-squares fit leaves.

    The residual r is orthogonal to the indicator of every z_i, so both have the same marginals on every Z_i; their
    expected utilities differ by r·U / Σ r⁺ = r·r / Σ r⁺ > 0.
    """
    flat = residual.reshape(-1)
    total = float(np.maximum(flat, 0.0).sum())
    first, second = (
        tuple((assignment_at(scope, int(cell)), float(side[cell] / total)) for cell in np.flatnonzero(side > 0))
        for side in (flat, -flat)
    )
    return LotteryPair(first, second, float(flat @ flat) / total)
