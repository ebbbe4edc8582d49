"""What structural EM shares with other searches over incomplete data: where to start, fitting a graph, judging it."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Any, Generic, Literal, NamedTuple, Protocol, TypeAlias, TypeVar

import numpy as np

from plausible.base import Checked, real, whole
from plausible.data import Statistics, Table
from plausible.data.sources import columns_of
from plausible.data.table_statistics import DataLike
from plausible.errors import InvalidArgument, PlausibleWarning, UnknownVariable, suggestion
from plausible.graphs import DAG
from plausible.learn.estimation.families import Families, ParameterKnowledge
from plausible.learn.estimation.priors import BDeu, Estimate, PriorLike, is_no_prior
from plausible.learn.incomplete.cases import Cases, IncompleteRows
from plausible.learn.incomplete.cases_in_pieces import CasesInPieces
from plausible.learn.incomplete.em import em_run
from plausible.learn.incomplete.expectations import Expectations, FamilyCounts
from plausible.learn.incomplete.maximization import Maximization
from plausible.learn.incomplete.problem import EMProblem, expectation_step, expected_log_likelihood
from plausible.learn.incomplete.reading import hidden_variables, refuse_seen, statistics_in_pieces
from plausible.learn.incomplete.starts_and_stops import start_network
from plausible.learn.scores.dirichlet import BDeuScore
from plausible.learn.scores.penalized import BIC, LogLikelihood
from plausible.learn.scores.score import Score
from plausible.learn.structures.knowledge import Knowledge
from plausible.models import BayesianNetwork
from plausible.models.shown_parts import learned_html, title_of
from plausible.search.run import Clock, HasRun, Run, Saving, Stops, best_run, iterate
from plausible.variables import Variable


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


class Judge(ABC):
    """Fits graphs to incomplete data by EM and tells the score of what was observed."""

    __slots__ = ()

    cases: IncompleteRows  # the data; its variables are those of all graphs
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
        run = em_run(problem, problem.at(ordered), self.stops, clock=self.clock)
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

    cases: IncompleteRows
    score: Score = field(default_factory=BIC)
    prior: PriorLike = None  # of the parameters; see `learn_em`
    stops: Stops = field(default_factory=lambda: Stops(max_steps=100))
    clock: Clock = field(default_factory=lambda: Clock.of(None))

    @classmethod
    def by(
        cls, cases: IncompleteRows, score: Score, rules: GraphRules, prior: PriorLike = None, clock: Clock | None = None
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

    def score_of(self, graph: DAG, network: BayesianNetwork, expectations: Expectations) -> float:
        """By the counts that the network expects."""
        parents = {name: cpd.parent_names for name, cpd in network.cpds.items()}
        counts = FamilyCounts(self.cases.variables, parents, expectations.counts, self.cases.total)
        completed = self.score.on(counts).graph(graph)
        if is_no_prior(self.prior):  # EM may have ended early: only the price counts, not how far θ̃ is from the maximum
            return expectations.log_likelihood + completed - LogLikelihood().on(counts).graph(graph)
        return expectations.log_likelihood + completed - expected_log_likelihood(network, expectations)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class GraphRules(Checked, em_steps=whole(), em_tolerance=real(least=0)):
    """What limits a run over graphs, and EM for the parameters of each."""

    max_steps: int
    em_steps: int
    em_tolerance: float = 1e-6
    progress: Callable[[Any], object] | None = None
    time_limit: float | None = None

    def __post_init__(self) -> None:
        Checked.__post_init__(self)
        Stops(max_steps=self.max_steps, time_limit=self.time_limit, progress=self.progress)

    @property
    def told(self) -> GraphRules:
        """What the answer depends on: all but whom to tell, and how long."""
        return replace(self, progress=None, time_limit=None)

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
    judge: Judge,
    step: Callable[[State], State],
    starts: Iterable[State],
    rules: GraphRules,
    checkpoint: Saving | None = None,
) -> tuple[Run[State], tuple[float, ...]]:
    """The best of several runs, with the time that all took, and the scores of all, the best first."""
    stops = Stops(0.0, rules.max_steps, None, rules.progress, checkpoint)

    def run_from(first: State, clock: Clock) -> Run[State]:
        score, ends = attrgetter("best.score"), attrgetter("stopped_by")
        return iterate(step, first, stops, ends=ends, objective=score, clock=clock)

    runs = best_run(run_from, starts, judge.clock)
    return replace(runs[0], seconds=judge.clock.seconds), tuple(run.trace[-1] for run in runs)


@dataclass(frozen=True, slots=True, eq=False)
class IncompleteFit(HasRun, Generic[State]):
    """A network learned from rows with missing cells, and how it was learned; what all such results have."""

    _told = ("graph", *HasRun._told)

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


#: A graph, arrow text, or a policy.
GraphStart: TypeAlias = "DAG | Literal['naive-bayes', 'random', 'empty'] | str | None"

_POLICIES = ("naive-bayes", "random", "empty")
#: Of the observed variables that a hidden one is joined to, at random.
_SHARE = 0.5
#: Without hidden variables a random graph gives each variable up to so many parents, required ones aside.
_MOST_PARENTS = 2


class DisconnectedHidden(PlausibleWarning):
    """A hidden variable has no edge at the start: structural EM will never give it one."""


def start_graph(
    start: GraphStart, cases: IncompleteRows, knowledge: Knowledge, generator: np.random.Generator | None = None
) -> DAG:
    """The graph to begin with, required edges included.

    "naive-bayes" joins each hidden variable to all observed ones, "random" to a random share of them; without hidden
    variables "naive-bayes" has the required edges alone, as "empty" has, and "random" is a sparse graph along a random
    order. By default "naive-bayes". Warns of hidden variables without an edge: they are independent of all that is
    observed, hence in the completed data too, and no edge gains (Koller & Friedman 2009, exercise 19.27).
    """
    names = [*cases.variables, *cases.continuous]
    policy = start if start is not None else "naive-bayes"
    if isinstance(policy, str) and policy.strip().replace("-", "").isalpha():
        if policy not in _POLICIES:
            raise InvalidArgument(f"start={policy!r} is no graph and no policy.{suggestion(policy, _POLICIES)}")
        graph = _by_policy(policy, DAG(knowledge.required, nodes=names), cases.hidden, knowledge, generator)
    else:
        graph = DAG(policy)
        UnknownVariable.check_all(graph.nodes, names, "the data. If it is hidden, say so: hidden={'H': 2}")
        graph = DAG(graph.edges, nodes=names)
    for name in cases.hidden:
        has_choice = name in cases.continuous or cases.variables[name].num_states > 1
        if not graph.neighbors(name) and has_choice:
            warnings.warn(
                f"The hidden variable {name!r} has no edge at the start and will never gain one: it is independent of "
                "all that is observed. Start from a graph that joins it to others, such as start='naive-bayes'.",
                DisconnectedHidden,
                stacklevel=3,
            )
    return graph


def _by_policy(
    policy: str, graph: DAG, hidden: Sequence[str], knowledge: Knowledge, generator: np.random.Generator | None
) -> DAG:
    """The required edges and those of the policy, where what is known allows them and no cycle comes of them."""
    if policy == "empty":
        return graph
    rng, names = generator or np.random.default_rng(0), list(map(str, graph.nodes))
    constraints, observed = knowledge.on(names), sorted(name for name in names if name not in hidden)
    edges: list[tuple[str, str]] = []
    if policy == "random" and not hidden:  # up to two parents, which come before their child in a random order
        order = [observed[place] for place in rng.permutation(len(observed)).tolist()]
        for place, child in enumerate(order):
            num = min(int(rng.integers(_MOST_PARENTS + 1)), place)
            edges += [(order[parent], child) for parent in rng.choice(place, num, replace=False).tolist()]
    for parent in hidden:
        drawn = np.ones(len(observed), dtype=np.bool_)
        if policy == "random" and observed:
            drawn = rng.random(len(observed)) < _SHARE
            drawn[rng.integers(len(observed))] = True
        edges += [(parent, child) for child, is_drawn in zip(observed, drawn.tolist(), strict=True) if is_drawn]
    for parent, child in edges:
        is_allowed = constraints.allowed[names.index(parent), names.index(child)]
        has_room = len(graph.parents(child)) < constraints.max_parents
        if is_allowed and has_room and not graph.has_edge(parent, child) and child not in graph.ancestors([parent]):
            graph = graph.with_edge(parent, child)
    return graph


def read_cases(
    data: DataLike | Cases, hidden: Mapping[str, int] | Iterable[Variable] = (), start: object = None
) -> IncompleteRows:
    """The data with hidden variables after the columns; read with the states of the network that a run starts from."""
    if isinstance(data, Cases):
        return data
    known = dict(start.variables) if isinstance(start, BayesianNetwork) else {}
    listed = hidden_variables(hidden, known)
    pieces = statistics_in_pieces(data, None, known | listed)
    if pieces is not None:
        refuse_seen(listed, pieces)
        return CasesInPieces.of({**pieces.variables, **known, **listed}, pieces)
    data = data.with_variables(known).table if isinstance(data, Statistics) else data
    rows: Any = data if isinstance(data, Table) else dict(columns_of(data))
    refuse_seen(listed, rows)
    if not isinstance(data, Table):
        data = Table.read(rows, [variable for name, variable in (known | listed).items() if name in rows])
    return Cases.of({**data.variables, **known, **listed}, data)


def first_network(
    judge: GraphJudge, start: GraphStart | BayesianNetwork, knowledge: Knowledge, generator: np.random.Generator
) -> BayesianNetwork:
    """The network that a run starts from: the one given, or tables on the graph that is asked for."""
    if not isinstance(start, BayesianNetwork):
        return judge.start(start_graph(start, judge.cases, knowledge, generator), generator)
    absent = next((name for name in judge.cases.variables if name not in start.variables), None)
    if absent is not None:
        raise InvalidArgument(
            f"The data have {absent!r}, but the network to start from has not. Add it there, leave the column out, or "
            "start from a graph."
        )
    return BayesianNetwork([start.cpd(name) for name in judge.cases.variables])
