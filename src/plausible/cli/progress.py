"""The bar that long commands draw on standard error."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

__all__ = ["ShowProgress", "progress_bar"]

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
