"""What is drawn by rich: the bar of long commands, and lists of facts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.table import Table


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


def facts(title: str, rows: Iterable[tuple[str, object]]) -> str:
    """A title and a list of facts in two columns, long ones wrapped."""
    console = Console(highlight=False)
    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column(no_wrap=True)
    table.add_column()
    for label, value in rows:
        table.add_row(label, str(value).replace("[", r"\["))  # rich is to see no markup
    with console.capture() as captured:
        console.print(table)
    return "\n".join([title, *(line.rstrip() for line in captured.get().splitlines())])
