"""`plausible explain`: what exact inference will cost, before it is paid."""

from __future__ import annotations

from plausible.cli.evidence import SYNTAX
from plausible.cli.output import print_json, print_line
from plausible.cli.question import Question, question_command

__all__ = ["EXAMPLES", "NOTES", "run"]

NOTES = (SYNTAX,)
EXAMPLES = (
    "plausible explain alarm",
    "plausible explain alarm HYPOVOLEMIA --evidence CVP=HIGH,BP=LOW --budget-memory 0.5",
)


def _answer(question: Question) -> None:
    """Print what exact inference will cost, before it is done.

    The plan tells width, table entries, memory, a rough time and the largest clique. Without targets the plan is that
    of the posteriors of all variables.
    """
    plan = question.model.explain(question.targets or None, **question.given)
    if question.as_json:
        print_json(plan.to_record())
    else:
        print_line(str(plan))


run = question_command(_answer, needs_targets=False, has_budget=True)
