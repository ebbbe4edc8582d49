"""What rows in pieces are read from: files, globs and folders; readers of Arrow's, lazy frames, DuckDB relations."""

from __future__ import annotations

import glob
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np

from plausible.base.remedies import Argument, Call, Remedy
from plausible.data.arrow_parts import arrow_part, parquet_parts, pyarrow, reader_part
from plausible.data.batches import (
    CELLS,
    NO_WISHES,
    NOTHING,
    Batch,
    KeptPart,
    Kind,
    Part,
    Values,
    csv_part,
    joined_kind,
)
from plausible.data.csv_columns import CSVFormat, csv_ending
from plausible.errors import FormatError, InvalidArgument, MissingFile
from plausible.variables import Variable

PARQUET, ARROW = (".parquet", ".pq"), (".arrow", ".feather", ".ipc")
#: What folders are named after where a value is missing.
_MISSING_FOLDER = "__HIVE_DEFAULT_PARTITION__"
#: CSV files from so many bytes on are read in pieces.
_LARGE = 2**26


def is_in_pieces(source: Any) -> bool:
    """Whether a source is read in pieces: all but a small CSV file and what lies in memory."""
    if isinstance(source, (str, Path)):
        path = Path(source)
        if csv_ending(path) is None or not path.is_file():
            return path.is_dir() or _is_glob(path) or path.name.lower().endswith((*PARQUET, *ARROW))
        return path.stat().st_size >= _LARGE
    if isinstance(source, (list, tuple)):
        return bool(source) and all(isinstance(item, (str, Path)) for item in source)
    return _reader(source) is not None


def parts_of(source: Any, form: CSVFormat | None = None) -> list[Part]:
    """The parts of a source, in the order of the names of its files."""
    if isinstance(source, (str, Path)) or (isinstance(source, (list, tuple)) and is_in_pieces(source)):
        given = [source] if isinstance(source, (str, Path)) else source
        files = [found for item in given for found in files_of(Path(item))]
        return [part for path, constants in files for part in _of_file(path, form, constants)]
    reader = _reader(source)
    if reader is None:
        raise InvalidArgument(
            "Rows in pieces are those of a file, of several (a glob, a folder, a list of paths), of a reader of "
            f"Arrow's, a lazy frame of polars or a DuckDB relation, not {type(source).__name__}. Table.read reads what "
            "is in memory."
        )
    return [reader]


def _is_glob(path: Path) -> bool:
    return glob.has_magic(str(path)) and not path.exists()


def files_of(path: Path) -> Iterator[tuple[Path, dict[str, str | None]]]:
    """The files that a path stands for; what the folders below it say of them, by names such as year=2020."""
    if _is_glob(path):
        found = sorted(map(Path, glob.glob(str(path), recursive=True)))
        if not found:
            raise MissingFile(f"No file is called {str(path)!r}, looked for in {str(Path.cwd())!r}.")
        fixed = next(place for place, part in enumerate(path.parts) if glob.has_magic(part))
        for one in found:
            told = _constants(one.parts[fixed:-1])
            if any(name.startswith("_") for name in one.parts[fixed : None if one.is_dir() else -1]):
                continue
            if one.is_dir():
                yield from ((file, {**told, **_constants([one.name]), **more}) for file, more in files_of(one))
            else:
                yield one, told
    elif path.is_dir():
        below = sorted(one for one in path.rglob("*") if one.is_file() and _is_data(one.relative_to(path)))
        if not below:
            endings = ", ".join((".csv", ".tsv", *PARQUET, *ARROW))
            raise MissingFile(f"The folder {str(path)!r} has no file of data ({endings}).")
        yield from ((one, _constants(one.relative_to(path).parts[:-1])) for one in below)
    elif not path.exists():
        raise MissingFile.at(path, (".csv", ".tsv", *PARQUET, *ARROW))
    else:
        yield path, {}


def _is_data(path: Path) -> bool:
    """Whether a file in a folder is one of data; hidden ones, and those in folders such as _temporary, are none."""
    is_hidden = path.name.startswith(".") or any(name.startswith((".", "_")) for name in path.parts[:-1])
    return not is_hidden and (path.name.lower().endswith((*PARQUET, *ARROW)) or csv_ending(path) is not None)


def _constants(folders: Iterable[str]) -> dict[str, str | None]:
    """Name -> value, of folders whose names tell a column, as Hive writes them; `None` where it is missing."""
    pairs = (folder.partition("=") for folder in folders)
    told = {unquote(name): unquote(value) for name, sign, value in pairs if sign and name}
    return {name: None if value == _MISSING_FOLDER else value for name, value in told.items()}


def _of_file(path: Path, form: CSVFormat | None, constants: Mapping[str, str | None]) -> Sequence[Part]:
    path = path.absolute()  # so that it is the same file for whoever works elsewhere
    name, parts = path.name.lower(), list[Part]()
    if name.endswith(PARQUET):
        parts += parquet_parts(path)
    elif name.endswith(ARROW):
        parts.append(arrow_part(path))
    elif csv_ending(path) is not None:
        parts.append(csv_part(path, form))
    else:
        raise InvalidArgument(f"{str(path)!r} is no file of data: .csv, .tsv, {', '.join((*PARQUET, *ARROW))}.")
    return [_WithConstants(part, dict(constants)) for part in parts] if constants else parts


@dataclass(frozen=True, slots=True)
class _WithConstants(Part):
    """A part with the columns that the names of its folders tell."""

    part: Part
    constants: Mapping[str, str | None]

    @property
    def place(self) -> str:
        return self.part.place

    @property
    def kinds(self) -> Mapping[str, Kind]:
        return {**dict.fromkeys(self.constants, CELLS), **self.part.kinds}

    @property
    def num_rows(self) -> int:
        return self.part.num_rows

    @property
    def num_bytes(self) -> float:
        return self.part.num_bytes

    @property
    def file(self) -> Path | None:
        return self.part.file

    @property
    def index(self) -> Sequence[str]:
        return self.part.index

    def batches(self, names: Sequence[str], wanted: Mapping[str, Sequence[Any]] = NO_WISHES) -> Iterator[Batch]:
        stored = [name for name in names if name in self.part.kinds]
        told = {name: text for name, text in self.constants.items() if name not in self.part.kinds}
        if any(str(told[name]) not in map(str, values) for name, values in wanted.items() if name in told):
            return
        for batch in self.part.batches(stored or list(self.part.kinds)[:1], wanted):
            none = np.zeros(batch.num_rows, dtype=np.int8)
            constant = {name: Values(CELLS, none, [text]) for name, text in told.items()}
            yield batch._replace(columns={name: ({**constant, **batch.columns})[name] for name in names})


def _reader(source: Any) -> Part | None:
    """What another library reads, in batches of Arrow's; `None` for anything else."""
    if hasattr(source, "read_next_batch"):  # a reader of Arrow's
        return KeptPart(reader_part(lambda names: source, source.schema, "the reader"))
    if hasattr(source, "projected_schema") and hasattr(source, "to_batches"):  # a scanner of Arrow's
        return reader_part(lambda names: source.to_batches(), source.projected_schema, "the scanner")
    if hasattr(source, "scanner") and hasattr(source, "to_batches"):  # a dataset of Arrow's
        return reader_part(lambda names: source.to_batches(columns=list(names)), source.schema, "the dataset")
    if hasattr(source, "to_arrow_reader") and hasattr(source, "aggregate"):  # a relation of DuckDB's
        schema = source.limit(0).to_arrow_table().schema
        return reader_part(lambda names: _selected(source, names).to_arrow_reader(), schema, "the relation")
    if hasattr(source, "collect_batches") and hasattr(source, "collect_schema"):  # a lazy frame of polars'
        pyarrow()
        schema = source.limit(0).collect().to_arrow().schema
        return reader_part(lambda names: _polars_batches(source.select(names)), schema, "the lazy frame")
    return None


def _selected(relation: Any, names: Sequence[str]) -> Any:
    """Some columns of a relation of DuckDB's, whatever their names are."""
    quoted = (name.replace('"', '""') for name in names)
    return relation.project(", ".join(f'"{name}"' for name in quoted))


def _polars_batches(lazy: Any) -> Iterator[Any]:
    for frame in lazy.collect_batches(maintain_order=True):
        yield from frame.to_arrow().to_batches()


def refuse_drift(parts: Sequence[Part], names: Iterable[str] | None, known: Iterable[str]) -> list[str]:
    """The names of the columns of all parts, or those wanted; refused if parts differ in them, by file.

    Columns of known variables may hold anything that stands for their states.
    """
    first, there = parts[0], [name for name in parts[0].kinds if name not in parts[0].index]
    wanted = there if names is None else list(names)
    for part in parts[1:]:
        for name in wanted if names is not None else dict.fromkeys((*there, *part.kinds)):
            if name in part.index and name not in wanted:
                continue
            for one, other in ((part, first), (first, part)):
                if name not in one.kinds and name in other.kinds:
                    raise FormatError(f"There is no column {name!r}, which is in {other.place}.", file=one.place)
    for name in wanted:
        before: tuple[Kind, str] = (NOTHING, "")
        for part in parts if name not in set(known) else ():
            kind = part.kinds.get(name, NOTHING)
            joined = joined_kind(before[0], kind)
            if joined is None:
                raise drift(name, before, (kind, part.place))
            before = before if joined == before[0] else (joined, part.place)
    return wanted


def drift(name: str, first: tuple[Kind, str], second: tuple[Kind, str]) -> FormatError:
    """The error for a column that holds something else from some place on; (kind, place) of both."""
    known = Call("pb.data.Stream", Argument("source", ...), Argument("variables", [Variable(name, ["a", "b"])]))
    return FormatError(
        f"The column {name!r} holds {second[0]} here, but {first[0]} in {first[1]}.",
        file=second[1],
        remedies=[Remedy("write all files alike"), Remedy("say what it stands for: ", known)],
    )
