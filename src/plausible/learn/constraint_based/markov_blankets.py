"""The Markov blanket of one variable: the fewest others that make it independent of all the rest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from plausible.base.options import check_number
from plausible.data.table import TableLike
from plausible.errors import InvalidArgument, UnknownVariable, suggestion
from plausible.learn.independence.choice import TestName, read_test
from plausible.learn.independence.independence_test import Answers, IndependenceTest, Question

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
    distribution this leaves parents, children and their other parents. About |blanket| n tests, each with the
    blanket so far given.

    Parameters
    ----------
    source
        What `Table.read` takes, or a test.
    target
        Whose blanket.
    method
        "grow-shrink": the first that depends comes in, those with the strongest association alone being first. "iamb":
        always the one that depends most. "inter-iamb": the same, and the blanket shrinks after each step, so that
        fewer are given.
    test
        Which test, for data.
    alpha
        The level of the tests. One that is not reliable neither adds nor removes.

    References
    ----------
    Margaritis & Thrun (1999), Bayesian network induction via local neighborhoods. Tsamardinos, Aliferis & Statnikov
    (2003), Algorithms for large scale Markov blanket discovery.

    Examples
    --------
    >>> from plausible.learn.independence.oracle import DSeparationOracle
    >>> markov_blanket(DSeparationOracle("D -> G <- I -> S; G -> L"), "I").blanket
    ('D', 'G', 'S')
    """
    asked = read_test(source, test)
    if target not in asked.names:
        raise UnknownVariable.named(target, asked.names, "this data")
    return find_blanket(asked, target, method, alpha)


def find_blanket(test: IndependenceTest, target: str, method: BlanketMethod, alpha: float) -> BlanketResult:
    """The same for a test and a target that are known to be right."""
    if method not in _GROWTHS:
        raise InvalidArgument(f"There is no method {method!r} for Markov blankets.{suggestion(method, _GROWTHS)}")
    check_number("alpha", alpha, above=0, below=1)
    work = _Blanket(test, target, alpha)
    _GROWTHS[method](work)
    work.shrink()
    return BlanketResult(target, tuple(sorted(work.members)), tuple(work.trace), work.num_tests)


def by_association(answers: Answers) -> list[int]:
    """The places of tests, strongest dependence first: by p-value, then by statistic for each degree of freedom."""
    effects = -answers.statistics / np.maximum(answers.degrees_of_freedom, 1.0)
    return np.lexsort((effects, answers.p_values)).tolist()  # type: ignore[no-any-return]  # NumPy types it as Any


class _Blanket:
    """A blanket at work."""

    __slots__ = ("_alpha", "_target", "_test", "members", "num_tests", "others", "trace")

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
        dependent = answers.are_dependent(self._alpha)
        best = next((place for place in by_association(answers) if dependent[place]), None)
        if best is None:
            return False
        self.members.append(candidates[best])
        self.trace.append(BlanketStep("add", candidates[best], float(answers.p_values[best])))
        return True

    def shrink(self) -> bool:
        """Take out the members that the others make independent, the latest last; whether there were any."""
        before = len(self.members)
        for name in list(self.members):
            answers = self.ask([name], [other for other in self.members if other != name])
            if answers.are_independent(self._alpha)[0]:
                self.members.remove(name)
                self.trace.append(BlanketStep("remove", name, float(answers.p_values[0])))
        return len(self.members) < before


def _grow_shrink(work: _Blanket) -> None:
    """Margaritis & Thrun's growing phase: sweeps over all others until one adds nothing."""
    order = [work.others[place] for place in by_association(work.ask(work.others, ()))]
    has_grown = True
    while has_grown:
        has_grown = False
        for name in order:
            if name not in work.members:
                has_grown |= work.add_if_dependent([name])


def _iamb(work: _Blanket) -> None:
    while work.add_if_dependent(work.outside()):
        pass


def _inter_iamb(work: _Blanket) -> None:
    """Members that came and went could do so again and again on data; the same members twice end it."""
    seen: set[frozenset[str]] = set()
    while frozenset(work.members) not in seen and work.add_if_dependent(work.outside()):
        seen.add(frozenset(work.members[:-1]))
        work.shrink()


_GROWTHS: dict[str, Callable[[_Blanket], None]] = {
    "grow-shrink": _grow_shrink,
    "iamb": _iamb,
    "inter-iamb": _inter_iamb,
}
