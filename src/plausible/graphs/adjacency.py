"""Reading edges from an adjacency matrix."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from plausible.errors import InvalidGraph
from plausible.graphs.nodes import Node

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["read_adjacency"]


def read_adjacency(
    matrix: npt.ArrayLike, nodes: Iterable[Node] | None = None
) -> tuple[list[Node], list[tuple[Node, Node]]]:
    """The nodes, and a pair for each one in the matrix, row by row.

    >>> read_adjacency([[0, 1], [0, 0]])
    ([0, 1], [(0, 1)])
    """
    entries = np.asarray(matrix)
    if entries.ndim != 2 or entries.shape[0] != entries.shape[1]:
        raise InvalidGraph(
            f"An adjacency matrix is square, with a row and a column for each node, not {entries.shape}."
        )
    names = _names(matrix, len(entries)) if nodes is None else list(nodes)
    if len(names) != len(entries) or len(set(names)) != len(names):
        raise InvalidGraph(f"The matrix has {len(entries)} rows and needs as many different nodes, not {names!r}.")
    strange = np.argwhere((entries != 0) & (entries != 1))
    if len(strange):
        i, j = strange[0]
        raise InvalidGraph(
            f"The entry from {names[i]!r} to {names[j]!r} is {entries[i, j]}; expected 0 or 1. For a matrix of weights "
            "write matrix != 0."
        )
    return names, [(names[i], names[j]) for i, j in np.argwhere(entries)]


def _names(matrix: Any, size: int) -> list[Node]:
    """The names of a data frame, which must stand in the same order on rows and columns; else 0, 1, ..."""
    if not (hasattr(matrix, "columns") and hasattr(matrix, "index")):
        return list(range(size))
    rows, columns = list(matrix.index), list(matrix.columns)
    if rows != columns:
        raise InvalidGraph(
            f"Rows and columns must name the same nodes in the same order, not {rows!r} and {columns!r}."
        )
    return rows
