"""Groups in frames: each is laid out by itself, and then stands among the others as one box."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from plausible.base.records import one_line
from plausible.plotting.free import curve_between, framed
from plausible.plotting.geometry import Size
from plausible.plotting.layers import Link
from plausible.plotting.layout import Layout, lay_out
from plausible.plotting.measuring import fitted, text_width
from plausible.plotting.parts import Box, Part, Text

#: How far the frame of a group reaches beyond its boxes, the room for its name above them, and the size of that.
_PLATE, _LABEL, _TEXT = 14.0, 22.0, 11.5


def plate(name: str, layout: Layout, sizes: Sequence[Size], members: Sequence[int], beside: Sequence[int] = ()) -> Part:
    """The frame round some boxes, as high as what is beside them, under its name."""
    half = np.array([size[:2] for size in sizes]) / 2
    low, high = layout.centres - half, layout.centres + half
    rows = list(beside or members)
    left, right = float(low[members, 0].min()) - _PLATE, float(high[members, 0].max()) + _PLATE
    top, bottom = float(low[rows, 1].min()) - _PLATE - _LABEL, float(high[rows, 1].max()) + _PLATE
    frame = Box(left, top, right - left, bottom - top, "panel", "track", radius=10.0)
    label = Text(left + 12, top + 18, fitted(name, _TEXT, right - left - 24), _TEXT, "muted")
    return Part("plate", name, one_line(name), (frame, label))


def lay_out_groups(sizes: Sequence[Size], links: Sequence[Link], named: Mapping[str, Sequence[int]]) -> Layout:
    """Boxes in groups that do not overlap; what is in no group stands beside them.

    Links keep the curves that they have within a group or outside of all; those across bend round boxes and names.
    """
    groups = list(named.values())
    of_node = {node: place for place, members in enumerate(groups) for node in members}
    alone = [node for node in range(len(sizes)) if node not in of_node]
    block = [of_node.get(node, -1) for node in range(len(sizes))]
    for place, node in enumerate(alone):
        block[node] = len(groups) + place
    inner = [_within(sizes, links, members) for members in groups]
    frames = [Size(part.width + 2 * _PLATE, part.height + 2 * _PLATE + _LABEL) for part, _ in inner]
    across = [number for number, (tail, head, _) in enumerate(links) if block[tail] != block[head]]
    between = [Link(block[links[n].tail], block[links[n].head], links[n].goes_down) for n in across]
    outer = lay_out([*frames, *(sizes[node] for node in alone)], between)
    centres, curves = np.zeros((len(sizes), 2)), dict(zip(across, outer.curves, strict=True))
    centres[alone] = outer.centres[len(groups) :]
    in_the_way, of_names = [], []
    for (part, numbers), name, frame, centre in zip(inner, named, frames, outer.centres.tolist(), strict=False):
        left, top = centre[0] - frame.width / 2, centre[1] - frame.height / 2
        placed = part.moved(left + _PLATE, top + _PLATE + _LABEL)
        centres[list(named[name])] = placed.centres
        curves |= dict(zip(numbers, placed.curves, strict=True))
        of_names.append(Size(min(text_width(name, _TEXT), frame.width - 24), _TEXT))
        in_the_way.append((left + 12 + of_names[-1].width / 2, top + 14))
    fixed, every = np.vstack([centres, np.reshape(in_the_way, (-1, 2))]), [*sizes, *of_names]
    for number in across:
        if links[number].tail in of_node or links[number].head in of_node:
            curves[number] = curve_between(fixed, every, links[number])
    return framed(centres, sizes, [curves[number] for number in range(len(links))])


def _within(sizes: Sequence[Size], links: Sequence[Link], members: Sequence[int]) -> tuple[Layout, list[int]]:
    """The layout of a group, and which links it has."""
    place = {node: number for number, node in enumerate(members)}
    numbers = [number for number, (tail, head, _) in enumerate(links) if tail in place and head in place]
    own = [Link(place[links[n].tail], place[links[n].head], links[n].goes_down) for n in numbers]
    return lay_out([sizes[node] for node in members], own), numbers
