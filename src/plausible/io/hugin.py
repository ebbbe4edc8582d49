"""NET, the language in which Hugin and programs like it keep networks."""

from __future__ import annotations

from plausible.io.formats import Format
from plausible.io.hugin_parser import parse_hugin
from plausible.io.hugin_writer import format_hugin

__all__ = ["FORMAT", "format_hugin", "parse_hugin"]

FORMAT = Format("NET", (".net", ".hugin", ".oobn"), parse_hugin, format_hugin)
