"""Steps of a troubleshooting session, what came of them, plans as trees of steps, and sessions as plain data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from plausible.base import html_of_print
from plausible.causal.counterfactuals.potential import Finding
from plausible.decisions.troubleshooting.device import Device
from plausible.errors import FormatError
from plausible.variables import Jeffrey, Likelihood, State, Variable, jeffrey, likelihood

StepKind: TypeAlias = Literal["observe", "repair", "test", "call"]
#: The state that was seen; after a repair, whether the device works; nothing after a call.
Outcome: TypeAlias = "State | bool | None"

_YES, _NO = ("yes", "y", "true", "works"), ("no", "n", "false", "fails")


def whether_it_works(said: object) -> object:
    """What was said after a repair as true or false, where it is one of the usual texts; else as it is."""
    text = said.strip().lower() if isinstance(said, str) else None
    return text in _YES if text in _YES + _NO else said


@dataclass(frozen=True, slots=True)
class Step:
    """Something to do.

    >>> print(Step("repair", "fuse", 1.0))
    repair fuse
    """

    kind: StepKind  # "observe" a component, "repair" (or replace) it, make a "test", or "call" service
    name: str  # The component or test; empty for a call
    cost: float  # What it costs

    def __str__(self) -> str:
        return f"{self.kind} {self.name or 'service'}"

    _repr_html_ = html_of_print


@dataclass(frozen=True, slots=True)
class TakenStep:
    """A step and what came of it.

    >>> print(TakenStep(Step("repair", "fuse", 1.0), False))
    repair fuse: it still does not work
    """

    step: Step  # What was done
    outcome: Outcome  # The state that was seen; after a repair, whether the device works; `None` after a call

    def __str__(self) -> str:
        if self.step.kind == "call":
            return str(self.step)
        told = (
            ("it works" if self.outcome else "it still does not work") if self.step.kind == "repair" else self.outcome
        )
        return f"{self.step}: {told}"

    _repr_html_ = html_of_print


@dataclass(frozen=True, slots=True)
class PlanNode:
    """What to do next, and after each outcome of it.

    >>> works, broken = PlanNode(0.0, is_fixed=True), PlanNode(0.0)
    >>> plan = PlanNode(3.0, Step("repair", "fuse", 3.0), ((True, 0.9, works), (False, 0.1, broken)))
    >>> plan.is_exact, plan.chance_unfixed
    (True, 0.1)
    """

    #: Of all steps from here on: exactly, or, where the plan was cut off (see `is_exact`), with the estimate of the
    #: advice for what comes after it.
    expected_cost: float
    step: Step | None = None  # What to do; `None` where it is over
    #: Outcome, its probability, and what to do then; none where the plan was cut off.
    outcomes: tuple[tuple[Outcome, float, PlanNode], ...] = ()
    #: Whether it is over because the device works, or because service was called, who surely mends it. Where it is over
    #: and this is false, the device is still broken and nothing is left to try.
    is_fixed: bool = False

    @property
    def is_cut(self) -> bool:
        """Whether the plan goes no further here, though the device may still be broken."""
        return self.step is not None and self.step.kind != "call" and not self.outcomes

    @property
    def is_exact(self) -> bool:
        """Whether no branch was cut off, so that the expected cost is no estimate."""
        return not self.is_cut and all(after.is_exact for _, _, after in self.outcomes)

    @property
    def chance_unfixed(self) -> float:
        """The probability that all of the plan is done and the device is still broken, with nothing left to try."""
        if self.step is None:
            return 0.0 if self.is_fixed else 1.0
        return sum((chance * after.chance_unfixed for _, chance, after in self.outcomes), 0.0)


def plan_text(plan: PlanNode) -> str:
    """A plan as indented lines; the probabilities of outcomes stand behind them, the costs of steps in brackets.

    Three dots mark where a plan was cut off. Where the device may be still broken in the end, the last line tells with
    what probability.

    >>> works, broken = PlanNode(0.0, is_fixed=True), PlanNode(0.0)
    >>> print(plan_text(PlanNode(3.0, Step("repair", "fuse", 3.0), ((True, 0.9, works), (False, 0.1, broken)))))
    repair fuse (3)
      it works 0.900: done
      it fails 0.100: still broken, nothing left to try
    still broken in the end: probability 0.100
    """
    lines = _lines(plan, "")
    if plan.step is not None and plan.chance_unfixed > 0:
        lines.append(f"still broken in the end: probability {_chance(plan.chance_unfixed)}")
    return "\n".join(lines)


def _lines(plan: PlanNode, indent: str) -> list[str]:
    if plan.step is None:
        return ["done" if plan.is_fixed else "still broken, nothing left to try"]
    lines = [f"{plan.step} ({plan.step.cost:g})" + (" ..." if plan.is_cut else "")]
    for outcome, chance, after in plan.outcomes:
        told = ("it works" if outcome else "it fails") if plan.step.kind == "repair" else outcome
        if plan.step.kind != "call":
            first, *rest = _lines(after, indent + "  ")
            lines += [f"{indent}  {told} {_chance(chance)}: {first}", *rest]
    return lines


def _chance(chance: float) -> str:
    """Three digits, and more where three would make it look impossible or certain."""
    return f"{chance:.3f}" if 0.0005 <= chance < 0.9995 or chance == 1 else f"{chance:.3g}"


def session_record(device: Device, known: Sequence[Finding], history: Iterable[TakenStep]) -> dict[str, Any]:
    """When the device works, what was known at the start, and the steps with what was paid and what came of them."""
    variables = device.model.variables
    return {
        "works": {device.goal: device.working},
        "evidence": {
            finding.term.variable: _plain(finding.value, variables[finding.term.variable]) for finding in known
        },
        "history": [
            {"step": taken.step.kind, "name": taken.step.name, "cost": taken.step.cost, "outcome": taken.outcome}
            for taken in history
        ],
    }


def _plain(value: Any, variable: Variable) -> Any:
    if isinstance(value, Likelihood | Jeffrey):
        kind = "likelihood" if isinstance(value, Likelihood) else "jeffrey"
        return {kind: value.vector(variable).tolist()}
    return list(value) if isinstance(value, tuple) and value not in variable.states else value


def read_start(record: Mapping[str, Any], device: Device) -> dict[str, Any]:
    """What was known at the start of the session of a record; `FormatError` where that does not fit the device."""
    for part, kind in (("works", Mapping), ("evidence", Mapping), ("history", list)):
        if not isinstance(record.get(part), kind):
            raise FormatError(f"This is no saved session: it has no {part!r}.")
    if {name: str(state) for name, state in record["works"].items()} != {device.goal: str(device.working)}:
        works = ", ".join(f"{name} is {state}" for name, state in record["works"].items())
        here = f"{device.goal} is {device.working}"
        raise FormatError(f"The session was saved of a device that works where {works}, not where {here}.")
    evidence: dict[str, Any] = {}
    for name, value in record["evidence"].items():
        if name not in device.model.variables:
            raise FormatError(f"The session was saved of another device: {name!r} is no variable of this one.")
        variable = device.model.variables[name]
        if isinstance(value, Mapping):
            if list(value) not in (["likelihood"], ["jeffrey"]):
                raise FormatError(f"The finding on {name!r} has {list(value)}, where 'likelihood' or 'jeffrey' stands.")
            is_likelihood = "likelihood" in value
            evidence[name] = likelihood(value["likelihood"]) if is_likelihood else jeffrey(value["jeffrey"])
        else:
            is_list = isinstance(value, list)
            evidence[name] = tuple(_state(one, variable) for one in value) if is_list else _state(value, variable)
    return evidence


def read_step(record: Mapping[str, Any], device: Device) -> tuple[Step | str, Any]:
    """A step of a record and what came of it; one without its cost is taken at today's."""
    kind, name, outcome = record["step"], record["name"], record["outcome"]
    if kind not in ("repair", "call"):
        outcome = _state(outcome, device.model.variables[name])
    return Step(kind, name, record["cost"]) if "cost" in record else f"{kind} {name or 'service'}", outcome


def _state(value: Any, variable: Variable) -> State:
    """The state that was written; a file has texts for states that are neither texts nor numbers."""
    named = [state for state in variable.states if state == value] or [
        state for state in variable.states if str(state) == str(value)
    ]
    if len(named) != 1:
        raise FormatError(f"{value!r} is not a state of {variable.name!r}.")
    return named[0]
