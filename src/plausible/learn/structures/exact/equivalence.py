"""Greedy equivalence search: steepest ascent over classes of graphs that data can't tell apart, and their moves."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Literal, NamedTuple

import numpy as np

from plausible.base.tolerances import score_noise, without_noise
from plausible.data.statistics import Request
from plausible.errors import NotSupported
from plausible.graphs import DAG, PDAG
from plausible.graphs.equivalence import consistent_extension, essential_graph
from plausible.graphs.mark_masks import bits
from plausible.graphs.marks import Edge
from plausible.learn.scores.score import FamilyScores
from plausible.learn.structures.knowledge import Constraints, FoundGraph, Knowledge, found_graph
from plausible.search.run import Clock, Run
from plausible.search.search_problem import improves

_BASES_AT_ONCE = 64  # Families with so many sets of parents are scored between two looks at the clock


def search_classes(
    scores: FamilyScores,
    knowledge: Knowledge | None = None,
    *,
    start: DAG | None = None,
    time_limit: float | None = None,
    progress: Callable[[int, float], object] | None = None,
) -> FoundGraph:
    """Greedy equivalence search (GES): insert edges as long as the score improves, then delete them.

    Each step takes the best operator over all graphs of the class; the two phases are repeated until neither improves.
    With enough data from a distribution that is faithful to some graph, and a score that is consistent and score
    equivalent such as BIC or BDeu, the result is the class of that graph. A step scores only families that no step
    before it has met; the number of operators grows with the cliques among neighbours. A step is taken only if the
    score of a graph of the new class is truly larger: so a search ends, even with a score that is not score equivalent.
    Chickering (2002), Optimal structure identification with greedy search, JMLR 3; Meek (1997), Graphical models:
    selecting causal and statistical models, PhD thesis, Carnegie Mellon University.

    Parameters
    ----------
    scores
        Of families, by a score-equivalent score.
    knowledge
        How many parents there may be, and pairs with both directions forbidden. What tells directions apart is refused:
        a class has no directions of its own.
    start
        The search starts at its class; by default at that of the graph without edges.
    progress
        Told the steps made and the score; an answer that is true stops the search.

    Examples
    --------
    >>> class Chain(FamilyScores):
    ...     names = ("A", "B", "C")
    ...     def family(self, child, parents):
    ...         parents = set(parents)
    ...         return self.fit(parents | {child}) - self.fit(parents) - 0.1 * len(parents)
    ...     def fit(self, names): return len(names) - 1.0 if "B" in names else 0.5 * (len(names) == 2)
    >>> search_classes(Chain()).equivalence_class
    PDAG('A - B; B - C')
    """
    clock, names = Clock.of(time_limit), sorted(scores.names)
    search = ClassSearch(scores, names, class_constraints(Knowledge.read(knowledge), names), clock)
    search.start(start or DAG(nodes=names))
    kind: Literal["insert", "delete"] = "insert"
    phases_without_gain, stopped = 0, "local maximum"
    try:
        while phases_without_gain < 2 and stopped == "local maximum":
            before = search.num_steps
            while stopped == "local maximum" and search.improve(kind):
                if progress is not None and progress(search.num_steps, search.score):
                    stopped = "interrupted"
            phases_without_gain = 0 if search.num_steps > before else phases_without_gain + 1
            kind = "delete" if kind == "insert" else "insert"
    except TimeIsUp:
        stopped = "time limit"
    families = [[names.index(str(p)) for p in search.graph.parents(name)] for name in names]
    run = Run(families, search.num_steps, stopped, seconds=clock.seconds)
    return found_graph(scores, search.constraints, families, run, math.inf)


class TimeIsUp(Exception):
    """The deadline passed while moves were scored."""


class ClassSearch:
    """Where a search is, with the gains of the moves at each variable, kept as long as nothing around it changes."""

    def __init__(
        self,
        scores: FamilyScores,
        names: list[str],
        constraints: Constraints,
        clock: Clock,
        class_of: Callable[[DAG], PDAG] = essential_graph,
    ) -> None:
        self._class_of = class_of
        self._scores, self._names, self.constraints, self._clock = scores, names, constraints, clock
        self._allowed = [sum(1 << int(v) for v in np.flatnonzero(column)) for column in constraints.allowed.T]
        self._changes: dict[tuple[int, int, int], float] = {}
        self._moves: dict[tuple[str, int], tuple[tuple[int, ...], list[tuple[float, ClassMove]]]] = {}
        self.num_steps, self.score = 0, -math.inf
        self.graph: DAG
        self.essential: ClassGraph

    def start(self, graph: DAG) -> None:
        """Begin at the class of a graph."""
        self.essential = ClassGraph.of(self._class_of(graph), self._names)
        self.graph, self.score = self.essential.member(), self._scores.graph(graph)

    def improve(self, kind: Literal["insert", "delete"]) -> bool:
        """Go to the class that the best valid move of a kind leads to; whether there was one."""
        found = [entry for y in range(len(self._names)) for entry in self._gains(kind, y)]
        gains = without_noise(np.array([gain for gain, _ in found], dtype=np.float64), score_noise(self.score))
        for _, move in sorted(zip((-gains).tolist(), (move for _, move in found), strict=True)):
            self.look_at_clock()
            if self.essential.is_valid(move) and self.go(self.essential.after(move)):
                return True
        return False

    def go(self, after: DAG) -> bool:
        """Go to the class of a graph if it has few enough parents and a score that is better; whether it has."""
        if any(len(after.parents(name)) > self.constraints.max_parents for name in self._names):
            return False
        score = self._scores.graph(after)
        if not (score > self.score == -math.inf or improves(score - self.score, self.score)):
            return False
        self.graph, self.score, self.num_steps = after, score, self.num_steps + 1
        self.essential = ClassGraph.of(self._class_of(after), self._names)
        return True

    def look_at_clock(self) -> None:
        """Raise `TimeIsUp` after the deadline."""
        if self._clock.is_over:
            raise TimeIsUp

    def _gains(self, kind: Literal["insert", "delete"], y: int) -> list[tuple[float, ClassMove]]:
        """The moves of edges at y that improve the score, valid or not."""
        around = self.essential.surroundings(y)
        known = self._moves.get((kind, y))
        # which insertions there are depends on what is joined with the neighbours of y only
        if known is None or known[0] != around:
            if kind == "delete":
                moves = list(self.essential.deletions(y))
            else:
                most = self.constraints.max_parents
                found = self.essential.insertions(y, self._allowed[y])
                moves = [move for move in found if move.base.bit_count() < most]
            self._score(moves)
            sign = 1.0 if kind == "insert" else -1.0
            gains = [(sign * self._changes[move.y, move.base, move.x], move) for move in moves]
            known = around, [(gain, move) for gain, move in gains if improves(gain, self.score)]
            self._moves[kind, y] = known
        return known[1]

    def _score(self, moves: Iterable[ClassMove]) -> None:
        """What x adds to the score of y with a base, for all x of a base at once."""
        wanted: dict[tuple[int, int], list[int]] = {}
        for _, x, y, _, base in moves:
            if (y, base, x) not in self._changes:
                wanted.setdefault((y, base), []).append(x)
        groups = iter(wanted.items())
        while some := list(islice(groups, _BASES_AT_ONCE)):
            self.look_at_clock()
            asked = [
                Request(self._names[y], self._named(bits(base)), self._named(dict.fromkeys(xs)))
                for (y, base), xs in some
            ]
            before = self._scores.families((request.child, request.parents) for request in asked).tolist()
            found = self._scores.extended_each(asked)
            for ((y, base), xs), score, scores in zip(some, before, found, strict=True):
                for x, after in zip(dict.fromkeys(xs), scores.tolist(), strict=True):
                    self._changes[y, base, x] = after - score

    def _named(self, places: Iterable[int]) -> tuple[str, ...]:
        return tuple(self._names[place] for place in places)


def class_constraints(knowledge: Knowledge, names: list[str]) -> Constraints:
    """What is known, for a search over classes: nothing that tells directions."""
    constraints = knowledge.on(names)
    one_way = constraints.allowed != constraints.allowed.T
    if constraints.required.any() or one_way.any():
        raise NotSupported(
            "A search over equivalence classes can't be told directions: its classes have none. Give Knowledge that "
            "forbids pairs both ways or limits parents, or search graphs or orders instead."
        )
    return constraints


class ClassMove(NamedTuple):
    """An edge between x and y comes or goes, and with it the edges of y with `turned` get directions.

    The score changes by score(y, base + x) - score(y, base), or back.
    """

    kind: Literal["insert", "delete"]
    x: int
    y: int
    turned: int
    base: int


@dataclass(frozen=True, slots=True)
class ClassGraph:
    """An essential graph (Chickering 2002): of each its parents, neighbours and all adjacent ones, as bits."""

    names: tuple[str, ...]
    parents: tuple[int, ...]
    neighbors: tuple[int, ...]
    adjacent: tuple[int, ...]

    @classmethod
    def of(cls, graph: PDAG, names: Sequence[str]) -> ClassGraph:
        """From an essential graph on these names."""
        place = {name: number for number, name in enumerate(names)}
        parents, neighbors, adjacent = ([0] * len(names) for _ in range(3))
        for edge in graph.edges:
            a, b = place[str(edge.left)], place[str(edge.right)]
            adjacent[a] |= 1 << b
            adjacent[b] |= 1 << a
            if edge.is_directed:
                parents[b] |= 1 << a
            else:
                neighbors[a] |= 1 << b
                neighbors[b] |= 1 << a
        return cls(tuple(names), tuple(parents), tuple(neighbors), tuple(adjacent))

    def surroundings(self, y: int) -> tuple[int, ...]:
        """What the moves of edges at y depend on, but for paths."""
        joined = [self.adjacent[v] for v in bits(self.neighbors[y])]
        return self.parents[y], self.neighbors[y], self.adjacent[y], *joined

    def insertions(self, y: int, allowed: int) -> Iterator[ClassMove]:
        """Insert(x, y, T): T are neighbours of y not joined with x; with those joined with x they form a clique."""
        for x in bits(allowed & ~self.adjacent[y] & ~(1 << y)):
            shared = self.neighbors[y] & self.adjacent[x]
            if self.is_clique(shared):
                for turned in self.cliques(shared, self.neighbors[y] & ~self.adjacent[x]):
                    yield ClassMove("insert", x, y, turned, shared | turned | self.parents[y])

    def deletions(self, y: int) -> Iterator[ClassMove]:
        """Delete(x, y, H): x - y or x -> y; the shared neighbours without H form a clique."""
        for x in bits(self.parents[y] | self.neighbors[y]):
            shared = self.neighbors[y] & self.adjacent[x]
            for kept in self.cliques(0, shared):
                base = (kept | self.parents[y]) & ~(1 << x)
                yield ClassMove("delete", x, y, shared & ~kept, base)

    def is_clique(self, members: int) -> bool:
        """Whether all are joined with each other."""
        return all(members & ~(1 << v) & ~self.adjacent[v] == 0 for v in bits(members))

    def is_valid(self, move: ClassMove) -> bool:
        """Whether no cycle comes about: the clique of an insertion blocks all semi-directed paths from y to x."""
        if move.kind == "delete":
            return True
        blocked = (self.neighbors[move.y] & self.adjacent[move.x]) | move.turned
        reached = frontier = 1 << move.y
        while frontier:
            after = 0
            for v in bits(frontier):
                after |= self.adjacent[v] & ~self.parents[v]
            frontier = after & ~reached & ~blocked
            reached |= frontier
        return not reached >> move.x & 1

    def after(self, move: ClassMove) -> DAG:
        """A graph of the class that a valid move leads to."""
        parents, neighbors = list(self.parents), list(self.neighbors)
        x, y = move.x, move.y
        if move.kind == "insert":
            parents[y] |= 1 << x
            direct(parents, neighbors, move.turned, y)
        else:
            parents[y] &= ~(1 << x)
            neighbors[y] &= ~(1 << x)
            neighbors[x] &= ~(1 << y)
            for h in bits(move.turned):
                direct(parents, neighbors, 1 << y, h)
                direct(parents, neighbors, 1 << x & neighbors[h], h)
        return consistent_extension(self.pdag(parents, neighbors))

    def member(self) -> DAG:
        """A graph of the class."""
        return consistent_extension(self.pdag(self.parents, self.neighbors))

    def pdag(self, parents: Sequence[int], neighbors: Sequence[int]) -> PDAG:
        """The graph with these parents and neighbours."""
        name = self.names
        directed = [Edge.of(name[p], "->", name[v]) for v, mask in enumerate(parents) for p in bits(mask)]
        plain = [Edge.of(name[u], "-", name[v]) for v, mask in enumerate(neighbors) for u in bits(mask) if u < v]
        return PDAG([*directed, *plain], nodes=name)

    def cliques(self, core: int, candidates: int) -> Iterator[int]:
        """The sets of candidates, each once, that form a clique with a clique."""
        waiting = [(0, candidates)]
        while waiting:
            chosen, free = waiting.pop()
            yield chosen
            for v in bits(free):
                if (core | chosen) & ~self.adjacent[v] == 0:
                    later = free & ~((2 << v) - 1) & self.adjacent[v]
                    waiting.append((chosen | 1 << v, later))


def direct(parents: list[int], neighbors: list[int], sources: int, target: int) -> None:
    """Direct undirected edges into a variable."""
    for v in bits(sources):
        neighbors[v] &= ~(1 << target)
    neighbors[target] &= ~sources
    parents[target] |= sources
