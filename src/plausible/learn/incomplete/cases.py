"""The different rows of an incomplete table, and how much each weighs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from plausible.base import Codes, Flags, Floats, Ints, Positions
from plausible.data.sources import open_columns
from plausible.data.table import Table, TableLike
from plausible.errors import InvalidArgument, NotSupported, counted
from plausible.variables import Evidence, Variable

#: How much of a variable is in the data: all of its cells, some, or none.
Visibility: TypeAlias = Literal["observed", "partly", "hidden"]

#: Numbers that stand for several cells have no more values.
_LARGEST_WORD = 2**62

Answer = TypeVar("Answer")
Made = TypeVar("Made")


class IncompleteRows(ABC):
    """What EM asks of rows with missing cells, wherever they are: all at once in `Cases`, or in pieces."""

    variables: Mapping[str, Variable]  # Name -> discrete variable
    continuous: Mapping[str, Variable]  # Name -> continuous variable

    @property
    @abstractmethod
    def total(self) -> float:
        """How much all rows weigh."""

    @property
    @abstractmethod
    def visibility(self) -> Mapping[str, Visibility]:
        """Name -> "observed" in all cases, "partly", or "hidden" in all."""

    @abstractmethod
    def summed(self, work: Callable[[Cases], Answer], add: Callable[[Answer, Answer], Answer]) -> Answer:
        """What some work gives for the cases, in one pass; answers for several stretches of them are added in order."""

    @abstractmethod
    def in_memory(self, method: str) -> Cases:
        """All cases at once, for a method that can't do without; refused where they are in pieces."""

    @abstractmethod
    def completed_by(self, make: Callable[[Cases], Made]) -> Made:
        """The E-step of all rows, made of one that completes some cases."""

    @property
    def hidden(self) -> list[str]:
        """The variables that no case observes."""
        return [name for name, kind in self.visibility.items() if kind == "hidden"]


@dataclass(frozen=True, eq=False)
class Cases(IncompleteRows):
    """The different rows of a table over some variables; made by `Cases.of`.

    Rows that weigh nothing are left out. Rows in which other variables were set from outside are different cases.

    >>> cases = Cases.of([Variable("rain", 2), Variable("mood", 2)], {"rain": [0, 1, 0, None]})
    >>> cases.codes.tolist(), cases.weights.tolist(), cases.case_of_row.tolist()
    ([[-1, -1], [0, -1], [1, -1]], [1.0, 2.0, 1.0], [1, 2, 1, 0])
    >>> cases.visibility
    {'rain': 'partly', 'mood': 'hidden'}
    """

    variables: Mapping[str, Variable]  # Name -> discrete variable; the columns of `codes` in order
    codes: Codes  # A row for each case: positions of states, -1 where missing
    weights: Floats  # How much the rows of each case weigh together
    case_of_row: Ints  # The case of each row of the table; -1 for a row that weighs nothing
    settings: Ints  # For each case which of `setting_names` it has: the place of the set of variables set from outside
    #: The sets of variables that were set from outside, each in the order of the variables; the first one is empty.
    setting_names: tuple[tuple[str, ...], ...]
    #: Name -> continuous variable; the columns of `numbers` in order.
    continuous: Mapping[str, Variable] = field(default_factory=dict)
    #: A row for each case, NaN where missing. Where variables are continuous every row is a case of its own.
    numbers: Floats = field(default_factory=lambda: np.zeros((0, 0)))
    start: int = 0  # Where the table begins among all rows, of which it may be a stretch
    _ready: list[tuple[object, Any]] = field(default_factory=list, init=False, repr=False)

    @classmethod
    def of(
        cls,
        variables: Mapping[str, Variable] | Any,
        data: TableLike | Cases,
        weights: Iterable[float] | None = None,
        *,
        has_numbers: bool = False,
        start: int = 0,
    ) -> Cases:
        """Encode data over given variables; those without a column are hidden, columns of others are not looked at.

        Cases over the same variables are returned as they are. Continuous variables are refused without `has_numbers`.
        The table may be a stretch of rows that begins at `start`.
        """
        known = dict(variables) if isinstance(variables, Mapping) else {v.name: v for v in variables}
        discrete = {name: variable for name, variable in known.items() if not variable.is_continuous}
        continuous = {name: variable for name, variable in known.items() if variable.is_continuous}
        if continuous and not has_numbers:
            name = next(iter(continuous))
            raise NotSupported(
                f"{name!r} is continuous: expected counts are those of discrete variables. Discretise it."
            )
        if isinstance(data, Cases):
            if [*data.variables.values(), *data.continuous.values()] != [*discrete.values(), *continuous.values()]:
                raise InvalidArgument(
                    "These cases are of other variables, or in another order. Make them anew: Cases.of."
                )
            return data
        if isinstance(data, Table):
            table = Table.read(data, [variable for name, variable in known.items() if name in data.variables])
        else:
            read = open_columns(data, known).read(known)
            table = Table.read(read, [known[name] for name in read])
        table = table if weights is None else table.weighted(list(weights))
        none: tuple[NDArray[Any], ...] = (np.full(table.num_rows, -1, dtype=np.int8), np.full(table.num_rows, np.nan))
        there: dict[str, NDArray[Any]] = dict(zip(table.discrete, table.codes, strict=True))
        there |= dict(zip(table.continuous, table.numbers, strict=True))
        columns = {name: there.get(name, none[variable.is_continuous]) for name, variable in known.items()}
        return _distinct(discrete, continuous, columns, table, start)

    @property
    def num_cases(self) -> int:
        """How many different cases there are."""
        return len(self.weights)

    @property
    def total(self) -> float:
        """How much all rows weigh."""
        return float(self.weights.sum())

    @cached_property
    def visibility(self) -> dict[str, Visibility]:
        """Name -> "observed" in all cases, "partly", or "hidden" in all."""
        seen = [*(self.codes >= 0).sum(axis=0).tolist(), *(~np.isnan(self.numbers)).sum(axis=0).tolist()]
        return {
            name: "hidden" if not count else "observed" if count == self.num_cases else "partly"
            for name, count in zip((*self.variables, *self.continuous), seen, strict=True)
        }

    def summed(self, work: Callable[[Cases], Answer], add: Callable[[Answer, Answer], Answer]) -> Answer:
        """What the work gives for all cases."""
        return work(self)

    def in_memory(self, method: str) -> Cases:
        """They are."""
        return self

    def completed_by(self, make: Callable[[Cases], Made]) -> Made:
        """That of the cases."""
        return make(self)

    def ready(self, make: Callable[[Cases], Made]) -> Made:
        """What is made of the cases, which is kept until something else is made of them."""
        if not self._ready or self._ready[0][0] is not make:
            self._ready[:] = [(make, make(self))]
        made: Made = self._ready[0][1]
        return made

    def forget(self) -> None:
        """Let go of what was made of the cases, which refers to them in turn."""
        self._ready.clear()

    @property
    def is_complete(self) -> bool:
        """Whether no cell is missing."""
        return bool((self.codes >= 0).all()) and not bool(np.isnan(self.numbers).any())

    @cached_property
    def num_completions(self) -> float:
        """How many complete rows agree with the cases, all together, missing numbers aside."""
        sizes = np.array([variable.num_states for variable in self.variables.values()], dtype=np.float64)
        return float(np.where(self.codes < 0, sizes, 1.0).prod(axis=1).sum())

    def findings(self, case: int) -> dict[str, Any]:
        """Name -> observed state, or number, of one case."""
        cells = zip(self.variables.values(), self.codes[case].tolist(), strict=True)
        found: dict[str, Any] = {variable.name: variable.states[code] for variable, code in cells if code >= 0}
        numbers = zip(self.continuous, self.numbers[case].tolist(), strict=True)
        return found | {name: number for name, number in numbers if not np.isnan(number)}

    def first_row(self, case: int) -> int:
        """The first row that has the case."""
        return self.start + int(self._first_rows[case])

    @cached_property
    def _first_rows(self) -> Ints:
        first = np.full(self.num_cases, len(self.case_of_row), dtype=np.int64)
        counted = np.flatnonzero(self.case_of_row >= 0)
        np.minimum.at(first, self.case_of_row[counted], counted)
        return first

    def groups(self) -> list[tuple[tuple[str, ...], Positions]]:
        """The variables that were set from outside, and the cases in which these were; groups without cases too."""
        return [(names, np.flatnonzero(self.settings == place)) for place, names in enumerate(self.setting_names)]

    def codes_of(self, places: Positions) -> Codes:
        """The codes of different cases, in order; no copy is made of all."""
        return self.codes if len(places) == self.num_cases else self.codes[places]

    def is_set(self, name: str) -> Flags:
        """For each case whether a variable was set from outside."""
        return np.asarray(np.array([name in names for names in self.setting_names])[self.settings])

    def evidence(self, case: int) -> Evidence:
        """The observed states of one case."""
        codes = dict(zip(self.variables, self.codes[case].tolist(), strict=True))
        return Evidence({name: code for name, code in codes.items() if code >= 0}, {}, {})

    def some(self, places: Positions) -> Cases:
        """Some of the cases alone, all of whose variables are discrete."""
        new = np.full(self.num_cases + 1, -1, dtype=np.int64)  # the last for rows that weigh nothing
        new[places] = np.arange(len(places))
        return replace(
            self,
            codes=np.ascontiguousarray(self.codes[places]),
            weights=self.weights[places],
            settings=self.settings[places],
            case_of_row=new[self.case_of_row],
        )

    def __repr__(self) -> str:
        rows = counted(len(self.case_of_row), "row")
        size = counted(len(self.variables) + len(self.continuous), "variable")
        return f"<Cases: {self.num_cases} different of {rows}, {size}>"


def _distinct(
    discrete: Mapping[str, Variable],
    continuous: Mapping[str, Variable],
    columns: Mapping[str, NDArray[Any]],
    table: Table,
    start: int,
) -> Cases:
    """The different rows of the columns; where there are numbers, all that weigh something.

    Column by column: all cells are there twice, in the table and in the cases, and at no time more often.
    """
    weights, masks = table.row_weights, {}
    for name in (*discrete, *continuous):
        if name not in table.interventions:
            continue
        masks[name] = table.interventions[name]
        lost = masks[name] & (np.isnan(columns[name]) if name in continuous else columns[name] < 0)
        if lost.any():
            raise InvalidArgument(
                f"{name!r} was set from outside in row {start + int(np.argmax(lost))}, but its value there is missing. "
                "Fill it in, or leave the row out."
            )
    is_set = np.column_stack([np.zeros((table.num_rows, 0), dtype=np.bool_), *masks.values()])
    none = np.zeros((1, len(masks)), dtype=np.bool_)
    sets, setting_of_row = np.unique(np.vstack([none, is_set]), axis=0, return_inverse=True)
    counted = np.flatnonzero(weights > 0)
    setting = setting_of_row.ravel()[1:].astype(np.int64)
    first, case = counted, np.arange(len(counted))
    if not continuous:
        order, case = _equal_rows([setting[counted], *(columns[name][counted] for name in discrete)])
        first = counted[order]
    case_of_row = np.full(table.num_rows, -1, dtype=np.int64)
    case_of_row[counted] = case
    codes = np.empty((len(first), len(discrete)), dtype=np.int32)
    for place, name in enumerate(discrete):
        codes[:, place] = columns[name][first]
    cases = Cases(
        discrete,
        codes,
        np.bincount(case, weights[counted], len(first)).astype(np.float64),
        case_of_row,
        setting[first],
        tuple(tuple(name for name, flag in zip(masks, row, strict=True) if flag) for row in sets.tolist()),
        continuous,
        np.ascontiguousarray(
            np.column_stack([np.zeros((len(first), 0)), *(columns[name][first] for name in continuous)])
        ),
        start,
    )
    for array in (cases.codes, cases.numbers, cases.weights, cases.case_of_row, cases.settings):
        array.setflags(write=False)
    return cases


def distinct_rows(rows: Codes) -> tuple[Codes, Ints]:
    """The different rows, sorted, and which of them each row is."""
    if not len(rows):
        return rows, np.zeros(0, dtype=np.int64)
    first, case = _equal_rows([np.zeros(len(rows), dtype=np.int8), *rows.T])
    return rows[first], case


def _equal_rows(columns: Sequence[NDArray[Any]]) -> tuple[Positions, Ints]:
    """Of rows that are given by their columns, one at least: one of each kind, in order, and the kind of each row."""
    num_rows = len(columns[0])
    words = _words([column for column in columns if num_rows])
    order = np.lexsort(words[::-1])
    is_new = np.zeros(num_rows, dtype=np.bool_)
    is_new[:1] = True
    for word in words:
        ordered = word[order]
        is_new[1:] |= ordered[1:] != ordered[:-1]
    case = np.empty(num_rows, dtype=np.int64)
    case[order] = np.cumsum(is_new) - 1
    return order[is_new], case


def _words(columns: Sequence[NDArray[Any]]) -> list[Ints]:
    """Numbers that order rows as their cells do: as few as hold all of them, as numbers of mixed radix."""
    num_rows = len(columns[0]) if columns else 0
    words, room = [np.zeros(num_rows, dtype=np.int64)], _LARGEST_WORD
    for column in columns:
        least = int(column.min())
        size = int(column.max()) - least + 1
        if size > room:
            words.append(np.zeros(num_rows, dtype=np.int64))
            room = _LARGEST_WORD
        words[-1] *= size
        words[-1] += column
        words[-1] -= least
        room //= size
    return words


def completions_of(codes: Codes, num_states: Sequence[int]) -> tuple[Ints, Codes]:
    """The row of each completion of rows in which -1 is missing, and its codes; the rows in order."""
    sizes, missing = np.array(num_states, dtype=np.int64), codes < 0
    numbers = np.where(missing, sizes, 1).prod(axis=1)
    row = np.repeat(np.arange(len(codes)), numbers)
    completed = codes[row]
    rest = np.arange(len(row)) - np.repeat(np.cumsum(numbers) - numbers, numbers)  # which completion of its row
    for column in range(len(sizes) - 1, -1, -1):
        free = missing[row, column]
        completed[free, column] = rest[free] % sizes[column]
        rest[free] //= sizes[column]
    return row, completed
