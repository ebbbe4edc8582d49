"""Markov networks by energies and features: exp of weighted sums, whatever their size, and the canonical form."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations
from itertools import product as cartesian
from typing import Any, Literal

import numpy as np

from plausible.errors import InvalidArgument, InvalidGraph, InvalidModel, UnknownVariable
from plausible.factors import Factor
from plausible.factors.alignment import check_size, scope_text, table_shape
from plausible.graphs import UndirectedGraph
from plausible.graphs.cliques import all_cliques
from plausible.models.markov_network import MarkovNetwork
from plausible.variables import State, Variable

#: The ratio of exp(this) and exp(-this) is still a float.
_LARGEST_EXPONENT = 350.0
_MOST_PARTS = 1000


def gibbs_factors(energy: Factor) -> list[Factor]:
    """Factors whose product is exp(-energy): one, or several equal ones where exp(-energy) is no float.

    exp(-E) = exp(-E/k)^k, so that neither large energies nor large differences between them are lost: elimination
    works on logarithms where the product itself would overflow or vanish. An energy of inf is a factor of zero, that
    is, an assignment ruled out.
    """
    if energy.min() == -math.inf:
        raise InvalidArgument(f"The energy over {scope_text(energy.scope)} is -inf at {dict(energy.argmin())!r}.")
    largest = float(np.max(np.abs(energy.flat[np.isfinite(energy.flat)]), initial=0.0))
    if largest > _LARGEST_EXPONENT * _MOST_PARTS:
        raise InvalidArgument(
            f"An energy over {scope_text(energy.scope)} has the size {largest:g}; the limit is "
            f"{_LARGEST_EXPONENT * _MOST_PARTS:g}. Subtract a constant from all of them, or change their unit; an "
            "assignment that is ruled out has the energy inf."
        )
    parts = max(1, math.ceil(largest / _LARGEST_EXPONENT))
    table = np.exp(energy.flat * (-1.0 / parts)).reshape(table_shape(energy.scope))
    return [Factor.trusted(energy.scope, table)] * parts


def feature(scope: Iterable[Variable], function: Callable[..., float | bool]) -> Factor:
    """The table of a function of states: `function(x_1, ..., x_k)` at each assignment to the scope.

    >>> feature([Variable("A", 2), Variable("B", 2)], lambda a, b: a == b).values
    array([[1., 0.],
           [0., 1.]])
    """
    variables = tuple(scope)
    check_size(variables, "The feature")
    states: Any = cartesian(*(variable.states for variable in variables))
    return Factor.from_flat(variables, [float(function(*assignment)) for assignment in states])


def log_linear(
    features: Sequence[Factor],
    weights: Sequence[float],
    *,
    sign: Literal[1, -1] = 1,
    variables: Iterable[Variable] = (),
) -> MarkovNetwork:
    """P(x) ∝ exp(sign · Σ θ_i f_i(x)): a large weight favours its feature, unless the sign is turned.

    Parameters
    ----------
    features
        f_i as factors; any finite numbers. See `feature`.
    weights
        θ_i, one for each feature. Where exp(θ f) is too large or too small for a float, several factors share it, so
        that log Z still comes out right: see `gibbs_factors`.
    sign
        +1, the default; -1 for models written with energies, P ∝ exp(-Σ w_i f_i).
    variables
        Variables that come first in the variable order; the way to add variables that are in no feature.

    Examples
    --------
    >>> a, b = Variable("A", 2), Variable("B", 2)
    >>> agreement = feature([a, b], lambda x, y: x == y)
    >>> log_linear([agreement], [1.3862943611198906]).joint().values.round(6)      # θ = ln 4
    array([[0.4, 0.1],
           [0.1, 0.4]])
    """
    if len(features) != len(weights):
        raise InvalidArgument(f"Each feature needs a weight; there are {len(features)} and {len(weights)}.")
    if sign not in (1, -1):
        raise InvalidArgument(f"sign={sign!r}: it is 1 for exp(+Σ θ f) or -1 for exp(-Σ θ f).")
    energies = [table * (-sign * float(weight)) for table, weight in zip(features, weights, strict=True)]
    return MarkovNetwork([factor for energy in energies for factor in gibbs_factors(energy)], variables=variables)


def canonical_network(
    joint: Factor, graph: UndirectedGraph, reference: Mapping[str, State] | None = None
) -> MarkovNetwork:
    """The Markov network that equals a positive distribution if, and only if, the graph is an I-map of it.

    The proof of Hammersley and Clifford as a construction (Koller & Friedman 2009, §4.4.2.1): the factor of a clique D
    is exp Σ_{Z ⊆ D} (-1)^{|D - Z|} ln P(d_Z, ξ*_{-Z}), so that only what the smaller cliques do not say is left to it.

    Costs 2^|D| sums for each clique D of the graph, of which there can be exponentially many.

    Parameters
    ----------
    joint
        A factor with positive entries; it is normalised.
    reference
        ξ*, a state of each variable; first states where left out. Every factor is one where one of its variables has
        its reference state.

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
