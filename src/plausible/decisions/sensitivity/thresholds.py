"""How far a number may move before another strategy is better."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from plausible.base import PROBABILITY_NOISE, Result, TextTable, chart_by, format_number, record
from plausible.decisions.diagram import Diagram
from plausible.decisions.information.value import NOT_PROVED, ActionChange, action_changes
from plausible.decisions.sensitivity.numbers import (
    DiagramNumber,
    Line,
    NumberLike,
    VariationState,
    one_by_one,
    read_number,
    read_numbers,
)
from plausible.decisions.solving.problem import SolvingOptions
from plausible.decisions.solving.solution import Solution
from plausible.decisions.solving.solve import Asked
from plausible.decisions.totals import proof_rounding
from plausible.errors import counted
from plausible.utilities.local import place_text
from plausible.variables.evidence import EvidenceLike

if TYPE_CHECKING:
    from plausible.base.pictured import Axes, Chart

#: Newton's method ends after finitely many steps; rounding must not keep it going.
_MAX_STEPS = 200


@record
class StableInterval(Result):
    """The values of a number for which the present strategy stays optimal."""

    number: DiagramNumber  # Which number of the diagram
    current: float  # Its present value
    #: The ends of the interval; infinite, or 0 and 1 of a probability, where the strategy stays optimal all the way.
    low: float
    high: float
    #: What is done otherwise past each end; nothing where there is no other side.
    below: tuple[ActionChange, ...]
    above: tuple[ActionChange, ...]
    is_exact: bool  # Whether all solutions behind it are proved best
    #: What moves are measured by: 1 for a probability, for a utility the distance between its largest and smallest
    #: entry (of the widest utility where these are the same).
    scale: float = 1.0

    @property
    def slack(self) -> float:
        """How far the number can move before the strategy changes; infinite if it never does."""
        down = self.current - self.low if self.below else math.inf
        up = self.high - self.current if self.above else math.inf
        return min(down, up)

    @property
    def relative_slack(self) -> float:
        """The slack as a share of the scale, so that probabilities and utilities of all units can be compared."""
        return self.slack / self.scale

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high

    def __str__(self) -> str:
        lines = [
            f"{self.number} = {format_number(self.current)}: the strategy stays optimal from "
            f"{format_number(self.low)} to {format_number(self.high)}."
        ]
        for side, changes in (("below", self.below), ("above", self.above)):
            lines += [f"{side}: {place_text(c.decision, c.seen)}: {c.after} instead of {c.before}" for c in changes]
        return "\n".join([*lines, *([] if self.is_exact else [NOT_PROVED])])


@record
class StrategyStability(Result):
    """Stable intervals of many numbers, those with the least relative slack first."""

    _rows = "intervals"

    intervals: tuple[StableInterval, ...]  # The intervals
    num_left: int = 0  # Numbers that were not looked at, since `progress` ended it

    @property
    def fragile(self) -> tuple[StableInterval, ...]:
        """The intervals with an end past which another strategy is better."""
        return tuple(interval for interval in self.intervals if interval.slack < math.inf)

    def to_table(self) -> TextTable:
        """A row for each number past which another strategy is better."""
        rows = tuple(
            (str(f.number), *map(format_number, (f.low, f.current, f.high, f.relative_slack))) for f in self.fragile
        )
        return TextTable(("number", "optimal from", "now", "to", "slack"), rows, 1)

    def plot(self, ax: Axes | None = None) -> Chart:
        """Draw how far each number may move; it needs matplotlib (the extra `plot`)."""
        return chart_by("plot_stability", self, ax)

    def __str__(self) -> str:
        total, fragile = counted(len(self.intervals), "number"), len(self.fragile)
        lines = [f"Of {total}, each varied alone, {fragile or 'none'} can change the strategy."]
        if fragile:
            order = "The least slack first, that of a utility as a share of the range of its table:"
            lines += [order, str(self.to_table())]
        lines += [] if all(interval.is_exact for interval in self.intervals) else [NOT_PROVED]
        return "\n".join([*lines, *([f"Stopped before {self.num_left} more."] if self.num_left else [])])


def stable_interval(
    diagram: Diagram,
    number: NumberLike,
    evidence: EvidenceLike | None = None,
    options: SolvingOptions | None = None,
) -> StableInterval:
    """The interval of values of one probability or utility in which the strategy of `solve()` stays optimal.

    The expected utility of a strategy is linear in each entry of a utility, and in each entry of a conditional table
    where the others of its row change in proportion (given evidence, its product with P(evidence) is). The maximum of
    lines is convex, so that one of them is the largest on an interval, whose ends are found exactly: solve the diagram
    at the far end, go to where the strategy found there and the present one are as good, and solve again until the
    present one is as good as any.

    A few solutions for each end: one more than the strategies that are met on the way.

    Nielsen & Jensen (2003), Sensitivity analysis in influence diagrams, IEEE Transactions on Systems, Man, and
    Cybernetics A 33. Eisner & Severance (1976), Mathematical techniques for efficient record segmentation.

    A number is `("profit", {"market": "poor", "found": "yes"})` for an entry of a utility; `("survey", {"market":
    "poor"}, "bad")` for P(survey=bad | market=poor).

    >>> import plausible as pb
    >>> diagram = pb.examples.load("startup")
    >>> print(stable_interval(diagram, ("profit", {"market": "poor", "found": "yes"})))
    profit(market=poor, found=yes) = -7: the strategy stays optimal from -11 to inf.
    below: found, always: no instead of yes
    """
    asked = Asked(diagram, evidence, options)
    return _interval(asked, read_number(number, diagram), asked.solved())


def strategy_stability(
    diagram: Diagram,
    numbers: Iterable[NumberLike] | None = None,
    evidence: EvidenceLike | None = None,
    options: SolvingOptions | None = None,
    progress: Callable[[VariationState], object] | None = None,
) -> StrategyStability:
    """The stable intervals of some numbers, or of all: which of them the decision hangs on.

    Those with the least slack come first; that of a probability is compared as it is, that of an entry of a utility as
    a share of the distance between the largest and smallest entry of that utility. Numbers are as of `stable_interval`;
    by default all entries of utilities, and those of conditional tables that are neither 0 nor 1: certainties are most
    often logic, and can be named to be varied.

    >>> import plausible as pb
    >>> diagram = pb.examples.load("umbrella")
    >>> print(strategy_stability(diagram, [("rain", "yes"), ("comfort", ("no", "leave"))]))
    Of 2 numbers, each varied alone, 2 can change the strategy.
    The least slack first, that of a utility as a share of the range of its table:
    number                           | optimal from | now |       to |    slack
    ---------------------------------+--------------+-----+----------+---------
    comfort(rain=no, umbrella=leave) |        9.125 |  10 |     18.5 |   0.0875
    P(rain=yes)                      |    0.0754717 | 0.3 | 0.432432 | 0.132432
    """
    asked, chosen = Asked(diagram, evidence, options), read_numbers(numbers, diagram)
    solution = asked.solved()
    intervals = one_by_one(lambda number: _interval(asked, number, solution), chosen, progress)
    ranked = tuple(sorted(intervals, key=lambda interval: interval.relative_slack))
    return StrategyStability(ranked, len(chosen) - len(intervals))


def _interval(asked: Asked, number: DiagramNumber, solution: Solution) -> StableInterval:
    diagram, evidence = asked.diagram, asked.evidence
    current, rounding = number.current(diagram), proof_rounding(diagram)
    present = number.weighted_utility(diagram, solution.strategy, evidence)
    chance = number.evidence_line(diagram, evidence)  # P(evidence), in the units of the lines

    def overtakes(line: Line, value: float) -> bool:
        """Whether a line is above the present one at a value; at infinity the steeper one is."""
        if math.isinf(value):
            return abs(line.slope - present.slope) > PROBABILITY_NOISE
        return line(value) - present(value) > rounding * chance(value)

    def end(limit: float) -> tuple[float, tuple[ActionChange, ...], bool]:
        """Where the present line is as good as any, what is done otherwise beyond it, and whether that is proved."""
        value, beyond, is_exact = limit, None, True
        best = None if limit == current else number.best_at_limit(asked, limit)
        for _ in range(_MAX_STEPS):
            is_exact = is_exact and (best is None or best.is_optimal)
            if best is None or best.strategy == solution.strategy:
                break
            line = number.weighted_utility(diagram, best.strategy, evidence)
            if not overtakes(line, value):
                break
            value, beyond = min(max(present.crossing(line), min(current, value)), max(current, value)), best
            best = None if value == current else asked.solved(number.changed(diagram, value))
        if beyond is None:
            return value, (), is_exact
        changes = action_changes(diagram, solution, beyond, evidence)
        if not changes and not math.isinf(limit):  # about what can't happen yet: half-way to the limit it can
            half_way = number.changed(diagram, (value + limit) / 2)
            changes = action_changes(half_way, solution, beyond, evidence)
        return value, changes, is_exact

    (low, below, is_low), (high, above, is_high) = map(end, number.limits)
    is_exact = solution.is_optimal and is_low and is_high
    return StableInterval(number, current, low, high, below, above, is_exact, number.scale(diagram))
