"""Trees of contexts: which of several contexts an assignment to the parents is in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from plausible.base.arrays import Floats, Positions
from plausible.base.display import html_of_print
from plausible.cpds.boxes import Box
from plausible.factors.alignment import Scope
from plausible.variables import State


@dataclass(frozen=True, slots=True)
class Branching:
    """An inner node: which parent is looked at, and the positions of each branch; they cover it and don't overlap."""

    axis: int
    branches: tuple[frozenset[int], ...]


#: A tree, depth first: the subtrees of a branching follow it, in the order of its branches. A leaf is its number, and
#: leaves count from zero. One pass with a stack of what waits for its node does any walk, however deep the tree is.
Nodes: TypeAlias = tuple[Branching | int, ...]

#: The last step of a way down, as axis and positions, and the way up to there; `None` at the root.
Path: TypeAlias = tuple[int, frozenset[int], "Path"] | None


@dataclass(frozen=True, slots=True)
class Context:
    """A context in which the child depends on no further parent."""

    states: Mapping[str, tuple[State, ...]]  # Parent -> the states that it may be in
    ignored: tuple[str, ...]  # The other parents: X ⟂ ignored | context
    probabilities: tuple[float, ...]  # P(X | context), in state order

    def __str__(self) -> str:
        inside = ", ".join(f"{name}={'|'.join(map(str, states))}" for name, states in self.states.items())
        return f"{inside or 'always'}: {list(self.probabilities)}"

    _repr_html_ = html_of_print


def describe(parents: Scope, boxes: Iterable[Box], rows: Floats) -> tuple[Context, ...]:
    """The contexts of leaves, by name."""
    return tuple(
        Context(
            {
                parents[axis].name: tuple(state for p, state in enumerate(parents[axis].states) if p in positions)
                for axis, positions in box.items()
            },
            tuple(parent.name for axis, parent in enumerate(parents) if axis not in box),
            tuple(row),
        )
        for box, row in zip(boxes, rows.tolist(), strict=True)
    )


def leaf_boxes(nodes: Nodes) -> tuple[Box, ...]:
    """The context of each leaf, in order. O(sum of the leaves' depths)."""
    return tuple(path_box(path) for path in _leaf_paths(nodes))


def leaf_box(nodes: Nodes, leaf: int) -> Box:
    """The context of one leaf. O(nodes)."""
    return path_box(_leaf_paths(nodes)[leaf])


def _leaf_paths(nodes: Nodes) -> list[Path]:
    paths: list[Path] = []
    waiting: list[Path] = [None]
    for node in nodes:
        path = waiting.pop()
        if isinstance(node, int):
            paths.append(path)
        else:
            waiting += [(node.axis, positions, path) for positions in reversed(node.branches)]
    return paths


def path_box(path: Path) -> Box:
    """The steps of a way down, the first one first."""
    steps = []
    while path is not None:
        axis, positions, path = path
        steps.append((axis, positions))
    return dict(reversed(steps))


def find_leaves(nodes: Nodes, columns: Sequence[npt.NDArray[Any]], sizes: Sequence[int]) -> Positions:
    """The leaf of each row; `columns` hold positions for each axis and broadcast. O(nodes + rows × depth)."""
    shape = np.broadcast_shapes(*(column.shape for column in columns)) if columns else ()
    leaves = np.zeros(shape, dtype=np.intp).reshape(-1)
    flat: dict[int, npt.NDArray[Any]] = {}
    waiting = [np.arange(leaves.size)]
    for node in nodes:
        rows = waiting.pop()
        if isinstance(node, int):
            leaves[rows] = node
            continue
        branch_of = np.zeros(sizes[node.axis], dtype=np.intp)
        for number, positions in enumerate(node.branches):
            branch_of[list(positions)] = number
        if node.axis not in flat:
            flat[node.axis] = np.broadcast_to(columns[node.axis], shape).reshape(-1)
        taken = branch_of[flat[node.axis][rows]]
        waiting += [rows[taken == number] for number in reversed(range(len(node.branches)))]
    return leaves.reshape(shape)
