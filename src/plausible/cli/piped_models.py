"""Models on standard input and output, where no ending of a file tells the format."""

from __future__ import annotations

import codecs
import errno
import gzip
import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType

from plausible.cli.streams import STANDARD_INPUT, is_standard, piped_bytes, piped_file
from plausible.errors import FormatError, InvalidArgument
from plausible.io import FORMATS, Model, load, save

_GZIP = b"\x1f\x8b"
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)

#: Blanks and comments, which tell nothing.
_SKIPPED = re.compile(r"(?:\s|//[^\n]*|/\*.*?\*/|%[^\n]*)*+", re.DOTALL)

#: Format -> how a file in it begins.
_BEGINNINGS: Mapping[str, re.Pattern[str]] = MappingProxyType(
    {
        "JSON": re.compile(r"\{"),
        "XMLBIF": re.compile(r"(?=<).*?<bif\b", re.DOTALL | re.IGNORECASE),
        "XDSL": re.compile(r"(?=<).*?<smile\b", re.DOTALL | re.IGNORECASE),
        "BIF": re.compile(r"(?:network|variable|probability)\b"),
        "NET": re.compile(r"net\s*\{|class\b|(?:discrete\s+|continuous\s+)?(?:node|decision|utility)\b"),
        "UAI": re.compile(r"(?:BAYES|MARKOV)\b", re.IGNORECASE),
        "DSL": re.compile(r"net\s+\w"),
        "DNE": re.compile(r"bnet\b"),
    }
)


def format_of(data: bytes) -> str | None:
    r"""The format of a file that begins so; `None` if none does.

    >>> format_of(b"// by hand\nnetwork x { }"), format_of(b"net { }"), format_of(b"A -> B")
    ('BIF', 'NET', None)
    """
    if data.startswith(_GZIP):
        try:
            data = gzip.decompress(data)
        except (OSError, EOFError):
            return None
    text = data.decode("utf-16" if data.startswith(_UTF16) else "utf-8", errors="replace").removeprefix("\ufeff")
    start = _SKIPPED.match(text)
    place = start.end() if start else 0
    return next((name for name, begins in _BEGINNINGS.items() if begins.match(text, place)), None)


def piped_model(format: str | None = None) -> Model:
    """The model on standard input, in the format that is named or that it begins with."""
    data = piped_bytes()
    found = format or format_of(data)
    if found is None:
        names = ", ".join(known.name for known in FORMATS)
        problem = f"This is no model: no file in one of the formats {names} begins so."
        raise FormatError(problem, file=STANDARD_INPUT)
    with piped_file(".gz" if data.startswith(_GZIP) else "") as path:
        return load(path, format=found)


def ending_of(file: Path | str) -> str:
    """The ending that names a format, in lower case.

    >>> ending_of("asia.BIF"), ending_of("asia.bif.gz")
    ('.bif', '.bif')
    """
    path = Path(file)
    return Path(path.stem).suffix.lower() if path.suffix.lower() == ".gz" else path.suffix.lower()


def check_ending(file: Path | str, option: str) -> None:
    """Refuse a file whose ending names no format; `option` is how the shell names one.

    >>> check_ending("asia.BIF.gz", "--to bif")
    """
    endings = [ending for known in FORMATS for ending in known.extensions]
    if ending_of(file) not in endings:
        raise InvalidArgument(
            f"The ending of {str(file)!r} names no format; known are {' '.join(endings)} (and .gz after them). "
            f"Or name the format, as in {option}."
        )


def check_target(target: Path | str, format: str | None = None) -> None:
    """Refuse a file that no model can be written to, before the work is done."""
    if is_standard(target) or format is not None:
        return
    endings = [ending for known in FORMATS if known.write is not None for ending in known.extensions]
    if ending_of(target) not in endings:
        raise InvalidArgument(f"The ending of {str(target)!r} names no format to write; known are {' '.join(endings)}.")
    if not Path(target).parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(target))


def save_model(model: Model, target: Path | str, format: str | None = None) -> None:
    """Write a model to a file, or to standard output, as bytes in UTF-8 as in a file."""
    if not is_standard(target):
        save(model, target, format=format)
        return
    with TemporaryDirectory() as folder:
        written = Path(folder) / "model"
        save(model, written, format=format or "json")
        sys.stdout.flush()
        sys.stdout.buffer.write(written.read_bytes())
