"""The loss of a network on rows that it has not seen."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from plausible.data.table import Table, TableLike
from plausible.errors import InvalidArgument, NotSupported, UnknownVariable
from plausible.learn.estimation.families import read_families
from plausible.learn.estimation.fit import learn_parameters
from plausible.learn.estimation.priors import BDeu
from plausible.models import BayesianNetwork

__all__ = ["NetworkLearner", "mean_loss", "read_learner", "row_losses"]

Floats = NDArray[np.float64]

#: Rows -> a network.
NetworkLearner: TypeAlias = Callable[[Table], BayesianNetwork]


def read_learner(learner: object) -> NetworkLearner:
    """A function of a `Table` that gives a network; a graph stands for its parameters with the prior BDeu(1)."""
    return learner if callable(learner) else partial(_parameters, learner)


def _parameters(graph: object, table: Table) -> BayesianNetwork:
    return learn_parameters(graph, table, BDeu(1.0))


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
    table = read_families(network, data).table
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
    """The mean of `row_losses`, weighted as the rows are; NaN without rows."""
    table = read_families(network, data).table
    losses, weights = row_losses(network, table, target), table.weights
    if weights is None:
        return float(losses.mean()) if losses.size else float("nan")
    counting = weights > 0
    return float(weights[counting] @ losses[counting] / weights.sum()) if counting.any() else float("nan")


def _sum_of_logs(
    network: BayesianNetwork, columns: dict[str, NDArray[Any]], table: Table, names: list[str], num_lines: int
) -> Floats:
    """A line for each state of the target, or one; what was set from outside says nothing of its own distribution."""
    logs = np.zeros((num_lines, table.num_rows))
    for name in names:
        found = network.cpd(name).log_probability(columns)
        logs += np.where(table.interventions[name], 0.0, found) if name in table.interventions else found
    return logs


def _losses_of_states(logs: Floats, codes: NDArray[Any]) -> Floats:
    """-log of the share of the state that was seen; infinite too where no state is possible."""
    top = logs.max(axis=0)
    is_possible = top > -np.inf
    shifted = logs - np.where(is_possible, top, 0.0)
    with np.errstate(divide="ignore"):
        totals = np.log(np.exp(shifted).sum(axis=0))
    seen = shifted[codes, np.arange(len(codes))]
    return np.where(is_possible, np.where(is_possible, totals, 0.0) - seen, np.inf)
