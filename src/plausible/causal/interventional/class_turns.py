"""Turns of edges that lead from one interventional class of graphs to another."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from plausible.graphs import DAG
from plausible.graphs.consistent_extension import consistent_extension
from plausible.graphs.mark_masks import bits
from plausible.learn.structures.exact.class_moves import ClassGraph, direct

__all__ = ["ClassTurn", "after_turn", "class_turns", "is_valid_turn"]


class ClassTurn(NamedTuple):
    """In a graph of the class in which `before` are the neighbours of y that are its parents, y -> x becomes x -> y.

    The score changes by score(y, y_base + x) - score(y, y_base) and score(x, x_base) - score(x, x_base + y).
    """

    x: int
    y: int
    before: int
    x_base: int
    y_base: int


def class_turns(graph: ClassGraph, y: int) -> Iterator[ClassTurn]:
    """The turns of edges out of y, up to cycles (Hauser & Bühlmann 2012, propositions 31 and 34).

    An undirected edge x - y is turned in a graph where y has the parents C among its other neighbours and then precedes
    x. Outside the class this leads only if some of C are not joined with x. Where y -> x is directed, all neighbours of
    y that are joined with x are among C, and x precedes its own neighbours: anything else would close a cycle.
    """
    for x in bits(graph.neighbors[y]):
        shared = graph.neighbors[y] & graph.adjacent[x]
        for before in graph.cliques(0, graph.neighbors[y] & ~(1 << x)):
            if before & ~shared and _is_cut(graph, y, before, shared):
                yield ClassTurn(x, y, before, graph.parents[x] | before & shared, graph.parents[y] | before)
    for x in (place for place, parents in enumerate(graph.parents) if parents >> y & 1):
        shared = graph.neighbors[y] & graph.adjacent[x]
        if graph.is_clique(shared):
            for more in graph.cliques(shared, graph.neighbors[y] & ~graph.adjacent[x]):
                yield ClassTurn(x, y, shared | more, graph.parents[x] & ~(1 << y), graph.parents[y] | shared | more)


def is_valid_turn(graph: ClassGraph, turn: ClassTurn) -> bool:
    """Whether no cycle comes about: a path from y to x other than y -> x meets C or the neighbours of x."""
    if graph.neighbors[turn.y] >> turn.x & 1:
        return True
    blocked = turn.before | graph.neighbors[turn.x]
    start = 1 << turn.y
    reached = frontier = start
    while frontier:
        after = 0
        for v in bits(frontier):
            steps = graph.adjacent[v] & ~graph.parents[v]
            after |= steps & ~(1 << turn.x) if v == turn.y else steps
        frontier = after & ~reached & ~blocked
        reached |= frontier
    return not reached >> turn.x & 1


def after_turn(graph: ClassGraph, turn: ClassTurn) -> DAG:
    """A graph of the class that a valid turn leads to."""
    x, y, before = turn.x, turn.y, turn.before
    parents, neighbors = list(graph.parents), list(graph.neighbors)
    if neighbors[y] >> x & 1:
        direct(parents, neighbors, 1 << x, y)
        direct(parents, neighbors, before & neighbors[x], x)
    else:
        parents[x] &= ~(1 << y)
        parents[y] |= 1 << x
        for later in bits(neighbors[x]):
            direct(parents, neighbors, 1 << x, later)
    direct(parents, neighbors, before, y)
    for later in bits(neighbors[y]):
        direct(parents, neighbors, 1 << y, later)
    return consistent_extension(graph.pdag(parents, neighbors))


def _is_cut(graph: ClassGraph, y: int, before: int, shared: int) -> bool:
    """Whether among the neighbours of y the shared ones of C part the others of C from the other shared ones."""
    free = graph.neighbors[y] & ~(before & shared)
    reached = frontier = before & ~shared
    while frontier:
        after = 0
        for v in bits(frontier):
            after |= graph.neighbors[v]
        frontier = after & free & ~reached
        reached |= frontier
    return not reached & shared & ~before
