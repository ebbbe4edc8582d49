"""Clique trees over numbered variables: from the scopes of factors to cliques and who hangs under whom."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod

from plausible.errors import TooLarge
from plausible.graphs.elimination import Heuristic, elimination_order
from plausible.graphs.nodes import Node
from plausible.graphs.undirected import UndirectedGraph

__all__ = ["MAX_TREE_ENTRIES", "RootedTree", "TreeTooLarge", "build_tree"]

#: Clique trees with more entries than this (8 GiB) are refused.
MAX_TREE_ENTRIES = 2**30

#: Tried in turn, the later ones only where tables are large; the order whose tables are smallest in all wins.
HEURISTICS: tuple[Heuristic, ...] = ("weighted-min-fill", "min-fill", "min-weight")
#: With no more entries than this, another order could not save as much time as it takes to find.
_CHEAP = 10_000


class TreeTooLarge(TooLarge):
    """A clique tree that would not fit; carries its entries and its largest clique, as numbers of variables."""

    def __init__(self, entries: int, clique: tuple[int, ...], clique_entries: int) -> None:
        self.entries, self.clique, self.clique_entries = entries, clique, clique_entries
        super().__init__(f"The clique tree would have {_short(entries)} entries; the limit is {MAX_TREE_ENTRIES:.3g}.")

    def __reduce__(self) -> tuple[object, ...]:
        return TreeTooLarge, (self.entries, self.clique, self.clique_entries)


def _short(number: int) -> str:
    """Three digits and a power of ten; integers beyond the range of floats too."""
    digits = len(str(number)) - 1
    return f"{number:.3g}" if digits < 300 else f"1e+{digits}"


@dataclass(frozen=True, slots=True)
class RootedTree:
    """Cliques in an order in which children come before parents.

    Attributes
    ----------
    cliques
        The variables of each clique.
    parents
        The position of each clique's parent; -1 for the root of a component.
    """

    cliques: tuple[frozenset[int], ...]
    parents: tuple[int, ...]


def build_tree(scopes: Iterable[Sequence[int]], sizes: Sequence[int], order: Sequence[int] | None = None) -> RootedTree:
    """The clique tree of an elimination order, each component rooted at its smallest clique.

    The root's own marginals need passes over its whole table, those of other cliques do not: so a small root is best.

    Parameters
    ----------
    scopes
        The variables of each factor, as numbers.
    sizes
        The number of states of each variable.
    order
        An elimination order; the cheapest of several greedy ones where left out.
    """
    graph = UndirectedGraph((pair for scope in scopes for pair in combinations(scope, 2)), nodes=range(len(sizes)))
    if order is None:
        order, cliques = _best_run(graph, sizes)
    else:
        cliques = _eliminate(graph, order)
    kept, adjacent = _merged(cliques, order)
    _check_size(kept.values(), sizes)
    return _rooted(kept, adjacent, sizes)


def _check_size(cliques: Iterable[frozenset[int]], sizes: Sequence[int]) -> None:
    entries = {clique: _entries(clique, sizes) for clique in cliques}
    total = sum(entries.values())
    if total > MAX_TREE_ENTRIES:
        largest = max(entries, key=entries.__getitem__)
        raise TreeTooLarge(total, tuple(sorted(largest)), entries[largest])


def _best_run(graph: UndirectedGraph, sizes: Sequence[int]) -> tuple[list[int], list[frozenset[int]]]:
    weights: dict[Node, int] = dict(enumerate(sizes))
    best: tuple[int, list[int], list[frozenset[int]]] | None = None
    for heuristic in HEURISTICS:
        order = [node for node in elimination_order(graph, heuristic, cardinalities=weights) if isinstance(node, int)]
        cliques = _eliminate(graph, order)
        cost = sum(_entries(clique, sizes) for clique in cliques)
        if best is None or cost < best[0]:
            best = (cost, order, cliques)
        if best[0] <= _CHEAP:
            break
    assert best is not None
    return best[1], best[2]


def _entries(clique: Iterable[int], sizes: Sequence[int]) -> int:
    return prod(sizes[variable] for variable in clique)


def _eliminate(graph: UndirectedGraph, order: Sequence[int]) -> list[frozenset[int]]:
    """For each step the variable and its neighbours at that moment."""
    neighbors = [set(row) for row in graph.neighbor_rows]
    cliques: list[frozenset[int]] = []
    for variable in order:
        around = neighbors[variable]
        for other in around:
            neighbors[other] |= around
            neighbors[other] -= {other, variable}
        cliques.append(frozenset(around | {variable}))
    return cliques


def _merged(
    cliques: list[frozenset[int]], order: Sequence[int]
) -> tuple[dict[int, frozenset[int]], dict[int, set[int]]]:
    """The maximal cliques of an elimination run, and the tree that joins them.

    The clique of a step hangs under that of the next variable in it; a clique that one of its children contains is
    taken over by that child.
    """
    rank = {variable: step for step, variable in enumerate(order)}
    kept = dict(enumerate(cliques))
    adjacent: dict[int, set[int]] = {step: set() for step in kept}
    for step, clique in enumerate(cliques):
        later = [rank[variable] for variable in clique if rank[variable] > step]
        if later:
            adjacent[step].add(min(later))
            adjacent[min(later)].add(step)
    for step, clique in enumerate(cliques):
        larger = next((other for other in adjacent[step] if other < step and clique <= kept[other]), None)
        if larger is not None:
            for other in adjacent.pop(step) - {larger}:
                adjacent[other] ^= {step, larger}
                adjacent[larger].add(other)
            adjacent[larger].discard(step)
            del kept[step]
    return kept, adjacent


def _rooted(kept: dict[int, frozenset[int]], adjacent: dict[int, set[int]], sizes: Sequence[int]) -> RootedTree:
    cliques: list[frozenset[int]] = []
    parents: list[int] = []
    placed: set[int] = set()
    for start in kept:
        if start in placed:
            continue
        component = [clique for clique, _ in _walk(start, adjacent)]
        root = min(component, key=lambda clique: (_entries(kept[clique], sizes), clique))
        walk = _walk(root, adjacent)[::-1]
        position = {clique: len(cliques) + place for place, (clique, _) in enumerate(walk)}
        placed |= position.keys()
        cliques += [kept[clique] for clique, _ in walk]
        parents += [position.get(above, -1) for _, above in walk]
    return RootedTree(tuple(cliques), tuple(parents))


def _walk(root: int, adjacent: dict[int, set[int]]) -> list[tuple[int, int]]:
    """(clique, the one above it), from the root down; -1 is above the root."""
    walk = [(root, -1)]
    for clique, above in walk:
        walk += [(other, clique) for other in sorted(adjacent[clique]) if other != above]
    return walk
