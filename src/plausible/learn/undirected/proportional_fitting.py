"""Iterative proportional fitting on a tree of cliques: one marginal after the other, without a joint table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from plausible.base.arrays import Codes, Floats
from plausible.errors import NotSupported
from plausible.kernels.fitting import refit
from plausible.learn.undirected.closed_forms import has_free_tables, junction_tree
from plausible.learn.undirected.objectives import Sample
from plausible.search.run import CONVERGED, Run, Stops, iterate

#: What a cell of the first marginal of a clique is multiplied by: one place for all cells.
_ONE = np.ones(1)


class FittingState(NamedTuple):
    """Where fitting got to: it can be gone on with."""

    logs: Floats  # of the tables that are fitted
    cliques: tuple[Floats, ...]  # the marginals of the distribution so far
    gap: float  # the largest difference between a frequency and its probability that the last sweep met


@dataclass(frozen=True, slots=True, eq=False)
class _Fitted:
    """A table that is fitted on a clique: its cells for the cells of the clique, where it begins, what it should be."""

    places: Codes
    start: int
    wanted: Floats


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
    fitted: list[list[_Fitted]] = [[] for _ in cliques]
    for number, (scope, home) in enumerate(zip(design.scopes, program.smallest_cliques(design.scopes), strict=True)):
        assert home is not None
        start, end = int(design.starts[number]), int(design.starts[number + 1])
        fitted[home].append(_Fitted(_places(cliques[home], shapes[home], scope), start, wanted[start:end]))
    tour = _tour(cliques, shapes, links)

    def step(state: FittingState) -> FittingState:
        logs, tables, gap = state.logs.copy(), [table.copy() for table in state.cliques], 0.0
        for stop in tour:
            if isinstance(stop, _Move):
                _pass_on(tables, stop)
            else:
                gap = max(gap, _fit_clique(tables[stop], fitted[stop], logs))
        return FittingState(logs, tuple(tables), gap)

    begin = tuple(np.full(math.prod(shape), 1 / math.prod(shape)) for shape in shapes)
    first = FittingState(np.zeros(design.num_entries), begin, math.inf)
    return iterate(step, first, stops, ends=lambda state: CONVERGED if state.gap <= stops.tolerance else "")


def _fit_clique(table: Floats, fitted: Sequence[_Fitted], logs: Floats) -> float:
    """Meet each marginal in turn; returns the largest difference that there was before."""
    if not fitted:
        return 0.0
    gap, ratios, before = 0.0, _ONE, np.zeros(table.size, dtype=np.int32)
    for one in fitted:
        sums = np.zeros(one.wanted.size)
        refit(table, before, ratios, one.places, sums)
        gap = max(gap, float(np.abs(one.wanted - sums).max(initial=0.0)))
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = np.where(sums > 0, one.wanted / sums, 0.0)
            logs[one.start : one.start + sums.size] += np.log(ratios)
        before = one.places
    table *= ratios[before]
    return gap


def _pass_on(tables: list[Floats], move: _Move) -> None:
    """Make the next clique agree on what it shares."""
    here = np.bincount(move.source_places, tables[move.source], minlength=move.size)
    there = np.bincount(move.target_places, tables[move.target], minlength=move.size)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.where(there > 0, here / there, 0.0)
    tables[move.target] *= ratios[move.target_places]


def _places(clique: Sequence[int], shape: Sequence[int], scope: Sequence[int]) -> Codes:
    """For each cell of a clique the cell of a table over some of its variables."""
    cells = np.unravel_index(np.arange(math.prod(shape)), shape)
    if not scope:
        return np.zeros(math.prod(shape), dtype=np.int32)
    axes = [list(clique).index(place) for place in scope]
    return np.ravel_multi_index([cells[axis] for axis in axes], [shape[axis] for axis in axes]).astype(np.int32)


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
                ahead, back = (_places(cliques[c], shapes[c], shared) for c in (item, child))
                size = math.prod(shapes[item][cliques[item].index(place)] for place in shared)
                waiting += [_Move(child, item, back, ahead, size), child, _Move(item, child, ahead, back, size)]
    return tour
