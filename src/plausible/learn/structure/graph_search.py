"""Directed acyclic graphs as states of a search: edges are added, deleted and reversed, and families scored anew."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from plausible.graphs import DAG
from plausible.inference.search.local_search import SearchProblem
from plausible.learn.scores.score import FamilyScores
from plausible.learn.structure.ancestors import Ancestors
from plausible.learn.structure.knowledge import Knowledge

__all__ = ["Families", "GraphSearch", "Move"]

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

#: The parents of each variable, by their places, sorted.
Families: TypeAlias = tuple[tuple[int, ...], ...]


class Move(NamedTuple):
    """One change of an edge, whose ends go by their places."""

    kind: Literal["add", "delete", "reverse"]
    parent: int
    child: int


class GraphSearch(SearchProblem[Families, Move]):
    """All acyclic graphs that agree with what is known, with the sum of their families' scores.

    The gains of all moves are kept as matrices. A move changes one or two families, so that only their columns are
    made anew, each with one call for all candidates; legal moves are found by the ancestors of all variables. A step
    thus costs one or two columns and a few passes over n² numbers.

    Parameters
    ----------
    scores
        Scores of families.
    knowledge
        Required and forbidden edges, tiers, and how many parents there may be.
    """

    __slots__ = ("_additions", "_ancestors", "_deletions", "_families", "_knowledge", "_scores", "names")

    def __init__(self, scores: FamilyScores, knowledge: Knowledge | None = None) -> None:
        self.names = tuple(scores.names)
        self._scores = scores
        self._knowledge = (knowledge or Knowledge()).on(self.names)
        num = len(self.names)
        self._families: Families | None = None
        self._additions = np.empty((num, num))
        self._deletions = np.empty((num, num))
        self._ancestors = Ancestors(())

    # --- states and graphs ---

    @property
    def start(self) -> Families:
        """The graph of the required edges alone."""
        return self._knowledge.required_families

    def state(self, graph: DAG) -> Families:
        """A graph on the names of the scores as a state."""
        places: dict[Hashable, int] = {name: place for place, name in enumerate(self.names)}
        return tuple(tuple(sorted(places[parent] for parent in graph.parents(name))) for name in self.names)

    def graph(self, state: Families) -> DAG:
        """A state as a graph."""
        edges = [(self.names[p], self.names[child]) for child, parents in enumerate(state) for p in parents]
        return DAG(edges, nodes=self.names)

    # --- what a search asks ---

    def score(self, state: Families) -> float:
        """The sum of the scores of all families."""
        return float(sum(self._family(child, parents) for child, parents in enumerate(state)))

    def operators(self, state: Families) -> list[Move]:
        """All legal moves: additions, deletions, reversals, each by child and parent."""
        return [move for kind in ("add", "delete", "reverse") for move in self._moves(kind, self._gains(state, kind))]

    def deltas(self, state: Families, operators: Sequence[Move]) -> list[float]:
        """By how much each move changes the score."""
        gains = {kind: self._gains(state, kind) for kind in {move.kind for move in operators}}
        return [float(gains[move.kind][move.parent, move.child]) for move in operators]

    def best_operator(self, state: Families, recent: Sequence[Move] = ()) -> tuple[Move, float] | None:
        """The move with the largest gain that undoes no recent one."""
        best: tuple[Move, float] | None = None
        for kind in ("add", "delete", "reverse"):
            gains = self._gains(state, kind)
            for other in recent:
                for move in _undoing(other):
                    if move.kind == kind:
                        gains[move.parent, move.child] = -np.inf
            place = int(np.argmax(gains))
            parent, child = divmod(place, len(self.names)) if gains.size else (0, 0)
            if gains.size and gains[parent, child] > (-np.inf if best is None else best[1]):
                best = Move(kind, parent, child), float(gains[parent, child])
        return best

    def apply(self, state: Families, operator: Move) -> Families:
        """The graph after a legal move."""
        kind, parent, child = operator
        families = list(state)
        if kind == "add":
            families[child] = tuple(sorted((*families[child], parent)))
        else:
            families[child] = tuple(other for other in families[child] if other != parent)
        if kind == "reverse":
            families[parent] = tuple(sorted((*families[parent], child)))
        return tuple(families)

    def reverses(self, operator: Move, other: Move) -> bool:
        """Whether a move undoes another one."""
        return operator in _undoing(other)

    # --- gains ---

    def _family(self, child: int, parents: Iterable[int]) -> float:
        return self._scores.family(self.names[child], [self.names[parent] for parent in parents])

    def _gains(self, state: Families, kind: str) -> Floats:
        """By parent and child, by how much a legal move of a kind changes the score; -inf for the others."""
        self._look_at(state)
        num_parents = np.array([len(parents) for parents in state])
        is_full = num_parents >= self._knowledge.max_parents
        if kind == "add":
            legal = self._knowledge.allowed & ~self._ancestors.of & ~is_full[None, :]
            return np.where(legal, self._additions, -np.inf)
        gains = np.where(self._knowledge.required, -np.inf, self._deletions)
        if kind == "delete":
            return gains
        legal = self._knowledge.allowed.T & ~is_full[:, None] & ~self._ancestors.detours()
        return np.where(legal & (gains > -np.inf), gains + self._additions.T, -np.inf)

    def _look_at(self, state: Families) -> None:
        """Bring the matrices up to a state: only the columns of families that differ are made anew."""
        if state is self._families:
            return
        before = self._families
        for child, parents in enumerate(state):
            if before is None or before[child] != parents:
                self._renew(child, parents)
        self._ancestors = self._ancestors.moved(state)
        self._families = state

    def _renew(self, child: int, parents: tuple[int, ...]) -> None:
        """The gains of adding each other variable to a family, and of deleting each parent from it."""
        allowed = self._knowledge.allowed[:, child].copy()
        allowed[list(parents)] = False
        candidates = np.flatnonzero(allowed)
        named = [self.names[parent] for parent in parents]
        score = self._family(child, parents)
        self._additions[:, child] = self._deletions[:, child] = -np.inf
        if candidates.size:
            wanted = [self.names[candidate] for candidate in candidates.tolist()]
            self._additions[candidates, child] = self._scores.extended(self.names[child], named, wanted) - score
        if parents:
            self._deletions[list(parents), child] = self._scores.reduced(self.names[child], named) - score

    def _moves(self, kind: Literal["add", "delete", "reverse"], gains: Floats) -> list[Move]:
        children, parents = np.nonzero(-np.inf < gains.T)
        return [Move(kind, parent, child) for parent, child in zip(parents.tolist(), children.tolist(), strict=True)]


def _undoing(move: Move) -> tuple[Move, ...]:
    """The moves that would undo one."""
    kind, parent, child = move
    if kind == "add":
        return Move("delete", parent, child), Move("reverse", parent, child)
    if kind == "delete":
        return Move("add", parent, child), Move("add", child, parent)
    return Move("reverse", child, parent), Move("delete", child, parent)
