"""The run: steps from a state until a rule, a limit or the caller ends them, and the record of how it went."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeAlias, TypeVar

from plausible.base import Result, chart_by, check_count, check_number, check_seconds, ranked, score_noise
from plausible.errors import InvalidArgument

if TYPE_CHECKING:
    from plausible.base.pictured import Axes, Chart


@dataclass(frozen=True, slots=True)
class Clock:
    """When work began and when it has to end; it is handed down to everything that shares a limit.

    >>> Clock.of(None).is_over, Clock.of(0).is_over, Clock.of(None).seconds_left
    (False, True, inf)
    """

    #: Readings of `time.monotonic`; the deadline is infinite where there is no limit.
    start: float
    deadline: float

    @classmethod
    def of(cls, time_limit: float | None) -> Clock:
        """A clock that starts now and has so many seconds; `None` for no limit."""
        check_seconds("time_limit", time_limit)
        now = monotonic()
        return cls(now, math.inf if time_limit is None else now + time_limit)

    @property
    def seconds(self) -> float:
        """The time since it started."""
        return monotonic() - self.start

    @property
    def seconds_left(self) -> float:
        """The time to the deadline: none once that is over, infinite where there is no limit."""
        return max(0.0, self.deadline - monotonic())

    @property
    def is_over(self) -> bool:
        """Whether the time is over."""
        return monotonic() >= self.deadline

    def share(self, part: float) -> Clock:
        """A clock for a part of the time that is left: what begins now ends early enough for what comes then.

        >>> Clock.of(None).share(0.5).deadline
        inf
        """
        now = monotonic()
        return Clock(now, now + part * (self.deadline - now) if now < self.deadline else self.deadline)


#: The clock of work without a time limit.
UNLIMITED = Clock(0.0, math.inf)


StateT = TypeVar("StateT")
ItemT = TypeVar("ItemT")
Made = TypeVar("Made")

#: `Run.stopped_by` of a method that has come to its end. A method may have other reasons of its own.
CONVERGED = "converged"
#: Those of a run that could go on: a run that is given again looks at its limits anew.
LIMITS = ("step limit", "time limit", "interrupted")


@dataclass(frozen=True, slots=True)
class Stops:
    """When a run ends: the options that every iterative method takes, under the same names.

    Parameters
    ----------
    tolerance
        The change that counts as none; a change of what, the method says.
    progress
        Told the state after each step; a true answer ends the run, which can be resumed.
    checkpoint
        A file that holds how far the run is, of which it is the next part.

    Examples
    --------
    >>> Stops(max_steps=-1)
    Traceback (most recent call last):
        ...
    plausible.errors.InvalidArgument: max_steps=-1 must be a whole number of at least 0.
    """

    tolerance: float = 1e-6
    max_steps: int | None = 1000
    time_limit: float | None = None
    progress: Callable[[Any], object] | None = None
    checkpoint: Saving | None = None

    def __post_init__(self) -> None:
        check_number("tolerance", self.tolerance, least=0)
        if self.max_steps is not None:
            check_count("max_steps", self.max_steps)
        check_seconds("time_limit", self.time_limit)
        if self.progress is not None and not callable(self.progress):
            raise InvalidArgument(f"progress={self.progress!r} must be a function of the state, or None.")


@dataclass(frozen=True, slots=True, eq=False)
class Run(Generic[StateT]):
    """How a run went."""

    state: StateT  # The last state
    num_steps: int = 0  # The steps made, those before it was resumed included
    #: "converged", "step limit", "time limit", "interrupted" (`progress` said so), or a reason of the method's own; ""
    #: while it goes on.
    stopped_by: str = ""
    trace: Sequence[float] = ()  # The objective at the start and after each step, where the method has one
    seconds: float = 0.0  # The time that it took
    #: The state before the last step, which rules may compare with; `None` before the first.
    previous: StateT | None = None

    @property
    def converged(self) -> bool:
        """Whether the method came to its own end, and no limit cut it short."""
        return self.stopped_by == CONVERGED


class Saving(Protocol):
    """What keeps how far work is, part by part; see `checkpointed`."""

    def made(self, make: Callable[[], Made]) -> Made:
        """The next part: as it is known, or made."""

    def begun(self, start: Any) -> Any:
        """Where the next run goes on: at what is known of it, or at its start."""

    def reached(self, run: Run[Any]) -> str:
        """A rule that no run ends by."""

    def ended(self, run: Run[Any]) -> None:
        """The run, which is over."""


def made(saved: Saving | None, make: Callable[[], Made]) -> Made:
    """A part of some work, which is made unless it is known."""
    return make() if saved is None else saved.made(make)


class HasRun(Result):
    """A base of results that came of a `run`, a field or a property: they tell how it went under the same names."""

    __slots__ = ()

    _told: ClassVar[tuple[str, ...]] = ("num_steps", "converged", "stopped_by", "trace", "seconds")

    if TYPE_CHECKING:  # a property here would be taken for the default of a field

        @property
        def run(self) -> Run[Any]:
            """The run; the best one where there were several."""

    @property
    def num_steps(self) -> int:
        """The steps of the run."""
        return self.run.num_steps

    @property
    def converged(self) -> bool:
        """Whether the run came to its own end, and no limit cut it short."""
        return self.run.converged

    @property
    def stopped_by(self) -> str:
        """Why the run ended; see `Run`."""
        return self.run.stopped_by

    @property
    def trace(self) -> Sequence[float]:
        """The objective at the start and after each step of the run."""
        return self.run.trace

    @property
    def seconds(self) -> float:
        """The time that the run took."""
        return self.run.seconds

    def plot(self, ax: Axes | None = None) -> Chart:
        """Draw the objective, step by step; it needs matplotlib (the extra `plot`)."""
        return chart_by("plot_run", self, ax)


#: Looks at a run after a step and says why it ends here; "" to go on.
Rule: TypeAlias = Callable[[Run[Any]], str]


def iterate(
    step: Callable[[StateT], StateT],
    start: StateT | Run[StateT],
    stops: Stops,
    rules: Sequence[Rule] = (),
    *,
    ends: Callable[[StateT], str] | None = None,
    objective: Callable[[StateT], float] | None = None,
    clock: Clock | None = None,
) -> Run[StateT]:
    """Make steps until a state, a rule, a limit or the caller ends them.

    The driver takes about half a microsecond a step, and two more where there are rules.

    Parameters
    ----------
    step
        From a state to the next; exceptions pass through, and whoever keeps the last state that `progress` was told
        loses nothing by them.
    start
        The first state, or a run to go on with: its steps and its trace count, its time is added to.
    stops
        The limits, and whom to tell.
    rules
        Asked in order after each step, before `progress` is told.
    ends
        Why a state is the last one, "" if it is not: asked of the start, too, and before the rules.
    objective
        What the trace has of each state.
    clock
        Of several runs that share a time limit; by default a new one with that of `stops`.

    Examples
    --------
    Heron's method for the square root of 2; a rule sees the whole run, so that it may compare states or objectives:

    >>> settled = lambda run: "converged" if run.previous - run.state <= 1e-12 else ""
    >>> run = iterate(lambda x: (x + 2 / x) / 2, 2.0, Stops(), [settled])
    >>> round(run.state, 6), run.num_steps, run.stopped_by, run.converged
    (1.414214, 6, 'converged', True)
    """
    saved = stops.checkpoint
    if saved is not None:
        start, rules = saved.begun(start), [*rules, saved.reached]
    begun, deadline = monotonic(), (clock or Clock.of(stops.time_limit)).deadline
    run = start if isinstance(start, Run) else Run(start)
    before, state, num_steps = run.previous, run.state, run.num_steps
    trace = list(run.trace) if run.trace or objective is None else [objective(state)]
    most = math.inf if stops.max_steps is None else stops.max_steps
    stopped_by = "" if run.stopped_by in LIMITS else run.stopped_by
    stopped_by = stopped_by or (ends(state) if ends is not None else "")
    while not stopped_by:
        if num_steps >= most or monotonic() >= deadline:
            stopped_by = "step limit" if num_steps >= most else "time limit"
            break
        before, state, num_steps = state, step(state), num_steps + 1
        if objective is not None:
            trace.append(objective(state))
        if ends is not None:
            stopped_by = ends(state)
        if rules and not stopped_by:
            told = Run(state, num_steps, "", trace, run.seconds + monotonic() - begun, before)
            stopped_by = next(filter(None, (rule(told) for rule in rules)), "")
        if stops.progress is not None and stops.progress(state):
            stopped_by = stopped_by or "interrupted"
    ended = Run(state, num_steps, stopped_by, tuple(trace), run.seconds + monotonic() - begun, before)
    if saved is not None:
        is_cut = before is not None and ends is not None and ends(state) in LIMITS  # within its last step
        saved.ended(Run(before, num_steps - 1, stopped_by, tuple(trace[:-1])) if is_cut else ended)
    return ended


class _Convergent(Protocol):
    @property
    def converged(self) -> bool: ...


def ends_converged(state: _Convergent) -> str:
    """`ends` of states that know whether another step would change nothing that counts."""
    return CONVERGED if state.converged else ""


def best_run(
    run_from: Callable[[ItemT, Clock], Run[StateT]], starts: Iterable[ItemT], time_limit: Clock | float | None = None
) -> tuple[Run[StateT], ...]:
    """Runs from several starts under one clock, the greatest last objective first; of equal ones the first made.

    Starts are made one at a time, so that those that the caller or the clock leaves no time for cost nothing.

    >>> climb = lambda start, clock: iterate(lambda x: min(x + 1, 3), start, Stops(max_steps=2), objective=float)
    >>> [run.state for run in best_run(climb, [0, 5, 2])]
    [3, 3, 2]
    """
    clock, runs = time_limit if isinstance(time_limit, Clock) else Clock.of(time_limit), list[Run[StateT]]()
    for start in starts:
        runs.append(run_from(start, clock))
        if runs[-1].stopped_by in ("time limit", "interrupted") or clock.is_over:
            break
    return tuple(best_first(runs, lambda run: run.trace[-1]))


def best_first(items: Iterable[ItemT], objective: Callable[[ItemT], float]) -> list[ItemT]:
    """What reached the greatest objective first; what reached the same, but for rounding, in the order given.

    >>> best_first([0.3, 0.1 + 0.2, 0.7], abs)
    [0.7, 0.3, 0.30000000000000004]
    """
    made = list(items)
    return ranked(made, objective, score_noise(max(map(objective, made)))) if len(made) > 1 else made
