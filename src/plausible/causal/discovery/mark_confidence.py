"""How sure the marks of a partial ancestral graph are: the bootstrap of FCI."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from itertools import combinations
from typing import TYPE_CHECKING, Protocol, TypeAlias

import numpy as np

from plausible.base import Floats, Result, Seed, record
from plausible.causal.discovery.fci import fci
from plausible.data.table import Table
from plausible.data.table_statistics import DataLike
from plausible.errors import InvalidArgument, UnknownVariable, counted
from plausible.graphs import PAG, Mark, definite_ancestors, possible_ancestors, stands_for_class
from plausible.learn.confidence.resampling import Samples, rows_of

if TYPE_CHECKING:
    import pandas as pd


_MARKS = (Mark.TAIL, Mark.CIRCLE, Mark.ARROW)
_MARK_NAMES = ("tail", "circle", "arrowhead")


class _HasPAG(Protocol):
    @property
    def graph(self) -> PAG: ...


#: Rows -> a PAG, or a result that has one.
PAGLearner: TypeAlias = "Callable[[Table], PAG | _HasPAG]"


@record(eq=False)
class MarkConfidence(Result):
    """Shares of graphs learned from samples of the rows."""

    names: tuple[str, ...]  # The variables
    #: By node, other node, and mark (tail, circle, arrowhead): the share of graphs with that mark at the node on an
    #: edge between the two.
    marks: Floats = field(repr=False)
    #: By cause and effect, the share of graphs in which the one is certainly, or possibly, an ancestor of the other: of
    #: the graphs that stand for a class, and NaN if none does.
    causes: Floats = field(repr=False)
    possible_causes: Floats = field(repr=False)
    num_graphs: int  # How many graphs were learned
    #: How many of these stand for no class, so that they tell nothing about causes: see `stands_for_class`.
    num_without_class: int = 0

    def __post_init__(self) -> None:
        for array in (self.marks, self.causes, self.possible_causes):
            array.setflags(write=False)

    def __str__(self) -> str:
        lines = [
            f"{counted(self.num_graphs, 'graph')}; edges in at least half of them, each with its most frequent marks:"
        ]
        for a, b in combinations(self.names, 2):
            if self.edge(a, b) >= 0.5:
                lines.append(f"  {a}, {b}  {self.edge(a, b):.0%}: {self._end(a, b)}, {self._end(b, a)}")
        return "\n".join(lines)

    def _end(self, node: str, other: str) -> str:
        shares = self.marks[self._place(node), self._place(other)]
        best = int(shares.argmax())
        return f"{_MARK_NAMES[best]} at {node} {shares[best]:.0%}"

    def edge(self, a: str, b: str) -> float:
        """The share of graphs with an edge between two nodes."""
        return float(self.marks[self._place(a), self._place(b)].sum())

    def mark(self, node: str, other: str, mark: Mark) -> float:
        """The share of graphs with a mark at a node on its edge to another."""
        return float(self.marks[self._place(node), self._place(other), _MARKS.index(mark)])

    def cause(self, cause: str, effect: str) -> float:
        """The share of graphs, of those that stand for a class, that are sure of a causal path."""
        return float(self.causes[self._place(cause), self._place(effect)])

    def to_frame(self) -> pd.DataFrame:
        """A row for each end of each edge that occurs, the surest edges first."""
        import pandas as pd

        ends = [(a, b) for a in self.names for b in self.names if a != b and self.edge(a, b) > 0]
        ends.sort(key=lambda end: (-self.edge(*end), sorted(end), end))
        columns: dict[str, list[object]] = {
            "at": [a for a, _ in ends],
            "other": [b for _, b in ends],
            "edge": [self.edge(*end) for end in ends],
        }
        columns |= {mark.name.lower(): [self.mark(*end, mark) for end in ends] for mark in _MARKS}
        return pd.DataFrame(columns)

    def _place(self, name: str) -> int:
        UnknownVariable.check(name, self.names, "these graphs")
        return self.names.index(name)


def bootstrap_marks(
    data: DataLike,
    learner: PAGLearner = fci,
    num_samples: int = 100,
    *,
    seed: Seed = 0,
    num_threads: int = 2,
    progress: Callable[[int, int], object] | None = None,
    time_limit: float | None = None,
) -> MarkConfidence:
    """Learn a PAG from each of many samples of the rows, drawn with replacement; count marks and certain causes.

    Costs one search a sample. The answer does not depend on the number of threads. See Friedman, Goldszmidt & Wyner
    (1999), Data analysis with Bayesian networks: a bootstrap approach, UAI.

    Parameters
    ----------
    learner
        A function of a `Table` that gives a PAG or a result with `.graph`, such as `partial(fci, alpha=0.01)`.
    progress
        Called with the number of graphs learned and of all; an answer that is true stops.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> a, b = rng.normal(size=(2, 500))
    >>> found = bootstrap_marks({"A": a, "B": b, "C": a + b + rng.normal(size=500)}, num_samples=5)
    >>> found.mark("C", "A", Mark.ARROW) > 0.7, found.edge("A", "B") < 0.5
    (True, True)
    """

    def learn(rows: Table) -> PAG:
        found = learner(rows)
        return found if isinstance(found, PAG) else found.graph

    samples = Samples(num_samples, "ordinary", seed, num_threads, progress, time_limit)
    graphs = samples.learn(rows_of(data), learn)
    names = tuple(map(str, graphs[0].nodes))
    places: dict[object, int] = {name: place for place, name in enumerate(names)}
    num = len(names)
    marks, causes, possible = np.zeros((num, num, 3)), np.zeros((num, num)), np.zeros((num, num))
    num_classes = 0
    for graph in graphs:
        if set(graph.nodes) != set(names):
            raise InvalidArgument("Only graphs over the same variables can be counted together.")
        for edge in graph.edges:
            for end in edge.ends:
                marks[places[end], places[edge.other(end)], _MARKS.index(edge.mark_at(end))] += 1
        if not stands_for_class(graph, narrowed=True):
            continue
        num_classes += 1
        for name in names:
            causes[[places[node] for node in definite_ancestors(graph, name)], places[name]] += 1
            possible[[places[node] for node in possible_ancestors(graph, name)], places[name]] += 1
    total, known = len(graphs), num_classes or np.nan
    return MarkConfidence(names, marks / total, causes / known, possible / known, total, total - num_classes)
