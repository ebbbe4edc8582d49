"""Factor graphs: factors within others, an order to walk through the variables, and factors that close no cycle.

In all of them the variables of factor f are `scopes[scope_starts[f]:scope_starts[f + 1]]`, and the factors of variable
v are `owners[owner_starts[v]:owner_starts[v + 1]]`.
"""

from __future__ import annotations

from plausible.base.arrays import Floats, Ints
from plausible.kernels.jit import kernel

# --- factors within others ---


@kernel(steps=lambda scope_starts, scopes, *_: 10 * scopes.size)
def find_hosts(scope_starts: Ints, scopes: Ints, owner_starts: Ints, owners: Ints, hosts: Ints) -> None:
    """For each factor one that has all its variables and is in no other: itself, as `hosts` begins, or a larger one.

    Of several factors with the same variables the first is the host.
    """
    for f in range(hosts.size):
        arity, rarest = scope_starts[f + 1] - scope_starts[f], scopes[scope_starts[f]]
        for e in range(scope_starts[f], scope_starts[f + 1]):
            v = scopes[e]
            if owner_starts[v + 1] - owner_starts[v] < owner_starts[rarest + 1] - owner_starts[rarest]:
                rarest = v
        for k in range(owner_starts[rarest], owner_starts[rarest + 1]):
            g = owners[k]
            more = scope_starts[g + 1] - scope_starts[g] - arity
            if (more > 0 or (more == 0 and g < f)) and _contains(scope_starts, scopes, g, f):
                hosts[f] = g
                break
    for f in range(hosts.size):
        while hosts[hosts[f]] != hosts[f]:
            hosts[f] = hosts[hosts[f]]


@kernel
def _contains(scope_starts: Ints, scopes: Ints, large: int, small: int) -> bool:
    """Whether one factor has all variables of another."""
    for e in range(scope_starts[small], scope_starts[small + 1]):
        is_there = False
        for k in range(scope_starts[large], scope_starts[large + 1]):
            is_there = is_there or scopes[k] == scopes[e]
        if not is_there:
            return False
    return True


@kernel(steps=lambda *arguments: 3 * arguments[-1].size)
def merge_tables(sizes: Ints, scope_starts: Ints, scopes: Ints, table_starts: Ints, hosts: Ints, logs: Floats) -> None:
    """Add the logarithms of each factor that has a host to those of the host."""
    for f in range(hosts.size):
        host = hosts[f]
        for cell in range(table_starts[host + 1] - table_starts[host] if host != f else 0):
            rest, place = cell, 0
            for e in range(scope_starts[host + 1] - 1, scope_starts[host] - 1, -1):
                state, stride = rest % sizes[scopes[e]], 1
                rest //= sizes[scopes[e]]
                for k in range(scope_starts[f + 1] - 1, scope_starts[f] - 1, -1):
                    if scopes[k] == scopes[e]:
                        place += state * stride
                    stride *= sizes[scopes[k]]
            logs[table_starts[host] + cell] += logs[table_starts[f] + place]


# --- walks and cycles ---


@kernel(steps=lambda scope_starts, scopes, *_: 5 * scopes.size)
def walk(scope_starts: Ints, scopes: Ints, owner_starts: Ints, owners: Ints, seen: Ints, order: Ints) -> None:
    """The variables of each component, nearest first; `seen` has a zero for each variable, then one for each factor."""
    count, begin = 0, 0
    for root in range(order.size):
        if seen[root]:
            continue
        order[count], seen[root] = root, 1
        count += 1
        while begin < count:
            variable = order[begin]
            begin += 1
            for k in range(owner_starts[variable], owner_starts[variable + 1]):
                factor = owners[k]
                if seen[order.size + factor]:
                    continue
                seen[order.size + factor] = 1
                for e in range(scope_starts[factor], scope_starts[factor + 1]):
                    if not seen[scopes[e]]:
                        order[count], seen[scopes[e]] = scopes[e], 1
                        count += 1


@kernel(steps=lambda scope_starts, scopes, *_: 10 * scopes.size)
def acyclic(scope_starts: Ints, scopes: Ints, sequence: Ints, roots: Ints, stamps: Ints, counts: Ints) -> None:
    """Count up each factor that, taken in this sequence, closes no cycle of the factor graph with those taken before.

    `roots` begins with each variable's own number, `stamps` with -1.
    """
    for factor in sequence:
        closes = False
        for e in range(scope_starts[factor], scope_starts[factor + 1]):
            root = _root(roots, scopes[e])
            closes = closes or stamps[root] == factor
            stamps[root] = factor
        if not closes:
            counts[factor] += 1
            first = _root(roots, scopes[scope_starts[factor]])
            for e in range(scope_starts[factor] + 1, scope_starts[factor + 1]):
                roots[_root(roots, scopes[e])] = first


@kernel
def _root(roots: Ints, variable: int) -> int:
    """The representative of a variable's component; the way there is shortened."""
    while roots[variable] != variable:
        roots[variable] = roots[roots[variable]]
        variable = roots[variable]
    return variable
