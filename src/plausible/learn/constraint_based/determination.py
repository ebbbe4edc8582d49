"""Colliders that tests can't tell, since one variable stands in for another."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from plausible.learn.constraint_based.orientation import Triple
from plausible.learn.independence.independence_test import IndependenceTest, Question

__all__ = ["interchangeable"]


def interchangeable(test: IndependenceTest, separators: Mapping[Triple, tuple[str, ...]]) -> set[Triple]:
    """The triples whose middle could stand in a set that separates their ends, in place of one that is in it.

    A copy of a common cause separates its effects as well as the cause does: that the cause is not in the set then
    shows no collider. So it is where the set determines the middle, or the middle and the rest of the set determine
    one of the set: no test of the one against an end is reliable, given the others. Too few rows for that test leave
    it as open.

    Parameters
    ----------
    test
        Answers questions of independence.
    separators
        Triple -> a set that separates its ends, without its middle.
    """
    asked: list[tuple[Triple, Question]] = []
    for triple, given in separators.items():
        left, middle, _ = triple
        if given:
            asked.append((triple, Question(middle, given, (left,))))
        for one in given:
            rest = sorted({*given, middle} - {one})
            asked.append((triple, Question(one, tuple(rest), (left,))))
    answers = test.ask([question for _, question in asked])
    return {asked[place][0] for place in np.flatnonzero(~answers.are_reliable).tolist()}
