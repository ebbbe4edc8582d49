"""`plausible moments`: the mean and the covariance of continuous variables, given evidence and interventions."""

from __future__ import annotations

from plausible.cli.evidence import SYNTAX
from plausible.cli.output import print_json, print_line
from plausible.cli.question import Question, question_command
from plausible.errors import NotSupported
from plausible.models import BayesianNetwork

__all__ = ["EXAMPLES", "NOTES", "run"]

NOTES = (SYNTAX,)
EXAMPLES = (
    "plausible moments gaussian-chain X1 --evidence X3=2.5",
    "plausible moments gaussian-chain --targets X1,X3 --do X2=-1 --json",
)


def _answer(question: Question) -> None:
    """Print means and covariances of continuous variables.

    Both are exact, given the evidence. Where discrete variables matter that are not observed, the distribution is a
    mixture that has these moments.
    """
    if not isinstance(question.model, BayesianNetwork):
        raise NotSupported("Moments are those of continuous variables, and a Markov network has none: see query.")
    answer = question.model.moments(question.targets, **question.given)
    if question.as_json:
        numbers = {"mean": answer.mean.tolist(), "covariance": answer.covariance.tolist()}
        print_json({"variables": list(answer.names), **numbers})
    else:
        print_line(str(answer))


run = question_command(_answer, has_budget=True)
