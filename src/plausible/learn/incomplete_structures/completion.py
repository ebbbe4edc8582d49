"""What structural EM shares with other searches over incomplete data: fitting a graph, completing, judging it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol, TypeVar

import numpy as np

from plausible.cpds import CPD
from plausible.data.statistics import Statistics
from plausible.data.table_statistics import TableStatistics
from plausible.graphs import DAG
from plausible.learn.estimation.families import Families
from plausible.learn.estimation.family_posterior import Estimate
from plausible.learn.estimation.knowledge import ParameterKnowledge
from plausible.learn.estimation.priors import BDeu, PriorLike, is_no_prior
from plausible.learn.incomplete.cases import Cases
from plausible.learn.incomplete.em import em_run
from plausible.learn.incomplete.expectations import ExactExpectations, Expectations, FamilyCounts
from plausible.learn.incomplete.expected_statistics import ExpectedStatistics, completed_table
from plausible.learn.incomplete.functional import expected_log_likelihood
from plausible.learn.incomplete.maximization import Maximization
from plausible.learn.incomplete.problem import EMProblem
from plausible.learn.incomplete.starts import start_network
from plausible.learn.scores.dirichlet import BDeuScore
from plausible.learn.scores.penalized import BIC, LogLikelihood
from plausible.learn.scores.score import Score
from plausible.models import BayesianNetwork
from plausible.models.display import learned_html, title_of
from plausible.search.clock import Clock
from plausible.search.run import Stops, best_first

__all__ = [
    "FittedGraph",
    "GraphJudge",
    "GraphState",
    "IncompleteFit",
    "RunRules",
    "best_run",
    "completed_statistics",
    "judge_of",
    "run_steps",
    "usual_prior",
]

#: So many completed rows are as soon counted as the parts of those that are not complete.
_FEW_ROWS = 2**16


class FittedGraph(NamedTuple):
    """A graph with parameters fitted to incomplete data."""

    graph: DAG  # The graph, and the network on it
    network: BayesianNetwork
    score: float  # The score of the observed cells; see `GraphJudge`
    log_likelihood: float  # Of the observed cells
    num_steps: int  # Steps of EM that it took


def usual_prior(score: Score) -> PriorLike:
    """The prior of parameters that goes with a score: none with likelihoods, BDeu with BDeu."""
    return BDeu(score.equivalent_sample_size) if isinstance(score, BDeuScore) else None


def completed_statistics(
    network: BayesianNetwork, cases: Cases, max_completions: int = 2**22
) -> TableStatistics | ExpectedStatistics:
    """Counts of the completed data D* under a network: all completions of all rows, each with its probability.

    The rows are listed where they are few, so that tests of independence can have them too; else each family is counted
    from the completions of the parts that missing cells come in.
    """
    few = min(_FEW_ROWS, max_completions)
    if cases.num_completions <= few:
        return TableStatistics(completed_table(network, cases, few))
    return ExpectedStatistics(network, cases, max_completions=max_completions)


@dataclass(frozen=True, eq=False)
class GraphJudge:
    """Fits graphs to incomplete data by EM and tells the score of what was observed.

    The score is ℓ(θ̃ : D) + score(G : D*) - ℓ(θ̃ : D*), where D* are the data completed under θ̃. With BIC this is
    ℓ(θ̃ : D) less the price of the parameters; with a Bayesian score it is the approximation of Cheeseman & Stutz
    (1996), without a correction for states of hidden variables that could change their names.
    """

    cases: Cases  # The data; its variables are those of all graphs
    score: Score = field(default_factory=BIC)  # A score of counts
    prior: PriorLike = None  # Of the parameters; see `learn_em`
    estimate: Estimate | None = None
    stops: Stops = field(default_factory=lambda: Stops(max_steps=100))  # When EM ends
    clock: Clock = field(default_factory=lambda: Clock.of(None))  # That of all fits together

    def maximization(self, graph: DAG, fixed: Mapping[str, CPD] | None = None) -> Maximization:
        """The M-step of a graph; some distributions may be kept as they are."""
        variables = self.cases.variables
        parents = {name: tuple(map(str, graph.parents(name))) for name in variables}
        families = Families(variables, parents, FamilyCounts(variables, parents, {}, self.cases.total))
        knowledge = ParameterKnowledge(fixed=tuple((fixed or {}).values()))
        chosen: Estimate = self.estimate or ("mle" if is_no_prior(self.prior) else "mean")
        return Maximization.of(families, self.prior, chosen, {}, knowledge)

    def start(self, graph: DAG, generator: np.random.Generator) -> BayesianNetwork:
        """Parameters to begin with: random ones where there are hidden variables."""
        return start_network(self.maximization(graph), self.cases, None, generator)

    def from_counts(self, graph: DAG, statistics: Statistics) -> BayesianNetwork:
        """The parameters of greatest likelihood, or posterior, for completed data."""
        maximization = self.maximization(graph)
        even = start_network(maximization, self.cases, "uniform", np.random.default_rng(0))
        counts = {n: np.asarray(statistics.counts(n, p), np.float64) for n, p in maximization.parents.items()}
        return maximization.network(counts, even).network

    def fit(self, graph: DAG, start: BayesianNetwork, fixed: Mapping[str, CPD] | None = None) -> FittedGraph:
        """EM from given parameters on the same graph, whose tables may have their parents in any order."""
        problem = EMProblem(ExactExpectations(self.cases), self.maximization(graph, fixed))
        ordered = start_network(problem.maximization, self.cases, start, np.random.default_rng(0))
        run = em_run(problem, problem.init(ordered), self.stops, clock=self.clock)
        network, expectations = run.state.network, run.state.expectations
        value = self.of(graph, network, expectations)
        return FittedGraph(graph, network, value, expectations.log_likelihood, run.num_steps)

    def of(self, graph: DAG, network: BayesianNetwork, expectations: Expectations) -> float:
        """The score of the observed cells, where `expectations` are those under the network."""
        parents = {name: cpd.parent_names for name, cpd in network.cpds.items()}
        counts = FamilyCounts(self.cases.variables, parents, expectations.counts, self.cases.total)
        completed = self.score.on(counts).graph(graph)
        if is_no_prior(self.prior):  # EM may have ended early: only the price counts, not how far θ̃ is from the maximum
            return expectations.log_likelihood + completed - LogLikelihood().on(counts).graph(graph)
        return expectations.log_likelihood + completed - expected_log_likelihood(network, expectations)

    def is_late(self) -> bool:
        """Whether the time is up."""
        return self.clock.is_over


class HasClock(Protocol):
    """What knows when a run has to end: see `GraphJudge`."""

    def is_late(self) -> bool:
        """Whether the time is up."""


class GraphState(Protocol):
    """What a run is at: see `SEMState`."""

    @property
    def best(self) -> FittedGraph:
        """The graph and its parameters."""

    @property
    def trace(self) -> tuple[float, ...]:
        """The score of the observed cells at the start and after each step."""

    @property
    def has_settled(self) -> bool:
        """Whether the last step gained nothing."""

    @property
    def cut_short(self) -> str:
        """Why the last step did not come to its end; empty where it did."""


State = TypeVar("State", bound=GraphState)


class RunRules(Protocol):
    """What limits a run: see `SEMRules`."""

    @property
    def max_steps(self) -> int:
        """At most so many steps."""

    @property
    def em_steps(self) -> int:
        """Steps of EM for the parameters of each graph."""

    @property
    def em_tolerance(self) -> float:
        """The relative gain that ends them."""

    @property
    def time_limit(self) -> float | None:
        """In seconds."""

    @property
    def progress(self) -> Callable[..., object] | None:
        """Told the state after each step; a true answer ends the run."""


@dataclass(frozen=True, slots=True, eq=False)
class IncompleteFit:
    """A network learned from rows with missing cells, and how it was learned; what all such results have."""

    state: GraphState  # The last state of the best run
    stopped: str  # Why it ended

    @property
    def network(self) -> BayesianNetwork:
        """The network learned, with the parameters that EM found."""
        return self.state.best.network

    def _repr_html_(self) -> str:
        return learned_html(self.network, title_of(self))

    @property
    def graph(self) -> DAG:
        """Its graph."""
        return self.state.best.graph

    @property
    def score(self) -> float:
        """The score of the observed cells."""
        return self.state.best.score

    @property
    def log_likelihood(self) -> float:
        """Σ log P(observed cells)."""
        return self.state.best.log_likelihood

    @property
    def trace(self) -> tuple[float, ...]:
        """The score at the start and after each step."""
        return self.state.trace

    @property
    def converged(self) -> bool:
        """Whether the last step found nothing better."""
        return self.stopped in ("converged", "local maximum")


def judge_of(cases: Cases, score: Score, prior: PriorLike, rules: RunRules) -> GraphJudge:
    """What fits and judges graphs in a run that begins now."""
    stops, clock = Stops(rules.em_tolerance, rules.em_steps), Clock.of(rules.time_limit)
    return GraphJudge(cases, score, usual_prior(score) if prior is None else prior, stops=stops, clock=clock)


def run_steps(judge: HasClock, step: Callable[[State], State], state: State, rules: RunRules) -> tuple[State, str]:
    """Steps from a state until nothing is gained, and why they ended; the state can be given again to go on."""
    for _ in range(rules.max_steps):
        if judge.is_late():
            return state, "time limit"
        state = step(state)
        if rules.progress is not None and rules.progress(state):
            return state, "interrupted"
        if state.cut_short:
            return state, state.cut_short
        if state.has_settled:
            return state, "converged"
    return state, "step limit"


def best_run(runs: Sequence[tuple[State, str]]) -> tuple[State, str, tuple[float, ...]]:
    """The last state of the best run, why it ended, and the scores of all runs, the best first."""
    ordered = best_first(runs, lambda run: run[0].best.score)
    state, stopped = ordered[0]
    return state, stopped, tuple(run.best.score for run, _ in ordered)
