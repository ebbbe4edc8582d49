"""Families of a Bayesian network as a polytree: who is whose parent, and an order in which messages can go."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from plausible.base import Floats
from plausible.errors import NotSupported
from plausible.factors import Factor
from plausible.factors.alignment import union_scope
from plausible.variables import Variable

_V = TypeVar("_V")


@dataclass(frozen=True, slots=True, eq=False)
class Polytree:
    """A Bayesian network whose skeleton has no loop, in integers."""

    variables: tuple[Variable, ...]  # The variables; their positions stand for them in what follows
    #: For each variable the numbers of P(x | u) in a row, the state of the child changing fastest, divided by the
    #: largest one.
    tables: tuple[Floats, ...]
    log_floors: tuple[float, ...]  # For each table the logarithm of its smallest positive number
    #: For each variable the positions of its parents (in the order of the axes) and of its children.
    parents: tuple[tuple[int, ...], ...]
    children: tuple[tuple[int, ...], ...]
    order: tuple[int, ...]  # All positions, each after its neighbour towards the root of its tree
    towards: tuple[int, ...]  # For each variable that neighbour; -1 for a root
    log_constant: float  # The logarithm of what was divided out, and of factors that have no variable


def families_by_child(factors: Iterable[Factor]) -> dict[str, Factor]:
    """Child -> its family, where the last variable of each factor is the child; factors without variables are left out.

    `NotSupported` unless each variable is the child of exactly one factor.
    """
    families: dict[str, Factor] = {}
    listed = [factor for factor in factors if factor.scope]
    for factor in listed:
        child = factor.names[-1]
        if child in families:
            raise _no_network(f"{child!r} is the last variable of two factors")
        families[child] = factor
    for variable in union_scope(factor.scope for factor in listed):
        if variable.name not in families:
            raise _no_network(f"{variable.name!r} is the last variable of none")
    return families


def _no_network(problem: str) -> NotSupported:
    return NotSupported(
        "This method needs the families of a Bayesian network: for each variable one factor P(child | parents), the "
        f"child last. But {problem}. Use JunctionTree(), which takes any factors."
    )


def read_polytree(factors: Iterable[Factor]) -> Polytree:
    """The polytree of some families; a loop in the skeleton is refused by name. Linear in the tables."""
    listed = list(factors)
    families = families_by_child(listed)
    positions = {name: position for position, name in enumerate(families)}
    parents = tuple(tuple(positions[name] for name in family.names[:-1]) for family in families.values())
    children: list[list[int]] = [[] for _ in parents]
    for child, row in enumerate(parents):
        for parent in row:
            children[parent].append(child)
    names = tuple(families)
    order, towards = _rooted([(*up, *down) for up, down in zip(parents, children, strict=True)], names)
    peaks = [max(family.max(), 0.0) or 1.0 for family in families.values()]
    constants = [*peaks, *(factor.sum() for factor in listed if not factor.scope)]
    tables = tuple(family.flat / peak for family, peak in zip(families.values(), peaks, strict=True))
    return Polytree(
        variables=tuple(family.scope[-1] for family in families.values()),
        tables=tables,
        log_floors=tuple(math.log(np.min(table, where=table > 0, initial=1.0)) for table in tables),
        parents=parents,
        children=tuple(map(tuple, children)),
        order=order,
        towards=towards,
        log_constant=sum(math.log(constant) if constant > 0 else -math.inf for constant in constants),
    )


def _rooted(neighbors: Sequence[Sequence[int]], names: Sequence[str]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Each tree of the forest from a root outwards, and for each vertex the neighbour that it was reached from."""
    towards: dict[int, int] = {}
    for root in range(len(neighbors)):
        if root in towards:
            continue
        towards[root] = -1
        frontier = [root]
        while frontier:
            vertex = frontier.pop()
            skipped = False
            for other in neighbors[vertex]:
                if other == towards[vertex] and not skipped:
                    skipped = True  # the edge it was reached by; a second one to there would be a loop
                elif other in towards:
                    raise _loop_error(towards, vertex, other, names)
                else:
                    towards[other] = vertex
                    frontier.append(other)
    return tuple(towards), tuple(towards[vertex] for vertex in range(len(neighbors)))


def _loop_error(towards: Mapping[int, int], one: int, other: int, names: Sequence[str]) -> NotSupported:
    """The way from one vertex to the other through the tree, which an edge between them closes."""
    ways: list[list[int]] = [[], []]
    for way, vertex in zip(ways, (one, other), strict=True):
        while vertex >= 0:
            way.append(vertex)
            vertex = towards[vertex]
    above, below = ways
    meeting = next(vertex for vertex in below if vertex in above)
    around = [*above[: above.index(meeting) + 1], *reversed(below[: below.index(meeting)])]
    loop = [names[vertex] for vertex in around]
    path = " - ".join((*loop, loop[0])) if len(loop) <= 12 else " - ".join((*loop[:12], "..."))
    return NotSupported(
        f"The edges {path} form a loop: λ-π propagation is exact on polytrees only. Use JunctionTree(); or condition "
        f"on some of these variables, as in Pearl(cutset=[{loop[0]!r}]); or merge some with cluster_variables()."
    )


def cut_outgoing(factors: Iterable[Factor], hard: Mapping[str, int]) -> list[Factor]:
    """The families with the edges that leave observed variables cut: what is known about a parent needs no message.

    P(x | u, v) becomes P(x | u, v = observed); the family of an observed variable itself stays as it is.
    """
    cut = []
    for factor in factors:
        known = {v.name: v.states[hard[v.name]] for v in factor.scope[:-1] if v.name in hard}
        cut.append(factor.reduce(known) if known else factor)
    return cut


def loop_cutset(factors: Iterable[Factor], observed: Iterable[str] = ()) -> tuple[str, ...]:
    """Variables to condition on so that no loop of the skeleton is left (greedy, after Suermondt & Cooper 1990).

    A known variable cuts the edges that leave it. What hangs on by one edge is on no loop and is taken away again and
    again; of the rest the variable with the most edges to cut for the logarithm of its states is taken, and so on.
    The smallest cutset is NP-hard to find.

    The factors are the families P(child | parents), the child as the last variable of each scope; variables that are
    known anyway are `observed`.

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
    while True:
        around: dict[str, set[str]] = {name: set() for name in families}
        for parent, child in edges:
            around[parent].add(child)
            around[child].add(parent)
        looped = on_loops(around)
        leaving = Counter(parent for parent, child in sorted(edges) if {parent, child} <= looped.keys())
        if not leaving:
            return tuple(cutset)
        chosen = max(leaving, key=lambda name: leaving[name] / weights[name])
        cutset.append(chosen)
        edges = {edge for edge in edges if edge[0] != chosen}


def on_loops(around: Mapping[_V, Set[_V]]) -> dict[_V, set[_V]]:
    """What is left of a graph when vertices with at most one neighbour are taken away again and again."""
    left = {vertex: set(others) for vertex, others in around.items()}
    loose = [vertex for vertex, others in left.items() if len(others) <= 1]
    while loose:
        vertex = loose.pop()
        for other in left.pop(vertex, ()):
            left[other].discard(vertex)
            if len(left[other]) == 1:
                loose.append(other)
    return left
