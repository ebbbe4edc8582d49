"""The tables that EM is free to change: taken out of a network, and put back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from plausible.cpds import CPD, TableCPD
from plausible.learn.incomplete.maximization import Maximization
from plausible.models import BayesianNetwork

__all__ = ["free_tables", "normalized_exponentials", "sharing", "with_tables"]

Floats: TypeAlias = NDArray[np.float64]


def sharing(maximization: Maximization, owner: str) -> list[str]:
    """The variables that have the table of an owner: itself, and those tied to it."""
    return [owner, *(name for name, other in maximization.knowledge.owners.items() if other == owner)]


def free_tables(maximization: Maximization, network: BayesianNetwork) -> dict[str, Floats]:
    """Name -> table, with axes (parents..., child), of all that are tables and neither fixed nor tied to another."""
    return {
        name: network.cpd(name).to_factor().values.reshape(exponents.shape)
        for name, exponents in maximization.exponents.items()
    }


def with_tables(maximization: Maximization, network: BayesianNetwork, tables: Mapping[str, Floats]) -> BayesianNetwork:
    """The network with other tables, and those tied to them."""
    cpds: dict[str, CPD] = dict(network.cpds)
    for owner, table in tables.items():
        for name in sharing(maximization, owner):
            parents = tuple(maximization.variables[parent] for parent in maximization.parents[name])
            cpds[name] = TableCPD.from_rows(maximization.variables[name], parents, table)[0]
    return BayesianNetwork(list(cpds.values()))


def normalized_exponentials(logs: Floats) -> Floats:
    """Rows exp(log) over their sums; each row has a number that is finite."""
    weights = np.exp(logs - logs.max(axis=-1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True))
