"""Tables for people: plain text for terminals, HTML for notebooks."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass

from plausible.factors.alignment import Scope, Table
from plausible.variables import Variable

__all__ = ["TextTable", "factor_table", "format_number", "num_shown", "one_line"]

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
        return f"... {self.more} more row{'' if self.more == 1 else 's'}"

    def _line(self, cells: Sequence[str], columns: Sequence[int], widths: Sequence[int]) -> str:
        texts = {column: one_line(cells[column]) for column in columns}
        padded = [
            text.ljust(widths[column]) if column < self.num_labels else text.rjust(widths[column])
            for column, text in texts.items()
        ]
        return " | ".join(padded).rstrip()

    def to_html(self) -> str:
        """An HTML table, every cell escaped."""
        head = "".join(f"<th>{html.escape(cell)}</th>" for cell in self.header)
        body = "".join(f"<tr>{self._html_row(row)}</tr>" for row in self.rows)
        more = f'<tr><td colspan="{len(self.header)}">{self._rest}</td></tr>' if self.more else ""
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}{more}</tbody></table>"

    def _html_row(self, row: Sequence[str]) -> str:
        return "".join(
            f"<th>{html.escape(cell)}</th>" if column < self.num_labels else f"<td>{html.escape(cell)}</td>"
            for column, cell in enumerate(row)
        )


def num_shown(total: int, limit: int | None = None) -> int:
    """How many of `total` rows to show: at most `limit`; where it is left out, all, or an excerpt of very many."""
    if limit is not None:
        return min(total, limit)
    return total if total <= _MAX_WHOLE else _EXCERPT


def factor_table(scope: Scope, flat: Table, max_rows: int | None) -> TextTable:
    """One column where there is one variable; else the last variable's states side by side."""
    if not scope:
        return TextTable(("value",), ((format_number(float(flat[0])),),), 0)
    *labels, last = scope
    if not labels:
        shown = last.states[: num_shown(last.num_states, max_rows)]
        pairs = tuple((str(state), format_number(float(flat[i]))) for i, state in enumerate(shown))
        return TextTable((last.name, "value"), pairs, 1, last.num_states - len(shown))
    table = flat.reshape(-1, last.num_states)
    header = (*(variable.name for variable in labels), *(f"{last.name}={state}" for state in last.states))
    rows = tuple(
        (*_row_labels(labels, row), *(format_number(float(number)) for number in table[row]))
        for row in range(num_shown(len(table), max_rows))
    )
    return TextTable(header, rows, len(labels), len(table) - len(rows))


def _row_labels(labels: Sequence[Variable], row: int) -> list[str]:
    texts: list[str] = []
    for variable in reversed(labels):
        row, index = divmod(row, variable.num_states)
        texts.append(str(variable.states[index]))
    return texts[::-1]


def one_line(text: str) -> str:
    """Text whose line breaks, tabs and other control characters are written out, so that a row stays a row."""
    return text if text.isprintable() else "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def format_number(number: float) -> str:
    """Six significant digits, no trailing zeros, no sign before zero."""
    return f"{number + 0.0:.6g}"
