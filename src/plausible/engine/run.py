"""Running a program: buffers, and the calls of the kernels in their order.

Kernels are imported where they are called: they bring Numba, which importing a model must not load.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from plausible.engine.program import Program

__all__ = ["Workspace"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Workspace:
    """The buffers of one run; one thread at a time may use them.

    Attributes
    ----------
    program
        What to run.
    tables, messages, column_sums, counters, num_received
        What the kernels write to.
    """

    program: Program
    tables: Floats
    messages: Floats
    column_sums: Floats
    counters: Ints
    num_received: Ints

    @classmethod
    def of(cls, program: Program) -> Workspace:
        """Buffers for a program."""
        return cls(
            program,
            np.empty(program.num_entries),
            np.empty(program.num_message_entries),
            np.empty(program.num_columns),
            np.zeros(64, dtype=np.int64),
            np.zeros(program.num_cliques, dtype=np.int64),
        )

    def load(self, sources: Floats) -> None:
        """Multiply the factors, whose numbers are in `sources` one after the other, into the tables."""
        from plausible.kernels.cliques import load

        program = self.program
        load(
            program.cliques,
            program.loads,
            program.load_starts,
            program.views,
            program.view_starts,
            sources,
            self.tables,
            self.counters,
        )

    def collect(self, sources: Floats, weights: Mapping[int, Floats], *, maximize: bool = False) -> float:
        """Load the factors, multiply the weights of observed variables in, and pass messages to the roots.

        Parameters
        ----------
        sources
            The factors' numbers, one factor after the other.
        weights
            Variable -> a weight for each of its states.
        maximize
            Take maxima in place of sums.

        Returns
        -------
        float
            log Σ Π φ, or log max Π φ; -inf for zero.
        """
        from plausible.kernels.cliques import collect, multiply

        program = self.program
        self.load(sources)
        for variable, vector in weights.items():
            clique, view = program.findings[variable]
            multiply(self._table(clique), vector, self._view(view), self.counters)
        with np.errstate(divide="ignore"):
            return float(
                collect(
                    program.cliques,
                    program.views,
                    program.view_starts,
                    self.tables,
                    self.messages,
                    self.counters,
                    self.num_received,
                    maximize,
                )
            )

    def calibrate(self, *, keep_all: bool = False) -> None:
        """After `collect`: pass messages from the roots; then `marginals` can answer, and `belief` if all are kept."""
        from plausible.kernels.cliques import calibrate

        program = self.program
        keeps = np.ones_like(program.has_children) if keep_all else program.has_children
        calibrate(
            program.cliques,
            keeps,
            program.views,
            program.view_starts,
            self.tables,
            self.messages,
            self.column_sums,
            program.column_starts,
            self.counters,
        )

    def marginals(self) -> list[Floats]:
        """After `calibrate`: the normalised marginal of every variable."""
        from plausible.kernels.cliques import read_marginals

        program = self.program
        flat = np.empty(program.state_starts[-1])
        read_marginals(
            program.cliques,
            program.readings,
            program.views,
            program.view_starts,
            self.column_sums,
            program.column_starts,
            program.state_starts,
            flat,
            self.counters,
        )
        return [flat[start:end] for start, end in pairwise(program.state_starts.tolist())]

    def belief(self, clique: int) -> Floats:
        """After `calibrate(keep_all=True)`: the normalised table of a clique, its axes in the program's order."""
        return self._table(clique).reshape([self.program.sizes[variable] for variable in self.program.clique(clique)])

    def best_states(self) -> Ints:
        """After `collect(maximize=True)`: the position of each variable's state in a best assignment."""
        from plausible.kernels.cliques import trace_back

        program = self.program
        states = np.zeros(len(program.sizes), dtype=np.int64)
        trace_back(
            program.cliques,
            program.axes,
            program.axis_starts,
            program.num_separator_axes,
            program.sizes,
            self.tables,
            states,
        )
        return states

    def draw(self, levels: Floats) -> Ints:
        """After `collect`: assignments drawn from the normalised product, one for each row of uniform numbers.

        `levels` has a column for each clique.
        """
        from plausible.kernels.cliques import draw

        program = self.program
        states = np.zeros((len(levels), len(program.sizes)), dtype=np.int64)
        draw(
            program.cliques,
            program.axes,
            program.axis_starts,
            program.num_separator_axes,
            program.sizes,
            self.tables,
            self.messages,
            levels,
            states,
        )
        return states

    def _table(self, clique: int) -> Floats:
        start, rows, columns = self.program.cliques[clique, :3]
        return self.tables[start : start + rows * columns]

    def _view(self, view: int) -> Ints:
        return self.program.views[self.program.view_starts[view] : self.program.view_starts[view + 1]]
