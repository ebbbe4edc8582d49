"""Rows that all hide the same few variables and tell the others, as those of a latent class, or of a class to predict.

The probability of a row with a joint state of what it hides is a product of one entry of each clique's table: no
messages are needed. Where the entries lie is found once; then the sums of their logarithms, for all rows and hidden
states, are one product of matrices, and the beliefs summed over rows are another.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from plausible.base import Codes, Floats, Ints, logarithms, starts_of
from plausible.engine.program import Program

if TYPE_CHECKING:
    from scipy.sparse import csc_array, csr_array

#: More joint states than these are left to messages, which sum out one hidden variable at a time.
_MOST_STATES = 64
#: Fewer rows are done before it is found out where they look.
_FEWEST_ROWS = 512


def hidden_columns(program: Program, rows: Codes, target: int | None) -> Ints | None:
    """The variables that all rows hide, the target among them; `None` where rows differ in what they hide, or tell all.

    Also where there are so few rows, or so many hidden states, that messages take less time.
    """
    if len(rows) < _FEWEST_ROWS:
        return None
    is_hidden = (rows[0] < 0) & (program.sizes > 1)
    hidden = np.flatnonzero(is_hidden)
    is_alike = bool((((rows < 0) & (program.sizes > 1)) == is_hidden).all())
    is_few = hidden.size < _MOST_STATES and math.prod(program.sizes[hidden].tolist()) <= _MOST_STATES
    has_target = target is None or is_hidden[target]
    return hidden if len(hidden) and is_alike and is_few and has_target else None


class _LookUps(NamedTuple):
    """Entries of the tables of some cliques, and which of them rows look up: one of each clique."""

    chosen: csr_array  # (rows, entries), ones
    choosing: csc_array  # The same, (entries, rows)
    places: Ints  # Where the entries lie in all tables, for each hidden state: (entries, hidden states)

    @classmethod
    def of(cls, columns: list[Ints], places: list[Ints], num_rows: int) -> _LookUps:
        """Of the columns that rows look up in each clique's list of entries, and the places of these."""
        from scipy.sparse import csr_array

        starts = starts_of([len(some) for some in places])
        indices = np.stack(columns, axis=1) + starts[:-1]
        shape = num_rows, int(starts[-1])
        chosen = csr_array((np.ones(indices.size), indices.ravel(), np.arange(num_rows + 1) * len(columns)), shape)
        return cls(chosen, chosen.T, np.concatenate(places))

    def logs(self, tables: Floats) -> Floats:
        """The logarithm of the product of the entries of each row, for each hidden state."""
        return np.asarray(self.chosen @ logarithms(tables[self.places]))

    def totals(self, weights: Floats, size: int) -> Floats:
        """The weights of rows and hidden states, added up by the entries that they look up."""
        found = np.bincount(self.places.ravel(), (self.choosing @ weights).ravel(), minlength=size)
        return np.asarray(found, dtype=np.float64)


class RowBeliefs(NamedTuple):
    """What rows tell of the joint states of what they hide."""

    log_totals: Floats  # log P(row) of each row; -inf for an impossible one
    shares: Floats  # P(hidden state | row): (rows, joint states); zeros for an impossible row


@dataclass(frozen=True, slots=True, eq=False)
class HiddenColumns:
    """Where rows look in the tables of a program; made by `of`."""

    hidden: Ints  # The variables
    states: Ints  # Their joint states, (hidden variables, joint states)
    look_ups: tuple[_LookUps, ...]  # Of the cliques with hidden variables, and of those without

    @classmethod
    def of(cls, program: Program, rows: Codes, hidden: Ints) -> HiddenColumns:
        """Find where some rows look: what there is to do before any numbers are known."""
        states = _assignments(program.sizes[hidden])
        columns: tuple[list[Ints], list[Ints]] = ([], [])
        places: tuple[list[Ints], list[Ints]] = ([], [])
        for position in range(program.num_cliques):
            scope = np.array(program.clique(position), dtype=np.int64)
            is_hidden, strides = np.isin(scope, hidden), _strides(program.sizes[scope])
            told = scope[~is_hidden]
            start = int(program.layout.cliques["table"][position])
            lies = start + strides[~is_hidden] @ _assignments(program.sizes[told])
            shifts = strides[is_hidden] @ states[np.searchsorted(hidden, scope[is_hidden])]
            kind = 0 if is_hidden.any() else 1
            columns[kind].append(np.maximum(rows[:, told], 0) @ _strides(program.sizes[told]))
            places[kind].append(lies[:, None] + (shifts if kind == 0 else 0))
        looks = [_LookUps.of(one, other, len(rows)) for one, other in zip(columns, places, strict=True) if one]
        return cls(hidden, states, tuple(looks))

    def answer(self, tables: Floats) -> RowBeliefs:
        """The beliefs of all rows, from the tables of all cliques, one after the other."""
        logs = np.zeros((1, 1))
        for look in self.look_ups:
            logs = logs + look.logs(tables)
        top = logs.max(axis=1, keepdims=True)
        shares = np.exp(logs - np.where(np.isfinite(top), top, 0.0))
        sums = shares.sum(axis=1, keepdims=True)
        shares /= np.where(sums > 0.0, sums, 1.0)
        return RowBeliefs((top + logarithms(sums))[:, 0], shares)

    def marginals(self, shares: Floats, target: int, num_states: int) -> Floats:
        """The beliefs in one hidden variable: (rows, its states)."""
        of_target = self.states[np.searchsorted(self.hidden, target)]
        return np.asarray(shares @ np.eye(num_states)[of_target])

    def totals(self, answers: RowBeliefs, weights: Floats, size: int) -> Floats:
        """The weighted sum over rows of the beliefs of all cliques, laid out as the tables are."""
        counted = np.where(answers.log_totals > -np.inf, weights, 0.0)[:, None]
        weighted = answers.shares * counted
        found = np.zeros(size)
        for look in self.look_ups:
            found += look.totals(weighted if look.places.shape[1] > 1 else counted, size)
        return found


def _assignments(sizes: Ints) -> Ints:
    """All joint states of some variables, the last one varying fastest: (variables, joint states)."""
    return np.indices(sizes.tolist()).reshape(len(sizes), int(np.prod(sizes)))


def _strides(sizes: Ints) -> Ints:
    """The strides of a table over them."""
    return np.append(np.cumprod(sizes[:0:-1])[::-1], 1)[: len(sizes)]
