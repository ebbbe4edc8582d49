"""Immoralities: two causes of one effect that are not adjacent."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

from plausible.base.display import html_of_print
from plausible.graphs.dag import DAG
from plausible.graphs.graph_input import GraphLike, read_as
from plausible.graphs.mixed import PDAG
from plausible.graphs.nodes import Node
from plausible.graphs.text import quote


@dataclass(frozen=True, slots=True, eq=False)
class Immorality:
    """A child and two parents of it that are not adjacent: `left -> child <- right`, in whichever order.

    >>> Immorality("A", "C", "B") == Immorality("B", "C", "A")
    True
    """

    left: Node
    child: Node
    right: Node

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Immorality):
            return NotImplemented
        return self.child == other.child and {self.left, self.right} == {other.left, other.right}

    def __hash__(self) -> int:
        return hash((self.child, frozenset((self.left, self.right))))

    def __str__(self) -> str:
        return f"{quote(self.left)} -> {quote(self.child)} <- {quote(self.right)}"

    _repr_html_ = html_of_print


def immoralities(graph: GraphLike[DAG | PDAG]) -> tuple[Immorality, ...]:
    """The immoralities (v-structures, unshielded colliders), ordered by child.

    >>> [str(immorality) for immorality in immoralities(DAG("D -> G <- I -> S; G -> L"))]
    ['D -> G <- I']
    """
    graph = _read(graph)
    return tuple(
        Immorality(left, child, right)
        for child in graph.nodes
        for left, right in combinations(graph.parents(child), 2)
        if not graph.is_adjacent(left, right)
    )


def _read(graph: GraphLike[DAG | PDAG]) -> DAG | PDAG:
    read: DAG | PDAG = read_as(graph, DAG, PDAG)
    return read
