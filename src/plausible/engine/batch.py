"""Many rows of evidence through one program, on all cores."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from plausible.engine.program import Program
from plausible.engine.run import Semiring, Workspace

if TYPE_CHECKING:
    from plausible.kernels.rows import RowBuffers

__all__ = ["RowAnswers", "answer_rows"]

Floats = NDArray[np.float64]
Flags = NDArray[np.uint8]
Codes = NDArray[np.int32]

#: Rows go in parts of a size that does not depend on the number of threads, so that sums come out the same bit for bit.
_NUM_PARTS = 8
#: Rows run on slices of tables that are kept, where these have no more entries than this in all; else on blocks.
_KEPT_ENTRIES = 2**23
#: Tables whose entries may have smaller logarithms, or overflow, are not kept.
_LOWEST_LOG = -690.0


@dataclass(frozen=True, slots=True, eq=False)
class RowAnswers:
    """What `answer_rows` found.

    Attributes
    ----------
    log_totals
        log P(row) of each row; -inf for an impossible one.
    marginals
        For each row the marginal of the target (zeros for an impossible row), or None.
    totals
        The weighted sum over rows of the beliefs of all cliques, laid out as the program's tables, or None.
    """

    log_totals: Floats
    marginals: Floats | None
    totals: Floats | None


def answer_rows(
    program: Program,
    sources: Floats,
    rows: Codes,
    *,
    target: int | None = None,
    weights: Floats | None = None,
    threads: int | None = None,
) -> RowAnswers:
    """Run the program once for each row of observed states.

    Parameters
    ----------
    program, sources
        What to run, and the factors' numbers.
    rows
        For each row and variable the position of the observed state, -1 where it is not observed.
    target
        The variable whose marginals are wanted.
    weights
        A weight for each row: then the beliefs, summed over rows, are wanted.
    threads
        At most this many; one for each core where left out.
    """
    job = _Job(program, sources, rows, target, weights)
    parts = [part for part in np.array_split(np.arange(len(rows)), _NUM_PARTS) if len(part)]
    slices = [slice(int(part[0]), int(part[-1]) + 1) for part in parts]
    run = job.by_slices() if program.num_entries <= _KEPT_ENTRIES else job.one_by_one
    totals = None if weights is None else np.zeros(program.num_entries)
    width = max(1, min(threads or os.cpu_count() or 1, len(parts)))
    with ThreadPoolExecutor(width) as pool:
        for first in range(0, len(slices), width):  # no more sums at a time than threads: they are as large as tables
            for part_totals in pool.map(run, slices[first : first + width]):
                if totals is not None:
                    totals += part_totals
    return RowAnswers(job.log_totals, None if target is None else job.marginals, totals)


class _Job:
    """Rows to answer, and where the answers go."""

    def __init__(
        self, program: Program, sources: Floats, rows: Codes, target: int | None, weights: Floats | None
    ) -> None:
        self.program, self.sources, self.rows, self.target, self.weights = program, sources, rows, target, weights
        self.log_totals = np.zeros(len(rows))
        self.marginals = np.zeros((len(rows), int(program.sizes[target]) if target is not None else 0))

    # --- small programs ---

    def by_slices(self) -> Callable[[slice], Floats]:
        """Load the tables; the answer runs some rows, and returns the sum of their beliefs."""
        from plausible.kernels.rows import plan_rows, run_rows
        from plausible.kernels.tables import load

        program = self.program
        tables, floors = np.empty(program.num_entries), np.empty(program.num_cliques)
        load(program.layout, Workspace.of(program, self.sources).buffers, tables, floors)
        plan, wanted = plan_rows(program.layout), self._wanted()
        home, _, target_stride = (-1, 1, 1) if self.target is None else program.layout.readings[self.target].tolist()

        def run(part: slice) -> Floats:
            rows = self.rows[part]
            totals = np.zeros(0 if self.weights is None else program.num_entries)
            risky = np.zeros(len(rows), dtype=np.uint8)
            run_rows(
                plan,
                _row_buffers(program),
                tables,
                rows,
                home,
                target_stride,
                wanted,
                np.empty(0) if self.weights is None else self.weights[part],
                self.log_totals[part],
                risky,
                self.marginals[part],
                totals,
            )
            self._run_again(part.start + np.flatnonzero(risky), Semiring.LOG_SUM, totals)
            return totals

        return run if floors.min(initial=0.0) > _LOWEST_LOG else self.one_by_one

    def _wanted(self) -> Flags:
        """The cliques from the root to the target's, or all."""
        wanted = np.ones(self.program.num_cliques, dtype=np.uint8)
        if self.target is not None and self.weights is None:
            wanted[:] = 0
            clique = int(self.program.layout.readings[self.target, 0])
            while clique >= 0:
                wanted[clique] = 1
                clique = int(self.program.layout.cliques["parent"][clique])
        return wanted

    # --- large programs ---

    def one_by_one(self, part: slice) -> Floats:
        """Run some rows; returns the sum of their beliefs."""
        totals = np.zeros(0 if self.weights is None else self.program.num_entries)
        risky = self._run_again(np.arange(part.start, part.stop), Semiring.SUM, totals)
        self._run_again(risky, Semiring.LOG_SUM, totals)
        return totals

    def _run_again(self, places: NDArray[np.intp], semiring: Semiring, totals: Floats) -> NDArray[np.intp]:
        """Run rows through buffers of their own; returns the risky ones, which are left out."""
        if not len(places):
            return places
        workspace = Workspace.of(self.program, self.sources, semiring, threads=1)
        risky: list[int] = []
        for place in places.tolist():
            log_total = workspace.collect(self._findings(self.rows[place]))
            self.log_totals[place] = log_total
            if workspace.is_risky:
                risky.append(place)
            elif log_total > -np.inf:
                self._read(place, workspace, totals)
        return np.array(risky, dtype=np.intp)

    def _read(self, place: int, workspace: Workspace, totals: Floats) -> None:
        """Take what is wanted from collected messages."""
        if self.weights is not None:
            starts = np.ascontiguousarray(self.program.layout.cliques["table"])
            workspace.distribute(None, totals, starts, weight=float(self.weights[place]))
        elif self.target is not None:
            workspace.distribute([int(self.program.layout.readings[self.target, 0])])
        if self.target is not None:
            self.marginals[place] = workspace.marginals([self.target])[0]

    def _findings(self, row: Codes) -> dict[int, Floats]:
        findings: dict[int, Floats] = {}
        for variable in np.flatnonzero(row >= 0).tolist():
            findings[variable] = np.zeros(int(self.program.sizes[variable]))
            findings[variable][row[variable]] = 1.0
        return findings


def _row_buffers(program: Program) -> RowBuffers:
    from plausible.kernels.rows import RowBuffers

    cliques = program.layout.cliques
    axes = int(cliques["num_axes"].max(initial=0)) + 1
    operands = int((cliques["last"] - cliques["first"]).max(initial=0)) + 2
    return RowBuffers(
        store=np.zeros(program.store_size),
        peaks=np.ones(program.num_cliques),
        counters=np.zeros(axes, dtype=np.int64),
        sizes=np.zeros(axes, dtype=np.int64),
        steps=np.zeros(axes * operands, dtype=np.int64),
        offsets=np.zeros(operands, dtype=np.int64),
    )
