"""Lists of parent sets, best first: which of them fits among the variables that are allowed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from plausible.base.arrays import Floats, Ints
from plausible.kernels.jit import kernel

Words = NDArray[np.uint64]


@kernel(steps=lambda masks, firsts, children, *_: children.size * max(1.0, masks.size / firsts.size))
def find_fitting(masks: Words, firsts: Ints, children: Ints, allowed: Words, found: Ints) -> None:
    """For each query the first set of a child within what is allowed; -1 for none.

    The sets of v are `masks[firsts[v]:firsts[v + 1]]`, one bit a variable; `allowed` has a row for each query.
    """
    for query in range(children.size):
        child = children[query]
        found[query] = -1
        for place in range(firsts[child], firsts[child + 1]):
            outside = np.uint64(0)
            for word in range(masks.shape[1]):
                outside |= masks[place, word] & ~allowed[query, word]
            if outside == 0:
                found[query] = place
                break


@kernel(steps=lambda masks, scores, firsts, values, start, end: 5 * (end - start) * firsts.size)
def best_of_subsets(masks: Ints, scores: Floats, firsts: Ints, values: Floats, start: int, end: int) -> None:
    """The score of the best graph on each set of variables, which is the number of its place in `values`.

    Each has a sink v: value(S) = max over v of value(S - v) + the score of the first set of v within S - v. Those from
    `start` to before `end` are found; all before them, and 0 for the empty set, are there.
    """
    for chosen in range(start, end):
        best = -np.inf
        for v in range(firsts.size - 1):
            if chosen >> v & 1:
                rest = chosen ^ (1 << v)
                # the first set of a list is its best, so that most lists need not be looked through
                if values[rest] + scores[firsts[v]] > best:
                    for place in range(firsts[v], firsts[v + 1]):
                        if masks[place] & ~rest == 0:
                            best = max(best, values[rest] + scores[place])
                            break
        values[chosen] = best
