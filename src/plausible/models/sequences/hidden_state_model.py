"""What models with one hidden state a step have in common: beliefs, paths and draws of the chain behind it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from plausible.base.arrays import Codes, Floats
from plausible.base.options import check_number, generator_of, read_count
from plausible.base.pictured import picture_by
from plausible.data.sequences import Sequences, SequencesLike
from plausible.errors import InvalidArgument, NotSupported
from plausible.kernels.state_paths import walk_states
from plausible.kernels.state_records import StateChains
from plausible.models.sequences import state_inference
from plausible.models.sequences.emissions import OBSERVATION, Emission, ObservedRows, combined, soft_rows
from plausible.models.sequences.sequence_model import SequenceModel, refuse_impossible
from plausible.models.sequences.state_estimates import in_rows_order
from plausible.models.sequences.state_inference import HiddenChains
from plausible.models.sequences.state_paths import StatePath
from plausible.models.sequences.trajectory import DrawnPaths
from plausible.variables import State, Variable

if TYPE_CHECKING:
    import pandas as pd

    from plausible.base.pictured import Picture

#: What becomes of rows that every question takes.
_Rows = SequencesLike


class ObservedSteps(NamedTuple):
    """What is observed at steps: by the emission, and of the state itself."""

    rows: ObservedRows  # all of it together
    of_emission: ObservedRows
    of_state: ObservedRows | None


class HiddenStateModel(SequenceModel):
    """A chain of hidden states with an emission.

    The chain that beliefs are worked out on may have finer states than those that users see: `_visible` and
    `_visible_path` tell which.
    """

    __slots__ = ()

    state: Variable
    emission: Emission
    initial: Floats
    transition: Floats

    @abstractmethod
    def _chains(self, sequences: Sequences, observed: ObservedSteps | None = None) -> HiddenChains:
        """The hidden chains of sequences, as their beliefs are worked out."""

    @property
    @abstractmethod
    def _first(self) -> Floats:
        """The distribution of the chain's first state."""

    @abstractmethod
    def _matrices_ahead(self, steps: int, inputs: Any) -> list[Floats]:
        """The transitions of the chain into each of the steps to come."""

    def _visible(self, beliefs: Floats) -> Floats:
        """Beliefs of the states that users see, from those of the chain; the last axis is that of states."""
        return beliefs

    def _visible_path(self, path: Codes) -> Codes:
        """The states that users see, from those of the chain."""
        return path

    # --- what is there ---

    @property
    def states(self) -> tuple[State, ...]:
        """The hidden states, in order."""
        return self.state.states

    @property
    def num_states(self) -> int:
        """How many hidden states there are."""
        return self.state.num_states

    def picture(self) -> Picture:
        """The states with what each lets us see, and where they lead: `save("states.svg")` writes it.

        Beside an arrow is how probable it is, or it is as wide as that; of more than 24 states it is shown what depends
        on what.
        """
        return picture_by("picture_of_hidden_chain", self)

    @property
    def _observed_variables(self) -> list[Variable]:
        """What the emission speaks of."""
        return [variable for variable in self.emission.variables if variable not in self.emission.inputs]

    @property
    def _state_array(self) -> npt.NDArray[Any]:
        table = np.empty(self.num_states, dtype=object)
        table[:] = self.states
        return table

    # --- rows ---

    def _read(self, rows: _Rows, sequence: str | None, time: str | None, gaps: str) -> Sequences:
        observed = self._observed_variables
        lone = observed[0].name if len(observed) == 1 else None
        rows = by_column(rows, [variable.name for variable in observed])
        if lone == OBSERVATION:
            taken = {sequence, time, *self.variables} - {lone}
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

    def _step_log_likelihoods(self, sequences: Sequences) -> Floats:
        return state_inference.filtered(self._chains(sequences)).step_logs

    # --- beliefs ---

    def filter(
        self, rows: _Rows, *, sequence: str | None = None, time: str | None = None, gaps: str = "refuse"
    ) -> pd.DataFrame:
        """P(x_t | o_1 ... o_t): a column for each state, a row for each row. O(rows K²), as all of these."""
        sequences = self._read(rows, sequence, time, gaps)
        return sequences.frame(self._visible(self._filtered(sequences)), self.states)

    def smooth(
        self, rows: _Rows, *, sequence: str | None = None, time: str | None = None, gaps: str = "refuse"
    ) -> pd.DataFrame:
        """P(x_t | all rows): a column for each state, a row for each row."""
        sequences = self._read(rows, sequence, time, gaps)
        found = state_inference.smoothed(self._chains(sequences))
        refuse_impossible(sequences, found.step_logs)
        return sequences.frame(self._visible(found.beliefs), self.states)

    def _filtered(self, sequences: Sequences) -> Floats:
        found = state_inference.filtered(self._chains(sequences))
        refuse_impossible(sequences, found.step_logs)
        return found.beliefs

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
            name: sequences.ahead(told.values.reshape(*beliefs.shape[:2], len(told.columns)), told.columns)
            for name, told in self.emission.forecast(flat, level).items()
        }

    def _ahead(self, sequences: Sequences, steps: int, inputs: Any) -> Floats:
        """Beliefs of steps to come: axes (sequence, step, state)."""
        matrices = self._matrices_ahead(read_count("steps", steps, 1), inputs)
        latest = np.repeat(self._first[None], sequences.num_sequences, axis=0)
        beliefs = np.empty((sequences.num_sequences, len(matrices), self.num_states))
        lengths = np.diff(sequences.starts)
        if (lengths > 0).any():
            latest[lengths > 0] = self._filtered(sequences)[sequences.starts[1:][lengths > 0] - 1]
        for number, matrix in enumerate(matrices):
            after = latest @ matrix
            latest = after if number else np.where((lengths > 0)[:, None], after, latest)
            beliefs[:, number] = self._visible(latest)
        return beliefs

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
        named = sequences.series(self._visible_path(path))
        return StatePath(named.to_numpy(), self.states, value, named.index)

    def sample_posterior(
        self,
        rows: _Rows,
        num_paths: int = 1,
        seed: int | np.random.Generator | None = None,
        *,
        sequence: str | None = None,
        time: str | None = None,
        gaps: str = "refuse",
    ) -> DrawnPaths:
        """Paths drawn from P(x_1 ... x_T | all rows)."""
        sequences = self._read(rows, sequence, time, gaps)
        beliefs, count = self._filtered(sequences), read_count("num_paths", num_paths, 1)
        paths = state_inference.drawn_paths(self._chains(sequences), beliefs, count, generator_of(seed))
        (ordered,), index = in_rows_order(sequences, self._state_array[self._visible_path(paths.T)])
        return DrawnPaths({self.state.name: ordered.T}, index)

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

        >>> import plausible as pb
        >>> flip = [[0, 1], [1, 0]]
        >>> hmm = pb.HiddenMarkovModel([1, 0], flip, [[1, 0], [0, 1]], states=["a", "b"], symbols=["A", "B"])
        >>> hmm.sample(3, seed=0)["observation"].tolist()
        ['A', 'B', 'A']
        """
        import pandas as pd

        steps, count, rng = read_count("length", length), read_count("sequences", sequences, 1), generator_of(seed)
        starts = np.arange(count + 1, dtype=np.int64) * steps
        several = self._matrices_ahead(max(steps, 1), inputs)
        is_one = all(matrix is several[0] for matrix in several)
        matrices = np.stack(several[:1] if is_one else several)
        matrix_of = np.tile(np.arange(0 if is_one else steps, dtype=np.int32), count)
        chains = StateChains(starts, self._first, matrices, matrix_of, np.ones((1, 1)), np.zeros(0, dtype=np.int32))
        path = np.empty(count * steps, dtype=np.int32)
        walk_states(chains, rng.random(count * steps), path)
        path = self._visible_path(path)
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


def by_column(rows: Any, names: Sequence[str]) -> Any:
    """Matrices as columns: those that are observed, in their order."""
    if isinstance(rows, (list, tuple)) and any(isinstance(each, np.ndarray) and each.ndim == 2 for each in rows):
        return [by_column(each, names) for each in rows]
    if not isinstance(rows, np.ndarray) or rows.ndim != 2:
        return rows
    if rows.shape[1] != len(names):
        raise InvalidArgument(f"The matrix of rows has {rows.shape[1]} columns; the model observes {list(names)}.")
    return {name: rows[:, place] for place, name in enumerate(names)}


def _with_column(rows: Any, name: str, taken: set[str | None]) -> Any:
    """Rows whose only column of data is called by its name in the model."""
    if isinstance(rows, (list, tuple)):
        if set(map(type, rows)) <= {np.ndarray, list, tuple}:  # values of many sequences
            return rows
        return [_with_column(each, name, taken) if _has_columns(each) else each for each in rows]
    if not _has_columns(rows):
        return rows
    names = list(rows if isinstance(rows, Mapping) else getattr(rows, "column_names", rows.columns))
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
