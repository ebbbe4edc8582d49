"""Max-min parents and children, and hill climbing among them: neighbours by tests, directions by a score."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations
from typing import Any

import numpy as np

from plausible.base.options import check_count, check_number
from plausible.data.table import TableLike
from plausible.errors import NotSupported, UnknownVariable
from plausible.learn.independence.choice import TestName, read_test
from plausible.learn.independence.independence_test import IndependenceTest, Question
from plausible.learn.structures.knowledge import Knowledge
from plausible.learn.structures.local import LOCAL_METHODS
from plausible.learn.structures.task import FoundGraph, StructureTask


@dataclass(frozen=True, slots=True)
class NeighborsResult:
    """The neighbours of a variable."""

    target: str  # whose neighbours
    neighbors: tuple[str, ...]  # parents and children, sorted
    num_tests: int  # how many reliable tests were made


def parents_and_children(
    source: TableLike | IndependenceTest,
    target: str,
    *,
    test: TestName = "auto",
    alpha: float = 0.05,
    max_given: int | None = None,
) -> NeighborsResult:
    """Find the parents and children of a variable (MMPC).

    The candidate comes in whose weakest dependence on the target, over all sets of those that are in, is strongest;
    candidates that some set makes independent are out for good. Then those leave that a set of the others makes
    independent. A descendant that is no child can be left over, but then the target is not among its neighbours: each
    neighbour is asked about the target too. With tests that are right about a faithful distribution the answer is
    right.

    Parameters
    ----------
    source
        What `Table.read` takes, or a test.
    target
        Whose neighbours.
    test
        Which test, for data.
    alpha
        The level of the tests.
    max_given
        At most so many variables are given; `None` for no limit.

    References
    ----------
    Tsamardinos, Brown & Aliferis (2006), The max-min hill-climbing Bayesian network structure learning algorithm.

    Examples
    --------
    >>> from plausible.learn.independence.oracle import DSeparationOracle
    >>> parents_and_children(DSeparationOracle("D -> G <- I -> S; G -> L"), "G").neighbors
    ('D', 'I', 'L')
    """
    asked = read_test(source, test)
    if target not in asked.names:
        raise UnknownVariable.named(target, asked.names, "this data")
    work = _MaxMin(asked, alpha, max_given)
    found = [name for name in work.candidates(target) if target in work.candidates(name)]
    return NeighborsResult(target, tuple(sorted(found)), work.num_tests)


def all_neighbors(
    test: IndependenceTest, alpha: float, max_given: int | None, is_over: Callable[[int], object]
) -> dict[str, set[str]]:
    """The neighbours of each variable; those of variables that were not reached before it was over are empty.

    `is_over` is told how many variables were asked about.
    """
    work = _MaxMin(test, alpha, max_given)
    found: dict[str, set[str]] = {name: set() for name in sorted(test.names)}
    for number, name in enumerate(found):
        if is_over(number):
            break
        found[name] = set(work.candidates(name))
    return {name: {other for other in row if name in found[other]} for name, row in found.items()}


class _MaxMin:
    """Candidates of each variable, remembered."""

    __slots__ = ("_alpha", "_found", "_max_given", "_test", "num_tests")

    def __init__(self, test: IndependenceTest, alpha: float, max_given: int | None) -> None:
        check_number("alpha", alpha, above=0, below=1)
        if max_given is not None:
            check_count("max_given", max_given)
        self._test, self._alpha, self._max_given = test, alpha, max_given
        self._found: dict[str, list[str]] = {}
        self.num_tests = 0

    def candidates(self, target: str) -> list[str]:
        """The neighbours before the other side was asked."""
        if target not in self._found:
            self._found[target] = self._shrink(target, self._grow(target))
        return self._found[target]

    def _grow(self, target: str) -> list[str]:
        others = sorted(name for name in self._test.names if name != target)
        weakest = dict.fromkeys(others, (-1.0, np.inf))  # p-value, statistic for each degree of freedom
        members: list[str] = []
        fresh: Iterable[tuple[str, ...]] = [()]
        while weakest:
            for given in fresh:
                self._weaken(target, given, weakest)
            dependent = [name for name, (p_value, _) in weakest.items() if 0 <= p_value <= self._alpha]
            if not dependent:
                break
            best = min(dependent, key=lambda name: (weakest[name][0], -weakest[name][1], name))
            del weakest[best]
            fresh = [(*subset, best) for subset in _subsets(members, self._max_given, spare=1)]
            members.append(best)
        return members

    def _weaken(self, target: str, given: tuple[str, ...], weakest: dict[str, tuple[float, float]]) -> None:
        """Bring the weakest dependence of all candidates up to date with one more set, and drop the independent."""
        others = tuple(weakest)
        if not others:
            return
        answers = self._test.ask([Question(target, given, others)])
        self.num_tests += int(np.count_nonzero(answers.are_reliable))
        effects = answers.statistics / np.maximum(answers.degrees_of_freedom, 1.0)
        for place in np.flatnonzero(answers.are_reliable).tolist():
            name, p_value = others[place], float(answers.p_values[place])
            if p_value > self._alpha:
                del weakest[name]
            else:
                weakest[name] = max(weakest[name], (p_value, float(effects[place])), key=lambda w: (w[0], -w[1]))

    def _shrink(self, target: str, members: list[str]) -> list[str]:
        kept = list(members)
        for name in members:
            subsets = list(_subsets([other for other in kept if other != name], self._max_given))
            for size in sorted({len(given) for given in subsets}):
                asked = [Question(target, given, (name,)) for given in subsets if len(given) == size]
                answers = self._test.ask(asked)
                self.num_tests += int(np.count_nonzero(answers.are_reliable))
                if answers.are_independent(self._alpha).any():
                    kept.remove(name)
                    break
                if not answers.are_reliable.any():
                    break
        return kept


def _subsets(names: Sequence[str], max_given: int | None, spare: int = 0) -> Iterable[tuple[str, ...]]:
    """All sets of names, the smallest first, that leave room for some more."""
    largest = len(names) if max_given is None else min(len(names), max_given - spare)
    return chain.from_iterable(combinations(names, size) for size in range(largest + 1))


def learn_max_min(
    task: StructureTask,
    *,
    test: TestName | IndependenceTest = "auto",
    alpha: float = 0.05,
    max_given: int | None = None,
    escapes: int = 3,
) -> FoundGraph:
    """Learn a graph by hill climbing among those whose edges join neighbours found by tests (MMHC).

    Far fewer graphs are looked at than by a search over all, so that many variables can be had.

    References
    ----------
    Tsamardinos, Brown & Aliferis (2006), The max-min hill-climbing Bayesian network structure learning algorithm.
    """
    check_count("escapes", escapes)
    candidates = all_neighbors(_read(task, test), alpha, max_given, task.stopped_by)
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
