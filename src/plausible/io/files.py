"""Loading and saving: the format is chosen by the file's ending."""

from __future__ import annotations

import codecs
import gzip
import os
import re
import zlib
from pathlib import Path
from typing import TypeAlias

from plausible.errors import FormatError, InvalidArgument, NotRepresentable, suggestion
from plausible.io.formats import Format, Model
from plausible.io.registry import FORMATS

__all__ = ["MAX_BYTES", "load", "save"]

PathLike: TypeAlias = str | os.PathLike[str]

#: A file that unpacks to more than this is refused.
MAX_BYTES = 2**30

_XML_ENCODING = re.compile(rb"""^\s*<\?xml[^>]*encoding=["']([A-Za-z0-9._-]+)["']""")


def load(path: PathLike, format: str | None = None) -> Model:
    """The model in a file.

    Parameters
    ----------
    path
        A file whose ending names a format that can be read, also with `.gz` after it.
    format
        The name of the format, such as `"bif"`, where the ending does not tell.
    """
    chosen = _choose(path, format)
    text = _decode(_read_bytes(Path(path)))
    try:
        return chosen.parse(text)
    except FormatError as error:
        raise error.in_file(os.fspath(path)) from None
    except RecursionError:
        raise FormatError("the file is nested too deeply.", file=os.fspath(path)) from None


def save(model: Model, path: PathLike, format: str | None = None) -> None:
    """Write a model to a file, in the format that its ending names; the file is replaced only once all is written."""
    chosen = _choose(path, format)
    if chosen.write is None:
        writable = ", ".join(known.name for known in FORMATS if known.write is not None)
        raise NotRepresentable(f"{chosen.name} files can be read but not written. Choose one of: {writable}.")
    data = chosen.write(model).encode("utf-8")
    target = Path(path)
    if target.suffix == ".gz":
        data = gzip.compress(data, mtime=0)
    partial = target.with_name(target.name + ".partial")
    partial.write_bytes(data)
    partial.replace(target)


def _choose(path: PathLike, name: str | None) -> Format:
    by_name = {known.name.lower(): known for known in FORMATS}
    if name is not None:
        if name.lower() not in by_name:
            raise InvalidArgument(f"{name!r} is not a file format.{suggestion(name, by_name)}")
        return by_name[name.lower()]
    file = Path(path)
    ending = Path(file.stem).suffix if file.suffix.lower() == ".gz" else file.suffix
    for known in FORMATS:
        if ending.lower() in known.extensions:
            return known
    endings = " ".join(extension for known in FORMATS for extension in known.extensions)
    raise InvalidArgument(
        f"The ending of {os.fspath(path)!r} names no format; known are {endings} (and .gz after them)."
    )


def _read_bytes(path: Path) -> bytes:
    if path.suffix.lower() != ".gz":
        if path.stat().st_size > MAX_BYTES:
            raise FormatError(f"the file has more than {MAX_BYTES} bytes.", file=os.fspath(path))
        return path.read_bytes()
    try:
        with gzip.open(path) as stream:
            data = stream.read(MAX_BYTES + 1)
    except (OSError, EOFError, zlib.error) as error:
        if isinstance(error, FileNotFoundError | PermissionError | IsADirectoryError):
            raise
        raise FormatError(f"this is no complete gzip file ({error}).", file=os.fspath(path)) from None
    if len(data) > MAX_BYTES:
        raise FormatError(f"the file unpacks to more than {MAX_BYTES} bytes.", file=os.fspath(path))
    return data


def _decode(data: bytes) -> str:
    """Text by byte-order mark, XML declaration or UTF-8; old files in none of these are Windows-1252 or Latin-1."""
    for mark, encoding in (
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16"),
        (codecs.BOM_UTF16_BE, "utf-16"),
    ):
        if data.startswith(mark):
            return data.decode(encoding, errors="replace").removeprefix("\ufeff")
    declared = _XML_ENCODING.match(data)
    for encoding in ([declared.group(1).decode("ascii")] if declared else []) + ["utf-8", "cp1252"]:
        try:
            return data.decode(encoding)
        except (UnicodeDecodeError, LookupError):
            continue
    return data.decode("latin-1")
