"""What EM is asked, the state between two steps, and the functional that both halves of a step climb.

F = E_Q[ℓ] + H(Q), and the log-likelihood is F + KL(Q ‖ posterior), where Q is the posterior of the missing cells under
one network, θ the parameters of another (Neal & Hinton 1998). E-steps maximise F over Q, M-steps over θ.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial

from plausible.data.table_statistics import DataLike
from plausible.errors import ImpossibleEvidence, NotSupported, counted
from plausible.graphs.graph_input import read_dag
from plausible.inference.engines import Engine
from plausible.learn.estimation.families import (
    CPDLearner,
    Families,
    ParameterKnowledge,
    check_knowledge,
)
from plausible.learn.estimation.learners import find_learners
from plausible.learn.estimation.priors import Estimate, PriorLike, is_no_prior, refuse_unknown
from plausible.learn.incomplete.cases import Cases, IncompleteRows
from plausible.learn.incomplete.expectations import (
    EngineExpectations,
    ExactExpectations,
    Expectations,
    ExpectationStep,
    FamilyCounts,
)
from plausible.learn.incomplete.gaussian_expectations import HybridExpectations
from plausible.learn.incomplete.gaussian_maximization import (
    GaussianMomentLearner,
    MomentRegression,
    gaussian_regressions,
    settle_mixed,
)
from plausible.learn.incomplete.gaussian_rows import NumberUnits
from plausible.learn.incomplete.maximization import Masks, Maximization, Maximized, family_log_likelihood, given_trees
from plausible.learn.incomplete.reading import hidden_variables, read_rows, rows_of_graph
from plausible.models import BayesianNetwork
from plausible.variables import Variable


@dataclass(frozen=True, slots=True, eq=False)
class EMState:
    """What the next step needs: a network, and what it expects."""

    network: BayesianNetwork  # The parameters so far
    expectations: Expectations  # The expectations under them
    objective: float  # What EM does not lower: the log-likelihood, and the log-prior where there is one
    num_steps: int = 0  # How many steps were made
    #: Name -> rows of its table of which nothing is expected, and which therefore stay as they were.
    kept_rows: Masks = field(default_factory=dict)
    #: The log-likelihood of the validation data at the start and after each step, where there are any.
    validation_trace: tuple[float, ...] = ()
    memory: object = None  # What else the method of the run keeps from step to step

    def __repr__(self) -> str:
        return f"<EMState: objective {self.objective:.6g}, {counted(self.num_steps, 'step')}, {self.network!r}>"


@dataclass(frozen=True, slots=True, eq=False)
class EMProblem:
    """The two halves of a step: what is expected of the cases under parameters, and parameters from expectations.

    An `EMMethod` makes its steps of them.

    >>> problem = read_problem("rain -> grass", {"rain": ["no", "yes", None], "grass": ["dry", "wet", "wet"]})
    >>> problem.cases
    <Cases: 3 different of 3 rows, 2 variables>
    """

    expectation: ExpectationStep  # the E-step, and the cases that it completes
    maximization: Maximization  # the M-step: the graph, the prior, the kinds of distributions
    validation: ExpectationStep | None = None  # the E-step on data that the network is not fitted to

    @property
    def cases(self) -> IncompleteRows:
        """The data, over the variables of the graph in its order."""
        return self.expectation.cases

    def maximized(self, state: EMState) -> Maximized:
        """One M-step."""
        return self.maximization.network(state.expectations.counts, state.network)

    def at(
        self,
        network: BayesianNetwork,
        kept_rows: Masks | None = None,
        before: EMState | None = None,
        expectations: Expectations | None = None,
        memory: object = None,
    ) -> EMState:
        """The state at a network, after one E-step where its expectations are not given; a step after another one."""
        expected = self.expectation.at(network) if expectations is None else expectations
        objective = expected.log_likelihood + self.maximization.log_prior(network)
        num_steps = 0 if before is None else before.num_steps + 1
        return EMState(network, expected, objective, num_steps, kept_rows or {}, memory=memory)

    def tried(
        self, network: BayesianNetwork, kept_rows: Masks | None = None, before: EMState | None = None
    ) -> EMState | None:
        """The state at a network; none where it rules a case out."""
        try:
            return self.at(network, kept_rows, before)
        except ImpossibleEvidence:
            return None


def expectation_step(cases: IncompleteRows, learned_from: IncompleteRows | None = None) -> ExpectationStep:
    """The exact E-step for cases of either kind, moments in the units of the cases that are learned from."""
    if not cases.continuous:
        return cases.completed_by(ExactExpectations)
    return cases.completed_by(partial(HybridExpectations, units=NumberUnits.of(learned_from or cases)))


class EMMethod:
    """A way to make steps of EM; subclasses are frozen and hold their options only.

    Those that define no `init` or `step` have that of plain EM.
    """

    __slots__ = ()

    def init(self, problem: EMProblem, network: BayesianNetwork) -> EMState:
        """The state to begin with."""
        return problem.at(network, expectations=problem.expectation.at(network))

    def step(self, problem: EMProblem, state: EMState) -> EMState:
        """One M-step, then one E-step: the objective does not fall."""
        network, kept = problem.maximized(state)
        return problem.at(network, kept, state, problem.expectation.at(network))

    @property
    def num_scheduled(self) -> int:
        """The first steps, in which objectives may fall and small gains mean nothing: no rule looks at them."""
        return 0

    def expectation_step(
        self, cases: IncompleteRows, engine: Engine | None = None, learned_from: IncompleteRows | None = None
    ) -> ExpectationStep:
        """The E-step of this method: exact, or by an engine; in the units of the cases that are learned from."""
        if engine is None:
            return expectation_step(cases, learned_from)
        refuse_numbers(cases, "EM by an engine")
        return cases.completed_by(partial(EngineExpectations, engine=engine))


@dataclass(frozen=True, slots=True)
class PlainEM(EMMethod):
    """An M-step for all distributions, then an E-step for all cases."""


def refuse_numbers(cases: IncompleteRows, method: str) -> None:
    """Continuous variables are for methods with exact expectations."""
    for name in cases.continuous:
        raise NotSupported(
            f"{method} completes states only, but {name!r} is continuous: take method='em', or discretise."
        )


def read_problem(
    graph: object,
    data: DataLike | Cases,
    hidden: Mapping[str, int] | Iterable[Variable] = (),
    prior: PriorLike = None,
    estimate: Estimate | None = None,
    kinds: Mapping[str, str | CPDLearner] | None = None,
    knowledge: ParameterKnowledge | None = None,
    start: object = None,
) -> EMProblem:
    """Read what `learn.em` is given, with the exact E-step; `em_run` goes on from there.

    Variables have the states of `graph`, where that is a network, else those of `start`, where that is one, else those
    of the data.

    >>> problem = read_problem("rain -> grass", {"rain": ["no", "yes", None], "grass": ["dry", "wet", "wet"]})
    >>> problem.maximization
    <Maximization: 2 variables, prior None, mle>
    """
    network = graph if isinstance(graph, BayesianNetwork) else None
    dag = read_dag(graph) if network is None else network.graph
    named = dict(start.variables) if isinstance(start, BayesianNetwork) else {}
    cases = rows_of_graph(network, list(map(str, dag.nodes)), data, hidden_variables(hidden, named), named)
    there = {**cases.variables, **cases.continuous}
    known = dict(network.variables) if network is not None else {str(node): there[str(node)] for node in dag.nodes}
    parents = {name: tuple(map(str, dag.parents(name))) for name in known}
    parents |= {} if network is None else {name: cpd.parent_names for name, cpd in network.cpds.items()}
    families = Families(known, parents, FamilyCounts(known, parents, {}, cases.total))
    given = knowledge or ParameterKnowledge()
    check_knowledge(given, parents)
    refuse_unknown(prior, list(known))
    learners = given_trees(find_learners(families, kinds or {}, given), given.start_cpds)
    wanted: Mapping[str, CPDLearner | MomentRegression] = learners
    if cases.continuous:
        learners, given = settle_mixed(families, cases, learners, given)
        wanted = gaussian_regressions(families, cases, learners)
    chosen: Estimate = estimate or ("mle" if is_no_prior(prior) else "mean")
    return EMProblem(expectation_step(cases), Maximization.of(families, prior, chosen, wanted, given, dag))


@dataclass(frozen=True, slots=True)
class EMFunctional:
    """The terms of log-likelihood = E_Q[ℓ] + H(Q) + KL(Q ‖ P(missing | observed, θ))."""

    log_likelihood: float  # ℓ(θ): that of the observed cells under the network
    expected_log_likelihood: float  # E_Q[ℓ]: that of the completed rows under the network, expected under Q
    #: H(Q), of the missing cells; a differential entropy, which may be negative, where numbers are missing.
    entropy: float

    @property
    def value(self) -> float:
        """F = E_Q[ℓ] + H(Q), at most the log-likelihood."""
        return self.expected_log_likelihood + self.entropy

    @property
    def divergence(self) -> float:
        """KL(Q ‖ posterior under the network) ≥ 0; zero where Q is that posterior."""
        return max(self.log_likelihood - self.value, 0.0)


def observed_log_likelihood(network: BayesianNetwork, data: DataLike | Cases) -> float:
    """Σ weight · log P(observed cells of a row), missing cells summed out.

    The network has tables, linear Gaussians and conditional linear Gaussians; variables without a column are hidden.

    >>> from plausible.cpds import TableCPD
    >>> coin = BayesianNetwork(TableCPD("coin", [0.25, 0.75]))
    >>> round(observed_log_likelihood(coin, {"coin": [0, None]}), 6)
    -1.386294
    """
    return expectation_step(read_rows(network.variables, data)).at(network).log_likelihood


def expected_log_likelihood(network: BayesianNetwork, expectations: Expectations) -> float:
    """Σ over families of M̄[x, u] log θ_{x|u}: the log-likelihood of completed rows, expected under Q.

    The network has θ, the expectations are those of Q; -inf where Q expects what the network rules out. For a
    continuous child it is what its expected second moments say. Discrete children of numbers, which are observed with
    all of their parents, have no counts, and are left out.
    """
    total = 0.0
    for name, counts in expectations.counts.items():
        cpd = network.cpd(name)
        if expectations.units is not None and cpd.variable.is_continuous:
            units = expectations.units.some([variable.name for variable in cpd.scope if variable.is_continuous])
            regression = MomentRegression(cpd.variable, cpd.parents, units, GaussianMomentLearner())
            total += regression.expected_log_likelihood(cpd, counts)
        else:
            total += family_log_likelihood(cpd, counts)
    return total


def em_functional(
    network: BayesianNetwork, data: DataLike | Cases, completing: BayesianNetwork | None = None
) -> EMFunctional:
    """F and its terms at a network θ, where Q is the posterior of the missing cells under `completing`.

    Q is that of the network itself where it is left out. Cost: one or two E-steps.

    >>> from plausible.cpds import TableCPD
    >>> fair, bent = (BayesianNetwork(TableCPD("coin", [p, 1 - p])) for p in (0.5, 0.25))
    >>> found = em_functional(bent, {"coin": [0, None]}, completing=fair)
    >>> round(found.log_likelihood, 4), round(found.value, 4), round(found.divergence, 4)
    (-1.3863, -1.5301, 0.1438)
    """
    cases, other = read_rows(network.variables, data), completing or network
    step = expectation_step(cases)
    here = step.at(network)
    there = here if completing is None else step.at(completing)
    entropy = there.log_likelihood - expected_log_likelihood(other, there)
    expected = expected_log_likelihood(network, there)
    if isinstance(step, HybridExpectations):  # the part of the log-likelihood that no count has
        entropy, expected = entropy - step.determined(other), expected + step.determined(network)
    return EMFunctional(here.log_likelihood, expected, entropy if step.cases.continuous else max(entropy, 0.0))
