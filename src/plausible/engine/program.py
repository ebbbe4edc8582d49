"""Programs: an exact inference laid out on flat arrays, ready to run with any numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Program"]

Ints = NDArray[np.int64]

#: What one entry costs in a calibration, in seconds: a rough figure of today's desktop machines.
_SECONDS_PER_ENTRY = 1.5e-8


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """A clique tree in the layout that `plausible.kernels.cliques` runs; made by `compile_program`.

    Attributes
    ----------
    sizes
        The number of states of each variable.
    cliques
        A row for each clique, children before parents: see the kernels.
    axes, axis_starts
        The variables of clique c in axis order are `axes[axis_starts[c]:axis_starts[c + 1]]`, its separator's first.
    num_separator_axes
        How many of these are the separator's.
    loads, load_starts
        Which factors are multiplied into each clique, and how they lie on its table.
    views, view_starts
        How small arrays lie on tables.
    findings
        For each variable the clique into which weights of its states are multiplied, and the view there.
    readings
        For each variable the clique that has it among its columns, and the view on these columns.
    holders, holder_starts
        The cliques that have variable v are `holders[holder_starts[v]:holder_starts[v + 1]]`.
    has_children
        Whether a clique has children.
    column_starts
        Where the marginal of each clique over its columns begins.
    state_starts
        Where the states of each variable begin, all variables in a row.
    """

    sizes: Ints
    cliques: Ints
    axes: Ints
    axis_starts: Ints
    num_separator_axes: Ints
    loads: Ints
    load_starts: Ints
    views: Ints
    view_starts: Ints
    findings: Ints
    readings: Ints
    holders: Ints
    holder_starts: Ints
    has_children: Ints
    column_starts: Ints
    state_starts: Ints

    @property
    def num_cliques(self) -> int:
        """The number of cliques."""
        return len(self.cliques)

    @property
    def num_entries(self) -> int:
        """The number of entries of all clique tables."""
        return int((self.cliques[:, 1] * self.cliques[:, 2]).sum())

    @property
    def num_message_entries(self) -> int:
        """The number of entries of all messages, each twice."""
        return int(2 * self.cliques[:, 1].sum())

    @property
    def num_columns(self) -> int:
        """The number of entries of all marginals over columns."""
        return int(self.cliques[:, 2].sum())

    @property
    def num_bytes(self) -> int:
        """The memory that a run needs."""
        return 8 * (self.num_entries + self.num_message_entries + self.num_columns)

    @property
    def width(self) -> int:
        """The number of variables of the largest clique, less one; -1 where there are none."""
        return int(np.diff(self.axis_starts).max(initial=0)) - 1

    @property
    def seconds(self) -> float:
        """A rough estimate of the time of one calibration."""
        return self.num_entries * _SECONDS_PER_ENTRY + self.num_cliques * 1e-7

    def smallest_clique(self, variables: Sequence[int]) -> int | None:
        """The position of the clique with the smallest table that has all of the variables; None where none has."""
        wanted = set(variables)
        holders = [self.holders[self.holder_starts[v] : self.holder_starts[v + 1]].tolist() for v in wanted]
        candidates = min(holders, key=len, default=range(self.num_cliques))
        holding = [position for position in candidates if wanted.issubset(self.clique(position))]
        return min(holding, key=lambda position: int(np.prod(self.cliques[position, 1:3])), default=None)

    def clique(self, position: int) -> tuple[int, ...]:
        """The variables of a clique, in axis order."""
        return tuple(self.axes[self.axis_starts[position] : self.axis_starts[position + 1]].tolist())

    @property
    def largest(self) -> int:
        """The position of the clique with the largest table."""
        return int(np.argmax(self.cliques[:, 1] * self.cliques[:, 2]))

    def __str__(self) -> str:
        return (
            f"{self.num_cliques} cliques, width {self.width}, {self.num_entries:,} entries, "
            f"{self.num_bytes / 2**20:.1f} MiB, about {self.seconds:.1g} s"
        )
