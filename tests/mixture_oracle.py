"""Mixtures by the book, row by row and cell by cell, for the tests; shares no code with the library."""

from __future__ import annotations

import math

import numpy as np


def random_columns(rng, num_rows, num_numbers, num_discrete, share_missing, num_clusters=3):
    """Columns of both kinds with hidden clusters and missing cells; each column has at least one value."""
    cluster = rng.integers(num_clusters, size=num_rows)
    columns = {}
    mix = rng.normal(size=(num_numbers, num_numbers))
    numbers = rng.normal(size=(num_rows, num_numbers)) @ mix + 3 * rng.normal(size=(num_clusters, num_numbers))[cluster]
    for j in range(num_numbers):
        column = numbers[:, j].copy()
        column[1:][rng.random(num_rows - 1) < share_missing] = np.nan
        columns[f"x{j}"] = column
    for i in range(num_discrete):
        limits = rng.dirichlet([0.7] * 3, size=num_clusters).cumsum(axis=1)
        codes = (rng.random(num_rows)[:, None] > limits[cluster, :2]).sum(axis=1)
        column = [int(code) for code in codes]
        columns[f"d{i}"] = [c if r == 0 or rng.random() >= share_missing else None for r, c in enumerate(column)]
    return columns


def log_joint(clustering, columns):
    """log P(k, row) by the definition: one row, one cluster, one matrix at a time."""
    num_rows = len(next(iter(columns.values())))
    found = np.zeros((num_rows, len(clustering.weights_)))
    names = [v.name for v in clustering.space_.continuous]
    for row in range(num_rows):
        x = np.array([columns[name][row] for name in names], dtype=float)
        known = ~np.isnan(x)
        for k, weight in enumerate(clustering.weights_):
            value = math.log(weight) if weight > 0 else -math.inf
            for variable in clustering.space_.discrete:
                state = columns[variable.name][row]
                if state is not None:
                    p = clustering.tables_[variable.name][k, variable.states.index(state)]
                    value += math.log(p) if p > 0 else -math.inf
            matrix = clustering.covariances_[k]
            matrix = np.diag(matrix) if matrix.ndim == 1 else matrix
            inside = matrix[np.ix_(known, known)]
            difference = (x - clustering.means_[k])[known]
            value -= 0.5 * difference @ np.linalg.inv(inside) @ difference
            value -= 0.5 * math.log(np.linalg.det(2 * math.pi * inside)) if known.any() else 0.0
            found[row, k] = value
    return found
