"""Decisions that rely on each other, settled together: whole rules are fixed in turn, and the table shrinks."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import product
from typing import TypeAlias

import numpy as np

from plausible.base.arrays import Floats
from plausible.decisions.solving.team import Team
from plausible.decisions.solving.updating import Rules, first_best_rule
from plausible.search.branch_and_bound import Branches

__all__ = ["RuleNumbers", "RuleSearch", "can_list_rules"]

#: The numbers of the rules of the first so many members, in the order of branching.
RuleNumbers: TypeAlias = tuple[int, ...]

#: No member but the last one may have more rules.
_MAX_RULES = 2**8
#: The tables of all rules of one member together have no more entries.
_MAX_ENTRIES = 2**24
#: `numpy.einsum` has letters for so many axes.
_MAX_AXES = 52
#: What is lost where strategies count as equal, as a part of Σ |T|.
_LOSS = 1e-13


def can_list_rules(team: Team) -> bool:
    """Whether all members but one have few rules."""
    shapes = [[team.table.shape[axis] for axis in family] for family in team.families]
    logs = sorted(math.prod(shape[:-1]) * math.log(shape[-1]) for shape in shapes)
    is_small = logs[-2] <= math.log(_MAX_RULES) and team.num_entries * math.exp(logs[-2]) <= _MAX_ENTRIES
    return is_small and team.table.ndim < _MAX_AXES


class RuleSearch(Branches[RuleNumbers]):
    """Σ_x T(x) Π_i δ_i(d_i | w_i) again, as in `Team`, by whole rules.

    Once the rule of a member is fixed, T is summed to what the others see and do. So a node deep in the tree costs
    little, and the bounds of all rules of a member are computed at once. A bound is a sum-max-sum elimination, where
    members without a rule know all that those before them saw and did. For the last member it is its best rule.

    Parameters
    ----------
    team
        The table, and who sees what.

    Examples
    --------
    >>> from plausible.search.branch_and_bound import branch_and_bound
    >>> pair = Team(["D", "E"], [(0,), (1,)], np.array([[1.0, 0.0], [0.0, 2.0]]))
    >>> search = RuleSearch(pair)
    >>> found = branch_and_bound(search, ()).state
    >>> round(found.score, 9), search.rules(found.best)["D"], found.is_finished
    (2.0, array([0., 1.]), True)
    """

    __slots__ = ("_bounds", "_decisions", "_families", "_listed", "_order", "_path", "_shape", "_slack", "_tables")

    def __init__(self, team: Team) -> None:
        self._decisions, self._families, self._shape = team.decisions, team.families, team.table.shape
        sizes = {member: math.prod(self._rule_shape(member)[:-1]) for member in range(len(team.families))}
        num_rules = {member: size * math.log(self._rule_shape(member)[-1]) for member, size in sizes.items()}
        self._order = sorted(num_rules, key=num_rules.__getitem__)
        self._listed = [_all_rules(self._rule_shape(member)) for member in self._order[:-1]]
        self._path: RuleNumbers = ()
        self._tables = [team.table]  # given the first rules of the path: none, one, two, ...
        self._bounds: dict[RuleNumbers, float] = {}
        self._slack = _LOSS * float(np.abs(team.table).sum())

    def _rule_shape(self, member: int) -> tuple[int, ...]:
        return tuple(self._shape[axis] for axis in self._families[member])

    def branches(self, partial: RuleNumbers) -> Sequence[RuleNumbers]:
        """Every rule of the next member."""
        if len(partial) == len(self._listed):
            return ()
        tables = self._given(self._table(partial), len(partial), self._listed[len(partial)])
        found = [(*partial, number) for number in range(len(tables))]
        self._bounds.update(zip(found, self._relaxed(tables, len(partial) + 1).tolist(), strict=True))
        return found

    def upper(self, partial: RuleNumbers) -> float:
        """The value of the best completion, or a bound on it."""
        if partial in self._bounds:
            return self._bounds.pop(partial)
        return float(self._relaxed(self._table(partial)[None], len(partial))[0])

    def rules(self, partial: RuleNumbers) -> Rules:
        """The rules of a full solution."""
        fixed = zip(self._order, self._listed, partial, strict=False)
        rules = {self._decisions[member]: listed[number] for member, listed, number in fixed}
        last = self._order[-1]
        family = self._families[last]
        worth = self._table(partial).transpose(np.argsort(np.argsort(family)))
        rules[self._decisions[last]] = first_best_rule(worth)
        return rules

    def numbers(self, rules: Mapping[str, Floats]) -> RuleNumbers:
        """The full solution with these rules, the first of the most likely actions where they are not deterministic."""
        found = []
        for member in self._order[:-1]:
            num_actions = self._rule_shape(member)[-1]
            actions = rules[self._decisions[member]].reshape(-1, num_actions).argmax(axis=1)
            found.append(int(np.ravel_multi_index(tuple(actions), (num_actions,) * len(actions))))
        return tuple(found)

    # --- tables ---

    def _axes(self, depth: int) -> tuple[int, ...]:
        """The axes that are left once so many members have their rules."""
        return tuple(sorted({axis for member in self._order[depth:] for axis in self._families[member]}))

    def _table(self, partial: RuleNumbers) -> Floats:
        """T given the rules of a partial solution; what it shares with the last one asked for is not done again."""
        shared = next(
            (depth for depth, pair in enumerate(zip(partial, self._path, strict=False)) if pair[0] != pair[1]),
            min(len(partial), len(self._path)),
        )
        del self._tables[shared + 1 :]
        for depth in range(shared, len(partial)):
            rule = self._listed[depth][partial[depth]]
            self._tables.append(self._given(self._tables[depth], depth, rule[None])[0])
        self._path = partial
        return self._tables[-1]

    def _given(self, table: Floats, depth: int, rules: Floats) -> Floats:
        """A table for each rule of the member at some depth: (rule, axes that are left)."""
        new = len(self._shape)
        family = self._families[self._order[depth]]
        axes, left = self._axes(depth), (new, *self._axes(depth + 1))
        found: Floats = np.einsum(table, axes, rules, (new, *family), left, optimize=True)  # type: ignore[arg-type]
        return found

    def _relaxed(self, tables: Floats, depth: int) -> Floats:
        """The bound for each table of those that are left at some depth."""
        axes = self._axes(depth)
        for member in sorted(self._order[depth:], reverse=True):
            place = 2 + axes.index(self._families[member][-1])
            if place < tables.ndim:
                tables = tables.reshape(*tables.shape[:place], -1).sum(axis=-1)  # what nobody has seen by then
            tables = tables.max(axis=-1)
        bounds = tables.reshape(len(tables), -1).sum(axis=1)
        return np.asarray(bounds if depth == len(self._listed) else bounds - self._slack)


def _all_rules(shape: tuple[int, ...]) -> Floats:
    """All deterministic rules: (rule, what is seen, action)."""
    *seen, actions = shape
    choices = np.array(list(product(range(actions), repeat=math.prod(seen))), dtype=np.int64)
    return np.eye(actions)[choices].reshape(len(choices), *shape)
