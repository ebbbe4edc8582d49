"""All file formats, in the order in which help lists them."""

from __future__ import annotations

from plausible.io import bif, dne, dsl, hugin, json_format, uai, xdsl, xmlbif
from plausible.io.formats import Format

__all__ = ["FORMATS"]

FORMATS: tuple[Format, ...] = (
    json_format.FORMAT,
    bif.FORMAT,
    xmlbif.FORMAT,
    xdsl.FORMAT,
    hugin.FORMAT,
    uai.FORMAT,
    dsl.FORMAT,
    dne.FORMAT,
)
