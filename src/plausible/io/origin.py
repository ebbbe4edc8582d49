"""Warnings about what is read: they name the file, and point at the line of whoever asked for it."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["reading", "warn_reader"]

_FILE: ContextVar[str] = ContextVar("file that is being read", default="")
_PACKAGE = __name__.partition(".")[0]


@contextmanager
def reading(file: str) -> Iterator[None]:
    """Let warnings name this file; parsers, which see its text only, don't know it."""
    token = _FILE.set(file)
    try:
        yield
    finally:
        _FILE.reset(token)


def warn_reader(text: str, category: type[Warning]) -> None:
    """Warn about the text that is being read."""
    file = _FILE.get()
    warnings.warn(f"{file}: {text}" if file else text, category, stacklevel=_level_of_caller())


def _level_of_caller() -> int:
    """The `stacklevel`, for a call of `warn` by the function above, of the innermost frame outside of this package."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == _PACKAGE:
        frame, level = frame.f_back, level + 1
    return level
