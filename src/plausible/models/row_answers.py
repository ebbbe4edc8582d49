"""An answer for each row of evidence: in memory, or piece by piece from files to a file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from plausible.base import Argument, Call, Remedy
from plausible.data.batches import NUMBERS, WHOLE_NUMBERS, Batch, Values
from plausible.data.columns import PlacedColumns, as_categories, frame_columns
from plausible.data.factorizing import is_absent
from plausible.data.row_files import ColumnKind, WrittenRows, check_rows_path, new_rows
from plausible.data.source_parts import is_in_pieces
from plausible.data.streams import Stream
from plausible.errors import InvalidArgument, UnknownVariable
from plausible.models.samples import Progress
from plausible.variables import Variable

if TYPE_CHECKING:
    import pandas as pd
    from narwhals.typing import IntoDataFrame

#: Rows of evidence: a frame, named columns, files of any size, or what else a `Stream` takes.
RowsLike: TypeAlias = "IntoDataFrame | Mapping[str, Sequence[Any]] | Stream | str | Path | Sequence[str | Path]"
#: Name -> cells of the columns that name rows.
_Labels: TypeAlias = dict[str, NDArray[Any]]
#: Of columns of evidence: for each row a number, or one for each column of the answer.
Answering: TypeAlias = Callable[[Any], NDArray[Any]]

#: What a column that names rows holds -> what it holds in a file; all else is text there.
_KINDS_OF_LABELS = {WHOLE_NUMBERS: int, NUMBERS: float, "booleans": bool, "i": int, "u": int, "f": float, "b": bool}


@dataclass(frozen=True, slots=True)
class RowQuestion:
    """What is asked of each row of evidence."""

    variables: Mapping[str, Variable]  # of the model
    place: str  # what errors call the model
    kinds: Mapping[str, ColumnKind]  # name -> what is in it, of each column of the answer
    answer: Answering
    target: str | None = None  # nothing is observed of it

    def answers(self, rows: Any, progress: Progress | None = None) -> tuple[NDArray[Any], pd.Index[Any] | None]:
        """The answers to all rows, and what names these."""
        if not is_in_files(rows):
            return self.answer(unlabelled(rows, self.target)), index_of(rows)
        import pandas as pd

        pieces = list(self._in_pieces(self._stream(rows), progress))
        answers = np.concatenate([answer for answer, _ in pieces])
        names = list(pieces[0][1])
        if not names:
            return answers, None
        cells = {name: np.concatenate([labels[name] for _, labels in pieces]).tolist() for name in names}
        return answers, pd.DataFrame(cells).set_index(names).index

    def write(self, rows: Any, path: str | PathLike[str], progress: Progress | None = None) -> WrittenRows:
        """Write the answers to a file, in the order of the rows, after the columns that name these."""
        if is_in_files(rows):
            stream = self._stream(rows)
            target, pieces = check_rows_path(path, stream.paths), self._in_pieces(stream, progress)
            kinds = {name: _KINDS_OF_LABELS.get(stream.parts[0].kinds.get(name, ""), str) for name in stream.index}
        else:
            target, labels = check_rows_path(path), _labels_of(index_of(rows))
            pieces = iter([(self.answer(unlabelled(rows, self.target)), labels)])
            kinds = {name: _KINDS_OF_LABELS.get(cells.dtype.kind, str) for name, cells in labels.items()}
        for name in self.kinds:
            if name in kinds:
                raise InvalidArgument(f"There would be two columns {name!r}: rename the one that names the rows.")
        with new_rows(target, {**kinds, **self.kinds}) as writer:
            for answer, labels in pieces:
                cells = {name: _texts(cells) if kinds[name] is str else cells for name, cells in labels.items()}
                columns = [answer] if answer.ndim == 1 else answer.T
                writer.write({**cells, **dict(zip(self.kinds, columns, strict=True))})
        return writer.written(target)

    def _stream(self, rows: Any) -> Stream:
        """The evidence among the columns of files, by the states of the model."""
        stream = rows if isinstance(rows, Stream) else Stream(rows)
        for name in stream.names:
            if name not in self.variables:
                problem = UnknownVariable.named(name, self.variables, f"{self.place}, but a column of the data")
                without = Call("pb.data.Stream", Argument("source", ...), Argument("columns", ...))
                label = Call("pb.data.Stream", Argument("source", ...), Argument("index", name))
                raise UnknownVariable(
                    str(problem),
                    remedies=[Remedy("leave it out: ", without), Remedy("say that it names the rows: ", label)],
                )
        evidence = [name for name in stream.names if name != self.target]
        used = evidence or stream.names[:1]  # some column tells how many rows there are
        return stream.read_with(variables=[self.variables[name] for name in used], columns=used)

    def _in_pieces(self, stream: Stream, progress: Progress | None) -> Iterator[tuple[NDArray[Any], _Labels]]:
        """The answers to some rows at a time, with what names these; one piece at least, which may have no rows."""
        num_done = 0
        for part in stream.parts:
            for batch in stream.batches(part, stream.index):
                columns = {
                    name: as_categories(stream.variables[name], cells) for name, cells in stream.encode(batch).items()
                }
                placed = PlacedColumns(columns, batch.place, batch.row)
                yield self.answer(unlabelled(placed, self.target)), _labels_in(batch, stream.index)
                num_done += batch.num_rows
                if progress is not None and progress(num_done):
                    raise KeyboardInterrupt
        if not num_done:
            none: dict[str, Any] = {name: [] for name in stream.names}
            yield self.answer(unlabelled(none, self.target)), {name: np.empty(0, object) for name in stream.index}


def is_in_files(rows: Any) -> bool:
    """Whether rows of evidence are read piece by piece."""
    return isinstance(rows, (str, Path, Stream)) or is_in_pieces(rows)


def unlabelled(rows: Any, target: str | None) -> Any:
    """The rows with nothing observed of the target."""
    columns = rows if isinstance(rows, Mapping) else frame_columns(rows)
    if target not in columns:
        return rows
    nothing = {**columns, target: np.full(len(columns[target]), np.nan)}
    return PlacedColumns(nothing, rows.place, rows.row_of) if isinstance(rows, PlacedColumns) else nothing


def index_of(frame: Any) -> Any:
    """The index of a pandas frame."""
    import pandas as pd

    return frame.index if isinstance(frame, pd.DataFrame) else None


def _labels_of(index: Any) -> _Labels:
    """The levels of an index that is not just the numbers of the rows."""
    import pandas as pd

    if index is None or (isinstance(index, pd.RangeIndex) and index.name is None and index.start == 0):
        return {}
    levels = [index.get_level_values(number) for number in range(index.nlevels)]
    return {str(level.name or f"__index_level_{number}__"): level.to_numpy() for number, level in enumerate(levels)}


def _labels_in(batch: Batch, names: Sequence[str]) -> _Labels:
    labels: _Labels = {}
    for name in names:
        cells = batch.columns[name]
        if isinstance(cells, Values):
            values = np.empty(len(cells.values) + 1, dtype=object)
            values[:-1] = cells.values
            labels[name] = values[cells.places]
        else:
            labels[name] = cells.numbers
    return labels


def _texts(cells: NDArray[Any]) -> list[str | None]:
    return [None if is_absent(cell) else str(cell) for cell in cells.tolist()]
