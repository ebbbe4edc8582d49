"""The search for a derivation: quantities, steps between them, and the cheapest way to observational ones.

A quantity follows if one of its steps leads to quantities that all follow: an and-or graph, which may have cycles. It
is laid out level by level from the target, and the cheapest derivations are found from the observational quantities
upwards (Knuth 1977, A generalization of Dijkstra's algorithm).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import combinations, count
from typing import Literal, NamedTuple, TypeAlias

from plausible.causal.identification.masks import MaskGraph
from plausible.graphs.mark_masks import bits
from plausible.search.clock import Clock

#: How one quantity becomes one or two others.
MoveKind: TypeAlias = Literal["rule 1", "rule 2", "rule 3", "condition", "chain", "ratio"]

#: Of so many nodes or fewer, all subsets up to this size are conditioned on at once, or split off; of more nodes, only
#: single ones, and larger sets one node after the other.
_FEW_NODES, _LARGEST_SUBSET = 8, 3

#: What a move costs: derivations with few steps are sought, and fractions avoided.
_COSTS: dict[MoveKind, int] = {"rule 1": 1, "rule 2": 1, "rule 3": 1, "condition": 1, "chain": 1, "ratio": 2}


class Masks(NamedTuple):
    """P(Y | do(x), w) on bit sets."""

    outcome: int
    do: int
    given: int


class DerivationMove(NamedTuple):
    """One step: the quantity before it is made of the terms.

    A sum of their product over `nodes` ("condition"), their product ("chain"), or the first divided by the second
    ("ratio"); a rule has one term.
    """

    kind: MoveKind
    nodes: int
    terms: tuple[Masks, ...]

    @property
    def cost(self) -> int:
        """What this step adds to the cost of a derivation."""
        return _COSTS[self.kind]


def moves(graph: MaskGraph, quantity: Masks) -> Iterator[DerivationMove]:
    """All steps from a quantity; rules one node at a time, those that shorten it first."""
    yield from _rules(graph, quantity)
    yield from _laws(graph, quantity)


def _rules(graph: MaskGraph, quantity: Masks) -> Iterator[DerivationMove]:
    y, do, given = quantity
    free = graph.members & ~(y | do | given)
    for x in _singles(do):
        if _ignores_setting(graph, Masks(y, do ^ x, given), x):
            yield DerivationMove("rule 3", x, (Masks(y, do ^ x, given),))
        if _exchanges(graph, Masks(y, do ^ x, given), x):
            yield DerivationMove("rule 2", x, (Masks(y, do ^ x, given | x),))
    for w in _singles(given):
        if graph.separated(y, w, do | given ^ w, cut_into=do):
            yield DerivationMove("rule 1", w, (Masks(y, do, given ^ w),))
        if _exchanges(graph, Masks(y, do, given ^ w), w):
            yield DerivationMove("rule 2", w, (Masks(y, do | w, given ^ w),))
    for v in _singles(free):
        if _ignores_setting(graph, quantity, v):
            yield DerivationMove("rule 3", v, (Masks(y, do | v, given),))
        if graph.separated(y, v, do | given, cut_into=do):
            yield DerivationMove("rule 1", v, (Masks(y, do, given | v),))


def _exchanges(graph: MaskGraph, rest: Masks, x: int) -> bool:
    """Whether x may be seen instead of set: the classic form of rule 2."""
    return graph.separated(rest.outcome, x, rest.do | rest.given, cut_into=rest.do, cut_out_of=x)


def _ignores_setting(graph: MaskGraph, rest: Masks, x: int) -> bool:
    """Whether setting x changes nothing: the classic form of rule 3."""
    is_above = x & graph.above(rest.given, rest.do)
    return graph.separated(rest.outcome, x, rest.do | rest.given, cut_into=rest.do | (x & ~is_above))


def _laws(graph: MaskGraph, quantity: Masks) -> Iterator[DerivationMove]:
    y, do, given = quantity
    for w in _subsets(graph.members & ~(y | do | given)):
        yield DerivationMove("condition", w, (Masks(y, do, given | w), Masks(w, do, given)))
    for part in _subsets(y):
        if part == y:
            break
        yield DerivationMove("chain", part, (Masks(y ^ part, do, given | part), Masks(part, do, given)))
    for w in _singles(given):
        yield DerivationMove("ratio", w, (Masks(y | w, do, given ^ w), Masks(w, do, given ^ w)))


def _subsets(mask: int) -> Iterator[int]:
    """Subsets that are not empty, small ones first."""
    members = list(_singles(mask))
    largest = _LARGEST_SUBSET if len(members) <= _FEW_NODES else 1
    for size in range(1, min(largest, len(members)) + 1):
        yield from map(sum, combinations(members, size))


def _singles(mask: int) -> Iterator[int]:
    """The members of a set one by one, each as a set of its own."""
    return (1 << place for place in bits(mask))


@dataclass(slots=True)
class DerivationSpace:
    """How far a search has come."""

    graph: MaskGraph
    # Each quantity that was met -> the steps from it; none yet for those on the frontier.
    known: dict[Masks, tuple[DerivationMove, ...]] = field(default_factory=dict)
    frontier: list[Masks] = field(default_factory=list)  # The quantities of the last level, not yet looked at.
    # Quantity -> the first step of its cheapest derivation, for those that follow from observational ones.
    chosen: dict[Masks, DerivationMove | None] = field(default_factory=dict)
    is_exhausted: bool = False  # Whether every quantity that steps can lead to was looked at.


def search(graph: MaskGraph, target: Masks, max_quantities: int, time_limit: float) -> DerivationSpace:
    """Look for a derivation of `target`, level by level, until none cheaper can turn up or a limit is met."""
    state = DerivationSpace(graph, known={target: ()}, frontier=[target])
    clock, depth = Clock.of(time_limit), 0
    while state.frontier:
        depth += 1
        if not _expand(state, max_quantities, clock):
            _, state.chosen = _cheapest(state.known)
            return state
        costs, state.chosen = _cheapest(state.known)
        # Each step costs one or more, so a cheaper derivation would not go deeper.
        if costs.get(target, depth + 1) <= depth:
            return state
    state.is_exhausted = True
    return state


def _expand(state: DerivationSpace, max_quantities: int, clock: Clock) -> bool:
    """Take the steps from all quantities of the frontier; false where a limit was met."""
    frontier, state.frontier = state.frontier, []
    for quantity in frontier:
        if not quantity.do:
            continue
        if len(state.known) > max_quantities or clock.is_over:
            return False
        state.known[quantity] = tuple(moves(state.graph, quantity))
        for move in state.known[quantity]:
            for term in move.terms:
                if term not in state.known:
                    state.known[term] = ()
                    state.frontier.append(term)
    return True


def _cheapest(
    known: dict[Masks, tuple[DerivationMove, ...]],
) -> tuple[dict[Masks, int], dict[Masks, DerivationMove | None]]:
    """The cost of the cheapest derivation of each quantity that has one, and its first step."""
    users: dict[Masks, list[tuple[Masks, DerivationMove]]] = {}
    for quantity, steps in known.items():
        for step in steps:
            for term in step.terms:
                users.setdefault(term, []).append((quantity, step))
    costs: dict[Masks, int] = {}
    chosen: dict[Masks, DerivationMove | None] = {}
    tick = count()
    queue: list[tuple[int, int, Masks, DerivationMove | None]] = [
        (0, next(tick), leaf, None) for leaf in known if not leaf.do
    ]
    while queue:
        cost, _, quantity, first = heappop(queue)
        if quantity in costs:
            continue
        costs[quantity], chosen[quantity] = cost, first
        for user, step in users.get(quantity, ()):
            if user not in costs and all(term in costs for term in step.terms):
                heappush(queue, (step.cost + sum(costs[term] for term in step.terms), next(tick), user, step))
    return costs, chosen
