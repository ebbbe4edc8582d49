"""BIF, the interchange format for Bayesian networks that most programs and repositories share."""

from __future__ import annotations

from plausible.io.bif_parser import parse_bif
from plausible.io.bif_writer import format_bif
from plausible.io.formats import Format

__all__ = ["FORMAT", "format_bif", "parse_bif"]

FORMAT = Format("BIF", (".bif",), parse_bif, format_bif)
