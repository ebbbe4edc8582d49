"""Statistics of rows that count several times each, by the sets of rows that are there: one more for each digit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from plausible.data.statistics import Counts
from plausible.data.table_statistics import CELLS_PER_PASS, RowCounts, TableStatistics, packed

#: How often each row counts: whole numbers up to 127.
Times: TypeAlias = NDArray[np.int8]


class RepeatedCounts(RowCounts):
    """Counts of rows that count several times each; the sets of their states are those of the rows themselves.

    The times are told by sets of rows, one for each binary digit, so that 64 rows are counted at once; row by row where
    a family has more cells than pays.
    """

    def __init__(self, counts: RowCounts, times: Times) -> None:
        vars(self).update(vars(counts))
        self._ones, num_words = times, self._all_rows.size
        digits = range(max(int(times.max(initial=1)).bit_length() - 1, 0), -1, -1)
        self._sets_of_digits = [packed((times >> digit) & 1 > 0, num_words) for digit in digits]
        self._most_cells = CELLS_PER_PASS // len(self._sets_of_digits)

    def count(self, child: str, places: Sequence[int]) -> Counts:
        """How often each joint state of some variables occurs in the rows that say something about one of them."""
        sizes = self._sizes[list(places)].tolist()
        if math.prod(sizes) <= self._most_cells:
            return super().count(child, places)
        counts = np.zeros(math.prod(sizes), dtype=np.int64)
        self._count_cells(child, places[1:], np.array(places[:1], dtype=np.int64), counts, 1)
        return counts.reshape(sizes)

    def _row_weights(self, child: str) -> NDArray[Any]:
        set_rows = self._table.interventions.get(child)
        return self._ones if set_rows is None else np.where(set_rows, np.int8(0), self._ones)

    def _digits(self, child: str) -> list[NDArray[np.uint64]]:
        counting = self._counting_rows(child)
        return [counting & rows for rows in self._sets_of_digits]


class RepeatedStatistics(TableStatistics):
    """Those of the rows of a table, each as often as it is said; made by `repeated`."""

    __slots__ = ()

    def __init__(self, statistics: TableStatistics, times: Times) -> None:
        super().__init__(statistics.table.weighted(times.astype(np.float64)), num_threads=statistics.num_threads)
        self._rows = RepeatedCounts(statistics.row_counts, times)


def repeated(statistics: TableStatistics, times: Times) -> TableStatistics:
    """Statistics of the same rows, each of which counts so many times as often.

    >>> statistics = TableStatistics({"rain": ["no", "yes", "no"], "grass": ["dry", "wet", "wet"]})
    >>> repeated(statistics, np.array([2, 0, 1], dtype=np.int8)).counts("grass", ["rain"])
    array([[2, 1],
           [0, 0]])
    """
    weights = statistics.table.weights
    if weights is not None:
        return statistics.beside(statistics.table.weighted(weights * times))
    return RepeatedStatistics(statistics, times)
