"""Results: what calls hand back, and values for people: plain ones, and tables as text and as HTML for notebooks."""

from __future__ import annotations

import html
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, fields, is_dataclass
from enum import Enum
from functools import partial
from math import isfinite, isnan
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, dataclass_transform, overload

if TYPE_CHECKING:
    import pandas as pd


#: Truth values, whole and real numbers, text and bytes: Python has their equals. Dates would lose their unit.
_KINDS = "biufUS"


def plain(value: Any) -> Any:
    """The Python value that equals a NumPy scalar; all else as it is.

    >>> import numpy as np
    >>> plain(np.int64(1)), plain(np.str_("yes")), plain(2.5)
    (1, 'yes', 2.5)
    """
    kind = type(value)
    if kind.__module__ != "numpy" or getattr(kind, "ndim", None) is None:
        return value
    return value.item() if value.ndim == 0 and value.dtype.kind in _KINDS else value


def json_number(number: float) -> float | str | None:
    """A number as JSON can have it: infinite ones as "inf" and "-inf", which `float` reads, none for NaN.

    >>> json_number(0.5), json_number(-float("inf")), json_number(float("nan"))
    (0.5, '-inf', None)
    """
    return number if isfinite(number) else None if isnan(number) else str(number)


def shown(value: Any) -> str:
    """What a value prints as in messages, NumPy's scalars as Python's, in collections too.

    >>> import numpy as np
    >>> shown(np.str_("yes")), shown([np.int64(1), np.int64(2)])
    ("'yes'", '[1, 2]')
    """
    kind: Any = type(value)
    return repr(kind(map(plain, value)) if kind in (list, tuple, set, frozenset) else plain(value))


def shortened(value: object, most: int = 80) -> str:
    """What a value prints as, for messages; its type alone where that takes several lines or is long.

    >>> shortened(2.5), shortened(list(range(100)))
    ('2.5', '<list>')
    """
    text = shown(value)
    return text if len(text) <= most and "\n" not in text else f"<{type(value).__name__}>"


def counted(number: int, thing: str) -> str:
    """A number of things.

    >>> counted(1, "row"), counted(2, "row"), counted(0, "entry"), counted(3, "batch")
    ('1 row', '2 rows', '0 entries', '3 batches')
    """
    if number == 1:
        return f"{number} {thing}"
    if thing.endswith("y") and thing[-2] not in "aeiou":
        return f"{number} {thing[:-1]}ies"
    return f"{number} {thing}{'es' if thing.endswith(('s', 'ch')) else 's'}"


#: Notebooks align cells to the right, which is for numbers.
_LEFT = ' style="text-align: left"'
#: The line under the header of a table in text.
_RULE = re.compile(r"-+(\+-+)*")
#: What stands right in its column.
_NUMBER = re.compile(r"[-+]?(\d[\d.,]*([eE][-+]?\d+)?%?|inf|nan)?")
#: Lines longer than this are broken, where a table has columns to break between.
_WIDTH = 120
#: What is longer than the first is cut to the second, where the caller sets no limit.
_MAX_WHOLE, _EXCERPT = 60, 20


@dataclass(frozen=True, slots=True)
class TextTable:
    """Cells of text under a header; the first `num_labels` columns are labels, the rest numbers.

    As text, a table that is too wide comes in blocks of columns, one below the other, each with all labels.
    """

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    num_labels: int
    more: int = 0

    def __str__(self) -> str:
        widths = [max(len(one_line(cell)) for cell in column) for column in zip(self.header, *self.rows, strict=True)]
        blocks = ["\n".join(self._block(columns, widths)) for columns in self._blocks(widths)]
        return "\n\n".join(blocks)

    def _blocks(self, widths: Sequence[int]) -> list[list[int]]:
        """The columns of each block: all labels, and as many numbers as fit (one at least)."""
        labels = list(range(self.num_labels))
        blocks, used = [labels.copy()], 0
        room = _WIDTH - sum(widths[column] + 3 for column in labels)
        for column in range(self.num_labels, len(widths)):
            if used and used + widths[column] > room:
                blocks.append(labels.copy())
                used = 0
            blocks[-1].append(column)
            used += widths[column] + 3
        return blocks

    def _block(self, columns: Sequence[int], widths: Sequence[int]) -> list[str]:
        lines = [self._line(row, columns, widths) for row in (self.header, *self.rows)]
        lines.insert(1, "-+-".join("-" * widths[column] for column in columns))
        return [*lines, self._rest] if self.more else lines

    @property
    def _rest(self) -> str:
        return f"... {counted(self.more, 'more row')}"

    def _line(self, cells: Sequence[str], columns: Sequence[int], widths: Sequence[int]) -> str:
        texts = {column: one_line(cells[column]) for column in columns}
        padded = [
            text.ljust(widths[column]) if column < self.num_labels else text.rjust(widths[column])
            for column, text in texts.items()
        ]
        return " | ".join(padded).rstrip()

    def to_html(self) -> str:
        """An HTML table, every cell escaped."""
        styles = [self._style(column) for column in range(len(self.header))]
        head = "".join(f"<th{style}>{html.escape(cell)}</th>" for style, cell in zip(styles, self.header, strict=True))
        body = "".join(f"<tr>{self._html_row(row, styles)}</tr>" for row in self.rows)
        more = f'<tr><td colspan="{len(self.header)}">{self._rest}</td></tr>' if self.more else ""
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}{more}</tbody></table>"

    _repr_html_ = to_html

    def _html_row(self, row: Sequence[str], styles: Sequence[str]) -> str:
        tags = ["th" if column < self.num_labels else "td" for column in range(len(row))]
        cells = zip(tags, styles, row, strict=True)
        return "".join(f"<{tag}{style}>{html.escape(cell)}</{tag}>" for tag, style, cell in cells)

    def _style(self, column: int) -> str:
        is_text = column < self.num_labels or not all(_NUMBER.fullmatch(row[column]) for row in self.rows)
        return _LEFT if is_text else ""


def num_shown(total: int, limit: int | None = None) -> int:
    """How many of `total` rows to show: at most `limit`; where it is left out, all, or an excerpt of very many."""
    if limit is not None:
        return min(total, limit)
    return total if total <= _MAX_WHOLE else _EXCERPT


def one_line(text: str) -> str:
    """Text whose line breaks, tabs and other control characters are written out, so that a row stays a row."""
    return text if text.isprintable() else "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def format_number(number: float) -> str:
    """Six significant digits, no trailing zeros, no sign before zero."""
    return f"{number + 0.0:.6g}"


def format_roughly(number: float, digits: int = 2) -> str:
    """A number of which only the first digits count, with zeros in place of the others.

    >>> format_roughly(412.3), format_roughly(0.00123), format_roughly(38.0, 1)
    ('410', '0.0012', '40')
    """
    return f"{float(f'{number:.{digits}g}'):g}"


def html_of(text: str) -> str:
    """Text as HTML, escaped: tables that it holds become tables, all else keeps its lines.

    A table is what `TextTable` prints: a header, a line such as `---+---`, and rows; it ends where a line has no `|`
    below a `+`.

    >>> html_of("x < y")
    '<pre style="white-space: pre-wrap">x &lt; y</pre>'
    >>> print(html_of("Costs:\\ntea | 2.5\\n----+----\\nmug |   7").replace("<tr>", "\\n<tr>"))
    <pre style="white-space: pre-wrap">Costs:</pre><table><thead>
    <tr><th style="text-align: left">tea</th><th>2.5</th></tr></thead><tbody>
    <tr><th style="text-align: left">mug</th><td>7</td></tr></tbody></table>
    """
    return "".join(part.to_html() if isinstance(part, TextTable) else _preformatted(part) for part in _parts(text))


def html_of_print(value: object) -> str:
    """What `print` shows, as HTML: for `_repr_html_` of classes that have a `__str__` of their own."""
    return html_of(str(value))


def repr_of_print(value: object) -> str:
    """What a shell shows of a record that prints well: its kind and its line, or else its lines as they are.

    >>> class Reading:
    ...     __repr__ = repr_of_print
    ...     def __str__(self) -> str:
    ...         return "20 degrees"
    >>> Reading()
    <Reading: 20 degrees>
    """
    text = str(value)
    return text if "\n" in text else f"<{type(value).__name__}: {text}>"


def html_of_repr(value: object) -> str:
    """What a shell shows, as HTML: for `_repr_html_` of classes that print as a part of other texts."""
    return html_of(repr(value))


def html_page(title: str, *parts: TextTable | str) -> str:
    """A title and what stands below it, tables and text; empty text is left out."""
    below = (part.to_html() if isinstance(part, TextTable) else html_of(part) for part in parts if part)
    return f"<div><p><b>{html.escape(title)}</b></p>{''.join(below)}</div>"


def _preformatted(lines: str) -> str:
    return f'<pre style="white-space: pre-wrap">{html.escape(lines)}</pre>' if lines.strip() else ""


def _parts(text: str) -> Iterator[TextTable | str]:
    """The tables of a text and what stands between them."""
    lines, start, place = text.split("\n"), 0, 1
    while place < len(lines):
        if "+" in lines[place] and _RULE.fullmatch(lines[place]) and _fits(lines[place - 1], lines[place]):
            rule = lines[place]
            end = next((i for i in range(place + 1, len(lines)) if not _fits(lines[i], rule)), len(lines))
            yield "\n".join(lines[start : place - 1])
            yield _table([_cells(line, rule) for line in (lines[place - 1], *lines[place + 1 : end])])
            start = place = end
        place += 1
    yield "\n".join(lines[start:])


def _fits(line: str, rule: str) -> bool:
    """Whether a line has a bar below each cross of the rule; trailing empty cells were cut off with their bars."""
    bars = [place for place, sign in enumerate(rule) if sign == "+"]
    return "|" in line and all(line[place : place + 1] in ("|", "") for place in bars)


def _cells(line: str, rule: str) -> tuple[str, ...]:
    ends = [place for place, sign in enumerate(rule) if sign == "+"]
    return tuple(line[a:b].strip() for a, b in zip((0, *(e + 1 for e in ends)), (*ends, None), strict=True))


def _table(rows: Sequence[tuple[str, ...]]) -> TextTable:
    """The cells as a table; the columns before the first one of numbers are labels."""
    header, *body = rows
    numeric = [all(_NUMBER.fullmatch(cell) for cell in column) for column in zip(*body, strict=True)]
    return TextTable(header, tuple(body), numeric.index(True) if True in numeric else 1)


Class = TypeVar("Class", bound=type)


class Result:
    """What a call hands back: it shows what it prints, in shells and notebooks, and tells its fields in plain types.

    Examples
    --------
    >>> @record
    ... class Reading(Result):
    ...     place: str
    ...     degrees: float
    ...     def __str__(self) -> str:
    ...         return f"{self.degrees} degrees in {self.place}"
    >>> Reading("Rome", 20.0)
    <Reading: 20.0 degrees in Rome>
    >>> Reading("Rome", 20.0).to_dict()
    {'place': 'Rome', 'degrees': 20.0}
    """

    __slots__ = ()

    #: The attributes that `to_dict` tells; where there are none, the fields.
    _told: ClassVar[tuple[str, ...]] = ()
    #: What it tells besides: verdicts and sums that are properties.
    _also: ClassVar[tuple[str, ...]] = ()
    #: The field of records that are the rows of `to_frame`, a tuple; "" where the result is one row.
    _rows: ClassVar[str] = ""

    __repr__ = repr_of_print
    _repr_html_ = html_of_print

    def to_dict(self) -> dict[str, Any]:
        """What it tells in the types that JSON knows: numbers, text, lists, dictionaries; graphs and models as text.

        Infinite numbers, which JSON lacks, are "inf" and "-inf"; NaN is None. Frames have them as numbers.
        """
        return _tell(self, json_number)

    def to_frame(self) -> pd.DataFrame:
        """What it tells as a data frame: a row for each record that it lists, or else one row."""
        import pandas as pd

        told = _tell(self, float) if type(self).to_dict is Result.to_dict else self.to_dict()
        if not self._rows:
            return pd.DataFrame([told])
        rows = told[self._rows]
        return pd.DataFrame(rows, columns=None if rows else _listed_fields(type(self), self._rows))


@overload
def record(cls: Class, /) -> Class: ...
@overload
def record(*, eq: bool) -> Callable[[Class], Class]: ...
@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def record(cls: Any = None, /, *, eq: bool = True) -> Any:
    """Make a `Result` a frozen dataclass with slots; one without a `__str__` is refused: it would have nothing to show.

    Parameters
    ----------
    eq
        Whether records with equal fields are equal; not where fields are arrays.
    """
    if cls is None:
        return partial(_made, eq=eq)
    return _made(cls, eq)


def _made(cls: Any, eq: bool) -> Any:
    if cls.__str__ is object.__str__:
        raise TypeError(f"A record shows what it prints: give {cls.__name__} a __str__, or make it a plain dataclass.")
    made: Any = dataclass(frozen=True, slots=True, eq=eq, repr=False)(cls)
    made.__repr__, made._repr_html_ = repr_of_print, html_of_print
    return made


def _tell(result: Result, number: Callable[[float], Any]) -> dict[str, Any]:
    return {name: to_plain(getattr(result, name), number) for name in _told_names(result)}


def to_plain(value: Any, number: Callable[[float], Any] = json_number) -> Any:
    """A value in the types that JSON knows, floats by `number`; what has no such form is told as text.

    >>> import numpy as np
    >>> to_plain({("a", 1): np.arange(2), "set": {"y", "x"}, "one": np.float64(0.5)})
    {'a, 1': [0, 1], 'set': ['x', 'y'], 'one': 0.5}
    """
    value = plain(value.value if isinstance(value, Enum) else value)
    if value is None or isinstance(value, bool | int | float | str):
        return number(value) if isinstance(value, float) else value
    if isinstance(value, Result) and type(value).to_dict is Result.to_dict:
        return _tell(value, number)
    inner = partial(to_plain, number=number)
    for name in ("to_dict", "_asdict", "tolist"):
        if hasattr(value, name) and not isinstance(value, type):
            return inner(getattr(value, name)())
    if isinstance(value, Mapping):
        keys = list(map(_key, value))
        keys = keys if len(set(keys)) == len(keys) else list(map(repr, value))
        return dict(zip(keys, map(inner, value.values()), strict=True))
    if isinstance(value, list | tuple):
        return list(map(inner, value))
    if isinstance(value, Set):
        return sorted(map(inner, value), key=str)
    if is_dataclass(value) and type(value).__str__ is object.__str__:
        return {name: inner(getattr(value, name)) for name in _public_fields(value)}
    return str(value)


def _public_fields(value: Any) -> list[str]:
    return [part.name for part in fields(value) if not part.name.startswith("_")]


def _told_names(result: Any) -> list[str]:
    """The attributes that a record, or each record of a class, tells."""
    return [*(getattr(result, "_told", ()) or _public_fields(result)), *getattr(result, "_also", ())]


def _listed_fields(kind: type, name: str) -> list[str]:
    """What the records tell that a field is a tuple of, as its annotation says."""
    (annotation,) = (str(part.type) for part in fields(kind) if part.name == name)
    return _told_names(vars(sys.modules[kind.__module__])[annotation.removeprefix("tuple[").removesuffix(", ...]")])


def _key(key: Any) -> str:
    if isinstance(key, frozenset):
        return ", ".join(sorted(map(_key, key)))
    return ", ".join(map(_key, key)) if isinstance(key, tuple) else str(plain(key))
