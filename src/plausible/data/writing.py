"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from pathlib import Path

from plausible.errors import MissingFile

__all__ = ["write_whole"]


def write_whole(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file; one that exists is replaced once everything is written, and left as it was if that fails.

    Raises `MissingFile` where the folder is not there; other errors of the system name the file.
    """
    target = Path(path).resolve()
    if not target.parent.exists():
        raise MissingFile.for_writing(Path(path))
    partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
    try:
        partial.write_bytes(data)
        if target.exists():
            shutil.copymode(target, partial)
        partial.replace(target)
    except OSError as error:
        # The file that could not be made has a name that nobody gave.
        raise OSError(error.errno, error.strerror, os.fspath(path)) from None
    finally:
        with suppress(OSError):
            partial.unlink()
