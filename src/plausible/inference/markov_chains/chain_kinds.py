"""What Markov chains are made of, and which kinds there are: classes of states, periods, absorption."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from plausible.base import PROBABILITY_NOISE, Floats, Frozen, QueryInfo
from plausible.errors import InvalidArgument, InvalidModel, NotSupported, UnknownState, counted, suggestion
from plausible.factors import Factor
from plausible.inference.markov_chains.chain_limits import Structure, structure_of
from plausible.inference.markov_chains.state_diagram import format_diagram, parse_diagram
from plausible.variables import State, Variable

#: A distribution over states: numbers in their order, numbers by state, or all in one state.
Start: TypeAlias = npt.ArrayLike | Mapping[State, float] | State

#: Estimates for more states are sparse where they can be.
_SMALL = 1000

#: Sums may miss one by so much; those nearer than `PROBABILITY_NOISE` stay as they are, to the last bit.
_ROUNDING = 1e-8


def read_transition(
    transition: npt.ArrayLike | Mapping[State, Mapping[State, float]], states: Sequence[State] | None
) -> Any:
    """A row-stochastic matrix: an array that can't be written to, or a sparse one where it was given so."""
    matrix: Any = transition
    if isinstance(transition, Mapping):
        places = {state: place for place, state in enumerate(states or ())}
        matrix = np.zeros((len(places), len(places)))
        for source, row in transition.items():
            for target, value in row.items():
                for state in (source, target):
                    if state not in places:
                        raise UnknownState(f"{state!r} is not a state of this chain.{suggestion(state, places)}")
                matrix[places[source], places[target]] = value
    elif hasattr(transition, "tocsr"):
        from scipy.sparse import csr_array

        matrix = csr_array(matrix, dtype=float)
        matrix.sum_duplicates()
    else:
        try:
            matrix = np.array(transition, dtype=float)
        except (TypeError, ValueError):
            raise InvalidModel("A transition matrix has rows of numbers, one for each state.") from None
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not matrix.shape[0]:
        raise InvalidModel(f"A transition matrix is square, with a row for each state; not of shape {matrix.shape}.")
    return _normalized(matrix, states)


def _normalized(matrix: Any, states: Sequence[State] | None) -> Any:
    """The matrix with rows that sum to one; raises where they do not nearly."""
    numbers = matrix if isinstance(matrix, np.ndarray) else matrix.data
    if not np.isfinite(numbers).all() or (numbers < 0).any():
        raise InvalidModel("A transition matrix has probabilities only: no negative numbers, no NaN, no infinities.")
    sums = np.asarray(matrix.sum(axis=1)).ravel()
    wrong = np.flatnonzero(np.abs(sums - 1) > _ROUNDING)
    if len(wrong):
        place = int(wrong[0])
        name = states[place] if states is not None and place < len(states) else place
        columns = np.asarray(matrix.sum(axis=0)).ravel()
        hint = " Its columns do: give the transpose." if np.allclose(columns, 1) else ""
        raise InvalidModel(f"The transitions from {name!r} sum to {sums[place]:.6g}; each row is to sum to one.{hint}")
    sums = np.where(np.abs(sums - 1) > PROBABILITY_NOISE, sums, 1.0)
    if isinstance(matrix, np.ndarray):
        matrix = matrix / sums[:, None]
        matrix.setflags(write=False)
        return matrix
    matrix.data = matrix.data / np.repeat(sums, np.diff(matrix.indptr))
    matrix.eliminate_zeros()
    return matrix


def read_start(start: Start, variable: Variable) -> Floats:
    """A distribution over the states: numbers, `{state: probability}`, or one state."""
    vector = np.zeros(variable.num_states)
    if isinstance(start, Mapping):
        for state, value in start.items():
            vector[variable.index(state)] = value
    elif isinstance(start, (str, int, bool, float)) or (isinstance(start, tuple) and variable.has_state(start)):
        vector[variable.index(start)] = 1.0
    else:
        vector = np.array(getattr(start, "flat", start) if not isinstance(start, np.ndarray) else start, dtype=float)
    if vector.shape != (variable.num_states,):
        raise InvalidModel(f"The start has shape {vector.shape}; the chain has {variable.num_states} states.")
    if not np.isfinite(vector).all() or (vector < 0).any() or abs(vector.sum() - 1) > _ROUNDING:
        raise InvalidModel(
            f"The start is a distribution: numbers of zero or more with sum one, not {vector.sum():.6g}."
        )
    if abs(vector.sum() - 1) > PROBABILITY_NOISE:
        vector /= vector.sum()
    vector.setflags(write=False)
    return vector


def estimated_chain(
    sequences: Iterable[Iterable[State]], states: Sequence[State] | None, pseudocount: npt.ArrayLike
) -> tuple[Any, list[State], Floats]:
    """(α + #ij) / (Σ α + #i) of all transitions, the states, and the same for first elements."""
    counts, firsts, names = _transition_counts(sequences, states)
    prior = np.asarray(pseudocount, dtype=float)
    if not (np.isfinite(prior).all() and (prior >= 0).all() and prior.shape in ((), counts.shape)):
        raise InvalidArgument(
            f"pseudocount={pseudocount!r} is to be zero or more: a number, or one for each transition."
        )
    weights: Any = counts if len(names) > _SMALL and not prior.any() else counts.toarray() + prior
    totals = np.asarray(weights.sum(axis=1)).ravel()
    idle = np.flatnonzero(totals == 0)
    if len(idle):
        raise InvalidArgument(
            f"{names[idle[0]]!r} is never followed by anything in these sequences, so that maximum likelihood says "
            "nothing about its row. Give a pseudocount."
        )
    begin = firsts + (float(prior) if prior.ndim == 0 else 0.0)
    return weights * (1.0 / totals)[:, None], names, begin / begin.sum()


def _transition_counts(
    sequences: Iterable[Iterable[State]], states: Sequence[State] | None
) -> tuple[Any, Floats, list[State]]:
    """How often each state follows each (sparse), how often each comes first, and the states."""
    from scipy.sparse import coo_array

    if isinstance(sequences, str):
        raise InvalidArgument(f"{sequences!r} is one sequence. Write [{sequences!r}].")
    listed = [list(sequence) for sequence in sequences]
    seen = dict.fromkeys(state for sequence in listed for state in sequence)
    names = list(seen) if states is None else list(states)
    places = {state: place for place, state in enumerate(names)}
    for state in seen:
        if state not in places:
            raise UnknownState(f"{state!r} is in the sequences but not among the states.{suggestion(state, names)}")
    encoded = [np.array([places[state] for state in sequence], dtype=np.int64) for sequence in listed if sequence]
    if not encoded:
        raise InvalidArgument("There is no sequence to learn from.")
    pairs = [np.concatenate([path[ends] for path in encoded]) for ends in (slice(None, -1), slice(1, None))]
    counts = coo_array((np.ones(len(pairs[0])), tuple(pairs)), shape=(len(names), len(names))).tocsr()
    firsts = np.bincount([path[0] for path in encoded], minlength=len(names)).astype(float)
    return counts, firsts, names


def some_of(states: Sequence[State]) -> str:
    """The first few states, as text."""
    return ", ".join(map(repr, states[:6])) + (", ..." if len(states) > 6 else "")


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
        transition: npt.ArrayLike | Mapping[State, Mapping[State, float]] | str,
        states: Sequence[State] | None = None,
        start: Start | None = None,
    ) -> None:
        if isinstance(transition, str):
            transition = parse_diagram(transition)
        if isinstance(transition, Mapping) and states is None:
            states = list(dict.fromkeys([*transition, *(name for row in transition.values() for name in row)]))
        matrix = read_transition(transition, states)
        names: list[State] = list(range(matrix.shape[0])) if states is None else list(states)
        if len(names) != matrix.shape[0]:
            raise InvalidModel(f"{len(names)} states are named, but the transition matrix has {matrix.shape[0]} rows.")
        self._variable = Variable("state", names)
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

    def diagram(self) -> dict[State, dict[State, float]]:
        """The state-transition diagram: state -> next state -> probability, an edge for each transition there is.

        A chain is made of it again: `MarkovChain(chain.diagram())`.
        """
        matrix = self._sparse.tocsr()
        ends = zip(matrix.indptr[:-1].tolist(), matrix.indptr[1:].tolist(), strict=True)
        return {
            state: {
                self.states[place]: weight
                for place, weight in zip(matrix.indices[a:b].tolist(), matrix.data[a:b].tolist(), strict=True)
                if weight
            }
            for state, (a, b) in zip(self.states, ends, strict=True)
        }

    def to_text(self) -> str:
        """The diagram as text, with an arrow for each transition; `MarkovChain` reads it, where states are texts.

        >>> from plausible.inference import MarkovChain
        >>> MarkovChain("rain -> rain: 0.7; rain -> dry; dry -> dry: 0.8; dry -> rain").to_text()
        'rain -> rain: 0.7; rain -> dry: 0.3; dry -> rain: 0.2; dry -> dry: 0.8'
        """
        return format_diagram(self.diagram())

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
        """Whether every state can be reached from every other one; some call that ergodic."""
        return self._structure.num_classes == 1

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
