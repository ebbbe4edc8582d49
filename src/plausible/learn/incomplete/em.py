"""Expectation maximisation: the parameters of a network from rows with missing cells (Lauritzen 1995)."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from plausible.base.arrays import Flags
from plausible.base.hints import FIT_HINTS, Hinted
from plausible.base.options import check_number, read_count
from plausible.base.seeds import Seed, generator_of
from plausible.data.table import TableLike
from plausible.errors import InvalidArgument, counted, suggestion, warn_caller
from plausible.inference.engines import Engine
from plausible.kernels.jit import repeated
from plausible.learn.em_runs import best_first
from plausible.learn.estimation.family_posterior import Estimate
from plausible.learn.estimation.fit import UnidentifiedParameters
from plausible.learn.estimation.knowledge import ParameterKnowledge
from plausible.learn.estimation.priors import PriorLike
from plausible.learn.estimation.task import CPDLearner
from plausible.learn.incomplete.cases import Cases
from plausible.learn.incomplete.em_state import EMMethod, EMState, Masks, PlainEM, em_init, em_step
from plausible.learn.incomplete.expectations import Expectations, ExpectationStep
from plausible.learn.incomplete.maximization import Maximization
from plausible.learn.incomplete.methods import EMMethodLike, read_em_method
from plausible.learn.incomplete.problem import EMProblem, read_problem
from plausible.learn.incomplete.starts import StartLike, start_network, warn_of_symmetry
from plausible.learn.incomplete.stopping import STOPPING, Stopping, largest_change
from plausible.models import BayesianNetwork
from plausible.models.display import learned_html, title_of
from plausible.variables import Variable

__all__ = [
    "EMFit",
    "EMProgress",
    "EMRules",
    "EMRun",
    "EMState",
    "best_fit",
    "em_init",
    "em_run",
    "em_runs",
    "em_step",
    "learn_em",
]

#: Told the state after each step; a true answer ends the run.
EMProgress: TypeAlias = Callable[[EMState], object]

#: Final objectives that differ by less than this, relatively, are taken for the same optimum.
_SAME_OPTIMUM = 1e-4
#: Few runs end after less steps.
_FEW_STEPS = 10


@dataclass(frozen=True, slots=True, eq=False)
class EMRules:
    """When a run ends.

    Attributes
    ----------
    stopping, tolerance
        The rule, and the number that it compares with; see `learn.em`.
    max_steps
        At most so many steps.
    deadline
        Not after this time of `time.perf_counter`.
    validation
        The E-step on data that the network is not fitted to.
    progress
        Told the state after each step; a true answer ends the run.
    method
        How steps are made.
    """

    stopping: Stopping = "likelihood"
    tolerance: float = 1e-6
    max_steps: int = 1000
    deadline: float = float("inf")
    validation: ExpectationStep | None = None
    progress: EMProgress | None = None
    method: EMMethod = field(default_factory=PlainEM)

    def __post_init__(self) -> None:
        check_number("tolerance", self.tolerance, least=0)
        read_count("max_steps", self.max_steps)


@dataclass(frozen=True, slots=True, eq=False)
class EMRun:
    """One run of EM: its last state (the best on the validation data, where there are), and why it ended.

    `stopped` is "converged", "validation", "step limit", "time limit" or "interrupted".
    """

    state: EMState
    stopped: str
    validation_trace: tuple[float, ...] = ()

    @property
    def network(self) -> BayesianNetwork:
        """The network learned."""
        return self.state.network

    @property
    def objective(self) -> float:
        """The log-likelihood, and the log-prior where there is one."""
        return self.state.objective

    @property
    def log_likelihood(self) -> float:
        """That of the observed cells; what the method or the engine has in its place where they are not exact."""
        return self.state.expectations.log_likelihood

    def __repr__(self) -> str:
        return (
            f"<EMRun: log-likelihood {self.log_likelihood:.6g}, "
            f"{counted(self.state.num_steps, 'step')}, {self.stopped}>"
        )


def em_run(step: ExpectationStep, maximization: Maximization, state: EMState, rules: EMRules) -> EMRun:
    """Steps from a state of the method until a rule ends them; the last state can be given again to go on."""
    held = () if rules.validation is None else (rules.validation.at(state.network).log_likelihood,)
    settled: int | None = None  # the step at which the schedule of the method was over: before it objectives may fall
    for _ in range(rules.max_steps):
        if time.perf_counter() >= rules.deadline:
            return EMRun(state, "time limit", held)
        before, state = state, rules.method.step(step, maximization, state)
        if rules.validation is not None:
            held = (*held, rules.validation.at(state.network).log_likelihood)
        if rules.progress is not None and rules.progress(state):
            return EMRun(state, "interrupted", held)
        if not rules.method.is_settled(before):
            continue
        settled = before.num_steps if settled is None else settled
        if rules.stopping == "parameters":
            if largest_change(before.network, state.network) <= rules.tolerance:
                return EMRun(state, "converged", held)
        elif rules.stopping == "validation":
            if STOPPING["validation"](held, rules.tolerance):
                return EMRun(before, "validation", held)
        elif STOPPING[rules.stopping](state.trace[settled:], rules.tolerance):
            return EMRun(state, "converged", held)
    return EMRun(state, "step limit", held)


@dataclass(frozen=True, slots=True, eq=False)
class EMFit(Hinted):
    """A network learned by EM; made by `learn.em`.

    Attributes
    ----------
    best
        The run with the largest objective.
    runs
        All runs, the best first.
    hidden
        The variables that no row observes; their states are interchangeable.
    cases
        The data.
    seconds
        How long it took.
    """

    _hints = FIT_HINTS

    best: EMRun
    runs: tuple[EMRun, ...]
    hidden: tuple[str, ...]
    cases: Cases
    seconds: float

    @property
    def network(self) -> BayesianNetwork:
        """The network learned."""
        return self.best.network

    @property
    def log_likelihood(self) -> float:
        """Σ log P(observed cells), where `is_exact`; else what the method or the engine has in its place."""
        return self.best.log_likelihood

    @property
    def is_exact(self) -> bool:
        """Whether the expectations under the network are exact, and not a bound, an estimate or one completion."""
        return self.expectations.is_exact

    @property
    def objective(self) -> float:
        """The log-likelihood, and Σ e log θ of the prior where there is one."""
        return self.best.objective

    @property
    def trace(self) -> tuple[float, ...]:
        """The objective at the start and after each step."""
        return self.best.state.trace

    @property
    def steps(self) -> int:
        """The number of steps of the best run."""
        return self.best.state.num_steps

    @property
    def stopped(self) -> str:
        """Why the best run ended: "converged", "validation", "step limit", "time limit" or "interrupted"."""
        return self.best.stopped

    @property
    def converged(self) -> bool:
        """Whether the best run ended by its own rule."""
        return self.stopped in ("converged", "validation")

    @property
    def expectations(self) -> Expectations:
        """What the network expects of its families, given the data."""
        return self.best.state.expectations

    @property
    def unidentified(self) -> Masks:
        """Name -> rows of its table of which nothing is expected, and which are as they were at the start."""
        return self.best.state.kept_rows

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
        found = sorted(run.objective for run in self.runs)
        gaps = np.diff(found) > _SAME_OPTIMUM * (1.0 + abs(found[-1]))
        return 1 + int(gaps.sum())

    def _repr_html_(self) -> str:
        return learned_html(self.network, title_of(self))

    def __repr__(self) -> str:
        return f"<EMFit: log-likelihood {self.log_likelihood:.6g}, {counted(self.steps, 'step')}, {self.stopped}>"


def learn_em(
    graph: object,
    data: TableLike,
    prior: PriorLike = None,
    *,
    estimate: Estimate | None = None,
    start: StartLike = None,
    restarts: int = 0,
    seed: Seed = 0,
    tolerance: float = 1e-6,
    max_steps: int = 1000,
    stopping: Stopping = "likelihood",
    validation: TableLike | None = None,
    kinds: Mapping[str, str | CPDLearner] | None = None,
    knowledge: ParameterKnowledge | None = None,
    hidden: Mapping[str, int] | Iterable[Variable] = (),
    method: EMMethodLike = "em",
    engine: Engine | None = None,
    progress: EMProgress | None = None,
    time_limit: float | None = None,
) -> EMFit:
    """Learn the parameters of a network from data with missing cells, by expectation maximisation.

    An E-step computes the expected counts M̄[x, u] = Σ_rows P(x, u | row, θ), and the expected second moments of
    continuous families; an M-step finds the parameters of greatest likelihood for them. The log-likelihood of the
    observed cells, plus the log-prior if there is one, never decreases; fixed points are its stationary points, usually
    local maxima. Cells must be missing at random: whether a cell is missing may depend on observed cells, but not on
    its own value (Rubin 1976).

    Parameters
    ----------
    graph
        A DAG, a string of arrows, or a network, which also sets the states of its variables.
    data
        Rows with missing cells (None, NaN).
    prior
        The prior of tables and trees: one for all, or name -> prior.
    estimate
        The posterior "mean", which for Dirichlet posteriors is also the mode in the coordinates log θ, the mode in θ
        ("map") or maximum likelihood ("mle"). By default the mean if there is a prior, else maximum likelihood.
    start
        Where to start: a network; "available" (estimates from the rows in which a family is complete), "random",
        "prior" or "uniform" tables; or a `Table` of completed rows. By default families with hidden variables are
        random, and others "available".
    restarts
        How many more runs to make from random tables; all are kept, and the best one is the answer.
    seed
        An integer or a NumPy generator; the same seed gives the same answer.
    tolerance, stopping
        When to stop: "likelihood" (the objective gains at most tolerance · |objective|), "parameters" (no probability
        changes by more than the tolerance), "extrapolated" (the distance to the limit, estimated from the linear rate
        of the last gains, is at most tolerance · |objective|), or "validation" (the log-likelihood of `validation` does
        not rise; the previous network is returned). With an approximate engine the objective may fall. If it fell in
        the last ten steps, the first and third rules require that the average gain over ten steps, by least squares, is
        within tolerance · |objective| and within twice its standard error: a trend that stands out from the noise is
        not convergence.
    max_steps
        The most steps in a run.
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
    progress
        Called with an `EMState` after each step; return true to stop.
    time_limit
        Stop after this many seconds, for all runs together, with the best network so far; `None` for no limit.

    Warns
    -----
    UnidentifiedParameters
        If there are neither rows nor a prior.
    SymmetricStart
        If the states of a hidden variable are all alike at the start, as with "uniform": they stay alike.

    Notes
    -----
    A step costs one pass over the clique tree for each group of cases that a clique can't tell apart. EM converges
    linearly, and more slowly the more is missing.

    Examples
    --------
    >>> import plausible as pb
    >>> rows = {"rain": ["no", "yes", None, "no"], "grass": ["dry", "wet", "wet", None]}
    >>> fit = pb.learn.em("rain -> grass", rows)
    >>> fit.converged, round(fit.log_likelihood, 3)
    (True, -2.773)
    """
    began = time.perf_counter()
    problem = read_problem(graph, data, hidden, prior, estimate, kinds, knowledge)
    if stopping not in (*STOPPING, "parameters"):
        raise InvalidArgument(
            f"stopping={stopping!r} is no rule.{suggestion(str(stopping), (*STOPPING, 'parameters'))}"
        )
    if (stopping == "validation") != (validation is not None):
        raise InvalidArgument("stopping='validation' and validation=rows go together: rows that are not learned from.")
    chosen = read_em_method(method)
    judge = (
        None if validation is None else chosen.expectation_step(_held_out(problem, validation), engine, problem.cases)
    )
    deadline = float("inf") if time_limit is None else began + time_limit
    rules = EMRules(stopping, tolerance, max_steps, deadline, judge, progress, chosen)
    step = chosen.expectation_step(problem.cases, engine)
    runs = em_runs(problem, step, start, restarts, generator_of(seed), rules)
    return best_fit(problem.cases, runs, began)


def best_fit(cases: Cases, runs: Sequence[EMRun], began: float) -> EMFit:
    """The runs ranked; a warning where there were no rows to learn from."""
    ordered = tuple(best_first(runs, lambda run: run.objective))
    fit = EMFit(ordered[0], ordered, tuple(cases.hidden), cases, time.perf_counter() - began)
    if not cases.total and fit.unidentified:
        warn_caller(
            f"There are no rows that count: the numbers of {list(fit.unidentified)[:5]} are those of the start. Give "
            "rows, or a prior=, such as BDeu(10).",
            UnidentifiedParameters,
        )
    return fit


def _held_out(problem: EMProblem, validation: TableLike) -> Cases:
    return Cases.of(problem.maximization.variables, validation, has_numbers=True)


def em_runs(
    problem: EMProblem,
    step: ExpectationStep,
    start: StartLike,
    restarts: int,
    generator: np.random.Generator,
    rules: EMRules,
) -> list[EMRun]:
    """The run from the start, and those from random tables."""
    maximization = problem.maximization
    read_count("restarts", restarts)
    more: list[StartLike] = ["random"] * restarts
    starts: Sequence[StartLike] = [start, *more]
    runs: list[EMRun] = []
    for wanted in starts:
        if runs and (runs[-1].stopped == "interrupted" or time.perf_counter() >= rules.deadline):
            break
        network = start_network(maximization, problem.cases, wanted, generator)
        warn_of_symmetry(network, problem.cases)
        state = rules.method.init(step, maximization, network)
        with repeated(min(rules.max_steps, _FEW_STEPS) if rules.deadline == math.inf else 1):
            runs.append(em_run(step, maximization, state, rules))
    return runs
