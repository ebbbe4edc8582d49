"""Conditional distributions for people: lines of text, tables, and the pieces that they are made of."""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from plausible.base.display import TextTable, format_number, html_of_print, num_shown, one_line
from plausible.variables import Variable

_MAX_STATES = 12


@dataclass(frozen=True, slots=True)
class TextLines:
    """Lines under a heading, of which very many are cut short; `what` says what they are, in the plural.

    `num_lines` counts them all, where only the first ones are there.
    """

    heading: str
    lines: Sequence[str]
    what: str
    num_lines: int | None = None

    def __str__(self) -> str:
        total = len(self.lines) if self.num_lines is None else self.num_lines
        shown = self.lines[: num_shown(total)]
        more = total - len(shown)
        rest = [f"... {more} more {self.what}"] if more else []
        return "\n".join(one_line(line) for line in (*([self.heading] if self.heading else []), *shown, *rest))

    _repr_html_ = html_of_print

    def to_html(self) -> str:
        """The same lines as HTML, escaped."""
        return f"<pre>{html.escape(str(self))}</pre>"


def excerpt(header: Iterable[str], rows: Iterator[Sequence[str]], num_rows: int, num_labels: int = 1) -> TextTable:
    """A table of rows of text; only those that are shown are taken from `rows`."""
    shown = num_shown(num_rows)
    listed = tuple(tuple(row) for row, _ in zip(rows, range(shown), strict=False))
    return TextTable(tuple(header), listed, num_labels, num_rows - shown)


def state_header(variable: Variable, first: int = 0) -> list[str]:
    """`X=x0`, `X=x1`, ...: a column for each state from the `first` on."""
    return [f"{variable.name}={state}" for state in variable.states[first:]]


def state_label(name: str, variable: Variable | None, position: int) -> str:
    """`A=a1`; `A=[1]` where only the name of the variable is known."""
    return f"{name}={f'[{position}]' if variable is None else variable.states[position]}"


def heading(variable: Variable, parents: Sequence[str]) -> str:
    """`P(X=[x0, x1] | U, V)`: which numbers the rows below list."""
    return f"P({variable.name}={states_text(variable.states)}{given_text(parents)})"


def given_text(parents: Sequence[str]) -> str:
    """` | U, V`, or nothing; of very many parents the first ones and their number."""
    more = f", ... ({len(parents)} parents)" if len(parents) > _MAX_STATES else ""
    return f" | {', '.join(parents[:_MAX_STATES])}{more}" if parents else ""


def states_text(states: Iterable[object]) -> str:
    """`[x0, x1]`; the end of a long list is left out."""
    listed = [str(state) for state in states]
    return f"[{', '.join(listed[:_MAX_STATES])}{', ...' if len(listed) > _MAX_STATES else ''}]"


def row_text(row: Iterable[float]) -> str:
    """`[0.2, 0.8]`: a row of probabilities in state order."""
    return states_text(format_number(float(number)) for number in row)


def linear_text(intercept: float, terms: Iterable[tuple[str, float]]) -> str:
    """`-3.5 + 0.5 X`: a constant, left out where it is zero and something follows, and multiples of variables."""
    listed = list(terms)
    text = format_number(intercept) if intercept or not listed else ""
    for name, coefficient in listed:
        size = "" if abs(coefficient) == 1 else f"{format_number(abs(coefficient))} "
        sign = "-" if coefficient < 0 else "+"
        text = f"{text} {sign} {size}{name}" if text else f"{'-' if coefficient < 0 else ''}{size}{name}"
    return text
