"""Whether the best weights are finite: directions of recession, in which an objective rises for ever."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from plausible.base.arrays import Flags, Floats, Ints
from plausible.base.frozen import FrozenMapping
from plausible.errors import NotSupported
from plausible.learn.undirected.closed_forms import has_free_tables, junction_tree
from plausible.learn.undirected.design import Design
from plausible.learn.undirected.local_partitions import LocalPartitions
from plausible.learn.undirected.objectives import Objective
from plausible.learn.undirected.partition import TreePartition, is_of_moderate_size
from plausible.learn.undirected.penalized import Climb
from plausible.learn.undirected.sample import Sample

#: More weights than this without a prior are not looked at, no more planes than these are tried, and no program has
#: more numbers than this.
_MANY_WEIGHTS, _MANY_ROUNDS, _MANY_NUMBERS = 500, 100, 1_000_000
#: What a combination of features may be larger elsewhere than in the data, of what it is larger in the data on average.
_NOISE = 1e-7
#: How far a direction is gone to see where it leads; and by how much less each further one counts, so that none cancel.
_FAR, _GOLDEN = 1e4, 0.6180339887498949


class Direction(NamedTuple):
    """What was found of directions in which an objective rises for ever."""

    weights: Floats  # one of them, with all weights that have no end; zero where none was found
    is_all: bool  # whether there are no others: False where the search was cut short


@dataclass(frozen=True, eq=False)
class Recession:
    """Whether an objective has finite best weights, found out when it is asked for.

    A direction of recession is there if a combination of features has its largest value in all rows, whatever each of
    them has by itself: these rows are a face of all that the features can be. A climb then stops somewhere on the way,
    where the gradient is small.
    """

    climbed: Climb[Objective]
    sample: Sample
    point: Floats  # where the climb ended

    @property
    def weights(self) -> Mapping[str, float]:
        """All weights that have no end and for which others have to make up, in proportion; empty if none are known."""
        names, direction = self.climbed.objective.design.names, self._found.weights if self._found else np.empty(0)
        top = np.abs(direction).max(initial=0.0)
        return FrozenMapping(
            {name: float(share / top) for name, share in zip(names, direction, strict=False) if abs(share) > 1e-6 * top}
        )

    @property
    def has_maximum(self) -> bool | None:
        """Whether the best weights are finite, but for those that are infinite by themselves; None if not known."""
        if self._found is None:
            return None
        return False if self._found.weights.any() else True if self._found.is_all else None

    @property
    def was_cut_short(self) -> bool:
        """Whether directions were looked for, but neither all of them found nor ruled out."""
        return self._found is not None and not self._found.is_all

    @cached_property
    def _found(self) -> Direction | None:
        """None where the objective is none of those that can be told of."""
        objective, is_free = self.climbed.objective, self.climbed.penalty.is_free
        design, none = objective.design, np.zeros(objective.design.num_weights)
        factor, part = objective.parts[0] if len(objective.parts) == 1 else (0.0, None)
        if not is_free.any():
            return Direction(none, True)
        if not self.sample.is_complete or not factor < 0 or not isinstance(part, TreePartition | LocalPartitions):
            return None
        if has_free_tables(design) and junction_tree(design.scopes) is not None:
            return Direction(none, True)
        if is_free.sum() > _MANY_WEIGHTS or not is_of_moderate_size(design):
            return Direction(none, False)
        if isinstance(part, LocalPartitions):
            return _of_neighbours(design, part, is_free)
        if _lies_inside(objective, part, is_free, self.point):
            return Direction(none, True)
        return _of_all(design, part, self.sample, is_free) if factor == -self.sample.repeats else None


def _lies_inside(objective: Objective, tree: TreePartition, is_free: Flags, point: Floats) -> bool:
    """Whether some positive distribution has the moments of the data, which then lie on no face.

    It is the model, tilted to these: P(x) (1 + λ·(f(x) - E f)). Of directions that hardly matter any more under the
    model nothing is said.
    """
    design, free = objective.design, np.flatnonzero(is_free)
    logs = design.logs(point)
    own, even = (_scaled_covariance(tree, each, free) for each in (logs, design.base))
    values, vectors = np.linalg.eigh(own)
    kept = values > _NOISE * max(values.max(), 1e-300)
    if kept.sum() < np.linalg.matrix_rank(even, tol=_NOISE * np.abs(even).max(initial=0.0), hermitian=True):
        return False
    beliefs = tree.at(logs)[1]
    means = objective.linear / -objective.parts[0][0]
    aim = (means - design.expected(beliefs))[free] / design.spreads[free]
    tilt = np.zeros(design.num_weights)
    tilt[free] = vectors[:, kept] @ ((aim @ vectors[:, kept]) / values[kept]) / design.spreads[free]
    if np.abs(own @ (tilt[free] * design.spreads[free]) - aim).max() > 1e-6 * np.abs(aim).max():
        return False
    added, lowest = design.matrix @ tilt, np.zeros(design.num_entries)
    lowest[design.positions(tree.best(design.base - added)[1][None, :])[0]] = 1.0
    return bool((1 + design.components @ (added * (lowest - beliefs)) >= 0.5).all())


def _scaled_covariance(tree: TreePartition, logs: Floats, free: Ints) -> Floats:
    """Of features of free weights, each in its unit."""
    units = tree.design.spreads[free]
    return np.asarray(tree.covariance(logs)[np.ix_(free, free)] / units[:, None] / units)


def _of_neighbours(design: Design, part: LocalPartitions, is_free: Flags) -> Direction:
    """Of the pseudolikelihood: rows win, or tie, over all that differ in one variable; a linear program."""
    from scipy.optimize import linprog

    none, free = np.zeros(design.num_weights), np.flatnonzero(is_free)
    units = design.spreads[free]
    if part.num_rivals * free.size > _MANY_NUMBERS:
        return Direction(none, False)
    wins = _wins(design, part)[:, free] / units
    wins = np.unique(wins[np.abs(wins).max(axis=1, initial=0.0) > 0], axis=0)
    num = len(wins)
    if not num:
        return Direction(none, True)
    found: Any = linprog(
        np.append(np.zeros(free.size), -np.ones(num)),
        A_ub=np.hstack([-wins, np.eye(num)]),
        b_ub=np.zeros(num),
        bounds=[*[(None, None)] * free.size, *[(0, 1)] * num],
        method="highs",
    )
    if found.status != 0:
        return Direction(none, False)
    is_won = found.x[free.size :] > 0.5
    if not is_won.any():
        return Direction(none, True)
    shortest = _shortest(wins[~is_won], np.zeros((~is_won).sum()), -wins[is_won], -np.ones(is_won.sum()))
    none[free] = (found.x[: free.size] if shortest is None else shortest) / units
    return Direction(none, True)


def _wins(design: Design, part: LocalPartitions) -> Floats:
    """For each row and each other state of each target by how much the features of the row are larger."""
    rows, found = part.rows, [np.zeros((0, design.num_weights))]
    starts, flat, strides = design.axes
    table_of, places = np.repeat(np.arange(len(design.scopes)), np.diff(starts)), design.positions(rows)
    for target in part.targets.tolist():
        links = np.flatnonzero(flat == target)
        own = places[:, table_of[links]]
        for state in range(int(design.sizes[target])):
            other = own + (state - rows[:, [target]]) * strides[links]
            wins = _summed(design, own) - _summed(design, other)
            found.append(wins[np.isfinite(design.base[other]).all(axis=1)])
    return np.concatenate(found)


def _summed(design: Design, places: Ints) -> Floats:
    """Σ f over the entries of each row."""
    from scipy.sparse import csr_array

    starts = np.arange(len(places) + 1) * places.shape[1]
    entries = csr_array((np.ones(places.size), places.ravel(), starts), shape=(len(places), design.num_entries))
    return np.asarray((entries @ design.matrix).todense())


def _shortest(equal: Floats, values: Floats, below: Floats, limits: Floats) -> Floats | None:
    """The δ of the least Σ |δ| with equal δ = values and below δ ≤ limits; None if there is none."""
    from scipy.optimize import linprog

    size = equal.shape[1]
    found: Any = linprog(
        np.ones(2 * size),
        A_ub=np.hstack([below, -below]) if len(below) else None,
        b_ub=limits if len(below) else None,
        A_eq=np.hstack([equal, -equal]) if len(equal) else None,
        b_eq=values if len(equal) else None,
        method="highs",
    )
    return found.x[:size] - found.x[size:] if found.status == 0 else None


def _of_all(design: Design, tree: TreePartition, sample: Sample, is_free: Flags) -> Direction:
    """Of the likelihood: rows win, or tie, over all assignments, by programs whose constraints are found one by one."""
    face = Face.of(design, tree, sample, is_free)
    direction = np.zeros(design.num_weights)
    for step in range(_MANY_ROUNDS):
        found = face.rising(direction)
        if found is None:
            return Direction(direction, not face.is_cut_short)
        direction += _GOLDEN**step * found / np.abs(found).max()
    return Direction(direction, False)


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
    is_cut_short: bool = False  # whether planes were too many, so that there may be directions that were not found

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
        design = self.design
        middle = self.tree.at(design.base + _FAR * (design.matrix @ known))[1]
        aim = (self.means - design.expected(middle))[self.free] / self.units
        if np.abs(aim - (self.spanned @ aim) @ self.spanned).max() <= _NOISE**2 * 1e3:
            return None
        equal = np.vstack([aim, self.spanned])
        for _ in range(_MANY_ROUNDS):
            scaled = _shortest(equal, np.eye(len(equal))[0], self.planes, np.zeros(len(self.planes)))
            if scaled is None or np.abs(scaled).max() > _NOISE**-1:
                return None
            direction = np.zeros(design.num_weights)
            direction[self.free] = scaled / self.units
            moves = self._moves(direction)
            above = moves @ scaled
            if above.max() <= _NOISE:
                return direction
            self.planes = np.vstack([self.planes, moves[above > _NOISE]])
        self.is_cut_short = True
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
    """The covariance of features, each in its unit, over the different rows, each once."""
    features = _summed(design, design.positions(sample.rows[0]))[:, free] / units
    centred = features - features.mean(axis=0)
    return np.asarray(centred.T @ centred / len(centred))
