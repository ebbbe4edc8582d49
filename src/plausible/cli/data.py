"""The data that commands learn from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from plausible.data.sources import columns_of
from plausible.data.table import Table
from plausible.variables import Variable

__all__ = ["DataFile", "read_data"]

DataFile = Annotated[Path, typer.Argument(help="A CSV or Parquet file with a row for each case.", show_default=False)]


def read_data(path: Path, variables: list[Variable] | None = None) -> Table:
    """The table in a file; variables that have no column in it are passed over."""
    known = {variable.name: variable for variable in variables or ()}
    columns = columns_of(path, known)
    return Table.read(columns, [variable for name, variable in known.items() if name in columns])
