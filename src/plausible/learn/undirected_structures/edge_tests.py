"""Undirected graphs by tests of independence with few variables given, and what can be said before testing."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import combinations, islice
from typing import Literal

from plausible.base.options import check_count, check_number
from plausible.errors import InvalidArgument
from plausible.graphs import UndirectedGraph
from plausible.learn.independence.count_tests import GTest
from plausible.learn.independence.independence_test import IndependenceTest, Question
from plausible.learn.undirected_structures.result import MarkovStructure
from plausible.learn.undirected_structures.task import Pair, Task, fit_cliques, pairs_of
from plausible.search.run import CONVERGED, iterate

#: So many questions go to the test at a time.
_AT_ONCE = 2048


def num_independence_tests(num_variables: int, max_degree: int) -> int:
    """How many tests of one pair there are with at most so many of the other variables given: Σ_k C(n - 2, k).

    All pairs together take C(n, 2) times as many, and a union bound over all of them that many times the chance of one
    error (Koller & Friedman 2009, §20.7.1).

    >>> num_independence_tests(10, 2), num_independence_tests(20, 3)
    (37, 988)
    """
    check_count("num_variables", num_variables, 2)
    check_count("max_degree", max_degree)
    return sum(math.comb(num_variables - 2, size) for size in range(max_degree + 1))


def l1_sample_size(
    num_variables: int,
    num_states: int,
    *,
    max_scope: int = 2,
    bound: float,
    error: float,
    failure: float = 0.05,
) -> float:
    """So many rows are enough for a network learned with an L1 penalty to be near the best one, whatever the truth is.

    M ≥ 2 c B² / ε² · log(2 n d / δ): with probability 1 - δ its relative entropy from the truth is within ε of the
    least among networks with features in [0, 1] of at most c variables and Σ|θ| ≤ B. The penalty is then Σ|θ| times
    sqrt(c log(2 n d / δ) / (2 M)) for each row (Abbeel, Koller & Ng 2006; Koller & Friedman 2009, thm. 20.4).

    Parameters
    ----------
    num_variables, num_states
        n and the largest d.
    max_scope
        c.
    bound
        B.
    error
        ε, in nats.
    failure
        δ.

    Examples
    --------
    >>> round(l1_sample_size(10, 2, bound=5, error=0.1), 1)
    66846.1
    """
    for name, count in (("num_variables", num_variables), ("num_states", num_states), ("max_scope", max_scope)):
        check_count(name, count, 1)
    check_number("bound", bound, above=0)
    check_number("error", error, above=0)
    check_number("failure", failure, above=0, most=1)
    return 2 * max_scope * bound**2 / error**2 * math.log(2 * num_variables * num_states / failure)


def learn_by_tests(
    task: Task,
    *,
    test: IndependenceTest | None = None,
    alpha: float = 0.01,
    max_degree: int = 3,
    given: Literal["few", "others"] = "few",
) -> MarkovStructure:
    """Leave out an edge where the two variables are independent given few others, in some set, or given all others."""
    if given not in ("few", "others"):
        raise InvalidArgument(f'given={given!r} must be "few" or "others".')
    check_number("alpha", alpha, least=0, most=1)
    check_count("max_degree", max_degree)
    if test is None:
        task.refuse_missing("tests")
        test = GTest(task.statistics)
    elif not isinstance(test, IndependenceTest):
        raise InvalidArgument(f"test={test!r} is no test of independence, such as pb.learn.GTest(data).")
    names = sorted(task.variables)
    edges = {pair for one in task.candidates for pair in pairs_of(one)} | task.required
    first, last = (0, min(max_degree, len(names) - 2)) if given == "few" else (len(names) - 2,) * 2
    tests = num_independence_tests(len(names), last) if given == "few" and len(names) > 1 else 1
    most = tests * len(edges - task.required)

    def step(state: tuple[int, frozenset[Pair]]) -> tuple[int, frozenset[Pair]]:
        level, kept = state
        return level + 1, kept - _separated(test, names, kept - task.required, level, alpha)

    def ends(state: tuple[int, frozenset[Pair]]) -> str:
        return CONVERGED if state[0] > last else ""

    run = iterate(step, (max(first, 0), frozenset(edges)), task.stops, ends=ends, clock=task.clock)
    graph = UndirectedGraph(sorted(tuple(sorted(pair)) for pair in run.state[1]), nodes=task.variables)
    return MarkovStructure(
        "tests",
        graph,
        run,
        "maximum likelihood of a table on each maximal clique: pb.learn.markov(result.graph, data)",
        partial(fit_cliques, task.unlimited, graph),
        "tests",
        num_tests=most,
        error_bound=min(1.0, most * alpha),
    )


def _separated(
    test: IndependenceTest, names: Sequence[str], kept: frozenset[Pair], level: int, alpha: float
) -> set[Pair]:
    """The edges whose ends are independent given some set of so many others."""
    found: set[Pair] = set()
    questions = _questions(names, kept, level)
    while batch := list(islice(questions, _AT_ONCE)):
        asked = [frozenset((x, other)) for x, _, others in batch for other in others]
        answers = test.ask(batch).are_independent(alpha)
        found.update(pair for pair, is_separated in zip(asked, answers, strict=True) if is_separated)
    return found


def _questions(names: Sequence[str], kept: frozenset[Pair], level: int) -> Iterator[Question]:
    for x in names:
        ends = [other for other in names if other > x and frozenset((x, other)) in kept]
        for given in combinations([name for name in names if name != x], level) if ends else ():
            if others := tuple(other for other in ends if other not in given):
                yield Question(x, given, others)
