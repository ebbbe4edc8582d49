"""The numbers that matter most: how far each moves the expected utility, or the lead of the best action."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from plausible.base import Result, TextTable, chart_by, check_number, format_number, record
from plausible.decisions.diagram import Diagram
from plausible.decisions.information.observing import read_decision
from plausible.decisions.sensitivity.comparison import read_seen
from plausible.decisions.sensitivity.numbers import DiagramNumber, NumberLike, VariationState, one_by_one, read_numbers
from plausible.decisions.solving.evaluating import expected_utility
from plausible.decisions.solving.problem import SolvingOptions
from plausible.decisions.solving.solution import Solution
from plausible.decisions.solving.solve import Asked
from plausible.errors import InvalidArgument
from plausible.utilities.local import seen_text
from plausible.variables import State
from plausible.variables.evidence import EvidenceLike

if TYPE_CHECKING:
    from plausible.base.pictured import Axes, Chart

#: How many bars are printed.
_SHOWN = 20


@dataclass(frozen=True, slots=True)
class TornadoBar:
    """What one number does when it is varied alone."""

    number: DiagramNumber  # Which number of the diagram
    #: Its present value, and the values that it is given.
    current: float
    low: float
    high: float
    #: What is measured, at both.
    at_low: float
    at_high: float
    changes_strategy: bool  # Whether the present strategy is no longer optimal at one of them

    @property
    def swing(self) -> float:
        """The distance of what is measured at both ends."""
        return abs(self.at_high - self.at_low)


@record
class DecisionTornado(Result):
    """Bars for the numbers of a diagram, the longest first."""

    _rows = "bars"

    measure: str  # What is measured
    current: float  # Its present value
    #: By how much numbers were varied: probabilities by this share of themselves, entries of a utility by this share of
    #: the distance between its largest and smallest entry.
    amount: float
    bars: tuple[TornadoBar, ...]  # A bar for each number
    num_left: int = 0  # Numbers that were not varied, since `progress` ended it

    def to_table(self, max_rows: int = _SHOWN) -> TextTable:
        """A row for each number."""
        rows = tuple(
            (
                str(bar.number),
                *map(_text, (bar.low, bar.high, bar.at_low, bar.at_high, bar.swing)),
                "changes" if bar.changes_strategy else "",
            )
            for bar in self.bars[:max_rows]
        )
        header = ("number", "low", "high", "at low", "at high", "swing", "strategy")
        return TextTable(header, rows, 1, max(0, len(self.bars) - max_rows))

    def plot(self, ax: Axes | None = None) -> Chart:
        """Draw the bars, a star where the strategy changes; it needs matplotlib (the extra `plot`)."""
        return chart_by("plot_decision_tornado", self, ax)

    def __str__(self) -> str:
        share = format_number(self.amount)
        lines = [
            f"{self.measure}, now {format_number(self.current)}.",
            f"Probabilities vary by {share} of themselves, utilities by {share} of the range of their table:",
            str(self.to_table()),
        ]
        return "\n".join([*lines, *([f"Stopped before {self.num_left} more."] if self.num_left else [])])


def _text(number: float) -> str:
    """A number, or a dash where there is none: something can't be seen then."""
    return "-" if np.isnan(number) else format_number(number)


def utility_tornado(
    diagram: Diagram,
    amount: float = 0.1,
    numbers: Iterable[NumberLike] | None = None,
    evidence: EvidenceLike | None = None,
    options: SolvingOptions | None = None,
    progress: Callable[[VariationState], object] | None = None,
) -> DecisionTornado:
    """How far the maximal expected utility moves when each number alone is varied; the best strategy may change.

    Two solutions for each number.

    Parameters
    ----------
    amount
        Probabilities become θ (1 ± amount), within [0, 1] and the others of the row in proportion; entries of a utility
        move up and down by this share of the distance between its largest and smallest entry.
    numbers
        As of `strategy_stability`.

    Examples
    --------
    >>> import plausible as pb
    >>> diagram = pb.examples.load("startup")
    >>> print(utility_tornado(diagram, amount=0.3, numbers=[("market", "poor"), ("market", "good")]))
    Expected utility, now 2.
    Probabilities vary by 0.3 of themselves, utilities by 0.3 of the range of their table:
    number         |  low | high | at low | at high | swing | strategy
    ---------------+------+------+--------+---------+-------+---------
    P(market=poor) | 0.35 | 0.65 |    4.7 |       0 |   4.7 |  changes
    P(market=good) | 0.14 | 0.26 |   0.65 |    3.35 |   2.7 |
    """
    asked = Asked(diagram, evidence, options)
    chosen, title = read_numbers(numbers, diagram), "Expected utility"
    return _tornado(asked, amount, chosen, progress, asked.solved(), title, lambda solution: solution.expected_utility)


def lead_tornado(
    diagram: Diagram,
    decision: str | None = None,
    seen: Mapping[str, State] | None = None,
    amount: float = 0.1,
    numbers: Iterable[NumberLike] | None = None,
    evidence: EvidenceLike | None = None,
    options: SolvingOptions | None = None,
    progress: Callable[[VariationState], object] | None = None,
) -> DecisionTornado:
    """How far the lead of the present best action over the best other one moves when each number alone is varied.

    A negative lead means that the action is no longer the best one. Where a number makes it impossible to see what was
    seen there is no lead. The decision has two actions or more; `seen` is what it sees, at least all that the best rule
    depends on. All else is as of `utility_tornado`.

    >>> import plausible as pb
    >>> diagram = pb.examples.load("umbrella")
    >>> numbers = [("rain", "yes"), ("comfort", ("yes", "leave"))]
    >>> print(lead_tornado(diagram, "umbrella", {"forecast": "dry"}, 0.4, numbers))
    Lead of umbrella=leave given forecast=dry, now 0.753846.
    Probabilities vary by 0.4 of themselves, utilities by 0.4 of the range of their table:
    number                            |  low | high |  at low |   at high |   swing | strategy
    ----------------------------------+------+------+---------+-----------+---------+---------
    P(rain=yes)                       | 0.18 | 0.42 | 1.31549 | 0.0779661 | 1.23753 |
    comfort(rain=yes, umbrella=leave) |   -4 |    4 |     0.2 |   1.30769 | 1.10769 |
    """
    name = read_decision(diagram, decision)
    if isinstance(seen, int | float):
        raise InvalidArgument(f"seen={seen!r} is a number: what {name!r} sees comes first, then amount={seen!r}.")
    asked = Asked(diagram, evidence, options)
    given = read_seen(diagram, name, seen)
    chosen = read_numbers(numbers, diagram)
    solution = asked.solved()
    policy = solution.policies[name]
    if policy.decision.num_states < 2:
        raise InvalidArgument(f"{name!r} has a single action, which leads no other.")
    action = int(policy.actions[policy.row(given)])

    def lead(version: Solution) -> float:
        """How much better the action is than the best other one."""
        now = version.policies[name]
        if any(variable.name not in given for variable in now.uses):
            raise InvalidArgument(f"The rule of {name!r} may depend on all that it sees: say what was seen there.")
        worth = now.expected_utility[now.row(given)]
        return float(worth[action] - np.delete(worth, action).max())

    where = f" given {seen_text(given)}" if given else ""
    title = f"Lead of {name}={policy.decision.states[action]}{where}"
    return _tornado(asked, amount, chosen, progress, solution, title, lead)


def _tornado(
    asked: Asked,
    amount: float,
    numbers: tuple[DiagramNumber, ...],
    progress: Callable[[VariationState], object] | None,
    solution: Solution,
    title: str,
    measure: Callable[[Solution], float],
) -> DecisionTornado:
    """A bar for each number: the measure, which has a title, of the solutions at both ends."""
    check_number("amount", amount, above=0, most=1)  # a share: 0.2 for 20 %

    def bar(number: DiagramNumber) -> TornadoBar:
        ends = number.varied(asked, amount)
        versions = [number.changed(asked.diagram, end) for end in ends]
        solutions = [asked.solved(version) for version in versions]
        kept = [expected_utility(version, solution.strategy, asked.evidence) for version in versions]
        changes = any(new.expected_utility - old > new.rounding for new, old in zip(solutions, kept, strict=True))
        at_low, at_high = map(measure, solutions)
        return TornadoBar(number, number.current(asked.diagram), *ends, at_low, at_high, changes)

    bars = one_by_one(bar, numbers, progress)
    # In single precision the two states of a binary variable tie, and come in the order of the tables.
    bars.sort(key=lambda bar: -float(np.float32(bar.swing)) if np.isfinite(bar.swing) else np.inf)
    return DecisionTornado(title, measure(solution), float(amount), tuple(bars), len(numbers) - len(bars))
