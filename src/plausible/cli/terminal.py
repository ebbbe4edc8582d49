"""What is drawn by rich: the bar of long commands, and lists of facts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.table import Table

from plausible.cli.output import print_line

#: The option of commands that may take long.
ShowProgress = Annotated[
    bool | None,
    typer.Option(
        "--progress/--no-progress",
        help="Draw a progress bar on standard error; by default if that is a terminal.",
        show_default=False,
    ),
]


@contextmanager
def progress_bar(title: str, shown: bool | None) -> Iterator[Callable[..., None]]:
    """A bar while the work goes on, gone afterwards; call what it gives with the fraction done and a note.

    A fraction of `None` makes the bar pulse: nobody knows how much is left.
    """
    console = Console(stderr=True, force_terminal=shown or None)
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    is_off = not console.is_terminal if shown is None else not shown
    with Progress(*columns, console=console, transient=True, disable=is_off) as bar:
        named = title.replace("[", r"\[")
        task = bar.add_task(named, total=1.0)

        def advance(fraction: float | None, note: str = "") -> None:
            known = {"total": None} if fraction is None else {"total": 1.0, "completed": fraction}
            bar.update(task, description=f"{named}{note}", **known)

        yield advance


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
