"""Endpoint marks and the edges that carry them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from plausible.base import html_of_print
from plausible.errors import InvalidGraph
from plausible.graphs.nodes import Node
from plausible.graphs.text import quote


class Mark(Enum):
    """What an edge shows at one of its two ends.

    In a graph read causally, a tail at A on an edge to B says that A causes B (or a selected variable), an arrowhead
    that it does not, and a circle that the graph leaves it open.
    """

    TAIL = "-"
    CIRCLE = "o"
    ARROW = ">"


_LEFT_TEXT = {Mark.TAIL: "", Mark.CIRCLE: "o", Mark.ARROW: "<"}
_RIGHT_TEXT = {Mark.TAIL: "", Mark.CIRCLE: "o", Mark.ARROW: ">"}

#: The marks at the left and at the right end, for each way to write an edge.
SYMBOLS: dict[str, tuple[Mark, Mark]] = {
    f"{_LEFT_TEXT[left]}-{_RIGHT_TEXT[right]}": (left, right) for left in Mark for right in Mark
}


@dataclass(frozen=True, slots=True, eq=False)
class Edge:
    """Two different nodes and the mark at each; the same edge whichever end is written first.

    >>> Edge.of("A", "->", "B")
    Edge.of('A', '->', 'B')
    >>> Edge.of("A", "->", "B") == Edge.of("B", "<-", "A")
    True
    >>> Edge.of("A", "o->", "B").mark_at("A")
    <Mark.CIRCLE: 'o'>
    """

    left: Node
    right: Node
    left_mark: Mark
    right_mark: Mark

    def __post_init__(self) -> None:
        if self.left == self.right:
            raise InvalidGraph(f"The edge from {self.left!r} to itself is not allowed.")

    @classmethod
    def of(cls, left: Node, symbol: str, right: Node) -> Edge:
        """The edge written as `left symbol right`, such as `A <-> B`."""
        marks = SYMBOLS.get(symbol.replace("--", "-")) if isinstance(symbol, str) else None
        if marks is None:
            known = ", ".join(f"'{text}'" for text in SYMBOLS)
            raise InvalidGraph(f"{symbol!r} between {left!r} and {right!r} is no edge. Expected one of {known}.")
        return cls(left, right, *marks)

    @property
    def symbol(self) -> str:
        """The edge as written from left to right, such as `'o->'`."""
        return f"{_LEFT_TEXT[self.left_mark]}-{_RIGHT_TEXT[self.right_mark]}"

    @property
    def ends(self) -> tuple[Node, Node]:
        """The left and the right node."""
        return self.left, self.right

    @property
    def is_directed(self) -> bool:
        """Whether one end has a tail and the other an arrowhead: `->` or `<-`."""
        return {self.left_mark, self.right_mark} == {Mark.TAIL, Mark.ARROW}

    @property
    def is_bidirected(self) -> bool:
        """Whether both ends have arrowheads: `<->`."""
        return self.left_mark is self.right_mark is Mark.ARROW

    @property
    def is_undirected(self) -> bool:
        """Whether both ends have tails: `-`."""
        return self.left_mark is self.right_mark is Mark.TAIL

    def flipped(self) -> Edge:
        """The same edge with the other end written first."""
        return Edge(self.right, self.left, self.right_mark, self.left_mark)

    def mark_at(self, node: Node) -> Mark:
        """The mark at one of the two ends."""
        return self.right_mark if self.other(node) == self.left else self.left_mark

    def other(self, node: Node) -> Node:
        """The end that is not `node`."""
        if node not in self.ends:
            raise InvalidGraph(f"{node!r} is not an end of the edge '{self}'.")
        return self.right if node == self.left else self.left

    def _key(self) -> frozenset[tuple[Node, Mark]]:
        return frozenset(((self.left, self.left_mark), (self.right, self.right_mark)))

    def __eq__(self, other: object) -> bool:
        return self._key() == other._key() if isinstance(other, Edge) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._key())

    def __str__(self) -> str:
        return f"{quote(self.left)} {self.symbol} {quote(self.right)}"

    _repr_html_ = html_of_print

    def __repr__(self) -> str:
        return f"Edge.of({self.left!r}, {self.symbol!r}, {self.right!r})"


#: For every node its edges `(other node, mark here, mark at the other)`.
Incidence: TypeAlias = Sequence[Sequence[tuple[int, Mark, Mark]]]


def closure(incident: Incidence, starts: Iterable[int], here: Mark, there: Mark) -> set[int]:
    """The nodes that one or more steps along edges with these two marks lead to. Linear in the edges."""
    found: set[int] = set()
    frontier = list(starts)
    while frontier:
        for other, near, far in incident[frontier.pop()]:
            if near is here and far is there and other not in found:
                found.add(other)
                frontier.append(other)
    return found


def walk_reach(
    incident: Incidence, starts: Iterable[int], passes_collider: Sequence[bool], passes_other: Sequence[bool]
) -> set[int]:
    """The nodes at the end of walks whose inner nodes are all open; linear in the edges.

    An inner node that both its edges on the walk point into is a collider; `passes_collider` and `passes_other` say for
    every node whether a walk may pass through it as a collider, and otherwise.
    """
    arrow = Mark.ARROW
    frontier = [(other, far is arrow) for start in starts for other, _, far in incident[start]]
    seen = set(frontier)
    while frontier:
        node, by_arrow = frontier.pop()
        for other, near, far in incident[node]:
            is_open = passes_collider[node] if by_arrow and near is arrow else passes_other[node]
            state = (other, far is arrow)
            if is_open and state not in seen:
                seen.add(state)
                frontier.append(state)
    return {node for node, _ in seen}
