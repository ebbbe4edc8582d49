"""Hidden Markov models: a chain of hidden states, each of which lets us see something."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, final

import numpy as np
import numpy.typing as npt

from plausible.base.arrays import Codes, Floats
from plausible.base.method_names import keyword_hints
from plausible.base.options import check_number, generator_of, read_count
from plausible.cpds import CPD
from plausible.data.sequences import Sequences, SequencesLike
from plausible.errors import ImpossibleEvidence, InvalidArgument, InvalidModel, NotSupported, UnknownVariable
from plausible.factors import Factor
from plausible.inference.markov_chains.markov_chain import MarkovChain
from plausible.kernels.state_chains import StateChains, walk_states
from plausible.models.bayesian_network import BayesianNetwork
from plausible.models.sequences import state_inference
from plausible.models.sequences.emissions import (
    OBSERVATION,
    STATE,
    Emission,
    ObservedRows,
    combined,
    emission_of,
    soft_rows,
)
from plausible.models.sequences.reading_models import read_chain, read_emission
from plausible.models.sequences.sequence_model import SequenceModel, refuse_impossible, variable_of, variable_record
from plausible.models.sequences.state_inference import HiddenChains
from plausible.models.sequences.state_paths import OnlineFilter, StatePath
from plausible.models.sequences.unrolling import unrolled_chain
from plausible.variables import State, Variable

if TYPE_CHECKING:
    import pandas as pd

#: What becomes of rows that every question takes.
_Rows = SequencesLike


class ObservedSteps(NamedTuple):
    """What is observed at steps: by the emission, and of the state itself."""

    rows: ObservedRows  # all of it together
    of_emission: ObservedRows
    of_state: ObservedRows | None


@final
@keyword_hints
class HiddenMarkovModel(SequenceModel):
    """A chain of hidden states x_1, x_2, ... with an observation o_t at each: P(x_1) Π P(x_t | x_t-1) Π p(o_t | x_t).

    A row may tell the state, too, in a column of its name: as evidence, wherever it is known (Rabiner 1989).

    Parameters
    ----------
    initial
        P(x_1), before anything is observed: numbers, or a mapping from states.
    transition
        P(x_t | x_t-1): a row for each state before; an array, or a mapping from states to rows. With
        `transition_input` there are axes for the inputs' states in front.
    emission
        What the states let us see: a table with a row of symbols for each state; an emission such as
        `GaussianEmission`; a CPD with the state as a parent; or a mapping from columns to these, for several columns
        that are independent given the state. A parent of a CPD such as "x[-1]" is the observation before; other parents
        are inputs, columns of the rows.
    states, symbols
        The names of states, and of the symbols of a table (of several tables a mapping from columns); by default
        0, 1, ...
    state, observation
        What the hidden variable is called, and the observed one where the emission has no name for it. A table of rows
        with one column may call that as it likes, unless the model was given a name.
    transition_input
        One or several variables whose states, in columns of the rows, choose the transitions into each step.
    first_emission
        A CPD for the first step, where the emission depends on the step before.

    Examples
    --------
    >>> hmm = HiddenMarkovModel(initial=[.5, .5], transition=[[.7, .3], [.3, .7]], emission=[[.9, .1], [.2, .8]],
    ...                         states=["rain", "dry"], symbols=["umbrella", "none"])
    >>> print(hmm.filter(["umbrella", "umbrella", "none"]).round(4))
         rain     dry
    0  0.8182  0.1818
    1  0.8834  0.1166
    2  0.1907  0.8093
    >>> list(hmm.mpe(["umbrella", "umbrella", "none"]))
    ['rain', 'rain', 'dry']
    """

    __slots__ = ("emission", "initial", "state", "transition", "transition_inputs")

    kind = "hidden-markov-model"

    initial: Floats
    transition: Floats
    emission: Emission
    state: Variable
    transition_inputs: tuple[Variable, ...]

    def __init__(
        self,
        initial: npt.ArrayLike | Mapping[State, float],
        transition: npt.ArrayLike | Mapping[Any, Any],
        emission: Any,
        states: Iterable[State] | int | None = None,
        symbols: Any = None,
        *,
        state: str = STATE,
        observation: str = OBSERVATION,
        transition_input: Variable | Sequence[Variable] = (),
        first_emission: CPD | None = None,
    ) -> None:
        inputs = (transition_input,) if isinstance(transition_input, Variable) else tuple(transition_input)
        self.state, self.initial, self.transition = read_chain(initial, transition, states, state, inputs)
        self.transition_inputs = inputs
        self.emission = read_emission(emission, self.state, symbols, observation, first_emission)
        if state in {variable.name for variable in (*self.emission.variables, *inputs)}:
            raise InvalidModel(
                f"{state!r} is the hidden state and a column of observations: give another name, state=."
            )

    @classmethod
    def _of(
        cls,
        state: Variable,
        initial: Floats,
        transition: Floats,
        emission: Emission,
        transition_inputs: tuple[Variable, ...] = (),
    ) -> HiddenMarkovModel:
        """From parts that are known to fit and to be normalised."""
        model = object.__new__(cls)
        for numbers in (initial, transition):
            numbers.setflags(write=False)
        model.state, model.initial, model.transition, model.emission = state, initial, transition, emission
        model.transition_inputs = transition_inputs
        return model

    def to_record(self) -> dict[str, Any]:
        return {
            "state": variable_record(self.state),
            "transition_inputs": [variable_record(variable) for variable in self.transition_inputs],
            "initial": self.initial.tolist(),
            "transition": self.transition.tolist(),
            "emission": self.emission.to_record(),
        }

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> HiddenMarkovModel:
        state = variable_of(record["state"])
        return cls(
            record["initial"],
            record["transition"],
            emission_of(record["emission"], state),
            state.states,
            state=state.name,
            transition_input=[variable_of(each) for each in record["transition_inputs"]],
        )

    # --- what is there ---

    @property
    def states(self) -> tuple[State, ...]:
        """The hidden states, in order."""
        return self.state.states

    @property
    def num_states(self) -> int:
        """How many hidden states there are."""
        return self.state.num_states

    @property
    def variables(self) -> Mapping[str, Variable]:
        """Name -> variable: the state, what is observed, the inputs."""
        every = (self.state, *self.emission.variables, *self.transition_inputs)
        return MappingProxyType({variable.name: variable for variable in every})

    @property
    def _observed_variables(self) -> list[Variable]:
        """What the emission speaks of."""
        return [variable for variable in self.emission.variables if variable not in self.emission.inputs]

    @property
    def num_parameters(self) -> int:
        """How many numbers are free; zeros of tables count as given."""
        chain = sum(int((table > 0).sum() - table[..., 0].size) for table in (self.initial, self.transition))
        return chain + self.emission.num_parameters

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, HiddenMarkovModel):
            return NotImplemented
        mine = (self.state, self.transition_inputs, self.emission)
        return (
            mine == (other.state, other.transition_inputs, other.emission)
            and np.array_equal(self.initial, other.initial)
            and np.array_equal(self.transition, other.transition)
        )

    def __hash__(self) -> int:
        return hash((self.state, self.emission))

    def __repr__(self) -> str:
        return f"<HiddenMarkovModel: {self.num_states} states, {self.emission!r}>"

    # --- rows ---

    def _read(self, rows: _Rows, sequence: str | None, time: str | None, gaps: str) -> Sequences:
        observed = self._observed_variables
        lone = observed[0].name if len(observed) == 1 else None
        rows = by_column(rows, [variable.name for variable in observed])
        if lone == OBSERVATION:
            taken = {self.state.name, sequence, time, *(variable.name for variable in self.transition_inputs)}
            rows = _with_column(rows, lone, taken)
        names = {"sequence": sequence, "time": time, "gaps": gaps}
        return Sequences.read(rows, self.variables, lone=lone, place=self._place, **names)  # type: ignore[arg-type]

    def _observed(self, sequences: Sequences) -> ObservedSteps:
        """The different observations among the steps, with what is known of the state."""
        of_emission = self.emission.observed(sequences)
        if self.state.name not in sequences.columns:
            return ObservedSteps(of_emission, of_emission, None)
        of_state = soft_rows(sequences, self.state)
        return ObservedSteps(combined([of_emission, of_state]), of_emission, of_state)

    def _log_rows(self, observed: ObservedSteps) -> Floats:
        """log p(observation | state) of each of the different observations."""
        logs = self.emission.log_rows(observed.of_emission)
        if observed.of_state is None:
            return logs
        first, second = observed.rows.content.places
        with np.errstate(divide="ignore"):
            return np.asarray(logs[first] + np.log(observed.of_state.content)[second])

    def _chains(self, sequences: Sequences, observed: ObservedSteps | None = None) -> HiddenChains:
        """The hidden chains of sequences, as their beliefs are worked out."""
        seen = self._observed(sequences) if observed is None else observed
        matrices = self.transition.reshape(-1, self.num_states, self.num_states)
        matrix_of = self._matrix_of(sequences)
        return HiddenChains(
            sequences.starts, self.initial, matrices, matrix_of, seen.rows.row_of, lambda: self._log_rows(seen)
        )

    def _matrix_of(self, sequences: Sequences) -> Codes:
        """Which matrix leads to each step; empty where there is one."""
        if not self.transition_inputs:
            return np.zeros(0, dtype=np.int32)
        places = np.zeros(sequences.num_steps, dtype=np.int32)
        is_first = np.zeros(sequences.num_steps, dtype=bool)
        is_first[sequences.starts[:-1][np.diff(sequences.starts) > 0]] = True
        for variable in self.transition_inputs:
            if variable.name not in sequences.columns:
                raise UnknownVariable(f"The rows have no column {variable.name!r}, which transitions depend on.")
            codes = np.where(is_first, 0, sequences.columns[variable.name])
            if (codes < 0).any():
                where = sequences.where(int(np.argmax(codes < 0)))
                raise InvalidArgument(f"The input {variable.name!r} is missing at {where}: inputs are always given.")
            places = places * variable.num_states + codes.astype(np.int32)
        return places

    def _step_log_likelihoods(self, sequences: Sequences) -> Floats:
        return state_inference.filtered(self._chains(sequences)).step_logs

    # --- beliefs ---

    def filter(
        self, rows: _Rows, *, sequence: str | None = None, time: str | None = None, gaps: str = "refuse"
    ) -> pd.DataFrame:
        """P(x_t | o_1 ... o_t): a column for each state, a row for each row. O(rows K²), as all of these."""
        sequences = self._read(rows, sequence, time, gaps)
        return sequences.frame(self._filtered(sequences), self.states)

    def smooth(
        self, rows: _Rows, *, sequence: str | None = None, time: str | None = None, gaps: str = "refuse"
    ) -> pd.DataFrame:
        """P(x_t | all rows): a column for each state, a row for each row."""
        sequences = self._read(rows, sequence, time, gaps)
        found = state_inference.smoothed(self._chains(sequences))
        refuse_impossible(sequences, found.step_logs)
        return sequences.frame(found.beliefs, self.states)

    def _filtered(self, sequences: Sequences) -> Floats:
        found = state_inference.filtered(self._chains(sequences))
        refuse_impossible(sequences, found.step_logs)
        return found.beliefs

    def pairwise(
        self, rows: _Rows, *, sequence: str | None = None, time: str | None = None, gaps: str = "refuse"
    ) -> pd.DataFrame:
        """P(x_t-1, x_t | all rows): a column for each pair (state before, state), NaN at first rows of sequences."""
        sequences = self._read(rows, sequence, time, gaps)
        chains = self._chains(sequences)
        refuse_impossible(sequences, state_inference.filtered(chains).step_logs)
        pairs = state_inference.pairwise(chains).reshape(sequences.num_steps, -1)
        return sequences.frame(pairs, [(before, after) for before in self.states for after in self.states])

    def predict(
        self,
        rows: _Rows,
        steps: int = 1,
        *,
        inputs: Any = None,
        sequence: str | None = None,
        time: str | None = None,
        gaps: str = "refuse",
    ) -> pd.DataFrame:
        """The states of so many steps after the last row of each sequence, given all rows.

        `inputs` are the rows to come of the columns that transitions depend on.
        """
        sequences = self._read(rows, sequence, time, gaps)
        return sequences.ahead(self._ahead(sequences, steps, inputs), self.states)

    def forecast(
        self,
        rows: _Rows,
        steps: int = 1,
        *,
        level: float = 0.9,
        inputs: Any = None,
        sequence: str | None = None,
        time: str | None = None,
        gaps: str = "refuse",
    ) -> dict[str, pd.DataFrame]:
        """Column -> what will be observed in the steps after the last row of each sequence, given all rows.

        Of symbols a column for each, with its probability; of numbers the mean, and the ends of an interval that has
        the probability `level`, with as much below it as above.
        """
        check_number("level", level, above=0, below=1)
        sequences = self._read(rows, sequence, time, gaps)
        beliefs = self._ahead(sequences, steps, inputs)
        flat = beliefs.reshape(-1, self.num_states)
        return {
            name: sequences.ahead(told.values.reshape(*beliefs.shape[:2], -1), told.columns)
            for name, told in self.emission.forecast(flat, level).items()
        }

    def _ahead(self, sequences: Sequences, steps: int, inputs: Any) -> Floats:
        """Beliefs of steps to come: axes (sequence, step, state)."""
        matrices = self._matrices_ahead(read_count("steps", steps, 1), inputs)
        beliefs = np.empty((sequences.num_sequences, len(matrices), self.num_states))
        lengths = np.diff(sequences.starts)
        latest = np.repeat(self.initial[None], sequences.num_sequences, axis=0)
        if (lengths > 0).any():
            latest[lengths > 0] = self._filtered(sequences)[sequences.starts[1:][lengths > 0] - 1]
        for number, matrix in enumerate(matrices):
            after = latest @ matrix
            latest = after if number else np.where((lengths > 0)[:, None], after, latest)
            beliefs[:, number] = latest
        return beliefs

    def _matrices_ahead(self, steps: int, inputs: Any) -> list[Floats]:
        """The transitions into each of the steps to come."""
        if not self.transition_inputs:
            return [self.transition] * steps
        if inputs is None:
            names = [variable.name for variable in self.transition_inputs]
            raise InvalidArgument(f"Transitions depend on {names}: give the rows to come of these, inputs=.")
        wanted = {variable.name: variable for variable in self.transition_inputs}
        read = Sequences.read(inputs, wanted, place="the inputs")
        if read.num_steps != steps:
            raise InvalidArgument(f"inputs= has {read.num_steps} rows; there are {steps} steps to come.")
        places = [read.columns[name] for name in wanted]
        if any((codes < 0).any() for codes in places):
            raise InvalidArgument("inputs= has missing cells: inputs are always given.")
        return [self.transition[place] for place in zip(*places, strict=True)]

    # --- paths ---

    def mpe(
        self, rows: _Rows, *, sequence: str | None = None, time: str | None = None, gaps: str = "refuse"
    ) -> StatePath:
        """The most probable states, all rows together (Viterbi 1967); of ties the earlier at the end."""
        sequences = self._read(rows, sequence, time, gaps)
        chains = self._chains(sequences)
        path, values = state_inference.best_path(chains)
        if np.isneginf(values).any():
            refuse_impossible(sequences, state_inference.filtered(chains).step_logs)
        return self._path(sequences, path, float(values.sum()))

    def k_best(
        self, k: int, rows: _Rows, *, sequence: str | None = None, time: str | None = None, gaps: str = "refuse"
    ) -> list[StatePath]:
        """The k most probable paths of one sequence, best first; fewer where there are no more. O(rows K² k)."""
        num_paths = read_count("k", k, 1)
        sequences = self._read(rows, sequence, time, gaps)
        if sequences.num_sequences != 1:
            raise NotSupported(
                f"k_best() is for one sequence; there are {sequences.num_sequences}. Ask for each of them."
            )
        chains = self._chains(sequences)
        paths, values = state_inference.best_paths(chains, num_paths)
        if np.isneginf(values[0, 0]):
            refuse_impossible(sequences, state_inference.filtered(chains).step_logs)
        return [
            self._path(sequences, path, float(value))
            for path, value in zip(paths, values[0], strict=True)
            if value > -np.inf
        ]

    def _path(self, sequences: Sequences, path: Codes, value: float) -> StatePath:
        named = sequences.series(path)
        return StatePath(tuple(self._state_array[named.to_numpy()].tolist()), value, named.index)

    def sample_posterior(
        self,
        rows: _Rows,
        num_paths: int = 1,
        seed: int | np.random.Generator | None = None,
        *,
        sequence: str | None = None,
        time: str | None = None,
        gaps: str = "refuse",
    ) -> pd.DataFrame:
        """Paths drawn from P(x_1 ... x_T | all rows): a column for each path, a row for each row."""
        sequences = self._read(rows, sequence, time, gaps)
        beliefs, count = self._filtered(sequences), read_count("num_paths", num_paths, 1)
        paths = state_inference.drawn_paths(self._chains(sequences), beliefs, count, generator_of(seed))
        return sequences.frame(self._state_array[paths.T], range(count))

    @property
    def _state_array(self) -> npt.NDArray[Any]:
        table = np.empty(self.num_states, dtype=object)
        table[:] = self.states
        return table

    def sample(
        self,
        length: int,
        seed: int | np.random.Generator | None = None,
        *,
        sequences: int = 1,
        inputs: Any = None,
    ) -> pd.DataFrame:
        """Rows drawn from the model, states included: hidden paths first, then what they let us see.

        Several sequences have columns "sequence" and "time" in front. `inputs` are the columns that transitions depend
        on, a row for each step; the same for all sequences.

        >>> hmm = HiddenMarkovModel([1, 0], [[0, 1], [1, 0]], [[1, 0], [0, 1]], states=["a", "b"], symbols=["A", "B"])
        >>> hmm.sample(3, seed=0)["observation"].tolist()
        ['A', 'B', 'A']
        """
        import pandas as pd

        steps, count, rng = read_count("length", length), read_count("sequences", sequences, 1), generator_of(seed)
        starts = np.arange(count + 1, dtype=np.int64) * steps
        matrices, matrix_of = self.transition[None], np.zeros(0, dtype=np.int32)
        if self.transition_inputs:
            matrices = np.stack(self._matrices_ahead(steps, inputs)) if steps else self.transition[:0]
            matrix_of = np.tile(np.arange(steps, dtype=np.int32), count)
        chains = StateChains(starts, self.initial, matrices, matrix_of, np.ones((1, 1)), np.zeros(0, dtype=np.int32))
        path = np.empty(count * steps, dtype=np.int32)
        walk_states(chains, rng.random(count * steps), path)
        columns: dict[str, Any] = {}
        if count > 1:
            columns = {"sequence": np.repeat(np.arange(count), steps), "time": np.tile(np.arange(steps), count)}
        columns[self.state.name] = self._state_array[path]
        for name, column in self.emission.sample(path, starts, rng).items():
            variable = self.variables[name]
            symbols = np.empty(len(variable.states), dtype=object)
            symbols[:] = variable.states
            columns[name] = column if variable.is_continuous else symbols[column]
        return pd.DataFrame(columns).infer_objects()

    # --- one row after the other ---

    def online(self) -> OnlineFilter:
        """A filter to feed rows to, one by one."""
        return OnlineFilter(self, self.initial)

    def _advanced(
        self, belief: Floats, row: Any, num_steps: int, last: Mapping[str, Any] | None
    ) -> tuple[Floats, float, dict[str, Any] | None]:
        """The belief after one more row, the logarithm of its probability, and its cells where they matter later."""
        cells = self._cells(row)
        before: Mapping[str, Any] = last or {}
        steps = {name: [before.get(name), cell] if num_steps else [cell] for name, cell in cells.items()}
        chains = self._chains(self._read(steps, None, None, "refuse"))
        matrix = chains.transitions[chains.matrix_of[-1] if len(chains.matrix_of) else 0]
        logs = chains.log_rows()[chains.row_of[-1]]
        top = float(logs.max())
        after = (belief @ matrix if num_steps else belief) * np.exp(logs - (top if top > -np.inf else 0.0))
        size = float(after.sum())
        if not size > 0:
            raise ImpossibleEvidence(f"The row {row!r} is impossible after the {num_steps} rows before it.")
        return after / size, top + float(np.log(size)), cells if self.emission.looks_back else None

    def _cells(self, row: Any) -> dict[str, Any]:
        """Name -> cell of one row."""
        if isinstance(row, Mapping):
            return dict(row)
        if hasattr(row, "to_dict"):
            return dict(row.to_dict())
        observed = self._observed_variables
        if len(observed) != 1 and row is not None:
            raise InvalidArgument(f"A row is a mapping from columns, {[v.name for v in observed]}, not {row!r}.")
        return {observed[0].name: row}

    # --- other forms ---

    def stationary(self) -> Factor:
        """The distribution of the state in the long run, π = π A; refused where that depends on the start."""
        if self.transition_inputs:
            raise NotSupported("Transitions depend on inputs, so that there is no distribution in the long run.")
        found = MarkovChain(self.transition, self.states).stationary()
        return Factor((self.state,), found.values)

    def unroll(self, length: int) -> BayesianNetwork:
        """The Bayesian network over `state[0]`, ..., with as many slices; it gives the same answers."""
        if self.transition_inputs:
            raise NotSupported("Transitions depend on inputs: the unrolled network would need their states.")
        steps = read_count("length", length, 1)
        return unrolled_chain(self.state, self.initial, self.transition, self.emission, steps)


def by_column(rows: Any, names: Sequence[str]) -> Any:
    """Matrices as columns: those that are observed, in their order."""
    if isinstance(rows, (list, tuple)) and any(np.ndim(each) == 2 for each in rows if isinstance(each, np.ndarray)):
        return [by_column(each, names) for each in rows]
    if not isinstance(rows, np.ndarray) or rows.ndim != 2:
        return rows
    if rows.shape[1] != len(names):
        raise InvalidArgument(f"The matrix of rows has {rows.shape[1]} columns; the model observes {list(names)}.")
    return {name: rows[:, place] for place, name in enumerate(names)}


def _with_column(rows: Any, name: str, taken: set[str | None]) -> Any:
    """Rows whose only column of data is called by its name in the model."""
    if isinstance(rows, (list, tuple)):
        return [_with_column(each, name, taken) if _has_columns(each) else each for each in rows]
    if not _has_columns(rows):
        return rows
    names = list(rows) if isinstance(rows, Mapping) else list(rows.columns)
    others = [each for each in names if each not in taken and each != name]
    if len(others) != 1 or name in names:
        return rows
    if isinstance(rows, Mapping):
        return {name if each == others[0] else each: rows[each] for each in rows}
    if hasattr(rows, "rename_columns"):  # arrow
        return rows.rename_columns([name if each == others[0] else each for each in rows.column_names])
    renaming = {others[0]: name}
    return rows.rename(columns=renaming) if hasattr(rows, "iloc") else rows.rename(renaming)


def _has_columns(rows: Any) -> bool:
    return isinstance(rows, Mapping) or (hasattr(rows, "columns") and not isinstance(rows, np.ndarray))
