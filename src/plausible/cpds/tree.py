"""Trees: the parents that matter depend on the states of other parents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from plausible.cpds.base import CPD, Columns
from plausible.cpds.boxes import Box, box_factors, box_table, box_text, index_variable, needs_index, varies
from plausible.cpds.contexts import Branching, Context, Node, describe, find_leaves, leaf_boxes
from plausible.cpds.display import TextLines, heading, row_text
from plausible.cpds.reading import (
    VariableLike,
    check_discrete,
    name_of,
    read_child,
    read_parents,
    record_field,
    record_list,
    state_index,
    states_at,
)
from plausible.cpds.rows import check_row, normalized_rows, read_row
from plausible.errors import InvalidCPD, UnknownVariable
from plausible.factors import Factor
from plausible.factors.alignment import MAX_ENTRIES
from plausible.variables import State, Variable

__all__ = ["Split", "TreeCPD"]

#: A leaf: probabilities in state order, or keyed by the child's states.
Leaf: TypeAlias = Sequence[float] | Mapping[State, float] | npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Split:
    """An inner node of a tree: where each state of one parent leads.

    Parameters
    ----------
    variable
        The name of the parent.
    branches
        State -> subtree: another `Split` or a leaf. A tuple of states as key leads them all to the same subtree.
    default
        The subtree of all states that no branch names.
    """

    variable: str
    branches: Mapping[Any, Split | Leaf] = field(default_factory=dict)
    default: Split | Leaf | None = None


class TreeCPD(CPD):
    """P(X | U) as a tree: inner nodes look at a parent, branches at its states, leaves hold distributions.

    The path to a leaf is a context in which X is independent of the parents that are not on it (Boutilier et al. 1996).

    Parameters
    ----------
    variable
        The child: its name (then see `states`) or a `Variable`.
    tree
        A `Split`, or a single leaf: probabilities in state order, or keyed by the child's states.
        No parent may stand twice on a branch, and every state of a split parent must lead somewhere.
    parents
        Names or `Variable` objects; those that the tree never looks at are allowed.
    states
        The child's states; 0, 1, ... where left out.

    Examples
    --------
    >>> wet = TreeCPD("wet", Split("rain", {"yes": [0.1, 0.9],
    ...                                     "no": Split("sprinkler", {"on": [0.2, 0.8], "off": [1.0, 0.0]})}),
    ...               parents=[Variable("rain", ["no", "yes"]), Variable("sprinkler", ["off", "on"])])
    >>> print(wet)
    P(wet=[0, 1] | rain, sprinkler)
    rain=yes: [0.1, 0.9]
    rain=no:
      sprinkler=on: [0.2, 0.8]
      sprinkler=off: [1, 0]
    >>> wet.ignores("sprinkler", {"rain": "yes"}), wet.ignores("sprinkler", {"rain": "no"})
    (True, False)
    >>> print(wet.contexts()[0], "| ignored:", *wet.contexts()[0].ignored)
    rain=yes: [0.1, 0.9] | ignored: sprinkler
    """

    __slots__ = ("_given", "_root", "_rows")

    kind: ClassVar[str] = "tree"
    _given: Split | Leaf | None
    _root: Node
    _rows: npt.NDArray[np.float64]

    def __init__(
        self,
        variable: VariableLike,
        tree: Split | Leaf,
        parents: VariableLike | Iterable[VariableLike],
        states: Iterable[State] | int | None = None,
    ) -> None:
        name = name_of(variable)
        self.parent_names, self._known_parents = read_parents(name, parents)
        self._given = _copied(name, self.parent_names, tree, ())
        self.variable = read_child(variable, states, _leaf_length(self._given))
        self._settle()

    @classmethod
    def _of(cls, variable: Variable, parents: tuple[Variable, ...], root: Node, rows: npt.NDArray[np.float64]) -> Self:
        """From parts that are known to fit and to be normalised."""
        cpd = object.__new__(cls)
        rows.setflags(write=False)
        cpd.variable, cpd.parent_names, cpd._known_parents = variable, tuple(p.name for p in parents), parents
        cpd._given, cpd._root, cpd._rows = None, root, rows
        return cpd

    def _settle(self) -> None:
        check_discrete(self.variable, self._known_parents, "A tree")
        if self._given is None:
            return
        if not self.is_bound:
            for path, leaf in _leaves(self._given):
                check_row(self.variable, path, leaf)
            return
        leaves: list[npt.NDArray[np.float64]] = []
        self._root = self._node(self._given, {}, leaves)
        places = [box_text(self.parents, box) for box in leaf_boxes(self._root)]
        self._rows = normalized_rows(self.variable, np.stack(leaves), lambda row: places[row[0]])
        self._given = None

    def _node(self, tree: Split | Leaf, path: Box, leaves: list[npt.NDArray[np.float64]]) -> Node:
        """The subtree by positions; the rows of its leaves are appended to `leaves`."""
        if not isinstance(tree, Split):
            leaves.append(read_row(self.variable, box_text(self.parents, path), tree))
            return len(leaves) - 1
        axis = self.parent_names.index(tree.variable)
        branches = []
        for positions, below in self._branches(self.parents[axis], tree, path):
            further = path if len(positions) == self.parents[axis].num_states else {**path, axis: positions}
            branches.append((positions, self._node(below, further, leaves)))
        # A single branch takes all states: the split tells nothing.
        return Branching(axis, tuple(branches)) if len(branches) > 1 else branches[0][1]

    def _branches(self, parent: Variable, split: Split, path: Box) -> list[tuple[frozenset[int], Split | Leaf]]:
        """The branches of a split by position, the default last; they must cover each state once."""
        where = f"The split on {parent.name!r} in the tree of {self.variable.name!r}"
        where += f" (at {box_text(self.parents, path)})" if path else ""
        open_positions = set(range(parent.num_states))
        branches: list[tuple[frozenset[int], Split | Leaf]] = []
        for key, below in split.branches.items():
            grouped = isinstance(key, (tuple, frozenset)) and not parent.has_state(key)
            positions = frozenset(state_index(parent, state, where) for state in (key if grouped else (key,)))
            if not positions or not positions <= open_positions:
                raise InvalidCPD(f"{where} has the branch {key!r}, which is empty or repeats a state.")
            open_positions -= positions
            branches.append((positions, below))
        if open_positions and split.default is None:
            missing = states_at(parent, sorted(open_positions))[0]
            raise InvalidCPD(f"{where} has no branch for {missing!r}; add one, or a default.")
        if open_positions and split.default is not None:
            branches.append((frozenset(open_positions), split.default))
        return branches

    # --- numbers ---

    @property
    def tree(self) -> Split | Leaf:
        """The tree by name; its leaves are probabilities in state order, once the parents are known."""
        return self._subtree(self._root) if self._given is None else self._given

    def _subtree(self, node: Node) -> Split | Leaf:
        if isinstance(node, int):
            return tuple(self._rows[node].tolist())
        parent = self.parents[node.axis]
        branches = {}
        for positions, below in node.branches:
            states = states_at(parent, sorted(positions))
            branches[states[0] if len(states) == 1 else states] = self._subtree(below)
        return Split(parent.name, branches)

    @property
    def rows(self) -> npt.NDArray[np.float64]:
        """The distributions at the leaves, read-only: shape `(leaves, states)`."""
        self._require_bound()
        return self._rows

    @property
    def num_parameters(self) -> int:
        """(states - 1) for each leaf."""
        return len(self.rows) * (self.variable.num_states - 1)

    @property
    def _boxes(self) -> tuple[Box, ...]:
        self._require_bound()
        return leaf_boxes(self._root)

    def contexts(self) -> tuple[Context, ...]:
        """The context of each leaf, the parents that drop out in it, and its distribution."""
        return describe(self.parents, self._boxes, self.rows)

    def context_index(self, columns: Columns) -> npt.NDArray[np.intp]:
        """The number of the leaf that each row of parents leads to, as in `contexts`. O(rows × depth)."""
        parents = [self._column(columns, parent) for parent in self.parents]
        return find_leaves(self._root, parents, [parent.num_states for parent in self.parents])

    def log_probability(self, columns: Columns) -> npt.NDArray[np.float64]:
        """log P(x | u) of each row of state positions, by a walk down the tree."""
        with np.errstate(divide="ignore"):
            logs = np.log(self.rows)
        return np.asarray(logs[self.context_index(columns), self._column(columns, self.variable)])

    def to_factor(self, max_entries: int = MAX_ENTRIES) -> Factor:
        """The whole table: each leaf's distribution written into its part."""
        self._check_table(max_entries)
        return box_table(self.scope, self._boxes, list(self.rows))

    def to_factors(self) -> tuple[Factor, ...]:
        """One factor for each set of parents that a path looks at, or factors with the leaf as auxiliary variable.

        See `plausible.cpds.boxes.box_factors`: whichever form has fewer entries.
        """
        return box_factors(self.scope, self._boxes, list(self.rows))

    @property
    def auxiliaries(self) -> tuple[Variable, ...]:
        """The number of the leaf, where `to_factors` uses it."""
        boxes = self._boxes
        return (index_variable(self.scope, len(boxes)),) if needs_index(self.scope, boxes, list(self.rows)) else ()

    def _ignores(self, free: frozenset[int], fixed: Mapping[int, int], tolerance: float) -> bool:
        return not varies(self._boxes, list(self.rows), free, fixed, tolerance)

    # --- files and equality ---

    def to_record(self) -> dict[str, Any]:
        """Nested splits: the parent's number and its branches as pairs of positions and subtree."""
        self._require_bound()
        return {"tree": _node_record(self._root, self._rows)}

    @classmethod
    def from_record(cls, variable: Variable, parents: tuple[Variable, ...], record: Mapping[str, Any]) -> Self:
        """The inverse of `to_record`."""
        check_discrete(variable, parents, "A tree")
        return cls(variable, _read_node(variable, parents, record_field(variable, record, "tree")), parents)

    def _content(self) -> object:
        return self.to_record() if self.is_bound else self._given

    def _shown(self) -> TextLines:
        lines = [
            f"{'  ' * depth}{label}:" + ("" if leaf is None else f" {row_text(read_row(self.variable, label, leaf))}")
            for depth, label, leaf in _outline(self.tree, 0)
        ]
        return TextLines(heading(self.variable, self.parent_names), lines, "lines")


def _copied(child: str, parents: tuple[str, ...], tree: Any, path: tuple[str, ...]) -> Split | Leaf:
    """A copy of what the caller gave, its names checked; it compares by content."""
    if isinstance(tree, Split):
        name, path = tree.variable, (*path, tree.variable)
        if name not in parents:
            raise UnknownVariable.named(name, parents, f"the parents of {child!r}, but its tree splits on it")
        if name in path[:-1]:
            raise InvalidCPD(f"The tree of {child!r} looks twice at {name!r} on the branch {' -> '.join(path)}.")
        if not tree.branches and tree.default is None:
            raise InvalidCPD(f"A split on {name!r} in the tree of {child!r} has no branches.")
        branches = {key: _copied(child, parents, below, path) for key, below in tree.branches.items()}
        return Split(name, branches, None if tree.default is None else _copied(child, parents, tree.default, path))
    if isinstance(tree, str) or not hasattr(tree, "__len__"):
        raise InvalidCPD(f"A leaf in the tree of {child!r} is no list of numbers, one for each state: {tree!r}.")
    if isinstance(tree, Mapping) and any(isinstance(value, (Split, Mapping, Sequence)) for value in tree.values()):
        raise InvalidCPD(
            f"A leaf in the tree of {child!r} maps states of {child!r} to numbers, not {tree!r}. "
            "To look at a parent write Split(parent, {state: subtree, ...})."
        )
    return dict(tree) if isinstance(tree, Mapping) else tuple(tree)


def _branches(split: Split) -> Iterator[tuple[str, Split | Leaf]]:
    """The subtrees of a split, each labelled like `A=a0` or `A=a0|a1`."""
    for key, below in split.branches.items():
        states = "|".join(map(str, key)) if isinstance(key, (tuple, frozenset)) else key
        yield f"{split.variable}={states}", below
    if split.default is not None:
        yield f"{split.variable}=others", split.default


def _outline(tree: Split | Leaf, depth: int) -> Iterator[tuple[int, str, Leaf | None]]:
    """Depth, label, and what stands there, unless it is a split whose branches follow."""
    for label, below in _branches(tree) if isinstance(tree, Split) else [("always", tree)]:
        yield depth, label, None if isinstance(below, Split) else below
        if isinstance(below, Split):
            yield from _outline(below, depth + 1)


def _leaves(tree: Split | Leaf, path: str = "") -> Iterator[tuple[str, Leaf]]:
    """Each leaf and the path to it, for messages."""
    if not isinstance(tree, Split):
        yield path, tree
        return
    for label, below in _branches(tree):
        yield from _leaves(below, f"{path}, {label}" if path else label)


def _leaf_length(tree: Any) -> int:
    """The number of states, from the first leaf."""
    while isinstance(tree, Split):
        tree = next(iter(tree.branches.values()), tree.default)
    return len(tree)


def _node_record(node: Node, rows: npt.NDArray[np.float64]) -> dict[str, Any]:
    if isinstance(node, int):
        return {"probabilities": rows[node].tolist()}
    branches = [[sorted(positions), _node_record(below, rows)] for positions, below in node.branches]
    return {"parent": node.axis, "branches": branches}


def _read_node(variable: Variable, parents: tuple[Variable, ...], record: Any) -> Split | Leaf:
    if isinstance(record, Mapping) and "probabilities" in record:
        leaf: Leaf = record["probabilities"]
        return leaf
    axis = record_field(variable, record, "parent")
    if not isinstance(axis, int) or not 0 <= axis < len(parents):
        raise InvalidCPD(f"The record of {variable.name!r} splits on parent {axis!r}; it has {len(parents)}.")
    branches = {}
    for positions, below in record_list(variable, record, "branches", 2):
        branches[frozenset(states_at(parents[axis], positions))] = _read_node(variable, parents, below)
    return Split(parents[axis].name, branches)
