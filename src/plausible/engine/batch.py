"""Many rows of evidence through one program, on all cores."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from plausible.engine.program import Program
from plausible.engine.run import Workspace

__all__ = ["RowAnswers", "answer_rows"]

Floats = NDArray[np.float64]
Codes = NDArray[np.int32]

#: Rows are split into this many parts whatever the number of threads, so that sums come out the same bit for bit.
_NUM_PARTS = 8


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
    from plausible.kernels.cliques import run_rows  # brings Numba, which importing a model must not load

    parts = np.array_split(np.arange(len(rows)), min(_NUM_PARTS, max(1, len(rows))))
    loaded = Workspace.of(program)
    loaded.load(sources)
    log_totals = np.empty(len(rows))
    marginals = np.zeros((len(rows), program.sizes[target] if target is not None else 0))
    totals = np.zeros((len(parts), program.num_entries if weights is not None else 0))

    def run(part: int) -> None:
        chosen = slice(parts[part][0], parts[part][-1] + 1) if len(parts[part]) else slice(0, 0)
        workspace = Workspace.of(program)
        run_rows(
            rows[chosen],
            program.cliques,
            program.findings,
            program.has_children if weights is None else np.ones_like(program.has_children),
            program.views,
            program.view_starts,
            loaded.tables,
            workspace.tables,
            workspace.messages,
            workspace.column_sums,
            program.column_starts,
            workspace.counters,
            workspace.num_received,
            np.zeros(program.sizes.max(initial=1)),
            program.readings[target] if target is not None else np.empty(0, dtype=np.int64),
            log_totals[chosen],
            marginals[chosen],
            np.empty(0) if weights is None else weights[chosen],
            totals[part],
        )

    with ThreadPoolExecutor(min(threads or os.cpu_count() or 1, len(parts))) as pool:
        list(pool.map(run, range(len(parts))))
    return RowAnswers(
        log_totals, None if target is None else marginals, None if weights is None else totals.sum(axis=0)
    )
