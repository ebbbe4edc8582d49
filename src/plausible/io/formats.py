"""The record of a file format, and the text that goes through it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from plausible.models import BayesianNetwork, MarkovNetwork

__all__ = ["Format", "Model"]

Model: TypeAlias = BayesianNetwork | MarkovNetwork


@dataclass(frozen=True, slots=True)
class Format:
    """A file format: pure functions between text and models.

    Attributes
    ----------
    name
        What people call it.
    extensions
        File endings that choose it, in lower case, with the dot.
    parse
        Text to model; errors are `FormatError` with line and column.
    write
        Model to text, where the format can be written; a model that it can't hold is `NotRepresentable`.
    """

    name: str
    extensions: tuple[str, ...]
    parse: Callable[[str], Model]
    write: Callable[[Model], str] | None
