"""What of a large graph is shown: a few nodes, what is around them, and how much is hidden."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from plausible.base.records import shown
from plausible.errors import InvalidArgument, UnknownVariable
from plausible.graphs.marks import Edge, Mark

#: Graphs with no more nodes are shown as a whole, unless a focus is given; of others so many nodes.
WHOLE, PART = 60, 32
#: Where nothing says what to look at, it is the busiest node that has no more than so many others around it.
_MOST_AROUND = 14

#: "auto": all of a small graph, what is around the findings or the busiest node of a large one; None: all; else names.
FocusLike: TypeAlias = Hashable | Iterable[Hashable] | Literal["auto"] | None


@dataclass(frozen=True, slots=True)
class View:
    """The nodes that are shown, in the graph's order, and what each has hidden."""

    nodes: tuple[Any, ...]
    edges: tuple[Edge, ...]
    hidden: Mapping[Any, int]  # Node -> how many of its neighbours are hidden
    notes: tuple[str, ...]  # A line that says how much is hidden, if anything is


def view_of(
    nodes: Sequence[Any],
    edges: Sequence[Edge],
    focus: FocusLike,
    around: Collection[Any] = (),
    place: str = "this graph",
) -> View:
    """The part of a graph that a focus asks for; where it asks for nothing, what is around some nodes.

    The blanket of the focus comes first (parents, children and their other parents, or neighbours), then its ancestors,
    generation by generation, while they fit; trails from one node of the focus to the others are shown whole.
    """
    chosen = read_focus(nodes, focus, place)
    if chosen is None or (not chosen and len(nodes) <= WHOLE):
        return View(tuple(nodes), tuple(edges), {}, ())
    neighbours = _Neighbours(nodes, edges)
    centres = chosen or list(around) or [max(nodes, key=neighbours.fitting)]
    kept = _grown(neighbours, centres)
    inside = tuple(node for node in nodes if node in kept)
    hidden = {node: len(neighbours.all[node].keys() - kept.keys()) for node in inside}
    notes: tuple[str, ...] = ()
    if len(inside) < len(nodes):
        named = ", ".join(map(str, centres[:4])) + (", ..." if len(centres) > 4 else "")
        notes = (
            f"{len(inside)} of {len(nodes)} nodes, around {named}; {len(nodes) - len(inside)} are hidden. "
            "+2 beside a name: it has two hidden neighbours.",
        )
    shown_edges = tuple(edge for edge in edges if edge.left in kept and edge.right in kept)
    return View(inside, shown_edges, hidden, notes)


def read_focus(nodes: Sequence[Any], focus: Any, place: str) -> list[Any] | None:
    """The nodes that are named; none where the focus is left to the graph, and None where all are asked for."""
    if focus is None:
        return None
    known = dict.fromkeys(nodes)
    if isinstance(focus, str) and focus == "auto" and focus not in known:
        return []
    if isinstance(focus, Hashable) and focus in known:
        return [focus]
    if isinstance(focus, str) or not isinstance(focus, Iterable):
        raise UnknownVariable.named(focus, known, place)
    listed = list(focus)
    for node in listed:
        if node not in known:
            raise UnknownVariable.named(node, known, place)
    if not listed:
        raise InvalidArgument(f"focus={shown(listed)} names no node: leave it out, or give None to see all.")
    return listed


class _Neighbours:
    """Who is beside whom, as dictionaries that keep an order."""

    def __init__(self, nodes: Sequence[Any], edges: Sequence[Edge]) -> None:
        self.all: dict[Any, dict[Any, None]] = {node: {} for node in nodes}
        self.parents: dict[Any, dict[Any, None]] = {node: {} for node in nodes}
        for edge in edges:
            for node, other in (edge.ends, edge.ends[::-1]):
                self.all[node][other] = None
                if edge.mark_at(node) is Mark.ARROW and edge.mark_at(other) is not Mark.ARROW:
                    self.parents[node][other] = None

    def blanket(self, node: Any) -> list[Any]:
        """Its neighbours, and the other parents of its children."""
        children = [child for child in self.all[node] if node in self.parents[child]]
        return [*self.all[node], *(parent for child in children for parent in self.parents[child])]

    def fitting(self, node: Any) -> int:
        """How many nodes its blanket has, negative where those are too many to show side by side."""
        size = len(set(self.blanket(node)))
        return size if size <= _MOST_AROUND else -size

    def path(self, start: Any, end: Any) -> list[Any]:
        """The nodes of a shortest path; none where there is none."""
        before: dict[Any, Any] = {start: None}
        queue = deque([start])
        while queue and end not in before:
            node = queue.popleft()
            for other in self.all[node]:
                if other not in before:
                    before[other] = node
                    queue.append(other)
        path = [end] if end in before else []
        while path and before[path[-1]] is not None:
            path.append(before[path[-1]])
        return path


def _grown(neighbours: _Neighbours, centres: Sequence[Any]) -> dict[Any, None]:
    """The centres and what is around them, as far as it fits."""
    kept = dict.fromkeys(centres)
    for other in centres[1:]:
        path = neighbours.path(centres[0], other)
        if len(kept | dict.fromkeys(path)) <= PART:
            kept |= dict.fromkeys(path)
    ring = dict.fromkeys(node for centre in centres for node in neighbours.blanket(centre))
    for node in ring:  # what is nearest comes first: one generation is cut rather than left out
        if len(kept) < PART:
            kept[node] = None
    while True:
        above = {parent: None for node in kept for parent in neighbours.parents[node] if parent not in kept}
        if not above or len(kept) + len(above) > PART:
            return kept
        kept |= above


def read_groups(view: View, nodes: Collection[Any], groups: Any, place: str) -> dict[str, list[int]]:
    """Group -> the numbers of its nodes that are shown."""
    if groups is None:
        return {}
    if not isinstance(groups, Mapping):
        raise InvalidArgument(f"groups= takes names with their nodes, {{group: [node, ...]}}, not {shown(groups)}.")
    number = {node: rank for rank, node in enumerate(view.nodes)}
    of_node: dict[Any, Any] = {}
    found: dict[str, list[int]] = {}
    for name, members in groups.items():
        for node in [members] if isinstance(members, str) else members:
            if node not in nodes:
                raise UnknownVariable.named(node, nodes, place)
            if of_node.setdefault(node, name) != name:
                raise InvalidArgument(f"{node!r} is in two groups, {of_node[node]!r} and {name!r}: take it out of one.")
            if node in number:
                found.setdefault(str(name), []).append(number[node])
    return {name: sorted(set(members)) for name, members in found.items()}
