"""Sum-max-sum elimination: what is never seen first, then the last decision, what it sees, and so on back in time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from plausible.base.arrays import Floats
from plausible.decisions.solving.absorbing import absorbed
from plausible.decisions.structure.recall import new_information, require_recall
from plausible.errors import ImpossibleEvidence
from plausible.factors import Factor
from plausible.factors.joint_factor import JointFactor, combined
from plausible.graphs.elimination import elimination_order
from plausible.graphs.nodes import Node
from plausible.graphs.undirected import UndirectedGraph
from plausible.models.lowering import lower

if TYPE_CHECKING:
    from plausible.cpds import CPD
    from plausible.decisions.diagram import InfluenceDiagram

__all__ = ["eliminate_joint", "joint_factors", "sum_max_sum"]


def joint_factors(
    diagram: InfluenceDiagram,
    strategy: Mapping[str, Factor] | None = None,
    findings: Mapping[str, Floats] | None = None,
) -> list[JointFactor]:
    """The distributions (φ, 0), the rules (δ, 0) and the utilities (1, μ) of a diagram.

    >>> from plausible.decisions import Decision, InfluenceDiagram
    >>> from plausible.utilities import Utility
    >>> diagram = InfluenceDiagram([], [Decision("D", 2)], [Utility("D", [3, 5])])
    >>> factors = joint_factors(diagram, diagram.strategy({"D": 1}))
    >>> eliminate_joint(factors, ["D"]).utility.sum()
    5.0
    """
    weights = [Factor((diagram.variables[name],), vector) for name, vector in (findings or {}).items()]
    rules = () if strategy is None else strategy.values()
    return [*map(JointFactor, (*rules, *weights)), *_joint_factors(diagram, diagram.chance.values())]


def _joint_factors(diagram: InfluenceDiagram, cpds: Iterable[CPD]) -> list[JointFactor]:
    """Some distributions and all utilities."""
    lowered = lower(cpds, (*diagram.variables, *diagram.utilities), {})
    return [
        *map(JointFactor, lowered.factors),
        *(JointFactor(utility=factor) for factor in diagram.utility_factors.values()),
    ]


def eliminate_joint(factors: Iterable[JointFactor], order: Iterable[str]) -> JointFactor:
    """Sum variables out of a combination of joint factors, one after the other, and combine what is left.

    Any order gives the same; over all variables the result is (1, expected utility). The cost is that of ordinary
    elimination in this order (Koller & Friedman 2009, algorithm 23.2).

    >>> from plausible.cpds import TableCPD
    >>> from plausible.decisions import Decision, InfluenceDiagram
    >>> from plausible.utilities import Utility
    >>> diagram = InfluenceDiagram([TableCPD("X", [0.75, 0.25])], [Decision("D", 2)], [Utility(["X", "D"], np.eye(2))])
    >>> left = eliminate_joint(joint_factors(diagram), ["X"])
    >>> left.names, left.utility.values
    (('D',), array([0.75, 0.25]))
    """
    left = list(factors)
    for name in order:
        touching = [factor for factor in left if name in factor.names]
        left = [factor for factor in left if name not in factor.names]
        left.append(combined(touching).marginalize(name) if touching else JointFactor())
    return combined(left)


def sum_max_sum(diagram: InfluenceDiagram, findings: Mapping[str, Floats]) -> dict[str, Factor]:
    """MEU = Σ_X1 max_D1 ... Σ_Xk max_Dk Σ_Y P U, by elimination of joint factors in that order, from the right.

    Sums and maxima do not commute, so within this order only those of one block can be sorted: greedily. The factors
    at which the maxima are taken are the cliques of a strong junction tree, gone through once. Where evidence makes
    numbers too small for floats, it is turned into distributions beforehand.

    Returns
    -------
    dict
        Decision -> its rule over the part of what it sees that was left in the elimination, and the decision.

    References
    ----------
    Jensen, Jensen & Dittmer (1994), From influence diagrams to junction trees, UAI.
    """
    require_recall(diagram, "Sum-max-sum elimination")
    if not findings:
        return _eliminated(diagram, joint_factors(diagram))
    try:
        with np.errstate(under="raise", over="raise"):
            return _eliminated(diagram, joint_factors(diagram, None, findings))
    except FloatingPointError:
        given = absorbed(diagram, findings)
        others = [cpd for name, cpd in diagram.chance.items() if name not in given]
        return _eliminated(diagram, [*map(JointFactor, given.values()), *_joint_factors(diagram, others)])


def _eliminated(diagram: InfluenceDiagram, factors: Sequence[JointFactor]) -> dict[str, Factor]:
    """The rules, from the last decision to the first."""
    blocks = new_information(diagram)
    seen = {name for decision, block in blocks.items() for name in (*block, decision)}
    left = _summed(factors, [name for factor in factors for name in factor.names if name not in seen])
    rules: dict[str, Factor] = {}
    for decision, block in reversed(blocks.items()):
        variable = diagram.variables[decision]
        touching = [factor for factor in left if decision in factor.names]
        nothing = JointFactor(utility=Factor((variable,), np.zeros(variable.num_states)))  # it may touch no factor
        rest, rules[decision] = _scaled_product((*touching, nothing)).maximize(decision)
        left = _summed([*(factor for factor in left if decision not in factor.names), rest], block)
    if _scaled_product(left).probability.sum() <= 0:
        raise ImpossibleEvidence.outright()
    return {decision: rules[decision] for decision in blocks}


def _summed(factors: Sequence[JointFactor], names: Sequence[str]) -> list[JointFactor]:
    """Sum some variables out, in a greedy order."""
    scopes = [factor.scope for factor in factors]
    sizes: dict[Node, int] = {variable.name: variable.num_states for scope in scopes for variable in scope}
    pairs = ((a.name, b.name) for scope in scopes for a, b in combinations(scope, 2))
    graph = UndirectedGraph(pairs, nodes=sizes)
    gone = set(names)
    keep = [name for name in sizes if name not in gone]
    order = elimination_order(graph, "weighted-min-fill", cardinalities=sizes, keep=keep)
    left = dict(enumerate(factors))
    users: dict[str, set[int]] = {str(name): set() for name in sizes}
    for number, scope in enumerate(scopes):
        for variable in scope:
            users[variable.name].add(number)
    for number, name in enumerate(map(str, order), len(left)):
        touching = sorted(users[name])
        left[number] = _scaled_product([left.pop(other) for other in touching]).marginalize(name)
        for around in {variable.name for other in touching for variable in scopes[other]}:
            users[around].difference_update(touching)
        scopes.append(left[number].scope)
        for variable in scopes[number]:
            users[variable.name].add(number)
    return list(left.values())


def _scaled_product(factors: Iterable[JointFactor]) -> JointFactor:
    """The combination of joint factors, with 1 as the largest probability: no number of them is too many."""
    product = JointFactor()
    for factor in factors:
        product = product * factor
        peak = product.probability.max()
        if peak not in (0.0, 1.0):
            product = JointFactor(product.probability / peak, product.utility)
    return product
