"""Markov chains over acyclic graphs: edges are added, deleted and reversed."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from plausible.base.arrays import Flags, Floats
from plausible.base.seeds import Seed, generator_of
from plausible.data.table import TableLike
from plausible.errors import InvalidArgument
from plausible.learn.confidence.parent_sets import posterior_scores
from plausible.learn.confidence.sampled_posterior import ChainLengths, ChainProgress, Draws, SampledPosterior
from plausible.learn.scores.score import FamilyScores, Score
from plausible.learn.structures.graph_search import GraphSearch, Kind, Move
from plausible.learn.structures.knowledge import Knowledge
from plausible.learn.structures.search_graph import Families, SearchGraph
from plausible.learn.structures.task import check_progress

__all__ = ["GraphMoves", "Neighborhood", "StructureState", "sample_structures", "structure_init", "structure_step"]

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
        num = len(self.search.names)
        self._graph, self._stale = SearchGraph(num), set(range(num))
        self._toggles = np.full((num, num), -np.inf)
        self._kept: dict[tuple[int, tuple[int, ...]], Floats] = {}

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
        named = [names[parent] for parent in parents]
        score = self._scores.family(names[child], named)
        line = np.full(len(names), -np.inf)
        if parents:
            line[list(parents)] = self._scores.reduced(names[child], named) - score
            line[known.required[:, child]] = -np.inf
        if len(parents) < known.max_parents:
            is_free = known.allowed[:, child].copy()
            is_free[list(parents)] = False
            free = np.flatnonzero(is_free)
            line[free] = self._scores.extended(names[child], named, [names[place] for place in free]) - score
        return line


class StructureState(NamedTuple):
    """Where a chain is: a graph, its log posterior up to a constant, what is around it, and the moves taken so far."""

    families: Families
    log_score: float
    neighborhood: Neighborhood
    num_accepted: int


def structure_init(moves: GraphMoves, rng: np.random.Generator) -> StructureState:
    """A random sparse graph, or that of the required edges where the random one has no score."""
    for families in (moves.search.random_state(rng), moves.search.start):
        score = moves.search.score(families)
        if score > -math.inf:
            return StructureState(families, score, moves.around(families), 0)
    raise InvalidArgument("The graph of the required edges alone has no score: a family of it is not supported.")


def structure_step(rng: np.random.Generator, state: StructureState, moves: GraphMoves) -> StructureState:
    """Propose a change of one edge in proportion to t / (1 + t), t the ratio of the posteriors; accept or stay.

    Since t / (1 + t) = t · (1/t) / (1 + 1/t), the Hastings ratio is that of the sums of the weights around the graph
    and around the one proposed. Zanella 2020, "Informed proposals for local MCMC in discrete spaces".
    """
    here = state.neighborhood
    if here.log_total == -math.inf:
        return state
    move, gain = here.draw(rng)
    families = moves.search.apply(state.families, move)
    there = moves.around(families)
    if math.log(max(rng.random(), 1e-300)) >= here.log_total - there.log_total:
        return state
    return StructureState(families, state.log_score + gain, there, state.num_accepted + 1)


def sample_structures(
    data: TableLike | FamilyScores,
    score: str | Score | None = None,
    knowledge: Knowledge | None = None,
    *,
    lengths: ChainLengths | None = None,
    seed: Seed = 0,
    progress: ChainProgress | None = None,
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
    seed
        Of all choices.
    progress
        Called with the number of draws made and of all, after each.

    Examples
    --------
    >>> rows = {"rain": ["no", "no", "yes", "yes"] * 5, "wet": ["no", "no", "yes", "yes"] * 5, "coin": [0, 1] * 10}
    >>> found = sample_structures(rows, lengths=ChainLengths(num_draws=200, num_chains=2))
    >>> round(found.strengths.strength("rain", "wet"), 1)
    1.0
    """
    check_progress(progress)
    options, scores = ChainLengths.read(lengths), posterior_scores(data, score)
    moves = GraphMoves(scores, knowledge)
    num = len(moves.search.names)
    graphs = np.zeros((options.num_chains, options.num_draws, num, num), dtype=np.bool_)
    log_scores, accepted = np.zeros(graphs.shape[:2]), 0
    for chain, rng in enumerate(generator_of(seed).spawn(options.num_chains)):
        state = structure_init(moves, rng)
        for _ in range(options.burn_in):
            state = structure_step(rng, state, moves)
        before = state.num_accepted
        for draw in range(options.num_draws):
            for _ in range(options.thin):
                state = structure_step(rng, state, moves)
            graphs[chain, draw], log_scores[chain, draw] = state.neighborhood.adjacency.T, state.log_score
            if progress is not None:
                progress(chain * options.num_draws + draw + 1, log_scores.size)
        accepted += state.num_accepted - before
    drawn = Draws(graphs, graphs.astype(np.float64), log_scores, accepted / (log_scores.size * options.thin))
    return SampledPosterior.of(moves.search.names, drawn, "graphs")
