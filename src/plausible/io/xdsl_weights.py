"""Multi-attribute utilities of XDSL files: weighted sums are folded into the utilities that they add up."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from plausible.errors import CyclicGraph, PlausibleWarning
from plausible.graphs import DAG
from plausible.io.origin import warn_reader
from plausible.io.xml_source import Element

__all__ = ["utility_weights", "warn_of_sums"]


def utility_weights(nodes: Element) -> dict[str, float]:
    """Identifier -> what the numbers of each <utility> count with in the total.

    A <mau> node is the sum of its parents, each times its weight. Its own weight is one, unless other such nodes add
    it up; so the weight of a utility is the sum, over the paths down from it, of the product of the weights on them.
    A node that combines its parents in another way, such as by multiplying them, is refused: utilities of an influence
    diagram add.
    """
    utilities = [node.attribute("id") for node in nodes.named("utility")]
    sums = {node.attribute("id"): node for node in nodes.named("mau")}
    known = (*utilities, *sums)
    weighted = {name: _weights(node, known) for name, node in sums.items()}
    edges = [(part, name) for name, parts in weighted.items() for part in parts]
    try:
        graph = DAG(edges, nodes=known)
    except CyclicGraph as error:
        raise sums[str(error.cycle[0])].error(str(error)) from None
    found: dict[str, float] = {}
    for name in map(str, reversed(graph.topological_order)):
        users = [str(user) for user in graph.children(name)]
        found[name] = sum(found[user] * weighted[user][name] for user in users) if users else 1.0
    return {name: found[name] for name in utilities}


def _weights(node: Element, known: Collection[str]) -> dict[str, float]:
    """Identifier -> weight of each part of a sum."""
    name = node.attribute("id")
    expressions = node.at_most_one("expressions")
    if expressions is not None:
        raise expressions.error(
            f"{name!r} combines utilities by an expression, such as a product; utilities of an influence diagram add, "
            "so only weighted sums (<weights>) can be read. Put the combination into one utility with all the parents."
        )
    given = node.at_most_one("parents")
    parts = given.words() if given else []
    if name in parts:
        raise node.error(f"{name!r} adds itself up.")
    for part in parts:
        if given is not None and part not in known:
            raise given.place_of(part).error(f"{name!r} adds utilities up, and {part!r} is none.")
    listed = node.one("weights")
    weights = listed.numbers()
    if weights.size != len(parts):
        raise listed.error(f"<weights> needs a number for each of the {len(parts)} parents, and has {weights.size}.")
    found = dict.fromkeys(parts, 0.0)
    for part, weight in zip(parts, weights.tolist(), strict=True):
        found[part] += weight
    return found


def warn_of_sums(sums: Collection[str], weights: Mapping[str, float]) -> None:
    """Say that weighted sums are in the numbers of the utilities now; plain sums are what utilities make anyway."""
    told = ", ".join(f"{name} by {weight:g}" for name, weight in weights.items() if weight != 1)
    if told:
        warn_reader(
            f"The weighted sums {sorted(sums)} of utilities are left out; instead, the numbers of the utilities were "
            f"multiplied: {told}.",
            PlausibleWarning,
        )
