"""The questions that an influence diagram answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, cast

from plausible.decisions.rules import RuleLike
from plausible.decisions.strategy import Strategy
from plausible.factors import Factor
from plausible.variables.evidence import EvidenceLike

if TYPE_CHECKING:
    from plausible.decisions.diagram import InfluenceDiagram
    from plausible.decisions.information.control import ValueOfControl
    from plausible.decisions.information.value import ValueOfInformation
    from plausible.decisions.solving.evaluating import LocalOptimality
    from plausible.decisions.solving.options import Method, Options, Seed, SolvingState
    from plausible.decisions.solving.plan import SolvingPlan
    from plausible.decisions.solving.solution import Solution
    from plausible.utilities.lotteries.lottery import Lottery

__all__ = ["DiagramQuestions"]


class DiagramQuestions:
    """What people ask of a diagram, as methods; what answers is in `plausible.decisions.solving`."""

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
            `"auto"`, which is exact if decisions do not rely on each other or are few enough for an exhaustive search;
            `"local"`, `"elimination"`, `"arc-reversal"`, `"network"` or `"enumeration"`: see
            `plausible.decisions.solving.solve.solve`.
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

        Examples
        --------
        >>> from plausible.cpds import TableCPD
        >>> from plausible.decisions import Decision, InfluenceDiagram
        >>> from plausible.utilities import Utility
        >>> market = TableCPD("market", [0.5, 0.3, 0.2], states=["poor", "fair", "good"])
        >>> profit = Utility(["market", "found"], [[0, -7], [0, 5], [0, 20]], name="profit")
        >>> diagram = InfluenceDiagram([market], [Decision("found", ["no", "yes"])], [profit])
        >>> solution = diagram.solve()
        >>> solution.expected_utility, solution.strategy.action("found"), solution.is_optimal
        (2.0, 'yes', True)
        """
        from plausible.decisions.solving.options import Options
        from plausible.decisions.solving.solve import solve

        return solve(self._diagram, method, evidence, Options(restarts, seed, time_limit, progress))

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
        from plausible.decisions.solving.evaluating import expected_utility

        return expected_utility(self._diagram, self._strategy(strategy), evidence)

    def utility_parts(
        self, strategy: Strategy | Mapping[str, RuleLike], evidence: EvidenceLike | None = None
    ) -> dict[str, float]:
        """Compute the expectation of each utility under a strategy; they add up to `expected_utility`.

        >>> from plausible.decisions import Decision, InfluenceDiagram
        >>> from plausible.utilities import Utility
        >>> parts = [Utility("D", [3, 5], name="gain"), Utility("D", [0, -1], name="cost")]
        >>> InfluenceDiagram([], [Decision("D", 2)], parts).utility_parts({"D": 1})
        {'gain': 5.0, 'cost': -1.0}
        """
        from plausible.decisions.solving.evaluating import utility_parts

        return utility_parts(self._diagram, self._strategy(strategy), evidence)

    def risk_profile(
        self, strategy: Strategy | Mapping[str, RuleLike], evidence: EvidenceLike | None = None
    ) -> Lottery:
        """Compute the distribution of the total utility under a strategy, as a `Lottery` over amounts.

        See `plausible.decisions.totals.risk_profile`.

        >>> from plausible.cpds import TableCPD
        >>> from plausible.decisions import Decision, InfluenceDiagram
        >>> from plausible.utilities import Utility
        >>> bet = InfluenceDiagram([TableCPD("coin", [0.5, 0.5])], [Decision("bet", 2)],
        ...                        [Utility(["coin", "bet"], [[0, 3], [0, -1]])])
        >>> print(bet.risk_profile({"bet": 1}), bet.risk_profile({"bet": 0}))
        [-1: 0.5; 3: 0.5] [0: 1]
        """
        from plausible.decisions.totals import risk_profile

        return risk_profile(self._diagram, self._strategy(strategy), evidence)

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
        from plausible.decisions.solving.single_rule import optimal_rule

        return optimal_rule(self._diagram, decision, self._strategy(strategy), evidence)

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
        from plausible.decisions.solving.single_rule import expected_utility_factor

        return expected_utility_factor(self._diagram, decision, self._strategy(strategy), evidence)

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
        from plausible.decisions.solving.evaluating import local_optimality_test

        return local_optimality_test(self._diagram, self._strategy(strategy), evidence)

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
        from plausible.decisions.solving.plan import plan

        return plan(self._diagram, evidence)

    # --- what it is worth to know, or to have a say ---

    def value_of_information(
        self,
        variables: str | Iterable[str],
        decision: str | None = None,
        cost: float = 0.0,
        evidence: EvidenceLike | None = None,
        options: Options | None = None,
    ) -> ValueOfInformation:
        """Compute what it is worth to see some variables before a decision, and which actions that would change.

        See `plausible.decisions.information.value.value_of_information`, and `rank_observations` for all variables.

        >>> from plausible.cpds import TableCPD
        >>> from plausible.decisions import Decision, InfluenceDiagram
        >>> from plausible.utilities import Utility
        >>> market = TableCPD("market", [0.5, 0.3, 0.2], states=["poor", "fair", "good"])
        >>> profit = Utility(["market", "found"], [[0, -7], [0, 5], [0, 20]], name="profit")
        >>> diagram = InfluenceDiagram([market], [Decision("found", ["no", "yes"])], [profit])
        >>> round(diagram.value_of_information("market").value, 6)
        3.5
        """
        from plausible.decisions.information.value import value_of_information

        return value_of_information(self._diagram, variables, decision, cost, evidence, options)

    def value_of_control(
        self,
        variable: str,
        sees: Iterable[str] | None = None,
        cost: float = 0.0,
        evidence: EvidenceLike | None = None,
        options: Options | None = None,
    ) -> ValueOfControl:
        """Compute what it is worth to set a chance variable, seeing its parents or the variables in `sees`.

        See `plausible.decisions.information.control.value_of_control`.

        >>> from plausible.cpds import TableCPD
        >>> from plausible.decisions import Decision, InfluenceDiagram
        >>> from plausible.utilities import Utility
        >>> market = TableCPD("market", [0.5, 0.3, 0.2], states=["poor", "fair", "good"])
        >>> profit = Utility(["market", "found"], [[0, -7], [0, 5], [0, 20]], name="profit")
        >>> diagram = InfluenceDiagram([market], [Decision("found", ["no", "yes"])], [profit])
        >>> round(diagram.value_of_control("market").value, 6)
        18.0
        """
        from plausible.decisions.information.control import value_of_control

        return value_of_control(self._diagram, variable, sees, cost, evidence, options)

    @property
    def _diagram(self) -> InfluenceDiagram:
        return cast("InfluenceDiagram", self)

    def _strategy(self, strategy: Strategy | Mapping[str, RuleLike]) -> Strategy:
        return strategy if isinstance(strategy, Strategy) else self._diagram.strategy(strategy)
