"""Interventions as nodes and as variables: the augmented graph and the augmented network."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from plausible.base.arrays import Floats
from plausible.causal.queries.arguments import CausalLike, read_nodes, read_variables
from plausible.cpds import CPD, RuleCPD, Split, TableCPD, TreeCPD
from plausible.cpds.splits import Leaf
from plausible.errors import InvalidArgument, InvalidGraph, InvalidModel
from plausible.graphs.causal_graph import CausalGraph, read_causes
from plausible.graphs.dag import DAG
from plausible.graphs.nodes import Node, Nodes
from plausible.models import BayesianNetwork
from plausible.variables import State, Variable


def intervention_name(node: Node) -> str:
    """The name of the node, or variable, that stands for an intervention on `node`.

    >>> intervention_name("S")
    'do(S)'
    """
    return f"do({node})"


def augmented_graph(graph: CausalLike, variables: Nodes | None = None, intervened: Nodes = ()) -> DAG | CausalGraph:
    """G†: the graph with a new parent `do(X)` for each X; and G†_Z̄, in which each Z keeps that parent only.

    What separates `do(X)` from Y tells whether it matters that X was set rather than seen: rules 2 and 3 of the
    do-calculus are separations in this graph. Linear in the edges.

    Parameters
    ----------
    graph
        A DAG, or a causal graph; its kind is kept.
    variables
        The nodes that get the new parent; all where left out.
    intervened
        Z: nodes that are set. They get the new parent too, and lose all other edges into them.

    References
    ----------
    Koller & Friedman (2009), Probabilistic graphical models, section 21.3.1.

    Examples
    --------
    >>> augmented_graph("S -> T -> C; S <-> C", variables="T", intervened="S")
    CausalGraph('S -> T; T -> C; do(T) -> T; do(S) -> S')
    """
    causes = read_causes(graph)
    cut = read_nodes(causes, intervened)
    chosen = dict.fromkeys((*(causes.nodes if variables is None else read_nodes(causes, variables)), *cut))
    taken = set(causes.nodes)
    for name in map(intervention_name, chosen):
        if name in taken:
            raise InvalidGraph(
                f"There would be two nodes {name!r}. Give the graph before it was augmented, or rename one."
            )
        taken.add(name)
    kept = causes.without_incoming(cut)
    return type(kept)([*kept.edges, *((intervention_name(node), node) for node in chosen)], nodes=kept.nodes)


def augmented(
    network: BayesianNetwork,
    variables: str | Iterable[str] | None = None,
    *,
    idle: State = "idle",
    idle_probability: float | None = None,
) -> BayesianNetwork:
    """The network with a variable `do(X)` for each X: idle, or the state that an intervention gives X.

    P(x | u, do(X)) is P(x | u) where `do(X)` is idle, else a point mass: a tree that looks at `do(X)` first. Evidence
    on `do(X)` then has the meaning of `do=`: P(Y | e, do(X)=x) = P(Y | do(x), e), and all idle gives P(Y | e).

    Parameters
    ----------
    network
        A causal network.
    variables
        The variables to intervene on; all that are discrete and have discrete parents where left out.
    idle
        The state of `do(X)` in which nothing is done; no state of these variables may have this name.
    idle_probability
        The prior probability that `do(X)` is idle; its other states share the rest. Where left out, the new variables
        are inputs without a distribution, which every question has to give a state.

    Returns
    -------
    BayesianNetwork
        With tables of X written as trees, of as many leaves as they have rows, and one more for each state of X.

    References
    ----------
    Koller & Friedman (2009), Probabilistic graphical models, section 21.3.1; Dawid (2002).

    Examples
    --------
    >>> net = BayesianNetwork(
    ...     TableCPD("rain", [0.8, 0.2], states=["no", "yes"]),
    ...     TableCPD("grass", {"no": [0.9, 0.1], "yes": [0.1, 0.9]}, parents=["rain"], states=["dry", "wet"]),
    ... )
    >>> regimes = augmented(net, "grass")
    >>> regimes.graph
    DAG('do(grass) -> grass; rain -> grass')
    >>> print(regimes.query("rain", evidence={"grass": "wet", "do(grass)": "wet"}))
    rain | value
    -----+------
    no   |   0.8
    yes  |   0.2
    """
    tables = [name for name, cpd in network.cpds.items() if not any(v.is_continuous for v in cpd.scope)]
    chosen = read_variables(network, tables if variables is None else variables, "variable")
    regimes = {variable.name: _regime(network, variable, idle) for variable in chosen}
    cpds = [_switched(cpd, regimes[name]) if name in regimes else cpd for name, cpd in network.cpds.items()]
    inputs = [network.variables[name] for name in network.inputs]
    if idle_probability is None:
        return BayesianNetwork(*cpds, inputs=[*inputs, *regimes.values()], notes=network.notes)
    priors = [TableCPD(regime, _prior(regime, idle_probability)) for regime in regimes.values()]
    return BayesianNetwork(*priors, *cpds, inputs=inputs, notes=network.notes)


def _regime(network: BayesianNetwork, variable: Variable, idle: State) -> Variable:
    name = intervention_name(variable.name)
    if name in network.variables:
        raise InvalidModel(f"The network has a variable {name!r} already. Give the network before it was augmented.")
    if variable.name in network.inputs:
        raise InvalidModel(f"{variable.name!r} is an input: it has no CPD that an intervention could replace.")
    if variable.has_state(idle):
        raise InvalidArgument(f"{variable.name!r} has a state {idle!r}. Give idle= another name, such as idle='none'.")
    return Variable(name, (idle, *variable.states))


def _prior(regime: Variable, idle_probability: float) -> list[float]:
    if not 0.0 <= idle_probability <= 1.0:
        raise InvalidArgument(f"idle_probability={idle_probability!r} is no probability: give a number from 0 to 1.")
    others = regime.num_states - 1
    return [idle_probability, *[(1.0 - idle_probability) / others] * others]


def _switched(cpd: CPD, regime: Variable) -> TreeCPD:
    """P(x | u, do(X)): the distribution as it was below the idle state, point masses below the others."""
    forced = np.eye(cpd.variable.num_states)
    branches: dict[State, Split | Leaf] = {regime.states[0]: _tree(cpd)}
    branches |= {state: row.tolist() for state, row in zip(regime.states[1:], forced, strict=True)}
    return TreeCPD(cpd.variable, Split(regime.name, branches), (regime, *cpd.parents))


def _tree(cpd: CPD) -> Split | Leaf:
    """The distribution as a tree: its own where it has one, else one that looks at each parent in turn."""
    if isinstance(cpd, RuleCPD):
        return cpd.to_tree().tree
    return cpd.tree if isinstance(cpd, TreeCPD) else _table_tree(cpd.parents, cpd.to_table().values)


def _table_tree(parents: Sequence[Variable], rows: Floats) -> Split | Leaf:
    if not parents:
        leaf: list[float] = rows.tolist()
        return leaf
    first, *others = parents
    return Split(first.name, {state: _table_tree(others, part) for state, part in zip(first.states, rows, strict=True)})
