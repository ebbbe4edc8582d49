"""Factor graphs: an order to walk through them, and factors that close no cycle."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from plausible.kernels.jit import kernel

__all__ = ["acyclic", "walk"]

Ints = NDArray[np.int64]


@kernel
def walk(
    sizes: Ints,
    scope_starts: Ints,
    scopes: Ints,
    edge_starts: Ints,
    around: Ints,
    owners: Ints,
    seen: Ints,
    order: Ints,
) -> None:
    """The variables of each component, nearest first; those of one state join nothing.

    `seen` has a zero for each variable, then one for each factor.
    """
    num, count, begin = sizes.size, 0, 0
    for root in range(num):
        if seen[root]:
            continue
        order[count], seen[root] = root, 1
        count += 1
        while begin < count:
            variable = order[begin]
            begin += 1
            for k in range(edge_starts[variable], edge_starts[variable + 1]):
                factor = owners[around[k]]
                if sizes[variable] == 1 or seen[num + factor]:
                    continue
                seen[num + factor] = 1
                for e in range(scope_starts[factor], scope_starts[factor + 1]):
                    if not seen[scopes[e]] and sizes[scopes[e]] > 1:
                        order[count], seen[scopes[e]] = scopes[e], 1
                        count += 1


@kernel
def acyclic(
    sizes: Ints, scope_starts: Ints, scopes: Ints, sequence: Ints, roots: Ints, stamps: Ints, counts: Ints
) -> None:
    """Count up each factor that, taken in this sequence, closes no cycle of the factor graph with those taken before.

    Variables of one state close none. `roots` begins with each variable's own number, `stamps` with -1.
    """
    for factor in sequence:
        closes, first = False, -1
        for e in range(scope_starts[factor], scope_starts[factor + 1]):
            if sizes[scopes[e]] > 1:
                root = _root(roots, scopes[e])
                closes = closes or stamps[root] == factor
                stamps[root] = factor
        if not closes:
            counts[factor] += 1
            for e in range(scope_starts[factor], scope_starts[factor + 1]):
                if sizes[scopes[e]] > 1:
                    root = _root(roots, scopes[e])
                    first = root if first < 0 else first
                    roots[root] = first


@kernel
def _root(roots: Ints, variable: int) -> int:
    """The representative of a variable's component; the way there is shortened."""
    while roots[variable] != variable:
        roots[variable] = roots[roots[variable]]
        variable = roots[variable]
    return variable
