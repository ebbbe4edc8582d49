"""Solutions that explain themselves: the strategy, what it is worth, and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from plausible.decisions.solving.problem import Floats, Ints
from plausible.decisions.strategy import Strategy
from plausible.errors import InvalidArgument
from plausible.factors.alignment import assignment_at
from plausible.factors.display import TextTable, format_number, num_shown
from plausible.variables import Assignment, State, Variable

if TYPE_CHECKING:
    from plausible.decisions.solving.finishing import Policies

__all__ = ["Policy", "Solution"]

#: Where more rows than this never happen, the text of a policy counts them only.
_MAX_NEVER = 4


@dataclass(frozen=True, slots=True, eq=False)
class Policy:
    """What to do at one decision, and what each action would bring where all else follows the solution.

    Attributes
    ----------
    decision
        The decision.
    uses
        What the rule depends on: a part of what the decision sees.
    ignores
        Names of what the decision sees and need not know.
    actions
        The position of the action taken in each information state, the states of the last of `uses` changing fastest.
    probability
        The probability of each information state under the strategy.
    expected_utility
        The total expected utility in each information state (rows) for each action (columns); NaN for states that
        never happen under this strategy.
    is_best
        Whether an action is as good as the one taken, up to rounding; of the same shape.
    """

    decision: Variable
    uses: tuple[Variable, ...]
    ignores: tuple[str, ...]
    actions: Ints
    probability: Floats
    expected_utility: Floats
    is_best: np.ndarray

    @property
    def has_ties(self) -> bool:
        """Whether another action is as good, for something that can be seen."""
        return bool((self.is_best.sum(axis=1) > 1).any())

    @property
    def unreachable(self) -> tuple[Assignment, ...]:
        """The information states that never happen under the strategy."""
        return tuple(assignment_at(self.uses, int(row)) for row in np.flatnonzero(self.probability == 0))

    def ties(self, seen: Mapping[str, State] | None = None) -> tuple[State, ...]:
        """The actions that are best where this is seen, the one taken among them; empty if it never happens."""
        given = seen or {}
        if missing := [variable.name for variable in self.uses if variable.name not in given]:
            raise InvalidArgument(f"The rule of {self.decision.name!r} depends on {missing}: say what was seen there.")
        row = 0
        for variable in self.uses:
            row = row * variable.num_states + variable.index(given[variable.name])
        return tuple(self.decision.states[action] for action in np.flatnonzero(self.is_best[row]))

    def to_table(self, max_rows: int | None = None) -> TextTable:
        """What is seen, the best action, its expected utility, and the probability of seeing this."""
        return self._table(range(len(self.actions)), max_rows)

    def _table(self, places: Sequence[int], max_rows: int | None = None) -> TextTable:
        """Some of the rows."""
        shown = num_shown(len(places), max_rows)
        header = (*(v.name for v in self.uses), self.decision.name, "expected utility", "probability", "note")
        rows = tuple(self._row(row) for row in places[:shown])
        if not any(row[-1] for row in rows):
            header, rows = header[:-1], tuple(row[:-1] for row in rows)
        return TextTable(header, rows, len(self.uses) + 1, len(places) - shown)

    def _row(self, row: int) -> tuple[str, ...]:
        states = assignment_at(self.uses, row).values()
        action = int(self.actions[row])
        probability = float(self.probability[row])
        worth = format_number(float(self.expected_utility[row, action])) if probability else "-"
        return (
            *map(str, states),
            str(self.decision.states[action]),
            worth,
            format_number(probability),
            self._note(row, action),
        )

    def _note(self, row: int, action: int) -> str:
        if self.probability[row] == 0:
            return "never happens under this strategy"
        others = [str(self.decision.states[other]) for other in np.flatnonzero(self.is_best[row]) if other != action]
        return f"as good: {', '.join(others)}" if others else ""

    def __str__(self) -> str:
        ignores = f" (need not know {', '.join(self.ignores)})" if self.ignores else ""
        head = f"{self.decision.name}{ignores}:"
        happens = np.flatnonzero(self.probability > 0).tolist()
        if (never := len(self.actions) - len(happens)) <= _MAX_NEVER:
            return f"{head}\n{self.to_table()}"
        return f"{head}\n{self._table(happens)}\nand {never} cases that never happen under this strategy"


@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """A strategy, what it is worth, and how that is known.

    Attributes
    ----------
    expected_utility
        Under the strategy, given the evidence.
    policies
        Decision -> what to do and what else could be done, in numbers.
    upper_bound
        No strategy has a larger expected utility; inf if nothing is known.
    method
        How it was found.
    components
        The decisions in the order in which they were settled, those that rely on each other together.
    relies_on
        Decision -> the decisions whose rules matter to its own.
    rounding
        Expected utilities that differ by no more count as equal.
    """

    expected_utility: float
    policies: Policies
    upper_bound: float
    method: str
    components: tuple[tuple[str, ...], ...]
    relies_on: Mapping[str, tuple[str, ...]]
    rounding: float

    @property
    def strategy(self) -> Strategy:
        """A deterministic rule for each decision, over all that it sees.

        Where that table would have more than 4096 entries it is over what the decision uses. In information states that
        cannot occur it takes the first action.
        """
        return self.policies.strategy

    @property
    def gap(self) -> float:
        """How much better another strategy could be; 0 if this one is proved best."""
        return max(0.0, self.upper_bound - self.expected_utility)

    @property
    def is_optimal(self) -> bool:
        """Whether no strategy is better: proved, up to rounding."""
        return self.gap <= self.rounding

    @property
    def has_ties(self) -> bool:
        """Whether some other strategy, different where it matters, is known to be as good."""
        return any(policy.has_ties for policy in self.policies.values())

    def __str__(self) -> str:
        lines = [f"Expected utility {format_number(self.expected_utility)}, {self._proof} ({self.method})."]
        for component in self.components:
            if len(component) > 1:
                lines.append(f"{', '.join(component)} rely on each other and were settled together.")
            lines += [
                f"{name} relies on {', '.join(self.relies_on[name])}." for name in component if self.relies_on.get(name)
            ]
        return "\n\n".join(["\n".join(lines), *(str(policy) for policy in self.policies.values())])

    @property
    def _proof(self) -> str:
        if self.is_optimal:
            return "the maximum"
        if np.isinf(self.upper_bound):
            return "not proved to be the maximum"
        return f"at most {format_number(self.gap)} below the maximum"
