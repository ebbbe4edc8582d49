"""Iterated optimisation from several starts."""

from __future__ import annotations

from collections.abc import Sequence

from plausible.decisions.solving.joint_table import Weighing
from plausible.decisions.solving.options import SolvingState, Watch
from plausible.decisions.solving.problem import Problem
from plausible.decisions.solving.updating import Rules, ascend, random_rules

__all__ = ["climb", "put"]


def climb(problem: Problem, tree: Weighing, decisions: Sequence[str], rules: Rules, watch: Watch) -> None:
    """Iterated optimisation of some rules from the present and from random ones; the best local optimum stays.

    The rules of the other decisions are not touched.

    Parameters
    ----------
    problem, tree
        The problem, and what weighs decisions in it, with these rules.
    decisions
        Those whose rules are to be found.
    rules
        A rule for each decision; replaced in place.
    watch
        The time, and how many random starts there are.
    """
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
    """Put some rules in the place of others."""
    for name, rule in better.items():
        rules[name] = rule
        tree.replace(name, rule)
