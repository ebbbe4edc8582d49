"""Famous pairwise Markov networks: Ising models, Boltzmann machines and metric networks, on any graph.

Every builder says its sign. Energies are what nature lowers: P ∝ exp(-energy). Where exp(-energy) is too large or too
small for a float, several factors share it, so that energies and log Z still come out right: see `gibbs_factors`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from plausible.base.arrays import Floats
from plausible.errors import InvalidArgument, InvalidModel, UnknownVariable
from plausible.factors import Factor
from plausible.graphs import UndirectedGraph
from plausible.models.log_linear import gibbs_factors
from plausible.models.markov_network import MarkovNetwork
from plausible.variables import State, Variable

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
        for name in names:
            if name not in self.variables:
                raise UnknownVariable.named(name, self.variables, "the graph")
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
