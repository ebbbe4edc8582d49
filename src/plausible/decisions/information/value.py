"""The value of information: what it is worth to see something before deciding, and which actions that changes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from plausible.base.arrays import Floats
from plausible.base.display import format_number
from plausible.base.options import check_number
from plausible.base.records import record
from plausible.decisions.diagram import Diagram
from plausible.decisions.information.observing import observing, read_decision, read_variables, unobserving
from plausible.decisions.solving.options import SolvingOptions
from plausible.decisions.solving.solution import Policy, Solution
from plausible.decisions.solving.solve import Asked
from plausible.factors.alignment import Scope, align, assignment_at, check_size, table_shape
from plausible.utilities.wording import place_text
from plausible.variables import Assignment, State
from plausible.variables.evidence import EvidenceLike


@record
class ActionChange:
    """Something that may be seen, and after which another action is taken than before."""

    decision: str  # The decision
    seen: Assignment  # What is seen
    #: The action taken before and now.
    before: State
    after: State
    probability: float  # How likely this is seen now
    gain: float  # By how much the new action is better than the old one where this is seen and all else is as now

    def __str__(self) -> str:
        where = place_text(self.decision, self.seen, self.probability)
        return f"{where}: {self.after} instead of {self.before}, better by {format_number(self.gain)}"


def action_changes(
    diagram: Diagram, before: Solution, after: Solution, evidence: EvidenceLike | None = None
) -> tuple[ActionChange, ...]:
    """All that can be seen under the second solution and leads to another action than under the first.

    Where another action is better, only what is better is told; changes between actions that are as good are told where
    there are no others. Two solutions without a change have the same expected utility.
    """
    found: list[ActionChange] = []
    for name in diagram.decisions:
        old, new = before.policies[name], after.policies[name]
        scope = tuple(dict.fromkeys((*old.uses, *new.uses)))
        check_size(scope, f"What {name!r} sees")
        actions = [_spread(policy, policy.actions, scope).astype(np.int64) for policy in (old, new)]
        if (actions[0] != actions[1]).any():
            found += _changes(new, scope, actions, _probability(diagram, after, scope, evidence))
    better = tuple(change for change in found if change.gain > after.rounding)
    return better or tuple(found)


def _spread(policy: Policy, column: np.ndarray, scope: Scope) -> np.ndarray:
    """A number for each information state of a policy as one for each assignment to a larger scope."""
    table = np.asarray(column, dtype=np.float64).reshape(table_shape(policy.uses))
    return np.broadcast_to(align(table, policy.uses, scope), table_shape(scope)).reshape(-1)


def _probability(diagram: Diagram, solution: Solution, scope: Scope, evidence: EvidenceLike | None) -> Floats:
    if not scope:
        return np.ones(1)
    names = [variable.name for variable in scope]
    return diagram.network(solution.strategy).query(names, evidence=evidence).reorder(names).values.reshape(-1)


def _changes(policy: Policy, scope: Scope, actions: list[np.ndarray], probability: Floats) -> list[ActionChange]:
    worth = np.stack([_spread(policy, column, scope) for column in policy.expected_utility.T], axis=1)
    states = policy.decision.states
    return [
        ActionChange(
            policy.decision.name,
            assignment_at(scope, int(row)),
            states[actions[0][row]],
            states[actions[1][row]],
            float(probability[row]),
            float(worth[row, actions[1][row]] - worth[row, actions[0][row]]),
        )
        for row in np.flatnonzero((actions[0] != actions[1]) & (probability > 0))
    ]


#: What results say where a strategy behind them may not be the best one.
NOT_PROVED = "Not exact: a strategy was not proved to be the best one."


@dataclass(frozen=True, slots=True, eq=False)
class AlreadySeen:
    """What a decision sees anyway, and what that is worth to it."""

    variables: tuple[str, ...]  # What it sees
    value: float  # MEU less MEU where neither the decision nor any later one sees them; never negative
    without: Solution  # The solution where they do not see them


@record(eq=False)
class ValueOfInformation:
    """What it is worth to see some variables at a decision, and why."""

    variables: tuple[str, ...]  # What is seen
    decision: str  # The first decision that sees it; later ones do, too
    value: float  # MEU with them less MEU without; never negative, and zero exactly where no action changes
    cost: float  # What it costs to see them
    #: The solutions without and with them.
    before: Solution
    after: Solution
    changes: tuple[ActionChange, ...]  # What is done otherwise, and after seeing what
    #: Those of the variables that the decision sees anyway, and what that is worth; nothing where it sees none.
    already_seen: AlreadySeen | None = None

    @property
    def net_value(self) -> float:
        """The value less the cost."""
        return self.value - self.cost

    @property
    def break_even_cost(self) -> float:
        """The largest cost at which it pays to look: the value itself."""
        return self.value

    @property
    def is_worthwhile(self) -> bool:
        """Whether looking is better than not looking."""
        return self.net_value > 0

    @property
    def is_exact(self) -> bool:
        """Whether all solutions are proved best; otherwise values are those of the strategies found."""
        is_known = self.already_seen is None or self.already_seen.without.is_optimal
        return self.before.is_optimal and self.after.is_optimal and is_known

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        lines = [*self._told_already, self._told_value]
        if self.cost:
            value = self.already_seen.value if self._is_nothing_new and self.already_seen else self.value
            verdict = "it pays" if value > self.cost else "it does not pay"
            lines.append(f"At a cost of {format_number(self.cost)} {verdict}: net {format_number(value - self.cost)}.")
        if not self.is_exact:
            lines.append(NOT_PROVED)
        nothing = [] if self._is_nothing_new else ["No action changes."]
        return "\n".join([*lines, *(map(str, self.changes) if self.changes else nothing)])

    @property
    def _is_nothing_new(self) -> bool:
        """Whether the decision sees all of it anyway, and later ones gain nothing."""
        return not self.value and self.already_seen is not None and self.already_seen.variables == self.variables

    @property
    def _told_value(self) -> str:
        if self._is_nothing_new:
            return f"Seeing {_it(self.variables)} once more is worth 0."
        what = f"{', '.join(self.variables) or 'nothing more'} at {self.decision}"
        after, before = format_number(self.after.expected_utility), format_number(self.before.expected_utility)
        meu = f"{after} instead of {before}" if self.value else f"stays {before}"
        return f"Seeing {what} is worth {format_number(self.value)}: expected utility {meu}."

    @property
    def _told_already(self) -> list[str]:
        if (already := self.already_seen) is None:
            return []
        now, without = format_number(self.before.expected_utility), format_number(already.without.expected_utility)
        meu = f"{now} instead of {without}" if already.value else f"{now} also"
        return [
            f"{self.decision} already sees {', '.join(already.variables)}, and that is worth "
            f"{format_number(already.value)}: expected utility {meu} without {_it(already.variables)}."
        ]


def _it(variables: tuple[str, ...]) -> str:
    return "it" if len(variables) == 1 else "them"


def value_of_information(
    diagram: Diagram,
    variables: str | Iterable[str],
    decision: str | None = None,
    cost: float = 0.0,
    evidence: EvidenceLike | None = None,
    options: SolvingOptions | None = None,
) -> ValueOfInformation:
    """Compute the value of perfect information: how much more D is worth if it and later decisions see X.

    It is the gain in maximum expected utility. Later means after D in time or, if the graph leaves that open, in the
    order of the diagram. The value is never negative, since a decision may ignore what it sees, and it is zero exactly
    if an optimal strategy stays optimal. The values of several variables do not add up: two may say the same, or be
    useful only together.

    Koller & Friedman (2009), Probabilistic graphical models, definition 23.11 and proposition 23.6. Howard (1966),
    Information value theory.
    """
    names = read_variables(diagram, variables)
    first = read_decision(diagram, decision)
    check_number("cost", cost, least=0)
    informed = observing(diagram, names, first)
    asked = Asked(diagram, evidence, options)
    before, after = asked.solved(), asked.solved(informed)
    value = gain(after.expected_utility, before.expected_utility, before.rounding)
    changes = action_changes(informed, before, after, evidence) if value > 0 else ()
    seen = tuple(name for name in names if name in diagram.decisions[first].sees)
    already = _already_seen(asked, seen, first, before) if seen else None
    return ValueOfInformation(names, first, value, float(cost), before, after, changes, already)


def _already_seen(asked: Asked, variables: tuple[str, ...], decision: str, now: Solution) -> AlreadySeen:
    without = asked.solved(unobserving(asked.diagram, variables, decision))
    value = gain(now.expected_utility, without.expected_utility, now.rounding)
    return AlreadySeen(variables, value, without)


def gain(after: float, before: float, rounding: float) -> float:
    """The difference of two maxima of which the first can't be smaller; 0 where it is within rounding."""
    difference = after - before
    return difference if difference > rounding else 0.0
