"""Networks made of other things: of a joint by the chain rule, of a Markov network, of a class and its features."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from plausible.cpds import CPD
from plausible.errors import InvalidGraph, InvalidModel
from plausible.factors import Factor, product
from plausible.factors.alignment import num_entries
from plausible.graphs import DAG, UndirectedGraph, chordal
from plausible.graphs.nodes import Node
from plausible.inference.elimination import finite_peaks, log_marginalize
from plausible.models.bayesian_network import BayesianNetwork
from plausible.models.markov_network import MarkovNetwork
from plausible.models.network_parts import conditional_table
from plausible.models.notes import Notes


def to_bayesian_network(network: MarkovNetwork, triangulate: bool = False) -> BayesianNetwork:
    """A Bayesian network with the same joint distribution as a Markov network, over the same adjacencies.

    Only a chordal graph can be directed without losing or inventing independencies (Koller & Friedman 2009, §4.5.3).
    Eliminating X in a perfect order multiplies the factors with X to ψ; then P(X | the neighbours left) = ψ / Σ_X ψ.
    Costs one elimination: the sum of the sizes of the clique tables.

    Parameters
    ----------
    triangulate
        Whether a graph that is not may get chords first; they cost independencies and parameters.

    Examples
    --------
    >>> chain = MarkovNetwork(Factor({a: 2, b: 2}, [[4, 1], [1, 4]]) for a, b in ("AB", "BC"))
    >>> to_bayesian_network(chain).graph
    DAG('A -> B; B -> C')
    """
    graph = network.graph
    if (cycle := chordal.chordless_cycle(graph)) is not None:
        if not triangulate:
            raise InvalidModel(
                f"The cycle {' - '.join(map(str, (*cycle, cycle[0])))} has no chord: no Bayesian network has exactly "
                "these independencies. triangulate=True adds chords, and keeps the distribution."
            )
        cardinalities: dict[Node, int] = {name: v.num_states for name, v in network.variables.items()}
        graph = chordal.triangulate(graph, heuristic="weighted-min-fill", cardinalities=cardinalities)
    network.log_partition()  # refuses a network without a distribution
    families = _families(network, graph)
    return BayesianNetwork([conditional_table(families[name], name) for name in network.variables], notes=network.notes)


def _families(network: MarkovNetwork, graph: UndirectedGraph) -> dict[str, Factor]:
    """For each variable a factor over it and its later neighbours in a perfect order, whose rows are proportional
    to P(variable | these neighbours). On logarithms, so that no row underflows.
    """
    order = [str(name) for name in chordal.perfect_elimination_order(graph)]
    rank = {name: place for place, name in enumerate(order)}
    buckets: dict[str, list[Factor]] = {name: [] for name in order}

    def put(factor: Factor) -> None:
        if factor.scope:
            buckets[min(factor.names, key=rank.__getitem__)].append(factor)

    for factor in network.factors:
        put(factor.log())
    families: dict[str, Factor] = {}
    for name in order:
        family = {name, *(other for other in graph.neighbors(name) if rank[str(other)] > rank[name])}
        scope = [variable for other, variable in network.variables.items() if other in family]
        total = sum(buckets[name], start=Factor.from_flat(scope, np.zeros(num_entries(scope))))
        families[name] = (total - finite_peaks(total, name)).exp()
        put(log_marginalize(total, name))
    return families


def chain_rule_network(joint: Factor, order: Sequence[str] | None = None) -> BayesianNetwork:
    """P(x) = Π P(x_i | x_1, ..., x_{i-1}): any joint, in any order, as a network with all edges.

    The joint is a non-negative factor, which is normalised; the order is that of its scope where left out.

    >>> joint = Factor({"A": 2, "B": 2}, [[0.1, 0.2], [0.3, 0.4]])
    >>> chain_rule_network(joint, ["B", "A"]).graph
    DAG('B -> A')
    """
    ordered = joint.normalize().reorder(list(order) if order is not None else joint.names)
    prefixes = (ordered.marginal(ordered.names[: place + 1]) for place in range(len(ordered.names)))
    return BayesianNetwork([conditional_table(prefix, prefix.names[-1]) for prefix in prefixes])


def factorizes(joint: Factor, graph: DAG, tolerance: float = 1e-9) -> bool:
    """Whether P(x) = Π P(x_i | parents of x_i in the graph) everywhere: whether P factorises over G.

    The joint is a non-negative factor, which is normalised; no entry may differ by more than `tolerance`.

    >>> fair = Factor({"A": 2, "B": 2}, [[0.25, 0.25], [0.25, 0.25]])
    >>> factorizes(fair, DAG(nodes=["A", "B"]))
    True
    >>> factorizes(Factor({"A": 2, "B": 2}, [[0.5, 0], [0, 0.5]]), DAG(nodes=["A", "B"]))
    False
    """
    if different := set(joint.names).symmetric_difference(graph.nodes):
        raise InvalidGraph(
            f"The graph and the joint must have the same variables; {next(iter(different))!r} is in one of them only."
        )
    distribution = joint.normalize()
    families = ([*map(str, graph.parents(name)), name] for name in joint.names)
    conditionals = (conditional_table(distribution.marginal(family), family[-1]).to_factor() for family in families)
    return distribution.is_close(product(conditionals), tolerance)


def naive_bayes(class_cpd: CPD, features: Iterable[CPD], notes: Notes | None = None) -> BayesianNetwork:
    """P(C) Π P(X_i | C) as a Bayesian network; a query for the class given features is the classifier.

    Parameters
    ----------
    class_cpd
        P(C): the class has no parents.
    features
        P(X_i | C): each has the class as its only parent.

    Examples
    --------
    >>> from plausible.cpds import TableCPD
    >>> spam = TableCPD("spam", [0.6, 0.4], states=["no", "yes"])
    >>> words = [
    ...     TableCPD("offer", {"no": [0.9, 0.1], "yes": [0.3, 0.7]}, parents=["spam"], states=["no", "yes"]),
    ...     TableCPD("hello", {"no": [0.4, 0.6], "yes": [0.7, 0.3]}, parents=["spam"], states=["no", "yes"]),
    ... ]
    >>> mail = naive_bayes(spam, words)
    >>> mail.query("spam", evidence={"offer": "yes", "hello": "no"}).argmax()
    Assignment(spam='yes')
    """
    name = class_cpd.variable.name
    if class_cpd.parent_names:
        raise InvalidModel(f"The class {name!r} has no parents in a naive Bayes model, not {class_cpd.parent_names}.")
    listed = list(features)
    for cpd in listed:
        if cpd.parent_names != (name,):
            raise InvalidModel(
                f"The feature {cpd.variable.name!r} must have the class {name!r} as its only parent, "
                f"not {list(cpd.parent_names)}."
            )
    return BayesianNetwork(class_cpd, *listed, notes=notes)
