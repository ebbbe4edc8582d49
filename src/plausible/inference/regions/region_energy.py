"""What messages between regions say: tables of beliefs, the region free energy, and log Z of a forest with limits."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from plausible.base.arrays import Floats
from plausible.inference.regions.convex_layout import log_sums
from plausible.inference.regions.region_layout import RegionLayout, Wave

__all__ = ["ForestTotal", "edge_sums", "forest_total", "negative_energy", "region_tables"]


class ForestTotal(NamedTuple):
    """log Σ Π φ by the messages of a forest, the scale of the problem left out.

    Attributes
    ----------
    value
        The number.
    margin
        How far the truth can be from it: what is left of disagreement between regions, and rounding.
    """

    value: float
    margin: float


def edge_sums(wave: Wave, messages: Floats) -> Floats:
    """log Σ b_γ over all but x_β, for each edge of the wave and each x_β; -inf where nothing is left."""
    logs = wave.logs + wave.incoming @ messages
    return np.concatenate([_log_sums(logs[places]) for places in wave.sums])


def _log_sums(tables: Floats) -> Floats:
    """log Σ exp over the last axis, all in one row."""
    peaks = tables.max(axis=2)
    safe = np.where(np.isneginf(peaks), 0.0, peaks)
    with np.errstate(divide="ignore"):
        return np.asarray((np.log(np.exp(tables - safe[:, :, None]).sum(axis=2)) + safe).ravel())


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


def forest_total(layout: RegionLayout, messages: Floats) -> ForestTotal:
    r"""log Z where the regions are a forest, between limits that hold for any messages.

    Let Z_γ = Σ b_γ, and for an inner region β within n outer ones q_β = (Π_γ λ_{β→γ})^{1/(n-1)} and Z_β = Σ q_β. Then
    Π φ = Π_γ b_γ / Π_β q_β^{n-1}: all messages cancel. Summed out from the leaves on, each outer region but the
    last leaves Σ b_γ / q_β, which is Z_γ / Z_β where the regions agree, so that

    .. math:: \left| \log Z - \sum_γ \log Z_γ + \sum_β (n_β - 1) \log Z_β \right| ≤
              \sum_{β→γ} \max_{x_β} \left| \log \frac{\sum_{x_γ ∼ x_β} b_γ / Z_γ}{q_β / Z_β} \right|.

    The cost is that of a round of messages.
    """
    if not layout.logs.size:
        return ForestTotal(0.0, 0.0)
    is_outer = np.array([not above for above in layout.graph.parents])
    logs = layout.logs + layout.incoming @ messages
    value, gaps = float(log_sums(logs, layout.starts[:-1])[is_outer].sum()), 0.0
    for wave in layout.waves:
        found = _shared_total(wave, messages)
        value, gaps = value - found.value, gaps + found.margin
    return ForestTotal(value, gaps + _rounding(layout, messages))


def _shared_total(wave: Wave, messages: Floats) -> ForestTotal:
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
    return ForestTotal(
        float((1 - 1 / num) @ totals),  # each inner region is met once for each of its edges
        float(np.maximum.reduceat(gaps, wave.message_starts).sum()),
    )


def _rounding(layout: RegionLayout, messages: Floats) -> float:
    """A generous measure of what rounding can have done to the sums of a forest."""
    largest = sum(float(np.abs(part[part > -np.inf]).max(initial=0.0)) for part in (layout.logs, messages))
    num_terms = sum(map(len, layout.graph.factors)) + len(layout.graph.scopes) + len(layout.graph.edges)
    return 8 * float(np.finfo(np.float64).eps) * (num_terms * (1 + largest) + layout.logs.size)
