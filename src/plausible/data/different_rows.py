"""Equal rows as one row that counts as often."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from plausible.base.arrays import Floats, Positions
from plausible.base.remedies import Argument, Call, Remedy
from plausible.data.partitions import pieces_of
from plausible.data.source_parts import is_in_pieces
from plausible.data.streams import Stream, table_limit
from plausible.data.table import Table, TableLike
from plausible.errors import TooLarge

#: A key of columns together stays below this.
_LARGEST_KEY = 2**62
#: Rows that wait to be put together with those before, at least.
_FEW_ROWS = 2**20


def compressed(source: TableLike) -> Table:
    """The different rows of some data, in the order in which they come first, each weighing as much as all its equals.

    Statistics of them are those of all rows, and rows in pieces never are in memory together: data that don't fit may
    fit compressed, and need no further pass. That pays where few of the rows are different, as in narrow tables; wide
    ones are counted faster as they are. O(rows · columns).

    Examples
    --------
    >>> table = compressed({"rain": ["no", "yes", "no"], "grass": ["dry", "wet", "dry"]})
    >>> table.codes, table.weights
    (array([[0, 1],
           [0, 1]], dtype=int8), array([2., 1.]))
    """
    different: list[Table] = []
    num_waiting = 0
    for table in _tables(source):
        different.append(_without_equals(table))
        num_waiting += different[-1].num_rows
        if num_waiting > max(2 * different[0].num_rows, _FEW_ROWS):
            different = [_without_equals(_together(different))]
            num_waiting = different[0].num_rows
            _refuse_large(different[0])
    return different[0] if len(different) == 1 else _without_equals(_together(different))


def _tables(source: TableLike) -> Iterator[Table]:
    """The rows, as many at a time as fit in little memory; one table at least."""
    if not (isinstance(source, Stream) or is_in_pieces(source)):
        yield Table.read(source)
        return
    stream, num_tables = source if isinstance(source, Stream) else Stream(source), 0
    for part in stream.parts:
        for piece in pieces_of(stream, part):
            num_tables += 1
            yield piece.table
    if not num_tables:
        yield Table.read(stream)


def _without_equals(table: Table) -> Table:
    groups, first = _groups(table)
    weights = np.bincount(groups, table.weights, minlength=len(first)).astype(np.float64)
    return table.take(first).weighted(weights)


def _groups(table: Table) -> tuple[Positions, Positions]:
    """For each row the number of the row that it equals, of those that differ, and where each of these comes first."""
    import pandas as pd

    columns: list[tuple[NDArray[np.signedinteger], int]] = []
    for name, codes in zip(table.discrete, table.codes, strict=True):
        columns.append((codes, table.variables[name].num_states))
    for numbers in table.numbers:
        places, values = pd.factorize(numbers)
        columns.append((places, len(values)))
    columns += [(flags.astype(np.int8), 2) for flags in table.interventions.values()]
    key, bound = np.zeros(table.num_rows, dtype=np.int64), 1
    for codes, num_values in columns:
        if bound * (num_values + 1) >= _LARGEST_KEY:
            key, values = pd.factorize(key)
            bound = len(values)
        key = key * (num_values + 1) + (codes + np.int64(1))  # -1 is missing
        bound *= num_values + 1
    groups, values = pd.factorize(key)
    first = np.empty(len(values), dtype=np.intp)
    first[groups[::-1]] = np.arange(table.num_rows)[::-1]
    return groups, first


def _together(tables: Sequence[Table]) -> Table:
    """The rows of tables of the same variables."""
    marked = dict.fromkeys(name for table in tables for name in table.interventions)
    weights: Floats = np.concatenate([table.row_weights for table in tables])
    return Table(
        tables[0].variables,
        np.concatenate([table.codes for table in tables], axis=1),
        np.concatenate([table.numbers for table in tables], axis=1),
        weights,
        {
            name: np.concatenate([t.interventions.get(name, np.zeros(t.num_rows, dtype=np.bool_)) for t in tables])
            for name in marked
        },
    )


def _refuse_large(table: Table) -> None:
    if table.codes.nbytes + table.numbers.nbytes > table_limit():
        parts = Call("pb.data.StreamStatistics", Argument("source", ...))
        raise TooLarge(
            f"There are too many different rows for memory, {table.num_rows} so far.",
            remedies=[Remedy("count them in pieces: ", parts), Remedy("read some columns: ", Argument("columns", ...))],
        )
