"""Rows in time: one row a step, in one sequence or several, on flat arrays; and answers back in the rows' own order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from plausible.base.arrays import Floats, Ints, Positions
from plausible.base.records import shown
from plausible.base.remedies import Argument
from plausible.data.column_types import categories_of
from plausible.data.columns import equally_long, refuse_others
from plausible.data.sources import columns_of
from plausible.data.table import Table, TableLike, state_columns
from plausible.data.times import GAPS, Steps
from plausible.errors import InvalidArgument, NotSupported, PlausibleError, UnknownVariable, suggestion
from plausible.variables import Evidence, Variable
from plausible.variables.evidence import Likelihood

if TYPE_CHECKING:
    import pandas as pd

#: What public functions take: a table, or several that are a sequence each; of one variable, its values alone.
SequencesLike: TypeAlias = "TableLike | Sequence[TableLike] | Sequence[Any] | NDArray[Any]"

_ONE_OF = (set, frozenset, list, tuple, Likelihood)


class SoftCells(NamedTuple):
    """The cells of a column that leave several states open, or weigh them."""

    steps: Positions  # where they are
    weights: Floats  # a row for each, a likelihood for each state


@dataclass(frozen=True, slots=True, eq=False)
class Sequences:
    """What was observed at each step of some sequences, which lie one after the other.

    >>> rain = Variable("rain", ["no", "yes"])
    >>> rows = {"day": [2, 1, 3], "rain": ["yes", "no", None]}
    >>> read = Sequences.read(rows, {"rain": rain}, time="day")
    >>> read.columns["rain"].tolist(), read.where(0)
    ([0, 1, -1], 'row 1 (time 1)')
    >>> read.series(np.array([10.0, 20.0, 30.0]), "answer").tolist()
    [20.0, 10.0, 30.0]
    """

    variables: Mapping[str, Variable]  # name -> variable, of the columns that are there
    columns: Mapping[str, NDArray[Any]]  # name -> positions of states, -1 where missing; or numbers, NaN where missing
    soft: Mapping[str, SoftCells]  # name -> cells that are known in part; their position is -1
    steps: Steps  # which row of which sequence comes when
    index: Any  # of the rows as they were given
    names: tuple[str, str] = ("sequence", "step")  # what the sequences and their times are called
    _places: Positions = field(default_factory=lambda: np.zeros(0, dtype=np.intp), repr=False)  # row -> step

    @classmethod
    def read(
        cls,
        rows: SequencesLike,
        variables: Mapping[str, Variable],
        *,
        sequence: str | None = None,
        time: str | None = None,
        gaps: str = "refuse",
        infer: bool = False,
        numbers: bool = False,
        lone: str | None = None,
        place: str = "this model",
    ) -> Sequences:
        """Read rows in time.

        Parameters
        ----------
        rows
            A table in which each row is a step, or a list of such tables, each of them a sequence. Where there is only
            one variable, a list of its values, or a list of such lists. `None` and NaN are not observed; a cell may be
            a collection of states, one of which it is, or a `likelihood`.
        variables
            Name -> variable; those without a column are hidden.
        sequence, time
            The names of the columns that say which sequence a row belongs to, and when it comes in it. Without
            `sequence`, all rows are one sequence; without `time`, they come as they stand.
        gaps
            What to do where times lack a step: "refuse", "fill" it with a step at which nothing is observed, or
            "ignore" it.
        infer
            Whether columns of other variables are read as well, typed as `Table.read` does.
        numbers
            Whether these are taken as numbers, whatever they look like.
        lone
            The variable that a list of values is meant of; by default the only one.
        place
            What errors call that which has these variables.
        """
        if gaps not in GAPS:
            raise InvalidArgument(f"gaps={gaps!r}: expected one of {', '.join(map(repr, GAPS))}.")
        columns, lengths = _joined(rows, variables, lone)
        if len(lengths) > 1 and sequence is not None:
            raise InvalidArgument("rows= is a list of sequences already: leave out sequence=, or give one table.")
        index = _index_of(rows) if len(lengths) == 1 and not isinstance(rows, (list, tuple)) else None
        marks = [_popped(columns, name, option, index) for name, option in ((sequence, "sequence"), (time, "time"))]
        if len(lengths) > 1 or (marks[0] is None and marks[1] is None):
            steps = Steps.of_lengths(lengths)
            if marks[1] is not None:
                raise NotSupported("A list of sequences has no time= column: give one table with sequence= and time=.")
        else:
            steps = Steps.read(sum(lengths), marks[0], marks[1], gaps)
        if not infer:
            refuse_others(columns, variables, place)
        if numbers:
            variables = {**{name: Variable(name) for name in columns}, **variables}
        return cls._of(columns, variables, infer, steps, index, (sequence or "sequence", time or "step"))

    @classmethod
    def _of(
        cls,
        columns: dict[str, Any],
        variables: Mapping[str, Variable],
        infer: bool,
        steps: Steps,
        index: Any,
        names: tuple[str, str],
    ) -> Sequences:
        """Columns in the order of their rows, encoded and brought into the order of steps."""
        soft: dict[str, SoftCells] = {}
        is_in_order = np.array_equal(steps.rows, np.arange(len(steps.rows)))
        places = steps.rows if is_in_order else np.full(int(steps.rows.max(initial=-1)) + 1, -1)
        if not is_in_order:
            places[steps.rows[steps.rows >= 0]] = np.flatnonzero(steps.rows >= 0)
        for name, column in columns.items():
            if name in variables and not variables[name].is_continuous and (which := _soft_rows(column)):
                columns[name], weights = _apart(variables[name], column, which, steps, places)
                soft[name] = SoftCells(places[which], weights)
        known = {name: variable for name, variable in variables.items() if name in columns}
        table = Table.read(columns, known)
        if infer:
            table = Table.for_learning(table, named=known)
        encoded = {}
        for name, variable in table.variables.items():
            gap = np.nan if variable.is_continuous else -1
            encoded[name] = table.column(name).astype(np.float64 if variable.is_continuous else np.int32)
            if not is_in_order:
                encoded[name] = np.append(encoded[name], encoded[name].dtype.type(gap))[steps.rows]
            encoded[name].setflags(write=False)
        return cls(table.variables, MappingProxyType(encoded), MappingProxyType(soft), steps, index, names, places)

    @property
    def starts(self) -> Ints:
        """Where each sequence begins, and where the last one ends."""
        return self.steps.starts

    @property
    def num_steps(self) -> int:
        """Of all sequences together."""
        return len(self.steps.rows)

    @property
    def num_sequences(self) -> int:
        """How many sequences there are; some may have no step."""
        return len(self.steps.labels)

    @property
    def labels(self) -> tuple[Any, ...]:
        """What each sequence is called."""
        return self.steps.labels

    @property
    def sequence_of(self) -> Positions:
        """The number of the sequence of each step."""
        return self.steps.sequence_of

    def where(self, step: int) -> str:
        """The place of a step, for errors: its row, its time, its sequence."""
        return self.steps.where(step)

    def weights(self, name: str, steps: Ints | slice = slice(None)) -> Floats:
        """The likelihood of each state of a variable at some steps, or at each; ones where nothing is known."""
        variable = self.variables[name]
        table = np.vstack([np.eye(variable.num_states), np.ones(variable.num_states)])
        weights: Floats = table[self.columns[name]]
        if name in self.soft:
            weights[self.soft[name].steps] = self.soft[name].weights
        return weights[steps]

    def take(self, numbers: Iterable[int]) -> Sequences:
        """Some of the sequences, by their numbers; answers are in the order of steps then."""
        listed = list(numbers)
        spans = [np.arange(self.starts[number], self.starts[number + 1]) for number in listed]
        chosen = np.concatenate([np.zeros(0, dtype=np.intp), *spans])
        moved = np.full(self.num_steps, -1)
        moved[chosen] = np.arange(len(chosen))
        soft = {}
        for name, cells in self.soft.items():
            kept = moved[cells.steps] >= 0
            soft[name] = SoftCells(moved[cells.steps[kept]], cells.weights[kept])
        starts = np.append(0, np.cumsum([len(span) for span in spans])).astype(np.int64)
        times = None if self.steps.times is None else self.steps.times.take(chosen)
        steps = Steps(starts, self.steps.rows[chosen], tuple(self.labels[number] for number in listed), times)
        columns = {name: column[chosen] for name, column in self.columns.items()}
        return replace(self, columns=columns, soft=soft, steps=steps, index=None, _places=np.arange(len(chosen)))

    def lengthened(self, num_steps: int, known: Mapping[str, NDArray[Any]] = MappingProxyType({})) -> Sequences:
        """The same with so many steps more at the end of each sequence, at which only some columns are `known`."""
        starts = self.starts + num_steps * np.arange(len(self.starts))
        moved = np.arange(self.num_steps) + num_steps * self.sequence_of
        columns = {}
        for name, column in self.columns.items():
            columns[name] = np.full(int(starts[-1]), np.nan if column.dtype.kind == "f" else -1, dtype=column.dtype)
            columns[name][moved] = column
            if name in known:
                columns[name][starts[1:, None] - num_steps + np.arange(num_steps)] = known[name]
        soft = {name: SoftCells(moved[cells.steps], cells.weights) for name, cells in self.soft.items()}
        rows = np.full(int(starts[-1]), -1)
        rows[moved] = self.steps.rows
        steps = Steps(starts, rows, self.labels, None)
        return replace(self, columns=columns, soft=soft, steps=steps, index=None, _places=np.zeros(0, dtype=np.intp))

    # --- answers ---

    def frame(self, values: NDArray[Any], columns: Iterable[Any]) -> pd.DataFrame:
        """Values with a row for each step, as the rows were given; where steps were filled in, in the order of time."""
        import pandas as pd

        return pd.DataFrame(
            np.asarray(values)[self._order], index=self._answer_index(), columns=pd.Index(list(columns))
        )

    def series(self, values: NDArray[Any], name: str | None = None) -> pd.Series[Any]:
        """A value for each step, as the rows were given."""
        import pandas as pd

        return pd.Series(np.asarray(values)[self._order], index=self._answer_index(), name=name)

    def each_sequence(self, values: NDArray[Any], name: str | None = None) -> pd.Series[Any]:
        """A value for each sequence."""
        import pandas as pd

        return pd.Series(values, index=pd.Index(list(self.labels), name=self.names[0]), name=name)

    def ahead(self, values: NDArray[Any], columns: Iterable[Any]) -> pd.DataFrame:
        """Values of steps after the last one of each sequence: an array over sequences, steps and columns."""
        import pandas as pd

        num_sequences, num_ahead, num_columns = values.shape
        flat = values.reshape(num_sequences * num_ahead, num_columns)
        names = pd.Index(list(columns), tupleize_cols=False)
        return pd.DataFrame(flat, index=self._index_ahead(num_ahead), columns=names)

    def _index_ahead(self, num_ahead: int) -> Any:
        """The times of steps after the last one, their sequences in front where there are several."""
        import pandas as pd

        numbers = list(range(1, num_ahead + 1))
        times, name = self.steps.times, self.names[1]
        later: list[Any] = numbers * self.num_sequences
        if times is not None and times.unit is not None and (np.diff(self.starts) > 0).all():
            last = np.repeat(self.starts[1:] - 1, num_ahead)
            later = list(times.shifted(last, np.tile(np.array(numbers), self.num_sequences)))
        elif times is not None:
            name = "step"
        if self.num_sequences == 1 and self.names[0] == "sequence":
            return pd.Index(later, name=name)
        labels = list(chain.from_iterable([label] * num_ahead for label in self.labels))
        return pd.MultiIndex.from_arrays([pd.Index(labels, tupleize_cols=False), later], names=[self.names[0], name])

    @property
    def _order(self) -> Positions | slice:
        """The step of each row of an answer; all of them as they are, where that is their order."""
        is_given = self._is_filled or not len(self._places) or np.array_equal(self._places, np.arange(self.num_steps))
        return slice(None) if is_given else self._places

    @property
    def _is_filled(self) -> bool:
        return bool(self.steps.rows.min(initial=0) < 0)

    def _answer_index(self) -> Any:
        import pandas as pd

        if self._is_filled:
            assert self.steps.times is not None
            if self.num_sequences == 1:
                return pd.Index(self.steps.times.values, name=self.names[1])
            labels = pd.Index([self.labels[number] for number in self.sequence_of], tupleize_cols=False)
            return pd.MultiIndex.from_arrays([labels, self.steps.times.values], names=list(self.names))
        if self.index is not None:
            return self.index if isinstance(self.index, pd.MultiIndex) else pd.Index(self.index)  # which flattens
        if self.num_sequences == 1 or self.names[0] != "sequence" or self.steps.times is not None:
            return pd.RangeIndex(self.num_steps)
        numbers = np.arange(self.num_steps) - np.repeat(self.starts[:-1], np.diff(self.starts))
        return pd.MultiIndex.from_arrays([np.array(self.labels)[self.sequence_of], numbers], names=list(self.names))

    def __repr__(self) -> str:
        return f"<Sequences: {self.num_sequences} with {self.num_steps} steps of {list(self.variables)}>"


def _joined(rows: Any, variables: Mapping[str, Variable], lone: str | None) -> tuple[dict[Any, Any], list[int]]:
    """Name -> the column of all sequences, one after the other, and how many steps each of these has."""
    kinds = set(map(type, rows)) if isinstance(rows, (list, tuple)) else set()
    if kinds == {np.ndarray} and len(rows) > 1 and all(each.ndim == 1 and each.dtype.kind in "iufb" for each in rows):
        return {_lone_name(variables, lone): np.concatenate(rows)}, list(map(len, rows))
    pieces = _pieces(rows, variables, lone)
    lengths = [_length(piece) for piece in pieces]
    return _in_a_row(pieces, lengths), lengths


def _pieces(rows: Any, variables: Mapping[str, Variable], lone: str | None) -> list[Mapping[Any, Any]]:
    """The columns of each sequence that stands by itself; one where a table holds them all."""
    if isinstance(rows, (list, tuple)) and any(_is_table(each) for each in rows):
        return [_columns(each, variables, lone) for each in rows]
    if isinstance(rows, (list, tuple)) and rows and all(_is_list(each) for each in rows):
        return [_columns(np.asarray(each) if _is_matrix(each) else each, variables, lone) for each in rows]
    return [_columns(rows, variables, lone)]


def _is_table(rows: Any) -> bool:
    return isinstance(rows, (Mapping, Table, Path)) or (hasattr(rows, "columns") and not isinstance(rows, np.ndarray))


def _is_list(rows: Any) -> bool:
    """Whether something may be the values of one sequence; a set is one cell."""
    return isinstance(rows, (list, tuple, np.ndarray)) or type(rows).__name__ == "Series"


def _is_matrix(rows: Any) -> bool:
    return isinstance(rows, np.ndarray) and rows.ndim == 2


def _columns(rows: Any, variables: Mapping[str, Variable], lone: str | None) -> Mapping[Any, Any]:
    """Name -> column of one table; a list of values is the column of the only variable."""
    if isinstance(rows, Table):
        if rows.weights is not None or rows.interventions:
            raise NotSupported("Steps of a sequence have no weights and no interventions: give a Table without.")
        return state_columns(rows)
    if isinstance(rows, Mapping) and rows and not any(_is_column(cells) for cells in rows.values()):
        raise InvalidArgument(
            f"Each sequence has a column for each name, but {next(iter(rows))!r} is {next(iter(rows.values()))!r}. If "
            "each mapping is a row, give pandas.DataFrame(rows)."
        )
    if not _is_list(rows) or (isinstance(rows, np.ndarray) and rows.ndim == 2):
        return columns_of(rows, variables)
    return {_lone_name(variables, lone): rows}


def _lone_name(variables: Mapping[str, Variable], lone: str | None) -> str:
    """The variable that a list of values is of."""
    name = lone if lone is not None or len(variables) != 1 else next(iter(variables))
    if name is None:
        raise InvalidArgument(
            f"A list of values needs one variable that they are of, but there are {list(variables)}: give a frame."
        )
    return name


def _is_column(cells: Any) -> bool:
    return hasattr(cells, "__len__") and not isinstance(cells, (str, bytes))


def _length(columns: Mapping[Any, Any]) -> int:
    equally_long(dict(columns))
    return len(next(iter(columns.values()), ()))


def _index_of(rows: Any) -> Any:
    """The index of a pandas frame or series; None for others."""
    index = getattr(rows, "index", None)
    return None if index is None or callable(index) else index


def _in_a_row(pieces: Sequence[Mapping[Any, Any]], lengths: Sequence[int]) -> dict[Any, Any]:
    """Name -> the column of all pieces, one after the other, nothing where a piece has not the column."""
    if len(pieces) == 1:
        return dict(pieces[0])
    joined = {}
    for name in dict.fromkeys(chain.from_iterable(pieces)):
        cells = [piece.get(name, [None] * length) for piece, length in zip(pieces, lengths, strict=True)]
        joined[name] = _one_column(cells)
    return joined


def _one_column(cells: Sequence[Any]) -> Any:
    categories = {categories_of(each) for each in cells}
    if all(isinstance(each, np.ndarray) and each.dtype.kind in "iufb" for each in cells):
        return np.concatenate(cells)
    column = [value for each in cells for value in each]
    if len(categories) == 1 and None not in categories:
        import pandas as pd

        return pd.Series(pd.Categorical(column, categories=pd.Index(list(categories.pop() or ()), dtype=object)))
    return column


def _popped(columns: dict[Any, Any], name: str | None, option: str, index: Any) -> tuple[str, Any] | None:
    """The column that an option names, which is no variable then."""
    if name is None:
        return None
    if name not in columns:
        if name in getattr(index, "names", ()):
            raise UnknownVariable(
                f"{name!r} is in the index of the rows: {option}= names a column: rows.reset_index()."
            )
        near = suggestion(name, map(str, columns))
        raise UnknownVariable(
            f"{shown(name)} is not a variable of the data, though ", Argument(option), f" names it.{near}"
        )
    return name, columns.pop(name)


def _soft_rows(column: Any) -> list[int]:
    """The rows of a column whose cells are collections of states or likelihoods."""
    kind = getattr(column, "dtype", None)
    if kind not in (None, np.dtype(object)) or not hasattr(column, "__iter__"):
        return []
    if not any(issubclass(each, _ONE_OF) for each in set(map(type, column))):
        return []
    return [row for row, cell in enumerate(column) if isinstance(cell, _ONE_OF)]


def _apart(
    variable: Variable, column: Any, rows: Sequence[int], steps: Steps, places: Positions
) -> tuple[list[Any], Floats]:
    """The column without some cells, and the likelihoods that stand in them."""
    cells = list(column)
    weights = np.empty((len(rows), variable.num_states))
    for number, row in enumerate(rows):
        try:
            found = Evidence.read({variable.name: cells[row]}, {variable.name: variable})
        except PlausibleError as error:
            error.args = (f"In {steps.where(int(places[row]))}: {error.args[0]}", *error.args[1:])
            raise
        weights[number] = found.soft.get(variable.name, 0.0)
        if variable.name in found.hard:  # a state that is a collection itself
            weights[number, found.hard[variable.name]] = 1.0
        cells[row] = None
    return cells, weights
