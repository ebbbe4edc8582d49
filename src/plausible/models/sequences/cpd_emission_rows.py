"""What conditional distributions look at, step by step: the different rows, and their completions where cells lack."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plausible.base.arrays import Flags, Floats, Positions
from plausible.cpds import CPD
from plausible.data.sequences import Sequences
from plausible.errors import InvalidArgument, NotSupported, TooLarge
from plausible.models.sequences.emissions import ObservedRows
from plausible.variables import Variable

#: What marks the value of a column one step before.
LAG = "[-1]"
#: Rows may have so many completions together.
_MOST_COMPLETIONS = 10_000_000


@dataclass(frozen=True, slots=True, eq=False)
class CompletedRows:
    """Different rows, each of them with all states of those missing cells that others depend on."""

    columns: Mapping[str, NDArray[Any]]  # a cell for each completion; -1 or NaN where still missing
    is_first: Flags  # whether completions are of first steps
    owner: Positions  # the row of each completion, in order
    num_rows: int

    def __len__(self) -> int:
        return self.num_rows

    def is_there(self, name: str) -> Flags:
        """The completions that have a value of a column."""
        return is_known(self.columns[name])

    def of(self, cpd: CPD, state: Variable) -> dict[str, NDArray[Any]]:
        """The columns that a distribution looks at, without that of the state."""
        names = [name for name in (*cpd.parent_names, cpd.variable.name) if name != state.name]
        return {name: self.columns[name] for name in names}

    def summed(self, logs: Floats) -> Floats:
        """log Σ over the completions of each row."""
        if len(logs) == self.num_rows:
            return logs
        starts = np.searchsorted(self.owner, np.arange(self.num_rows))
        return np.asarray(np.logaddexp.reduceat(logs, starts, axis=0))


def completed_rows(sequences: Sequences, later: Sequence[CPD], first: Sequence[CPD], state: Variable) -> ObservedRows:
    """The different rows among the steps, completed; `later` and `first` have parents before children."""
    is_first = np.zeros(sequences.num_steps, dtype=np.bool_)
    is_first[sequences.starts[:-1][np.diff(sequences.starts) > 0]] = True
    columns = _columns(sequences, (*later, *first), state, is_first)
    is_open = {cpd.variable.name: np.zeros(sequences.num_steps, dtype=np.bool_) for cpd in later}
    for cpds, here in ((later, ~is_first), (first, is_first)):
        for name, own in _open_cells(sequences, columns, cpds, here, state).items():
            is_open[name] |= own
    row_of, firsts = _different(columns, is_first if tuple(first) != tuple(later) else is_first[:0])
    rows = {name: column[firsts] for name, column in columns.items()}
    missing = {name: flags[firsts] for name, flags in is_open.items() if flags.any()}
    owner, completed = _completions(rows, missing, {cpd.variable.name: cpd.variable for cpd in later}, len(firsts))
    content = CompletedRows(completed, is_first[firsts][owner], owner, len(firsts))
    return ObservedRows(row_of.astype(np.int32), content)


def is_known(column: NDArray[Any]) -> Flags:
    """Which cells have a value."""
    return np.asarray(~np.isnan(column) if column.dtype.kind == "f" else column >= 0)


def _columns(sequences: Sequences, cpds: Sequence[CPD], state: Variable, is_first: Flags) -> dict[str, NDArray[Any]]:
    """The columns of a step and of the step before it, as far as distributions look at them."""
    found: dict[str, NDArray[Any]] = {}
    for cpd in cpds:
        for variable in cpd.scope:
            name = variable.name.removesuffix(LAG)
            if name in sequences.soft and name != state.name:
                raise NotSupported(f"{name!r} has an emission for which cells are known or not: give no collections.")
            gap = np.nan if variable.is_continuous else -1
            column = sequences.columns.get(name, np.full(sequences.num_steps, gap))
            if variable.name != name:
                column = np.roll(column, 1)
                column[is_first] = gap
            if variable.name != state.name:
                found[variable.name] = column
    return found


def _open_cells(
    sequences: Sequences, columns: Mapping[str, NDArray[Any]], cpds: Sequence[CPD], here: Flags, state: Variable
) -> dict[str, Flags]:
    """The missing cells on which observed ones depend, and that can be summed out; others are refused."""
    names = [cpd.variable.name for cpd in cpds]
    is_open = {name: np.zeros(len(here), dtype=np.bool_) for name in names}
    for cpd in reversed(cpds):  # children before parents
        name = cpd.variable.name
        matters = here & (is_known(columns[name]) | is_open[name])
        for parent in cpd.parents:
            if parent.name == state.name:
                continue
            lacking = matters & ~is_known(columns[parent.name])
            if parent.name in is_open and not parent.is_continuous:
                is_open[parent.name] |= lacking
            elif lacking.any():
                raise InvalidArgument(
                    f"{parent.name!r} is missing at {sequences.where(int(np.argmax(lacking)))}, and {name!r}, which is "
                    "observed there, depends on it. Fill it in, or leave the observation out, too."
                )
    return is_open


def _different(columns: Mapping[str, NDArray[Any]], is_first: Flags) -> tuple[Positions, Positions]:
    """The different row of each step, and a step of each of them; with numbers each step is its own."""
    num_steps = len(next(iter(columns.values())))
    if any(column.dtype.kind == "f" for column in columns.values()):
        return np.arange(num_steps), np.arange(num_steps)
    keys = np.zeros(num_steps, dtype=np.int64)
    for column in (*columns.values(), *([is_first] if len(is_first) else [])):
        _, codes = np.unique(column, return_inverse=True)
        _, keys = np.unique(keys * (int(codes.max(initial=0)) + 1) + codes.reshape(-1), return_inverse=True)
        keys = keys.reshape(-1).astype(np.int64)
    _, firsts = np.unique(keys, return_index=True)
    return keys, firsts


def _completions(
    rows: Mapping[str, NDArray[Any]], is_open: Mapping[str, Flags], variables: Mapping[str, Variable], num_rows: int
) -> tuple[Positions, dict[str, NDArray[Any]]]:
    """The row of each completion, and the columns of all of them."""
    sizes = np.ones(num_rows)
    for name, flags in is_open.items():
        sizes[flags] *= variables[name].num_states
    if sizes.sum() > _MOST_COMPLETIONS:
        raise TooLarge(
            f"The missing cells of {', '.join(map(repr, is_open))} have {sizes.sum():.3g} completions. Fill some in, "
            "or take fewer columns that depend on each other."
        )
    owner = np.repeat(np.arange(num_rows), sizes.astype(np.int64))
    completed = {name: column[owner] for name, column in rows.items()}
    rest = np.arange(len(owner)) - np.searchsorted(owner, owner)
    for name, flags in is_open.items():
        free, size = flags[owner], variables[name].num_states
        completed[name][free] = rest[free] % size
        rest[free] //= size
    return owner, completed
