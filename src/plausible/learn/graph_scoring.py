"""The score of a graph, also where cells are missing: the front door."""

from __future__ import annotations

from plausible.data.table import Table, TableLike
from plausible.errors import UnknownVariable
from plausible.graphs import DAG
from plausible.graphs.graph_input import GraphLike, read_dag
from plausible.learn.estimation.priors import K2, BDe, BDeu, Dirichlet, Prior
from plausible.learn.incomplete_scores.score import score_incomplete
from plausible.learn.scores.dirichlet import BDeScore, BDeuScore, DirichletScore, K2Score
from plausible.learn.scores.penalized import BIC
from plausible.learn.scores.reading import fitting_score, read_score
from plausible.learn.scores.score import Score

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
