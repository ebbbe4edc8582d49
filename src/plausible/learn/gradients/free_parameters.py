"""The entries of tables: as linear functions of free parameters, and their posteriors row by row of incomplete data."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from plausible.base.arrays import Codes, Floats, Positions
from plausible.cpds import CPD, TreeCPD
from plausible.cpds.rows import place_text
from plausible.errors import NotSupported, TooLarge
from plausible.learn.gradients.coordinates import RowCoordinates
from plausible.learn.gradients.observed import ObservedLikelihood, Tables
from plausible.learn.gradients.space import ParameterSpace

#: More runs of a row through the clique tree are refused: this is about a minute of work on a network like ALARM.
_MOST_RUNS = 4_000_000


@dataclass(frozen=True, slots=True, eq=False)
class Entries:
    """The entries of all tables that are not zero, numbered one table after the other."""

    places: dict[str, Positions]  # name -> the positions of its entries in its flat table
    parts: dict[str, slice]  # name -> the numbers that these have

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
    """All states but the last possible one of each row of a table, of each leaf of a tree, of each shared row."""

    labels: tuple[str, ...]  # "P(X=x | U=u)" for each
    slopes: Floats  # dθ_entry / dparameter, a row for each entry; rows of fixed distributions are zero

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
            for row, values in enumerate(coordinates.rows):
                kept = np.flatnonzero(values).tolist()
                for state in kept[:-1]:
                    labels.append(_label(coordinates.origin, row, state))
                    columns.append(_column(entries, block.users, coordinates, (row, state, kept[-1])))
        slopes = np.column_stack(columns) if columns else np.zeros((len(entries), 0))
        return cls(tuple(labels), slopes)


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


def entry_posteriors(likelihood: ObservedLikelihood, tables: Tables, entries: Entries) -> Floats:
    """P(x, u | o[m]) for each different row and each entry that is not zero. A run for each row and entry.

    Each entry is put into the rows as if it had been observed: P(x, u | o) = P(x, u, o) / P(o).
    """
    num_runs = len(likelihood.rows) * len(entries)
    if num_runs > _MOST_RUNS:
        raise TooLarge(
            f"The curvature of {len(entries)} entries over {len(likelihood.rows)} different rows needs {num_runs} "
            f"runs of a row, more than {_MOST_RUNS}. Fix some distributions by knowledge=, or take fewer rows."
        )
    log_rows = likelihood.log_rows(tables)
    likelihood.refuse_impossible(log_rows)
    posteriors = np.zeros((len(likelihood.rows), len(entries)))
    for name, part in entries.parts.items():
        given = [_observed(likelihood, name, int(place)) for place in entries.places[name]]
        logs = likelihood.log_rows(tables, np.concatenate([rows for rows, _ in given]))
        starts = np.cumsum([0, *(len(rows) for rows, _ in given)])
        for number, (_, agreeing) in enumerate(given):
            found = logs[starts[number] : starts[number + 1]] - log_rows[agreeing]
            posteriors[agreeing, part.start + number] = np.exp(found)
    return posteriors


def pair_counts(likelihood: ObservedLikelihood, tables: Tables, entries: Entries, posteriors: Floats) -> Floats:
    """Σ_m w_m P(x_i, u_i, x_j, u_j | o[m]) for all pairs of entries of different families; zero within a family.

    Two entries of one family are never used together, and one entry only once: P(o) is linear in it.
    """
    counts = np.zeros((len(entries), len(entries)))
    for name, part in entries.parts.items():
        for number, place in enumerate(entries.places[name].tolist(), part.start):
            rows, agreeing = _observed(likelihood, name, place)
            weights = likelihood.weights[agreeing] * posteriors[agreeing, number]
            counts[number] = entries.taken(likelihood.counts(tables, rows, weights)[1])
        counts[part, part] = 0.0
    return counts


def _observed(likelihood: ObservedLikelihood, name: str, place: int) -> tuple[Codes, Positions]:
    """The rows that agree with an entry of a family, with its states put in, and which rows these are."""
    scope = likelihood.families[name]
    order = list(likelihood.compiled.tree.variables)
    columns = [order.index(variable.name) for variable in scope]
    states = np.array(np.unravel_index(place, [variable.num_states for variable in scope]))
    cells = likelihood.rows[:, columns]
    agreeing = np.flatnonzero(((cells == states) | (cells < 0)).all(axis=1))
    rows = likelihood.rows[agreeing].copy()
    rows[:, columns] = states
    return rows, agreeing
