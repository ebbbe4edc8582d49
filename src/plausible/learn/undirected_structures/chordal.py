"""Chordal graphs of bounded treewidth, edge by edge: each is scored by counting, and none needs an inference."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import combinations
from operator import attrgetter
from typing import NamedTuple

import numpy as np

from plausible.base.arrays import Floats
from plausible.base.options import check_count
from plausible.base.tolerances import score_noise
from plausible.data.statistics import Request, in_order
from plausible.errors import InvalidArgument
from plausible.graphs import UndirectedGraph, chordless_cycle
from plausible.learn.undirected_structures.forest import GAIN_SCALES, log_ratio
from plausible.learn.undirected_structures.result import MarkovStructure
from plausible.learn.undirected_structures.task import Pair, Task, fit_cliques, pairs_of, width_of
from plausible.search.run import CONVERGED, iterate

#: The neighbours of each variable.
Neighbours = Mapping[str, frozenset[str]]


class Move(NamedTuple):
    """An edge to add or to take away, and what its ends share: both graphs are chordal."""

    pair: Pair
    shared: frozenset[str]


class ChordalState(NamedTuple):
    """A chordal graph, and by how much its score exceeds that of no edge."""

    edges: frozenset[Pair]
    score: float
    is_last: bool = False  # whether no move leads higher


@dataclass(frozen=True, slots=True, eq=False)
class ChordalSearch:
    """Stepwise selection of decomposable models (Deshpande, Garofalakis & Jordan 2001).

    With S what the ends of an edge x - y share, the edge is worth M I(x; y | S) in the log-likelihood, and
    (|x| - 1)(|y| - 1)|S| free weights, whatever the rest of the graph is.
    """

    task: Task
    width: int
    is_penalized: bool
    allowed: frozenset[Pair]
    known: dict[Move, float] = field(default_factory=dict)

    def step(self, state: ChordalState) -> ChordalState:
        """The best move; among those that differ by rounding alone, the first by name."""
        neighbours = self.neighbours(state.edges)
        joins = list(self.joins(state.edges, neighbours))
        cuts = [move for move in self.cuts(state.edges, neighbours) if move.pair not in self.task.required]
        self.learn([move for move in (*joins, *cuts) if move not in self.known])
        changes = {**{move: self.known[move] for move in joins}, **{move: -self.known[move] for move in cuts}}
        most, noise = max(changes.values(), default=0.0), score_noise(self.task.total)
        if most <= noise:
            return state._replace(is_last=True)
        best = min((move for move, change in changes.items() if change >= most - noise), key=_by_name)
        return ChordalState(state.edges ^ {best.pair}, state.score + changes[best])

    def neighbours(self, edges: Iterable[Pair]) -> Neighbours:
        """Of each variable in the graph of some edges."""
        near: dict[str, set[str]] = {name: set() for name in self.task.variables}
        for first, second in edges:
            near[first].add(second)
            near[second].add(first)
        return {name: frozenset(others) for name, others in near.items()}

    def joins(self, edges: frozenset[Pair], near: Neighbours) -> Iterator[Move]:
        """The edges to add: what their ends share is all that connects them, and leaves no clique too large."""
        sharing: dict[frozenset[str], list[Pair]] = {}
        for pair in self.allowed - edges:
            first, second = pair
            if len(shared := near[first] & near[second]) < self.width:
                sharing.setdefault(shared, []).append(pair)
        for shared, pairs in sharing.items():
            part_of = _parts_without(near, shared)
            yield from (Move(pair, shared) for pair in pairs if len({part_of[name] for name in pair}) == 2)

    def cuts(self, edges: frozenset[Pair], near: Neighbours) -> Iterator[Move]:
        """The edges to take away: those of one maximal clique only, so that what their ends share is a clique."""
        for pair in edges:
            first, second = pair
            shared = near[first] & near[second]
            if all(one in near[other] for one, other in combinations(shared, 2)):
                yield Move(pair, shared)

    def learn(self, moves: Iterable[Move]) -> None:
        """Count what edges are worth, those with one end and what is shared in common at one time."""
        asked: dict[tuple[str, tuple[str, ...]], list[str]] = {}
        for (first, second), shared in sorted(map(_by_name, moves)):
            asked.setdefault((first, tuple(shared)), []).append(second)
        requests = [Request(first, given, tuple(others)) for (first, given), others in asked.items()]
        answers = self.task.statistics.counts_of(requests)
        for (first, given), others, stacks in zip(asked, asked.values(), answers, strict=True):
            for other, counts in zip(others, in_order(stacks), strict=True):
                self.known[Move(frozenset((first, other)), frozenset(given))] = self._worth(np.asarray(counts, float))

    def _worth(self, counts: Floats) -> float:
        """Of an edge, from counts with axes (one end, what is shared..., the other end)."""
        table = counts.reshape(len(counts), -1, counts.shape[-1])
        free = (len(table) - 1) * table.shape[1] * (table.shape[2] - 1)
        price = 0.5 * free * math.log(max(self.task.total, 1.0)) if self.is_penalized else 0.0
        return log_ratio(table) - price

    def ends(self, state: ChordalState) -> str:
        """Converged where no move leads higher."""
        return CONVERGED if state.is_last else ""


def _by_name(move: Move) -> tuple[list[str], list[str]]:
    return sorted(move.pair), sorted(move.shared)


def _parts_without(near: Neighbours, cut: frozenset[str]) -> dict[str, int]:
    """The number of the component that each variable is in once some are taken out; these have numbers of their own."""
    part_of = {name: -1 - place for place, name in enumerate(cut)}
    for number, start in enumerate(near):
        waiting = [start] if start not in part_of else []
        while waiting:
            name = waiting.pop()
            if name not in part_of:
                part_of[name] = number
                waiting += near[name] - part_of.keys()
    return part_of


def learn_chordal(task: Task, *, score: str = "bic", max_treewidth: int = 2) -> MarkovStructure:
    """Add and take away edges of a chordal graph while the likelihood rises, or BIC."""
    if score not in ("bic", "likelihood"):
        raise InvalidArgument(f'score={score!r} must be "bic" or "likelihood".')
    check_count("max_treewidth", max_treewidth)
    task.refuse_missing("chordal")
    begun = UndirectedGraph(sorted(tuple(sorted(pair)) for pair in task.required), nodes=task.variables)
    if cycle := chordless_cycle(begun):
        raise InvalidArgument(
            f"The required edges have the cycle {' - '.join(map(str, cycle))} without a chord: require a chord, "
            "too, or take another method."
        )
    if (width := width_of(begun)) > max_treewidth:
        raise InvalidArgument(f"The required edges have treewidth {width}, more than max_treewidth={max_treewidth}.")
    allowed = frozenset(pair for one in task.candidates for pair in pairs_of(one))
    search = ChordalSearch(task, max_treewidth, score == "bic", allowed)
    first = ChordalState(task.required, _score_of(search, task.required))
    run = iterate(search.step, first, task.stops, ends=search.ends, objective=attrgetter("score"), clock=task.clock)
    graph = UndirectedGraph(sorted(tuple(sorted(pair)) for pair in run.state.edges), nodes=task.variables)
    fitted_by = "maximum likelihood of a table on each maximal clique, counted"
    fit = partial(fit_cliques, task.unlimited, graph)
    return MarkovStructure("chordal", graph, run, fitted_by, fit, score=run.state.score, scale=GAIN_SCALES[score])


def _score_of(search: ChordalSearch, edges: frozenset[Pair]) -> float:
    """Of a chordal graph: edges are taken away, one after the other, until none is left."""
    score, left = 0.0, edges
    while left:
        move = min(search.cuts(left, search.neighbours(left)), key=_by_name)
        search.learn([move])
        score, left = score + search.known[move], left - {move.pair}
    return score
