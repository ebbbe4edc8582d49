"""What a local search asks of a problem: states, a score, and operators that lead from one state to another."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from itertools import takewhile
from typing import Generic, TypeVar

import numpy as np

from plausible.base.arrays import Floats
from plausible.errors import InvalidArgument, NotSupported

StateT = TypeVar("StateT", bound=Hashable)
OperatorT = TypeVar("OperatorT")


class SearchProblem(ABC, Generic[StateT, OperatorT]):
    """A space of states with a score to maximise, and the operators that lead from one state to its neighbours.

    States are immutable and hashable. Scores are numbers; -inf stands for states that are out of the question, from
    which a search finds its way as long as some neighbour is better. NaN is refused. Subclasses give `score`,
    `operators`, `apply` and `reverses`; the rest has defaults that are right and slow.
    """

    __slots__ = ()

    @abstractmethod
    def score(self, state: StateT) -> float:
        """What is maximised."""

    @abstractmethod
    def operators(self, state: StateT) -> Sequence[OperatorT]:
        """The operators that are legal in a state, always in the same order.

        A sequence that makes them when asked, such as a `range`, saves searches that look at a few the listing of all.
        """

    @abstractmethod
    def apply(self, state: StateT, operator: OperatorT) -> StateT:
        """The neighbour that a legal operator leads to."""

    @abstractmethod
    def reverses(self, operator: OperatorT, other: OperatorT) -> bool:
        """Whether an operator undoes another one that was applied before."""

    def deltas(self, state: StateT, operators: Sequence[OperatorT]) -> Sequence[float]:
        """By how much each operator changes the score; override it where that is cheaper than to score anew."""
        score = self.score(state)
        scores = (self.score(self.apply(state, operator)) for operator in operators)
        return [0.0 if other == score else other - score for other in scores]  # equal infinities have no difference

    def best_operator(self, state: StateT, recent: Sequence[OperatorT] = ()) -> tuple[OperatorT, float] | None:
        """The operator with the largest delta among those that reverse no recent one, and its delta; `None` for none.

        Of equal ones the first. Override it where all deltas are at hand as arrays. Costs one call of `deltas`, and of
        `reverses` for the best few operators only.
        """
        operators = self.operators(state)
        changes = gains(self, state, operators)
        allowed = (
            place
            for place in np.argsort(-changes, kind="stable").tolist()
            if not any(self.reverses(operators[place], other) for other in recent)
        )
        place = next(allowed, None)
        if place is None:
            return None
        if changes[place] == math.inf:  # from -inf every way out gains as much, so that the scores decide
            ways = [place, *takewhile(lambda other: bool(changes[other] == math.inf), allowed)]
            place = max(ways, key=lambda way: self.score(self.apply(state, operators[way])))
        return operators[place], float(changes[place])

    def propose(self, state: StateT, rng: np.random.Generator) -> OperatorT | None:
        """A random legal operator, by default each with the same probability; `None` where there is none."""
        operators = self.operators(state)
        return operators[int(rng.integers(len(operators)))] if operators else None

    def random_state(self, rng: np.random.Generator) -> StateT:
        """A state to start from, for `RandomRestarts`."""
        raise NotSupported(f"{type(self).__name__} has no random states. Give it random_state(rng).")


def score_of(problem: SearchProblem[StateT, OperatorT], state: StateT) -> float:
    """The score of a state; NaN, which no score can be compared with, is refused."""
    score = float(problem.score(state))
    if math.isnan(score):
        raise InvalidArgument(
            f"{type(problem).__name__}.score gave NaN for the state {state!r}. Give -inf for states to be avoided."
        )
    return score


def gains(problem: SearchProblem[StateT, OperatorT], state: StateT, operators: Sequence[OperatorT]) -> Floats:
    """The deltas of operators, one for each and none of them NaN."""
    deltas = np.asarray(problem.deltas(state, operators), dtype=np.float64)
    if deltas.shape != (len(operators),):
        raise InvalidArgument(
            f"{type(problem).__name__}.deltas gave an array of shape {deltas.shape} for {len(operators)} operators in "
            f"the state {state!r}. Give one number for each."
        )
    for place in np.flatnonzero(np.isnan(deltas))[:1].tolist():
        raise _not_a_number(problem, "deltas", state, operators[place])
    return deltas


def best_gain(
    problem: SearchProblem[StateT, OperatorT], state: StateT, recent: Sequence[OperatorT] = ()
) -> tuple[OperatorT, float] | None:
    """The best operator and its delta, which is not NaN."""
    best = problem.best_operator(state, recent)
    if best is not None and math.isnan(best[1]):
        raise _not_a_number(problem, "best_operator", state, best[0])
    return best


def score_after(problem: SearchProblem[StateT, OperatorT], score: float, neighbor: StateT, gain: float) -> float:
    """The score of a neighbour; the sum if that is a number, anew where a step leads out of -inf or into it."""
    return score + gain if math.isfinite(gain) else score_of(problem, neighbor)


def _not_a_number(
    problem: SearchProblem[StateT, OperatorT], method: str, state: StateT, operator: OperatorT
) -> InvalidArgument:
    return InvalidArgument(
        f"{type(problem).__name__}.{method} gave NaN for the operator {operator!r} in the state {state!r}. Give -inf "
        "where it leads to a state to be avoided."
    )
