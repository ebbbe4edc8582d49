"""Pictures of two networks in one: what both have, what was added, removed and turned round."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from plausible.graphs.comparison import StructureComparison
from plausible.graphs.marks import Edge
from plausible.models.comparison import NetworkComparison
from plausible.plotting.drawing import Look
from plausible.plotting.focus import FocusLike, view_of
from plausible.plotting.graphs import named_picture
from plausible.plotting.picture import Picture

_ADDED = Look("good", 2.4, says="added")
_REMOVED = Look("bad", 2.0, True, "removed", is_gone=True)
_REVERSED = Look("set", 2.4, says="reversed")
_CHANGED = Look("seen", 2.4, says="direction lost or gained")


def picture_of_comparison(comparison: NetworkComparison | StructureComparison, focus: FocusLike = "auto") -> Picture:
    """Both graphs in one, as the second has them: what only the first has is dashed."""
    structure = comparison if isinstance(comparison, StructureComparison) else comparison.structure
    turned = tuple(Edge(edge.right, edge.left, edge.left_mark, edge.right_mark) for edge in structure.reversed)
    lost = tuple(Edge.of(edge.left, "-", edge.right) for edge in structure.direction_lost)
    kinds: tuple[tuple[str, tuple[Edge, ...], Look], ...] = (
        ("same", structure.same, Look()),
        ("added (green)", structure.extra, _ADDED),
        ("removed (red, dashed)", structure.missing, _REMOVED),
        ("reversed (violet)", turned, _REVERSED),
        ("direction lost or gained (orange)", (*lost, *structure.direction_gained), _CHANGED),
    )
    edges = [edge for _, listed, _ in kinds for edge in listed]
    looks = {frozenset(edge.ends): look for _, listed, look in kinds for edge in listed}
    alone = () if isinstance(comparison, StructureComparison) else (*comparison.parameters, *comparison.incomparable)
    nodes = list(dict.fromkeys(_ends(edges, alone)))
    changed = dict.fromkeys(node for edge in edges if looks[frozenset(edge.ends)] != Look() for node in edge.ends)
    view = view_of(nodes, edges, focus, list(changed))
    told = ", ".join(f"{len(listed)} {name}" for name, listed, _ in kinds if listed)
    return named_picture(view, {}, looks, [f"Edges: {told or 'none'}."])


def _ends(edges: Iterable[Edge], alone: Iterable[str]) -> list[Any]:
    return [*alone, *(node for edge in edges for node in edge.ends)]
