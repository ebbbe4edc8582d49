"""All file formats, in the order in which help lists them."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec

from plausible.io.formats import Format

__all__ = ["FORMATS"]

_MODULES = ("json_format", "bif", "xmlbif", "xdsl", "hugin", "uai", "dsl", "dne")

FORMATS: tuple[Format, ...] = tuple(
    import_module(f"plausible.io.{name}").FORMAT for name in _MODULES if find_spec(f"plausible.io.{name}") is not None
)
