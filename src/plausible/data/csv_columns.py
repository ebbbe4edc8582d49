"""Columns of CSV files, whose texts tell their types by their looks."""

from __future__ import annotations

import bz2
import codecs
import csv
import gzip
import lzma
import re
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast

import numpy as np

from plausible.base.arrays import Positions
from plausible.base.remedies import Argument, Call, Remedy
from plausible.data.factorizing import MissingValues, factorize, means_missing
from plausible.errors import FormatError, InvalidArgument

#: Ending -> how the file is opened.
_PACKED: Mapping[str, Callable[..., Any]] = {"": open, ".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
CSV_OPENERS: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {f"{ending}{packed}": opener for ending in (".csv", ".tsv") for packed, opener in _PACKED.items()}
)
_UNREADABLE = (OSError, EOFError, zlib.error, lzma.LZMAError)

#: A whole number as it is written: one without a decimal point, a power or leading zeros.
WHOLE_NUMBER = re.compile(r"[+-]?(0|[1-9][0-9]{0,999})")
_PADDED = re.compile(r"[+-]?0[0-9]+")
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_INFINITE = re.compile(r"[+-]?inf(inity)?", re.IGNORECASE)
_BOOLEANS = ({"False": False, "True": True}, {"false": False, "true": True}, {"FALSE": False, "TRUE": True})
_WORDS_FOR_MISSING = frozenset({"na", "n/a", "#n/a", "<na>", "nan", "-nan", "null", "none", "nil", "?", "-", "."})


@dataclass(frozen=True, slots=True, eq=False)
class TextColumn:
    """The cells of a column of a CSV file; only empty ones are missing, and those `without` which it is meant."""

    name: str  # of the column
    places: Positions  # by row, the place of its text; -1 where the cell is missing; empty where texts alone are known
    texts: Sequence[str]  # the different texts

    @property
    def values(self) -> list[Any]:
        """What each text stands for.

        All of them are booleans, or whole numbers (without a decimal point, a power or leading zeros, which make
        codes such as 007 text), or numbers, or text.
        """
        for words in _BOOLEANS:
            if self.texts and words.keys() >= set(self.texts):
                return [words[text] for text in self.texts]
        texts = [text.strip() for text in self.texts]
        if all(map(WHOLE_NUMBER.fullmatch, texts)):
            return list(map(int, texts))
        if any(map(_PADDED.fullmatch, texts)):
            return list(self.texts)
        others = [text for text in texts if not _NUMBER.fullmatch(text) and not _INFINITE.fullmatch(text)]
        if not others:
            return list(map(float, texts))
        self._refuse_words_among_fractions(texts, others)
        return list(self.texts)

    def typed(self) -> Any:
        """The column as it is meant: numbers, NaN where missing, or sorted categories."""
        import pandas as pd

        values = self.values
        if any(isinstance(value, float) for value in values):
            return np.array([*values, np.nan])[self.places]
        distinct = [False, True] if values and isinstance(values[0], bool) else sorted(set(values))
        positions = {value: position for position, value in enumerate(distinct)}
        codes = np.array([*map(positions.__getitem__, values), -1], dtype=np.intp)[self.places]
        return pd.Series(pd.Categorical.from_codes(codes, categories=pd.Index(distinct, dtype=object)))

    def without(self, markers: MissingValues) -> TextColumn:
        """The column in which some texts mean missing."""
        places, texts = markers.leave_out(self.places, self.texts)
        return replace(self, places=places, texts=texts)

    def _refuse_words_among_fractions(self, texts: Sequence[str], others: Sequence[str]) -> None:
        """A column of measurements in which a word says that one is missing would have a state for each number."""
        has_fraction = any(_NUMBER.fullmatch(text) and not WHOLE_NUMBER.fullmatch(text) for text in texts)
        if has_fraction and all(text.lower() in _WORDS_FOR_MISSING for text in others):
            rows = np.flatnonzero(self.places == texts.index(others[0]))
            where = f"Row {rows[0]} of column" if len(rows) else "A cell of column"
            problem = f"{where} {self.name!r} is {others[0]!r} among fractional numbers. "
            some = Call("pb.Table.read", Argument("source", ...), Argument("columns", ...))  # no shell has it
            raise FormatError(
                f"{problem}Only an empty cell is missing.",
                remedies=[Remedy("leave it empty"), means_missing([others[0]]), Remedy("read other columns: ", some)],
            )


@dataclass(frozen=True, slots=True)
class CSVFormat:
    """How the cells of a CSV file are written."""

    separator: str = ","
    decimal: str = "."  # what stands before the fraction of a number
    encoding: str = "utf-8"

    def __post_init__(self) -> None:
        for name in ("separator", "decimal"):
            if not isinstance(getattr(self, name), str) or len(getattr(self, name)) != 1:
                raise InvalidArgument(f"{name}= is one sign, such as ';', not {getattr(self, name)!r}.")
        if self.separator == self.decimal:
            raise InvalidArgument(f"separator= and decimal= are both {self.decimal!r}; they have to differ.")
        try:
            codecs.lookup(self.encoding)
        except (LookupError, TypeError):
            raise InvalidArgument(
                f"encoding={self.encoding!r} is unknown; such are 'utf-8', 'latin-1', 'cp1252'."
            ) from None

    @classmethod
    def of(cls, path: Path) -> CSVFormat:
        """The usual one of a file: between tabs, where its ending says so."""
        return cls("\t") if ".tsv" in path.name.lower() else cls()

    @property
    def has_marks(self) -> bool:
        """Whether a file may begin with a byte-order mark."""
        return codecs.lookup(self.encoding).name == "utf-8"


def is_number(text: str) -> bool:
    """Whether a text is a number without leading zeros."""
    return _NUMBER.fullmatch(text.strip()) is not None and not _PADDED.fullmatch(text.strip())


def is_fraction(text: str) -> bool:
    """Whether the text of a number is not that of a whole one."""
    return not WHOLE_NUMBER.fullmatch(text.strip())


def csv_ending(path: Path) -> str | None:
    """The ending by which a file is a CSV file; `None` where it is none."""
    return next((ending for ending in CSV_OPENERS if path.name.lower().endswith(ending)), None)


def read_csv_columns(path: Path) -> dict[str, TextColumn]:
    """Name -> column of a file in UTF-8 whose first line names the columns; blank lines are skipped."""
    return next(csv_pieces(path, CSVFormat.of(path)))


def csv_pieces(path: Path, form: CSVFormat, num_rows: int | None = None) -> Iterator[dict[str, TextColumn]]:
    """Name -> column, of so many rows at a time; one piece at least, which may have no rows."""
    import pandas as pd

    names: list[str] = []
    is_checked = False
    try:
        with csv_text(path, form) as stream:
            if form.separator == ",":
                refuse_other_separators(stream.readline(), str(path))
        for frame in _frames(path, form, num_rows):
            if not is_checked and frame.iloc[:, -1].isna().any():
                _refuse_ragged(path, form)
                is_checked = True
            cells = frame if names else frame.iloc[1:]
            names = names or _names(path, frame.iloc[0].tolist())
            yield {name: _column(name, cells.iloc[:, place], form) for place, name in enumerate(names)}
    except pd.errors.ParserError as error:
        _refuse_ragged(path, form)
        raise FormatError(f"The file can't be read as CSV: {str(error).strip()}", file=str(path)) from None
    except pd.errors.EmptyDataError:
        problem = "The file can't be read as CSV: it is empty, but its first line should name the columns."
        raise FormatError(problem, file=str(path)) from None
    except UnicodeError as error:
        if form.has_marks:
            problem = f"The file is not written in UTF-8: {error}. Save it as UTF-8."
        else:
            problem = f"The file is not written in {form.encoding}: {error}. Give another encoding=."
        raise FormatError(problem, file=str(path)) from None
    except _UNREADABLE as error:
        raise FormatError(f"The file can't be read: {error}.", file=str(path)) from None


def _frames(path: Path, form: CSVFormat, num_rows: int | None) -> Iterator[Any]:
    import pandas as pd

    options: dict[str, Any] = {"sep": form.separator, "encoding": form.encoding, "chunksize": num_rows}
    read = pd.read_csv(path, header=None, dtype=str, keep_default_na=False, na_values=[""], **options)
    if num_rows is None:
        yield read
        return
    with read:
        yield from read


def _column(name: str, cells: Any, form: CSVFormat) -> TextColumn:
    places, texts = factorize(name, cells)
    if form.decimal != ".":
        texts = [_pointed(text, form.decimal) for text in texts]
    return TextColumn(name, places, texts)


def _pointed(text: str, decimal: str) -> str:
    """A number with a point before its fraction; other texts as they are."""
    pointed = text.replace(decimal, ".")
    return pointed if "." not in text and _NUMBER.fullmatch(pointed.strip()) else text


def csv_text(path: Path, form: CSVFormat) -> Any:
    """The text of a file, whatever it is packed in; signs that are none in its encoding are replaced."""
    encoding = "utf-8-sig" if form.has_marks else form.encoding
    return CSV_OPENERS[csv_ending(path) or ".csv"](path, mode="rt", encoding=encoding, errors="replace", newline="")


def _names(path: Path, header: Sequence[Any]) -> list[str]:
    for place, name in enumerate(header):
        if not isinstance(name, str):
            raise FormatError(
                f"The first line gives no name to column {place + 1}. Name it, or leave it out: pandas writes its "
                "index into such a column, but not with to_csv(index=False).",
                file=str(path),
                line=1,
            )
        if name in header[:place]:
            raise FormatError(f"The first line names two columns {name!r}. Rename one.", file=str(path), line=1)
    return cast(list[str], list(header))


def _refuse_ragged(path: Path, form: CSVFormat) -> None:
    """Refuse a row that has more or fewer cells than the first line."""
    wanted = 0
    with csv_text(path, form) as stream:
        rows = csv.reader(stream, delimiter=form.separator)
        for row in rows:
            wanted = wanted or len(row)
            if row and len(row) != wanted:
                problem = f"The row has {len(row)} cells, the first line names {wanted} columns."
                raise FormatError(problem, file=str(path), line=rows.line_num)


_OTHERS = {";": "semicolons", "\t": "tabs", "|": "bars"}


def refuse_other_separators(header: str, file: str) -> None:
    """Refuse a first line that has one name between commas, but several between other signs."""
    if _num_names(header, ",") > 1:
        return
    for sign, name in _OTHERS.items():
        if _num_names(header, sign) > 1:
            said = Call("pb.data.Stream", Argument("source", ...), Argument("separator", sign))
            raise FormatError(
                f"The columns stand between {name}, and would be read as one, {header.rstrip()!r}.",
                file=file,
                line=1,
                remedies=[
                    Remedy("save the file with commas between columns, and points in numbers"),
                    Remedy("say what is between columns, and before fractions (decimal=): ", said),
                    Remedy("put its name in double quotes, if it is one column"),
                ],
            )


def _num_names(header: str, sign: str) -> int:
    return len(next(csv.reader([header], delimiter=sign), []))
