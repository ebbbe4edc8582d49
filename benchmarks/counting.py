"""Counting all families of alarm in a million rows, beside reading the encoded columns once from memory."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.peers import load_quietly
from benchmarks.reading import nets_folder
from benchmarks.report import best_of, table
from plausible.data.table import Table
from plausible.data.table_statistics import TableStatistics
from plausible.learn.learned_parameters import fit_parameters

_ROWS = (100_000, 1_000_000)


def run() -> str:
    """Seconds to read each byte, to tally each column, to count all families, and to fit all parameters."""
    file = nets_folder() / "alarm.bif.gz"
    if not file.exists():
        return f"No alarm at {nets_folder()}; set PLAUSIBLE_NETS to a folder of .bif.gz files."
    net = load_quietly(file)
    families = {name: list(map(str, net.graph.parents(name))) for name in map(str, net.graph.nodes)}
    rows = []
    for num in _ROWS:
        data = Table.read(net.sample(num, seed=0), net.variables)
        reading, tallying = best_of(5, lambda codes=data.codes: codes.sum()), best_of(5, lambda d=data: _tally(d))

        def count(data: Table = data) -> None:
            statistics = TableStatistics(data)
            for name, parents in families.items():
                statistics.counts(name, parents)

        counting = best_of(5, count)
        fitting = best_of(3, lambda d=data: fit_parameters(net, TableStatistics(d)))
        rows.append([num, reading, tallying, counting, fitting, counting / reading, counting / tallying])
    header = ["rows of alarm", "read s", "tally s", "count s", "fit s", "count / read", "count / tally"]
    return table(header, rows)


def _tally(data: Table) -> list[NDArray[Any]]:
    """How often each state occurs, column by column: what NumPy needs to look at each value once."""
    return [np.bincount(column) for column in data.codes]


if __name__ == "__main__":
    print(run())
