"""Evidence and interventions as the command line writes them: `--evidence xray=yes,smoke=no`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from plausible.cli.source import names_in
from plausible.errors import InvalidEvidence, UnknownVariable
from plausible.io import Model

__all__ = ["Do", "EvidenceText", "read_findings"]

EvidenceText = Annotated[
    str, typer.Option("--evidence", "-e", help="What is observed: name=state, separated by commas.", show_default=False)
]
Do = Annotated[str, typer.Option("--do", help="What is set by intervention: name=state, separated by commas.")]


def read_findings(text: str, model: Model) -> dict[str, Any]:
    """Name -> state, or number of a continuous variable; `name=a|b` means one of several states."""
    findings: dict[str, Any] = {}
    for item in names_in(text):
        name, equals, value = item.partition("=")
        name = name.strip()
        if not equals:
            raise InvalidEvidence(f"{item!r} is not a finding: write name=state.")
        if name not in model.variables:
            raise UnknownVariable.named(name, model.variables, "this model")
        if name in findings:
            raise InvalidEvidence(f"{name!r} has two findings.")
        findings[name] = _value(model, name, value.strip())
    return findings


def _value(model: Model, name: str, text: str) -> Any:
    variable = model.variables[name]
    if variable.is_continuous:
        try:
            return float(text)
        except ValueError:
            raise InvalidEvidence(f"{name!r} is continuous: expected a number, not {text!r}.") from None
    if "|" in text and text not in map(str, variable.states):
        return [variable.state_from_text(part.strip()) for part in text.split("|")]
    return variable.state_from_text(text)
