"""What Markov chains are made of, and which kinds there are: classes of states, periods, absorption."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from plausible.base.arrays import Floats
from plausible.base.frozen import Frozen
from plausible.errors import InvalidArgument, NotSupported, UnknownState, counted, suggestion
from plausible.factors import Factor
from plausible.inference.info import QueryInfo
from plausible.inference.markov_chains.chain_input import Start, read_start, read_states, read_transition, some_of
from plausible.inference.markov_chains.chain_limits import Structure, structure_of
from plausible.variables import State, Variable


@dataclass(frozen=True, slots=True)
class CommunicatingClass:
    """States that can all be reached from each other."""

    states: tuple[State, ...]  # In the order of the chain
    is_closed: bool  # Whether the chain never leaves them again
    period: int  # The greatest common divisor of the lengths of all ways back to a state; zero where there is none


@dataclass(frozen=True, slots=True, eq=False)
class Absorption:
    """Where a chain ends up from states that it leaves for good, and when."""

    transient: tuple[State, ...]  # The states that it leaves for good
    #: The closed classes, one of which it ends up in; in an absorbing chain they have one state each.
    classes: tuple[tuple[State, ...], ...]
    probabilities: Floats  # For each transient state a row, with the probability of each class
    expected_steps: Floats  # For each transient state, the expected number of steps until a closed class is entered

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


class ChainKinds(Frozen):
    """The part of `MarkovChain` that holds the matrix and looks at which transitions are possible."""

    def __init__(
        self,
        transition: npt.ArrayLike | Mapping[State, Mapping[State, float]],
        states: Sequence[State] | None = None,
        start: Start | None = None,
    ) -> None:
        if isinstance(transition, Mapping) and states is None:
            states = list(dict.fromkeys([*transition, *(name for row in transition.values() for name in row)]))
        matrix = read_transition(transition, states)
        self._variable = Variable("state", read_states(states, matrix.shape[0]))
        self._matrix = matrix
        self._start = None if start is None else read_start(start, self._variable)

    @property
    def states(self) -> tuple[State, ...]:
        """The states, in the order of the rows."""
        return self._variable.states

    @property
    def num_states(self) -> int:
        """How many states there are."""
        return self._variable.num_states

    @property
    def transition(self) -> Any:
        """A copy of A: an array, or a sparse one where it was given so."""
        return self._matrix.copy()

    @property
    def start(self) -> Factor | None:
        """The distribution of X_1, where there is one."""
        return None if self._start is None else self._factor(self._start, QueryInfo("given"))

    def probability(self, source: State, target: State) -> float:
        """P(X_{t+1} = target | X_t = source)."""
        return float(self._matrix[self._variable.index(source), self._variable.index(target)])

    def __repr__(self) -> str:
        return f"{type(self).__name__}({counted(self.num_states, 'state')})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ChainKinds):
            return NotImplemented
        starts = [chain._start for chain in (self, other) if chain._start is not None]
        return (
            self.states == other.states
            and len(starts) != 1
            and np.array_equal(starts[:1], starts[1:])
            and (self._sparse != other._sparse).nnz == 0
        )

    def __hash__(self) -> int:
        return hash(self.states)

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self._matrix, self.states, self._start)

    def communicating_classes(self) -> tuple[CommunicatingClass, ...]:
        """The classes of states that can be reached from each other, ordered by their first states."""
        structure = self._structure
        facts = zip(structure.members(), structure.is_closed.tolist(), structure.periods.tolist(), strict=True)
        return tuple(CommunicatingClass(self._named(places), closed, period) for places, closed, period in facts)

    @property
    def is_irreducible(self) -> bool:
        """Whether every state can be reached from every other one."""
        return self._structure.num_classes == 1

    @property
    def is_ergodic(self) -> bool:
        """The same as `is_irreducible`: the graph of positive transitions is strongly connected."""
        return self.is_irreducible

    @property
    def period(self) -> int:
        """The period of the closed class; it has to be the only one."""
        return int(self._structure.periods[self._only_closed_class("The period")])

    @property
    def is_aperiodic(self) -> bool:
        """Whether no closed class has a period of two or more."""
        return bool((self._structure.periods[self._structure.is_closed] == 1).all())

    @property
    def is_regular(self) -> bool:
        """Whether some power of A is positive everywhere: the chain is irreducible and aperiodic."""
        return self.is_irreducible and self.is_aperiodic

    @property
    def is_left_to_right(self) -> bool:
        """Whether no transition leads to a state before, in the order of the states."""
        entries = self._sparse.tocoo()
        return bool((entries.row <= entries.col)[entries.data > 0].all())

    @property
    def absorbing_states(self) -> tuple[State, ...]:
        """The states that the chain never leaves."""
        structure = self._structure
        alone = np.bincount(structure.labels) == 1
        return self._named(np.flatnonzero((structure.is_closed & alone)[structure.labels]))

    @property
    def is_absorbing(self) -> bool:
        """Whether the chain ends up in an absorbing state from everywhere."""
        return len(self.absorbing_states) == int(self._structure.is_closed.sum())

    @cached_property
    def _sparse(self) -> Any:
        from scipy.sparse import csr_array

        return csr_array(self._matrix)

    @cached_property
    def _structure(self) -> Structure:
        return structure_of(self._sparse)

    def _begin(self, start: Start | None) -> Floats:
        if start is not None:
            return read_start(start, self._variable)
        if self._start is None:
            raise InvalidArgument("This chain has no start. Give start= here, or when the chain is made.")
        return self._start

    def _factor(self, vector: Floats, info: QueryInfo) -> Factor:
        return Factor((self._variable,), vector).with_info(info)

    def _named(self, places: Iterable[int]) -> tuple[State, ...]:
        return tuple(self.states[place] for place in places)

    def _only_closed_class(self, what: str) -> int:
        closed = np.flatnonzero(self._structure.is_closed)
        if len(closed) > 1:
            members = self._structure.members()
            shown = "; ".join(f"{{{some_of(self._named(members[number]))}}}" for number in closed[:4])
            raise NotSupported(
                f"{what} is not unique: the chain can't leave any of {len(closed)} closed classes, {shown}"
                f"{' ...' if len(closed) > 4 else ''}. See stationary_distributions() and communicating_classes()."
            )
        return int(closed[0])
