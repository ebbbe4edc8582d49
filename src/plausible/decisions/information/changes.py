"""Where one solution acts otherwise than another."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from plausible.base.arrays import Floats
from plausible.base.display import format_number
from plausible.base.records import record
from plausible.decisions.solving.solution import Policy, Solution
from plausible.factors.alignment import Scope, align, assignment_at, check_size, table_shape
from plausible.utilities.wording import place_text
from plausible.variables import Assignment, State
from plausible.variables.evidence import EvidenceLike

if TYPE_CHECKING:
    from plausible.decisions.diagram import InfluenceDiagram

__all__ = ["ActionChange", "action_changes"]


@record
class ActionChange:
    """Something that may be seen, and after which another action is taken than before.

    Attributes
    ----------
    decision
        The decision.
    seen
        What is seen.
    before, after
        The action taken before and now.
    probability
        How likely this is seen now.
    gain
        By how much the new action is better than the old one where this is seen and all else is as now.
    """

    decision: str
    seen: Assignment
    before: State
    after: State
    probability: float
    gain: float

    def __str__(self) -> str:
        where = place_text(self.decision, self.seen, self.probability)
        return f"{where}: {self.after} instead of {self.before}, better by {format_number(self.gain)}"


def action_changes(
    diagram: InfluenceDiagram, before: Solution, after: Solution, evidence: EvidenceLike | None = None
) -> tuple[ActionChange, ...]:
    """All that can be seen under the second solution and leads to another action than under the first.

    Where another action is better, only what is better is told; changes between actions that are as good are told where
    there are no others. Two solutions without a change have the same expected utility.

    Parameters
    ----------
    diagram
        The diagram of the second solution; its decisions see all that they saw in that of the first.
    before, after
        The solutions.
    evidence
        What is known before any decision is made.
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


def _probability(diagram: InfluenceDiagram, solution: Solution, scope: Scope, evidence: EvidenceLike | None) -> Floats:
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
