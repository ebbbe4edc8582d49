"""Markov chains over acyclic graphs: edges are added, deleted and reversed."""

from __future__ import annotations

import math
from collections.abc import Callable
from copy import copy
from typing import NamedTuple

import numpy as np

from plausible.base.arrays import Flags, Floats
from plausible.base.seeds import Seed, generator_of
from plausible.data.statistics import Request
from plausible.data.table import TableLike
from plausible.errors import InvalidArgument
from plausible.learn.confidence.parent_sets import posterior_scores
from plausible.learn.confidence.sampled_posterior import SampledPosterior, sample_walks
from plausible.learn.scores.score import FamilyScores, Score
from plausible.learn.structures.graph_search import Families, GraphSearch, Kind, Move, SearchGraph
from plausible.learn.structures.knowledge import Knowledge
from plausible.search.chains import ChainLengths, ChainProgress

#: Lines of gains of at most so many numbers are kept, all together.
_MAX_KEPT = 2**22


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

    __slots__ = ("_graph", "_kept", "_known", "_scores", "_stale", "_toggles", "search")

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

    def beside(self) -> GraphMoves:
        """The same for another chain: it keeps its own last graph, and shares the lines that were made."""
        other = copy(self)
        other._forget()
        return other

    def around(self, state: Families) -> Neighborhood:
        """The neighbourhood of a graph; n² numbers, and the lines of the families that differ from the last one."""
        self._stale |= self._graph.look_at(state)
        for child in self._stale:
            self._toggles[child] = self._line(child, state[child])
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
        top = log_weights.max(initial=-np.inf)
        total = top if top == -np.inf else top + float(np.log(np.exp(log_weights - top).sum()))
        return Neighborhood(adjacency.copy(), gains, log_weights, float(total))

    def _line(self, child: int, parents: tuple[int, ...]) -> Floats:
        """For each other variable, the gain of making it a parent, or no parent, of a child."""
        key = (child, parents)
        if key not in self._kept:
            if len(self._kept) * len(self._toggles) > _MAX_KEPT:
                self._kept.clear()
            self._kept[key] = self._new_line(child, parents)
        return self._kept[key]

    def _new_line(self, child: int, parents: tuple[int, ...]) -> Floats:
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
        return line


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
        if math.log(max(self.rng.random(), 1e-300)) >= here.log_total - there.log_total:
            return self
        score = self.log_score + gain
        return StructureWalk(self.rng, self.moves, families, score, there, self.num_accepted + 1)

    def draw(self) -> tuple[Flags, Floats, float]:
        """The graph, by parent and child, and its score."""
        matrix = self.neighborhood.adjacency.T
        return matrix, matrix.astype(np.float64), self.log_score


def sample_structures(
    data: TableLike | FamilyScores,
    score: str | Score | None = None,
    knowledge: Knowledge | None = None,
    *,
    lengths: ChainLengths | None = None,
    seed: Seed = 0,
    progress: Callable[[ChainProgress[StructureWalk]], object] | None = None,
    time_limit: float | None = None,
) -> SampledPosterior:
    """Draw graphs from P(G | D) ∝ exp(score of G) by Markov chains over graphs (Madigan & York 1995).

    Each step adds, deletes or reverses an edge; promising changes are proposed more often, and the Hastings ratio makes
    up for it. The space is huge and good graphs may be islands far from each other: compare chains by R-hat, or sample
    orders, which mix better. A step costs the scores of one or two families and O(n²).

    Parameters
    ----------
    data
        What `Table.read` takes, or scores of families.
    score
        Usually "bdeu", or "bge" for numbers; add a structure prior with `WithPrior`.
    knowledge
        Limits the graphs.
    lengths
        How many chains and draws.

    Examples
    --------
    >>> rows = {"rain": ["no", "no", "yes", "yes"] * 5, "wet": ["no", "no", "yes", "yes"] * 5, "coin": [0, 1] * 10}
    >>> found = sample_structures(rows, lengths=ChainLengths(num_draws=200, num_chains=2))
    >>> round(found.strengths.strength("rain", "wet"), 1)
    1.0
    """
    options, moves = ChainLengths.read(lengths), GraphMoves(posterior_scores(data, score), knowledge)
    starts = [StructureWalk.begun(moves.beside(), rng) for rng in generator_of(seed).spawn(options.num_chains)]
    return sample_walks(moves.search.names, "graphs", starts, options.steps, (progress, time_limit))
