"""Greedy elimination orders of numbered nodes: at each step the lowest score goes.

Large graphs are left to the compiled kernel, which keeps the same scores in the same way; its numbers are floats, so
it is asked only where whole numbers stay exact.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from heapq import heapify, heappop, heappush
from itertools import combinations
from math import prod
from typing import Literal, TypeAlias

import numpy as np

from plausible.graphs.separation import KERNEL_SIZE, Rows
from plausible.kernels import elimination as kernels
from plausible.kernels import heuristics

#: The greedy scores that `elimination_order` knows.
Heuristic: TypeAlias = Literal["min-fill", "min-neighbors", "weighted-min-fill", "min-weight"]

#: Whole numbers up to this one are exact as floats.
_EXACT = 2**53


def greedy_order(
    neighbors: Rows, sizes: Sequence[int], heuristic: Heuristic, candidates: Sequence[int], rank: Sequence[int]
) -> list[int]:
    """Eliminate the candidates, the lowest score first, then the lowest rank: see `elimination_order`."""
    kind, weight = _SCORES[heuristic]
    weights = sizes if weight is None else [weight] * len(neighbors)
    is_large = len(neighbors) + sum(map(len, neighbors)) // 2 >= KERNEL_SIZE
    if is_large and heuristic != "min-weight" and sum(weights) ** 2 < _EXACT:
        return _order_by_kernel(neighbors, weights, heuristic, candidates, rank)
    return _order_by_scores(kind(list(map(set, neighbors)), weights), candidates, rank)


def _order_by_kernel(
    neighbors: Rows, weights: Sequence[int], heuristic: Heuristic, candidates: Sequence[int], rank: Sequence[int]
) -> list[int]:
    known = {
        "min-fill": heuristics.MIN_FILL,
        "min-neighbors": heuristics.MIN_NEIGHBORS,
        "weighted-min-fill": heuristics.WEIGHTED_MIN_FILL,
    }
    edges = np.array([(a, b) for a, row in enumerate(neighbors) for b in row if a < b], dtype=np.int64).reshape(-1)
    order: list[int] = kernels.greedy_order(
        edges,
        np.arange(0, edges.size + 1, 2),
        np.array(weights, dtype=np.int64),
        known[heuristic],
        np.array(rank, dtype=np.int64),
        np.array(candidates, dtype=np.int64),
    ).tolist()
    return order


def _order_by_scores(scores: _Scores, candidates: Sequence[int], rank: Sequence[int]) -> list[int]:
    """On a heap, whose entries are passed over where they no longer tell the score."""
    heap = [(scores.values[node], rank[node], node) for node in candidates]
    heapify(heap)
    waiting = set(candidates)
    order: list[int] = []
    while waiting:
        score, _, node = heappop(heap)
        if node not in waiting or score != scores.values[node]:
            continue
        waiting.discard(node)
        order.append(node)
        for other in scores.eliminate(node) & waiting:
            heappush(heap, (scores.values[other], rank[other], other))
    return order


class _Scores(ABC):
    """The scores of all nodes, kept true while nodes are eliminated."""

    def __init__(self, neighbors: list[set[int]], sizes: Sequence[int]) -> None:
        self.neighbors, self.sizes = neighbors, sizes
        self.values = [self._score(node) for node in range(len(neighbors))]

    def eliminate(self, node: int) -> set[int]:
        """Join the neighbours of a node, take it away, and return the nodes whose score may have changed."""
        around = sorted(self.neighbors[node])
        changed = set(around)
        for a, b in combinations(around, 2):
            if b not in self.neighbors[a]:
                changed |= self._before_join(a, b)
                self.neighbors[a].add(b)
                self.neighbors[b].add(a)
        for other in around:
            self._before_parting(other, node)
            self.neighbors[other].discard(node)
        return changed

    @abstractmethod
    def _score(self, node: int) -> int:
        """The score from scratch."""

    @abstractmethod
    def _before_join(self, a: int, b: int) -> set[int]:
        """Update the scores for the edge `a - b`, about to come; return others whose score this changes."""

    @abstractmethod
    def _before_parting(self, node: int, leaving: int) -> None:
        """Update the score of `node` for the loss of a neighbour whose other neighbours it all has."""


class _FillScores(_Scores):
    """The weight of the edges missing between the neighbours of a node, an edge weighing the sizes of its two ends."""

    def __init__(self, neighbors: list[set[int]], sizes: Sequence[int]) -> None:
        self.sizes = sizes
        self.totals = [self._weigh(row) for row in neighbors]  # the sizes of all neighbours together
        super().__init__(neighbors, sizes)

    def _weigh(self, nodes: Iterable[int]) -> int:
        return sum(map(self.sizes.__getitem__, nodes))

    def _score(self, node: int) -> int:
        around, sizes = self.neighbors[node], self.sizes
        strangers = (self.totals[node] - sizes[a] - self._weigh(around & self.neighbors[a]) for a in around)
        return sum(sizes[a] * weight for a, weight in zip(around, strangers, strict=True)) // 2

    def _before_join(self, a: int, b: int) -> set[int]:
        shared = self.neighbors[a] & self.neighbors[b]
        known = self._weigh(shared)
        for one, other in ((a, b), (b, a)):
            self.values[one] += self.sizes[other] * (self.totals[one] - known)
            self.totals[one] += self.sizes[other]
        for node in shared:
            self.values[node] -= self.sizes[a] * self.sizes[b]
        return shared

    def _before_parting(self, node: int, leaving: int) -> None:
        self.totals[node] -= self.sizes[leaving]
        strangers = self.totals[node] - (self.totals[leaving] - self.sizes[node])
        self.values[node] -= self.sizes[leaving] * strangers


class _TableScores(_Scores):
    """The entries of a table over the neighbours of a node."""

    def _score(self, node: int) -> int:
        return prod(self.sizes[other] for other in self.neighbors[node])

    def _before_join(self, a: int, b: int) -> set[int]:
        self.values[a] *= self.sizes[b]
        self.values[b] *= self.sizes[a]
        return set()

    def _before_parting(self, node: int, leaving: int) -> None:
        self.values[node] //= self.sizes[leaving]


# Counting is weighing with equal weights: ones count edges, and tables of binary nodes rank by their dimension.
_SCORES: dict[Heuristic, tuple[type[_Scores], int | None]] = {
    "min-fill": (_FillScores, 1),
    "weighted-min-fill": (_FillScores, None),
    "min-neighbors": (_TableScores, 2),
    "min-weight": (_TableScores, None),
}
