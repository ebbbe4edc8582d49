"""Values for people: tables as text for terminals and as HTML for notebooks, and text of any kind as HTML."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from plausible.base.plain_values import counted

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


# --- text as HTML ---


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
