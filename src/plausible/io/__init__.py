"""File formats: `load` and `save` choose by ending, and each format has pure functions between text and model."""

from plausible.io.bif import format_bif, parse_bif
from plausible.io.dne import parse_dne
from plausible.io.dsl import parse_dsl
from plausible.io.files import FORMATS, load, load_diagram, load_markov_network, load_network, parse, save, to_text
from plausible.io.formats import Format, Model, Network
from plausible.io.hugin import format_hugin
from plausible.io.hugin_parser import parse_hugin
from plausible.io.json_format import format_json, parse_json
from plausible.io.uai import format_uai, parse_uai
from plausible.io.uai_answers import (
    UAIResult,
    format_uai_evidence,
    format_uai_result,
    parse_uai_evidence,
    parse_uai_result,
)
from plausible.io.xdsl import format_xdsl
from plausible.io.xdsl_parser import parse_xdsl
from plausible.io.xmlbif import format_xmlbif, parse_xmlbif

__all__ = [
    "FORMATS",
    "Format",
    "Model",
    "Network",
    "UAIResult",
    "format_bif",
    "format_hugin",
    "format_json",
    "format_uai",
    "format_uai_evidence",
    "format_uai_result",
    "format_xdsl",
    "format_xmlbif",
    "load",
    "load_diagram",
    "load_markov_network",
    "load_network",
    "parse",
    "parse_bif",
    "parse_dne",
    "parse_dsl",
    "parse_hugin",
    "parse_json",
    "parse_uai",
    "parse_uai_evidence",
    "parse_uai_result",
    "parse_xdsl",
    "parse_xmlbif",
    "save",
    "to_text",
]
