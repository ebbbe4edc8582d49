"""Many rows of evidence through one program, on all cores."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from plausible.engine.program import Program
from plausible.engine.run import Semiring, Workspace

__all__ = ["RowAnswers", "answer_rows"]

Floats = NDArray[np.float64]
Codes = NDArray[np.int32]

#: Rows go in parts of sizes that do not depend on the number of threads, so that sums come out the same bit for bit:
#: as many parts as this, of at least so many rows (rows of a part share messages), whose messages fit into so many
#: numbers.
_NUM_PARTS = 8
_FEWEST_ROWS = 512
_MOST_MESSAGES = 2**24
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
        A weight for each row: then the beliefs, summed over rows, are wanted, and there is no target.
    threads
        At most this many; one for each core where left out.
    """
    job = _Job(program, sources, np.ascontiguousarray(rows), target, weights)
    run, most_rows = job.by_groups() if program.num_entries <= _KEPT_ENTRIES else (job.one_by_one, len(rows))
    slices = _parts(len(rows), most_rows)
    totals = None if weights is None else np.zeros(program.num_entries)
    width = max(1, min(threads or os.cpu_count() or 1, len(slices)))
    with ThreadPoolExecutor(width) as pool:
        for first in range(0, len(slices), width):  # no more sums at a time than threads: they are as large as tables
            for part_totals in pool.map(run, slices[first : first + width]):
                if totals is not None:
                    totals += part_totals
    return RowAnswers(job.log_totals, None if target is None else job.marginals, totals)


def _parts(num_rows: int, most: int) -> list[slice]:
    """Ranges of at most so many rows."""
    size = max(1, min(most, max(_FEWEST_ROWS, -(-num_rows // _NUM_PARTS))))
    starts = [*range(0, num_rows, size), num_rows]
    return [slice(first, last) for first, last in pairwise(starts)]


class _Job:
    """Rows to answer, and where the answers go."""

    def __init__(
        self, program: Program, sources: Floats, rows: Codes, target: int | None, weights: Floats | None
    ) -> None:
        self.program, self.sources, self.rows, self.target, self.weights = program, sources, rows, target, weights
        self.log_totals = np.zeros(len(rows))
        self.marginals = np.zeros((len(rows), int(program.sizes[target]) if target is not None else 0))

    # --- small programs ---

    def by_groups(self) -> tuple[Callable[[slice], Floats], int]:
        """Load the tables.

        Returns what runs some rows, and returns the sum of their beliefs; and how many rows it should be given.
        """
        from plausible.kernels.row_groups import group_rows
        from plausible.kernels.row_plan import plan_rows
        from plausible.kernels.rows import RowRun, collect_rows, distribute_rows, read_rows
        from plausible.kernels.tables import load

        program = self.program
        tables, floors = np.ones(program.num_entries + 1), np.empty(program.num_cliques)
        load(program.layout, Workspace.of(program, self.sources).buffers, tables[:-1], floors)
        if floors.min(initial=0.0) <= _LOWEST_LOG:
            return self.one_by_one, len(self.rows)
        observed = np.count_nonzero(self.rows >= 0, axis=0) / max(1, len(self.rows))
        plan = plan_rows(program.layout, -1 if self.target is None else self.target, observed)

        def run(part: slice) -> Floats:
            groups, group_starts, firsts = group_rows(plan, self.rows[part])
            message_ends = np.cumsum(np.diff(group_starts) * plan.message_sizes)
            rows = RowRun(
                tables=tables,
                rows=self.rows[part],
                groups=groups,
                group_starts=group_starts,
                firsts=firsts,
                message_starts=np.concatenate([[0], message_ends]),
                messages=np.zeros(int(message_ends[-1])),
                peaks=np.empty(len(firsts)),
                log_scales=np.empty(len(firsts)),
                risky=np.empty(len(firsts), dtype=np.uint8),
            )
            collect_rows(plan, rows)
            risky = np.empty(part.stop - part.start, dtype=np.uint8)
            read_rows(plan, rows, self.log_totals[part], risky, self.marginals[part])
            totals = np.zeros(0 if self.weights is None else program.num_entries + 1)
            if self.weights is not None:
                is_counted = (risky == 0) & (self.log_totals[part] > -np.inf)
                distribute_rows(plan, rows, np.where(is_counted, self.weights[part], 0.0), totals)
            self._run_again(part.start + np.flatnonzero(risky), Semiring.LOG_SUM, totals[:-1])
            return totals[:-1]

        return run, _MOST_MESSAGES // int(plan.message_sizes.sum())

    # --- large programs ---

    def one_by_one(self, part: slice) -> Floats:
        """Run some rows; returns the sum of their beliefs."""
        totals = np.zeros(0 if self.weights is None else self.program.num_entries)
        alike = np.lexsort(self.rows[part].T)  # one after the other, so that they share messages
        risky = self._run_again(part.start + alike, Semiring.SUM, totals)
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
