"""What EM is asked, and what it goes through: the E-step, the M-step, and the state between two of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np

from plausible.base.remedies import Argument
from plausible.data.columns import has_values
from plausible.data.sources import open_columns
from plausible.data.table import Table, TableLike
from plausible.errors import ImpossibleEvidence, InvalidArgument, UnknownVariable, counted, suggestion
from plausible.graphs.graph_input import read_dag
from plausible.learn.estimation.families import CPDLearner, Families
from plausible.learn.estimation.family_posterior import Estimate
from plausible.learn.estimation.knowledge import ParameterKnowledge, check_knowledge
from plausible.learn.estimation.learners import find_learners
from plausible.learn.estimation.priors import PriorLike, is_no_prior, refuse_unknown
from plausible.learn.incomplete.cases import Cases
from plausible.learn.incomplete.expectations import ExactExpectations, Expectations, ExpectationStep, FamilyCounts
from plausible.learn.incomplete.gaussian_expectations import HybridExpectations
from plausible.learn.incomplete.gaussian_maximization import MomentRegression, gaussian_regressions, settle_mixed
from plausible.learn.incomplete.gaussian_rows import NumberUnits
from plausible.learn.incomplete.maximization import Masks, Maximization, Maximized, given_trees
from plausible.models import BayesianNetwork
from plausible.variables import Variable

_NOTHING_KNOWN: Mapping[str, Variable] = MappingProxyType({})


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

    `init` and `step` are plain EM; an `EMMethod` makes its steps of them.

    Parameters
    ----------
    expectation
        The E-step, and the cases that it completes.
    maximization
        The M-step: the graph, the prior, the kinds of distributions.
    validation
        The E-step on data that the network is not fitted to, where there are any.

    Examples
    --------
    >>> problem = read_problem("rain -> grass", {"rain": ["no", "yes", None], "grass": ["dry", "wet", "wet"]})
    >>> problem.cases
    <Cases: 3 different of 3 rows, 2 variables>
    """

    expectation: ExpectationStep
    maximization: Maximization
    validation: ExpectationStep | None = None

    @property
    def cases(self) -> Cases:
        """The data, over the variables of the graph in its order."""
        return self.expectation.cases

    def init(self, network: BayesianNetwork) -> EMState:
        """The state before the first step."""
        return self.at(network)

    def step(self, state: EMState) -> EMState:
        """One M-step, then one E-step: the objective does not fall."""
        network, kept_rows = self.maximization.network(state.expectations.counts, state.network)
        expected = self.expectation.at(network)
        objective = expected.log_likelihood + self.maximization.log_prior(network)
        return EMState(network, expected, objective, state.num_steps + 1, kept_rows)

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
        """The state at a network, after one E-step where its expectations are not given; a step after another one.

        Parameters
        ----------
        network
            The parameters.
        kept_rows
            Those that the M-step kept.
        before
            The state before the step; `None` for a start.
        expectations
            What is expected under the network, where that is known.
        memory
            What the method keeps.
        """
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


def expectation_step(cases: Cases, learned_from: Cases | None = None) -> ExpectationStep:
    """The exact E-step for cases of either kind, moments in the units of the cases that are learned from."""
    if not cases.continuous:
        return ExactExpectations(cases)
    return HybridExpectations(cases, NumberUnits.of(learned_from or cases))


def read_problem(
    graph: object,
    data: TableLike,
    hidden: Mapping[str, int] | Iterable[Variable] = (),
    prior: PriorLike = None,
    estimate: Estimate | None = None,
    kinds: Mapping[str, str | CPDLearner] | None = None,
    knowledge: ParameterKnowledge | None = None,
) -> EMProblem:
    """Read what `learn.em` is given, with the exact E-step; `em_run` goes on from there.

    Parameters
    ----------
    graph, data, hidden, prior, estimate, kinds, knowledge
        As `learn.em` takes them.

    Examples
    --------
    >>> problem = read_problem("rain -> grass", {"rain": ["no", "yes", None], "grass": ["dry", "wet", "wet"]})
    >>> problem.maximization
    <Maximization: 2 variables, prior None, mle>
    """
    dag = graph.graph if isinstance(graph, BayesianNetwork) else read_dag(graph)
    unseen = hidden_variables(hidden)
    _refuse_others(unseen, list(map(str, dag.nodes)))
    if isinstance(graph, BayesianNetwork):
        known = dict(graph.variables)
        _refuse_other_sizes(unseen, known)
        rows = data if isinstance(data, (Table, Cases)) else open_columns(data, known).read(known)
        _refuse_seen(unseen, rows)
        cases = Cases.of(known, rows, has_numbers=True)
    else:
        table = _read(data, unseen, list(map(str, dag.nodes)))
        there = {**table.variables, **unseen}
        known = {str(node): there[str(node)] for node in dag.nodes}
        cases = Cases.of(known, table, has_numbers=True)
    parents = {name: tuple(map(str, dag.parents(name))) for name in known}
    if isinstance(graph, BayesianNetwork):
        parents |= {name: cpd.parent_names for name, cpd in graph.cpds.items()}
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
    return EMProblem(expectation_step(cases), Maximization.of(families, prior, chosen, wanted, given))


def _read(data: TableLike, unseen: Mapping[str, Variable], nodes: Sequence[str]) -> Table:
    """The columns of the nodes, and no others; those of hidden variables, which hold nothing, are read as these."""
    if isinstance(data, Table):
        _refuse_absent(nodes, data.variables, unseen)
        _refuse_seen(unseen, data)
        return data
    opened = open_columns(data)
    _refuse_absent(nodes, opened.names, unseen)
    used = opened.read(nodes)
    _refuse_seen(unseen, used)
    return Table.read(used, [variable for name, variable in unseen.items() if name in used])


def _refuse_absent(nodes: Iterable[str], columns: Iterable[Any], unseen: Iterable[str]) -> None:
    known = list(dict.fromkeys([*map(str, columns), *unseen]))
    for node in nodes:
        if node not in known:
            problem = f"the data. If it is hidden, say how many states it has: hidden={{{node!r}: 2}}"
            raise UnknownVariable.named(node, known, problem)


def _refuse_others(unseen: Iterable[str], nodes: Sequence[str]) -> None:
    for name in unseen:
        if name not in nodes:
            raise UnknownVariable(
                *(f"{name!r} is not a variable of the graph, though ", Argument("hidden"), " has it."),
                suggestion(name, nodes),
            )


def _refuse_other_sizes(unseen: Mapping[str, Variable], known: Mapping[str, Variable]) -> None:
    """Refuse hidden variables of which a network says something else; states without names only have a number."""
    for name, variable in unseen.items():
        own, wanted = known[name].states, variable.states
        if own != wanted and (len(own) != len(wanted) or wanted != Variable(name, len(wanted)).states):
            raise InvalidArgument(
                f"hidden= gives {name!r} the states {list(wanted)}, the network has {list(own)}. Leave it out of "
                "hidden=, or give the graph alone: network.graph."
            )


def _refuse_seen(unseen: Iterable[str], rows: Table | Cases | Mapping[Any, Any]) -> None:
    """Refuse hidden variables that rows have values of."""
    for name in unseen:
        if isinstance(rows, Cases):
            is_seen = rows.visibility.get(name, "hidden") != "hidden"
        elif isinstance(rows, Table):
            is_seen = name in rows.variables and rows.missing.get(name, 0) < rows.num_rows
        else:
            is_seen = name in rows and has_values(name, rows[name])
        if is_seen:
            raise InvalidArgument(
                f"{name!r} is in hidden=, but has values in the data. Leave it out of hidden=, and its empty cells are "
                "completed; or drop the column, and it is hidden. Table.read(..., variables=...) names states that no "
                "row has."
            )


def hidden_variables(
    hidden: Mapping[str, int] | Iterable[Variable], known: Mapping[str, Variable] = _NOTHING_KNOWN
) -> dict[str, Variable]:
    """Name -> variable, from numbers of states or a list; those known with so many states are taken as they are.

    >>> hidden_variables({"H": 2})
    {'H': Variable('H', [0, 1])}
    """
    items = list(hidden.items()) if isinstance(hidden, Mapping) else [(None, each) for each in hidden]
    read = [_hidden_variable(name, given, known) for name, given in items]
    return {variable.name: variable for variable in read}


def _hidden_variable(name: str | None, given: object, known: Mapping[str, Variable]) -> Variable:
    if isinstance(given, Variable) and name in (None, given.name):
        return given
    if name is None or isinstance(given, Variable):
        raise InvalidArgument(
            "hidden= maps names to numbers of states, such as {'H': 3}, or lists variables; "
            f"{given if name is None else {name: given}!r} is neither."
        )
    if isinstance(given, bool) or not isinstance(given, int | np.integer) or given < 1:
        raise InvalidArgument(f"hidden={{{name!r}: {given!r}}} must tell how many states {name!r} has, 1 or more.")
    same = known.get(name)
    return same if same is not None and same.num_states == given else Variable(name, int(given))
