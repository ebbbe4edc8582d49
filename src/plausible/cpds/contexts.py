"""Trees of contexts: which of several contexts an assignment to the parents is in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from plausible.cpds.boxes import Box
from plausible.factors.alignment import Scope
from plausible.variables import State

__all__ = ["Branching", "Context", "Node", "describe", "find_leaves", "leaf_boxes"]


@dataclass(frozen=True, slots=True)
class Branching:
    """An inner node: which parent is looked at, and where its positions lead; they cover it and don't overlap."""

    axis: int
    branches: tuple[tuple[frozenset[int], Node], ...]


#: A leaf is its number: leaves count from zero, depth first.
Node: TypeAlias = Branching | int


@dataclass(frozen=True, slots=True)
class Context:
    """A context in which the child depends on no further parent.

    Attributes
    ----------
    states
        Parent -> the states that it may be in.
    ignored
        The other parents: X ⟂ ignored | context.
    probabilities
        P(X | context), in state order.
    """

    states: Mapping[str, tuple[State, ...]]
    ignored: tuple[str, ...]
    probabilities: tuple[float, ...]

    def __str__(self) -> str:
        inside = ", ".join(f"{name}={'|'.join(map(str, states))}" for name, states in self.states.items())
        return f"{inside or 'always'}: {list(self.probabilities)}"


def describe(parents: Scope, boxes: Sequence[Box], rows: npt.NDArray[np.float64]) -> tuple[Context, ...]:
    """The contexts of leaves, by name."""
    return tuple(
        Context(
            {
                parents[axis].name: tuple(state for p, state in enumerate(parents[axis].states or ()) if p in positions)
                for axis, positions in box.items()
            },
            tuple(parent.name for axis, parent in enumerate(parents) if axis not in box),
            tuple(row),
        )
        for box, row in zip(boxes, rows.tolist(), strict=True)
    )


def leaf_boxes(node: Node) -> tuple[Box, ...]:
    """The context of each leaf, in order."""
    return tuple(box for box, _ in _walk(node, {}))


def _walk(node: Node, box: dict[int, frozenset[int]]) -> Iterator[tuple[Box, int]]:
    if isinstance(node, int):
        yield box, node
        return
    for positions, below in node.branches:
        yield from _walk(below, {**box, node.axis: positions})


def find_leaves(root: Node, columns: Sequence[npt.NDArray[Any]], sizes: Sequence[int]) -> npt.NDArray[np.intp]:
    """The leaf of each row; `columns` hold positions for each axis and broadcast. O(rows × depth)."""
    shape = np.broadcast_shapes(*(column.shape for column in columns)) if columns else ()
    leaves = np.zeros(shape, dtype=np.intp).reshape(-1)
    flat: dict[int, npt.NDArray[Any]] = {}
    waiting: list[tuple[Node, npt.NDArray[np.intp]]] = [(root, np.arange(leaves.size))]
    while waiting:
        node, rows = waiting.pop()
        if isinstance(node, int):
            leaves[rows] = node
            continue
        branch_of = np.zeros(sizes[node.axis], dtype=np.intp)
        for number, (positions, _) in enumerate(node.branches):
            branch_of[list(positions)] = number
        if node.axis not in flat:
            flat[node.axis] = np.broadcast_to(columns[node.axis], shape).reshape(-1)
        taken = branch_of[flat[node.axis][rows]]
        waiting += [(below, rows[taken == number]) for number, (_, below) in enumerate(node.branches)]
    return leaves.reshape(shape)
