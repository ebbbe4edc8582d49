"""Max-min parents and children, and hill climbing among them: neighbours by tests, directions by a score."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations, permutations
from typing import Any

import numpy as np

from plausible.base import check_count, check_number
from plausible.data.table import TableLike
from plausible.errors import NotSupported, UnknownVariable
from plausible.learn.independence.gaussian_tests import TestName, read_test
from plausible.learn.independence.independence_test import IndependenceTest, Question
from plausible.learn.structures.knowledge import FoundGraph, StructureTask
from plausible.learn.structures.local import LOCAL_METHODS


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
    right. Tsamardinos, Brown & Aliferis (2006), The max-min hill-climbing Bayesian network structure learning
    algorithm.

    Parameters
    ----------
    source, target
        What `Table.read` takes, or a test; and whose neighbours.
    test, alpha
        Which test, for data, and its level.
    max_given
        At most so many variables are given; `None` for no limit.

    Examples
    --------
    >>> from plausible.learn.independence.independence_test import DSeparationOracle
    >>> parents_and_children(DSeparationOracle("D -> G <- I -> S; G -> L"), "G").neighbors
    ('D', 'I', 'L')
    """
    asked = read_test(source, test, [target])
    UnknownVariable.check(target, asked.names, "this data")
    work = _MaxMin(asked, alpha, max_given)
    found = [name for name in work.candidates(target) if target in work.candidates(name)]
    return NeighborsResult(target, tuple(sorted(found)), work.num_tests)


class _MaxMin:
    """Candidates of each variable, remembered."""

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
            self._found[target] = self._shrink(target, members)
        return self._found[target]

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
    escapes: int | None = None,
) -> FoundGraph:
    """Hill climbing among the graphs whose edges join neighbours found by tests (MMHC; Tsamardinos et al. 2006).

    Far fewer graphs are looked at than by a search over all, so that many variables can be had.
    """
    if not isinstance(test, IndependenceTest):
        if task.statistics is None:
            raise NotSupported("Tests need data: give a table, statistics, or a test=.")
        test = read_test(task.statistics, test)
    work = _MaxMin(test, alpha, max_given)
    near: dict[str, set[str]] = {name: set() for name in sorted(test.names)}
    for number, name in enumerate(near):
        if task.stopped_by(number):  # the others have no neighbours then
            break
        near[name] = set(work.candidates(name))
    required: set[Any] = set(task.knowledge.required)
    ruled_out = [
        (parent, child)
        for child, parent in permutations(near, 2)
        if not (parent in near[child] and child in near[parent]) and (parent, child) not in required
    ]
    known = replace(task.knowledge, forbidden=(*task.knowledge.forbidden, *ruled_out))
    return LOCAL_METHODS["hill-climbing"](replace(task, knowledge=known), escapes=escapes)
