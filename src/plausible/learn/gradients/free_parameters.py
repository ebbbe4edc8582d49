"""The entries of tables as linear functions of parameters that are free: all but one in each row."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from plausible.base.arrays import Floats, Positions
from plausible.cpds import CPD, TreeCPD
from plausible.cpds.rows import place_text
from plausible.errors import NotSupported
from plausible.learn.gradients.coordinates import RowCoordinates
from plausible.learn.gradients.observed import Tables
from plausible.learn.gradients.space import ParameterSpace

__all__ = ["Entries", "FreeParameters"]


@dataclass(frozen=True, slots=True, eq=False)
class Entries:
    """The entries of all tables that are not zero, numbered one table after the other.

    Attributes
    ----------
    places
        Name -> the positions of its entries in its flat table.
    parts
        Name -> the numbers that these have.
    """

    places: dict[str, Positions]
    parts: dict[str, slice]

    @classmethod
    def of(cls, tables: Tables) -> Entries:
        """Those of some tables."""
        places = {name: np.flatnonzero(table) for name, table in tables.items()}
        ends = np.cumsum([0, *(len(found) for found in places.values())]).tolist()
        return cls(places, {name: slice(*ends[i : i + 2]) for i, name in enumerate(places)})

    def __len__(self) -> int:
        return sum(map(len, self.places.values()))

    def taken(self, tables: Tables) -> Floats:
        """The numbers at the entries, from arrays in the shape of the tables."""
        return np.concatenate([np.empty(0), *(np.ravel(tables[name])[at] for name, at in self.places.items())])


@dataclass(frozen=True, slots=True, eq=False)
class FreeParameters:
    """All states but the last possible one of each row of a table, of each leaf of a tree, of each shared row.

    Attributes
    ----------
    labels
        "P(X=x | U=u)" for each.
    slopes
        dθ_entry / dparameter, a row for each entry; rows of fixed distributions are zero.
    """

    labels: tuple[str, ...]
    slopes: Floats

    @classmethod
    def of(cls, space: ParameterSpace, entries: Entries) -> FreeParameters:
        """Those of a network of tables and trees."""
        labels: list[str] = []
        columns: list[Floats] = []
        for block in space.blocks:
            coordinates = block.coordinates
            if not isinstance(coordinates, RowCoordinates):
                origin = coordinates.origin
                raise NotSupported(
                    f"The {origin.kind} distribution of {origin.variable.name!r} is not linear in its parameters: "
                    "curvature is had of tables and trees. Make it a table by to_table(), or fix it."
                )
            for row, kept in _rows(coordinates):
                for state in kept[:-1]:
                    labels.append(_label(coordinates.origin, row, state))
                    columns.append(_column(entries, block.users, coordinates, (row, state, kept[-1])))
        slopes = np.column_stack(columns) if columns else np.zeros((len(entries), 0))
        return cls(tuple(labels), slopes)


def _rows(coordinates: RowCoordinates) -> Iterator[tuple[int, list[int]]]:
    """Each row, and the states that are possible in it."""
    for row, values in enumerate(coordinates.rows):
        yield row, np.flatnonzero(values).tolist()


def _column(
    entries: Entries, users: tuple[str, ...], coordinates: RowCoordinates, parameter: tuple[int, int, int]
) -> Floats:
    """+1 for the entries that a parameter is, -1 for those that make room for it."""
    row, state, last = parameter
    moved = np.zeros((len(coordinates.places), coordinates.rows.shape[1]))
    moved[coordinates.places == row, state] = 1.0
    moved[coordinates.places == row, last] = -1.0
    column = np.zeros(len(entries))
    for user in users:
        column[entries.parts[user]] = moved.ravel()[entries.places[user]]
    return column


def _label(cpd: CPD, row: int, state: int) -> str:
    event = f"{cpd.variable.name}={cpd.variable.states[state]}"
    if not cpd.parents:
        return f"P({event})"
    if isinstance(cpd, TreeCPD):
        where = str(cpd.contexts()[row]).partition(":")[0]
        return f"P({event} | {where})"
    sizes = [parent.num_states for parent in cpd.parents]
    return f"P({event} | {place_text(cpd.parents, tuple(int(i) for i in np.unravel_index(row, sizes)))})"
