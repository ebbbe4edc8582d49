"""`plausible troubleshoot`: what to look at, to test and to repair next."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated, Any

import typer

from plausible.cli.commands import command
from plausible.cli.evidence import SYNTAX, EvidenceTexts, read_findings, read_interventions, state_of
from plausible.cli.output import AsJson, print_json, print_line
from plausible.cli.source import ModelSource, read_model
from plausible.cli.streams import is_standard
from plausible.cli.troubleshoot_session import Conversation, resumed
from plausible.cli.troubleshoot_text import advice_document, advice_text, plan_document, step_document
from plausible.decisions.troubleshooting.costs import Costs, read_costs
from plausible.decisions.troubleshooting.plans import exact_plan, optimal_plan
from plausible.decisions.troubleshooting.steps import PlanNode, plan_text
from plausible.decisions.troubleshooting.troubleshooter import Troubleshooter, TroubleshootingSession
from plausible.errors import InvalidArgument, UnknownState
from plausible.models import BayesianNetwork
from plausible.variables import State

__all__ = ["run_troubleshoot"]


@command(
    examples=(
        "plausible troubleshoot asia --costs costs.csv --works dysp=no",
        "plausible troubleshoot asia --costs costs.csv --works dysp=no --evidence smoke=yes --depth 2",
        "plausible troubleshoot asia --costs costs.csv --works dysp=no --best",
        "plausible troubleshoot asia --costs costs.csv --works dysp=no --save session.json",
        "plausible troubleshoot asia --costs costs.csv --works dysp=no --resume session.json",
    ),
    notes=(SYNTAX,),
)
def run_troubleshoot(
    model: ModelSource,
    costs: Annotated[
        Path, typer.Option(help="A CSV file with the columns component, observe, repair and ok.", show_default=False)
    ],
    works: Annotated[str, typer.Option(metavar="NAME=STATE", help="When the device works.", show_default=False)],
    evidence: EvidenceTexts = None,
    session: Annotated[bool, typer.Option("--session", help="Go on step by step, asking what came of each.")] = False,
    save: Annotated[
        Path | None, typer.Option(help="A session that this new JSON file keeps, step by step.", show_default=False)
    ] = None,
    resume: Annotated[
        Path | None, typer.Option(help="Go on with the session in this file, and keep it there.", show_default=False)
    ] = None,
    depth: Annotated[int, typer.Option(min=0, help="Print the plan for so many steps ahead.", show_default=False)] = 0,
    best: Annotated[
        bool, typer.Option("--best", help="Go by the best plan of all, for small devices: print or follow it.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Advise which test or repair of a device is best next.

    It says why, and what all other steps would cost. In the file of costs, a row with both numbers is a component that
    can be looked at and repaired; with a repair cost alone, one that can only be replaced; with an observation cost
    alone, a test. ok is the state in which a component is no fault. The row "service call" is optional: it has under
    repair what it costs to have the device mended for sure. Without it there is nobody to call: parts are tried as long
    as one may help, and a device that no repair mends stays broken, at no further cost. Cells are separated by commas,
    semicolons or tabs; decimals have a point.

    Evidence is what was seen before any step. The costs of steps are estimates, one test ahead; what following the
    advice costs exactly, and the best plan of all, are told where they are found in a moment; --best goes by that plan.
    With --json, --best prints that plan as a tree, and --depth adds the advised one under "plan".

    In a session, each step is answered with what came of it, or with why, do STEP, undo, stop or help.
    """
    if is_standard(model) and (session or save or resume):
        raise InvalidArgument("Answers of a session are read from standard input, so MODEL can't be -: name a file.")
    network = _network(model)
    helper = _troubleshooter(network, read_costs(costs), works)
    if save is not None and save.exists():
        raise InvalidArgument(f"{save} is there already: go on with it by --resume {save}, or name another file.")
    if depth and (best or session or save or resume):
        raise InvalidArgument("--depth is for the advice of the moment: leave out --best, --session, --save, --resume.")
    if resume is not None and evidence:
        raise InvalidArgument(f"{resume} has the evidence of its session: leave out --evidence.")
    started = helper.start(read_findings(evidence, network)) if resume is None else resumed(helper, resume)
    if session or save or resume:
        path = save or resume
        again = ["plausible", "troubleshoot", model, "--costs", str(costs), "--works", works, "--resume", str(path)]
        again += ["--best"] if best else []
        ended = Conversation(path, shlex.join(again), as_json, best).lead(started)
        if as_json:
            print_json(_history(ended))
    elif best:
        _print_plan(optimal_plan(started), as_json=as_json)
    else:
        _print_advice(started, depth, as_json=as_json)


def _network(source: str) -> BayesianNetwork:
    network = read_model(source)
    if not isinstance(network, BayesianNetwork):
        raise InvalidArgument(f"{source!r} is no Bayesian network; troubleshooting needs one.")
    return network


def _troubleshooter(network: BayesianNetwork, costs: Costs, works: str) -> Troubleshooter:
    goal = read_interventions([works], network)
    if len(goal) != 1:
        raise InvalidArgument(f"--works is one variable and its state, such as --works page=printed, not {works!r}.")
    components = {}
    for name in costs.repair:
        if name not in costs.ok_states:
            raise InvalidArgument(costs.placed(name, f"The component {name!r} has no state in the column ok."))
        components[name] = _ok_state(network, costs, name)
    return Troubleshooter(network, components, works=goal, costs=costs)


def _ok_state(network: BayesianNetwork, costs: Costs, name: str) -> State:
    """The state that the file means, if there is such a variable; the troubleshooter refuses any other."""
    if name not in network.variables:
        return costs.ok_states[name]
    try:
        return state_of(network.variables[name], costs.ok_states[name])
    except UnknownState as error:
        raise UnknownState(costs.placed(name, error)) from None


def _print_advice(session: TroubleshootingSession, depth: int, *, as_json: bool) -> None:
    plan = exact_plan(session, depth=depth) if depth else None
    if as_json:
        print_json(advice_document(session) | ({} if plan is None else {"plan": plan_document(plan)}))
        return
    print_line(advice_text(session))
    if plan is not None:
        print_line("")
        _print_plan(plan)


def _print_plan(plan: PlanNode, *, as_json: bool = False) -> None:
    if as_json:
        print_json(plan_document(plan))
        return
    kind = "expected cost" if plan.is_exact else "cost, with estimates for what comes after the dots:"
    print_line(f"{plan_text(plan)}\n{kind} {plan.expected_cost:.6g}")


def _history(session: TroubleshootingSession) -> dict[str, Any]:
    steps = [{**step_document(taken.step), "outcome": taken.outcome} for taken in session.history]
    return {"history": steps, "cost": session.cost, "is_fixed": session.is_fixed}
