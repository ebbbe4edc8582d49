"""One pass of proportional fitting over a table: what the last marginal was short of, and the next marginal."""

from __future__ import annotations

import numpy as np

from plausible.base.arrays import Codes, Floats
from plausible.kernels.jit import kernel, twin_of


@kernel
def refit(table: Floats, places: Codes, ratios: Floats, next_places: Codes, sums: Floats) -> None:
    """Multiply each cell by the ratio of its place in one marginal, and add it up at its place in the next one."""
    for cell in range(len(table)):
        value = table[cell] * ratios[places[cell]]
        table[cell] = value
        sums[next_places[cell]] += value


@twin_of(refit)
def _refit(table: Floats, places: Codes, ratios: Floats, next_places: Codes, sums: Floats) -> None:
    table *= ratios[places]
    sums += np.bincount(next_places, table, minlength=len(sums))
