"""Better rules for one decision at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from plausible.base.arrays import Floats
from plausible.base.tolerances import UTILITY_NOISE
from plausible.decisions.solving.joint_table import Weighing
from plausible.decisions.solving.problem import Problem

__all__ = ["Rules", "ascend", "best_rule", "decided", "first_best_rule", "improve", "random_rules"]

#: Decision -> its rule, an array over its family.
Rules = dict[str, Floats]


def best_rule(probability: Floats, weighted: Floats, rule: Floats, rounding: Floats | float) -> Floats:
    """The rule that takes, for all that may be seen, an action with the largest expected utility.

    EU(δ) = Σ_w Σ_d δ(d | w) P(w) E[U | w, d], so each w can be looked at by itself. The present action stays where it
    is as good as any, up to rounding; what is never seen keeps its row, whatever that is.

    Parameters
    ----------
    probability, weighted
        P(w), up to a scale, and P(w) E[U | w, d], both over (w, d).
    rule
        The present rule.
    rounding
        Up to where entries of `weighted` count as equal, of each row or of all.
    """
    good = weighted >= weighted.max(axis=-1, keepdims=True) - rounding
    choice = np.where(good, 1.0 + (rule == 1.0), 0.0).argmax(axis=-1)
    best = np.eye(rule.shape[-1])[choice]
    seen = probability > 0
    return best if seen.all() else np.where(seen, best, rule)


def first_best_rule(weighted: Floats) -> Floats:
    """The rule that takes the first of the best actions, up to rounding, in each row; the first one where all are zero.

    >>> first_best_rule(np.array([[1.0, 3.0], [0.0, 0.0]]))
    array([[0., 1.],
           [1., 0.]])
    """
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


def random_rules(problem: Problem, decisions: Sequence[str], rng: np.random.Generator) -> Rules:
    """Fully mixed rules, every row drawn evenly from all distributions over the actions."""
    drawn = {}
    for name in decisions:
        weights = rng.exponential(size=problem.family_shape(name)) + 1e-12
        drawn[name] = weights / weights.sum(axis=-1, keepdims=True)
    return drawn
