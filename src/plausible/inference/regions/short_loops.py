"""Short cycles of variables that share factors: clusters for a Kikuchi approximation where none are given."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from plausible.inference.problem import Problem

__all__ = ["short_loops"]

Scope = tuple[int, ...]


def short_loops(problem: Problem) -> list[Scope]:
    """Independent cycles of three and four variables, as many as the pairs that share a factor have.

    Cycles are vectors over the pairs, added modulo two; one that is the sum of others would make regions count
    against each other (Gelfand & Welling 2012). On a grid they are the squares, in a complete graph the triangles
    through one variable.

    >>> from plausible.factors import Factor
    >>> from plausible.variables import Evidence
    >>> full = [Factor({a: 2, b: 2}, [[2, 1], [1, 2]]) for a, b in combinations("ABCD", 2)]
    >>> short_loops(Problem.of(full, Evidence.read({}, {})))
    [(0, 1, 2), (0, 1, 3), (0, 2, 3)]
    """
    near: list[set[int]] = [set() for _ in problem.variables]
    for factor in range(len(problem.factors)):
        for first, second in combinations(sorted(problem.scope(factor)), 2):
            near[first].add(second)
            near[second].add(first)
    numbers = {pair: place for place, pair in enumerate(_pairs(near))}
    pivots: dict[int, int] = {}
    return [tuple(sorted(loop)) for loop in (*_triangles(near), *_squares(near)) if _is_new(loop, numbers, pivots)]


def _pairs(near: Sequence[set[int]]) -> Iterator[tuple[int, int]]:
    return ((first, second) for first in range(len(near)) for second in sorted(near[first]) if first < second)


def _triangles(near: Sequence[set[int]]) -> Iterator[Scope]:
    for first, second in _pairs(near):
        yield from ((first, second, third) for third in sorted(near[first] & near[second]) if third > second)


def _squares(near: Sequence[set[int]]) -> Iterator[Scope]:
    """Cycles of four without a chord, from their lowest variable around."""
    for low in range(len(near)):
        for first, second in combinations(sorted(other for other in near[low] if other > low), 2):
            if second not in near[first]:
                across = (near[first] & near[second]) - near[low]
                yield from ((low, first, far, second) for far in sorted(across) if far > low)


def _is_new(loop: Scope, numbers: dict[tuple[int, int], int], pivots: dict[int, int]) -> bool:
    """Whether the cycle is no sum of those before; if so, its remainder goes to the pivots (elimination over GF(2))."""
    vector = 0
    for first, second in zip(loop, (*loop[1:], loop[0]), strict=True):
        vector ^= 1 << numbers[min(first, second), max(first, second)]
    while vector:
        lead = vector.bit_length()
        if lead not in pivots:
            pivots[lead] = vector
            return True
        vector ^= pivots[lead]
    return False
