"""Markov networks by energies and features, the canonical form, and famous pairwise ones: Ising, Boltzmann, metric."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from plausible.base import Floats
from plausible.errors import InvalidArgument, InvalidGraph, InvalidModel, UnknownVariable
from plausible.factors import Factor
from plausible.factors.alignment import scope_text, table_shape
from plausible.graphs import UndirectedGraph, all_cliques
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
        f_i as factors; any finite numbers. A `Feature` tells its table by `values`.
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
    >>> agreement = Factor((a, b), [[1, 0], [0, 1]])
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
    UnknownVariable.check_all((*graph.nodes, *reference), variables, "the joint distribution")
    if missing := [name for name in variables if name not in graph]:
        raise InvalidGraph(f"The graph lacks {missing[0]!r}, a variable of the joint distribution: add it as a node.")


def _energy(logs: Factor, clique: Sequence[str], reference: Mapping[str, State]) -> Factor:
    """-Σ_{Z ⊆ D} (-1)^{|D - Z|} ln P(d_Z, ξ*_{-Z})."""
    terms = (
        logs.reduce({name: state for name, state in reference.items() if name not in part})
        * -((-1.0) ** (len(clique) - len(part)))
        for size in range(len(clique) + 1)
        for part in combinations(clique, size)
    )
    return sum(terms, start=Factor.scalar(0.0))


#: A graph, arrow text, or the numbers of rows and columns of a grid.
GraphLike: TypeAlias = UndirectedGraph | str | tuple[int, int]
#: One number for all edges, or a number for each edge, keyed by its two ends in either order.
EdgeNumbers: TypeAlias = float | Mapping[tuple[str, str], float]
#: One number for all nodes, or a number for each node; nodes left out have zero.
NodeNumbers: TypeAlias = float | Mapping[str, float]
_Table: TypeAlias = npt.NDArray[np.float64]


def grid(rows: int, columns: int) -> UndirectedGraph:
    """The grid in which each node, named by row and column, is joined to those beside, above and below it.

    >>> grid(2, 2)
    UndirectedGraph('0_0 - 0_1; 0_0 - 1_0; 0_1 - 1_1; 1_0 - 1_1')
    """
    if rows < 1 or columns < 1:
        raise InvalidArgument(f"A grid needs at least one row and one column, not {rows} x {columns}.")
    nodes = [f"{row}_{column}" for row in range(rows) for column in range(columns)]
    across = [(f"{row}_{column}", f"{row}_{column + 1}") for row in range(rows) for column in range(columns - 1)]
    down = [(f"{row}_{column}", f"{row + 1}_{column}") for row in range(rows - 1) for column in range(columns)]
    return UndirectedGraph(across + down, nodes=nodes)


def ising(graph: GraphLike, coupling: EdgeNumbers, field: NodeNumbers = 0.0) -> MarkovNetwork:
    """P(x) ∝ exp(-Σ w_ij x_i x_j - Σ u_i x_i) with spins x in {-1, +1} (Ising 1925).

    w < 0 favours neighbours that agree, w > 0 neighbours that differ; u < 0 favours +1.

    Parameters
    ----------
    graph
        The spins and which of them interact; a pair of numbers is a grid.
    coupling
        w: one number, or a mapping from edges.
    field
        u: one number, or a mapping from spins.

    Examples
    --------
    >>> ising("a - b", coupling=-1.0).joint().values.round(6)
    array([[0.440399, 0.059601],
           [0.059601, 0.440399]])
    """
    spins = np.array([-1.0, 1.0])
    frame = _Frame(graph, (-1, 1))
    return frame.network(
        frame.edge_factors(coupling, np.outer(spins, spins)),
        frame.node_factors(field, spins),
    )


def boltzmann_machine(graph: GraphLike, weights: EdgeNumbers, biases: NodeNumbers = 0.0) -> MarkovNetwork:
    """P(x) ∝ exp(Σ w_ij x_i x_j + Σ b_i x_i) with units x in {0, 1} (Ackley, Hinton & Sejnowski 1985).

    A positive weight makes two units like to be on together, and P(X_i = 1 | rest) = σ(Σ_j w_ij x_j + b_i). Mind the
    sign: weights written as energies, P ∝ exp(-Σ w x x - Σ u x), enter here negated, and the conditional is then
    σ(-Σ w x - u).

    Parameters
    ----------
    graph
        The units and which of them are joined; a pair of numbers is a grid.
    weights
        w: one number, or a mapping from edges.
    biases
        b: one number, or a mapping from units.

    Examples
    --------
    >>> net = boltzmann_machine("a - b", weights=2.0, biases={"a": -1.0})
    >>> round(net.query("a", evidence={"b": 1})[1], 6)           # σ(2 - 1)
    0.731059
    """
    units = np.array([0.0, 1.0])
    frame = _Frame(graph, (0, 1))
    return frame.network(
        frame.edge_factors(weights, -np.outer(units, units)),
        frame.node_factors(biases, -units),
    )


def metric_network(
    graph: GraphLike,
    labels: Sequence[State],
    node_energies: Mapping[str, Sequence[float] | Floats],
    metric: Callable[[State, State], float] | npt.ArrayLike | None = None,
    *,
    weight: EdgeNumbers = 1.0,
    truncation: float | None = None,
) -> MarkovNetwork:
    """P(x) ∝ exp(-Σ ε_i(x_i) - Σ w_ij min(d(x_i, x_j), truncation)): neighbours pay for the distance of their labels.

    Parameters
    ----------
    graph
        The nodes and which of them are neighbours; a pair of numbers is a grid.
    labels
        The labels, the same for all nodes.
    node_energies
        ε_i: for each node one energy a label; nodes left out prefer no label.
    metric
        d: a function of two labels, or a table; the distance of their positions where left out. It must be symmetric,
        non-negative, and zero from a label to itself; that it obeys the triangle inequality is not asked.
    weight
        w: one number, or a mapping from edges.
    truncation
        The most that two neighbours pay, so that true edges in an image stay sharp.

    Examples
    --------
    >>> net = metric_network("a - b", [0, 1, 2], {"a": [0.0, 1.0, 5.0]}, truncation=1.0)
    >>> round(net.energy({"a": 0, "b": 2}), 9)
    1.0
    """
    distances = _distances(labels, metric)
    if truncation is not None:
        if not truncation >= 0:
            raise InvalidArgument(f"truncation={truncation}: the most that two neighbours pay is zero or more.")
        distances = np.minimum(distances, truncation)
    frame = _Frame(graph, labels)
    own = [factor for name, energies in node_energies.items() for factor in frame.factors((name,), energies)]
    return frame.network(frame.edge_factors(weight, distances), own)


def _distances(labels: Sequence[State], metric: Callable[[State, State], float] | npt.ArrayLike | None) -> _Table:
    places = np.arange(len(labels), dtype=np.float64)
    if metric is None:
        return np.abs(places[:, None] - places)
    table = np.array([[metric(a, b) for b in labels] for a in labels] if callable(metric) else metric, dtype=np.float64)
    if table.shape != (len(labels), len(labels)):
        raise InvalidArgument(f"The metric of {len(labels)} labels needs a square table, not shape {table.shape}.")
    wrong = ~(table >= 0) | (table != table.T) | (np.eye(len(labels), dtype=bool) & (table != 0))
    if wrong.any():
        i, j = (int(place) for place in np.argwhere(wrong)[0])
        raise InvalidArgument(
            f"The metric gives d({labels[i]!r}, {labels[j]!r}) = {table[i, j]:g} and the reverse {table[j, i]:g}: a "
            "distance is not negative, symmetric, and zero from a label to itself."
        )
    return table


class _Frame:
    """The variables and edges of a pairwise network, to which numbers are added."""

    def __init__(self, graph: GraphLike, states: Iterable[State]) -> None:
        read = grid(*graph) if isinstance(graph, tuple) else UndirectedGraph(graph)
        shared = tuple(states)
        self.variables = {_name(node): Variable(_name(node), shared) for node in read.nodes}
        self.pairs = [(_name(a), _name(b)) for a, b in read.edges]

    def factors(self, names: Sequence[str], energies: npt.ArrayLike) -> list[Factor]:
        """exp(-energy) over one or two nodes."""
        UnknownVariable.check_all(names, self.variables, "the graph")
        return gibbs_factors(Factor([self.variables[name] for name in names], energies))

    def edge_factors(self, numbers: EdgeNumbers, energies: _Table) -> list[Factor]:
        """For each edge its number times the energies."""
        if not isinstance(numbers, Mapping):
            return [factor for pair in self.pairs for factor in self.factors(pair, float(numbers) * energies)]
        by_pair = {frozenset(pair): float(number) for pair, number in numbers.items()}
        known = set(map(frozenset, self.pairs))
        if unknown := [pair for pair in numbers if frozenset(pair) not in known]:
            raise InvalidArgument(f"A number is given for {unknown[0]!r}, which is not an edge of the graph.")
        if missing := [pair for pair in self.pairs if frozenset(pair) not in by_pair]:
            raise InvalidArgument(f"No number is given for the edge {missing[0]!r}.")
        numbered = [(pair, by_pair[frozenset(pair)]) for pair in self.pairs]
        return [factor for pair, number in numbered for factor in self.factors(pair, number * energies)]

    def node_factors(self, numbers: NodeNumbers, energies: _Table) -> list[Factor]:
        """For each node whose number is not zero the number times the energies."""
        by_name = numbers if isinstance(numbers, Mapping) else dict.fromkeys(self.variables, float(numbers))
        numbered = [(name, number) for name, number in by_name.items() if number]
        return [factor for name, number in numbered for factor in self.factors((name,), number * energies)]

    def network(self, *factors: Iterable[Factor]) -> MarkovNetwork:
        """The network of all variables and of these factors."""
        return MarkovNetwork([factor for group in factors for factor in group], variables=self.variables.values())


def _name(node: object) -> str:
    if not isinstance(node, str):
        raise InvalidModel(f"The node {node!r} can't name a variable; nodes must be text.")
    return node
