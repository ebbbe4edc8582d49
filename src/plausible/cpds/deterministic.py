"""Functions: the parents' states decide the child's."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import product as cartesian
from typing import Any, ClassVar, Self

import numpy as np

from plausible.base import Floats, Positions, TextTable
from plausible.cpds.base import CPD, Columns, slice_at
from plausible.cpds.reading import (
    TextLines,
    VariableLike,
    check_discrete,
    excerpt,
    name_of,
    place_text,
    read_child,
    read_parents,
    record_list,
    states_at,
)
from plausible.errors import InvalidCPD, UnknownState
from plausible.factors import Factor
from plausible.factors.alignment import check_size, num_entries
from plausible.variables import State, Variable

#: A function of more assignments than this is not tabulated.
MAX_CALLS = 2**22


class DeterministicCPD(CPD):
    """A deterministic distribution: the child's state is a Python function f of the parents' states.

    f is called once for every assignment of the parents, when the CPD is bound. The table of results is what is kept,
    compared and saved. Knowing the parents determines the child, which implies independencies that d-separation does
    not see.

    Parameters
    ----------
    function
        f: takes a state of each parent, in order, and returns a state of the child.
    states
        The child's states. If all parents are `Variable` objects you can omit them: then they are the results of f in
        order of appearance, with the last parent's state changing fastest.

    Examples
    --------
    >>> both = DeterministicCPD("X", lambda z, y: z and y, parents=[Variable("Z", 2), Variable("Y", 2)])
    >>> both.variable.states
    (0, 1)
    >>> both.ignores("Y", {"Z": 0}), both.ignores("Y", {"Z": 1})
    (True, False)
    """

    __slots__ = ("_function", "_positions")

    kind: ClassVar[str] = "deterministic"
    _function: Callable[..., State] | None
    #: The position of the child's state; one axis for each parent.
    _positions: Positions

    def __init__(
        self,
        variable: VariableLike,
        function: Callable[..., State],
        parents: VariableLike | Iterable[VariableLike] = (),
        states: Iterable[State] | int | None = None,
    ) -> None:
        name = name_of(variable)
        if not callable(function):
            raise InvalidCPD(f"The CPD of {name!r} needs a function of the parents' states, not {function!r}.")
        self.parent_names, self._known_parents = read_parents(name, parents)
        self._function = function
        if isinstance(variable, Variable) or states is not None:
            self.variable = read_child(variable, states)
            self._settle()
        elif None in self._known_parents:
            raise InvalidCPD(
                f"The CPD of {name!r} needs states=[...], or all parents as Variable objects: "
                "the states can't be collected from calls with parents known by name only."
            )
        else:
            results = _results(name, function, [parent for parent in self._known_parents if parent is not None])
            self.variable = Variable(name, _distinct(name, results))
            self._tabulate(results)

    def _settle(self) -> None:
        check_discrete(self.variable, self._known_parents, "A deterministic CPD")
        if self.is_bound and self._function is not None:
            self._tabulate(_results(self.variable.name, self._function, self.parents))

    def _tabulate(self, results: Iterable[State]) -> None:
        """Keep the results by position, and no longer the function."""
        flat = np.fromiter((self._index(result, row) for row, result in enumerate(results)), dtype=np.intp)
        self._positions = flat.reshape([parent.num_states for parent in self.parents])
        self._positions.setflags(write=False)
        self._function = None

    def _index(self, result: Any, row: int) -> int:
        if self.variable.has_state(result):
            return self.variable.index(result)
        place = np.unravel_index(row, [parent.num_states for parent in self.parents])
        where = place_text(self.parents, tuple(int(i) for i in place)) or "()"
        problem = self.variable.unknown_state(result)
        raise UnknownState(f"The function of {self.variable.name!r} at {where}: {problem}")

    @property
    def positions(self) -> Positions:
        """The position of the child's state for each assignment to the parents, read-only."""
        self._require_bound()
        return self._positions

    @property
    def is_deterministic(self) -> bool:
        """Always."""
        return True

    @property
    def num_parameters(self) -> int:
        """None: a function has nothing to fit."""
        return 0

    def log_probability(self, columns: Columns) -> Floats:
        """0 where the child has the state that f gives, else -inf."""
        index = tuple(self._column(columns, parent) for parent in self.parents)
        return np.where(self.positions[index] == self._column(columns, self.variable), 0.0, -np.inf)

    def to_factors(self) -> tuple[Factor, ...]:
        """The table of zeros and ones."""
        return (self.to_factor(),)

    def _ignores(self, free: frozenset[int], fixed: Mapping[int, int], tolerance: float) -> bool:
        part, along = slice_at(self.positions, fixed), tuple(free)
        return bool((part.max(axis=along) == part.min(axis=along)).all())

    def to_record(self) -> dict[str, Any]:
        """The positions of the child's states in a row, the last parent's state changing fastest."""
        return {"positions": self.positions.ravel().tolist()}

    @classmethod
    def from_record(cls, variable: Variable, parents: tuple[Variable, ...], record: Mapping[str, Any]) -> Self:
        check_discrete(variable, parents, "A deterministic CPD")
        results = states_at(variable, record_list(variable, record, "positions"))
        if len(results) != num_entries(parents):
            raise InvalidCPD(
                f"The record of {variable.name!r} needs {num_entries(parents)} positions, not {len(results)}."
            )
        cpd = object.__new__(cls)
        cpd.variable, cpd.parent_names, cpd._known_parents = variable, tuple(p.name for p in parents), parents
        cpd._tabulate(results)
        return cpd

    def _content(self) -> object:
        return (self._positions.tobytes(), self._positions.shape) if self.is_bound else self._function

    def _shown(self) -> TextTable | TextLines:
        if not self.is_bound:
            name = getattr(self._function, "__name__", "function")
            return TextLines("", [f"{self.variable.name} = {name}({', '.join(self.parent_names)})"], "lines")
        results = (str(self.variable.states[position]) for position in self._positions.flat)
        parents = cartesian(*([str(state) for state in parent.states] for parent in self.parents))
        rows = ((*states, result) for states, result in zip(parents, results, strict=True))
        header = (*self.parent_names, self.variable.name)
        return excerpt(header, rows, self._positions.size, len(header))


def _distinct(child: str, results: Iterable[State]) -> list[State]:
    try:
        return list(dict.fromkeys(results))
    except TypeError as error:
        raise InvalidCPD(f"The function of {child!r} returned something that can't be a state: {error}.") from None


def _results(child: str, function: Callable[..., State], parents: Iterable[Variable]) -> list[State]:
    """f at every assignment, the last parent's state changing fastest."""
    given = tuple(parents)
    check_discrete(Variable(child), given, "A deterministic CPD")
    check_size(given, f"The function of {child!r}", MAX_CALLS)
    results = []
    for states in cartesian(*(parent.states for parent in given)):
        try:
            results.append(function(*states))
        except Exception as error:
            where = ", ".join(f"{parent.name}={state}" for parent, state in zip(given, states, strict=True)) or "()"
            raise InvalidCPD(f"The function of {child!r} fails at {where}: {type(error).__name__}: {error}") from error
    return results
