"""Why a belief is what it is: what separates variables, and what keeps them connected."""

from __future__ import annotations

from typing import Any

from plausible.studio.asked import Asked
from plausible.studio.desk import Desk


def separation(desk: Desk, asked: Asked) -> dict[str, Any]:
    """Whether two sets of variables are separated given a third; the trails between them, and what blocks each."""
    graph = desk.version(asked.text("model")).shown.graph
    told = graph.explain_separation(asked.texts("x"), asked.texts("y"), given=asked.texts("given", []))
    trails = [
        {
            "text": str(trail),
            "nodes": [str(node) for node in trail.nodes],
            "isActive": trail.is_active,
            "blockers": [str(junction.node) for junction in trail.blockers],
        }
        for trail in told.trails
    ]
    return {"text": str(told), "isSeparated": told.separated, "trails": trails}
