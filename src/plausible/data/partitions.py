"""Data in pieces that are fixed by the data, and work done on each of them, wherever the pieces are."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import partial
from itertools import accumulate
from typing import Any, NamedTuple, TypeVar

from plausible.data.batches import Part
from plausible.data.streams import EncodedRows, FirstPass, Stream, table_limit
from plausible.data.table import Table, table_of
from plausible.data.table_statistics import TableStatistics
from plausible.variables import Variable

Answer = TypeVar("Answer")
Made = TypeVar("Made")

#: A piece has about so many cells, but not more rows than the limit.
_CELLS_OF_PIECE, _ROWS_OF_PIECE = 2**26, 2**20
#: What a piece that was made of another one takes, with its sets of rows, in bytes for each of that one's.
_BYTES_OF_DERIVED = 2


class Facts(NamedTuple):
    """What is known of rows before anything is counted."""

    num_rows: int
    total: float
    missing: Mapping[str, int]  # name -> how many cells of it are missing, if any
    interventions: Mapping[str, int]  # name -> how many rows it was set in, if any

    @classmethod
    def of(cls, piece: Piece) -> Facts:
        """Those of one piece."""
        found = piece.statistics
        return cls(found.num_rows, found.total, found.missing, found.interventions)

    @classmethod
    def joined(cls, facts: Sequence[Facts], names: Sequence[str]) -> Facts:
        """Those of all pieces together."""
        return cls(
            sum(one.num_rows for one in facts),
            sum(one.total for one in facts),
            _sums([one.missing for one in facts], names),
            _sums([one.interventions for one in facts], names),
        )


def _sums(parts: Sequence[Mapping[str, int]], names: Sequence[str]) -> dict[str, int]:
    sums = {name: sum(part.get(name, 0) for part in parts) for name in names}
    return {name: number for name, number in sums.items() if number}


@dataclass(slots=True, eq=False)
class Piece:
    """Some rows, always the same ones, whoever works on them."""

    statistics: TableStatistics
    first_row: int  # of all, counted from 0
    kept: dict[str, Any] = field(default_factory=dict)  # what work leaves for the next time, by its own names
    #: How many bytes more may be left here: whoever holds pieces from pass to pass says so.
    room: float = 0.0
    _bytes: dict[str, float] = field(default_factory=dict, repr=False)  # of what is kept, by name

    @property
    def table(self) -> Table:
        """The rows."""
        return self.statistics.table

    @property
    def kept_bytes(self) -> float:
        """How many bytes what is kept takes, by those who left it."""
        return sum(self._bytes.values())

    def room_for(self, name: str, num_bytes: float) -> bool:
        """Whether so many bytes may be left under a name, in place of what is kept there."""
        return num_bytes <= self.room + self._bytes.get(name, 0.0)

    def keep(self, name: str, value: Any, num_bytes: float) -> None:
        """Leave something for the next time, which takes so many bytes, where there is room for it."""
        has_room = self.room_for(name, num_bytes)
        self.kept.pop(name, None)
        self.room += self._bytes.pop(name, 0.0)
        if has_room:
            self.kept[name], self._bytes[name] = value, num_bytes
            self.room -= num_bytes

    def made(self, name: str, key: object, make: Callable[[], Iterable[Made]], num_bytes: float) -> Iterator[Made]:
        """What is made of the rows, one after the other: as it was kept for an equal key, or made anew and kept."""
        known = self.kept.get(name)
        if known is not None and known[0] == key:
            yield from known[1]
            return
        has_room, made = self.room_for(name, num_bytes), list[Made]()
        for one in make():
            made += [one] if has_room else []
            yield one
        if has_room:
            self.keep(name, (key, made), num_bytes)

    def __sizeof__(self) -> int:
        """How many bytes the rows take: those who keep pieces go by it."""
        return self.table.codes.nbytes + self.table.numbers.nbytes

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle the rows: what was kept is made again."""
        return Piece, (self.statistics, self.first_row)


class Partitions(ABC):
    """Where the pieces of some data are: the one thing that a way to compute has to tell.

    Pieces are fixed by the data, answers come in their order, and sums are made in that order: so the same bits come
    out wherever the work is done.
    """

    @property
    @abstractmethod
    def variables(self) -> Mapping[str, Variable]:
        """Name -> variable, of all columns."""

    @abstractmethod
    def map(self, work: Callable[[Piece], Answer]) -> Iterator[Answer]:
        """What some work gives for each piece, in the order of the data; the work can be pickled."""

    @property
    def num_bytes(self) -> float:
        """How many bytes each pass reads from outside of memory."""
        return 0.0

    @property
    def facts(self) -> Facts | None:
        """What is known of all rows without looking at them; `None` where that takes a pass."""
        return None

    def with_variables(self, variables: Mapping[str, Variable]) -> Partitions | None:
        """The same rows read by other states; `None` where they can't be read again."""
        return None

    def for_learning(self, named: Iterable[str]) -> Partitions:
        """The same without columns that are hardly variables, of which a warning tells; these names are kept."""
        return self


class Share(NamedTuple):
    """The rows of one part of a stream, which can be sent to whoever works on them."""

    stream: Stream  # of this part alone, with its variables known
    first_row: int  # of all, counted from 0

    def pieces(self, num_threads: int = 1) -> Iterator[Piece]:
        """They are read, in pieces."""
        for piece in pieces_of(self.stream, self.stream.parts[0], num_threads):
            piece.first_row += self.first_row
            yield piece


class DerivedPartitions(Partitions):
    """Pieces made of those of other partitions, where these are.

    Parameters
    ----------
    source
        The pieces that there are.
    name
        Under which what is made of them is kept.
    make
        From the rows of a piece to other ones.
    variables
        Those of the rows that are made; by default those of the source.
    """

    def __init__(
        self,
        source: Partitions,
        name: str,
        make: Callable[[Table], Table],
        variables: Mapping[str, Variable] | None = None,
    ) -> None:
        self._source, self._name, self._make, self._variables = source, name, make, variables

    @property
    def variables(self) -> Mapping[str, Variable]:
        return self._source.variables if self._variables is None else self._variables

    @property
    def num_bytes(self) -> float:
        return self._source.num_bytes

    def map(self, work: Callable[[Piece], Answer]) -> Iterator[Answer]:
        return self._source.map(partial(_on_derived, name=self._name, make=self._make, work=work))


def _on_derived(piece: Piece, name: str, make: Callable[[Table], Table], work: Callable[[Piece], Answer]) -> Answer:
    def derived() -> Iterator[Piece]:
        yield Piece(piece.statistics.beside(make(piece.table)), piece.first_row)

    (one,) = piece.made(name, None, derived, _BYTES_OF_DERIVED * piece.__sizeof__())
    return work(one)


class StreamPartitions(Partitions):
    """The pieces of a stream, whose parts are shared out: a subclass tells how, by one method.

    What it tells is what a pool of processes, Ray or Spark do: some work on each of a list of things. Rows are read
    again in each pass.

    Examples
    --------
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> class PoolPartitions(StreamPartitions):
    ...     def __init__(self, stream, pool):
    ...         super().__init__(stream)
    ...         self._pool = pool
    ...
    ...     def spread(self, function, items):
    ...         return self._pool.map(function, items)
    >>> import pandas as pd, tempfile
    >>> from plausible.data import PartitionedStatistics
    >>> folder = tempfile.TemporaryDirectory()
    >>> for month in range(3):
    ...     frame = pd.DataFrame({"rain": ["no", "yes", "no"], "grass": ["dry", "wet", "wet"]})
    ...     frame.to_csv(f"{folder.name}/{month}.csv", index=False)
    >>> with ThreadPoolExecutor(2) as pool:
    ...     PartitionedStatistics(PoolPartitions(Stream(folder.name), pool)).counts("grass", ["rain"])
    array([[3, 3],
           [0, 3]])
    >>> folder.cleanup()
    """

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._shares: list[Share] | None = None

    @abstractmethod
    def spread(self, function: Callable[[Any], Answer], items: Sequence[Any]) -> Iterable[Answer]:
        """What a function gives for each item, in their order; the function, items and answers can be pickled."""

    @property
    def stream(self) -> Stream:
        """What is read."""
        return self._stream

    @property
    def variables(self) -> Mapping[str, Variable]:
        return self._told().variables

    @property
    def num_bytes(self) -> float:
        return self._stream.num_bytes

    @property
    def facts(self) -> Facts | None:
        if self._stream.given or self._stream.has_extras:
            return None
        names = self.variables
        seen = self._stream.first_pass
        missing = {name: seen.num_rows - seen.columns[name].num_known for name in names}
        return Facts(seen.num_rows, float(seen.num_rows), {name: n for name, n in missing.items() if n}, {})

    def with_variables(self, variables: Mapping[str, Variable]) -> StreamPartitions:
        return self.over(self._stream.read_with(variables={**self._stream.given, **variables}))

    def for_learning(self, named: Iterable[str]) -> StreamPartitions:
        kept = self._told().for_learning(named)
        return self if kept is self._stream else self.over(kept)

    def _told(self) -> Stream:
        """What is read, after the first pass over it where that takes one: it is shared out, too."""
        if not (self._stream.is_known or self._stream.is_told):
            self._stream.told_by(self.spread(FirstPass.of, self._stream.each_part()))
        return self._stream

    def over(self, stream: Stream) -> StreamPartitions:
        """The pieces of another stream, shared out in the same way."""
        again = copy(self)
        StreamPartitions.__init__(again, stream)
        return again

    def map(self, work: Callable[[Piece], Answer]) -> Iterator[Answer]:
        for answers in self.spread(partial(_answers, work=work), self.shares):
            yield from answers

    @property
    def shares(self) -> Sequence[Share]:
        """The rows of each part, by known variables; they are counted first where nobody has."""
        if self._shares is None:
            streams = self._stream.each_part(self.variables)
            rows = self._stream.rows_of_parts or [one.num_rows for one in self.spread(FirstPass.of, streams)]
            self._shares = list(map(Share, streams, accumulate(rows, initial=0)))
        return self._shares


def _answers(share: Share, work: Callable[[Piece], Answer]) -> list[Answer]:
    return [work(piece) for piece in share.pieces()]


class LocalPartitions(StreamPartitions):
    """The pieces of a stream: in memory as far as they have room there, a byte a cell; others are read in each pass.

    Parameters
    ----------
    stream
        What is read.
    max_bytes
        What pieces, and what is kept of them, may take in memory; by default a quarter of what the machine has.
    num_threads
        Of the counting.
    """

    def __init__(self, stream: Stream, max_bytes: float | None = None, num_threads: int = 2) -> None:
        super().__init__(stream)
        self._num_threads = num_threads
        self._max_bytes = table_limit() if max_bytes is None else max_bytes
        self._pieces: list[list[Piece]] = []  # by part, of the first parts, which are in memory

    def spread(self, function: Callable[[Any], Answer], items: Sequence[Any]) -> Iterable[Answer]:
        return map(function, items)

    @property
    def num_bytes(self) -> float:
        room = self._max_bytes / max(self._stream.table_bytes, 1)
        return super().num_bytes * max(1 - room, 0)

    def over(self, stream: Stream) -> LocalPartitions:
        return LocalPartitions(stream, self._max_bytes, self._num_threads)

    def map(self, work: Callable[[Piece], Answer]) -> Iterator[Answer]:
        first_row, room = 0, self._max_bytes
        spare = room - self._stream.table_bytes - sum(piece.kept_bytes for part in self._pieces for piece in part)
        for number, part in enumerate(self._stream.parts):
            is_new = number >= len(self._pieces)
            kept = list[Piece]() if is_new else self._pieces[number]
            for piece in pieces_of(self._stream, part, self._num_threads) if is_new else kept:
                piece.first_row = first_row
                first_row += piece.table.num_rows
                room -= piece.table.codes.nbytes + piece.table.numbers.nbytes
                if is_new and room >= 0:
                    kept.append(piece)
                piece.room = max(spare, 0.0) if room >= 0 else 0.0
                spare -= piece.room
                answer = work(piece)
                spare += piece.room
                yield answer
            if is_new and room >= 0 and number == len(self._pieces):
                self._pieces.append(kept)


def pieces_of(stream: Stream, part: Part, num_threads: int = 2) -> Iterator[Piece]:
    """The pieces of one part; the first row of each is counted from the beginning of the part."""
    variables = stream.variables
    most = min(_ROWS_OF_PIECE, _CELLS_OF_PIECE // max(len(variables), 1))
    waiting, num_waiting, first_row = list[EncodedRows](), 0, 0

    def piece() -> Piece:
        table = table_of(variables, waiting, num_waiting)
        return Piece(TableStatistics(table, num_threads=num_threads), first_row)

    for rows in stream.encoded(part):
        waiting.append(rows)
        num_waiting += rows.num_rows
        if num_waiting >= most:
            yield piece()
            first_row, waiting, num_waiting = first_row + num_waiting, [], 0
    if waiting:
        yield piece()
