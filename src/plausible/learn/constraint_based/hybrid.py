"""Max-min hill climbing: neighbours by tests, directions by a score."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from plausible.base.options import check_count
from plausible.errors import NotSupported
from plausible.learn.constraint_based.parents_and_children import all_neighbors
from plausible.learn.independence.choice import TestName, read_test
from plausible.learn.independence.independence_test import IndependenceTest
from plausible.learn.structures.knowledge import Knowledge
from plausible.learn.structures.local import LOCAL_METHODS
from plausible.learn.structures.task import Found, StructureTask

__all__ = ["learn_max_min"]


def learn_max_min(
    task: StructureTask,
    *,
    test: TestName | IndependenceTest = "auto",
    alpha: float = 0.05,
    max_given: int | None = None,
    escapes: int = 3,
) -> Found:
    """Learn a graph by hill climbing among those whose edges join neighbours found by tests (MMHC).

    Far fewer graphs are looked at than by a search over all, so that many variables can be had.

    Parameters
    ----------
    task
        The scores of families, and what is known: required edges are there whatever the tests say.
    test
        Which test, or a test itself.
    alpha
        The level of the tests.
    max_given
        At most so many variables are given; `None` for no limit.
    escapes
        Of the hill climbing.

    References
    ----------
    Tsamardinos, Brown & Aliferis (2006), The max-min hill-climbing Bayesian network structure learning algorithm.
    """
    check_count("escapes", escapes)
    candidates = all_neighbors(_read(task, test), alpha, max_given, task.stopped)
    known = _restricted(task.knowledge, candidates)
    return LOCAL_METHODS["hill-climbing"](replace(task, knowledge=known), escapes=escapes)


def _read(task: StructureTask, test: TestName | IndependenceTest) -> IndependenceTest:
    if isinstance(test, IndependenceTest):
        return test
    if task.statistics is None:
        raise NotSupported("Tests need data: give a table, statistics, or a test=.")
    return read_test(task.statistics, test)


def _restricted(knowledge: Knowledge, candidates: dict[str, set[str]]) -> Knowledge:
    """Knowledge, with all edges forbidden that join no candidates and are not required."""
    required: set[Any] = set(knowledge.required)
    ruled_out = [
        (parent, child)
        for child, near in candidates.items()
        for parent in candidates
        if parent != child and parent not in near and (parent, child) not in required
    ]
    return replace(knowledge, forbidden=(*knowledge.forbidden, *ruled_out))
