"""The tables that EM is free to change: taken out of a network, and put back."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from plausible.base.arrays import Floats
from plausible.cpds import CPD
from plausible.learn.incomplete.maximization import Maximization
from plausible.models import BayesianNetwork

__all__ = ["free_tables", "normalized_exponentials", "perturbed", "with_tables"]


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
        cpds |= maximization.with_table(owner, table)
    return BayesianNetwork(list(cpds.values()))


def perturbed(
    maximization: Maximization, network: BayesianNetwork, noise: float, generator: np.random.Generator
) -> BayesianNetwork:
    """The network with the entries of free tables multiplied by exp(noise · z), z normal, and rows normalised."""
    tables = {}
    for name, table in free_tables(maximization, network).items():
        weights = table * np.exp(noise * generator.standard_normal(table.shape))
        tables[name] = weights / weights.sum(axis=-1, keepdims=True)
    return with_tables(maximization, network, tables)


def normalized_exponentials(logs: Floats) -> Floats:
    """Rows exp(log) over their sums; each row has a number that is finite."""
    weights = np.exp(logs - logs.max(axis=-1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True))
