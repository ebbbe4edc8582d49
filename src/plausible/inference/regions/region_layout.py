"""Regions on flat arrays: where tables and messages lie, and the energies that they make."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import accumulate, chain
from typing import TYPE_CHECKING

import numpy as np

from plausible.base import Floats, Ints, logarithms
from plausible.errors import NotSupported, TooLarge
from plausible.inference.problem import Problem
from plausible.inference.regions.convex_propagation import log_sums
from plausible.inference.regions.region_graph import RegionGraph, colors_of

if TYPE_CHECKING:
    from scipy.sparse import csr_array


#: The entries of all tables of regions together: 1 GiB, a few times over for messages on the way.
_MAX_ENTRIES = 2**27


@dataclass(frozen=True, slots=True, eq=False)
class Wave:
    """Inner regions whose messages are renewed at once; the entries of its edges follow each other, shape by shape."""

    logs: Floats  # the rows of `RegionLayout.logs` and `RegionLayout.incoming` for the outer regions around
    incoming: csr_array
    #: For the edges of each shape (edge, state of the inner region, state of the rest): places in those rows.
    sums: tuple[Ints, ...]
    messages: Ints  # the place of each entry among all messages
    message_starts: Ints  # where each edge begins among the entries
    #: The weights 1 / (n + c) with which the answers of n outer regions make the belief of an inner one: a row for each
    #: of its entries, a column for each entry of an edge.
    collect: csr_array
    inner: Ints  # for each entry of an edge the row of `collect`


@dataclass(frozen=True, slots=True, eq=False)
class RegionLayout:
    """Tables of regions and messages along edges, each one after the other, the last variable's state fastest."""

    graph: RegionGraph  # the regions
    is_exact: bool  # whether messages that have settled give exact beliefs
    starts: Ints  # region R has the entries from `starts[R]` to `starts[R + 1]`
    logs: Floats  # the logarithm of the product of the factors of each region
    #: A row for each entry of an outer region, a column for each of a message, and ones where they agree.
    incoming: csr_array
    message_starts: Ints  # the message of edge e, from the inner region to the outer one, begins at `message_starts[e]`
    #: Ones where an entry of an inner region, a row, agrees with one of the first outer region that holds it.
    projection: csr_array
    waves: tuple[Wave, ...]  # the order of the messages in a round


def lay_out(problem: Problem, graph: RegionGraph, *, in_waves: bool) -> RegionLayout:
    """Make the arrays; the work is that of a few rounds of messages."""
    states: list[int] = problem.sizes.tolist()
    sizes = [math.prod(states[variable] for variable in scope) for scope in graph.scopes]
    _check(problem, graph, sizes)
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


def _check(problem: Problem, graph: RegionGraph, sizes: Sequence[int]) -> None:
    """Refuse regions that are too large together, or that overlap too much."""
    if sum(sizes) > _MAX_ENTRIES:
        largest = int(np.argmax(sizes))
        names = ", ".join(problem.variables[variable].name for variable in graph.scopes[largest][:8])
        raise TooLarge(
            f"The tables of {len(sizes)} regions would have {sum(sizes):.3g} entries; the limit is {_MAX_ENTRIES:.3g}. "
            f"The largest, over {len(graph.scopes[largest])} variables ({names}), has {sizes[largest]:.3g}. Take a "
            "lower bound, or smaller clusters."
        )
    for scope, times, above in zip(graph.scopes, graph.counts, graph.parents, strict=True):
        if above and len(above) + times <= 0:
            names = ", ".join(problem.variables[variable].name for variable in scope)
            raise NotSupported(
                f"The clusters overlap too much for messages: what {len(above)} of them share, {names}, counts {times} "
                "times. Leave out some of those clusters."
            )


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


def _inner_waves(graph: RegionGraph, *, in_waves: bool) -> list[list[int]]:
    """The inner regions in groups: by distance in a cluster graph, else so that no two share an outer region.

    Distances are from the first region of a component, the farthest first: on a forest messages are final once they
    have gone through the waves and back.
    """
    inner = [region for region, above in enumerate(graph.parents) if above]
    if not in_waves:
        return [inner] if inner else []
    if all(graph.counts[region] == 1 - len(graph.parents[region]) for region in inner):
        import networkx as nx

        linked = nx.Graph(graph.edges)
        linked.add_nodes_from(range(len(graph.scopes)))
        ranks = [0] * len(graph.scopes)
        for component in nx.connected_components(linked):
            for region, depth in nx.single_source_shortest_path_length(linked, min(component)).items():
                ranks[region] = -depth
    else:
        ranks = colors_of(graph.parents, graph.children)
    waves = defaultdict(list)
    for region in inner:
        waves[ranks[region]].append(region)
    return [waves[rank] for rank in sorted(waves)]


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


def edge_sums(wave: Wave, messages: Floats) -> Floats:
    """log Σ b_γ over all but x_β, for each edge of the wave and each x_β; -inf where nothing is left."""
    logs = wave.logs + wave.incoming @ messages
    return np.concatenate([_log_sums(logs[places]) for places in wave.sums])


def _log_sums(tables: Floats) -> Floats:
    """log Σ exp over the last axis, all in one row."""
    peaks = tables.max(axis=2)
    safe = np.where(np.isneginf(peaks), 0.0, peaks)
    return np.asarray((logarithms(np.exp(tables - safe[:, :, None]).sum(axis=2)) + safe).ravel())


def region_tables(layout: RegionLayout, messages: Floats) -> Floats:
    """The normalised beliefs of all regions; those of inner ones as the first outer one sees them."""
    logs = np.asarray(layout.logs + layout.incoming @ messages)
    if not logs.size:
        return logs
    widths = np.diff(layout.starts)
    tables = np.exp(logs - np.repeat(np.maximum.reduceat(logs, layout.starts[:-1]), widths))
    tables /= np.repeat(np.add.reduceat(tables, layout.starts[:-1]), widths)
    is_inner = np.repeat([bool(above) for above in layout.graph.parents], widths)
    return np.asarray(np.where(is_inner, layout.projection @ tables, tables))


def negative_energy(layout: RegionLayout, messages: Floats) -> float:
    """Σ c_R (Σ b_R log Π φ + H(b_R)), minus the region free energy."""
    tables = region_tables(layout, messages)
    counts = np.repeat(np.array(layout.graph.counts, dtype=np.float64), np.diff(layout.starts))
    is_live = tables > 0
    return float(counts[is_live] * tables[is_live] @ (layout.logs[is_live] - np.log(tables[is_live])))


def forest_total(layout: RegionLayout, messages: Floats) -> tuple[float, float]:
    r"""log Z where the regions are a forest, the problem's scale left out, and how far the truth can be from it.

    Let Z_γ = Σ b_γ, and for an inner region β within n outer ones q_β = (Π_γ λ_{β→γ})^{1/(n-1)} and Z_β = Σ q_β. Then
    Π φ = Π_γ b_γ / Π_β q_β^{n-1}: all messages cancel. Summed out from the leaves on, each outer region but the
    last leaves Σ b_γ / q_β, which is Z_γ / Z_β where the regions agree, so that for any messages

    .. math:: \left| \log Z - \sum_γ \log Z_γ + \sum_β (n_β - 1) \log Z_β \right| ≤
              \sum_{β→γ} \max_{x_β} \left| \log \frac{\sum_{x_γ ∼ x_β} b_γ / Z_γ}{q_β / Z_β} \right|.
    """
    if not layout.logs.size:
        return 0.0, 0.0
    is_outer = np.array([not above for above in layout.graph.parents])
    logs = layout.logs + layout.incoming @ messages
    value, gaps = float(log_sums(logs, layout.starts[:-1])[is_outer].sum()), 0.0
    for wave in layout.waves:
        shared, gap = _shared_total(wave, messages)
        value, gaps = value - shared, gaps + gap
    # A generous measure of what rounding can have done to the sums.
    largest = sum(float(np.abs(part[part > -np.inf]).max(initial=0.0)) for part in (layout.logs, messages))
    num_terms = sum(map(len, layout.graph.factors)) + len(layout.graph.scopes) + len(layout.graph.edges)
    rounding = 8 * float(np.finfo(np.float64).eps) * (num_terms * (1 + largest) + layout.logs.size)
    return value, gaps + rounding


def _shared_total(wave: Wave, messages: Floats) -> tuple[float, float]:
    """Σ (n - 1) log Z_β over the inner regions of a wave, and how far those around them disagree."""
    num_around = np.diff(wave.collect.indptr)[wave.inner]
    # On a forest c = 1 - n, so that all weights of `collect` are one.
    shared = (wave.collect @ messages[wave.messages])[wave.inner] / (num_around - 1)
    sums, totals = edge_sums(wave, messages), log_sums(shared, wave.message_starts)
    levels = log_sums(sums, wave.message_starts) - totals
    gaps = np.zeros(shared.size)
    is_live = (shared > -np.inf) | (sums > -np.inf)
    spread = np.repeat(levels, np.diff(wave.message_starts, append=shared.size))
    gaps[is_live] = np.abs(sums[is_live] - shared[is_live] - spread[is_live])
    num = num_around[wave.message_starts]
    # Each inner region is met once for each of its edges.
    return float((1 - 1 / num) @ totals), float(np.maximum.reduceat(gaps, wave.message_starts).sum())
