"""The search for a derivation: quantities, steps between them, and the cheapest way to observational ones.

A quantity follows if one of its steps leads to quantities that all follow: an and-or graph, which may have cycles. It
is laid out level by level from the target, and the cheapest derivations are found from the observational quantities
upwards (Knuth 1977, A generalization of Dijkstra's algorithm).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count
from time import monotonic

from plausible.causal.calculus.moves import Masks, Move, moves
from plausible.causal.identification.masks import MaskGraph

__all__ = ["Search", "SearchLimits", "search"]


@dataclass(frozen=True, slots=True)
class SearchLimits:
    """When to give up.

    Attributes
    ----------
    max_quantities
        The number of different quantities to look at.
    time_limit
        Seconds.
    """

    max_quantities: int
    time_limit: float


@dataclass(slots=True)
class Search:
    """How far a search has come.

    Attributes
    ----------
    known
        Each quantity that was met -> the steps from it; none yet for those on the frontier.
    frontier
        The quantities of the last level, not yet looked at.
    chosen
        Quantity -> the first step of its cheapest derivation, for those that follow from observational ones.
    is_exhausted
        Whether every quantity that steps can lead to was looked at.
    """

    known: dict[Masks, tuple[Move, ...]] = field(default_factory=dict)
    frontier: list[Masks] = field(default_factory=list)
    chosen: dict[Masks, Move | None] = field(default_factory=dict)
    is_exhausted: bool = False


def search(graph: MaskGraph, target: Masks, limits: SearchLimits) -> Search:
    """Look for a derivation of `target`, level by level, until none cheaper can turn up or a limit is met."""
    state = Search(known={target: ()}, frontier=[target])
    deadline, depth = monotonic() + limits.time_limit, 0
    while state.frontier:
        depth += 1
        if not _expand(graph, state, limits.max_quantities, deadline):
            _, state.chosen = _cheapest(state.known)
            return state
        costs, state.chosen = _cheapest(state.known)
        # Each step costs one or more, so a cheaper derivation would not go deeper.
        if costs.get(target, depth + 1) <= depth:
            return state
    state.is_exhausted = True
    return state


def _expand(graph: MaskGraph, state: Search, max_quantities: int, deadline: float) -> bool:
    """Take the steps from all quantities of the frontier; false where a limit was met."""
    frontier, state.frontier = state.frontier, []
    for quantity in frontier:
        if not quantity.do:
            continue
        if len(state.known) > max_quantities or monotonic() > deadline:
            return False
        state.known[quantity] = tuple(moves(graph, quantity))
        for move in state.known[quantity]:
            for term in move.terms:
                if term not in state.known:
                    state.known[term] = ()
                    state.frontier.append(term)
    return True


def _cheapest(known: dict[Masks, tuple[Move, ...]]) -> tuple[dict[Masks, int], dict[Masks, Move | None]]:
    """The cost of the cheapest derivation of each quantity that has one, and its first step."""
    users: dict[Masks, list[tuple[Masks, Move]]] = {}
    for quantity, move in _all_moves(known):
        for term in move.terms:
            users.setdefault(term, []).append((quantity, move))
    costs: dict[Masks, int] = {}
    chosen: dict[Masks, Move | None] = {}
    tick = count()
    queue: list[tuple[int, int, Masks, Move | None]] = [(0, next(tick), leaf, None) for leaf in known if not leaf.do]
    while queue:
        cost, _, quantity, first = heappop(queue)
        if quantity in costs:
            continue
        costs[quantity], chosen[quantity] = cost, first
        for user, step in users.get(quantity, ()):
            if user not in costs and all(term in costs for term in step.terms):
                heappush(queue, (step.cost + sum(costs[term] for term in step.terms), next(tick), user, step))
    return costs, chosen


def _all_moves(known: dict[Masks, tuple[Move, ...]]) -> Iterator[tuple[Masks, Move]]:
    for quantity, steps in known.items():
        for step in steps:
            yield quantity, step
