"""Scores by name, and the score of a graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from plausible.base import read_named_option
from plausible.data import Statistics, Table
from plausible.errors import InvalidArgument, close_match
from plausible.learn.estimation.priors import K2, BDe, BDeu, Dirichlet
from plausible.learn.scores.dirichlet import BDeuScore, BDsScore, K2Score, StandardBayesian
from plausible.learn.scores.gaussian import BGe, ConditionalGaussian, GaussianLikelihood
from plausible.learn.scores.penalized import AIC, BIC, DescriptionLength, FactorizedNML, LogLikelihood, QuotientNML
from plausible.learn.scores.score import Score

#: Name -> what makes the score with its usual options.
SCORES: Mapping[str, Callable[[], Score]] = MappingProxyType(
    {
        "log-likelihood": LogLikelihood,
        "aic": AIC,
        "bic": BIC,
        "mdl": BIC,
        "k2": K2Score,
        "bdeu": BDeuScore,
        "bds": BDsScore,
        "fnml": FactorizedNML,
        "qnml": QuotientNML,
        "description-length": DescriptionLength,
        "standard-bayesian": StandardBayesian,
        "gaussian-log-likelihood": lambda: GaussianLikelihood(0.0),
        "gaussian-aic": lambda: GaussianLikelihood(1.0),
        "gaussian-bic": GaussianLikelihood,
        "bge": BGe,
        "conditional-gaussian-log-likelihood": lambda: ConditionalGaussian(0.0),
        "conditional-gaussian-aic": lambda: ConditionalGaussian(1.0),
        "conditional-gaussian-bic": ConditionalGaussian,
    }
)

#: Name -> what makes the score with the number that stands after a colon.
_NUMBERED: Mapping[str, Callable[[float], Score]] = MappingProxyType(
    {"bdeu": BDeuScore, "bds": BDsScore, "standard-bayesian": StandardBayesian, "bge": BGe}
)


def read_score(score: str | Score) -> Score:
    """A score, or the one of this name with its usual options; case and underscores don't matter."""
    if isinstance(score, Score):
        return score
    if isinstance(score, (BDe, BDeu, Dirichlet, K2)):
        kind = type(score).__name__
        raise InvalidArgument(f"{score!r} is a prior of tables, not a score of graphs: give a {kind}Score instead.")
    if not isinstance(score, str):
        raise InvalidArgument(f"{score!r} is no score. Give a name, such as 'bic', or a Score, such as BDeuScore(10).")
    name, number = read_named_option(score)
    if name not in SCORES:
        raise InvalidArgument(
            f"{score!r} is no score.{close_match(name, SCORES)} There are {', '.join(SCORES)}; or give a Score."
        )
    if number is None:
        return SCORES[name]()
    if name not in _NUMBERED:
        raise InvalidArgument(f"{score!r}: {name} has no number, only {', '.join(_NUMBERED)} have. Write {name!r}.")
    return _NUMBERED[name](number)


def fitting_score(data: Table | Statistics, kind: str) -> str:
    """The name of a score of this kind, such as "bic", for the columns that there are."""
    if not data.continuous:
        return kind
    return f"conditional-gaussian-{kind}" if data.discrete else f"gaussian-{kind}"
