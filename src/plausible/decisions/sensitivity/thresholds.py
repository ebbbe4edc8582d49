"""How far a number may move before another strategy is better."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from plausible.base.display import TextTable, format_number
from plausible.base.records import record
from plausible.base.tolerances import PROBABILITY_NOISE
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
from plausible.decisions.solving.options import SolvingOptions
from plausible.decisions.solving.solution import Solution
from plausible.decisions.solving.solve import Asked
from plausible.decisions.strategy import Strategy
from plausible.decisions.totals import proof_rounding
from plausible.errors import counted
from plausible.utilities.wording import place_text
from plausible.variables.evidence import EvidenceLike

#: Newton's method ends after finitely many steps; rounding must not keep it going.
_MAX_STEPS = 200


@record
class StableInterval:
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
class StrategyStability:
    """Stable intervals of many numbers, those with the least relative slack first."""

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

    def __str__(self) -> str:
        total, fragile = counted(len(self.intervals), "number"), len(self.fragile)
        lines = [f"Of {total}, each varied alone, {fragile or 'none'} can change the strategy."]
        if fragile:
            order = "The least slack first, that of a utility as a share of the range of its table:"
            lines += [order, str(self.to_table())]
        lines += [] if all(found.is_exact for found in self.intervals) else [NOT_PROVED]
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

    Parameters
    ----------
    diagram
        The influence diagram.
    number
        `("profit", {"market": "poor", "found": "yes"})` for an entry of a utility; `("survey", {"market": "poor"},
        "bad")` for P(survey=bad | market=poor).
    evidence, options
        As of `solve`.

    Notes
    -----
    A few solutions for each end: one more than the strategies that are met on the way.

    References
    ----------
    Nielsen & Jensen (2003), Sensitivity analysis in influence diagrams, IEEE Transactions on Systems, Man, and
    Cybernetics A 33. Eisner & Severance (1976), Mathematical techniques for efficient record segmentation.

    Examples
    --------
    >>> import plausible as pb
    >>> diagram = pb.InfluenceDiagram(
    ...     [pb.TableCPD("market", [0.5, 0.3, 0.2], states=["poor", "fair", "good"])],
    ...     [pb.Decision("found", ["no", "yes"])],
    ...     [pb.Utility(["market", "found"], [[0, -7], [0, 5], [0, 20]], name="profit")],
    ... )
    >>> print(stable_interval(diagram, ("profit", {"market": "poor", "found": "yes"})))
    profit(market=poor, found=yes) = -7: the strategy stays optimal from -11 to inf.
    below: found, always: no instead of yes
    >>> print(stable_interval(diagram, ("market", "poor")))
    P(market=poor) = 0.5: the strategy stays optimal from 0 to 0.611111.
    above: found, always: no instead of yes
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
    a share of the distance between the largest and smallest entry of that utility.

    Parameters
    ----------
    diagram
        The influence diagram.
    numbers
        As of `stable_interval`; by default all entries of utilities, and those of conditional tables that are neither
        0 nor 1: certainties are most often logic, and can be named to be varied.
    evidence, options
        As of `solve`.

    Examples
    --------
    >>> import plausible as pb
    >>> diagram = pb.InfluenceDiagram(
    ...     [pb.TableCPD("rain", [0.7, 0.3], states=["no", "yes"])],
    ...     [pb.Decision("umbrella", ["leave", "take"])],
    ...     [pb.Utility(["rain", "umbrella"], [[10, 8], [0, 7]], name="comfort")],
    ... )
    >>> print(strategy_stability(diagram, [("rain", "yes"), ("comfort", ("no", "leave"))]))
    Of 2 numbers, each varied alone, 2 can change the strategy.
    The least slack first, that of a utility as a share of the range of its table:
    number                           | optimal from | now | to |     slack
    ---------------------------------+--------------+-----+----+----------
    P(rain=yes)                      |     0.222222 | 0.3 |  1 | 0.0777778
    comfort(rain=no, umbrella=leave) |         -inf |  10 | 11 |       0.1
    """
    asked, chosen = Asked(diagram, evidence, options), read_numbers(numbers, diagram)
    solution = asked.solved()
    found = one_by_one(lambda number: _interval(asked, number, solution), chosen, progress)
    ranked = tuple(sorted(found, key=lambda interval: interval.relative_slack))
    return StrategyStability(ranked, len(chosen) - len(found))


class _End(NamedTuple):
    """Where an interval ends, the solution that is better beyond it, and whether all solutions met are proved best."""

    value: float
    beyond: Solution | None
    is_exact: bool = True


def _interval(asked: Asked, number: DiagramNumber, solution: Solution) -> StableInterval:
    walk = _Walk.of(asked, number, solution)
    low, high = map(walk.end, number.limits)
    below, above = (walk.changes(end, limit, solution) for end, limit in zip((low, high), number.limits, strict=True))
    is_exact = solution.is_optimal and low.is_exact and high.is_exact
    scale = number.scale(asked.diagram)
    return StableInterval(number, walk.current, low.value, high.value, below, above, is_exact, scale)


@dataclass(frozen=True, slots=True, eq=False)
class _Walk:
    """From a limit of a number to where the line of the present strategy is as good as any."""

    asked: Asked
    number: DiagramNumber
    current: float
    strategy: Strategy
    present: Line
    evidence: Line  # P(evidence) as a function of the number, in the units of the lines
    rounding: float

    @classmethod
    def of(cls, asked: Asked, number: DiagramNumber, solution: Solution) -> _Walk:
        present = number.weighted_utility(asked.diagram, solution.strategy, asked.evidence)
        evidence = number.evidence_line(asked.diagram, asked.evidence)
        current, rounding = number.current(asked.diagram), proof_rounding(asked.diagram)
        return cls(asked, number, current, solution.strategy, present, evidence, rounding)

    def end(self, limit: float) -> _End:
        """Newton's method on a convex piecewise linear function."""
        end = _End(limit, None)
        found = None if limit == self.current else self.number.best_at_limit(self.asked, limit)
        for _ in range(_MAX_STEPS):
            if found is None:
                break
            end = end._replace(is_exact=end.is_exact and found.is_optimal)
            if found.strategy == self.strategy:
                break
            line = self.number.weighted_utility(self.asked.diagram, found.strategy, self.asked.evidence)
            if not self._overtakes(line, end.value):
                break
            end = _End(self._meeting(line, end.value), found, end.is_exact)
            found = None if end.value == self.current else self._best(end.value)
        return end

    def changes(self, end: _End, limit: float, solution: Solution) -> tuple[ActionChange, ...]:
        """What is done otherwise past an end; if that is about what can't happen yet, half-way to the limit it can."""
        if end.beyond is None:
            return ()
        diagram, evidence = self.asked.diagram, self.asked.evidence
        found = action_changes(diagram, solution, end.beyond, evidence)
        if found or math.isinf(limit):
            return found
        return action_changes(self.number.changed(diagram, (end.value + limit) / 2), solution, end.beyond, evidence)

    def _best(self, value: float) -> Solution:
        return self.asked.solved(self.number.changed(self.asked.diagram, value))

    def _overtakes(self, line: Line, value: float) -> bool:
        """Whether a line is above the present one at a value; at infinity the steeper one is."""
        if math.isinf(value):
            return abs(line.slope - self.present.slope) > PROBABILITY_NOISE
        return line(value) - self.present(value) > self.rounding * self.evidence(value)

    def _meeting(self, line: Line, value: float) -> float:
        """Where a line meets the present one, between a value and the current one."""
        return min(max(self.present.crossing(line), min(self.current, value)), max(self.current, value))
