"""Reading what Markov chains are made of: transition matrices, starts, sequences; with errors that name the state."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

from plausible.base.arrays import Floats
from plausible.base.tolerances import PROBABILITY_NOISE
from plausible.errors import InvalidArgument, InvalidModel, UnknownState, suggestion
from plausible.variables import State, Variable

#: A distribution over states: numbers in their order, numbers by state, or all in one state.
Start: TypeAlias = npt.ArrayLike | Mapping[State, float] | State

#: Estimates for more states are sparse where they can be.
_SMALL = 1000

#: Sums may miss one by so much; those nearer than `PROBABILITY_NOISE` stay as they are, to the last bit.
_ROUNDING = 1e-8


def read_states(states: Sequence[State] | None, count: int) -> list[State]:
    """Names for so many rows."""
    names: list[State] = list(range(count)) if states is None else list(states)
    if len(names) != count:
        raise InvalidModel(f"{len(names)} states are named, but the transition matrix has {count} rows.")
    return names


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


def array_of(states: Sequence[State]) -> NDArray[Any]:
    """States as an array to look them up in, of a plain type where all are of one."""
    if len({type(state) for state in states}) == 1 and isinstance(states[0], (str, int, float)):
        return np.array(states)
    table = np.empty(len(states), dtype=object)
    table[:] = states
    return table
