"""Markov chains whose rows are stored sparsely: trajectories, and elimination of states without a subtraction.

Which rates there will be is known in advance. States are numbered in the order in which they go. A state's later
neighbours, its `upper` ones, are those that are left when it goes; its `lower` ones are the earlier states of which it
is a later neighbour.
"""

from __future__ import annotations

import numpy as np

from plausible.base.arrays import Floats, Ints
from plausible.kernels.jit import kernel


@kernel(steps=lambda starts, targets, weights, levels, paths: 8 * levels.size)
def walk(starts: Ints, targets: Ints, weights: Floats, levels: Floats, paths: Ints) -> None:
    """Go on from `paths[:, 0]` by inverting distribution functions, with one uniform number for each step.

    The successors of state i are `targets[starts[i]:starts[i + 1]]`, with the weights beside them, which
    become cumulative.
    """
    for row in range(len(starts) - 1):
        for place in range(starts[row] + 1, starts[row + 1]):
            weights[place] += weights[place - 1]
    for chain in range(len(paths)):
        for step in range(levels.shape[1]):
            low = starts[paths[chain, step]]
            high = starts[paths[chain, step] + 1] - 1
            level = levels[chain, step] * weights[high]
            while low < high:
                middle = (low + high) // 2
                if level < weights[middle]:
                    high = middle
                else:
                    low = middle + 1
            paths[chain, step + 1] = targets[low]


_LARGE = 1e100


@kernel(steps=lambda starts, _targets, _rates, _leaks, _upper_starts, upper, *_: 20 * upper.size)
def censor(
    starts: Ints,
    targets: Ints,
    rates: Floats,
    leaks: Floats,
    upper_starts: Ints,
    upper: Ints,
    lower_starts: Ints,
    lower: Ints,
    onward: Floats,
    shares: Floats,
    totals: Floats,
) -> None:
    """Grassmann, Taksar & Heyman's elimination (1985), row by row.

    When state k goes, its way out is shared among its later neighbours and the leak in proportion: `onward[p]` is the
    rate to neighbour `upper[p]`, `totals[k]` that out of k. `shares[p]` is, of state i, the rate to state `lower[p]`
    over the total of that one. Rates of a state to itself play no part: all numbers are sums of products.
    """
    row = np.zeros(totals.size)
    for i in range(totals.size):
        for place in range(starts[i], starts[i + 1]):
            row[targets[place]] += rates[place]
        for place in range(lower_starts[i], lower_starts[i + 1]):
            k = lower[place]
            share = row[k] / totals[k] if row[k] > 0.0 and totals[k] > 0.0 else 0.0
            row[k] = 0.0
            shares[place] = share
            if share > 0.0:
                leaks[i] += share * leaks[k]
                for other in range(upper_starts[k], upper_starts[k + 1]):
                    row[upper[other]] += share * onward[other]
        row[i] = 0.0
        totals[i] = leaks[i]
        for place in range(upper_starts[i], upper_starts[i + 1]):
            onward[place] = row[upper[place]]
            totals[i] += onward[place]
            row[upper[place]] = 0.0


@kernel(steps=lambda _starts, upper, *rest: 5 * upper.size * rest[-1].shape[1])
def solve_censored(
    upper_starts: Ints,
    upper: Ints,
    onward: Floats,
    lower_starts: Ints,
    lower: Ints,
    shares: Floats,
    totals: Floats,
    sides: Floats,
) -> None:
    """Replace each column of `sides`, rewards for a visit, by what is expected until the chain has leaked away."""
    for i in range(totals.size):
        for place in range(lower_starts[i], lower_starts[i + 1]):
            if shares[place] > 0.0:
                for column in range(sides.shape[1]):
                    sides[i, column] += shares[place] * sides[lower[place], column]
    for i in range(totals.size - 1, -1, -1):
        for place in range(upper_starts[i], upper_starts[i + 1]):
            if onward[place] > 0.0:
                for column in range(sides.shape[1]):
                    sides[i, column] += onward[place] * sides[upper[place], column]
        for column in range(sides.shape[1]):
            sides[i, column] /= totals[i]


@kernel(steps=lambda _starts, lower, *_: 5 * lower.size)
def passed_back(lower_starts: Ints, lower: Ints, shares: Floats, last: int, weights: Floats) -> None:
    """Stationary weights, from that of the last state back to those before; scaled down where they get large."""
    weights[:] = 0.0
    weights[last] = 1.0
    for i in range(last, -1, -1):
        if weights[i] > _LARGE:
            weights /= weights[i]
        for place in range(lower_starts[i], lower_starts[i + 1]):
            weights[lower[place]] += weights[i] * shares[place]
