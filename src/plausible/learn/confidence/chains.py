"""Averages over all graphs along an order, in closed form; Markov chains over orders, and over graphs."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from copy import copy
from functools import partial
from typing import NamedTuple

import numpy as np

from plausible.base import SMALLEST, Flags, Floats, Ints, Result, Seed, generator_of, record
from plausible.data.statistics import Request
from plausible.data.table_statistics import DataLike
from plausible.errors import InvalidArgument
from plausible.graphs import DAG
from plausible.learn.confidence.posteriors import (
    SampledPosterior,
    ScoredParentSets,
    log_sum,
    posterior_scores,
    remembered_scores,
    sample_walks,
    score_parent_sets,
    told_scores,
)
from plausible.learn.confidence.weighted_graphs import EdgeStrengths
from plausible.learn.scores.score import FamilyScores, Score
from plausible.learn.structures.graph_search import GraphSearch, Kind, Move, SearchGraph
from plausible.learn.structures.knowledge import Families, Knowledge
from plausible.search.chains import ChainLengths, ChainProgress
from plausible.search.checkpoint import AnyPath, checkpointed


@record(eq=False)
class OrderPosterior(Result):
    """The posterior over the graphs along one order."""

    order: tuple[str, ...]  # The variables, parents before children
    #: log Σ exp(score) over the graphs along the order: log P(D | order), up to the prior's constant.
    log_evidence: float
    strengths: EdgeStrengths  # The probabilities of edges

    def __str__(self) -> str:
        return f"{self.strengths}\nlog evidence {self.log_evidence:.6g}, along {', '.join(self.order)}"


def order_posterior(
    data: DataLike | FamilyScores,
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
    data, score
        As for `edge_posterior`.
    order
        All variables, parents before children.
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

    def __init__(self, sets: ScoredParentSets, order: Sequence[int], log_sums: Floats | None = None) -> None:
        self._sets, self.order = sets, tuple(order)
        self._before, seen = [0] * len(self.order), 0
        for place in self.order:
            self._before[place] = seen
            seen |= 1 << place
        self.log_sums = np.full(len(self.order), np.nan) if log_sums is None else log_sums
        for child in np.flatnonzero(np.isnan(self.log_sums)).tolist():
            self.log_sums[child] = log_sum(sets.allowed(child, self._before[child])[1])

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


_USUAL_PARENTS = 3  # No variable has more parents, unless knowledge says otherwise


class OrderWalk(NamedTuple):
    """Where a chain is: an order with what the graphs along it weigh, and the swaps taken so far."""

    rng: np.random.Generator
    graphs: GraphsOfOrder
    num_accepted: int = 0

    def moved(self) -> OrderWalk:
        """Propose to swap two variables, neighbours every other time; accept by the ratio of P(D | order)."""
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
        if math.log(max(rng.random(), SMALLEST)) >= ratio:
            return self
        return OrderWalk(rng, proposed, self.num_accepted + 1)

    def draw(self) -> tuple[Flags, Floats, float]:
        """A graph along the order, the probabilities of edges over all of them, and log P(D | order)."""
        edges = self.graphs.edges()
        return self.graphs.draw(self.rng), edges, self.graphs.log_evidence


def sample_orders(
    data: DataLike | FamilyScores,
    score: str | Score | None = None,
    knowledge: Knowledge | None = None,
    *,
    lengths: ChainLengths | None = None,
    seed: Seed = 0,
    progress: Callable[[ChainProgress[OrderWalk]], object] | None = None,
    time_limit: float | None = None,
    checkpoint: AnyPath | None = None,
) -> SampledPosterior:
    """Draw orders from P(≺ | D) and average P(f | ≺, D) over them (Friedman & Koller 2003).

    There are fewer orders than graphs, and their posterior is smoother. The graphs along an order are summed exactly;
    one graph is drawn along each, for paths and other features. All orders count the same beforehand, so that a graph
    counts as often as there are orders that agree with it: graphs with few edges are favoured, as in
    `edge_posterior(..., over="orders")`, where `over="graphs"` and `sample_structures` favour none. A step costs the
    sums over the parent sets of the variables between the two that are swapped.

    Parameters
    ----------
    data, score
        As for `edge_posterior`.
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
    scores = posterior_scores(data, score)
    asked = partial(_asked, scores, known, options, seed)
    with checkpointed(checkpoint, "learn.sample_orders", asked) as saved:
        sets = score_parent_sets(remembered_scores(scores, saved), known)
        if saved is not None:
            saved.share(sets)
        starts = [_random_order(sets, known, rng) for rng in generator_of(seed).spawn(options.num_chains)]
        if any(walk.graphs.log_evidence == -math.inf for walk in starts):
            raise InvalidArgument("No graph along an order that agrees with the required edges has a score.")
        return sample_walks(sets.names, "orders", starts, options.steps, (progress, time_limit), saved)


def _random_order(sets: ScoredParentSets, known: Knowledge, rng: np.random.Generator) -> OrderWalk:
    """Parents of required edges first, others at random."""
    before, waiting, order = DAG(known.required, nodes=sets.names), list(range(len(sets.names))), list[int]()
    while waiting:
        placed = {sets.names[place] for place in order}
        ready = [place for place in waiting if placed >= set(before.parents(sets.names[place]))]
        order.append(ready[int(rng.integers(len(ready)))])
        waiting.remove(order[-1])
    return OrderWalk(rng, GraphsOfOrder(sets, order))


def _asked(scores: FamilyScores, known: Knowledge | None, lengths: ChainLengths, seed: Seed) -> dict[str, object]:
    """All that chains depend on."""
    return {"data or score": told_scores(scores), "knowledge": known, "lengths": lengths, "seed": seed}


_MAX_KEPT = 2**22  # Lines of gains of at most so many numbers are kept, all together


class Neighborhood(NamedTuple):
    """The graphs one change away."""

    adjacency: Flags  # By child and parent, the edges of the graph itself
    #: By change (0 to add or delete an edge, 1 to reverse it), child and parent, by how much the score grows; -inf if
    #: illegal
    gains: Floats
    log_weights: Floats  # log of t / (1 + t), where t = exp(gain)
    log_total: float  # log of the sum of the weights; -inf if there is no move

    def draw(self, rng: np.random.Generator) -> tuple[Move, float]:
        """A move with a probability in proportion to its weight, and its gain."""
        cumulative = np.cumsum(np.exp(self.log_weights.ravel() - self.log_weights.max()))
        place = int(np.searchsorted(cumulative, rng.random() * cumulative[-1], side="right"))
        place = min(place, int(np.searchsorted(cumulative, cumulative[-1])))
        turn, child, parent = (int(part) for part in np.unravel_index(place, self.gains.shape))
        kind: Kind = "reverse" if turn else "delete" if self.adjacency[child, parent] else "add"
        return Move(kind, parent, child), float(self.gains[turn, child, parent])


class GraphMoves:
    """Neighbourhoods of graphs, one after the other: only the lines of families that changed are made anew."""

    def __init__(self, scores: FamilyScores, knowledge: Knowledge | None) -> None:
        self.search = GraphSearch(scores, knowledge)
        self._known = Knowledge.read(knowledge).on(self.search.names)
        self._scores = scores
        self._kept: dict[tuple[int, tuple[int, ...]], Floats] = {}
        self._forget()

    def _forget(self) -> None:
        num = len(self.search.names)
        self._graph, self._stale = SearchGraph(num), set(range(num))
        self._toggles = np.full((num, num), -np.inf)

    @property
    def shared(self) -> tuple[object, ...]:
        """What all chains have in common."""
        return self.search, self._known, self._scores, self._kept

    def beside(self) -> GraphMoves:
        """The same for another chain: it keeps its own last graph, and shares the lines that were made."""
        other = copy(self)
        other._forget()
        return other

    def around(self, state: Families) -> Neighborhood:
        """The neighbourhood of a graph; n² numbers, and the lines of the families that differ from the last one."""
        self._stale |= self._graph.look_at(state)
        for child in self._stale:
            parents = state[child]
            key = (child, parents)
            if key not in self._kept:
                if len(self._kept) * len(self._toggles) > _MAX_KEPT:
                    self._kept.clear()
                names, known = self.search.names, self._known
                is_free = known.allowed[:, child] & (len(parents) < known.max_parents)
                is_free[list(parents)] = False
                free = np.flatnonzero(is_free)
                named = (tuple(names[place] for place in places) for places in (parents, free.tolist()))
                ((score, added, removed),) = self._scores.around([Request(names[child], *named)])
                line = np.full(len(names), -np.inf)
                line[list(parents)] = removed - score
                line[known.required[:, child]] = -np.inf
                line[free] = added - score
                self._kept[key] = line
            self._toggles[child] = self._kept[key]
        self._stale.clear()
        adjacency, reaches = self._graph.adjacency, self._graph.reaches
        has_room = self._graph.num_parents < self._known.max_parents
        toggles = np.where(adjacency | (~reaches & has_room[:, None]), self._toggles, -np.inf)
        detours = adjacency.astype(np.float32) @ reaches.T.astype(np.float32) > 0  # a second way from parent to child
        can_turn = adjacency & ~detours & has_room[None, :]
        turns = np.full(toggles.shape, -np.inf)
        np.add(self._toggles, self._toggles.T, out=turns, where=can_turn)
        gains = np.stack([toggles, turns])
        log_weights = -np.logaddexp(0.0, -gains)
        return Neighborhood(adjacency.copy(), gains, log_weights, log_sum(log_weights))


class StructureWalk(NamedTuple):
    """Where a chain is: a graph, its log posterior up to a constant, what is around it, and the moves taken so far."""

    rng: np.random.Generator
    moves: GraphMoves
    families: Families
    log_score: float
    neighborhood: Neighborhood
    num_accepted: int = 0

    @classmethod
    def begun(cls, moves: GraphMoves, rng: np.random.Generator) -> StructureWalk:
        """At a random sparse graph, or that of the required edges where the random one has no score."""
        for families in (moves.search.random_state(rng), moves.search.start):
            score = moves.search.score(families)
            if score > -math.inf:
                return cls(rng, moves, families, score, moves.around(families))
        raise InvalidArgument("The graph of the required edges alone has no score: a family of it is not supported.")

    def moved(self) -> StructureWalk:
        """Propose a change of one edge in proportion to t / (1 + t), t the ratio of the posteriors; accept or stay.

        Since t / (1 + t) = t · (1/t) / (1 + 1/t), the Hastings ratio is that of the sums of the weights around the
        graph and around the one proposed. Zanella 2020, "Informed proposals for local MCMC in discrete spaces".
        """
        here = self.neighborhood
        if here.log_total == -math.inf:
            return self
        move, gain = here.draw(self.rng)
        families = self.moves.search.apply(self.families, move)
        there = self.moves.around(families)
        if math.log(max(self.rng.random(), SMALLEST)) >= here.log_total - there.log_total:
            return self
        score = self.log_score + gain
        return StructureWalk(self.rng, self.moves, families, score, there, self.num_accepted + 1)

    def draw(self) -> tuple[Flags, Floats, float]:
        """The graph, by parent and child, and its score."""
        matrix = self.neighborhood.adjacency.T
        return matrix, matrix.astype(np.float64), self.log_score


def sample_structures(
    data: DataLike | FamilyScores,
    score: str | Score | None = None,
    knowledge: Knowledge | None = None,
    *,
    lengths: ChainLengths | None = None,
    seed: Seed = 0,
    progress: Callable[[ChainProgress[StructureWalk]], object] | None = None,
    time_limit: float | None = None,
    checkpoint: AnyPath | None = None,
) -> SampledPosterior:
    """Draw graphs from P(G | D) ∝ exp(score of G) by Markov chains over graphs (Madigan & York 1995).

    Each step adds, deletes or reverses an edge; promising changes are proposed more often, and the Hastings ratio makes
    up for it. The space is huge and good graphs may be islands far from each other: compare chains by R-hat, or sample
    orders, which mix better. A step costs the scores of one or two families and O(n²). Arguments are those of
    `edge_posterior`; `lengths` says how many chains and draws there are.

    >>> rows = {"rain": ["no", "no", "yes", "yes"] * 5, "wet": ["no", "no", "yes", "yes"] * 5, "coin": [0, 1] * 10}
    >>> found = sample_structures(rows, lengths=ChainLengths(num_draws=200, num_chains=2))
    >>> round(found.strengths.strength("rain", "wet"), 1)
    1.0
    """
    options, scores = ChainLengths.read(lengths), posterior_scores(data, score)
    asked = partial(_asked, scores, knowledge, options, seed)
    with checkpointed(checkpoint, "learn.sample_structures", asked) as saved:
        moves = GraphMoves(remembered_scores(scores, saved), knowledge)
        if saved is not None:
            saved.share(*moves.shared)
        starts = [StructureWalk.begun(moves.beside(), rng) for rng in generator_of(seed).spawn(options.num_chains)]
        return sample_walks(moves.search.names, "graphs", starts, options.steps, (progress, time_limit), saved)
