"""Tables in Parquet files, by the optional library pyarrow: columns keep their types."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any, BinaryIO

from plausible.cli.chunks import Chunk, ColumnKind, rows_in_chunk
from plausible.errors import InvalidArgument, MissingDependency

__all__ = ["ParquetReader", "ParquetWriter", "parquet_reader", "parquet_rows", "read_parquet", "write_parquet"]


class ParquetReader:
    """The rows of an open Parquet file, a batch at a time."""

    def __init__(self, path: Path, file: Any) -> None:
        self._path, self._file = path, file
        self._num_read = 0
        names = file.schema_arrow.names
        repeated = next((name for name in names if names.count(name) > 1), None)
        if repeated is not None:
            raise InvalidArgument(f"{path} has two columns {repeated!r}.")

    @property
    def columns(self) -> Mapping[str, ColumnKind]:
        """Name -> the type that Arrow gives it."""
        return {field.name: field.type for field in self._file.schema_arrow}

    @property
    def fraction(self) -> float:
        """By the rows that were read."""
        return float(self._num_read / max(self._file.metadata.num_rows, 1))

    def chunks(self) -> Iterator[Chunk]:
        """The rows, in order; columns are arrays of Arrow's."""
        import pyarrow as pa  # type: ignore[import-untyped]

        batches = self._file.iter_batches(batch_size=rows_in_chunk(len(self._file.schema_arrow)))
        while True:
            try:
                batch = next(batches, None)
            except (pa.ArrowException, OSError) as error:
                raise _unreadable(self._path, error) from error
            if batch is None:
                return
            first, self._num_read = self._num_read, self._num_read + batch.num_rows
            columns = dict(zip(batch.schema.names, batch.columns, strict=True))
            yield Chunk(columns, batch.num_rows, self._error_after(first))

    def _error_after(self, first: int) -> Callable[[int, str], InvalidArgument]:
        return lambda row, problem: InvalidArgument(f"{self._path}, row {first + row + 1}: {problem}")


class ParquetWriter:
    """Rows appended to an open Parquet file, a group at a time."""

    def __init__(self, file: Any, schema: Any) -> None:
        self._file, self._schema = file, schema

    def write(self, columns: Mapping[str, Sequence[Any]]) -> None:
        """Append rows; arrays of Arrow's go through as they are."""
        import pyarrow as pa

        arrays = [
            cells if isinstance(cells, pa.Array) else pa.array(cells, type=field.type)
            for cells, field in zip(columns.values(), self._schema, strict=True)
        ]
        self._file.write_batch(pa.record_batch(arrays, schema=self._schema))


@contextmanager
def read_parquet(path: Path) -> Iterator[ParquetReader]:
    """An open Parquet file."""
    with path.open("rb") as stream:
        yield parquet_reader(path, stream)


def parquet_reader(path: Path, stream: BinaryIO) -> ParquetReader:
    """The rows of a Parquet file that is open, and has this name in messages."""
    _require_pyarrow()
    import pyarrow as pa
    import pyarrow.parquet as pq  # type: ignore[import-untyped]

    try:
        return ParquetReader(path, pq.ParquetFile(stream))
    except (pa.ArrowException, OSError) as error:
        raise _unreadable(path, error) from error


@contextmanager
def write_parquet(path: Path, kinds: Mapping[str, ColumnKind]) -> Iterator[ParquetWriter]:
    """A new Parquet file with columns of these kinds."""
    with path.open("wb") as stream, parquet_rows(stream, kinds) as writer:
        yield writer


@contextmanager
def parquet_rows(stream: BinaryIO, kinds: Mapping[str, ColumnKind]) -> Iterator[ParquetWriter]:
    """A Parquet file that is written to an open stream."""
    _require_pyarrow()
    import pyarrow as pa
    import pyarrow.parquet as pq

    types = {str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_()}
    schema = pa.schema([(name, types.get(kind, kind)) for name, kind in kinds.items()])
    with pq.ParquetWriter(stream, schema) as file:
        yield ParquetWriter(file, schema)


def _require_pyarrow() -> None:
    if find_spec("pyarrow") is None:
        raise MissingDependency.extra("pyarrow", "scale")


def _unreadable(path: Path, error: Exception) -> InvalidArgument:
    return InvalidArgument(f"{path} can't be read as Parquet: {error}")
