"""What a step of EM is: the state that it takes and gives, and the base of the ways to make one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from plausible.base.arrays import Flags
from plausible.errors import NotSupported, counted
from plausible.inference.engines import Engine
from plausible.learn.incomplete.cases import Cases
from plausible.learn.incomplete.engine_expectations import EngineExpectations
from plausible.learn.incomplete.expectations import ExactExpectations, Expectations, ExpectationStep
from plausible.learn.incomplete.gaussian_expectations import expectation_step
from plausible.learn.incomplete.maximization import Maximization
from plausible.models import BayesianNetwork

__all__ = ["EMMethod", "EMState", "PlainEM", "em_init", "em_step", "exact_step", "refuse_numbers"]

Masks: TypeAlias = Mapping[str, Flags]


@dataclass(frozen=True, slots=True, eq=False)
class EMState:
    """What the next step needs: a network, what it expects, and how it came there.

    Attributes
    ----------
    network
        The parameters so far.
    expectations
        The expectations under them.
    trace
        The objective at the start and after each step: the log-likelihood, and the log-prior where there is one.
    kept_rows
        Name -> rows of its table of which nothing is expected, and which therefore stay as they were.
    memory
        What else the method of the run keeps from step to step.
    """

    network: BayesianNetwork
    expectations: Expectations
    trace: tuple[float, ...]
    kept_rows: Masks
    memory: object = None

    @property
    def objective(self) -> float:
        """What EM does not lower."""
        return self.trace[-1]

    @property
    def num_steps(self) -> int:
        """How many steps were made."""
        return len(self.trace) - 1

    def __repr__(self) -> str:
        return f"<EMState: objective {self.objective:.6g}, {counted(self.num_steps, 'step')}, {self.network!r}>"


def em_init(step: ExpectationStep, maximization: Maximization, network: BayesianNetwork) -> EMState:
    """The state before the first step."""
    found = step.at(network)
    return EMState(network, found, (found.log_likelihood + maximization.log_prior(network),), {})


def em_step(step: ExpectationStep, maximization: Maximization, state: EMState) -> EMState:
    """One M-step, then one E-step: the objective does not fall."""
    network, kept = maximization.network(state.expectations.counts, state.network)
    found = step.at(network)
    objective = found.log_likelihood + maximization.log_prior(network)
    return EMState(network, found, (*state.trace, objective), kept)


def refuse_numbers(cases: Cases, method: str) -> None:
    """Continuous variables are for methods with exact expectations."""
    for name in cases.continuous:
        raise NotSupported(
            f"{method} completes states only, but {name!r} is continuous: take method='em', or discretise."
        )


class EMMethod(ABC):
    """A way to make steps of EM; subclasses are frozen and hold their options only."""

    __slots__ = ()

    def expectation_step(
        self, cases: Cases, engine: Engine | None = None, learned_from: Cases | None = None
    ) -> ExpectationStep:
        """The E-step of this method: exact, or by an engine; in the units of the cases that are learned from."""
        if engine is None:
            return expectation_step(cases, learned_from)
        refuse_numbers(cases, "EM by an engine")
        return EngineExpectations(cases, engine)

    def init(self, step: ExpectationStep, maximization: Maximization, network: BayesianNetwork) -> EMState:
        """The state before the first step."""
        return em_init(step, maximization, network)

    @abstractmethod
    def step(self, step: ExpectationStep, maximization: Maximization, state: EMState) -> EMState:
        """The next state."""

    def is_settled(self, state: EMState) -> bool:
        """Whether small gains mean the end; not while a schedule of the method goes on."""
        return True


@dataclass(frozen=True, slots=True)
class PlainEM(EMMethod):
    """An M-step for all distributions, then an E-step for all cases."""

    def step(self, step: ExpectationStep, maximization: Maximization, state: EMState) -> EMState:
        """See `em_step`."""
        return em_step(step, maximization, state)


def exact_step(step: ExpectationStep, method: str) -> ExactExpectations:
    """The E-step, which must be exact, and of states only."""
    refuse_numbers(step.cases, method)
    if not isinstance(step, ExactExpectations):
        raise NotSupported(f"{method} needs exact expectations: leave engine= out, or take another method=.")
    return step
