"""Clique trees over numbered variables, their axes in an order that makes sums run along memory."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from plausible.engine.ordering import best_elimination
from plausible.errors import TooLarge
from plausible.factors.alignment import MAX_ENTRIES
from plausible.variables import Variable


@dataclass(frozen=True, slots=True, eq=False)
class TreeLayout:
    """A tree of cliques with the running intersection property."""

    cliques: tuple[tuple[int, ...], ...]  # the variables of each clique, those that are eliminated first last
    #: For each clique the cliques that it is joined to; parts without common variables are joined too.
    neighbors: tuple[tuple[int, ...], ...]
    homes: tuple[int, ...]  # for each scope asked for, a clique that has all of it
    rank: tuple[int, ...]  # variables come in this order in every clique
    num_entries: int  # the entries of the tables of all cliques
    largest: tuple[int, ...]  # the clique with the largest table


def lay_out(
    variables: Sequence[Variable], scopes: Sequence[tuple[int, ...]], max_entries: int = MAX_ENTRIES
) -> TreeLayout:
    """A tree with a clique for each scope, by a greedy elimination order; refused where its tables are too large."""
    if not variables:
        return TreeLayout(((),), ((),), (0,) * len(scopes), (), 1, ())
    starts = np.cumsum([0, *map(len, scopes)], dtype=np.int64)
    items = np.array([variable for scope in scopes for variable in scope], dtype=np.int64)
    run = best_elimination(items, starts, np.array([v.num_states for v in variables], dtype=np.int64))
    steps = [tuple(run.cliques[a:b].tolist()) for a, b in zip(run.clique_starts, run.clique_starts[1:], strict=False)]
    order = run.order.tolist()
    step_of = {variable: step for step, variable in enumerate(order)}
    following = [min((step_of[v] for v in clique[1:]), default=-1) for clique in steps]
    # For each step one with a maximal clique that holds its clique: see `plausible.graphs.cliques.absorbing_steps`.
    absorber = list(range(len(steps)))
    for step, after in enumerate(following):
        if after >= 0 and len(steps[step]) == len(steps[after]) + 1:
            absorber[after] = absorber[step]
    kept = sorted(set(absorber))
    place = {step: number for number, step in enumerate(kept)}
    rank = [0] * len(variables)
    for step, variable in enumerate(order):
        rank[variable] = len(order) - step
    cliques = tuple(tuple(sorted(steps[step], key=rank.__getitem__)) for step in kept)
    sizes = [math.prod(variables[v].num_states for v in clique) for clique in cliques]
    largest = cliques[max(range(len(cliques)), key=sizes.__getitem__)]
    _check(variables, sum(sizes), largest, max_entries)
    first = [min((step_of[v] for v in scope), default=len(order) - 1) for scope in scopes]
    homes = tuple(place[absorber[step]] for step in first)
    number = [place[step] for step in absorber]
    return TreeLayout(cliques, _neighbors(number, following), homes, tuple(rank), sum(sizes), largest)


def _neighbors(number: Sequence[int], following: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    """The cliques joined where the result of a step enters another, and the last ones of separate parts in a row."""
    around: list[dict[int, None]] = [{} for _ in range(max(number) + 1)]
    roots = [number[step] for step, after in enumerate(following) if after < 0]
    joined = ((number[step], number[after]) for step, after in enumerate(following) if after >= 0)
    for a, b in (*joined, *pairwise(roots)):
        if a != b:
            around[a][b] = around[b][a] = None
    return tuple(map(tuple, around))


def _check(variables: Sequence[Variable], entries: int, largest: tuple[int, ...], limit: int) -> None:
    if entries > limit:
        names = ", ".join(variables[v].name for v in largest[:8]) + (", ..." if len(largest) > 8 else "")
        raise TooLarge(
            f"Solving would need tables with {entries:.3g} entries ({entries * 8 / 2**30:.3g} GiB), the largest over "
            f"{len(largest)} variables ({names}); the limit is {limit:.3g}. Let decisions see less, or join states."
        )


#: A clique has no more neighbours than this, and one more where it is a copy.
_MAX_NEIGHBORS = 8
#: Copies of one clique have no more entries together.
_MAX_COPIED = 2**22


def spread(layout: TreeLayout, sizes: Sequence[int]) -> TreeLayout:
    """A tree in which a clique with many neighbours has copies of itself between it and them.

    Messages to k neighbours of one clique are products of k - 1 others each: k² steps. By a tree of copies these are
    O(k), since a message from a copy to another is a product that many of them share.
    """
    if max(map(len, layout.neighbors)) <= _MAX_NEIGHBORS:
        return layout
    cliques, around = list(layout.cliques), list(map(list, layout.neighbors))
    for clique in range(len(layout.cliques)):
        outer = around[clique]
        entries = math.prod(sizes[v] for v in cliques[clique])
        if len(outer) <= _MAX_NEIGHBORS or entries * len(outer) > _MAX_COPIED:
            continue
        while len(outer) > _MAX_NEIGHBORS:
            outer = [
                _copied(cliques, around, clique, outer[start : start + _MAX_NEIGHBORS])
                for start in range(0, len(outer), _MAX_NEIGHBORS)
            ]
        for copy in outer:
            around[copy].append(clique)
        around[clique] = outer
    return replace(layout, cliques=tuple(cliques), neighbors=tuple(map(tuple, around)))


def _copied(cliques: list[tuple[int, ...]], around: list[list[int]], clique: int, outer: list[int]) -> int:
    """Put a copy of a clique between it and some neighbours, of which copies do not know it yet."""
    copy = len(cliques)
    cliques.append(cliques[clique])
    around.append(list(outer))
    for other in outer:
        if clique in around[other]:
            around[other][around[other].index(clique)] = copy
        else:
            around[other].append(copy)
    return copy
