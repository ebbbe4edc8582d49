"""Multi-attribute utilities of XDSL files: weighted sums are folded into the utilities that they add up."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Final

from plausible.errors import CyclicGraph, PlausibleWarning, suggestion
from plausible.graphs import DAG
from plausible.io.assembly import warn_reader
from plausible.io.scanner import shown
from plausible.io.xml_source import Element

_NUMBER: Final = r"(?:\d++(?:\.\d*+)?|\.\d++)(?:[eE][+-]?\d++)?"
#: A sign (or several, or none), and a name that may have a number before or behind it.
_TERM: Final = re.compile(
    rf"(?P<signs>[+\-\s]*+)(?:(?P<before>{_NUMBER})\s*+\*\s*+)?(?P<name>[A-Za-z_]\w*+)"
    rf"(?:\s*+\*\s*+(?P<behind>{_NUMBER}))?\s*+(?=[+-]|$)"
)


def utility_weights(nodes: Element) -> dict[str, float]:
    """Identifier -> what the numbers of each <utility> count with in the total.

    A <mau> node is the sum of its parents, each times its weight, which is one if there are no <weights>; or it has an
    expression, such as `Gain + 2*Fun`, which is read if it is such a sum. Its own weight is one, unless other such
    nodes add it up; so the weight of a utility is the sum, over the paths down from it, of the product of the weights
    on them. A node that combines its parents in another way, such as by multiplying them, is refused: utilities of an
    influence diagram add.
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
    given = node.at_most_one("parents")
    parts = given.words() if given else []
    if name in parts:
        raise node.error(f"{name!r} adds itself up.")
    for part in parts:
        if given is not None and part not in known:
            raise given.place_of(part).error(f"{name!r} adds utilities up, and {part!r} is none.")
    found = dict.fromkeys(parts, 0.0)
    for part, weight in _listed(node, parts):
        found[part] += weight
    return found


def _listed(node: Element, parts: Sequence[str]) -> list[tuple[str, float]]:
    """The parts of a sum with their weights; a part may come more than once."""
    ways = list(node.named("weights", "expressions", "expression"))
    if len(ways) > 1:
        raise ways[1].error("<mau> has either <weights> or one expression.")
    if not ways:
        return [(part, 1.0) for part in parts]
    if ways[0].tag != "weights":
        return _linear(node.attribute("id"), ways[0], parts)
    weights = ways[0].numbers()
    if weights.size != len(parts):
        raise ways[0].error(f"<weights> needs a number for each of the {len(parts)} parents, and has {weights.size}.")
    return list(zip(parts, weights.tolist(), strict=True))


def _linear(name: str, element: Element, parts: Sequence[str]) -> list[tuple[str, float]]:
    """The terms of an expression that is a weighted sum: names with or without a number, between plus and minus."""
    inner = list(element.named("expression")) or [element]
    if len(inner) > 1:
        raise inner[1].error(f"{name!r} has several expressions; only one, a weighted sum, can be read.")
    if inner[0] is not element:
        element.check_children(("expression",))
    text = re.sub(rf"^\s*{re.escape(name)}\s*=", "", inner[0].content())
    terms: list[tuple[str, float]] = []
    start = 0
    while start < len(text) or not terms:
        term = _TERM.match(text, start)
        if term is None:
            raise element.error(
                f"{name!r} combines utilities by the expression {shown(text)}. Utilities of an influence diagram add: "
                "only weighted sums, such as U + 2*V - W, can be read. Put the combination into one utility with all "
                "the parents."
            )
        if term["name"] not in parts:
            hint = suggestion(term["name"], parts)
            raise element.error(f"{term['name']!r}, in the expression of {name!r}, is none of its parents.{hint}")
        size = float(term["before"] or 1) * float(term["behind"] or 1)
        if not math.isfinite(size):
            raise element.error(f"The weight of {term['name']!r}, in the expression of {name!r}, is not finite.")
        terms.append((term["name"], -size if term["signs"].count("-") % 2 else size))
        start = term.end()
    return terms


def warn_of_sums(sums: Collection[str], weights: Mapping[str, float]) -> None:
    """Say that weighted sums are in the numbers of the utilities now; plain sums are what utilities make anyway."""
    told = ", ".join(f"{name} by {weight:g}" for name, weight in weights.items() if weight != 1)
    if told:
        warn_reader(
            f"The weighted sums {sorted(sums)} of utilities are left out; instead, the numbers of the utilities were "
            f"multiplied: {told}.",
            PlausibleWarning,
        )
