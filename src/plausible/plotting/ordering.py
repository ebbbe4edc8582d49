"""The order within layers: sweeps by barycentres and exchanges of neighbours, so that few edges cross."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from plausible.base.arrays import Ints

#: Sweeps without a better order after which the search ends, and the most of them.
_PATIENCE, _MAX_SWEEPS = 12, 80
#: Rounds of exchanges after a sweep, and at the end.
_FEW_ROUNDS, _MANY_ROUNDS = 3, 60


@dataclass(frozen=True, slots=True)
class Layered:
    """A graph whose edges all go from one layer to the next: long ones pass through a slot of each layer between."""

    layer: Ints  # of each slot
    upper: Ints  # The slots that the edges leave
    lower: Ints  # The slots that they enter, one layer below

    @property
    def num_layers(self) -> int:
        """The number of layers."""
        return int(self.layer.max(initial=-1)) + 1


def ordered(graph: Layered) -> Ints:
    """The place of each slot in its layer, from the left: of several starts, the one with the fewest crossings.

    Barycentres (Sugiyama, Tagawa & Toda 1981) and exchanges of neighbours (Gansner, Koutsofios, North & Vo 1993). All
    is compared in whole numbers or their quotients, ties keep their order, so the answer is the same everywhere.
    """
    best, fewest = _dense(graph.layer, np.arange(len(graph.layer))), None
    for keys in _starts(graph):
        place = _dense(graph.layer, keys)
        count = crossings(graph, place)
        place, count = _swept(graph, place, count)
        if fewest is None or count < fewest:
            best, fewest = place, count
        if not fewest:
            break
    return best


def crossings(graph: Layered, place: Ints) -> int:
    """How many pairs of edges cross.

    Edges sorted by where they leave cross where the places they enter are out of order. Those pairs are counted for
    each binary digit in which the two first differ.
    """
    order = np.lexsort((place[graph.lower], place[graph.upper], graph.layer[graph.upper]))
    width = int(place.max(initial=0)) + 1
    ends = (graph.layer[graph.lower] * width + place[graph.lower])[order]
    rows = graph.layer[graph.lower][order]
    total = 0
    for digit in range(width.bit_length()):
        # Edges with all higher digits alike stand together, each in the order of its upper end.
        within = ends - rows * width
        groups = rows * (width + 1) + (within >> (digit + 1))
        arranged = np.argsort(groups, kind="stable")
        bits, groups = (within[arranged] >> digit) & 1, groups[arranged]
        ones = np.cumsum(bits)
        starts = np.r_[True, groups[1:] != groups[:-1]]
        before = np.maximum.accumulate(np.where(starts, ones - bits, 0))
        total += int(((ones - before) * (1 - bits)).sum())
    return total


def _starts(graph: Layered) -> list[Ints]:
    """Orders to begin with: as the slots are numbered, and as a walk down from each root meets them."""
    numbered = np.arange(len(graph.layer))
    return [_depth_first(graph), numbered, -_depth_first(graph)]


def _depth_first(graph: Layered) -> Ints:
    """The slots in the order in which a walk along the edges, up and down, meets them."""
    num_slots = len(graph.layer)
    around: list[list[int]] = [[] for _ in range(num_slots)]
    for a, b in zip(graph.upper.tolist(), graph.lower.tolist(), strict=True):
        around[a].append(b)
        around[b].append(a)
    met = np.full(num_slots, -1)
    count = 0
    for root in np.argsort(graph.layer, kind="stable").tolist():
        waiting = [root]
        while waiting:
            slot = waiting.pop()
            if met[slot] < 0:
                met[slot] = count
                count += 1
                waiting.extend(reversed(around[slot]))
    return met


def _dense(layer: Ints, keys: Ints) -> Ints:
    """The places 0, 1, ... in each layer in the order of the keys."""
    order = np.lexsort((keys, layer))
    sizes = np.bincount(layer)
    starts = np.cumsum(sizes) - sizes
    place = np.empty(len(layer), dtype=np.int64)
    place[order] = np.arange(len(layer)) - starts[layer[order]]
    return place


def _swept(graph: Layered, place: Ints, count: int) -> tuple[Ints, int]:
    """Sweep down and up by turns; the best order seen and its crossings."""
    best, fewest, idle = place, count, 0
    by_layer = parts_of(graph.layer, graph.num_layers)
    above = _Neighbours(graph.layer, graph.lower, graph.upper, by_layer)
    below = _Neighbours(graph.layer, graph.upper, graph.lower, by_layer)
    exchange = _Exchange(graph)
    for sweep in range(_MAX_SWEEPS):
        if not fewest or idle > _PATIENCE:
            break
        down = sweep % 2 == 0
        # Every other pair of sweeps turns ties round, which leads out of orders that all sweeps keep.
        place = _sweep(place, by_layer, above if down else below, down, turned=sweep % 4 > 1)
        place = exchange(place, _FEW_ROUNDS)
        count = crossings(graph, place)
        idle += 1
        if count < fewest:
            best, fewest, idle = place, count, 0
    best = exchange(best, _MANY_ROUNDS)
    return best, crossings(graph, best)


class _Neighbours:
    """The neighbours of each layer's slots in the layer above or below."""

    def __init__(self, layer: Ints, slots: Ints, others: Ints, by_layer: list[Ints]) -> None:
        rank = np.empty(len(layer), dtype=np.int64)
        for members in by_layer:
            rank[members] = np.arange(len(members))
        parts = parts_of(layer[slots], len(by_layer))
        self.rows = [(rank[slots[part]], others[part]) for part in parts]


def parts_of(numbers: Ints, count: int) -> list[Ints]:
    """Where each of the numbers 0, 1, ... stands."""
    order = np.argsort(numbers, kind="stable")
    bounds = np.searchsorted(numbers[order], np.arange(count + 1))
    return [order[first:last] for first, last in pairwise(bounds.tolist())]


def _sweep(place: Ints, by_layer: list[Ints], near: _Neighbours, down: bool, turned: bool) -> Ints:
    """Each layer in the order of the mean places of its neighbours; slots without any keep theirs.

    Of equal means those that stood first come first, or last where ties are turned.
    """
    place = place.copy()
    layers = range(1, len(by_layer)) if down else range(len(by_layer) - 2, -1, -1)
    for layer in layers:
        members = by_layer[layer]
        owner, others = near.rows[layer]
        degree = np.bincount(owner, minlength=len(members))
        total = np.bincount(owner, weights=place[others], minlength=len(members))
        current = np.argsort(place[members], kind="stable")
        mean = np.where(degree > 0, total / np.maximum(degree, 1), -1.0)[current]
        has_any = mean >= 0
        moved = current.copy()
        ranked = np.lexsort((np.arange(len(members))[has_any] * (-1 if turned else 1), mean[has_any]))
        moved[has_any] = current[has_any][ranked]
        place[members[moved]] = np.arange(len(members))
    return place


class _Exchange:
    """Exchanges of slots that stand side by side, where that takes crossings away: every second pair at once."""

    def __init__(self, graph: Layered) -> None:
        self.layer = graph.layer
        num_slots = len(graph.layer)
        # Each edge is seen from both ends; a slot's neighbours above and below are kept apart.
        self.sides = np.r_[graph.upper * 2, graph.lower * 2 + 1]
        self.slots = self.sides // 2
        self.others = np.r_[graph.lower, graph.upper]
        self.degree = np.bincount(self.sides, minlength=2 * num_slots)
        self.starts = np.cumsum(self.degree) - self.degree

    def __call__(self, place: Ints, rounds: int) -> Ints:
        """The places after so many rounds, or as soon as no exchange gains."""
        place = place.copy()
        for _ in range(rounds):
            gained = [self._pass(place, rows, pairs) for rows in (0, 1) for pairs in (0, 1)]
            if not any(gained):
                break
        return place

    def _pass(self, place: Ints, rows: int, pairs: int) -> bool:
        """Exchange in layers and pairs of one parity, in which no exchange touches what another counts."""
        width = int(place.max(initial=0)) + 1
        order = np.lexsort((place, self.layer))
        left, right = order[:-1], order[1:]
        chosen = (self.layer[left] == self.layer[right]) & (self.layer[left] % 2 == rows) & (place[left] % 2 == pairs)
        left, right = left[chosen], right[chosen]
        partner = np.full(len(place), -1)
        partner[left] = right
        keys = np.sort(self.sides * width + place[self.others])
        mine = partner[self.slots] >= 0
        slots, sides = self.slots[mine], self.sides[mine]
        theirs = partner[slots] * 2 + sides % 2
        wanted = theirs * width + place[self.others[mine]]
        less = np.searchsorted(keys, wanted) - self.starts[theirs]
        more = self.degree[theirs] - (np.searchsorted(keys, wanted, side="right") - self.starts[theirs])
        gain = np.bincount(slots, weights=less - more, minlength=len(place))[left]
        swapped = gain > 0
        place[left[swapped]] += 1
        place[right[swapped]] -= 1
        return bool(swapped.any())
