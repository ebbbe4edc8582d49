"""Weights that no finite number is best for: features, or combinations of them, with their extreme in all rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from plausible.base.arrays import Flags, Floats, Ints
from plausible.base.tolerances import WEIGHT_NOISE
from plausible.learn.undirected.design import Design
from plausible.learn.undirected.objectives import Objective
from plausible.learn.undirected.partition import TreePartition
from plausible.learn.undirected.penalized import Climb
from plausible.learn.undirected.priors import Penalty
from plausible.learn.undirected.sample import Sample
from plausible.search.ascent import AscentState
from plausible.search.run import Run

#: A step that still moves the logarithm of some entry so far when the gradient vanishes leads to infinity, if anywhere.
_STILL_MOVING = 0.02
#: More weights than this without a prior are not looked at, and no more planes than these are tried.
_MANY_WEIGHTS, _MANY_ROUNDS = 500, 200
#: What a combination of features may be larger elsewhere than in the data, of what it is larger in the data on average.
_NOISE = 1e-7


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


def diverging_weights(climbed: Climb[Objective], sample: Sample, run: Run[AscentState]) -> dict[str, float]:
    """A direction in which the likelihood rises for ever: the weights that it moves, in proportion; empty if none.

    It is there if a combination of features has its largest value in all rows, whatever each of them has by itself:
    these rows are a face of all that the features can be. A climb then stops somewhere on the way, where the gradient
    is small. It is looked for where the last step still led far, by linear programs whose constraints, assignments that
    the combination is larger at, are found one by one.
    """
    objective, before = climbed.objective, run.previous
    is_free = climbed.penalty.is_free
    if not 0 < is_free.sum() <= _MANY_WEIGHTS or not sample.is_complete or not sample.has_rows or before is None:
        return {}
    factor, part = objective.parts[0] if len(objective.parts) == 1 else (0.0, None)
    if not isinstance(part, TreePartition) or factor != -sample.repeats:
        return {}
    moved = objective.design.matrix @ (run.state.point - before.point)
    if np.abs(moved).max(initial=0.0) < _STILL_MOVING:
        return {}
    direction = _rising_for_ever(objective.design, part, sample.counts / sample.repeats, is_free)
    top = np.abs(direction).max(initial=0.0)
    return {
        name: float(share / top)
        for name, share in zip(objective.design.names, direction, strict=True)
        if abs(share) > 1e-6 * top
    }


def _rising_for_ever(design: Design, tree: TreePartition, frequencies: Floats, is_free: Flags) -> Floats:
    """The shortest δ, by Σ |δ|, such that δ·f is larger nowhere than in the rows, and not the same everywhere; or 0.

    Frequencies are those of the entries in the rows, for each component of the model.
    """
    from scipy.optimize import linprog

    free, units = np.flatnonzero(is_free), design.spreads[is_free]
    middle = tree.at(design.base)[1]
    aim = design.expected(frequencies - middle)[free] / units
    planes = np.zeros((0, free.size))
    for _ in range(_MANY_ROUNDS):
        both = np.hstack([planes, -planes])
        found: Any = linprog(
            np.ones(2 * free.size),
            A_ub=both if len(planes) else None,
            b_ub=np.zeros(len(planes)) if len(planes) else None,
            A_eq=np.hstack([aim, -aim])[None, :],
            b_eq=[1.0],
            method="highs",
        )
        if found.status != 0:
            break
        direction = np.zeros(design.num_weights)
        direction[free] = (found.x[: free.size] - found.x[free.size :]) / units
        states = tree.best(design.base + design.matrix @ direction)[1]
        picked = -frequencies
        picked[design.positions(states[None, :])[0]] += 1.0
        moves = (design.components.multiply(picked).tocsr() @ design.matrix).toarray()[:, free] / units
        above = moves @ (direction[free] * units)
        if above.max() <= _NOISE:
            return direction
        planes = np.vstack([planes, moves[above > _NOISE]])
    return np.zeros(design.num_weights)
