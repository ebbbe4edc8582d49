"""Insertions and deletions that lead from one equivalence class of graphs to another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from plausible.graphs import DAG, PDAG
from plausible.graphs.consistent_extension import consistent_extension
from plausible.graphs.mark_masks import bits
from plausible.graphs.marks import Edge

__all__ = ["ClassGraph", "ClassMove", "direct"]


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
    """An essential graph: for each variable its parents, its undirected neighbours, and all it is joined with, as bits.

    References
    ----------
    Chickering (2002), Optimal structure identification with greedy search, JMLR 3.
    """

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
