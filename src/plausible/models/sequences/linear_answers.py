"""What a linear dynamical system is asked: states at each step, forecasts, innovations, draws, from rows in time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from plausible.base.arrays import Floats
from plausible.base.options import Seed, generator_of, read_count
from plausible.base.pictured import picture_by
from plausible.base.remedies import Argument, Remedy
from plausible.data.sequences import Sequences, SequencesLike
from plausible.errors import InvalidArgument, InvalidModel, UnknownVariable
from plausible.kernels.kalman import FilteredSteps
from plausible.kernels.kalman_beliefs import KalmanSystem
from plausible.models.sequences import kalman_answers
from plausible.models.sequences.kalman_runs import (
    ObservedNumbers,
    drawn,
    drawn_given,
    filtered,
    impossible_once,
    log_densities,
    smoothed,
)
from plausible.models.sequences.sequence_model import SequenceModel, refuse_impossible
from plausible.models.sequences.state_estimates import Innovations, StateEstimates, SteadyState, in_rows_order
from plausible.models.sequences.steps_ahead import inputs_ahead
from plausible.models.sequences.system_matrices import Start, root_of, triangle_of
from plausible.models.sequences.trajectory import DrawnPaths
from plausible.variables import Variable

if TYPE_CHECKING:
    import pandas as pd

    from plausible.base.pictured import Picture

#: How covariances are kept: as they are, updated in Joseph's form; or by their roots, for the worst conditioned ones.
Form = Literal["joseph", "square-root"]


class LinearAnswers(SequenceModel):
    """The questions to a linear dynamical system, and the parts that they need of it."""

    __slots__ = ()

    transition: Floats
    observation: Floats
    transition_noise: Floats
    observation_noise: Floats
    transition_input: Floats
    observation_input: Floats
    #: The state of the first step, before its observation.
    initial: Start
    states: tuple[str, ...]
    observations: tuple[str, ...]
    inputs: tuple[str, ...]
    form: Form

    def picture(self) -> Picture:
        """What each number is made of, the step before to its left: `save("system.svg")` writes it."""
        return picture_by("picture_of_system", self)

    # --- rows ---

    def _kalman(self) -> KalmanSystem:
        """The matrices as kernels take them."""
        size, is_root, start = len(self.states), self.form == "square-root", self.initial
        # Copies: for arrays that can't be written to, kernels would be compiled once more.
        return KalmanSystem(
            self.transition[None].copy(),
            self.transition_noise[None].copy(),
            self.observation[None].copy(),
            self.observation_noise[None].copy(),
            start.mean.copy(),
            start.covariance.copy(),
            start.diffuse.copy(),
            root_of(self.transition_noise)[None] if is_root else np.zeros((0, size, size)),
            triangle_of(start.covariance) if is_root else np.zeros((0, 0)),
        )

    def _observed(self, sequences: Sequences) -> ObservedNumbers:
        """What is observed, on arrays."""
        values = np.full((sequences.num_steps, len(self.observations)), np.nan)
        for place, name in enumerate(self.observations):
            if name in sequences.columns:
                values[:, place] = sequences.columns[name]
        starts = np.array(sequences.starts, dtype=np.int64)
        if not self.inputs:
            return ObservedNumbers(values, np.zeros((0, len(self.states))), starts)
        inputs = self._inputs(sequences)
        offsets = np.ascontiguousarray(inputs @ self.transition_input.T)
        return ObservedNumbers(values - inputs @ self.observation_input.T, offsets, starts)

    def _inputs(self, sequences: Sequences) -> Floats:
        """The inputs of all steps."""
        for name in self.inputs:
            if name not in sequences.columns:
                raise UnknownVariable(f"The rows have no column {name!r}, which is an input of {self._place}.")
        inputs = np.column_stack([sequences.columns[name] for name in self.inputs])
        if not np.isfinite(inputs).all():
            step, place = np.argwhere(~np.isfinite(inputs))[0]
            where = sequences.where(int(step))
            raise InvalidArgument(f"The input {self.inputs[place]!r} is missing at {where}: inputs are always given.")
        return inputs

    def _step_log_likelihoods(self, sequences: Sequences) -> Floats:
        return impossible_once(log_densities(self._kalman(), self._observed(sequences)), sequences.starts)

    def _filtered(self, sequences: Sequences) -> FilteredSteps:
        steps = filtered(self._kalman(), self._observed(sequences))
        self._check(sequences, steps.log_densities)
        return steps

    def _check(self, sequences: Sequences, logs: Floats) -> None:
        """Refuse what is impossible, and what no number can hold."""
        refuse_impossible(sequences, logs)
        if not np.isfinite(logs).all():
            where = sequences.where(int(np.argmin(np.isfinite(logs))))
            raise InvalidModel(
                f"The numbers grow out of bounds at {where}: the transition has an eigenvalue above 1 in size, and too "
                "little is observed.",
                remedies=[Remedy("check ", Argument("transition"))],
            )

    # --- beliefs ---

    def filter(
        self, rows: SequencesLike, *, sequence: str | None = None, time: str | None = None, gaps: str = "refuse"
    ) -> StateEstimates:
        """What is known of each state from the rows up to its own."""
        sequences = self._read(rows, sequence, time, gaps)
        steps = self._filtered(sequences)
        return self._estimates(sequences, steps.means, kalman_answers.told_covariances(steps))

    def smooth(
        self, rows: SequencesLike, *, sequence: str | None = None, time: str | None = None, gaps: str = "refuse"
    ) -> StateEstimates:
        """What is known of each state from all rows of its sequence."""
        sequences = self._read(rows, sequence, time, gaps)
        observed = self._observed(sequences)
        _, answer = smoothed(self._kalman(), observed, check=lambda logs: self._check(sequences, logs))
        return self._estimates(sequences, answer.means, answer.covariances)

    def mpe(
        self, rows: SequencesLike, *, sequence: str | None = None, time: str | None = None, gaps: str = "refuse"
    ) -> StateEstimates:
        """The most probable states, all rows together: of a Gaussian, those are the means of `smooth`."""
        return self.smooth(rows, sequence=sequence, time=time, gaps=gaps)

    def _estimates(self, sequences: Sequences, mean: Floats, covariance: Floats) -> StateEstimates:
        (mean, covariance), index = in_rows_order(sequences, mean, covariance)
        return StateEstimates(self.states, mean, covariance, index)

    def predict(
        self,
        rows: SequencesLike,
        steps: int = 1,
        *,
        inputs: Any = None,
        sequence: str | None = None,
        time: str | None = None,
        gaps: str = "refuse",
    ) -> StateEstimates:
        """The states of so many steps after the last row of each sequence, one sequence after the other.

        `inputs` are the rows to come of the inputs, the same for all sequences.
        """
        sequences = self._read(rows, sequence, time, gaps)
        means, covariances = self._ahead(sequences, steps, inputs)
        size = len(self.states)
        index = sequences.ahead(means, self.states).index
        return StateEstimates(self.states, means.reshape(-1, size), covariances.reshape(-1, size, size), index)

    def forecast(
        self,
        rows: SequencesLike,
        steps: int = 1,
        *,
        level: float = 0.9,
        inputs: Any = None,
        sequence: str | None = None,
        time: str | None = None,
        gaps: str = "refuse",
    ) -> dict[str, pd.DataFrame]:
        """Column -> what will be observed in the steps after the last row of each sequence, given all rows.

        The mean, and the ends of an interval that has the probability `level`, with as much below it as above.
        """
        sequences = self._read(rows, sequence, time, gaps)
        means, covariances = self._ahead(sequences, steps, inputs)
        moved = self._future_inputs(inputs, steps) @ self.observation_input.T
        centers = means @ self.observation.T + moved
        variances = kalman_answers.observed_variances(self.observation, covariances) + self.observation_noise.diagonal()
        return kalman_answers.forecasts(sequences, self.observations, centers, variances, level)

    def _ahead(self, sequences: Sequences, steps: int, inputs: Any) -> tuple[Floats, Floats]:
        """Means and covariances of states to come: axes (sequence, step, state ...)."""
        offsets = self._future_inputs(inputs, read_count("steps", steps, 1)) @ self.transition_input.T
        return kalman_answers.states_ahead(self._kalman(), self._filtered(sequences), sequences.starts, offsets)

    def _future_inputs(self, inputs: Any, steps: int) -> Floats:
        """The inputs of steps to come."""
        if not self.inputs:
            return np.zeros((steps, 0))
        return self._inputs(inputs_ahead(inputs, {name: Variable(name) for name in self.inputs}, steps))

    def innovations(
        self, rows: SequencesLike, *, sequence: str | None = None, time: str | None = None, gaps: str = "refuse"
    ) -> Innovations:
        """What each row has that the rows before it do not tell: `diagnostics()` tests whether it is noise."""
        sequences = self._read(rows, sequence, time, gaps)
        observed, system = self._observed(sequences), self._kalman()
        values, standardized = kalman_answers.innovations(system, observed, self._filtered(sequences))
        (values, standardized), index = in_rows_order(sequences, values, standardized)
        return Innovations(self.observations, values, standardized, index)

    def steady_state(self, max_steps: int = 100_000) -> SteadyState:
        """What the filter's covariances and its gain come to when everything is observed at every step."""
        return kalman_answers.steady_state(self._kalman(), read_count("max_steps", max_steps, 2))

    # --- draws ---

    def sample(self, length: int, seed: Seed = None, *, sequences: int = 1, inputs: Any = None) -> pd.DataFrame:
        """Rows drawn from the model, states included.

        Several sequences have columns "sequence" and "time" in front. `inputs` are the columns of inputs, a row for
        each step; the same for all sequences.
        """
        import pandas as pd

        steps, count = read_count("length", length), read_count("sequences", sequences, 1)
        if len(self.initial.diffuse):
            raise InvalidArgument(
                "The first state has infinite variance, so nothing can be drawn.",
                remedies=[
                    Remedy("give ", Argument("initial_covariance"), " or a start with numbers to with_parameters()")
                ],
            )
        moves = np.tile(self._future_inputs(inputs, steps), (count, 1))
        offsets = moves @ self.transition_input.T
        offsets[: count * steps : max(steps, 1)] = self.initial.mean
        states, values = drawn(self._kalman(), steps, count, generator_of(seed), offsets)
        columns: dict[str, Any] = {}
        if count > 1:
            columns = {"sequence": np.repeat(np.arange(count), steps), "time": np.tile(np.arange(steps), count)}
        columns |= dict(zip(self.states, states.T, strict=True))
        columns |= dict(zip(self.observations, (values + moves @ self.observation_input.T).T, strict=True))
        return pd.DataFrame(columns | dict(zip(self.inputs, moves.T, strict=True)))

    def sample_posterior(
        self,
        rows: SequencesLike,
        num_paths: int = 1,
        seed: Seed = None,
        *,
        sequence: str | None = None,
        time: str | None = None,
        gaps: str = "refuse",
    ) -> DrawnPaths:
        """Paths of the states drawn given all rows."""
        sequences, rng = self._read(rows, sequence, time, gaps), generator_of(seed)
        count = read_count("num_paths", num_paths, 1)
        observed, system = self._observed(sequences), self._kalman()
        self._check(sequences, log_densities(system, observed))
        (paths,), index = in_rows_order(sequences, drawn_given(system, observed, count, rng))
        return DrawnPaths(dict(zip(self.states, paths.T, strict=True)), index)
