"""Decisions that rely on each other, settled together: a table of all that they see and do, searched with a bound."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import TypeAlias

import numpy as np

from plausible.base.arrays import Floats
from plausible.base.tolerances import UTILITY_NOISE
from plausible.decisions.solving.joint_tree import JointTree
from plausible.decisions.solving.problem import Problem
from plausible.decisions.solving.updating import Rules, best_rule
from plausible.errors import TooLarge
from plausible.search.branch_and_bound import Branches

__all__ = ["Chosen", "Team", "read_team"]

#: The actions taken in the first so many information states of a team, in its order of branching.
Chosen: TypeAlias = tuple[int, ...]


class Team(Branches[Chosen]):
    """Σ_x T(x) Π_i δ_i(d_i | w_i), to be made as large as possible by the rules δ of some decisions.

    A partial solution fixes the actions in some information states of all decisions but one; given full rules of these
    the last one's best rule is known. No completion is better than what the team could do if, where nothing is fixed
    yet, each of them knew all that those before it saw and did: the bound is a sum-max-sum elimination of T.

    Parameters
    ----------
    decisions
        Their names, in an order of time.
    families
        For each the axes of T that its rule depends on, and last its own. Axes are numbered in the order in which
        they are seen and done: what the first one sees, the first decision, what else the second one sees, ...
    table
        T: the utility, weighted by probability, of all that the team sees and does.
    scale
        The probability of all that it may see, up to which T is given.
    """

    __slots__ = ("_families", "_last", "_rows", "_slack", "_table", "decisions", "scale")

    def __init__(
        self, decisions: Sequence[str], families: Sequence[tuple[int, ...]], table: Floats, scale: float = 1.0
    ) -> None:
        self.decisions, self.scale = tuple(decisions), scale
        self._families, self._table = tuple(families), np.ascontiguousarray(table)
        num_rules = [math.prod(self._shape(i)[:-1]) * math.log(self._shape(i)[-1] + 1e-9) for i in range(len(families))]
        self._last = max(range(len(families)), key=num_rules.__getitem__)
        self._rows = self._branching_order()
        self._slack = UTILITY_NOISE * float(np.abs(table).sum())

    def _shape(self, member: int) -> tuple[int, ...]:
        return tuple(self._table.shape[axis] for axis in self._families[member])

    def _branching_order(self) -> list[tuple[int, tuple[int, ...]]]:
        """The information states of all but the last member, those where most is at stake first."""
        stakes = []
        for member, family in enumerate(self._families):
            if member == self._last:
                continue
            spread = np.ptp(self._table, axis=family[-1], keepdims=True)
            gone = tuple(axis for axis in range(self._table.ndim) if axis not in family[:-1])
            weight = (
                spread.sum(axis=gone, keepdims=True).transpose([*family[:-1], *gone]).reshape(self._shape(member)[:-1])
            )
            stakes += [(-float(weight[row]), member, row) for row in np.ndindex(*weight.shape)]
        return [(member, row) for _, member, row in sorted(stakes)]

    # --- a tree of partial rules ---

    @property
    def num_entries(self) -> int:
        """The assignments to all that is seen and done."""
        return int(self._table.size)

    @property
    def table(self) -> Floats:
        """T."""
        return self._table

    @property
    def families(self) -> tuple[tuple[int, ...], ...]:
        """For each decision the axes of T that its rule depends on, and last its own."""
        return self._families

    def branches(self, partial: Chosen) -> Sequence[Chosen]:
        """Every action in the next information state."""
        if len(partial) == len(self._rows):
            return ()
        member, _ = self._rows[len(partial)]
        return [(*partial, action) for action in range(self._shape(member)[-1])]

    def upper(self, partial: Chosen) -> float:
        """The value of the best completion, or a bound on it."""
        if len(partial) == len(self._rows):
            return self._completed(partial)[1]
        allowed = self._allowed(partial)
        bound = self._table
        for member in range(len(self.decisions) - 1, -1, -1):
            axis = self._families[member][-1]
            bound = bound.reshape(*bound.shape[: axis + 1], -1).sum(axis=-1)  # what nobody has seen by then
            bound = np.where(self._aligned(allowed[member], member, bound.ndim), bound, -np.inf).max(axis=-1)
        return float(bound.sum()) - self._slack

    def rules(self, partial: Chosen) -> Rules:
        """The rules of a full solution."""
        return dict(zip(self.decisions, self._completed(partial)[0], strict=True))

    def _allowed(self, partial: Chosen) -> list[np.ndarray]:
        """For each member which actions are left in each information state."""
        allowed = [np.ones(self._shape(member), dtype=bool) for member in range(len(self.decisions))]
        for (member, row), action in zip(self._rows, partial, strict=False):
            allowed[member][row] = False
            allowed[member][(*row, action)] = True
        return allowed

    def _aligned(self, table: np.ndarray, member: int, ndim: int) -> np.ndarray:
        """A table over the family of a member as one that broadcasts over the first axes of T."""
        family = self._families[member]
        shape = [1] * ndim
        for axis in family:
            shape[axis] = self._table.shape[axis]
        return table.transpose(np.argsort(family)).reshape(shape)

    def _completed(self, partial: Chosen) -> tuple[list[Floats], float]:
        """The rules, the best one for the last member included, and their value."""
        rules = [allowed.astype(np.float64) for allowed in self._allowed(partial)]
        rules[self._last] = np.full(self._shape(self._last), 1.0)
        weighted = self._given(rules, self._last)
        rules[self._last] = best_rule(np.ones_like(weighted), weighted, rules[self._last], self._slack)
        return rules, float((rules[self._last] * weighted).sum())

    def _given(self, rules: Sequence[Floats], member: int) -> Floats:
        """T summed to the family of a member, under the rules of the others."""
        table = self._table
        for other, rule in enumerate(rules):
            if other != member:
                table = table * self._aligned(rule, other, table.ndim)
        family = self._families[member]
        gone = tuple(axis for axis in range(table.ndim) if axis not in family)
        kept = sorted(family)
        return np.asarray(table.sum(axis=gone)).transpose([kept.index(axis) for axis in family])

    # --- a good start, and all of them ---

    def climb(self, start: Sequence[Floats]) -> tuple[float, Chosen]:
        """The value of a local optimum, and the partial solution that gives it."""
        rules, unchanged, member = [np.array(rule) for rule in start], 0, 0
        while unchanged < len(rules):
            weighted = self._given(rules, member)
            rule = best_rule(np.ones_like(weighted), weighted, rules[member], self._slack)
            unchanged = unchanged + 1 if np.array_equal(rule, rules[member]) else 0
            rules[member] = rule
            member = (member + 1) % len(rules)
        chosen = tuple(int(rules[who][row].argmax()) for who, row in self._rows)
        return self._completed(chosen)[1], chosen

    def start(
        self, restarts: int, rng: np.random.Generator, is_over: Callable[[], bool] = lambda: False
    ) -> tuple[float, Chosen]:
        """The best of some local optima: one from uniform rules, the others, while there is time, from random ones."""
        shapes = [self._shape(member) for member in range(len(self.decisions))]
        best = self.climb([np.full(shape, 1.0 / shape[-1]) for shape in shapes])
        for _ in range(restarts):
            if is_over():
                break
            found = self.climb([rng.dirichlet(np.ones(shape[-1]), shape[:-1]) for shape in shapes])
            best = max(best, found, key=lambda pair: pair[0])
        return best

    def all_chosen(self) -> Iterator[Chosen]:
        """Every full solution: the last member's rules need no search."""
        return product(*(range(self._shape(member)[-1]) for member, _ in self._rows))


def read_team(problem: Problem, decisions: Sequence[str], rules: Rules, max_entries: int) -> Team | None:
    """The table of some decisions (in an order of time), the rules of all others given; None where it is too large."""
    order: dict[int, int] = {}
    for name in decisions:
        for number in problem.families[name]:
            order.setdefault(number, len(order))
    scope = tuple(order)
    if math.prod(problem.variables[number].num_states for number in scope) > max_entries:
        return None
    given = {name: rule for name, rule in rules.items() if name not in set(decisions)}
    try:
        tree = JointTree(problem, given, [scope])
    except TooLarge:
        return None
    phi, table = tree.open_table(tree.together[0], scope, decisions)
    scale = float(phi.sum()) / math.prod(problem.family_shape(name)[-1] for name in decisions)
    families = [tuple(order[number] for number in problem.families[name]) for name in decisions]
    return Team(decisions, families, table, scale)
