"""Steps to come of filters that are fed row by row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar

from plausible.base.options import read_count
from plausible.base.remedies import Argument
from plausible.data.sources import columns_of
from plausible.errors import InvalidArgument

if TYPE_CHECKING:
    import pandas as pd


class RowFilter(Protocol):
    """A filter that each row makes a new one of."""

    def update(self, row: Any = None) -> Self:
        """The filter after one more row."""


Filter = TypeVar("Filter", bound=RowFilter)


def rows_ahead(steps: int, inputs: Any) -> list[dict[str, Any] | None]:
    """The rows of steps to come, at which nothing is seen but inputs: columns, with a cell for each step."""
    count = read_count("steps", steps, 1)
    if inputs is None:
        return [None] * count
    columns = {str(name): list(column) for name, column in columns_of(inputs).items()}
    for name, cells in columns.items():
        if len(cells) != count:
            raise InvalidArgument(Argument("inputs"), f" has {len(cells)} rows of {name!r}; there are {count} steps.")
    return [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]


def filters_ahead(now: Filter, steps: int, inputs: Any) -> list[Filter]:
    """The filter after each of the steps to come."""
    found = []
    for row in rows_ahead(steps, inputs):
        now = now.update(row)
        found.append(now)
    return found


def steps_index(steps: int) -> pd.Index[int]:
    """The numbers of the steps to come."""
    import pandas as pd

    return pd.RangeIndex(1, steps + 1, name="step")
