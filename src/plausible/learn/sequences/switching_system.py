"""Switching linear dynamical systems learned by EM."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import ClassVar

import numpy as np

from plausible.base.arrays import Floats
from plausible.base.method_names import keyword_hints
from plausible.base.options import Seed, check_count, check_number, generator_of, read_count
from plausible.base.records import record
from plausible.base.remedies import Argument
from plausible.data.sequences import SequencesLike
from plausible.errors import InvalidArgument, counted, suggestion
from plausible.learn.sequences.linear_dynamical_system import NOISES, PARTS, Settled, linear_dynamical_system
from plausible.learn.sequences.switching_moments import ModeMoments, expected, maximized
from plausible.models import LinearDynamicalSystem
from plausible.models.sequences.switching import SwitchingLinearDynamicalSystem
from plausible.search.run import Clock, HasRun, Run, Stops, best_run, iterate

#: What can be fixed: the chain of modes, and matrices of all systems.
_FIXED = ("initial", "switch_transition", *(name for name in PARTS if not name.endswith("_input")))


@dataclass(frozen=True, slots=True, eq=False)
class SwitchingState:
    """A model, the log-likelihood of the rows under it, and what is expected of modes and states."""

    model: SwitchingLinearDynamicalSystem
    log_likelihood: float  # an estimate where the engine approximates
    is_exact: bool
    expected: ModeMoments


@dataclass(frozen=True, slots=True, eq=False)
class SwitchingProblem:
    """The E-step, by the model's engine, and the M-step for some rows."""

    rows: tuple[Floats, ...]
    floor: Floats  # the least variance of what each column is observed with
    fixed: tuple[str, ...] = ()
    diagonal: tuple[str, ...] = ()

    def init(self, model: SwitchingLinearDynamicalSystem) -> SwitchingState:
        """The state of a model: what it expects."""
        return SwitchingState(model, *expected(model, self.rows))

    def step(self, state: SwitchingState) -> SwitchingState:
        """One M-step and the E-step after it; a step that would lower the log-likelihood is not made."""
        model = maximized(state.model, self.rows, state.expected, self.fixed, self.diagonal, self.floor)
        after = self.init(model)
        return after if after.log_likelihood >= state.log_likelihood else state


@record(eq=False)
class SwitchingFit(HasRun):
    """A switching linear dynamical system learned by EM; made by `learn.switching_system`."""

    _told: ClassVar[tuple[str, ...]] = ("log_likelihood", "is_exact", *HasRun._told)

    runs: tuple[Run[SwitchingState], ...]  # All runs, the best first
    problem: SwitchingProblem

    @property
    def run(self) -> Run[SwitchingState]:
        """The run with the greatest log-likelihood."""
        return self.runs[0]

    @property
    def model(self) -> SwitchingLinearDynamicalSystem:
        """The model learned."""
        return self.run.state.model

    @property
    def log_likelihood(self) -> float:
        """Of all rows; an estimate where `is_exact` is false."""
        return self.run.state.log_likelihood

    @property
    def is_exact(self) -> bool:
        """Whether all courses of modes were summed over: else log-likelihood and steps are approximate."""
        return self.run.state.is_exact

    def __str__(self) -> str:
        told = "" if self.is_exact else " (an estimate: the engine approximates)"
        steps = counted(self.num_steps, "step")
        return f"log-likelihood {self.log_likelihood:.6g}{told}, {steps}, {self.stopped_by}"


@keyword_hints
def switching_system(
    rows: SequencesLike,
    modes: int | Iterable[object] = 2,
    latent: int = 1,
    *,
    start: SwitchingLinearDynamicalSystem | SwitchingFit | None = None,
    fixed: Collection[str] = (),
    diagonal: Collection[str] = (),
    variance_floor: float = 1e-6,
    restarts: int = 0,
    seed: Seed = 0,
    tolerance: float = 1e-6,
    max_steps: int = 100,
    time_limit: float | None = None,
    progress: Callable[[SwitchingState], object] | None = None,
    sequence: str | None = None,
    time: str | None = None,
    gaps: str = "refuse",
) -> SwitchingFit:
    """Learn a switching linear dynamical system by EM (Murphy 1998; Barber 2012, section 25.4).

    The E-step is that of the model's engine: exact where sequences are so short that all courses of modes can be summed
    over, and then the likelihood never falls; else approximate, and the run ends where the estimate would fall. The fit
    tells which (`is_exact`). There are many maxima: a start that knows what modes mean helps more than restarts.

    Parameters
    ----------
    rows
        One sequence or several; all columns are numbers, and any may be missing.
    modes, latent
        The modes, or how many there are, and how many states move; of no matter with `start`.
    start
        A model to start from, whose engine is kept; or a fit, which is gone on with. By default one linear system that
        is learned first, from which the modes' systems are drawn.
    fixed, diagonal
        Names of matrices that stay as in `start`, in all modes, and of covariances that are to be diagonal; "initial"
        and "switch_transition" are the distributions of the modes.
    variance_floor
        The least variance of what is observed, in shares of the variances of the columns.
    restarts
        How many more runs to make from systems that are drawn; the best one is the answer.
    tolerance
        A run has converged when a step gains at most this share of the log-likelihood.

    Examples
    --------
    >>> import plausible as pb
    >>> calm, wild = (pb.LinearDynamicalSystem(0.9, 1.0, noise, 0.1, 0.0, 1.0) for noise in (0.1, 4.0))
    >>> start = pb.models.SwitchingLinearDynamicalSystem([0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]], [calm, wild])
    >>> rows = start.sample(9, seed=0)[["y1"]]
    >>> fit = switching_system(rows, start=start, max_steps=5)
    >>> fit.is_exact, fit.log_likelihood > start.log_likelihood(rows)
    (True, True)
    """
    clock, stops = Clock.of(time_limit), Stops(tolerance, max_steps, time_limit, progress)
    check_count("restarts", restarts)
    check_number("variance_floor", variance_floor, above=0)
    _check_names(fixed, diagonal)
    given = start.model if isinstance(start, SwitchingFit) else start
    if fixed and given is None:
        raise InvalidArgument(Argument("fixed"), " keeps matrices of a model: give it as ", Argument("start"), ".")
    names: dict[str, str | None] = {"sequence": sequence, "time": time, "gaps": gaps}
    first = given or _first(rows, modes, latent, names)
    sequences = first._read(rows, sequence, time, gaps)
    if not sequences.num_steps:
        raise InvalidArgument("There are no rows to learn from.")
    observed = tuple(first._rows(sequences))
    problem = SwitchingProblem(observed, variance_floor * _variances(observed), tuple(fixed), tuple(diagonal))

    def starts() -> Iterator[SwitchingState | Run[SwitchingState]]:
        rng = generator_of(seed)
        if isinstance(start, SwitchingFit):
            yield start.run
        else:
            yield problem.init(given or _drawn(first, rng, fixed))
        for _ in range(restarts):
            yield problem.init(_drawn(first, rng, fixed))

    def run_from(begin: SwitchingState | Run[SwitchingState], _: Clock) -> Run[SwitchingState]:
        rules = [Settled(tolerance)]
        return iterate(problem.step, begin, stops, rules, objective=attrgetter("log_likelihood"), clock=clock)

    return SwitchingFit(best_run(run_from, starts(), clock), problem)


def _check_names(fixed: Collection[str], diagonal: Collection[str]) -> None:
    for option, listed, known in (("fixed", fixed, _FIXED), ("diagonal", diagonal, NOISES)):
        for name in listed:
            if name not in known:
                told = f": {name!r} is none of {list(known)}.{suggestion(name, known)}"
                raise InvalidArgument(Argument(option), told)


def _variances(rows: tuple[Floats, ...]) -> Floats:
    """Of each column; one where it never varies or is never seen."""
    values = np.concatenate(rows)
    found = np.ones(values.shape[1])
    for place, column in enumerate(values.T):
        known = column[~np.isnan(column)]
        found[place] = known.var() if len(known) and known.var() > 0 else 1.0
    return found


def _first(
    rows: SequencesLike, modes: int | Iterable[object], latent: int, names: Mapping[str, str | None]
) -> SwitchingLinearDynamicalSystem:
    """The same system in all modes, learned as if there were one."""
    listed = list(range(read_count("modes", modes, 1)) if isinstance(modes, int | np.integer) else modes)
    system = linear_dynamical_system(rows, latent, max_steps=20, **names).model  # type: ignore[arg-type]
    num = len(listed)
    stay = 0.1 / num + 0.9 * np.eye(num)
    return SwitchingLinearDynamicalSystem(np.full(num, 1 / num), stay, [system] * num, listed)


def _drawn(
    model: SwitchingLinearDynamicalSystem, rng: np.random.Generator, fixed: Collection[str]
) -> SwitchingLinearDynamicalSystem:
    """Modes that move by other matrices, and more or less."""
    systems = [_varied(system, rng, fixed) for system in model.systems]
    engine = "auto" if model.engine is None else model.engine
    return SwitchingLinearDynamicalSystem(model.initial, model.switch_transition, systems, model.modes, engine=engine)


def _varied(system: LinearDynamicalSystem, rng: np.random.Generator, fixed: Collection[str]) -> LinearDynamicalSystem:
    size = len(system.states)
    parts: dict[str, Floats] = {}
    if "transition" not in fixed:
        moved = system.transition + 0.3 * rng.normal(size=(size, size)) / np.sqrt(size)
        radius = float(np.abs(np.linalg.eigvals(moved)).max(initial=0.0))
        parts["transition"] = moved * min(1.0, 0.98 / radius) if radius > 0 else moved
    if "transition_noise" not in fixed:
        parts["transition_noise"] = system.transition_noise * np.exp(rng.normal())
    return system.with_parameters(**parts)
