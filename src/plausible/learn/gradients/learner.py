"""Learning parameters from incomplete data by climbing the likelihood along its gradient."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from plausible.base.arrays import Floats
from plausible.base.seeds import Seed, generator_of
from plausible.data.table import TableLike
from plausible.errors import InvalidArgument, counted
from plausible.learn.em_runs import best_first
from plausible.learn.estimation.knowledge import ParameterKnowledge
from plausible.learn.estimation.priors import PriorLike
from plausible.learn.gradients.ascent import AscentState, MethodLike, ascent_step, init_ascent, read_method
from plausible.learn.gradients.objective import Objective
from plausible.learn.gradients.observed import ObservedLikelihood
from plausible.learn.gradients.space import ParameterSpace
from plausible.models import BayesianNetwork
from plausible.models.display import learned_html, title_of

__all__ = ["GradientFit", "GradientOptions", "Progress", "climb", "learn_by_gradient"]

#: Called with the state after each step; returning true stops the ascent.
Progress: TypeAlias = Callable[[AscentState], object]
#: Why a climb ended.
Stopped: TypeAlias = Literal["converged", "stuck", "step limit", "time limit", "interrupted"]


@dataclass(frozen=True, slots=True)
class GradientOptions:
    """How to ascend, and when to stop.

    Parameters
    ----------
    method
        "l-bfgs", "conjugate-gradient", "steepest", or one of these with its numbers, such as
        `SteepestAscent(learning_rate=0.1)`.
    max_steps
        At most so many steps from each start.
    tolerance
        A climb has converged where no derivative exceeds this times the number of cases.
    restarts
        How many more starts, drawn at random: softmax coordinates from N(0, 1), so that no two states are alike.
    seed
        A number or a generator for the starts.
    time_limit
        Seconds for all climbs together.
    """

    method: MethodLike = "l-bfgs"
    max_steps: int = 1000
    tolerance: float = 1e-7
    restarts: int = 0
    seed: Seed = None
    time_limit: float | None = None

    def __post_init__(self) -> None:
        read_method(self.method)
        if not (self.max_steps >= 0 and self.restarts >= 0 and self.tolerance >= 0):
            raise InvalidArgument("max_steps=, restarts= and tolerance= of a climb are not negative.")


@dataclass(frozen=True, slots=True, eq=False)
class GradientFit:
    """A network whose parameters were learned by climbing, and how the climb went.

    Attributes
    ----------
    network
        The network of the best climb.
    log_likelihood
        What the data say of it: ℓ, or the conditional log-likelihood, without the prior.
    objective
        What was climbed: the same, and the log-density of the prior but for a constant.
    trace
        The objective at the start and after each of the steps.
    converged
        Whether the gradient vanished.
    stopped
        Why the climb ended: "converged", "stuck" (no step leads higher: numbers are exhausted), "step limit",
        "time limit" or "interrupted".
    steps
        How many steps were made, those of the climbs that it resumed among them.
    state
        The last state, from which `resume=` goes on.
    run_objectives
        The final objective from each start, the given one first.
    """

    network: BayesianNetwork
    log_likelihood: float
    objective: float
    trace: tuple[float, ...]
    converged: bool
    stopped: Stopped
    steps: int
    state: AscentState
    run_objectives: tuple[float, ...]

    def _repr_html_(self) -> str:
        return learned_html(self.network, title_of(self))

    def __repr__(self) -> str:
        return (
            f"<GradientFit: log-likelihood {self.log_likelihood:.6g}, "
            f"{self.stopped} after {counted(self.steps, 'step')}>"
        )


def learn_by_gradient(
    start: BayesianNetwork,
    data: TableLike,
    prior: PriorLike = None,
    *,
    weights: Iterable[float] | None = None,
    knowledge: ParameterKnowledge | None = None,
    options: GradientOptions | None = None,
    progress: Progress | None = None,
    resume: AscentState | None = None,
) -> GradientFit:
    """Learn parameters by gradient ascent on ℓ(θ) = Σ_m w_m log P(o[m] | θ), or on ℓ(θ) + log P(θ).

    Rows of tables use the unconstrained coordinates θ_x = exp λ_x / Σ_y exp λ_y; noisy-or and logistic distributions
    and trees use their own parameters, by the chain rule (Koller & Friedman 2009, section 19.2.1). EM is fast at the
    beginning and these methods at the end, so start from the network of a short EM run. Entries that are zero at the
    start stay zero. A step costs one or two passes over the distinct rows.

    Parameters
    ----------
    start
        A discrete network: the graph, the states, and where to start. States of a hidden variable that are alike at the
        start stay alike: see `GradientOptions(restarts=...)`.
    data
        Rows; cells or whole columns may be missing.
    prior
        The prior of tables and trees, with pseudo-counts of at least one: MAP instead of maximum likelihood. A leaf of
        a tree gets the pseudo-counts of all the rows it represents.
    weights
        How often each row counts; by default as the table says.
    knowledge
        Fixed CPDs, tied tables, and starting values.
    options
        How to ascend, and when to stop.
    progress
        Called with the state after each step; return true to stop.
    resume
        The state of an earlier fit from which to continue.

    Examples
    --------
    >>> import plausible as pb
    >>> net = pb.BayesianNetwork(pb.TableCPD("A", [0.5, 0.5]), pb.TableCPD("B", [[0.6, 0.4], [0.3, 0.7]], ["A"]))
    >>> fit = pb.learn.gradient_ascent(net, {"A": [0, 0, 1, None], "B": [0, None, 1, 0]})
    >>> fit.stopped, fit.network.cpd("A").values.round(4)
    ('converged', array([0.75, 0.25]))
    """
    space = ParameterSpace.of(start, knowledge)
    likelihood = ObservedLikelihood.of(space.network, data, weights)
    objective = Objective(space, ((1.0, likelihood),), space.log_prior_weights(prior))
    return climb(objective, options or GradientOptions(), progress, resume)


class _Run(NamedTuple):
    state: AscentState
    stopped: Stopped


def climb(
    objective: Objective, options: GradientOptions, progress: Progress | None = None, resume: AscentState | None = None
) -> GradientFit:
    """Climb from the start of the objective's space, and from others at random; the best climb is told.

    Parameters
    ----------
    objective
        What to climb.
    options
        How.
    progress
        Told the state after each step; a true answer stops it all.
    resume
        A state to go on from, instead of the first start.
    """
    deadline = None if options.time_limit is None else time.monotonic() + options.time_limit
    first = resume or init_ascent(objective.at, objective.space.start)
    if not np.isfinite(first.value):
        _explain_impossible(objective, first.point)
    runs = [_run(objective, first, options, progress, deadline)]
    for point in _starts(objective, options):
        if runs[-1].stopped in ("interrupted", "time limit"):
            break
        runs.append(_run(objective, init_ascent(objective.at, point), options, progress, deadline))
    best = best_first(runs, lambda run: run.state.value)[0]
    return GradientFit(
        objective.space.network_at(best.state.point),
        objective.log_likelihood(best.state.point),
        best.state.value,
        best.state.trace,
        best.stopped == "converged",
        best.stopped,
        best.state.step,
        best.state,
        tuple(run.state.value for run in runs),
    )


def _starts(objective: Objective, options: GradientOptions) -> list[Floats]:
    generator = generator_of(options.seed)
    return [generator.normal(size=objective.space.start.size) for _ in range(options.restarts)]


def _run(
    objective: Objective,
    state: AscentState,
    options: GradientOptions,
    progress: Progress | None,
    deadline: float | None,
) -> _Run:
    method = read_method(options.method)
    enough = options.tolerance * max(objective.total, 1.0)
    first, last = state.step, state.step + options.max_steps
    while True:
        stopped: Stopped | None = None
        if np.abs(state.gradient).max(initial=0.0) <= enough and np.isfinite(state.value):
            stopped = "converged"
        elif state.is_stuck:
            stopped = "stuck"
        elif state.step >= last:
            stopped = "step limit"
        elif deadline is not None and time.monotonic() >= deadline:
            stopped = "time limit"
        elif state.step > first and progress is not None and progress(state):
            stopped = "interrupted"
        if stopped:
            return _Run(state, stopped)
        state = ascent_step(objective.at, state, method)


def _explain_impossible(objective: Objective, point: Floats) -> None:
    """Name the row of the data that can't happen under the start."""
    for _, likelihood in objective.terms:
        likelihood.refuse_impossible(likelihood.log_rows(objective.tables(point)))
    raise InvalidArgument("The prior rules the start out: an entry is zero whose pseudo-count exceeds one.")
