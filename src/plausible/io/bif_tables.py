"""The bodies of BIF's probability blocks: rows keyed by parent states, a default row, or one table.

A body whose rows are all there and well formed, in whatever order, is read in bulk; any other is read statement by
statement, so that an error can say where it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain, product
from math import prod
from typing import Final, NamedTuple, TypeAlias

import numpy as np

from plausible.base import Floats
from plausible.cpds.reading import MAX_ROUNDING
from plausible.io.assembly import LENIENTLY, Place, count_text
from plausible.io.scanner import child_fastest, floats, is_numeric, read_numbers, shown, split_items

#: A default row may fill tables of up to this many numbers.
MAX_DEFAULT_ENTRIES: Final = 2**24

#: A property that is a string, or whose value is one, which may hold semicolons; up to its own semicolon.
QUOTED_PROPERTY: Final = re.compile(r'(?:[^";=]*+(?:=|(?<=\s)))?\s*+"[^"\n]*+"\s*+(?=;)')

_ROW: Final = re.compile(r"\(([^()]*+)\)([^();]*+);")
_TABLE: Final = re.compile(r"\s*table\b([^;]*);\s*")
_STATEMENT: Final = re.compile(r"\s*(?:(property\b)|(table\b|default\b)|(\()|(\}))", re.DOTALL)
_PARENTHESIS: Final = re.compile(r'"[^"\n]*"|[(){};]')


@dataclass(frozen=True, slots=True)
class Family:
    """A child and its parents as the file writes them: the name of the child, and the states of each."""

    child: str
    states: Sequence[str]
    parents: Sequence[str]
    parent_states: Sequence[Sequence[str]]

    @property
    def num_rows(self) -> int:
        """The number of assignments to the parents."""
        return prod(len(states) for states in self.parent_states)

    def row_text(self, row: int) -> str:
        """`A=a, B=b` for the row at a position, the last parent's state changing fastest."""
        chosen = []
        for states in reversed(self.parent_states):
            row, position = divmod(row, len(states))
            chosen.append(states[position])
        return ", ".join(f"{name}={state}" for name, state in zip(self.parents, reversed(chosen), strict=True))


#: Keeps what was done at a place, to be told.
Mend: TypeAlias = Callable[[str, Place], None]


class _Statement(NamedTuple):
    """One statement of a body: its keyword, the text of its row label, and the span of what follows."""

    kind: str
    label: str
    start: int
    span: tuple[int, int]


def skip_body(text: str, start: int) -> int:
    """The end of a body that starts after `{`: the position after its `}`."""
    end = text.find("}", start)
    if end >= 0 and '"' not in (body := text[start:end]) and "property" not in body:
        return end + 1
    return _statements(text, start)[1]


@np.errstate(over="ignore")
def read_table(text: str, start: int, end: int, family: Family, mend: Mend | None) -> tuple[Floats, Sequence[str]]:
    """The numbers in the body `text[start:end]`, the child's state changing fastest, and the texts of properties.

    A lenient reader gives `mend`, which is told of rows that are repeated; it mends the sums of rows itself.
    """
    body = text[start : end - 1]
    table = _TABLE.fullmatch(body)
    if table is not None:
        values = read_numbers(text, start + table.start(1), start + table.end(1))
        return _reordered(values, family, Place.at(text, start + table.start(1))), ()
    rows = _rows_in_bulk(body, family)
    return _read_one_by_one(text, start, family, mend) if rows is None else (rows, ())


def _rows_in_bulk(body: str, family: Family) -> Floats | None:
    """The rows of a body that has one for every assignment to the parents; None where anything is irregular."""
    pieces = _ROW.split(body)
    labels, rows = pieces[1::3], pieces[2::3]
    width = len(family.states)
    if not labels or len(labels) != family.num_rows or "".join(pieces[::3]).strip():
        return None
    separator = ", " if ", " in labels[0] else ","
    positions = {key: row for row, key in enumerate(map(separator.join, product(*family.parent_states)))}
    values = _bulk_numbers(rows, width)
    order = [positions.get(label.strip(), -1) for label in labels]
    if values is None or -1 in order or not len(set(order)) == len(labels) == len(positions):
        return None
    if not (values.min() >= 0 and np.abs(values.sum(axis=1) - 1.0).max() <= MAX_ROUNDING):
        return None
    ordered = np.empty_like(values)
    ordered[order] = values
    return ordered.ravel()


def _bulk_numbers(rows: list[str], width: int) -> Floats | None:
    """Rows of `width` numbers each, separated by single commas throughout, or by blanks throughout."""
    listed = ",".join(rows)
    if not is_numeric(listed):
        return None
    if listed.count(",") < len(rows):
        words = [row.split() for row in rows]
        sizes = {len(row) for row in words}
        flat = list(chain.from_iterable(words))
    else:
        sizes = {row.count(",") + 1 for row in rows}
        flat = listed.split(",")
    try:
        return floats(flat).reshape(-1, width) if sizes == {width} else None
    except ValueError:
        return None


def _reordered(values: Floats, family: Family, place: Place) -> Floats:
    """Numbers of a `table` statement with the child's state changing fastest.

    The format's document lists the child first, so that its state changes slowest.
    """
    width = len(family.states)
    if values.size != family.num_rows * width:
        raise place.error(
            f"The table of {family.child!r} needs {count_text(family.num_rows * width)} numbers; "
            f"the file has {values.size}."
        )
    return values if family.num_rows == 1 else child_fastest(values, width)


def _statements(text: str, start: int) -> tuple[list[_Statement], int]:
    """The statements of a body, and the position after its `}`."""
    found: list[_Statement] = []
    position = start
    while True:
        match = _STATEMENT.match(text, position)
        if match is None:
            rest = text[position : position + 200]
            place = Place.at(text, position + len(rest) - len(rest.lstrip()))
            if not rest.strip():
                raise place.error("The file ends inside a probability block: expected '}'.")
            known = "'table', 'default', 'property' or '}'"
            raise place.error(f"Expected a row '(...) ...;', {known}, not {shown(rest)}.")
        if match[4]:
            return found, match.end()
        begin = match.start(match.lastindex or 0)
        label, after = _label(text, begin) if match[3] else ("", match.end())
        end = text.find(";", after)
        if match[1] and (quoted := QUOTED_PROPERTY.match(text, after)) is not None:
            end = quoted.end()
        if not match[1] and (closing := text.find("}", after, len(text) if end < 0 else end)) >= 0:
            raise Place.at(text, after + len(text[after:closing].rstrip())).error("Expected ';' after these numbers.")
        if end < 0:
            raise Place.at(text, begin).error("This statement has no end: expected ';'.")
        found.append(_Statement(match[1] or match[2] or "row", label, begin, (after, end)))
        position = end + 1


def _label(text: str, start: int) -> tuple[str, int]:
    """The text between parentheses, which may hold balanced ones, and the position after it."""
    depth = 0
    for match in _PARENTHESIS.finditer(text, start):
        mark = match.group()
        if mark in "{};":
            break
        depth += (mark == "(") - (mark == ")")
        if depth == 0:
            return text[start + 1 : match.start()], match.end()
    raise Place.at(text, start).error("This parenthesis is not closed: expected ')'.")


def _read_one_by_one(text: str, start: int, family: Family, mend: Mend | None) -> tuple[Floats, Sequence[str]]:
    statements = _statements(text, start)[0]
    properties = [text[slice(*statement.span)] for statement in statements if statement.kind == "property"]
    numeric = [statement for statement in statements if statement.kind != "property"]
    tables = [statement for statement in numeric if statement.kind == "table"]
    if not tables:
        return _rows_one_by_one(text, start, numeric, family, mend), properties
    place = Place.at(text, tables[0].start)
    if len(numeric) > 1:
        raise place.error(f"The block of {family.child!r} has other rows beside this table.")
    return _reordered(read_numbers(text, *tables[0].span), family, place), properties


def _rows_one_by_one(
    text: str, start: int, statements: Sequence[_Statement], family: Family, mend: Mend | None
) -> Floats:
    """All rows in order; those that the file leaves out are the default."""
    rows: dict[int, Floats] = {}
    default: Floats | None = None
    for statement in statements:
        place = Place.at(text, statement.start)
        values = read_numbers(text, *statement.span)
        _check_row(values, family, place, mend is not None)
        if statement.kind == "default":
            if default is not None:
                raise place.error(f"{family.child!r} has two default rows.")
            default = values
            continue
        row = _row_position(statement.label, family, place)
        if row in rows:
            problem = f"{family.child!r} has two rows for {family.row_text(row) or 'no parents'}."
            if not np.array_equal(rows[row], values):
                raise place.error(problem)
            if mend is None:
                raise place.error(f"{problem[:-1]}, with the same numbers.", LENIENTLY)
            mend(f"{problem[:-1]}, with the same numbers: one is passed over", place)
        rows[row] = values
    num_rows, width, place = family.num_rows, len(family.states), Place.at(text, start)
    if len(rows) < num_rows and default is None:
        where = family.row_text(next(row for row in range(num_rows) if row not in rows))
        of_row = f" for {where}" if where else ""
        raise place.error(f"The table of {family.child!r} has no row{of_row}, nor a default.")
    if len(rows) < num_rows and num_rows * width > MAX_DEFAULT_ENTRIES:
        raise place.error(
            f"The table of {family.child!r} would have {count_text(num_rows * width)} numbers, most of them the "
            f"default; the limit is {MAX_DEFAULT_ENTRIES}."
        )
    table = np.empty((num_rows, width))
    if default is not None:
        table[:] = default
    for row, values in rows.items():
        table[row] = values
    return table.ravel()


def _row_position(label: str, family: Family, place: Place) -> int:
    items = split_items(label, len(family.parents))
    if items is None:
        raise place.error(
            f"This row of {family.child!r} needs a state of each of its {len(family.parents)} parents, "
            f"not {shown(f'({label})')}."
        )
    row = 0
    for name, states, item in zip(family.parents, family.parent_states, items, strict=True):
        if item not in states:
            raise place.error(f"{item!r} is not a state of {name!r}, which has {list(states)[:8]}.")
        row = row * len(states) + states.index(item)
    return row


def _check_row(values: Floats, family: Family, place: Place, lenient: bool) -> None:
    if values.size != len(family.states):
        raise place.error(
            f"This row of {family.child!r} has {values.size} numbers; it needs {len(family.states)}, one a state."
        )
    if not (values.min() >= 0 and values.max() < np.inf):
        wrong = values[~((values >= 0) & (values < np.inf))][0]
        raise place.error(f"This row of {family.child!r} has the entry {wrong:g}, which is no probability.")
    if not lenient and abs(values.sum() - 1.0) > MAX_ROUNDING:
        raise place.error(f"This row of {family.child!r} sums to {values.sum():.10g}, not to one.", LENIENTLY)
