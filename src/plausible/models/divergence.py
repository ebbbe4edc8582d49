"""How far one Bayesian network is from another, without their joint tables."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np

from plausible.errors import ImpossibleEvidence, InvalidModel, NotSupported, TooLarge
from plausible.factors import Factor
from plausible.models.alignment import with_states_of
from plausible.models.bayesian_network import BayesianNetwork
from plausible.models.exact_engine import ExactEngine
from plausible.variables import Evidence

__all__ = ["kl_divergence_networks"]


def kl_divergence_networks(p: BayesianNetwork, q: BayesianNetwork) -> float:
    """D(P || Q) = E_P[log P(x) - log Q(x)] in nats, family by family; infinite where Q rules out what P allows.

    Both logarithms are sums over families, so that only the marginals of families under P are needed:
    D = Σ_i Σ P(x_i, u_i) log P(x_i | u_i) - Σ_i Σ P(x_i, v_i) log Q(x_i | v_i), with the parents u in P and v in Q.

    Parameters
    ----------
    p, q
        Discrete networks over the same variables with the same states, in any order; their graphs may differ.

    Notes
    -----
    One calibration of a clique tree of P, and a query to P for each family of Q that is in no clique of it.

    Examples
    --------
    >>> from plausible.cpds import TableCPD
    >>> fair, loaded = (BayesianNetwork(TableCPD("coin", row)) for row in ([0.5, 0.5], [0.75, 0.25]))
    >>> round(kl_divergence_networks(fair, loaded), 6)
    0.143841
    """
    q = with_states_of(q, p.variables)
    _check_comparable(p, q)
    marginal = _family_marginals(p)
    return max(_expected_log(p, marginal) - _expected_log(q, marginal), 0.0)


def _expected_log(q: BayesianNetwork, marginal: Callable[[list[str]], Factor]) -> float:
    """E_P[log Q(x)], where `marginal` gives the marginals under P."""
    total = 0.0
    for cpd in q.cpds.values():
        family = [variable.name for variable in cpd.scope]
        weights = marginal(family).reorder(family).flat
        logs = cpd.to_factor().log().flat
        live = weights > 0
        total += float(np.dot(weights[live], logs[live]))
        if total == -math.inf:
            break
    return total


def _family_marginals(p: BayesianNetwork) -> Callable[[list[str]], Factor]:
    """P(family), read off a clique of P that has it all, else by a query; answers are kept."""
    cliques = _clique_beliefs(p)
    # The cliques of each variable: those of a whole family are among those of its rarest member.
    holders: dict[str, list[int]] = {name: [] for name in p.variables}
    for number, belief in enumerate(cliques):
        for name in belief.names:
            holders.setdefault(name, []).append(number)
    known: dict[frozenset[str], Factor] = {}

    def marginal(family: list[str]) -> Factor:
        key = frozenset(family)
        if key not in known:
            near = (cliques[number] for number in min((holders[name] for name in family), key=len))
            belief = min((clique for clique in near if key.issubset(clique.names)), key=_size, default=None)
            known[key] = p.query(family) if belief is None else belief.marginal(family)
        return known[key]

    return marginal


def _size(factor: Factor) -> int:
    return factor.size


def _clique_beliefs(p: BayesianNetwork) -> list[Factor]:
    """The marginal of each clique of P, from one calibration; none where there is no clique tree or it underflows."""
    try:
        engine = p.compile()
    except (NotSupported, TooLarge):
        # Single queries may still have an answer, or the error that names the variable.
        return []
    if not isinstance(engine, ExactEngine):
        return []
    compiled = engine.sums
    variables, program = list(compiled.variables.values()), compiled.program
    cliques = [[variables[place] for place in program.clique(number)] for number in range(program.num_cliques)]
    try:
        return compiled.joints(cliques, Evidence.read({}, {}))
    except ImpossibleEvidence:
        return []


def _check_comparable(p: BayesianNetwork, q: BayesianNetwork) -> None:
    left: Mapping[str, object] = p.variables
    if p.inputs or q.inputs:
        raise InvalidModel("A network with inputs is no single distribution: its divergence depends on the inputs.")
    for name in {*left, *q.variables}:
        if left.get(name) != q.variables.get(name):
            raise InvalidModel(f"{name!r} is not the same variable in both networks: name and states must agree.")
