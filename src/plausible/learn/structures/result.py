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
from plausible.learn.learned_parameters import learn_parameters
from plausible.learn.scores.score import FamilyScores
from plausible.learn.structures.task import FoundGraph
from plausible.models import BayesianNetwork

_AT_RANDOM = "Cells are assumed to be missing at random: given the observed cells, not by their own values."
_COMPLETELY_AT_RANDOM = "Cells are assumed to be missing completely at random, whatever the row holds."

#: What was done about missing cells -> what makes that right.
_ASSUMPTIONS: Mapping[str, str] = MappingProxyType(
    {"sem": _AT_RANDOM} | dict.fromkeys(("available", "pairwise", "complete-rows"), _COMPLETELY_AT_RANDOM)
)


@dataclass(frozen=True, slots=True, eq=False)
class StructureResult(FoundGraph, Hinted):
    """A graph learned from data; made by `learn.structure`.

    Attributes
    ----------
    graph, score, stopped_by, num_steps, trace, bound, seconds
        What was found, and how: see `FoundGraph`.
    """

    _hints = RESULT_HINTS

    method: str = field(kw_only=True)  # By which it was found
    #: The scores of families on the data, for further questions such as `scores.graph(other)`.
    scores: FamilyScores = field(repr=False, kw_only=True)
    table: Table | Statistics = field(repr=False, kw_only=True)  # The data, or statistics of them
    #: What was done about missing cells: "sem", "available", "pairwise" or "complete-rows"; empty where there are none.
    #: With "sem" the score is that of the observed cells, and `scores` are those of the completed data.
    missing: str = field(default="", kw_only=True)
    #: What the score is called, such as "BIC" or "log-likelihood".
    score_name: str = field(default="score", kw_only=True)

    @property
    def assumption(self) -> str:
        """What was assumed about how cells came to be missing, in a sentence; empty where none is missing."""
        return _ASSUMPTIONS.get(self.missing, "")

    def network(self, prior: Any = None, **options: Any) -> BayesianNetwork:
        """The graph with parameters learned from the same data; see `learn.parameters` for the options."""
        return learn_parameters(self.graph, self.table, prior, **options)

    def __str__(self) -> str:
        treated = f", missing cells: {self.missing}" if self.missing else ""
        steps = f" after {counted(self.num_steps, 'step')}" if self.num_steps else ""
        size = f"{counted(len(self.graph), 'variable')}, {counted(self.graph.num_edges, 'edge')}"
        return (
            f"{self.method}: {size}, {self.score_name} {self.score:.6g} "
            f"({self.stopped_by}{steps}, {self.seconds:.2g} s{treated})"
        )

    __repr__ = repr_of_print

    def _repr_html_(self) -> str:
        return f"{html_of(str(self))}{self.graph._repr_html_()}"
