"""Sessions as plain data, to be kept in a file and gone on with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from plausible.causal.counterfactuals.potential import Finding
from plausible.decisions.troubleshooting.device import Device
from plausible.decisions.troubleshooting.steps import Step, TakenStep
from plausible.errors import FormatError
from plausible.variables import Jeffrey, Likelihood, State, Variable, jeffrey, likelihood


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


def read_start(record: Mapping[str, Any], device: Device) -> dict[str, Any]:
    """What was known at the start of the session of a record; `FormatError` where that does not fit the device."""
    for part, kind in (("works", Mapping), ("evidence", Mapping), ("history", list)):
        if not isinstance(record.get(part), kind):
            raise FormatError(f"This is no saved session: it has no {part!r}.")
    if {name: str(state) for name, state in record["works"].items()} != {device.goal: str(device.working)}:
        raise FormatError(
            f"The session was saved of a device that works where {_told(record['works'])}, not where "
            f"{_told({device.goal: device.working})}."
        )
    return _evidence(record["evidence"], device)


def read_step(record: Mapping[str, Any], device: Device) -> tuple[Step | str, Any]:
    """A step of a record and what came of it; one without its cost is taken at today's."""
    kind, name, outcome = record["step"], record["name"], record["outcome"]
    if kind not in ("repair", "call"):
        outcome = _state(outcome, device.model.variables[name])
    return Step(kind, name, record["cost"]) if "cost" in record else f"{kind} {name or 'service'}", outcome


def _told(works: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} is {state}" for name, state in works.items())


def _plain(value: Any, variable: Variable) -> Any:
    if isinstance(value, Likelihood | Jeffrey):
        kind = "likelihood" if isinstance(value, Likelihood) else "jeffrey"
        return {kind: value.vector(variable).tolist()}
    return list(value) if isinstance(value, tuple) and value not in variable.states else value


def _weights(name: str, value: Mapping[str, Any]) -> Likelihood | Jeffrey:
    """A finding that weighs states."""
    if list(value) == ["likelihood"]:
        return likelihood(value["likelihood"])
    if list(value) == ["jeffrey"]:
        return jeffrey(value["jeffrey"])
    raise FormatError(f"The finding on {name!r} has {list(value)}, where 'likelihood' or 'jeffrey' stands.")


def _evidence(record: Mapping[str, Any], device: Device) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in record.items():
        if name not in device.model.variables:
            raise FormatError(f"The session was saved of another device: {name!r} is no variable of this one.")
        variable = device.model.variables[name]
        if isinstance(value, Mapping):
            found[name] = _weights(name, value)
        elif isinstance(value, list):
            found[name] = tuple(_state(one, variable) for one in value)
        else:
            found[name] = _state(value, variable)
    return found


def _state(value: Any, variable: Variable) -> State:
    """The state that was written; a file has texts for states that are neither texts nor numbers."""
    named = [state for state in variable.states if state == value] or [
        state for state in variable.states if str(state) == str(value)
    ]
    if len(named) != 1:
        raise FormatError(f"{value!r} is not a state of {variable.name!r}.")
    return named[0]
