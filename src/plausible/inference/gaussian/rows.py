"""What rows of observed numbers say; no loop goes over rows.

The careful way is an elimination with the rows as one more axis, for any variances and any number of configurations.
The fast one writes joint Gaussians out: one orthogonal decomposition for each pattern of missing numbers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt

from plausible.base import Flags, Positions
from plausible.factors.alignment import Scope, num_entries
from plausible.inference.budget import Budget, read_budget
from plausible.inference.gaussian.elimination import (
    NumbersCost,
    eliminate,
    plan_elimination,
    shape_of,
    strong_order,
    topological,
)
from plausible.inference.gaussian.regression import Array, EvidenceWeight, Regression, joint_scope
from plausible.variables import Variable

#: The name of the axis of rows among discrete variables: it comes before all others in the alphabet.
ROWS = "\0rows"

#: The numbers that one step of work may have.
MAX_STEP = 2**21


@dataclass(frozen=True, slots=True, eq=False)
class RowDensities:
    """What the numbers of each row say, for each configuration of discrete variables."""

    #: Densities whose product is that of the observed numbers; arrays have an axis of rows, then those of the scope.
    weights: tuple[EvidenceWeight, ...]
    scope: Scope = ()  # The discrete variables that the moments depend on
    #: Of the hidden number asked for, shape `(rows, *scope)`; empty where none is.
    mean: Array | None = None
    variance: Array | None = None

    def rows(self, rows: Positions, extra: Sequence[EvidenceWeight] = ()) -> RowDensities:
        """Some rows, with further weights."""
        weights = tuple(weight.rows(rows) for weight in (*self.weights, *extra))
        if self.mean is None or self.variance is None:
            return RowDensities(weights)
        return RowDensities(weights, self.scope, self.mean[rows], self.variance[rows])


def connected_parts(regressions: Iterable[Regression]) -> list[tuple[Regression, ...]]:
    """The regressions in groups that share no continuous variables, parents first in each."""
    by_name = {regression.name: regression for regression in regressions}
    rank = {name: place for place, name in enumerate(topological(by_name.values()))}
    groups: dict[str, list[str]] = {}
    for name in rank:
        merged: list[str] = []
        for group in {id(groups[p]): groups[p] for p in by_name[name].parents if p in groups}.values():
            merged += group
        merged.append(name)
        groups |= dict.fromkeys(merged, merged)
    parts = {id(group): sorted(group, key=rank.__getitem__) for group in groups.values()}
    return [tuple(by_name[name] for name in group) for group in parts.values()]


def same_rows(table: npt.NDArray[Any]) -> tuple[Positions, Positions]:
    """The first of each kind of row, and for each row of which kind it is."""
    if not table.size:
        return np.zeros(min(len(table), 1), dtype=np.intp), np.zeros(len(table), dtype=np.intp)
    packed = np.packbits(table, axis=1) if table.dtype == np.bool_ else np.ascontiguousarray(table)
    items = packed.view(np.dtype((np.void, packed.dtype.itemsize * packed.shape[1]))).reshape(-1)
    _, first, places = np.unique(items, return_index=True, return_inverse=True)
    return first, places.reshape(-1)


def eliminate_rows(
    regressions: Sequence[Regression],
    numbers: Mapping[str, Array],
    states: Mapping[str, npt.NDArray[Any]],
    num_rows: int,
    target: str | None = None,
    budget: Budget | None = None,
) -> RowDensities:
    """Densities of rows with the same columns observed, whatever the variances and however many the configurations.

    The regressions are those of all variables that have common ones among their parents; `numbers` and `states` have
    the columns of those observed, which the answer lacks. `TooLarge` where one row costs more than the budget.
    """
    zeros, first = dict.fromkeys(numbers, 0.0), dict.fromkeys(states, 0)
    keep = () if target is None else (target,)
    shapes = [shape_of(line.given(first, zeros)) for line in regressions]
    steps, leaves = plan_elimination(shapes, strong_order(shapes, zeros.keys(), keep), zeros)
    cost = NumbersCost(tuple((s.name, s.scope, s.entries) for s in (*steps, *leaves)), len(shapes))
    cost.check(read_budget(budget))
    step = max(MAX_STEP // max(cost.entries, 1), 1)
    pieces = []
    for start in range(0, num_rows, step):
        rows = np.arange(start, min(start + step, num_rows))
        seen = {name: column[rows] for name, column in numbers.items()}
        codes = {name: column[rows] for name, column in states.items()}
        pieces.append(_eliminated(regressions, seen, codes, len(rows), keep))
    return _stacked(pieces)


def _eliminated(
    regressions: Sequence[Regression],
    numbers: Mapping[str, Array],
    states: Mapping[str, npt.NDArray[Any]],
    num_rows: int,
    keep: Sequence[str],
) -> RowDensities:
    if num_rows == 1:  # an axis of one row would not be seen among discrete variables
        values = {name: float(column[0]) for name, column in numbers.items()}
        codes = {name: int(column[0]) for name, column in states.items()}
        lines = [line.given(codes, values) for line in regressions]
    else:
        values = dict.fromkeys(numbers, 0.0)
        lines = [_on_rows(line, numbers, states, Variable(ROWS, num_rows)) for line in regressions]

    def laid(arrays: Sequence[npt.NDArray[Any]], scope: Scope) -> list[npt.NDArray[Any]]:
        """With the axis of rows in front, where it is already if anything depends on rows."""
        if scope and scope[0].name == ROWS:
            return list(arrays)
        return [np.broadcast_to(array, (num_rows, *np.shape(array))) for array in arrays]

    done = eliminate(lines, strong_order([shape_of(line) for line in lines], numbers.keys(), keep), values)
    weights = tuple(
        EvidenceWeight(_without_rows(weight.scope), *laid((weight.log_density, weight.point_masses), weight.scope))
        for weight in done.weights
    )
    if not keep:
        return RowDensities(weights)
    last = done.steps[-1]
    return RowDensities(weights, _without_rows(last.scope), *laid((last.intercept, last.variance), last.scope))


def _on_rows(
    line: Regression, numbers: Mapping[str, Array], states: Mapping[str, npt.NDArray[Any]], rows: Variable
) -> Regression:
    """The regression at the states and numbers of each row; an observed variable's own is against its numbers."""
    line = _at_row_states(line, states, rows)
    seen = [axis for axis, name in enumerate(line.parents) if name in numbers]
    if not seen and line.name not in numbers:
        return line
    kept = [axis for axis in range(len(line.parents)) if axis not in set(seen)]
    line = line.over(joint_scope(((rows,), line.scope)), line.parents)
    across = (rows.num_states, *[1] * (len(line.scope) - 1))
    own = numbers[line.name].reshape(across) if line.name in numbers else np.zeros(across)
    columns = [numbers[line.parents[axis]].reshape(across) for axis in seen]
    terms = [line.coefficients[..., axis] * column for axis, column in zip(seen, columns, strict=True)]
    shape = tuple(variable.num_states for variable in line.scope)
    return replace(
        line,
        parents=tuple(line.parents[axis] for axis in kept),
        coefficients=np.broadcast_to(line.coefficients[..., kept], (*shape, len(kept))),
        intercept=np.broadcast_to(sum(terms, line.intercept) - own, shape),
        variance=np.broadcast_to(line.variance, shape),
        size=np.broadcast_to(reduce(np.maximum, map(np.abs, [line.size, own, *terms])), shape),
    )


def _at_row_states(line: Regression, states: Mapping[str, npt.NDArray[Any]], rows: Variable) -> Regression:
    seen = [axis for axis, variable in enumerate(line.scope) if variable.name in states]
    if not seen:
        return line
    kept = [axis for axis in range(len(line.scope)) if axis not in set(seen)]
    place = tuple(states[line.scope[axis].name] for axis in seen)

    def at(array: Array, tail: int) -> Array:
        laid = array.transpose(*seen, *kept, *range(len(line.scope), len(line.scope) + tail))
        found: Array = laid[place]
        return found

    return replace(
        line,
        scope=(rows, *(line.scope[axis] for axis in kept)),
        intercept=at(line.intercept, 0),
        coefficients=at(line.coefficients, 1),
        variance=at(line.variance, 0),
        size=at(line.size, 0),
    )


def _without_rows(scope: Scope) -> Scope:
    return tuple(variable for variable in scope if variable.name != ROWS)


def _stacked(pieces: Sequence[RowDensities]) -> RowDensities:
    """Pieces of rows under each other."""
    if len(pieces) == 1:
        return pieces[0]
    weights = tuple(
        EvidenceWeight(
            parts[0].scope,
            np.concatenate([part.log_density for part in parts]),
            np.concatenate([part.point_masses for part in parts]),
        )
        for parts in zip(*(piece.weights for piece in pieces), strict=True)
    )
    means = [piece.mean for piece in pieces if piece.mean is not None]
    variances = [piece.variance for piece in pieces if piece.variance is not None]
    if not means:
        return RowDensities(weights)
    return RowDensities(weights, pieces[0].scope, np.concatenate(means), np.concatenate(variances))


_LOG_2PI = math.log(2 * math.pi)
#: A number that the others determine up to this share of its deviation is left to the careful elimination.
_DETERMINED = 1e-6
#: Larger blocks, in numbers, are not written out.
_MAX_BLOCK = 2**18


@dataclass(frozen=True, slots=True, eq=False)
class GaussianBlock:
    """The joint distribution of some continuous variables, one for each configuration of discrete ones.

    x = mean + root · z with independent standard normal z: the root of the covariance keeps twice the digits of it.
    """

    names: tuple[str, ...]  # The continuous variables, parents first
    scope: Scope  # The discrete variables that the numbers depend on
    mean: Array  # Shape `(configurations, names)`
    root: Array  # Shape `(configurations, names, names)`, lower triangular

    @classmethod
    def of(cls, regressions: Sequence[Regression]) -> GaussianBlock | None:
        """The block of regressions, parents first; `None` where some variance is zero or the block would be large."""
        scope = joint_scope([(), *(line.scope for line in regressions)])
        names = tuple(line.name for line in regressions)
        shape = tuple(variable.num_states for variable in scope)
        if num_entries(scope) * len(names) ** 2 > _MAX_BLOCK or any((line.variance == 0).any() for line in regressions):
            return None
        mean, root = np.zeros((*shape, len(names))), np.zeros((*shape, len(names), len(names)))
        places = {name: place for place, name in enumerate(names)}
        for place, regression in enumerate(regressions):
            line = regression.over(scope, regression.parents)
            axes = [places[name] for name in line.parents]
            mean[..., place] = line.intercept + np.einsum("...i,...i->...", line.coefficients, mean[..., axes])
            root[..., place, :] = np.einsum("...i,...ij->...j", line.coefficients, root[..., axes, :])
            root[..., place, place] = np.sqrt(line.variance)
        count = num_entries(scope)
        return cls(names, scope, mean.reshape(count, -1), root.reshape(count, len(names), len(names)))

    def given(self, numbers: Array, target: str | None = None) -> tuple[RowDensities, Flags]:
        """Densities of rows, NaN where a number is missing, the moments of a target, and which rows are delicate.

        In these some number all but follows from others: `eliminate_rows` is for them. A target's own column is not
        looked at. For each configuration O(n³) a pattern of missing numbers, and O(n²) a row.
        """
        count, place = len(self.mean), None if target is None else self.names.index(target)
        log_density = np.zeros((len(numbers), count))
        mean, variance = (np.zeros((len(numbers) if target is not None else 0, count)) for _ in range(2))
        is_delicate = np.zeros(len(numbers), dtype=np.bool_)
        observed = ~np.isnan(numbers)
        if place is not None:
            observed[:, place] = False
        first, kinds = same_rows(observed)
        order = np.argsort(kinds, kind="stable")
        for rows in np.split(order, np.cumsum(np.bincount(kinds, minlength=len(first)))[:-1]) if len(order) else ():
            seen = np.flatnonzero(observed[rows[0]])
            at = _Conditional.of(self, seen, place)
            if at is None:
                is_delicate[rows] = True
                continue
            step = max(MAX_STEP // (count * max(len(seen), 1)), 1)
            for part in (rows[start : start + step] for start in range(0, len(rows), step)):
                noise = (numbers[part[:, None], seen] - at.center[:, None]) @ at.whitener
                log_density[part] = (at.log_scale[:, None] - 0.5 * np.einsum("crk,crk->cr", noise, noise)).T
                if place is not None:
                    mean[part] = (at.base[:, None] + np.einsum("crk,ck->cr", noise, at.along)).T
                    variance[part] = at.variance
        shape = (len(numbers), *(variable.num_states for variable in self.scope))
        weight = EvidenceWeight(self.scope, log_density.reshape(shape), np.zeros(shape, dtype=np.int64))
        if place is None:
            return RowDensities((weight,)), is_delicate
        return RowDensities((weight,), self.scope, mean.reshape(shape), variance.reshape(shape)), is_delicate


@dataclass(frozen=True, slots=True, eq=False)
class _Conditional:
    """A block at one pattern of observed variables; arrays begin with an axis of configurations.

    With A the rows of the root that belong to observed variables and Aᵀ = Q R, x = center + Aᵀz makes the noise
    w = R⁻ᵀ (x - center) = Qᵀz standard normal; what it leaves of z is at a right angle to Q.
    """

    center: Array
    whitener: Array
    log_scale: Array
    along: Array
    base: Array
    variance: Array

    @classmethod
    def of(cls, block: GaussianBlock, seen: Positions, target: int | None) -> _Conditional | None:
        part = block.root[:, seen]
        directions, upper = np.linalg.qr(part.transpose(0, 2, 1))
        diagonal = np.abs(np.diagonal(upper, axis1=1, axis2=2))
        if (diagonal <= _DETERMINED * np.sqrt((part * part).sum(axis=2))).any():
            return None
        loading = block.root[:, 0 if target is None else target]
        along = np.einsum("cn,cnk->ck", loading, directions)
        rest = loading - np.einsum("cnk,ck->cn", directions, along)
        variance = (rest * rest).sum(axis=1)
        if target is not None and (variance <= _DETERMINED**2 * (loading * loading).sum(axis=1)).any():
            return None
        return cls(
            block.mean[:, seen],
            np.linalg.inv(upper),
            -np.log(diagonal).sum(axis=1) - 0.5 * len(seen) * _LOG_2PI,
            along,
            block.mean[:, 0 if target is None else target],
            variance,
        )
