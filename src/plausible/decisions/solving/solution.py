"""Solutions that explain themselves: the strategy, what it is worth, and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from plausible.base.arrays import Floats, Ints
from plausible.base.display import TextTable, format_number, num_shown
from plausible.base.records import record
from plausible.decisions.strategy import Strategy
from plausible.errors import InvalidArgument
from plausible.factors.alignment import assignment_at
from plausible.variables import Assignment, State, Variable

if TYPE_CHECKING:
    import pandas as pd
    from narwhals.typing import IntoDataFrame

    from plausible.decisions.solving.finishing import Policies

__all__ = ["Policy", "Solution"]

#: Where the strategy does not lead to more rows than this, the text of a policy counts them only.
_MAX_IDLE = 12


@record(eq=False)
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
        The total expected utility in each information state (rows) for each action (columns). Where the strategy never
        leads, the decisions that are seen count as set, whatever they saw; NaN for what can't happen at all.
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
        """Whether another action is as good, for something that is seen under the strategy."""
        return bool((self.is_best[self.probability > 0].sum(axis=1) > 1).any())

    @property
    def unreachable(self) -> tuple[Assignment, ...]:
        """The information states that never happen under the strategy."""
        return self._states(self.probability == 0)

    @property
    def impossible(self) -> tuple[Assignment, ...]:
        """The information states that can't happen, whatever is decided."""
        return self._states(self._is_impossible)

    @property
    def _is_impossible(self) -> np.ndarray:
        return np.isnan(self.expected_utility[:, 0])

    def _states(self, which: np.ndarray) -> tuple[Assignment, ...]:
        return tuple(assignment_at(self.uses, int(row)) for row in np.flatnonzero(which))

    def ties(self, seen: Mapping[str, State] | None = None) -> tuple[State, ...]:
        """The actions that are best where this is seen, the one taken among them; empty if it can't happen."""
        given = seen or {}
        if missing := [variable.name for variable in self.uses if variable.name not in given]:
            raise InvalidArgument(f"The rule of {self.decision.name!r} depends on {missing}: say what was seen there.")
        row = 0
        for variable in self.uses:
            row = row * variable.num_states + variable.index(given[variable.name])
        return tuple(self.decision.states[action] for action in np.flatnonzero(self.is_best[row]))

    def decide(self, rows: IntoDataFrame | Mapping[str, Sequence[Any]]) -> pd.DataFrame:
        """The best action in each row of a table and its expected utility, also where cells are missing.

        See `plausible.decisions.solving.row_decisions.decide_rows`.

        >>> import plausible as pb
        >>> policy = pb.examples.load("oil").solve().policies["drill"]
        >>> print(policy.decide({"seismic": ["open", None, "diffuse"], "test": ["yes", "yes", "yes"]}))
          drill  expected_utility
        0   yes          3.909091
        1   yes         -0.500000
        2    no        -12.000000
        """
        from plausible.decisions.solving.row_decisions import decide_rows

        return decide_rows(self, rows)

    def to_frame(self) -> pd.DataFrame:
        """A row for each information state: what is seen, the action, its expected utility, the probability, a note.

        >>> import plausible as pb
        >>> solution = pb.examples.load("oil").solve()
        >>> print(solution.policies["test"].to_frame().to_string(index=False))
        test  expected_utility  probability note
         yes             16.75          1.0
        """
        import pandas as pd

        seen = [assignment_at(self.uses, row) for row in range(len(self.actions))]
        taken = np.take_along_axis(self.expected_utility, self.actions[:, None], axis=1)[:, 0]
        return pd.DataFrame(
            {
                **{variable.name: [states[variable.name] for states in seen] for variable in self.uses},
                self.decision.name: [self.decision.states[action] for action in self.actions],
                "expected_utility": taken,
                "probability": self.probability,
                "note": [self._note(row, int(action)) for row, action in enumerate(self.actions)],
            }
        )

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
        worth = float(self.expected_utility[row, action])
        return (
            *map(str, states),
            str(self.decision.states[action]),
            "-" if np.isnan(worth) else format_number(worth),
            format_number(float(self.probability[row])),
            self._note(row, action),
        )

    def _note(self, row: int, action: int) -> str:
        if self._is_impossible[row]:
            return "can't happen"
        others = [str(self.decision.states[other]) for other in np.flatnonzero(self.is_best[row]) if other != action]
        never = [] if self.probability[row] else ["not under this strategy"]
        return "; ".join([*never, *([f"as good: {', '.join(others)}"] if others else [])])

    def __str__(self) -> str:
        ignores = f" (need not know {', '.join(self.ignores)})" if self.ignores else ""
        idle = (self.probability == 0) & ~self._is_impossible
        shown = self.probability > 0 if idle.sum() > _MAX_IDLE else ~self._is_impossible
        lines = [f"{self.decision.name}{ignores}:", str(self._table(np.flatnonzero(shown).tolist()))]
        if idle.sum() > _MAX_IDLE:
            lines.append(f"({idle.sum()} more do not happen under this strategy: to_table() has them)")
        if self._is_impossible.any():
            lines.append(f"({self._is_impossible.sum()} more can't happen)")
        return "\n".join(lines)


@record(eq=False)
class Solution:
    """A strategy, what it is worth, and how that is known.

    Attributes
    ----------
    expected_utility
        Under the strategy, given the evidence.
    policies
        Decision -> what to do and what else could be done, in numbers.
    upper_bound
        No strategy has a larger expected utility: this one's own where it is proved best, inf if nothing is known.
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
        cannot occur its action means nothing.
        """
        return self.policies.strategy

    @property
    def gap(self) -> float:
        """How much better another strategy could be; 0 if this one is proved best."""
        return max(0.0, self.upper_bound - self.expected_utility)

    @property
    def is_optimal(self) -> bool:
        """Whether no strategy is better: proved, up to 1e-10 of the range of what decisions can change."""
        return self.gap == 0

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
