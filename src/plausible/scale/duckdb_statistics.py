"""Statistics of a DuckDB relation: by SQL where little is asked, in pieces where much is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from copy import copy
from functools import cached_property
from threading import RLock
from typing import TYPE_CHECKING, Any

from plausible.data.column_types import warn_of_doubtful
from plausible.data.moments import FamilyMoments
from plausible.data.partitions import LocalPartitions
from plausible.data.statistics import Request, RequestCost, Stack, Statistics
from plausible.data.stream_statistics import PartitionedStatistics
from plausible.data.streams import Stream, table_limit
from plausible.errors import InvalidArgument, MissingDependency
from plausible.scale.duckdb_rows import DuckDBRows, quoted
from plausible.scale.sql_statistics import SQLStatistics
from plausible.variables import Variable

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection, DuckDBPyRelation

#: To read a cell into memory takes about so many times as long as a query takes for a cell that it looks at.
_READING = 3.0


class DuckDBStatistics(Statistics):
    """Statistics of whatever DuckDB can read: a table, a view, a query, files here or elsewhere.

    Little is asked by SQL, a query for each family, which looks at the columns of that family alone. Reading all rows
    into memory, a byte a cell, takes about three times as long a cell, but is done once: so it is done when queries
    have looked at three times as many cells as there are. The parameters of a network take queries, searches read the
    rows; either way takes at most twice the time of the better one. Rows that have no room in memory are read in pieces
    for each set of requests that would take longer by queries.

    Columns are typed as by `Table.read`; NULL and NaN are missing. Counts are whole numbers where rows have no weights,
    and then those of a `TableStatistics`, bit for bit.

    Parameters
    ----------
    relation
        `duckdb.sql("SELECT ... FROM 's3://...'")`, or another relation; or the name of a table or view.
    connection
        Where the name is known; by default, DuckDB's own.
    variables
        Those that columns stand for; others are found by a query for the different values of each.
    columns
        The names of those to read, in this order; by default all.
    weights, interventions
        As in `Table.read`; columns are told by name.
    max_bytes
        What rows may take in memory; by default a quarter of what the machine has.
    num_threads
        Of the counting in memory; DuckDB has its own.
    progress
        Called with the number of families, or of pieces, that are counted by now; an answer that is true, like Ctrl-C,
        ends it.

    Examples
    --------
    >>> import duckdb
    >>> days = duckdb.sql("SELECT * FROM (VALUES ('no', 'dry'), ('yes', 'wet'), ('no', 'wet')) AS days(rain, grass)")
    >>> DuckDBStatistics(days).counts("grass", ["rain"])
    array([[1, 1],
           [0, 1]])
    """

    def __init__(
        self,
        relation: DuckDBPyRelation | str,
        *,
        connection: DuckDBPyConnection | None = None,
        variables: Mapping[str, Variable] | Iterable[Variable] | None = None,
        columns: Iterable[str] | None = None,
        weights: str | None = None,
        interventions: str | Mapping[str, str] | None = None,
        max_bytes: float | None = None,
        num_threads: int = 2,
        progress: Callable[[int], object] | None = None,
    ) -> None:
        self._rows = DuckDBRows(_relation(relation, connection))
        self._stream = Stream(
            self._rows.relation, variables, columns=columns, weights=weights, interventions=interventions
        )
        self._options: dict[str, Any] = {"weights": weights, "interventions": interventions, "progress": progress}
        self._max_bytes = table_limit() if max_bytes is None else max_bytes
        self._num_threads = num_threads
        self._sql = SQLStatistics(self._rows, self._stream, **self._options)
        self._seen = 0.0  # how many cells of each row queries have looked at
        self._lock = RLock()  # a connection gives one answer at a time

    @property
    def variables(self) -> Mapping[str, Variable]:
        """Name -> variable, in the order of the columns."""
        return self._sql.variables

    @property
    def total(self) -> float:
        return self._sql.total

    @property
    def num_rows(self) -> float:
        """How many rows there are, whatever they weigh."""
        return self._sql.num_rows

    @property
    def interventions(self) -> Mapping[str, float]:
        """Name -> how many rows it was set from outside in."""
        return self._sql.interventions

    @property
    def missing(self) -> Mapping[str, int]:
        """Name -> how many cells of it are missing."""
        return self._sql.missing

    @property
    def is_in_memory(self) -> bool:
        """Whether the rows were read, so that DuckDB is asked no more."""
        return self._has_room and "_pieces" in self.__dict__

    @property
    def by_rows(self) -> PartitionedStatistics:
        """The rows in pieces, for what queries for families can't tell."""
        return self._pieces

    def with_variables(self, variables: Mapping[str, Variable]) -> DuckDBStatistics:
        """The same rows by the states of these variables."""
        known = {name: variable for name, variable in variables.items() if name in self.variables}
        if all(self.variables[name] == variable for name, variable in known.items()):
            return self
        return self._over(self._stream.read_with(variables={**self._stream.given, **known}))

    def _over(self, stream: Stream) -> DuckDBStatistics:
        """The same relation, of which other columns are chosen or otherwise read."""
        again = copy(self)
        for name in ("_pieces", "_has_room"):
            again.__dict__.pop(name, None)
        again._stream, again._sql = stream, SQLStatistics(self._rows, stream, **self._options)
        again._seen = 0.0
        return again

    def for_learning(self, named: Iterable[str] = ()) -> DuckDBStatistics:
        """The same without columns that are hardly variables, where nobody has chosen them."""
        left_out = self._sql.doubts(set(named))
        if not left_out:
            return self
        warn_of_doubtful(left_out)
        kept = {name: variable for name, variable in self.variables.items() if name not in left_out}
        return self._over(self._stream.read_with(variables=kept, columns=list(kept)))

    def counts_of(self, requests: Sequence[Request]) -> list[list[Stack]]:
        """For each request the counts of its families, by shape."""
        with self._lock:
            return self._way(self._sql.num_seen(requests)).counts_of(requests)

    def moments_of(self, requests: Sequence[Request]) -> list[FamilyMoments]:
        """For the family of each request, by its joint states that occur: weight, means and scatter of its numbers."""
        with self._lock:
            return self._way(self._sql.num_multiplied(requests)).moments_of(requests)

    def cost(self, requests: Sequence[Request]) -> RequestCost:
        """The cells that queries look at, or the rows once, whichever will be done."""
        if self.is_in_memory:
            return self._pieces.cost(requests)
        num_seen = self._sql.num_seen(requests)
        reads = num_seen if self._seen + num_seen <= self._to_read else self._to_read
        return super().cost(requests)._replace(num_reads=self.num_rows * reads)

    def _way(self, num_seen: float) -> Statistics:
        """Who answers what would have queries look at so many cells of each row."""
        if self.is_in_memory or self._seen + num_seen > self._to_read:
            return self._pieces
        self._seen += num_seen if self._has_room else 0
        return self._sql

    @property
    def _to_read(self) -> float:
        """How many cells of each row queries look at in the time in which all are read."""
        return _READING * len(self.variables)

    @cached_property
    def _has_room(self) -> bool:
        """Whether all rows can stay in memory."""
        return self.num_rows * (len(self.discrete) + 8 * len(self.continuous)) <= self._max_bytes

    @cached_property
    def _pieces(self) -> PartitionedStatistics:
        """The rows, once they are read."""
        pieces = LocalPartitions(self._stream.read_with(variables=self.variables), self._max_bytes, self._num_threads)
        return PartitionedStatistics(pieces, progress=self._options["progress"])

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {len(self.variables)} variables>"


def _relation(given: Any, connection: Any) -> Any:
    try:
        import duckdb
    except ImportError:
        raise MissingDependency.extra("duckdb", "scale") from None
    if isinstance(given, duckdb.DuckDBPyRelation):
        return given
    if not isinstance(given, str):
        raise InvalidArgument(
            f"A relation of DuckDB's is expected, such as duckdb.sql('FROM rows'), or the name of a table, not "
            f"{type(given).__name__}."
        )
    for name in (given, quoted(given)):
        with suppress(duckdb.Error):
            return (connection or duckdb).table(name)
    raise InvalidArgument(
        f"The database has no table or view {given!r}. A query is a relation: duckdb.sql('SELECT ...')."
    )
