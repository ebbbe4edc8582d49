"""Columns of CSV files: cells are text, and what all the texts of a column look like tells its type."""

from __future__ import annotations

import bz2
import csv
import gzip
import lzma
import re
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast

import numpy as np

from plausible.base.arrays import Positions
from plausible.base.remedies import Argument, Call, Remedy
from plausible.data.factorizing import factorize
from plausible.data.missing_values import MissingValues, means_missing
from plausible.errors import FormatError

#: Ending -> how the file is opened.
CSV_OPENERS: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {".csv": open, ".csv.gz": gzip.open, ".csv.bz2": bz2.open, ".csv.xz": lzma.open}
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
    places: Positions  # by row, the place of its text; -1 where the cell is missing
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
            row = int(np.argmax(self.places == texts.index(others[0])))
            problem = f"Row {row} of column {self.name!r} is {others[0]!r} among fractional numbers. "
            some = Call("pb.Table.read", Argument("data", ...), Argument("columns", ...))  # no shell has it
            raise FormatError(
                f"{problem}Only an empty cell is missing.",
                remedies=[Remedy("leave it empty"), means_missing([others[0]]), Remedy("read other columns: ", some)],
            )


def read_csv_columns(path: Path, ending: str) -> dict[str, TextColumn]:
    """Name -> column of a file in UTF-8 whose first line names the columns; blank lines are skipped."""
    import pandas as pd

    try:
        with CSV_OPENERS[ending](path, mode="rt", encoding="utf-8-sig", errors="replace") as stream:
            refuse_other_separators(stream.readline(), str(path))
        frame = pd.read_csv(path, header=None, dtype=str, keep_default_na=False, na_values=[""], encoding="utf-8")
    except pd.errors.ParserError as error:
        _refuse_ragged(path, ending)
        raise FormatError(f"The file can't be read as CSV: {str(error).strip()}", file=str(path)) from None
    except pd.errors.EmptyDataError:
        problem = "The file can't be read as CSV: it is empty, but its first line should name the columns."
        raise FormatError(problem, file=str(path)) from None
    except UnicodeDecodeError as error:
        raise FormatError(f"The file is not written in UTF-8: {error}. Save it as UTF-8.", file=str(path)) from None
    except _UNREADABLE as error:
        raise FormatError(f"The file can't be read: {error}.", file=str(path)) from None
    if frame.iloc[:, -1].isna().any():
        _refuse_ragged(path, ending)
    names = _names(path, frame.iloc[0].tolist())
    cells = frame.iloc[1:]
    return {name: TextColumn(name, *factorize(name, cells.iloc[:, place])) for place, name in enumerate(names)}


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


def _refuse_ragged(path: Path, ending: str) -> None:
    """Refuse a row that has more or fewer cells than the first line."""
    wanted = 0
    with CSV_OPENERS[ending](path, mode="rt", encoding="utf-8-sig", newline="") as stream:
        rows = csv.reader(stream)
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
            raise FormatError(
                f"The columns stand between {name}, and would be read as one, {header.rstrip()!r}. Save the file with "
                "commas between columns, and points in numbers. If it is one column, put its name in double quotes.",
                file=file,
                line=1,
            )


def _num_names(header: str, sign: str) -> int:
    return len(next(csv.reader([header], delimiter=sign), []))
