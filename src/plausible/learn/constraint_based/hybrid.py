"""Max-min hill climbing: neighbours by tests, directions by a score."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from plausible.data.table import Table, TableLike
from plausible.data.table_statistics import TableStatistics
from plausible.graphs import DAG
from plausible.inference.search.local_search import GreedyAscent, SearchMethod
from plausible.learn.constraint_based.parents_and_children import all_neighbors
from plausible.learn.independence.choice import TestName, read_test
from plausible.learn.independence.independence_test import IndependenceTest
from plausible.learn.scores.score import Score
from plausible.learn.structures.graph_search import GraphSearch
from plausible.learn.structures.knowledge import Knowledge

__all__ = ["HybridResult", "max_min_hill_climbing"]


@dataclass(frozen=True, slots=True)
class HybridResult:
    """A graph, and how it was found.

    Attributes
    ----------
    graph
        The best graph seen.
    score
        Its score.
    candidates
        Name -> the neighbours that the tests left.
    num_tests
        How many tests were made.
    trace
        (steps, best score) of the start and of each improvement.
    """

    graph: DAG
    score: float
    candidates: dict[str, tuple[str, ...]]
    num_tests: int
    trace: tuple[tuple[int, float], ...]


def max_min_hill_climbing(
    data: TableLike,
    score: Score,
    *,
    test: TestName | IndependenceTest = "auto",
    alpha: float = 0.05,
    max_given: int | None = None,
    knowledge: Knowledge | None = None,
    search: SearchMethod | None = None,
) -> HybridResult:
    """Learn a graph by a search among those whose edges join neighbours found by tests (MMHC).

    Far fewer graphs are looked at than by a search over all, so that many variables can be had.

    Parameters
    ----------
    data
        What `Table.read` takes.
    score
        A decomposable score.
    test
        Which test, or a test itself.
    alpha
        The level of the tests.
    max_given
        At most so many variables are given; `None` for no limit.
    knowledge
        Required edges are there whatever the tests say.
    search
        A climb by the best move if not given.

    References
    ----------
    Tsamardinos, Brown & Aliferis (2006), The max-min hill-climbing Bayesian network structure learning algorithm.
    """
    table = Table.read(data)
    table = table.select(sorted(table.variables))  # so that ties are broken by names
    asked = test if isinstance(test, IndependenceTest) else read_test(table, test)
    candidates, num_tests = all_neighbors(asked, alpha, max_given)
    problem = GraphSearch(score.on(TableStatistics(table)), _restricted(knowledge or Knowledge(), candidates))
    found = (search or GreedyAscent()).run(problem, problem.start)
    named = {name: tuple(sorted(row)) for name, row in candidates.items()}
    return HybridResult(problem.graph(found.best), found.best_score, named, num_tests, found.trace)


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
