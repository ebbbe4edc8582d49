"""A region graph on flat arrays: where tables and messages lie, and which messages each table takes."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import accumulate, chain, count
from typing import TYPE_CHECKING

import numpy as np

from plausible.base.arrays import Floats, Ints
from plausible.errors import NotSupported, TooLarge
from plausible.inference.problem import Problem
from plausible.inference.regions.region_graph import RegionGraph

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["RegionLayout", "Wave", "lay_out"]


#: The entries of all tables of regions together: 1 GiB, a few times over for messages on the way.
_MAX_ENTRIES = 2**27


@dataclass(frozen=True, slots=True, eq=False)
class Wave:
    """Inner regions whose messages are renewed at once; the entries of its edges follow each other, shape by shape.

    Attributes
    ----------
    logs, incoming
        The rows of `RegionLayout.logs` and `RegionLayout.incoming` for the outer regions around.
    sums
        For the edges of each shape (edge, state of the inner region, state of the rest): places in those rows.
    messages
        The place of each entry among all messages.
    message_starts
        Where each edge begins among the entries.
    collect
        The weights 1 / (n + c) with which the answers of n outer regions make the belief of an inner one: a row for
        each of its entries, a column for each entry of an edge.
    inner
        For each entry of an edge the row of `collect`.
    """

    logs: Floats
    incoming: csr_array
    sums: tuple[Ints, ...]
    messages: Ints
    message_starts: Ints
    collect: csr_array
    inner: Ints


@dataclass(frozen=True, slots=True, eq=False)
class RegionLayout:
    """Tables of regions and messages along edges, each one after the other, the last variable's state fastest.

    Attributes
    ----------
    graph
        The regions.
    is_exact
        Whether messages that have settled give exact beliefs.
    starts
        Region R has the entries from `starts[R]` to `starts[R + 1]`.
    logs
        The logarithm of the product of the factors of each region.
    incoming
        A row for each entry of an outer region, a column for each of a message, and ones where they agree.
    message_starts
        The message of edge e, from the inner region to the outer one, begins at `message_starts[e]`.
    projection
        Ones where an entry of an inner region, a row, agrees with one of the first outer region that holds it.
    waves
        The order of the messages in a round.
    """

    graph: RegionGraph
    is_exact: bool
    starts: Ints
    logs: Floats
    incoming: csr_array
    message_starts: Ints
    projection: csr_array
    waves: tuple[Wave, ...]


def lay_out(problem: Problem, graph: RegionGraph, *, in_waves: bool) -> RegionLayout:
    """Make the arrays; the work is that of a few rounds of messages."""
    states: list[int] = problem.sizes.tolist()
    sizes = [math.prod(states[variable] for variable in scope) for scope in graph.scopes]
    _check_size(problem, graph, sizes)
    _check_weights(problem, graph)
    starts = np.array([0, *accumulate(sizes)], dtype=np.int64)
    message_starts = np.array([0, *accumulate(sizes[inner] for _, inner in graph.edges)], dtype=np.int64)
    taken = [
        (outer, graph.scopes[inner], start)
        for (outer, inner), start in zip(graph.edges, message_starts[:-1].tolist(), strict=True)
    ]
    table_starts = problem.table_starts.tolist()
    own = [
        (region, problem.scope(factor), table_starts[factor])
        for region, factors in enumerate(graph.factors)
        for factor in factors
    ]
    seen = [(above[0], graph.scopes[inner], int(starts[inner])) for inner, above in enumerate(graph.parents) if above]
    logs = _matrix(states, graph, starts, own, problem.logs.size) @ problem.logs
    layout = RegionLayout(
        graph=graph,
        is_exact=graph.is_forest([region for region, size in enumerate(sizes) if size == 1]),
        starts=starts,
        logs=logs,
        incoming=_matrix(states, graph, starts, taken, int(message_starts[-1])),
        message_starts=message_starts,
        projection=_matrix(states, graph, starts, seen, int(starts[-1])).T.tocsr(),
        waves=(),
    )
    return replace(layout, waves=tuple(_wave(states, layout, some) for some in _inner_waves(graph, in_waves=in_waves)))


def _check_weights(problem: Problem, graph: RegionGraph) -> None:
    for scope, times, above in zip(graph.scopes, graph.counts, graph.parents, strict=True):
        if above and len(above) + times <= 0:
            names = ", ".join(problem.variables[variable].name for variable in scope)
            raise NotSupported(
                f"The clusters overlap too much for messages: what {len(above)} of them share, {names}, counts {times} "
                "times. Leave out some of those clusters."
            )


def _check_size(problem: Problem, graph: RegionGraph, sizes: Sequence[int]) -> None:
    if sum(sizes) > _MAX_ENTRIES:
        largest = int(np.argmax(sizes))
        names = ", ".join(problem.variables[variable].name for variable in graph.scopes[largest][:8])
        raise TooLarge(
            f"The tables of {len(sizes)} regions would have {sum(sizes):.3g} entries; the limit is {_MAX_ENTRIES:.3g}. "
            f"The largest, over {len(graph.scopes[largest])} variables ({names}), has {sizes[largest]:.3g}. Take a "
            "lower bound, or smaller clusters."
        )


# --- matrices ---


@lru_cache(maxsize=1024)
def _entries(shape: tuple[int, ...], axes: tuple[int, ...]) -> Ints:
    """For each entry of a table of this shape, that of a table over some of its axes, in their order."""
    states = np.indices(shape).reshape(len(shape), -1)
    found = np.zeros(math.prod(shape), dtype=np.int64)
    for axis in axes:
        found = found * shape[axis] + states[axis]
    found.setflags(write=False)
    return found


def _pattern(states: Sequence[int], scope: tuple[int, ...], part: tuple[int, ...]) -> Ints:
    return _entries(tuple([states[variable] for variable in scope]), tuple([scope.index(v) for v in part]))


def _matrix(
    states: Sequence[int],
    graph: RegionGraph,
    starts: Ints,
    pairs: Iterable[tuple[int, tuple[int, ...], int]],
    num_columns: int,
) -> csr_array:
    """Ones where an entry of a region agrees with one of a smaller table, whose scope and first column are given."""
    from scipy.sparse import csr_array

    groups: dict[int, tuple[Ints, list[int], list[int]]] = {}
    for region, scope, column in pairs:
        pattern = _pattern(states, graph.scopes[region], scope)
        _, firsts, columns = groups.setdefault(id(pattern), (pattern, [], []))
        firsts.append(region)
        columns.append(column)
    rows = [(starts[firsts][:, None] + np.arange(p.size)).ravel() for p, firsts, _ in groups.values()]
    places = [(np.array(columns)[:, None] + p).ravel() for p, _, columns in groups.values()]
    row, place = (np.concatenate([np.zeros(0, dtype=np.int64), *parts]) for parts in (rows, places))
    return csr_array((np.ones(row.size), (row, place)), shape=(int(starts[-1]), num_columns))


# --- waves ---


def _inner_waves(graph: RegionGraph, *, in_waves: bool) -> list[list[int]]:
    """The inner regions in groups: by distance in a cluster graph, else so that no two share an outer region.

    Distances are from the first region of a component, the farthest first: on a forest messages are final once they
    have gone through the waves and back.
    """
    inner = [region for region, above in enumerate(graph.parents) if above]
    if not in_waves:
        return [inner] if inner else []
    is_cluster_graph = all(graph.counts[region] == 1 - len(graph.parents[region]) for region in inner)
    ranks = [-depth for depth in _depths(graph)] if is_cluster_graph else _colors(graph)
    waves = defaultdict(list)
    for region in inner:
        waves[ranks[region]].append(region)
    return [waves[rank] for rank in sorted(waves)]


def _colors(graph: RegionGraph) -> list[int]:
    """For each inner region the lowest number that no other within the same outer regions has."""
    colors = [-1] * len(graph.scopes)
    for region, above in enumerate(graph.parents):
        if above:
            taken = {colors[other] for outer in above for other in graph.children[outer]}
            colors[region] = next(color for color in count() if color not in taken)
    return colors


def _depths(graph: RegionGraph) -> list[int]:
    depths = [-1] * len(graph.scopes)
    for first in range(len(graph.scopes)):
        if depths[first] >= 0:
            continue
        depths[first], front = 0, [first]
        while front:
            reached = []
            for region in front:
                for other in (*graph.children[region], *graph.parents[region]):
                    if depths[other] < 0:
                        depths[other] = depths[region] + 1
                        reached.append(other)
            front = reached
    return depths


def _wave(states: Sequence[int], layout: RegionLayout, regions: Sequence[int]) -> Wave:
    from scipy.sparse import csr_array

    graph = layout.graph
    groups: dict[int, tuple[Ints, list[int]]] = {}
    for edge in chain.from_iterable(graph.edges_above[region] for region in regions):
        pattern = _pattern(states, *(graph.scopes[end] for end in graph.edges[edge]))
        groups.setdefault(id(pattern), (pattern, []))[1].append(edge)
    edges = [edge for _, alike in groups.values() for edge in alike]
    outer_firsts, rows = _compact(layout, sorted({graph.edges[edge][0] for edge in edges}))
    inner_firsts, entries = _compact(layout, regions)
    sums = tuple(
        np.array([outer_firsts[graph.edges[edge][0]] for edge in alike])[:, None, None]
        + np.argsort(pattern, kind="stable").reshape(int(pattern.max()) + 1, -1)
        for pattern, alike in groups.values()
    )
    widths = np.diff(layout.message_starts)[edges]
    starts = np.cumsum(widths) - widths
    offsets = np.arange(int(widths.sum())) - np.repeat(starts, widths)
    owners = [graph.edges[edge][1] for edge in edges]
    inner = np.repeat([inner_firsts[region] for region in owners], widths) + offsets
    weights = np.repeat([1 / (len(graph.parents[region]) + graph.counts[region]) for region in owners], widths)
    collect = csr_array((weights, (inner, np.arange(inner.size))), shape=(entries.size, inner.size))
    messages = np.repeat(layout.message_starts[edges], widths) + offsets
    return Wave(layout.logs[rows], layout.incoming[rows], sums, messages, starts, collect, inner)


def _compact(layout: RegionLayout, regions: Sequence[int]) -> tuple[dict[int, int], Ints]:
    """Where each of some regions begins if only they are kept, and all their entries."""
    widths = np.diff(layout.starts)[regions]
    firsts = np.cumsum(widths) - widths
    entries = np.repeat(layout.starts[:-1][regions] - firsts, widths) + np.arange(int(widths.sum()))
    return dict(zip(regions, firsts.tolist(), strict=True)), entries
