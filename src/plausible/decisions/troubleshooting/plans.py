"""Plans for a whole session: what following the advice costs exactly, and the best that any plan can do."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from plausible.base import PROOF
from plausible.causal.counterfactuals.potential import Finding
from plausible.decisions.troubleshooting.advice import advise, is_worth_going_on, possible_steps
from plausible.decisions.troubleshooting.beliefs import DeviceBeliefs, enumerate_profiles
from plausible.decisions.troubleshooting.device import Costs
from plausible.decisions.troubleshooting.steps import Outcome, PlanNode, Step
from plausible.decisions.troubleshooting.troubleshooter import (
    Troubleshooter,
    TroubleshootingSession,
    as_session,
    finding_after,
)
from plausible.decisions.troubleshooting.worlds import Worlds, WorldState
from plausible.errors import TooLarge
from plausible.search.run import Clock
from plausible.variables import Jeffrey, State

_FIXED = PlanNode(0.0, is_fixed=True)


def exact_plan(
    session: TroubleshootingSession | Troubleshooter,
    max_states: int = 10_000,
    depth: int | None = None,
    time_limit: float = 60.0,
) -> PlanNode:
    """The plan of following the advice, with its exact expected cost: several faults and all tests counted.

    All that the device may be is listed, where that is short enough, and states in which the same is believed are
    worked out once.

    A troubleshooter in place of a session is started. More than `max_states` different states of knowledge raise
    `TooLarge`, and so does a plan that takes longer than the time limit. With a `depth` so many steps are planned, one
    after the other; what comes after them then costs what the advice estimates.

    >>> import plausible as pb
    >>> from plausible.decisions import Costs, Troubleshooter, plan_text
    >>> car = pb.BayesianNetwork(
    ...     pb.TableCPD("battery", [0.9, 0.1], states=["ok", "dead"]),
    ...     pb.TableCPD("starter", [0.95, 0.05], states=["ok", "dead"]),
    ...     pb.NoisyOr("stalls", ["battery", "starter"], [1, 1], leak=0.01),
    ... )
    >>> costs = Costs(repair={"battery": 90, "starter": 200}, observe={"battery": 20})
    >>> session = Troubleshooter(car, {"battery": "ok", "starter": "ok"}, works={"stalls": False}, costs=costs).start()
    >>> plan = exact_plan(session)
    >>> print(plan_text(plan))
    observe battery (20)
      ok 0.349: repair starter (200)
        it works 0.832: done
        it fails 0.168: still broken, nothing left to try
      dead 0.651: repair battery (90)
        it works 0.941: done
        it fails 0.059: repair starter (200)
          it works 0.832: done
          it fails 0.168: still broken, nothing left to try
    still broken in the end: probability 0.065
    >>> round(plan.expected_cost, 4), plan.is_exact
    (156.112, True)
    """
    session = as_session(session)
    if session.is_fixed:
        return _FIXED
    instead = "plan fewer steps with depth=, or see evaluate_troubleshooting for an estimate from samples"
    costs, limits = session.troubleshooter.costs, _PlanLimits(max_states, Clock.of(time_limit), instead)
    known: dict[Hashable, PlanNode] = {}

    def plan(state: _PlanState, depth: int | None) -> PlanNode:
        key = (state.key, depth)
        if key in known:
            return known[key]
        limits.visit()
        best = advise(state, costs).best
        if best is None or depth == 0:
            known[key] = PlanNode(0.0) if best is None else PlanNode(best.estimated_cost, best.step)
            return known[key]
        step, later = best.step, None if depth is None else depth - 1
        outcomes = tuple(
            (outcome, chance, _FIXED if _mends(step, outcome) else plan(state.after(step, outcome), later))
            for outcome, chance in state.beliefs().outcomes(step).items()
        )
        total = step.cost + sum(chance * node.expected_cost for _, chance, node in outcomes)
        known[key] = PlanNode(total, step, outcomes)
        return known[key]

    return plan(_state(session), depth)


def optimal_plan(
    session: TroubleshootingSession | Troubleshooter, max_states: int = 10_000, time_limit: float = 60.0
) -> PlanNode:
    """The plan of least expected cost among all, by branch and bound over states of knowledge.

    Their number is exponential in components and tests: for small devices, and to see how good advice is. A step is not
    followed up where even whoever knew all faults would pay more for what comes after it than the best plan so far
    costs. Without a service call a plan may not stop while some repair can still help. Session and limits are as for
    `exact_plan`.

    >>> from plausible.examples import printer_troubleshooter
    >>> session = printer_troubleshooter().start({"panel": "clear", "driver": "ok"})
    >>> best = optimal_plan(session)
    >>> print(best.step, round(best.expected_cost, 4), round(exact_plan(session).expected_cost, 4))
    repair cable 18.0169 18.5607
    """
    session = as_session(session)
    if session.is_fixed:
        return _FIXED
    instead = "follow the advice (next_step() of a session), of which exact_plan has the expected cost"
    limits = _PlanLimits(max_states, Clock.of(time_limit), instead)
    best = _Search(session.troubleshooter.costs, limits).plan(_state(session), math.inf)
    assert best is not None, "nothing is dearer than infinity"
    return best


def _state(session: TroubleshootingSession) -> _PlanState:
    """What is known, over all that the device may be where that can be listed, else by queries to networks."""
    helper = session.troubleshooter
    queried = _QueriedState(helper, session.repaired, session.findings)
    # A posterior marginal that is established anew after each finding is no weight of what the device may be.
    if any(isinstance(finding.value, Jeffrey) for finding in session.findings):
        return queried
    try:
        profiles = enumerate_profiles(helper.device, session.findings)
    except TooLarge:
        return queried
    return Worlds(helper.device, helper.costs, profiles).start(session.repaired)


@dataclass(frozen=True, slots=True)
class _QueriedState:
    """A state of knowledge that is answered for by compiled networks; nothing bounds what comes after it."""

    troubleshooter: Troubleshooter
    repaired: tuple[str, ...]
    findings: tuple[Finding, ...]
    bound: float = 0.0

    @property
    def key(self) -> Hashable:
        return frozenset(self.repaired), frozenset(self.findings)

    def bound_after(self, step: Step) -> float:
        return 0.0

    def beliefs(self, tested: Mapping[str, State] | None = None) -> DeviceBeliefs:
        return self.troubleshooter.situation(self.repaired, self.findings).beliefs(tested)

    def after(self, step: Step, outcome: Outcome) -> _QueriedState:
        finding = finding_after(self.troubleshooter.device, self.repaired, step, outcome)
        repaired = (*self.repaired, step.name) if step.kind == "repair" else self.repaired
        return _QueriedState(self.troubleshooter, repaired, (*self.findings, finding))


#: A state of knowledge about a device that does not work yet.
_PlanState: TypeAlias = WorldState | _QueriedState


@dataclass(slots=True)
class _PlanLimits:
    """How many states may be visited, and for how long; more raises `TooLarge`, which tells what else to do."""

    max_states: int
    clock: Clock
    instead: str  # what else can be done, as in "take this"
    num_visited: int = 0

    def visit(self) -> None:
        self.num_visited += 1
        if self.num_visited > self.max_states:
            problem, fix = f"has more than {self.max_states} states of knowledge", "max_states="
        elif self.clock.is_over:
            problem = f"takes more than {self.clock.deadline - self.clock.start:g} seconds"
            fix = "time_limit="
        else:
            return
        raise TooLarge(f"The plan {problem}. Raise {fix}, leave out tests, or {self.instead}.")


def _mends(step: Step, outcome: Outcome) -> bool:
    return step.kind == "call" or (step.kind == "repair" and bool(outcome))


class _Search:
    """Depth-first branch and bound; each state keeps its plan, or the cost that all its plans exceed."""

    def __init__(self, costs: Costs, limits: _PlanLimits) -> None:
        self._costs, self._limits = costs, limits
        self._plans: dict[Hashable, PlanNode] = {}
        self._exceeded: dict[Hashable, float] = {}

    def plan(self, state: _PlanState, limit: float) -> PlanNode | None:
        """The cheapest plan from a state on, or `None` where none is cheaper than the limit."""
        if state.key in self._plans:
            return self._plans[state.key]
        if self._least(state) >= limit:
            return None
        self._limits.visit()
        beliefs = state.beliefs()
        best = None if is_worth_going_on(beliefs, self._costs) else PlanNode(0.0)
        if best is None:
            choices = [(step.cost + state.bound_after(step), step) for step in possible_steps(beliefs, self._costs)]
            for bound, step in sorted(choices, key=lambda choice: choice[0]):
                cheapest = limit if best is None else best.expected_cost
                if bound < cheapest:
                    best = self._beginning_with(step, state, beliefs, cheapest) or best
        if best is None:
            self._exceeded[state.key] = limit
        else:
            self._plans[state.key] = best
        return best

    def _beginning_with(self, step: Step, state: _PlanState, beliefs: DeviceBeliefs, limit: float) -> PlanNode | None:
        """A step and the cheapest plans after it, or `None` where that is not cheaper than the limit."""
        limit *= 1.0 - PROOF
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

    def _least(self, state: _PlanState) -> float:
        if state.key in self._plans:
            return self._plans[state.key].expected_cost
        return max(state.bound, self._exceeded.get(state.key, 0.0))
