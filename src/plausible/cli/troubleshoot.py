"""`plausible troubleshoot`: what to look at, to test and to repair next."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from plausible.cli.evidence import SYNTAX, EvidenceTexts, read_findings, read_interventions, state_of
from plausible.cli.output import AsJson, print_json, print_line
from plausible.cli.source import ModelSource, read_model
from plausible.decisions.troubleshooting.costs import Costs, read_costs
from plausible.decisions.troubleshooting.plans import exact_plan, plan_text
from plausible.decisions.troubleshooting.session import TroubleshootingSession
from plausible.decisions.troubleshooting.steps import Outcome, Step
from plausible.decisions.troubleshooting.troubleshooter import Troubleshooter
from plausible.errors import InvalidArgument, PlausibleError
from plausible.models import BayesianNetwork

__all__ = ["EXAMPLES", "NOTES", "run"]

NOTES = (SYNTAX,)
EXAMPLES = (
    "plausible troubleshoot asia --costs costs.csv --works dysp=no",
    "plausible troubleshoot asia --costs costs.csv --works dysp=no --evidence smoke=yes --depth 2",
)

_YES, _NO = ("yes", "y", "true", "works"), ("no", "n", "false", "fails")
_HELP = "Answer with what you see, or: why, undo, quit, or another step as in: do observe NAME."


def run(
    model: ModelSource,
    costs: Annotated[
        Path, typer.Option(help="A CSV file with the columns component, observe, repair and ok.", show_default=False)
    ],
    works: Annotated[str, typer.Option(metavar="NAME=STATE", help="When the device works.", show_default=False)],
    evidence: EvidenceTexts = None,
    session: Annotated[bool, typer.Option("--session", help="Go on step by step, asking what came of each.")] = False,
    depth: Annotated[int, typer.Option(min=0, help="Print the plan for so many steps ahead.", show_default=False)] = 0,
    as_json: AsJson = False,
) -> None:
    """Print which step is best next for a device that does not work, what all others would cost, and why.

    In the file of costs, a row with both numbers is a component that can be looked at and repaired; with a repair cost
    alone, one that can only be replaced; with an observation cost alone, a test. ok is the state in which a component
    is no fault. The row "service call" has under repair what it costs to have the device mended. Evidence is what was
    seen before any step.
    """
    started = _start(model, read_costs(costs), works, evidence, str(costs))
    if session:
        ended = _converse(started, error=as_json)
        if as_json:
            print_json(_history(ended))
        return
    _print_advice(started, depth, as_json=as_json)


def _start(source: str, costs: Costs, works: str, evidence: list[str] | None, file: str) -> TroubleshootingSession:
    network = read_model(source)
    if not isinstance(network, BayesianNetwork):
        raise InvalidArgument(f"{source!r} is no Bayesian network; troubleshooting needs one.")
    goal = read_interventions([works], network)
    if len(goal) != 1:
        raise InvalidArgument(f"--works is one variable and its state, such as --works page=printed, not {works!r}.")
    components = {}
    for name in costs.repair:
        if name not in costs.ok_states:
            raise InvalidArgument(f"{file}: the component {name!r} has no state in the column ok.")
        if name in network.variables:
            components[name] = state_of(network.variables[name], costs.ok_states[name])
        else:
            components[name] = costs.ok_states[name]
    helper = Troubleshooter(network, components, works=goal, costs=costs)
    return helper.start(read_findings(evidence, network))


# --- one answer ---


def _print_advice(session: TroubleshootingSession, depth: int, *, as_json: bool) -> None:
    advice = session.advice
    if as_json:
        print_json(
            {
                "alternatives": [
                    {**_step(one.step), "chance": one.chance, "expected_cost": one.expected_cost}
                    for one in advice.alternatives
                ],
                "sequence": list(advice.sequence),
                "repair_cost": advice.repair_cost,
                "reason": advice.reason,
            }
        )
        return
    print_line(str(advice))
    print_line(f"without tests: {', '.join(advice.sequence) or 'nothing'}; expected cost {advice.repair_cost:.6g}")
    if depth:
        print_line()
        print_line(plan_text(exact_plan(session, depth=depth)))


def _step(step: Step) -> dict[str, Any]:
    return {"step": step.kind, "name": step.name, "cost": step.cost}


def _history(session: TroubleshootingSession) -> dict[str, Any]:
    steps = [{**_step(taken.step), "outcome": taken.outcome} for taken in session.history]
    return {"history": steps, "cost": session.cost, "is_fixed": session.is_fixed}


# --- a session ---


def _converse(session: TroubleshootingSession, *, error: bool) -> TroubleshootingSession:
    """Ask what came of each step until the device works; the end of the input ends the session as `quit` does."""
    print_line(_HELP, error=error)
    step = session.next_step()
    while step is not None:
        if step.kind == "call":
            print_line(f"call service ({step.cost:g})", error=error)
            session = session.after(step)
            break
        print_line(_question(session, step), error=error)
        sys.stdout.flush()
        line = sys.stdin.readline()
        words = line.strip()
        if not line or words == "quit":
            break
        try:
            if words == "why":
                print_line(str(session.advice), error=error)
                continue
            if words.startswith("do "):
                step = session.step(words[3:].strip())
                continue
            session = session.undo() if words == "undo" else session.after(step, _read(session, step, words))
        except PlausibleError as problem:
            print_line(str(problem), error=error)
            continue
        step = session.next_step()
    if step is None and not session.is_fixed:
        print_line(session.advice.reason, error=error)
    print_line(str(session), error=error)
    return session


def _question(session: TroubleshootingSession, step: Step) -> str:
    if step.kind == "repair":
        return f"{step} ({step.cost:g}). Does it work? [yes/no]"
    return f"{step} ({step.cost:g}). What do you see? [{'/'.join(map(str, session.outcomes(step)))}]"


def _read(session: TroubleshootingSession, step: Step, text: str) -> Outcome:
    if step.kind != "repair":
        return state_of(session.troubleshooter.device.model.variables[step.name], text)
    if text.lower() in _YES or text.lower() in _NO:
        return text.lower() in _YES
    raise InvalidArgument(f"Please answer yes or no, not {text!r}.")
