"""Running a program: buffers that remember their evidence, and the calls of the kernels in their order.

Kernels are imported where they are called: they bring Numba, which importing a model must not load.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from plausible.engine.program import Program

if TYPE_CHECKING:
    from plausible.kernels.stream import Buffers

__all__ = ["Semiring", "Workspace"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.uint8]


class Semiring(IntEnum):
    """What products are added up by: the numbers that the kernels know them under."""

    SUM = 0
    LOG_SUM = 1
    MAX = 2


@dataclass(slots=True, eq=False)
class Workspace:
    """The buffers of runs in one semiring; one thread at a time may use them.

    They remember the evidence of the last run: messages that new evidence does not touch are not computed again.

    Attributes
    ----------
    program
        What to run.
    semiring
        SUM on the numbers themselves; LOG_SUM and MAX on their logarithms, which nothing can make underflow.
    buffers
        What the kernels write to.
    """

    program: Program
    semiring: Semiring
    buffers: Buffers
    _ends: list[int]
    _findings: dict[int, bytes] = field(default_factory=dict)

    @classmethod
    def of(cls, program: Program, sources: Floats, semiring: Semiring = Semiring.SUM) -> Workspace:
        """Buffers for a program, with the factors' numbers, one factor after the other."""
        from plausible.kernels.stream import Buffers, bound_sources

        layout, cliques = program.layout, program.layout.cliques
        store = np.zeros(program.store_size)
        store[: len(sources)] = sources if semiring == Semiring.SUM else _log(sources)
        block = int(cliques["block"].max(initial=1))
        operands = int((cliques["last"] - cliques["first"]).max(initial=0)) + 2
        axes = int(cliques["num_axes"].max(initial=0)) + 1
        scratch = np.empty(operands, dtype=np.int64)
        buffers = Buffers(
            store=store,
            floors=np.zeros(len(layout.operands)),
            ceilings=np.zeros(len(layout.operands)),
            log_scales=np.zeros(program.num_cliques),
            stale=np.ones(program.num_cliques, dtype=np.uint8),
            risky=np.zeros(program.num_cliques, dtype=np.uint8),
            observed=np.zeros(len(program.sizes), dtype=np.uint8),
            live=np.zeros(int(cliques["num_blocks"].sum()), dtype=np.uint8),
            block=np.empty(block),
            base=np.empty(block),
            offsets=scratch,
            counters=np.zeros(2 * axes, dtype=np.int64),
            mixed=np.empty_like(scratch),
            flat=np.empty_like(scratch),
        )
        if semiring == Semiring.SUM:
            bound_sources(layout, buffers, len(sources))
        return cls(program, semiring, buffers, (program.weight_starts - program.num_sources).tolist())

    def collect(self, weights: Mapping[int, Floats]) -> float:
        """Take in the weights of observed variables' states, and pass messages to the roots.

        Returns
        -------
        float
            log Σ Π φ, or log max Π φ; -inf for zero.
        """
        from plausible.kernels.stream import collect, observe

        observe(self.program.layout, self.buffers, self.program.weight_starts, *self._news(weights))
        return float(collect(self.program.layout, self.buffers, int(self.semiring)))

    def all_marginals(self, weights: Mapping[int, Floats]) -> tuple[float, bool, list[Floats]]:
        """`collect`, then `distribute`, and all marginals: (log total, whether that is risky, marginals).

        The marginals mean nothing where the total is zero or risky.
        """
        from plausible.kernels.stream import all_marginals

        program = self.program
        flat = np.empty(self._ends[-1])
        log_total, is_risky = all_marginals(
            program.layout, self.buffers, program.weight_starts, *self._news(weights), int(self.semiring), flat
        )
        return log_total, is_risky, [flat[start:end] for start, end in pairwise(self._ends)]

    @property
    def is_risky(self) -> bool:
        """After `collect`: whether some product may have vanished though it is not zero, or overflowed."""
        return bool(self.buffers.risky.any())

    def _news(self, weights: Mapping[int, Floats]) -> tuple[Ints, Floats, int]:
        """What differs from the findings before: variables, the weights of their states, how many are observed."""
        before = self._findings
        self._findings = {variable: vector.tobytes() for variable, vector in weights.items()}
        changed = [variable for variable, vector in self._findings.items() if before.get(variable) != vector]
        dropped = [variable for variable in before if variable not in weights]
        vectors = [weights[variable] for variable in changed]
        vectors += [np.ones(int(self.program.sizes[variable])) for variable in dropped]
        flat = np.concatenate(vectors) if vectors else np.empty(0)
        values = flat if self.semiring == Semiring.SUM else _log(flat)
        return np.array([*changed, *dropped], dtype=np.int64), values, len(changed)

    def distribute(
        self,
        cliques: Iterable[int] | None = None,
        tables: Floats | None = None,
        table_starts: Ints | None = None,
        weight: float = 1.0,
    ) -> None:
        """After `collect`: pass answers from the roots, to all cliques or only as far as to some.

        Parameters
        ----------
        cliques
            Positions; all where left out.
        tables, table_starts
            Where to add up the beliefs of cliques: that of clique c from `table_starts[c]` on, if not negative.
        weight
            What beliefs are multiplied by when they are added.
        """
        from plausible.kernels.stream import distribute

        wanted = np.ones(self.program.num_cliques, dtype=np.uint8)
        if cliques is not None:
            wanted[:] = 0
            wanted[list(cliques)] = 1
        starts = np.full(self.program.num_cliques, -1, dtype=np.int64) if table_starts is None else table_starts
        distribute(
            self.program.layout,
            self.buffers,
            wanted,
            int(self.semiring),
            np.empty(0) if tables is None else tables,
            starts,
            weight,
        )

    def marginals(self, variables: Sequence[int] | None = None) -> list[Floats]:
        """After `distribute`: the normalised marginals of some variables, or of all."""
        from plausible.kernels.stream import read_marginals

        program = self.program
        numbers = np.arange(len(program.sizes)) if variables is None else np.array(variables, dtype=np.int64)
        sizes = program.sizes[numbers]
        ends = np.cumsum(sizes).tolist()
        flat = np.empty(ends[-1] if ends else 0)
        read_marginals(program.layout, self.buffers, numbers, flat)
        return [flat[end - size : end] for size, end in zip(sizes.tolist(), ends, strict=True)]

    def joint(self, clique: int, variables: Sequence[int]) -> Floats:
        """After `distribute` at least as far as to the clique: the joint of some of its variables, in their order."""
        from plausible.kernels.stream import read_joint

        shape = [int(self.program.sizes[variable]) for variable in variables]
        joint = np.zeros(math.prod(shape))
        strides, view = self.program.lie_of(variables, clique)
        read_joint(self.program.layout, self.buffers, clique, int(self.semiring), strides, view, joint)
        return joint.reshape(shape)

    def best_states(self) -> Ints:
        """After `collect` with MAX: the position of each variable's state in a best assignment."""
        from plausible.kernels.stream import best_states

        states = np.zeros(len(self.program.sizes), dtype=np.int64)
        best_states(self.program.layout, self.buffers, states)
        return states

    def draw(self, levels: Floats) -> Ints:
        """After `collect`: assignments drawn from the normalised product, one for each row of uniform numbers.

        `levels` has a column for each clique.
        """
        from plausible.kernels.stream import draw

        program = self.program
        tables = np.zeros(program.num_entries)
        self.distribute(None, tables, np.ascontiguousarray(program.layout.cliques["table"]))
        states = np.zeros((len(levels), len(program.sizes)), dtype=np.int64)
        draw(program.layout, tables, levels, states)
        return states


def _log(numbers: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(numbers))
