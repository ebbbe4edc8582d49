"""`plausible decide`: the best strategy of an influence diagram."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Annotated

import typer

from plausible.cli.commands import command
from plausible.cli.diagrams import (
    Answer,
    DecisionsMade,
    DiagramSource,
    WithRecall,
    diagram_findings,
    known_before,
    policy_rows,
    read_diagram,
    with_actions,
)
from plausible.cli.evidence import SYNTAX, EvidenceTexts
from plausible.cli.output import AsJson, factor_document, print_json, print_line
from plausible.cli.terminal import ShowProgress, progress_bar
from plausible.decisions import InfluenceDiagram
from plausible.decisions.sensitivity.comparison import ActionComparison, compare_actions
from plausible.decisions.sensitivity.numbers import VariationState
from plausible.decisions.sensitivity.thresholds import StrategyStability, strategy_stability
from plausible.decisions.sensitivity.tornado import DecisionTornado, utility_tornado
from plausible.decisions.solving.options import Method, check_method
from plausible.decisions.solving.solution import Solution
from plausible.errors import InvalidArgument

_WORDS = {"amount": "--tornado"}


@command(
    examples=(
        "plausible decide oil",
        "plausible decide oil --do test=no",
        "plausible decide entrepreneur --why F --seen C=conduct,S=high",
        "plausible decide oil --stability --tornado 0.2",
    ),
    notes=(SYNTAX,),
    words=_WORDS,
)
def run_decide(
    diagram: DiagramSource,
    evidence: EvidenceTexts = None,
    method: Annotated[
        str, typer.Option(help="auto, local, elimination, arc-reversal, network or enumeration.")
    ] = "auto",
    do: DecisionsMade = None,
    recall: WithRecall = False,
    why: Annotated[str | None, typer.Option(help="Compare the actions of this decision.")] = None,
    seen: Annotated[
        list[str] | None, typer.Option(metavar="FINDINGS", help="What it sees there: name=state, by commas.")
    ] = None,
    stability: Annotated[
        bool,
        typer.Option(
            "--stability",
            help="How far each number may move before the strategy changes; the least slack first, of utilities as a "
            "share of the range of their table.",
        ),
    ] = False,
    tornado: Annotated[
        float | None,
        typer.Option(
            help="Vary each number by this share, a probability of itself, a utility of the range of its table, and "
            "print what moves the expected utility most."
        ),
    ] = None,
    list_all: Annotated[bool, typer.Option("--all", help="Print all rows of --tornado, however many.")] = False,
    progress: ShowProgress = None,
    as_json: AsJson = False,
) -> None:
    """Print the strategy with the largest expected utility.

    A strategy says for each decision what to do after seeing what. Evidence is what is known before any decision is
    made; --do sets decisions, and the others are the best given that.
    """
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

        answers = [_solution(model.solve(method=chosen, evidence=given))]
        if why is not None:
            answers.append(_comparison(compare_actions(model, why, diagram_findings(seen, model), evidence=given)))
        if stability:
            answers.append(_stability(strategy_stability(model, evidence=given, progress=told)))
        if tornado is not None:
            answers.append(_tornado(utility_tornado(model, tornado, evidence=given, progress=told), list_all))
    if as_json:
        print_json({key: value for answer in answers for key, value in answer.document.items()})
    else:
        hints = [hint for answer in answers for hint in answer.hints]
        print_line("\n\n".join([*(answer.text for answer in answers), *hints, *_memory_hint(model)]))


def _memory_hint(model: InfluenceDiagram) -> Iterator[str]:
    """What decisions forget, and how they would not."""
    recall = model.recall()
    if not recall.is_perfect:
        _, *forgetful = str(recall).splitlines()
        yield f"By the diagram {'; '.join(forgetful)}. With perfect recall: --recall."


def _solution(found: Solution) -> Answer:
    document = {
        "expected_utility": found.expected_utility,
        "upper_bound": _finite(found.upper_bound),
        "optimal": found.is_optimal,
        "method": found.method,
        "policies": {name: policy_rows(policy) for name, policy in found.policies.items()},
        "strategy": {name: factor_document(rule) for name, rule in found.strategy.items()},
    }
    return Answer(str(found), document)


def _comparison(found: ActionComparison) -> Answer:
    actions = {
        str(worth.action): {"expected_utility": worth.expected_utility, "parts": dict(worth.parts)}
        for worth in found.actions
    }
    told = {"decision": found.decision, "seen": dict(found.seen), "averaged": list(found.averaged)}
    document = {"comparison": {**told, "reached": found.is_reached, "actions": actions}}
    if not found.averaged:
        return Answer(str(found), document)
    unsaid = ",".join(f"{name}=..." for name in found.averaged)
    hint = f"{found.decision} also sees {', '.join(found.averaged)}: say what was seen by --seen {unsaid}"
    return Answer(str(found), document, (hint,))


def _stability(found: StrategyStability) -> Answer:
    rows = [(str(f.number), _finite(f.low), f.current, _finite(f.high), f.relative_slack) for f in found.fragile]
    named = [dict(zip(("number", "low", "now", "high", "slack"), row, strict=True)) for row in rows]
    return Answer(str(found), {"stability": named})


def _tornado(found: DecisionTornado, list_all: bool) -> Answer:
    """The longest bars, or all of them."""
    bars = [
        {
            "number": str(bar.number),
            "low": bar.low,
            "now": bar.current,
            "high": bar.high,
            "at_low": _finite(bar.at_low),
            "at_high": _finite(bar.at_high),
            "changes_strategy": bar.changes_strategy,
        }
        for bar in found.bars
    ]
    short, whole = str(found.to_table()), str(found.to_table(len(found.bars)))
    text = str(found).replace(short, whole) if list_all else str(found)
    hints = () if list_all or short == whole else ("All rows of the table: --all.",)
    return Answer(text, {"tornado": bars}, hints)


def _finite(number: float) -> float | None:
    """The number, or nothing: JSON knows no infinity."""
    return number if math.isfinite(number) else None
