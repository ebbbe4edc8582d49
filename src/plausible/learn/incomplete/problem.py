"""What EM is asked: a graph, cases, and how the parameters of the one are got from expected counts of the other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from plausible.data.sources import columns_of
from plausible.data.table import Table, TableLike
from plausible.errors import InvalidArgument, UnknownVariable
from plausible.graphs.graph_input import read_dag
from plausible.learn.estimation.families import Families
from plausible.learn.estimation.family_posterior import Estimate
from plausible.learn.estimation.knowledge import ParameterKnowledge, check_knowledge
from plausible.learn.estimation.priors import PriorLike, is_no_prior, refuse_unknown
from plausible.learn.estimation.task import CPDLearner
from plausible.learn.incomplete.cases import Cases
from plausible.learn.incomplete.expectations import FamilyCounts
from plausible.learn.incomplete.gaussian_families import gaussian_regressions, settle_mixed
from plausible.learn.incomplete.maximization import Maximization, given_trees
from plausible.models import BayesianNetwork
from plausible.variables import Variable

__all__ = ["EMProblem", "hidden_variables", "read_problem"]


@dataclass(frozen=True, slots=True, eq=False)
class EMProblem:
    """Cases, and the M-step.

    Attributes
    ----------
    cases
        The data, over the variables of the graph in its order.
    maximization
        The graph, the prior, the kinds of distributions.
    """

    cases: Cases
    maximization: Maximization


def read_problem(
    graph: object,
    data: TableLike,
    hidden: Mapping[str, int] | Iterable[Variable] = (),
    prior: PriorLike = None,
    estimate: Estimate | None = None,
    kinds: Mapping[str, str | CPDLearner] | None = None,
    knowledge: ParameterKnowledge | None = None,
) -> EMProblem:
    """Read what `learn_em` is given."""
    from plausible.learn.estimation.fit import find_learners  # which asks for EM itself, where cells are missing

    dag = graph.graph if isinstance(graph, BayesianNetwork) else read_dag(graph)
    unseen = hidden_variables(hidden)
    if isinstance(graph, BayesianNetwork):
        known = dict(graph.variables)
        cases = Cases.of(known, data, has_numbers=True)
    else:
        table = _read(data, unseen)
        there = {**table.variables, **unseen}
        for node in dag.nodes:
            if node not in there:
                raise UnknownVariable.named(
                    node, there, f"the data. If it is hidden, say how many states it has: hidden={{{str(node)!r}: 2}}"
                )
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
    learners, given = settle_mixed(families, cases, learners, given)
    chosen: Estimate = estimate or ("mle" if is_no_prior(prior) else "mean")
    wanted = gaussian_regressions(families, cases, learners)
    return EMProblem(cases, Maximization.of(families, prior, chosen, wanted, given))


def _read(data: TableLike, unseen: Mapping[str, Variable]) -> Table:
    """The table; columns of hidden variables, which hold nothing, are read as these."""
    if isinstance(data, Table):
        return data
    columns = dict(columns_of(data))
    return Table.read(columns, [variable for name, variable in unseen.items() if name in columns])


def hidden_variables(hidden: Mapping[str, int] | Iterable[Variable]) -> dict[str, Variable]:
    """Name -> variable, from numbers of states or a list."""
    listed = [Variable(name, size) for name, size in hidden.items()] if isinstance(hidden, Mapping) else list(hidden)
    for variable in listed:
        if not isinstance(variable, Variable):
            raise InvalidArgument(
                f"hidden= maps names to numbers of states, such as {{'H': 3}}, or lists variables; {variable!r} is "
                "neither."
            )
    return {variable.name: variable for variable in listed}
