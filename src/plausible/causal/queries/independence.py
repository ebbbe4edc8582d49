"""Causal independence: to set X makes no difference to Y once Z is set."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from plausible.base.records import record
from plausible.base.tolerances import WRITTEN_ROUNDING
from plausible.causal.queries.arguments import CausalLike, read_nodes, read_variables, refuse_overlap
from plausible.causal.queries.association import effect_table
from plausible.errors import InvalidArgument
from plausible.graphs.causal_graph import CausalGraph, read_causes
from plausible.graphs.dag import DAG
from plausible.graphs.nodes import Node, Nodes
from plausible.graphs.text import quote
from plausible.models import BayesianNetwork


@record
class CausalIndependence:
    """Whether X ⟂_C Y | Z, and how that was found out; it is true where it holds."""

    #: X, Y and Z.
    x: tuple[Node, ...]
    y: tuple[Node, ...]
    given: tuple[Node, ...]
    holds: bool  # The answer. Of a graph, whether every distribution over it has the independence.
    #: A directed path from X to Y around Z, where the graph has one; without it the graph entails the independence.
    path: tuple[Node, ...] | None
    #: The largest difference that x makes to a P(y | do(z), do(x)); `None` where only a graph was given.
    difference: float | None

    def __bool__(self) -> bool:
        return self.holds

    def __str__(self) -> str:
        sides = (", ".join(map(quote, side)) for side in (self.x, self.y))
        claim = " ⟂_C ".join(sides) + (f" | {', '.join(map(quote, self.given))}" if self.given else "")
        if self.path is None:
            return f"{claim} holds: no directed path leads from one to the other."
        way = " -> ".join(map(quote, self.path))
        if self.difference is None:
            return f"{claim} does not follow from the graph: {way}."
        verdict = "holds in this network, though not by its graph" if self.holds else "does not hold"
        return f"{claim} {verdict}: {way} makes a difference of {self.difference:.3g}."


def causally_independent(
    model: BayesianNetwork | CausalLike,
    x: Nodes,
    y: Nodes,
    given: Nodes = (),
    tolerance: float = WRITTEN_ROUNDING,
) -> CausalIndependence:
    """Whether X ⟂_C Y | Z: for all z, P(Y | do(z), do(x)) is the same for all x.

    It is not symmetric, and does not say that P(Y | do(z), do(x)) = P(Y | do(z)). If X ⟂_C Y | Z, W and W ⟂_C Y | X, Z,
    then X, W ⟂_C Y | Z. A graph entails it if and only if every directed path from X to Y passes through Z.

    Parameters
    ----------
    model
        A network, whose numbers then decide, or a DAG or causal graph, which answers for all distributions over it.
    x, y
        What is set, and what may respond; a name or several each.
    given
        Z, what is set besides.
    tolerance
        A difference in probability that counts as none; of no use with a graph.

    Notes
    -----
    With a network, a table over the joint states of X, Y and Z, by one inference; with a graph, linear in its edges.

    References
    ----------
    Koller & Friedman (2009), Probabilistic graphical models, exercise 21.11.

    Examples
    --------
    >>> print(causally_independent("S -> T -> C; S <-> C", "S", "C", given="T"))
    S ⟂_C C | T holds: no directed path leads from one to the other.
    >>> print(causally_independent("S -> T -> C; S <-> C", "S", "C"))
    S ⟂_C C does not follow from the graph: S -> T -> C.
    """
    graph = read_causes(model)
    first, second, third = (read_nodes(graph, group) for group in (x, y, given))
    refuse_overlap({"x": first, "y": second, "given": third})
    if not first or not second:
        raise InvalidArgument("Causal independence is about one node or more on each side: x= or y= is empty.")
    path = directed_path(graph, first, second, third)
    if not isinstance(model, BayesianNetwork):
        return CausalIndependence(first, second, third, path is None, path, None)
    difference = _difference(model, map(str, first), map(str, second), map(str, third))
    return CausalIndependence(first, second, third, difference <= tolerance, path, difference)


def directed_path(
    graph: DAG | CausalGraph, x: tuple[Node, ...], y: tuple[Node, ...], given: tuple[Node, ...]
) -> tuple[Node, ...] | None:
    """A shortest directed path from X to Y on which no node of Z stands."""
    came_from: dict[Node, Node | None] = dict.fromkeys(x)
    queue, targets, closed = list(x), set(y), set(given)
    for node in queue:
        if node in targets:
            path = [node]
            while (before := came_from[path[-1]]) is not None:
                path.append(before)
            return tuple(reversed(path))
        for child in graph.children(node):
            if child not in came_from and child not in closed:
                came_from[child] = node
                queue.append(child)
    return None


def _difference(network: BayesianNetwork, x: Iterable[str], y: Iterable[str], given: Iterable[str]) -> float:
    outcome = read_variables(network, y, "y")
    set_first, set_besides = read_variables(network, x, "x"), read_variables(network, given, "given")
    table = effect_table(network, outcome, (*set_first, *set_besides))
    return float(np.ptp(table, axis=tuple(range(len(set_first)))).max())
