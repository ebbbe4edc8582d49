"""Sums of terms over the counts of families, each term looked up by its count."""

from __future__ import annotations

from plausible.base.arrays import Floats, Ints
from plausible.kernels.jit import kernel, twin_of


@kernel
def sum_family_terms(counts: Ints, cell_terms: Floats, row_terms: Floats, sums: Floats) -> None:
    """For each family the terms of its cells, less the terms of its rows; axes of `counts`: family, row, cell."""
    num_families, num_rows, num_cells = counts.shape
    for family in range(num_families):
        total = 0.0
        for row in range(num_rows):
            in_row = 0
            for cell in range(num_cells):
                count = counts[family, row, cell]
                in_row += count
                total += cell_terms[count]
            total -= row_terms[in_row]
        sums[family] = total


@twin_of(sum_family_terms)
def _sum_family_terms(counts: Ints, cell_terms: Floats, row_terms: Floats, sums: Floats) -> None:
    sums[:] = cell_terms[counts].sum(axis=(1, 2)) - row_terms[counts.sum(axis=2)].sum(axis=1)
