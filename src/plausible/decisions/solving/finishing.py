"""From rules on arrays to a solution for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from plausible.base.arrays import Floats
from plausible.decisions.parts import Decision
from plausible.decisions.rounding import proof_rounding, utility_rounding
from plausible.decisions.rules import MAX_RULE
from plausible.decisions.solving.joint_table import Weighing, weighing
from plausible.decisions.solving.off_path import conditional_worth, settle_off_path
from plausible.decisions.solving.problem import Problem
from plausible.decisions.solving.solution import Policy, Solution
from plausible.decisions.solving.task import Task
from plausible.decisions.solving.updating import Rules, decided
from plausible.decisions.strategy import Strategy
from plausible.decisions.structure.recall import temporal_order
from plausible.factors import Factor
from plausible.factors.alignment import align, num_entries, table_shape

if TYPE_CHECKING:
    from plausible.decisions.diagram import InfluenceDiagram

__all__ = ["Found", "Policies", "finish"]


class Found(NamedTuple):
    """Rules, what is known about the best ones, and how both were found."""

    rules: Rules
    upper_bound: float | None  # None where the rules are proved best
    method: str
    expected_utility: float | None = None  # where it is known; the rules are deterministic then
    is_open_off_path: bool = False  # whether rules were left as they are where others never lead to


class Policies(Mapping[str, Policy]):
    """Decision -> what to do there, in time; each is worked out when it is first looked at, and then kept."""

    __slots__ = ("_diagram", "_known", "_problem", "_rounding", "_rules", "_strategy", "_tree")

    def __init__(self, task: Task, rules: Rules, rounding: float, tree: Weighing | None) -> None:
        self._diagram, self._problem, self._rules, self._tree = task.diagram, task.problem, rules, tree
        self._rounding = rounding
        self._known: dict[str, Policy] = {}
        self._strategy: Strategy | None = None

    def __getitem__(self, name: str) -> Policy:
        decision = self._diagram.decision(name)
        if name not in self._known:
            if self._tree is None:
                self._tree = weighing(self._problem, self._rules)
            tables = conditional_worth(self._diagram, self._problem, self._tree, self._rules, name)
            self._known[name] = _policy(self._problem, decision, self._rules[name], tables, self._rounding)
        return self._known[name]

    def __iter__(self) -> Iterator[str]:
        return iter(temporal_order(self._diagram))

    def __len__(self) -> int:
        return len(self._diagram.decisions)

    def __repr__(self) -> str:
        return f"Policies({list(self)!r})"

    @property
    def strategy(self) -> Strategy:
        """The rules as factors over what each decision sees."""
        if self._strategy is None:
            rules = {name: _full_rule(self._diagram, self._problem, name, self._rules[name]) for name in self}
            self._strategy = Strategy(rules)
        return self._strategy


def finish(task: Task, found: Found, tree: Weighing | None = None) -> Solution:
    """Make the rules deterministic, and say what they are worth.

    `tree` may hold the rules, to be made deterministic; without one a new one is made.
    """
    rules, value = found.rules, found.expected_utility
    if value is None:
        rules = decided(found.rules)
        tree = weighing(task.problem, rules) if tree is None else _updated(tree, found.rules, rules)
        if found.is_open_off_path:
            settle_off_path(task.diagram, task.problem, tree, rules)
        value = tree.total().expected_utility
    rounding = utility_rounding(task.diagram)
    return Solution(
        expected_utility=value,
        policies=Policies(task, rules, rounding, tree),
        upper_bound=_told_bound(task, value, found.upper_bound),
        method=found.method,
        components=task.structure.components,
        relies_on=task.structure.relies_on,
        rounding=rounding,
    )


def _told_bound(task: Task, value: float, upper_bound: float | None) -> float:
    """The bound, which is the value itself where that is proved best."""
    if upper_bound is None or upper_bound - value <= proof_rounding(task.diagram):
        return value
    return upper_bound


def _updated(tree: Weighing, before: Rules, after: Rules) -> Weighing:
    """The tree with those rules replaced that are not the same."""
    for name, rule in after.items():
        if not np.array_equal(rule, before[name]):
            tree.replace(name, rule)
    return tree


def _full_rule(diagram: InfluenceDiagram, problem: Problem, name: str, rule: Floats) -> Factor:
    """The rule over all that the decision sees, where that is not too much."""
    used = tuple(problem.variables[number] for number in problem.families[name])
    table = rule.reshape(table_shape(used))
    scope = (*diagram.information(name), diagram.variables[name])
    if used == scope or num_entries(scope) > MAX_RULE:
        return Factor.trusted(used, table)
    return Factor.trusted(scope, np.array(np.broadcast_to(align(table, used, scope), table_shape(scope))))


def _policy(
    problem: Problem, decision: Decision, rule: Floats, tables: tuple[Floats, Floats], rounding: float
) -> Policy:
    """What each action would bring, where all else follows the rules."""
    worth = tables[1].reshape(-1, rule.shape[-1])
    actions = rule.reshape(worth.shape).argmax(axis=1)
    taken = np.take_along_axis(worth, actions[:, None], axis=1)
    uses = tuple(problem.variables[number] for number in problem.families[decision.name][:-1])
    inside = {variable.name for variable in uses}
    return Policy(
        decision=decision.variable,
        uses=uses,
        ignores=tuple(seen for seen in decision.sees if seen not in inside),
        actions=actions,
        probability=tables[0].reshape(-1),
        expected_utility=worth,
        is_best=np.asarray(worth >= taken - rounding),
    )
