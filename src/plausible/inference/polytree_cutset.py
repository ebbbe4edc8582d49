"""Loop cutsets: variables that turn a network into a polytree once they are known."""

from __future__ import annotations

import math
from collections.abc import Iterable

from plausible.factors import Factor
from plausible.inference.polytree_structure import families_by_child


def loop_cutset(factors: Iterable[Factor], observed: Iterable[str] = ()) -> tuple[str, ...]:
    """Variables to condition on so that no loop of the skeleton is left (greedy, after Suermondt & Cooper 1990).

    A known variable cuts the edges that leave it. What hangs on by one edge is on no loop and is taken away again and
    again; of the rest the variable with the most edges to cut for the logarithm of its states is taken, and so on.
    The smallest cutset is NP-hard to find.

    Parameters
    ----------
    factors
        The families P(child | parents), the child as the last variable of each scope.
    observed
        The names of variables that are known anyway.

    Examples
    --------
    >>> import numpy as np
    >>> scopes = ["A", "AB", "AC", "BCD"]
    >>> diamond = [Factor(dict.fromkeys(scope, 2), np.full((2,) * len(scope), 0.5)) for scope in scopes]
    >>> loop_cutset(diamond)
    ('A',)
    """
    families = families_by_child(factors)
    known = set(observed)
    edges = {(parent, child) for child, family in families.items() for parent in family.names[:-1]}
    edges = {edge for edge in edges if edge[0] not in known}
    weights = {child: math.log(max(family.scope[-1].num_states, 1.5)) for child, family in families.items()}
    cutset: list[str] = []
    while edges := _on_loops(edges):
        leaving: dict[str, int] = {}
        for parent, _ in sorted(edges):
            leaving[parent] = leaving.get(parent, 0) + 1
        chosen = max(leaving, key=lambda name: leaving[name] / weights[name])
        cutset.append(chosen)
        edges = {edge for edge in edges if edge[0] != chosen}
    return tuple(cutset)


def _on_loops(edges: set[tuple[str, str]]) -> set[tuple[str, str]]:
    """The edges that are left when vertices with a single edge are taken away until there are none."""
    around: dict[str, set[tuple[str, str]]] = {}
    for edge in edges:
        for end in edge:
            around.setdefault(end, set()).add(edge)
    loose = [vertex for vertex, touching in around.items() if len(touching) == 1]
    while loose:
        vertex = loose.pop()
        for edge in tuple(around[vertex]):
            other = edge[0] if edge[1] == vertex else edge[1]
            around[vertex].discard(edge)
            around[other].discard(edge)
            if len(around[other]) == 1:
                loose.append(other)
    return {edge for touching in around.values() for edge in touching}
