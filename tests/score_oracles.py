"""Random tables and slow formulas of scores, cell by cell, from rows alone."""

from __future__ import annotations

import math
from collections import Counter
from functools import cache
from itertools import product

import numpy as np


def random_columns(rng, sizes, num_rows):
    """Dependent columns of state numbers; few rows leave joint states unseen."""
    columns = {}
    hidden = rng.integers(0, 6, num_rows)
    for place, size in enumerate(sizes):
        noise = rng.integers(0, size, num_rows)
        columns["ABCDEFG"[place]] = np.where(rng.random(num_rows) < 0.6, hidden % size, noise).tolist()
    return columns


def family_counts(columns, sizes, child, parents, weights=None):
    """One row of counts for each joint state of the parents, as lists of numbers."""
    num_rows = len(columns[child])
    weights = [1] * num_rows if weights is None else weights
    seen = Counter()
    for row in range(num_rows):
        seen[tuple(columns[name][row] for name in (*parents, child))] += weights[row]
    contexts = product(*(range(sizes[name]) for name in parents))
    return [[seen[(*context, state)] for state in range(sizes[child])] for context in contexts]


def log_likelihood(rows):
    return sum(n * math.log(n / sum(row)) for row in rows for n in row if n)


def dimension(rows):
    return len(rows) * (len(rows[0]) - 1)


def dirichlet(rows, pseudo_count):
    """The product of the predictive probabilities of the rows of data, one after the other."""
    result = 0.0
    for row in rows:
        size, before = len(row) * pseudo_count, 0
        for count in row:
            for step in range(count):
                result += math.log((pseudo_count + step) / (size + before))
                before += 1
    return result


def regret(total, num_states):
    """ln of the sum of the maximum likelihoods of all data sets."""
    return math.log(_sum_of_best_fits(total, num_states))


@cache
def _sum_of_best_fits(total, num_states):
    """By how many rows have the last state: the others are a data set of their own."""
    if num_states == 1 or not total:
        return 1.0
    return sum(
        math.comb(total, last)
        * (last / total) ** last
        * ((total - last) / total) ** (total - last)
        * _sum_of_best_fits(total - last, num_states - 1)
        for last in range(total + 1)
    )
