"""The part of a ground network that a question touches, found without making the rest."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from plausible.models.relations.grounding import Grounding
from plausible.models.relations.instance import Links


@dataclass(frozen=True, slots=True)
class Requisite:
    """Nodes whose distributions an answer can depend on, and those that are only conditioned on."""

    nodes: list[int]
    inputs: list[int]


def requisite(
    grounding: Grounding,
    targets: Iterable[int],
    observed: Collection[int],
    weighed: Collection[int],
    cut: Collection[int],
) -> Requisite:
    """What P(targets | evidence) depends on: a ball bounces from the targets (Shachter 1998). O(nodes it meets).

    Parameters
    ----------
    targets
        Nodes that are asked for.
    observed, weighed
        Nodes with a state, besides those that the tables have, and nodes with a belief.
    cut
        Nodes that are set from outside.
    """
    known, parents, children = grounding.is_known, grounding.parents, grounding.children
    fixed, soft, causeless = set(observed), set(weighed), set(cut)
    up: set[int] = set()
    down: set[int] = set()
    seen: set[int] = set()
    waiting = [(node, True) for node in targets]
    while waiting:
        node, from_below = waiting.pop()
        is_observed = node in causeless or node in fixed or bool(known[node])
        seen.update([node] if is_observed else [])
        passes_up = node not in causeless and (node in soft or is_observed != from_below)
        passes_down = not is_observed
        if passes_up and node not in up:
            up.add(node)
            waiting += [(parent, True) for parent in _around(parents, node)]
        if passes_down and node not in down:
            down.add(node)
            waiting += [(child, False) for child in _around(children, node)]
    return Requisite(sorted(up), sorted(seen - up))


def _around(links: Links, node: int) -> list[int]:
    around: list[int] = links.ends[links.starts[node] : links.starts[node + 1]].tolist()
    return around
