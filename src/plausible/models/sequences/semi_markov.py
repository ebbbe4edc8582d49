"""Hidden semi-Markov models: a state lasts as long as a distribution of its own says."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, final

import numpy as np
import numpy.typing as npt

from plausible.base.arrays import Codes, Floats
from plausible.base.method_names import keyword_hints, own_methods
from plausible.base.records import TextTable
from plausible.cpds import TableCPD
from plausible.data.sequences import Sequences
from plausible.errors import InvalidArgument, InvalidModel
from plausible.models.network_parts import variable_of, variable_record
from plausible.models.sequences.emissions import OBSERVATION, STATE, as_written, emission_of
from plausible.models.sequences.hidden_state_model import HiddenStateModel, ObservedSteps
from plausible.models.sequences.reading_models import read_chain, read_emission
from plausible.models.sequences.shown_models import chain_table, emission_tables
from plausible.models.sequences.state_inference import HiddenChains
from plausible.variables import State, Variable


@final
@keyword_hints
@own_methods
class HiddenSemiMarkovModel(HiddenStateModel):
    """A hidden Markov model whose states have explicit durations (Ferguson 1980, Yu 2010).

    The chain behind it has a state for each state and each time that it has lasted, so questions take O(rows (K D)²)
    for K states and D steps at most.

    Parameters
    ----------
    initial, emission, states, symbols, state, observation
        As in `HiddenMarkovModel`.
    transition
        Where a state goes when it ends: rows with zeros on the diagonal.
    durations
        P(steps | state): for each state a row of probabilities of lasting 1, 2, ... steps.
    end
        "exact": the last state of a sequence ends with it; "censored": it may go on.

    Examples
    --------
    >>> model = HiddenSemiMarkovModel([1, 0], [[0, 1], [1, 0]], durations=[[0, 1], [0.5, 0.5]],
    ...                               emission=[[.9, .1], [.2, .8]], states=["work", "rest"], symbols=["busy", "idle"])
    >>> list(model.mpe(["busy", "busy", "idle"]))
    ['work', 'work', 'rest']
    """

    __slots__ = ("durations", "emission", "end", "initial", "state", "transition")

    kind = "hidden-semi-markov-model"
    initial: Floats
    transition: Floats
    durations: Floats
    end: str

    def __init__(
        self,
        initial: npt.ArrayLike | Mapping[State, float],
        transition: npt.ArrayLike | Mapping[Any, Any],
        durations: npt.ArrayLike,
        emission: Any,
        states: Iterable[State] | int | None = None,
        symbols: Any = None,
        *,
        end: str = "censored",
        state: str = STATE,
        observation: str = OBSERVATION,
    ) -> None:
        if end not in ("exact", "censored"):
            raise InvalidArgument(f"end={end!r}: expected 'exact' or 'censored'.")
        self.end = end
        self.state, self.initial, self.transition = read_chain(initial, transition, states, state, ())
        stays = np.flatnonzero(np.diagonal(self.transition))
        if len(stays):
            raise InvalidModel(
                f"{self.state.states[stays[0]]!r} goes to itself: durations= say how long a state lasts, so that the "
                "diagonal of the transitions is zero."
            )
        numbers = np.array(durations, dtype=np.float64)
        if numbers.ndim != 2 or len(numbers) != self.num_states:
            raise InvalidModel(
                f"durations= has the shape {numbers.shape}; it needs a row for each of {self.num_states} states: "
                "the probabilities of lasting 1, 2, ... steps."
            )
        steps = Variable("duration", range(1, numbers.shape[1] + 1))
        self.durations = TableCPD(steps, numbers, [self.state]).values
        self.emission = read_emission(emission, self.state, symbols, observation)

    @property
    def variables(self) -> Mapping[str, Variable]:
        """Name -> variable: the state, and what is observed."""
        return MappingProxyType({variable.name: variable for variable in (self.state, *self.emission.variables)})

    @property
    def longest(self) -> int:
        """How many steps a state lasts at most."""
        return int(self.durations.shape[1])

    def to_record(self) -> dict[str, Any]:
        """What makes the model, as plain lists, numbers and texts, for files."""
        return {
            "state": variable_record(self.state),
            "initial": self.initial.tolist(),
            "transition": self.transition.tolist(),
            "durations": self.durations.tolist(),
            "emission": self.emission.to_record(),
            "end": self.end,
        }

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> HiddenSemiMarkovModel:
        """The inverse of `to_record`."""
        state = variable_of(record["state"])
        emission, tables = emission_of(record["emission"], state), ("initial", "transition", "durations")
        given: list[Any] = [record[name] for name in tables]
        read = cls(given[0], given[1], given[2], emission, state.states, end=record["end"], state=state.name)
        model = object.__new__(cls)
        model.state, model.emission, model.end = state, emission, read.end
        for name in tables:
            setattr(model, name, as_written(record[name], getattr(read, name)))
        return model

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, HiddenSemiMarkovModel):
            return NotImplemented
        return self.to_record() == other.to_record()

    def __hash__(self) -> int:
        return hash((self.state, self.emission))

    def __repr__(self) -> str:
        return f"<HiddenSemiMarkovModel: {self.num_states} states of up to {self.longest} steps, {self.emission!r}>"

    def _shown(self) -> list[TextTable]:
        lasting = self.durations @ np.arange(1, self.longest + 1)
        chain = chain_table(self.state, self.initial, self.transition, {"mean duration": lasting})
        return [*chain, *emission_tables(self.state, self.emission)]

    # --- the chain behind it: state and steps that it has lasted, the latter changing fastest ---

    @property
    def hazards(self) -> Floats:
        """P(a state ends now | it has lasted 1, 2, ... steps): a row for each state."""
        lasting = np.cumsum(self.durations[:, ::-1], axis=1)[:, ::-1]
        found = np.divide(self.durations, lasting, out=np.ones_like(self.durations), where=lasting > 0)
        found[:, -1] = 1.0
        return found

    @property
    def _first(self) -> Floats:
        first = np.zeros((self.num_states, self.longest))
        first[:, 0] = self.initial
        return first.ravel()

    @property
    def _matrix(self) -> Floats:
        size, longest, hazards = self.num_states, self.longest, self.hazards
        matrix = np.zeros((size, longest, size, longest))
        matrix[:, :, :, 0] = hazards[:, :, None] * self.transition[:, None, :]
        each, steps = np.arange(size)[:, None], np.arange(longest - 1)[None, :]
        matrix[each, steps, each, steps + 1] = 1 - hazards[:, :-1]
        return matrix.reshape(size * longest, size * longest)

    def _chains(self, sequences: Sequences, observed: ObservedSteps | None = None) -> HiddenChains:
        seen = self._observed(sequences) if observed is None else observed
        row_of, num_rows = seen.rows.row_of, seen.rows.num_rows
        lasts = sequences.starts[1:][np.diff(sequences.starts) > 0] - 1 if self.end == "exact" else sequences.starts[:0]
        ending = row_of[lasts]
        if len(lasts):  # last steps have rows of their own, in which the state ends
            row_of = row_of.copy()
            row_of[lasts] = num_rows + np.arange(len(lasts), dtype=np.int32)

        def log_rows() -> Floats:
            logs = np.repeat(self._log_rows(seen), self.longest, axis=1)
            with np.errstate(divide="ignore"):
                return np.vstack([logs, logs[ending] + np.log(self.hazards.ravel())]) if len(lasts) else logs

        one_matrix: Codes = np.zeros(0, dtype=np.int32)
        return HiddenChains(sequences.starts, self._first, self._matrix[None], one_matrix, row_of, log_rows)

    def _matrices_ahead(self, steps: int, inputs: Any) -> list[Floats]:
        if inputs is not None:
            raise InvalidArgument("A semi-Markov model has no inputs.")
        return [self._matrix] * steps

    def _visible(self, beliefs: Floats) -> Floats:
        shape = *beliefs.shape[:-1], self.num_states, self.longest
        return np.asarray(beliefs.reshape(shape).sum(axis=-1))

    def _visible_path(self, path: Codes) -> Codes:
        return np.asarray(path // self.longest)
