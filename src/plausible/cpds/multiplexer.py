"""Multiplexers: a selector decides which input is copied."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Self

import numpy as np

from plausible.base import Floats, Positions
from plausible.cpds.base import CPD, Columns
from plausible.cpds.reading import (
    TextLines,
    VariableLike,
    check_discrete,
    name_of,
    read_child,
    read_parents,
    record_list,
    state_label,
    states_at,
)
from plausible.errors import InvalidCPD, UnknownState
from plausible.factors import Factor
from plausible.variables import State, Variable


class Multiplexer(CPD):
    """A multiplexer: the child copies the input that the selector chooses, P(y | a, z_1, ..., z_k) = 1(y = z_a).

    Each of its factors involves one input, so k inputs need k small tables instead of one large joint table.

    Parameters
    ----------
    selector
        The parent A, with one state per input, in the same order.
    inputs
        The parents Z_1, ..., Z_k; each of their states must be a state of the child.
    states
        The child's states. If all inputs are `Variable` objects you can omit them: then they are the states of the
        inputs, in order of appearance.

    Examples
    --------
    >>> copy = Multiplexer("Y", Variable("A", ["left", "right"]), [Variable("L", 2), Variable("R", 3)])
    >>> copy.variable.states
    (0, 1, 2)
    >>> print(copy)
    A=left: Y = L
    A=right: Y = R
    >>> copy.ignores("L", {"A": "right"}), copy.ignores("R", {"A": "right"})
    (True, False)
    >>> [factor.names for factor in copy.to_factors()]
    [('A', 'L', 'Y'), ('A', 'R', 'Y')]
    """

    __slots__ = ("_copies",)

    kind: ClassVar[str] = "multiplexer"
    #: For each input, the child's position of each of its states.
    _copies: tuple[Positions, ...]

    def __init__(
        self,
        variable: VariableLike,
        selector: VariableLike,
        inputs: Iterable[VariableLike],
        states: Iterable[State] | int | None = None,
    ) -> None:
        name = name_of(variable)
        listed = (inputs,) if isinstance(inputs, (str, Variable)) else tuple(inputs)
        self.parent_names, self._known_parents = read_parents(name, (selector, *listed))
        if not listed:
            raise InvalidCPD(f"The multiplexer {name!r} needs at least one input.")
        check_discrete(Variable(name), self._known_parents, "A multiplexer")
        if not isinstance(variable, Variable) and states is None:
            known = [parent for parent in self._known_parents[1:] if parent is not None]
            if len(known) < len(listed):
                raise InvalidCPD(f"The multiplexer {name!r} needs states=[...], or all inputs as Variable objects.")
            states = dict.fromkeys(state for parent in known for state in parent.states)
        self.variable = read_child(variable, states)
        self._settle()

    def _settle(self) -> None:
        check_discrete(self.variable, self._known_parents, "A multiplexer")
        if not self.is_bound:
            return
        self._check_selector()
        self._copies = tuple(self._copy(parent) for parent in self.parents[1:])

    def _check_selector(self) -> None:
        inputs = self.parent_names[1:]
        if not inputs:
            raise InvalidCPD(f"The multiplexer {self.variable.name!r} needs a selector and at least one input.")
        selector = self.parents[0]
        if selector.num_states != len(inputs):
            raise InvalidCPD(
                f"The selector {selector.name!r} of {self.variable.name!r} has {selector.num_states} states "
                f"for {len(inputs)} inputs; it needs one for each."
            )

    def _copy(self, parent: Variable) -> Positions:
        for state in parent.states:
            if not self.variable.has_state(state):
                problem = self.variable.unknown_state(state)
                raise UnknownState(f"The input {parent.name!r} can't be copied to {self.variable.name!r}: {problem}")
        return _read_only(self.variable.index(state) for state in parent.states)

    @property
    def selector(self) -> Variable:
        """The parent that decides which input is copied."""
        return self.parents[0]

    @property
    def inputs(self) -> tuple[Variable, ...]:
        """The parents of which one is copied, in the order of the selector's states."""
        return self.parents[1:]

    @property
    def is_deterministic(self) -> bool:
        """Always: the selected input decides."""
        return True

    @property
    def num_parameters(self) -> int:
        """None: a copy has nothing to fit."""
        return 0

    def log_probability(self, columns: Columns) -> Floats:
        """0 where the child has the state of the selected input, else -inf."""
        selector, *inputs = self.parents
        selected, child = self._column(columns, selector), self._column(columns, self.variable)
        is_copy = np.zeros(np.broadcast_shapes(selected.shape, child.shape), dtype=bool)
        for number, (parent, copies) in enumerate(zip(inputs, self._copies, strict=True)):
            is_copy = is_copy | ((selected == number) & (copies[self._column(columns, parent)] == child))
        return np.where(is_copy, 0.0, -np.inf)

    def to_factors(self) -> tuple[Factor, ...]:
        """For each input a factor over (A, Z_i, Y): 1(y = z_i) where A selects it, one elsewhere."""
        selector, *inputs = self.parents
        factors = []
        for number, (parent, copies) in enumerate(zip(inputs, self._copies, strict=True)):
            table = np.ones((selector.num_states, parent.num_states, self.variable.num_states))
            table[number] = copies[:, None] == np.arange(self.variable.num_states)
            factors.append(Factor((selector, parent, self.variable), table))
        return tuple(factors)

    def _ignores(self, free: frozenset[int], fixed: Mapping[int, int], tolerance: float) -> bool:
        """Y is one label whatever the free parents do: a matter of the labels that each selectable input can have."""
        selectable = [fixed[0]] if 0 in fixed else range(len(self._copies))
        labels = {number: self._labels(number, fixed) for number in selectable}
        if 0 in free and len(labels) > 1:
            return len(set().union(*labels.values())) == 1
        return all(len(possible) == 1 for number, possible in labels.items() if number + 1 in free)

    def _labels(self, number: int, fixed: Mapping[int, int]) -> set[int]:
        """The child's positions that an input can copy."""
        copies = self._copies[number].tolist()
        return {copies[fixed[number + 1]]} if number + 1 in fixed else set(copies)

    def to_record(self) -> dict[str, Any]:
        """For each input the child's positions of its states; the selector is the first parent."""
        self._require_bound()
        return {"copies": [copies.tolist() for copies in self._copies]}

    @classmethod
    def from_record(cls, variable: Variable, parents: tuple[Variable, ...], record: Mapping[str, Any]) -> Self:
        """The inverse of `to_record`; states may meanwhile have other names, as positions say what is copied."""
        cpd = object.__new__(cls)
        cpd.variable, cpd.parent_names, cpd._known_parents = variable, tuple(p.name for p in parents), parents
        check_discrete(variable, parents, "A multiplexer")
        listed = record_list(variable, record, "copies")
        cpd._check_selector()
        counts = [len(positions) if isinstance(positions, list) else None for positions in listed]
        if counts != [parent.num_states for parent in parents[1:]]:
            raise InvalidCPD(f"The record of {variable.name!r} needs a position for each state of each input.")
        for positions in listed:
            states_at(variable, positions)
        cpd._copies = tuple(_read_only(positions) for positions in listed)
        return cpd

    def _content(self) -> object:
        return self.to_record() if self.is_bound else None

    def _shown(self) -> TextLines:
        name, selector = self.parent_names[0], self._known_parents[0]
        lines = [
            f"{state_label(name, selector, number)}: {self.variable.name} = {source}"
            for number, source in enumerate(self.parent_names[1:])
        ]
        return TextLines("", lines, "inputs")


def _read_only(positions: Iterable[int]) -> Positions:
    array = np.array(list(positions), dtype=np.intp)
    array.setflags(write=False)
    return array
