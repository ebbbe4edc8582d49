"""Posteriors of single entries and of pairs of entries of tables, row by row of incomplete data."""

from __future__ import annotations

import numpy as np

from plausible.base.arrays import Codes, Floats, Positions
from plausible.errors import TooLarge
from plausible.learn.gradients.free_parameters import Entries
from plausible.learn.gradients.observed import ObservedLikelihood, Tables

__all__ = ["entry_posteriors", "pair_counts"]

#: More runs of a row through the clique tree are refused: this is about a minute of work on a network like ALARM.
_MOST_RUNS = 4_000_000


def entry_posteriors(likelihood: ObservedLikelihood, tables: Tables, entries: Entries) -> Floats:
    """P(x, u | o[m]) for each different row and each entry that is not zero. A run for each row and entry.

    Each entry is put into the rows as if it had been observed: P(x, u | o) = P(x, u, o) / P(o).
    """
    _refuse_many(len(likelihood.rows), len(entries))
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


def _refuse_many(num_rows: int, num_entries: int) -> None:
    if num_rows * num_entries > _MOST_RUNS:
        raise TooLarge(
            f"The curvature of {num_entries} entries over {num_rows} different rows needs {num_rows * num_entries} "
            f"runs of a row, more than {_MOST_RUNS}. Fix some distributions by knowledge=, or take fewer rows."
        )
