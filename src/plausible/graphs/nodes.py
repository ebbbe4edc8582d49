"""The nodes of a graph in order, and reading the arguments that name nodes or pairs of them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from collections.abc import Set as AbstractSet
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from plausible.base import shown
from plausible.errors import InvalidGraph, UnknownVariable, suggestion

if TYPE_CHECKING:
    import numpy.typing as npt


Node: TypeAlias = Hashable
#: The networkx edge attribute that holds the edge as written from its first to its second node, such as "<->".
MARKS_ATTRIBUTE = "marks"

#: One node, or several.
Nodes: TypeAlias = Hashable | Iterable[Hashable]


class NodeIndex:
    """The nodes of a graph in the order in which they were given, and their positions."""

    __slots__ = ("nodes", "positions")

    def __init__(self, *groups: Iterable[Node]) -> None:
        for group in groups:
            if isinstance(group, str):
                raise InvalidGraph(f"nodes={group!r} is text, not a collection of nodes. Write nodes=[{group!r}].")
        try:
            self.nodes: tuple[Node, ...] = tuple(dict.fromkeys(chain.from_iterable(groups)))
        except TypeError as error:
            raise InvalidGraph(f"A node must be hashable, such as text or a number: {error}.") from None
        self.positions: dict[Node, int] = {node: position for position, node in enumerate(self.nodes)}

    def __len__(self) -> int:
        return len(self.nodes)

    def __iter__(self) -> Iterator[Node]:
        return iter(self.nodes)

    def __contains__(self, node: object) -> bool:
        return node in self.positions

    def position(self, node: Node) -> int:
        """The position of a node; an unknown one gets close matches."""
        try:
            return self.positions[node]
        except (KeyError, TypeError):
            raise self._unknown(node) from None

    def select(self, nodes: Nodes) -> list[int]:
        """The positions of one node or of several, without repeats, in the order given."""
        try:
            if nodes in self.positions:
                return [self.positions[nodes]]
        except TypeError:  # a list or a set of nodes, which is no node itself
            pass
        if isinstance(nodes, str) or not isinstance(nodes, Iterable):
            raise self._unknown(nodes)
        members = list(nodes)
        try:  # one lookup each: sets of thousands of observed nodes are common
            return list(dict.fromkeys(map(self.positions.__getitem__, members)))
        except (KeyError, TypeError):
            return list(map(self.position, members))  # raises, with the name of the stranger

    def _unknown(self, node: object) -> UnknownVariable:
        return UnknownVariable(f"{shown(node)} is not a node of this graph.{suggestion(node, self.nodes)}")

    def names(self, positions: Iterable[int]) -> tuple[Node, ...]:
        """The nodes at these positions, in the order given."""
        return tuple(self.nodes[position] for position in positions)


def read_scope(scope: Nodes) -> tuple[Node, ...]:
    """One node or several, as a tuple without repeats."""
    if isinstance(scope, str) or not isinstance(scope, Iterable):
        return (scope,)
    return tuple(dict.fromkeys(scope))


def is_networkx(graph: object) -> bool:
    """Whether this is a networkx graph; told by its shape, so that networkx need not be imported."""
    return all(hasattr(graph, name) for name in ("adj", "is_directed", "is_multigraph", "nodes", "edges"))


def edge_pairs(edges: Iterable[Any], directed: bool = False) -> list[tuple[Node, Node]]:
    """Check that every item is a pair of different nodes; a set will do where the edge has no direction."""
    refuse_no_edges(edges)
    pairs = [edge if type(edge) is tuple and len(edge) == 2 else _read_pair(edge, directed) for edge in edges]
    for a, b in pairs:
        if a == b:
            raise InvalidGraph(f"The edge from {a!r} to itself is not allowed.")
    return pairs


def refuse_no_edges(edges: object) -> None:
    """Refuse what can't be a list of edges: a number, or a square array, which is a matrix."""
    if not isinstance(edges, Iterable):
        raise InvalidGraph(
            f"Can't read a graph from a {type(edges).__name__}: expected arrow text such as 'A -> B', a list of edges, "
            "a graph or a model that has one."
        )
    if hasattr(edges, "columns") or (isinstance(edges, dict) and any(isinstance(key, str) for key in edges)):
        raise InvalidGraph(
            f"Can't read edges from a {type(edges).__name__}: give a list of pairs, such as [('A', 'B')] for A -> B."
        )
    shape: tuple[int, ...] = getattr(edges, "shape", ())
    if len(shape) == 2 and shape[0] == shape[1] != 2:
        raise InvalidGraph(
            f"A {type(edges).__name__} of shape {tuple(shape)} is no list of edges. If it is an adjacency matrix, use "
            "DAG.from_adjacency(matrix, nodes=...) or UndirectedGraph.from_adjacency."
        )


def _read_pair(edge: Any, directed: bool) -> tuple[Node, Node]:
    if isinstance(edge, str) or not isinstance(edge, Iterable) or len(pair := tuple(edge)) != 2:
        raise InvalidGraph(f"{edge!r} is not an edge: expected a pair of nodes, such as ('A', 'B').")
    if directed and isinstance(edge, AbstractSet):
        raise InvalidGraph(f"The set {edge!r} has no direction. Write the edge as a pair (parent, child).")
    return pair


def read_adjacency(
    matrix: npt.ArrayLike, nodes: Iterable[Node] | None = None
) -> tuple[list[Node], list[tuple[Node, Node]]]:
    """The nodes, and a pair for each one in the matrix, row by row."""
    entries = np.asarray(matrix)
    if entries.ndim != 2 or entries.shape[0] != entries.shape[1]:
        raise InvalidGraph(
            f"An adjacency matrix is square, with a row and a column for each node, not {entries.shape}."
        )
    names = _names(matrix, len(entries)) if nodes is None else list(nodes)
    if len(names) != len(entries) or len(set(names)) != len(names):
        raise InvalidGraph(f"The matrix has {len(entries)} rows and needs as many different nodes, not {names!r}.")
    strange = np.argwhere((entries != 0) & (entries != 1))
    if len(strange):
        i, j = strange[0]
        raise InvalidGraph(
            f"The entry from {names[i]!r} to {names[j]!r} is {entries[i, j]}; expected 0 or 1. For a matrix of weights "
            "write matrix != 0."
        )
    return names, [(names[i], names[j]) for i, j in np.argwhere(entries)]


def _names(matrix: Any, size: int) -> list[Node]:
    """The names of a data frame, which must stand in the same order on rows and columns; else 0, 1, ..."""
    if not (hasattr(matrix, "columns") and hasattr(matrix, "index")):
        return list(range(size))
    rows, columns = list(matrix.index), list(matrix.columns)
    if rows != columns:
        raise InvalidGraph(
            f"Rows and columns must name the same nodes in the same order, not {rows!r} and {columns!r}."
        )
    return rows
