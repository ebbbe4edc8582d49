"""Reading marked edges from the things that people have: arrow text, lists, networkx graphs, other graphs."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from typing import Any

from plausible.errors import InvalidGraph
from plausible.graphs.dag import DAG
from plausible.graphs.marks import Edge
from plausible.graphs.nodes import MARKS_ATTRIBUTE, Node, is_networkx, refuse_no_edges
from plausible.graphs.text import parse_statements
from plausible.graphs.undirected import UndirectedGraph


def read_edges(source: Any, asked: str = "MixedGraph") -> tuple[list[Node], list[Edge]]:
    """Nodes in order of appearance, and the edges as given.

    Parameters
    ----------
    source
        What the caller was given.
    asked
        The kind of graph to make of it.

    Examples
    --------
    >>> read_edges("A -> B <-> C; D")
    (['A', 'B', 'C', 'D'], [Edge.of('A', '->', 'B'), Edge.of('B', '<->', 'C')])
    """
    if isinstance(source, str):
        nodes, connections = parse_statements(source, asked)
        return list(nodes), [Edge.of(item.left, item.edge, item.right) for item in connections]
    carried = getattr(source, "graph", None)
    if isinstance(carried, DAG | UndirectedGraph):
        source = carried
    if isinstance(source, DAG):
        return list(source.nodes), [Edge.of(a, "->", b) for a, b in source.edges]
    if isinstance(source, UndirectedGraph):
        return list(source.nodes), [Edge.of(a, "-", b) for a, b in source.edges]
    if is_networkx(source):
        return list(source.nodes), _read_networkx(source)
    refuse_no_edges(source)
    edges = [_read_item(item) for item in source]
    return [node for edge in edges for node in edge.ends], edges


def _read_item(item: Any) -> Edge:
    if isinstance(item, Edge):
        return item
    parts = () if isinstance(item, str) or not isinstance(item, Iterable) else tuple(item)
    if len(parts) == 2 and isinstance(item, AbstractSet):
        raise InvalidGraph(
            f"The set {item!r} has no direction. Write the edge as a pair (parent, child) or a triple (a, '<->', b)."
        )
    if len(parts) not in (2, 3):
        raise InvalidGraph(
            f"{item!r} is not a marked edge: expected an Edge, a triple such as ('A', '<->', 'B'), or a pair "
            "(parent, child)."
        )
    return Edge.of(*parts) if len(parts) == 3 else Edge.of(parts[0], "->", parts[1])


def _read_networkx(graph: Any) -> list[Edge]:
    """The edges with their `marks` attribute; without one they are `->` in a digraph and `-` in a graph."""
    plain = "->" if graph.is_directed() else "-"
    edges = [Edge.of(a, marks, b) for a, b, marks in graph.edges(data=MARKS_ATTRIBUTE, default=plain)]
    for edge in edges:
        if not graph.is_directed() and edge.left_mark is not edge.right_mark:
            raise InvalidGraph(
                f"'{edge}' has different marks at its ends, but an undirected networkx graph does not know which end "
                "comes first. Use a networkx.DiGraph or MultiDiGraph."
            )
    return edges
