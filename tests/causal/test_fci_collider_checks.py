"""Colliders told from a skeleton with edges too many."""

from __future__ import annotations

import numpy as np
import pytest

from plausible.causal.discovery.skeleton_phases import check_colliders
from plausible.learn.constraint_based.colliders import find_colliders
from plausible.learn.constraint_based.skeleton import Skeleton, SkeletonSearch
from plausible.learn.independence.independence_test import FunctionTest
from plausible.learn.structures.knowledge import Constraints


@pytest.mark.parametrize("is_independent", [True, False])
def test_a_middle_that_the_separating_set_takes_from_an_end_is_no_collider(is_independent):
    """D separates A and C, and A - B - C is left: if D separates A and B too, A - B goes; else B is a collider."""
    neighbors = {"A": ("B",), "B": ("A", "C"), "C": ("B",), "D": ()}
    skeleton = Skeleton(neighbors, {frozenset("AC"): ("D",)}, {frozenset("AC"): 0.5}, (6, 2))
    asked = []

    def answer(x, y, given):
        asked.append((x, y, given))
        return 0.9 if is_independent and (x, y, given) == ("A", "B", ("D",)) else 0.0

    test = FunctionTest("ABCD", answer)
    known = Constraints(~np.eye(4, dtype=bool), np.zeros((4, 4), dtype=bool), 4)
    found, colliders = check_colliders(
        test, skeleton, SkeletonSearch(), known, lambda one: find_colliders(test, one, 0.05, "stable")[0]
    )
    assert {("A", "B", ("D",)), ("B", "C", ("D",))} <= set(asked)
    if is_independent:
        assert found.neighbors == {"A": (), "B": ("C",), "C": ("B",), "D": ()}
        assert found.separating_sets == {frozenset("AC"): ("D",), frozenset("AB"): ("D",)}
        assert not colliders
    else:
        assert found.neighbors == neighbors
        assert [*colliders] == [("A", "B", "C")]
    assert found.num_tests == (6, 4)
