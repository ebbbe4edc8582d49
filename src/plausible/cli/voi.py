"""`plausible voi`: what it is worth to know something before deciding."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import typer

from plausible.cli.commands import command
from plausible.cli.diagrams import (
    Answer,
    DecisionOption,
    DecisionsMade,
    DiagramSource,
    WithRecall,
    known_before,
    policy_rows,
    read_costs,
    read_diagram,
    with_actions,
)
from plausible.cli.evidence import SYNTAX, EvidenceTexts
from plausible.cli.output import AsJson, print_answer
from plausible.cli.quoting import names_in
from plausible.cli.terminal import ShowProgress, progress_bar
from plausible.decisions import InfluenceDiagram
from plausible.decisions.information.control import ValueOfControl, value_of_control
from plausible.decisions.information.plan import Act, ObservationPlan, PlanNode
from plausible.decisions.information.planning import myopic_plan, observation_plan
from plausible.decisions.information.ranking import InformationValue, ObservationRanking, rank_observations
from plausible.decisions.information.subsets import ChoiceState, Limits, ObservationChoice, choose_observations
from plausible.decisions.information.value import ActionChange, AlreadySeen, ValueOfInformation, value_of_information
from plausible.errors import InvalidArgument, close_match

_WORDS = {"candidates": "variables", "rank_observations()": "--choose rank"}
_CHOICES = ("rank", "set", "plan", "myopic-plan")


@command(
    examples=(
        "plausible voi entrepreneur M --decision F",
        "plausible voi oil --decision drill --cost 5",
        "plausible voi entrepreneur M --control",
        "plausible voi oil seismic --control --sees test",
    ),
    notes=(SYNTAX,),
    words=_WORDS,
)
def run_voi(
    diagram: DiagramSource,
    variables: Annotated[
        list[str] | None,
        typer.Argument(help="What to see together; nothing to compare all that could be seen.", show_default=False),
    ] = None,
    decision: DecisionOption = None,
    evidence: EvidenceTexts = None,
    do: DecisionsMade = None,
    cost: Annotated[
        list[str] | None, typer.Option(metavar="COSTS", help="name=number, by commas, or a number for all.")
    ] = None,
    choose: Annotated[
        str | None,
        typer.Option(help="rank single variables, the best set of them, the best plan of looking, or a myopic-plan."),
    ] = None,
    number: Annotated[int | None, typer.Option(help="See at most so many, with --choose set or a plan.")] = None,
    control: Annotated[bool, typer.Option("--control", help="The value of setting the variable instead.")] = False,
    sees: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAMES",
            help="What is known when --control sets it, by commas, or '' for nothing; by default its parents.",
            show_default=False,
        ),
    ] = None,
    recall: WithRecall = False,
    progress: ShowProgress = None,
    as_json: AsJson = False,
) -> None:
    """Print what it is worth to know something before deciding.

    It is the gain in expected utility if variables are seen at a decision and all later ones. With variables and no
    --choose: the value of seeing them together, and which actions change. With --choose, they are what is chosen from.
    """
    model = with_actions(read_diagram(diagram, recall=recall), do)
    names = names_in(variables)
    costs = read_costs(cost)
    known = known_before(evidence, model)
    if number is not None and choose in (None, "rank"):
        raise InvalidArgument("--number limits a set or a plan: add --choose set, plan or myopic-plan.")
    if sees is not None and not control:
        raise InvalidArgument("--sees says what is known when a variable is set: add --control.")
    with progress_bar("weighing observations", progress) as advance:
        if control:
            _check_control(names, choose)
            known_then = None if sees is None else names_in(sees)
            answer = _controlled(value_of_control(model, names[0], known_then, _total(costs, names), known))
        elif names and choose is None:
            answer = _seen(value_of_information(model, names, decision, _total(costs, names), known))
        else:
            asked = {"decision": decision, "candidates": names or None, "costs": costs, "evidence": known}
            answer = _chosen(choose or "rank", model, number, asked, advance)
    print_answer(answer.text, answer.document, as_json=as_json)


def _check_control(names: list[str], choose: str | None) -> None:
    if choose is not None:
        raise InvalidArgument("--control sets a variable, --choose is about seeing: leave one of them out.")
    if len(names) != 1:
        raise InvalidArgument("--control is about one variable: name it.")


def _total(costs: float | dict[str, float], names: list[str]) -> float:
    if isinstance(costs, float):
        return costs * len(names)
    if unknown := [name for name in costs if name not in names]:
        raise InvalidArgument(
            f"--cost speaks of {unknown[0]!r}, which is none of {names}.{close_match(unknown[0], names)}"
        )
    return sum(costs.values())


def _chosen(
    choose: str, model: InfluenceDiagram, number: int | None, asked: dict[str, Any], advance: Callable[..., None]
) -> Answer:
    if choose == "rank":
        return _ranked(rank_observations(model, **asked))
    if choose == "set":

        def told(state: ChoiceState) -> None:
            advance(state.num_sets / state.most_sets)

        return _best_set(choose_observations(model, limits=Limits(number), progress=told, **asked))
    if choose in _CHOICES:
        return _planned((observation_plan if choose == "plan" else myopic_plan)(model, max_number=number, **asked))
    raise InvalidArgument(f"--choose {choose!r} is none of {', '.join(_CHOICES)}.{close_match(choose, _CHOICES)}")


def _seen(found: ValueOfInformation) -> Answer:
    already = {} if found.already_seen is None else {"already_seen": _already(found.already_seen)}
    changes = [_change(change) for change in found.changes]
    told = {"decision": found.decision, "variables": list(found.variables), **_worth(found)}
    return Answer(str(found), {**told, "exact": found.is_exact, **already, "changes": changes})


def _controlled(found: ValueOfControl) -> Answer:
    told = {"variable": found.variable, "sees": list(found.sees), **_worth(found)}
    return Answer(str(found), {**told, "settings": policy_rows(found.settings)})


def _ranked(found: ObservationRanking) -> Answer:
    values = [_value(value) for value in found.values]
    told = {"decision": found.decision, "expected_utility": found.expected_utility, "exact": found.is_exact}
    return Answer(str(found), {**told, "values": values})


def _best_set(found: ObservationChoice) -> Answer:
    by_size = [_value(value) for value in found.by_size]
    told = {"decision": found.decision, "best": _value(found.best), "by_size": by_size}
    return Answer(str(found), {**told, "exact": found.is_exact, "greedy": found.is_greedy, "sets": found.num_sets})


def _planned(found: ObservationPlan) -> Answer:
    plans = [
        {"seen": dict(start.seen), "probability": start.probability, "plan": _plan(start.node)}
        for start in found.starts
    ]
    told = {"decision": found.decision, "expected_utility": found.expected_utility, "without": found.without}
    return Answer(str(found), {**told, "exact": found.is_exact, "plans": plans})


def _worth(found: ValueOfInformation | ValueOfControl) -> dict[str, float]:
    return {
        "value": found.value,
        "cost": found.cost,
        "net_value": found.net_value,
        "expected_utility_before": found.before.expected_utility,
        "expected_utility_after": found.after.expected_utility,
    }


def _already(found: AlreadySeen) -> dict[str, Any]:
    without = found.without.expected_utility
    return {"variables": list(found.variables), "value": found.value, "expected_utility_without": without}


def _change(change: ActionChange) -> dict[str, Any]:
    return {
        "decision": change.decision,
        "seen": dict(change.seen),
        "before": change.before,
        "after": change.after,
        "probability": change.probability,
        "gain": change.gain,
    }


def _value(found: InformationValue) -> dict[str, Any]:
    return {"variables": list(found.variables), "value": found.value, "cost": found.cost, "net_value": found.net_value}


def _plan(node: PlanNode) -> dict[str, Any]:
    if isinstance(node, Act):
        return {"action": node.action, "expected_utility": node.expected_utility}
    return {
        "look": node.variable,
        "cost": node.cost,
        "expected_utility": node.expected_utility,
        "probability": {str(state): probability for state, probability in node.probability.items()},
        "branches": {str(state): _plan(branch) for state, branch in node.branches.items()},
    }
