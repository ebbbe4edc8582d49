"""The loss of a network on rows that it has not seen."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from plausible.base.arrays import Floats
from plausible.data.table import Table, TableLike
from plausible.errors import InvalidArgument, NotSupported, UnknownVariable
from plausible.graphs import DAG, PDAG
from plausible.graphs.consistent_extension import consistent_extension
from plausible.learn.constraint_based.blanket_structure import CLASS_LEARNERS
from plausible.learn.constraint_based.pc import ConstraintResult
from plausible.learn.estimation.families import read_families
from plausible.learn.estimation.priors import BDeu
from plausible.learn.learned_parameters import ParameterFit, learn_parameters
from plausible.learn.learned_structure import learn_structure
from plausible.models import BayesianNetwork
from plausible.models.comparison import with_states_of
from plausible.search.local_search import SearchMethod

#: What tells the text of a graph from the name of a method.
_ARROWS = frozenset("<>;")

#: Rows -> a network.
NetworkLearner: TypeAlias = Callable[[Table], BayesianNetwork]


def read_learner(learner: object) -> NetworkLearner:
    """A function of a `Table` that gives a network.

    Text without an arrow is a method of `learn.structure`, or "pc", "grow-shrink" or "iamb"; a graph stands for its
    parameters with the prior BDeu(1); what a function gives is made a network by `network_of`.
    """
    if isinstance(learner, str) and learner.lower() in CLASS_LEARNERS:
        learner = CLASS_LEARNERS[learner.lower()].learn
    is_method = isinstance(learner, SearchMethod) or (isinstance(learner, str) and not _ARROWS & set(learner))
    if is_method:
        return lambda table: network_of(learn_structure(table, learner), table)  # type: ignore[arg-type]
    if callable(learner):
        return lambda table: network_of(learner(table), table)
    return lambda table: learn_parameters(learner, table, BDeu(1.0))


def name_learners(learners: object) -> dict[str, object]:
    """Name -> learner, of a mapping, a list of learners, or one alone; those without a name go by how they print.

    >>> name_learners("ges"), list(name_learners(["ges", DAG("A -> B"), "ges"]))
    ({'ges': 'ges'}, ['ges', "DAG('A -> B')", 'ges (2)'])
    """
    if isinstance(learners, Mapping):
        return {str(name): learner for name, learner in learners.items()}
    named: dict[str, object] = {}
    times: Counter[str] = Counter()
    for learner in learners if isinstance(learners, (list, tuple)) else [learners]:
        name = learner if isinstance(learner, str) else getattr(learner, "__name__", repr(learner))
        times[name] += 1
        named[f"{name} ({times[name]})" if times[name] > 1 else name] = learner
    return named


def network_of(found: object, table: Table) -> BayesianNetwork:
    """What a learner found as a network whose states have the order of the table.

    A graph, or the result of a search, gets its parameters from the table with the prior BDeu(1); an equivalence class
    is one of its graphs.
    """
    network = found.network if isinstance(found, ParameterFit) else found
    if isinstance(network, BayesianNetwork):
        return with_states_of(network, table.variables)
    graph = found.extension().graph if isinstance(found, ConstraintResult) else getattr(found, "graph", found)
    if isinstance(graph, PDAG):
        graph = consistent_extension(graph)
    if isinstance(graph, DAG):
        return learn_parameters(graph, table, BDeu(1.0))
    raise InvalidArgument(
        f"The learner gave {found!r}, a {type(found).__name__}: expected a BayesianNetwork, a graph, or what "
        "learn.structure, learn.pc or learn.fit_parameters give."
    )


def row_losses(network: BayesianNetwork, data: TableLike, target: str | None = None) -> Floats:
    """-log P(row) of each row or, with a target, -log P(target | all others): infinite where a row is impossible.

    Where a variable was set from outside, its own distribution does not count.
    Only the families with the target matter for the latter: O(rows · states of the target) for each of them.

    Parameters
    ----------
    network
        Any network; losses of continuous variables are those of densities.
    data
        Complete rows.
    target
        A discrete variable.

    Examples
    --------
    >>> from plausible.cpds import TableCPD
    >>> net = BayesianNetwork(TableCPD("x", [0.5, 0.5]), TableCPD("y", [[0.9, 0.1], [0.2, 0.8]], parents=["x"]))
    >>> row_losses(net, {"x": [0, 1], "y": [0, 1]}).round(4), row_losses(net, {"x": [0, 1], "y": [0, 1]}, "x").round(4)
    (array([0.7985, 0.9163]), array([0.2007, 0.1178]))
    """
    table = read_families(network, data).statistics.table
    columns: dict[str, NDArray[Any]] = dict(zip(table.discrete, table.codes.astype(np.intp), strict=True))
    columns |= dict(zip(table.continuous, table.numbers, strict=True))
    for name, number in table.missing.items():
        if name in network.variables:
            raise InvalidArgument(
                f"{name!r} is missing in {number} of {table.num_rows} rows; losses need complete rows."
            )
    if target is None:
        return np.asarray(-_sum_of_logs(network, columns, table, list(network.cpds), 1)[0])
    if target not in network.variables:
        raise UnknownVariable.named(target, network.variables, "this network")
    variable = network.variables[target]
    if variable.is_continuous:
        raise NotSupported(f"{target!r} is continuous; the loss of a target is that of a discrete variable.")
    near = [name for name, cpd in network.cpds.items() if name == target or target in cpd.parent_names]
    states = columns | {target: np.arange(variable.num_states)[:, None]}
    logs = _sum_of_logs(network, states, table, near, variable.num_states)
    return _losses_of_states(logs, columns[target])


def mean_loss(network: BayesianNetwork, data: TableLike, target: str | None = None) -> float:
    """The mean of `row_losses`, weighted as the rows are; infinite if a row is impossible, NaN without rows."""
    table = read_families(network, data).statistics.table
    losses = row_losses(network, table, target)
    return weighted_mean(losses, table.row_weights)


def weighted_mean(losses: Floats, weights: Floats) -> float:
    """The mean of those with a weight; infinite if one of them is, whatever densities the others have."""
    counting = weights > 0
    if not counting.any():
        return math.nan
    if (losses[counting] == math.inf).any():
        return math.inf
    return float(losses[counting] @ weights[counting] / weights.sum())


def _sum_of_logs(
    network: BayesianNetwork, columns: dict[str, NDArray[Any]], table: Table, names: list[str], num_lines: int
) -> Floats:
    """A line for each state of the target, or one; what was set from outside says nothing of its own distribution.

    A row that one family rules out is impossible, however dense it is for another (a Gaussian without variance).
    """
    logs = np.zeros((num_lines, table.num_rows))
    is_impossible = np.zeros(logs.shape, dtype=np.bool_)
    for name in names:
        found = network.cpd(name).log_probability(columns)
        if name in table.interventions:
            found = np.where(table.interventions[name], 0.0, found)
        is_impossible |= found == -np.inf
        logs += np.where(found == -np.inf, 0.0, found)
    logs[is_impossible] = -np.inf
    return logs


def _losses_of_states(logs: Floats, codes: NDArray[Any]) -> Floats:
    """-log of the share of the state that was seen; infinite too where no state is possible."""
    is_dense = logs == np.inf  # densities without bound leave no share to the others
    logs = np.where(is_dense.any(axis=0), np.where(is_dense, 0.0, -np.inf), logs)
    top = logs.max(axis=0)
    is_possible = top > -np.inf
    shifted = logs - np.where(is_possible, top, 0.0)
    with np.errstate(divide="ignore"):
        totals = np.log(np.exp(shifted).sum(axis=0))
    seen = shifted[codes, np.arange(len(codes))]
    return np.where(is_possible, np.where(is_possible, totals, 0.0) - seen, np.inf)
