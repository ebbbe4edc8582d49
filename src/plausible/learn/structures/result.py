"""A graph learned from data, and how it was found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from plausible.base.display import html_of, repr_of_print
from plausible.base.hints import RESULT_HINTS, Hinted
from plausible.data.statistics import Statistics
from plausible.data.table import Table
from plausible.errors import counted
from plausible.graphs import DAG, PDAG
from plausible.graphs.equivalence import essential_graph
from plausible.learn.estimation.fit import learn_parameters
from plausible.learn.scores.score import FamilyScores
from plausible.models import BayesianNetwork

__all__ = ["StructureResult"]

_AT_RANDOM = "Cells are assumed to be missing at random: given the observed cells, not by their own values."
_COMPLETELY_AT_RANDOM = "Cells are assumed to be missing completely at random, whatever the row holds."

#: What was done about missing cells -> what makes that right.
_ASSUMPTIONS: Mapping[str, str] = MappingProxyType(
    {"sem": _AT_RANDOM} | dict.fromkeys(("available", "pairwise", "complete-rows"), _COMPLETELY_AT_RANDOM)
)


@dataclass(frozen=True, slots=True, eq=False)
class StructureResult(Hinted):
    """A graph learned from data; made by `learn.structure`.

    Attributes
    ----------
    graph
        The best graph found.
    score
        Its score.
    trace
        (steps, best score) of the start and of each improvement.
    method
        By which it was found.
    stopped
        Why the search ended: "local maximum", "optimal", "time limit", "interrupted", "step limit", "no progress",
        "restarts over", "schedule over", "node limit", "family limit".
    steps, seconds
        What it took.
    bound
        No graph that agrees with what is known scores more; inf where the method does not tell.
    scores
        The scores of families on the data, for further questions such as `scores.graph(other)`.
    table
        The data, or statistics of them.
    missing
        What was done about missing cells: "sem", "available", "pairwise" or "complete-rows"; empty where there are
        none. With "sem" the score is that of the observed cells, and `scores` are those of the completed data.
    score_name
        What the score is called, such as "BIC" or "log-likelihood".
    """

    _hints = RESULT_HINTS

    graph: DAG
    score: float
    trace: tuple[tuple[int, float], ...]
    method: str
    stopped: str
    steps: int
    seconds: float
    bound: float
    scores: FamilyScores = field(repr=False)
    table: Table | Statistics = field(repr=False)
    missing: str = ""
    score_name: str = "score"

    @property
    def gap(self) -> float:
        """By how much some graph may be better; zero proves that none is."""
        return self.bound - self.score

    @property
    def assumption(self) -> str:
        """What was assumed about how cells came to be missing, in a sentence; empty where none is missing."""
        return _ASSUMPTIONS.get(self.missing, "")

    @property
    def equivalence_class(self) -> PDAG:
        """All graphs with the same independencies: what data alone can tell; directed are the edges that all share."""
        return essential_graph(self.graph)

    def network(self, prior: Any = None, **options: Any) -> BayesianNetwork:
        """The graph with parameters learned from the same data; see `learn.parameters` for the options."""
        return learn_parameters(self.graph, self.table, prior, **options)

    def __str__(self) -> str:
        treated = f", missing cells: {self.missing}" if self.missing else ""
        steps = f" after {counted(self.steps, 'step')}" if self.steps else ""
        size = f"{counted(len(self.graph), 'variable')}, {counted(self.graph.num_edges, 'edge')}"
        return (
            f"{self.method}: {size}, {self.score_name} {self.score:.6g} "
            f"({self.stopped}{steps}, {self.seconds:.2g} s{treated})"
        )

    __repr__ = repr_of_print

    def _repr_html_(self) -> str:
        return f"{html_of(str(self))}{self.graph._repr_html_()}"
