"""The numbers that matter most: how far each moves the expected utility, or the lead of the best action."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from plausible.decisions.sensitivity.numbers import (
    NumberLike,
    ProbabilityEntry,
    UtilityEntry,
    all_numbers,
    read_number,
)
from plausible.decisions.solving.options import Options
from plausible.decisions.solving.solution import Policy, Solution
from plausible.decisions.solving.solve import solve
from plausible.errors import InvalidArgument
from plausible.factors.display import TextTable, format_number
from plausible.inference.options import check_number
from plausible.inference.sensitivity_tornado import varied
from plausible.variables import State
from plausible.variables.evidence import EvidenceLike

if TYPE_CHECKING:
    from plausible.decisions.diagram import InfluenceDiagram

__all__ = ["DecisionTornado", "TornadoBar", "lead_tornado", "utility_tornado"]

#: How many bars are printed.
_SHOWN = 20


@dataclass(frozen=True, slots=True)
class TornadoBar:
    """What one number does when it is varied alone.

    Attributes
    ----------
    number
        Which number of the diagram.
    current, low, high
        Its present value, and the values that it is given.
    at_low, at_high
        What is measured, at both.
    changes_strategy
        Whether the present strategy is no longer optimal at one of them.
    """

    number: UtilityEntry | ProbabilityEntry
    current: float
    low: float
    high: float
    at_low: float
    at_high: float
    changes_strategy: bool

    @property
    def swing(self) -> float:
        """The distance of what is measured at both ends."""
        return abs(self.at_high - self.at_low)


@dataclass(frozen=True, slots=True)
class DecisionTornado:
    """Bars for the numbers of a diagram, the longest first.

    Attributes
    ----------
    measure
        What is measured.
    current
        Its present value.
    bars
        A bar for each number.
    """

    measure: str
    current: float
    bars: tuple[TornadoBar, ...]

    def to_table(self, max_rows: int = _SHOWN) -> TextTable:
        """A row for each number."""
        rows = tuple(
            (
                str(bar.number),
                *map(format_number, (bar.low, bar.high, bar.at_low, bar.at_high, bar.swing)),
                "changes" if bar.changes_strategy else "",
            )
            for bar in self.bars[:max_rows]
        )
        header = ("number", "low", "high", "at low", "at high", "swing", "strategy")
        return TextTable(header, rows, 1, max(0, len(self.bars) - max_rows))

    def __str__(self) -> str:
        return f"{self.measure}, now {format_number(self.current)}:\n{self.to_table()}"


def utility_tornado(
    diagram: InfluenceDiagram,
    amount: float = 0.1,
    numbers: Iterable[NumberLike] | None = None,
    evidence: EvidenceLike | None = None,
    options: Options | None = None,
) -> DecisionTornado:
    """How far the maximal expected utility moves when each number alone is varied; the best strategy may change.

    Parameters
    ----------
    diagram
        The influence diagram.
    amount
        Probabilities become θ (1 ± amount), within [0, 1] and the others of the row in proportion; entries of a utility
        move up and down by this share of the distance between its largest and smallest entry.
    numbers
        As of `stable_interval`; by default all entries of utilities and of conditional tables.
    evidence
        What is known before any decision is made.
    options
        How to solve diagrams in which decisions rely on each other.

    Notes
    -----
    Two solutions for each number.

    Examples
    --------
    >>> from plausible.cpds import TableCPD
    >>> from plausible.decisions import Decision, InfluenceDiagram, Utility
    >>> diagram = InfluenceDiagram(
    ...     [TableCPD("market", [0.5, 0.3, 0.2], states=["poor", "fair", "good"])],
    ...     [Decision("found", ["no", "yes"])],
    ...     [Utility(["market", "found"], [[0, -7], [0, 5], [0, 20]], name="profit")],
    ... )
    >>> print(utility_tornado(diagram, amount=0.3, numbers=[("market", "poor"), ("market", "good")]))
    Expected utility, now 2:
    number         |  low | high | at low | at high | swing | strategy
    ---------------+------+------+--------+---------+-------+---------
    P(market=poor) | 0.35 | 0.65 |    4.7 |       0 |   4.7 |  changes
    P(market=good) | 0.14 | 0.26 |   0.65 |    3.35 |   2.7 |
    """
    return _tornado(diagram, (amount, numbers), (evidence, options), "Expected utility", lambda s: s.expected_utility)


def lead_tornado(
    diagram: InfluenceDiagram,
    decision: str,
    seen: Mapping[str, State] | None = None,
    amount: float = 0.1,
    numbers: Iterable[NumberLike] | None = None,
    evidence: EvidenceLike | None = None,
    options: Options | None = None,
) -> DecisionTornado:
    """How far the lead of the present best action over the best other one moves when each number alone is varied.

    A negative lead means that the action is no longer the best one.

    Parameters
    ----------
    diagram
        The influence diagram.
    decision
        The decision, with two actions or more.
    seen
        What it sees; at least all that the best rule depends on.
    amount, numbers, evidence, options
        As of `utility_tornado`.
    """
    given = seen or {}
    policy = solve(diagram, "auto", evidence, options).policies[diagram.decision(decision).name]
    if policy.decision.num_states < 2:
        raise InvalidArgument(f"{decision!r} has a single action, which leads no other.")
    if missing := [variable.name for variable in policy.uses if variable.name not in given]:
        raise InvalidArgument(f"The rule of {decision!r} depends on {missing}: say what was seen there.")
    action = int(policy.actions[_row(policy, given)])

    def lead(solution: Solution) -> float:
        now = solution.policies[decision]
        if any(variable.name not in given for variable in now.uses):
            raise InvalidArgument(f"The rule of {decision!r} may depend on all that it sees: say what was seen there.")
        worth = now.expected_utility[_row(now, given)]
        return float(worth[action] - np.delete(worth, action).max())

    where = ", ".join(f"{name}={state}" for name, state in given.items())
    measure = f"Lead of {decision}={policy.decision.states[action]}{' given ' if where else ''}{where}"
    return _tornado(diagram, (amount, numbers), (evidence, options), measure, lead)


def _tornado(
    diagram: InfluenceDiagram,
    variation: tuple[float, Iterable[NumberLike] | None],
    given: tuple[EvidenceLike | None, Options | None],
    measure: str,
    measured: Callable[[Solution], float],
) -> DecisionTornado:
    amount, numbers = variation
    check_number("amount", amount, above=0)
    chosen = all_numbers(diagram) if numbers is None else [read_number(number, diagram) for number in numbers]
    solution = solve(diagram, "auto", *given)
    bars = []
    for number in chosen:
        low, high = _ends(diagram, number, amount, given[0])
        versions = [number.changed(diagram, end) for end in (low, high)]
        found = [solve(version, "auto", *given) for version in versions]
        kept = [version.expected_utility(solution.strategy, given[0]) for version in versions]
        changes = any(new.expected_utility - old > new.rounding for new, old in zip(found, kept, strict=True))
        at_low, at_high = map(measured, found)
        bars.append(TornadoBar(number, number.current(diagram), low, high, at_low, at_high, changes))
    # In single precision the two states of a binary variable tie, and come in the order of the tables.
    bars.sort(key=lambda bar: -float(np.float32(bar.swing)) if np.isfinite(bar.swing) else np.inf)
    return DecisionTornado(measure, measured(solution), tuple(bars))


def _ends(
    diagram: InfluenceDiagram, number: UtilityEntry | ProbabilityEntry, amount: float, evidence: EvidenceLike | None
) -> tuple[float, float]:
    """From where to where a number is varied: half the way to 0 or 1 where that would make the evidence impossible."""
    current = number.current(diagram)
    if isinstance(number, UtilityEntry):
        values = diagram.utility_factors[number.utility].values
        step = amount * float(values.max() - values.min())
        return current - step, current + step
    low, high = (float(end[0]) for end in varied(np.array([current]), "relative", amount))
    if low > 0 and high < 1:
        return low, high
    at_zero, at_one = number.evidence_weights(diagram, evidence)
    if low == 0 and at_zero == 0:
        low = current / 2
    if high == 1 and at_one == 0:
        high = (1 + current) / 2
    return low, high


def _row(policy: Policy, seen: Mapping[str, State]) -> int:
    row = 0
    for variable in policy.uses:
        row = row * variable.num_states + variable.index(seen[variable.name])
    return row
