"""How far counts are from independence: the statistics of many stratified tables in one call."""

from __future__ import annotations

import numpy as np

from plausible.base.arrays import Floats, Ints
from plausible.kernels.jit import kernel, twin_of


@kernel
def _measure(table: Floats, stratum: int, rows: Floats, columns: Floats, is_pearson: bool) -> tuple[float, int]:
    """The statistic of one stratum of a table with axes (row, stratum, column), and its degrees of freedom.

    Margins that are zero take no degree of freedom.
    """
    num_rows, _, num_columns = table.shape
    rows[:num_rows] = 0.0
    columns[:num_columns] = 0.0
    total, num_used_rows, num_used_columns, statistic = 0.0, 0, 0, 0.0
    for row in range(num_rows):
        for column in range(num_columns):
            rows[row] += table[row, stratum, column]
            columns[column] += table[row, stratum, column]
        total += rows[row]
        num_used_rows += rows[row] > 0
    for column in range(num_columns):
        num_used_columns += columns[column] > 0
    if num_used_rows < 2 or num_used_columns < 2:
        return 0.0, 0
    for row in range(num_rows):
        for column in range(num_columns):
            expected, count = rows[row] * columns[column] / total, table[row, stratum, column]
            if is_pearson and expected > 0:
                statistic += (count - expected) ** 2 / expected
            elif count > 0:
                statistic += 2.0 * count * np.log(count / expected)
    return statistic, (num_used_rows - 1) * (num_used_columns - 1)


@kernel
def measure_dependence(counts: Floats, shapes: Ints, is_pearson: bool, statistics: Floats, degrees: Ints) -> None:
    """For each table its statistic, G or (if `is_pearson`) chi-square, and its degrees of freedom.

    `counts` has the tables end to end, `shapes` a line (rows, strata, columns) for each.
    """
    first = 0
    rows, columns = np.empty(shapes[:, 0].max()), np.empty(shapes[:, 2].max())
    for place in range(len(shapes)):
        num_rows, num_strata, num_columns = shapes[place]
        size = num_rows * num_strata * num_columns
        table = counts[first : first + size].reshape((num_rows, num_strata, num_columns))
        first += size
        for stratum in range(num_strata):
            statistic, used = _measure(table, stratum, rows, columns, is_pearson)
            statistics[place] += statistic
            degrees[place] += used


@twin_of(measure_dependence)
def _measure_dependence(counts: Floats, shapes: Ints, is_pearson: bool, statistics: Floats, degrees: Ints) -> None:
    ends = np.cumsum(shapes.prod(axis=1)).tolist()
    for place, (shape, end) in enumerate(zip(shapes.tolist(), ends, strict=True)):
        table = counts[end - shape[0] * shape[1] * shape[2] : end].reshape(shape)
        rows, columns = table.sum(axis=2, keepdims=True), table.sum(axis=0, keepdims=True)
        used_rows, used_columns = (rows > 0).sum(axis=0)[:, 0], (columns > 0).sum(axis=2)[0]
        is_used = (used_rows > 1) & (used_columns > 1)
        expected = rows * columns / rows.sum(axis=0, keepdims=True)
        terms = (table - expected) ** 2 / expected if is_pearson else 2.0 * table * np.log(table / expected)
        has_term = (expected > 0 if is_pearson else table > 0) & is_used[:, None]
        statistics[place] += terms.sum(where=has_term)
        degrees[place] += ((used_rows - 1) * (used_columns - 1))[is_used].sum()
