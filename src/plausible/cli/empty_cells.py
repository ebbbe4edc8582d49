"""Rows with empty cells, where a command needs whole ones."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any

import typer

from plausible.data.table import Table
from plausible.errors import InvalidArgument, counted
from plausible.learn.incomplete_structures.available import complete_rows

__all__ = ["MissingRows", "told_left_out", "usable_rows", "whole_rows"]

MissingRows = Annotated[
    str | None,
    typer.Option(
        "--missing",
        help="Empty cells: complete-rows leaves rows out that have one in a column of the graph.",
        show_default=False,
    ),
]


def usable_rows(table: Table, nodes: Iterable[Any], missing: str | None) -> Table:
    """The columns of a graph's nodes, where asked for without the rows that have empty cells there.

    >>> usable_rows(Table.read({"X": [0, None, 1], "Y": [1, 0, 1], "note": [None, "a", "b"]}), "XY", "complete-rows")
    Table(2 rows, 2 variables)
    """
    if missing is None:
        return table
    if missing != "complete-rows":
        raise InvalidArgument(f"--missing is complete-rows here, not {missing!r}; or complete cells: plausible impute.")
    wanted = set(nodes)
    used = table.select(name for name in table.variables if name in wanted)
    return whole_rows(used) if used.missing else used


def whole_rows(table: Table) -> Table:
    """The rows in which nothing is missing; refused in words of the shell if there are none."""
    try:
        return complete_rows(table)
    except InvalidArgument:
        raise InvalidArgument(
            f"None of {counted(table.num_rows, 'row')} is complete, and --missing complete-rows leaves nothing. "
            "Complete them first: plausible impute."
        ) from None


def told_left_out(before: Table, after: Table) -> str:
    """How many rows were left out, and what that takes for granted; "" if none were."""
    number = before.num_rows - after.num_rows
    if not number:
        return ""
    rows = counted(before.num_rows, "row")
    return f"{number} of {rows} left out, whose cells are taken to be missing completely at random"
