"""Pictures of clique trees and cluster graphs: clusters in boxes, what neighbours share in small ones between."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from plausible.base.records import counted
from plausible.graphs.cluster_graph import CliqueTree, ClusterGraph
from plausible.graphs.marks import Edge, Mark
from plausible.inference.plan import Plan
from plausible.plotting.drawing import Arc, Node, drawn
from plausible.plotting.focus import FocusLike, view_of
from plausible.plotting.nodes import FOCUS, PLAIN, Style, name_node
from plausible.plotting.picture import Picture

_SHARED = Style("paper", "faint", name="muted")
#: Names on a line of a clique, and lines.
_PER_LINE, _MOST_LINES = 3, 4


def picture_of_plan(plan: Plan, focus: FocusLike = "auto") -> Picture:
    """The clique tree that would be used, the largest clique brought out."""
    tree = plan.tree
    notes = [str(plan).splitlines()[1] + "."]
    widest = set(plan.largest_clique)
    largest = next((place for place, clique in enumerate(tree.cliques) if set(clique) == widest), None)
    return _picture(tree, focus, largest, notes)


def picture_of_tree(tree: CliqueTree | ClusterGraph, focus: FocusLike = "auto") -> Picture:
    """The clusters and their sepsets."""
    return _picture(tree, focus, None, [])


def _picture(tree: CliqueTree | ClusterGraph, focus: FocusLike, largest: int | None, notes: list[str]) -> Picture:
    clusters = [tuple(map(str, cluster)) for cluster in tree.clusters]
    edges = [Edge(a, b, Mark.TAIL, Mark.TAIL) for a, b in tree.edges]
    view = view_of(range(len(clusters)), edges, focus, [] if largest is None else [largest], "this tree")
    number = {cluster: place for place, cluster in enumerate(view.nodes)}
    nodes = [_cluster(clusters[node], FOCUS if node == largest else PLAIN) for node in view.nodes]
    shared: dict[frozenset[Any], list[str]]
    shared = {frozenset(pair): sorted(map(str, sepset)) for pair, sepset in zip(tree.edges, tree.sepsets, strict=True)}
    arcs = []
    for edge in view.edges:
        names = shared[frozenset(edge.ends)]
        nodes.append(_cluster(names, _SHARED))
        middle = len(nodes) - 1
        arcs += [
            Arc(number[edge.left], middle, (Mark.TAIL, Mark.TAIL)),
            Arc(middle, number[edge.right], (Mark.TAIL, Mark.TAIL)),
        ]
    return drawn(nodes, arcs, "", (*notes, *view.notes))


def _cluster(names: Sequence[str], style: Style) -> Node:
    lines = [", ".join(names[start : start + _PER_LINE]) for start in range(0, len(names), _PER_LINE)] or ["∅"]
    if len(lines) > _MOST_LINES:
        lines = [*lines[: _MOST_LINES - 1], f"... {len(names)} in all"]
    title = f"{counted(len(names), 'variable')}: {', '.join(names)}"
    return name_node(lines[0], title, "rectangle", style, lines[1:])
