"""Where people put nodes: their places go into the notes of the model, as an edit that can be undone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

import numpy as np

from plausible.base.arrays import Floats
from plausible.errors import InvalidArgument, NotSupported, UnknownVariable
from plausible.models import Notes
from plausible.plotting.free import free_place, kept
from plausible.plotting.geometry import Size
from plausible.plotting.models import places_of
from plausible.plotting.scenes import Scene
from plausible.studio.asked import Asked
from plausible.studio.desk import Desk, Version
from plausible.studio.seeing import live_at, told_of

#: Nodes of larger pictures stay where they are laid out: edges round a thousand boxes take too long.
MOST_PLACED: Final = 150
#: No picture reaches further.
_FARTHEST = 1e6
#: Places in a file are those of the picture where one scale and a shift make them so, but for so much.
_MOST_ASIDE = 1.0


def move(desk: Desk, asked: Asked) -> dict[str, Any]:
    """The outline of the model after a node was put elsewhere: where its centre is wanted, or next to that."""
    version = desk.version(asked.text("model"))
    name, wanted = asked.text("name"), (asked.number("x"), asked.number("y"))
    if max(map(abs, wanted)) > _FARTHEST:
        raise InvalidArgument(f"{wanted} is no place in a picture.")
    scene = live_at(version, asked).scene
    names, sizes, centres = _boxes(scene)
    if name not in names:
        raise UnknownVariable.named(name, names, "this picture")
    if not 1 < len(names) <= MOST_PLACED:
        raise NotSupported(f"Nodes can be put elsewhere in pictures with up to {MOST_PLACED} of them.")
    box = names.index(name)
    placed = centres.copy()
    placed[box] = free_place(sizes, centres, box, wanted)
    if kept(sizes, placed.tolist()) is None:
        raise InvalidArgument(f"That is too far away from the other nodes: {name!r} stays where it is.")
    return _rearranged(desk, version, _in_units_of_notes(version, names, centres, placed))


def tidy(desk: Desk, asked: Asked) -> dict[str, Any]:
    """The outline of the model without places: its picture is laid out anew."""
    return _rearranged(desk, desk.version(asked.text("model")), {})


def _boxes(scene: Scene) -> tuple[list[str], list[Size], Floats]:
    """The names of the nodes that are shown, the sizes of their boxes, and their centres."""
    frames = [node["items"][0] for node in scene.data["nodes"]]
    sizes = [Size(frame["width"], frame["height"]) for frame in frames]
    centres = [(frame["x"] + frame["width"] / 2, frame["y"] + frame["height"] / 2) for frame in frames]
    return [node["name"] for node in scene.data["nodes"]], sizes, np.array(centres)


def _in_units_of_notes(
    version: Version, names: list[str], centres: Floats, placed: Floats
) -> dict[str, tuple[float, float]]:
    """The places to note: of all that is shown, or in the measure of a file that has places for all of that already."""
    present = places_of(version.model)
    shown = {name: (round(float(x), 1), round(float(y), 1)) for name, (x, y) in zip(names, placed, strict=True)}
    if not all(name in present for name in names):
        return shown
    own = np.array([present[name] for name in names])
    from_middle, own_from_middle = centres - centres.mean(axis=0), own - own.mean(axis=0)
    scale = float((own_from_middle * from_middle).sum() / (from_middle**2).sum())
    if scale <= 0 or np.abs(own_from_middle - scale * from_middle).max() > _MOST_ASIDE * scale:
        return shown
    moved = own + scale * (placed - centres)
    return present | {name: (round(float(x), 3), round(float(y), 3)) for name, (x, y) in zip(names, moved, strict=True)}


def _rearranged(desk: Desk, version: Version, places: Mapping[str, tuple[float, float]]) -> dict[str, Any]:
    model = version.model
    if not hasattr(model, "with_notes"):
        raise NotSupported(f"A {type(model).__name__} keeps no places of nodes.")
    notes: Notes = model.notes
    known = {*notes.variables, *places}
    variables = {name: replace(notes.of(name), position=places.get(name)) for name in known}
    return told_of(desk.put(model.with_notes(replace(notes, variables=variables)), version.name, version))
