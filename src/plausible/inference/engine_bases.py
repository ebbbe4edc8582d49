"""Bases of engines: those that go step by step, and those that look for a best assignment."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Generic, TypeVar

import numpy as np

from plausible.base import Ints, QueryInfo
from plausible.errors import ImpossibleEvidence
from plausible.factors import Factor
from plausible.inference.problem import Problem
from plausible.search.run import UNLIMITED, Clock, Run, Stops, ends_converged, iterate
from plausible.variables import Assignment, Evidence

StateT = TypeVar("StateT")
RoundT = TypeVar("RoundT", bound="RoundState")


class IterativeEngine(ABC, Generic[StateT]):
    """An engine whose states can be looked into, stored, and taken up again: one of your own says `init` and `step`."""

    __slots__ = ()

    #: Options that some of them have.
    max_steps: int | None = None
    time_limit: float | None = None

    @abstractmethod
    def init(self, problem: Problem) -> StateT:
        """The state before any step."""

    @abstractmethod
    def step(self, problem: Problem, state: StateT) -> StateT:
        """One step; a state that is finished stays as it is."""

    def run(
        self,
        problem: Problem,
        start: StateT | Run[StateT] | None = None,
        progress: Callable[[StateT], object] | None = None,
    ) -> Run[StateT]:
        """Steps until a state is the last one, or a limit of the engine is met; steps before `start` count."""
        clock = Clock.of(self.time_limit)
        begin, go_on = self._beginning(problem, clock)
        return self._iterate(go_on, begin() if start is None else start, progress, clock)

    def _beginning(self, problem: Problem, clock: Clock) -> tuple[Callable[[], StateT], Callable[[StateT], StateT]]:
        """How a run begins, and how it goes on."""
        return partial(self.init, problem), partial(self.step, problem)

    def _iterate(
        self,
        step: Callable[[StateT], StateT],
        start: StateT | Run[StateT],
        progress: Callable[[StateT], object] | None = None,
        clock: Clock | None = None,
    ) -> Run[StateT]:
        if not isinstance(start, Run):
            start = Run(start, getattr(start, "num_steps", 0))
        stops = Stops(0.0, self.max_steps, self.time_limit, progress)
        return iterate(step, start, stops, ends=self._ends, clock=clock)

    def _ends(self, state: Any) -> str:
        """Why a state is the last one; "" if it is not."""
        return ends_converged(state)


class PreparedEngine(IterativeEngine[StateT]):
    """One whose steps share what is made once for a run."""

    __slots__ = ()

    @abstractmethod
    def _prepared(self, problem: Problem, clock: Clock) -> Any:
        """What `_first` and `_next` are given."""

    @abstractmethod
    def _first(self, prepared: Any) -> StateT: ...

    @abstractmethod
    def _next(self, prepared: Any, state: StateT) -> StateT: ...

    def init(self, problem: Problem) -> StateT:
        """The state before any step."""
        return self._first(self._prepared(problem, UNLIMITED))

    def step(self, problem: Problem, state: StateT) -> StateT:
        """One step; a state that is finished stays as it is."""
        return self._next(self._prepared(problem, UNLIMITED), state)

    def _beginning(self, problem: Problem, clock: Clock) -> tuple[Callable[[], StateT], Callable[[StateT], StateT]]:
        prepared = self._prepared(problem, clock)
        return partial(self._first, prepared), partial(self._next, prepared)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class RoundState:
    """What messages have said after some rounds; it can be pickled, and a run can go on from it."""

    num_steps: int = 0  # How many rounds there were
    residual: float = math.inf  # By how much the last one changed a message, or a belief
    converged: bool = False  # Whether that was too little to go on
    #: Whether something is left no state, which proves that the product is zero everywhere.
    is_contradictory: bool = False

    def after_round(self: RoundT, residual: float, tolerance: float, **parts: Any) -> RoundT:
        """With new parts, after a round whose largest change is given, negative for a contradiction."""
        return replace(
            self,
            **parts,
            num_steps=self.num_steps + 1,
            residual=max(residual, 0.0),
            converged=residual <= tolerance,
            is_contradictory=residual < 0,
        )

    def at_rest(self: RoundT, *, is_contradictory: bool) -> RoundT:
        """The same, at the end of its run without another round."""
        return replace(self, residual=0.0, converged=True, is_contradictory=is_contradictory)

    def info(self, engine: str, *, is_exact: bool, cost: int, largest_table: int, advice: str) -> QueryInfo:
        """What an answer from here is worth; the advice is for messages that have not settled."""
        is_exact = is_exact or self.is_contradictory
        return QueryInfo(
            engine,
            exact=is_exact,
            converged=self.converged,
            error=0.0 if is_exact else None,
            cost=cost,
            largest_table=largest_table,
            num_steps=self.num_steps,
            residual=self.residual,
            advice="" if is_exact or self.converged else advice,
        )


#: Values and bounds of log Π φ nearer to each other than this prove that an assignment is a best one: linear programs
#: and sums of thousands of logarithms are not more accurate, so that `PROOF` would ask too much.
PROVED = 1e-9
#: The advice for all engines that end at a product of zero.
_NOTHING_FOUND = (
    "No assignment with a positive product was found. BranchAndBound() finds one, or proves that there is none."
)


@dataclass(frozen=True, slots=True, eq=False)
class Optimum:
    """An assignment that was found, and what is known of better ones."""

    states: Ints  # The position of each variable's state, in the order of the problem
    upper: float  # No assignment has a larger log Π φ (`problem.log_scale` left out); infinite where nothing is known
    info: QueryInfo  # How it was found; `exact` and `error` are filled in from the value and the bound


class Optimizer(ABC):
    """An engine for most probable explanations; subclasses are frozen and hold their options only."""

    __slots__ = ()

    @abstractmethod
    def optimize(self, problem: Problem) -> Optimum:
        """An assignment with a large product."""

    def best(self, factors: Iterable[Factor], evidence: Evidence) -> Assignment:
        """An assignment to all variables of the factors that agrees with the evidence.

        Its `.log_probability` is the logarithm of the product. In its `.info`, `error` is how much larger the
        logarithm of a better one can be (`None` if unknown), and `exact` whether that proves there is none. Where
        only assignments with a product of zero were found, `converged` is false.
        """
        listed = list(factors)
        problem = Problem.of(listed, evidence)
        if problem.is_impossible:
            raise ImpossibleEvidence.outright()
        found = self.optimize(problem)
        value = float(problem.log_product(found.states[None, :])[0])
        if value == -np.inf:  # no answer
            info = replace(found.info, exact=False, converged=False, error=None, advice=_NOTHING_FOUND)
        else:
            gap = max(0.0, found.upper - value)
            is_proved = gap <= PROVED
            advice = "" if is_proved else found.info.advice
            info = replace(found.info, exact=is_proved, error=gap if gap < np.inf else None, advice=advice)
        everything = {variable.name: variable for factor in listed for variable in factor.scope}
        places = problem.place_of
        states = {
            name: variable.states[evidence.hard[name] if name in evidence.hard else int(found.states[places[name]])]
            for name, variable in everything.items()
        }
        return Assignment(states, log_probability=value + problem.log_scale, info=info)
