"""Programs: an exact inference laid out on flat arrays, ready to run with any numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from plausible.base.arrays import Ints
from plausible.base.display import html_of_print
from plausible.engine.pieces import Piece
from plausible.errors import counted
from plausible.kernels.blocks import Layout
from plausible.kernels.layout import Extent

#: What one entry, and one clique, cost in a calibration, in seconds: rough figures of today's desktop machines.
SECONDS_PER_ENTRY = 3e-9
_SECONDS_PER_CLIQUE = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """A clique tree in the layout that `plausible.kernels` run; made by `compile_program`."""

    layout: Layout  # The cliques, children before parents, and how factors, messages and findings lie on them
    order: tuple[int, ...]  # The elimination order that made the tree
    weight_starts: Ints  # Where in the store the weights of each variable's states begin
    extent: Extent  # How much room a run takes
    pieces: tuple[Piece, ...]  # What threads share out among them, where the program is large; else none

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle so that the arrays come back read-only, for which the kernels are compiled."""
        return _restored, (tuple(self.layout), self.order, self.weight_starts, tuple(self.extent), self.pieces)

    @property
    def sizes(self) -> Ints:
        """The number of states of each variable."""
        return self.layout.sizes

    @property
    def num_entries(self) -> int:
        """The entries of all clique tables together."""
        return self.extent.entries

    @property
    def num_cliques(self) -> int:
        """How many cliques the tree has."""
        return len(self.layout.cliques)

    @property
    def entries(self) -> Ints:
        """The entries of each clique's table."""
        cliques = self.layout.cliques
        return np.asarray(cliques["rows"] * cliques["columns"])

    @property
    def num_sources(self) -> int:
        """How many numbers the factors have in all."""
        return int(self.weight_starts[0])

    @property
    def num_bytes(self) -> int:
        """The memory that a run needs: factors and messages, for tables are never held as a whole."""
        return 8 * self.extent.store + self.extent.blocks

    @property
    def width(self) -> int:
        """The number of variables of the largest clique, less one; -1 where there are none."""
        return self.extent.axes - 1

    @property
    def seconds(self) -> float:
        """A rough estimate of the time of one calibration."""
        return self.num_entries * SECONDS_PER_ENTRY + self.num_cliques * _SECONDS_PER_CLIQUE

    def smallest_cliques(self, groups: Iterable[Iterable[int]]) -> list[int | None]:
        """For each group of variables the position of the clique with the smallest table that has them all, if any."""
        holders: list[list[int]] = [[] for _ in self.sizes]
        cliques = [frozenset(self.clique(position)) for position in range(self.num_cliques)]
        for position, clique in enumerate(cliques):
            for variable in clique:
                holders[variable].append(position)
        entries = self.entries.tolist()
        found: list[int | None] = []
        for group in groups:
            wanted = frozenset(group)
            candidates = min((holders[variable] for variable in wanted), key=len, default=range(self.num_cliques))
            holding = [position for position in candidates if wanted <= cliques[position]]
            found.append(min(holding, key=entries.__getitem__, default=None))
        return found

    def clique(self, position: int) -> tuple[int, ...]:
        """The variables of a clique, in axis order: first those that it shares with its parent."""
        start, count = (int(self.layout.cliques[name][position]) for name in ("holds", "num_axes"))
        return tuple(self.layout.axes[start : start + count].tolist())

    def separator(self, position: int) -> tuple[int, ...]:
        """The variables that a clique shares with its parent."""
        return self.clique(position)[: int(self.layout.cliques["num_separator_axes"][position])]

    def lie_of(self, variables: Sequence[int], position: int) -> tuple[Ints, Ints]:
        """How an array over some variables of a clique lies on its table: outer strides and view; see the kernels."""
        strides: dict[int, int] = {}
        stride = 1
        for variable in reversed(variables):
            strides[variable] = stride
            stride *= int(self.sizes[variable])
        axes = [(int(self.sizes[variable]), strides.get(variable, 0)) for variable in self.clique(position)]
        num_outer = int(self.layout.cliques["num_outer"][position])
        view: list[int] = []
        for size, step in axes[num_outer:]:
            if size > 1 and view and view[-1] == step * size:  # the axis before goes on where this one ends
                view[-2:] = [view[-2] * size, step]
            elif size > 1:
                view += [size, step]
        return np.array([step for _, step in axes[:num_outer]], dtype=np.int64), np.array(view or [1, 0])

    @property
    def largest(self) -> int:
        """The position of the clique with the largest table."""
        return int(np.argmax(self.entries))

    def __str__(self) -> str:
        return (
            f"{counted(self.num_cliques, 'clique')}, width {self.width}, {self.num_entries:,} entries, "
            f"{self.num_bytes / 2**20:.1f} MiB, about {self.seconds:.1g} s"
        )

    _repr_html_ = html_of_print


def _restored(
    arrays: tuple[Ints, ...],
    order: tuple[int, ...],
    weight_starts: Ints,
    extent: tuple[int, ...],
    pieces: tuple[Piece, ...],
) -> Program:

    for array in (*arrays, weight_starts):
        array.setflags(write=False)
    return Program(Layout(*arrays), order, weight_starts, Extent(*extent), pieces)
