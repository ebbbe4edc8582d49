"""What goes wrong, as pages are told it: in words that name no Python, with what a page can offer to do about it."""

from __future__ import annotations

from typing import Any

from plausible.base.remedies import Piece
from plausible.errors import CyclicGraph, PlausibleError, TooLarge


def problem_of(error: PlausibleError) -> dict[str, Any]:
    """An error as plain data: its message and its kind, and what is known beside them.

    >>> problem_of(TooLarge("It is too much."))
    {'message': 'It is too much.', 'kind': 'TooLarge', 'seconds': None}
    """
    told: dict[str, Any] = {"message": error.told(_words), "kind": type(error).__name__}
    if isinstance(error, CyclicGraph):
        told["cycle"] = [str(node) for node in error.cycle]
    if isinstance(error, TooLarge):
        told["seconds"] = error.seconds
    return told


def _words(piece: Piece) -> str | None:
    """Text as it is; who clicks on a page has no arguments to give, and is offered buttons instead."""
    return piece if isinstance(piece, str) else None
