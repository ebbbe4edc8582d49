"""Plans for a whole session: what the advice costs exactly, and the best that any plan can do, on small devices."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from plausible.decisions.troubleshooting.session import TroubleshootingSession
from plausible.decisions.troubleshooting.steps import Outcome, Step
from plausible.errors import TooLarge

__all__ = ["PlanNode", "exact_plan", "optimal_plan", "plan_text"]

#: Findings, whatever their order.
_Key = frozenset[object]


@dataclass(frozen=True, slots=True)
class PlanNode:
    """What to do next, and after each outcome of it.

    Attributes
    ----------
    expected_cost
        Of all steps from here on, exactly.
    step
        What to do; `None` where it is over.
    outcomes
        Outcome, its probability, and what to do then; none where a plan was cut off.
    """

    expected_cost: float
    step: Step | None = None
    outcomes: tuple[tuple[Outcome, float, PlanNode], ...] = ()


def exact_plan(session: TroubleshootingSession, max_states: int = 10_000, depth: int | None = None) -> PlanNode:
    """The plan of following the advice, with its exact expected cost: several faults and all tests counted.

    Parameters
    ----------
    session
        Where to begin.
    max_states
        How many different states of knowledge may be visited; more raise `TooLarge`.
    depth
        How many steps to plan, one after the other; what comes after them then costs what the advice expects.

    Examples
    --------
    >>> from plausible.cpds import NoisyOr, TableCPD
    >>> from plausible.decisions.troubleshooting.costs import Costs
    >>> from plausible.decisions.troubleshooting.troubleshooter import Troubleshooter
    >>> from plausible.models import BayesianNetwork
    >>> car = BayesianNetwork(
    ...     TableCPD("battery", [0.9, 0.1], states=["ok", "dead"]),
    ...     TableCPD("starter", [0.95, 0.05], states=["ok", "dead"]),
    ...     NoisyOr("stalls", ["battery", "starter"], [1, 1]),
    ... )
    >>> costs = Costs(repair={"battery": 90, "starter": 200}, observe={"battery": 20})
    >>> session = Troubleshooter(car, {"battery": "ok", "starter": "ok"}, works={"stalls": False}, costs=costs).start()
    >>> plan = exact_plan(session)
    >>> print(plan_text(plan))
    observe battery (20)
      ok 0.310: repair starter (200)
        it works 1.000: done
      dead 0.690: repair battery (90)
        it works 0.950: done
        it fails 0.050: repair starter (200)
          it works 1.000: done
    >>> round(plan.expected_cost, 4), round(optimal_plan(session).expected_cost, 4)
    (151.0345, 151.0345)
    """

    return _Planner(_advised, max_states).plan(session, depth)


def optimal_plan(session: TroubleshootingSession, max_states: int = 10_000) -> PlanNode:
    """The plan of least expected cost among all, by dynamic programming over states of knowledge.

    Their number is exponential in components and tests: for small devices, and to see how good advice is. Without a
    service call a plan may not stop while some repair can still help.

    Parameters
    ----------
    session, max_states
        As for `exact_plan`.
    """
    return _Planner(_all_steps, max_states).plan(session)


def _advised(session: TroubleshootingSession) -> Iterable[Step]:
    step = session.next_step()
    return () if step is None else (step,)


def _all_steps(session: TroubleshootingSession) -> Iterable[Step]:
    return () if session.is_over else session.steps()


def plan_text(plan: PlanNode) -> str:
    """A plan as indented lines; the probabilities of outcomes stand behind them, the costs of steps in brackets."""
    return "\n".join(_lines(plan, ""))


def _lines(plan: PlanNode, indent: str) -> list[str]:
    if plan.step is None:
        return ["done"]
    is_cut = not plan.outcomes and plan.step.kind != "call"
    lines = [f"{plan.step} ({plan.step.cost:g})" + (" ..." if is_cut else "")]
    for outcome, chance, after in plan.outcomes:
        told = ("it works" if outcome else "it fails") if plan.step.kind == "repair" else outcome
        if plan.step.kind != "call":
            first, *rest = _lines(after, indent + "  ")
            lines += [f"{indent}  {told} {chance:.3f}: {first}", *rest]
    return lines


class _Planner:
    """Backward induction over states of knowledge, each visited once."""

    def __init__(self, steps: Callable[[TroubleshootingSession], Iterable[Step]], max_states: int) -> None:
        self._steps, self._max_states = steps, max_states
        self._known: dict[tuple[_Key, int | None], PlanNode] = {}

    def plan(self, session: TroubleshootingSession, depth: int | None = None) -> PlanNode:
        if session.is_fixed:
            return PlanNode(0.0)
        if depth == 0:
            best = session.advice.best
            return PlanNode(0.0) if best is None else PlanNode(best.expected_cost, best.step)
        key = (frozenset([*session.findings, frozenset(session.repaired)]), depth)
        if key not in self._known:
            if len(self._known) >= self._max_states:
                raise TooLarge(
                    f"The plan has more than {self._max_states} states of knowledge. Raise max_states=, leave out "
                    "tests, or see evaluate_troubleshooting for an estimate from samples."
                )
            self._known[key] = PlanNode(0.0)  # counted before what comes after it
            nodes = [self._after(session, step, depth) for step in self._steps(session)]
            self._known[key] = min(nodes, key=lambda node: node.expected_cost, default=PlanNode(0.0))
        return self._known[key]

    def _after(self, session: TroubleshootingSession, step: Step, depth: int | None) -> PlanNode:
        outcomes = tuple(
            (outcome, chance, self.plan(session.after(step, outcome), None if depth is None else depth - 1))
            for outcome, chance in session.outcomes(step).items()
        )
        return PlanNode(step.cost + sum(chance * node.expected_cost for _, chance, node in outcomes), step, outcomes)
