"""Files that people drop on the page, and those they save: bytes in, text out, no paths from a browser."""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any

from plausible.data import Table
from plausible.data.source_parts import parts_of
from plausible.errors import InvalidArgument, PlausibleError, TooLarge
from plausible.io import FORMATS, parse_file, to_text
from plausible.studio.asked import Asked
from plausible.studio.desk import Desk, Version

#: The endings of rows.
ROW_ENDINGS = (".csv", ".tsv", ".parquet", ".arrow", ".feather")
#: So many cells a table may have.
MOST_CELLS = 10**8
#: Formats in the order in which a page offers them, those that can be written.
_WRITTEN = {known.extensions[0]: known for known in FORMATS if known.write is not None}


def opened(desk: Desk, data: bytes, name: str) -> Version:
    """The model in the bytes of a file."""
    return desk.put(parse_file(data, _base_name(name)), _base_name(name))


def opened_rows(desk: Desk, data: bytes, name: str) -> str:
    """The number of the table in the bytes of a file; columns that nobody named are typed by what they hold."""
    base = _base_name(name)
    ending = PurePosixPath(base).suffix.lower()
    if ending not in ROW_ENDINGS:
        raise InvalidArgument(f"{base!r} is no file of rows: they end in {', '.join(ROW_ENDINGS)}.")
    with TemporaryDirectory() as folder:
        file = Path(folder) / f"rows{ending}"
        file.write_bytes(data)
        try:
            _refuse_too_many_cells(file)
            return desk.put_table(Table.read(file), base)
        except PlausibleError as error:
            error.args = tuple(str(part).replace(str(file), base) for part in error.args)
            raise


def _refuse_too_many_cells(file: Path) -> None:
    """Refuse a small file that says it unpacks to a table beyond the memory of this machine."""
    cells = sum(part.num_rows * len(part.kinds) for part in parts_of(file) if part.is_counted)
    if cells > MOST_CELLS:
        raise TooLarge(f"This file has {cells:.3g} cells; a page takes up to {MOST_CELLS:.3g}.")


def save(desk: Desk, asked: Asked) -> dict[str, Any]:
    """The model as the text of a file, by the ending of the format."""
    version = desk.version(asked.text("model"))
    ending = asked.text("ending")
    if ending not in _WRITTEN:
        raise InvalidArgument(f"{ending!r} is no format to save as: {', '.join(_WRITTEN)}.")
    return {"name": stem(version.name) + ending, "text": to_text(version.model, _WRITTEN[ending].name)}


def formats(desk: Desk, asked: Asked) -> dict[str, Any]:
    """The formats that models can be saved as."""
    return {"formats": [{"ending": ending, "name": known.name} for ending, known in _WRITTEN.items()]}


def stem(name: str) -> str:
    """The name of a file without what says its format."""
    base = name.removesuffix(".gz")
    return PurePosixPath(base).stem or "model"


def _base_name(name: str) -> str:
    """What a file is called, without folders and signs that could mean some."""
    base = re.split(r"[/\\]", name)[-1]
    return re.sub(r"[\x00-\x1f\x7f]", "", base).strip()[:120] or "model"
