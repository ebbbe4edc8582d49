"""Tables for people: plain text for terminals, HTML for notebooks."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass

from plausible.factors.alignment import Scope, Table
from plausible.variables import Variable

__all__ = ["TextTable", "factor_table", "format_number"]


@dataclass(frozen=True, slots=True)
class TextTable:
    """Cells of text under a header; the first `num_labels` columns are labels, the rest numbers."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    num_labels: int
    more: int = 0

    def __str__(self) -> str:
        widths = [max(len(_one_line(cell)) for cell in column) for column in zip(self.header, *self.rows, strict=True)]
        lines = [self._line(self.header, widths), "-+-".join("-" * width for width in widths)]
        lines += [self._line(row, widths) for row in self.rows]
        if self.more:
            lines.append(self._rest)
        return "\n".join(lines)

    @property
    def _rest(self) -> str:
        return f"... {self.more} more row{'' if self.more == 1 else 's'}"

    def _line(self, cells: Sequence[str], widths: Sequence[int]) -> str:
        padded = [
            _one_line(cell).ljust(width) if column < self.num_labels else _one_line(cell).rjust(width)
            for column, (cell, width) in enumerate(zip(cells, widths, strict=True))
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


def factor_table(scope: Scope, flat: Table, max_rows: int) -> TextTable:
    """One column where there is one variable; else the last variable's states side by side."""
    if not scope:
        return TextTable(("value",), ((format_number(float(flat[0])),),), 0)
    *labels, last = scope
    if not labels:
        shown = (last.states or ())[:max_rows]
        pairs = tuple((str(state), format_number(float(flat[i]))) for i, state in enumerate(shown))
        return TextTable((last.name, "value"), pairs, 1, last.num_states - len(shown))
    table = flat.reshape(-1, last.num_states)
    header = (*(variable.name for variable in labels), *(f"{last.name}={state}" for state in last.states or ()))
    rows = tuple(
        (*_row_labels(labels, row), *(format_number(float(number)) for number in table[row]))
        for row in range(min(max_rows, len(table)))
    )
    return TextTable(header, rows, len(labels), len(table) - len(rows))


def _row_labels(labels: Sequence[Variable], row: int) -> list[str]:
    texts: list[str] = []
    for variable in reversed(labels):
        row, index = divmod(row, variable.num_states)
        texts.append(str((variable.states or ())[index]))
    return texts[::-1]


def _one_line(text: str) -> str:
    """Text whose line breaks, tabs and other control characters are written out, so that a row stays a row."""
    return text if text.isprintable() else "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def format_number(number: float) -> str:
    """Six significant digits, no trailing zeros."""
    return f"{number:.6g}"
