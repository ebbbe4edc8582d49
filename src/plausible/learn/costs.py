"""What learning would cost, told before it is begun: found by learning from a few of the rows."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from time import process_time
from typing import Any, NamedTuple, TypeVar

import numpy as np

from plausible.base import Result, counted, format_roughly, record
from plausible.data import PartitionedStatistics, Statistics, Table, TableStatistics
from plausible.data.batches import CSVPart, Part
from plausible.data.column_types import warn_of_doubtful
from plausible.data.partitions import Facts, Partitions, Piece, StreamPartitions
from plausible.data.source_parts import is_in_pieces
from plausible.data.streams import Stream, table_limit
from plausible.errors import InvalidArgument, NotSupported, PlausibleError
from plausible.variables import Variable

Answer = TypeVar("Answer")

#: What learners call their data.
_NAMES_OF_DATA = ("data", "source")
#: Learning is tried on so many rows, and what it does with rows is timed on so many.
_TRIAL_ROWS, _TIMED_ROWS = 2**14, 2**17
#: The first passes, and so many others, are timed.
_FIRST_PASSES, _OTHER_PASSES = 3, 8
#: What is done to a piece of so many rows at most takes about so many bytes for each cell.
_ROWS_OF_PIECE, _BYTES_AT_WORK = 2**20, 8


@record
class LearningCost(Result):
    """What learning would take, estimated on this machine from a few of the rows."""

    learner: str  # the call
    num_rows: int  # of the data; the most that there can be, where nobody has counted them
    num_columns: int
    #: Whether rows are read in pieces, again and again as far as they don't fit; else they are a table in memory.
    is_in_pieces: bool
    num_passes: int | None  # through all rows; `None` where learning needs all of them at once
    bytes_read: float  # from files, in all passes together
    memory: float  # in bytes, beside what the program takes anyway
    seconds: float  # of processor time, all threads together

    def __str__(self) -> str:
        where = "in pieces" if self.is_in_pieces else "as a table in memory"
        rows = f"{self.num_rows} rows of {counted(self.num_columns, 'column')}, {where}"
        passes = {None: "all rows at once", 1: "1 pass"}.get(self.num_passes, f"{self.num_passes} passes")
        read, held = (f"{num_bytes / 1e6:.3g} MB" for num_bytes in (self.bytes_read, self.memory))
        time = f"about {format_roughly(self.seconds, 2)} s of processor time"
        return f"{self.learner}: {rows}\n{passes}, {read} read, {held} of memory, {time}"


def explain(learner: Callable[..., Any], *arguments: Any, **options: Any) -> LearningCost:
    """Estimate what a learner would cost on some data, before it is begun.

    It learns from the first 16,384 rows, and does again with more rows what it did with these: it takes as long as
    that. Searches in more rows mostly take more steps, as they find more edges: the estimate of the time is good to a
    factor of three or so.

    Parameters
    ----------
    learner
        A function that takes data, such as `learn.parameters`, `learn.structure`, `learn.em` or `learn.pc`.
    arguments, options
        Its own.

    Examples
    --------
    >>> from plausible.learn import explain, structure
    >>> cost = explain(structure, {"rain": ["no", "yes"] * 50, "grass": ["dry", "wet"] * 50}, method="chow-liu")
    >>> cost.num_rows, cost.num_columns, cost.bytes_read
    (100, 2, 0.0)
    """
    name = getattr(getattr(learner, "func", learner), "__name__", type(learner).__name__)
    called = inspect.signature(learner).bind(*arguments, **options)
    data = next((option for option in _NAMES_OF_DATA if option in called.arguments), None)
    if data is None:
        raise InvalidArgument(f"{name} takes no data: there is nothing to explain.")
    source = _Source(called.arguments[data], is_searched="graph" not in called.arguments)

    def seconds_with(rows: Any) -> float:
        called.arguments[data] = rows
        begin = process_time()
        learner(*called.args, **called.kwargs)
        return process_time() - begin

    trial = _Trial(source.first(_TRIAL_ROWS))
    try:
        seconds = seconds_with(PartitionedStatistics(trial)) + trial.further_seconds(source)
        num_passes = len(trial.works)
    except PlausibleError:  # it needs the rows themselves, or finds fault with them too
        few, many = (source.first(_TRIAL_ROWS // share) for share in (4, 1))
        first, seconds = seconds_with(few), seconds_with(many)
        further = max(source.num_rows - many.num_rows, 0) / max(many.num_rows - few.num_rows, 1)
        seconds, num_passes = seconds + further * max(seconds - first, 0.0), None
    return source.cost(name, num_passes, seconds)


class _Work(NamedTuple):
    """Something that was done with the rows of the trial."""

    do: Callable[[Piece], Any]
    seconds: float


class _Trial(Partitions):
    """A few rows as one piece, and what is done with them."""

    def __init__(self, table: Table, works: list[_Work] | None = None) -> None:
        self._piece = _piece(table)
        self.works: list[_Work] = [] if works is None else works

    @property
    def variables(self) -> Mapping[str, Variable]:
        return self._piece.table.variables

    @property
    def facts(self) -> Facts:
        return Facts.of(self._piece)

    def with_variables(self, variables: Mapping[str, Variable]) -> _Trial:
        known = {name: variable for name, variable in variables.items() if name in self.variables}
        return _Trial(Table.read(self._piece.table, known), self.works)

    def map(self, work: Callable[[Piece], Answer]) -> Iterator[Answer]:
        begin = process_time()
        answer = work(self._piece)
        self.works.append(_Work(work, process_time() - begin))
        yield answer

    def further_seconds(self, source: _Source) -> float:
        """What all passes take for the rows that the trial has not: some are made again through more rows."""
        num_rows = self._piece.table.num_rows
        if source.num_rows <= num_rows or not self.works:
            return 0.0
        table = Table.read(source.first(_TIMED_ROWS))
        piece = _piece(table)
        slopes = []
        places = sorted({*range(_FIRST_PASSES), *np.linspace(0, len(self.works) - 1, _OTHER_PASSES).astype(int)})
        for place in (place for place in places if place < len(self.works)):
            begin = process_time()
            self.works[place].do(piece)
            further = max(process_time() - begin - self.works[place].seconds, 0.0)
            slopes.append(further / max(table.num_rows - num_rows, 1))
        others = slopes[_FIRST_PASSES:] or [0.0]
        num_others = max(len(self.works) - _FIRST_PASSES, 0)
        each: float = sum(slopes[:_FIRST_PASSES]) + num_others * sum(others) / len(others)
        return each * (source.num_rows - num_rows)


def _piece(table: Table) -> Piece:
    return Piece(TableStatistics(table), 0, room=float("inf"))


class _Source:
    """The data: some of their rows, how many there are, and what it takes to read them."""

    def __init__(self, data: Any, *, is_searched: bool) -> None:
        self.stream = _stream_of(data)
        self._seconds_to_read = 0.0  # for each row, when all columns are typed, and read
        if self.stream is None:
            self._first = Table.for_learning(data) if is_searched else Table.read(data)
            self.num_rows = self._first.num_rows
        else:
            self.stream = _with_values(self.stream, is_searched=is_searched)
            few, few_seconds = _timed_reading(self.stream, _TRIAL_ROWS)
            self._first, seconds = _timed_reading(self.stream, _TIMED_ROWS)
            further = self._first.num_rows - few.num_rows  # what reading takes to begin with is no part of it
            self._seconds_to_read = max(seconds - few_seconds, 0.0) / further if further else 0.0
            self.num_rows = sum(map(_rows_of, self.stream.parts))

    def first(self, num_rows: int) -> Table:
        """The first rows."""
        return self._first.take(np.arange(min(num_rows, self._first.num_rows)))

    def cost(self, learner: str, num_passes: int | None, seconds: float) -> LearningCost:
        """What learning takes in so many passes, and so much time besides reading."""
        variables = self._first.variables.values()
        row_bytes = sum(8 if variable.is_continuous else 1 for variable in variables)
        bits = sum(len(variable.states) for variable in variables) / 8  # a set of rows for each state
        num_held, num_reads, bytes_read = float(self.num_rows), 0.0, 0.0
        is_in_pieces = self.stream is not None and self.num_rows * row_bytes > table_limit()
        if self.stream is not None:
            num_held = min(num_held, table_limit() / row_bytes) if is_in_pieces else num_held
            again = ((num_passes or 1) - 1) * (1 - num_held / max(self.num_rows, 1))
            num_reads = again + (1 if self.stream.is_known else 2)
            bytes_read = num_reads * self.stream.num_bytes
        at_work = min(self.num_rows, _ROWS_OF_PIECE) * len(self._first.variables) * _BYTES_AT_WORK
        return LearningCost(
            learner,
            self.num_rows,
            len(self._first.variables),
            is_in_pieces,
            num_passes,
            bytes_read,
            num_held * (row_bytes + bits) + at_work,
            seconds + num_reads / 2 * self._seconds_to_read * self.num_rows,
        )


def _stream_of(data: Any) -> Stream | None:
    """The rows in pieces; `None` of what is in memory."""
    if isinstance(data, PartitionedStatistics) and isinstance(data.partitions, StreamPartitions):
        return data.partitions.stream
    if isinstance(data, Statistics):
        raise NotSupported(f"{type(data).__name__} has no rows to try a learner on: give the rows.")
    if isinstance(data, Stream):
        return data
    return Stream(data) if is_in_pieces(data) else None


def _with_values(stream: Stream, *, is_searched: bool) -> Stream:
    """The columns that have values in the first rows and, for a search, are hardly anything but variables."""
    beginning = stream.beginning(_TRIAL_ROWS)
    doubts = beginning.doubts() if is_searched else {}
    if doubts:
        warn_of_doubtful(doubts)
    left_out = set(doubts)
    if not beginning.is_known:
        left_out |= {name for name, column in beginning.first_pass.columns.items() if column.variable is None}
    return stream.read_with(columns=[name for name in stream.names if name not in left_out]) if left_out else stream


def _timed_reading(stream: Stream, num_rows: int) -> tuple[Table, float]:
    begin = process_time()
    return Table.read(stream.beginning(num_rows)), process_time() - begin


def _rows_of(part: Part) -> int:
    """How many rows a part has, or about how many where nobody has counted them."""
    if part.is_counted:
        return part.num_rows
    if isinstance(part, CSVPart):
        return part.expected_rows
    return sum(batch.num_rows for batch in part.batches(list(part.kinds)[:1]))
