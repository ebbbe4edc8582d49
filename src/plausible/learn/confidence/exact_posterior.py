"""Exact posteriors over graphs of few variables."""

from __future__ import annotations

from itertools import combinations
from typing import Literal

import numpy as np

from plausible.base.arrays import Flags
from plausible.base.records import record
from plausible.data.table import TableLike
from plausible.errors import InvalidArgument, TooLarge
from plausible.learn.confidence.edge_strengths import EdgeStrengths
from plausible.learn.confidence.graph_sums import edges_over_graphs
from plausible.learn.confidence.order_sums import edges_over_orders, sums_within
from plausible.learn.confidence.parent_sets import log_sum, posterior_scores, score_parent_sets
from plausible.learn.confidence.weighted_graphs import WeightedGraphs, closures
from plausible.learn.scores.score import FamilyScores, Score
from plausible.learn.structures.knowledge import Knowledge

__all__ = ["ExactPosterior", "edge_posterior", "enumerate_posterior"]

#: Over -> the most variables: four times, or twice, the work for each more.
_MOST = {"graphs": 12, "orders": 18}
_MOST_ENUMERATED = 5


@record(eq=False)
class ExactPosterior:
    """Exact probabilities of edges.

    Attributes
    ----------
    strengths
        The probabilities of edges.
    log_evidence
        log of the sum of exp(score) over all graphs, or of P(D | order) over all orders.
    over
        "graphs" or "orders".
    """

    strengths: EdgeStrengths
    log_evidence: float
    over: str

    def __str__(self) -> str:
        return f"{self.strengths}\nlog evidence {self.log_evidence:.6g}"


def edge_posterior(
    data: TableLike | FamilyScores,
    score: str | Score | None = None,
    knowledge: Knowledge | None = None,
    *,
    over: Literal["graphs", "orders"] = "graphs",
) -> ExactPosterior:
    """P(u -> v | D) = Σ P(G | D) over all graphs with the edge, exactly; P(G | D) ∝ exp(score of G).

    Over "graphs", each counts once, as its score says: up to 12 variables, O(4^n). Over "orders" each counts as often
    as there are orders that agree with it, which favours graphs with few edges and is a different prior; that is what
    chains over orders sample: up to 18 variables, O(n² 2^n).

    Parameters
    ----------
    data
        What `Table.read` takes, or scores of families.
    score
        Usually "bdeu", or "bge" for numbers; add a structure prior with `WithPrior`.
    knowledge
        Limits the graphs.
    over
        "graphs" or "orders".

    Examples
    --------
    >>> rows = {"rain": ["no", "no", "yes", "yes"] * 5, "wet": ["no", "no", "yes", "yes"] * 5, "coin": [0, 1] * 10}
    >>> found = edge_posterior(rows)
    >>> round(found.strengths.strength("rain", "wet"), 3), round(found.strengths.direction("rain", "wet"), 3)
    (1.0, 0.5)
    """
    if over not in _MOST:
        raise InvalidArgument(f"over= is 'graphs' or 'orders', not {over!r}.")
    scores = posterior_scores(data, score)
    if len(scores.names) > _MOST[over]:
        raise TooLarge(
            f"There are {len(scores.names)} variables; exact sums over {over} take {_MOST[over]} at most. Sample: "
            "sample_orders or sample_structures."
        )
    sets = score_parent_sets(scores, knowledge)
    total, edges = (edges_over_graphs if over == "graphs" else edges_over_orders)(sums_within(sets))
    _refuse_none(total)
    strengths = EdgeStrengths(sets.names, edges, None, None, f"exact sum over all {over}", is_posterior=True)
    return ExactPosterior(strengths, total, over)


def enumerate_posterior(
    data: TableLike | FamilyScores, score: str | Score | None = None, knowledge: Knowledge | None = None
) -> WeightedGraphs:
    """All acyclic graphs on up to five variables (29281), weighted by exp(score): the posterior of any feature.

    Parameters
    ----------
    data
        What `Table.read` takes, or scores of families.
    score
        Usually "bdeu", or "bge" for numbers.
    knowledge
        Limits the graphs.

    Examples
    --------
    >>> rows = {"rain": ["no", "no", "yes", "yes"] * 5, "wet": ["no", "no", "yes", "yes"] * 5, "coin": [0, 1] * 10}
    >>> graphs = enumerate_posterior(rows)
    >>> len(graphs), round(graphs.strengths().blanket("rain", "wet"), 3)
    (25, 1.0)
    """
    scores = posterior_scores(data, score)
    num = len(scores.names)
    if num > _MOST_ENUMERATED:
        raise TooLarge(
            f"There are {num} variables; enumeration takes {_MOST_ENUMERATED} at most. For edges ask edge_posterior, "
            "for other features sample_structures."
        )
    sets = score_parent_sets(scores, knowledge)
    adjacency = _all_graphs(num)
    logs = np.zeros(len(adjacency))
    for child in range(num):
        by_mask = np.full(1 << num, -np.inf)
        by_mask[sets.masks[child]] = sets.scores[child]
        logs += by_mask[adjacency[:, :, child] @ (1 << np.arange(num))]
    total = log_sum(logs)
    _refuse_none(total)
    live = logs > -np.inf
    return WeightedGraphs(sets.names, adjacency[live], np.exp(logs[live] - total), "all graphs", is_posterior=True)


def _all_graphs(num: int) -> Flags:
    """All acyclic graphs: each pair of variables without an edge, or with one in either direction."""
    pairs = list(combinations(range(num), 2))
    choices = np.arange(3 ** len(pairs))
    adjacency = np.zeros((len(choices), num, num), dtype=np.bool_)
    for place, (first, second) in enumerate(pairs):
        digit = choices // 3**place % 3
        adjacency[:, first, second], adjacency[:, second, first] = digit == 1, digit == 2
    is_cyclic = closures(adjacency).diagonal(axis1=1, axis2=2).any(axis=1)
    return adjacency[~is_cyclic]


def _refuse_none(total: float) -> None:
    if total == -np.inf:
        raise InvalidArgument("No graph that agrees with what is known has a score.")
