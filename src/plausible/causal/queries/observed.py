"""Graphs and models with latent parts, as arguments; intervention variables."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, TypeAlias

import numpy as np

from plausible.base import Floats
from plausible.cpds import CPD, RuleCPD, Split, TableCPD, TreeCPD
from plausible.cpds.splits import Leaf
from plausible.errors import InvalidArgument, InvalidGraph, InvalidModel, NotSupported, UnknownVariable
from plausible.factors import Factor
from plausible.graphs.causal_graph import CausalGraph, latent_projection, read_causes
from plausible.graphs.dag import DAG
from plausible.graphs.graph_input import GraphLike
from plausible.graphs.nodes import Node, NodeIndex, Nodes
from plausible.models import BayesianNetwork
from plausible.variables import EvidenceLike, State, Variable
from plausible.variables.evidence import findings_of

#: A DAG or a causal graph (`<->` is a latent common cause), a model with one of these, or arrow text.
CausalLike: TypeAlias = "GraphLike[DAG | CausalGraph]"


def read_causal(graph: CausalLike) -> CausalGraph:
    """The causal graph that this is, has or writes; a DAG is one without latent causes."""
    causes = read_causes(graph)
    return causes if isinstance(causes, CausalGraph) else CausalGraph(causes)


def read_nodes(graph: DAG | CausalGraph, nodes: Nodes) -> tuple[Node, ...]:
    """One node of a graph or several, without repeats, in the order given."""
    index = NodeIndex(graph.nodes)
    return index.names(index.select(nodes))


def read_node(graph: DAG | CausalGraph, node: Node, role: str) -> tuple[Node]:
    """The one node that has a role in a question."""
    found = read_nodes(graph, node)
    if len(found) != 1:
        raise InvalidArgument(f"{role}= takes one node here, not {len(found)}.")
    return (found[0],)


def read_variables(network: BayesianNetwork, names: str | Iterable[str], role: str) -> tuple[Variable, ...]:
    """One variable of a network or several, in the order given; they must have states."""
    listed = [names] if isinstance(names, str) or not isinstance(names, Iterable) else list(names)
    if role == "outcome" and not listed:
        raise InvalidArgument("There is no outcome to ask about: outcome= is empty.")
    for name in listed:
        if not isinstance(name, str) or name not in network.variables:
            raise UnknownVariable.named(name, network.variables, "this network")
        if network.variables[name].is_continuous:
            raise NotSupported(
                f"The {role} {name!r} is continuous: its values can't be listed. Ask for one value at a time, with "
                "network.query(..., do=...), or discretize it."
            )
    return tuple(network.variables[name] for name in dict.fromkeys(listed))


def refuse_overlap(groups: Mapping[str, Collection[Node]]) -> None:
    """Refuse a node that stands in two of the named groups."""
    for (one, first), (other, second) in combinations(groups.items(), 2):
        shared = [node for node in first if node in set(second)]
        if shared:
            raise InvalidArgument(f"{shared[0]!r} can't be both in {one}= and in {other}=; take it out of one of them.")


def fresh_name(name: str, taken: set[Any], mark: str = "_") -> str:
    """The name with as many marks behind it as tell it apart from all that are taken; it is taken then, too."""
    while name in taken:
        name += mark
    taken.add(name)
    return name


@dataclass(frozen=True, slots=True)
class ObservedModel:
    """A causal network seen through some of its variables.

    It has a causal graph and answers questions, but it is no `BayesianNetwork`: where latent variables act on several
    observed ones, the distribution of these does not factorise into one CPD for each node given its parents in the
    graph.
    """

    network: BayesianNetwork  # The truth, with the latent variables in it
    observed: tuple[str, ...]  # The names of the variables that can be seen

    @property
    def latent(self) -> tuple[str, ...]:
        """The names of the other variables."""
        return tuple(name for name in self.network.variables if name not in self.observed)

    @property
    def graph(self) -> CausalGraph:
        """The latent projection of the network's graph: `<->` where observed variables share a latent cause."""
        return latent_projection(self.network.graph, observed=self.observed)

    def query(
        self, targets: str | Iterable[str], evidence: EvidenceLike | None = None, do: Mapping[str, State] | None = None
    ) -> Factor:
        """P(targets | evidence, do), all about observed variables; see `BayesianNetwork.query`."""
        named = [targets] if isinstance(targets, str) else list(targets)
        for name in (*named, *findings_of(evidence), *findings_of(do)):
            if name not in self.observed:
                hidden = " It is latent." if name in self.network.variables else ""
                raise UnknownVariable(f"{name!r} is not one of the observed variables {list(self.observed)}.{hidden}")
        return self.network.query(named, evidence, do)


def observed_model(network: BayesianNetwork, observed: str | Iterable[str]) -> ObservedModel:
    """The model over some variables of a causal network; the others are latent.

    Parameters
    ----------
    network
        A causal network with its latent variables.
    observed
        What can be seen, a name or several.

    Examples
    --------
    >>> from plausible import TableCPD
    >>> noisy = [[0.9, 0.1], [0.2, 0.8]]
    >>> net = BayesianNetwork(
    ...     TableCPD("U", [0.5, 0.5]), TableCPD("X", noisy, ["U"]), TableCPD("Y", [noisy, noisy], ["X", "U"])
    ... )
    >>> observed_model(net, ["X", "Y"]).graph
    CausalGraph('X -> Y; X <-> Y')
    """
    names = [observed] if isinstance(observed, str) else list(observed)
    UnknownVariable.check_all(names, network.variables, "this network")
    if not names:
        raise InvalidArgument("Nothing is observed: name one variable or more.")
    return ObservedModel(network, tuple(name for name in network.variables if name in set(names)))


def intervention_name(node: Node) -> str:
    """The name of the node, or variable, that stands for an intervention on `node`.

    >>> intervention_name("S")
    'do(S)'
    """
    return f"do({node})"


def augmented_graph(graph: CausalLike, variables: Nodes | None = None, intervened: Nodes = ()) -> DAG | CausalGraph:
    """G†: the graph with a new parent `do(X)` for each X; and G†_Z̄, in which each Z keeps that parent only.

    What separates `do(X)` from Y tells whether it matters that X was set rather than seen: rules 2 and 3 of the
    do-calculus are separations in this graph. Linear in the edges. See Koller & Friedman (2009), Probabilistic
    graphical models, section 21.3.1.

    Parameters
    ----------
    graph
        A DAG, or a causal graph; its kind is kept.
    variables
        The nodes that get the new parent; all where left out.
    intervened
        Z: nodes that are set. They get the new parent too, and lose all other edges into them.

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

    P(x | u, do(X)) is P(x | u) where `do(X)` is idle, else a point mass: a tree that looks at `do(X)` first, with a
    leaf for each row of the table and each state of X. Evidence on `do(X)` then has the meaning of `do=`:
    P(Y | e, do(X)=x) = P(Y | do(x), e), and all idle gives P(Y | e). See Koller & Friedman (2009), section 21.3.1;
    Dawid (2002).

    Parameters
    ----------
    variables
        The variables to intervene on; all that are discrete and have discrete parents where left out.
    idle
        The state of `do(X)` in which nothing is done; no state of these variables may have this name.
    idle_probability
        The prior probability that `do(X)` is idle; its other states share the rest. Where left out, the new variables
        are inputs without a distribution, which every question has to give a state.

    Examples
    --------
    >>> net = BayesianNetwork(
    ...     TableCPD("rain", [0.8, 0.2], states=["no", "yes"]),
    ...     TableCPD("grass", {"no": [0.9, 0.1], "yes": [0.1, 0.9]}, parents=["rain"], states=["dry", "wet"]),
    ... )
    >>> regimes = augmented(net, "grass")
    >>> regimes.graph
    DAG('do(grass) -> grass; rain -> grass')
    >>> regimes.query("rain", evidence={"grass": "wet", "do(grass)": "wet"}).values
    array([0.8, 0.2])
    """
    tables = [name for name, cpd in network.cpds.items() if not any(v.is_continuous for v in cpd.scope)]
    regimes: dict[str, Variable] = {}
    for variable in read_variables(network, tables if variables is None else variables, "variable"):
        name = intervention_name(variable.name)
        if name in network.variables:
            raise InvalidModel(
                f"The network has a variable {name!r} already. Give the network before it was augmented."
            )
        if variable.name in network.inputs:
            raise InvalidModel(f"{variable.name!r} is an input: it has no CPD that an intervention could replace.")
        if variable.has_state(idle):
            raise InvalidArgument(
                f"{variable.name!r} has a state {idle!r}. Give idle= another name, such as idle='none'."
            )
        regimes[variable.name] = Variable(name, (idle, *variable.states))
    cpds = [_switched(cpd, regimes[name]) if name in regimes else cpd for name, cpd in network.cpds.items()]
    inputs = [network.variables[name] for name in network.inputs]
    if idle_probability is None:
        return BayesianNetwork(*cpds, inputs=[*inputs, *regimes.values()], notes=network.notes)
    if not 0.0 <= idle_probability <= 1.0:
        raise InvalidArgument(f"idle_probability={idle_probability!r} is no probability: give a number from 0 to 1.")
    shares = {regime: (1.0 - idle_probability) / (regime.num_states - 1) for regime in regimes.values()}
    priors = [TableCPD(v, [idle_probability, *[share] * (v.num_states - 1)]) for v, share in shares.items()]
    return BayesianNetwork(*priors, *cpds, inputs=inputs, notes=network.notes)


def _switched(cpd: CPD, regime: Variable) -> TreeCPD:
    """P(x | u, do(X)): the distribution as it was below the idle state, point masses below the others."""
    if isinstance(cpd, RuleCPD):
        cpd = cpd.to_tree()
    tree = cpd.tree if isinstance(cpd, TreeCPD) else _table_tree(cpd.parents, cpd.to_table().values)
    forced: Sequence[Leaf] = np.eye(cpd.variable.num_states).tolist()
    branches: dict[State, Split | Leaf] = {regime.states[0]: tree, **dict(zip(regime.states[1:], forced, strict=True))}
    return TreeCPD(cpd.variable, Split(regime.name, branches), (regime, *cpd.parents))


def _table_tree(parents: Sequence[Variable], rows: Floats) -> Split | Leaf:
    if not parents:
        leaf: list[float] = rows.tolist()
        return leaf
    first, *others = parents
    return Split(first.name, {state: _table_tree(others, part) for state, part in zip(first.states, rows, strict=True)})
