"""Which middles of triples are colliders, by what separates the ends; and what tests can't tell of copies."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import chain, combinations
from typing import Literal, TypeAlias, final

import numpy as np

from plausible.learn.constraint_based.orientation import Triple, unshielded_triples
from plausible.learn.constraint_based.skeleton import Skeleton
from plausible.learn.independence.independence_test import Answers, IndependenceTest, Question

Variant: TypeAlias = Literal["stable", "original", "majority", "conservative"]
Verdict: TypeAlias = Literal["collider", "no collider", "ambiguous"]

VARIANTS = ("stable", "original", "majority", "conservative")


def find_colliders(
    test: IndependenceTest, skeleton: Skeleton, alpha: float, variant: Variant, *, recorded_votes: bool = False
) -> tuple[list[Triple], tuple[Triple, ...]]:
    """The unshielded triples that are colliders, and those of which the tests do not tell."""
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


@final
class CopyGuard(IndependenceTest):
    """A test that says nothing of x and y where a copy of one of them is given.

    Given a copy, a variable is independent of all, and so is the copy given the variable: taken at their word such
    tests would leave neither an edge. Two variables are copies if each determines the other. Tests given what
    determines x, but is not determined by it, count. With it `pc`, `structure_from_blankets` and `causal.fci` keep more
    edges of data in which variables determine each other, at the price of more tests.

    Parameters
    ----------
    test
        Answers questions of independence.

    Examples
    --------
    >>> from plausible.learn.constraint_based.pc import pc
    >>> from plausible.learn.independence.count_tests import GTest
    >>> rows = {"a": [0, 1] * 50, "copy": [0, 1] * 50, "b": [0, 1, 0, 1, 0, 1, 0, 1, 1, 0] * 10}
    >>> pc(GTest(rows)).graph.num_edges, pc(CopyGuard(GTest(rows))).graph.num_edges
    (1, 3)
    """

    __slots__ = ("_are_copies", "plain")

    #: The test without the guard.
    plain: IndependenceTest

    def __init__(self, test: IndependenceTest) -> None:
        self.plain = test
        self._are_copies: dict[tuple[str, str, str], bool] = {}

    @property
    def names(self) -> Sequence[str]:
        """The variables that can be asked about."""
        return self.plain.names

    def ask(self, questions: Sequence[Question]) -> Answers:
        """The outcomes for each question and each of its others, in order."""
        answers = self.plain.ask(questions)
        determined = np.flatnonzero(answers.are_determined).tolist()
        if determined:
            asked = [(x, other, given) for x, given, others in questions for other in others]
            hidden = [place for place in determined if self._has_copy(*asked[place])]
            for values in (answers.statistics, answers.p_values):
                values[hidden] = np.nan
            answers.are_reliable[hidden] = False
        return answers

    def _has_copy(self, x: str, y: str, given: tuple[str, ...]) -> bool:
        """Whether one of those given and x, or y, determine each other."""
        return any(self._copies(x, one, y) or self._copies(y, one, x) for one in given)

    def _copies(self, one: str, copy: str, other: str) -> bool:
        """Whether one variable and its supposed copy each leave nothing to compare of the one and another."""
        key = (one, copy, other)
        if key not in self._are_copies:
            answers = self.plain.ask([Question(one, (copy,), (other,)), Question(copy, (one,), (other,))])
            self._are_copies[key] = bool(answers.are_determined.all())
        return self._are_copies[key]


def interchangeable(test: IndependenceTest, separators: Mapping[Triple, tuple[str, ...]]) -> set[Triple]:
    """The triples whose middle could stand in a set that separates their ends, in place of one that is in it.

    A copy of a common cause separates its effects as well as the cause does: that the cause is not in the set then
    shows no collider. So it is where the set determines the middle, or the middle and the rest of the set determine
    one of the set: a test of the one against an end has no degrees of freedom, given the others.
    """
    asked: list[tuple[Triple, Question]] = []
    for triple, given in separators.items():
        left, middle, _ = triple
        if given:
            asked.append((triple, Question(middle, given, (left,))))
        for one in given:
            rest = sorted({*given, middle} - {one})
            asked.append((triple, Question(one, tuple(rest), (left,))))
    plain = test.plain if isinstance(test, CopyGuard) else test  # which says what a copy determines
    answers = plain.ask([question for _, question in asked])
    return {asked[place][0] for place in np.flatnonzero(answers.are_determined).tolist()}
