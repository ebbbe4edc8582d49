"""Which variables no set of others separates: the skeleton of PC."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, count, islice
from typing import Any, Literal, NamedTuple, TypeAlias, TypedDict

import numpy as np
from numpy.typing import NDArray

from plausible.base import Checked, check_seconds, real, unless, whole
from plausible.errors import InvalidArgument
from plausible.learn.independence.independence_test import IndependenceTest, Question
from plausible.learn.structures.knowledge import Constraints, check_progress
from plausible.search.run import Clock

Pair: TypeAlias = frozenset[str]  # Two variables, in whichever order

_MAX_SETS = 512  # At most so many sets for each variable are asked about at once


class SkeletonProgress(NamedTuple):
    """Where the search is: the size of the sets given, the edges left, and the tests made."""

    level: int
    num_edges: int
    num_tests: int


class SkeletonOptions(TypedDict, total=False):
    """Options of `SkeletonSearch` that are seldom needed; learners pass them on."""

    false_discovery_rate: FalseDiscoveryRate | None
    progress: Callable[[SkeletonProgress], object] | None
    time_limit: float | None


@dataclass(frozen=True, slots=True)
class SkeletonSearch(Checked, alpha=real(above=0, below=1), max_given=unless(None, whole()), time_limit=check_seconds):
    """The options of the search."""

    alpha: float = 0.05  # the level of the tests: the higher, the more edges. With false discovery control, the rate
    #: whether neighbours are taken as they were when a level began, so that the skeleton does not depend on the order
    #: of the tests (Colombo & Maathuis 2014); otherwise as they are
    is_stable: bool = True
    max_given: int | None = None
    false_discovery_rate: FalseDiscoveryRate | None = None
    progress: Callable[[SkeletonProgress], object] | None = None
    time_limit: float | None = None  # the search stops after the round that exceeds it

    def __post_init__(self) -> None:
        Checked.__post_init__(self)
        check_progress(self.progress)


@dataclass(frozen=True, slots=True)
class Skeleton:
    """Neighbours, and why others are none."""

    neighbors: Mapping[str, tuple[str, ...]]  # name -> the variables that nothing separates from it, sorted
    #: pair -> what made it independent; pairs that knowledge keeps apart are not there
    separating_sets: Mapping[Pair, tuple[str, ...]]
    p_values: Mapping[Pair, float]  # pair -> the largest p-value of its tests
    num_tests: tuple[int, ...]  # how many tests were made with 0, 1, ... given
    determined: tuple[Pair, ...] = ()  # the pairs separated by a set that determines one of them
    stopped_by: Literal["", "time limit", "interrupted"] = ""  # "" if the search came to its end, else why not


def find_skeleton(test: IndependenceTest, known: Constraints, search: SkeletonSearch) -> Skeleton:
    """Start with all edges that may be there, and take out those whose ends some set of neighbours separates.

    Sets grow from level to level; rounds of tests go to the test together.
    """
    work = SkeletonWork(test, known, search)
    for level in count():
        is_over = search.max_given is not None and level > search.max_given
        work.leave_useless(level)
        if is_over or work.stopped_by or not work.open_at(level):
            break
        work.num_tests.append(0)
        (_stable_level if search.is_stable else _plain_level)(work, level)
        work.control_false_discoveries()
    return work.result()


def _stable_level(work: SkeletonWork, level: int) -> None:
    """Sets of the neighbours that a variable has most to do with come first, as they separate most."""
    frozen = {name: work.strongest_first(name) for name in work.names}
    around = {name: set(row) for name, row in frozen.items()}
    streams = {name: combinations(frozen[name], level) for name in work.open_at(level)}
    done = 0
    while streams and not work.stopped_by:
        size = min(1 + done // 4, _MAX_SETS)  # a round wastes at most a quarter of the tests before it
        done += size
        questions: list[Question] = []
        for name in list(streams):
            subsets = list(islice(streams[name], size)) if work.has_open(name) else []
            if not subsets:
                del streams[name]
            for given in subsets:
                # Where all of them are around the other as well, one of the two asks.
                others = [
                    other
                    for other in frozen[name]
                    if work.is_open(name, other)
                    and other not in given
                    and (name < other or not around[other].issuperset(given))
                ]
                if others:
                    questions.append(Question(name, given, tuple(others)))
        work.ask(level, questions)


def _plain_level(work: SkeletonWork, level: int) -> None:
    """One test after the other, names in order; an edge is gone at once."""
    for name in work.open_at(level):
        for other in work.sorted_neighbors(name):
            for given in combinations([one for one in work.sorted_neighbors(name) if one != other], level):
                if work.stopped_by or not work.is_open(name, other):
                    break
                work.ask(level, [Question(name, given, (other,))])


class SkeletonWork:
    """What is known so far: edges that may still go, and the tests made."""

    def __init__(self, test: IndependenceTest, known: Constraints, search: SkeletonSearch) -> None:
        self.names = sorted(test.names)
        self._test, self._search, self._clock = test, search, Clock.of(search.time_limit)
        self._places = {name: place for place, name in enumerate(self.names)}
        self._adjacent = known.allowed | known.allowed.T
        self._fixed = known.required | known.required.T
        num = len(self.names)
        self._best = np.full((num, num), -1.0)  # the largest p-value of each pair, above the diagonal
        self._strength = np.zeros((num, num))
        self._given: dict[tuple[int, int], tuple[str, ...]] = {}
        self._determined: set[tuple[int, int]] = set()
        self._asked: set[str] = set()
        self._useful: set[str] = set()
        self._useless: set[str] = set()
        self.num_tests: list[int] = []
        self.stopped_by: Literal["", "time limit", "interrupted"] = ""

    def is_open(self, name: str, other: str) -> bool:
        """Whether there is an edge that may go."""
        place = self._places[name], self._places[other]
        return bool(self._adjacent[place] and not self._fixed[place])

    def has_open(self, name: str) -> bool:
        """Whether a variable has an edge that may go, and reliable tests so far."""
        if name in self._useless:
            return False
        place = self._places[name]
        return bool((self._adjacent[place] & ~self._fixed[place]).any())

    def sorted_neighbors(self, name: str) -> list[str]:
        return [self.names[place] for place in np.flatnonzero(self._adjacent[self._places[name]]).tolist()]

    def strongest_first(self, name: str) -> list[str]:
        """The neighbours, those first with which the variable by itself has most to do."""
        place = self._places[name]
        around = np.flatnonzero(self._adjacent[place])
        return [self.names[other] for other in around[np.argsort(-self._strength[place, around], kind="stable")]]

    def open_at(self, level: int) -> list[str]:
        """The variables with enough neighbours for a level, and reliable tests so far."""
        enough = self._adjacent.sum(axis=1) > level
        return [name for name in self.names if enough[self._places[name]] and name not in self._useless]

    def leave_useless(self, level: int) -> None:
        """A variable none of whose tests was reliable has no reliable one with more given either."""
        if level > 1:  # on the first level only one of each two asks
            self._useless |= self._asked - self._useful
        self._asked, self._useful = set(), set()

    def ask(self, level: int, questions: Sequence[Question]) -> None:
        """Make the tests, and take out the edges that they speak against."""
        answers = self._test.ask(questions)
        places = self._places
        rows = [places[question.x] for question in questions for _ in question.others]
        columns = [places[other] for question in questions for other in question.others]
        pairs = np.sort(np.array([rows, columns], dtype=np.int64).reshape(2, -1), axis=0)
        self.num_tests[-1] += int(np.count_nonzero(answers.are_reliable))
        first = 0
        for question in questions:  # note whose tests are reliable
            end = first + len(question.others)
            self._asked.add(question.x)
            if answers.are_reliable[first:end].any():
                self._useful.add(question.x)
            first = end
        if level == 0:
            degrees = np.maximum(answers.degrees_of_freedom, 1.0)
            strength = np.nan_to_num((answers.statistics - degrees) / np.sqrt(2.0 * degrees), nan=-np.inf)
            self._strength[pairs[0], pairs[1]] = self._strength[pairs[1], pairs[0]] = strength
        better = answers.are_reliable & (answers.p_values > self._best[pairs[0], pairs[1]])
        sets = [question.given for question in questions for _ in question.others] if better.any() else []
        is_determined = answers.are_determined
        for place in np.flatnonzero(better).tolist():
            a, b, p_value = int(pairs[0, place]), int(pairs[1, place]), float(answers.p_values[place])
            if p_value > self._best[a, b]:
                self._best[a, b], self._given[a, b] = p_value, tuple(sorted(sets[place]))
                if p_value > self._search.alpha:
                    self._adjacent[a, b] = self._adjacent[b, a] = False
                    if sets[place] and is_determined[place]:
                        self._determined.add((a, b))
        search = self._search
        progress = SkeletonProgress(level, int(self._adjacent.sum()) // 2, sum(self.num_tests))
        if search.progress is not None and search.progress(progress):
            self.stopped_by = "interrupted"
        if self._clock.is_over:
            self.stopped_by = "time limit"

    def control_false_discoveries(self) -> None:
        """Take out the edges that are too many at the rate asked for, though each would do by itself."""
        if self._search.false_discovery_rate is None:
            return
        tested = self._best >= 0
        limit = largest_accepted(self._best[tested], self._search.alpha, self._search.false_discovery_rate)
        above = tested & (self._best > limit)
        self._adjacent &= ~(above | above.T)

    def result(self) -> Skeleton:
        pairs = {key: frozenset((self.names[key[0]], self.names[key[1]])) for key in self._given}
        return Skeleton(
            {name: tuple(self.sorted_neighbors(name)) for name in self.names},
            {pairs[key]: given for key, given in self._given.items() if not self._adjacent[key]},
            {pairs[key]: float(self._best[key]) for key in self._given},
            tuple(self.num_tests),
            tuple(pairs[key] for key in sorted(self._determined)),
            self.stopped_by,
        )


FalseDiscoveryRate: TypeAlias = Literal["benjamini-hochberg", "benjamini-yekutieli"]


def largest_accepted(p_values: NDArray[Any], rate: float, method: FalseDiscoveryRate = "benjamini-hochberg") -> float:
    """The largest p-value that is still a discovery if at most a share `rate` of them should be false; -1 for none.

    Of m sorted p-values it is the last with p_(i) <= i rate / m (Benjamini & Hochberg 1995); with dependence of any
    kind between the tests, i rate / (m Σ 1/j) (Benjamini & Yekutieli 2001; for PC, Li & Wang 2009).
    """
    if method not in ("benjamini-hochberg", "benjamini-yekutieli"):
        raise InvalidArgument(f"False discoveries are controlled by benjamini-hochberg or -yekutieli, not {method!r}.")
    ordered, ranks = np.sort(p_values), np.arange(1, len(p_values) + 1)
    penalty = float((1.0 / ranks).sum()) if method == "benjamini-yekutieli" else 1.0
    accepted = np.flatnonzero(ordered <= ranks * rate / (max(len(ordered), 1) * penalty))
    return float(ordered[accepted[-1]]) if accepted.size else -1.0
