"""Boxes: the sets of assignments that contexts describe, and factors made of them.

A box names some axes of a scope and, for each, the positions that it allows; other axes are free. The contexts of tree
and rule CPDs are boxes, and no two of one CPD overlap, so that exactly one holds at any assignment.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from plausible.base.arrays import Flags, Floats
from plausible.factors import Factor
from plausible.factors.alignment import Scope, num_entries, table_shape
from plausible.variables import Variable

#: Axis -> allowed positions.
Box: TypeAlias = Mapping[int, frozenset[int]]
#: What holds in a box: a number, or a row that runs along the last axis of the scope.
Value: TypeAlias = float | Floats


def allowed(scope: Scope, box: Box, axis: int) -> Flags:
    """Which positions of an axis the box allows."""
    mask = np.ones(scope[axis].num_states, dtype=bool)
    if axis in box:
        mask[:] = False
        mask[list(box[axis])] = True
    return mask


def box_text(scope: Scope, box: Box) -> str:
    """`A=a0, B=b1|b2`."""
    return ", ".join(
        f"{scope[axis].name}={'|'.join(str(scope[axis].states[p]) for p in sorted(positions))}"
        for axis, positions in sorted(box.items())
    )


def _fill(table: Floats, box: Box, axes: Sequence[int], value: Value) -> None:
    """Write a value into the part of `table` (over the listed axes of the scope) that the box describes."""
    chosen = [sorted(box[axis]) if axis in box else range(size) for axis, size in zip(axes, table.shape, strict=True)]
    # A child with one state may have no axis here: its row of one number is then a number.
    table[np.ix_(*chosen)] = np.squeeze(value) if np.size(value) == 1 else value


# --- independence in a context ---


def varies(
    boxes: Sequence[Box],
    values: Sequence[Value],
    free: frozenset[int],
    fixed: Mapping[int, int],
    tolerance: float,
) -> bool:
    """Whether the value changes by more than `tolerance` along the axes `free`, where `fixed` ones have a position.

    It does if two boxes that share an assignment to all other axes have different values: O(boxes²) at worst.
    """
    live = [
        (box, value)
        for box, value in zip(boxes, values, strict=True)
        if all(position in box[axis] for axis, position in fixed.items() if axis in box)
    ]
    touched = [(box, value) for box, value in live if not free.isdisjoint(box)]
    return any(
        bool(np.max(np.abs(np.subtract(one, two))) > tolerance) and _meet(box, other, free.union(fixed))
        for box, one in touched
        for other, two in live
    )


def _meet(box: Box, other: Box, besides: frozenset[int]) -> bool:
    """Whether some assignment lies in both boxes, the axes in `besides` left out of the comparison."""
    return all(
        not positions.isdisjoint(other[axis])
        for axis, positions in box.items()
        if axis in other and axis not in besides
    )


# --- factors ---


def box_table(scope: Scope, boxes: Sequence[Box], values: Sequence[Value]) -> Factor:
    """The function that has `values[i]` in `boxes[i]`, which cover everything, as one table."""
    axes = [axis for axis, variable in enumerate(scope) if variable.num_states > 1]
    table = np.empty(table_shape(scope))
    for box, value in zip(boxes, values, strict=True):
        _fill(table, box, axes, value)
    return Factor.from_flat(scope, table.reshape(-1))


@dataclass(frozen=True, slots=True)
class _Group:
    """Boxes whose axes all lie among `axes`: they share a table."""

    axes: tuple[int, ...]
    members: tuple[int, ...]


def index_variable(scope: Scope, num_boxes: int) -> Variable:
    """The auxiliary variable that says which box holds; its name is none of the scope's."""
    name = f"{scope[-1].name}#"
    while any(variable.name == name for variable in scope):
        name += "#"
    return Variable(name, num_boxes)


def box_factors(scope: Scope, boxes: Sequence[Box], values: Sequence[Value]) -> tuple[Factor, ...]:
    """Factors whose product is the function that has `values[i]` in `boxes[i]`, in the smaller of two forms.

    - One table for each scope that a box mentions (boxes with smaller scopes join it): the value inside the box and one
      elsewhere. No auxiliary variable; long contexts need large tables.
    - An auxiliary variable B that says which box holds, with factors 1(u_i in box b) for each pair (U_i, B) and the
      values over (B, X): linear in axes and boxes, however long the contexts are. As one box holds at a time, the
      auxiliary may be maximised out as well as summed out.
    """
    if needs_index(scope, boxes, values):
        return _indexed(scope, boxes, values)
    groups = _groups(scope, boxes, values)
    return tuple(_group_factor(scope, group, boxes, values) for group in groups)


def needs_index(scope: Scope, boxes: Sequence[Box], values: Sequence[Value]) -> bool:
    """Whether the second form of `box_factors` is the smaller one."""
    tables = sum(num_entries(_of(scope, group.axes)) for group in _groups(scope, boxes, values))
    axes = {axis for box in boxes for axis in box} | {len(scope) - 1}
    return tables > len(boxes) * sum(scope[axis].num_states for axis in axes)


def _of(scope: Scope, axes: Sequence[int]) -> Scope:
    return tuple(scope[axis] for axis in axes)


def _groups(scope: Scope, boxes: Sequence[Box], values: Sequence[Value]) -> list[_Group]:
    """Widest scopes first; a box joins the first group whose axes hold its own."""
    last = len(scope) - 1
    mentioned = [
        frozenset(box) | ({last} if np.ndim(value) else set()) for box, value in zip(boxes, values, strict=True)
    ]
    members: dict[frozenset[int], list[int]] = {}
    for position in sorted(range(len(boxes)), key=lambda position: -len(mentioned[position])):
        home = next((axes for axes in members if mentioned[position] <= axes), mentioned[position])
        members.setdefault(home, []).append(position)
    return [_Group(tuple(sorted(axes)), tuple(positions)) for axes, positions in members.items()]


def _group_factor(scope: Scope, group: _Group, boxes: Sequence[Box], values: Sequence[Value]) -> Factor:
    variables = _of(scope, group.axes)
    table = np.ones([variable.num_states for variable in variables])
    for member in group.members:
        _fill(table, boxes[member], group.axes, values[member])
    return Factor(variables, table)


def _indexed(scope: Scope, boxes: Sequence[Box], values: Sequence[Value]) -> tuple[Factor, ...]:
    which, last = index_variable(scope, len(boxes)), len(scope) - 1
    axes = sorted({axis for box in boxes for axis in box} - {last})
    masks = {axis: np.ones((scope[axis].num_states, len(boxes)), dtype=bool) for axis in axes}
    for number, box in enumerate(boxes):
        for axis in box.keys() - {last}:
            masks[axis][:, number] = allowed(scope, box, axis)
    indicators = [Factor((scope[axis], which), masks[axis]) for axis in axes]
    rows = [np.multiply(value, allowed(scope, box, last)) for box, value in zip(boxes, values, strict=True)]
    return (*indicators, Factor((which, scope[last]), np.stack(rows)))
