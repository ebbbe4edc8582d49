"""Tables of numbers with named axes: what is there, and how it is shown to people and to other libraries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from plausible.base import FACTOR_HINTS, WRITTEN_ROUNDING, HintedNames, QueryInfo, TextTable, format_number, num_shown
from plausible.errors import InvalidFactor, NotSupported, UnknownVariable
from plausible.factors import conversions
from plausible.factors.alignment import Scope, Table, assignment_at, scope_text
from plausible.variables import Assignment, State, Variable

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr


#: The axes that a NumPy array can have.
MAX_AXES = 64


class LabelledTable(HintedNames):
    """Numbers for all assignments to a scope: the part of `Factor` that only looks at them.

    The table is kept without the axes of one-state variables; see `plausible.factors.alignment`.
    """

    __slots__ = ("_info", "_scope", "_table")

    _hints = FACTOR_HINTS

    _scope: Scope
    _table: Table
    _info: QueryInfo | None

    __iter__ = None  # nobody goes through states by number

    @property
    def scope(self) -> Scope:
        """The variables, in axis order."""
        return self._scope

    @property
    def info(self) -> QueryInfo | Any:
        """How the numbers were computed, if they answer a query; else None.

        For type checkers always the record, which every answer has.
        """
        return self._info

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the variables, in axis order."""
        return tuple(variable.name for variable in self._scope)

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of states of each variable."""
        return tuple(variable.num_states for variable in self._scope)

    @property
    def size(self) -> int:
        """The number of entries."""
        return int(self._table.size)

    @property
    def values(self) -> Table:
        """The numbers, read-only; axis i runs over the states of `scope[i]`."""
        if len(self._scope) > MAX_AXES:
            raise NotSupported(
                f"NumPy arrays have at most {MAX_AXES} axes; this factor has {len(self._scope)} variables: use .flat."
            )
        return self._table.reshape(self.shape)

    @property
    def flat(self) -> Table:
        """The numbers as a flat read-only array, the last variable's state changing fastest."""
        return self._table.reshape(-1)

    def variable(self, name: str) -> Variable:
        """The variable of that name."""
        for variable in self._scope:
            if variable.name == name:
                return variable
        raise UnknownVariable.named(name, self.names, "this factor")

    def __getitem__(self, key: Mapping[str, State] | State | tuple[State, ...]) -> float:
        """The number at an assignment: a mapping (other names are ignored), or states in scope order.

        >>> from plausible import Factor
        >>> prior = Factor({"coin": ["heads", "tails"]}, [0.25, 0.75])
        >>> prior["tails"], prior[{"coin": "heads", "weather": "fine"}]
        (0.75, 0.25)
        """
        return float(self._table[self._position(key)])

    def _position(self, key: Any) -> tuple[int, ...]:
        if isinstance(key, Mapping):
            missing = [name for name in self.names if name not in key]
            if missing:
                raise InvalidFactor(f"The assignment leaves {missing[0]!r} open; use reduce() for a slice.")
            states = [key[name] for name in self.names]
        else:
            single = len(self._scope) == 1 and self._scope[0].has_state(key)
            states = [key] if single or not isinstance(key, tuple) else list(key)
            if len(states) != len(self._scope):
                raise InvalidFactor(
                    f"{key!r} does not give a state of each of {scope_text(self._scope)}; "
                    "for a slice use reduce() with a mapping from names to states."
                )
        positions = [variable.index(state) for variable, state in zip(self._scope, states, strict=True)]
        return tuple(p for p, variable in zip(positions, self._scope, strict=True) if variable.num_states > 1)

    def sum(self) -> float:
        """The sum of all entries: the partition function of a Gibbs factor."""
        return float(self._table.sum())

    def max(self) -> float:
        """The largest entry."""
        return float(self._table.max())

    def min(self) -> float:
        """The smallest entry."""
        return float(self._table.min())

    def argmax(self) -> Assignment:
        """The first assignment, in row-major order, with the largest entry."""
        return assignment_at(self._scope, int(self._table.argmax()))

    def argmin(self) -> Assignment:
        """The first assignment, in row-major order, with the smallest entry."""
        return assignment_at(self._scope, int(self._table.argmin()))

    def is_distribution(self, tolerance: float = WRITTEN_ROUNDING) -> bool:
        """Whether all entries are non-negative and sum to one."""
        return self.min() >= 0 and abs(self.sum() - 1) <= tolerance

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LabelledTable):
            return NotImplemented
        return self._scope == other._scope and np.array_equal(self._table, other._table)

    def __hash__(self) -> int:
        return hash((self._scope, (self._table + 0.0).tobytes()))  # -0.0 equals 0.0

    def __str__(self) -> str:
        return str(self.to_table())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return self.to_table().to_html()

    def to_table(self, max_rows: int | None = None) -> TextTable:
        """Format the entries as a text table: one row for each assignment of all variables but the last.

        Shows at most `max_rows` rows; by default all of up to 60 rows, or the first 20 if there are more.
        """
        return factor_table(self._scope, self.flat, max_rows)

    def to_dict(self) -> dict[Any, float]:
        """Convert to a mapping from tuples of states (single states if there is one variable) to numbers."""
        return conversions.to_dict(self._scope, self.flat)

    def to_series(self) -> pd.Series[float]:
        """Convert to a pandas series indexed by states."""
        return conversions.to_series(self._scope, self.flat)

    def to_frame(self, value: str = "value") -> pd.DataFrame:
        """Convert to a pandas data frame with a column for each variable and one for the number."""
        return conversions.to_frame(self._scope, self.flat, value)

    def to_xarray(self) -> xr.DataArray:
        """Convert to an xarray array with the variables as dimensions and the states as coordinates."""
        return conversions.to_xarray(self._scope, self.values)


def factor_table(scope: Scope, flat: Table, max_rows: int | None) -> TextTable:
    """One column where there is one variable; else the last variable's states side by side."""
    if not scope:
        return TextTable(("value",), ((format_number(float(flat[0])),),), 0)
    *labels, last = scope
    if not labels:
        shown = last.states[: num_shown(last.num_states, max_rows)]
        pairs = tuple((str(state), format_number(float(flat[i]))) for i, state in enumerate(shown))
        return TextTable((last.name, "value"), pairs, 1, last.num_states - len(shown))
    table = flat.reshape(-1, last.num_states)
    header = (*(variable.name for variable in labels), *(f"{last.name}={state}" for state in last.states))
    rows = tuple(
        (
            *map(str, assignment_at(tuple(labels), row).values()),
            *(format_number(float(number)) for number in table[row]),
        )
        for row in range(num_shown(len(table), max_rows))
    )
    return TextTable(header, rows, len(labels), len(table) - len(rows))
