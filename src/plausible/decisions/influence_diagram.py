"""Influence diagrams with the questions that they answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from plausible.base.method_names import own_methods
from plausible.decisions.diagram import Diagram
from plausible.decisions.drawing import diagram_dot, diagram_html
from plausible.decisions.information.control import ValueOfControl, value_of_control
from plausible.decisions.information.value import ValueOfInformation, value_of_information
from plausible.decisions.rules import RuleLike
from plausible.decisions.solving.counting import StrategyCount, count_strategies
from plausible.decisions.solving.evaluating import (
    LocalOptimality,
    expected_utility,
    expected_utility_factor,
    local_optimality_test,
    optimal_rule,
    utility_parts,
)
from plausible.decisions.solving.options import Method, Seed, SolvingOptions, SolvingState
from plausible.decisions.solving.solution import Solution
from plausible.decisions.solving.solve import SolvingPlan, plan, solve
from plausible.decisions.strategy import Strategy
from plausible.decisions.structure.edits import AllowedActions
from plausible.decisions.structure.recall import Recall, check_recall, with_recall
from plausible.decisions.structure.relevance import Reduction, RelevanceGraph, minimal_reduction, relevance_graph
from plausible.decisions.totals import risk_profile, with_curve
from plausible.decisions.trees.tree import DecisionTree
from plausible.decisions.trees.unrolling import decision_tree
from plausible.factors import Factor
from plausible.utilities.lotteries.curve_base import UtilityCurve
from plausible.utilities.lotteries.lottery import Lottery
from plausible.variables.evidence import EvidenceLike

__all__ = ["InfluenceDiagram"]


@own_methods
class InfluenceDiagram(Diagram):
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
        evidence
            What is known before any decision is made.
        restarts, seed
            How many random strategies iterated optimisation starts from, beside the uniform one, and the seed that
            draws them: the same seed gives the same answer.
        time_limit
            Stop the search for a proof after this many seconds, with the best strategy so far and its `gap`; `None` for
            no limit.
        progress
            Called with a `SolvingState` after each step; return true to stop.

        Notes
        -----
        With an acyclic relevance graph the cost of `"auto"` is that of one calibration of a clique tree in which each
        decision lies together with what it has to know.

        References
        ----------
        Lauritzen & Nilsson (2001), Representing and solving decision problems with limited information, Management
        Science 47. Koller & Friedman (2009), Probabilistic graphical models, chapter 23.

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
        return solve(self, method, evidence, SolvingOptions(restarts, seed, time_limit, progress))

    def expected_utility(
        self, strategy: Strategy | Mapping[str, RuleLike], evidence: EvidenceLike | None = None
    ) -> float:
        """Compute the expected utility of a strategy, given evidence known before all decisions.

        `strategy` is a `Strategy`, or rules as for `InfluenceDiagram.strategy`.

        >>> from plausible.decisions import Decision, InfluenceDiagram
        >>> from plausible.utilities import Utility
        >>> pair = InfluenceDiagram([], [Decision("D", 2), Decision("E", 2)], [Utility(["D", "E"], [[1, 0], [0, 2]])])
        >>> pair.expected_utility({"D": 1, "E": 1})
        2.0
        """
        return expected_utility(self, self._strategy(strategy), evidence)

    def utility_parts(
        self, strategy: Strategy | Mapping[str, RuleLike], evidence: EvidenceLike | None = None
    ) -> dict[str, float]:
        """Compute the expectation of each utility under a strategy; they add up to `expected_utility`.

        >>> import plausible as pb
        >>> parts = [pb.Utility("D", [3, 5], name="gain"), pb.Utility("D", [0, -1], name="cost")]
        >>> pb.InfluenceDiagram([], [pb.Decision("D", 2)], parts).utility_parts({"D": 1})
        {'gain': 5.0, 'cost': -1.0}
        """
        return utility_parts(self, self._strategy(strategy), evidence)

    def risk_profile(
        self, strategy: Strategy | Mapping[str, RuleLike], evidence: EvidenceLike | None = None
    ) -> Lottery:
        """Compute the distribution of the total utility under a strategy, as a `Lottery` over amounts.

        See `plausible.decisions.totals.risk_profile`.

        >>> import plausible as pb
        >>> bet = pb.InfluenceDiagram([pb.TableCPD("coin", [0.5, 0.5])], [pb.Decision("bet", 2)],
        ...                        [pb.Utility(["coin", "bet"], [[0, 3], [0, -1]])])
        >>> print(bet.risk_profile({"bet": 1}), bet.risk_profile({"bet": 0}))
        [-1: 0.5; 3: 0.5] [0: 1]
        """
        return risk_profile(self, self._strategy(strategy), evidence)

    def optimal_rule(
        self, decision: str, strategy: Strategy | Mapping[str, RuleLike], evidence: EvidenceLike | None = None
    ) -> Factor:
        """Find the best rule for one decision, when all others follow a strategy.

        >>> from plausible.decisions import Decision, InfluenceDiagram
        >>> from plausible.utilities import Utility
        >>> pair = InfluenceDiagram([], [Decision("D", 2), Decision("E", 2)], [Utility(["D", "E"], [[1, 0], [0, 2]])])
        >>> pair.optimal_rule("D", {"D": 1, "E": 0}).values
        array([1., 0.])
        """
        return optimal_rule(self, decision, self._strategy(strategy), evidence)

    def expected_utility_factor(
        self, decision: str, strategy: Strategy | Mapping[str, RuleLike], evidence: EvidenceLike | None = None
    ) -> Factor:
        """Compute μ(w, d) = P(w) E[U | w, d] for one decision, when all others follow a strategy.

        >>> from plausible.decisions import Decision, InfluenceDiagram
        >>> from plausible.utilities import Utility
        >>> pair = InfluenceDiagram([], [Decision("D", 2), Decision("E", 2)], [Utility(["D", "E"], [[1, 0], [0, 2]])])
        >>> pair.expected_utility_factor("D", {"D": 1, "E": 1}).values
        array([0., 2.])
        """
        return expected_utility_factor(self, decision, self._strategy(strategy), evidence)

    def local_optimality_test(
        self, strategy: Strategy | Mapping[str, RuleLike], evidence: EvidenceLike | None = None
    ) -> LocalOptimality:
        """Test whether changing a single rule would improve a strategy, and if so, how.

        >>> from plausible.decisions import Decision, InfluenceDiagram
        >>> from plausible.utilities import Utility
        >>> pair = InfluenceDiagram([], [Decision("D", 2), Decision("E", 2)], [Utility(["D", "E"], [[1, 0], [0, 2]])])
        >>> pair.local_optimality_test({"D": 0, "E": 0}).is_locally_optimal
        True
        """
        return local_optimality_test(self, self._strategy(strategy), evidence)

    def explain(self, evidence: EvidenceLike | None = None) -> SolvingPlan:
        """Show how `solve` would proceed: what decisions need to know, their order, and the tables required.

        >>> from plausible.decisions import Decision, InfluenceDiagram
        >>> from plausible.utilities import Utility
        >>> pair = InfluenceDiagram([], [Decision("D", 2), Decision("E", 2)], [Utility(["D", "E"], [[1, 0], [0, 2]])])
        >>> print(pair.explain())
        D needs nothing, relies on E
        E needs nothing, relies on D
          (D, E rely on each other: settled together)
        Tables with 4 entries, the largest over D, E
        """
        return plan(self, evidence)

    # --- what it is worth to know, or to have a say ---

    def value_of_information(
        self,
        variables: str | Iterable[str],
        decision: str | None = None,
        cost: float = 0.0,
        evidence: EvidenceLike | None = None,
        options: SolvingOptions | None = None,
    ) -> ValueOfInformation:
        """Compute what it is worth to see some variables before a decision, and which actions that would change.

        See `plausible.decisions.information.value.value_of_information`, and `rank_observations` for all variables.

        >>> import plausible as pb
        >>> market = pb.TableCPD("market", [0.5, 0.3, 0.2], states=["poor", "fair", "good"])
        >>> profit = pb.Utility(["market", "found"], [[0, -7], [0, 5], [0, 20]], name="profit")
        >>> diagram = pb.InfluenceDiagram([market], [pb.Decision("found", ["no", "yes"])], [profit])
        >>> round(diagram.value_of_information("market").value, 6)
        3.5
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
        """Compute what it is worth to set a chance variable, seeing its parents or the variables in `sees`.

        See `plausible.decisions.information.control.value_of_control`.

        >>> import plausible as pb
        >>> market = pb.TableCPD("market", [0.5, 0.3, 0.2], states=["poor", "fair", "good"])
        >>> profit = pb.Utility(["market", "found"], [[0, -7], [0, 5], [0, 20]], name="profit")
        >>> diagram = pb.InfluenceDiagram([market], [pb.Decision("found", ["no", "yes"])], [profit])
        >>> round(diagram.value_of_control("market").value, 6)
        18.0
        """
        return value_of_control(self, variable, sees, cost, evidence, options)

    # --- structure ---

    def relevance_graph(self) -> RelevanceGraph:
        """Which decisions rely on which: see `plausible.decisions.structure.relevance`."""
        return relevance_graph(self)

    def minimal_reduction(self) -> Reduction[InfluenceDiagram]:
        """Return this diagram without irrelevant information: see `plausible.decisions.structure.irrelevance`."""
        return minimal_reduction(self)

    def recall(self) -> Recall:
        """The decisions in time, and what later ones forget: see `plausible.decisions.structure.recall`."""
        return check_recall(self)

    def with_recall(self) -> InfluenceDiagram:
        """Return a diagram with perfect recall: decisions also see what earlier decisions saw and chose."""
        return with_recall(self)

    def count_strategies(
        self, allowed: Mapping[str, AllowedActions] | None = None, only_possible: bool = False
    ) -> StrategyCount:
        """The number of deterministic strategies: see `plausible.decisions.solving.counting`."""
        return count_strategies(self, allowed, only_possible)

    def decision_tree(
        self,
        allowed: Mapping[str, AllowedActions] | None = None,
        show_hidden: bool = False,
        max_outcomes: int = 100_000,
    ) -> DecisionTree:
        """The decision tree of this diagram, if it has perfect recall: see `plausible.decisions.trees.unrolling`."""
        return decision_tree(self, allowed, show_hidden, max_outcomes)

    def to_dot(self, hide_recall: bool = False) -> str:
        """This diagram as Graphviz text: see `plausible.decisions.drawing`."""
        return diagram_dot(self, hide_recall)

    def with_curve(self, curve: UtilityCurve, name: str = "utility") -> InfluenceDiagram:
        """Return a diagram whose only utility is a curve of the total utility: see `plausible.decisions.totals`.

        >>> import plausible as pb
        >>> from plausible.utilities import ExponentialCurve, Utility
        >>> risk = Utility(["coin", "bet"], [[0, 3], [0, -1]])
        >>> diagram = InfluenceDiagram([pb.TableCPD("coin", [0.5, 0.5])], [pb.Decision("bet", 2)], [risk])
        >>> averse = diagram.with_curve(ExponentialCurve(2))
        >>> diagram.solve().strategy.action("bet"), averse.solve().strategy.action("bet")
        (1, 0)
        """
        return with_curve(self, curve, name)

    def _strategy(self, strategy: Strategy | Mapping[str, RuleLike]) -> Strategy:
        return strategy if isinstance(strategy, Strategy) else self.strategy(strategy)

    def _repr_html_(self) -> str:
        return diagram_html(self)
