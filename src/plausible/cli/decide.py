"""`plausible decide`: the best strategy of an influence diagram."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Annotated, Any

import typer

from plausible.cli.diagrams import DiagramSource, WithRecall, diagram_findings, read_diagram, with_actions
from plausible.cli.evidence import SYNTAX, EvidenceTexts
from plausible.cli.output import AsJson, factor_document, print_json, print_line
from plausible.cli.progress import ShowProgress, progress_bar
from plausible.decisions import InfluenceDiagram
from plausible.decisions.sensitivity.comparison import ActionComparison, compare_actions
from plausible.decisions.sensitivity.thresholds import StrategyStability, strategy_stability
from plausible.decisions.sensitivity.tornado import DecisionTornado, utility_tornado
from plausible.decisions.sensitivity.variation import VariationState
from plausible.decisions.solving.options import Method, check_method
from plausible.decisions.solving.solution import Solution
from plausible.errors import InvalidArgument

__all__ = ["EXAMPLES", "NOTES", "run"]

NOTES = (SYNTAX,)
EXAMPLES = (
    "plausible decide oil",
    "plausible decide oil --do test=no",
    "plausible decide entrepreneur --why F --seen C=conduct,S=high",
    "plausible decide oil --stability --tornado 0.2",
)


def run(
    diagram: DiagramSource,
    evidence: EvidenceTexts = None,
    method: Annotated[
        str, typer.Option(help="auto, local, elimination, arc-reversal, network or enumeration.")
    ] = "auto",
    do: Annotated[
        list[str] | None,
        typer.Option("--do", metavar="FINDINGS", help="Decisions that are made: name=action, separated by commas."),
    ] = None,
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
    progress: ShowProgress = None,
    as_json: AsJson = False,
) -> None:
    """Print the strategy with the largest expected utility: for each decision what to do after seeing what.

    Evidence is what is known before any decision is made; --do sets decisions, and the others are the best given that.
    """
    model = with_actions(read_diagram(diagram, recall=recall), do)
    given = diagram_findings(evidence, model)
    if seen and why is None:
        raise InvalidArgument("--seen says what the decision of --why sees: name the decision, too.")
    check_method(method)
    chosen: Method = method  # type: ignore[assignment]
    answers: list[Any] = [model.solve(method=chosen, evidence=given)]
    if why is not None:
        answers.append(compare_actions(model, why, diagram_findings(seen, model), evidence=given))
    with progress_bar("varying numbers", progress if stability or tornado else False) as advance:

        def told(state: VariationState) -> None:
            advance(state.num_done / state.num_numbers)

        if stability:
            answers.append(strategy_stability(model, evidence=given, progress=told))
        if tornado is not None:
            answers.append(utility_tornado(model, tornado, evidence=given, progress=told))
    if as_json:
        print_json({key: value for answer in answers for key, value in _document(answer).items()})
    else:
        print_line("\n\n".join([*map(str, answers), *_hints(model, answers)]))


def _hints(model: InfluenceDiagram, answers: Iterable[Any]) -> Iterator[str]:
    """What else could be asked for."""
    for answer in answers:
        if isinstance(answer, ActionComparison) and answer.averaged:
            unsaid = ",".join(f"{name}=..." for name in answer.averaged)
            yield f"{answer.decision} also sees {', '.join(answer.averaged)}: say what was seen by --seen {unsaid}"
    recall = model.recall()
    if not recall.is_perfect:
        _, *forgetful = str(recall).splitlines()
        yield f"By the diagram {'; '.join(forgetful)}. With perfect recall: --recall."


def _document(answer: Solution | ActionComparison | StrategyStability | DecisionTornado) -> dict[str, Any]:
    """An answer as JSON holds it."""
    if isinstance(answer, Solution):
        return {
            "expected_utility": answer.expected_utility,
            "upper_bound": _finite(answer.upper_bound),
            "optimal": answer.is_optimal,
            "method": answer.method,
            "strategy": {name: factor_document(rule) for name, rule in answer.strategy.items()},
        }
    if isinstance(answer, ActionComparison):
        actions = {
            str(worth.action): {"expected_utility": worth.expected_utility, "parts": dict(worth.parts)}
            for worth in answer.actions
        }
        told = {"decision": answer.decision, "seen": dict(answer.seen), "averaged": list(answer.averaged)}
        return {"comparison": {**told, "reached": answer.is_reached, "actions": actions}}
    if isinstance(answer, StrategyStability):
        rows = [
            (str(found.number), _finite(found.low), found.current, _finite(found.high), found.relative_slack)
            for found in answer.fragile
        ]
        return {"stability": [dict(zip(("number", "low", "now", "high", "slack"), row, strict=True)) for row in rows]}
    bars = [{"number": str(b.number), "at_low": b.at_low, "at_high": b.at_high} for b in answer.bars]
    return {"tornado": bars}


def _finite(number: float) -> float | None:
    """The number, or nothing: JSON knows no infinity."""
    return number if math.isfinite(number) else None
