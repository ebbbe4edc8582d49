"""What structural EM shares with other searches over incomplete data: fitting a graph, completing, judging it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

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
from plausible.learn.incomplete.em import EMRules, em_init, em_run
from plausible.learn.incomplete.expectations import ExactExpectations, Expectations, FamilyCounts
from plausible.learn.incomplete.expected_statistics import ExpectedStatistics, completed_table
from plausible.learn.incomplete.functional import expected_log_likelihood
from plausible.learn.incomplete.maximization import Maximization
from plausible.learn.incomplete.starts import start_network
from plausible.learn.scores.dirichlet import BDeuScore
from plausible.learn.scores.penalized import BIC, LogLikelihood
from plausible.learn.scores.score import Score
from plausible.models import BayesianNetwork

__all__ = ["FittedGraph", "GraphJudge", "completed_statistics", "usual_prior"]

#: So many completed rows are as soon counted as the parts of those that are not complete.
_FEW_ROWS = 2**16


class FittedGraph(NamedTuple):
    """A graph with parameters fitted to incomplete data.

    Attributes
    ----------
    graph, network
        The graph, and the network on it.
    score
        The score of the observed cells; see `GraphJudge`.
    log_likelihood
        Of the observed cells.
    num_steps
        Steps of EM that it took.
    """

    graph: DAG
    network: BayesianNetwork
    score: float
    log_likelihood: float
    num_steps: int


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

    Parameters
    ----------
    cases
        The data; its variables are those of all graphs.
    score
        A score of counts.
    prior, estimate
        Of the parameters; see `learn_em`.
    rules
        When EM ends.
    """

    cases: Cases
    score: Score = field(default_factory=BIC)
    prior: PriorLike = None
    estimate: Estimate | None = None
    rules: EMRules = field(default_factory=lambda: EMRules(tolerance=1e-6, max_steps=100))

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
        step, maximization = ExactExpectations(self.cases), self.maximization(graph, fixed)
        ordered = start_network(maximization, self.cases, start, np.random.default_rng(0))
        run = em_run(step, maximization, em_init(step, maximization, ordered), self.rules)
        expectations = run.state.expectations
        value = self.of(graph, run.network, expectations)
        return FittedGraph(graph, run.network, value, run.log_likelihood, run.state.num_steps)

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
        return time.perf_counter() >= self.rules.deadline
