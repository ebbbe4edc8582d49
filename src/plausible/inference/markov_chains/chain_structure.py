"""Which states of a Markov chain lead to which: communicating classes, closed ones, and their periods."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from plausible.base.arrays import Flags, Ints

__all__ = ["Structure", "structure_of"]


@dataclass(frozen=True, slots=True, eq=False)
class Structure:
    """The communicating classes of a chain.

    Attributes
    ----------
    labels
        The number of each state's class; classes are numbered by their first states.
    is_closed
        For each class, whether no transition leaves it.
    periods
        For each class the greatest common divisor of the lengths of its cycles; zero where there are none.
    """

    labels: Ints
    is_closed: Flags
    periods: Ints

    @property
    def num_classes(self) -> int:
        """How many classes there are."""
        return len(self.is_closed)

    def members(self) -> list[Ints]:
        """The states of each class."""
        order = np.argsort(self.labels, kind="stable")
        return np.split(order, np.flatnonzero(np.diff(self.labels[order])) + 1)


def structure_of(matrix: Any) -> Structure:
    """The structure of a sparse transition matrix, in time linear in its entries up to a logarithm.

    States communicate if each can be reached from the other: classes are the strong components of the graph of
    positive transitions. All periods come from one search: with distances d from a state of each class, the period is
    the greatest common divisor of d(i) + 1 - d(j) over the transitions i -> j inside it (Denardo 1977).
    """
    from scipy.sparse import coo_array, csr_array
    from scipy.sparse.csgraph import connected_components, dijkstra

    size = matrix.shape[0]
    entries = coo_array(matrix)
    positive = entries.data > 0
    sources, targets = entries.row[positive], entries.col[positive]
    found = connected_components(csr_array(matrix), directed=True, connection="strong")[1]
    _, roots, labels = np.unique(found, return_index=True, return_inverse=True)
    order = np.argsort(np.argsort(roots))  # classes by their first states
    labels, roots = order[labels].astype(np.int64), np.sort(roots)
    is_closed = np.ones(len(roots), dtype=bool)
    inside = labels[sources] == labels[targets]
    is_closed[labels[sources[~inside]]] = False
    sources, targets = sources[inside], targets[inside]
    rows, columns = np.append(sources, np.full(len(roots), size)), np.append(targets, roots)
    graph = csr_array((np.ones(len(rows)), (rows, columns)), shape=(size + 1, size + 1))
    depths = dijkstra(graph, unweighted=True, indices=size)[:size].astype(np.int64)
    periods = np.zeros(len(roots), dtype=np.int64)
    np.gcd.at(periods, labels[sources], np.abs(depths[sources] + 1 - depths[targets]))
    return Structure(labels, is_closed, periods)
