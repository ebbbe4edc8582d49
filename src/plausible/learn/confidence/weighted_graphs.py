"""Many graphs with weights: all that there are, draws from a posterior, or what bootstrap samples gave."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field, replace

import numpy as np
from numpy.typing import NDArray

from plausible.base.arrays import Floats
from plausible.base.records import record
from plausible.errors import InvalidArgument, counted
from plausible.graphs import DAG, PDAG
from plausible.graphs.equivalence import essential_graph
from plausible.learn.confidence.edge_strengths import EdgeStrengths

__all__ = ["WeightedGraphs", "closures"]

Masks = NDArray[np.bool_]

#: Graphs are worked on together up to so many entries of their matrices.
_ENTRIES = 2**22
#: So many graphs are printed, the heaviest.
_SHOWN = 3


@record(eq=False)
class WeightedGraphs:
    """Graphs over the same variables, each with a weight.

    Attributes
    ----------
    names
        The variables.
    adjacency
        Axes: graph, parent, child; an undirected edge is there in both directions.
    masses
        What each graph weighs: how often it was found, so that shares are counts divided once; or its probability.
    source
        Where the graphs come from.
    is_posterior
        Whether the weights are probabilities of the graphs, and not shares of graphs learned again and again.

    Examples
    --------
    >>> graphs = WeightedGraphs.of([DAG("A -> B -> C"), DAG("A -> B; C")], [0.7, 0.3], source="two experts")
    >>> graphs.strengths().path("A", "C"), graphs.probability(lambda graph: graph.d_separated("A", "C"))
    (0.7, 0.3)
    """

    names: tuple[str, ...]
    adjacency: Masks = field(repr=False)
    masses: Floats = field(repr=False)
    source: str
    is_posterior: bool = False

    def __post_init__(self) -> None:
        self.adjacency.setflags(write=False)
        self.masses.setflags(write=False)

    @classmethod
    def of(
        cls, graphs: Sequence[DAG | PDAG], weights: Sequence[float] | Floats | None = None, source: str = "graphs"
    ) -> WeightedGraphs:
        """From graphs over the same nodes; all weigh the same unless it is said otherwise."""
        if not graphs:
            raise InvalidArgument("There are no graphs to average over.")
        names = tuple(map(str, graphs[0].nodes))
        masses = np.ones(len(graphs)) if weights is None else np.array(weights, dtype=np.float64)
        if masses.shape != (len(graphs),) or not np.isfinite(masses).all() or (masses < 0).any() or not masses.sum():
            raise InvalidArgument(f"There are {len(graphs)} graphs; each needs a weight, and none is negative.")
        adjacency = np.stack([_matrix(graph, names) for graph in graphs])
        return cls(names, adjacency, masses, source)

    @property
    def weights(self) -> Floats:
        """One for each graph; their sum is one."""
        return np.asarray(self.masses / self.masses.sum())

    def __len__(self) -> int:
        return len(self.masses)

    def graph(self, place: int) -> DAG | PDAG:
        """One of the graphs; a PDAG if it has undirected edges."""
        matrix, names = self.adjacency[place], self.names
        both = matrix & matrix.T
        arrows = [(names[u], names[v]) for u, v in np.argwhere(matrix & ~both).tolist()]
        if not both.any():
            return DAG(arrows, nodes=names)
        lines = [(names[u], "-", names[v]) for u, v in np.argwhere(np.triu(both)).tolist()]
        return PDAG([*((u, "->", v) for u, v in arrows), *lines], nodes=names)

    def distinct(self) -> WeightedGraphs:
        """Each graph once, with the sum of its weights, the heaviest first."""
        flat = np.packbits(self.adjacency.reshape(len(self), len(self.names) ** 2), axis=1)
        _, firsts, places = np.unique(flat, axis=0, return_index=True, return_inverse=True)
        masses = np.bincount(places.ravel(), self.masses, len(firsts)).astype(np.float64)
        order = np.lexsort((np.arange(len(firsts)), -masses))
        return replace(self, adjacency=self.adjacency[firsts[order]], masses=masses[order])

    def as_classes(self) -> WeightedGraphs:
        """The equivalence classes of the graphs, which is what data alone can tell: Friedman, Goldszmidt & Wyner 1999.

        Directed are the edges that all graphs of a class direct alike.
        """
        distinct = self.distinct()
        classes = [essential_graph(graph) if isinstance(graph, DAG) else graph for graph in distinct._graphs()]
        return replace(
            WeightedGraphs.of(classes, distinct.masses, self.source), is_posterior=self.is_posterior
        ).distinct()

    def probability(self, feature: Callable[[DAG | PDAG], float]) -> float:
        """P(f) = Σ f(G) P(G) of any feature: a function of a graph that is true, or a number. Asked once a graph."""
        distinct = self.distinct()
        found = sum(mass * float(feature(g)) for mass, g in zip(distinct.masses, distinct._graphs(), strict=True))
        return float(found / self.masses.sum())

    def strengths(self) -> EdgeStrengths:
        """The probabilities of edges, directed paths and Markov blankets."""
        num = len(self.names)
        edges, paths, blankets = np.zeros((num, num)), np.zeros((num, num)), np.zeros((num, num))
        size = max(1, _ENTRIES // max(num * num, 1))
        for start in range(0, len(self), size):
            matrices, masses = self.adjacency[start : start + size], self.masses[start : start + size]
            turned = matrices.transpose(0, 2, 1)
            arrows = matrices & ~turned
            edges += np.tensordot(masses, 0.5 * matrices + 0.5 * arrows, 1)
            paths += np.tensordot(masses, closures(arrows), 1)
            shared = _product(arrows, arrows.transpose(0, 2, 1))
            blankets += np.tensordot(masses, (matrices | turned | shared) & ~np.eye(num, dtype=np.bool_), 1)
        edges, paths, blankets = (np.minimum(sums / self.masses.sum(), 1.0) for sums in (edges, paths, blankets))
        return EdgeStrengths(self.names, edges, paths, blankets, self.source, self.is_posterior)

    def __str__(self) -> str:
        distinct = self.distinct()
        lines = [
            f"{self.source}: {counted(len(self), 'graph')} over "
            f"{counted(len(self.names), 'variable')}, {len(distinct)} of them different"
        ]
        shown = zip(distinct.weights[:_SHOWN].tolist(), map(distinct.graph, range(_SHOWN)), strict=False)
        return "\n".join([*lines, *(f"{weight:.3f}  {graph}" for weight, graph in shown)])

    def _graphs(self) -> list[DAG | PDAG]:
        return [self.graph(place) for place in range(len(self))]


def closures(adjacency: Masks) -> Masks:
    """For each of many graphs, by source and target, whether a directed path leads there; log2(n) products."""
    reached, length = adjacency, 1
    while length < adjacency.shape[-1]:
        reached, length = reached | _product(reached, reached), 2 * length
    return reached


def _product(left: Masks, right: Masks) -> Masks:
    return np.asarray(left.astype(np.float32) @ right.astype(np.float32) > 0)


def _matrix(graph: DAG | PDAG, names: tuple[str, ...]) -> Masks:
    places: dict[object, int] = {name: place for place, name in enumerate(names)}
    if set(graph.nodes) != set(names):
        raise InvalidArgument("Only graphs over the same variables can be averaged.")
    matrix = np.zeros((len(names), len(names)), dtype=np.bool_)
    arrows = graph.edges if isinstance(graph, DAG) else graph.directed_edges
    lines = () if isinstance(graph, DAG) else graph.undirected_edges
    for source, target in (*arrows, *lines, *((b, a) for a, b in lines)):
        matrix[places[source], places[target]] = True
    return matrix
