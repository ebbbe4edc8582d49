"""`plausible voi`: what it is worth to know something before deciding."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer

from plausible.cli.diagrams import DecisionOption, DiagramSource, WithRecall, diagram_findings, read_costs, read_diagram
from plausible.cli.evidence import SYNTAX, EvidenceTexts
from plausible.cli.output import AsJson, print_json, print_line
from plausible.cli.progress import ShowProgress, progress_bar
from plausible.cli.quoting import names_in
from plausible.decisions import InfluenceDiagram
from plausible.decisions.information.control import value_of_control
from plausible.decisions.information.plan import Act, ObservationPlan, PlanNode
from plausible.decisions.information.planning import myopic_plan, observation_plan
from plausible.decisions.information.ranking import InformationValue, ObservationRanking, rank_observations
from plausible.decisions.information.subsets import ChoiceState, Limits, ObservationChoice, choose_observations
from plausible.decisions.information.value import value_of_information
from plausible.errors import InvalidArgument, TooLarge, close_match

__all__ = ["EXAMPLES", "NOTES", "run"]

NOTES = (SYNTAX,)
EXAMPLES = (
    "plausible voi entrepreneur M --decision F",
    "plausible voi oil --decision drill --cost 5",
    "plausible voi entrepreneur M --control",
    "plausible voi oil seismic --control --sees test",
)
_CHOICES = ("rank", "set", "plan", "myopic-plan")
#: What errors of the library say, and what it is called here.
_WORDS = {
    "decision=": "--decision",
    "candidates=": "variables",
    "rank_observations": "--choose rank",
    "evidence=": "--evidence",
}


def run(
    diagram: DiagramSource,
    variables: Annotated[
        list[str] | None,
        typer.Argument(help="What to see together; nothing to compare all that could be seen.", show_default=False),
    ] = None,
    decision: DecisionOption = None,
    evidence: EvidenceTexts = None,
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
    """Print what it is worth to see variables at a decision and all later ones: the gain in expected utility.

    With variables and no --choose: the value of seeing them together, and which actions change. With --choose, they are
    what is chosen from.
    """
    model = read_diagram(diagram, recall=recall)
    names = names_in(variables)
    costs = read_costs(cost)
    known = diagram_findings(evidence, model)
    if number is not None and choose in (None, "rank"):
        raise InvalidArgument("--number limits a set or a plan: add --choose set, plan or myopic-plan.")
    if sees is not None and not control:
        raise InvalidArgument("--sees says what is known when a variable is set: add --control.")
    with _in_shell_words(), progress_bar("weighing observations", progress) as advance:
        answer: Any
        if control:
            _check_control(names, choose)
            known_then = None if sees is None else names_in(sees)
            answer = value_of_control(model, names[0], known_then, _total(costs, names), known)
        elif names and choose is None:
            answer = value_of_information(model, names, decision, _total(costs, names), known)
        else:
            asked = {"decision": decision, "candidates": names or None, "costs": costs, "evidence": known}
            answer = _chosen(choose or "rank", model, number, asked, advance)
    if as_json:
        print_json(_document(answer))
    else:
        print_line(str(answer))


def _check_control(names: list[str], choose: str | None) -> None:
    if choose is not None:
        raise InvalidArgument("--control sets a variable, --choose is about seeing: leave one of them out.")
    if len(names) != 1:
        raise InvalidArgument("--control is about one variable: name it.")


@contextmanager
def _in_shell_words() -> Iterator[None]:
    """Let errors in here name what the command line has where the library names arguments and functions."""
    try:
        yield
    except (TooLarge, InvalidArgument) as error:
        text = str(error)
        for word, told in _WORDS.items():
            text = text.replace(word, told)
        raise type(error)(text) from None


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
) -> Any:
    if choose == "rank":
        return rank_observations(model, **asked)
    if choose == "set":

        def told(state: ChoiceState) -> None:
            advance(state.num_sets / state.most_sets)

        return choose_observations(model, limits=Limits(number), progress=told, **asked)
    if choose in _CHOICES:
        return (observation_plan if choose == "plan" else myopic_plan)(model, max_number=number, **asked)
    raise InvalidArgument(f"--choose {choose!r} is none of {', '.join(_CHOICES)}.{close_match(choose, _CHOICES)}")


def _document(answer: Any) -> dict[str, Any]:
    """An answer as JSON holds it."""
    if isinstance(answer, ObservationRanking):
        return {"decision": answer.decision, "values": [_value(found) for found in answer.values]}
    if isinstance(answer, ObservationChoice):
        by_size = [_value(found) for found in answer.by_size]
        return {"decision": answer.decision, "best": _value(answer.best), "by_size": by_size, "exact": answer.is_exact}
    if isinstance(answer, ObservationPlan):
        plans = [{"seen": dict(start.seen), "plan": _plan(start.node)} for start in answer.starts]
        return {"expected_utility": answer.expected_utility, "without": answer.without, "plans": plans}
    document = {"value": answer.value, "cost": answer.cost, "net_value": answer.net_value}
    changes = getattr(answer, "changes", ())
    told = [{"decision": c.decision, "seen": dict(c.seen), "before": c.before, "after": c.after} for c in changes]
    if (already := getattr(answer, "already_seen", None)) is not None:
        without = already.without.expected_utility
        told_already = {
            "variables": list(already.variables),
            "value": already.value,
            "expected_utility_without": without,
        }
        document["already_seen"] = told_already
    return {**document, **({"changes": told} if hasattr(answer, "changes") else {})}


def _value(found: InformationValue) -> dict[str, Any]:
    return {"variables": list(found.variables), "value": found.value, "cost": found.cost, "net_value": found.net_value}


def _plan(node: PlanNode) -> dict[str, Any]:
    if isinstance(node, Act):
        return {"action": node.action, "expected_utility": node.expected_utility}
    branches = {str(state): _plan(branch) for state, branch in node.branches.items()}
    return {"look": node.variable, "expected_utility": node.expected_utility, "branches": branches}
