"""The search for plans: over states of knowledge, each worked out once, with bounds on what any plan costs."""

from __future__ import annotations

import math
import time
from collections.abc import Hashable
from typing import Protocol

from plausible.decisions.troubleshooting.advice import advise, is_worth_going_on, possible_steps
from plausible.decisions.troubleshooting.beliefs import Beliefs, Knowledge
from plausible.decisions.troubleshooting.costs import Costs
from plausible.decisions.troubleshooting.plan_tree import PlanNode
from plausible.decisions.troubleshooting.steps import Outcome, Step
from plausible.errors import TooLarge

__all__ = ["Limits", "PlanState", "advised_plan", "cheapest_plan"]

_FIXED = PlanNode(0.0, is_fixed=True)
#: Plans that are cheaper by less than this, relative to their cost, are not cheaper.
_TIE = 1e-12


class PlanState(Knowledge, Protocol):
    """A state of knowledge about a device that does not work yet."""

    @property
    def key(self) -> Hashable:
        """The same for states in which the same is believed."""
        ...

    @property
    def bound(self) -> float:
        """A cost that no plan from here on can beat."""
        ...

    def bound_after(self, step: Step) -> float:
        """What no plan can beat on average, once a step is taken, whatever comes of it."""
        ...

    def after(self, step: Step, outcome: Outcome) -> PlanState:
        """What is known after a look, a test, or a repair that was not enough."""
        ...


class Limits:
    """How many states may be visited, and how long that may take; more raises `TooLarge`, which tells what else to do.

    Parameters
    ----------
    max_states, time_limit
        The limits.
    instead
        What else can be done, as in "take this".
    """

    def __init__(self, max_states: int, time_limit: float, instead: str) -> None:
        self._max_states, self._time_limit, self._instead = max_states, time_limit, instead
        self._end = time.monotonic() + time_limit
        self._visited = 0

    def visit(self) -> None:
        """Count one more state."""
        self._visited += 1
        if self._visited > self._max_states:
            problem, fix = f"has more than {self._max_states} states of knowledge", "max_states="
        elif time.monotonic() > self._end:
            problem, fix = f"takes more than {self._time_limit:g} seconds", "time_limit="
        else:
            return
        raise TooLarge(f"The plan {problem}. Raise {fix}, leave out tests, or {self._instead}.")


def advised_plan(state: PlanState, costs: Costs, limits: Limits, depth: int | None = None) -> PlanNode:
    """The plan of taking at each state the step that is advised; after `depth` steps it is cut off."""
    known: dict[Hashable, PlanNode] = {}

    def plan(state: PlanState, depth: int | None) -> PlanNode:
        key = (state.key, depth)
        if key not in known:
            limits.visit()
            best = advise(state, costs).best
            if best is None:
                known[key] = PlanNode(0.0)
            elif depth == 0:
                known[key] = PlanNode(best.estimated_cost, best.step)
            else:
                known[key] = follow(state, best.step, None if depth is None else depth - 1)
        return known[key]

    def follow(state: PlanState, step: Step, depth: int | None) -> PlanNode:
        outcomes = tuple(
            (outcome, chance, _FIXED if _mends(step, outcome) else plan(state.after(step, outcome), depth))
            for outcome, chance in state.beliefs().outcomes(step).items()
        )
        return PlanNode(step.cost + sum(chance * node.expected_cost for _, chance, node in outcomes), step, outcomes)

    return plan(state, depth)


def _mends(step: Step, outcome: Outcome) -> bool:
    return step.kind == "call" or (step.kind == "repair" and bool(outcome))


def cheapest_plan(state: PlanState, costs: Costs, limits: Limits) -> PlanNode:
    """The plan of least expected cost: depth first, by branch and bound."""
    found = _Search(costs, limits).plan(state, math.inf)
    assert found is not None, "nothing is dearer than infinity"
    return found


class _Search:
    """Depth-first branch and bound; each state keeps its plan, or the cost that all its plans exceed."""

    def __init__(self, costs: Costs, limits: Limits) -> None:
        self._costs, self._limits = costs, limits
        self._plans: dict[Hashable, PlanNode] = {}
        self._exceeded: dict[Hashable, float] = {}

    def plan(self, state: PlanState, limit: float) -> PlanNode | None:
        """The cheapest plan from a state on, or `None` where none is cheaper than the limit."""
        if state.key in self._plans:
            return self._plans[state.key]
        if self._least(state) >= limit:
            return None
        self._limits.visit()
        beliefs = state.beliefs()
        best = None if is_worth_going_on(beliefs, self._costs) else PlanNode(0.0)
        if best is None:
            for bound, step in self._choices(state, beliefs):
                cheapest = limit if best is None else best.expected_cost
                if bound < cheapest:
                    best = self._beginning_with(step, state, beliefs, cheapest) or best
        if best is None:
            self._exceeded[state.key] = limit
        else:
            self._plans[state.key] = best
        return best

    def _choices(self, state: PlanState, beliefs: Beliefs) -> list[tuple[float, Step]]:
        """Each step behind what it costs at least, by rising costs."""
        listed = [(step.cost + state.bound_after(step), step) for step in possible_steps(beliefs, self._costs)]
        return sorted(listed, key=lambda choice: choice[0])

    def _beginning_with(self, step: Step, state: PlanState, beliefs: Beliefs, limit: float) -> PlanNode | None:
        """A step and the cheapest plans after it, or `None` where that is not cheaper than the limit."""
        limit *= 1.0 - _TIE
        states = [
            (outcome, chance, None if _mends(step, outcome) else state.after(step, outcome))
            for outcome, chance in beliefs.outcomes(step).items()
        ]
        total = step.cost + sum(chance * self._least(after) for _, chance, after in states if after is not None)
        outcomes = list[tuple[Outcome, float, PlanNode]]()
        for outcome, chance, after in states:
            if after is None:
                outcomes.append((outcome, chance, _FIXED))
                continue
            least = self._least(after)
            node = self.plan(after, (limit - total) / chance + least)
            if node is None:
                return None
            total += chance * (node.expected_cost - least)
            outcomes.append((outcome, chance, node))
        return PlanNode(total, step, tuple(outcomes)) if total < limit else None

    def _least(self, state: PlanState) -> float:
        if state.key in self._plans:
            return self._plans[state.key].expected_cost
        return max(state.bound, self._exceeded.get(state.key, 0.0))
