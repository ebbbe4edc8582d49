"""Trees: the parents that matter depend on the states of other parents."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any, ClassVar, Self

import numpy as np

from plausible.base import Floats, num_shown
from plausible.cpds.contexts import Box, Branching, ContextCPD, Nodes, box_text, leaf_box, leaf_boxes
from plausible.cpds.reading import (
    TextLines,
    VariableLike,
    check_discrete,
    check_row,
    heading,
    name_of,
    normalized_rows,
    read_child,
    read_parents,
    read_row,
    record_field,
    record_list,
    row_text,
    state_index,
    states_at,
)
from plausible.cpds.splits import FlatTree, Leaf, Split, SplitHead, flattened, is_whole, leaves, nested, outline
from plausible.errors import InvalidCPD
from plausible.variables import State, Variable


class TreeCPD(ContextCPD):
    """P(X | U) as a decision tree: inner nodes test a parent, and leaves are rows of probabilities.

    In the context given by the path to a leaf, X is independent of the parents that are not on the path (Boutilier et
    al. 1996).

    Parameters
    ----------
    tree
        A `Split`, or a single leaf: probabilities in state order, or keyed by the child's states.
        No parent may appear twice on a path, and every state of a split parent needs a branch.
    parents
        Names or `Variable` objects; the tree need not use all of them.
    states
        The child's states; by default 0, 1, ...

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

    __slots__ = ("_given", "_nodes", "_rows")

    kind: ClassVar[str] = "tree"
    _given: FlatTree | None
    _nodes: Nodes
    _rows: Floats

    def __init__(
        self,
        variable: VariableLike,
        tree: Split | Leaf,
        parents: VariableLike | Iterable[VariableLike],
        states: Iterable[State] | int | None = None,
    ) -> None:
        name = name_of(variable)
        self.parent_names, self._known_parents = read_parents(name, parents)
        self._given = flattened(name, self.parent_names, tree)
        first = next(node for node in self._given if not isinstance(node, SplitHead))
        self.variable = read_child(variable, states, len(first))
        self._settle()

    @classmethod
    def _of(cls, variable: Variable, parents: tuple[Variable, ...], nodes: Nodes, rows: Floats) -> Self:
        """From parts that are known to fit and to be normalised."""
        cpd = object.__new__(cls)
        rows.setflags(write=False)
        cpd.variable, cpd.parent_names, cpd._known_parents = variable, tuple(p.name for p in parents), parents
        cpd._given, cpd._nodes, cpd._rows = None, nodes, rows
        return cpd

    def _settle(self) -> None:
        check_discrete(self.variable, self._known_parents, "A tree")
        if self._given is None:
            return
        if not self.is_bound:
            for path, leaf in leaves(self._given):
                check_row(self.variable, path, leaf)
            return
        self._nodes, rows = self._by_position(self._given)
        self._rows = normalized_rows(
            self.variable, rows, lambda row: box_text(self.parents, leaf_box(self._nodes, row[0]))
        )
        self._given = None

    def _by_position(self, given: FlatTree) -> tuple[Nodes, Floats]:
        """The tree by positions of states, and the rows of its leaves."""
        axes = {parent.name: (axis, parent) for axis, parent in enumerate(self.parents)}
        nodes: list[Branching | int] = []
        rows: list[Floats] = []
        paths: list[str | None] = [""]
        for node in given:
            path = paths.pop()
            if path is None:
                # Below a default for which no state is left.
                paths += [None] * (node.num_branches if isinstance(node, SplitHead) else 0)
            elif isinstance(node, SplitHead):
                axis, parent = axes[node.variable]
                branches = self._branches(parent, node, path)
                paths += [None] * (node.num_branches - len(branches))
                paths += [_step(path, parent, positions) for positions in reversed(branches)]
                # A single branch takes all states: the split tells nothing.
                nodes += [Branching(axis, tuple(branches))] if len(branches) > 1 else []
            else:
                nodes.append(len(rows))
                rows.append(read_row(self.variable, path, node))
        return tuple(nodes), np.stack(rows)

    def _branches(self, parent: Variable, split: SplitHead, path: str) -> list[frozenset[int]]:
        """The positions of each branch, the default last; they must cover each state once."""
        where = f"The split on {parent.name!r} in the tree of {self.variable.name!r}"
        where += f" (at {path})" if path else ""
        open_positions = set(range(parent.num_states))
        branches: list[frozenset[int]] = []
        for key in split.keys:
            grouped = isinstance(key, (tuple, frozenset)) and not parent.has_state(key)
            positions = frozenset(state_index(parent, state, where) for state in (key if grouped else (key,)))
            if not positions or not positions <= open_positions:
                raise InvalidCPD(f"{where} has the branch {key!r}, which is empty or repeats a state.")
            open_positions -= positions
            branches.append(positions)
        if open_positions and not split.has_default:
            missing = states_at(parent, sorted(open_positions))[0]
            raise InvalidCPD(f"{where} has no branch for {missing!r}; add one, or a default.")
        return [*branches, frozenset(open_positions)] if open_positions else branches

    @property
    def tree(self) -> Split | Leaf:
        """The tree by name; its leaves are probabilities in state order, once the parents are known."""
        return nested(self._by_name())

    def _by_name(self) -> FlatTree:
        """The flat tree, as given or from positions of states."""
        if self._given is not None:
            return tuple(dict(node) if isinstance(node, Mapping) else node for node in self._given)
        parents, rows = self.parents, self._rows.tolist()
        return tuple(
            tuple(rows[node]) if isinstance(node, int) else _head(parents[node.axis], node) for node in self._nodes
        )

    @property
    def rows(self) -> Floats:
        """The distributions at the leaves, read-only: shape `(leaves, states)`."""
        self._require_bound()
        return self._rows

    @property
    def num_parameters(self) -> int:
        """(states - 1) for each leaf."""
        return len(self.rows) * (self.variable.num_states - 1)

    def _pieces(self) -> tuple[tuple[Box, ...], list[Floats]]:
        return leaf_boxes(self._nodes), list(self.rows)

    def to_record(self) -> dict[str, Any]:
        """The nodes depth first: a leaf's probabilities, or the number of a parent and the positions of each branch.

        The subtrees of a node follow it, in the order of its branches.
        """
        self._require_bound()
        rows = self._rows.tolist()
        return {
            "tree": [
                {"probabilities": rows[node]}
                if isinstance(node, int)
                else {"parent": node.axis, "branches": [sorted(positions) for positions in node.branches]}
                for node in self._nodes
            ]
        }

    @classmethod
    def from_record(cls, variable: Variable, parents: tuple[Variable, ...], record: Mapping[str, Any]) -> Self:
        check_discrete(variable, parents, "A tree")
        nodes = [_read_node(variable, parents, node) for node in record_list(variable, record, "tree")]
        if not is_whole(nodes):
            raise InvalidCPD(
                f"The nodes in the record of {variable.name!r} make no tree: depth first, each node has one subtree "
                "for each of its branches after it."
            )
        return cls(variable, nested(nodes), parents)

    def _content(self) -> object:
        return self.to_record() if self.is_bound else self._given

    def _shown(self) -> TextLines:
        nodes = self._by_name()
        num_lines = max(len(nodes) - 1, 1)
        lines = [
            f"{'  ' * depth}{label}:" + ("" if leaf is None else f" {row_text(read_row(self.variable, label, leaf))}")
            for depth, label, leaf in islice(outline(nodes), num_shown(num_lines))
        ]
        return TextLines(heading(self.variable, self.parent_names), lines, "lines", num_lines)


def _step(path: str, parent: Variable, positions: frozenset[int]) -> str:
    """The text of a path and one more step, unless that takes all states."""
    if len(positions) == parent.num_states:
        return path
    return f"{path}, {box_text((parent,), {0: positions})}" if path else box_text((parent,), {0: positions})


def _head(parent: Variable, node: Branching) -> SplitHead:
    groups = [states_at(parent, sorted(positions)) for positions in node.branches]
    return SplitHead(parent.name, tuple(states[0] if len(states) == 1 else states for states in groups))


def _read_node(variable: Variable, parents: tuple[Variable, ...], record: Any) -> SplitHead | Leaf:
    if isinstance(record, Mapping) and "probabilities" in record:
        return tuple(record_list(variable, record, "probabilities"))
    axis = record_field(variable, record, "parent")
    if not isinstance(axis, int) or not 0 <= axis < len(parents):
        raise InvalidCPD(f"The record of {variable.name!r} splits on parent {axis!r}; it has {len(parents)}.")
    branches = [states_at(parents[axis], positions) for positions in record_list(variable, record, "branches")]
    return SplitHead(parents[axis].name, tuple(frozenset(states) for states in branches))
