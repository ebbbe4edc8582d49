"""What is known of a graph before any data: edges that it must or must not have, tiers, and numbers of parents."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plausible.base.options import check_count
from plausible.errors import InvalidArgument, UnknownVariable
from plausible.graphs import DAG

Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Knowledge:
    """What you already know about a graph to be learned: required and forbidden edges, tiers, a limit on parents.

    Parameters
    ----------
    required, forbidden
        Edges that the graph must or must not have: pairs `(parent, child)`, or a string of arrows.
    tiers
        Groups of names, causes before effects: no edge leads from a later group to an earlier one. Variables in no
        group are free.
    max_parents
        The most parents a variable may have; `None` for no limit.

    Examples
    --------
    >>> Knowledge(required="A -> B", tiers=[["A"], ["B", "C"]]).on(["A", "B", "C"]).allowed.astype(int)
    array([[0, 1, 1],
           [0, 0, 1],
           [0, 1, 0]])
    """

    required: Any = ()
    forbidden: Any = ()
    tiers: Sequence[Iterable[str]] = ()
    max_parents: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "required", _pairs(self.required))
        object.__setattr__(self, "forbidden", _pairs(self.forbidden))
        object.__setattr__(self, "tiers", tuple(tuple(_names(tier)) for tier in self.tiers))
        both = set(self.required) & set(self.forbidden)
        if both:
            raise InvalidArgument(f"The edge {' -> '.join(min(both))} is both required and forbidden.")
        if self.max_parents is not None:
            check_count("max_parents", self.max_parents)
        for parent, child in self.required:
            if parent == child:
                raise InvalidArgument(f"The required edge {parent} -> {child} joins a variable with itself.")

    @classmethod
    def read(cls, knowledge: Knowledge | None) -> Knowledge:
        """What `knowledge=` of every learner takes; `None` is to know nothing."""
        if knowledge is None:
            return cls()
        if not isinstance(knowledge, cls):
            raise InvalidArgument(
                f"knowledge= takes a Knowledge, such as Knowledge(required='A -> B'), not {knowledge!r}."
            )
        return knowledge

    def on(self, names: Sequence[str]) -> Constraints:
        """The same for variables in a fixed order, checked."""
        places = {name: place for place, name in enumerate(names)}
        for name in self._mentioned():
            if name not in places:
                raise UnknownVariable.named(name, names, "the data, though knowledge mentions it")
        num = len(names)
        allowed, required = ~np.eye(num, dtype=np.bool_), np.zeros((num, num), dtype=np.bool_)
        for parent, child in self.forbidden:
            allowed[places[parent], places[child]] = False
        tier_of = np.full(num, -1)
        for number, tier in enumerate(self.tiers):
            for name in tier:
                if tier_of[places[name]] >= 0:
                    raise InvalidArgument(f"{name!r} is in two tiers.")
                tier_of[places[name]] = number
        is_tiered = tier_of >= 0
        allowed &= ~(is_tiered[:, None] & is_tiered[None, :] & (tier_of[:, None] > tier_of[None, :]))
        DAG(self.required)  # a cycle of required edges is refused with its name
        for parent, child in self.required:
            if not allowed[places[parent], places[child]]:
                raise InvalidArgument(f"The required edge {parent} -> {child} is against the tiers.")
            required[places[parent], places[child]] = True
            allowed[places[child], places[parent]] = False
        constraints = Constraints(allowed, required, num if self.max_parents is None else self.max_parents)
        _check_numbers(constraints, names)
        return constraints

    def _mentioned(self) -> list[str]:
        pairs = [name for pair in (*self.required, *self.forbidden) for name in pair]
        return [*pairs, *(name for tier in self.tiers for name in tier)]


@dataclass(frozen=True, slots=True, eq=False)
class Constraints:
    """Knowledge about variables that go by their places; made by `Knowledge.on`."""

    allowed: Mask  # by parent and child, whether an edge may, or must, be there
    required: Mask
    max_parents: int  # no variable has more

    def along(self, order: Sequence[str], names: Sequence[str]) -> Constraints:
        """Only edges that lead forward in an order, which lists each of the names once, are allowed."""
        if sorted(order) != list(names):
            odd = sorted(set(order) ^ set(names)) or sorted({name for name in order if list(order).count(name) > 1})
            raise InvalidArgument(f"order= must list each variable once; look at {', '.join(map(repr, odd[:5]))}.")
        ranks = np.array([list(order).index(name) for name in names], dtype=np.int64)
        is_forward = ranks[:, None] < ranks[None, :]
        for parent, child in np.argwhere(self.required & ~is_forward).tolist():
            raise InvalidArgument(f"The required edge {names[parent]} -> {names[child]} is against order=.")
        return Constraints(self.allowed & is_forward, self.required, self.max_parents)

    @property
    def required_families(self) -> tuple[tuple[int, ...], ...]:
        """The parents of each variable in the graph of the required edges."""
        return tuple(tuple(np.flatnonzero(column).tolist()) for column in self.required.T)


def _check_numbers(constraints: Constraints, names: Sequence[str]) -> None:
    for name, parents in zip(names, constraints.required_families, strict=True):
        if len(parents) > constraints.max_parents:
            raise InvalidArgument(
                f"{name!r} has {len(parents)} required parents, but max_parents={constraints.max_parents}."
            )


def _pairs(edges: Any) -> tuple[tuple[str, str], ...]:
    if isinstance(edges, (str, DAG)):
        return tuple((str(parent), str(child)) for parent, child in DAG(edges).edges)
    if isinstance(edges, Mapping):
        return tuple((parent, child) for parent, children in edges.items() for child in _names(children))
    pairs = tuple(tuple(pair) for pair in edges)
    for pair in pairs:
        if len(pair) != 2:
            raise InvalidArgument(f"An edge is a pair (parent, child), not {pair!r}.")
    return pairs


def _names(names: str | Iterable[str]) -> list[str]:
    return [names] if isinstance(names, str) else list(names)
