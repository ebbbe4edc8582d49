"""Decisions that are settled together, and what is known about them so far."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from plausible.decisions.solving.climbing import put
from plausible.decisions.solving.joint_table import Weighing
from plausible.decisions.solving.options import SolvingState, Watch
from plausible.decisions.solving.problem import Problem
from plausible.decisions.solving.updating import Rules, ascend

__all__ = ["Together"]


@dataclass(slots=True)
class Together:
    """Decisions in time that are settled together, and what is known about them so far.

    Attributes
    ----------
    problem, tree, rules
        The problem, what weighs decisions in it, and the rules of all decisions, the best so far for `members`.
    members
        The decisions to be settled.
    watch
        The time.
    num_settled
        How many decisions were settled before.
    value, upper
        The expected utility under the rules, and a bound on what other rules of the members could reach.
    is_proved
        Whether no rules of the members are better.
    """

    problem: Problem
    tree: Weighing
    rules: Rules
    members: Sequence[str]
    watch: Watch
    num_settled: int
    value: float = math.nan
    upper: float = math.inf
    is_proved: bool = False

    def __post_init__(self) -> None:
        self.value = self.tree.total().expected_utility

    @property
    def is_over(self) -> bool:
        """Whether there is a proof, or no time."""
        return self.is_proved or self.watch.is_over

    @property
    def own_rules(self) -> Rules:
        """The rules of the members."""
        return {name: self.rules[name] for name in self.members}

    def state(self, num_nodes: int) -> SolvingState:
        """How far it is."""
        return SolvingState(self.num_settled, len(self.rules), self.value, self.upper, num_nodes)

    def improve(self, rules: Rules) -> float:
        """Take over what can be got from some rules by changing one after the other, if it is better.

        The expected utility of the rules as they are is returned.
        """
        before = self.own_rules
        put(self.tree, self.rules, rules)
        given = self.tree.total().expected_utility
        value = ascend(self.tree, self.members, self.rules, lambda: self.watch.is_over)
        if value < self.value:
            put(self.tree, self.rules, before)
        else:
            self.value = value
        return given

    def finish(self, rules: Rules) -> None:
        """Take over rules that are proved best."""
        put(self.tree, self.rules, rules)
        self.value = self.upper = self.tree.total().expected_utility
        self.is_proved = True
