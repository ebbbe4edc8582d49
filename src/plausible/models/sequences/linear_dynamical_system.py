"""Linear dynamical systems: states that move linearly with Gaussian noise, of which linear functions are observed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, final, get_args

import numpy as np
import numpy.typing as npt

from plausible.base.arrays import Floats
from plausible.base.method_names import keyword_hints, own_methods
from plausible.base.options import Seed, generator_of, read_count
from plausible.base.records import TextTable
from plausible.base.remedies import Argument, Remedy
from plausible.data.sequences import Sequences, SequencesLike
from plausible.errors import InvalidArgument, InvalidModel, UnknownVariable
from plausible.kernels.kalman import FilteredSteps, walk
from plausible.kernels.kalman_beliefs import KalmanSystem
from plausible.models.bayesian_network import BayesianNetwork
from plausible.models.sequences import kalman_answers
from plausible.models.sequences.gaussian_unrolling import unrolled_system
from plausible.models.sequences.kalman_online import LinearFilter
from plausible.models.sequences.kalman_runs import ObservedNumbers, filtered, log_densities, smoothed
from plausible.models.sequences.sequence_model import SequenceModel, refuse_impossible
from plausible.models.sequences.shown_models import system_tables
from plausible.models.sequences.state_estimates import Innovations, StateEstimates, SteadyState, in_rows_order
from plausible.models.sequences.system_matrices import (
    Start,
    num_rows,
    read_columns,
    read_covariance,
    read_matrix,
    read_start,
    root_of,
    triangle_of,
)
from plausible.models.sequences.trajectory import DrawnPaths
from plausible.variables import Variable

if TYPE_CHECKING:
    import pandas as pd

#: How covariances are kept: as they are, updated in Joseph's form; or by their roots, for the worst conditioned ones.
Form = Literal["joseph", "square-root"]

_MATRICES = ("transition", "observation", "transition_noise", "observation_noise")
_GAINS = ("transition_input", "observation_input")


@final
@keyword_hints
@own_methods
class LinearDynamicalSystem(SequenceModel):
    """States x_t = A x_t-1 + B u_t + w_t, of which y_t = C x_t + D u_t + v_t is observed; w ~ N(0, Q), v ~ N(0, R).

    The first state x_1 is N(m, P) before its observation, and no input moves it. Inputs u_t are columns of the rows:
    those of a row act on the state and on the observation of that row. What a row does not have, or has as NaN, is not
    observed, be it one number of several. Covariances may be singular, zero too. Questions are exact and cost
    O(rows d³), less once the covariances have settled; O(rows d²) then (Kalman 1960; Durbin & Koopman 2012).

    Parameters
    ----------
    transition, observation
        A, with a row and a column for each state, and C, with a row for each observed number.
    transition_noise, observation_noise
        The covariances Q and R: matrices, or vectors of variances.
    initial_mean
        m; zero by default.
    initial_covariance
        P: a matrix or variances. An infinite variance says that nothing is known of a state ("diffuse" says so of all,
        which is the default): the exact limit of ever greater variances σ², in which log p + log σ for each of these
        stands for log p. "stationary" is the covariance that the states have in the long run.
    transition_input, observation_input
        B and D, with a column for each input.
    states, observations, inputs
        Names; by default x1, x2, ..., y1, ... and u1, ...
    form
        "joseph", or "square-root" for covariances that are very badly conditioned: some times slower.

    Examples
    --------
    A car on a line, whose position is measured:

    >>> car = LinearDynamicalSystem(transition=[[1, 1], [0, 1]], observation=[[1, 0]], transition_noise=[0, 0.1],
    ...                             observation_noise=1.0, states=["position", "speed"], observations=["measured"])
    >>> car.smooth([0.1, 1.2, None, 2.9]).to_frame().round(3)
    state position            speed
              mean deviation   mean deviation
    0        0.169     0.851  0.928     0.525
    1        1.097     0.616  0.921     0.485
    2        2.017     0.680  0.917     0.513
    3        2.934     0.965  0.917     0.602
    >>> car.forecast([0.1, 1.2, None, 2.9])["measured"].round(3)
           mean  lower  upper
    step
    1     3.852  0.991  6.712
    """

    __slots__ = (
        "form",
        "initial",
        "inputs",
        "observation",
        "observation_input",
        "observation_noise",
        "observations",
        "states",
        "transition",
        "transition_input",
        "transition_noise",
    )

    kind: ClassVar[str] = "linear-dynamical-system"

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

    def __init__(
        self,
        transition: npt.ArrayLike,
        observation: npt.ArrayLike,
        transition_noise: npt.ArrayLike,
        observation_noise: npt.ArrayLike,
        initial_mean: npt.ArrayLike | None = None,
        initial_covariance: npt.ArrayLike | str | None = None,
        *,
        transition_input: npt.ArrayLike | None = None,
        observation_input: npt.ArrayLike | None = None,
        states: Iterable[str] | None = None,
        observations: Iterable[str] | None = None,
        inputs: Iterable[str] | None = None,
        form: Form = "joseph",
    ) -> None:
        size = max(num_rows("transition", transition))
        self.states = read_columns("states", states, size, "x")
        is_column = size == 1 and np.ndim(observation) == 1  # of one state, a number for each observed one
        num_observed = np.size(observation) if is_column else num_rows("observation", observation)[0]
        self.observations = read_columns("observations", observations, num_observed, "y")
        self.inputs = _read_inputs(inputs, transition_input, observation_input)
        _refuse_repeated(self.states, self.observations, self.inputs)
        self.transition = read_matrix("transition", transition, self.states, self.states)
        self.observation = read_matrix("observation", observation, self.observations, self.states)
        self.transition_noise = read_covariance("transition_noise", transition_noise, self.states)
        self.observation_noise = read_covariance("observation_noise", observation_noise, self.observations)
        self.transition_input = _read_gains("transition_input", transition_input, self.states, self.inputs)
        self.observation_input = _read_gains("observation_input", observation_input, self.observations, self.inputs)
        self.initial = read_start(initial_mean, initial_covariance, self.states, self.transition, self.transition_noise)
        if form not in get_args(Form):
            raise InvalidArgument(Argument("form", form), ': expected "joseph" or "square-root".')
        self.form = form

    # --- what is there ---

    @property
    def variables(self) -> Mapping[str, Variable]:
        """Name -> variable, of all columns that rows may have: what is observed, and inputs."""
        return MappingProxyType({name: Variable(name) for name in (*self.observations, *self.inputs)})

    @property
    def initial_mean(self) -> Floats:
        """The mean of the first state, before its observation."""
        return self.initial.mean

    @property
    def initial_covariance(self) -> Floats:
        """Its covariance; infinite variances where nothing is known."""
        return self.initial.told

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LinearDynamicalSystem) and self.to_record() == other.to_record()

    def __hash__(self) -> int:
        return hash((self.states, self.observations, self.inputs, self.transition.tobytes()))

    def __repr__(self) -> str:
        inputs = f" and the inputs {', '.join(self.inputs)}" if self.inputs else ""
        return f"<LinearDynamicalSystem: {', '.join(self.observations)} from {', '.join(self.states)}{inputs}>"

    def _shown(self) -> list[TextTable]:
        return system_tables(self)

    def to_record(self) -> dict[str, Any]:
        """The model in plain types; infinite variances are "inf"."""
        covariance = [["inf" if np.isinf(x) else x for x in row] for row in self.initial.told.tolist()]
        matrices = {name: getattr(self, name).tolist() for name in self._matrix_names}
        names = {name: list(getattr(self, name)) for name in ("states", "observations", "inputs")}
        start = {"initial_mean": self.initial.mean.tolist(), "initial_covariance": covariance}
        return {**matrices, **start, **names, "form": self.form}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        """The inverse of `to_record`."""
        covariance = [[float(x) for x in row] for row in record["initial_covariance"]]
        return cls(**{**record, "initial_covariance": covariance})

    def with_parameters(self, **matrices: Any) -> LinearDynamicalSystem:
        """The same system with other matrices, by the names that the constructor has for them."""
        parts = {name: getattr(self, name) for name in self._matrix_names}
        parts |= {"initial_mean": self.initial.mean, "initial_covariance": self.initial.told, "form": self.form}
        names = {name: getattr(self, name) for name in ("states", "observations", "inputs")}
        return LinearDynamicalSystem(**{**parts, **names, **matrices})

    @property
    def _matrix_names(self) -> tuple[str, ...]:
        return (*_MATRICES, *_GAINS) if self.inputs else _MATRICES

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
        logs = log_densities(self._kalman(), self._observed(sequences))
        is_impossible = np.isneginf(logs)
        for number in np.unique(sequences.sequence_of[is_impossible]) if is_impossible.any() else ():
            first, last = sequences.starts[number], sequences.starts[number + 1]
            logs[first + int(np.argmax(is_impossible[first:last])) + 1 : last] = np.nan
        return logs

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
        if inputs is None:
            raise InvalidArgument(f"Give the rows to come of the inputs {list(self.inputs)}: ", Argument("inputs"), ".")
        read = Sequences.read(inputs, {name: Variable(name) for name in self.inputs}, place="the inputs")
        if read.num_steps != steps:
            raise InvalidArgument(Argument("inputs"), f" has {read.num_steps} rows, and there are {steps} steps.")
        return self._inputs(read)

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

    def online(self) -> LinearFilter:
        """A filter to feed rows to, one by one."""
        return LinearFilter.start(self)

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
        states, values = self._drawn(
            steps, count, generator_of(seed), self.initial.mean, moves @ self.transition_input.T
        )
        columns: dict[str, Any] = {}
        if count > 1:
            columns = {"sequence": np.repeat(np.arange(count), steps), "time": np.tile(np.arange(steps), count)}
        columns |= dict(zip(self.states, states.T, strict=True))
        columns |= dict(zip(self.observations, (values + moves @ self.observation_input.T).T, strict=True))
        return pd.DataFrame(columns | dict(zip(self.inputs, moves.T, strict=True)))

    def _drawn(
        self, steps: int, count: int, rng: np.random.Generator, mean: Floats | None, offsets: Floats | None
    ) -> tuple[Floats, Floats]:
        """States and observations; without a mean and offsets, noise alone. Diffuse parts of the start are zero."""
        starts = np.arange(count + 1, dtype=np.int64) * steps
        noise = rng.normal(size=(count * steps, len(self.states) + len(self.observations)))
        states = noise[:, : len(self.states)] @ root_of(self.transition_noise)
        if offsets is not None:
            states += offsets
        if steps:
            states[starts[:-1]] = noise[starts[:-1], : len(self.states)] @ root_of(self.initial.covariance)
            if mean is not None:
                states[starts[:-1]] += mean
        walk(self.transition.copy(), starts, states)
        return states, states @ self.observation.T + noise[:, len(self.states) :] @ root_of(self.observation_noise)

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
        """Paths of the states drawn given all rows.

        A path of noise, and what the smoother says of the observations less those of the path (Durbin & Koopman 2002).
        """
        sequences, rng = self._read(rows, sequence, time, gaps), generator_of(seed)
        count = read_count("num_paths", num_paths, 1)
        observed, system, size = self._observed(sequences), self._kalman(), len(self.states)
        self._check(sequences, log_densities(system, observed))
        paths = np.empty((sequences.num_steps, count, size))
        for number in range(sequences.num_sequences):
            part = observed.of_sequence(number)
            length = len(part.values)
            states, values = self._drawn(length, count, rng, None, None)
            repeated = ObservedNumbers(
                np.tile(part.values, (count, 1)) - values,
                np.tile(part.offsets, (count, 1)),
                np.arange(count + 1, dtype=np.int64) * length,
            )
            _, answer = smoothed(system, repeated, covariances=False)
            drawn = (states + answer.means).reshape(count, length, size)
            paths[observed.starts[number] : observed.starts[number + 1]] = drawn.transpose(1, 0, 2)
        (paths,), index = in_rows_order(sequences, paths)
        return DrawnPaths(dict(zip(self.states, paths.T, strict=True)), index)

    # --- other forms ---

    def unroll(self, length: int, inputs: Any = None) -> BayesianNetwork:
        """The Bayesian network over `x[0]`, `y[0]`, ... of so many steps; it gives the same answers.

        Numbers whose noises are correlated hang on one another there.
        """
        count = read_count("length", length, 1)
        return unrolled_system(self, self._future_inputs(inputs, count))


def _read_inputs(inputs: Any, *gains: Any) -> tuple[str, ...]:
    """Names of inputs, from what is said of them."""
    given = [matrix for matrix in gains if matrix is not None]
    if not given:
        if inputs is not None and tuple(inputs):
            raise InvalidModel(
                Argument("inputs"), " act by ", Argument("transition_input"), " or ", Argument("observation_input"), "."
            )
        return ()
    listed = None if inputs is None else tuple(inputs)
    return read_columns("inputs", listed, len(listed) if listed else np.atleast_2d(given[0]).shape[-1], "u")


def _read_gains(option: str, matrix: Any, rows: tuple[str, ...], inputs: tuple[str, ...]) -> Floats:
    return read_matrix(option, np.zeros((len(rows), len(inputs))) if matrix is None else matrix, rows, inputs)


def _refuse_repeated(*groups: tuple[str, ...]) -> None:
    names = [name for group in groups for name in group]
    if repeated := [name for name in dict.fromkeys(names) if names.count(name) > 1]:
        raise InvalidModel(f"{repeated[0]!r} stands twice: states, observations and inputs have names of their own.")
