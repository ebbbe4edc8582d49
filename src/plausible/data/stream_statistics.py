"""Statistics of data in pieces: each pass answers many requests, and whole numbers add up to the same bits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, partial, reduce
from typing import Any

import numpy as np

from plausible.base.arrays import Floats
from plausible.base.fingerprints import fingerprint
from plausible.data.moments import FamilyMoments, joined_moments
from plausible.data.partitions import Facts, LocalPartitions, Partitions, Piece
from plausible.data.source_parts import is_in_pieces
from plausible.data.statistics import Request, RequestCost, Stack, Statistics
from plausible.data.streams import Stream, table_limit
from plausible.data.table import Table
from plausible.data.table_statistics import DataLike, TableStatistics
from plausible.errors import NotSupported
from plausible.variables import Variable


class PartitionedStatistics(Statistics):
    """Counts and moments of data in pieces: sums, in the order of the pieces, of those of each.

    All requests of one call are answered in one pass. Counts are whole numbers where rows have no weights, and then
    those of a `TableStatistics`, bit for bit.

    Parameters
    ----------
    partitions
        The pieces, and the way to do work on each of them.
    progress
        Called with the number of pieces done in a pass; an answer that is true, like Ctrl-C, ends it.
    """

    def __init__(self, partitions: Partitions, *, progress: Callable[[int], object] | None = None) -> None:
        self._partitions, self._progress = partitions, progress
        self._num_passes = 0
        self._known_facts: Facts | None = None

    @property
    def partitions(self) -> Partitions:
        """Where the pieces are."""
        return self._partitions

    @property
    def num_passes(self) -> int:
        """How often all pieces were gone through so far."""
        return self._num_passes

    @property
    def _facts(self) -> Facts:
        """Found out once; without the lock of a cached property, as several may wait for one pass."""
        if self._known_facts is None:
            known = self._partitions.facts
            self._known_facts = known or Facts.joined(list(self.each(Facts.of)), list(self.variables))
        return self._known_facts

    @cached_property
    def variables(self) -> Mapping[str, Variable]:
        """Name -> variable, in the order of the columns."""
        return self._partitions.variables

    @property
    def total(self) -> float:
        return self._facts.total

    @property
    def num_rows(self) -> float:
        """How many rows there are, whatever they weigh."""
        return self._facts.num_rows

    @property
    def interventions(self) -> Mapping[str, float]:
        """Name -> how many rows it was set from outside in."""
        return self._facts.interventions

    @property
    def missing(self) -> Mapping[str, int]:
        """Name -> how many cells of it are missing."""
        return self._facts.missing

    @property
    def table(self) -> Table:
        """Refused: rows come in pieces as they are too many."""
        raise NotSupported(
            "This needs rows that are all in memory, and these come in pieces. Give it some of them: a few of the "
            "files, or a sample."
        )

    def with_variables(self, variables: Mapping[str, Variable]) -> PartitionedStatistics:
        """The same rows, read again where they have other states."""
        known = {name: variable for name, variable in variables.items() if name in self.variables}
        if all(self.variables[name] == variable for name, variable in known.items()):
            return self
        again = self._partitions.with_variables(known)
        if again is None:
            super().with_variables(variables)  # which refuses states that differ
            return self
        return PartitionedStatistics(again, progress=self._progress)

    def for_learning(self, named: Iterable[str] = ()) -> PartitionedStatistics:
        """The same without columns that are hardly variables, where nobody has chosen them."""
        kept = self._partitions.for_learning(named)
        return self if kept is self._partitions else PartitionedStatistics(kept, progress=self._progress)

    def each(self, work: Callable[[Piece], Any]) -> Iterable[Any]:
        """What some work gives for each piece, in order: one pass; for one without rows where there is none."""
        self._num_passes += 1
        number = 0
        for number, answer in enumerate(self._partitions.map(work), 1):
            yield answer
            if self._progress is not None and self._progress(number):
                raise KeyboardInterrupt
        if not number:
            yield work(Piece(TableStatistics(_empty(self.variables)), 0))

    def counts_of(self, requests: Sequence[Request]) -> list[list[Stack]]:
        """For each request the counts of its families, by shape: one pass for all."""
        asked = list(requests)
        if not asked:
            return []
        return reduce(all_added, self.each(partial(_counts, requests=asked)))

    def moments_of(self, requests: Sequence[Request]) -> list[FamilyMoments]:
        """For the family of each request, by its joint states: weight, means and scatter, joined piece by piece."""
        asked = list(requests)
        answers = self.each(partial(_moments, requests=asked))
        return [joined_moments(parts, [1.0] * len(parts)) for parts in zip(*answers, strict=True)]

    def fingerprint(self) -> str:
        """A text that tells these rows from others, wherever they are read from, by one pass."""
        return fingerprint([dict(self.variables), list(self.each(_fingerprint))])

    def cost(self, requests: Sequence[Request]) -> RequestCost:
        """One pass; what is not in memory is read again."""
        return super().cost(requests)._replace(num_bytes=self._partitions.num_bytes)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {len(self.variables)} variables>"


class StreamStatistics(PartitionedStatistics):
    """Statistics of rows that come in pieces: files larger than memory, streamed straight to codes.

    Pieces stay in memory, a byte a cell, as far as they fit; others are read anew in each pass.

    Parameters
    ----------
    source
        A `Stream`, or what one takes: "rows/*.parquet".
    max_bytes
        What pieces may take in memory; by default a quarter of what the machine has.
    num_threads
        Of the counting; the counts do not depend on it.
    progress
        Called with the number of pieces done in a pass; an answer that is true, like Ctrl-C, ends it.
    options
        Those of `Stream`.

    Examples
    --------
    >>> import pandas as pd, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> for month in range(3):
    ...     frame = pd.DataFrame({"rain": ["no", "yes", "no"], "grass": ["dry", "wet", "wet"]})
    ...     frame.to_csv(f"{folder.name}/{month}.csv", index=False)
    >>> StreamStatistics(f"{folder.name}/*.csv").counts("grass", ["rain"])
    array([[3, 3],
           [0, 3]])
    >>> folder.cleanup()
    """

    def __init__(
        self,
        source: Any,
        *,
        max_bytes: float | None = None,
        num_threads: int = 2,
        progress: Callable[[int], object] | None = None,
        **options: Any,
    ) -> None:
        stream = source if isinstance(source, Stream) and not options else as_stream(source, **options)
        super().__init__(LocalPartitions(stream, max_bytes, num_threads), progress=progress)


def as_stream(source: Any, **options: Any) -> Stream:
    """Rows in pieces, with more options."""
    return source.read_with(**options) if isinstance(source, Stream) else Stream(source, **options)


def read_statistics(data: DataLike, *, num_threads: int = 2) -> Statistics:
    """Statistics as they are, and those of what `Table.read` takes; in pieces where a table would be too large."""
    if isinstance(data, Statistics):
        return data
    stream = large_stream(data)
    if stream is None:
        return TableStatistics(data, num_threads=num_threads)
    return StreamStatistics(stream, num_threads=num_threads)


def for_learning(data: DataLike, named: Iterable[str] = ()) -> Table | Statistics:
    """The data without columns that are hardly variables, as `Table.for_learning`: a table where it fits in memory."""
    if isinstance(data, Statistics):
        return data.for_learning(named)
    stream = large_stream(data)
    return Table.for_learning(data, named) if stream is None else StreamStatistics(stream.for_learning(named))


def large_stream(data: Any) -> Stream | None:
    """The rows in pieces of which a table would be too large for memory."""
    if isinstance(data, Table) or not (isinstance(data, Stream) or is_in_pieces(data)):
        return None
    stream = as_stream(data)
    return stream if stream.table_bytes > table_limit() else None


def different_numbers(statistics: PartitionedStatistics) -> dict[str, Floats]:
    """Name -> the different numbers of each continuous column, sorted, by one pass."""
    found = {name: [np.empty(0)] for name in statistics.continuous}
    for numbers in statistics.each(_different_numbers) if found else ():
        for name, some in zip(found, numbers, strict=True):
            found[name] = [np.union1d(found[name][0], some)]
    return {name: numbers for name, (numbers,) in found.items()}


def _different_numbers(piece: Piece) -> list[Floats]:
    return [np.unique(column[~np.isnan(column)]) for column in piece.table.numbers]


def _fingerprint(piece: Piece) -> str:
    return fingerprint(piece.table)


def _counts(piece: Piece, requests: Sequence[Request]) -> list[list[Stack]]:
    return piece.statistics.counts_of(requests)


def _moments(piece: Piece, requests: Sequence[Request]) -> list[FamilyMoments]:
    return piece.statistics.moments_of(requests)


def all_added(first: list[list[Stack]], second: list[list[Stack]]) -> list[list[Stack]]:
    """The sums of two answers to the same requests."""
    return [list(map(_added, a, b)) for a, b in zip(first, second, strict=True)]


def _added(first: Stack, second: Stack) -> Stack:
    return Stack(first.places, first.counts + second.counts)


def _empty(variables: Mapping[str, Variable]) -> Table:
    num_states = sum(not variable.is_continuous for variable in variables.values())
    return Table(variables, np.empty((num_states, 0), dtype=np.int8), np.empty((len(variables) - num_states, 0)))
