"""Means and scatter matrices: all that Gaussian learning asks of data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from plausible.base.arrays import Floats, Ints, Positions
from plausible.base.tolerances import WEIGHT_NOISE
from plausible.errors import InvalidArgument

_LACKING = "These moments lack rows that are taken away from them. Take away only moments of rows that are in them."


@dataclass(frozen=True, slots=True, eq=False)
class Moments:
    """The sufficient statistics of a Gaussian."""

    weight: float  # N: how much the rows weigh
    num_rows: float  # how many of them weigh anything
    mean: Floats  # x̄, a number for each variable
    scatter: Floats  # Σ w (x - x̄)(x - x̄)ᵀ over the rows

    @classmethod
    def of_rows(cls, numbers: Floats, weights: Floats | None = None) -> Moments:
        """The moments of rows; a line of `numbers` for each variable.

        The first row is subtracted before anything is summed, so that a constant has a scatter of exactly zero and
        large means cost no digits.
        """
        num_variables, num_rows = numbers.shape
        if not num_rows or (weights is not None and not weights.any()):
            return cls(0.0, 0, np.zeros(num_variables), np.zeros((num_variables, num_variables)))
        shift = numbers[:, :1]
        shifted = numbers - shift
        weight = float(num_rows if weights is None else weights.sum())
        means = (shifted.sum(axis=1) if weights is None else shifted @ weights) / weight
        shifted -= means[:, None]
        scatter = (shifted if weights is None else shifted * weights) @ shifted.T
        counted = num_rows if weights is None else int(np.count_nonzero(weights))
        return cls(weight, counted, means + shift[:, 0], scatter)

    @property
    def num_cases(self) -> float:
        """How many cases the rows are: what they weigh, but at least one each."""
        return max(self.weight, self.num_rows)

    def part(self, places: Sequence[int]) -> FamilyMoments:
        """Those of some of the variables, as the moments of a family without states."""
        chosen = np.array(places, dtype=np.intp)
        num = int(self.weight > 0)
        return FamilyMoments(
            np.empty((num, 0), dtype=np.int64),
            np.full(num, self.weight),
            np.full(num, float(self.num_rows)),
            np.repeat(self.mean[None, chosen], num, axis=0),
            np.repeat(self.scatter[None, chosen[:, None], chosen], num, axis=0),
        )


class FamilyMoments(NamedTuple):
    """The rows of a family by its joint states that occur, in order; all that matters where numbers are Gaussian.

    States go by the order in which the family was asked for, the child's last; numbers by the order of the data.
    """

    states: Ints  # axes: joint state, variable with states
    weight: Floats  # of the rows in each joint state
    num_rows: Floats  # how many of them weigh anything; at least so many, where that is not known
    mean: Floats  # axes: joint state, variable with numbers
    scatter: Floats  # axes: joint state, variable, variable

    @property
    def pooled(self) -> Moments:
        """The moments of all rows together."""
        weight = float(self.weight.sum())
        if len(self.weight) == 1 or not weight:
            mean = self.mean[0] if len(self.mean) else np.zeros(self.mean.shape[1])
            return Moments(weight, float(self.num_rows.sum()), mean, self.scatter.sum(axis=0))
        first = self.mean[0]
        mean = first + self.weight @ (self.mean - first) / weight
        apart = self.mean - mean
        between = (apart.T * self.weight) @ apart
        return Moments(weight, float(self.num_rows.sum()), mean, self.scatter.sum(axis=0) + between)


def grouped_moments(numbers: Floats, groups: Positions, weights: Floats, states: Ints) -> FamilyMoments:
    """The moments of groups of rows, one for each line of `states`; groups that weigh nothing are left out.

    The first row of each group is subtracted before anything is summed, as in `Moments.of_rows`.
    """
    size = len(states)
    weight = np.bincount(groups, weights, size).astype(np.float64)
    seen = weight > 0
    firsts = np.zeros(size, dtype=np.intp)
    firsts[groups[::-1]] = np.arange(len(groups))[::-1]
    shift = numbers[:, firsts] if numbers.shape[1] else np.zeros((len(numbers), size))
    shifted = numbers - shift[:, groups]
    means = np.zeros((len(numbers), size))
    for place, line in enumerate(shifted):
        means[place] = np.bincount(groups, weights * line, size)
    means /= np.where(seen, weight, 1.0)
    centred = shifted - means[:, groups]
    scatter = np.empty((size, len(numbers), len(numbers)))
    for a, one in enumerate(centred):
        for b, other in enumerate(centred[: a + 1]):
            scatter[:, a, b] = scatter[:, b, a] = np.bincount(groups, weights * one * other, size)
    num_rows = np.bincount(groups, weights > 0, size).astype(np.float64)
    return FamilyMoments(states[seen], weight[seen], num_rows[seen], (means + shift).T[seen], scatter[seen])


def joined_moments(parts: Sequence[FamilyMoments], factors: Sequence[float]) -> FamilyMoments:
    """Σ factor x moments, of one family; what is taken away has to be there, but for rounding."""
    states = np.concatenate([part.states for part in parts])
    groups = np.zeros(len(states), dtype=np.intp)
    if states.shape[1]:
        states, groups = np.unique(states, axis=0, return_inverse=True)
        groups = groups.reshape(-1)
    size = len(states) if states.shape[1] else min(len(states), 1)
    weights = np.concatenate([factor * part.weight for part, factor in zip(parts, factors, strict=True)])
    weight, sizes = (np.bincount(groups, sums, size).astype(np.float64) for sums in (weights, np.abs(weights)))
    if (weight < -WEIGHT_NOISE * sizes).any():
        raise InvalidArgument(_LACKING)
    rows = np.concatenate([part.num_rows * np.sign(factor) for part, factor in zip(parts, factors, strict=True)])
    means = np.concatenate([part.mean for part in parts])
    scatters = np.concatenate([part.scatter * factor for part, factor in zip(parts, factors, strict=True)])
    kept = np.flatnonzero(weight > WEIGHT_NOISE * sizes)
    joined = [_joined(means[groups == one], scatters[groups == one], weights[groups == one]) for one in kept.tolist()]
    num = means.shape[1]
    return FamilyMoments(
        states[kept],
        weight[kept],
        np.bincount(groups, rows, size).astype(np.float64)[kept],
        np.array([mean for mean, _ in joined]).reshape(len(kept), num),
        np.array([scatter for _, scatter in joined]).reshape(len(kept), num, num),
    )


def _joined(means: Floats, scatters: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """The mean and the scatter of all, in which no variable may owe any; rounding is."""
    mean = means[0] + weights @ (means - means[0]) / weights.sum()
    apart = means - mean
    between = (apart.T * weights) @ apart
    scatter = scatters.sum(axis=0) + between
    own = np.diag(scatter)
    spent = np.abs(np.diagonal(scatters, axis1=1, axis2=2)).sum(axis=0) + np.abs(weights) @ apart**2
    if (own < -WEIGHT_NOISE * spent).any():
        raise InvalidArgument(_LACKING)
    constant = own <= 0
    scatter[constant] = scatter[:, constant] = 0.0
    return mean, scatter
