"""Reading the names that a causal question is about."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from itertools import combinations
from typing import Any, TypeAlias

from plausible.errors import InvalidArgument, NotSupported, UnknownVariable
from plausible.graphs.causal_graph import CausalGraph, read_causes
from plausible.graphs.dag import DAG
from plausible.graphs.graph_input import GraphLike
from plausible.graphs.nodes import Node, NodeIndex, Nodes
from plausible.models import BayesianNetwork
from plausible.variables import Variable

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
    """The name with as many marks behind it as tell it apart from all that are taken; it is taken then, too.

    >>> fresh_name("U", {"U", "U_"})
    'U__'
    """
    while name in taken:
        name += mark
    taken.add(name)
    return name
