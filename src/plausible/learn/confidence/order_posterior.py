"""Averages over all graphs along a known order of the variables, in closed form."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from plausible.base.arrays import Flags, Floats, Ints
from plausible.base.records import record
from plausible.base.seeds import Seed, generator_of
from plausible.data.table import TableLike
from plausible.errors import InvalidArgument
from plausible.graphs import DAG
from plausible.learn.confidence.parent_sets import ScoredParentSets, log_sum, posterior_scores, score_parent_sets
from plausible.learn.confidence.sampled_posterior import SampledPosterior, sample_walks
from plausible.learn.confidence.weighted_graphs import EdgeStrengths
from plausible.learn.scores.score import FamilyScores, Score
from plausible.learn.structures.knowledge import Knowledge
from plausible.search.chains import ChainLengths, ChainProgress


@record(eq=False)
class OrderPosterior:
    """The posterior over the graphs along one order."""

    order: tuple[str, ...]  # The variables, parents before children
    #: log Σ exp(score) over the graphs along the order: log P(D | order), up to the prior's constant.
    log_evidence: float
    strengths: EdgeStrengths  # The probabilities of edges

    def __str__(self) -> str:
        return f"{self.strengths}\nlog evidence {self.log_evidence:.6g}, along {', '.join(self.order)}"


def order_posterior(
    data: TableLike | FamilyScores,
    order: Sequence[str],
    score: str | Score | None = None,
    knowledge: Knowledge | None = None,
) -> OrderPosterior:
    """Average over all graphs in which parents come before children.

    The choices of parents don't touch each other: P(D | ≺) = Π_v Σ_U exp score(v, U), over the sets U of at most k
    variables before v, and P(u -> v | ≺, D) is the share of the sets with u. There are 2^O(k n log n) such graphs, but
    the sums have O(n^(k+1)) terms. Friedman & Koller 2003, "Being Bayesian about network structure", §3.

    Parameters
    ----------
    data
        What `Table.read` takes, or scores of families.
    order
        All variables, parents before children.
    score
        Usually "bdeu", or "bge" for numbers.
    knowledge
        Limits the graphs; `Knowledge(max_parents=3)` makes many variables feasible.

    Examples
    --------
    >>> rows = {"rain": ["no", "no", "yes", "yes"] * 5, "wet": ["no", "no", "yes", "yes"] * 5, "coin": [0, 1] * 10}
    >>> found = order_posterior(rows, ["rain", "wet", "coin"])
    >>> round(found.strengths.edge("rain", "wet"), 3), found.strengths.edge("wet", "rain")
    (1.0, 0.0)
    """
    sets = score_parent_sets(posterior_scores(data, score), knowledge)
    if sorted(order) != list(sets.names):
        raise InvalidArgument(f"order= lists each variable once: {', '.join(sets.names)}.")
    graphs = GraphsOfOrder(sets, [sets.names.index(name) for name in order])
    if graphs.log_evidence == -np.inf:
        raise InvalidArgument("No graph along this order has a score: a required edge is against it.")
    strengths = EdgeStrengths(sets.names, graphs.edges(), None, None, "exact average given an order", is_posterior=True)
    return OrderPosterior(tuple(order), graphs.log_evidence, strengths)


class GraphsOfOrder:
    """The graphs along one order of places, and what they weigh."""

    __slots__ = ("_before", "_sets", "log_sums", "order")

    def __init__(self, sets: ScoredParentSets, order: Sequence[int], log_sums: Floats | None = None) -> None:
        self._sets, self.order = sets, tuple(order)
        self._before, seen = [0] * len(self.order), 0
        for place in self.order:
            self._before[place] = seen
            seen |= 1 << place
        self.log_sums = np.full(len(self.order), np.nan) if log_sums is None else log_sums
        for child in np.flatnonzero(np.isnan(self.log_sums)).tolist():
            self.log_sums[child] = sets.log_sum(child, self._before[child])

    @property
    def log_evidence(self) -> float:
        """log P(D | order), up to a constant."""
        return float(self.log_sums.sum())

    def swapped(self, first: int, second: int) -> GraphsOfOrder:
        """With the variables at two positions, the first one before, swapped: only those in between change."""
        order, sums = list(self.order), self.log_sums.copy()
        order[first], order[second] = order[second], order[first]
        sums[order[first : second + 1]] = np.nan
        return GraphsOfOrder(self._sets, order, sums)

    def edges(self) -> Floats:
        """By parent and child, the probability of an edge."""
        num = len(self.order)
        edges = np.zeros((num, num))
        for child in range(num):
            places, shares = self._shares(child)
            members = self._sets.members[child][places]
            counted = np.bincount(members.ravel(), np.repeat(shares, members.shape[1]), num + 1)
            edges[:, child] = np.minimum(counted[:num], 1.0)
        return edges

    def draw(self, rng: np.random.Generator) -> Flags:
        """The matrix, by parent and child, of one graph: parents are drawn for each variable on its own."""
        num = len(self.order)
        matrix = np.zeros((num, num + 1), dtype=np.bool_)
        for child in range(num):
            places, shares = self._shares(child)
            chosen = min(int(np.searchsorted(np.cumsum(shares), rng.random())), len(shares) - 1)
            matrix[child, self._sets.members[child][places[chosen]]] = True
        return matrix[:, :num].T

    def _shares(self, child: int) -> tuple[Ints, Floats]:
        places, scores = self._sets.allowed(child, self._before[child])
        return places, np.exp(scores - log_sum(scores))


#: No variable has more parents, unless knowledge says otherwise.
_USUAL_PARENTS = 3


class OrderWalk(NamedTuple):
    """Where a chain is: an order with what the graphs along it weigh, and the swaps taken so far."""

    rng: np.random.Generator
    graphs: GraphsOfOrder
    num_accepted: int = 0

    def moved(self) -> OrderWalk:
        """Propose to swap two variables, neighbours every other time; accept by the ratio of P(D | order).

        A swap is proposed as often as the one that takes it back, so that the Hastings ratio is one.
        """
        num, rng = len(self.graphs.order), self.rng
        if num < 2:
            return self
        if rng.random() < 0.5:
            first = int(rng.integers(num - 1))
            second = first + 1
        else:
            first, second = sorted(rng.choice(num, 2, replace=False).tolist())
        proposed = self.graphs.swapped(first, second)
        ratio = proposed.log_evidence - self.graphs.log_evidence
        if math.log(max(rng.random(), 1e-300)) >= ratio:
            return self
        return OrderWalk(rng, proposed, self.num_accepted + 1)

    def draw(self) -> tuple[Flags, Floats, float]:
        """A graph along the order, the probabilities of edges over all of them, and log P(D | order)."""
        edges = self.graphs.edges()
        return self.graphs.draw(self.rng), edges, self.graphs.log_evidence


def sample_orders(
    data: TableLike | FamilyScores,
    score: str | Score | None = None,
    knowledge: Knowledge | None = None,
    *,
    lengths: ChainLengths | None = None,
    seed: Seed = 0,
    progress: Callable[[ChainProgress[OrderWalk]], object] | None = None,
    time_limit: float | None = None,
) -> SampledPosterior:
    """Draw orders from P(≺ | D) and average P(f | ≺, D) over them (Friedman & Koller 2003).

    There are fewer orders than graphs, and their posterior is smoother. The graphs along an order are summed exactly;
    one graph is drawn along each, for paths and other features. All orders count the same beforehand, so that a graph
    counts as often as there are orders that agree with it: graphs with few edges are favoured, as in
    `edge_posterior(..., over="orders")`, where `over="graphs"` and `sample_structures` favour none. A step costs the
    sums over the parent sets of the variables between the two that are swapped.

    Parameters
    ----------
    data
        What `Table.read` takes, or scores of families.
    score
        Usually "bdeu", or "bge" for numbers.
    knowledge
        Limits the graphs; without it no variable has more than three parents.
    lengths
        How many chains and draws.

    Examples
    --------
    >>> rows = {"rain": ["no", "no", "yes", "yes"] * 5, "wet": ["no", "no", "yes", "yes"] * 5, "coin": [0, 1] * 10}
    >>> found = sample_orders(rows, lengths=ChainLengths(num_draws=200, num_chains=2))
    >>> round(found.strengths.strength("rain", "wet"), 1)
    1.0
    """
    options, known = ChainLengths.read(lengths), Knowledge.read(knowledge or Knowledge(max_parents=_USUAL_PARENTS))
    sets = score_parent_sets(posterior_scores(data, score), known)
    sources = generator_of(seed).spawn(options.num_chains)
    starts = [OrderWalk(rng, GraphsOfOrder(sets, _random_order(sets.names, known, rng))) for rng in sources]
    if any(walk.graphs.log_evidence == -math.inf for walk in starts):
        raise InvalidArgument("No graph along an order that agrees with the required edges has a score.")
    return sample_walks(sets.names, "orders", starts, options.steps, (progress, time_limit))


def _random_order(names: tuple[str, ...], knowledge: Knowledge, rng: np.random.Generator) -> list[int]:
    """Parents of required edges first, others at random."""
    before = DAG(knowledge.required, nodes=names)
    waiting, order = list(range(len(names))), list[int]()
    while waiting:
        placed = {names[place] for place in order}
        ready = [place for place in waiting if placed >= set(before.parents(names[place]))]
        order.append(ready[int(rng.integers(len(ready)))])
        waiting.remove(order[-1])
    return order
