"""`plausible decide`: the best strategy of an influence diagram."""

from __future__ import annotations

import math
from typing import Annotated

from plausible.cli.commands import command
from plausible.cli.diagrams import Answer, diagram_findings, known_before, policy_rows, read_diagram, with_actions
from plausible.cli.evidence import SYNTAX
from plausible.cli.options import AsJson, DecisionsMade, DiagramSource, EvidenceTexts, ShowProgress, WithRecall, option
from plausible.cli.output import factor_document, picked, print_answer
from plausible.cli.terminal import progress_bar
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
    method: Annotated[str, option("auto, local, elimination, arc-reversal, network or enumeration.")] = "auto",
    do: DecisionsMade = None,
    recall: WithRecall = False,
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
    hints = [hint for answer in answers for hint in answer.hints]
    memory = model.recall()
    if not memory.is_perfect:
        hints.append(f"By the diagram {'; '.join(str(memory).splitlines()[1:])}. With perfect recall: --recall.")
    document = {key: value for answer in answers for key, value in answer.document.items()}
    print_answer("\n\n".join([*(answer.text for answer in answers), *hints]), document, as_json=as_json)


def _solution(found: Solution) -> Answer:
    document = {
        **picked(found, "expected_utility"),
        "upper_bound": _finite(found.upper_bound),
        **picked(found, "optimal=is_optimal method"),
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
    return Answer(
        str(found), {"stability": [row | {end: _finite(row[end]) for end in ("low", "high")} for row in rows]}
    )


def _tornado(found: DecisionTornado, list_all: bool) -> Answer:
    """The longest bars, or all of them."""
    bars = [picked(bar, "number low now=current high at_low at_high changes_strategy") for bar in found.bars]
    bars = [bar | {end: _finite(bar[end]) for end in ("at_low", "at_high")} for bar in bars]
    short, whole = str(found.to_table()), str(found.to_table(len(found.bars)))
    text = str(found).replace(short, whole) if list_all else str(found)
    return Answer(text, {"tornado": bars}, () if list_all or short == whole else ("All rows of the table: --all.",))


def _finite(number: float) -> float | None:
    """The number, or nothing: JSON knows no infinity."""
    return number if math.isfinite(number) else None
