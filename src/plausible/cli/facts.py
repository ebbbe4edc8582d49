"""A list of facts, as commands print it."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console
from rich.table import Table

from plausible.cli.output import print_line

__all__ = ["facts"]


def facts(title: str, rows: Iterable[tuple[str, object]]) -> None:
    """A title and a list of facts in two columns, long ones wrapped."""
    console = Console(highlight=False)
    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column(no_wrap=True)
    table.add_column()
    for label, value in rows:
        table.add_row(label, _escaped(value))
    with console.capture() as captured:
        console.print(table)
    print_line("\n".join([title, *(line.rstrip() for line in captured.get().splitlines())]))


def _escaped(value: object) -> str:
    """Text in which rich sees no markup."""
    return str(value).replace("[", r"\[")
