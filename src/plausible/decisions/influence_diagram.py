"""Influence diagrams: the value with all questions that it answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from plausible.base.display import TextTable, html_page, num_shown
from plausible.base.method_names import own_methods
from plausible.decisions.information.value import (
    ValueOfControl,
    ValueOfInformation,
    value_of_control,
    value_of_information,
)
from plausible.decisions.questions import StrategyQuestions
from plausible.decisions.solving.evaluating import StrategyCount, count_strategies
from plausible.decisions.solving.problem import SolvingOptions
from plausible.decisions.structure.edits import AllowedActions
from plausible.decisions.structure.relevance import (
    InformationReduction,
    Recall,
    RelevanceGraph,
    check_recall,
    minimal_reduction,
    relevance_graph,
    with_recall,
    without_recall_edges,
)
from plausible.decisions.trees.tree import DecisionTree, decision_tree
from plausible.models.network_parts import states_cell, title_of
from plausible.variables.evidence import EvidenceLike


@own_methods
class InfluenceDiagram(StrategyQuestions):
    """An influence diagram: chance variables, decisions and utilities. It is immutable; edits return new diagrams.

    A decision knows only what it `sees`: memory is explicit and may be limited (a LIMID). Utilities add up.

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

    # --- what it is worth to know, or to have a say ---

    def value_of_information(
        self,
        variables: str | Iterable[str],
        decision: str | None = None,
        cost: float = 0.0,
        evidence: EvidenceLike | None = None,
        options: SolvingOptions | None = None,
    ) -> ValueOfInformation:
        """Compute the value of perfect information: how much more D is worth if it and later decisions see X.

        It is the gain in maximum expected utility. Later means after D in time or, if the graph leaves that open, in
        the order of the diagram. The value is never negative, since a decision may ignore what it sees, and it is zero
        exactly if an optimal strategy stays optimal. The values of several variables do not add up: two may say the
        same, or be useful only together.

        Two diagrams are solved, and a third where D sees some of X anyway. Where it costs something to look, and what
        is seen first may decide what to look at next, see `observation_plan`, and `with_optional_observation` for
        several decisions.

        Koller & Friedman (2009), Probabilistic graphical models, definition 23.11 and proposition 23.6. Howard (1966),
        Information value theory.

        Parameters
        ----------
        variables
            X: one variable or several, which D must not influence; none are worth 0. Variables that D already sees are
            listed in `already_seen`, with what D and later decisions would lose without them.
        decision
            D; may be omitted if there is only one decision.
        cost
            What it costs to see them, in units of utility.
        evidence, options
            As of `solve`.

        Examples
        --------
        >>> import plausible as pb
        >>> diagram = pb.InfluenceDiagram(
        ...     [pb.TableCPD("market", [0.5, 0.3, 0.2], states=["poor", "fair", "good"])],
        ...     [pb.Decision("found", ["no", "yes"])],
        ...     [pb.Utility(["market", "found"], [[0, -7], [0, 5], [0, 20]], name="profit")],
        ... )
        >>> print(diagram.value_of_information("market", cost=1))
        Seeing market at found is worth 3.5: expected utility 5.5 instead of 2.
        At a cost of 1 it pays: net 2.5.
        found, market=poor (probability 0.5): no instead of yes, better by 7
        >>> print(diagram.with_information({"found": ["market"]}).value_of_information("market"))
        found already sees market, and that is worth 3.5: expected utility 5.5 instead of 2 without it.
        Seeing it once more is worth 0.
        """
        return value_of_information(self, variables, decision, cost, evidence, options)

    def value_of_control(
        self,
        variable: str,
        sees: Iterable[str] | None = None,
        cost: float = 0.0,
        evidence: EvidenceLike | None = None,
        options: SolvingOptions | None = None,
    ) -> ValueOfControl:
        """MEU of the diagram in which a chance variable X is a decision, less MEU.

        By default X is set knowing its parents, which is what chance "knows": then the value is never negative, since a
        rule may do what chance does. With `sees=()` X is set blindly, which can be worse than chance. Other decisions
        see what they saw before, X itself among it.

        Koller & Friedman (2009), Probabilistic graphical models, exercise 23.16. Matheson (1990), Using influence
        diagrams to value information and control.

        Parameters
        ----------
        variable
            The chance variable X.
        sees
            What is known when X is set; by default the parents of X.
        cost
            What control costs, in units of utility.
        evidence
            What is known before any decision is made; nothing that X influences.
        options
            As of `solve`.

        Examples
        --------
        >>> import plausible as pb
        >>> diagram = pb.InfluenceDiagram(
        ...     [pb.TableCPD("market", [0.5, 0.3, 0.2], states=["poor", "fair", "good"])],
        ...     [pb.Decision("found", ["no", "yes"])],
        ...     [pb.Utility(["market", "found"], [[0, -7], [0, 5], [0, 20]], name="profit")],
        ... )
        >>> control = diagram.value_of_control("market")
        >>> control.value, control.after.strategy.action("market")
        (18.0, 'good')
        """
        return value_of_control(self, variable, sees, cost, evidence, options)

    # --- structure ---

    def relevance_graph(self) -> RelevanceGraph:
        """Which decisions rely on which, and the order in which they can be settled.

        With perfect recall the graph is acyclic, and the order is the reverse of time. One Bayes ball for each
        decision, all at once: O(n + k²) for n nodes and k decisions (Koller & Friedman 2009, definition 23.9 and
        theorem 23.4).

        >>> import plausible as pb
        >>> steps = [pb.Decision("first", 2), pb.Decision("second", 2, sees=["first"])]
        >>> print(pb.InfluenceDiagram([], steps, [pb.Utility(["first", "second"], [[1, 0], [0, 2]])]).relevance_graph())
        second relies on no other
        first relies on second
        """
        return relevance_graph(self)

    def minimal_reduction(self) -> InformationReduction[InfluenceDiagram]:
        """The diagram with irrelevant information removed until none is left; its best strategy is as good.

        An edge may turn irrelevant only after others are gone, when a decision no longer influences some utility: hence
        passes over the decisions, the last first, until nothing more goes. The result does not depend on the order.
        Rules get smaller, and the relevance graph loses edges. A pass is linear in the graph for each decision; there
        are two mostly (Koller & Friedman 2009, theorems 23.6 and 23.7).

        >>> import plausible as pb
        >>> steps = [pb.Decision("call", 2, sees=["coin"]), pb.Decision("echo", 2, sees=["call"])]
        >>> diagram = pb.InfluenceDiagram([pb.TableCPD("coin", [0.5, 0.5])], steps, [pb.Utility("echo", [0, 1], "V")])
        >>> print(diagram.minimal_reduction())
        call -> echo: call says nothing about V given echo
        coin -> call: call changes no utility
        """
        return minimal_reduction(self)

    def recall(self) -> Recall:
        """Whether each decision sees all that earlier ones saw and chose, and what is missing.

        Decisions D_1, ..., D_k in time have perfect recall if D_j sees D_i and all that D_i sees, for all i < j
        (Koller & Friedman 2009, definition 23.5). There can be only one such order: the edges D_i -> D_j force it.

        >>> import plausible as pb
        >>> print(pb.InfluenceDiagram(decisions=[pb.Decision("early", 2), pb.Decision("late", 2)]).recall())
        order: early < late
        late forgets early
        """
        return check_recall(self)

    def with_recall(self) -> InfluenceDiagram:
        """The diagram with perfect recall: each decision also sees what earlier ones saw and chose.

        What is remembered comes after what the decision sees anyway, the oldest first.

        >>> import plausible as pb
        >>> forgetful = pb.InfluenceDiagram(decisions=[pb.Decision("early", 2), pb.Decision("late", 2)])
        >>> forgetful.with_recall().decisions["late"]
        Decision('late', [0, 1], sees=['early'])
        """
        return with_recall(self)

    def count_strategies(
        self, allowed: Mapping[str, AllowedActions] | None = None, only_possible: bool = False
    ) -> StrategyCount:
        """The number of deterministic strategies: Π_D |actions of D|^(information states of D), exactly.

        Parameters
        ----------
        allowed
            Counts only reasonable strategies: for some decisions the actions that are open, by what is seen, as in
            `with_allowed_actions`.
        only_possible
            Leave out information states that have probability zero whatever is done: what a rule says there is no
            matter.

        Examples
        --------
        >>> import plausible as pb
        >>> treat = pb.Decision("treat", 3, sees=["test"])
        >>> diagram = pb.InfluenceDiagram([pb.TableCPD("test", [0.5, 0.5])], [treat])
        >>> print(diagram.count_strategies())
        treat: 9 rules, 2 information states
        9 strategies
        >>> diagram.count_strategies({"treat": {0: [0]}}).total
        3
        """
        return count_strategies(self, allowed, only_possible)

    def decision_tree(
        self,
        allowed: Mapping[str, AllowedActions] | None = None,
        show_hidden: bool = False,
        max_outcomes: int = 100_000,
    ) -> DecisionTree:
        """The decision tree of a diagram with perfect recall; exponential in its variables, so for small ones.

        The order is that of observation, not of the graph: what is seen before the first decision, that decision, what
        is then new, and so on; last what is never seen. The probability of a branch given its path is the same for
        every strategy that can lead there, so that of acting at random gives them all. Branches of probability zero are
        left out.

        Koller & Friedman (2009), Probabilistic graphical models, section 23.3.1 and lemma 23.1.

        Parameters
        ----------
        allowed
            For some decisions the actions that are open, by what is seen, as in `with_allowed_actions`: others are no
            branches of the tree.
        show_hidden
            Whether what is never seen has branches too; else outcomes are worth the mean over it.
        max_outcomes
            Refuse trees that could have more.

        Examples
        --------
        >>> import plausible as pb
        >>> diagram = pb.InfluenceDiagram(
        ...     [pb.TableCPD("rain", [0.7, 0.3], states=["no", "yes"]),
        ...      pb.TableCPD("sky", {"no": [0.9, 0.1], "yes": [0.2, 0.8]}, parents=["rain"], states=["blue", "grey"])],
        ...     [pb.Decision("umbrella", ["leave", "take"], sees=["sky"])],
        ...     [pb.Utility(["rain", "umbrella"], [[10, 8], [0, 8]])],
        ... )
        >>> print(diagram.decision_tree().solve())
        ○ sky = 8.78
        ├─ blue (0.69): □ umbrella = 9.13043
        │  ├▶ leave: 9.13043
        │  └─ take: 8
        └─ grey (0.31): □ umbrella = 8
           ├─ leave: 2.25806
           └▶ take: 8
        """
        return decision_tree(self, allowed, show_hidden, max_outcomes)

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
        shown = without_recall_edges(self) if hide_recall else self
        shapes = {
            **dict.fromkeys(shown.chance, "oval"),
            **dict.fromkeys(shown.decisions, "box"),
            **dict.fromkeys(shown.utilities, "diamond"),
        }
        nodes = [f"  {_quoted(name)} [shape={shape}];" for name, shape in shapes.items()]
        edges = [
            f"  {_quoted(str(a))} -> {_quoted(str(b))}{' [style=dashed]' if b in shown.decisions else ''};"
            for a, b in shown.graph.edges
        ]
        title = f" {_quoted(self.notes.name)}" if self.notes.name else ""
        return "\n".join([f"digraph{title} {{", *nodes, *edges, "}"])

    def _repr_html_(self) -> str:
        """A row for each part of the diagram: its kind, its states or actions, and what it depends on or sees."""
        rows = [
            (name, "chance", states_cell(cpd.variable), ", ".join(cpd.parent_names))
            for name, cpd in self.chance.items()
        ]
        rows += [(name, "decision", states_cell(d.variable), ", ".join(d.sees)) for name, d in self.decisions.items()]
        rows += [(name, "utility", "", ", ".join(part.parent_names)) for name, part in self.utilities.items()]
        shown = tuple(rows[: num_shown(len(rows))])
        header = ("name", "kind", "states", "depends on or sees")
        return html_page(title_of(self), TextTable(header, shown, 1, len(rows) - len(shown)))


def _quoted(text: str) -> str:
    """A text as a DOT identifier."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
