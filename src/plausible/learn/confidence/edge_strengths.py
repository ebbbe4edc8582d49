"""How sure edges are: probabilities of edges, paths and Markov blankets, and the graph of those that stand out."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

import numpy as np

from plausible.base.arrays import Floats
from plausible.base.records import record
from plausible.errors import InvalidArgument, NotSupported, UnknownVariable
from plausible.graphs import DAG

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["EdgeStrengths", "estimate_threshold"]


@record(eq=False)
class EdgeStrengths:
    """Probabilities of features of a graph: shares of bootstrap graphs, or a posterior.

    Attributes
    ----------
    names
        The variables.
    edges
        By parent and child, the probability of that edge. An undirected edge counts half in each direction.
    paths
        By source and target, the probability of a directed path; `None` where it is not known.
    blankets
        The probability that two variables are in each other's Markov blankets; `None` where it is not known.
    source
        Where the probabilities come from.
    is_posterior
        Whether they are probabilities of the edges themselves, and not shares of graphs learned again and again.

    Examples
    --------
    >>> strengths = EdgeStrengths(("A", "B"), np.array([[0.0, 0.6], [0.2, 0.0]]), None, None, "an expert")
    >>> round(strengths.strength("A", "B"), 3), round(strengths.direction("A", "B"), 3)
    (0.8, 0.75)
    >>> print(strengths.consensus(threshold=0.5))
    A -> B
    """

    names: tuple[str, ...]
    edges: Floats = field(repr=False)
    paths: Floats | None = field(repr=False)
    blankets: Floats | None = field(repr=False)
    source: str
    is_posterior: bool = False

    def __post_init__(self) -> None:
        for matrix in (self.edges, self.paths, self.blankets):
            if matrix is not None:
                matrix.setflags(write=False)

    # --- single features ---

    def edge(self, parent: str, child: str) -> float:
        """The probability of parent -> child."""
        return float(self.edges[self._place(parent), self._place(child)])

    def strength(self, first: str, second: str) -> float:
        """The probability of an edge between two variables, whatever its direction."""
        return self.edge(first, second) + self.edge(second, first)

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

    # --- all together ---

    @property
    def strengths(self) -> Floats:
        """The probabilities of edges, whatever their direction: a symmetric matrix."""
        return self.edges + self.edges.T

    @property
    def threshold(self) -> float:
        """Edges stand out that are stronger than this: one half of a posterior, else see `estimate_threshold`."""
        return 0.5 if self.is_posterior else estimate_threshold(self.strengths[np.triu_indices(len(self.names), 1)])

    def consensus(self, threshold: float | None = None) -> DAG:
        """The graph of the edges that are stronger than a threshold, each in its more probable direction.

        Edges come in the order of their probability, ties by names. One that would close a cycle is turned round, which
        can't close another: all edges that stand out are there.

        Parameters
        ----------
        threshold
            In [0, 1]; usually one half of a posterior, and of others the estimate of Scutari & Nagarajan.
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
        if name not in self.names:
            raise UnknownVariable.named(name, self.names, "these graphs")
        return self.names.index(name)


def estimate_threshold(strengths: Floats) -> float:
    """The strength above which edges stand out from noise (Scutari & Nagarajan 2013).

    If all edges were certain, the distribution function F of the strengths would be a constant t on [0, 1). The t
    nearest to F, which minimises ∫|F(x) - t| dx, is the median of F; the threshold is F⁻¹(t).

    Parameters
    ----------
    strengths
        Of all pairs of variables.

    References
    ----------
    Scutari & Nagarajan (2013), Identifying significant edges in graphical models of molecular networks, Artificial
    Intelligence in Medicine 57.

    Examples
    --------
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
