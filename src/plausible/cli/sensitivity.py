"""`plausible sensitivity`: an answer as a function of one parameter."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from plausible.cli.evidence import SYNTAX, EvidenceTexts, read_findings
from plausible.cli.output import AsJson, print_json, print_line
from plausible.cli.parameters import EventText, read_bayesian, read_event, read_parameter
from plausible.cli.source import ModelSource
from plausible.inference.sensitivity_functions import SensitivityFunction

__all__ = ["EXAMPLES", "NOTES", "run"]

NOTES = (SYNTAX,)
EXAMPLES = (
    "plausible sensitivity asia lung=yes 'P(xray=yes | either=no)' --evidence xray=yes",
    "plausible sensitivity asia lung=yes 'P(xray=yes | either=no)' --evidence xray=yes --solve 0.8",
)


def run(
    model: ModelSource,
    event: EventText,
    parameter: Annotated[
        str,
        typer.Argument(help="A number of a table, such as 'P(xray=yes | either=no)'.", show_default=False),
    ],
    evidence: EvidenceTexts = None,
    solve: Annotated[
        float | None,
        typer.Option(
            min=0, max=1, help="Find the parameter that makes P(event | evidence) so large.", show_default=False
        ),
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Show how an answer depends on one parameter of the model.

    P(event | evidence) is (a x + b) / (c x + d), where x is the parameter and the rest of its row is kept in
    proportion. The slope tells how many times as large an error in x comes out. If no x gives the probability of
    --solve, what can be had is printed and the exit code is 1.
    """
    network = read_bayesian(model)
    target, state = read_event(event, network)
    findings = read_findings(evidence, network)
    found = network.sensitivity(target, state, findings, parameter=read_parameter(parameter, network))
    solution = None if solve is None else found.solve(solve)
    if as_json:
        solved = {} if solve is None else {"solve": {"probability": solve, "value": solution}}
        print_json({**_document(found), **solved})
    else:
        event_text = f"P({found.event}{' | evidence' if findings else ''})"
        print_line("\n".join(_lines(found, event_text)))
        if solve is not None:
            print_line(_solved(found, event_text, solve, solution))
    return int(solve is not None and solution is None)


def _document(found: SensitivityFunction) -> dict[str, Any]:
    return {
        "event": found.event,
        "probability": found.value,
        "parameter": str(found.parameter),
        "value": found.current,
        "slope": found.derivative(),
        "at_zero": found(0.0),
        "at_one": found(1.0),
        **{name: getattr(found, name) for name in ("a", "b", "c", "d")},
    }


def _lines(found: SensitivityFunction, event: str) -> list[str]:
    now = f"{event} = {found.value:.6g} at {found.parameter} = {found.current:.6g}"
    if found.is_constant:
        return [now, f"{found.parameter} does not matter: {event} is the same whatever it is"]
    a, b, c, d = (f"{number:.6g}" for number in (found.a, found.b, found.c, found.d))
    return [
        now,
        f"slope       {found.derivative():.6g}",
        f"from 0 to 1 {event} goes from {found(0.0):.6g} to {found(1.0):.6g}",
        f"formula     ({a} x + {b}) / ({c} x + {d}), where x is {found.parameter}".replace("+ -", "- "),
    ]


def _solved(found: SensitivityFunction, event: str, wanted: float, solution: float | None) -> str:
    if solution is not None:
        return f"{event} = {wanted:g} at {found.parameter} = {solution:.6g}"
    lowest, highest = found.range()
    if found.is_constant:
        return f"{event} = {wanted:g} at no value: another parameter would have to change; see plausible tornado"
    return f"{event} = {wanted:g} at no value: from 0 to 1 it can only be {lowest:.6g} to {highest:.6g}"
