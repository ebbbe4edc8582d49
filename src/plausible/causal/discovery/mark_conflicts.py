"""Marks that contradict each other as statements about ancestors, and what is made of them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Literal, TypeAlias

from plausible.base.records import record
from plausible.graphs.mark_masks import MarkMasks, bits
from plausible.graphs.marks import Mark

__all__ = ["MarkConflict", "conflicts_of", "cycle_conflicts", "take_back"]

Kind: TypeAlias = Literal["opposed marks", "against knowledge", "cycle", "ancestor", "undirected", "no class"]
End: TypeAlias = tuple[int, int]

_SENTENCES: dict[Kind, str] = {
    "opposed marks": "At {0} on its edge to {1} the tests speak both for an arrowhead and for a tail.",
    "against knowledge": "At {0} on its edge to {1} the tests speak against knowledge, which stands.",
    "cycle": "{0} -> {1} would be in a directed cycle: both its ends are open again.",
    "ancestor": "{0} <-> {1} says that {0} is no ancestor of {1}, but other edges do: its end at {0} is open again.",
    "undirected": "{0} - {1} meets an arrowhead, or there is no selection that could make it: its ends are open.",
    "no class": "No ancestral graph has exactly these marks in all members of its class: that tells of selection, "
    "feedback or unfaithfulness, or of tests that err.",
}


@record
class MarkConflict:
    """A contradiction between marks: a sign of too few rows, of a cycle, or of an assumption that does not hold.

    Attributes
    ----------
    kind
        What contradicts: two marks at one end, tests and knowledge, directed edges that form a cycle, `<->` between a
        node and an ancestor of it, an edge `-` where there can be none, or marks that stand for no class.
    names
        The end in question, and the other one of its edge; () where it is about all marks together.
    """

    kind: Kind
    names: tuple[str, ...] = ()

    def __str__(self) -> str:
        return _SENTENCES[self.kind].format(*self.names)


def conflicts_of(masks: MarkMasks, known: Collection[End], names: Sequence[str]) -> list[MarkConflict]:
    """The marks that were asked for against others, of which some were known before any test."""
    return [
        MarkConflict("against knowledge" if end in known else "opposed marks", (names[end[0]], names[end[1]]))
        for end in sorted(masks.conflicts)
    ]


def take_back(masks: MarkMasks, names: Sequence[str], *, selection: bool) -> list[MarkConflict]:
    """Make circles of marks until no two contradict each other.

    That is about ancestors only: the marks that are left need not be those of a class.
    """
    found = []
    kinds: dict[Kind, Callable[[MarkMasks, bool], Iterator[End]]] = {
        "cycle": _in_cycles,
        "undirected": _lines,
        "ancestor": _ancestors,
    }
    for kind, ends in kinds.items():
        for node, other in sorted(ends(masks, selection)):
            masks.put(node, other, Mark.CIRCLE)
            if kind != "ancestor":
                masks.put(other, node, Mark.CIRCLE)
            found.append(MarkConflict(kind, (names[node], names[other])))
    return found


def cycle_conflicts(cycles: Iterable[Sequence[int]], names: Sequence[str]) -> list[MarkConflict]:
    """The edges of cycles of circles that only selection makes, where there is none."""
    ends = {(min(pair), max(pair)) for cycle in cycles for pair in pairwise((*cycle, cycle[0]))}
    return [MarkConflict("undirected", (names[a], names[b])) for a, b in sorted(ends)]


def _in_cycles(masks: MarkMasks, _: bool) -> Iterator[End]:
    """The directed edges within strongly connected components."""
    import networkx as nx

    graph = nx.DiGraph((a, b) for a in range(len(masks)) for b in bits(masks.children(a)))
    for part in nx.strongly_connected_components(graph):
        inside = sum(1 << node for node in part)
        yield from ((a, b) for a in part for b in bits(masks.children(a) & inside))


def _lines(masks: MarkMasks, selection: bool) -> Iterator[End]:
    """The undirected edges that meet an arrowhead; without selection all."""
    for a in range(len(masks)):
        for b in bits(masks.tail[a] & masks.tail_from[a]):
            if a < b and (not selection or masks.arrow[a] or masks.arrow[b]):
                yield a, b


def _ancestors(masks: MarkMasks, _: bool) -> Iterator[End]:
    """The ends of edges `<->` that are ancestors of the other end."""
    for a in range(len(masks)):
        siblings = masks.arrow[a] & masks.arrow_from[a]
        below, frontier = 0, masks.children(a) if siblings else 0
        while frontier:
            below |= frontier
            reached = 0
            for node in bits(frontier):
                reached |= masks.children(node)
            frontier = reached & ~below
        yield from ((a, b) for b in bits(siblings & below))
