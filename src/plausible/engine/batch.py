"""Many rows of evidence through one program, on all cores."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from plausible.engine.program import Program
from plausible.engine.run import Semiring, Workspace

if TYPE_CHECKING:
    from plausible.kernels.row_plan import RowPlan
    from plausible.kernels.rows import RowRun

__all__ = ["GroupedRows", "RowAnswers", "answer_rows"]

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
    grouped = GroupedRows.of(program, sources, job.rows, target)
    run = job.one_by_one if grouped is None else partial(job.by_groups, grouped)
    slices = _parts(len(rows), len(rows) if grouped is None else grouped.most_rows)
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


@dataclass(frozen=True, slots=True, eq=False)
class GroupedRows:
    """Tables that are kept, and the plan by which groups of rows go through slices of them.

    Attributes
    ----------
    plan
        The nodes that messages go through.
    tables, peaks
        The clique tables with the factors multiplied in, then a number one; the largest entry of each node's table.
    """

    plan: RowPlan
    tables: Floats
    peaks: Floats

    @classmethod
    def of(cls, program: Program, sources: Floats, rows: Codes, target: int | None) -> GroupedRows | None:
        """The tables and the plan for some rows; `None` where tables are too large or their entries too small."""
        from plausible.kernels.row_plan import plan_rows
        from plausible.kernels.tables import load

        if program.num_entries > _KEPT_ENTRIES:
            return None
        tables, floors = np.ones(program.num_entries + 1), np.empty(program.num_cliques)
        load(program.layout, Workspace.of(program, sources).buffers, tables[:-1], floors)
        if floors.min(initial=0.0) <= _LOWEST_LOG:
            return None
        observed = np.count_nonzero(rows >= 0, axis=0) / max(1, len(rows))
        plan = plan_rows(program.layout, -1 if target is None else target, observed)
        starts = np.append(program.layout.cliques["table"], program.num_entries)
        return cls(plan, tables, np.maximum.reduceat(tables, starts)[np.searchsorted(starts, plan.tables)])

    @property
    def most_rows(self) -> int:
        """How many rows may go together."""
        return _MOST_MESSAGES // int(self.plan.message_sizes.sum())

    def collected(self, rows: Codes) -> RowRun:
        """The messages of all groups of the rows."""
        from plausible.kernels.row_groups import group_rows
        from plausible.kernels.rows import RowRun, collect_rows

        groups, group_starts, firsts = group_rows(self.plan, rows)
        message_ends = np.cumsum(np.diff(group_starts) * self.plan.message_sizes)
        run = RowRun(
            tables=self.tables,
            peaks=self.peaks,
            rows=rows,
            groups=groups,
            group_starts=group_starts,
            firsts=firsts,
            message_starts=np.concatenate([[0], message_ends]),
            messages=np.zeros(int(message_ends[-1])),
            scales=np.empty(len(firsts)),
            log_scales=np.empty(len(firsts)),
            losses=np.empty(len(firsts)),
        )
        collect_rows(self.plan, run)
        return run


class _Job:
    """Rows to answer, and where the answers go: threads write to the places of different rows."""

    def __init__(
        self, program: Program, sources: Floats, rows: Codes, target: int | None, weights: Floats | None
    ) -> None:
        self.program, self.sources, self.rows, self.target, self.weights = program, sources, rows, target, weights
        self.log_totals = np.zeros(len(rows))
        self.marginals = np.zeros((len(rows), int(program.sizes[target]) if target is not None else 0))

    def by_groups(self, grouped: GroupedRows, part: slice) -> Floats:
        """Run some rows on slices of kept tables; returns the sum of their beliefs."""
        from plausible.kernels.rows import distribute_rows, read_rows

        run = grouped.collected(self.rows[part])
        risky = np.empty(part.stop - part.start, dtype=np.uint8)
        read_rows(grouped.plan, run, self.log_totals[part], risky, self.marginals[part])
        totals = self._no_totals(1)
        if self.weights is not None:
            is_counted = (risky == 0) & (self.log_totals[part] > -np.inf)
            distribute_rows(grouped.plan, run, np.where(is_counted, self.weights[part], 0.0), totals)
        self._run(part.start + np.flatnonzero(risky), Semiring.LOG_SUM, totals[:-1])
        return totals[:-1]

    def one_by_one(self, part: slice) -> Floats:
        """Run some rows on blocks; returns the sum of their beliefs."""
        totals = self._no_totals(0)
        risky = self._run(np.arange(part.start, part.stop), Semiring.SUM, totals)
        self._run(risky, Semiring.LOG_SUM, totals)
        return totals

    def _no_totals(self, num_more: int) -> Floats:
        return np.zeros(0 if self.weights is None else self.program.num_entries + num_more)

    def _run(self, places: NDArray[np.intp], semiring: Semiring, totals: Floats) -> NDArray[np.intp]:
        """Run rows one after the other; returns the risky ones, which are left out."""
        if not len(places):
            return places
        workspace = Workspace.of(self.program, self.sources, semiring, threads=1)
        risky: list[int] = []
        alike = np.lexsort(self.rows[places].T)  # neighbours share messages
        for place in places[alike].tolist():
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
