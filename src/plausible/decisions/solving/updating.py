"""Rules of decisions: the best one given all others, iterated optimisation, and what a strategy never leads to."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from plausible.base import UTILITY_NOISE, Floats
from plausible.decisions.diagram import Diagram
from plausible.decisions.solving.arithmetic import PLAIN, placed, scaled_or_logs, summed_to
from plausible.decisions.solving.joint_tree import Weighing
from plausible.decisions.solving.problem import DecisionProblem, SolvingState, Watch
from plausible.decisions.structure.relevance import temporal_order
from plausible.errors import ImpossibleEvidence

#: Decision -> its rule, an array over its family.
Rules = dict[str, Floats]


def best_rule(probability: Floats, weighted: Floats, rule: Floats, rounding: Floats | float) -> Floats:
    """The rule that takes, for all that may be seen, an action with the largest expected utility.

    EU(δ) = Σ_w Σ_d δ(d | w) P(w) E[U | w, d], so each w can be looked at by itself. The present action stays where it
    is as good as any, up to rounding; what is never seen keeps its row, whatever that is.
    """
    good = weighted >= weighted.max(axis=-1, keepdims=True) - rounding
    choice = np.where(good, 1.0 + (rule == 1.0), 0.0).argmax(axis=-1)
    best = np.eye(rule.shape[-1])[choice]
    seen = probability > 0
    return best if seen.all() else np.where(seen, best, rule)


def first_best_rule(weighted: Floats) -> Floats:
    """The rule that takes the first of the best actions, up to rounding, in each row."""
    peaks = np.maximum.reduce(weighted, axis=-1, keepdims=True)
    rounding = UTILITY_NOISE * np.maximum.reduce(np.abs(weighted), axis=-1, keepdims=True)
    choice = (weighted >= peaks - rounding).argmax(axis=-1)
    rule: Floats = (choice[..., None] == np.arange(weighted.shape[-1])).astype(np.float64)
    return rule


def improve(tree: Weighing, decision: str, rules: Rules) -> bool:
    """Replace the rule of one decision by the best one given all others; whether that acts otherwise than before."""
    probability, weighted = tree.family(decision)
    rule = best_rule(probability, weighted, rules[decision], tree.rounding * probability)
    if np.array_equal(rule, rules[decision]):
        return False
    rules[decision] = rule
    tree.replace(decision, rule)
    return True


def ascend(
    tree: Weighing, decisions: Sequence[str], rules: Rules, is_over: Callable[[], bool] = lambda: False
) -> float:
    """Improve one rule after the other until none can be improved by itself; the expected utility.

    It never falls, and there are finitely many deterministic rules, so this ends: in a strategy that no change of one
    rule makes better (iterated optimisation). Other strategies may be better still. Rows of mixed rules that are never
    seen are settled when all else is, which may show something better again. Once `is_over` it ends before that, but
    each rule has had its turn.
    """
    unchanged, steps, is_mixed = 0, 0, True
    while unchanged < len(decisions) and (steps < len(decisions) or not is_over()):
        unchanged = 0 if improve(tree, decisions[steps % len(decisions)], rules) else unchanged + 1
        steps += 1
        if is_mixed and unchanged == len(decisions):
            is_mixed, unchanged = False, 0
            for name, rule in decided({name: rules[name] for name in decisions}).items():
                rules[name] = rule
                tree.replace(name, rule)
    return tree.total().expected_utility


def decided(rules: Mapping[str, Floats]) -> Rules:
    """Deterministic rules: the first of the most likely actions in each row."""
    return {
        name: (rule.argmax(axis=-1)[..., None] == np.arange(rule.shape[-1])).astype(np.float64)
        for name, rule in rules.items()
    }


def random_rules(problem: DecisionProblem, decisions: Sequence[str], rng: np.random.Generator) -> Rules:
    """Fully mixed rules, every row drawn evenly from all distributions over the actions."""
    drawn = {}
    for name in decisions:
        weights = rng.exponential(size=problem.family_shape(name)) + 1e-12
        drawn[name] = weights / weights.sum(axis=-1, keepdims=True)
    return drawn


def climb(problem: DecisionProblem, tree: Weighing, decisions: Sequence[str], rules: Rules, watch: Watch) -> None:
    """Iterated optimisation of some rules from the present and from random ones; the best local optimum stays."""
    rng = watch.options.generator()
    best: tuple[float, Rules] | None = None
    for restart in range(watch.options.restarts + 1):
        if restart:
            put(tree, rules, random_rules(problem, decisions, rng))
        value = ascend(tree, decisions, rules, lambda: watch.is_over)
        if best is None or value > best[0]:
            best = value, {name: rules[name] for name in decisions}
        if watch.tell(SolvingState(0, len(decisions), best[0])):
            break
    assert best is not None
    put(tree, rules, best[1])


def put(tree: Weighing, rules: Rules, better: Rules) -> None:
    for name, rule in better.items():
        rules[name] = rule
        tree.replace(name, rule)


def conditional_worth(
    diagram: Diagram, problem: DecisionProblem, tree: Weighing, rules: Mapping[str, Floats], decision: str
) -> tuple[Floats, Floats]:
    """P(seen) under the rules, and E[utility | seen, action] over the family, also of what the rules never lead to.

    There the decisions that are seen count as set, whatever they saw; if that is not enough, so do all that do not come
    after the decision. What can't be seen under any rules is NaN. The tree is left as it is found.
    """
    phi, psi = tree.family(decision)
    worth = _divided(psi, phi)
    probability, mixed = phi[..., 0] / phi[..., 0].sum(), dict(rules)
    if (phi > 0).all():
        return probability, worth
    after = diagram.graph.descendants(decision)
    before = [name for name in problem.families if name != decision and name not in after]
    seen = {variable.name for variable in problem.family_scope(decision)}
    for freed in ([name for name in before if name in seen], before):  # these act at random
        unknown = np.isnan(worth)
        if freed and unknown.any():
            put(tree, mixed, {name: np.full(rules[name].shape, 1.0 / rules[name].shape[-1]) for name in freed})
            phi, psi = tree.family(decision)
            put(tree, mixed, {name: rules[name] for name in freed})
            worth = np.where(unknown, _divided(psi, phi), worth)
    return probability, worth


def settle_off_path(diagram: Diagram, problem: DecisionProblem, tree: Weighing, rules: Rules) -> None:
    """Take the best action also where the rules never lead to: from the last decision to the first, in place."""
    for name in reversed(temporal_order(diagram)):
        probability, worth = conditional_worth(diagram, problem, tree, rules, name)
        idle = (probability == 0) & ~np.isnan(worth[..., 0])
        if idle.any():
            best = first_best_rule(np.where(np.isnan(worth), 0.0, worth))
            put(tree, rules, {name: np.where(idle[..., None], best, rules[name])})


def _divided(psi: Floats, phi: Floats) -> Floats:
    """ψ / φ, NaN where φ is zero."""
    return np.where(phi > 0, psi / np.where(phi > 0, phi, 1.0), np.nan)


def settle_backward(problem: DecisionProblem, order: Sequence[str]) -> tuple[Rules, float]:
    """The best rules of decisions, each of which relies on those before it in `order` only, and their worth.

    T = P U is the table of all variables. In turn each decision takes the largest entry of T, summed to what it sees
    and does; T is multiplied by this rule and summed to what the decisions that are left see and do. Axes come in an
    order in which these sums run along memory.
    """
    axes: dict[int, None] = {}
    num_left = []  # the number of axes that are still of use when it is the turn of a decision
    for name in reversed(order):
        axes.update(dict.fromkeys(problem.families[name]))
        num_left.append(len(axes))
    axes.update(dict.fromkeys(range(len(problem.variables))))
    rank = {variable: axis for axis, variable in enumerate(axes)}
    table, scale = _weighted_utility(problem, rank)
    rules: Rules = {}
    for name, left in zip(order, reversed(num_left), strict=True):
        if left < table.ndim:
            table = np.add.reduce(table.reshape(*table.shape[:left], -1), axis=-1)
        own = [rank[variable] for variable in problem.families[name]]
        rules[name] = first_best_rule(summed_to(table, own))
        table = table * placed(rules[name], own, left)
    return rules, float(table.sum()) / scale


def _weighted_utility(problem: DecisionProblem, rank: dict[int, int]) -> tuple[Floats, float]:
    """P U over all variables, in the order of the axes; and the probability of the evidence, up to a scale."""
    sizes = problem.sizes
    shape = tuple(sizes[variable] for variable in rank)
    utility = np.zeros((1,) * len(rank))
    tables = [placed(values, [rank[v] for v in scope], len(rank)) for scope, values in problem.probabilities]
    tables = tables or [np.ones((1,) * len(rank))]
    if problem.is_conditioned:
        probability = scaled_or_logs(lambda arithmetic: arithmetic.plain(arithmetic.product(tables)))
    else:
        probability = PLAIN.product(tables)
    for scope, values in problem.utilities:
        utility = utility + placed(values, [rank[variable] for variable in scope], len(rank))
    scale = 1.0
    if problem.is_conditioned:
        free = math.prod(shape[axis] for axis, length in enumerate(probability.shape) if length < shape[axis])
        actions = math.prod(problem.family_shape(name)[-1] for name in problem.families)
        scale = float(probability.sum()) * free / actions
        if scale <= 0:
            raise ImpossibleEvidence.outright()
    weighted = probability * utility
    return weighted if weighted.shape == shape else np.broadcast_to(weighted, shape), scale
