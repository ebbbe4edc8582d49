"""What a quantity is equal to in one step: by a rule of the do-calculus, or by the laws of probability."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Literal, NamedTuple, TypeAlias

from plausible.causal.identification.masks import MaskGraph
from plausible.graphs.mark_masks import bits

__all__ = ["Masks", "Move", "MoveKind", "moves"]

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


class Move(NamedTuple):
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


def moves(graph: MaskGraph, quantity: Masks) -> Iterator[Move]:
    """All steps from a quantity; rules one node at a time, those that shorten it first."""
    yield from _rules(graph, quantity)
    yield from _laws(graph, quantity)


def _rules(graph: MaskGraph, quantity: Masks) -> Iterator[Move]:
    y, do, given = quantity
    free = graph.members & ~(y | do | given)
    for x in _singles(do):
        if _ignores_setting(graph, Masks(y, do ^ x, given), x):
            yield Move("rule 3", x, (Masks(y, do ^ x, given),))
        if _exchanges(graph, Masks(y, do ^ x, given), x):
            yield Move("rule 2", x, (Masks(y, do ^ x, given | x),))
    for w in _singles(given):
        if graph.separated(y, w, do | given ^ w, cut_into=do):
            yield Move("rule 1", w, (Masks(y, do, given ^ w),))
        if _exchanges(graph, Masks(y, do, given ^ w), w):
            yield Move("rule 2", w, (Masks(y, do | w, given ^ w),))
    for v in _singles(free):
        if _ignores_setting(graph, quantity, v):
            yield Move("rule 3", v, (Masks(y, do | v, given),))
        if graph.separated(y, v, do | given, cut_into=do):
            yield Move("rule 1", v, (Masks(y, do, given | v),))


def _exchanges(graph: MaskGraph, rest: Masks, x: int) -> bool:
    """Whether x may be seen instead of set: the classic form of rule 2."""
    return graph.separated(rest.outcome, x, rest.do | rest.given, cut_into=rest.do, cut_out_of=x)


def _ignores_setting(graph: MaskGraph, rest: Masks, x: int) -> bool:
    """Whether setting x changes nothing: the classic form of rule 3."""
    is_above = x & graph.above(rest.given, rest.do)
    return graph.separated(rest.outcome, x, rest.do | rest.given, cut_into=rest.do | (x & ~is_above))


def _laws(graph: MaskGraph, quantity: Masks) -> Iterator[Move]:
    y, do, given = quantity
    for w in _subsets(graph.members & ~(y | do | given)):
        yield Move("condition", w, (Masks(y, do, given | w), Masks(w, do, given)))
    for part in _subsets(y):
        if part == y:
            break
        yield Move("chain", part, (Masks(y ^ part, do, given | part), Masks(part, do, given)))
    for w in _singles(given):
        yield Move("ratio", w, (Masks(y | w, do, given ^ w), Masks(w, do, given ^ w)))


def _subsets(mask: int) -> Iterator[int]:
    """Subsets that are not empty, small ones first."""
    members = list(_singles(mask))
    largest = _LARGEST_SUBSET if len(members) <= _FEW_NODES else 1
    for size in range(1, min(largest, len(members)) + 1):
        yield from map(sum, combinations(members, size))


def _singles(mask: int) -> Iterator[int]:
    """The members of a set one by one, each as a set of its own."""
    return (1 << place for place in bits(mask))
