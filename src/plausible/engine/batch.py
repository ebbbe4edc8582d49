"""Many rows of evidence through one program, on all cores."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from plausible.base import Codes, Floats, Ints, Positions
from plausible.engine.hidden_columns import HiddenColumns, hidden_columns
from plausible.engine.program import Program
from plausible.engine.run import Semiring, Workspace
from plausible.kernels.jit import steady
from plausible.kernels.row_groups import group_rows
from plausible.kernels.row_plan import RowPlan, plan_rows
from plausible.kernels.rows import RowRun, collect_rows, distribute_rows, read_rows
from plausible.kernels.tables import load

#: Rows go in parts of sizes that do not depend on the number of threads, so that sums come out the same bit for bit:
#: as many parts as this, of at least so many rows (rows of a part share messages; where there are none, larger parts
#: cost less), whose messages fit into so many numbers.
_NUM_PARTS = 8
_FEWEST_ROWS = 512
_FEWEST_LOOKING_UP = 8192
_MOST_MESSAGES = 2**24
#: Where the messages of all rows together have no more numbers, one thread does it all: to start others takes longer.
_SMALL_WORK = 2**18
#: Rows run on slices of tables that are kept, where these have no more entries than this in all; else on blocks.
_KEPT_ENTRIES = 2**23
#: The groups of prepared rows, or where they look, are kept from run to run where they take no more bytes than this.
_KEPT_BYTES = 2**28
#: Entries of kept tables with smaller logarithms may have lost digits, or have become zero.
_LOWEST_LOG = -690.0
#: Stands for an entry that became zero but is not: rows to which it could matter are run again on logarithms.
_VANISHED = 5e-324


@dataclass(frozen=True, slots=True, eq=False)
class RowAnswers:
    """What `answer_rows` found."""

    log_totals: Floats  # log P(row) of each row; -inf for an impossible one
    marginals: Floats | None  # For each row the marginal of the target (zeros for an impossible row), or None
    #: The weighted sum over rows of the beliefs of all cliques, laid out as the program's tables, or None.
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
    return PreparedRows.of(program, rows, target).answer(sources, weights, threads)


def _parts(num_rows: int, most: int, fewest: int = _FEWEST_ROWS) -> list[slice]:
    """Ranges of at most so many rows."""
    size = max(1, min(most, max(fewest, -(-num_rows // _NUM_PARTS))))
    starts = [*range(0, num_rows, size), num_rows]
    return [slice(first, last) for first, last in pairwise(starts)]


@dataclass(frozen=True, slots=True, eq=False)
class PreparedRows:
    """Rows to be answered again and again, each time for other numbers of the same factors; made by `of`."""

    program: Program  # What to run
    #: For each row and variable the position of the observed state, -1 where it is not observed, in any whole numbers.
    rows: NDArray[np.signedinteger]
    target: int | None  # The variable whose marginals are wanted, or None
    plan: RowPlan | None  # The nodes that messages go through, where tables are kept; None where they are too large
    parts: tuple[slice, ...]  # Ranges of rows that go together
    hidden: Ints | None = None  # The variables that all rows hide, where these go without messages; see `HiddenColumns`
    #: What is kept from run to run, by the first row of a part.
    _groups: dict[int, Groups] = field(default_factory=dict, repr=False)
    _columns: dict[int, HiddenColumns] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, program: Program, rows: NDArray[np.signedinteger], target: int | None = None) -> PreparedRows:
        """Plan how rows go through the program."""

        rows = np.ascontiguousarray(rows)
        if program.num_entries > _KEPT_ENTRIES:
            return cls(program, rows, target, None, tuple(_parts(len(rows), len(rows))))
        observed = np.count_nonzero(rows >= 0, axis=0) / max(1, len(rows))
        plan = plan_rows(program.layout, -1 if target is None else target, observed)
        most = _MOST_MESSAGES // int(plan.message_sizes.sum())
        hidden = hidden_columns(program, rows, target)
        fewest = _FEWEST_ROWS if hidden is None else _FEWEST_LOOKING_UP
        return cls(program, rows, target, plan, tuple(_parts(len(rows), most, fewest)), hidden)

    def answer(self, sources: Floats, weights: Floats | None = None, threads: int | None = None) -> RowAnswers:
        """Run the program for each row; see `answer_rows`."""
        program, kept, is_large = self.program, None, True
        if self.plan is not None:
            kept = self._kept(sources, *self._products(Workspace.of(program, sources)))
            # Else threads take less time than it takes to start them.
            is_large = len(self.rows) * int(self.plan.message_sizes.sum()) > _SMALL_WORK
        job, totals = _Job(self, sources, weights, kept), None if weights is None else np.zeros(program.num_entries)
        width = max(1, min(threads or os.cpu_count() or 1, len(self.parts))) if is_large else 1
        with ExitStack() as stack:
            stack.enter_context(steady(len(self.parts)))
            run_all = map if width == 1 else stack.enter_context(ThreadPoolExecutor(width)).map
            run = job.way()
            for first in range(0, len(self.parts), width):  # no more sums at a time than threads: they are large
                for part_totals in run_all(run, self.parts[first : first + width]):
                    if totals is not None:
                        totals += part_totals
        return RowAnswers(job.log_totals, None if self.target is None else job.marginals, totals)

    def _kept(self, sources: Floats, tables: Floats, lowest: float) -> KeptTables | None:
        """The clique tables with the factors multiplied in; `None` where entries overflow."""
        program = self.program
        if lowest <= _LOWEST_LOG:
            # A target's beliefs keep all digits; and what vanished may have been multiplied by more than one.
            if self.target is not None or sources.max() > 1.0:
                return None
            is_possible = self._products(Workspace.of(program, (sources > 0.0).astype(float)))[0] > 0.0
            tables[is_possible & (tables == 0.0)] = _VANISHED
        assert self.plan is not None
        starts = np.append(program.layout.cliques["table"], program.num_entries)
        peaks = np.maximum(1.0, np.maximum.reduceat(tables, starts))  # products lose as much in small tables
        return KeptTables(tables, peaks[np.searchsorted(starts, self.plan.tables)], lowest > _LOWEST_LOG)

    def _products(self, workspace: Workspace) -> tuple[Floats, float]:
        """The factors' product in each clique's table, then a number one; and a lower bound on the logarithms."""

        tables, floors = np.ones(self.program.num_entries + 1), np.empty(self.program.num_cliques)
        load(self.program.layout, workspace.buffers, tables[:-1], floors)
        return tables, float(floors.min(initial=0.0))

    def codes(self, part: slice) -> Codes:
        """Some rows as kernels take them."""
        return np.ascontiguousarray(self.rows[part], dtype=np.int32)

    def groups(self, part: slice) -> Groups:
        """The groups of the rows of a part; kept, where all together are not too many."""
        assert self.plan is not None
        found = self._groups.get(part.start)
        if found is None:
            found = Groups(*group_rows(self.plan, self.codes(part)))
            if 4 * len(self.rows) * len(self.plan.parents) <= _KEPT_BYTES:
                self._groups[part.start] = found
        return found

    def columns(self, part: slice) -> HiddenColumns:
        """Where the rows of a part look; kept likewise."""
        assert self.hidden is not None
        found = self._columns.get(part.start)
        if found is None:
            found = HiddenColumns.of(self.program, self.codes(part), self.hidden)
            if 12 * len(self.rows) * self.program.num_cliques <= _KEPT_BYTES:
                self._columns[part.start] = found
        return found


class KeptTables(NamedTuple):
    """The clique tables, then a number one."""

    tables: Floats
    peaks: Floats  # The largest entry of each node's table, at least one
    has_all_digits: bool  # Whether no entry became too small for a float


class Groups(NamedTuple):
    """What `group_rows` found: the group of each row at each node, where groups begin, their first rows."""

    groups: Codes
    starts: Ints
    firsts: Codes


class _Job:
    """Rows to answer, and where the answers go: threads write to the places of different rows."""

    def __init__(
        self, prepared: PreparedRows, sources: Floats, weights: Floats | None, kept: KeptTables | None
    ) -> None:
        self.prepared, self.sources, self.weights, self.kept = prepared, sources, weights, kept
        self.program, self.rows, self.target = prepared.program, prepared.rows, prepared.target
        self.log_totals = np.zeros(len(self.rows))
        self.marginals = np.zeros((len(self.rows), 0 if self.target is None else int(self.program.sizes[self.target])))

    def way(self) -> Callable[[slice], Floats]:
        """How to run a part."""
        if self.kept is None:
            return self.one_by_one
        has_columns = self.prepared.hidden is not None and self.kept.has_all_digits
        return self.by_states if has_columns else self.by_groups

    def by_groups(self, part: slice) -> Floats:
        """Run some rows on slices of kept tables; returns the sum of their beliefs."""

        plan = self.prepared.plan
        assert plan is not None
        assert self.kept is not None
        groups, starts, firsts = self.prepared.groups(part)
        ends = np.cumsum(np.diff(starts) * plan.message_sizes)
        messages = np.zeros(int(ends[-1]) + 1)
        messages[-1] = 1.0
        run = RowRun(
            tables=self.kept.tables,
            peaks=self.kept.peaks,
            rows=self.prepared.codes(part),
            groups=groups,
            group_starts=starts,
            firsts=firsts,
            message_starts=np.concatenate([[0], ends]),
            messages=messages,
            entries=np.empty(len(firsts), dtype=np.int64),
            scales=np.empty(len(firsts)),
            log_scales=np.empty(len(firsts)),
            losses=np.empty(len(firsts)),
        )
        collect_rows(plan, run)
        risky = np.empty(part.stop - part.start, dtype=np.uint8)
        read_rows(plan, run, self.log_totals[part], risky, self.marginals[part])
        totals = self._no_totals(1)
        if self.weights is not None:
            is_counted = (risky == 0) & (self.log_totals[part] > -np.inf)
            distribute_rows(plan, run, np.where(is_counted, self.weights[part], 0.0), totals)
        if risky.any():
            self._run(part.start + np.flatnonzero(risky), Semiring.LOG_SUM, totals[:-1])
        return totals[:-1]

    def by_states(self, part: slice) -> Floats:
        """Run rows that hide the same variables on the entries that they look up; returns the sum of their beliefs."""
        assert self.kept is not None
        look_ups = self.prepared.columns(part)
        found = look_ups.answer(self.kept.tables)
        self.log_totals[part] = found.log_totals
        if self.target is not None:
            self.marginals[part] = look_ups.marginals(found.shares, self.target, self.marginals.shape[1])
        if self.weights is None:
            return self._no_totals(0)
        return look_ups.totals(found, self.weights[part], self.program.num_entries)

    def one_by_one(self, part: slice) -> Floats:
        """Run some rows on blocks; returns the sum of their beliefs."""
        totals = self._no_totals(0)
        risky = self._run(np.arange(part.start, part.stop), Semiring.SUM, totals)
        self._run(risky, Semiring.LOG_SUM, totals)
        return totals

    def _no_totals(self, num_more: int) -> Floats:
        return np.zeros(0 if self.weights is None else self.program.num_entries + num_more)

    def _run(self, places: Positions, semiring: Semiring, totals: Floats) -> Positions:
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
            starts = np.array(self.program.layout.cliques["table"])
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
