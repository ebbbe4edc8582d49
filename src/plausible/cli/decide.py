"""Influence diagrams: `plausible decide` (the best strategy) and `voi` (what it is worth to know something first)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated, Any, NamedTuple, cast

from plausible.cli import options
from plausible.cli.charts import Drawn, check_plot, save_plot
from plausible.cli.commands import command
from plausible.cli.evidence import SYNTAX, names_in, plain, read_findings, shielded
from plausible.cli.options import argument, option
from plausible.cli.output import factor_document, picked, print_answer
from plausible.cli.source import read_model
from plausible.cli.terminal import progress_bar
from plausible.decisions import InfluenceDiagram
from plausible.decisions.information.planning import Act, ObservationPlan, PlanNode, observation_plan
from plausible.decisions.information.ranking import InformationValue, rank_observations
from plausible.decisions.information.subsets import ChoiceState, Limits, ObservationChoice, choose_observations
from plausible.decisions.information.value import ValueOfInformation, value_of_control, value_of_information
from plausible.decisions.sensitivity.comparison import ActionComparison, compare_actions
from plausible.decisions.sensitivity.numbers import VariationState
from plausible.decisions.sensitivity.thresholds import StrategyStability, strategy_stability
from plausible.decisions.sensitivity.tornado import DecisionTornado, utility_tornado
from plausible.decisions.solving.problem import Method, check_method
from plausible.decisions.solving.solution import Policy, Solution
from plausible.errors import InvalidArgument, InvalidEvidence, close_match
from plausible.factors.alignment import assignment_at


def read_diagram(source: str, *, recall: bool) -> InfluenceDiagram:
    """The influence diagram in a file, or the example of that name, with perfect recall if that is wanted."""
    model = read_model(source)
    if not isinstance(model, InfluenceDiagram):
        raise InvalidArgument(f"{source!r} has no decisions and utilities; this command needs an influence diagram.")
    return model.with_recall() if recall else model


def diagram_findings(texts: Iterable[str] | None, diagram: InfluenceDiagram) -> dict[str, Any]:
    """Name -> finding, as `evidence=` takes it."""
    return read_findings(texts, diagram.network())


def known_before(texts: Iterable[str] | None, diagram: InfluenceDiagram) -> dict[str, Any]:
    """The findings of `--evidence`: what is known before any decision of the diagram is made.

    Whoever names a decision, or what comes after one, is told how to set that with `--do`.
    """
    found = diagram_findings(texts, diagram)
    for name, finding in found.items():
        is_one = diagram.variables[name].has_state(finding)
        if name in diagram.decisions:
            raise InvalidEvidence(
                f"{name!r} is a decision, and evidence is what is known before all decisions: to set it, write "
                f"--do {name}={finding if is_one else 'action'}."
            )
        if causes := [decision for decision in diagram.decisions if name in diagram.graph.descendants(decision)]:
            made = " ".join(f"--do {decision}=..." for decision in causes)
            raise InvalidEvidence(
                f"{name!r} depends on the decision {causes[0]!r}, so it can't be known before all decisions. Say what "
                f"was decided as well: {made} -e {name}={finding if is_one else 'state'}."
            )
    return found


def with_actions(diagram: InfluenceDiagram, texts: Iterable[str] | None) -> InfluenceDiagram:
    """The diagram with the decisions made that `--do` sets."""
    made = diagram_findings(texts, diagram)
    for name, action in made.items():
        if not diagram.decision(name).variable.has_state(action):
            raise InvalidArgument(f"--do sets the decision {name!r} to one action: write --do {name}=action.")
    return diagram.with_rules(made)


def read_costs(texts: Iterable[str] | None) -> float | dict[str, float]:
    """What observations cost: a number for all, or name=number, separated by commas."""
    costs: dict[str, float] = {}
    for text in texts or ():
        for piece in shielded(text).split(","):
            *name, number = piece.split("=")
            try:
                cost = float(plain(number))
            except ValueError:
                raise InvalidArgument(f"{plain(piece)!r} is no cost: write name=number, or a number for all.") from None
            if cost < 0:
                raise InvalidArgument(f"--cost {plain(piece)} is negative: what it costs to look is 0 or more.")
            if not name:
                if costs or len(list(texts or ())) > 1 or "," in text:
                    raise InvalidArgument(f"{plain(piece)!r} names no variable: write name=number for each.")
                return cost
            costs[plain(name[0])] = cost
    return costs


class Answer(NamedTuple):
    """An answer as text and as JSON holds it, and what else could be asked for."""

    text: str
    document: dict[str, Any]
    hints: tuple[str, ...] = ()


def policy_rows(policy: Policy) -> list[dict[str, Any]]:
    """What to do at a decision as JSON holds it: a row for each thing that may be seen.

    What can't happen has no action and no expected utility (null in JSON).
    """
    rows = zip(policy.actions, policy.expected_utility, policy.probability, strict=True)
    return [
        {
            "seen": dict(assignment_at(policy.uses, row)),
            "action": None if math.isnan(worth[action]) else policy.decision.states[action],
            "expected_utility": None if math.isnan(worth[action]) else float(worth[action]),
            "probability": float(probability),
        }
        for row, (action, worth, probability) in enumerate(rows)
    ]


@command(
    examples=(
        "plausible decide oil",
        "plausible decide oil --do test=no",
        "plausible decide entrepreneur --why F --seen C=conduct,S=high",
        "plausible decide oil --stability --tornado 0.2",
        "plausible decide oil --plot oil.svg",
    ),
    notes=(SYNTAX,),
    words={"amount": "--tornado"},
)
def run_decide(
    diagram: options.DiagramSource,
    evidence: options.EvidenceTexts = None,
    method: Annotated[str, option("auto, local, elimination, arc-reversal, network or enumeration.")] = "auto",
    do: options.DecisionsMade = None,
    recall: options.WithRecall = False,
    why: Annotated[str | None, option("Compare the actions of this decision.")] = None,
    seen: Annotated[list[str] | None, option("What it sees there: name=state, by commas.", metavar="FINDINGS")] = None,
    stability: Annotated[
        bool,
        option(
            "How far each number may move before the strategy changes; the least slack first, of utilities as a "
            "share of the range of their table.",
            "--stability",
        ),
    ] = False,
    tornado: Annotated[
        float | None,
        option(
            "Vary each number by this share, a probability of itself, a utility of the range of its table, and "
            "print what moves the expected utility most."
        ),
    ] = None,
    list_all: Annotated[bool, option("Print all rows of --tornado, however many.", "--all")] = False,
    plot: options.Plot = None,
    progress: options.ShowProgress = None,
    as_json: options.AsJson = False,
) -> None:
    """Print the strategy with the largest expected utility.

    A strategy says for each decision what to do after seeing what. Evidence is what is known before any decision is
    made; --do sets decisions, and the others are the best given that. --plot draws the diagram with what to do, or what
    --why, --stability or --tornado found.
    """
    check_plot(plot)
    model = with_actions(read_diagram(diagram, recall=recall), do)
    given = known_before(evidence, model)
    if seen and why is None:
        raise InvalidArgument("--seen says what the decision of --why sees: name the decision, too.")
    if list_all and tornado is None:
        raise InvalidArgument("--all is about the rows of --tornado: add it, as in --tornado 0.2 --all.")
    check_method(method)
    chosen: Method = method  # type: ignore[assignment]
    with progress_bar("varying numbers", progress if stability or tornado else False) as advance:

        def told(state: VariationState) -> None:
            advance(state.num_done / state.num_numbers)

        solution = model.solve(method=chosen, evidence=given)
        answers, draw = [_solution(solution)], cast("Callable[[], Drawn]", solution.picture)
        if why is not None:
            comparison = compare_actions(model, why, diagram_findings(seen, model), evidence=given)
            answers.append(_comparison(comparison))
            draw = comparison.plot
        if stability:
            slack = strategy_stability(model, evidence=given, progress=told)
            answers.append(_stability(slack))
            draw = slack.plot
        if tornado is not None:
            swings = utility_tornado(model, tornado, evidence=given, progress=told)
            answers.append(_tornado(swings, list_all))
            draw = swings.plot
    save_plot(plot, draw)
    hints = [hint for answer in answers for hint in answer.hints]
    memory = model.recall()
    if not memory.is_perfect:
        hints.append(f"By the diagram {'; '.join(str(memory).splitlines()[1:])}. With perfect recall: --recall.")
    document = {key: value for answer in answers for key, value in answer.document.items()}
    print_answer("\n\n".join([*(answer.text for answer in answers), *hints]), document, as_json=as_json)


def _solution(found: Solution) -> Answer:
    document = {
        **picked(found, "expected_utility upper_bound optimal=is_optimal method"),
        "policies": {name: policy_rows(policy) for name, policy in found.policies.items()},
        "strategy": {name: factor_document(rule) for name, rule in found.strategy.items()},
    }
    return Answer(str(found), document)


def _comparison(found: ActionComparison) -> Answer:
    actions = {str(worth.action): picked(worth, "expected_utility parts") for worth in found.actions}
    document = {"comparison": {**picked(found, "decision seen averaged reached=is_reached"), "actions": actions}}
    if not found.averaged:
        return Answer(str(found), document)
    unsaid = ",".join(f"{name}=..." for name in found.averaged)
    hint = f"{found.decision} also sees {', '.join(found.averaged)}: say what was seen by --seen {unsaid}"
    return Answer(str(found), document, (hint,))


def _stability(found: StrategyStability) -> Answer:
    rows = [picked(one, "number low now=current high slack=relative_slack") for one in found.fragile]
    return Answer(str(found), {"stability": rows})


def _tornado(found: DecisionTornado, list_all: bool) -> Answer:
    """The longest bars, or all of them."""
    bars = [picked(bar, "number low now=current high at_low at_high changes_strategy") for bar in found.bars]
    short, whole = str(found.to_table()), str(found.to_table(len(found.bars)))
    text = str(found).replace(short, whole) if list_all else str(found)
    return Answer(text, {"tornado": bars}, () if list_all or short == whole else ("All rows of the table: --all.",))


_CHOICES = ("rank", "set", "plan", "myopic-plan")


@command(
    examples=(
        "plausible voi entrepreneur M --decision F",
        "plausible voi oil --decision drill --cost 5",
        "plausible voi oil --decision drill --plot worth.svg",
        "plausible voi entrepreneur M --control",
        "plausible voi oil seismic --control --sees test",
    ),
    notes=(SYNTAX,),
    words={"candidates": "variables", "rank_observations()": "--choose rank"},
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
    plot: options.Plot = None,
    progress: options.ShowProgress = None,
    as_json: options.AsJson = False,
) -> None:
    """Print what it is worth to know something before deciding.

    It is the gain in expected utility if variables are seen at a decision and all later ones. With variables and no
    --choose: the value of seeing them together, and which actions change. With --choose, they are what is chosen from.
    --plot draws a ranking, or the sets that were compared.
    """
    check_plot(plot)
    compares = not control and (choose in ("rank", "set") or not (variables or choose))
    if plot is not None and not compares:
        raise InvalidArgument("--plot draws what is compared: leave the variables out, or add --choose rank or set.")
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
            found = value_of_control(model, names[0], known_then, _total(costs, names), known)
            settings = policy_rows(found.settings)
            answer = Answer(str(found), {**picked(found, f"variable sees {_WORTH}"), "settings": settings})
        elif names and choose is None:
            answer = _seen(value_of_information(model, names, decision, _total(costs, names), known))
        else:
            asked = {"decision": decision, "candidates": names or None, "costs": costs, "evidence": known}
            answer = _chosen(choose or "rank", model, number, asked, advance, plot)
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
    choose: str,
    model: InfluenceDiagram,
    number: int | None,
    asked: dict[str, Any],
    advance: Callable[..., None],
    plot: Path | None,
) -> Answer:
    if choose == "rank":
        found = rank_observations(model, **asked)
        save_plot(plot, found.plot)
        facts, values = picked(found, "decision expected_utility exact=is_exact"), [_value(v) for v in found.values]
        return Answer(str(found), {**facts, "values": values})
    if choose == "set":

        def told(state: ChoiceState) -> None:
            advance(state.num_sets / state.most_sets)

        best = choose_observations(model, limits=Limits(number), progress=told, **asked)
        save_plot(plot, best.plot)
        return _best_set(best)
    if choose in _CHOICES:
        return _planned(observation_plan(model, max_number=number, is_myopic=choose != "plan", **asked))
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
