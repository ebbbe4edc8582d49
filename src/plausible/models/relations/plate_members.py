"""The members of plates, and which of them go together where plates cross or lie in one another."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from plausible.base.arrays import Ints
from plausible.base.options import check_count
from plausible.base.records import plain
from plausible.data.factorizing import factorize, is_absent
from plausible.data.sources import columns_of
from plausible.errors import InvalidArgument, InvalidModel, UnknownVariable, suggestion
from plausible.models.relations.schema import KEY, check_name

if TYPE_CHECKING:
    import pandas as pd

#: Between the plates of a class, before the number of an instance with a distribution of its own, and outside of all.
CROSS, OWN, OUTSIDE = "&", "#", "*"


@dataclass(frozen=True, slots=True, eq=False)
class Plates:
    """Plates, read once."""

    #: Plate -> its members, as texts.
    members: Mapping[str, tuple[str, ...]]
    #: Plates -> the combinations of members that there are: a row for each, and a column of positions for each plate.
    combinations: Mapping[tuple[str, ...], Ints]
    #: Plates -> what else their table has: column -> cells.
    columns: Mapping[tuple[str, ...], Mapping[Any, Any]]

    @classmethod
    def read(cls, given: Any) -> Plates:
        """From `plates=` of a plate model."""
        if isinstance(given, Plates):
            return given
        if not isinstance(given, Mapping):
            raise InvalidArgument(f"plates= maps plates to their members, such as {{'student': ['anna']}}: {given!r}.")
        listed = {(key,) if isinstance(key, str) else tuple(key): value for key, value in given.items()}
        for name in {name: None for names in listed for name in names}:
            check_name(name, "A plate", forbidden=f"{CROSS}{OWN}{OUTSIDE}")
        members: dict[str, tuple[str, ...]] = {}
        combinations: dict[tuple[str, ...], Ints] = {}
        columns: dict[tuple[str, ...], Mapping[Any, Any]] = {}
        for (name, *more), value in listed.items():
            if not more:
                members[name], columns[name,] = _read_members(name, value)
        for names, value in listed.items():
            if len(names) > 1:
                texts, columns[names] = _read_combinations(names, value)
                for name, column in zip(names, texts, strict=True):
                    members.setdefault(name, tuple(dict.fromkeys(column)))
                combinations[names] = _positions(names, texts, members)
        return cls(members, combinations, columns)

    def objects(self, names: tuple[str, ...]) -> Ints:
        """The combinations of members of some plates, as positions, in order: shape (combinations, plates)."""
        import pandas as pd

        parts = [
            pd.DataFrame(rows, columns=list(key)) for key, rows in self.combinations.items() if set(key) <= set(names)
        ]
        told = {name for part in parts for name in part.columns}
        parts += [pd.DataFrame({name: range(len(self.members[name]))}) for name in names if name not in told]
        if not parts:
            return np.zeros((1, 0), dtype=np.int64)
        return reduce(_join, parts).sort_values(list(names))[list(names)].to_numpy(dtype=np.int64)

    def texts(self, names: tuple[str, ...], rows: Ints) -> NDArray[Any]:
        """What combinations are called, such as "anna,algebra"."""
        texts = np.full(len(rows), "", dtype=object)
        for place, name in enumerate(names):
            texts = texts + ("," if place else "") + np.array([*self.members[name], None], dtype=object)[rows[:, place]]
        return texts

    def has(self, names: tuple[str, ...], members: tuple[str, ...]) -> bool:
        """Whether there is a combination of members."""
        if any(member not in self.members[name] for name, member in zip(names, members, strict=True)):
            return False
        places = {name: self.members[name].index(member) for name, member in zip(names, members, strict=True)}
        told = [(key, rows) for key, rows in self.combinations.items() if set(key) <= set(names)]
        return all(bool((rows == [places[name] for name in key]).all(axis=1).any()) for key, rows in told)

    def cells_of(self, names: tuple[str, ...], columns: Mapping[str, Any], rows: Ints) -> dict[str, list[Any]]:
        """What the table of some plates has of combinations of their members, as cells in the order of `rows`."""
        import pandas as pd

        sizes = [len(self.members[name]) for name in names]
        listed = pd.Index(np.ravel_multi_index(tuple(self.combinations[names].T), sizes))
        places = listed.get_indexer(pd.Index(np.ravel_multi_index(tuple(rows.T), sizes))).tolist()
        cells = {name: _plain_cells(name, column) for name, column in columns.items()}
        return {name: [column[place] for place in places] for name, column in cells.items()}

    def to_record(self) -> list[dict[str, Any]]:
        """Plates with their tables, as plain lists."""
        record = []
        for names, columns in self.columns.items():
            if len(names) == 1:
                keys: dict[str, list[Any]] = {KEY: list(self.members[names[0]])}
            else:
                rows = self.combinations[names]
                keys = {name: [self.members[name][at] for at in rows[:, i]] for i, name in enumerate(names)}
            cells = {name: _plain_cells(str(name), column) for name, column in columns.items()}
            record.append({"plates": list(names), "table": {**keys, **cells}})
        return record

    @classmethod
    def from_record(cls, record: Iterable[Mapping[str, Any]]) -> Plates:
        """The inverse of `to_record`."""
        return cls.read({tuple(one["plates"]): one["table"] for one in record})


def _join(left: pd.DataFrame, right: pd.DataFrame) -> pd.DataFrame:
    shared = [name for name in left.columns if name in right.columns]
    return left.merge(right, on=shared) if shared else left.merge(right, how="cross")


def _is_table(given: Any) -> bool:
    is_rows = isinstance(given, list) and bool(given) and all(isinstance(row, Mapping) for row in given)
    return is_rows or isinstance(given, (str, Path, Mapping)) or hasattr(given, "columns")


def _read_members(name: str, given: Any) -> tuple[tuple[str, ...], Mapping[Any, Any]]:
    """The members of a plate, and the columns that its table has besides."""
    columns: dict[Any, Any] = {}
    if _is_table(given):
        columns = dict(columns_of(given))
        given = columns.pop(KEY, None)
        if given is None:
            given = len(next(iter(columns.values()), ()))
    if isinstance(given, (int, np.integer)):
        check_count(f"plates={{{name!r}}}", given, least=0)
        return tuple(map(str, range(given))), columns
    if not isinstance(given, Iterable):
        raise InvalidArgument(f"The plate {name!r} has a list of members, a table of them, or their number: {given!r}.")
    texts = _texts(f"The plate {name!r}", given if hasattr(given, "dtype") else list(given))
    if len(set(texts)) < len(texts):
        twice = next(text for text in texts if texts.count(text) > 1)
        raise InvalidArgument(f"The plate {name!r} has the member {twice!r} twice. Each stands for one thing.")
    return tuple(texts), columns


def _read_combinations(names: tuple[str, ...], given: Any) -> tuple[list[list[str]], Mapping[Any, Any]]:
    """For each plate the column of its members, and the columns that the table has besides."""
    columns: dict[Any, Any] = {}
    if len(set(names)) < len(names):
        raise InvalidArgument(f"plates={{{names!r}: ...}} names a plate twice.")
    if _is_table(given):
        columns = dict(columns_of(given))
        for name in names:
            if name not in columns:
                raise InvalidArgument(
                    f"The table of the plates {names!r} has no column {name!r}.{suggestion(name, columns)}"
                )
        cells = [columns.pop(name) for name in names]
    else:
        rows = [tuple(row) if isinstance(row, Iterable) and not isinstance(row, str) else (row,) for row in given]
        for place, row in enumerate(rows):
            if len(row) != len(names):
                raise InvalidArgument(
                    f"Row {place} of the plates {names!r} is {row!r}, where a member of each is expected."
                )
        cells = [[row[place] for row in rows] for place in range(len(names))]
    return [_texts(f"{name!r} of the plates {names!r}", column) for name, column in zip(names, cells, strict=True)], (
        columns
    )


def _texts(where: str, cells: Any) -> list[str]:
    """Members as texts."""
    places, values = factorize(where, cells)
    missing = [row for row, place in enumerate(places.tolist()) if place < 0 or is_absent(values[place])]
    if missing:
        raise InvalidArgument(f"{where} has no member in row {missing[0]}. Leave such rows out.")
    texts = [str(plain(value)) for value in values]
    for text in texts:
        if not text or text != text.strip() or set(",[]") & set(text):
            raise InvalidArgument(
                f"{where} has the member {text!r}: as names are made of it, such as grade[anna,algebra], it has "
                "neither commas nor brackets, nor blanks at its ends. Call it otherwise, or number the members."
            )
    return [texts[place] for place in places.tolist()]


def _positions(names: tuple[str, ...], texts: list[list[str]], members: Mapping[str, tuple[str, ...]]) -> Ints:
    import pandas as pd

    rows = np.empty((len(texts[0]), len(names)), dtype=np.int64)
    for place, (name, column) in enumerate(zip(names, texts, strict=True)):
        rows[:, place] = pd.Index(members[name], dtype=object).get_indexer(pd.Index(column, dtype=object))
        if (rows[:, place] < 0).any():
            row = int(np.argmax(rows[:, place] < 0))
            raise UnknownVariable(
                f"Row {row} of the plates {names!r} has {column[row]!r}, which is no member of {name!r}."
                f"{suggestion(column[row], members[name])}"
            )
    twice = pd.DataFrame(rows).duplicated().to_numpy()
    if twice.any():
        together = tuple(column[int(np.argmax(twice))] for column in texts)
        raise InvalidModel(f"The plates {names!r} have {together!r} twice. Leave out one.")
    return rows


def _plain_cells(name: str, column: Any) -> list[Any]:
    places, values = factorize(name, column)
    cells = [*(None if is_absent(value) else plain(value) for value in values), None]
    return [cells[place] for place in places.tolist()]
