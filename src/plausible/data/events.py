"""Events of data: how often something that is true or false of a row is true."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from plausible.data.table import Table, TableLike
from plausible.data.table_statistics import TableStatistics
from plausible.errors import InvalidArgument, UnknownVariable
from plausible.factors import Factor
from plausible.variables import State

Mask: TypeAlias = NDArray[np.bool_]


class DataEvent(ABC):
    """What is true or false of each row; made by `where`, and joined by & (and), | (or) and ~ (not)."""

    __slots__ = ()

    @abstractmethod
    def holds(self, table: Table) -> Mask:
        """Whether it is true, for each row."""

    def __and__(self, other: DataEvent) -> DataEvent:
        return _Joined(np.logical_and, (self, other)) if isinstance(other, DataEvent) else NotImplemented

    def __or__(self, other: DataEvent) -> DataEvent:
        return _Joined(np.logical_or, (self, other)) if isinstance(other, DataEvent) else NotImplemented

    def __invert__(self) -> DataEvent:
        return _Joined(np.logical_not, (self,))

    def __bool__(self) -> bool:
        """Refused: `and`, `or` and `not` can't join events."""
        raise InvalidArgument("Join events with & | ~ and brackets, not with and, or, not.")


#: An event, a mapping from names to states (all of them hold), or a function of the columns by name: for each row
#: whether it is true.
EventLike: TypeAlias = "DataEvent | Mapping[str, Any] | Callable[[Mapping[str, NDArray[Any]]], Any]"


@final
@dataclass(frozen=True, slots=True)
class _Where(DataEvent):
    states: tuple[tuple[str, Any], ...]

    def holds(self, table: Table) -> Mask:
        answer = np.ones(table.num_rows, dtype=np.bool_)
        for name, value in self.states:
            answer &= _in_states(table, name, value)
        return answer


@final
@dataclass(frozen=True, slots=True)
class _Joined(DataEvent):
    operation: Callable[..., Any]
    events: tuple[DataEvent, ...]

    def holds(self, table: Table) -> Mask:
        return np.asarray(self.operation(*(event.holds(table) for event in self.events)))


def where(states: Mapping[str, Any] | None = None, /, **more: Any) -> DataEvent:
    """The event that variables are in these states, all of them; without any, the event that is always true.

    Parameters
    ----------
    states
        Name -> state, a collection of states ("one of"), or a number of a continuous variable; for names that are no
        Python names.
    more
        The same by keywords.

    Examples
    --------
    >>> rows = {"rain": ["no", "yes", "no"], "grass": ["dry", "wet", "wet"]}
    >>> event_count(rows, where(rain="yes") | ~where(grass="wet"))
    2.0
    """
    return _Where(tuple({**(states or {}), **more}.items()))


def event_count(data: TableLike, event: EventLike) -> float:
    """D#(α): how many rows an event is true of, or how much these weigh.

    Parameters
    ----------
    data
        A table, or what `Table.read` takes; complete in the columns that the event looks at.
    event
        An event of `where`, a mapping from names to states, or a function of columns by name (a mapping from names to
        arrays of states and numbers) that gives True or False for each row.

    Examples
    --------
    >>> rows = {"rain": ["no", "yes", "no"], "age": [30.5, 41.0, 55.2]}
    >>> event_count(rows, {"rain": "no"}), event_count(rows, lambda row: row["age"] > 40)
    (2.0, 2.0)
    """
    table = Table.read(data)
    holds = _mask(table, event)
    return float(holds.sum() if table.weights is None else table.weights[holds].sum())


def event_probability(data: TableLike, event: EventLike, given: EventLike | None = None) -> float:
    """P_D(α | β) = D#(α and β) / D#(β), the empirical probability; NaN where β, what is `given`, never holds.

    Data and events are as for `event_count`.
    """
    table = Table.read(data)
    weights = table.row_weights
    base = np.ones(table.num_rows, dtype=np.bool_) if given is None else _mask(table, given)
    total = float(weights[base].sum())
    return float(weights[base & _mask(table, event)].sum()) / total if total else float("nan")


def empirical_distribution(data: TableLike, names: Iterable[str] | None = None) -> Factor:
    """P_D: the share of each joint state of some variables, or of all; what never occurs is zero.

    >>> print(empirical_distribution({"rain": ["no", "yes", "no", "no"]}))
    rain | value
    -----+------
    no   |  0.75
    yes  |  0.25
    """
    statistics = TableStatistics(data)
    listed = list(statistics.table.variables if names is None else names)
    if not listed:
        return Factor.scalar(1.0)
    if not statistics.total:
        raise InvalidArgument("There are no rows, and so no empirical distribution.")
    table = statistics.table
    passive = statistics  # rows count even where a variable was set from outside
    if table.interventions:
        passive = TableStatistics(Table(table.variables, table.codes, table.numbers, table.weights))
    counts = passive.counts(listed[-1], listed[:-1])
    return Factor([table.variables[name] for name in listed], counts / statistics.total)


def _mask(table: Table, event: EventLike) -> Mask:
    if isinstance(event, Mapping):
        event = where(event)
    if isinstance(event, DataEvent):
        return event.holds(table)
    if not callable(event):
        raise InvalidArgument(f"An event is where(rain='yes'), a mapping, or a function of columns, not {event!r}.")
    answer = np.asarray(event(_Columns(table)))
    if answer.dtype != np.bool_ or answer.shape != (table.num_rows,):
        raise InvalidArgument(
            f"The function gave {answer.dtype} of the shape {answer.shape}; an event is True or False for each of the "
            f"{table.num_rows} rows."
        )
    return answer


def _in_states(table: Table, name: str, value: Any) -> Mask:
    """Whether a variable is in a state, or in one of several."""
    column = _column(table, name)
    variable = table.variables[name]
    is_one = variable.has_state(value) or isinstance(value, str) or not isinstance(value, Collection)
    listed: Collection[State] = (value,) if is_one else value
    if not variable.is_continuous:
        return np.asarray(np.isin(column, [variable.index(state) for state in listed]))
    numbers = []
    for number in listed:
        try:
            numbers.append(float(number))  # type: ignore[arg-type]
        except (TypeError, ValueError):
            raise InvalidArgument(
                f"{name!r} is continuous, and {number!r} is no number: an event has a number of it, or several."
            ) from None
    return np.asarray(np.isin(column, numbers))


def _column(table: Table, name: str) -> NDArray[Any]:
    """Positions of states, or numbers, which must all be there."""
    if name not in table.variables:
        raise UnknownVariable.named(name, table.variables, "this data")
    is_number, column = table.variables[name].is_continuous, table.column(name)
    if bool(np.isnan(column).any() if is_number else (column < 0).any()):
        raise InvalidArgument(
            f"{name!r} is missing in {table.missing[name]} of {table.num_rows} rows, of which the event may be true "
            "or not. Leave them out with take()."
        )
    return column


class _Columns(Mapping[str, NDArray[Any]]):
    """Columns of states and numbers, decoded when they are asked for."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def __getitem__(self, name: str) -> NDArray[Any]:
        column = _column(self._table, name)
        variable = self._table.variables[name]
        if variable.is_continuous:
            return column
        kinds = {type(state) for state in variable.states}
        if len(kinds) == 1 and kinds <= {str, bool, int, float}:
            return np.asarray(np.array(variable.states)[column])
        states = np.empty(variable.num_states, dtype=object)
        states[:] = variable.states
        return np.asarray(states[column])

    def __iter__(self) -> Iterator[str]:
        return iter(self._table.variables)

    def __len__(self) -> int:
        return len(self._table.variables)
