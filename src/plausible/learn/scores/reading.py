"""Scores by name, and the score of a graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from plausible.data.table import TableLike
from plausible.errors import InvalidArgument, UnknownVariable, suggestion
from plausible.graphs import DAG
from plausible.graphs.graph_input import GraphLike, read_dag
from plausible.learn.scores.bge import BGe
from plausible.learn.scores.conditional_gaussian import ConditionalGaussian
from plausible.learn.scores.description_length import DescriptionLength
from plausible.learn.scores.dirichlet import BDeuScore, BDsScore, K2Score, StandardBayesian
from plausible.learn.scores.gaussian import GaussianLikelihood
from plausible.learn.scores.normalized_likelihood import FactorizedNML, QuotientNML
from plausible.learn.scores.penalized import AIC, BIC, LogLikelihood
from plausible.learn.scores.score import Score

__all__ = ["SCORES", "read_score", "score_graph"]

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


def read_score(score: str | Score) -> Score:
    """A score, or the one of this name with its usual options; case and underscores don't matter.

    Parameters
    ----------
    score
        A `Score`, or one of the names in `SCORES`.

    Examples
    --------
    >>> read_score("BIC"), read_score("bdeu")
    (BIC(), BDeuScore(equivalent_sample_size=1.0))
    """
    if isinstance(score, Score):
        return score
    if isinstance(score, str) and (name := score.lower().replace("_", "-").replace(" ", "-")) in SCORES:
        return SCORES[name]()
    hint = suggestion(score, SCORES) if isinstance(score, str) else ""
    raise InvalidArgument(f"{score!r} is no score.{hint} There are {', '.join(SCORES)}; or give a Score.")


def score_graph(graph: GraphLike[DAG], data: TableLike, score: str | Score = "bic") -> float:
    """How well a graph fits data: the sum of the scores of its families.

    Parameters
    ----------
    graph
        On the columns of the data; those without edges need not be named.
    data
        What `Table.read` takes.
    score
        A score or its name.

    Examples
    --------
    >>> data = {"rain": ["no", "yes", "no", "yes"], "grass": ["dry", "wet", "dry", "wet"]}
    >>> round(score_graph("rain -> grass", data), 4), round(score_graph(DAG(""), data), 4)
    (-4.852, -6.9315)
    """
    scores = read_score(score).on_data(data)
    read, names = read_dag(graph), list(scores.names)
    for node in read.nodes:
        if node not in names:
            raise UnknownVariable.named(node, names, "the data")
    return scores.graph(DAG(read.edges, nodes=names))
