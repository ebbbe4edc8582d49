"""The operands of cliques: which numbers of the store a table is a product of, and how they lie on it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from plausible.base.arrays import Ints
from plausible.kernels.jit import kernel
from plausible.kernels.records import record_dtype

Records = NDArray[Any]

_OPERAND_FIELDS = [
    "start",  # where it lies in the store
    "length",  # how many numbers it has
    "look",  # where its view of a block begins
    "num_inner",  # how many axes that has
    "first_stride",  # where its strides along the outer axes begin
    "variable",  # whose observed states these are the weights of; -1 for none
    "child",  # whose message this is; -1 for none
    "is_fixed",  # the same in all blocks
    "is_flat",  # constant in a block
]


class Operand(np.void):  # type: ignore[misc]  # final in the stubs only
    """The record of an operand."""


OPERAND = record_dtype(Operand, _OPERAND_FIELDS)


class Shelf(NamedTuple):
    """Where operands are put."""

    #: The variables' sizes, the variables of the cliques in axis order, and the cliques.
    sizes: Ints
    axes: Ints
    cliques: Records
    #: The operands, and where the next one of each clique goes.
    operands: Records
    places: Ints
    #: How operands lie on their cliques, and how many items of the two arrays are used.
    strides: Ints
    views: Ints
    used: Ints
    steps: Ints  # Scratch: the stride of each variable in the operand at hand, otherwise zero


@kernel
def make_shelf(sizes: Ints, axes: Ints, cliques: Records, homes: Ints, finding_homes: Ints) -> Shelf:
    """A shelf with room for the operands of each clique: those that are at home there, messages, its own two."""
    counts = np.full(cliques.size, 2, dtype=np.int64)
    for home in homes:
        counts[home] += 1
    for home in finding_homes:
        counts[home] += 1
    for c in range(cliques.size):
        if cliques[c].parent >= 0:
            counts[cliques[c].parent] += 1
    num_operands, num_strides, num_views = 0, 0, 0
    for c in range(cliques.size):
        cliques[c].first = num_operands
        num_operands += counts[c]
        num_strides += counts[c] * cliques[c].num_outer
        num_views += counts[c] * 2 * max(1, cliques[c].num_axes - cliques[c].num_outer)
    operands = np.zeros(num_operands, dtype=OPERAND)
    strides, views = np.empty(num_strides, dtype=np.int64), np.empty(num_views, dtype=np.int64)
    used, steps = np.zeros(2, dtype=np.int64), np.zeros(sizes.size, dtype=np.int64)
    return Shelf(sizes, axes, cliques, operands, cliques["first"].copy(), strides, views, used, steps)


@kernel
def put_factors(shelf: Shelf, homes: Ints, scopes: Ints, scope_starts: Ints, lengths: Ints) -> None:
    """The factors, which lie in the store one after the other; the largest first on each clique."""
    starts = np.cumsum(lengths) - lengths
    for scope in np.argsort(-lengths, kind="mergesort"):
        variables = scopes[scope_starts[scope] : scope_starts[scope + 1]]
        _put(shelf, homes[scope], starts[scope], lengths[scope], variables)


@kernel
def put_messages(shelf: Shelf) -> None:
    """The message of each clique on its parent."""
    for child in range(shelf.cliques.size):
        clique = shelf.cliques[child]
        if clique.parent >= 0:
            separator = shelf.axes[clique.holds : clique.holds + clique.num_separator_axes]
            clique.delivery = _put(shelf, clique.parent, clique.message, clique.rows, separator)
            shelf.operands[clique.delivery].child = child


@kernel
def put_findings(shelf: Shelf, homes: Ints, weight_starts: Ints) -> Ints:
    """The weights of observed states; for each variable the clique and the operand there."""
    finding_operands = np.empty((homes.size, 2), dtype=np.int64)
    variables = np.arange(homes.size)
    for v in range(homes.size):
        position = _put(shelf, homes[v], weight_starts[v], shelf.sizes[v], variables[v : v + 1])
        shelf.operands[position].variable = v
        finding_operands[v, 0], finding_operands[v, 1] = homes[v], position
    return finding_operands


@kernel
def put_results(shelf: Shelf) -> None:
    """What a clique adds up in, and so never multiplies by: its own message, and the sums over its rows."""
    for c in range(shelf.cliques.size):
        clique = shelf.cliques[c]
        clique.last = shelf.places[c]
        axes = shelf.axes[clique.holds : clique.holds + clique.num_axes]
        separator, columns = axes[: clique.num_separator_axes], axes[clique.num_separator_axes :]
        clique.separator = _put(shelf, c, clique.message, clique.rows, separator)
        clique.column_sums = _put(shelf, c, clique.marginal, clique.columns, columns)


@kernel
def _put(shelf: Shelf, home: int, start: int, size: int, variables: Ints) -> int:
    """Put an operand over some variables, in axis order, on a clique; its position."""
    sizes, steps, used = shelf.sizes, shelf.steps, shelf.used
    position = shelf.places[home]
    shelf.places[home] += 1
    clique, operand = shelf.cliques[home], shelf.operands[position]
    operand.start, operand.length, operand.variable, operand.child = start, size, -1, -1
    operand.first_stride, operand.look = used[0], used[1]
    stride = 1
    for k in range(variables.size - 1, -1, -1):
        steps[variables[k]] = stride
        stride *= sizes[variables[k]]
    axes = shelf.axes[clique.holds : clique.holds + clique.num_axes]
    strides, view = shelf.strides[used[0] :], shelf.views[used[1] :]
    operand.is_fixed = 1
    for k in range(clique.num_outer):
        strides[k] = steps[axes[k]]
        if strides[k]:
            operand.is_fixed = 0
    operand.num_inner = _merge(axes[clique.num_outer :], sizes, steps, view)
    operand.is_flat = 1 if operand.num_inner == 1 and view[1] == 0 else 0
    used[0] += clique.num_outer
    used[1] += 2 * operand.num_inner
    for v in variables:
        steps[v] = 0
    return int(position)


@kernel
def _merge(axes: Ints, sizes: Ints, steps: Ints, view: Ints) -> int:
    """Write the view that has these axes, one where an axis goes on where the one before ends; how many are left."""
    count = 0
    for v in axes:
        if sizes[v] == 1:
            continue
        if count and view[2 * count - 1] == steps[v] * sizes[v]:
            view[2 * count - 2] *= sizes[v]
            view[2 * count - 1] = steps[v]
        else:
            view[2 * count], view[2 * count + 1] = sizes[v], steps[v]
            count += 1
    if count == 0:
        view[0], view[1] = 1, 0
        count = 1
    return count
