"""The data that commands learn from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from plausible.cli.tables import check_ending
from plausible.data.columns import factorize
from plausible.data.table import Table
from plausible.errors import InvalidArgument
from plausible.variables import Variable

__all__ = ["DataFile", "read_data"]

DataFile = Annotated[Path, typer.Argument(help="A CSV or Parquet file with a row for each case.", show_default=False)]


def read_data(path: Path, variables: list[Variable] | None = None) -> Table:
    """The table in a file; of a CSV file only empty cells are missing, whatever words others have for that."""
    import pandas as pd

    if check_ending(path) == ".parquet":
        frame = pd.read_parquet(path)
    else:
        try:
            frame = pd.read_csv(path, keep_default_na=False, na_values=[""])
        except (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeDecodeError) as error:
            raise InvalidArgument(f"{path} can't be read as CSV: {error}") from error
    known = [variable for variable in variables or () if variable.name in frame.columns]
    columns: dict[Any, Any] = dict(frame.items())
    columns |= {v.name: _as_states(columns[v.name], v) for v in known if not v.is_continuous}
    return Table.read(columns, known)


def _as_states(column: Any, variable: Variable) -> list[Any]:
    """The cells as states, which a file may hold as text."""
    places, values = factorize(variable.name, column)
    by_text: dict[str, Any] = {str(state): state for state in variable.states}
    states = np.empty(len(values) + 1, dtype=object)
    states[:-1] = [value if variable.has_state(value) else by_text.get(str(value), value) for value in values]
    return list(states[places])
