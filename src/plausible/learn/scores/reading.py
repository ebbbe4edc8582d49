"""Scores by name, and the score of a graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from plausible.data.statistics import Statistics
from plausible.data.table import Table, TableLike
from plausible.errors import InvalidArgument, UnknownVariable, close_match
from plausible.graphs import DAG
from plausible.graphs.graph_input import GraphLike, read_dag
from plausible.learn.estimation.priors import K2, BDe, BDeu, Dirichlet, Prior
from plausible.learn.named_options import read_named_option
from plausible.learn.scores.conditional_gaussian import ConditionalGaussian
from plausible.learn.scores.dirichlet import BDeScore, BDeuScore, BDsScore, DirichletScore, K2Score, StandardBayesian
from plausible.learn.scores.gaussian import BGe, GaussianLikelihood
from plausible.learn.scores.normalized_likelihood import FactorizedNML, QuotientNML
from plausible.learn.scores.penalized import AIC, BIC, DescriptionLength, LogLikelihood
from plausible.learn.scores.score import Score

__all__ = ["SCORES", "fitting_score", "read_score", "score_graph"]

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
    """The name of a score of this kind, such as "bic", for the columns that there are.

    >>> fitting_score(Table.read({"x": [0.5, 1.5], "y": ["a", "b"]}), "aic")
    'conditional-gaussian-aic'
    """
    if not data.continuous:
        return kind
    return f"conditional-gaussian-{kind}" if data.discrete else f"gaussian-{kind}"


#: The scores that have a way with missing cells of their own.
_METHODS = (BIC, BDeScore, BDeuScore, DirichletScore, K2Score)


def score_graph(
    graph: GraphLike[DAG], data: TableLike, score: str | Score | None = None, *, method: str | None = None
) -> float:
    """Score how well a graph fits data: the sum over its families, or an approximation if cells are missing.

    Parameters
    ----------
    graph
        A graph over the columns of the data; you need not list nodes without edges.
    data
        Anything that `Table.read` accepts, such as a data frame; cells may be missing (None, NaN).
    score
        A score or its name. `None` means BIC of the kind that fits the columns: discrete, continuous or both.
    method
        How to score if cells are missing: one of `INCOMPLETE_SCORES`, with the prior of a Dirichlet score, or `K2`. By
        default "bic" for BIC, and "cheeseman-stutz" for Dirichlet scores. `score_incomplete` returns more detail.

    Examples
    --------
    >>> import plausible as pb
    >>> data = {"rain": ["no", "yes", "no", "yes"], "grass": ["dry", "wet", "dry", "wet"]}
    >>> round(pb.learn.score("rain -> grass", data), 4), round(pb.learn.score(pb.DAG(""), data), 4)
    (-4.852, -6.9315)
    >>> data["rain"][0] = None
    >>> round(pb.learn.score("rain -> grass", data), 4), round(pb.learn.score("rain -> grass", data, "k2"), 4)
    (-4.852, -5.3503)
    """
    table = data if isinstance(data, Table) else Table.read(data)
    wanted = read_score(score or fitting_score(table, "bic"))
    if method is not None or (table.missing and isinstance(wanted, _METHODS)):
        return _score_incomplete(graph, table, wanted, method)
    scores = wanted.on_data(table)
    read, names = read_dag(graph), list(scores.names)
    for node in read.nodes:
        if node not in names:
            raise UnknownVariable.named(node, names, "the data")
    return scores.graph(DAG(read.edges, nodes=names))


def _score_incomplete(graph: GraphLike[DAG], table: Table, score: Score, method: str | None) -> float:
    """The score of a graph on the columns of a table with missing cells."""
    from plausible.learn.incomplete_scores.score import score_incomplete  # which needs most of `learn`

    prior: Prior = K2()
    if isinstance(score, BDeuScore):
        prior = BDeu(score.equivalent_sample_size)
    elif isinstance(score, DirichletScore):
        prior = Dirichlet(score.pseudo_count)
    elif isinstance(score, BDeScore):
        prior = BDe(score.network, score.equivalent_sample_size)
    read = read_dag(graph)
    for node in read.nodes:
        if node not in table.variables:
            raise UnknownVariable.named(node, table.variables, "the data")
    usual = "bic" if isinstance(score, BIC) else "cheeseman-stutz"
    return score_incomplete(DAG(read.edges, nodes=list(table.variables)), table, method or usual, prior).value
