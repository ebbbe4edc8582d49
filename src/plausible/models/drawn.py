"""Pictures of models that have a graph: of the graph alone, and of what is believed."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from plausible.base import TextTable, html_with_picture, keyword_hints, picture_by, widget_by
from plausible.graphs.base_graph import BaseGraph
from plausible.inference.budget import Budget
from plausible.inference.choice import EngineChoice
from plausible.models.beliefs import Beliefs
from plausible.models.shown_parts import title_of
from plausible.variables import EvidenceLike, State

if TYPE_CHECKING:
    from plausible.base.pictured import LiveWidget, Picture


class Drawn(Beliefs):
    """A model with a graph: it has a picture, and a notebook shows its graph."""

    __slots__ = ()

    @property
    @abstractmethod
    def graph(self) -> BaseGraph:
        """The graph over its variables."""

    @abstractmethod
    def _details(self) -> TextTable:
        """A row for each part: what it prints, and what a notebook shows below the graph, folded."""

    @keyword_hints
    def picture(
        self,
        evidence: EvidenceLike | None = None,
        do: Mapping[str, State] | None = None,
        *,
        prior: bool = True,
        focus: Any = "auto",
        strengths: Any = None,
        groups: Mapping[str, Iterable[str]] | None = None,
        engine: EngineChoice = None,
        budget: Budget | None = None,
    ) -> Picture:
        """The graph with beliefs as bars in its nodes: a notebook shows it, `save("net.svg")` writes it.

        Findings are marked as seen, what `do` sets as set, and the arcs that this cuts are dimmed. `0+` is a
        probability that rounds to nothing. Positions that notes tell are kept.

        Parameters
        ----------
        evidence, do
            As in `query`.
        prior
            Whether ticks mark the beliefs without the findings.
        focus
            A variable or several: only what is around them is shown, and what is hidden counted. By default all of a
            model of up to 60 variables, and of larger ones what is around the findings; `None` for all.
        strengths
            How wide arcs are drawn: `{(parent, child): number}`, the strengths of a bootstrap, or
            "mutual-information", that of their ends given the evidence.
        groups
            What stands together in a frame with a name: `{name: [variable, ...]}`.
        engine, budget
            As in `marginals`.

        Examples
        --------
        >>> from plausible import BayesianNetwork, TableCPD
        >>> net = BayesianNetwork(TableCPD("A", [0.6, 0.4]), TableCPD("B", [[0.7, 0.3], [0.2, 0.8]], parents=["A"]))
        >>> print(net.picture({"B": 1}))
        2 nodes, 1 edge
        A: 0 36.0% (before 60.0%), 1 64.0% (before 40.0%)
        B: 0 0% (before 50.0%), 1 100% (before 50.0%) (seen)
        Seen: B = 1. Ticks mark what was believed before.
        """
        options = {name: value for name, value in (("engine", engine), ("budget", budget)) if value is not None}
        return picture_by("picture_of_beliefs", self, evidence, do, prior, focus, strengths, groups, options)

    @keyword_hints
    def widget(
        self,
        evidence: EvidenceLike | None = None,
        do: Mapping[str, State] | None = None,
        *,
        focus: Any = "auto",
        engine: EngineChoice = None,
        budget: Budget | None = None,
    ) -> LiveWidget:
        """The live picture for a notebook: click a state to see it, again to retract it, and beliefs move.

        With shift, a click says "not this state"; with alt, or after "do", it sets by intervention. Keys do it all:
        Tab to a node, arrows to a state, Enter, Shift+Enter and D, Delete to retract. What is clicked is in the
        widget's `evidence` and `do`, which can be set as well; `observe` tells of changes. `picture()` is what it shows
        now, as a still picture. A question that has no answer, or none within the budget, gets a message instead.

        It needs anywidget, which the extra `notebook` brings.

        Parameters
        ----------
        evidence, do, focus
            What it begins with, as in `picture`.
        engine, budget
            As in `marginals`, for every answer; the budget is 2 seconds where left out.
        """
        return widget_by("widget_of_model", self, evidence, do, focus, engine, budget)

    def __str__(self) -> str:
        return f"{self!r}\n{self._details()}"

    def _repr_svg_(self) -> str:
        """The graph alone: what is believed takes inference, which a notebook does not ask for."""
        return picture_by("picture_of_structure", self).svg

    def _repr_html_(self) -> str:
        return html_with_picture(picture_by("picture_of_structure", self), title_of(self), self._details().to_html())
