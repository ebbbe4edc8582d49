"""How far one Bayesian network is from another, without their joint tables."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from plausible.errors import InvalidModel
from plausible.factors import Factor
from plausible.models.bayesian_network import BayesianNetwork

__all__ = ["kl_divergence_networks"]


def kl_divergence_networks(p: BayesianNetwork, q: BayesianNetwork) -> float:
    """D(P || Q) = E_P[log P(x) - log Q(x)] in nats, family by family; infinite where Q rules out what P allows.

    Both logarithms are sums over families, so that only the marginals of families under P are needed:
    D = Σ_i Σ P(x_i, u_i) log P(x_i | u_i) - Σ_i Σ P(x_i, v_i) log Q(x_i | v_i), with the parents u in P and v in Q.

    Parameters
    ----------
    p, q
        Discrete networks over the same variables with the same states; their graphs may differ.

    Notes
    -----
    Costs a query to P for each family of either network.

    Examples
    --------
    >>> from plausible.cpds import TableCPD
    >>> fair, loaded = (BayesianNetwork(TableCPD("coin", row)) for row in ([0.5, 0.5], [0.75, 0.25]))
    >>> round(kl_divergence_networks(fair, loaded), 6)
    0.143841
    """
    _check_comparable(p, q)
    marginals: dict[frozenset[str], Factor] = {}
    return max(_expected_log(p, p, marginals) - _expected_log(p, q, marginals), 0.0)


def _expected_log(p: BayesianNetwork, q: BayesianNetwork, marginals: dict[frozenset[str], Factor]) -> float:
    """E_P[log Q(x)]; `marginals` keeps the answers of P that both sums need."""
    total = 0.0
    for cpd in q.cpds.values():
        family = [variable.name for variable in cpd.scope]
        key = frozenset(family)
        if key not in marginals:
            marginals[key] = p.query(family)
        weights = marginals[key].reorder(family).flat
        logs = cpd.to_factor().log().flat
        live = weights > 0
        total += float(np.dot(weights[live], logs[live]))
        if total == -math.inf:
            break
    return total


def _check_comparable(p: BayesianNetwork, q: BayesianNetwork) -> None:
    left: Mapping[str, object] = p.variables
    if p.inputs or q.inputs:
        raise InvalidModel("A network with inputs is no single distribution: its divergence depends on the inputs.")
    for name in {*left, *q.variables}:
        if left.get(name) != q.variables.get(name):
            raise InvalidModel(f"{name!r} is not the same variable in both networks: name and states must agree.")
