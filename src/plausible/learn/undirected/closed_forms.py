"""Weights without iteration: tables on the cliques of a chordal graph, and propagation that matches the data."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush

import numpy as np

from plausible.base.arrays import Floats
from plausible.errors import NotSupported
from plausible.learn.undirected.design import Design, Scope


def has_free_tables(design: Design) -> bool:
    """Whether each entry of each table has one weight of its own, and nothing is tied."""
    matrix = design.matrix
    return (
        matrix.nnz == design.num_entries == design.num_weights
        and bool((matrix.data == 1.0).all())
        and bool((np.diff(matrix.indptr) == 1).all())
        and np.unique(matrix.indices).size == design.num_weights
    )


def chordal_logs(design: Design, counts: Floats) -> Floats | None:
    """Σ_C log P^(C) - Σ_S log P^(S) over the tree of cliques: the maximum of the likelihood; None if there is no tree.

    That is counting in an equivalent Bayesian network; each table has the conditional of its clique given what it
    shares with the clique before. Tables of frequency zero are -inf (Koller & Friedman 2009, §20.2.1).
    """
    tree = junction_tree(design.scopes)
    if tree is None or not has_free_tables(design):
        return None
    return _divided(design, counts, [[shared] if shared else [] for _, shared in tree])


def matched_logs(design: Design, counts: Floats) -> Floats:
    """Tables whose beliefs after propagation are the frequencies in the data (Wainwright, Jaakkola & Willsky 2003).

    φ_C = P^(C), divided by P^(v) for each variable v that a later table has, too: a fixed point of belief propagation
    at once, exact where the tables form a tree.
    """
    if not has_free_tables(design):
        raise NotSupported(
            "Pseudo-moment matching is for tables with a weight for each entry, none of them tied: give a graph, or "
            "scopes in the place of features."
        )
    if nested := _nested(design.scopes):
        names = list(design.variables)
        inner, outer = ([names[place] for place in scope] for scope in nested)
        raise NotSupported(
            f"The table over {inner} lies within that over {outer}: pseudo-moment matching wants clusters of which "
            "none holds another."
        )
    last = {place: number for number, scope in enumerate(design.scopes) for place in scope}
    shared = [[(place,) for place in scope if last[place] != number] for number, scope in enumerate(design.scopes)]
    return _divided(design, counts, shared)


def _nested(scopes: Sequence[Scope]) -> tuple[Scope, Scope] | None:
    held: dict[int, list[Scope]] = {}
    for scope in scopes:
        for place in scope:
            held.setdefault(place, []).append(scope)
    for scope in scopes:
        for other in held[scope[0]]:
            if other != scope and set(scope) <= set(other):
                return scope, other
    return None


def junction_tree(scopes: Sequence[Scope]) -> list[tuple[int, Scope]] | None:
    """The scope before each, -1 for none, and what they share, in a tree with the running intersection; None if none.

    A heaviest spanning tree of the scopes, weighted by what they share, is such a tree exactly if the sizes of scopes
    less what is shared add up to the number of variables.
    """
    holders: dict[int, list[int]] = {}
    for number, scope in enumerate(scopes):
        for place in scope:
            holders.setdefault(place, []).append(number)
    links: list[tuple[int, Scope]] = [(-1, ())] * len(scopes)
    waiting = [(0, number) for number in range(len(scopes))]  # the least first: a heap
    is_in = [False] * len(scopes)
    while waiting:
        _, current = heappop(waiting)
        if is_in[current]:
            continue
        is_in[current] = True
        for other in {number for place in scopes[current] for number in holders[place] if not is_in[number]}:
            common = tuple(sorted(set(scopes[current]) & set(scopes[other])))
            if len(common) > len(links[other][1]):
                links[other] = (current, common)
                heappush(waiting, (-len(common), other))
    excess = sum(map(len, scopes)) - sum(len(shared) for _, shared in links)
    return links if excess == len(holders) else None


def _divided(design: Design, counts: Floats, divisors: Sequence[Sequence[Scope]]) -> Floats:
    """Σ log of the frequencies of each table, less those of its divisors; -inf where the table is zero."""
    logs = np.full(design.num_entries, -np.inf)
    for number, (scope, start, end) in enumerate(
        zip(design.scopes, design.starts[:-1], design.starts[1:], strict=True)
    ):
        table = counts[start:end].reshape([int(design.sizes[place]) for place in scope])
        total = table.sum()
        with np.errstate(divide="ignore", invalid="ignore"):
            found = np.log(table / total)
            for divisor in divisors[number]:
                others = tuple(axis for axis, place in enumerate(scope) if place not in divisor)
                found = found - np.log(table.sum(axis=others, keepdims=True) / total)
        logs[start:end] = np.where(table > 0, found, -np.inf).ravel()
    return logs
