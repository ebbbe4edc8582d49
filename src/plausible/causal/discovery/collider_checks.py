"""Colliders of a skeleton that may have edges too many."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

from plausible.causal.discovery.skeleton_phases import continued, merged
from plausible.learn.constraint_based.orientation import Triple
from plausible.learn.constraint_based.skeleton import Skeleton, SkeletonSearch, SkeletonWork
from plausible.learn.independence.independence_test import IndependenceTest, Question
from plausible.learn.structures.knowledge import Constraints

__all__ = ["check_colliders"]


def check_colliders(
    test: IndependenceTest,
    skeleton: Skeleton,
    search: SkeletonSearch,
    known: Constraints,
    find: Callable[[Skeleton], Collection[Triple]],
) -> tuple[Skeleton, Collection[Triple]]:
    """The colliders whose middle causes neither end, and the skeleton without the edges that prove to be too many.

    Sets of neighbours may leave an edge a, b that is not there. Then from a and c being separated by a set without b it
    does not follow that b causes neither; it does if b depends on a and on c given that set. Where it does not, one
    more edge is found out, which may make new triples. At most edges × degree tests.

    Parameters
    ----------
    test
        Answers questions of independence.
    skeleton
        What sets of neighbours leave.
    search
        Options; a time limit is that of this phase.
    known
        Required edges stay.
    find
        The colliders of a skeleton.

    References
    ----------
    Colombo, Maathuis, Kalisch & Richardson (2012), Learning high-dimensional directed acyclic graphs with latent and
    selection variables, lemma 3.1.
    """
    asked: set[Question] = set()
    while True:
        colliders = find(skeleton)
        work = continued(test, skeleton, search, known)
        questions = {*_doubts(work, skeleton, colliders)} - asked
        if skeleton.stopped or not questions:
            return skeleton, colliders
        asked |= questions
        for size in range(max(len(question.given) for question in questions) + 1):
            work.num_tests.append(0)
            work.ask(size, sorted(question for question in questions if len(question.given) == size))
        skeleton = merged(skeleton, work.result())


def _doubts(work: SkeletonWork, skeleton: Skeleton, colliders: Collection[Triple]) -> Iterator[Question]:
    """Whether a middle depends on an end given what separates the ends, where this was not asked before."""
    around = {name: frozenset(row) for name, row in skeleton.neighbors.items()}
    for left, middle, right in colliders:
        given = skeleton.separating_sets.get(frozenset((left, right)))
        if given is None:
            continue
        for end in (left, right):
            was_asked = around[end].issuperset(given) or around[middle].issuperset(given)
            if work.is_open(middle, end) and not was_asked:
                yield Question(middle, given, (end,))
