"""Best strategies by other methods: sum-max-sum elimination, arc reversal, and queries to a Bayesian network."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations

import numpy as np

from plausible.base import Argument, Floats, Remedy
from plausible.causal.queries.observed import fresh_name
from plausible.cpds import CPD, TableCPD
from plausible.decisions.diagram import Diagram
from plausible.decisions.solving.problem import Structure
from plausible.decisions.solving.updating import Rules, first_best_rule
from plausible.decisions.structure.relevance import new_information, require_recall
from plausible.errors import ImpossibleEvidence, NotSupported
from plausible.factors import Factor
from plausible.factors.joint_factor import JointFactor, combined
from plausible.graphs import UndirectedGraph, elimination_order
from plausible.graphs.nodes import Node
from plausible.models import BayesianNetwork
from plausible.models.lowering import lower
from plausible.variables import Variable, likelihood


def joint_factors(
    diagram: Diagram,
    strategy: Mapping[str, Factor] | None = None,
    findings: Mapping[str, Floats] | None = None,
) -> list[JointFactor]:
    """The distributions (φ, 0), the rules (δ, 0) and the utilities (1, μ) of a diagram.

    >>> import plausible as pb
    >>> diagram = pb.InfluenceDiagram([], [pb.Decision("D", 2)], [pb.Utility("D", [3, 5])])
    >>> factors = joint_factors(diagram, diagram.strategy({"D": 1}))
    >>> eliminate_joint(factors, ["D"]).utility.sum()
    5.0
    """
    weights = [Factor((diagram.variables[name],), vector) for name, vector in (findings or {}).items()]
    rules = () if strategy is None else strategy.values()
    return [*map(JointFactor, (*rules, *weights)), *_joint_factors(diagram, diagram.chance.values())]


def _joint_factors(diagram: Diagram, cpds: Iterable[CPD]) -> list[JointFactor]:
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


def sum_max_sum(diagram: Diagram, findings: Mapping[str, Floats]) -> dict[str, Factor]:
    """MEU = Σ_X1 max_D1 ... Σ_Xk max_Dk Σ_Y P U, by elimination of joint factors in that order, from the right.

    Sums and maxima do not commute, so within this order only those of one block can be sorted: greedily. The factors
    at which the maxima are taken are the cliques of a strong junction tree, gone through once. Where evidence makes
    numbers too small for floats, it is turned into distributions beforehand.

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


def _eliminated(diagram: Diagram, factors: Sequence[JointFactor]) -> dict[str, Factor]:
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


def reverse_arcs(diagram: Diagram, findings: Mapping[str, Floats]) -> dict[str, Factor]:
    """The best rule of each decision, the last first, by removing nodes from the diagram.

    Three steps leave the optimum as it is. A chance variable whose only child is the value is summed out of it. A
    decision that sees all other parents of the value is maximised out of it. An arc X -> Y between chance variables is
    turned by Bayes' rule, if no other directed path leads from X to Y; each gets the other's parents by that. So what
    the last decision does not see is freed of all children but the value, the nearest child first.

    Olmsted (1983), On representing and solving decision problems. Shachter (1986), Evaluating influence diagrams,
    Operations Research 34.
    """
    decisions = list(require_recall(diagram, "Arc reversal").order)
    nodes = _Nodes(diagram)
    nodes.distributions.update(absorbed(diagram, findings))
    rules: dict[str, Factor] = {}
    for name in reversed(decisions):
        nodes.take_out_all_but({*diagram.decisions[name].sees, name})
        idle = Factor((diagram.variables[name],), np.zeros(len(diagram.decisions[name].states)))
        left, rules[name] = JointFactor(utility=nodes.value + idle).maximize(name)
        nodes.value = left.utility
    return {name: rules[name] for name in diagram.decisions}


class _Nodes:
    """What is left of a diagram: the distributions of chance variables, in a topological order, and the value."""

    def __init__(self, diagram: Diagram) -> None:
        self.order = [str(node) for node in diagram.graph.topological_order if node in diagram.variables]
        self.distributions = {name: cpd.to_factor() for name, cpd in diagram.chance.items()}
        self.value = Factor.scalar(0.0)
        for factor in diagram.utility_factors.values():
            self.value = self.value + factor

    def take_out_all_but(self, kept: set[str]) -> None:
        """Remove the parents of the value that are not kept: chance variables that no decision sees."""
        while hidden := set(self.value.names) - kept:
            for name in reversed(self.order):  # nobody sees it, and nothing depends on it
                is_free = name in self.distributions and name not in kept and name not in self.value.names
                if is_free and not self._children(name):
                    del self.distributions[name]
            name = max(hidden, key=self.order.index)
            for child in self._children(name):
                joint = self.distributions[name] * self.distributions[child]
                self.distributions[child] = joint.marginalize(name)
                self.distributions[name] = joint / self.distributions[child]
                self.order.remove(name)
                self.order.insert(self.order.index(child) + 1, name)
            self.value = (self.value * self.distributions.pop(name)).marginalize(name)

    def _children(self, name: str) -> list[str]:
        """The chance variables that depend on one, the nearest first: no other path leads to that."""
        children = (other for other, factor in self.distributions.items() if other != name and name in factor.names)
        return sorted(children, key=self.order.index)


def absorbed(diagram: Diagram, findings: Mapping[str, Floats]) -> dict[str, Factor]:
    """The distributions, given the evidence, of all variables that it says something about.

    From the last variable to the first, what is known from later ones is a likelihood λ of it and of variables before
    it: P(x | before) λ(x, before) is summed to a likelihood of what is before, and divided by that it is a distribution
    again. All arcs into observed nodes are turned by this. Likelihoods are kept as logarithms, as those of many
    observations may be further apart than floats are before others bring them together.
    """
    order = [str(node) for node in diagram.graph.topological_order if node in diagram.chance]
    rank = {name: place for place, name in enumerate(order)}
    likelihoods: dict[str, list[Factor]] = {name: [] for name in order}
    for name, vector in findings.items():
        likelihoods[name].append(Factor((diagram.variables[name],), vector).log())
    given = {}
    for name in reversed(order):
        if not likelihoods[name]:
            continue
        joint = diagram.chance[name].to_factor().log()
        for known in likelihoods[name]:
            joint = joint + known
        peaks = joint.maximize(name)
        peaks = Factor.from_flat(peaks.scope, np.where(peaks.flat > -np.inf, peaks.flat, 0.0))
        weights = (joint - peaks).exp()
        total = weights.marginalize(name)
        given[name], left = weights / total, total.log() + peaks
        if left.max() == -np.inf:
            raise ImpossibleEvidence.outright()
        if left.names:
            likelihoods[max(left.names, key=rank.__getitem__)].append(left)
    return given


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
    strategy = {}
    for name in diagram.decisions:
        scope = [diagram.variables[other] for other in (*structure.information[name], name)]
        strategy[name] = Factor(scope, np.full([v.num_states for v in scope], 1.0 / scope[-1].num_states))
    evidence = {name: likelihood(weights) for name, weights in findings.items()}
    for (name,) in structure.components:
        network, success = utility_network(diagram, strategy)
        names = [*strategy[name].names, success]
        joint = network.query(names, evidence=evidence).reorder(names)
        strategy[name] = Factor(strategy[name].scope, first_best_rule(joint.values[..., 1]))
    return {name: np.array(rule.values) for name, rule in strategy.items()}


def utility_network(diagram: Diagram, rules: Mapping[str, Factor]) -> tuple[BayesianNetwork, str]:
    """The network of a diagram under rules, with a variable that is one with probability (U - min) / (max - min).

    Each utility u_i is a two-state variable of its own, with probability (u_i - min u_i) / r_i, where r_i is its range;
    a chain of coins chooses among them in proportion to their ranges, so no table has more parents than the utilities
    have.
    """
    cpds = list(diagram.chance.values())
    cpds += [TableCPD(diagram.variables[name], rule.values, rule.scope[:-1]) for name, rule in rules.items()]
    taken = set(diagram.graph.nodes)
    chosen, total = Variable(fresh_name("chosen", taken, "'"), 2), 0.0
    cpds.append(TableCPD(chosen, [1.0, 0.0]))
    for name, factor in diagram.utility_factors.items():
        span = factor.max() - factor.min()
        if span <= 0:
            continue
        total += span
        share = (factor.values - factor.min()) / span
        part, before, chosen = Variable(name, 2), chosen, Variable(fresh_name(f"{chosen.name}+", taken, "'"), 2)
        cpds.append(TableCPD(part, np.stack([1 - share, share], axis=-1), factor.scope))
        is_one = np.array([[0.0, span / total], [1 - span / total, 1.0]])  # by what was chosen before, and the part
        cpds.append(TableCPD(chosen, np.stack([1 - is_one, is_one], axis=-1), (before, part)))
    return BayesianNetwork(cpds), chosen.name
