"""The question that was asked, on arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from plausible.decisions.information.chains.limits import Resource, read_resource
from plausible.decisions.information.chains.rewards import Rewards
from plausible.decisions.information.chains.scope import ChainScope, read_candidates
from plausible.decisions.information.chains.tables import ChainTables, chain_tables
from plausible.decisions.information.observing import read_costs
from plausible.decisions.information.subsets import Limits, read_limits
from plausible.models import BayesianNetwork
from plausible.variables.evidence import EvidenceLike

__all__ = ["ChainProblem", "read_chain_problem"]


@dataclass(frozen=True, slots=True, eq=False)
class ChainProblem:
    """A chain, what observing it takes, and how it is judged.

    Attributes
    ----------
    tables
        The chain.
    costs
        Each variable that can be observed -> what is taken off the reward for it.
    resource
        What there is to spend.
    is_filtering
        Whether a variable is judged by what was seen up to it.
    """

    tables: ChainTables
    costs: Mapping[str, float]
    resource: Resource
    is_filtering: bool


def read_chain_problem(
    network: BayesianNetwork,
    rewards: Rewards,
    costs: float | Mapping[str, float] | None,
    bounds: tuple[Limits | int | None, ChainScope | None],
    evidence: EvidenceLike | None,
) -> ChainProblem:
    """The chain of a network, and what it takes to observe it."""
    limits, scope = read_limits(bounds[0]), bounds[1] or ChainScope()
    tables = chain_tables(network, rewards, scope, evidence)
    prices = read_costs(costs, read_candidates(tables.variables, scope))
    charged = prices if limits.is_charged else dict.fromkeys(prices, 0.0)
    return ChainProblem(tables, charged, read_resource(prices, limits), scope.is_filtering)
