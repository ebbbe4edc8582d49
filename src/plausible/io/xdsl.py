"""XDSL, the format of GeNIe and SMILE (BayesFusion).

A <smile> element holds <nodes>, each with its <state>s, the identifiers of its <parents> and its numbers (the child's
state changing fastest), and <extensions> with what GeNIe draws. Identifiers are letters, digits and underscores; other
names and states get stand-ins, and the user properties `plausible_name` and `plausible_states` restore them.
"""

from __future__ import annotations

from plausible.io.formats import Format
from plausible.io.xdsl_parser import parse_xdsl
from plausible.io.xdsl_writer import format_xdsl

__all__ = ["FORMAT", "format_xdsl", "parse_xdsl"]

FORMAT = Format("XDSL", (".xdsl",), parse_xdsl, format_xdsl)
