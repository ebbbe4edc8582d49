"""All joint factors in one table, where that is small: faster than a clique tree, and nothing has to be compiled."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Protocol

import numpy as np

from plausible.base.arrays import Floats
from plausible.decisions.solving.arithmetic import Pair, placed, scaled_or_logs, summed_to
from plausible.decisions.solving.joint_tree import JointTree
from plausible.decisions.solving.problem import DecisionProblem
from plausible.factors.alignment import MAX_ENTRIES

#: Up to this many entries one table takes less time than the messages of a tree.
SMALL = 2**12


class Weighing(Protocol):
    """What a decision can be weighed with: the rules of all decisions, and what follows from them."""

    rounding: float  # what floats lose of expected utilities

    def replace(self, decision: str, rule: Floats) -> None:
        """Put another rule in the place of that of a decision."""

    def total(self) -> Pair:
        """P(evidence), up to a scale, and the expected utility."""

    def family(self, decision: str) -> tuple[Floats, Floats]:
        """P(seen), up to a scale, and P(seen) E[utility | seen, action], over the family, whatever its own rule is."""

    def weighted(self, decision: str) -> Floats:
        """The second of these alone."""


def weighing(problem: DecisionProblem, rules: Mapping[str, Floats], max_entries: int = MAX_ENTRIES) -> Weighing:
    """The problem under some rules: in one table if it is small, else in a clique tree."""
    return JointTable(problem, rules) if fits(problem) else JointTree(problem, rules, max_entries=max_entries)


def fits(problem: DecisionProblem) -> bool:
    """Whether one table of all variables is so small that nothing beats it."""
    return len(problem.variables) <= SMALL.bit_length() and math.prod(problem.sizes) <= SMALL


class JointTable:
    """The joint distribution and the total utility over all variables, and the rules."""

    __slots__ = ("_phi", "_problem", "_rules", "_shape", "_utility", "rounding")

    def __init__(self, problem: DecisionProblem, rules: Mapping[str, Floats]) -> None:
        self._problem, self.rounding = problem, problem.rounding
        self._shape = problem.sizes
        phi, mu = np.ones(self._shape), np.zeros(self._shape)
        tables = [placed(table, scope, len(self._shape)) for scope, table in problem.probabilities]
        if problem.is_conditioned:
            phi *= scaled_or_logs(lambda arithmetic: arithmetic.plain(arithmetic.product(tables)))
        else:
            for table in tables:
                phi *= table
        for scope, table in problem.utilities:
            mu += placed(table, scope, len(self._shape))
        self._phi, self._utility = phi, mu
        self._rules: dict[str, Floats] = {}
        for name, rule in rules.items():
            self.replace(name, rule)

    def replace(self, decision: str, rule: Floats) -> None:
        """Put another rule in the place of that of a decision; a uniform one is a number that makes no difference."""
        if (rule == rule.item(0)).all():
            self._rules.pop(decision, None)
        else:
            self._rules[decision] = placed(rule, self._problem.families[decision], len(self._shape))

    def total(self) -> Pair:
        """P(evidence), up to a scale, and the expected utility."""
        phi, mu = self._phi, self._utility
        for rule in self._rules.values():
            phi = phi * rule
        weight = phi.sum()
        return Pair(weight, (phi * mu).sum() / (weight if weight > 0 else 1.0))

    def family(self, decision: str) -> tuple[Floats, Floats]:
        """P(seen), up to a scale, and P(seen) E[utility | seen, action], both over the family."""
        phi, family = self._open(decision), self._problem.families[decision]
        return summed_to(phi, family), summed_to(phi * self._utility, family)

    def weighted(self, decision: str) -> Floats:
        """P(seen) E[utility | seen, action] over the family, up to a scale."""
        return summed_to(self._open(decision) * self._utility, self._problem.families[decision])

    def _open(self, decision: str) -> Floats:
        """The joint distribution but for the rule of a decision."""
        phi = self._phi
        for name, rule in self._rules.items():
            if name != decision:
                phi = phi * rule
        return phi
