"""What an influence diagram answers about strategies: the best one, and what a given one is worth."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Self

from plausible.decisions.diagram import Diagram
from plausible.decisions.solving.evaluating import (
    LocalOptimality,
    expected_utility,
    expected_utility_factor,
    local_optimality_test,
    optimal_rule,
    utility_parts,
)
from plausible.decisions.solving.problem import Method, Seed, SolvingOptions, SolvingState
from plausible.decisions.solving.solution import Solution
from plausible.decisions.solving.solve import SolvingPlan, plan, solve
from plausible.decisions.strategy import RuleLike, Strategy
from plausible.decisions.totals import risk_profile, with_curve
from plausible.factors import Factor
from plausible.utilities.lotteries.curve_base import UtilityCurve
from plausible.utilities.lotteries.lottery import Lottery
from plausible.variables.evidence import EvidenceLike


class StrategyQuestions(Diagram):
    """A diagram that can be solved, and that weighs strategies.

    Where a method takes a strategy, that is a `Strategy`, or rules as for `strategy()`; evidence is what is known
    before any decision is made.
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
        evidence
            What is known before any decision is made.
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
        return solve(self, method, evidence, SolvingOptions(restarts, seed, time_limit, progress))

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

    # --- a given strategy ---

    def expected_utility(
        self, strategy: Strategy | Mapping[str, RuleLike], evidence: EvidenceLike | None = None
    ) -> float:
        """EU(σ) = Σ_x P_σ(x | evidence) Σ_i U_i(x): one pass of joint factors through a clique tree.

        Rules may be random, and may depend on a part of what their decisions see.

        >>> import plausible as pb
        >>> pair = [pb.Decision("D", 2), pb.Decision("E", 2)]
        >>> diagram = pb.InfluenceDiagram([], pair, [pb.Utility(["D", "E"], [[1, 0], [0, 2]])])
        >>> diagram.expected_utility({"D": 1, "E": 1}), diagram.expected_utility(diagram.uniform_strategy())
        (2.0, 0.75)
        """
        return expected_utility(self, self._strategy(strategy), evidence)

    def utility_parts(
        self, strategy: Strategy | Mapping[str, RuleLike], evidence: EvidenceLike | None = None
    ) -> dict[str, float]:
        """Utility -> its expectation under a strategy; they add up to `expected_utility`.

        >>> import plausible as pb
        >>> parts = [pb.Utility("D", [3, 5], name="gain"), pb.Utility("D", [0, -1], name="cost")]
        >>> pb.InfluenceDiagram([], [pb.Decision("D", 2)], parts).utility_parts({"D": 1})
        {'gain': 5.0, 'cost': -1.0}
        """
        return utility_parts(self, self._strategy(strategy), evidence)

    def local_optimality_test(
        self, strategy: Strategy | Mapping[str, RuleLike], evidence: EvidenceLike | None = None
    ) -> LocalOptimality:
        """Whether each rule takes, wherever it can come to act, an action with the largest expected utility.

        States w of information with P(w) = 0 under the strategy are passed over: what is done there makes no difference
        as long as the other rules stay as they are (Koller & Friedman 2009, proposition 23.3). Two decisions that have
        to agree, without seeing each other: agreeing on the worse is locally optimal.

        >>> import plausible as pb
        >>> pair = [pb.Decision("D", 2), pb.Decision("E", 2)]
        >>> diagram = pb.InfluenceDiagram([], pair, [pb.Utility(["D", "E"], [[1, 0], [0, 2]])])
        >>> print(diagram.local_optimality_test({"D": 0, "E": 0}))
        Locally optimal: no change of a single rule is an improvement.
        >>> print(diagram.local_optimality_test({"D": 0, "E": 1}))
        Not locally optimal:
        D, always (probability 1): 1 is better by 2
        E, always (probability 1): 0 is better by 1
        """
        return local_optimality_test(self, self._strategy(strategy), evidence)

    def optimal_rule(
        self, decision: str, strategy: Strategy | Mapping[str, RuleLike], evidence: EvidenceLike | None = None
    ) -> Factor:
        """The best rule of a decision, given those of all others; deterministic.

        What is never seen keeps the most likely action of the present rule.

        >>> import plausible as pb
        >>> pair = [pb.Decision("D", 2), pb.Decision("E", 2)]
        >>> diagram = pb.InfluenceDiagram([], pair, [pb.Utility(["D", "E"], [[1, 0], [0, 2]])])
        >>> diagram.optimal_rule("D", {"D": 1, "E": 0}).values
        array([1., 0.])
        """
        return optimal_rule(self, decision, self._strategy(strategy), evidence)

    def expected_utility_factor(
        self, decision: str, strategy: Strategy | Mapping[str, RuleLike], evidence: EvidenceLike | None = None
    ) -> Factor:
        """μ(w, d) = P(w) E[U | w, d] of one decision, given the rules of all others.

        The expected utility of any rule δ of the decision is Σ_w Σ_d δ(d | w) μ(w, d), so a rule that takes the largest
        entry of each row is the best one (Koller & Friedman 2009, equation 23.10). The rule that the strategy has for
        the decision is not looked at, but for what it depends on.

        >>> import plausible as pb
        >>> rain, umbrella = pb.TableCPD("rain", [0.75, 0.25]), pb.Decision("umbrella", 2, sees=["rain"])
        >>> diagram = pb.InfluenceDiagram([rain], [umbrella], [pb.Utility(["rain", "umbrella"], [[10, 8], [0, 8]])])
        >>> diagram.expected_utility_factor("umbrella", diagram.uniform_strategy()).values
        array([[7.5, 6. ],
               [0. , 2. ]])
        """
        return expected_utility_factor(self, decision, self._strategy(strategy), evidence)

    def risk_profile(
        self, strategy: Strategy | Mapping[str, RuleLike], evidence: EvidenceLike | None = None
    ) -> Lottery:
        """The distribution of the total utility under a strategy: what may come of it, and how likely that is.

        Its mean is the expected utility. Totals that differ by rounding only count as one. The cost is that of the
        joint distribution of all that utilities depend on.

        >>> import plausible as pb
        >>> oil = pb.examples.load("oil")
        >>> print(oil.risk_profile(oil.solve().strategy))
        [-92: 0.22; -12: 0.435; 48: 0.21; 238: 0.135]
        """
        return risk_profile(self, self._strategy(strategy), evidence)

    def with_curve(self, curve: UtilityCurve, name: str = "utility") -> Self:
        """The diagram in which amounts are worth what a curve says: one utility, the curve of the sum of all.

        Risk is about the total. A curve applied to each utility by itself would be wrong wherever there are several.
        `curve.inverse` of the expected utility is the amount for sure that is as good, the certainty equivalent. Costs
        that are told afterwards, as those of observations, count in units of utility: add what costs amounts before,
        for instance by `with_optional_observation`. The utility that takes the place of all others gets the `name`.

        >>> import plausible as pb
        >>> oil, careful = pb.examples.load("oil"), pb.utilities.ExponentialCurve(1 / 50)
        >>> solution = oil.with_curve(careful).solve()
        >>> round(oil.solve().expected_utility, 4), round(careful.inverse(solution.expected_utility), 4)
        (16.75, 0.0)
        """
        return with_curve(self, curve, name)

    def _strategy(self, strategy: Strategy | Mapping[str, RuleLike]) -> Strategy:
        return strategy if isinstance(strategy, Strategy) else self.strategy(strategy)
