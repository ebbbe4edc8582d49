"""Plans for a whole session: what following the advice costs exactly, and the best that any plan can do."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass

from plausible.causal.counterfactuals.potential import Finding
from plausible.decisions.troubleshooting.beliefs import Beliefs
from plausible.decisions.troubleshooting.plan_tree import PlanNode
from plausible.decisions.troubleshooting.profiles import enumerate_profiles
from plausible.decisions.troubleshooting.search import Limits, PlanState, advised_plan, cheapest_plan
from plausible.decisions.troubleshooting.session import TroubleshootingSession, finding_after
from plausible.decisions.troubleshooting.steps import Outcome, Step
from plausible.decisions.troubleshooting.troubleshooter import Troubleshooter, as_session
from plausible.decisions.troubleshooting.worlds import Worlds
from plausible.errors import TooLarge
from plausible.variables import Jeffrey, State

__all__ = ["exact_plan", "optimal_plan"]

_INSTEAD_OF_ADVISED = "plan fewer steps with depth=, or see evaluate_troubleshooting for an estimate from samples"
_INSTEAD_OF_BEST = "follow the advice (next_step() of a session), of which exact_plan has the expected cost"


def exact_plan(
    session: TroubleshootingSession | Troubleshooter,
    max_states: int = 10_000,
    depth: int | None = None,
    time_limit: float = 60.0,
) -> PlanNode:
    """The plan of following the advice, with its exact expected cost: several faults and all tests counted.

    All that the device may be is listed, where that is short enough, and states in which the same is believed are
    worked out once.

    Parameters
    ----------
    session
        Where to begin; a troubleshooter is started.
    max_states
        How many different states of knowledge may be visited; more raise `TooLarge`.
    depth
        How many steps to plan, one after the other; what comes after them then costs what the advice estimates.
    time_limit
        Seconds after which the plan is given up, with `TooLarge`.

    Examples
    --------
    >>> from plausible.cpds import NoisyOr, TableCPD
    >>> from plausible.decisions import Costs, Troubleshooter, plan_text
    >>> from plausible.models import BayesianNetwork
    >>> car = BayesianNetwork(
    ...     TableCPD("battery", [0.9, 0.1], states=["ok", "dead"]),
    ...     TableCPD("starter", [0.95, 0.05], states=["ok", "dead"]),
    ...     NoisyOr("stalls", ["battery", "starter"], [1, 1], leak=0.01),
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
        return PlanNode(0.0, is_fixed=True)
    limits = Limits(max_states, time_limit, _INSTEAD_OF_ADVISED)
    return advised_plan(_state(session), session.troubleshooter.costs, limits, depth)


def optimal_plan(
    session: TroubleshootingSession | Troubleshooter, max_states: int = 10_000, time_limit: float = 60.0
) -> PlanNode:
    """The plan of least expected cost among all, by branch and bound over states of knowledge.

    Their number is exponential in components and tests: for small devices, and to see how good advice is. A step is
    not followed up where even whoever knew all faults would pay more for what comes after it than the best plan so
    far costs. Without a service call a plan may not stop while some repair can still help.

    Parameters
    ----------
    session, max_states, time_limit
        As for `exact_plan`.

    Examples
    --------
    >>> from plausible.examples import printer_troubleshooter
    >>> session = printer_troubleshooter().start({"panel": "clear", "driver": "ok"})
    >>> best = optimal_plan(session)
    >>> print(best.step, round(best.expected_cost, 4), round(exact_plan(session).expected_cost, 4))
    repair cable 18.0169 18.5607
    """
    session = as_session(session)
    if session.is_fixed:
        return PlanNode(0.0, is_fixed=True)
    limits = Limits(max_states, time_limit, _INSTEAD_OF_BEST)
    return cheapest_plan(_state(session), session.troubleshooter.costs, limits)


def _state(session: TroubleshootingSession) -> PlanState:
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

    @property
    def key(self) -> Hashable:
        return frozenset(self.repaired), frozenset(self.findings)

    @property
    def bound(self) -> float:
        return 0.0

    def bound_after(self, step: Step) -> float:
        return 0.0

    def beliefs(self, tested: Mapping[str, State] | None = None) -> Beliefs:
        return self.troubleshooter.situation(self.repaired, self.findings).beliefs(tested)

    def after(self, step: Step, outcome: Outcome) -> _QueriedState:
        finding = finding_after(self.troubleshooter.device, self.repaired, step, outcome)
        repaired = (*self.repaired, step.name) if step.kind == "repair" else self.repaired
        return _QueriedState(self.troubleshooter, repaired, (*self.findings, finding))
