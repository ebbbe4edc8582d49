"""Sessions as plain data, to be kept in a file and gone on with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from plausible.decisions.troubleshooting.beliefs import Device
from plausible.decisions.troubleshooting.steps import Step
from plausible.errors import FormatError, PlausibleError
from plausible.variables import Jeffrey, Likelihood, State, Variable, jeffrey, likelihood

if TYPE_CHECKING:
    from plausible.decisions.troubleshooting.session import TroubleshootingSession
    from plausible.decisions.troubleshooting.troubleshooter import Troubleshooter

__all__ = ["replayed", "session_record"]


def session_record(session: TroubleshootingSession) -> dict[str, Any]:
    """When the device works, what was known at the start, and the steps with what was paid and what came of them."""
    device = session.troubleshooter.device
    num_seen = sum(taken.step.kind != "call" for taken in session.history)
    known = session.findings[: len(session.findings) - num_seen]
    return {
        "works": {device.goal: device.working},
        "evidence": {
            finding.term.variable: _plain(finding.value, device.model.variables[finding.term.variable])
            for finding in known
        },
        "history": [
            {
                "step": taken.step.kind,
                "name": taken.step.name,
                "cost": taken.step.cost,
                "outcome": taken.outcome,
            }
            for taken in session.history
        ],
    }


def replayed(troubleshooter: Troubleshooter, record: Mapping[str, Any]) -> TroubleshootingSession:
    """The session of a record, its steps taken anew at what was paid; `FormatError` where it does not fit."""
    device = troubleshooter.device
    for part, kind in (("works", Mapping), ("evidence", Mapping), ("history", list)):
        if not isinstance(record.get(part), kind):
            raise FormatError(f"This is no saved session: it has no {part!r}.")
    if {name: str(state) for name, state in record["works"].items()} != {device.goal: str(device.working)}:
        raise FormatError(
            f"The session was saved of a device that works where {_told(record['works'])}, not where "
            f"{_told({device.goal: device.working})}."
        )
    session = troubleshooter.start(_evidence(record["evidence"], device))
    for number, taken in enumerate(record["history"], 1):
        try:
            session = _taken(session, taken)
        except (PlausibleError, KeyError, TypeError) as error:
            raise FormatError(f"Step {number} of the saved session does not fit this device: {error}") from error
    return session


def _taken(session: TroubleshootingSession, record: Mapping[str, Any]) -> TroubleshootingSession:
    """The session after a step of a record; one without its cost is taken at today's."""
    kind, name, outcome = record["step"], record["name"], record["outcome"]
    if kind not in ("repair", "call"):
        outcome = _state(outcome, session.troubleshooter.device.model.variables[name])
    step = Step(kind, name, record["cost"]) if "cost" in record else f"{kind} {name or 'service'}"
    return session.after(step, outcome)


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
