"""Many graphs with weights: all that there are, draws from a posterior, or what bootstrap samples gave."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from plausible.base import Floats, Result, chart_by, record
from plausible.errors import InvalidArgument, NotSupported, UnknownVariable, counted
from plausible.graphs import DAG, PDAG, essential_graph

if TYPE_CHECKING:
    import pandas as pd

    from plausible.base.pictured import Axes, Chart, Picture


@record(eq=False)
class EdgeStrengths(Result):
    """Probabilities of features of a graph: shares of bootstrap graphs, or a posterior.

    >>> strengths = EdgeStrengths(("A", "B"), np.array([[0.0, 0.6], [0.2, 0.0]]), None, None, "an expert")
    >>> round(strengths.strength("A", "B"), 3), round(strengths.direction("A", "B"), 3)
    (0.8, 0.75)
    >>> print(strengths.consensus(threshold=0.5))
    A -> B
    """

    names: tuple[str, ...]  # The variables
    #: By parent and child, the probability of that edge. An undirected edge counts half in each direction.
    edges: Floats = field(repr=False)
    #: By source and target, the probability of a directed path; `None` where it is not known.
    paths: Floats | None = field(repr=False)
    #: The probability that two variables are in each other's Markov blankets; `None` where it is not known.
    blankets: Floats | None = field(repr=False)
    source: str  # Where the probabilities come from
    #: Whether they are probabilities of the edges themselves, and not shares of graphs learned again and again.
    is_posterior: bool = False

    def __post_init__(self) -> None:
        for name in ("edges", "paths", "blankets"):
            if (matrix := getattr(self, name)) is not None:
                bounded = np.minimum(matrix, 1.0)  # sums of shares may exceed one by rounding
                bounded.setflags(write=False)
                object.__setattr__(self, name, bounded)

    def edge(self, parent: str, child: str) -> float:
        """The probability of parent -> child."""
        return float(self.edges[self._place(parent), self._place(child)])

    def strength(self, first: str, second: str) -> float:
        """The probability of an edge between two variables, whatever its direction."""
        return min(self.edge(first, second) + self.edge(second, first), 1.0)

    def direction(self, parent: str, child: str) -> float:
        """The probability of parent -> child, given that there is an edge; NaN if there is none."""
        strength = self.strength(parent, child)
        return self.edge(parent, child) / strength if strength else float("nan")

    def path(self, source: str, target: str) -> float:
        """The probability of a directed path."""
        return float(_known(self.paths, "paths")[self._place(source), self._place(target)])

    def blanket(self, first: str, second: str) -> float:
        """The probability that the two are in each other's Markov blankets: parent, child, or a common child."""
        return float(_known(self.blankets, "Markov blankets")[self._place(first), self._place(second)])

    @property
    def strengths(self) -> Floats:
        """The probabilities of edges, whatever their direction: a symmetric matrix."""
        return np.minimum(self.edges + self.edges.T, 1.0)

    @property
    def threshold(self) -> float:
        """Edges stand out that are stronger than this: one half of a posterior, else see `estimate_threshold`."""
        return 0.5 if self.is_posterior else estimate_threshold(self.strengths[np.triu_indices(len(self.names), 1)])

    def consensus(self, threshold: float | None = None) -> DAG:
        """The graph of the edges that are stronger than a threshold, each in its more probable direction.

        Edges come in the order of their probability, ties by names. One that would close a cycle is turned round, which
        can't close another: all edges that stand out are there. The threshold, in [0, 1], is by default one half of a
        posterior, and of others the estimate of Scutari & Nagarajan.
        """
        least = self.threshold if threshold is None else threshold
        if not 0 <= least <= 1:
            raise InvalidArgument(f"threshold={least!r} is no probability.")
        graph = DAG("", nodes=self.names)
        for strength, parent, child in self._ranked():
            if strength > least:
                is_closing = graph.descendants(child) >= {parent}
                graph = graph.with_edge(child, parent) if is_closing else graph.with_edge(parent, child)
        return graph

    def picture(self, threshold: float | None = None, *, focus: Any = "auto") -> Picture:
        """The consensus graph, its edges as wide as they are strong.

        Parameters
        ----------
        threshold
            As in `consensus`.
        focus
            A variable or several: only what is around them is shown; `None` for all of a large graph.
        """
        return self.consensus(threshold).picture(focus=focus, strengths=self)

    def to_frame(self) -> pd.DataFrame:
        """A row for each direction of each edge that occurs, the strongest first."""
        import pandas as pd

        columns: dict[str, list[object]] = {"from": [], "to": [], "strength": [], "direction": []}
        for strength, parent, child in self._strongest():
            for source, target in ((parent, child), (child, parent)) if strength > 0 else ():
                row = (source, target, strength, self.direction(source, target))
                for column, value in zip(columns.values(), row, strict=True):
                    column.append(value)
        if self.paths is not None:
            columns["path"] = [self.path(str(s), str(t)) for s, t in zip(columns["from"], columns["to"], strict=True)]
        return pd.DataFrame(columns)

    def plot(self, ax: Axes | None = None) -> Chart:
        """Draw a bar for each edge, parted by its direction; it needs matplotlib (the extra `plot`)."""
        return chart_by("plot_strengths", self, ax)

    def __str__(self) -> str:
        lines = [f"{self.source}; edges stronger than {self.threshold:.3g} stand out"]
        for strength, parent, child in self._strongest()[:20]:
            if strength > 0:
                lines.append(f"{strength:.3f}  {parent} -> {child}  ({self.direction(parent, child):.3f})")
        return "\n".join(lines)

    def _ranked(self) -> list[tuple[float, str, str]]:
        """(strength, parent, child) of all pairs in their more probable direction, by its probability, then names."""
        ordered = sorted(self.names)
        pairs = [(a, b) for place, a in enumerate(ordered) for b in ordered[place + 1 :]]
        turned = [(a, b) if self.edge(a, b) >= self.edge(b, a) else (b, a) for a, b in pairs]
        turned.sort(key=lambda pair: (-self.edge(*pair), pair))
        return [(self.strength(*pair), *pair) for pair in turned]

    def _strongest(self) -> list[tuple[float, str, str]]:
        """The same by strength."""
        return sorted(self._ranked(), key=lambda row: -row[0])

    def _place(self, name: str) -> int:
        UnknownVariable.check(name, self.names, "these graphs")
        return self.names.index(name)


def estimate_threshold(strengths: Floats) -> float:
    """The strength above which edges stand out from noise (Scutari & Nagarajan 2013).

    If all edges were certain, the distribution function F of the strengths would be a constant t on [0, 1). The t
    nearest to F, which minimises ∫|F(x) - t| dx, is the median of F; the threshold is F⁻¹(t).

    The strengths are those of all pairs of variables. Scutari & Nagarajan (2013), Identifying significant edges in
    graphical models of molecular networks, Artificial Intelligence in Medicine 57.

    >>> estimate_threshold(np.array([0.0460, 0.2242, 0.3921, 0.7689, 0.8935, 0.9439]))
    0.3921
    """
    ordered = np.sort(np.clip(strengths, 0.0, 1.0))
    lengths = np.diff(np.concatenate([[0.0], ordered, [1.0]]))  # of the steps on which F is 0, 1/m, ..., 1
    median = int(np.searchsorted(np.cumsum(lengths), 0.5))
    return float(ordered[median - 1]) if median else 0.0


def _known(matrix: Floats | None, what: str) -> Floats:
    if matrix is None:
        raise NotSupported(
            f"There are no probabilities of {what} here: they need whole graphs. Ask for `strengths` of graphs that "
            "were enumerated or sampled."
        )
    return matrix


Masks = NDArray[np.bool_]

_ENTRIES = 2**22  # Graphs are worked on together up to so many entries of their matrices
_SHOWN = 3  # So many graphs are printed, the heaviest


@record(eq=False)
class WeightedGraphs(Result):
    """Graphs over the same variables, each with a weight.

    >>> graphs = WeightedGraphs.of([DAG("A -> B -> C"), DAG("A -> B; C")], [0.7, 0.3], source="two experts")
    >>> graphs.strengths().path("A", "C"), graphs.probability(lambda graph: graph.d_separated("A", "C"))
    (0.7, 0.3)
    """

    names: tuple[str, ...]  # The variables
    adjacency: Masks = field(repr=False)  # Axes: graph, parent, child; an undirected edge is there in both directions
    #: What each graph weighs: how often it was found, so that shares are counts divided once; or its probability.
    masses: Floats = field(repr=False)
    source: str  # Where the graphs come from
    #: Whether the weights are probabilities of the graphs, and not shares of graphs learned again and again.
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
        merged = WeightedGraphs.of(classes, distinct.masses, self.source)
        return replace(merged, is_posterior=self.is_posterior).distinct()

    def probability(self, feature: Callable[[DAG | PDAG], float]) -> float:
        """P(f) = Σ f(G) P(G) of any feature: a function of a graph that is true, or a number. Asked once a graph."""
        distinct = self.distinct()
        found = (mass * float(feature(g)) for mass, g in zip(distinct.masses.tolist(), distinct._graphs(), strict=True))
        return math.fsum(found) / math.fsum(distinct.masses)  # exact sums: no share exceeds one

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
        edges, paths, blankets = (sums / self.masses.sum() for sums in (edges, paths, blankets))
        return EdgeStrengths(self.names, edges, paths, blankets, self.source, self.is_posterior)

    def __str__(self) -> str:
        distinct = self.distinct()
        size = f"{counted(len(self), 'graph')} over {counted(len(self.names), 'variable')}"
        lines = [f"{self.source}: {size}, {len(distinct)} of them different"]
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
