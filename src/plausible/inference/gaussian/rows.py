"""What rows of observed numbers say, by elimination with the rows as one more axis: no loop goes over rows.

This is the careful way, for any variances and any number of configurations; `gaussian_blocks` is the fast one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from plausible.base.arrays import Positions
from plausible.factors.alignment import Scope
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


def row_axis(num_rows: int) -> Variable:
    """The rows as a discrete variable."""
    return Variable(ROWS, num_rows)


@dataclass(frozen=True, slots=True, eq=False)
class RowDensities:
    """What the numbers of each row say, for each configuration of discrete variables."""

    #: Densities whose product is that of the observed numbers; arrays have an axis of rows, then those of the scope.
    weights: tuple[EvidenceWeight, ...]
    scope: Scope = ()  # The discrete variables that the moments depend on
    #: Of the hidden number asked for, shape `(rows, *scope)`; empty where none is.
    mean: Array | None = None
    variance: Array | None = None


def connected_parts(regressions: Iterable[Regression]) -> list[tuple[Regression, ...]]:
    """The regressions in groups that share no continuous variables, parents first in each."""
    by_name = {regression.name: regression for regression in regressions}
    groups: dict[str, list[str]] = {}
    for name in topological(by_name.values()):
        merged: list[str] = []
        for group in {id(groups[p]): groups[p] for p in by_name[name].parents if p in groups}.values():
            merged += group
        merged.append(name)
        groups |= dict.fromkeys(merged, merged)
    rank = {name: place for place, name in enumerate(topological(by_name.values()))}
    parts = {id(group): sorted(group, key=rank.__getitem__) for group in groups.values()}
    return [tuple(by_name[name] for name in group) for group in parts.values()]


def same_rows(table: npt.NDArray[Any]) -> tuple[Positions, Positions]:
    """The first of each kind of row, and for each row of which kind it is.

    >>> [part.tolist() for part in same_rows(np.array([[True, False], [False, False], [True, False]]))]
    [[1, 0], [1, 0, 1]]
    """
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
    """The same for rows with the same columns observed, whatever the variances and however many the configurations."""
    cost = _cost(regressions, numbers, states, target)
    cost.check(read_budget(budget))
    step = max(MAX_STEP // max(cost.entries, 1), 1)
    pieces = []
    for start in range(0, num_rows, step):
        rows = np.arange(start, min(start + step, num_rows))
        seen = {name: column[rows] for name, column in numbers.items()}
        codes = {name: column[rows] for name, column in states.items()}
        # An axis of one row would not be seen among discrete variables.
        if len(rows) == 1:
            pieces.append(_one_row(regressions, seen, codes, target))
        else:
            pieces.append(_eliminated(regressions, seen, codes, len(rows), target))
    return _stacked(pieces)


def _cost(
    regressions: Sequence[Regression], numbers: Iterable[str], states: Iterable[str], target: str | None
) -> NumbersCost:
    """What one row takes."""
    zeros, first = dict.fromkeys(numbers, 0.0), dict.fromkeys(states, 0)
    shapes = [shape_of(line.given(first, zeros)) for line in regressions]
    order = strong_order(shapes, zeros.keys(), () if target is None else (target,))
    steps, leaves = plan_elimination(shapes, order, zeros)
    tables = tuple((shape.name, shape.scope, shape.entries) for shape in (*steps, *leaves))
    return NumbersCost(tables, len(shapes))


def _one_row(
    regressions: Sequence[Regression],
    numbers: Mapping[str, Array],
    states: Mapping[str, npt.NDArray[Any]],
    target: str | None,
) -> RowDensities:
    """A row by itself, and an axis of length one for it in the answers."""
    values = {name: float(column[0]) for name, column in numbers.items()}
    codes = {name: int(column[0]) for name, column in states.items()}
    lines = [line.given(codes, values) for line in regressions]
    order = strong_order([shape_of(line) for line in lines], values.keys(), () if target is None else (target,))
    done = eliminate(lines, order, values)
    weights = tuple(
        EvidenceWeight(weight.scope, np.asarray(weight.log_density)[None], np.asarray(weight.point_masses)[None])
        for weight in done.weights
    )
    if target is None:
        return RowDensities(weights)
    last = done.steps[-1]
    return RowDensities(weights, last.scope, np.asarray(last.intercept)[None], np.asarray(last.variance)[None])


def _eliminated(
    regressions: Sequence[Regression],
    numbers: Mapping[str, Array],
    states: Mapping[str, npt.NDArray[Any]],
    num_rows: int,
    target: str | None,
) -> RowDensities:
    axis = row_axis(num_rows)
    lines = [_on_rows(line, numbers, states, axis) for line in regressions]
    order = strong_order([shape_of(line) for line in lines], numbers.keys(), () if target is None else (target,))
    done = eliminate(lines, order, dict.fromkeys(numbers, 0.0))
    weights = tuple(
        EvidenceWeight(
            _without_rows(weight.scope),
            _with_rows(weight.log_density, weight.scope, num_rows),
            _with_rows(weight.point_masses, weight.scope, num_rows),
        )
        for weight in done.weights
    )
    if target is None:
        return RowDensities(weights)
    last = done.steps[-1]
    mean, variance = (_with_rows(array, last.scope, num_rows) for array in (last.intercept, last.variance))
    return RowDensities(weights, _without_rows(last.scope), mean, variance)


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
        size=np.broadcast_to(_largest([line.size, own, *terms]), shape),
    )


def _largest(parts: Sequence[Array]) -> Array:
    """The largest absolute value among some arrays that broadcast."""
    found = np.abs(parts[0])
    for part in parts[1:]:
        found = np.maximum(found, np.abs(part))
    return found


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


def _with_rows(array: npt.NDArray[Any], scope: Scope, num_rows: int) -> npt.NDArray[Any]:
    """The array with the axis of rows in front; it is there already where anything depends on rows."""
    if scope and scope[0].name == ROWS:
        return array
    return np.broadcast_to(array, (num_rows, *array.shape))


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
