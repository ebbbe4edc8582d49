"""What else than nothing means a missing value: only the caller knows, but some words are suspicious."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from plausible.base.arrays import Positions
from plausible.base.remedies import Argument, Call, Remedy
from plausible.errors import PlausibleWarning, warn_caller

#: Words that programs write where a value is missing.
MISSING_WORDS = frozenset({"NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "NULL", "null", "None", "?"})


class MissingValues:
    """Values that mean missing, as texts or as numbers."""

    def __init__(self, given: Any) -> None:
        listed = list(given) if isinstance(given, Iterable) and not isinstance(given, str) else [given]
        self._texts = {str(value).strip() for value in listed}
        self._numbers = {number for number in map(_number, listed) if number is not None}

    def __contains__(self, value: object) -> bool:
        if isinstance(value, str):
            return value.strip() in self._texts
        return not isinstance(value, (bool, np.bool_)) and _number(value) in self._numbers

    def leave_out(self, places: Positions, values: Sequence[Any]) -> tuple[Positions, list[Any]]:
        """The values that mean something, and for each row the place of its own; -1 where there is none."""
        is_kept = np.array([value not in self for value in values], dtype=np.bool_)
        moved = np.append(np.where(is_kept, np.cumsum(is_kept) - 1, -1), -1)
        return moved[places], [value for value, kept in zip(values, is_kept, strict=True) if kept]


def _number(value: Any) -> float | None:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return None


def means_missing(words: Iterable[str], what: str = "say that it means missing: ") -> Remedy:
    """To say that words mean missing."""
    return Remedy(what, Call("Table.read", Argument("data", ...), Argument("missing_values", list(words))))


def warn_of_missing_words(file: str, texts: Mapping[str, Iterable[str]]) -> None:
    """Warn once of all columns with states that look like missing values; by column, the texts in it."""
    columns_with: dict[str, list[str]] = {}
    for name, column in texts.items():
        for word in MISSING_WORDS.intersection(column):
            columns_with.setdefault(word, []).append(name)
    if columns_with:
        words = sorted(columns_with)
        places = "; ".join(f"{word!r} of {_listed(columns_with[word])}" for word in words)
        warn_caller(
            PlausibleWarning(
                f"{file}: only empty cells are missing, so that these are states: {places}.",
                remedies=[means_missing(words, "say what means missing: "), means_missing((), "that nothing does: ")],
            )
        )


def _listed(names: Sequence[str], most: int = 5) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(map(repr, names[:most])) + more
