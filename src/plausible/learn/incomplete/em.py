"""Expectation maximisation: the parameters of a network from rows with missing cells (Lauritzen 1995)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from operator import attrgetter
from types import MappingProxyType
from typing import Literal, TypeAlias

import numpy as np

from plausible.base import FIT_HINTS, Flags, Hinted, Seed, check_count, generator_of, keyword_hints
from plausible.data.table_statistics import DataLike
from plausible.errors import InvalidArgument, counted, suggestion, warn_caller
from plausible.inference.engines import Engine
from plausible.kernels.jit import repeated
from plausible.learn.estimation.families import CPDLearner, ParameterKnowledge, UnidentifiedParameters
from plausible.learn.estimation.priors import Estimate, PriorLike
from plausible.learn.incomplete.accelerated_em import HybridEM, OverrelaxedEM, SquaredEM
from plausible.learn.incomplete.cases import IncompleteRows
from plausible.learn.incomplete.expectations import Expectations
from plausible.learn.incomplete.maximization import Masks
from plausible.learn.incomplete.methods import FamilyEM, HardEM, IncrementalEM, VariationalEM
from plausible.learn.incomplete.problem import EMMethod, EMProblem, EMState, PlainEM, read_problem
from plausible.learn.incomplete.reading import read_rows
from plausible.learn.incomplete.searching_em import AnnealedEM, BeamEM, PerturbedEM, ReweightedEM
from plausible.learn.incomplete.starts_and_stops import (
    StartLike,
    Stopping,
    ValidationGain,
    read_stopping,
    start_network,
    warn_of_symmetry,
)
from plausible.models import BayesianNetwork
from plausible.models.shown_parts import learned_html, title_of
from plausible.search.checkpoint import AnyPath, checkpointed
from plausible.search.run import Clock, HasRun, Run, Stops, best_run, iterate
from plausible.variables import Variable

#: Told the state after each step; a true answer ends the run.
EMProgress: TypeAlias = Callable[[EMState], object]

#: A method with its options, or its name.
EMMethodLike: TypeAlias = (
    EMMethod
    | Literal["em", "hard", "incremental", "family", "squared", "overrelaxed", "hybrid"]
    | Literal["annealed", "reweighted", "beam", "perturbed", "variational"]
)

#: Name -> method with its usual options.
EM_METHODS: Mapping[str, Callable[[], EMMethod]] = MappingProxyType(
    {
        "em": PlainEM,
        "hard": HardEM,
        "incremental": IncrementalEM,
        "family": FamilyEM,
        "squared": SquaredEM,
        "overrelaxed": OverrelaxedEM,
        "hybrid": HybridEM,
        "annealed": AnnealedEM,
        "reweighted": ReweightedEM,
        "beam": BeamEM,
        "perturbed": PerturbedEM,
        "variational": VariationalEM,
    }
)

#: Final objectives that differ by less than this, relatively, are taken for the same optimum.
_SAME_OPTIMUM = 1e-4
#: Few runs end after less steps.
_FEW_STEPS = 10


def read_em_method(method: EMMethodLike) -> EMMethod:
    """The method that a name stands for."""
    if isinstance(method, EMMethod):
        return method
    if method not in EM_METHODS:
        raise InvalidArgument(f"method={method!r} is no way to run EM.{suggestion(str(method), EM_METHODS)}")
    return EM_METHODS[method]()


def em_run(
    problem: EMProblem,
    start: EMState | Run[EMState],
    stops: Stops | None = None,
    *,
    stopping: Stopping = "likelihood",
    method: EMMethodLike = "em",
    clock: Clock | None = None,
) -> Run[EMState]:
    """Steps from a state of the method until a rule or a limit ends them; the run can be given again to go on.

    Its state is the last one; of a run that the validation data ended, the one before, which is the best on these.

    Parameters
    ----------
    problem
        The E-step and the M-step; see `read_problem`.
    start
        The first state, such as `problem.at(network)`, or a run to go on with.
    stops, clock
        The limits, the tolerance of the rule, and whom to tell; the clock of several runs that share a time limit.
    stopping, method
        See `learn.em`.

    Examples
    --------
    >>> problem = read_problem("rain -> grass", {"rain": ["no", "yes", None], "grass": ["dry", "wet", "wet"]})
    >>> network = start_network(problem.maximization, problem.cases, "uniform", np.random.default_rng(0))
    >>> run = em_run(problem, problem.at(network), Stops(max_steps=1))
    >>> run.stopped_by, em_run(problem, run, Stops()).converged
    ('step limit', True)
    """
    limits, way = stops or Stops(), read_em_method(method)
    rule, num_scheduled, judge = read_stopping(stopping, limits.tolerance), way.num_scheduled, problem.validation

    def judged(state: EMState, trace: tuple[float, ...] = ()) -> EMState:
        assert judge is not None
        return replace(state, validation_trace=(*trace, judge.at(state.network).log_likelihood))

    def judged_step(state: EMState) -> EMState:
        return judged(way.step(problem, state), state.validation_trace)

    def settled(run: Run[EMState]) -> str:
        if run.state.num_steps <= num_scheduled:
            return ""
        early = num_scheduled - (run.state.num_steps - run.num_steps)  # the steps of this run that the schedule made
        return rule(replace(run, trace=run.trace[early:]) if early > 0 else run)

    first = start if judge is None or isinstance(start, Run) else judged(start)
    step, ends = partial(way.step, problem) if judge is None else judged_step, [settled if num_scheduled else rule]
    run = iterate(step, first, limits, ends, objective=attrgetter("objective"), clock=clock)
    if run.stopped_by == "validation" and run.previous is not None:
        return replace(run, state=run.previous, num_steps=run.num_steps - 1, trace=run.trace[:-1], previous=None)
    return run


@dataclass(frozen=True, slots=True, eq=False)
class EMFit(HasRun, Hinted):
    """A network learned by EM; made by `learn.em`."""

    _hints, _told = FIT_HINTS, ("log_likelihood", *HasRun._told)

    runs: tuple[Run[EMState], ...]  # All runs, that with the largest objective first
    cases: IncompleteRows  # The data: `Cases`, or `CasesInPieces`

    @property
    def run(self) -> Run[EMState]:
        """The run with the largest objective; it ended by "validation" where the validation data say so."""
        return self.runs[0]

    @property
    def network(self) -> BayesianNetwork:
        """The network learned."""
        return self.run.state.network

    @property
    def log_likelihood(self) -> float:
        """Σ log P(observed cells), where `is_exact`; else what the method or the engine has in its place."""
        return self.expectations.log_likelihood

    @property
    def is_exact(self) -> bool:
        """Whether the expectations under the network are exact, and not a bound, an estimate or one completion."""
        return self.expectations.is_exact

    @property
    def objective(self) -> float:
        """The log-likelihood, and Σ e log θ of the prior where there is one."""
        return self.run.state.objective

    @property
    def converged(self) -> bool:
        """Whether the best run ended by its own rule."""
        return self.stopped_by in ("converged", "validation")

    @property
    def seconds(self) -> float:
        """The time that all runs took."""
        return sum(run.seconds for run in self.runs)

    @property
    def hidden(self) -> tuple[str, ...]:
        """The variables that no row observes; their states are interchangeable."""
        return tuple(self.cases.hidden)

    @property
    def expectations(self) -> Expectations:
        """What the network expects of its families, given the data."""
        return self.run.state.expectations

    @property
    def unidentified(self) -> Masks:
        """Name -> rows of its table of which nothing is expected, and which are as they were at the start."""
        return self.run.state.kept_rows

    def poorly_determined(self, num_cases: float = 1.0) -> dict[str, Flags]:
        """Name -> rows u of its table with an expected number of cases M̄[u] below a limit: little is known of them."""
        numbers = self.cases.continuous
        masks = {
            name: (counts[..., 0, 0] if name in numbers else counts.sum(axis=-1)) < num_cases
            for name, counts in self.expectations.counts.items()
        }
        return {name: mask for name, mask in masks.items() if mask.any()}

    @property
    def num_optima(self) -> int:
        """How many different optima the runs found, by their objectives; states of hidden variables may be permuted."""
        reached = sorted(run.state.objective for run in self.runs)
        return 1 + int((np.diff(reached) > _SAME_OPTIMUM * (1.0 + abs(reached[-1]))).sum())

    def _repr_html_(self) -> str:
        return learned_html(self.network, title_of(self))

    def __repr__(self) -> str:
        ended = f"{counted(self.num_steps, 'step')}, {self.stopped_by}"
        return f"<EMFit: log-likelihood {self.log_likelihood:.6g}, {ended}>"


@keyword_hints
def learn_em(
    graph: object,
    data: DataLike,
    prior: PriorLike = None,
    *,
    estimate: Estimate | None = None,
    start: StartLike = None,
    restarts: int = 0,
    seed: Seed = 0,
    tolerance: float = 1e-6,
    max_steps: int = 1000,
    stopping: Stopping = "likelihood",
    validation: DataLike | None = None,
    kinds: Mapping[str, str | CPDLearner] | None = None,
    knowledge: ParameterKnowledge | None = None,
    hidden: Mapping[str, int] | Iterable[Variable] = (),
    method: EMMethodLike = "em",
    engine: Engine | None = None,
    progress: EMProgress | None = None,
    time_limit: float | None = None,
    checkpoint: AnyPath | None = None,
) -> EMFit:
    """Learn the parameters of a network from data with missing cells, by expectation maximisation.

    An E-step computes the expected counts M̄[x, u] = Σ_rows P(x, u | row, θ), and the expected second moments of
    continuous families; an M-step finds the parameters of greatest likelihood for them. The log-likelihood of the
    observed cells, plus the log-prior if there is one, never decreases; fixed points are its stationary points, usually
    local maxima. Cells must be missing at random: whether a cell is missing may depend on observed cells, but not on
    its own value (Rubin 1976). A step costs one pass over the clique tree for each group of cases that a clique can't
    tell apart. EM converges linearly, and more slowly the more is missing.

    Parameters
    ----------
    graph
        A DAG, a string of arrows, or a network, which also sets the states of its variables.
    data
        Rows with missing cells (None, NaN), or statistics of them; where they come in pieces, each step is one pass.
    prior
        The prior of tables and trees: one for all, or name -> prior.
    estimate
        The posterior "mean", which for Dirichlet posteriors is also the mode in the coordinates log θ, the mode in θ
        ("map") or maximum likelihood ("mle"). By default the mean if there is a prior, else maximum likelihood.
    start
        Where to start: a network, which also sets the states of its variables, where `graph` does not; "available"
        (estimates from the rows in which a family is complete), "random", "prior" or "uniform" tables; or a `Table` of
        completed rows. By default families with hidden variables are random, and others "available".
    restarts
        How many more runs to make from random tables; all are kept, and the best one is the answer.
    tolerance, stopping
        When to stop: "likelihood" (the objective gains at most tolerance · |objective|), "parameters" (no probability
        changes by more than the tolerance), "extrapolated" (the distance to the limit, estimated from the linear rate
        of the last gains, is at most tolerance · |objective|), or "validation" (the log-likelihood of `validation` does
        not rise; the previous network is returned). With an approximate engine the objective may fall. If it fell in
        the last ten steps, the first and third rules require that the average gain over ten steps, by least squares, is
        within tolerance · |objective| and within twice its standard error: a trend that stands out from the noise is
        not convergence. Or a rule of your own: a function of the `Run` that gives a reason to stop, or "".
    validation
        The rows to use with stopping="validation".
    kinds
        Name -> kind of distribution, if not a table, or a learner; see `learn.parameters`. A tree for which `knowledge`
        has a start keeps its splits. Continuous variables are linear Gaussian for each state of their discrete parents;
        a `GaussianMomentLearner` sets the smallest variance and the prior of the coefficients.
    knowledge
        Fixed CPDs, tied tables, and starting values.
    hidden
        Variables of the graph that are not in the data: name -> number of states, or `Variable` objects, which may be
        continuous.
    method
        "em"; "squared" or "overrelaxed" (longer steps) and "hybrid" (then L-BFGS), which are faster at the end;
        "incremental" (blocks of cases) and "family" (one distribution at a time); "hard" (most probable completions);
        "annealed", "reweighted", "beam" and "perturbed", which look for better optima; "variational" (mean field). Or
        one of these with its options, such as `IncrementalEM(num_blocks=50)`.
    engine
        How to compute the expected counts, if exact inference is too costly: see `EngineExpectations`.

    Warns
    -----
    UnidentifiedParameters
        If there are neither rows nor a prior.
    SymmetricStart
        If the states of a hidden variable are all alike at the start, as with "uniform": they stay alike.

    Examples
    --------
    >>> import plausible as pb
    >>> rows = {"rain": ["no", "yes", None, "no"], "grass": ["dry", "wet", "wet", None]}
    >>> fit = pb.learn.em("rain -> grass", rows)
    >>> fit.converged, round(fit.log_likelihood, 3)
    (True, -2.773)
    """
    clock, way = Clock.of(time_limit), read_em_method(method)
    Stops(tolerance, max_steps, time_limit, progress)  # which refuses what can't be
    read = read_problem(graph, data, hidden, prior, estimate, kinds, knowledge, start)
    rule = read_stopping(stopping, tolerance)
    if isinstance(rule, ValidationGain) != (validation is not None):
        raise InvalidArgument("stopping='validation' and validation=rows go together: rows that are not learned from.")
    problem = EMProblem(way.expectation_step(read.cases, engine), read.maximization)
    if validation is not None:
        held_out = read_rows(read.maximization.variables, validation)
        problem = replace(problem, validation=way.expectation_step(held_out, engine, read.cases))

    def asked() -> dict[str, object]:
        held_out = None if problem.validation is None else problem.validation.cases
        told = {"graph, prior or knowledge": problem.maximization, "data": problem.cases, "validation": held_out}
        ways = {"method": way, "engine": engine, "tolerance": tolerance, "max_steps": max_steps, "stopping": stopping}
        return {**told, **ways, "start": start, "restarts": restarts, "seed": seed}

    with checkpointed(checkpoint, "learn.em", asked) as saved:
        stops = Stops(tolerance, max_steps, time_limit, progress, saved)
        return best_em(problem, start, restarts, seed, stops, clock, stopping=rule, method=way)


def best_em(
    problem: EMProblem,
    start: StartLike,
    restarts: int,
    seed: Seed,
    stops: Stops,
    clock: Clock,
    *,
    stopping: Stopping = "likelihood",
    method: EMMethod | None = None,
) -> EMFit:
    """The run from the start and those from random tables; a warning where there were no rows to learn from."""
    check_count("restarts", restarts)
    way, generator = method or PlainEM(), generator_of(seed)

    def begun(wanted: StartLike) -> EMState:
        network = start_network(problem.maximization, problem.cases, wanted, generator)
        warn_of_symmetry(network, problem.cases)
        saved = stops.checkpoint
        return way.init(problem, network) if saved is None else saved.made(partial(way.init, problem, network))

    few = _FEW_STEPS if stops.max_steps is None else min(stops.max_steps, _FEW_STEPS)
    with repeated(few if stops.time_limit is None else 1):
        runs = best_run(
            lambda state, _: em_run(problem, state, stops, stopping=stopping, method=way, clock=clock),
            (begun("random" if number else start) for number in range(restarts + 1)),
            clock,
        )
    fit = EMFit(runs, problem.cases)
    if not problem.cases.total and fit.unidentified:
        warn_caller(
            f"There are no rows that count: the numbers of {list(fit.unidentified)[:5]} are those of the start. Give "
            "rows, or a prior=, such as BDeu(10).",
            UnidentifiedParameters,
        )
    return fit
