"""Linear dynamical systems learned by EM, and structural models by maximum likelihood."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, ClassVar

import numpy as np

from plausible.base.arrays import Floats
from plausible.base.method_names import keyword_hints
from plausible.base.options import Seed, check_count, generator_of, read_count
from plausible.base.records import record
from plausible.base.remedies import Argument
from plausible.data.sequences import Sequences, SequencesLike
from plausible.errors import InvalidArgument, counted, suggestion
from plausible.learn.sequences.system_moments import SystemRows, maximized, subspace_start
from plausible.models import LinearDynamicalSystem
from plausible.models.sequences.kalman_runs import smoothed
from plausible.search.run import CONVERGED, Clock, HasRun, Run, Stops, best_run, iterate
from plausible.variables import Variable

NOISES = ("transition_noise", "observation_noise", "initial_covariance")
PARTS = ("transition", "observation", "transition_input", "observation_input", "initial_mean", *NOISES)


@dataclass(frozen=True, slots=True, eq=False)
class SystemState:
    """A system, and the log-likelihood of the rows under it."""

    model: LinearDynamicalSystem
    log_likelihood: float
    expected: Any  # moments of the states given the rows


@dataclass(frozen=True, slots=True, eq=False)
class SystemProblem:
    """The E-step and the M-step for some rows."""

    sequences: Sequences
    fixed: tuple[str, ...] = ()
    diagonal: tuple[str, ...] = ()

    def init(self, model: LinearDynamicalSystem) -> SystemState:
        """The state of a system: what it expects."""
        observed = model._observed(self.sequences)

        def check(logs: Floats) -> None:
            model._check(self.sequences, logs)

        steps, answer = smoothed(model._kalman(), observed, lags=True, check=check)
        return SystemState(model, float(steps.log_densities.sum()), answer)

    def step(self, state: SystemState) -> SystemState:
        """One M-step and the E-step after it; the log-likelihood does not fall."""
        rows = rows_of(state.model, self.sequences)
        return self.init(maximized(state.model, rows, state.expected, self.fixed, self.diagonal))


def rows_of(model: LinearDynamicalSystem, sequences: Sequences) -> SystemRows:
    """The rows on arrays; inputs apart."""
    missing = np.full(sequences.num_steps, np.nan)
    values = np.column_stack([sequences.columns.get(name, missing) for name in model.observations])
    inputs = model._inputs(sequences) if model.inputs else np.zeros((sequences.num_steps, 0))
    return SystemRows(values, inputs, np.array(sequences.starts, dtype=np.int64))


@record(eq=False)
class SystemFit(HasRun):
    """A linear dynamical system learned by EM; made by `learn.linear_dynamical_system`."""

    _told: ClassVar[tuple[str, ...]] = ("log_likelihood", *HasRun._told)

    runs: tuple[Run[SystemState], ...]  # All runs, the best first
    problem: SystemProblem

    @property
    def run(self) -> Run[SystemState]:
        """The run with the greatest log-likelihood."""
        return self.runs[0]

    @property
    def model(self) -> LinearDynamicalSystem:
        """The system learned."""
        return self.run.state.model

    @property
    def log_likelihood(self) -> float:
        """Of all rows."""
        return self.run.state.log_likelihood

    def __str__(self) -> str:
        return f"log-likelihood {self.log_likelihood:.6g}, {counted(self.num_steps, 'step')}, {self.stopped_by}"


@keyword_hints
def linear_dynamical_system(
    rows: SequencesLike,
    latent: int | Iterable[str] = 2,
    *,
    inputs: Collection[str] = (),
    start: LinearDynamicalSystem | Run[SystemState] | None = None,
    fixed: Collection[str] = (),
    diagonal: Collection[str] = (),
    restarts: int = 0,
    seed: Seed = 0,
    tolerance: float = 1e-6,
    max_steps: int = 200,
    time_limit: float | None = None,
    progress: Callable[[SystemState], object] | None = None,
    sequence: str | None = None,
    time: str | None = None,
    gaps: str = "refuse",
) -> SystemFit:
    """Learn a linear dynamical system by EM (Shumway & Stoffer 1982; Ghahramani & Hinton 1996).

    The likelihood of the numbers that are there never falls; what is missing is missing at random. States are learned
    up to an invertible linear map: turned and scaled states explain the rows as well, so look at what they let us see.
    The model has no intercepts: subtract the means of columns, or give an input that is always one.

    Parameters
    ----------
    rows
        One sequence or several; all columns but inputs are observed.
    latent
        How many states, or their names; of no matter with `start`.
    inputs
        The columns that are inputs.
    start
        A system to start from, or a run to go on with. By default one from the covariances between past and future
        (subspace identification).
    fixed, diagonal
        Names of matrices that stay as in `start`, and of covariances that are to be diagonal. A diffuse start stays.
    restarts
        How many more runs to make from random systems; the best one is the answer.
    tolerance
        A run has converged when a step gains at most this share of the log-likelihood.

    Examples
    --------
    >>> import plausible as pb
    >>> true = pb.LinearDynamicalSystem(0.9, 1.0, 1.0, 1.0, 0.0, "stationary")
    >>> fit = pb.learn.linear_dynamical_system(true.sample(300, seed=0)["y1"].to_frame(), latent=1)
    >>> fit.converged, bool(abs(fit.model.transition[0, 0] - 0.9) < 0.1)
    (True, True)
    """
    clock, stops = Clock.of(time_limit), Stops(tolerance, max_steps, time_limit, progress)
    check_count("restarts", restarts)
    for option, listed, known in (("fixed", fixed, PARTS), ("diagonal", diagonal, NOISES)):
        for name in listed:
            if name not in known:
                raise InvalidArgument(
                    Argument(option), f": {name!r} is none of {list(known)}.{suggestion(name, known)}"
                )
    given = start.state.model if isinstance(start, Run) else start
    if fixed and given is None:
        raise InvalidArgument(Argument("fixed"), " keeps matrices of a system: give it as ", Argument("start"), ".")
    names = {"sequence": sequence, "time": time, "gaps": gaps}
    if given is None:  # all columns are numbers, whole ones too
        columns = Sequences.read(rows, {}, infer=True, **names).variables  # type: ignore[arg-type]
        variables: Mapping[str, Variable] = {name: Variable(name) for name in columns}
    else:
        variables = given.variables
    sequences = Sequences.read(rows, variables, place="the system of start=", **names)  # type: ignore[arg-type]
    problem = SystemProblem(sequences, tuple(fixed), tuple(diagonal))
    if not sequences.num_steps:
        raise InvalidArgument("There are no rows to learn from.")

    def starts() -> Iterator[SystemState | Run[SystemState]]:
        rng = generator_of(seed)
        yield start if isinstance(start, Run) else problem.init(given or _first(sequences, latent, inputs, None))
        for _ in range(restarts):
            drawn = _first(sequences, latent if given is None else given.states, inputs or _inputs_of(given), rng)
            kept = {name: getattr(given, name) for name in fixed}
            yield problem.init(drawn.with_parameters(**kept))

    def run_from(first: SystemState | Run[SystemState], _: Clock) -> Run[SystemState]:
        return iterate(
            problem.step, first, stops, [Settled(tolerance)], objective=attrgetter("log_likelihood"), clock=clock
        )

    return SystemFit(best_run(run_from, starts(), clock), problem)


def _inputs_of(model: LinearDynamicalSystem | None) -> tuple[str, ...]:
    return () if model is None else model.inputs


@dataclass(frozen=True, slots=True)
class Settled:
    """A step gained at most this share of the objective."""

    tolerance: float

    def __call__(self, run: Run[Any]) -> str:
        gain = run.trace[-1] - run.trace[-2]
        return CONVERGED if gain <= self.tolerance * (1.0 + abs(run.trace[-1])) else ""


def _first(
    sequences: Sequences, latent: Any, inputs: Collection[str], rng: np.random.Generator | None
) -> LinearDynamicalSystem:
    """A system for the columns of the rows, to start from."""
    for name in inputs:
        if name not in sequences.columns:
            raise InvalidArgument(
                Argument("inputs"), f": there is no column {name!r}.{suggestion(name, sequences.columns)}"
            )
    observed = [name for name in sequences.variables if name not in inputs]
    is_count = isinstance(latent, int | np.integer)
    states = [f"x{number}" for number in range(1, read_count("latent", latent, 1) + 1)] if is_count else list(latent)
    names = {"states": states, "observations": observed, "inputs": list(inputs)}
    columns = np.column_stack([sequences.columns[name] for name in observed])
    given = np.column_stack([sequences.columns[name] for name in inputs]) if inputs else np.zeros((len(columns), 0))
    rows = SystemRows(columns, given, np.array(sequences.starts, dtype=np.int64))
    return subspace_start(rows, len(states), names, rng)
