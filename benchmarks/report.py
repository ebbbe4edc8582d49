"""Timing, and tables of what was timed."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any


def best_of(repeats: int, call: Callable[[], Any]) -> float:
    """The shortest of several runs, in seconds."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def at_least(number: float, is_limit: bool) -> str:
    """A number, or what it is at least where a limit of time stopped what was measured."""
    return f"{'> ' if is_limit else ''}{number:.4g}"


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Columns of text under a header, with a line on the machine."""
    cells = [[_cell(cell) for cell in row] for row in (header, *rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in cells]
    return "\n".join([f"Python {platform.python_version()}, {platform.machine()}", *lines])


def _cell(value: object) -> str:
    if value is None:
        return "-"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
