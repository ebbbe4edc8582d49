"""What is found out about Markov chains, as records."""

from __future__ import annotations

from dataclasses import dataclass

from plausible.base.arrays import Floats
from plausible.errors import UnknownState, suggestion
from plausible.variables import State

__all__ = ["Absorption", "CommunicatingClass"]


@dataclass(frozen=True, slots=True)
class CommunicatingClass:
    """States that can all be reached from each other.

    Attributes
    ----------
    states
        In the order of the chain.
    is_closed
        Whether the chain never leaves them again.
    period
        The greatest common divisor of the lengths of all ways back to a state; zero where there is none.
    """

    states: tuple[State, ...]
    is_closed: bool
    period: int


@dataclass(frozen=True, slots=True, eq=False)
class Absorption:
    """Where a chain ends up from states that it leaves for good, and when.

    Attributes
    ----------
    transient
        The states that it leaves for good.
    classes
        The closed classes, one of which it ends up in; in an absorbing chain they have one state each.
    probabilities
        For each transient state a row, with the probability of each class.
    expected_steps
        For each transient state, the expected number of steps until a closed class is entered.
    """

    transient: tuple[State, ...]
    classes: tuple[tuple[State, ...], ...]
    probabilities: Floats
    expected_steps: Floats

    def probability(self, source: State, target: State) -> float:
        """The probability to end up, from a transient state, in the closed class that has the target."""
        column = next((number for number, states in enumerate(self.classes) if target in states), None)
        if column is None:
            raise UnknownState(f"{target!r} is in no closed class.{suggestion(target, sum(self.classes, ()))}")
        return float(self.probabilities[self._row(source), column])

    def steps(self, source: State) -> float:
        """The expected number of steps, from a transient state, until a closed class is entered."""
        return float(self.expected_steps[self._row(source)])

    def _row(self, source: State) -> int:
        if source not in self.transient:
            raise UnknownState(f"{source!r} is not a transient state.{suggestion(source, self.transient)}")
        return self.transient.index(source)
