"""Gradients of single rows, which tell how much an estimate varies."""

from __future__ import annotations

import numpy as np

from plausible.base.arrays import Floats
from plausible.data.table_statistics import TableStatistics
from plausible.errors import NotSupported
from plausible.learn.undirected.objectives import ObjectiveMethod, Sample


def gradients_of_rows(data: Sample, method: ObjectiveMethod, weights: Floats) -> tuple[Floats, Floats]:
    """The gradient of the objective of each different row by itself, and how often the row occurs."""
    if data.statistics is None:
        raise NotSupported("The spread of this objective's weights is told by rows, of which there are none.")
    table = data.statistics.table.select(data.design.variables)
    stacked = np.stack([table.column(name) for name in data.design.variables], axis=1)
    _, firsts, inverse = np.unique(stacked, axis=0, return_index=True, return_inverse=True)
    times = np.bincount(inverse.reshape(-1), table.row_weights, minlength=len(firsts)).astype(np.float64)
    gradients = []
    for first in firsts.tolist():
        one = Sample.of(data.design, TableStatistics(table.take([first]).weighted(None)), data.engine, data.budget)
        gradients.append(method.on(one).at(weights)[1])
    return np.array(gradients), times
