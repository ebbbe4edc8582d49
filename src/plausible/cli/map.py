"""`plausible map`: the most probable states of some variables, the others summed out."""

from __future__ import annotations

from plausible.cli.engines import ENGINES, print_best
from plausible.cli.evidence import SYNTAX
from plausible.cli.question import Question, question_command

__all__ = ["EXAMPLES", "NOTES", "run"]

NOTES = (SYNTAX, ENGINES)
EXAMPLES = ("plausible map asia --targets lung,bronc --evidence dysp=yes",)


def _answer(question: Question) -> None:
    """Print the most probable states of some variables together.

    All others are summed out (marginal MAP). The (natural) log-probability printed is that of these states and the
    evidence together.
    """
    best = question.model.map(question.targets, **question.given)
    print_best(best, as_json=question.as_json, has_engine=question.has_engine)


run = question_command(_answer, has_engine=True)
