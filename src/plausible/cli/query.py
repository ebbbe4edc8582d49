"""`plausible query`: the distribution of some variables, given evidence and interventions."""

from __future__ import annotations

from plausible.cli.engines import ENGINES, info_document, print_quality
from plausible.cli.evidence import SYNTAX
from plausible.cli.output import factor_document, print_json, print_line
from plausible.cli.question import Question, question_command

__all__ = ["EXAMPLES", "NOTES", "run"]

NOTES = (SYNTAX, ENGINES)
EXAMPLES = (
    "plausible query asia lung,bronc --evidence xray=yes,smoke=no",
    "plausible query asia lung --evidence xray=yes --engine loopy-bp:damping=0.3",
    "plausible query asia lung -e 'xray=yes,dysp~0.8|0.3' --do smoke=no --json",
)


def _answer(question: Question) -> None:
    """Print P(targets | evidence, do) as a table."""
    answer = question.model.query(question.targets, **question.given)
    if question.as_json:
        told = {"info": info_document(answer.info)} if question.has_engine else {}
        print_json({**factor_document(answer), **told})
        return
    print_line(str(answer))
    if question.has_engine:
        print_quality(answer.info)


run = question_command(_answer, has_budget=True, has_engine=True)
