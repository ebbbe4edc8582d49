"""Influence diagrams: the value with all questions that it answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from plausible.base import TextTable, html_with_picture, num_shown, own_methods, picture_by
from plausible.decisions import totals
from plausible.decisions.diagram import Diagram
from plausible.decisions.information import value
from plausible.decisions.solving import evaluating, solve
from plausible.decisions.solving.problem import Method, Seed, SolvingOptions, SolvingState
from plausible.decisions.solving.solution import Solution
from plausible.decisions.structure import relevance
from plausible.decisions.trees import tree
from plausible.graphs.text import dot_quoted
from plausible.models.shown_parts import title_of
from plausible.variables.evidence import EvidenceLike
from plausible.variables.variable import states_cell

if TYPE_CHECKING:
    from plausible.base.pictured import Picture


@own_methods
class InfluenceDiagram(Diagram):
    """An influence diagram: chance variables, decisions and utilities. It is immutable; edits return new diagrams.

    A decision knows only what it `sees`: memory is explicit and may be limited (a LIMID). Utilities add up. Where a
    method takes a strategy, that is a `Strategy`, or rules as for `strategy()`; evidence is what is known before any
    decision is made.

    Parameters
    ----------
    chance
        A conditional distribution for each chance variable, of any discrete kind; parents may be decisions.
    decisions
        The decisions; if the graph leaves their order in time open, they are made in this order.
    utilities
        The parts of the total utility; each one is a node of the graph.
    notes
        Name, description, positions and so on.

    Examples
    --------
    >>> import plausible as pb
    >>> diagram = InfluenceDiagram(
    ...     chance=[pb.TableCPD("market", [0.5, 0.3, 0.2], states=["poor", "fair", "good"])],
    ...     decisions=[pb.Decision("found", ["no", "yes"])],
    ...     utilities=[pb.Utility(["market", "found"], [[0, -7], [0, 5], [0, 20]], name="profit")],
    ... )
    >>> diagram.graph
    DAG('market -> profit; found -> profit')
    """

    __slots__ = ()

    # Questions that are functions of a diagram elsewhere, where they are described.
    explain = solve.plan
    expected_utility = evaluating.expected_utility
    utility_parts = evaluating.utility_parts
    local_optimality_test = evaluating.local_optimality_test
    optimal_rule = evaluating.optimal_rule
    expected_utility_factor = evaluating.expected_utility_factor
    risk_profile = totals.risk_profile
    with_curve = totals.with_curve
    value_of_information = value.value_of_information
    value_of_control = value.value_of_control
    relevance_graph = relevance.relevance_graph
    minimal_reduction = relevance.minimal_reduction
    recall = relevance.check_recall
    with_recall = relevance.with_recall
    count_strategies = evaluating.count_strategies
    decision_tree = tree.decision_tree

    def solve(
        self,
        *,
        method: Method = "auto",
        evidence: EvidenceLike | None = None,
        restarts: int = 10,
        seed: Seed = 0,
        time_limit: float | None = 60.0,
        progress: Callable[[SolvingState], object] | None = None,
    ) -> Solution:
        """Find a strategy with the largest expected utility, and say whether that is proved.

        With an acyclic relevance graph the cost of `"auto"` is that of one calibration of a clique tree in which each
        decision lies together with what it has to know.

        Lauritzen & Nilsson (2001), Representing and solving decision problems with limited information, Management
        Science 47. Koller & Friedman (2009), Probabilistic graphical models, chapter 23.

        Parameters
        ----------
        method
            `"auto"`: what decisions need not know is dropped; then they are settled in the order in which they rely on
            each other, each rule once, on a clique tree of joint factors. Decisions that rely on each other are settled
            together, by lists of policies and by branch and bound; where the time does not suffice for a proof, the gap
            to an upper bound is told.
            `"local"`: iterated optimisation of one rule at a time, from uniform and from random rules.
            `"elimination"`: sum-max-sum elimination in an order against time; needs perfect recall.
            `"arc-reversal"`: nodes are removed from the diagram one by one; needs perfect recall, and few variables.
            `"network"`: a query to a Bayesian network for each decision; none may rely on each other.
            `"enumeration"`: all deterministic strategies one by one, where they are few.
        restarts, seed
            How many random strategies iterated optimisation starts from, beside the uniform one, and the seed that
            draws them: the same seed gives the same answer.
        time_limit
            Stop the search for a proof after this many seconds, with the best strategy so far and its `gap`; `None` for
            no limit.

        Examples
        --------
        >>> import plausible as pb
        >>> market = pb.TableCPD("market", [0.5, 0.3, 0.2], states=["poor", "fair", "good"])
        >>> profit = pb.Utility(["market", "found"], [[0, -7], [0, 5], [0, 20]], name="profit")
        >>> diagram = pb.InfluenceDiagram([market], [pb.Decision("found", ["no", "yes"])], [profit])
        >>> solution = diagram.solve()
        >>> solution.expected_utility, solution.strategy.action("found"), solution.is_optimal
        (2.0, 'yes', True)
        """
        return solve.solve(self, method, evidence, SolvingOptions(restarts, seed, time_limit, progress))

    def to_dot(self, hide_recall: bool = False) -> str:
        """The diagram in Graphviz' DOT language: ovals for chance, boxes for decisions, diamonds for utilities.

        Information edges are dashed. Draw it with `dot -Tsvg`. `hide_recall` leaves out edges that perfect recall
        implies; the diagram must have it.

        >>> import plausible as pb
        >>> rain, umbrella = pb.TableCPD("rain", [0.7, 0.3]), pb.Decision("umbrella", 2, sees=["rain"])
        >>> print(pb.InfluenceDiagram([rain], [umbrella], [pb.Utility("umbrella", [0, -1], name="burden")]).to_dot())
        digraph {
          "rain" [shape=oval];
          "umbrella" [shape=box];
          "burden" [shape=diamond];
          "rain" -> "umbrella" [style=dashed];
          "umbrella" -> "burden";
        }
        """
        shown = relevance.without_recall_edges(self) if hide_recall else self
        shapes = {
            **dict.fromkeys(shown.chance, "oval"),
            **dict.fromkeys(shown.decisions, "box"),
            **dict.fromkeys(shown.utilities, "diamond"),
        }
        nodes = [f"  {dot_quoted(name)} [shape={shape}];" for name, shape in shapes.items()]
        edges = [
            f"  {dot_quoted(a)} -> {dot_quoted(b)}{' [style=dashed]' if b in shown.decisions else ''};"
            for a, b in shown.graph.edges
        ]
        title = f" {dot_quoted(self.notes.name)}" if self.notes.name else ""
        return "\n".join([f"digraph{title} {{", *nodes, *edges, "}"])

    def picture(self, *, focus: Any = "auto") -> Picture:
        """The diagram: chance in ovals, decisions in rectangles, utilities in rhombuses, what is seen by dashed arrows.

        `solve().picture()` has what to do in the decisions.

        Parameters
        ----------
        focus
            A node or several: only what is around them is shown; `None` for all of a large diagram.
        """
        return picture_by("picture_of_diagram", self, focus)

    def _repr_svg_(self) -> str:
        return self.picture().svg

    def _repr_html_(self) -> str:
        """The picture, and below it a row for each part: its kind, its states, and what it depends on or sees."""
        rows = [
            (name, "chance", states_cell(cpd.variable), ", ".join(cpd.parent_names))
            for name, cpd in self.chance.items()
        ]
        rows += [(name, "decision", states_cell(d.variable), ", ".join(d.sees)) for name, d in self.decisions.items()]
        rows += [(name, "utility", "", ", ".join(part.parent_names)) for name, part in self.utilities.items()]
        shown = tuple(rows[: num_shown(len(rows))])
        header = ("name", "kind", "states", "depends on or sees")
        table = TextTable(header, shown, 1, len(rows) - len(shown))
        return html_with_picture(self.picture(), title_of(self), table.to_html())
