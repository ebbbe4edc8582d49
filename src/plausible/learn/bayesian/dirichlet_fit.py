"""What fits of a posterior by independent Dirichlet rows have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from plausible.base.arrays import Floats
from plausible.learn.bayesian.completion_problem import CompletionProblem
from plausible.learn.estimation.posterior import ParameterPosterior
from plausible.models import BayesianNetwork

__all__ = ["DirichletFit", "DirichletState"]


class DirichletState(Protocol):
    """Where an algorithm that fits Q(θ) is."""

    @property
    def parameters(self) -> Floats:
        """a of Q(θ) = Dirichlet(a), all tables in one flat array."""

    @property
    def trace(self) -> tuple[float, ...]:
        """The bounds or estimates of log P(D) at the start and after each step."""


StateT = TypeVar("StateT", bound=DirichletState)


@dataclass(frozen=True, slots=True, eq=False)
class DirichletFit(ABC, Generic[StateT]):
    """Q(θ), independent Dirichlet rows, in place of P(θ | rows with missing cells).

    Attributes
    ----------
    problem
        The data and the prior.
    state
        Where the algorithm ended: give it as `start=` to go on.
    stopped
        "converged", or what ended it before.
    """

    problem: CompletionProblem
    state: StateT
    stopped: str

    @property
    def trace(self) -> tuple[float, ...]:
        """The bounds or estimates of log P(D) at the start and after each step."""
        return self.state.trace

    @property
    def converged(self) -> bool:
        """Whether it ended by its own rule."""
        return self.stopped == "converged"

    @property
    def posterior(self) -> ParameterPosterior:
        """Q(θ): independent Dirichlet rows, with means, intervals, draws, and an `uncertainty=` for `query`."""
        return self.problem.posterior(self.state.parameters)

    @property
    def network(self) -> BayesianNetwork:
        """The network of means under Q: it predicts the next row, as the tables are independent under Q."""
        return self.problem.network(self.problem.tables.normalized(self.state.parameters))

    @abstractmethod
    def probabilities(self, name: str) -> Floats:
        """(rows, states): the probability of each state of a variable in each row of the data."""
