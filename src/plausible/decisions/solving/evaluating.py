"""What a given strategy is worth, and whether one rule of it could be better."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from plausible.base.arrays import Floats
from plausible.base.display import format_number
from plausible.base.records import record
from plausible.decisions.diagram import Diagram
from plausible.decisions.rules import read_rule
from plausible.decisions.solving.joint_table import Weighing, weighing
from plausible.decisions.solving.joint_tree import JointTree
from plausible.decisions.solving.problem import DecisionProblem, impossible, read_findings, read_problem
from plausible.decisions.solving.updating import Rules, best_rule, decided
from plausible.errors import InvalidArgument
from plausible.factors import Factor
from plausible.factors.alignment import assignment_at
from plausible.utilities.wording import place_text
from plausible.variables import Assignment, State
from plausible.variables.evidence import EvidenceLike


def expected_utility(diagram: Diagram, strategy: Mapping[str, Factor], evidence: EvidenceLike | None = None) -> float:
    """EU(σ) = Σ_x P_σ(x | evidence) Σ_i U_i(x): one pass of joint factors through a clique tree."""
    problem, rules = read_strategy(diagram, strategy, evidence)
    total = weighing(problem, rules).total()
    if total.probability <= 0:
        raise impossible(diagram, evidence)
    return total.expected_utility


def utility_parts(
    diagram: Diagram, strategy: Mapping[str, Factor], evidence: EvidenceLike | None = None
) -> dict[str, float]:
    """Utility -> its expectation under a strategy; they add up to `expected_utility`."""
    problem, rules = read_strategy(diagram, strategy, evidence)
    scopes = [scope for scope, _ in problem.utilities]
    tree = JointTree(problem, rules, scopes)
    if tree.total().probability <= 0:
        raise impossible(diagram, evidence)
    found = {}
    for place, (name, (scope, table)) in enumerate(zip(diagram.utilities, problem.utilities, strict=True)):
        weights = tree.marginal(place, scope)
        found[name] = float((weights * table).sum() / weights.sum())
    return found


@record
class BetterAction:
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
class LocalOptimality:
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
    diagram: Diagram, strategy: Mapping[str, Factor], evidence: EvidenceLike | None = None
) -> LocalOptimality:
    """Whether each rule takes, wherever it can come to act, an action with the largest expected utility.

    States w of information with P(w) = 0 under the strategy are passed over: what is done there makes no difference
    as long as the other rules stay as they are (Koller & Friedman 2009, proposition 23.3).
    """
    problem, rules = read_strategy(diagram, strategy, evidence)
    tree = weighing(problem, rules)
    total = tree.total()
    if total.probability <= 0:
        raise impossible(diagram, evidence)
    better = [found for name in diagram.decisions for found in _better(problem, name, rules[name], tree)]
    return LocalOptimality(total.expected_utility, tuple(better))


def _better(problem: DecisionProblem, name: str, rule: Floats, tree: Weighing) -> list[BetterAction]:
    """The information states in which a rule could do better."""
    tables = tree.family(name)
    phi, psi = (table.reshape(-1, rule.shape[-1]) for table in tables)
    probability = phi[:, 0] / phi[:, 0].sum()
    worth = psi / np.where(phi > 0, phi, 1.0)
    gains = worth.max(axis=1) - (worth * rule.reshape(phi.shape)).sum(axis=1)
    rows = np.flatnonzero((probability > 0) & (gains > tree.rounding))
    *seen, decision = (problem.variables[number] for number in problem.families[name])
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
    diagram: Diagram, strategy: Mapping[str, Factor], evidence: EvidenceLike | None
) -> tuple[DecisionProblem, Rules]:
    """The diagram on arrays, each decision depending on what its rule depends on."""
    rules = {}
    for name in diagram.decisions:
        if name not in strategy:
            raise InvalidArgument(f"The strategy has no rule for {name!r}; make one with diagram.strategy({{...}}).")
        rules[name] = read_rule(strategy[name], diagram.information(name), diagram.variables[name])
    information = {name: rule.names[:-1] for name, rule in rules.items()}
    findings = read_findings(diagram, evidence)
    asked = {*diagram.utilities, *findings, *diagram.decisions}
    relevant = asked.union(map(str, diagram.graph.ancestors(asked)))
    problem = read_problem(diagram, findings, information, relevant)
    return problem, {name: np.array(rule.values) for name, rule in rules.items()}


def expected_utility_factor(
    diagram: Diagram, decision: str, strategy: Mapping[str, Factor], evidence: EvidenceLike | None = None
) -> Factor:
    """μ(w, d) = P(w) E[U | w, d], given the rules of all other decisions.

    The expected utility of any rule δ of the decision is Σ_w Σ_d δ(d | w) μ(w, d), so a rule that takes the largest
    entry of each row is the best one.

    Koller & Friedman (2009), Probabilistic graphical models, equation 23.10.
    """
    diagram.decision(decision)
    problem, rules = read_strategy(diagram, strategy, evidence)
    probability, weighted = weighing(problem, rules).family(decision)
    total = probability[..., 0].sum()
    if total <= 0:
        raise impossible(diagram, evidence)
    return Factor(strategy[decision].scope, weighted / total)


def optimal_rule(
    diagram: Diagram, decision: str, strategy: Mapping[str, Factor], evidence: EvidenceLike | None = None
) -> Factor:
    """The best rule of a decision, given those of all others; deterministic.

    What is never seen keeps the most likely action of the present rule.
    """
    diagram.decision(decision)
    problem, rules = read_strategy(diagram, strategy, evidence)
    probability, weighted = weighing(problem, rules).family(decision)
    if probability.max() <= 0:
        raise impossible(diagram, evidence)
    best = best_rule(probability, weighted, rules[decision], problem.rounding * probability)
    return Factor(strategy[decision].scope, np.array(decided({decision: best})[decision]))
