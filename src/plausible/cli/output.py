"""What commands print: text for people, or one JSON document."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

__all__ = ["AsJson", "facts", "print_json", "print_line"]

#: The option that every command has.
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of text.")]


def print_json(document: Mapping[str, Any]) -> None:
    """The document on standard output; what JSON does not know is printed as text."""
    sys.stdout.write(json.dumps(document, indent=2, ensure_ascii=False, default=str) + "\n")


def print_line(text: str = "", *, error: bool = False) -> None:
    """A line of plain text."""
    (sys.stderr if error else sys.stdout).write(text + "\n")


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
