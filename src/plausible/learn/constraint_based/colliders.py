"""Which middles of triples are colliders, by what separates the ends."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import chain, combinations
from typing import Literal, TypeAlias

import numpy as np

from plausible.learn.constraint_based.determination import interchangeable
from plausible.learn.constraint_based.orientation import Triple, unshielded_triples
from plausible.learn.constraint_based.skeleton import Skeleton
from plausible.learn.independence.independence_test import IndependenceTest, Question

__all__ = ["VARIANTS", "Variant", "find_colliders"]

Variant: TypeAlias = Literal["stable", "original", "majority", "conservative"]
Verdict: TypeAlias = Literal["collider", "no collider", "ambiguous"]

VARIANTS = ("stable", "original", "majority", "conservative")


def find_colliders(
    test: IndependenceTest, skeleton: Skeleton, alpha: float, variant: Variant, *, recorded_votes: bool = False
) -> tuple[list[Triple], tuple[Triple, ...]]:
    """The unshielded triples that are colliders, and those of which the tests do not tell.

    Parameters
    ----------
    test
        Answers questions of independence.
    skeleton
        Neighbours, and what separates others.
    alpha
        The level of the tests.
    variant
        "majority" and "conservative" ask all sets of neighbours of either end that separate the ends; the others take
        the word of the set that was found first.
    recorded_votes
        Whether that set has a vote too: with latent causes no set of neighbours need separate the ends.
    """
    judge = _judge(test, skeleton, alpha, variant, recorded_votes)
    verdicts = {triple: judge(triple) for triple in unshielded_triples(skeleton.neighbors)}
    verdicts |= dict.fromkeys(_open(test, skeleton, verdicts, variant), "ambiguous")
    ambiguous = tuple(triple for triple, verdict in verdicts.items() if verdict == "ambiguous")
    return [triple for triple, verdict in verdicts.items() if verdict == "collider"], ambiguous


def _judge(
    test: IndependenceTest, skeleton: Skeleton, alpha: float, variant: Variant, recorded_votes: bool
) -> Callable[[Triple], Verdict]:
    """What tells a collider."""

    def recorded(triple: Triple) -> tuple[str, ...] | None:
        return skeleton.separating_sets.get(frozenset((triple[0], triple[2])))

    def vote(triple: Triple) -> Verdict:
        votes = _votes(test, skeleton, alpha, triple)
        given = recorded(triple)
        if recorded_votes and given is not None:
            votes[given] = triple[1] in given
        share = sum(votes.values()) / len(votes) if votes else 0.5
        if variant == "conservative":
            return "collider" if share == 0 else "no collider" if share == 1 else "ambiguous"
        return "collider" if share < 0.5 else "no collider" if share > 0.5 else "ambiguous"

    def look_up(triple: Triple) -> Verdict:
        given = recorded(triple)
        if given is None:  # knowledge keeps them apart, so that nothing was tested
            return vote(triple)
        return "no collider" if triple[1] in given else "collider"

    return vote if variant in ("majority", "conservative") else look_up


def _open(
    test: IndependenceTest, skeleton: Skeleton, verdicts: Mapping[Triple, Verdict], variant: Variant
) -> set[Triple]:
    """The colliders told by one separating set, in which the middle could as well be."""
    if variant in ("majority", "conservative"):
        return set()
    separators = skeleton.separating_sets
    found = {triple: frozenset((triple[0], triple[2])) for triple, verdict in verdicts.items() if verdict == "collider"}
    return interchangeable(test, {triple: separators[pair] for triple, pair in found.items() if pair in separators})


def _votes(test: IndependenceTest, skeleton: Skeleton, alpha: float, triple: Triple) -> dict[tuple[str, ...], bool]:
    """The sets of neighbours of either end that separate both -> whether the middle is in them."""
    left, middle, right = triple
    largest = max(len(skeleton.num_tests) - 1, 0)
    sides = [[one for one in skeleton.neighbors[end] if one not in (left, right)] for end in (left, right)]
    subsets = sorted(
        {given for side in sides for given in chain(*(combinations(side, size) for size in range(largest + 1)))}
    )
    separates = test.ask([Question(left, given, (right,)) for given in subsets]).are_independent(alpha)
    return {subsets[place]: middle in subsets[place] for place in np.flatnonzero(separates).tolist()}
