"""What `plausible troubleshoot` tells of the next step: estimates, and exact figures where they are found at once."""

from __future__ import annotations

from typing import Any, NamedTuple

from plausible.decisions.troubleshooting.plans import exact_plan, optimal_plan
from plausible.decisions.troubleshooting.steps import PlanNode, Step
from plausible.decisions.troubleshooting.troubleshooter import TroubleshootingSession
from plausible.errors import TooLarge

__all__ = ["advice_document", "advice_text", "plan_document", "step_document"]

#: Seconds that each exact figure may take.
_MOMENT = 2.0


class _Figures(NamedTuple):
    """The plan of following the advice and the best of all, each as far as it was found in a moment."""

    advised: PlanNode | None
    best: PlanNode | None


def _figures(session: TroubleshootingSession) -> _Figures:
    advised = best = None
    try:
        advised = exact_plan(session, time_limit=_MOMENT)
        best = optimal_plan(session, time_limit=_MOMENT)
    except TooLarge:
        pass
    return _Figures(advised, best)


def advice_text(session: TroubleshootingSession) -> str:
    """All steps with their estimated costs, why the first is best, and what following the advice costs exactly."""
    advice = session.advice
    if advice.best is None:
        return str(advice)
    order = ", ".join(advice.sequence) or "nothing"
    return "\n".join(
        [str(advice), f"without tests: {order}; estimated cost {advice.repair_cost:.6g}", _exactly(_figures(session))]
    )


def _exactly(figures: _Figures) -> str:
    if figures.advised is None:
        return "The costs are estimates, one test ahead: the device is too large for an exact figure in a moment."
    told = [f"following this advice: expected cost {figures.advised.expected_cost:.6g}, exactly"]
    if figures.advised.chance_unfixed > 0:
        told.append(f"still broken in the end with probability {figures.advised.chance_unfixed:.3g}")
    if figures.best is not None:
        cost = f"{figures.best.expected_cost:.6g}"
        told.append(f"the best plan: expected cost {cost}, beginning with {figures.best.step}")
    return "\n".join(told)


def advice_document(session: TroubleshootingSession) -> dict[str, Any]:
    """The same for JSON; `null` for the exact figures that were not found in a moment."""
    advice, figures = session.advice, _figures(session)
    return {
        "alternatives": [
            {**step_document(one.step), "chance": one.chance, "estimated_cost": one.estimated_cost}
            for one in advice.alternatives
        ],
        "sequence": list(advice.sequence),
        "estimated_repair_cost": advice.repair_cost,
        "reason": advice.reason,
        "advised_plan": _plan_summary(figures.advised),
        "best_plan": _plan_summary(figures.best),
    }


def plan_document(plan: PlanNode) -> dict[str, Any]:
    """A plan as a tree for JSON: each outcome of a step with its chance and the plan after it.

    `is_exact` is false where the plan is cut off, which is where there is a step to ask about and no outcome of it.
    """
    return {
        "step": None if plan.step is None else step_document(plan.step),
        "expected_cost": plan.expected_cost,
        "is_exact": plan.is_exact,
        "is_fixed": plan.is_fixed,
        "chance_unfixed": plan.chance_unfixed,
        "outcomes": [
            {"outcome": outcome, "chance": chance, "then": plan_document(after)}
            for outcome, chance, after in plan.outcomes
        ],
    }


def _plan_summary(plan: PlanNode | None) -> dict[str, Any] | None:
    if plan is None:
        return None
    first = None if plan.step is None else step_document(plan.step)
    return {"first": first, "expected_cost": plan.expected_cost, "chance_unfixed": plan.chance_unfixed}


def step_document(step: Step) -> dict[str, Any]:
    """A step for JSON."""
    return {"step": step.kind, "name": step.name, "cost": step.cost}
