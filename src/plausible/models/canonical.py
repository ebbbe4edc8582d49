"""The canonical parametrisation: from a positive distribution to factors over the cliques of a graph."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations

from plausible.errors import InvalidGraph, InvalidModel, UnknownVariable
from plausible.factors import Factor
from plausible.graphs import UndirectedGraph
from plausible.graphs.cliques import all_cliques
from plausible.models.energies import gibbs_factors
from plausible.models.markov_network import MarkovNetwork
from plausible.variables import State, Variable

__all__ = ["canonical_network"]


def canonical_network(
    joint: Factor, graph: UndirectedGraph, reference: Mapping[str, State] | None = None
) -> MarkovNetwork:
    """The Markov network that equals a positive distribution if, and only if, the graph is an I-map of it.

    The proof of Hammersley and Clifford as a construction (Koller & Friedman 2009, §4.4.2.1): the factor of a clique D
    is exp Σ_{Z ⊆ D} (-1)^{|D - Z|} ln P(d_Z, ξ*_{-Z}), so that only what the smaller cliques do not say is left to it.

    Parameters
    ----------
    joint
        A factor with positive entries; it is normalised.
    graph
        An undirected graph over the variables of the joint.
    reference
        ξ*, a state of each variable; first states where left out. Every factor is one where one of its variables has
        its reference state.

    Notes
    -----
    Costs 2^|D| sums for each clique D of the graph, of which there can be exponentially many.

    Examples
    --------
    >>> chain = MarkovNetwork(Factor({a: 2, b: 2}, [[4, 1], [1, 4]]) for a, b in ("AB", "BC"))
    >>> canonical = canonical_network(chain.joint(), chain.graph)
    >>> [factor.names for factor in canonical.factors]
    [(), ('A',), ('B',), ('C',), ('A', 'B'), ('B', 'C')]
    >>> canonical.is_close(chain)
    True
    """
    variables = {variable.name: variable for variable in joint.scope}
    _check_names(graph, reference or {}, variables)
    if joint.min() <= 0:
        raise InvalidModel(f"The distribution is {joint.min():g} at {dict(joint.argmin())!r}; it must be positive.")
    logs = joint.normalize().log()
    first = {variable.name: variable.states[0] for variable in joint.scope}
    start = {**first, **(reference or {})}
    scopes = [(), *(tuple(map(str, clique)) for clique in all_cliques(graph))]
    energies = [_energy(logs, scope, start).reorder(scope) for scope in scopes]
    return MarkovNetwork(
        [factor for energy in energies for factor in gibbs_factors(energy)],
        variables=[variables[str(name)] for name in graph.nodes],
    )


def _check_names(graph: UndirectedGraph, reference: Mapping[str, State], variables: Mapping[str, Variable]) -> None:
    for name in (*graph.nodes, *reference):
        if name not in variables:
            raise UnknownVariable.named(name, variables, "the joint distribution")
    if missing := [name for name in variables if name not in graph]:
        raise InvalidGraph(f"The graph lacks {missing[0]!r}, a variable of the joint distribution: add it as a node.")


def _energy(logs: Factor, clique: Sequence[str], reference: Mapping[str, State]) -> Factor:
    """-Σ_{Z ⊆ D} (-1)^{|D - Z|} ln P(d_Z, ξ*_{-Z})."""
    terms = (
        _at(logs, part, reference) * -((-1.0) ** (len(clique) - len(part)))
        for size in range(len(clique) + 1)
        for part in combinations(clique, size)
    )
    return sum(terms, start=Factor.scalar(0.0))


def _at(logs: Factor, free: Iterable[str], reference: Mapping[str, State]) -> Factor:
    return logs.reduce({name: state for name, state in reference.items() if name not in set(free)})
