"""Tables: one row of probabilities for each assignment to the parents."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import prod
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from plausible.base import Floats, TextTable, by_label, logarithms
from plausible.cpds.base import CPD, Columns
from plausible.cpds.reading import (
    MAX_ROUNDING,
    BadRow,
    Rounding,
    Row,
    TextLines,
    VariableLike,
    check_discrete,
    check_key,
    check_row,
    checked_rows,
    heading,
    keyed_rows,
    name_of,
    normalized_rows,
    place_text,
    read_child,
    read_parents,
    read_row,
    record_field,
    row_text,
)
from plausible.errors import InvalidCPD, NotSupported
from plausible.factors import Factor
from plausible.factors.alignment import MAX_ENTRIES, num_entries, table_shape
from plausible.factors.labelled import factor_table
from plausible.variables import State, Variable


class TableCPD(CPD):
    """A conditional distribution P(X | U) as a table of probabilities.

    Parameters
    ----------
    values
        An array of probabilities with axes `(*parents, child)`; or a mapping from the parents' states (a tuple if there
        are several parents) to rows. A row is a list in the order of the child's states, or a mapping from them.
        Without parents it is one row. A pandas series or frame with labels is read as such a mapping, else by position.
    parents
        Names or `Variable` objects, in the order of the axes.
    states
        The child's states; by default those that key the rows, else 0, 1, ...

    Rows whose sum differs from 1 by at most 0.001 are renormalised; if the difference is more than 1e-9, a
    `RoundedProbabilities` warning says where and how large it is. A larger difference is an error.

    Examples
    --------
    >>> letter = TableCPD("L", parents=["G"], states=["weak", "strong"],
    ...                   values={"A": [0.1, 0.9], "B": [0.4, 0.6], "C": [0.99, 0.01]})
    >>> letter
    TableCPD(L | G)
    >>> print(letter.bind({"G": Variable("G", ["A", "B", "C"])}).row({"G": "B"}))
    L      | value
    -------+------
    weak   |   0.4
    strong |   0.6
    """

    __slots__ = ("_keyed", "_values")

    kind: ClassVar[str] = "table"
    _values: Floats | None
    _keyed: Mapping[Any, Row] | None

    def __init__(
        self,
        variable: VariableLike,
        values: npt.ArrayLike | Mapping[Any, Row | float],
        parents: VariableLike | Iterable[VariableLike] = (),
        states: Iterable[State] | int | None = None,
    ) -> None:
        name = name_of(variable)
        given = by_label(values)  # by their labels what came from pandas: a table, or the rows in a list
        given = [by_label(row) for row in given] if isinstance(given, list) else given
        if isinstance(given, Mapping):
            self._values, self._keyed = None, _plain(name, given, parents)
            self.variable = _child(variable, states, next(iter(self._keyed.values())))
        elif isinstance(given, list) and any(isinstance(row, Mapping) for row in given):
            self.variable = _child(variable, states, given[0])
            rows = [read_row(self.variable, position, row) for position, row in enumerate(given)]
            self._values, self._keyed = _as_array(name, rows), None
        else:
            self._values, self._keyed = _as_array(name, given), None
            self.variable = read_child(variable, states, self._values.shape[-1])
        self.parent_names, self._known_parents = read_parents(name, parents)
        self._settle()

    @classmethod
    def _of(cls, variable: Variable, parents: tuple[Variable, ...], values: Floats) -> TableCPD:
        """From parts that are known to fit and to be normalised."""
        cpd = object.__new__(cls)
        values.setflags(write=False)
        cpd.variable, cpd.parent_names, cpd._known_parents = variable, tuple(p.name for p in parents), parents
        cpd._values, cpd._keyed = values, None
        return cpd

    @classmethod
    def from_rows(
        cls, variable: Variable, parents: tuple[Variable, ...], values: Floats
    ) -> tuple[TableCPD, Rounding | None]:
        """A table and what was rounded in it, without a warning: for readers of files, which warn once a file."""
        try:
            rows, rounding = checked_rows(values)
        except BadRow as error:
            where = f" for {place_text(parents, error.row)}" if error.row else ""
            raise InvalidCPD(f"The row of {variable.name!r}{where} {error.problem}.") from None
        return cls._of(variable, parents, rows), rounding

    @classmethod
    def uniform(cls, variable: Variable, parents: Variable | Iterable[Variable] = ()) -> TableCPD:
        """The table in which every state is equally likely."""
        given = (parents,) if isinstance(parents, (str, Variable)) else tuple(parents)
        for named in (variable, *given):
            if not isinstance(named, Variable):
                raise InvalidCPD(f"A uniform table needs to know states: give Variable({named!r}, [...]), not a name.")
        read_parents(variable.name, given)
        check_discrete(variable, (*given, variable), "A table")
        shape = [v.num_states for v in (*given, variable)]
        return cls._of(variable, given, np.full(shape, 1.0 / variable.num_states))

    def _settle(self) -> None:
        """Turn keyed rows into an array, check the shape as far as it is known, and check the rows."""
        check_discrete(self.variable, self._known_parents, "A table")
        if self._keyed is not None:
            if not self.is_bound:
                self._check_keyed(self._keyed)
                return
            self._values, self._keyed = keyed_rows(self.variable, self.parents, self._keyed), None
        array = self.values
        shape = self._shape()
        if len(array.shape) != len(shape) or any(
            want not in (None, got) for want, got in zip(shape, array.shape, strict=True)
        ):
            raise InvalidCPD(self._shape_problem(array))
        try:
            self._values = normalized_rows(self.variable, array, lambda row: place_text(self._known_parents, row))
        except InvalidCPD as error:
            raise InvalidCPD(f"{error}{self._layout_hint(array)}") from None

    def _check_keyed(self, rows: Mapping[Any, Row]) -> None:
        """What can be said about keyed rows before the states of the parents are known."""
        for key, row in rows.items():
            if len(self.parent_names) > 1:
                check_key(self.variable, key, key, self.parent_names)
            check_row(self.variable, key, row)

    def _shape(self) -> tuple[int | None, ...]:
        known = (None if parent is None else parent.num_states for parent in self._known_parents)
        return (*known, self.variable.num_states)

    def _shape_problem(self, array: Floats) -> str:
        axes = ", ".join((*self.parent_names, self.variable.name))
        sizes = ["?" if size is None else str(size) for size in self._shape()]
        wanted = f"({', '.join(sizes)}{',' if len(sizes) == 1 else ''})"
        hint = self._layout_hint(array) or self._states_hint(array)
        return (
            f"The table of {self.variable.name!r} has axes ({axes}) and needs shape {wanted}, not {array.shape}.{hint}"
        )

    def _layout_hint(self, array: Floats) -> str:
        """Advice where the columns sum to one: the child's states run down, as in some other libraries."""
        if not self._would_fit_transposed(array) or not np.allclose(array.sum(axis=0), 1.0, rtol=0, atol=MAX_ROUNDING):
            return ""
        advice = "give a plain list of probabilities"
        if self.parent_names:
            sizes = ", ".join(f"states of {name}" for name in (*self.parent_names, self.variable.name))
            advice = "transpose it: values.T" + (f".reshape({sizes})" if len(self.parent_names) > 1 else "")
        return f" Its columns sum to one, but the child's states run along the last axis, not the first: {advice}."

    def _states_hint(self, array: Floats) -> str:
        """Advice where there is a parent's name for each state of the child: its states, given as parents."""
        names = list(self.parent_names)
        if len(names) != array.shape[-1] or any(parent is not None for parent in self._known_parents):
            return ""
        states = list(self.variable.states)
        if states == list(range(len(names))):
            return f" If {names} are the states of {self.variable.name!r}, write states={names}."
        if len(states) == array.ndim - 1:
            return f" Did you mean parents={states}, states={names}?"
        return ""

    def _would_fit_transposed(self, array: Floats) -> bool:
        """Whether a matrix has a row for each state of the child, and a column for each assignment to the parents."""
        if array.ndim != 2:
            return False
        num_rows, num_columns = array.shape
        known = prod(parent.num_states for parent in self._known_parents if parent is not None)
        has_columns = num_columns == known if self.is_bound else num_columns % known == 0
        is_guessed = self.variable.states == tuple(range(num_columns))  # by the length of the last axis
        return has_columns and (num_rows == self.variable.num_states or is_guessed)

    @property
    def values(self) -> Floats:
        """The probabilities, read-only; axes `(*parents, child)`."""
        if self._values is None:
            raise NotSupported(
                f"The rows of {self.variable.name!r} are keyed by states of parents known by name only. "
                "Put the CPD into a network, or give Variable objects as parents."
            )
        return self._values

    @property
    def is_deterministic(self) -> bool:
        """Whether every entry is zero or one."""
        return bool(np.all((self.values == 0) | (self.values == 1)))

    @property
    def num_parameters(self) -> int:
        """(states - 1) for each assignment to the parents."""
        return num_entries(self.parents) * (self.variable.num_states - 1)

    def to_factor(self, max_entries: int = MAX_ENTRIES) -> Factor:
        """The table as a factor over `(*parents, variable)`."""
        scope = self.scope
        return Factor.trusted(scope, self.values.reshape(table_shape(scope)))

    def to_factors(self) -> tuple[Factor, ...]:
        """The table itself."""
        return (self.to_factor(),)

    def to_table(self, max_entries: int = MAX_ENTRIES) -> TableCPD:
        """This table."""
        return self

    def log_probability(self, columns: Columns) -> Floats:
        """log P(x | u) of each row of state positions."""
        return logarithms(self.values[tuple(self._column(columns, variable) for variable in self.scope)])

    def distribution(self, columns: Columns) -> Floats:
        """The row of each row of parents: shape `(*rows, states)`."""
        return np.asarray(self.values[tuple(self._column(columns, parent) for parent in self.parents)])

    def quantile(self, columns: Columns, levels: Floats) -> npt.NDArray[Any]:
        """As of every distribution; thresholds are made for each row of the table, not of the columns."""
        sums = np.cumsum(self.values, axis=-1).reshape(-1, self.variable.num_states)
        thresholds = (sums[:, :-1] / sums[:, -1:]).T
        place: Any = np.intp(0)
        for parent in self.parents:
            place = place * parent.num_states + self._column(columns, parent)
        found = np.zeros(np.broadcast_shapes(np.shape(place), np.shape(levels)), np.min_scalar_type(-len(sums.T)))
        for threshold in thresholds:
            found += levels >= threshold[place]
        return found

    def to_record(self) -> dict[str, Any]:
        """The probabilities in a row, the child's state changing fastest."""
        return {"values": self.values.ravel().tolist()}

    def over(self, variable: Variable, parents: tuple[Variable, ...]) -> TableCPD:
        """The same table over other variables, with as many states each in the same order."""
        return TableCPD._of(variable, parents, self.values)

    @classmethod
    def from_record(cls, variable: Variable, parents: tuple[Variable, ...], record: Mapping[str, Any]) -> Self:
        check_discrete(variable, parents, "A table")
        shape = [v.num_states for v in (*parents, variable)]
        flat = _as_array(variable.name, record_field(variable, record, "values"))
        if flat.shape != (prod(shape),):
            raise InvalidCPD(f"The record of {variable.name!r} needs {prod(shape)} numbers in a row: shape {shape}.")
        return cls(variable, flat.reshape(shape), parents)

    def _content(self) -> object:
        # Adding zero makes -0.0 and 0.0 the same bytes.
        return ((self._values + 0.0).tobytes(), self._values.shape) if self._values is not None else self._keyed

    def _shown(self) -> TextTable | TextLines:
        if self._keyed is not None:
            rows = ((key, read_row(self.variable, key, row)) for key, row in self._keyed.items())
            lines = [f"{key}: {row_text(row)}" for key, row in rows]
            return TextLines(heading(self.variable, self.parent_names), lines, "rows")
        parents = (
            parent or Variable(name, [f"[{position}]" for position in range(size)])
            for name, parent, size in zip(self.parent_names, self._known_parents, self.values.shape, strict=False)
        )
        return factor_table((*parents, self.variable), self.values.reshape(-1), None)


def _as_array(name: str, values: Any) -> Floats:
    try:
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        listed = list(values) if isinstance(values, Iterable) and not isinstance(values, str) else []
        if listed and all(isinstance(value, str) for value in listed):
            raise InvalidCPD(
                f"The table of {name!r} needs a probability for each state, not {listed}. If these are the states, "
                f"write TableCPD({name!r}, probabilities, states={listed})."
            ) from None
        raise InvalidCPD(
            f"The table of {name!r} is not a regular array of numbers; are all rows equally long?"
        ) from None
    if not array.ndim:
        raise InvalidCPD(
            f"The table of {name!r} needs one probability for each state, such as [0.3, 0.7], not {values!r}. "
            "The arguments are TableCPD(variable, values, parents, states)."
        )
    return array


def _child(variable: VariableLike, states: Iterable[State] | int | None, row: Row) -> Variable:
    """The child; its states are those that key a row unless they are known or numbers 0, 1, ..."""
    is_known = states is not None or isinstance(variable, Variable) or not isinstance(row, Mapping)
    if is_known or set(row) == set(range(len(row))):
        return read_child(variable, states, len(row))
    return read_child(variable, tuple(row))


def _plain(name: str, rows: Mapping[Any, Any], parents: Any) -> dict[Any, Row]:
    """A copy of keyed rows that compares by content."""
    if not rows:
        raise InvalidCPD(f"The table of {name!r} has no rows.")
    rows = {key: by_label(row) for key, row in rows.items()}
    if isinstance(parents, (tuple, list)) and not parents and () not in rows:
        if any(hasattr(row, "__len__") for row in rows.values()):
            raise InvalidCPD(
                f"The rows of {name!r} are keyed by states of parents, of which it has none. Name them: parents=[...]. "
                "Without parents it is one row: values={'no': 0.3, 'yes': 0.7}."
            )
        return {(): rows}
    for key, row in rows.items():
        if not hasattr(row, "__len__") or isinstance(row, str):
            raise InvalidCPD(f"The row {key!r} of {name!r} is no list of numbers, one for each state: {row!r}.")
    return {key: dict(row) if isinstance(row, Mapping) else tuple(row) for key, row in rows.items()}
