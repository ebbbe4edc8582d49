"""Which nodes of a DAG active trails lead to: the Bayes ball on compressed rows.

A graph of n nodes comes as four arrays: `parents[parent_offsets[i]:parent_offsets[i + 1]]` are the parents of node i,
and likewise for children.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from plausible.kernels.jit import kernel

Ints = NDArray[np.int32]
Flags = NDArray[np.uint8]


@kernel(steps=lambda parent_offsets, parents, *_: 5 * (parent_offsets.size + parents.size))
def bayes_ball(
    parent_offsets: Ints,
    parents: Ints,
    child_offsets: Ints,
    children: Ints,
    starts: Ints,
    observed: Flags,
    target: Flags,
    visited: Flags,
    stack: Ints,
) -> bool:
    """Roll the ball from `starts` until it meets a node flagged in `target`; tell whether it did.

    A state is a node and the side from which the ball came: 2 * node from a child (or to begin with), 2 * node + 1
    from a parent. Each state is entered once, so the cost is linear in the edges.

    `observed`, `target` and `visited` have length n, `stack` has 2 n. `visited` comes in as zeros; it leaves with
    bit 1 set where the ball came from a child and bit 2 where it came from a parent. From an observed start
    the ball goes nowhere.
    """
    top = 0
    for start in starts:
        if not visited[start]:
            visited[start] = 1
            stack[top] = 2 * start
            top += 1
    while top:
        top -= 1
        node = stack[top] >> 1
        from_parent = (stack[top] & 1) != 0
        if target[node]:
            return True
        # Up: through an unobserved node when coming from below, bouncing off an observed one when coming from above.
        if from_parent == (observed[node] != 0):
            for k in range(parent_offsets[node], parent_offsets[node + 1]):
                parent = parents[k]
                if not visited[parent] & 1:
                    visited[parent] |= 1
                    stack[top] = 2 * parent
                    top += 1
        if not observed[node]:
            for k in range(child_offsets[node], child_offsets[node + 1]):
                child = children[k]
                if not visited[child] & 2:
                    visited[child] |= 2
                    stack[top] = 2 * child + 1
                    top += 1
    return False
