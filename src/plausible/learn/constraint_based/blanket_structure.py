"""The Markov blanket of one variable, a whole graph from those of all, and learners of classes of graphs by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from types import MappingProxyType
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from plausible.base import check_number
from plausible.data.table import TableLike
from plausible.errors import InvalidArgument, UnknownVariable, suggestion
from plausible.learn.constraint_based.orientation import (
    Triple,
    interchangeable,
    orient,
    unshielded_triples,
    warn_untested,
)
from plausible.learn.constraint_based.pc import ConstraintResult, pc, read_knowledge
from plausible.learn.constraint_based.skeleton import Pair
from plausible.learn.independence.gaussian_tests import TestName, read_test
from plausible.learn.independence.independence_test import Answers, IndependenceTest, Question
from plausible.learn.structures.knowledge import Knowledge

BlanketMethod: TypeAlias = Literal["grow-shrink", "iamb", "inter-iamb"]


class BlanketStep(NamedTuple):
    """A variable that came into the blanket or left it, and the p-value of the test that made it so."""

    action: Literal["add", "remove"]
    name: str
    p_value: float


@dataclass(frozen=True, slots=True)
class BlanketResult:
    """A Markov blanket, and how it was found."""

    target: str  # Whose blanket
    blanket: tuple[str, ...]  # The names, sorted
    trace: tuple[BlanketStep, ...]  # The steps, in order
    num_tests: int  # How many reliable tests were made


def markov_blanket(
    source: TableLike | IndependenceTest,
    target: str,
    *,
    method: BlanketMethod = "iamb",
    test: TestName = "auto",
    alpha: float = 0.05,
) -> BlanketResult:
    """Find the Markov blanket of a variable, without learning the rest of a graph.

    First the blanket grows: variables come in on which the target depends given those that are in. Then it shrinks:
    those leave of which the target is independent given the others. If the tests are right about a faithful
    distribution this leaves parents, children and their other parents. About |blanket| n tests, each with the blanket
    so far given. Margaritis & Thrun (1999), Bayesian network induction via local neighborhoods. Tsamardinos, Aliferis &
    Statnikov (2003), Algorithms for large scale Markov blanket discovery.

    Parameters
    ----------
    source, target
        What `Table.read` takes, or a test; and whose blanket.
    method
        "grow-shrink": the first that depends comes in, those with the strongest association alone being first. "iamb":
        always the one that depends most. "inter-iamb": the same, and the blanket shrinks after each step, so that
        fewer are given.
    test, alpha
        Which test, for data, and its level. One that is not reliable neither adds nor removes.

    Examples
    --------
    >>> from plausible.learn.independence.independence_test import DSeparationOracle
    >>> markov_blanket(DSeparationOracle("D -> G <- I -> S; G -> L"), "I").blanket
    ('D', 'G', 'S')
    """
    asked = read_test(source, test, [target])
    UnknownVariable.check(target, asked.names, "this data")
    return find_blanket(asked, target, method, alpha)


def find_blanket(test: IndependenceTest, target: str, method: BlanketMethod, alpha: float) -> BlanketResult:
    """The same for a test and a target that are known to be right."""
    if method not in ("grow-shrink", "iamb", "inter-iamb"):
        known = ("grow-shrink", "iamb", "inter-iamb")
        raise InvalidArgument(f"There is no method {method!r} for Markov blankets.{suggestion(method, known)}")
    check_number("alpha", alpha, above=0, below=1)
    work = _Blanket(test, target, alpha)
    if method == "grow-shrink":  # sweeps over all others until one adds nothing
        order = [work.others[place] for place in _by_association(work.ask(work.others, ()))]
        while sum(work.add_if_dependent([name]) for name in order if name not in work.members):
            pass
    seen: set[frozenset[str]] = set()
    # Members that came and went could do so again and again on data; the same members twice end it.
    while method != "grow-shrink" and frozenset(work.members) not in seen and work.add_if_dependent(work.outside()):
        if method == "inter-iamb":
            seen.add(frozenset(work.members[:-1]))
            work.shrink()
    work.shrink()
    return BlanketResult(target, tuple(sorted(work.members)), tuple(work.trace), work.num_tests)


def _by_association(answers: Answers) -> list[int]:
    """The places of tests, strongest dependence first: by p-value, then by statistic for each degree of freedom."""
    effects = -answers.statistics / np.maximum(answers.degrees_of_freedom, 1.0)
    return np.lexsort((effects, answers.p_values)).tolist()  # type: ignore[no-any-return]  # NumPy types it as Any


class _Blanket:
    """A blanket at work."""

    def __init__(self, test: IndependenceTest, target: str, alpha: float) -> None:
        self._test, self._target, self._alpha = test, target, alpha
        self.others = sorted(name for name in test.names if name != target)
        self.members: list[str] = []
        self.trace: list[BlanketStep] = []
        self.num_tests = 0

    def ask(self, others: Sequence[str], given: Sequence[str]) -> Answers:
        """The target and each of some others."""
        answers = self._test.ask([Question(self._target, tuple(sorted(given)), tuple(others))] if others else [])
        self.num_tests += int(np.count_nonzero(answers.are_reliable))
        return answers

    def outside(self) -> list[str]:
        """Those that could come in."""
        return [name for name in self.others if name not in self.members]

    def add_if_dependent(self, candidates: Sequence[str]) -> bool:
        """Let the candidate in on which the target depends most given the members; whether there was one."""
        answers = self.ask(candidates, self.members)
        dependent = answers.are_reliable & (answers.p_values <= self._alpha)
        best = next((place for place in _by_association(answers) if dependent[place]), None)
        if best is None:
            return False
        self.members.append(candidates[best])
        self.trace.append(BlanketStep("add", candidates[best], float(answers.p_values[best])))
        return True

    def shrink(self) -> None:
        """Take out the members that the others make independent, the latest last."""
        for name in list(self.members):
            answers = self.ask([name], [other for other in self.members if other != name])
            if answers.are_independent(self._alpha)[0]:
                self.members.remove(name)
                self.trace.append(BlanketStep("remove", name, float(answers.p_values[0])))


def structure_from_blankets(
    source: TableLike | IndependenceTest,
    *,
    method: BlanketMethod = "grow-shrink",
    test: TestName = "auto",
    alpha: float = 0.05,
    knowledge: Knowledge | None = None,
) -> ConstraintResult:
    """Learn the equivalence class of a DAG from the Markov blanket of each variable.

    Two variables are neighbours unless a reliable test shows that something separates them: the blanket of one that
    does not have the other in it, or else a part of the smaller blanket. Colliders and other directions follow as in
    `pc`. Cheap where blankets are small: 2^|blanket| tests for a pair at most. Margaritis (2003), Learning Bayesian
    network model structure from data.

    Parameters
    ----------
    source, test, alpha
        What `Table.read` takes, or a test; which test, for data; and the level of the tests.
    method
        How blankets are found: see `markov_blanket`.
    knowledge
        Required and forbidden edges, and tiers.

    Examples
    --------
    >>> from plausible.learn.independence.independence_test import DSeparationOracle
    >>> structure_from_blankets(DSeparationOracle("D -> G <- I -> S; G -> L")).graph
    PDAG('D -> G; G -> L; I -> G; I - S')
    """
    check_number("alpha", alpha, above=0, below=1)
    asked = read_test(source, test, Knowledge.read(knowledge).names)
    known = read_knowledge(knowledge, asked)
    names = sorted(asked.names)
    found = [find_blanket(asked, name, method, alpha) for name in names]
    blankets = {result.target: set(result.blanket) for result in found}
    fixed, allowed = known.required | known.required.T, known.allowed | known.allowed.T
    apart: dict[Pair, _Separation] = {}
    for a, b in np.argwhere(np.triu(~fixed, 1)).tolist():
        apart[frozenset((names[a], names[b]))] = _separate(asked, (names[a], names[b]), blankets, alpha)
    separators = {pair: outcome.given for pair, outcome in apart.items() if outcome.given is not None}
    neighbors = {
        name: [names[b] for b in np.flatnonzero(allowed[a]).tolist() if frozenset((name, names[b])) not in separators]
        for a, name in enumerate(names)
    }
    # Of a triple it can't be told where only knowledge keeps the ends apart, nor where its middle could as well be in
    # what separates them.
    told: dict[Triple, tuple[str, ...]] = {}
    ambiguous: list[Triple] = []
    for triple in unshielded_triples(neighbors):
        given = separators.get(frozenset((triple[0], triple[2])))
        if given is None:
            ambiguous.append(triple)
        elif triple[1] not in given:
            told[triple] = given
    unsure = interchangeable(asked, told)
    colliders, ambiguous = [triple for triple in told if triple not in unsure], [*ambiguous, *sorted(unsure)]
    graph, conflicts = orient(asked.names, neighbors, colliders, known, ambiguous)
    p_values = {pair: outcome.p_value for pair, outcome in apart.items() if outcome.num_tests}
    num_tests = sum(result.num_tests for result in found) + sum(outcome.num_tests for outcome in apart.values())
    determined = tuple(pair for pair, outcome in apart.items() if outcome.given and outcome.is_determined)
    result = ConstraintResult(graph, separators, p_values, (num_tests,), conflicts, tuple(ambiguous), determined)
    warn_untested(result, known)
    return result


class _Separation(NamedTuple):
    given: tuple[str, ...] | None  # what separates a pair; `None` if nothing does
    p_value: float  # the largest
    num_tests: int
    is_determined: bool = False  # whether what separates them determines one of them


def _separate(
    test: IndependenceTest, pair: tuple[str, str], blankets: Mapping[str, set[str]], alpha: float
) -> _Separation:
    """A blanket that has only one of a pair in it and separates it, else the smallest part of one that does."""
    left, right = pair
    whole = {tuple(sorted(blankets[a])) for a, b in (pair, pair[::-1]) if b not in blankets[a]}
    around = min((blankets[left] - {right}, blankets[right] - {left}), key=lambda names: (len(names), sorted(names)))
    parts = (list(combinations(sorted(around), size)) for size in range(len(around) + 1))
    largest, number = 0.0, 0
    for is_part, subsets in ((False, sorted(whole)), *((True, subsets) for subsets in parts)):
        answers = test.ask([Question(left, given, (right,)) for given in subsets])
        if not answers.are_reliable.any():
            if is_part:  # no larger part can be tested either
                break
            continue
        number += int(np.count_nonzero(answers.are_reliable))
        p_values = np.where(answers.are_reliable, answers.p_values, -1.0)
        best = int(np.argmax(p_values))
        largest = max(largest, float(p_values[best]))
        if largest > alpha:
            return _Separation(subsets[best], largest, number, bool(answers.are_determined[best]))
    return _Separation(None, largest, number)


class ClassLearner(NamedTuple):
    """The name of a function in `plausible.learn`, and what learns a class of graphs from data by it."""

    function: str
    learn: Callable[..., ConstraintResult]


#: Name, in lower case -> learner.
CLASS_LEARNERS: Mapping[str, ClassLearner] = MappingProxyType(
    {
        "pc": ClassLearner("pc", pc),
        "pc-stable": ClassLearner("pc", pc),
        "grow-shrink": ClassLearner("structure_from_blankets", structure_from_blankets),
        "gs": ClassLearner("structure_from_blankets", structure_from_blankets),
        "iamb": ClassLearner("structure_from_blankets", partial(structure_from_blankets, method="iamb")),
    }
)
