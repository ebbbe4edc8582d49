"""Trees as people write them, and the same laid out flat: depth is then no matter of Python's stack.

A flat tree lists its nodes depth first: the subtrees of a split follow it, in the order of its branches.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np

from plausible.base import Floats
from plausible.errors import InvalidCPD, UnknownVariable
from plausible.variables import State

#: A leaf: probabilities in state order, or keyed by the child's states.
Leaf: TypeAlias = Sequence[float] | Mapping[State, float] | Floats


@dataclass(frozen=True, slots=True)
class Split:
    """An inner node of a tree: tests one parent and has a branch for each of its states.

    Parameters
    ----------
    variable
        The name of the parent.
    branches
        State -> subtree: another `Split` or a leaf. If a key is a tuple of states, they share a subtree. Stored as a
        read-only copy, with lists of numbers as tuples.
    default
        The subtree for all states without a branch.

    Examples
    --------
    >>> Split("rain", {"yes": [0.1, 0.9]}, default=[1.0, 0.0])
    Split('rain', {'yes': (0.1, 0.9)}, default=(1.0, 0.0))
    """

    variable: str
    branches: Mapping[Any, Split | Leaf] = field(default_factory=dict)
    default: Split | Leaf | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.variable, str):
            raise InvalidCPD(f"A split looks at a parent by its name, not at {self.variable!r}.")
        if not isinstance(self.branches, Mapping):
            raise InvalidCPD(
                f"The branches of the split on {self.variable!r} are a mapping from states to subtrees, "
                f"not {self.branches!r}."
            )
        branches = {key: _read_only(subtree) for key, subtree in self.branches.items()}
        object.__setattr__(self, "branches", MappingProxyType(branches))
        object.__setattr__(self, "default", _read_only(self.default))

    def __hash__(self) -> int:
        """Of this node alone: a tree may be deeper than the stack."""
        return hash((self.variable, frozenset(self.branches), self.default is None))

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle by the constructor: a read-only mapping can't be pickled."""
        return Split, (self.variable, self._plain_branches(), _plain(self.default))

    def __repr__(self) -> str:
        default = "" if self.default is None else f", default={_plain(self.default)!r}"
        return f"Split({self.variable!r}, {self._plain_branches()!r}{default})"

    def _plain_branches(self) -> dict[Any, Any]:
        return {key: _plain(subtree) for key, subtree in self.branches.items()}


def _read_only(subtree: Any) -> Any:
    """A copy that the caller can't change; what is no leaf stays, for the tree to refuse it by name."""
    if isinstance(subtree, Mapping):
        return MappingProxyType(dict(subtree))
    if isinstance(subtree, np.ndarray):
        subtree = subtree.tolist()
    return tuple(subtree) if isinstance(subtree, Sequence) and not isinstance(subtree, (str, bytes)) else subtree


def _plain(subtree: Any) -> Any:
    """A leaf keyed by states as a dict, which can be written and pickled."""
    return dict(subtree) if isinstance(subtree, Mapping) else subtree


@dataclass(frozen=True, slots=True)
class SplitHead:
    """A split without its subtrees: the parent, the keys of the branches, and whether a default comes after them."""

    variable: str
    keys: tuple[Any, ...]
    has_default: bool = False

    @property
    def num_branches(self) -> int:
        """The number of subtrees that follow."""
        return len(self.keys) + self.has_default

    @property
    def labels(self) -> list[str]:
        """`A=a0`, `A=a1|a2`, `A=others`: the text of each branch."""
        texts = ["|".join(map(str, key)) if isinstance(key, (tuple, frozenset)) else key for key in self.keys]
        return [f"{self.variable}={text}" for text in (*texts, *(["others"] if self.has_default else []))]


FlatTree: TypeAlias = tuple[SplitHead | Leaf, ...]


def flattened(child: str, parents: Iterable[str], tree: Any) -> FlatTree:
    """A flat copy of what the caller gave, its names checked; it compares by content. O(nodes)."""
    known = dict.fromkeys(parents)
    nodes: list[SplitHead | Leaf] = []
    path: dict[str, None] = {}
    waiting: list[tuple[int, Any]] = [(0, tree)]
    while waiting:
        depth, below = waiting.pop()
        while len(path) > depth:
            path.popitem()
        if not isinstance(below, Split):
            nodes.append(_leaf(child, below))
            continue
        _check_split(child, known, path, below)
        path[below.variable] = None
        nodes.append(SplitHead(below.variable, tuple(below.branches), below.default is not None))
        subtrees = [*below.branches.values(), *([] if below.default is None else [below.default])]
        waiting += [(depth + 1, subtree) for subtree in reversed(subtrees)]
    return tuple(nodes)


def _check_split(child: str, parents: Mapping[str, None], path: Mapping[str, None], split: Split) -> None:
    name = split.variable
    if name not in parents:
        raise UnknownVariable.named(name, parents, f"the parents of {child!r}, but its tree splits on it")
    if name in path:
        raise InvalidCPD(f"The tree of {child!r} looks twice at {name!r} on the branch {' -> '.join([*path, name])}.")
    if not split.branches and split.default is None:
        raise InvalidCPD(f"A split on {name!r} in the tree of {child!r} has no branches.")


def _leaf(child: str, leaf: Any) -> Leaf:
    if isinstance(leaf, str) or not hasattr(leaf, "__len__"):
        raise InvalidCPD(f"A leaf in the tree of {child!r} is no list of numbers, one for each state: {leaf!r}.")
    if isinstance(leaf, Mapping) and any(isinstance(value, (Split, Mapping, Sequence)) for value in leaf.values()):
        raise InvalidCPD(
            f"A leaf in the tree of {child!r} maps states of {child!r} to numbers, but one maps {list(leaf)!r} to "
            "subtrees. To look at a parent write Split(parent, {state: subtree, ...})."
        )
    return dict(leaf) if isinstance(leaf, Mapping) else tuple(leaf)


def nested(nodes: Sequence[SplitHead | Leaf]) -> Split | Leaf:
    """The tree as `Split` objects, the inverse of `flattened`: built from the end, where subtrees come first."""
    built: list[Split | Leaf] = []
    for node in reversed(nodes):
        if not isinstance(node, SplitHead):
            built.append(node)
            continue
        branches = {key: built.pop() for key in node.keys}
        built.append(Split(node.variable, branches, built.pop() if node.has_default else None))
    return built.pop()


def is_whole(nodes: Iterable[SplitHead | Leaf]) -> bool:
    """Whether the nodes make exactly one tree: no subtree is missing and none is left over."""
    open_places = 1
    for node in nodes:
        if not open_places:
            return False
        open_places += (node.num_branches if isinstance(node, SplitHead) else 0) - 1
    return not open_places


def outline(nodes: Sequence[SplitHead | Leaf]) -> Iterator[tuple[int, str, Leaf | None]]:
    """Depth, label, and what stands there, unless it is a split whose branches follow."""
    waiting = [(-1, "always")]
    for node in nodes:
        depth, label = waiting.pop()
        if not isinstance(node, SplitHead):
            yield max(depth, 0), label, node
            continue
        if depth >= 0:
            yield depth, label, None
        waiting += [(depth + 1, below) for below in reversed(node.labels)]


def leaves(nodes: Sequence[SplitHead | Leaf]) -> Iterator[tuple[str, Leaf]]:
    """Each leaf and the path to it, for messages."""
    waiting = [""]
    for node in nodes:
        path = waiting.pop()
        if not isinstance(node, SplitHead):
            yield path, node
            continue
        waiting += [f"{path}, {label}" if path else label for label in reversed(node.labels)]
