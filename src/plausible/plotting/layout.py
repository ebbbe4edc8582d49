"""Layouts: where boxes stand and how edges run, in layers from the top down."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from plausible.base.arrays import Floats, Ints
from plausible.plotting.geometry import Curve, Size
from plausible.plotting.layers import Link, layers_of, reached
from plausible.plotting.ordering import Layered, crossings, ordered
from plausible.plotting.placing import placed
from plausible.plotting.routing import Rows, route

#: What boxes want free beside them, what bends do, and between layers.
_BOX_GAP, _BEND_GAP, _LAYER_GAP = 30.0, 16.0, 50.0
#: Layers lie further apart where edges between them go far aside, up to so much more.
_MORE_PER_OFFSET, _MOST_MORE = 0.13, 90.0
#: What lies between components, how much wider than high the whole would like to be, and what is no width at all.
_COMPONENT_GAP, _ASPECT, _NARROW = 40.0, 1.7, 640.0


@dataclass(frozen=True, slots=True)
class Layout:
    """Where boxes stand and how edges run."""

    centres: Floats  # The centre of each box: x to the right, y down
    curves: tuple[Curve, ...]  # For each link the curve from its tail to its head
    width: float
    height: float
    num_crossings: int  # Of edges as they go from layer to layer

    def moved(self, right: float, down: float) -> Layout:
        """The same elsewhere."""
        step = np.array([right, down])
        curves = tuple(tuple((x + right, y + down) for x, y in curve) for curve in self.curves)
        return Layout(self.centres + step, curves, self.width, self.height, self.num_crossings)

    def turned(self) -> Layout:
        """The same with down and right exchanged."""
        curves = tuple(tuple((y, x) for x, y in curve) for curve in self.curves)
        return Layout(self.centres[:, ::-1], curves, self.height, self.width, self.num_crossings)


def lay_out(sizes: Sequence[Size], links: Sequence[Link]) -> Layout:
    """Boxes in layers: links that go down do, few cross, none passes under a box, and together they are short.

    Each component is laid out by itself, and they stand side by side in rows, the largest first.
    """
    around: list[list[int]] = [[] for _ in sizes]
    for tail, head, _ in links:
        around[tail].append(head)
        around[head].append(tail)
    left = dict.fromkeys(range(len(sizes)))
    parts = list[tuple[list[int], list[int], Layout]]()
    of_node: dict[int, list[int]] = {}
    for number, link in enumerate(links):
        of_node.setdefault(link.tail, []).append(number)
    while left:
        members = sorted(reached(around, next(iter(left))))
        for node in members:
            del left[node]
        inside = sorted(number for node in members for number in of_node.get(node, ()))
        new = {node: place for place, node in enumerate(members)}
        own = [Link(new[links[number].tail], new[links[number].head], links[number].goes_down) for number in inside]
        parts.append((members, inside, _component([sizes[node] for node in members], own)))
    return _packed(parts, len(sizes), len(links))


def _component(sizes: Sequence[Size], links: Sequence[Link]) -> Layout:
    """The layout of a connected graph."""
    layer = layers_of(len(sizes), links)
    graph, chains = with_bends(layer, links)
    place = ordered(graph)
    is_bend = np.arange(len(graph.layer)) >= len(sizes)
    widths = np.zeros(len(graph.layer))
    widths[: len(sizes)] = [size.width for size in sizes]
    centres = placed(graph, place, widths, np.where(is_bend, _BEND_GAP, _BOX_GAP), is_bend)
    rows = _rows(graph, centres, sizes)
    curves = route(sizes, links, chains, graph.layer, place, centres, rows)
    boxes = np.column_stack([centres[: len(sizes)], rows.middle[layer]])
    edge = min((centres - widths / 2).min(), min((x for curve in curves for x, _ in curve), default=np.inf))
    width = max((centres + widths / 2).max(), max((x for curve in curves for x, _ in curve), default=-np.inf)) - edge
    return Layout(boxes, curves, width, float(rows.bottom[-1]), crossings(graph, place)).moved(-edge, 0.0)


def with_bends(layer: Ints, links: Sequence[Link]) -> tuple[Layered, list[list[int]]]:
    """The graph with a slot in each layer that an edge passes, and for each link its slots from the top down."""
    layers = layer.tolist()
    upper, lower, chains = list[int](), list[int](), list[list[int]]()
    for tail, head, _ in links:
        top, end = (tail, head) if layers[tail] < layers[head] else (head, tail)
        first = len(layers)
        layers.extend(range(layers[top] + 1, layers[end]))
        chain = [top, *range(first, len(layers)), end]
        upper += chain[:-1]
        lower += chain[1:]
        chains.append(chain)
    return Layered(*(np.array(part, dtype=np.int64) for part in (layers, upper, lower))), chains


def _rows(graph: Layered, centres: Floats, sizes: Sequence[Size]) -> Rows:
    """The heights of the layers: each as high as its highest box, with more between where edges go far aside."""
    heights = np.zeros(graph.num_layers)
    np.maximum.at(heights, graph.layer[: len(sizes)], [size.height for size in sizes])
    aside = np.zeros(graph.num_layers)
    np.maximum.at(aside, graph.layer[graph.upper], np.abs(centres[graph.lower] - centres[graph.upper]))
    gaps = _LAYER_GAP + np.minimum(_MORE_PER_OFFSET * aside, _MOST_MORE)
    tops = np.r_[0.0, np.cumsum(heights + gaps)[:-1]]
    return Rows(np.asarray(np.round(tops, 1)), np.asarray(np.round(tops + heights, 1)))


def _packed(parts: Sequence[tuple[list[int], list[int], Layout]], num_nodes: int, num_links: int) -> Layout:
    """Components side by side in rows that are about as wide as the widest, or as a picture should be."""
    area = sum((part.width + _COMPONENT_GAP) * (part.height + _COMPONENT_GAP) for _, _, part in parts)
    limit = max([(_ASPECT * area) ** 0.5, _NARROW, *(part.width for _, _, part in parts)], default=0.0)
    centres, curves = np.zeros((num_nodes, 2)), list[Curve]([()] * num_links)
    x = y = height = width = 0.0
    for members, inside, part in sorted(parts, key=lambda one: (-len(one[0]), one[0][0])):
        if x and x + part.width > limit:
            x, y, height = 0.0, y + height + _COMPONENT_GAP, 0.0
        moved = part.moved(x, y)
        centres[members] = moved.centres
        for number, curve in zip(inside, moved.curves, strict=True):
            curves[number] = curve
        x, height = x + part.width + _COMPONENT_GAP, max(height, part.height)
        width = max(width, x - _COMPONENT_GAP)
    return Layout(centres, tuple(curves), width, y + height, sum(part.num_crossings for _, _, part in parts))
