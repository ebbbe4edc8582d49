"""Edits on the page: each makes another model, so that a step back is the one before."""

from __future__ import annotations

from typing import Any

from plausible.decisions import InfluenceDiagram
from plausible.errors import InvalidArgument
from plausible.studio import diagram_edits, network_edits
from plausible.studio.asked import Asked
from plausible.studio.desk import Desk
from plausible.studio.seeing import told_of


def edit(desk: Desk, asked: Asked) -> dict[str, Any]:
    """The outline of the model after an edit; `action` says which."""
    before = desk.version(asked.text("model"))
    action = asked.text("action")
    if action not in network_edits.ACTIONS:
        raise InvalidArgument(f"{action!r} is no edit: {', '.join(network_edits.ACTIONS)}.")
    if isinstance(before.model, InfluenceDiagram):
        model: Any = diagram_edits.edited(before.model, action, asked)
    else:
        model = network_edits.ACTIONS[action](desk.network(before.number), asked)
    return told_of(desk.put(model, before.name, before))


def family(desk: Desk, asked: Asked) -> dict[str, Any]:
    """What there is to edit of a node: its states, its parents, its table, its noisy-or or tree."""
    number, name = asked.text("model"), asked.text("name")
    model = desk.version(number).model
    if isinstance(model, InfluenceDiagram):
        return diagram_edits.family(model, name)
    return network_edits.family(desk.network(number), name)
