"""The axes of cliques, and the cliques that factors and findings go to."""

from __future__ import annotations

import numpy as np

from plausible.base.arrays import Ints
from plausible.kernels.groups import grouped
from plausible.kernels.jit import kernel


@kernel
def axis_orders(members: Ints, starts: Ints, parents: Ints, num_variables: int) -> tuple[Ints, Ints]:
    """The variables of each clique in axis order, and how many are its separator's.

    The separator's come first, in the parent's order, then the others, those that most children share first: axes that
    children don't share come last, so that messages meet long runs of the table.
    """
    axes = np.empty(members.size, dtype=np.int64)
    num_separator_axes = np.empty(parents.size, dtype=np.int64)
    shares = np.full(num_variables, -1, dtype=np.int64)  # how many children have it; -1 outside of the clique at hand
    child_starts, children = grouped(parents, parents.size)
    for c in range(parents.size - 1, -1, -1):
        clique = members[starts[c] : starts[c + 1]]
        for v in clique:
            shares[v] = 0
        for i in range(child_starts[c], child_starts[c + 1]):
            for k in range(starts[children[i]], starts[children[i] + 1]):
                if shares[members[k]] >= 0:
                    shares[members[k]] += 1
        above = axes[starts[parents[c]] : starts[parents[c] + 1]] if parents[c] >= 0 else axes[:0]
        num_separator_axes[c] = _sort_axes(clique, above, shares, axes[starts[c] : starts[c + 1]])
        for v in clique:
            shares[v] = -1
    return axes, num_separator_axes


@kernel
def _sort_axes(clique: Ints, above: Ints, shares: Ints, axes: Ints) -> int:
    """Write the axes of a clique under one with the axes `above`; how many they share, for which `shares` is lost."""
    num_shared = 0
    for v in above:
        if shares[v] >= 0:
            axes[num_shared] = v
            shares[v] = -1
            num_shared += 1
    place = num_shared
    for v in clique:
        if shares[v] >= 0:
            k = place
            while k > num_shared and (
                shares[v] > shares[axes[k - 1]] or (shares[v] == shares[axes[k - 1]] and v < axes[k - 1])
            ):
                axes[k] = axes[k - 1]
                k -= 1
            axes[k] = v
            place += 1
    return num_shared


@kernel
def smallest_holders(entries: Ints, holder_starts: Ints, holders: Ints) -> Ints:
    """The smallest clique that has each variable."""
    smallest = holders[holder_starts[:-1]]
    for v in range(smallest.size):
        for h in range(holder_starts[v], holder_starts[v + 1]):
            if entries[holders[h]] < entries[smallest[v]]:
                smallest[v] = holders[h]
    return smallest


@kernel
def homes_of(
    scopes: Ints, scope_starts: Ints, members: Ints, starts: Ints, entries: Ints, holder_starts: Ints, holders: Ints
) -> Ints:
    """The smallest clique that holds each scope: looked for among those with the variable that fewest have."""
    homes = np.zeros(scope_starts.size - 1, dtype=np.int64)
    marks = np.full(holder_starts.size - 1, -1, dtype=np.int64)
    for scope in range(homes.size):
        variables = scopes[scope_starts[scope] : scope_starts[scope + 1]]
        rarest, fewest = -1, holders.size + 1
        for v in variables:
            marks[v] = scope
            if holder_starts[v + 1] - holder_starts[v] < fewest:
                rarest, fewest = v, holder_starts[v + 1] - holder_starts[v]
        best = -1
        for h in range(holder_starts[rarest], holder_starts[rarest] + fewest if rarest >= 0 else 0):
            clique = holders[h]
            if best < 0 or entries[clique] < entries[best]:
                found = 0
                for k in range(starts[clique], starts[clique + 1]):
                    found += marks[members[k]] == scope
                if found == variables.size:
                    best = clique
        homes[scope] = max(best, 0)  # a number on its own, without variables, goes anywhere
    return homes
