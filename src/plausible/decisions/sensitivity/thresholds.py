"""How far a number may move before another strategy is better."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from plausible.decisions.information.changes import ActionChange, action_changes
from plausible.decisions.sensitivity.numbers import (
    Line,
    NumberLike,
    ProbabilityEntry,
    UtilityEntry,
    all_numbers,
    read_number,
)
from plausible.decisions.solving.options import Options
from plausible.decisions.solving.solution import Solution
from plausible.decisions.solving.solve import solve
from plausible.factors.display import TextTable, format_number
from plausible.variables.evidence import EvidenceLike

if TYPE_CHECKING:
    from plausible.decisions.diagram import InfluenceDiagram

__all__ = ["StableInterval", "StrategyStability", "stable_interval", "strategy_stability"]

#: Strategies that meet an entry with probabilities nearer than this meet it as often.
_ROUNDING = 1e-10
#: Newton's method ends after finitely many steps; rounding must not keep it going.
_MAX_STEPS = 200


@dataclass(frozen=True, slots=True)
class StableInterval:
    """The values of a number for which the present strategy stays optimal.

    Attributes
    ----------
    number
        Which number of the diagram.
    current
        Its present value.
    low, high
        The ends of the interval; infinite, or 0 and 1 of a probability, where the strategy stays optimal all the way.
    below, above
        What is done otherwise past each end; nothing where there is no other side.
    is_exact
        Whether all solutions behind it are proved best.
    """

    number: UtilityEntry | ProbabilityEntry
    current: float
    low: float
    high: float
    below: tuple[ActionChange, ...]
    above: tuple[ActionChange, ...]
    is_exact: bool

    @property
    def slack(self) -> float:
        """How far the number can move before the strategy changes; infinite if it never does."""
        down = self.current - self.low if self.below else math.inf
        up = self.high - self.current if self.above else math.inf
        return min(down, up)

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high

    def __str__(self) -> str:
        lines = [
            f"{self.number} = {format_number(self.current)}: the strategy stays optimal from "
            f"{format_number(self.low)} to {format_number(self.high)}."
        ]
        for side, changes in (("below", self.below), ("above", self.above)):
            lines += [f"{side}: {_told(change)}" for change in changes]
        return "\n".join(lines)


def _told(change: ActionChange) -> str:
    seen = ", ".join(f"{name}={state}" for name, state in change.seen.items()) or "always"
    return f"{change.decision}, {seen}: {change.after} instead of {change.before}"


@dataclass(frozen=True, slots=True)
class StrategyStability:
    """Stable intervals of many numbers, those with the least slack first.

    Attributes
    ----------
    intervals
        The intervals.
    """

    intervals: tuple[StableInterval, ...]

    @property
    def fragile(self) -> tuple[StableInterval, ...]:
        """The intervals with an end past which another strategy is better."""
        return tuple(interval for interval in self.intervals if interval.slack < math.inf)

    def __str__(self) -> str:
        rows = tuple(
            (str(found.number), *map(format_number, (found.low, found.current, found.high))) for found in self.fragile
        )
        steady = len(self.intervals) - len(rows)
        title = f"The strategy stays optimal whatever each of {steady} of {len(self.intervals)} numbers alone is."
        return f"{title}\n{TextTable(('number', 'from', 'now', 'to'), rows, 1)}" if rows else title


def stable_interval(
    diagram: InfluenceDiagram,
    number: NumberLike,
    evidence: EvidenceLike | None = None,
    options: Options | None = None,
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
    evidence
        What is known before any decision is made.
    options
        How to solve diagrams in which decisions rely on each other.

    Notes
    -----
    A few solutions for each end: one more than the strategies that are met on the way.

    References
    ----------
    Nielsen & Jensen (2003), Sensitivity analysis in influence diagrams, IEEE Transactions on Systems, Man, and
    Cybernetics A 33. Eisner & Severance (1976), Mathematical techniques for efficient record segmentation.

    Examples
    --------
    >>> from plausible.cpds import TableCPD
    >>> from plausible.decisions import Decision, InfluenceDiagram, Utility
    >>> diagram = InfluenceDiagram(
    ...     [TableCPD("market", [0.5, 0.3, 0.2], states=["poor", "fair", "good"])],
    ...     [Decision("found", ["no", "yes"])],
    ...     [Utility(["market", "found"], [[0, -7], [0, 5], [0, 20]], name="profit")],
    ... )
    >>> print(stable_interval(diagram, ("profit", {"market": "poor", "found": "yes"})))
    profit(market=poor, found=yes) = -7: the strategy stays optimal from -11 to inf.
    below: found, always: no instead of yes
    >>> print(stable_interval(diagram, ("market", "poor")))
    P(market=poor) = 0.5: the strategy stays optimal from 0 to 0.611111.
    above: found, always: no instead of yes
    """
    return _interval(
        diagram, read_number(number, diagram), solve(diagram, "auto", evidence, options), evidence, options
    )


def strategy_stability(
    diagram: InfluenceDiagram,
    numbers: Iterable[NumberLike] | None = None,
    evidence: EvidenceLike | None = None,
    options: Options | None = None,
) -> StrategyStability:
    """The stable intervals of some numbers, or of all: which of them the decision hangs on.

    Parameters
    ----------
    diagram
        The influence diagram.
    numbers
        As of `stable_interval`; by default all entries of utilities and of conditional tables.
    evidence
        What is known before any decision is made.
    options
        How to solve diagrams in which decisions rely on each other.
    """
    chosen = all_numbers(diagram) if numbers is None else [read_number(number, diagram) for number in numbers]
    solution = solve(diagram, "auto", evidence, options)
    found = [_interval(diagram, number, solution, evidence, options) for number in chosen]
    return StrategyStability(tuple(sorted(found, key=lambda interval: interval.slack)))


class _End(NamedTuple):
    """Where an interval ends, the solution that is better beyond it, and whether all solutions met are proved best."""

    value: float
    beyond: Solution | None
    is_exact: bool = True


def _interval(
    diagram: InfluenceDiagram,
    number: UtilityEntry | ProbabilityEntry,
    solution: Solution,
    evidence: EvidenceLike | None,
    options: Options | None,
) -> StableInterval:
    current = number.current(diagram)
    present = number.weighted_utility(diagram, solution.strategy, evidence)

    def rival(found: Solution) -> Line:
        return number.weighted_utility(diagram, found.strategy, evidence)

    def best(value: float) -> Solution:
        return solve(number.changed(diagram, value), "auto", evidence, options)

    if isinstance(number, UtilityEntry):
        extremes = [solve(number.indicator(diagram, sign), "auto", evidence, options) for sign in (-1.0, 1.0)]
        ends = [
            _from_infinity(present, current, (sign * math.inf, extreme), (rival, best))
            for sign, extreme in zip((-1.0, 1.0), extremes, strict=True)
        ]
    elif (
        min(number.evidence_weights(diagram, evidence)) > 0 and diagram.variables[number.parameter.child].num_states > 1
    ):
        ends = [_end(present, current, _End(far, None), (rival, best)) for far in (0.0, 1.0)]
    else:  # where evidence is impossible at one end, all lines meet there: none overtakes another on the way
        ends = [_End(0.0, None), _End(1.0, None)]
    below, above = (
        () if end.beyond is None else action_changes(diagram, solution, end.beyond, evidence) for end in ends
    )
    is_exact = solution.is_optimal and all(end.is_exact for end in ends)
    return StableInterval(number, current, ends[0].value, ends[1].value, below, above, is_exact)


_Solvers = tuple[Callable[[Solution], Line], Callable[[float], Solution]]


def _from_infinity(present: Line, current: float, far: tuple[float, Solution], solvers: _Solvers) -> _End:
    """The end of an interval of a utility: there is none where no strategy meets the entry more (or less) often."""
    infinity, extreme = far
    line = solvers[0](extreme)
    if abs(line.slope - present.slope) <= _ROUNDING:
        return _End(infinity, None, extreme.is_optimal)
    meeting = present.crossing(line)
    start = max(meeting, current) if infinity > 0 else min(meeting, current)
    return _end(present, current, _End(start, extreme, extreme.is_optimal), solvers)


def _end(present: Line, current: float, end: _End, solvers: _Solvers) -> _End:
    """Newton's method on a convex piecewise linear function, from the far end to where the present line is as good."""
    rival, best = solvers
    for _ in range(_MAX_STEPS):
        if end.value == current:
            return end
        found = best(end.value)
        end = end._replace(is_exact=end.is_exact and found.is_optimal)
        line = rival(found)
        lead = line(end.value) - present(end.value)
        if lead <= found.rounding:
            return end
        meeting = min(max(present.crossing(line), min(current, end.value)), max(current, end.value))
        end = _End(meeting, found, end.is_exact)
    return end
