"""Iterative proportional fitting on a tree of cliques: one marginal after the other, without a joint table."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from plausible.base.arrays import Codes, Floats
from plausible.errors import NotSupported
from plausible.kernels.fitting import refit
from plausible.learn.undirected.closed_forms import has_free_tables, junction_tree
from plausible.learn.undirected.design import Design
from plausible.learn.undirected.sample import Sample
from plausible.search.run import CONVERGED, Run, Stops, iterate

#: What a cell of the first marginal of a clique is multiplied by: one place for all cells.
_ONE = np.ones(1)
#: Cliques of so many cells are passed over as seldom as can be.
_LARGE = 4096


class FittingState(NamedTuple):
    """Where fitting got to: it can be gone on with."""

    logs: Floats  # of the tables that are fitted
    cliques: tuple[Floats, ...]  # the marginals of the distribution so far
    gap: float  # the largest difference between a frequency and its probability that the last sweep met


@dataclass(frozen=True, slots=True, eq=False)
class _Fitted:
    """A table that is fitted on a larger one: its cell for each cell of that, and what it should be.

    `sums` and `ratios` are scratch: what it was when last looked at, and what it was multiplied by.
    """

    places: Codes
    wanted: Floats
    sums: Floats
    ratios: Floats

    def update(self) -> Floats:
        """What to multiply by, given the sums."""
        return _quotients(self.wanted, self.sums, self.ratios)


@dataclass(frozen=True, slots=True, eq=False)
class _Group:
    """Tables that are fitted on a marginal that has them all: the clique is passed over once for all of them."""

    places: Codes
    members: Sequence[_Fitted]
    sums: Floats
    ratios: Floats

    def update(self) -> Floats:
        """What to multiply by, given the sums: fitting the marginal is fitting the clique."""
        marginal = self.sums.copy()
        _fit_members(marginal, self.members)
        return _quotients(marginal, self.sums, self.ratios)


@dataclass(frozen=True, slots=True, eq=False)
class _Move:
    """From one clique to the next along the tree: the cells of what they share, for the cells of both."""

    source: int
    target: int
    source_places: Codes
    target_places: Codes
    size: int


def fit_proportionally(sample: Sample, stops: Stops) -> Run[FittingState]:
    """Tables whose marginals are the frequencies in the data, or published: φ ← φ · P^(d) / P(d), table after table.

    The distribution is kept as the marginals of the cliques of a tree. A sweep goes around the tree, fits each table on
    the clique that has it, and tells the next clique what has changed, so that it costs a few passes over the cliques
    and never a table over all variables (Jiroušek & Přeučil 1995). Cells of frequency zero become zero at once. The
    likelihood never goes down (Deming & Stephan 1940, Darroch & Ratcliff 1972).
    """
    design = sample.design
    if not has_free_tables(design) or not sample.is_complete:
        raise NotSupported(
            'optimizer="ipf" is for tables with a weight for each entry, complete rows and no prior; leave it out.'
        )
    wanted = np.empty(design.num_entries)
    wanted[design.transposed.indices] = sample.feature_totals / sample.repeats
    program = sample.tree.program
    cliques = [tuple(sorted(program.clique(number))) for number in range(program.num_cliques)]
    shapes = [tuple(int(design.sizes[place]) for place in clique) for clique in cliques]
    links = junction_tree(cliques)
    assert links is not None  # a compiled tree has the running intersection
    homes: list[list[int]] = [[] for _ in cliques]
    for number, home in enumerate(program.smallest_cliques(design.scopes)):
        assert home is not None
        homes[home].append(number)
    tables = _Tables(design, wanted, np.zeros_like(wanted), np.ones_like(wanted))
    fitted = [tables.on(clique, shape, scopes) for clique, shape, scopes in zip(cliques, shapes, homes, strict=True)]
    tour = _tour(cliques, shapes, links)

    def step(state: FittingState) -> FittingState:
        tables_now = [table.copy() for table in state.cliques]
        with np.errstate(divide="ignore", invalid="ignore"):
            for stop in tour:
                if isinstance(stop, _Move):
                    _pass_on(tables_now, stop)
                else:
                    _fit_members(tables_now[stop], fitted[stop])
            logs = state.logs + np.log(tables.ratios)
        gap = float(np.abs(wanted - tables.sums).max(initial=0.0))
        return FittingState(logs, tuple(tables_now), gap)

    begin = tuple(np.full(math.prod(shape), 1 / math.prod(shape)) for shape in shapes)
    first = FittingState(np.zeros(design.num_entries), begin, math.inf)
    return iterate(step, first, stops, ends=lambda state: CONVERGED if state.gap <= stops.tolerance else "")


@dataclass(frozen=True, slots=True, eq=False)
class _Tables:
    """All tables that are fitted, one after the other: what they should be, and scratch."""

    design: Design
    wanted: Floats
    sums: Floats
    ratios: Floats

    def on(self, clique: Sequence[int], shape: Sequence[int], numbers: Sequence[int]) -> list[_Fitted | _Group]:
        """Some tables on the clique that has them, in groups where it is large."""
        states, cells = _states(shape), math.prod(shape)
        if cells < _LARGE:
            return [self._one(number, clique, shape, states) for number in numbers]
        size_of, made, waiting = dict(zip(clique, shape, strict=True)), list[_Fitted | _Group](), list(numbers)
        while waiting:
            scope = self._cluster(waiting, size_of, math.isqrt(cells))
            members = [number for number in waiting if set(self.design.scopes[number]) <= set(scope)]
            waiting = [number for number in waiting if number not in members]
            sizes = [size_of[place] for place in scope]
            places, inner = _places(clique, shape, scope, states), _states(sizes)
            parts = [self._one(number, scope, sizes, inner) for number in members]
            made.append(_Group(places, parts, np.zeros(math.prod(sizes)), np.ones(math.prod(sizes))))
        return made

    def _one(self, number: int, clique: Sequence[int], shape: Sequence[int], states: Codes) -> _Fitted:
        part = slice(int(self.design.starts[number]), int(self.design.starts[number + 1]))
        places = _places(clique, shape, self.design.scopes[number], states)
        return _Fitted(places, self.wanted[part], self.sums[part], self.ratios[part])

    def _cluster(self, waiting: Sequence[int], size_of: Mapping[int, int], most: int) -> tuple[int, ...]:
        """Variables of the first table, and of others, one at a time those that complete the most tables."""
        chosen = set(self.design.scopes[waiting[0]])
        while True:
            room = most // math.prod(size_of[place] for place in chosen)
            gains = {
                place: sum(set(self.design.scopes[number]) <= chosen | {place} for number in waiting)
                for place, size in size_of.items()
                if place not in chosen and size <= room
            }
            if not gains or max(gains.values()) < 2:
                return tuple(sorted(chosen))
            chosen.add(max(gains, key=gains.__getitem__))


def _fit_members(table: Floats, members: Sequence[_Fitted | _Group]) -> None:
    """Meet each marginal in turn."""
    ratios, before = _ONE, np.zeros(table.size, dtype=np.int32)
    for one in members:
        one.sums.fill(0.0)
        refit(table, before, ratios, one.places, one.sums)
        ratios, before = one.update(), one.places
    table *= ratios[before]


def _quotients(wanted: Floats, sums: Floats, out: Floats) -> Floats:
    """wanted / sums, zero where there is nothing to multiply."""
    np.divide(wanted, sums, out=out)
    if not sums.all():
        out[sums == 0] = 0.0
    return out


def _pass_on(tables: list[Floats], move: _Move) -> None:
    """Make the next clique agree on what it shares."""
    here = np.bincount(move.source_places, tables[move.source], minlength=move.size)
    there = np.bincount(move.target_places, tables[move.target], minlength=move.size)
    ratios = np.where(there > 0, here / there, 0.0)
    tables[move.target] *= ratios[move.target_places]


def _states(shape: Sequence[int]) -> Codes:
    """The state of each variable, a line for each, in each cell of a table."""
    return np.indices(shape, dtype=np.int32).reshape(len(shape), -1)


def _places(clique: Sequence[int], shape: Sequence[int], scope: Sequence[int], states: Codes) -> Codes:
    """For each cell of a clique the cell of a table over some of its variables."""
    places = np.zeros(states.shape[1], dtype=np.int32)
    for place in scope:
        axis = clique.index(place)
        places = places * shape[axis] + states[axis]
    return places.astype(np.int32, copy=False)


def _tour(
    cliques: Sequence[tuple[int, ...]], shapes: Sequence[tuple[int, ...]], links: Sequence[tuple[int, tuple[int, ...]]]
) -> list[int | _Move]:
    """Cliques in the order of a walk around the tree, and the moves between them, back to where it began."""
    children: list[list[int]] = [[] for _ in cliques]
    for number, (parent, _) in enumerate(links):
        if parent >= 0:
            children[parent].append(number)
    tour: list[int | _Move] = []
    waiting: list[int | _Move] = [number for number, (parent, _) in enumerate(links) if parent < 0]
    waiting.reverse()
    while waiting:
        item = waiting.pop()
        tour.append(item)
        if isinstance(item, int):
            for child in reversed(children[item]):
                shared = links[child][1]
                ahead, back = (_places(cliques[c], shapes[c], shared, _states(shapes[c])) for c in (item, child))
                size = math.prod(shapes[item][cliques[item].index(place)] for place in shared)
                waiting += [_Move(child, item, back, ahead, size), child, _Move(item, child, ahead, back, size)]
    return tour
