"""Tables that stream through a command a chunk of rows at a time, so that a file may be larger than memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from plausible.errors import PlausibleError
from plausible.variables import Variable

__all__ = ["Chunk", "ColumnKind", "TableReader", "TableWriter", "kind_of", "rows_in_chunk"]

#: What a column holds: `str`, `int`, `float`, `bool`, or a type of Arrow's where it comes from a Parquet file.
ColumnKind: TypeAlias = Any

_MAX_CELLS = 1_000_000
_MAX_ROWS = 65_536


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some rows of a table."""

    columns: Mapping[str, Sequence[Any]]  # name -> its cells; `None` where one is empty
    num_rows: int  # how many
    #: Row of this chunk and problem -> the error that names the place in the file.
    error: Callable[[int, str], PlausibleError]


class TableReader(Protocol):
    """A table to read from start to end."""

    @property
    def columns(self) -> Mapping[str, ColumnKind]:
        """Name -> what the column holds, in order."""

    @property
    def fraction(self) -> float | None:
        """How much of the table was read, from zero to one; `None` if nobody knows."""

    def chunks(self) -> Iterator[Chunk]:
        """The rows, in order."""


class TableWriter(Protocol):
    """A table to write from start to end."""

    def write(self, columns: Mapping[str, Sequence[Any]]) -> None:
        """Append rows: for each column, in order, as many cells."""


def rows_in_chunk(num_columns: int) -> int:
    """How many rows to hold at once: fewer of a wide table.

    >>> rows_in_chunk(10), rows_in_chunk(1000)
    (65536, 1000)
    """
    return max(1, min(_MAX_ROWS, _MAX_CELLS // max(num_columns, 1)))


def kind_of(variable: Variable) -> ColumnKind:
    """What a column of this variable's states, or numbers, holds; text where they are of several types.

    >>> kind_of(Variable("X", 2)), kind_of(Variable("Y", ["a", 1])), kind_of(Variable("Z"))
    (<class 'int'>, <class 'str'>, <class 'float'>)
    """
    if variable.is_continuous:
        return float
    kinds = {type(state) for state in variable.states}
    return kinds.pop() if len(kinds) == 1 and kinds <= {bool, int, float} else str
