"""What a given strategy is worth, also between the worst and the best, and whether one rule of it could be better."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from plausible.base import WRITTEN_ROUNDING, Floats, Result, format_number, record
from plausible.decisions.diagram import Diagram, DiagramT
from plausible.decisions.solving.joint_tree import JointTree, Weighing, weighing
from plausible.decisions.solving.problem import DecisionProblem, SolvingOptions, impossible, read_findings, read_problem
from plausible.decisions.solving.solve import Asked
from plausible.decisions.solving.updating import Rules, best_rule, decided
from plausible.decisions.strategy import Strategy, StrategyLike, read_rule
from plausible.decisions.structure.edits import AllowedActions, allowed_mask, check_allowed
from plausible.errors import InvalidArgument, TooLarge, counted
from plausible.factors import Factor
from plausible.factors.alignment import assignment_at, num_entries
from plausible.utilities.local import Utility, place_text
from plausible.variables import Assignment, State
from plausible.variables.evidence import EvidenceLike


def expected_utility(diagram: Diagram, strategy: StrategyLike, evidence: EvidenceLike | None = None) -> float:
    """EU(σ) = Σ_x P_σ(x | evidence) Σ_i U_i(x): one pass of joint factors through a clique tree.

    Rules may be random, and may depend on a part of what their decisions see.

    >>> import plausible as pb
    >>> pair = [pb.Decision("D", 2), pb.Decision("E", 2)]
    >>> diagram = pb.InfluenceDiagram([], pair, [pb.Utility(["D", "E"], [[1, 0], [0, 2]])])
    >>> diagram.expected_utility({"D": 1, "E": 1}), diagram.expected_utility(diagram.uniform_strategy())
    (2.0, 0.75)
    """
    problem, rules = read_strategy(diagram, strategy, evidence)
    total = weighing(problem, rules).total()
    if total.probability <= 0:
        raise impossible(diagram, evidence)
    return total.expected_utility


def utility_parts(diagram: Diagram, strategy: StrategyLike, evidence: EvidenceLike | None = None) -> dict[str, float]:
    """Utility -> its expectation under a strategy; they add up to `expected_utility`.

    >>> import plausible as pb
    >>> parts = [pb.Utility("D", [3, 5], name="gain"), pb.Utility("D", [0, -1], name="cost")]
    >>> pb.InfluenceDiagram([], [pb.Decision("D", 2)], parts).utility_parts({"D": 1})
    {'gain': 5.0, 'cost': -1.0}
    """
    problem, rules = read_strategy(diagram, strategy, evidence)
    scopes = [scope for scope, _ in problem.utilities]
    tree = JointTree(problem, rules, scopes)
    if tree.total().probability <= 0:
        raise impossible(diagram, evidence)
    parts = {}
    for name, (scope, table), clique in zip(diagram.utilities, problem.utilities, tree.together, strict=True):
        weights, _ = tree.open_table(clique, scope, ())
        parts[name] = float((weights * table).sum() / weights.sum())
    return parts


@record
class BetterAction(Result):
    """An information state in which another action would be better, all else as it is."""

    decision: str  # The decision
    seen: Assignment  # What is seen
    action: State  # An action that is better than what the rule does
    gain: float  # By how much the expected utility would grow where this is seen
    probability: float  # How likely that is under the strategy

    def __str__(self) -> str:
        where = place_text(self.decision, self.seen, self.probability)
        return f"{where}: {self.action} is better by {format_number(self.gain)}"


@record
class LocalOptimality(Result):
    """Whether no change of a single rule makes a strategy better."""

    expected_utility: float  # Of the strategy
    #: What would be better, for all that can be seen; none where the strategy is locally optimal.
    better: tuple[BetterAction, ...]

    @property
    def is_locally_optimal(self) -> bool:
        """Whether every rule is the best one given the others."""
        return not self.better

    def __bool__(self) -> bool:
        return self.is_locally_optimal

    def __str__(self) -> str:
        if self.is_locally_optimal:
            return "Locally optimal: no change of a single rule is an improvement."
        return "\n".join(["Not locally optimal:", *map(str, self.better)])


def local_optimality_test(
    diagram: Diagram, strategy: StrategyLike, evidence: EvidenceLike | None = None
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
    problem, rules = read_strategy(diagram, strategy, evidence)
    tree = weighing(problem, rules)
    total = tree.total()
    if total.probability <= 0:
        raise impossible(diagram, evidence)
    better = [action for name in diagram.decisions for action in _better(problem, name, rules[name], tree)]
    return LocalOptimality(total.expected_utility, tuple(better))


def _better(problem: DecisionProblem, name: str, rule: Floats, tree: Weighing) -> list[BetterAction]:
    """The information states in which a rule could do better."""
    tables = tree.family(name)
    phi, psi = (table.reshape(-1, rule.shape[-1]) for table in tables)
    probability = phi[:, 0] / phi[:, 0].sum()
    worth = psi / np.where(phi > 0, phi, 1.0)
    gains = worth.max(axis=1) - (worth * rule.reshape(phi.shape)).sum(axis=1)
    rows = np.flatnonzero((probability > 0) & (gains > tree.rounding))
    *seen, decision = problem.family_scope(name)
    return [
        BetterAction(
            name,
            assignment_at(tuple(seen), int(row)),
            decision.states[int(worth[row].argmax())],
            float(gains[row]),
            float(probability[row]),
        )
        for row in rows
    ]


def read_strategy(
    diagram: Diagram, strategy: StrategyLike, evidence: EvidenceLike | None
) -> tuple[DecisionProblem, Rules]:
    """The diagram on arrays, each decision depending on what its rule depends on."""
    rules, given = {}, strategy if isinstance(strategy, Strategy) else diagram.strategy(strategy)
    for name in diagram.decisions:
        if name not in given:
            raise InvalidArgument(f"The strategy has no rule for {name!r}; make one with diagram.strategy({{...}}).")
        rules[name] = read_rule(given[name], diagram.information(name), diagram.variables[name])
    information = {name: rule.names[:-1] for name, rule in rules.items()}
    findings = read_findings(diagram, evidence)
    asked = {*diagram.utilities, *findings, *diagram.decisions}
    relevant = asked.union(map(str, diagram.graph.ancestors(asked)))
    problem = read_problem(diagram, findings, information, relevant)
    return problem, {name: np.array(rule.values) for name, rule in rules.items()}


def expected_utility_factor(
    diagram: Diagram, decision: str, strategy: StrategyLike, evidence: EvidenceLike | None = None
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
    diagram.decision(decision)
    problem, rules = read_strategy(diagram, strategy, evidence)
    probability, weighted = weighing(problem, rules).family(decision)
    total = probability[..., 0].sum()
    if total <= 0:
        raise impossible(diagram, evidence)
    return Factor(problem.family_scope(decision), weighted / total)


def optimal_rule(
    diagram: Diagram, decision: str, strategy: StrategyLike, evidence: EvidenceLike | None = None
) -> Factor:
    """The best rule of a decision, given those of all others; deterministic.

    What is never seen keeps the most likely action of the present rule.

    >>> import plausible as pb
    >>> pair = [pb.Decision("D", 2), pb.Decision("E", 2)]
    >>> diagram = pb.InfluenceDiagram([], pair, [pb.Utility(["D", "E"], [[1, 0], [0, 2]])])
    >>> diagram.optimal_rule("D", {"D": 1, "E": 0}).values
    array([1., 0.])
    """
    diagram.decision(decision)
    problem, rules = read_strategy(diagram, strategy, evidence)
    probability, weighted = weighing(problem, rules).family(decision)
    if probability.max() <= 0:
        raise impossible(diagram, evidence)
    best = best_rule(probability, weighted, rules[decision], problem.rounding * probability)
    return Factor(problem.family_scope(decision), np.array(decided({decision: best})[decision]))


@record(eq=False)
class UtilityGap(Result):
    """What is at stake: from the worst strategy to the best."""

    diagram: Diagram  # What was asked
    evidence: EvidenceLike | None
    best: float  # The largest and the least expected utility
    worst: float
    best_strategy: Strategy  # Strategies that reach them
    worst_strategy: Strategy
    is_exact: bool  # Whether both are proved

    def share(self, strategy: StrategyLike) -> float:
        """How much of the way from the worst to the best a strategy goes, from 0 to 1."""
        return share_of_gap(expected_utility(self.diagram, strategy, self.evidence), self.worst, self.best)

    def __str__(self) -> str:
        told = "" if self.is_exact else ", not proved"
        return f"Expected utility from {format_number(self.worst)} (worst) to {format_number(self.best)} (best){told}."


def utility_gap(
    diagram: Diagram, evidence: EvidenceLike | None = None, options: SolvingOptions | None = None
) -> UtilityGap:
    """The best and the worst strategy of a diagram, between which others can be placed; arguments as of `solve`.

    Norman et al. (1998), a decision-analytic system for prenatal testing; Koller & Friedman (2009), box 23.A.

    >>> import plausible as pb
    >>> gap = utility_gap(pb.examples.load("oil"))
    >>> print(gap)
    Expected utility from -29.25 (worst) to 16.75 (best).
    >>> round(gap.share({"test": "no", "drill": "no"}), 3)
    0.636
    """
    asked = Asked(diagram, evidence, options)
    best, worst = asked.solved(), asked.solved(with_negated_utilities(diagram))
    values, is_exact = (best.expected_utility, -worst.expected_utility), best.is_optimal and worst.is_optimal
    return UtilityGap(diagram, evidence, *values, best.strategy, worst.strategy, is_exact)


def share_of_gap(expected_utility: float, worst: float, best: float) -> float:
    """(EU - worst) / (best - worst): 0 for the worst strategy, 1 for the best, whatever the unit of utility.

    Where all strategies are as good, the share is 1. The worst strategy of a diagram is the best of
    `with_negated_utilities`.

    Norman et al. (1998), a decision-analytic system for prenatal testing; Koller & Friedman (2009), box 23.A.

    >>> round(share_of_gap(94.915, worst=87.85, best=98.77), 3)
    0.647
    """
    slack = WRITTEN_ROUNDING * max(abs(worst), abs(best))
    if not worst - slack <= expected_utility <= best + slack:
        raise InvalidArgument(
            f"An expected utility of {expected_utility:g} is not between the worst, {worst:g}, and the best, {best:g}."
        )
    return (expected_utility - worst) / (best - worst) if best > worst else 1.0


def with_negated_utilities(diagram: DiagramT) -> DiagramT:
    """The diagram whose best strategy is the worst of this one: every utility changes its sign.

    >>> from plausible.decisions import Decision, InfluenceDiagram
    >>> diagram = InfluenceDiagram(decisions=[Decision("D", 2)], utilities=[Utility("D", [1, 3], name="V")])
    >>> with_negated_utilities(diagram).utility_factors["V"].values
    array([-1., -3.])
    """
    utilities = [Utility.from_factor(-factor, name) for name, factor in diagram.utility_factors.items()]
    return type(diagram)(diagram.chance.values(), diagram.decisions.values(), utilities, diagram.notes)


#: Counts of more digits than this are given by their logarithm only.
MAX_DIGITS = 100_000


@dataclass(frozen=True, slots=True)
class RuleCount:
    """How many deterministic rules a decision has."""

    decision: str  # Its name
    #: Pairs (actions, states): so many information states leave so many actions to choose from.
    choices: tuple[tuple[int, int], ...]

    @property
    def num_information_states(self) -> int:
        return sum(states for _, states in self.choices)

    @property
    def log10(self) -> float:
        return math.fsum(states * math.log10(actions) for actions, states in self.choices)

    @property
    def total(self) -> int:
        """The number of rules, exactly: an action for each information state."""
        if self.log10 > MAX_DIGITS:
            raise TooLarge(f"{self.decision!r} has 10^{self.log10:.6g} rules, too many digits to list: see log10.")
        return math.prod(actions**states for actions, states in self.choices)


@record
class StrategyCount(Result):
    """How many deterministic strategies a diagram has: one rule for each decision."""

    _rows = "rules"

    rules: tuple[RuleCount, ...]

    @property
    def log10(self) -> float:
        """The decimal logarithm of the number of strategies."""
        return math.fsum(rule.log10 for rule in self.rules)

    @property
    def total(self) -> int:
        """The number of strategies, exactly."""
        return math.prod(rule.total for rule in self.rules)

    def __str__(self) -> str:
        lines = [
            f"{rule.decision}: {_counted(rule.log10, 'rule', 'rules')}, "
            + counted(rule.num_information_states, "information state")
            for rule in self.rules
        ]
        return "\n".join([*lines, _counted(self.log10, "strategy", "strategies")])


def count_strategies(
    diagram: Diagram, allowed: Mapping[str, AllowedActions] | None = None, only_possible: bool = False
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
    limits = {} if allowed is None else allowed
    check_allowed(limits)
    for name in limits:
        diagram.decision(name)
    possible = information_probabilities(diagram) if only_possible else {}
    counts = []
    for name, decision in diagram.decisions.items():
        num_actions, num_states = len(decision.states), num_entries(diagram.information(name))
        choices: tuple[tuple[int, int], ...] = ((num_actions, num_states),)
        if name in limits or only_possible:
            is_open = allowed_mask(diagram, name, limits[name]).sum(axis=-1).ravel() if name in limits else None
            num_open = np.full(num_states, num_actions) if is_open is None else is_open
            kept = num_open[possible[name].flat > 0] if only_possible else num_open
            actions, states = np.unique(kept, return_counts=True)
            choices = tuple(zip(actions.tolist(), states.tolist(), strict=True))
        counts.append(RuleCount(name, choices))
    return StrategyCount(tuple(counts))


def information_probabilities(diagram: Diagram) -> dict[str, Factor]:
    """For each decision the probability of what it sees if all actions are taken at random.

    An entry is zero where, whatever is done, it can't be seen. Decisions that see nothing have the number one. All come
    from one clique tree.

    >>> import plausible as pb
    >>> first, second = pb.Decision("first", 2), pb.Decision("second", 2, sees=["first", "coin"])
    >>> diagram = pb.InfluenceDiagram([pb.TableCPD("coin", [0.75, 0.25])], [first, second])
    >>> information_probabilities(diagram)["second"].values
    array([[0.375, 0.125],
           [0.375, 0.125]])
    """
    problem = read_problem(diagram, {})
    tree = weighing(problem, problem.uniform_rules())
    probabilities = {}
    for name in diagram.decisions:
        seen = tree.family(name)[0][..., 0]
        probabilities[name] = Factor(diagram.information(name), seen / seen.sum())
    return probabilities


def impossible_information(diagram: Diagram) -> dict[str, tuple[Assignment, ...]]:
    """For each decision the information states that have probability zero whatever is done.

    >>> import plausible as pb
    >>> sky = pb.TableCPD("sky", [0.6, 0.4, 0.0], states=["blue", "grey", "green"])
    >>> impossible_information(pb.InfluenceDiagram([sky], [pb.Decision("go", 2, sees=["sky"])]))
    {'go': (Assignment(sky='green'),)}
    """
    return {
        name: tuple(assignment_at(factor.scope, int(place)) for place in np.flatnonzero(factor.flat == 0))
        for name, factor in information_probabilities(diagram).items()
    }


def _counted(log10: float, one: str, many: str) -> str:
    """A number of things, a large one in a few characters."""
    if log10 < 9:
        number = round(10**log10)
        return f"{number} {one if number == 1 else many}"
    exponent = math.floor(log10)
    return f"{10 ** (log10 - exponent):.2f}e{exponent} {many}"
