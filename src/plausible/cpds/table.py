"""Tables: one row of probabilities for each assignment to the parents."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from math import prod
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from plausible.cpds.base import CPD, Columns, VariableLike, read_child, read_parents
from plausible.cpds.rows import BadRow, Rounding, checked_rows
from plausible.errors import InvalidCPD, NotSupported, RoundedProbabilities
from plausible.factors import Factor
from plausible.factors.alignment import MAX_ENTRIES, num_entries
from plausible.variables import State, Variable

__all__ = ["TableCPD"]

Row: TypeAlias = Sequence[float] | Mapping[State, float]


class TableCPD(CPD):
    """P(X | U) as a table.

    Parameters
    ----------
    variable
        The child: its name (then see `states`) or a `Variable`.
    values
        Probabilities with axes `(*parents, child)`; or a mapping from parent states (a tuple, where there are several
        parents) to rows, a row being a list in state order or a mapping from the child's states.
    parents
        Names or `Variable` objects, in axis order.
    states
        The child's states; 0, 1, ... where left out.

    Rows that miss one by rounding (at most 1e-3) are renormalised with a `RoundedProbabilities` warning that says where
    and by how much; anything worse is an error.

    Examples
    --------
    >>> letter = TableCPD("L", parents=["G"], states=["weak", "strong"],
    ...                   values={"A": [0.1, 0.9], "B": [0.4, 0.6], "C": [0.99, 0.01]})
    >>> letter
    TableCPD(L | G)
    >>> letter.bind({"G": Variable("G", ["A", "B", "C"])}).values[1]
    array([0.4, 0.6])
    """

    __slots__ = ("_keyed", "_values")

    kind: ClassVar[str] = "table"
    _values: npt.NDArray[np.float64] | None
    _keyed: Mapping[Any, Row] | None

    def __init__(
        self,
        variable: VariableLike,
        values: npt.ArrayLike | Mapping[Any, Row],
        parents: VariableLike | Iterable[VariableLike] = (),
        states: Iterable[State] | int | None = None,
    ) -> None:
        name = variable.name if isinstance(variable, Variable) else variable
        self.parent_names, self._parents = read_parents(name, parents)
        if isinstance(values, Mapping):
            self._values, self._keyed = None, dict(values)
            self.variable = read_child(variable, states, _row_length(name, self._keyed))
        else:
            array = _as_array(name, values)
            self.variable = read_child(variable, states, array.shape[-1] if array.ndim else None)
            self._keyed = None
            self._values = array
        if self._parents is not None or self._keyed is None:
            self._settle()

    @classmethod
    def _of(cls, variable: Variable, parents: tuple[Variable, ...], values: npt.NDArray[np.float64]) -> TableCPD:
        """From parts that are known to fit and to be normalised."""
        cpd = object.__new__(cls)
        values.setflags(write=False)
        cpd.variable, cpd.parent_names, cpd._parents = variable, tuple(parent.name for parent in parents), parents
        cpd._values, cpd._keyed = values, None
        return cpd

    @classmethod
    def from_rows(
        cls, variable: Variable, parents: tuple[Variable, ...], values: npt.NDArray[np.float64]
    ) -> tuple[TableCPD, Rounding | None]:
        """A table and what was rounded in it, without a warning: for readers of files, which warn once a file."""
        try:
            rows, rounding = checked_rows(values)
        except BadRow as error:
            raise _bad_row(variable, parents, error) from None
        return cls._of(variable, parents, rows), rounding

    @classmethod
    def uniform(cls, variable: Variable, parents: Iterable[Variable] = ()) -> TableCPD:
        """The table in which every state is equally likely."""
        given = tuple(parents)
        shape = [v.num_states for v in (*given, variable)]
        return cls._of(variable, given, np.full(shape, 1.0 / variable.num_states))

    def _settle(self) -> None:
        """Turn keyed rows into an array, check the shape as far as it is known, and check the rows."""
        shape = self._shape()
        array = _from_rows(self.variable, self.parents, self._keyed) if self._keyed is not None else self._values
        assert array is not None
        if len(array.shape) != len(shape) or any(
            want not in (None, got) for want, got in zip(shape, array.shape, strict=True)
        ):
            raise InvalidCPD(self._shape_problem(array.shape))
        try:
            rows, rounding = checked_rows(array)
        except BadRow as error:
            raise _bad_row(self.variable, self._parents, error) from None
        if rounding is not None:
            warnings.warn(_rounding_text(self.variable, self._parents, rounding), RoundedProbabilities, stacklevel=3)
        rows.setflags(write=False)
        self._values, self._keyed = rows, None

    def _shape(self) -> tuple[int | None, ...]:
        known = [None] * len(self.parent_names) if self._parents is None else [p.num_states for p in self._parents]
        return (*known, self.variable.num_states)

    def _shape_problem(self, shape: tuple[int, ...]) -> str:
        axes = ", ".join((*self.parent_names, self.variable.name))
        wanted = ", ".join("?" if size is None else str(size) for size in self._shape())
        hint = ""
        if len(shape) == 2 and shape == (self.variable.num_states, prod(size or 1 for size in self._shape()[:-1])):
            hint = " The child's states run along the last axis, not the first: one row for each parent assignment."
        return f"The table of {self.variable.name!r} has axes ({axes}) and needs shape ({wanted}), not {shape}.{hint}"

    def _bound(self, parents: tuple[Variable, ...]) -> Self:
        cpd = object.__new__(type(self))
        cpd.variable, cpd.parent_names, cpd._parents = self.variable, self.parent_names, parents
        cpd._values, cpd._keyed = self._values, self._keyed
        for parent in parents:
            if parent.is_continuous:
                raise InvalidCPD(
                    f"A table can't have the continuous parent {parent.name!r} (child {self.variable.name!r})."
                )
        cpd._settle()
        return cpd

    # --- numbers ---

    @property
    def values(self) -> npt.NDArray[np.float64]:
        """The probabilities, read-only; axes `(*parents, child)`."""
        if self._values is None:
            raise NotSupported(
                f"The rows of {self.variable.name!r} are keyed by states of parents known by name only. "
                "Put the CPD into a network, or give Variable objects as parents."
            )
        return self._values

    @property
    def num_parameters(self) -> int:
        """(states - 1) for each assignment to the parents."""
        return num_entries(self.parents) * (self.variable.num_states - 1)

    def to_factor(self, max_entries: int = MAX_ENTRIES) -> Factor:
        """The table as a factor over `(*parents, variable)`."""
        return Factor(self.scope, self.values)

    def to_factors(self) -> tuple[Factor, ...]:
        """The table itself."""
        return (self.to_factor(),)

    def to_table(self, max_entries: int = MAX_ENTRIES) -> TableCPD:
        """This table."""
        return self

    def log_probability(self, columns: Columns) -> npt.NDArray[np.float64]:
        """log P(x | u) of each row of state positions."""
        index = tuple(np.asarray(columns[variable.name]) for variable in self.scope)
        probabilities: npt.NDArray[np.float64] = self.values[index]
        with np.errstate(divide="ignore"):
            return np.log(probabilities)

    # --- files and equality ---

    def to_record(self) -> dict[str, Any]:
        """The probabilities in a row, the child's state changing fastest."""
        return {"values": self.values.ravel().tolist()}

    @classmethod
    def from_record(cls, variable: Variable, parents: tuple[Variable, ...], record: Mapping[str, Any]) -> Self:
        """The inverse of `to_record`."""
        shape = [v.num_states for v in (*parents, variable)]
        return cls(variable, np.array(record["values"], dtype=np.float64).reshape(shape), parents)

    def _content(self) -> object:
        return (self._values.tobytes(), self._values.shape) if self._values is not None else self._keyed

    def __str__(self) -> str:
        return str(self.to_factor())

    def _repr_html_(self) -> str:
        return self.to_factor()._repr_html_()


def _as_array(name: str, values: Any) -> npt.NDArray[np.float64]:
    try:
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidCPD(
            f"The table of {name!r} is not a regular array of numbers; are all rows equally long?"
        ) from None
    if not array.ndim:
        raise InvalidCPD(f"The table of {name!r} needs one probability for each state, such as [0.3, 0.7].")
    return array


def _row_length(name: str, rows: Mapping[Any, Row]) -> int:
    if not rows:
        raise InvalidCPD(f"The table of {name!r} has no rows.")
    return len(next(iter(rows.values())))


def _from_rows(variable: Variable, parents: tuple[Variable, ...], rows: Mapping[Any, Row]) -> npt.NDArray[np.float64]:
    """Rows keyed by parent states as an array; every assignment to the parents must have one."""
    shape = tuple(parent.num_states for parent in parents)
    array = np.full((*shape, variable.num_states), np.nan)
    for key, row in rows.items():
        states = (key,) if len(parents) == 1 and parents[0].has_state(key) else key
        if not isinstance(states, tuple) or len(states) != len(parents):
            wanted = [parent.name for parent in parents]
            raise InvalidCPD(f"The row {key!r} of {variable.name!r} must be keyed by a state of each parent {wanted}.")
        place = tuple(parent.index(state) for parent, state in zip(parents, states, strict=True))
        array[place] = _row(variable, key, row)
    missing = np.isnan(array[..., 0])
    if missing.any():
        place = tuple(int(i) for i in np.unravel_index(int(np.argmax(missing)), shape))
        raise InvalidCPD(f"The table of {variable.name!r} has no row for {_place(parents, place)}.")
    return array


def _row(variable: Variable, key: Any, row: Row) -> npt.NDArray[np.float64]:
    if isinstance(row, Mapping):
        numbers = np.zeros(variable.num_states)
        for state, number in row.items():
            numbers[variable.index(state)] = number
        missing = [state for state in variable.states or () if state not in row]
        if missing:
            raise InvalidCPD(f"The row {key!r} of {variable.name!r} has no probability for {missing[0]!r}.")
        return numbers
    if len(row) != variable.num_states:
        raise InvalidCPD(
            f"The row {key!r} of {variable.name!r} has {len(row)} numbers; it needs {variable.num_states}, "
            f"one for each of {list(variable.states or ())}."
        )
    return _as_array(variable.name, row)


def _place(parents: Sequence[Variable] | None, row: tuple[int, ...]) -> str:
    if parents is None:
        return str(list(row))
    return ", ".join(f"{parent.name}={(parent.states or ())[i]}" for parent, i in zip(parents, row, strict=True))


def _bad_row(variable: Variable, parents: Sequence[Variable] | None, error: BadRow) -> InvalidCPD:
    where = f" for {_place(parents, error.row)}" if error.row else ""
    return InvalidCPD(f"The row of {variable.name!r}{where} {error.problem}.")


def _rounding_text(variable: Variable, parents: Sequence[Variable] | None, rounding: Rounding) -> str:
    where = f" (worst: {_place(parents, rounding.row)})" if rounding.row else ""
    rows = "1 row" if rounding.num_rows == 1 else f"{rounding.num_rows} rows"
    return f"{rows} of {variable.name!r} missed one by up to {rounding.worst:.3g}{where} and were renormalised."
