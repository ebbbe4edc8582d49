"""Whether any utility function at all stands behind some stated choices, in exact arithmetic."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plausible.base import FrozenMapping, Result, TextTable, record
from plausible.errors import InvalidArgument
from plausible.utilities.lotteries.lottery import Lottery
from plausible.utilities.lotteries.preferences import Statement, StatementLike, read_statements

#: After so many pivots without progress, for each column, the rule that can't cycle takes over until there is some.
_PATIENCE = 5
#: What floats can't tell from one.
_UNIT_ROUNDING = Fraction(1, 2**52)
#: Denominators that people use: a third, and not 0.3333333333333333.
_GREATEST_DENOMINATOR = 10_000
#: Decimals with more digits are results of a calculation.
_MOST_DIGITS = 14
#: How many times the rounding of its probabilities a strict preference must exceed to count as one.
_CLEAR = 32
#: The margin of exact probabilities next to rounded ones, as a share of the greatest difference: below any rounding.
_ABOVE_ZERO = Fraction(1, 2**80)
Fractions = tuple[Fraction, ...]


def maximize_last(rows: Sequence[Sequence[Fraction]], limits: Sequence[Fraction]) -> tuple[Fractions, Fractions]:
    """The greatest last variable x[-1] subject to rows @ x ≤ limits and x ≥ 0, by the simplex method on integers.

    The limits are not negative, so that x = 0 is allowed, and bound x[-1]. It gives the point x and the dual weights:
    how much the optimum would rise per unit of each limit. Each pivot costs rows × columns products of long integers.
    """
    size, count = len(rows[0]), len(rows)
    full = [[*row, limit] for row, limit in zip(rows, limits, strict=True)]
    factors = [math.lcm(*(entry.denominator for entry in row)) for row in full]
    whole = [[int(entry * factor) for entry in row] for row, factor in zip(full, factors, strict=True)]
    # Basic variables in terms of the others, all entries times `unit`, the determinant of the basis. The last row is
    # the objective, the last column the values. Variables are the columns' own, then the slacks of the rows.
    table: NDArray[Any] = np.array([*whole, [0] * (size - 1) + [-1, 0]], dtype=object)
    outside, inside, unit = list(range(size)), list(range(size, size + count)), 1
    num_stalled = 0
    while rising := [place for place, value in enumerate(table[-1, :-1]) if value < 0]:
        # The column that raises the objective fastest, or of the lowest variable, which can't cycle (Bland 1977).
        is_patient = num_stalled < _PATIENCE * size
        column = min(rising, key=table[-1].__getitem__ if is_patient else outside.__getitem__)
        # The row that first stops the column's variable from growing.
        falling = [row for row, value in enumerate(table[:-1, column]) if value > 0]
        ratios = {row: (Fraction(table[row, -1], table[row, column]), inside[row]) for row in falling}
        row = min(falling, key=ratios.__getitem__)
        num_stalled = num_stalled + 1 if table[row, -1] == 0 else 0
        # Two variables are exchanged; every division has no rest (Edmonds 1967).
        old, pivot = table, table[row, column]
        table = (old * pivot - np.multiply.outer(old[:, column], old[row])) // unit
        table[row], table[:, column] = old[row], -old[:, column]
        table[row, column], unit = unit, pivot
        inside[row], outside[column] = outside[column], inside[row]
    values = dict(zip(inside, table[:-1, -1], strict=True))
    prices = dict(zip(outside, table[-1, :-1], strict=True))
    return (
        tuple(Fraction(values.get(place, 0), unit) for place in range(size)),
        tuple(Fraction(prices.get(size + row, 0) * factors[row], unit) for row in range(count)),
    )


def exact_chances(lottery: Lottery) -> tuple[dict[Hashable, Fraction], Fraction]:
    """The final probabilities as the short fractions or decimals they came from, else as the floats they are.

    The greatest probability is what the others leave. Where the given ones miss one by more than floats do, all are
    divided by their sum. Beside them: how much the last digits may have moved, 0 where all are short numbers.
    """
    given = lottery.final_probabilities()
    read = {outcome: _fraction(probability) for outcome, probability in given.items()}
    chances = {outcome: chance for outcome, (chance, _) in read.items()}
    greatest = max(given, key=given.__getitem__)
    # Four roundings each: for the number itself, and for a sum, a difference or a quotient that made it.
    unsure = [chance for outcome, (chance, is_short) in read.items() if not is_short and outcome != greatest]
    total = sum(chances.values(), Fraction(0))
    if abs(total - 1) <= len(given) * _UNIT_ROUNDING:
        chances[greatest] += 1 - total
    else:
        chances = {outcome: chance / total for outcome, chance in chances.items()}
    return chances, 4 * _UNIT_ROUNDING * sum(unsure, Fraction(0))


def _fraction(probability: float) -> tuple[Fraction, bool]:
    """A fraction that is the same float, or nearly, and whether it is a short one."""
    exact = Fraction(probability)
    short = exact.limit_denominator(_GREATEST_DENOMINATOR)
    if abs(short - exact) <= min(_UNIT_ROUNDING, exact / 10**9):
        return short, True
    decimal = f"{probability:.{_MOST_DIGITS}g}"
    return (Fraction(decimal), True) if float(decimal) == probability else (exact, False)


@record
class ConsistencyReport(Result):
    """Whether some utility function agrees with all statements.

    >>> report = choice_consistency([("tea", ">", "milk"), ({"tea": 0.5, "beer": 0.5}, "~", "milk")])
    >>> dict(report.utility)
    {'tea': 1.0, 'milk': 0.5, 'beer': 0.0}
    """

    #: One that does, from 0 to 1 and with the strict preferences as clear as can be, to the nearest floats; `None` if
    #: none does.
    utility: Mapping[Hashable, float] | None
    #: How clear: the least difference of expected utilities in strict statements, relative to the greatest difference
    #: of probabilities in each.
    margin: float
    #: Otherwise, statements that no utility satisfies together, though it satisfies all but any one of them.
    contradiction: tuple[Statement, ...]
    #: Of the statements in the contradiction: so weighted, the expected utilities on both sides add to the same.
    weights: tuple[float, ...]

    @property
    def is_consistent(self) -> bool:
        """Whether there is such a utility function."""
        return self.utility is not None

    def __str__(self) -> str:
        if self.utility is not None:
            rows = tuple((str(outcome), f"{value:.4g}") for outcome, value in self.utility.items())
            return f"consistent, for example with\n{TextTable(('outcome', 'utility'), rows, 1)}"
        lines = [f"  {weight:.4g} x {said}" for weight, said in zip(self.weights, self.contradiction, strict=True)]
        return "\n".join(["no utility function agrees with all of (weighted, both sides are the same lottery)", *lines])


@dataclass(frozen=True, slots=True)
class _Choice:
    """A statement as a row over all outcomes: EU(first) - EU(second) = row @ utilities.

    `rounding` is how much of that may be an artefact of the probabilities' last digits, with utilities from 0 to 1.
    """

    row: tuple[Fraction, ...]
    sign: str
    rounding: Fraction

    @property
    def scale(self) -> Fraction:
        """The greatest difference of probabilities; one for a lottery against itself."""
        return max(map(abs, self.row)) or Fraction(1)

    @property
    def least_margin(self) -> Fraction:
        """What is enough for a strict preference."""
        return _CLEAR * self.rounding or self.scale * _ABOVE_ZERO

    def difference(self, utilities: Sequence[Fraction]) -> Fraction:
        """EU(first) - EU(second)."""
        return sum((entry * value for entry, value in zip(self.row, utilities, strict=True)), Fraction(0))

    def holds(self, utilities: Sequence[Fraction]) -> bool:
        """Whether somebody with these utilities would say so."""
        difference = self.difference(utilities)
        if self.sign == ">":
            return difference > _CLEAR * self.rounding
        return difference >= -self.rounding and (self.sign == ">=" or difference <= self.rounding)

    def shortfall(self, utilities: Sequence[Fraction], margin: Fraction) -> float:
        """By how much it fails to hold, by the margin if strict, as a share of the greatest difference."""
        difference = self.difference(utilities)
        if self.sign == ">":
            return float((margin - difference) / self.scale)
        missed = abs(difference) if self.sign == "~" else -difference
        return float((missed - self.rounding) / self.scale)

    def limits(self, margin: Fraction) -> list[tuple[list[Fraction], Fraction]]:
        """The statement as inequalities (row, limit) on utilities and the number of margins by which it holds."""
        turned = [-entry for entry in self.row]
        if self.sign == ">":
            return [([*turned, margin], Fraction(0))]
        onward = ([*turned, Fraction(0)], self.rounding)
        return [onward] if self.sign == ">=" else [onward, ([*self.row, Fraction(0)], self.rounding)]


def choice_consistency(statements: Iterable[StatementLike]) -> ConsistencyReport:
    """Find a utility function that agrees with choices between lotteries, or choices that contradict each other.

    The linear program maximises t subject to EU(a) - EU(b) ≥ t for each a > b, ≥ 0 for a ≥ b, = 0 for a ~ b, and
    utilities between 0 and 1; there is a utility just if t > 0. Otherwise the statements that its dual weights are
    tried without one another, which leaves a set that is minimal by inclusion. All of it is done in exact arithmetic,
    on probabilities as people write them: 0.1 is a tenth. Probabilities that are no short numbers are known up to their
    last digits only, and what hangs on these counts as equal. Statements are (first, ">", second) and so on with < ~ >=
    <=, on lotteries or outcomes for sure. That more is better is not assumed: state it where it matters. Some hundreds
    take seconds.

    Most people prefer three millions for sure to a chance of .8 of four, and yet a chance of .2 of four millions to one
    of .25 of three (Allais 1953):

    >>> from plausible.utilities.lotteries.lottery import Lottery
    >>> A, B = Lottery({"4M": 0.2, "0": 0.8}), Lottery({"3M": 0.25, "0": 0.75})
    >>> C, D = Lottery({"3M": 1.0}), Lottery({"4M": 0.8, "0": 0.2})
    >>> print(choice_consistency([(C, ">", D), (A, ">", B)]))
    no utility function agrees with all of (weighted, both sides are the same lottery)
      0.25 x [3M: 1] > [4M: 0.8; 0: 0.2]
      1 x [4M: 0.2; 0: 0.8] > [3M: 0.25; 0: 0.75]
    >>> choice_consistency([(C, ">", D), (B, ">", A)]).is_consistent
    True
    """
    said = read_statements(statements)
    if not said:
        raise InvalidArgument("No choice was stated: write them as (first, '>', second).")
    sides = [(exact_chances(each.first), exact_chances(each.second)) for each in said]
    outcomes = tuple(dict.fromkeys(outcome for pair in sides for chances, _ in pair for outcome in chances))
    none, choices = Fraction(0), []
    for each, ((first, lost), (second, lost_too)) in zip(said, sides, strict=True):
        row = tuple(first.get(outcome, none) - second.get(outcome, none) for outcome in outcomes)
        choices.append(_Choice(row, each.sign, lost + lost_too))
    utilities, weights = _verdict(choices)
    if utilities is not None:
        told = FrozenMapping(dict(zip(outcomes, map(float, utilities), strict=True)))
        clear = [choice.difference(utilities) / choice.scale for choice in choices if choice.sign == ">"]
        return ConsistencyReport(told, float(min(clear, default=1)), (), ())
    # Choices that contradict each other, none of which can be left out.
    kept = [place for place, weight in enumerate(weights) if weight > 0]
    for place in list(kept):
        without = [other for other in kept if other != place]
        if without and _verdict([choices[other] for other in without])[0] is None:
            kept = without
    weights = _verdict([choices[place] for place in kept])[1]
    shares = tuple(float(weight / max(weights)) for weight in weights)
    return ConsistencyReport(None, 0.0, tuple(said[place] for place in kept), shares)


def _verdict(choices: Sequence[_Choice]) -> tuple[Fractions | None, Fractions]:
    """The clearest utilities from 0 to 1 that agree with all choices, or any, or `None`; weights: then rows cancel.

    The clearest by share of the rows' entries may leave a rounded row in doubt that another utility makes certain.
    """
    weights: Fractions = ()
    for margins in ([choice.scale for choice in choices], [choice.least_margin for choice in choices]):
        found, weights = _most_margins(choices, margins)
        *utilities, number = found
        if all(choice.holds(utilities) for choice in choices):
            low, high = min(utilities), max(utilities)
            return tuple((value - low) / ((high - low) or 1) for value in utilities), weights
        if number == 0:
            break
    return None, weights


def _most_margins(choices: Sequence[_Choice], margins: Sequence[Fraction]) -> tuple[Fractions, Fractions]:
    """Utilities and the most margins by which strict preferences hold, and the dual weight of each choice.

    Few choices decide: the program has those that do in floats, and those that a solution without them gets wrong.
    """
    size, asked = len(choices[0].row), list(range(len(choices)))
    held = asked if len(choices) <= 2 * size else _decisive(choices)
    left = [place for place in asked if place not in held]
    # Each utility is at most one; the last bound is on the margins, where no preference is strict.
    bounds = [[Fraction(int(place == other)) for other in range(size + 1)] for place in range(size + 1)]
    most = [*[Fraction(1)] * size, Fraction(size + 1)]
    while True:
        groups = [choices[place].limits(margins[place]) for place in held]
        rows, limits = zip(*(limit for group in groups for limit in group), strict=True)
        found, weights = maximize_last([*rows, *bounds], [*limits, *most])
        *utilities, number = found
        short = {place: choices[place].shortfall(utilities, number * margins[place]) for place in left}
        worst = sorted((place for place in left if short[place] > 0), key=short.__getitem__, reverse=True)[:size]
        if number == 0 or not worst:
            each = iter(weights)
            placed = {
                place: sum(islice(each, len(group)), Fraction(0)) for place, group in zip(held, groups, strict=True)
            }
            return found, tuple(placed.get(place, Fraction(0)) for place in asked)
        held, left = [*held, *worst], [place for place in left if place not in worst]


def _decisive(choices: Sequence[_Choice]) -> list[int]:
    """The places of choices with a dual weight in floats; some choices, where floats find no answer."""
    from scipy.optimize import linprog

    size = len(choices[0].row)
    limits = [(place, limit) for place, each in enumerate(choices) for limit in each.limits(each.scale)]
    scales = np.array([float(choices[place].scale) for place, _ in limits])
    found = linprog(
        np.eye(size + 1)[-1] * -1.0,
        A_ub=np.array([row for _, (row, _) in limits], dtype=float) / scales[:, None],
        b_ub=np.zeros(len(limits)),
        bounds=[(0.0, 1.0)] * size + [(0.0, size + 1.0)],
        method="highs",
    )
    weighed = [] if found.x is None else np.flatnonzero(found.ineqlin.marginals).tolist()
    return sorted({limits[at][0] for at in weighed}) or list(range(size))
