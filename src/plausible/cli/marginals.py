"""`plausible marginals`: the posterior of every variable, or of some, each by itself."""

from __future__ import annotations

import math
from typing import Any

from plausible.cli.engines import ENGINES, info_document, print_quality
from plausible.cli.evidence import SYNTAX
from plausible.cli.output import factor_document, print_json, print_line
from plausible.cli.question import Question, question_command
from plausible.factors import Factor, MomentGaussian
from plausible.models import BayesianNetwork

__all__ = ["EXAMPLES", "NOTES", "run"]

NOTES = (SYNTAX, ENGINES)
EXAMPLES = (
    "plausible marginals asia --evidence xray=yes",
    "plausible marginals asia --targets lung,bronc --evidence xray=yes",
)


def _answer(question: Question) -> None:
    """Print the distribution of each variable by itself.

    That is P(X | evidence, do) of every variable X, or of each target; mean and variance where X is continuous.
    """
    beliefs = _beliefs(question)
    if question.as_json:
        print_json({name: _document(belief, question.has_engine) for name, belief in beliefs.items()})
        return
    width = max(map(len, beliefs), default=0)
    for name, belief in beliefs.items():
        print_line(f"{name.ljust(width)}  {_text(belief)}")
    worst = max(beliefs.values(), key=_doubt, default=None)
    if question.has_engine and isinstance(worst, Factor):
        print_quality(worst.info)


def _doubt(belief: Factor | MomentGaussian) -> float:
    """How much may be wrong with an answer."""
    if not isinstance(belief, Factor):
        return -1.0
    return math.inf if belief.info.error is None else belief.info.error


def _beliefs(question: Question) -> dict[str, Factor | MomentGaussian]:
    """Name -> distribution or moments, in the order of the targets or of the model."""
    model, names = question.model, question.targets or list(question.model.variables)
    is_number = {name: variable.is_continuous for name, variable in model.variables.items()}
    discrete = [name for name in names if not is_number.get(name)]
    found: dict[str, Any] = {}
    if discrete:
        found |= model.marginals(targets=discrete if question.targets else None, **question.given)
    if len(discrete) < len(names):
        assert isinstance(model, BayesianNetwork)  # no other model has continuous variables
        exact = {name: value for name, value in question.given.items() if name != "engine"}
        found |= model.continuous_marginals(**exact)
    return {name: found[name] for name in names}


def _document(belief: Factor | MomentGaussian, has_engine: bool = False) -> dict[str, Any]:
    if isinstance(belief, Factor):
        return {**factor_document(belief), **({"info": info_document(belief.info)} if has_engine else {})}
    return {"mean": float(belief.mean[0]), "variance": float(belief.covariance[0, 0])}


def _text(belief: Factor | MomentGaussian) -> str:
    if isinstance(belief, Factor):
        return "  ".join(f"{state}={number:.4f}" for state, number in belief.to_dict().items())
    return "  ".join(f"{label}={number:.6g}" for label, number in _document(belief).items())


run = question_command(_answer, needs_targets=False, has_budget=True, has_engine=True)
