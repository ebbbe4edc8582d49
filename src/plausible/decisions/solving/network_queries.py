"""Solving by queries to a Bayesian network, in which a two-state variable stands for the total utility."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from plausible.base.arrays import Floats
from plausible.base.remedies import Argument, Remedy
from plausible.cpds import TableCPD
from plausible.decisions.diagram import Diagram
from plausible.decisions.solving.problem import Structure
from plausible.decisions.solving.updating import Rules, first_best_rule
from plausible.errors import NotSupported
from plausible.factors import Factor
from plausible.models import BayesianNetwork
from plausible.variables import Variable, likelihood


def query_rules(diagram: Diagram, findings: Mapping[str, Floats], structure: Structure) -> Rules:
    """The best rule of each decision, those relied on first, each by one query to a network.

    With decisions as chance variables, uniform where they are not settled, and a variable S that is one with a
    probability that grows linearly with the utility, the best action is the one with the largest P(d, S = 1 | w).

    Cooper (1988), A method for using belief networks as influence diagrams. Shachter & Peot (1992), Decision making
    using probabilistic inference methods, UAI. Zhang (1998), Probabilistic inference in influence diagrams.
    """
    if not structure.is_acyclic:
        together = next(component for component in structure.components if len(component) > 1)
        raise NotSupported(
            f"{', '.join(together)} rely on each other, so that no order of queries settles them one by one.",
            remedies=[Remedy("use ", Argument("method", "auto"))],
        )
    scopes = {
        name: tuple(diagram.variables[other] for other in (*structure.information[name], name))
        for name in diagram.decisions
    }
    strategy = {
        name: Factor(scope, np.full([v.num_states for v in scope], 1.0 / scope[-1].num_states))
        for name, scope in scopes.items()
    }
    evidence = {name: likelihood(weights) for name, weights in findings.items()}
    for (name,) in structure.components:
        network, success = utility_network(diagram, strategy)
        names = [variable.name for variable in scopes[name]]
        joint = network.query([*names, success], evidence=evidence).reorder([*names, success])
        strategy[name] = Factor(scopes[name], first_best_rule(joint.values[..., 1]))
    return {name: np.array(rule.values) for name, rule in strategy.items()}


def utility_network(diagram: Diagram, rules: Mapping[str, Factor]) -> tuple[BayesianNetwork, str]:
    """The network of a diagram under rules, with a variable that is one with probability (U - min) / (max - min).

    Each utility u_i is a two-state variable of its own, with probability (u_i - min u_i) / r_i, where r_i is its range;
    a chain of coins chooses among them in proportion to their ranges, so no table has more parents than the utilities
    have.
    """
    cpds = list(diagram.chance.values())
    cpds += [TableCPD(diagram.variables[name], rule.values, rule.scope[:-1]) for name, rule in rules.items()]
    chosen = _two_states("chosen", diagram)
    cpds.append(TableCPD(chosen, [1.0, 0.0]))
    total = 0.0
    for name, factor in diagram.utility_factors.items():
        span = factor.max() - factor.min()
        if span <= 0:
            continue
        total += span
        share = (factor.values - factor.min()) / span
        part, before, chosen = Variable(name, 2), chosen, _two_states(f"{chosen.name}+", diagram)
        cpds.append(TableCPD(part, np.stack([1 - share, share], axis=-1), factor.scope))
        is_one = np.array([[0.0, span / total], [1 - span / total, 1.0]])  # by what was chosen before, and the part
        cpds.append(TableCPD(chosen, np.stack([1 - is_one, is_one], axis=-1), (before, part)))
    return BayesianNetwork(cpds), chosen.name


def _two_states(name: str, diagram: Diagram) -> Variable:
    """A variable with a name that the diagram does not have."""
    while name in diagram.graph:
        name += "'"
    return Variable(name, 2)
