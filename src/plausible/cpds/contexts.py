"""Contexts: boxes (sets of assignments), trees that tell which context one is in, and from boxes to such trees."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from plausible.base import Flags, Floats, Positions, html_of_print, logarithms
from plausible.cpds.base import CPD, Columns
from plausible.errors import InvalidCPD, TooLarge
from plausible.factors import Factor
from plausible.factors.alignment import MAX_ENTRIES, Scope, num_entries, table_shape
from plausible.variables import State, Variable

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


class ContextCPD(CPD):
    """A CPD whose distribution is the same throughout each of some contexts, which a tree of parents tells apart."""

    __slots__ = ()

    _nodes: Nodes

    @property
    @abstractmethod
    def _rows(self) -> Floats:
        """The distribution in each context: shape `(contexts, states)`."""

    @abstractmethod
    def _pieces(self) -> tuple[Sequence[Box], Sequence[Value]]:
        """Boxes of the scope that cover everything once, and what holds in each."""

    def contexts(self) -> tuple[Context, ...]:
        """The contexts of the parents, the parents that drop out in each, and its distribution."""
        return describe(self.parents, leaf_boxes(self._nodes), self._rows)

    def context_index(self, columns: Columns) -> Positions:
        """The number of the context of each row of parents, as in `contexts`. O(contexts + rows × depth)."""
        parents = [self._column(columns, parent) for parent in self.parents]
        return find_leaves(self._nodes, parents, [parent.num_states for parent in self.parents])

    def log_probability(self, columns: Columns) -> Floats:
        """log P(x | u) of each row of state positions, by a walk down the tree of contexts."""
        contexts = self.context_index(columns)
        return np.asarray(logarithms(self._rows)[contexts, self._column(columns, self.variable)])

    def to_factor(self, max_entries: int = MAX_ENTRIES) -> Factor:
        """The whole table: what holds in each box written into its part."""
        self._check_table(max_entries)
        return box_table(self.scope, *self._pieces())

    def to_factors(self) -> tuple[Factor, ...]:
        """One factor for each scope that boxes speak of, or factors with the number of the box as auxiliary variable.

        See `plausible.cpds.contexts.box_factors`: whichever form has fewer entries.
        """
        return box_factors(self.scope, *self._pieces())

    @property
    def auxiliaries(self) -> tuple[Variable, ...]:
        """The number of the box, where `to_factors` uses it."""
        scope = self.scope
        boxes, values = self._pieces()
        return (index_variable(scope, len(boxes)),) if needs_index(scope, boxes, values) else ()

    def _ignores(self, free: frozenset[int], fixed: Mapping[int, int], tolerance: float) -> bool:
        return not varies(*self._pieces(), free, fixed, tolerance)


#: More contexts than this are not worth a structured CPD.
MAX_CONTEXTS = 2**18


@dataclass(frozen=True, slots=True)
class Partition:
    """A tree over the parents, and for each leaf and state of the child the box that holds there."""

    nodes: Nodes
    members: list[tuple[int, ...]]


def partition(scope: Scope, boxes: Sequence[Box]) -> Partition:
    """The tree of contexts of some boxes over `(*parents, child)`.

    Splits on the parent that most boxes mention until none is mentioned. Raises `InvalidCPD`, naming a case, where two
    boxes overlap or none holds. O(contexts × boxes); structure keeps the contexts few, but they can be exponentially
    many in the number of boxes, hence the limit `MAX_CONTEXTS`.
    """
    nodes: list[Branching | int] = []
    members: list[tuple[int, ...]] = []
    mentioned = Counter(axis for box in boxes for axis in box if axis != len(scope) - 1)
    waiting = [_Part(tuple(range(len(boxes))), None, mentioned)]
    while waiting:
        part = waiting.pop()
        if not part.mentioned:
            _check_number(scope, len(members))
            nodes.append(len(members))
            members.append(_row(scope, boxes, part))
            continue
        axis = max(part.mentioned, key=lambda axis: (part.mentioned[axis], -axis))
        branches = _branches(scope, boxes, part.live, axis)
        # A single branch takes all states: looking at the axis tells nothing.
        if len(branches) > 1:
            nodes.append(Branching(axis, tuple(positions for _, positions in branches)))
        waiting += [_narrowed(boxes, part, axis, left, positions) for left, positions in reversed(branches)]
    return Partition(tuple(nodes), members)


@dataclass(frozen=True, slots=True)
class _Part:
    """Boxes that are compatible with a path, and how many of them mention each parent that is not on it."""

    live: tuple[int, ...]
    path: Path
    mentioned: Counter[int]


def _narrowed(boxes: Sequence[Box], part: _Part, axis: int, left: tuple[int, ...], positions: frozenset[int]) -> _Part:
    """The part in which an axis has some positions; the mentions of the smaller side are counted."""
    if 2 * len(left) < len(part.live):
        mentioned = Counter(other for box in left for other in boxes[box] if other in part.mentioned)
    else:
        mentioned = part.mentioned.copy()
        mentioned.subtract(other for box in set(part.live).difference(left) for other in boxes[box])
        mentioned = +mentioned
    mentioned.pop(axis, None)
    return _Part(left, (axis, positions, part.path), mentioned)


def _branches(
    scope: Scope, boxes: Sequence[Box], live: Sequence[int], axis: int
) -> list[tuple[tuple[int, ...], frozenset[int]]]:
    """Positions of an axis that the same boxes allow go together."""
    together: dict[tuple[int, ...], list[int]] = {}
    for position in range(scope[axis].num_states):
        left = tuple(box for box in live if axis not in boxes[box] or position in boxes[box][axis])
        together.setdefault(left, []).append(position)
    return [(left, frozenset(positions)) for left, positions in together.items()]


def _row(scope: Scope, boxes: Sequence[Box], part: _Part) -> tuple[int, ...]:
    """The boxes of a context in which only the child is left to look at: each of its states needs one."""
    last = len(scope) - 1
    row = []
    for position in range(scope[last].num_states):
        holding = [box for box in part.live if last not in boxes[box] or position in boxes[box][last]]
        if len(holding) != 1:
            place = {**path_box(part.path), last: frozenset([position])}
            raise InvalidCPD(_problem(scope, boxes, holding, place))
        row.append(holding[0])
    return tuple(row)


def _check_number(scope: Scope, num_contexts: int) -> None:
    if num_contexts == MAX_CONTEXTS:
        raise TooLarge(
            f"The rules of {scope[-1].name!r} make more than {MAX_CONTEXTS} contexts. "
            "Give it fewer parents, or introduce variables in between."
        )


def _problem(scope: Scope, boxes: Sequence[Box], holding: Sequence[int], place: Box) -> str:
    where = f"{box_text(scope, place)} of {scope[-1].name!r}"
    if not holding:
        return f"No rule covers the case {where}."
    one, two = (f"rule {box} ({box_text(scope, boxes[box]) or 'always'})" for box in holding[:2])
    return f"The case {where} is covered by {one} and by {two}: rules must exclude each other."
