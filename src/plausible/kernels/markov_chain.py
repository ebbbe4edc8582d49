"""Trajectories of Markov chains whose rows are stored sparsely."""

from __future__ import annotations

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
