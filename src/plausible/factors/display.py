"""Factors as tables for people."""

from __future__ import annotations

from collections.abc import Sequence

from plausible.base.display import TextTable, format_number, num_shown
from plausible.factors.alignment import Scope, Table
from plausible.variables import Variable

__all__ = ["factor_table"]


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
