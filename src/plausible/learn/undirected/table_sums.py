"""Sums of one large table over many small scopes, by matrix products of its halves."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from plausible.base.arrays import Floats


def table_sums(table: Floats, scopes: Mapping[int, tuple[int, ...]]) -> dict[int, Floats]:
    """For each key the sum over all axes but those of its scope, with axes in its order.

    Single axes and pairs take a number of passes over the table that does not grow with their number: the axes are cut
    into two halves, so that the pairs between these are one product with columns of ones on either side.

    >>> sums = table_sums(np.arange(8.0).reshape(2, 2, 2), {0: (2, 0), 1: (1,), 2: (0, 1, 2)})
    >>> sums[0], sums[1]
    (array([[ 2., 10.],
           [ 4., 12.]]), array([10., 18.]))
    """
    sums = _sums(table, {key: tuple(sorted(scope)) for key, scope in scopes.items()})
    return {key: sums[key].transpose(np.argsort(np.argsort(scope))) for key, scope in scopes.items()}


def _sums(table: Floats, scopes: Mapping[int, tuple[int, ...]]) -> dict[int, Floats]:
    used = sorted({axis for scope in scopes.values() for axis in scope})
    if len(used) < table.ndim:
        table = table.sum(axis=tuple(axis for axis in range(table.ndim) if axis not in used))
        inner = {key: tuple(map(used.index, scope)) for key, scope in scopes.items()}
        return _sums(table, inner)
    if table.ndim == 1:
        return dict.fromkeys(scopes, table)
    half = _half(table.shape)
    shapes = table.shape[:half], table.shape[half:]
    matrix = np.ascontiguousarray(table).reshape(math.prod(shapes[0]), -1)
    first = {key: scope for key, scope in scopes.items() if scope[-1] < half}
    second = {key: tuple(axis - half for axis in scope) for key, scope in scopes.items() if scope[0] >= half}
    between = {key: scope for key, scope in scopes.items() if scope[0] < half <= scope[-1]}
    sums: dict[int, Floats] = {}
    for part, axis, shape in ((first, 1, shapes[0]), (second, 0, shapes[1])):
        if part:
            sums |= _sums(matrix.sum(axis=axis).reshape(shape), part)
    if any(len(scope) == 2 for scope in between.values()):
        (left, starts), (right, ends) = map(_indicators, shapes)
        products = left.T @ (matrix @ right)
        for key, (i, j) in ((key, scope) for key, scope in between.items() if len(scope) == 2):
            sums[key] = products[starts[i] : starts[i + 1], ends[j - half] : ends[j - half + 1]]
    for key, scope in between.items():
        if len(scope) > 2:
            sums[key] = table.sum(axis=tuple(axis for axis in range(table.ndim) if axis not in scope))
    return sums


def _half(shape: Sequence[int]) -> int:
    """Where to cut the axes, so that both sides have about as many cells."""
    sizes = np.log(np.maximum(shape, 1)).cumsum()
    return int(np.clip(np.searchsorted(sizes, sizes[-1] / 2, side="right"), 1, max(1, len(shape) - 1)))


def _indicators(shape: Sequence[int]) -> tuple[Floats, list[int]]:
    """For each cell which state each axis has, a block of columns for each axis, and where the blocks begin."""
    cells = np.indices(shape).reshape(len(shape), -1)
    blocks = [np.eye(size)[states] for size, states in zip(shape, cells, strict=True)]
    return np.hstack(blocks), np.cumsum([0, *shape]).tolist()
