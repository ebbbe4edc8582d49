"""Networks whose variables have the same states in another order."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from plausible.cpds import CPD, TableCPD
from plausible.models.bayesian_network import BayesianNetwork
from plausible.variables import Variable

__all__ = ["with_states_of"]


def with_states_of(network: BayesianNetwork, variables: Mapping[str, Variable]) -> BayesianNetwork:
    """The same distribution with states in the order that they have in `variables`.

    Variables with other states stay as they are, and so does a network in which numbers depend on states that moved.
    Distributions over variables that move become tables.

    Parameters
    ----------
    network
        Any network.
    variables
        Name -> variable; those that the network does not have are not needed.

    Examples
    --------
    >>> net = BayesianNetwork(TableCPD("rain", [0.8, 0.2], states=["no", "yes"]))
    >>> with_states_of(net, {"rain": Variable("rain", ["yes", "no"])}).cpd("rain").values
    array([0.2, 0.8])
    """
    moved = {
        name: variables[name]
        for name, variable in network.variables.items()
        if name in variables and _differ_in_order(variable, variables[name])
    }
    touched = [cpd for cpd in network.cpds.values() if any(variable.name in moved for variable in cpd.scope)]
    if not touched or any(variable.is_continuous for cpd in touched for variable in cpd.scope):
        return network
    cpds = [_moved(cpd, moved) for cpd in network.cpds.values()]
    inputs = [moved.get(name, variable) for name, variable in network.variables.items() if name in network.inputs]
    return BayesianNetwork(*cpds, inputs=inputs, notes=network.notes)


def _differ_in_order(one: Variable, other: Variable) -> bool:
    if one.is_continuous or other.is_continuous or one == other:
        return False
    return one.num_states == other.num_states and all(map(one.has_state, other.states))


def _moved(cpd: CPD, moved: Mapping[str, Variable]) -> CPD:
    if not any(variable.name in moved for variable in cpd.scope):
        return cpd
    factor = cpd.to_factor().reorder([variable.name for variable in cpd.scope])
    wanted = [moved.get(variable.name, variable) for variable in cpd.scope]
    places = [[old.index(state) for state in new.states] for old, new in zip(cpd.scope, wanted, strict=True)]
    return TableCPD(wanted[-1], factor.values[np.ix_(*places)], wanted[:-1])
