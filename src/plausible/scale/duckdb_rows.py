"""The rows of a DuckDB relation, asked by SQL for sums over equal rows; answers are tables of Arrow's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import combinations_with_replacement, starmap
from typing import Any

from plausible.data.arrow_parts import pyarrow
from plausible.errors import FormatError, InvalidArgument

#: What errors call it.
PLACE = "the relation"
_FRACTIONAL = ("FLOAT", "DOUBLE")


class DuckDBRows:
    """A relation in which NULL and NaN are missing cells."""

    def __init__(self, relation: Any) -> None:
        pyarrow()
        names: dict[str, str] = {}
        for name in relation.columns:
            if (other := names.setdefault(name.casefold(), name)) != name:
                raise InvalidArgument(f"DuckDB takes the columns {other!r} and {name!r} for one: rename one of them.")
        kinds = dict(zip(relation.columns, map(str, relation.types), strict=True))
        self.fractional = [name for name, kind in kinds.items() if kind in _FRACTIONAL]
        with _answering():
            self.relation = relation.project(", ".join(starmap(_cell, kinds.items())))
        self._sum = "sum"
        while any(name.startswith(self._sum) for name in names):
            self._sum += "_"

    def sum_name(self, place: int) -> str:
        """The name that a sum has in an answer: no column begins so."""
        return f"{self._sum}{place}"

    def totals(self, sums: Sequence[str]) -> Sequence[Any]:
        """Sums over all rows."""
        if not sums:
            return ()
        with _answering():
            answer = self.relation.aggregate(self._listed([], sums)).to_arrow_table()
        return [column[0].as_py() for column in answer.columns]

    def counted(self, names: Sequence[str], weights: str | None = None) -> Any:
        """The different rows of some columns, and how much they weigh."""
        weight = "count(*)" if weights is None else f"fsum({number(weights)})"
        with _answering():
            return self.relation.aggregate(self._listed(names, [weight]), _keys(names)).to_arrow_table()

    def different(self, name: str, most: int) -> Any:
        """The different values of a column, but not more than so many."""
        with _answering():
            return self.relation.aggregate(_keys([name]), _keys([name])).limit(most).to_arrow_table()

    def moments(self, numbers: Sequence[str], names: Sequence[str]) -> Any:
        """The different rows of some columns; of each, how many there are, and sums of numbers.

        These are: a value close to the mean of each, the distances from it, the products of two distances. It is the
        mean as DuckDB finds it, or the value of a constant, whose distances are then exactly zero.
        """
        places = range(len(numbers))
        centres = [f"CASE WHEN min({x}) = max({x}) THEN min({x}) ELSE favg({x}) END" for x in map(number, numbers)]
        with _answering():
            rows = self.relation.set_alias("r")
            means = self.relation.aggregate(self._listed(names, centres), _keys(names)).set_alias("m")
            alike = (f"r.{quoted(name)} IS NOT DISTINCT FROM m.{quoted(name)}" for name in names)
            joined = rows.join(means, " AND ".join(alike)) if names else rows.cross(means)
            centre_of = [f"m.{quoted(self.sum_name(place))}" for place in places]
            away = [f"({number(name, 'r.')} - {centre_of[place]})" for place, name in enumerate(numbers)]
            products = [f"{one} * {other}" for one, other in combinations_with_replacement(away, 2)]
            sums = ["count(*)", *(f"any_value({one})" for one in centre_of)]
            sums += [f"fsum({one})" for one in (*away, *products)]
            return joined.aggregate(self._listed(names, sums, "r."), _keys(names, "r.")).to_arrow_table()

    def _listed(self, names: Sequence[str], sums: Sequence[str], of: str = "") -> str:
        """Columns by which rows are grouped, and sums with their names."""
        named = [f"{one} AS {quoted(self.sum_name(place))}" for place, one in enumerate(sums)]
        return ", ".join([*(f"{of}{quoted(name)}" for name in names), *named])


def quoted(name: str) -> str:
    """A name in SQL, whatever it is.

    >>> print(quoted('odds "a/b"; --'))
    "odds ""a/b""; --"
    """
    return '"' + name.replace('"', '""') + '"'


def _cell(name: str, kind: str) -> str:
    """A column in which NaN is missing, and texts are the same only where all their signs are."""
    cell = quoted(name)
    if kind in _FRACTIONAL:
        return f"nullif({cell}, 'nan'::DOUBLE) AS {cell}"
    return f'{cell} COLLATE "binary" AS {cell}' if kind == "VARCHAR" else cell


def number(name: str, of: str = "") -> str:
    """A column as numbers."""
    return f"CAST({of}{quoted(name)} AS DOUBLE)"


def _keys(names: Sequence[str], of: str = "") -> str:
    return ", ".join(f"{of}{quoted(name)}" for name in names)


@contextmanager
def _answering() -> Iterator[None]:
    """Tell what DuckDB can't read, and that somebody has interrupted it."""
    import duckdb

    try:
        yield
    except duckdb.Error as error:
        raise FormatError(f"DuckDB can't read this: {str(error).strip()}", file=PLACE) from None
    except RuntimeError as error:
        if "interrupted" in str(error):
            raise KeyboardInterrupt from None
        raise
