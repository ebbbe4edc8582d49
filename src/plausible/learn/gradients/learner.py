"""Learning parameters from incomplete data by climbing the likelihood, or that of some variables given the others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from operator import attrgetter
from typing import TypeAlias

import numpy as np

from plausible.base import Seed, check_count, generator_of
from plausible.data.table import TableLike
from plausible.errors import InvalidArgument, UnknownVariable, counted
from plausible.learn.estimation.families import ParameterKnowledge
from plausible.learn.estimation.priors import PriorLike
from plausible.learn.gradients.space import Objective, ObservedLikelihood, ParameterSpace
from plausible.models import BayesianNetwork
from plausible.models.shown_parts import learned_html, title_of
from plausible.search.ascent import AscentLike, AscentState, ascent_step, init_ascent, read_ascent
from plausible.search.run import CONVERGED, Clock, HasRun, Run, Stops, best_run, iterate

#: Called with the state after each step; returning true stops the ascent.
Progress: TypeAlias = Callable[[AscentState], object]


@dataclass(frozen=True, slots=True)
class GradientOptions:
    """How to ascend, and when to stop."""

    #: "l-bfgs", "conjugate-gradient", "steepest", or one of these with its numbers, such as
    #: `SteepestAscent(learning_rate=0.1)`.
    method: AscentLike = "l-bfgs"
    max_steps: int = 1000
    tolerance: float = 1e-7  # A climb has converged where no derivative exceeds this times the number of cases
    #: How many more starts, drawn at random: softmax coordinates from N(0, 1), so that no two states are alike.
    restarts: int = 0
    seed: Seed = None
    time_limit: float | None = None

    def __post_init__(self) -> None:
        read_ascent(self.method)
        check_count("restarts", self.restarts)
        Stops(self.tolerance, self.max_steps, self.time_limit)  # which checks them


@dataclass(frozen=True, slots=True, eq=False)
class GradientFit(HasRun):
    """A network whose parameters were learned by climbing, and how the climb went."""

    _told = ("log_likelihood", "objective", *HasRun._told)

    network: BayesianNetwork  # The network of the best climb
    log_likelihood: float  # What the data say of it: ℓ, or the conditional log-likelihood, without the prior
    #: The best climb, from which `resume=` goes on. It ended by "converged" (the gradient vanished), "stuck" (no step
    #: leads higher: numbers are exhausted), "step limit", "time limit" or "interrupted".
    run: Run[AscentState]
    run_objectives: tuple[float, ...]  # The final objective from each start, the given one first

    @property
    def objective(self) -> float:
        """What was climbed: the log-likelihood, and the log-density of the prior but for a constant."""
        return self.run.state.value

    def _repr_html_(self) -> str:
        return learned_html(self.network, title_of(self))

    def __repr__(self) -> str:
        ended = f"{self.stopped_by} after {counted(self.num_steps, 'step')}"
        return f"<GradientFit: log-likelihood {self.log_likelihood:.6g}, {ended}>"


def learn_by_gradient(
    start: BayesianNetwork,
    data: TableLike,
    prior: PriorLike = None,
    *,
    weights: Iterable[float] | None = None,
    knowledge: ParameterKnowledge | None = None,
    options: GradientOptions | None = None,
    progress: Progress | None = None,
    resume: Run[AscentState] | None = None,
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
    resume
        The run of an earlier fit from which to continue: `fit.run`.

    Examples
    --------
    >>> import plausible as pb
    >>> net = pb.BayesianNetwork(pb.TableCPD("A", [0.5, 0.5]), pb.TableCPD("B", [[0.6, 0.4], [0.3, 0.7]], ["A"]))
    >>> fit = pb.learn.gradient_ascent(net, {"A": [0, 0, 1, None], "B": [0, None, 1, 0]})
    >>> fit.stopped_by, fit.network.cpd("A").values.round(4)
    ('converged', array([0.75, 0.25]))
    """
    space = ParameterSpace.of(start, knowledge)
    likelihood = ObservedLikelihood.of(space.network, data, weights)
    objective = Objective(space, ((1.0, likelihood),), space.log_prior_weights(prior))
    return climb(objective, options or GradientOptions(), progress, resume)


def learn_conditional(
    start: BayesianNetwork,
    data: TableLike,
    targets: str | Iterable[str],
    prior: PriorLike = None,
    *,
    weights: Iterable[float] | None = None,
    knowledge: ParameterKnowledge | None = None,
    options: GradientOptions | None = None,
    progress: Progress | None = None,
    resume: Run[AscentState] | None = None,
) -> GradientFit:
    """The parameters at a local maximum of Σ_m w_m log P(y[m] | x[m], θ), where y are the targets and x the rest.

    This is log P(y, x) - log P(x), so that its gradient is the difference of two: expected counts given the whole row,
    less those given x alone. On a naive Bayes graph it is logistic regression, and has no local maxima that are not
    global (Roos et al. 2005); the maximum may lie at infinity where x separates the classes, and `max_steps` or a
    prior end the climb. Cells of both may be missing. Cost of a step: that of `learn_by_gradient`, twice.

    `targets` are the variables to predict; all else is as for `learn_by_gradient`.

    >>> from plausible.cpds import TableCPD
    >>> net = BayesianNetwork(TableCPD("Y", [0.5, 0.5]), TableCPD("X", [[0.6, 0.4], [0.3, 0.7]], ["Y"]))
    >>> fit = learn_conditional(net, {"X": [0, 0, 0, 1, 1], "Y": [0, 0, 1, 1, 0]}, "Y")
    >>> fit.network.query("Y", {"X": 0}).values.round(4)
    array([0.6667, 0.3333])
    """
    names = [targets] if isinstance(targets, str) else list(targets)
    if unknown := [name for name in names if name not in start.variables]:
        raise UnknownVariable.named(unknown[0], start.variables, "this network, though targets= names it")
    if not names:
        raise InvalidArgument("targets= names no variable: there is nothing to predict.")
    space = ParameterSpace.of(start, knowledge)
    whole = ObservedLikelihood.of(space.network, data, weights)
    terms = ((1.0, whole), (-1.0, whole.hiding(names)))
    objective = Objective(space, terms, space.log_prior_weights(prior))
    return climb(objective, options or GradientOptions(), progress, resume)


def climb(
    objective: Objective,
    options: GradientOptions,
    progress: Progress | None = None,
    resume: Run[AscentState] | None = None,
) -> GradientFit:
    """Climb from the start of the objective's space, or from a run, and from others at random; the best is told."""
    method, enough = read_ascent(options.method), options.tolerance * max(objective.total, 1.0)
    stops = Stops(options.tolerance, options.max_steps, options.time_limit, progress)
    first = resume or Run(init_ascent(objective.at, objective.space.start))
    if not np.isfinite(first.state.value):
        for _, likelihood in objective.terms:  # which names the row of the data that can't happen
            tables = objective.tables(objective.space.cpds(first.state.point))
            likelihood.refuse_impossible(likelihood.log_rows(tables))
        raise InvalidArgument("The prior rules the start out: an entry is zero whose pseudo-count exceeds one.")

    def starts() -> Iterator[AscentState]:
        yield first.state
        generator = generator_of(options.seed)
        for _ in range(options.restarts):
            yield init_ascent(objective.at, generator.normal(size=objective.space.start.size))

    def ends(state: AscentState) -> str:
        if np.abs(state.gradient).max(initial=0.0) <= enough and np.isfinite(state.value):
            return CONVERGED
        return "stuck" if state.is_stuck else ""

    reached: list[float] = []

    def run_from(state: AscentState, clock: Clock) -> Run[AscentState]:
        begin, value = first if state is first.state else state, attrgetter("value")
        run = iterate(
            lambda now: ascent_step(objective.at, now, method), begin, stops, ends=ends, objective=value, clock=clock
        )
        reached.append(run.state.value)
        return run

    best = best_run(run_from, starts(), options.time_limit)[0]
    point = best.state.point
    return GradientFit(objective.space.network_at(point), objective.log_likelihood(point), best, tuple(reached))
