"""`--plot`: what a command found as a chart or a picture in a file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from plausible.cli.output import print_line
from plausible.plotting import axes


class Drawn(Protocol):
    """A chart or a picture."""

    def save(self, path: Path) -> object:
        """Write it into a file."""


def check_plot(path: Path | None) -> None:
    """Refuse a file that no chart can be written to before the work begins."""
    if path is not None:
        axes.checked_format(axes.new_figure(1, 1), path)


def save_plot(path: Path | None, draw: Callable[[], Drawn]) -> None:
    """Draw into a file, where one is named, and say so; standard output is for the answer."""
    if path is not None:
        draw().save(path)
        print_line(f"{path}: drawn", error=True)
