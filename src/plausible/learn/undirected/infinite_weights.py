"""Weights that no finite number is best for: features, or combinations of them, with their extreme in all rows."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from plausible.base.arrays import Flags, Floats, Ints
from plausible.base.tolerances import WEIGHT_NOISE
from plausible.errors import NotSupported
from plausible.learn.undirected.closed_forms import has_free_tables, junction_tree
from plausible.learn.undirected.design import Design
from plausible.learn.undirected.objectives import Objective
from plausible.learn.undirected.partition import TreePartition
from plausible.learn.undirected.penalized import Climb
from plausible.learn.undirected.priors import Penalty
from plausible.learn.undirected.sample import Sample

#: More weights than this without a prior are not looked at, and no more planes than these are tried.
_MANY_WEIGHTS, _MANY_ROUNDS = 500, 100
#: What a combination of features may be larger elsewhere than in the data, of what it is larger in the data on average.
_NOISE = 1e-7
#: How far a direction is gone to see where it leads; and by how much less each further one counts, so that none cancel.
_FAR, _GOLDEN = 1e4, 0.6180339887498949


def settle_infinite(design: Design, counts: Floats, penalty: Penalty) -> tuple[Design, dict[str, float]]:
    """Weights without a prior that no finite number is best for: features that have their extreme in every row.

    Their limit is reached by ruling out all other values of the feature, so that what is left has a finite optimum.
    Returns the design without those entries, and name -> inf or -inf.
    """
    is_free = penalty.is_free
    infinite: dict[str, float] = {}
    while True:
        found, ruled_out = _extremes(design, counts, is_free)
        found = {name: sign for name, sign in found.items() if name not in infinite}
        if not found:
            return design, infinite
        infinite |= found
        design = design.without(ruled_out)


def _extremes(design: Design, counts: Floats, is_free: Flags) -> tuple[dict[str, float], Flags]:
    """Which free weights have features at their extreme in all rows of all of their places, and what that rules out."""
    ruled_out = np.zeros(design.num_entries, dtype=bool)
    found: dict[str, float] = {}
    columns, values = design.matrix.tocsc(), np.zeros(design.num_entries)
    owner = np.repeat(np.arange(len(design.scopes)), np.diff(design.starts))
    for sign in (1.0, -1.0):
        for weight in np.flatnonzero(is_free & _is_at_top(design, counts, sign)):
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


def _is_at_top(design: Design, counts: Floats, sign: float) -> Flags:
    """Of each weight whether no row has its feature, times the sign, below the largest value, in any of its places."""
    live = np.isfinite(design.base)
    coo = design.matrix.tocoo()
    kept = live[coo.row]
    entries, weights, values = coo.row[kept], coo.col[kept], sign * coo.data[kept]
    scopes = np.searchsorted(design.starts, entries, side="right") - 1
    pairs, pair = np.unique(scopes * max(1, design.num_weights) + weights, return_inverse=True)
    owner = pairs // max(1, design.num_weights)
    num_live, rows = (np.add.reduceat(array, design.starts[:-1])[owner] for array in (live.astype(int), counts * live))
    has_zero = np.bincount(pair, minlength=pairs.size) < num_live  # entries at which the feature is zero are not listed
    top = np.where(has_zero, 0.0, -np.inf)
    np.maximum.at(top, pair, values)
    below = np.bincount(pair, counts[entries] * (values < top[pair]), minlength=pairs.size).astype(np.float64)
    below += np.where(has_zero & (top > 0), rows - np.bincount(pair, counts[entries], minlength=pairs.size), 0.0)
    total = np.bincount(pairs % max(1, design.num_weights), below, minlength=design.num_weights)
    return total <= WEIGHT_NOISE * max(1.0, float(counts.max(initial=0.0)))


def diverging_weights(climbed: Climb[Objective], sample: Sample) -> dict[str, float]:
    """A direction in which the likelihood rises for ever: all weights that have no end, in proportion; empty if none.

    It is there if a combination of features has its largest value in all rows, whatever each of them has by itself:
    these rows are a face of all that the features can be. A climb then stops somewhere on the way, where the gradient
    is small. The data alone tell, by linear programs whose constraints, assignments that the combination is larger at,
    are found one by one; free tables on the cliques of a chordal graph have none.
    """
    objective, is_free = climbed.objective, climbed.penalty.is_free
    design = objective.design
    factor, part = objective.parts[0] if len(objective.parts) == 1 else (0.0, None)
    if not 0 < is_free.sum() <= _MANY_WEIGHTS or not sample.is_complete:
        return {}
    if not isinstance(part, TreePartition) or factor != -sample.repeats:
        return {}
    if has_free_tables(design) and junction_tree(design.scopes) is not None:
        return {}
    face = Face.of(design, part, sample, is_free)
    direction = np.zeros(design.num_weights)
    for step in range(_MANY_ROUNDS):
        found = face.rising(direction)
        if found is None:
            break
        direction += _GOLDEN**step * found / np.abs(found).max()
    top = np.abs(direction).max(initial=0.0)
    return {
        name: float(share / top) for name, share in zip(design.names, direction, strict=True) if abs(share) > 1e-6 * top
    }


@dataclass(slots=True, eq=False)
class Face:
    """The face of what features can be that the data lie on, as far as it is known."""

    design: Design
    tree: TreePartition
    means: Floats  # of each weight, in the data
    frequencies: Floats | None  # of the entries, where there are rows: each component has means of its own
    free: Ints  # the weights that may move
    units: Floats  # of these
    spanned: Floats  # orthonormal directions in which rows at hand differ: none of them rises for ever
    planes: Floats  # moves from the data to assignments, which no direction may lead up

    @classmethod
    def of(cls, design: Design, tree: TreePartition, sample: Sample, is_free: Flags) -> Face:
        """What the data say."""
        free, units = np.flatnonzero(is_free), design.spreads[is_free]
        means = sample.feature_totals / sample.repeats
        frequencies, spanned = None, np.zeros((0, free.size))
        if sample.has_rows:
            frequencies = sample.counts / sample.repeats
            with suppress(NotSupported):  # statistics without their rows: assignments alone rule directions out
                values, vectors = np.linalg.eigh(_spread_of_rows(design, sample, free, units))
                spanned = vectors[:, values > _NOISE**2 * max(1.0, float(values.max()))].T
        return cls(design, tree, means, frequencies, free, units, spanned, np.zeros((0, free.size)))

    def rising(self, known: Floats) -> Floats | None:
        """The shortest δ, by Σ |δ|, such that δ·f is larger nowhere than in the data, and not the same everywhere.

        Everywhere is where the direction that is known is at its best.
        """
        from scipy.optimize import linprog

        size, design = self.free.size, self.design
        middle = self.tree.at(design.base + _FAR * (design.matrix @ known))[1]
        aim = (self.means - design.expected(middle))[self.free] / self.units
        if np.abs(aim - (self.spanned @ aim) @ self.spanned).max() <= _NOISE**2 * 1e3:
            return None
        equal = np.vstack([aim, self.spanned])
        for _ in range(_MANY_ROUNDS):
            found: Any = linprog(
                np.ones(2 * size),
                A_ub=np.hstack([self.planes, -self.planes]) if len(self.planes) else None,
                b_ub=np.zeros(len(self.planes)) if len(self.planes) else None,
                A_eq=np.hstack([equal, -equal]),
                b_eq=np.eye(len(equal))[0],
                method="highs",
            )
            if found.status != 0 or np.abs(found.x).max() > _NOISE**-1:
                return None
            scaled = found.x[:size] - found.x[size:]
            direction = np.zeros(design.num_weights)
            direction[self.free] = scaled / self.units
            moves = self._moves(direction)
            above = moves @ scaled
            if above.max() <= _NOISE:
                return direction
            self.planes = np.vstack([self.planes, moves[above > _NOISE]])
        return None

    def _moves(self, direction: Floats) -> Floats:
        """From the data to the assignment that is largest along a direction, for each component if there are rows."""
        design = self.design
        states = self.tree.best(design.base + design.matrix @ direction)[1]
        picked = np.zeros(design.num_entries)
        picked[design.positions(states[None, :])[0]] = 1.0
        if self.frequencies is None:
            return (design.expected(picked) - self.means)[None, self.free] / self.units
        moves = (design.components.multiply(picked - self.frequencies).tocsr() @ design.matrix).toarray()
        return np.asarray(moves[:, self.free] / self.units)


def _spread_of_rows(design: Design, sample: Sample, free: Ints, units: Floats) -> Floats:
    """The covariance of features over the different rows, each once."""
    from scipy.sparse import csr_array

    places = design.positions(sample.rows[0])
    starts = np.arange(len(places) + 1) * places.shape[1]
    entries = csr_array((np.ones(places.size), places.ravel(), starts), shape=(len(places), design.num_entries))
    features = (entries @ design.matrix)[:, free]
    middle = np.asarray(features.mean(axis=0)).ravel()
    products = np.asarray((features.T @ features).todense()) / len(places) - np.outer(middle, middle)
    return np.asarray(products / np.outer(units, units))
