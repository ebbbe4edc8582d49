"""What learning an undirected structure hands back."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from plausible.base.pictured import chart_by
from plausible.base.records import Result, record
from plausible.errors import counted
from plausible.graphs import UndirectedGraph
from plausible.learn.undirected.fit import MarkovFit
from plausible.models import MarkovNetwork
from plausible.search.run import HasRun, Run

if TYPE_CHECKING:
    import pandas as pd

    from plausible.base.pictured import Axes, Chart


@record
class PathPoint(Result):
    """The model at one strength of the penalty."""

    strength: float  # The rate of the penalty for one row
    num_edges: int
    score: float  # By which strengths are compared: the more the better
    objective: float  # The total (pseudo)likelihood, without the penalty
    kkt_residual: float  # The largest violation of the conditions of an optimum, for one row
    edges: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        return f"strength {self.strength:.4g}: {counted(self.num_edges, 'edge')}, score {self.score:.6g}"


@dataclass(frozen=True, eq=False, repr=False)
class MarkovStructure(HasRun):
    """An undirected graph learned from data, the network fitted to it, and how it was found."""

    _told = (
        *("method", "graph", "objective", "score", "scale", "strength", "kkt_residual", "num_tests", "error_bound"),
        *("fitted_by", "path", *HasRun._told),
    )

    method: str  # By which it was found
    graph: UndirectedGraph  # The pairs that one feature of the model has
    run: Run[Any] = field(repr=False)  # How the search went
    fitted_by: str  # The fit that the network comes from, in a sentence
    _make_fit: Callable[[], MarkovFit] = field(repr=False)
    objective: str = "likelihood"  # What the search looked at
    score: float = math.nan  # Of the model, where the method compares models
    path: tuple[PathPoint, ...] = ()  # The models at all strengths that were looked at, the strongest first
    strength: float = math.nan  # The chosen one
    kkt_residual: float = math.nan  # By how much the conditions of an optimum are missed, for one row
    num_tests: int = 0  # The most tests that could be made, known before the first
    error_bound: float = math.nan  # At most so likely is any independence that holds rejected: a union bound
    scale: str = ""  # What the score is: only scores of one scale can be compared, the more the better

    @cached_property
    def fit(self) -> MarkovFit:
        """The weights of the network; made when first asked for where the search itself has no need of them."""
        return self._make_fit()

    @property
    def network(self) -> MarkovNetwork:
        """The fitted network."""
        return self.fit.network

    def to_frame(self) -> pd.DataFrame:
        """A row for each strength of the path; else one row."""
        import pandas as pd

        if not self.path:
            return super().to_frame()
        return pd.DataFrame([point.to_dict() for point in self.path])

    def plot(self, ax: Axes | None = None) -> Chart:
        """Draw the score and the number of edges along the path of penalties, or else the run; it needs matplotlib."""
        if not self.path:
            return super().plot(ax)
        strengths, scores = [point.strength for point in self.path], [point.score for point in self.path]
        named = {"title": f"Path of {self.method}", "what": "strength of the penalty", "score": "score"}
        edges = {"beside": [point.num_edges for point in self.path], "beside_name": "edges"}
        return chart_by("plot_choice", strengths, scores, self.strength, ax, **named, **edges)

    def __str__(self) -> str:
        size = f"{counted(len(self.graph), 'variable')}, {counted(self.graph.num_edges, 'edge')}"
        score = "" if math.isnan(self.score) else f", score {self.score:.6g} ({self.scale})"
        return f"{self.method}: {size}{score} ({self.stopped_by} after {counted(self.num_steps, 'step')})"

    def _repr_html_(self) -> str:
        return self.graph._repr_html_()
