"""Directed acyclic graphs as states of a search: edges are added, deleted and reversed, and families scored anew."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from plausible.base import SCORE_NOISE, Flags, Floats, Ints
from plausible.data.statistics import Request
from plausible.errors import InvalidArgument, UnknownVariable
from plausible.graphs import DAG
from plausible.kernels.graph_moves import best_additions, edge_gains, find_descendants
from plausible.learn.scores.score import FamilyScores
from plausible.learn.structures.knowledge import Families, Knowledge
from plausible.search.search_problem import SearchProblem

Kind: TypeAlias = Literal["add", "delete", "reverse"]

_MAX_KEPT = 2**24  # Lines of gains of at most so many numbers are kept, all together
#: Where each pass over the data takes long, it also scores what the next moves are likely to ask for: so many families.
_AHEAD = 8
_FEW = 2  # Up to so many moves are scored one by one, without looking at all others of their families


class SearchGraph:
    """Parents, edges and paths of the state that was looked at last."""

    def __init__(self, num: int) -> None:
        self._families: Families = ((),) * num
        self.parents: Ints = np.zeros((num, 1), dtype=np.int64)
        self.num_parents: Ints = np.zeros(num, dtype=np.int64)
        self.adjacency: Flags = np.zeros((num, num), dtype=np.bool_)
        self.reaches: Flags = np.zeros((num, num), dtype=np.bool_)

    def look_at(self, state: Families) -> set[int]:
        """Follow the search to a state; the children whose parents differ from before."""
        if state is self._families:
            return set()

        changed = {child for child, (old, new) in enumerate(zip(self._families, state, strict=True)) if old != new}
        width = max((len(state[child]) for child in changed), default=0)
        if width > self.parents.shape[1]:
            self.parents = np.pad(self.parents, ((0, 0), (0, width - self.parents.shape[1])))
        for child in changed:
            places = list(state[child])
            self.parents[child, : len(places)] = places
            self.num_parents[child] = len(places)
            self.adjacency[child] = False
            self.adjacency[child, places] = True
        if changed:
            find_descendants(self.parents, self.num_parents, self.reaches)
        self._families = state
        return changed


class Move(NamedTuple):
    """One change of an edge, whose ends go by their places."""

    kind: Kind
    parent: int
    child: int


class GraphSearch(SearchProblem[Families, Move]):
    """All acyclic graphs that agree with what is known, with the sum of their families' scores.

    The gains of all moves are kept as matrices. A move changes one or two families, so that only their lines are made
    anew, each with one call for all candidates, and remembered. A step costs these lines and one pass over n² numbers.
    Places go by sorted names, and of moves with equal gains the first is taken: additions before deletions before
    reversals, then by child, then by parent. The order of the columns of the data has no say.
    """

    def __init__(
        self, scores: FamilyScores, knowledge: Knowledge | None = None, *, only_additions: bool = False
    ) -> None:
        self._listed = tuple(scores.names)
        self.names = tuple(sorted(self._listed))
        self._scores, self._only_additions = scores, only_additions
        self._knowledge = Knowledge.read(knowledge).on(self.names)
        self.start = self._knowledge.required_families  # the graph of the required edges alone
        num = len(self.names)
        self._graph = SearchGraph(num)
        self._additions, self._deletions = np.full((num, num), -np.inf), np.full((num, 1), -np.inf)
        self._stale = set(range(num))
        self._kept: dict[tuple[int, tuple[int, ...]], tuple[Floats, Floats]] = {}
        self._slack = -1.0

    def state(self, graph: DAG) -> Families:
        """A graph on the names of the scores as a state; it must agree with what is known."""
        places: dict[Hashable, int] = {name: place for place, name in enumerate(self.names)}
        for node in graph.nodes:
            if node not in places:
                raise UnknownVariable.named(node, self.names, "the data, though the graph has it")
        families, most = [], self._knowledge.max_parents
        for child, (name, required) in enumerate(zip(self.names, self.start, strict=True)):
            parents = sorted(places[parent] for parent in graph.parents(name)) if name in graph else []
            missing = set(required) - set(parents)
            if missing:
                raise InvalidArgument(f"The graph lacks the required edge {self.names[min(missing)]} -> {name}.")
            for parent in parents:
                if not self._knowledge.allowed[parent, child]:
                    raise InvalidArgument(f"The graph has the edge {self.names[parent]} -> {name}, which is forbidden.")
            if len(parents) > most:
                raise InvalidArgument(f"The graph gives {name!r} {len(parents)} parents; max_parents={most}.")
            families.append(tuple(parents))
        return tuple(families)

    def graph(self, state: Families) -> DAG:
        """A state as a graph, its nodes in the order of the data."""
        edges = [(self.names[p], self.names[child]) for child, parents in enumerate(state) for p in parents]
        return DAG(edges, nodes=self._listed)

    def random_state(self, rng: np.random.Generator) -> Families:
        """A sparse graph along a random order that agrees with what is known: up to two more parents for each."""
        order: list[int] = []
        waiting = [len(parents) for parents in self.start]
        ready = [node for node, count in enumerate(waiting) if not count]
        while ready:
            order.append(ready.pop(int(rng.integers(len(ready)))))
            for child, parents in enumerate(self.start):
                if order[-1] in parents:
                    waiting[child] -= 1
                    if not waiting[child]:
                        ready.append(child)
        families: list[tuple[int, ...]] = []
        rank = np.argsort(order)
        for child, required in enumerate(self.start):
            allowed = self._knowledge.allowed[:, child] & (rank < rank[child]) & ~self._knowledge.required[:, child]
            candidates = np.flatnonzero(allowed)
            most = min(int(rng.integers(3)), candidates.size, self._knowledge.max_parents - len(required))
            families.append(tuple(sorted((*required, *rng.choice(candidates, most, replace=False).tolist()))))
        return tuple(families)

    def score(self, state: Families) -> float:
        named = [(self.names[child], [self.names[p] for p in parents]) for child, parents in enumerate(state)]
        return float(sum(self._scores.families(named).tolist()))

    def operators(self, state: Families) -> list[Move]:
        """All legal moves: additions, deletions, reversals, each by child and parent."""
        self._stale |= self._graph.look_at(state)
        is_full = self._graph.num_parents >= self._knowledge.max_parents
        can_add = self._knowledge.allowed.T & ~self._graph.adjacency & ~self._graph.reaches & ~is_full[:, None]
        edges = [Move("delete", parent, child) for child, parents in enumerate(state) for parent in parents]
        return [
            *(Move("add", parent, child) for child, parent in np.argwhere(can_add).tolist()),
            *(move for move in edges if self.is_legal(state, move)),
            *(turn for turn in (Move("reverse", *move[1:]) for move in edges) if self.is_legal(state, turn)),
        ]

    def is_legal(self, state: Families, move: Move) -> bool:
        """Whether a move leads to an acyclic graph that agrees with what is known."""
        self._stale |= self._graph.look_at(state)
        kind, parent, child = move
        known, has_edge = self._knowledge, parent in state[child]
        if kind == "add":
            is_free = not has_edge and len(state[child]) < known.max_parents
            return bool(is_free and known.allowed[parent, child] and not self._graph.reaches[child, parent])
        if self._only_additions or not has_edge or known.required[parent, child]:
            return False
        if kind == "delete":
            return True
        has_detour = self._graph.reaches[parent, list(state[child])].any()
        return self.can_turn(parent, child, len(state[parent])) and not has_detour

    def can_turn(self, parent: int, child: int, num_parents: int) -> bool:
        """Whether what is known lets an edge be turned round, whose parent has so many parents; cycles apart."""
        known = self._knowledge
        is_fixed = self._only_additions or known.required[parent, child]
        return bool(not is_fixed and known.allowed[child, parent] and num_parents < known.max_parents)

    def deltas(self, state: Families, operators: Sequence[Move]) -> list[float]:
        if len(operators) <= _FEW:
            gains = self._gains(state, operators)
        else:
            self._renew(state)
            gains = [self._looked_up(state, move) for move in operators]
        return [-math.inf if math.isnan(one) else one for one in gains]  # from one graph without a score to another

    def best_operator(self, state: Families, recent: Sequence[Move] = ()) -> tuple[Move, float] | None:
        """The first of the moves with the largest gain that undo no recent one."""
        self._renew(state)
        if self._slack < 0:
            self._slack = SCORE_NOISE * max(1.0, abs(self.score(state)))
        blocked = [place for move in recent for place in self._undoing(state, move)]
        before = [matrix[place] for matrix, place in blocked]
        for matrix, place in blocked:
            matrix[place] = -np.inf
        graph, added, found = self._graph, np.empty(len(self.names)), None
        best_additions(self._additions, graph.reaches, graph.num_parents, self._knowledge.max_parents, added)
        of_edges = edge_gains(self._additions, self._deletions, graph.parents, graph.num_parents, graph.reaches)
        top_added = added.max(initial=-np.inf)
        top = max(top_added, of_edges.max(initial=-np.inf))
        least = top - self._slack
        if top > -np.inf and top_added >= least:
            child = int(np.argmax(added >= least))
            parent = int(np.argmax((self._additions[child] >= least) & ~graph.reaches[child]))
            found = Move("add", parent, child), float(self._additions[child, parent])
        elif top > -np.inf:
            turned, child, slot = (int(number) for number in np.argwhere(of_edges >= least)[0])
            move = Move("reverse" if turned else "delete", state[child][slot], child)
            found = move, float(of_edges[turned, child, slot])
        for (matrix, place), value in zip(reversed(blocked), reversed(before), strict=True):
            matrix[place] = value
        return found

    def apply(self, state: Families, operator: Move) -> Families:
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
        kind, parent, child = other
        if kind == "add":
            return operator in (Move("delete", parent, child), Move("reverse", parent, child))
        if kind == "delete":
            return operator in (Move("add", parent, child), Move("add", child, parent))
        return operator in (Move("reverse", child, parent), Move("delete", child, parent))

    def propose(self, state: Families, rng: np.random.Generator) -> Move | None:
        num = len(self.names)
        for _ in range(10 * num):
            kind: Kind = ("add", "delete", "reverse")[int(rng.integers(3))]
            move = Move(kind, int(rng.integers(num)), int(rng.integers(num)))
            if self.is_legal(state, move):
                return move
        return super().propose(state, rng)

    def _gains(self, state: Families, moves: Sequence[Move]) -> list[float]:
        """Those of a few moves: by the lines that there are, all others by families that are scored together."""
        changes = [_changes(move) for move in moves]
        unknown = [pair for pairs in changes for pair in pairs if (pair[0], state[pair[0]]) not in self._kept]
        named = []
        for child, other in unknown:
            parents = state[child]
            after = [p for p in parents if p != other] if other in parents else sorted((*parents, other))
            named += [(self.names[child], [self.names[p] for p in family]) for family in (after, parents)]
        scores = iter(self._scores.families(named).tolist())
        gains = {pair: next(scores) - next(scores) for pair in unknown}
        gains |= {pair: self._kept_gain(state, *pair) for pairs in changes for pair in pairs if pair not in gains}
        return [sum(gains[pair] for pair in pairs) for pairs in changes]

    def _kept_gain(self, state: Families, child: int, other: int) -> float:
        """What it gains to add a parent, or to take it away, where the line of the family is known."""
        additions, deletions = self._kept[child, state[child]]
        return float(deletions[state[child].index(other)] if other in state[child] else additions[other])

    def _looked_up(self, state: Families, move: Move) -> float:
        kind, parent, child = move
        if kind == "add":
            return float(self._additions[child, parent])
        gain = float(self._deletions[child, state[child].index(parent)])
        return gain if kind == "delete" else gain + float(self._additions[parent, child])

    def _undoing(self, state: Families, move: Move) -> list[tuple[Floats, tuple[int, int]]]:
        """Where the gains are of moves that would undo one; a reversal's is a sum with a deletion's."""
        kind, parent, child = move
        if kind == "delete":
            return [(self._additions, (child, parent)), (self._additions, (parent, child))]
        head, tail = (child, parent) if kind == "add" else (parent, child)
        return [(self._deletions, (head, state[head].index(tail)))] if tail in state[head] else []

    def _renew(self, state: Families) -> None:
        """Bring the matrices up to a state: only the lines of families that differ are made anew.

        A line has the gains of adding each other variable to a family, and of deleting each parent; -inf if illegal.
        All new ones are scored together, so that a step asks for counts once.
        """
        self._stale |= self._graph.look_at(state)
        more = self._graph.parents.shape[1] - self._deletions.shape[1]
        if more > 0:
            self._deletions = np.pad(self._deletions, ((0, 0), (0, more)), constant_values=-np.inf)
        new = [(child, state[child]) for child in self._stale if (child, state[child]) not in self._kept]
        if (len(self._kept) + len(new)) * len(self.names) > _MAX_KEPT:
            self._kept.clear()
            new = [(child, state[child]) for child in self._stale]
        if new and self._scores.are_dear:
            new += self._likely(state)
        self._score_lines(new)
        for child in self._stale:
            self._additions[child], deletions = self._kept[child, state[child]]
            self._deletions[child, : deletions.size] = deletions
        self._stale.clear()

    def _likely(self, state: Families) -> list[tuple[int, tuple[int, ...]]]:
        """The families that the next moves lead to if they are the best of those that are known now."""
        graph, families = self._graph, list[tuple[int, tuple[int, ...]]]()
        gains = np.where(graph.reaches | graph.adjacency, -np.inf, self._additions)
        gains[list(self._stale)] = -np.inf
        gains[graph.num_parents >= self._knowledge.max_parents] = -np.inf
        for place in np.argsort(-gains, axis=None, kind="stable")[: 4 * _AHEAD].tolist():
            child, parent = divmod(place, len(self.names))
            family = child, tuple(sorted((*state[child], parent)))
            if gains[child, parent] > -np.inf and family not in self._kept and len(families) < _AHEAD:
                families.append(family)
        return families

    def _score_lines(self, families: Sequence[tuple[int, tuple[int, ...]]]) -> None:
        """What it gains to add each other variable to families, and to take each parent away; -inf if illegal."""
        known, candidates, requests = self._knowledge, [], []
        for child, parents in families:
            allowed = known.allowed[:, child] & (len(parents) < known.max_parents)
            allowed[list(parents)] = False
            candidates.append(np.flatnonzero(allowed))
            named = (tuple(self.names[place] for place in places) for places in (parents, candidates[-1].tolist()))
            requests.append(Request(self.names[child], *named))
        around = self._scores.around(requests) if requests else ()
        for (child, parents), free, (score, added, removed) in zip(families, candidates, around, strict=True):
            additions = np.full(len(self.names), -np.inf)
            additions[free] = _gained(added, score)
            fixed = known.required[list(parents), child] | self._only_additions
            self._kept[child, parents] = (additions, np.where(fixed, -np.inf, _gained(removed, score)))


def _changes(move: Move) -> list[tuple[int, int]]:
    """The children whose parents a move changes, and the parent that comes or goes."""
    own = [(move.child, move.parent)]
    return [*own, (move.parent, move.child)] if move.kind == "reverse" else own


def _gained(after: Floats, before: float) -> Floats:
    """By how much scores changed; nothing from -inf to -inf."""
    return np.subtract(after, before, out=np.zeros(len(after)), where=after != before)
