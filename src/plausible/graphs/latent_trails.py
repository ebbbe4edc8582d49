"""Trails of a causal graph: those of its canonical DAG, with `<->` for the way over a latent common cause."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Literal

from plausible.graphs.nodes import Node
from plausible.graphs.trails import SeparationExplanation, Trail

__all__ = ["without_latent"]


def without_latent(explanation: SeparationExplanation, observable: AbstractSet[Node]) -> SeparationExplanation:
    """The explanation in terms of the causal graph whose canonical DAG it is about.

    Parameters
    ----------
    explanation
        Of a separation between nodes of the causal graph.
    observable
        The nodes of the causal graph; the others stand for its edges `<->`.
    """
    trails = tuple(_shortened(trail, observable) for trail in explanation.trails)
    return replace(explanation, trails=trails, criterion="m")


def _shortened(trail: Trail, observable: AbstractSet[Node]) -> Trail:
    """The trail with `A <- U -> B` written `A <-> B`. Such a U is a fork that is never observed: it blocks nothing."""
    nodes = tuple(node for node in trail.nodes if node in observable)
    arrows: list[Literal["->", "<-", "<->"]] = []
    for source, arrow in zip(trail.nodes, trail.arrows, strict=False):
        if source in observable:
            arrows.append(arrow)
        else:
            arrows[-1] = "<->"
    junctions = tuple(junction for junction in trail.junctions if junction.node in observable)
    return Trail(nodes, tuple(arrows), junctions)
