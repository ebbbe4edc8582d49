"""Switching linear systems: a hidden Markov chain of modes says by which linear system numbers move."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Self, final

import numpy as np
import numpy.typing as npt

from plausible.base.arrays import Floats
from plausible.base.method_names import own_methods
from plausible.base.options import Seed, check_number, generator_of, read_count
from plausible.base.pictured import chart_by, picture_by
from plausible.base.records import Result, TextTable, record
from plausible.base.remedies import Argument, Remedy
from plausible.data.sequences import Sequences, SequencesLike
from plausible.errors import InvalidModel, TooLarge
from plausible.models.sequences import switching_runs
from plausible.models.sequences.kalman_answers import FORECAST_COLUMNS
from plausible.models.sequences.linear_dynamical_system import LinearDynamicalSystem
from plausible.models.sequences.reading_models import read_chain
from plausible.models.sequences.sequence_model import SequenceModel
from plausible.models.sequences.shown_models import chain_table
from plausible.models.sequences.state_estimates import in_rows_order
from plausible.models.sequences.state_paths import StatePath
from plausible.models.sequences.switching_engines import (
    AUTO,
    GPB2,
    Exact,
    SwitchingEngine,
    engine_of,
    engine_record,
    read_engine,
)
from plausible.models.sequences.switching_runs import Mixture, Modes
from plausible.models.sequences.system_matrices import root_of
from plausible.variables import Variable

if TYPE_CHECKING:
    import pandas as pd

    from plausible.base.pictured import Axes, Chart, Picture

#: "auto" is exact for sequences with at most so many courses of modes.
_FEW_HISTORIES = 1000
_MODE = "mode"


@record(eq=False)
class SwitchingEstimates(Result):
    """P(mode) of each step, and the mean and the covariance of its states, in the order of the rows."""

    _told: ClassVar[tuple[str, ...]] = ("modes", "states", "probabilities", "mean", "covariance", "engines")

    modes: tuple[Any, ...]
    states: tuple[str, ...]
    probabilities: Floats  # [step, mode]
    mean: Floats  # [step, state]
    covariance: Floats  # [step, state, state], of the mixture over modes
    engines: tuple[SwitchingEngine, ...]  # that were used, one for each sequence
    effective_sizes: Floats  # of particles at each step; NaN for other engines
    index: Any  # of the rows

    @property
    def deviation(self) -> Floats:
        """The standard deviation of each state, an array over steps and states."""
        return np.asarray(np.sqrt(np.maximum(np.diagonal(self.covariance, axis1=1, axis2=2), 0.0)))

    @property
    def is_exact(self) -> bool:
        """Whether no engine approximates."""
        return all(isinstance(engine, Exact) for engine in self.engines)

    def to_frame(self) -> pd.DataFrame:
        """A row for each step; columns ("mode", each mode), (state, "mean") and (state, "deviation")."""
        import pandas as pd

        pairs = [(_MODE, mode) for mode in self.modes]
        pairs += [(state, told) for told in ("mean", "deviation") for state in self.states]
        values = np.hstack([self.probabilities, self.mean, self.deviation])
        return pd.DataFrame(values, index=self.index, columns=pd.MultiIndex.from_tuples(pairs))

    def __len__(self) -> int:
        return len(self.mean)

    def plot(self, ax: Axes | None = None) -> Chart:
        """Draw the probabilities of modes, stacked; it needs matplotlib (the extra `plot`)."""
        return chart_by("plot_states", self.to_frame()[_MODE], ax, "Modes over time")

    def __str__(self) -> str:
        told = ", ".join(dict.fromkeys(map(repr, self.engines)))
        return f"{len(self)} steps by {told}\n{self.to_frame()}"


@final
@own_methods
class SwitchingLinearDynamicalSystem(SequenceModel):
    """A Markov chain of modes, each of which moves and shows the same states by a linear system of its own.

    s_1 ~ `initial`, s_t ~ `switch_transition`[s_t-1]; x_1 begins as system s_1 says, x_t = A x_t-1 + w and
    y_t = C x_t + v with the matrices of system s_t (Murphy 1998; Barber 2012, chapter 25). Exact answers cost
    (number of modes)^rows; otherwise an engine approximates, which answers tell. The likelihood is exact where the
    engine is, and an estimate else.

    Parameters
    ----------
    initial, switch_transition
        The distribution of the first mode, and a row of the next mode for each mode.
    systems
        A `LinearDynamicalSystem` for each mode, with the same states and observations, no inputs, and a start of finite
        variance.
    modes
        Names; by default 0, 1, ...
    engine
        `Exact`, `GPB2`, `IMM` or `RaoBlackwellised`; "auto" is exact for sequences of at most 1000 courses of modes,
        and GPB2 for longer ones.

    Examples
    --------
    A level that mostly stays, and at times jumps:

    >>> stay, jump = (LinearDynamicalSystem(1.0, 1.0, noise, 0.1, 0.0, 1.0) for noise in (0.0, 9.0))
    >>> level = SwitchingLinearDynamicalSystem([1, 0], [[0.9, 0.1], [0.9, 0.1]], [stay, jump], ["stay", "jump"])
    >>> rows = [0.1, -0.2, 0.1, 4.1, 3.9]
    >>> level.smooth(rows).probabilities[:, 1].round(3).tolist()
    [0.0, 0.014, 0.016, 1.0, 0.017]
    >>> level.mpe(rows)
    <StatePath: ['stay', 'stay', 'stay', 'jump', 'stay'], log-probability -7.05576>
    """

    __slots__ = ("_mode", "engine", "initial", "switch_transition", "systems")

    kind: ClassVar[str] = "switching-linear-dynamical-system"

    initial: Floats
    switch_transition: Floats
    systems: tuple[LinearDynamicalSystem, ...]
    #: None stands for "auto".
    engine: SwitchingEngine | None

    def __init__(
        self,
        initial: Any,
        switch_transition: Any,
        systems: Sequence[LinearDynamicalSystem],
        modes: Sequence[Any] | None = None,
        *,
        engine: SwitchingEngine | str = AUTO,
    ) -> None:
        self.systems = tuple(systems)
        listed = range(len(self.systems)) if modes is None else modes
        self._mode, self.initial, self.switch_transition = read_chain(initial, switch_transition, listed, _MODE, ())
        self.engine = read_engine(engine)
        _check_systems(self.systems, self.modes)

    # --- what is there ---

    @property
    def modes(self) -> tuple[Any, ...]:
        """Names of the modes."""
        return self._mode.states

    @property
    def states(self) -> tuple[str, ...]:
        """Names of the states, the same for all modes."""
        return self.systems[0].states

    @property
    def observations(self) -> tuple[str, ...]:
        """Names of what is observed."""
        return self.systems[0].observations

    @property
    def variables(self) -> Mapping[str, Variable]:
        """Name -> variable, of all columns that rows may have."""
        return MappingProxyType({name: Variable(name) for name in self.observations})

    def picture(self) -> Picture:
        """The modes and where they lead; the pictures of `systems` show how numbers move in each."""
        return picture_by("picture_of_chain", self.modes, self.switch_transition)

    def with_engine(self, engine: SwitchingEngine | str) -> SwitchingLinearDynamicalSystem:
        """The same model, whose questions are answered by another engine."""
        return SwitchingLinearDynamicalSystem(
            self.initial, self.switch_transition, self.systems, self.modes, engine=engine
        )

    def engine_for(self, num_rows: int) -> SwitchingEngine:
        """What answers for a sequence of so many rows."""
        num_histories = len(self.modes) ** min(num_rows, 1000)
        if self.engine is None:
            return Exact() if num_histories <= _FEW_HISTORIES else GPB2()
        if isinstance(self.engine, Exact) and num_histories > self.engine.max_histories:
            raise TooLarge(
                f"A sequence of {num_rows} rows has {len(self.modes)}^{num_rows} courses of modes; Exact takes up to "
                f"{self.engine.max_histories}. Take with_engine(GPB2()), or Exact(max_histories=...) with more."
            )
        return self.engine

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SwitchingLinearDynamicalSystem) and self.to_record() == other.to_record()

    def __hash__(self) -> int:
        return hash((self.modes, self.systems))

    def __repr__(self) -> str:
        modes = ", ".join(map(str, self.modes))
        return f"<SwitchingLinearDynamicalSystem: {', '.join(self.observations)} in the modes {modes}>"

    def _shown(self) -> list[TextTable]:
        return chain_table(self._mode, self.initial, self.switch_transition)

    def to_record(self) -> dict[str, Any]:
        """The model in plain types."""
        return {
            "initial": self.initial.tolist(),
            "switch_transition": self.switch_transition.tolist(),
            "systems": [system.to_record() for system in self.systems],
            "modes": list(self.modes),
            "engine": engine_record(self.engine),
        }

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        """The inverse of `to_record`."""
        systems = [LinearDynamicalSystem.from_record(system) for system in record["systems"]]
        return cls(**{**record, "systems": systems, "engine": engine_of(record["engine"])})

    # --- rows ---

    def _matrices(self) -> Modes:
        """The matrices of all modes."""
        names = ("transition", "transition_noise", "observation", "observation_noise")
        stacked = [np.stack([getattr(system, name) for system in self.systems]) for name in names]
        starts = [np.stack([getattr(s.initial, name) for s in self.systems]) for name in ("mean", "covariance")]
        with np.errstate(divide="ignore"):
            return Modes(np.log(self.initial), np.log(self.switch_transition), *stacked, *starts)

    def _rows(self, sequences: Sequences) -> list[Floats]:
        """What is observed of each sequence, NaN where missing."""
        values = np.full((sequences.num_steps, len(self.observations)), np.nan)
        for place, name in enumerate(self.observations):
            if name in sequences.columns:
                values[:, place] = sequences.columns[name]
        return np.split(values, sequences.starts[1:-1]) if sequences.num_sequences else []

    def _runs(self, sequences: Sequences) -> list[tuple[SwitchingEngine, switching_runs.Run]]:
        """The filter of each sequence."""
        modes = self._matrices()
        engines = [(self.engine_for(len(rows)), rows) for rows in self._rows(sequences)]
        return [(engine, switching_runs.run(modes, rows, engine)) for engine, rows in engines]

    def _step_log_likelihoods(self, sequences: Sequences) -> Floats:
        return np.concatenate([np.zeros(0), *(run.log_densities for _, run in self._runs(sequences))])

    # --- beliefs ---

    def filter(
        self, rows: SequencesLike, *, sequence: str | None = None, time: str | None = None, gaps: str = "refuse"
    ) -> SwitchingEstimates:
        """What is known of the mode and the states of each row from the rows up to it."""
        return self._estimates(self._read(rows, sequence, time, gaps), is_smoothed=False)

    def smooth(
        self, rows: SequencesLike, *, sequence: str | None = None, time: str | None = None, gaps: str = "refuse"
    ) -> SwitchingEstimates:
        """What is known of the mode and the states of each row from all rows of its sequence."""
        return self._estimates(self._read(rows, sequence, time, gaps), is_smoothed=True)

    def _estimates(self, sequences: Sequences, is_smoothed: bool) -> SwitchingEstimates:
        modes, runs = self._matrices(), self._runs(sequences)
        mixtures = [
            mixture
            for engine, run in runs
            for mixture in (switching_runs.smoothed(modes, run.mixtures, engine) if is_smoothed else run.mixtures)
        ]
        sizes = np.concatenate([np.zeros(0), *(run.effective_sizes for _, run in runs)])
        (chances, mean, covariance, sizes), index = in_rows_order(sequences, *self._moments(mixtures), sizes)
        engines = tuple(engine for engine, _ in runs)
        return SwitchingEstimates(self.modes, self.states, chances, mean, covariance, engines, sizes, index)

    def _moments(self, mixtures: Sequence[Mixture]) -> tuple[Floats, Floats, Floats]:
        """P(mode), means and covariances over mixtures."""
        num, size = len(self.modes), len(self.states)
        told = [switching_runs.moments(mixture, num) for mixture in mixtures]
        shapes = ((0, num), (0, size), (0, size, size))
        stacked = [np.array([each[k] for each in told]) if told else np.zeros(shapes[k]) for k in range(3)]
        return stacked[0], stacked[1], stacked[2]

    def mpe(
        self, rows: SequencesLike, *, sequence: str | None = None, time: str | None = None, gaps: str = "refuse"
    ) -> StatePath:
        """The most probable course of modes, all states summed out, with log p(course, rows).

        It is the best course where the engine is exact. Else it is a good one, and its probability is exact: at each
        step, of the courses that end in one mode only the best so far is gone on with.
        """
        sequences, modes = self._read(rows, sequence, time, gaps), self._matrices()
        numbers: list[int] = []
        total = 0.0
        for values in self._rows(sequences):
            is_exact = isinstance(self.engine_for(len(values)), Exact)
            course, log_probability = switching_runs.best_course(modes, values, is_exact)
            numbers, total = numbers + course, total + log_probability
        (ordered,), index = in_rows_order(sequences, np.array(numbers, dtype=np.int64))
        return StatePath(ordered.astype(np.int32), self.modes, total, index)

    def predict(
        self,
        rows: SequencesLike,
        steps: int = 1,
        *,
        sequence: str | None = None,
        time: str | None = None,
        gaps: str = "refuse",
    ) -> SwitchingEstimates:
        """The modes and states of so many steps after the last row of each sequence, one sequence after the other."""
        sequences = self._read(rows, sequence, time, gaps)
        runs = self._runs(sequences)
        mixtures = self._ahead(runs, read_count("steps", steps, 1))
        parts = self._moments([mixture for each in mixtures for mixture in each])
        index = sequences.ahead(parts[1].reshape(len(runs), steps, -1), self.states).index
        sizes = np.full(len(parts[1]), np.nan)
        return SwitchingEstimates(self.modes, self.states, *parts, tuple(engine for engine, _ in runs), sizes, index)

    def _ahead(self, runs: Sequence[tuple[SwitchingEngine, switching_runs.Run]], steps: int) -> list[list[Mixture]]:
        """Steps to come of each sequence: the weight and the moments of each mode, which need no more than these."""
        modes = self._matrices()
        answer = []
        for _, run in runs:
            ahead = [] if run.mixtures else [switching_runs.first(modes)]
            latest = switching_runs.merged(run.mixtures[-1]) if run.mixtures else ahead[0]
            while len(ahead) < steps:
                latest = switching_runs.merged(switching_runs.moved(modes, switching_runs.forked(modes, latest)))
                ahead.append(latest)
            answer.append(ahead)
        return answer

    def forecast(
        self,
        rows: SequencesLike,
        steps: int = 1,
        *,
        level: float = 0.9,
        sequence: str | None = None,
        time: str | None = None,
        gaps: str = "refuse",
    ) -> dict[str, pd.DataFrame]:
        """Column -> what will be observed in the steps after the last row of each sequence, given all rows.

        The mean, and the ends of an interval that has the probability `level`, with as much below it as above, of a
        mixture with a Gaussian for each mode.
        """
        check_number("level", level, above=0, below=1)
        sequences, modes = self._read(rows, sequence, time, gaps), self._matrices()
        mixtures = self._ahead(self._runs(sequences), read_count("steps", steps, 1))
        told = np.array([[_seen_ahead(modes, mixture, level) for mixture in each] for each in mixtures])
        told = told.reshape(len(mixtures), steps, len(self.observations), 3)
        named = enumerate(self.observations)
        return {name: sequences.ahead(told[:, :, place], FORECAST_COLUMNS) for place, name in named}

    # --- draws ---

    def sample(self, length: int, seed: Seed = None, *, sequences: int = 1) -> pd.DataFrame:
        """Rows drawn from the model, modes and states included.

        Several sequences have columns "sequence" and "time" in front.
        """
        import pandas as pd

        steps, count = read_count("length", length), read_count("sequences", sequences, 1)
        rng, modes, size = generator_of(seed), self._matrices(), len(self.states)
        roots = [np.stack([root_of(each) for each in part]) for part in (modes[3], modes[5], modes.covariance)]
        numbers = np.zeros((count, steps), dtype=np.int64)
        states, values = np.zeros((count, steps, size)), np.zeros((count, steps, len(self.observations)))
        for t in range(steps):
            chances = self.switch_transition[numbers[:, t - 1]] if t else np.tile(self.initial, (count, 1))
            drawn = (rng.random((count, 1)) * chances.sum(axis=1, keepdims=True) >= chances.cumsum(axis=1)).sum(axis=1)
            now = numbers[:, t] = np.minimum(drawn, len(self.modes) - 1)
            center = np.einsum("nij,nj->ni", modes.transition[now], states[:, t - 1]) if t else modes.mean[now]
            noise = rng.normal(size=(count, size + len(self.observations)))
            states[:, t] = center + np.einsum("ni,nij->nj", noise[:, :size], roots[0 if t else 2][now])
            values[:, t] = np.einsum("nij,nj->ni", modes.observation[now], states[:, t])
            values[:, t] += np.einsum("ni,nij->nj", noise[:, size:], roots[1][now])
        columns: dict[str, Any] = {}
        if count > 1:
            columns = {"sequence": np.repeat(np.arange(count), steps), "time": np.tile(np.arange(steps), count)}
        columns[_MODE] = [self.modes[number] for number in numbers.reshape(-1)]
        columns |= dict(zip(self.states, states.reshape(-1, size).T, strict=True))
        return pd.DataFrame(columns | dict(zip(self.observations, values.reshape(count * steps, -1).T, strict=True)))


def _seen_ahead(modes: Modes, mixture: Mixture, level: float) -> Floats:
    """Mean and ends of an interval of each observed number, of a mixture of Gaussians."""
    weights, observation = np.exp(mixture.logs), modes.observation[mixture.modes]
    centers = np.einsum("noi,ni->no", observation, mixture.means)
    variances = np.einsum("noi,nij,noj->no", observation, mixture.covariances, observation)
    variances += np.diagonal(modes.observation_noise[mixture.modes], axis1=1, axis2=2)
    ends = [_quantile(weights, centers, np.sqrt(variances), (1 + sign * level) / 2) for sign in (-1, 1)]
    return np.stack([weights @ centers, *ends], axis=-1)


def _quantile(weights: Floats, centers: Floats, deviations: Floats, share: float) -> npt.NDArray[np.float64]:
    """Where each column of a mixture has so much of its mass below, by bisection."""
    from scipy.special import ndtr, ndtri

    ends = centers + deviations * ndtri(share)
    low, high = ends.min(axis=0), ends.max(axis=0)
    for _ in range(100):
        middle = (low + high) / 2
        is_below = weights @ ndtr((middle - centers) / deviations) < share
        low, high = np.where(is_below, middle, low), np.where(is_below, high, middle)
    return np.asarray((low + high) / 2)


def _check_systems(systems: Sequence[LinearDynamicalSystem], modes: Sequence[Any]) -> None:
    """Systems that can take turns."""
    for mode, system in zip(modes, systems, strict=True):
        if (system.states, system.observations) != (systems[0].states, systems[0].observations):
            raise InvalidModel(f"The system of {mode!r} has other states or observations than that of {modes[0]!r}.")
        if system.inputs:
            raise InvalidModel(f"The system of {mode!r} has inputs, which systems that switch can't have.")
        if len(system.initial.diffuse):
            raise InvalidModel(
                f"The system of {mode!r} starts with infinite variance: give it numbers, as the likelihoods of modes "
                "can't be compared otherwise.",
                remedies=[Remedy("give ", Argument("initial_covariance"), " to with_parameters()")],
            )
        if np.linalg.eigvalsh(system.observation_noise).min(initial=1.0) <= 0.0:
            raise InvalidModel(f"The system of {mode!r} observes without noise: give it a small observation_noise.")
