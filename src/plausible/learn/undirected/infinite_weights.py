"""Weights that no finite number is best for: features with their extreme in all rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np

from plausible.base.arrays import Flags, Floats, Ints
from plausible.base.tolerances import WEIGHT_NOISE
from plausible.learn.undirected.design import Design
from plausible.learn.undirected.priors import Penalty

#: Of each weight of a design whether its feature, times a sign, is always at its largest value in the data.
AtTop: TypeAlias = Callable[[Design, float], Flags]


def settle_infinite(design: Design, is_at_top: AtTop, penalty: Penalty) -> tuple[Design, dict[str, float]]:
    """Weights without a prior that no finite number is best for: features that have their extreme in every row.

    Their limit is reached by ruling out all other values of the feature, so that what is left has a finite optimum.
    Returns the design without those entries, and name -> inf or -inf.
    """
    is_free = penalty.is_free
    infinite: dict[str, float] = {}
    while True:
        found, ruled_out = _extremes(design, is_at_top, is_free)
        found = {name: sign for name, sign in found.items() if name not in infinite}
        if not found:
            return design, infinite
        infinite |= found
        design = design.without(ruled_out)


def _extremes(design: Design, is_at_top: AtTop, is_free: Flags) -> tuple[dict[str, float], Flags]:
    """Which free weights have features at their extreme in all rows of all of their places, and what that rules out."""
    ruled_out = np.zeros(design.num_entries, dtype=bool)
    found: dict[str, float] = {}
    columns, values = design.matrix.tocsc(), np.zeros(design.num_entries)
    owner = np.repeat(np.arange(len(design.scopes)), np.diff(design.starts))
    for sign in (1.0, -1.0):
        for weight in np.flatnonzero(is_free & is_at_top(design, sign)):
            first, last = columns.indptr[weight], columns.indptr[weight + 1]
            entries = columns.indices[first:last]
            values[entries] = sign * columns.data[first:last]
            below = [_below(design, values, scope) for scope in np.unique(owner[entries])]
            values[entries] = 0.0
            if sum(part.size for part in below):
                found[design.names[weight]] = sign * np.inf
                ruled_out[np.concatenate(below)] = True
    return found, ruled_out


def _below(design: Design, values: Floats, scope: int) -> Ints:
    """The entries of a table, those ruled out before not counted, at which a feature is below its largest value."""
    entries = np.arange(design.starts[scope], design.starts[scope + 1])
    entries = entries[np.isfinite(design.base[entries])]
    return np.asarray(entries[values[entries] < values[entries].max(initial=-np.inf)])


def tops_of_counts(counts: Floats) -> AtTop:
    """Of each weight whether no row has its feature, times the sign, below the largest value, in any of its places."""

    def is_at_top(design: Design, sign: float) -> Flags:
        tops = _Tops.of(design, sign)
        seen, rows = counts[tops.entries], np.add.reduceat(counts * np.isfinite(design.base), design.starts[:-1])
        num = tops.highest.size
        below = np.bincount(tops.pair, seen * (tops.values < tops.highest[tops.pair]), minlength=num).astype(np.float64)
        unlisted = rows[tops.scopes] - np.bincount(tops.pair, seen, minlength=num)
        below += np.where(tops.has_zero & (tops.highest > 0), unlisted, 0.0)
        total = np.bincount(tops.weights, below, minlength=design.num_weights)
        return np.asarray(total <= WEIGHT_NOISE * max(1.0, float(counts.max(initial=0.0))))

    return is_at_top


def tops_of_means(means: Floats) -> AtTop:
    """Of each weight whether the mean of its feature, times the sign, is the largest value that it may have."""

    def is_at_top(design: Design, sign: float) -> Flags:
        tops = _Tops.of(design, sign)
        most = np.bincount(tops.weights, tops.highest, minlength=design.num_weights)
        return np.asarray(most - sign * means <= WEIGHT_NOISE * design.spreads)

    return is_at_top


class _Tops(NamedTuple):
    """The largest value, times a sign, that each weight's feature has in each table, where it is not ruled out."""

    entries: Ints  # of the tables that are not ruled out and have a value
    values: Floats  # there, times the sign
    pair: Ints  # of each entry which pair of a scope and a weight it belongs to
    scopes: Ints  # of each pair
    weights: Ints  # of each pair
    has_zero: Flags  # of each pair whether there are entries at which the feature is zero, which are not listed
    highest: Floats  # of each pair

    @classmethod
    def of(cls, design: Design, sign: float) -> _Tops:
        live, num = np.isfinite(design.base), max(1, design.num_weights)
        coo = design.matrix.tocoo()
        kept = live[coo.row]
        entries, values = coo.row[kept].astype(np.int64), sign * coo.data[kept]
        scopes = np.searchsorted(design.starts, entries, side="right") - 1
        pairs, pair = np.unique(scopes * num + coo.col[kept].astype(np.int64), return_inverse=True)
        num_live = np.add.reduceat(live.astype(int), design.starts[:-1])[pairs // num]
        has_zero = np.bincount(pair, minlength=pairs.size) < num_live
        highest = np.where(has_zero, 0.0, -np.inf)
        np.maximum.at(highest, pair, values)
        return cls(entries, values, pair, pairs // num, pairs % num, has_zero, highest)
