"""The run of an engine that goes step by step."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

from plausible.inference.problem import Problem

__all__ = ["IterativeEngine", "IterativeState"]


class IterativeState(Protocol):
    """What is known after some rounds: all that the next one needs."""

    @property
    def iterations(self) -> int:
        """How many rounds there were."""

    @property
    def converged(self) -> bool:
        """Whether another round would change nothing that counts."""


StateT = TypeVar("StateT", bound=IterativeState)


class IterativeEngine(ABC, Generic[StateT]):
    """An engine whose states can be looked into, stored, and taken up again; `max_iterations` is one of its options."""

    __slots__ = ()

    max_iterations: int

    @abstractmethod
    def init(self, problem: Problem) -> StateT:
        """The state before any round."""

    @abstractmethod
    def step(self, problem: Problem, state: StateT) -> StateT:
        """One round; a state that has converged stays as it is."""

    def run(
        self, problem: Problem, state: StateT | None = None, progress: Callable[[StateT], None] | None = None
    ) -> StateT:
        """Rounds until the state has converged or `max_iterations` of them are over, those before `state` counted in.

        Parameters
        ----------
        problem
            The factors, on arrays.
        state
            Where to go on from; by default `init(problem)`.
        progress
            Called with the state after each round.
        """
        state = self.init(problem) if state is None else state
        while not state.converged and state.iterations < self.max_iterations:
            state = self.step(problem, state)
            if progress is not None:
                progress(state)
        return state
