"""What structural EM shares with other searches over incomplete data: fitting a graph, completing, judging it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np

from plausible.base.options import check_count, check_number
from plausible.data.statistics import Statistics
from plausible.data.table_statistics import TableStatistics
from plausible.graphs import DAG
from plausible.learn.estimation.families import Families
from plausible.learn.estimation.family_posterior import Estimate
from plausible.learn.estimation.knowledge import ParameterKnowledge
from plausible.learn.estimation.priors import BDeu, PriorLike, is_no_prior
from plausible.learn.incomplete.cases import Cases
from plausible.learn.incomplete.em import em_run
from plausible.learn.incomplete.expectations import Expectations, FamilyCounts
from plausible.learn.incomplete.expected_statistics import ExpectedStatistics, completed_table
from plausible.learn.incomplete.functional import expected_log_likelihood
from plausible.learn.incomplete.maximization import Maximization
from plausible.learn.incomplete.problem import EMProblem, expectation_step
from plausible.learn.incomplete.starts import start_network
from plausible.learn.scores.dirichlet import BDeuScore
from plausible.learn.scores.penalized import BIC, LogLikelihood
from plausible.learn.scores.score import Score
from plausible.models import BayesianNetwork
from plausible.models.display import learned_html, title_of
from plausible.search.clock import Clock
from plausible.search.run import HasRun, Run, Stops, best_run, iterate

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


class Judge(ABC):
    """Fits graphs to incomplete data by EM and tells the score of what was observed."""

    __slots__ = ()

    cases: Cases  # the data; its variables are those of all graphs
    score: Score
    stops: Stops  # when EM ends
    clock: Clock  # that of all fits together

    @abstractmethod
    def maximization(self, graph: DAG) -> Maximization:
        """The M-step of a graph."""

    @abstractmethod
    def score_of(self, graph: DAG, network: BayesianNetwork, expectations: Expectations) -> float:
        """The score of the observed cells, where `expectations` are those under the network."""

    def start(self, graph: DAG, generator: np.random.Generator) -> BayesianNetwork:
        """Parameters to begin with, from the rows in which a family is complete; random ones where none has a cell."""
        return start_network(self.maximization(graph), self.cases, None, generator)

    def fit(self, graph: DAG, start: BayesianNetwork) -> FittedGraph:
        """EM from given parameters on the same graph, whose tables may have their parents in any order."""
        problem = EMProblem(expectation_step(self.cases), self.maximization(graph))
        ordered = start_network(problem.maximization, self.cases, start, np.random.default_rng(0))
        run = em_run(problem, problem.init(ordered), self.stops, clock=self.clock)
        network, expectations = run.state.network, run.state.expectations
        value = self.score_of(graph, network, expectations)
        return FittedGraph(graph, network, value, expectations.log_likelihood, run.num_steps)


@dataclass(frozen=True, eq=False)
class GraphJudge(Judge):
    """Judges graphs of states by any score of counts.

    The score is ℓ(θ̃ : D) + score(G : D*) - ℓ(θ̃ : D*), where D* are the data completed under θ̃. With BIC this is
    ℓ(θ̃ : D) less the price of the parameters; with a Bayesian score it is the approximation of Cheeseman & Stutz
    (1996), without a correction for states of hidden variables that could change their names.
    """

    cases: Cases
    score: Score = field(default_factory=BIC)
    prior: PriorLike = None  # of the parameters; see `learn_em`
    stops: Stops = field(default_factory=lambda: Stops(max_steps=100))
    clock: Clock = field(default_factory=lambda: Clock.of(None))

    @classmethod
    def by(
        cls, cases: Cases, score: Score, rules: GraphRules, prior: PriorLike = None, clock: Clock | None = None
    ) -> GraphJudge:
        """With the prior that goes with the score, unless given; its clock starts now."""
        given = usual_prior(score) if prior is None else prior
        return cls(cases, score, given, rules.em_stops, clock or Clock.of(rules.time_limit))

    def maximization(self, graph: DAG) -> Maximization:
        """With the prior where there is one, else of maximum likelihood."""
        variables = self.cases.variables
        parents = {name: tuple(map(str, graph.parents(name))) for name in variables}
        families = Families(variables, parents, FamilyCounts(variables, parents, {}, self.cases.total))
        estimate: Estimate = "mle" if is_no_prior(self.prior) else "mean"
        return Maximization.of(families, self.prior, estimate, {}, ParameterKnowledge())

    def from_counts(self, graph: DAG, statistics: Statistics) -> BayesianNetwork:
        """The parameters of greatest likelihood, or posterior, for completed data."""
        maximization = self.maximization(graph)
        even = start_network(maximization, self.cases, "uniform", np.random.default_rng(0))
        counts = {n: np.asarray(statistics.counts(n, p), np.float64) for n, p in maximization.parents.items()}
        return maximization.network(counts, even).network

    def score_of(self, graph: DAG, network: BayesianNetwork, expectations: Expectations) -> float:
        """By the counts that the network expects."""
        parents = {name: cpd.parent_names for name, cpd in network.cpds.items()}
        counts = FamilyCounts(self.cases.variables, parents, expectations.counts, self.cases.total)
        completed = self.score.on(counts).graph(graph)
        if is_no_prior(self.prior):  # EM may have ended early: only the price counts, not how far θ̃ is from the maximum
            return expectations.log_likelihood + completed - LogLikelihood().on(counts).graph(graph)
        return expectations.log_likelihood + completed - expected_log_likelihood(network, expectations)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class GraphRules:
    """What limits a run over graphs, and EM for the parameters of each."""

    max_steps: int
    em_steps: int
    em_tolerance: float = 1e-6
    progress: Callable[[Any], object] | None = None
    time_limit: float | None = None

    def __post_init__(self) -> None:
        check_count("em_steps", self.em_steps)
        check_number("em_tolerance", self.em_tolerance, least=0)
        Stops(max_steps=self.max_steps, time_limit=self.time_limit, progress=self.progress)

    @property
    def em_stops(self) -> Stops:
        """When EM ends for one graph."""
        return Stops(self.em_tolerance, self.em_steps)


class GraphState(Protocol):
    """Where a run over graphs is: see `SEMState`."""

    @property
    def best(self) -> FittedGraph:
        """The graph and its parameters."""

    @property
    def stopped_by(self) -> str:
        """Why no step comes after this one: nothing was gained, or a search was cut short; else empty."""


State = TypeVar("State", bound=GraphState)


def best_graphs(
    judge: Judge, step: Callable[[State], State], starts: Iterable[State], rules: GraphRules
) -> tuple[Run[State], tuple[float, ...]]:
    """The best of several runs, with the time that all took, and the scores of all, the best first."""
    stops = Stops(0.0, rules.max_steps, None, rules.progress)

    def run_from(first: State, clock: Clock) -> Run[State]:
        return iterate(step, first, stops, ends=attrgetter("stopped_by"), objective=_score, clock=clock)

    runs = best_run(run_from, starts, judge.clock)
    return replace(runs[0], seconds=judge.clock.seconds), tuple(run.trace[-1] for run in runs)


def _score(state: GraphState) -> float:
    return state.best.score


@dataclass(frozen=True, slots=True, eq=False)
class IncompleteFit(HasRun, Generic[State]):
    """A network learned from rows with missing cells, and how it was learned; what all such results have."""

    run: Run[State]

    @property
    def state(self) -> State:
        """The last state of the best run."""
        return self.run.state

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
