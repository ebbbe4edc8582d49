"""Classes of graphs that data can't tell apart, as bit sets: the moves of one edge that lead from class to class."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias, get_args

from plausible.graphs import DAG, PDAG, Edge
from plausible.graphs.mark_masks import bits

#: The parents of each variable in a graph without cycles, as bits.
ParentMasks: TypeAlias = tuple[int, ...]

#: What a move does to an edge.
MoveKind: TypeAlias = Literal["insert", "delete"]
KINDS: tuple[MoveKind, ...] = get_args(MoveKind)


class ClassMove(NamedTuple):
    """An edge between x and y comes or goes, in graphs of a class that have of the neighbours of y `before` as parents.

    The score changes by score(y, base + x) - score(y, base), or back; the base is `before` with the parents of y.
    """

    kind: MoveKind
    x: int
    y: int
    before: int


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

    @classmethod
    def of_member(cls, member: ParentMasks, names: Sequence[str]) -> ClassGraph:
        """The class of a graph: as `graphs.essential_graph` finds it, on bits."""
        compelled, neighbors = _compelled(member), [0] * len(member)
        adjacent = list(member)
        for child, parents in enumerate(member):
            for parent in bits(parents):
                adjacent[parent] |= 1 << child
            for parent in bits(parents & ~compelled[child]):
                neighbors[parent] |= 1 << child
                neighbors[child] |= 1 << parent
        return cls(tuple(names), tuple(compelled), tuple(neighbors), tuple(adjacent))

    def changes(self, before: ClassGraph) -> set[int]:
        """At which variables the moves of edges are not those in another class, but for paths."""
        pairs = (
            zip(getattr(self, kind), getattr(before, kind), strict=True)
            for kind in ("parents", "neighbors", "adjacent")
        )
        changed = {v for kind in pairs for v, (new, old) in enumerate(kind) if new != old}
        return changed.union(*(bits(self.neighbors[v]) for v in changed))

    def insertions(self, y: int, allowed: int) -> Iterator[tuple[int, int]]:
        """Insert(x, y, T), as sets of neighbours of y that come before it, with all x that each goes with.

        T are neighbours of y not joined with x, and with those joined with x, which are always in the set, they form a
        clique: so each clique among the neighbours goes with all x that are joined with no other neighbour.
        """
        free = allowed & ~self.adjacent[y] & ~(1 << y)
        for before in self.cliques(0, self.neighbors[y]):
            fitting = free
            for v in bits(self.neighbors[y] & ~before):
                fitting &= ~self.adjacent[v]
            if fitting:
                yield before, fitting

    def deletions(self, y: int) -> Iterator[tuple[int, int]]:
        """Delete(x, y, H), as sets of neighbours of y that come before it, with an x that each goes with.

        There is x - y or x -> y. The set is a clique of neighbours of y joined with x; H are the others of these.
        """
        for x in bits(self.parents[y] | self.neighbors[y]):
            for before in self.cliques(0, self.neighbors[y] & self.adjacent[x]):
                yield before, 1 << x

    def is_valid(self, move: ClassMove) -> bool:
        """Whether no cycle comes about: what comes before y blocks all semi-directed paths from y to x."""
        if move.kind == "delete":
            return True
        blocked, goal = move.before, 1 << move.x
        reached = frontier = 1 << move.y
        while frontier:
            after = 0
            for v in bits(frontier):
                after |= self.adjacent[v] & ~self.parents[v]
            frontier = after & ~reached & ~blocked
            reached |= frontier
            if reached & goal:
                return False
        return True

    def after(self, move: ClassMove, member: ParentMasks) -> ParentMasks:
        """A graph of the class that a valid move leads to; it differs from a member of this one only near y.

        The variables that undirected paths join with y can be directed along any order by maximum cardinality, which
        begins with any clique: with those that come before y, with x if x - y, and then y. In such a member only the
        edge between x and y comes or goes.
        """
        x, y, families = move.x, move.y, list(member)
        first = [*bits(move.before), x, y] if self.neighbors[y] >> x & 1 else [*bits(move.before), y]
        placed = 0
        for v in self._by_cardinality(first):
            families[v] = self.parents[v] | self.neighbors[v] & placed
            placed |= 1 << v
        families[y] ^= 1 << x
        return tuple(families)

    def _by_cardinality(self, first: Sequence[int]) -> Iterator[int]:
        """A clique, and on from it along undirected edges: always one that most before it are joined with."""
        ahead, placed = list(reversed(first)), 0
        counts: Counter[int] = Counter()
        waiting: list[list[int]] = []  # by how many before them they are joined with; some stand there more than once
        while ahead or waiting:
            v = (ahead or waiting[-1]).pop()
            if not placed >> v & 1:
                yield v
                placed |= 1 << v
                for other in bits(self.neighbors[v] & ~placed):
                    waiting += ([] for _ in range(counts[other] + 1 - len(waiting)))
                    waiting[counts[other]].append(other)
                    counts[other] += 1
            while waiting and not waiting[-1]:
                waiting.pop()

    def is_clique(self, members: int) -> bool:
        """Whether all are joined with each other."""
        return all(members & ~(1 << v) & ~self.adjacent[v] == 0 for v in bits(members))

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


def masks_of(graph: DAG, names: Sequence[str]) -> ParentMasks:
    """A graph on these names as bits."""
    places = {name: number for number, name in enumerate(names)}
    return tuple(sum(1 << places[str(parent)] for parent in graph.parents(name)) for name in names)


def dag_of(member: ParentMasks, names: Sequence[str]) -> DAG:
    """Bits as a graph on these names."""
    return DAG([(names[p], names[v]) for v, parents in enumerate(member) for p in bits(parents)], nodes=names)


def _compelled(member: ParentMasks) -> list[int]:
    """The parents of each variable that it has in all graphs of the class: Label-Edges of Chickering (1995)."""
    order = _topological(member)
    rank = sorted(range(len(order)), key=order.__getitem__)
    compelled = [0] * len(member)
    for child in order:
        if parents := member[child]:
            last = max(bits(parents), key=rank.__getitem__)
            is_alike = not compelled[last] & ~parents and not parents & ~member[last] & ~(1 << last)
            compelled[child] = compelled[last] if is_alike else parents
    return compelled


def _topological(member: ParentMasks) -> list[int]:
    children: list[list[int]] = [[] for _ in member]
    waiting = [parents.bit_count() for parents in member]
    for child, parents in enumerate(member):
        for parent in bits(parents):
            children[parent].append(child)
    order = [v for v, count in enumerate(waiting) if not count]
    for v in order:
        for child in children[v]:
            waiting[child] -= 1
            if not waiting[child]:
                order.append(child)
    return order
