"""All changes of one edge of a graph, weighted by what they gain."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from plausible.base.arrays import Flags, Floats
from plausible.learn.scores.score import FamilyScores
from plausible.learn.structures.graph_search import GraphSearch, Kind, Move
from plausible.learn.structures.knowledge import Knowledge
from plausible.learn.structures.search_graph import Families, SearchGraph

__all__ = ["GraphMoves", "Neighborhood"]


#: Lines of gains of at most so many numbers are kept, all together.
_MAX_KEPT = 2**22


class Neighborhood(NamedTuple):
    """The graphs one change away.

    Attributes
    ----------
    adjacency
        By child and parent, the edges of the graph itself.
    gains
        By change (0 to add or delete an edge, 1 to reverse it), child and parent, by how much the score grows; -inf if
        illegal.
    log_weights
        log of t / (1 + t), where t = exp(gain).
    log_total
        log of the sum of the weights; -inf if there is no move.
    """

    adjacency: Flags
    gains: Floats
    log_weights: Floats
    log_total: float

    def draw(self, rng: np.random.Generator) -> tuple[Move, float]:
        """A move with a probability in proportion to its weight, and its gain."""
        cumulative = np.cumsum(np.exp(self.log_weights.ravel() - self.log_weights.max()))
        place = int(np.searchsorted(cumulative, rng.random() * cumulative[-1], side="right"))
        place = min(place, int(np.searchsorted(cumulative, cumulative[-1])))
        turn, child, parent = (int(part) for part in np.unravel_index(place, self.gains.shape))
        kind: Kind = "reverse" if turn else "delete" if self.adjacency[child, parent] else "add"
        return Move(kind, parent, child), float(self.gains[turn, child, parent])


class GraphMoves:
    """Neighbourhoods of graphs, one after the other: only the lines of families that changed are made anew.

    Parameters
    ----------
    scores
        Scores of families.
    knowledge
        Required and forbidden edges, tiers, and how many parents there may be.
    """

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
