"""From a skeleton to a partially directed graph: colliders, knowledge, Meek's rules, and what contradicts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from itertools import combinations
from typing import Generic, Literal, TypeAlias, TypeVar

from plausible.base.records import record
from plausible.errors import counted
from plausible.graphs import PDAG, Edge, immoralities
from plausible.graphs.marked import MarkedGraph
from plausible.graphs.meek import Orientation
from plausible.learn.constraint_based.skeleton import Pair
from plausible.learn.structures.knowledge import Constraints

#: A variable between two neighbours of it: (left, middle, right), left before right by name.
Triple: TypeAlias = tuple[str, str, str]
#: An edge and the end that it points into: (tail, head).
Arrow: TypeAlias = tuple[str, str]
Kind: TypeAlias = Literal["opposed colliders", "against knowledge", "cycle", "new collider"]

_SENTENCES: dict[Kind, str] = {
    "opposed colliders": "{0} - {1} stays undirected: one collider needs {0} -> {1}, another one {1} -> {0}.",
    "against knowledge": "A collider needs {0} -> {1}, but knowledge says {1} -> {0}, which stands.",
    "cycle": "{0} - {1} stays undirected: {0} -> {1} follows, but would close a directed cycle.",
    "new collider": "{0} -> {1} <- {2} follows from other directions, though the tests speak against this collider.",
}


@record
class Conflict:
    """A contradiction between directions: a sign of too few rows, or of a common cause that is not in the data."""

    #: What contradicts: two colliders about one edge, a collider and knowledge, directions that close a cycle, or a
    #: collider that Meek's rules force and the tests do not confirm.
    kind: Kind
    names: tuple[str, ...]  # The edge (tail, head), or the collider (left, middle, right)

    def __str__(self) -> str:
        return _SENTENCES[self.kind].format(*self.names)


def unshielded_triples(neighbors: Mapping[str, Sequence[str]]) -> Iterator[Triple]:
    """All (left, middle, right) with edges at the middle and none between left and right."""
    around = {name: set(row) for name, row in neighbors.items()}
    for middle in sorted(neighbors):
        for left, right in combinations(sorted(neighbors[middle]), 2):
            if right not in around[left]:
                yield left, middle, right


def orient(
    names: Sequence[str],
    neighbors: Mapping[str, Sequence[str]],
    colliders: Iterable[Triple],
    known: Constraints,
    ambiguous: Iterable[Triple] = (),
) -> tuple[PDAG, tuple[Conflict, ...]]:
    """Direct the edges of a skeleton as far as colliders, knowledge and Meek's rules say.

    Contradictions leave an edge undirected rather than let the first direction win, so that the graph does not depend
    on any order; knowledge always stands.
    """
    ordered, colliders = sorted(names), list(colliders)
    places = {name: place for place, name in enumerate(ordered)}
    edges = [(a, b) for a in ordered for b in sorted(neighbors[a])]
    fixed = {(a, b) for a, b in edges if not known.allowed[places[b], places[a]]}
    required = {(a, b) for a, b in edges if known.required[places[a], places[b]]}
    arrows, conflicts = _reconcile(_arrows(colliders), fixed)
    closing = _in_cycles(arrows | fixed) - required
    conflicts += [Conflict("cycle", arrow) for arrow in sorted(closing)]
    arrows = (arrows | fixed) - closing
    lines = [(a, b) for a, b in edges if a < b and (a, b) not in arrows and (b, a) not in arrows]
    directed, undirected = [Edge.of(a, "->", b) for a, b in sorted(arrows)], [Edge.of(a, "-", b) for a, b in lines]
    before = PDAG([*directed, *undirected], nodes=ordered)  # sorted: contradictions are met in the order of the nodes
    # A collider that could not be had is still none of the triples that Meek's rules may count on.
    after, cyclic = _close(before, [*ambiguous, *colliders])
    conflicts += [Conflict("cycle", arrow) for arrow in cyclic]
    conflicts += [Conflict("new collider", triple) for triple in _triples(after) - _triples(before) - set(colliders)]
    return PDAG(after.edges, nodes=names), tuple(
        sorted(conflicts, key=lambda conflict: (conflict.kind, conflict.names))
    )


def _triples(pdag: PDAG) -> set[Triple]:
    """The immoralities."""
    found = set()
    for one in immoralities(pdag):
        left, right = sorted((str(one.left), str(one.right)))
        found.add((left, str(one.child), right))
    return found


def _arrows(colliders: Iterable[Triple]) -> set[Arrow]:
    return {(end, middle) for left, middle, right in colliders for end in (left, right)}


def _reconcile(wanted: set[Arrow], fixed: set[Arrow]) -> tuple[set[Arrow], list[Conflict]]:
    """The arrows of colliders that neither knowledge nor other colliders contradict."""
    kept, conflicts = set(), []
    for tail, head in sorted(wanted):
        if (head, tail) in fixed:
            conflicts.append(Conflict("against knowledge", (tail, head)))
        elif (head, tail) not in wanted or (tail, head) in fixed:
            kept.add((tail, head))
        elif tail < head:
            conflicts.append(Conflict("opposed colliders", (tail, head)))
    return kept, conflicts


def _in_cycles(arrows: Iterable[Arrow]) -> set[Arrow]:
    """The arrows within strongly connected components: all that are in some directed cycle."""
    import networkx as nx

    graph = nx.DiGraph(sorted(arrows))
    component = {name: place for place, part in enumerate(nx.strongly_connected_components(graph)) for name in part}
    return {(tail, head) for tail, head in graph.edges if component[tail] == component[head]}


def _close(pdag: PDAG, ambiguous: Iterable[Triple]) -> tuple[PDAG, list[Arrow]]:
    """Meek's rules; the directions that would close a cycle are taken back and listed."""
    work = _CautiousOrientation(pdag, ambiguous)
    found = work.close()
    names = [str(node) for node in pdag.nodes]
    arrows = {(names[a], names[b]): (a, b) for a, row in enumerate(work.children) for b in row}
    taken_back = _in_cycles(arrows) & {(names[a], names[b]) for a, b in found}
    for arrow in taken_back:
        work.undo(*arrows[arrow])
    return work.to_pdag(), sorted(taken_back)


class _CautiousOrientation(Orientation):
    """Meek's rules, except where they count on an ambiguous triple not to be a collider."""

    __slots__ = ("_ambiguous",)

    def __init__(self, pdag: PDAG, ambiguous: Iterable[Triple]) -> None:
        super().__init__(pdag)
        places = {str(node): place for place, node in enumerate(pdag.nodes)}
        self._ambiguous: dict[int, list[frozenset[int]]] = {}
        for left, middle, right in ambiguous:
            self._ambiguous.setdefault(places[middle], []).append(frozenset((places[left], places[right])))

    def _consequences(self, a: int, b: int) -> Iterator[tuple[int, int]]:
        for source, target in super()._consequences(a, b):
            unsure = self._ambiguous.get(source, ())
            if source == b:  # rule 1 counts on a, b and the target
                is_sure = frozenset((a, target)) not in unsure
            else:  # rule 3 counts on two neighbours of the source that point into the target
                is_sure = not any(ends <= self.neighbors[source] & self.parents[target] for ends in unsure)
            if is_sure:
                yield source, target


GraphT = TypeVar("GraphT", bound=MarkedGraph)


@record
class ConstraintBasedResult(ABC, Generic[GraphT]):
    """A graph learned by tests, and what it rests on."""

    graph: GraphT  # What the tests say
    separating_sets: Mapping[Pair, tuple[str, ...]] = field(repr=False)  # Pair -> what made it independent
    #: Pair -> the largest p-value of its tests: for an edge, how nearly it was taken out.
    p_values: Mapping[Pair, float] = field(repr=False)
    num_tests: tuple[int, ...]  # How many tests were made with 0, 1, ... given.
    conflicts: tuple[object, ...] = ()  # What contradicted each other, and what was made of it
    #: Triples (left, middle, right) of which the tests do not tell whether they are colliders.
    ambiguous: tuple[Triple, ...] = ()
    #: Pairs separated by a set that determines one of them, such as a copy of it: independent they are then, whether or
    #: not they have to do with each other besides.
    determined: tuple[Pair, ...] = ()
    #: "" if the search came to its end, else "time limit" or "interrupted".
    stopped_by: Literal["", "time limit", "interrupted"] = ""

    @abstractmethod
    def _described(self) -> str:
        """The edges, counted by kind."""

    def __str__(self) -> str:
        parts = [
            f"{counted(len(self.graph.nodes), 'variable')}, {self._described()}",
            counted(sum(self.num_tests), "test"),
            counted(len(self.conflicts), "conflict") if self.conflicts else "",
            counted(len(self.ambiguous), "ambiguous triple") if self.ambiguous else "",
            f"{counted(len(self.determined), 'pair')} separated by what determines one" if self.determined else "",
            f"stopped by {self.stopped_by}" if self.stopped_by else "",
        ]
        return f"{'; '.join(filter(None, parts))}\n{self.graph}"
