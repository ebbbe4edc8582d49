"""Warnings about what is read: they name the file, and point at the line of whoever asked for it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from plausible.errors import warn_caller

__all__ = ["reading", "warn_reader"]

_FILE: ContextVar[str] = ContextVar("file that is being read", default="")


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
    warn_caller(f"{file}: {text}" if file else text, category)
