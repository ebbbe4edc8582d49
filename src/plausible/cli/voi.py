"""`plausible voi`: what it is worth to know something before deciding."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from plausible.cli import options
from plausible.cli.commands import command
from plausible.cli.diagrams import Answer, known_before, policy_rows, read_costs, read_diagram, with_actions
from plausible.cli.evidence import SYNTAX, names_in
from plausible.cli.options import argument, option
from plausible.cli.output import picked, print_answer
from plausible.cli.terminal import progress_bar
from plausible.decisions import InfluenceDiagram
from plausible.decisions.information.planning import Act, ObservationPlan, PlanNode, myopic_plan, observation_plan
from plausible.decisions.information.subsets import ChoiceState, Limits, ObservationChoice, choose_observations
from plausible.decisions.information.value import (
    InformationValue,
    ObservationRanking,
    ValueOfControl,
    ValueOfInformation,
    rank_observations,
    value_of_control,
    value_of_information,
)
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
    diagram: options.DiagramSource,
    variables: Annotated[
        list[str] | None, argument("What to see together; nothing to compare all that could be seen.")
    ] = None,
    decision: Annotated[str | None, option("The decision meant, where there are several.", "--decision", "-d")] = None,
    evidence: options.EvidenceTexts = None,
    do: options.DecisionsMade = None,
    cost: Annotated[list[str] | None, option("name=number, by commas, or a number for all.", metavar="COSTS")] = None,
    choose: Annotated[
        str | None, option("rank single variables, the best set of them, the best plan of looking, or a myopic-plan.")
    ] = None,
    number: Annotated[int | None, option("See at most so many, with --choose set or a plan.")] = None,
    control: Annotated[bool, option("The value of setting the variable instead.", "--control")] = False,
    sees: Annotated[
        list[str] | None,
        option(
            "What is known when --control sets it, by commas, or '' for nothing; by default its parents.",
            metavar="NAMES",
        ),
    ] = None,
    recall: options.WithRecall = False,
    progress: options.ShowProgress = None,
    as_json: options.AsJson = False,
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
            if choose is not None:
                raise InvalidArgument("--control sets a variable, --choose is about seeing: leave one of them out.")
            if len(names) != 1:
                raise InvalidArgument("--control is about one variable: name it.")
            known_then = None if sees is None else names_in(sees)
            answer = _controlled(value_of_control(model, names[0], known_then, _total(costs, names), known))
        elif names and choose is None:
            answer = _seen(value_of_information(model, names, decision, _total(costs, names), known))
        else:
            asked = {"decision": decision, "candidates": names or None, "costs": costs, "evidence": known}
            answer = _chosen(choose or "rank", model, number, asked, advance)
    print_answer(answer.text, answer.document, as_json=as_json)


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


_WORTH = (
    "value cost net_value expected_utility_before=before.expected_utility expected_utility_after=after.expected_utility"
)


def _seen(found: ValueOfInformation) -> Answer:
    already = found.already_seen and picked(
        found.already_seen, "variables value expected_utility_without=without.expected_utility"
    )
    document = {
        **picked(found, f"decision variables {_WORTH} exact=is_exact"),
        **({"already_seen": already} if already else {}),
        "changes": [picked(change, "decision seen before after probability gain") for change in found.changes],
    }
    return Answer(str(found), document)


def _controlled(found: ValueOfControl) -> Answer:
    return Answer(str(found), {**picked(found, f"variable sees {_WORTH}"), "settings": policy_rows(found.settings)})


def _ranked(found: ObservationRanking) -> Answer:
    values = [_value(value) for value in found.values]
    return Answer(str(found), {**picked(found, "decision expected_utility exact=is_exact"), "values": values})


def _best_set(found: ObservationChoice) -> Answer:
    sets = {"best": _value(found.best), "by_size": [_value(value) for value in found.by_size]}
    more = picked(found, "exact=is_exact greedy=is_greedy sets=num_sets")
    return Answer(str(found), {"decision": found.decision, **sets, **more})


def _planned(found: ObservationPlan) -> Answer:
    plans = [{**picked(start, "seen probability"), "plan": _plan(start.node)} for start in found.starts]
    return Answer(str(found), {**picked(found, "decision expected_utility without exact=is_exact"), "plans": plans})


def _value(found: InformationValue) -> dict[str, Any]:
    return picked(found, "variables value cost net_value")


def _plan(node: PlanNode) -> dict[str, Any]:
    if isinstance(node, Act):
        return picked(node, "action expected_utility")
    return {
        **picked(node, "look=variable cost expected_utility"),
        "probability": {str(state): probability for state, probability in node.probability.items()},
        "branches": {str(state): _plan(branch) for state, branch in node.branches.items()},
    }
