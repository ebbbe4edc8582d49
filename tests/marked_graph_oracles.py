"""Definitions of graph theory by brute force, on plain tuples: they share no code with the library.

An edge is a triple `(a, symbol, b)`, such as `("A", "<->", "B")`; a graph is a list of nodes and a collection of edges.
"""

from __future__ import annotations

from itertools import chain, combinations, pairwise, product

Triple = tuple[str, str, str]


def subsets(items):
    """All subsets as tuples."""
    items = list(items)
    return chain.from_iterable(combinations(items, size) for size in range(len(items) + 1))


def ancestors(edges, node):
    """The node and all with a directed path into it."""
    found, grown = {node}, True
    while grown:
        fresh = {a for a, symbol, b in both_ways(edges) if symbol == "->" and b in found} - found
        found |= fresh
        grown = bool(fresh)
    return found


def both_ways(edges):
    """Every edge as written, and from its other end."""
    turned = {"->": "<-", "<-": "->", "o->": "<-o", "<-o": "o->", "o-": "-o", "-o": "o-"}
    return [*edges, *((b, turned.get(symbol, symbol), a) for a, symbol, b in edges)]


def simple_paths(edges, start, goal):
    """All paths without repeated nodes, as lists of edges written along the path."""
    steps = both_ways(edges)

    def extend(path, visited):
        here = path[-1][2] if path else start
        if here == goal:
            yield list(path)
            return
        for step in steps:
            if step[0] == here and step[2] not in visited:
                yield from extend([*path, step], visited | {step[2]})

    return extend([], {start})


def is_active(edges, path, given):
    """Whether influence flows along the path: colliders have observed descendants, other nodes are not observed."""
    for (_, into, node), (_, out, _) in pairwise(path):
        if into.endswith(">") and out.startswith("<"):
            if not any(node in ancestors(edges, observed) for observed in given):
                return False
        elif node in given:
            return False
    return True


def is_separated(edges, x, y, given):
    """Separation of two nodes by definition: no simple path is active."""
    return not any(is_active(edges, path, given) for path in simple_paths(edges, x, y))


def independence_model(nodes, edges, always=()):
    """All `(x, y, given)` with x and y separated; `always` is observed in addition."""
    return {
        (x, y, given)
        for x, y in combinations(nodes, 2)
        for given in subsets(node for node in nodes if node not in (x, y))
        if is_separated(edges, x, y, (*given, *always))
    }


def is_acyclic(nodes, arrows):
    """Whether pairs (parent, child) form no cycle: sinks can be taken off until nothing is left."""
    nodes, arrows = set(nodes), set(arrows)
    while nodes:
        sinks = nodes - {a for a, _ in arrows}
        if not sinks:
            return False
        nodes -= sinks
        arrows = {(a, b) for a, b in arrows if b in nodes}
    return True


def all_dags(nodes):
    """The arrow sets of all DAGs over the nodes."""
    pairs = list(combinations(nodes, 2))
    for choice in product((None, 0, 1), repeat=len(pairs)):
        arrows = frozenset(
            (a, b) if way else (b, a) for (a, b), way in zip(pairs, choice, strict=True) if way is not None
        )
        if is_acyclic(nodes, arrows):
            yield arrows


def unshielded_colliders(arrows, lines=()):
    """All `({a, b}, child)` with arrows from a and b to the child and nothing between a and b."""
    joined = {frozenset(pair) for pair in (*arrows, *lines)}
    return {
        (frozenset((a, b)), c)
        for a, c in arrows
        for b, d in arrows
        if c == d and a != b and frozenset((a, b)) not in joined
    }


def consistent_orientations(nodes, arrows, lines):
    """The arrow sets of all DAGs that keep the arrows and direct the lines without a new unshielded collider."""
    wanted = unshielded_colliders(arrows, lines)
    for ways in product((0, 1), repeat=len(lines)):
        chosen = frozenset(arrows) | {(a, b) if way else (b, a) for (a, b), way in zip(lines, ways, strict=True)}
        if is_acyclic(nodes, chosen) and unshielded_colliders(chosen) == wanted:
            yield chosen
