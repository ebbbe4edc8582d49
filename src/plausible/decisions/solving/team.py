"""Decisions that rely on each other, settled on one table of all that they see and do, searched with a bound."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from typing import TypeAlias

import numpy as np

from plausible.base import UTILITY_NOISE, Argument, Floats, Remedy
from plausible.decisions.solving.arithmetic import placed, summed_to
from plausible.decisions.solving.joint_tree import JointTree
from plausible.decisions.solving.problem import DecisionProblem, SolvingState, Watch
from plausible.decisions.solving.updating import Rules, best_rule, first_best_rule
from plausible.errors import TooLarge
from plausible.search.branch_and_bound import Branches

#: The actions taken in the first so many information states of a team, in its order of branching.
Chosen: TypeAlias = tuple[int, ...]


class Team(Branches[Chosen]):
    """Σ_x T(x) Π_i δ_i(d_i | w_i), to be made as large as possible by the rules δ of some decisions.

    A partial solution fixes the actions in some information states of all decisions but one; given full rules of these
    the last one's best rule is known. No completion is better than what the team could do if, where nothing is fixed
    yet, each of them knew all that those before it saw and did: the bound is a sum-max-sum elimination of T.
    """

    __slots__ = ("_last", "_rows", "_slack", "decisions", "families", "scale", "table")

    def __init__(
        self, decisions: Sequence[str], families: Sequence[tuple[int, ...]], table: Floats, scale: float = 1.0
    ) -> None:
        self.decisions, self.scale = tuple(decisions), scale  # in time; T is given up to the scale
        # For each decision the axes of T that its rule depends on, and last its own. Axes are numbered in the order in
        # which they are seen and done: what the first one sees, the first decision, what else the second one sees, ...
        self.families, self.table = tuple(families), np.ascontiguousarray(table)
        num_rules = [math.prod(self.shape(i)[:-1]) * math.log(self.shape(i)[-1] + 1e-9) for i in range(len(families))]
        self._last = max(range(len(families)), key=num_rules.__getitem__)
        self._rows = self._branching_order()
        self._slack = UTILITY_NOISE * float(np.abs(table).sum())

    def shape(self, member: int) -> tuple[int, ...]:
        return tuple(self.table.shape[axis] for axis in self.families[member])

    def _branching_order(self) -> list[tuple[int, tuple[int, ...]]]:
        """The information states of all but the last member, those where most is at stake first."""
        stakes = []
        for member, family in enumerate(self.families):
            if member != self._last:
                weight = summed_to(np.ptp(self.table, axis=family[-1], keepdims=True), family[:-1])
                stakes += [(-float(weight[row]), member, row) for row in np.ndindex(*weight.shape)]
        return [(member, row) for _, member, row in sorted(stakes)]

    def branches(self, partial: Chosen) -> Sequence[Chosen]:
        """Every action in the next information state."""
        if len(partial) == len(self._rows):
            return ()
        member, _ = self._rows[len(partial)]
        return [(*partial, action) for action in range(self.shape(member)[-1])]

    def upper(self, partial: Chosen) -> float:
        """The value of the best completion, or a bound on it."""
        if len(partial) == len(self._rows):
            return self._completed(partial)[1]
        allowed = self._allowed(partial)
        bound = self.table
        for member in range(len(self.decisions) - 1, -1, -1):
            axis = self.families[member][-1]
            bound = bound.reshape(*bound.shape[: axis + 1], -1).sum(axis=-1)  # what nobody has seen by then
            bound = np.where(placed(allowed[member], self.families[member], bound.ndim), bound, -np.inf).max(axis=-1)
        return float(bound.sum()) - self._slack

    def rules(self, partial: Chosen) -> Rules:
        """The rules of a full solution."""
        return dict(zip(self.decisions, self._completed(partial)[0], strict=True))

    def _allowed(self, partial: Chosen) -> list[np.ndarray]:
        """For each member which actions are left in each information state."""
        allowed = [np.ones(self.shape(member), dtype=bool) for member in range(len(self.decisions))]
        for (member, row), action in zip(self._rows, partial, strict=False):
            allowed[member][row] = False
            allowed[member][(*row, action)] = True
        return allowed

    def _completed(self, partial: Chosen) -> tuple[list[Floats], float]:
        """The rules, the best one for the last member included, and their value."""
        rules = [allowed.astype(np.float64) for allowed in self._allowed(partial)]
        rules[self._last] = np.full(self.shape(self._last), 1.0)
        weighted = self._given(rules, self._last)
        rules[self._last] = best_rule(np.ones_like(weighted), weighted, rules[self._last], self._slack)
        return rules, float((rules[self._last] * weighted).sum())

    def _given(self, rules: Sequence[Floats], member: int) -> Floats:
        """T summed to the family of a member, under the rules of the others."""
        table = self.table
        for other, rule in enumerate(rules):
            if other != member:
                table = table * placed(rule, self.families[other], table.ndim)
        return summed_to(table, self.families[member])

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
        shapes = [self.shape(member) for member in range(len(self.decisions))]
        best = self.climb([np.full(shape, 1.0 / shape[-1]) for shape in shapes])
        for _ in range(restarts):
            if is_over():
                break
            other = self.climb([rng.dirichlet(np.ones(shape[-1]), shape[:-1]) for shape in shapes])
            best = max(best, other, key=lambda pair: pair[0])
        return best

    def all_chosen(self) -> Iterator[Chosen]:
        """Every full solution: the last member's rules need no search."""
        return product(*(range(self.shape(member)[-1]) for member, _ in self._rows))


def read_team(problem: DecisionProblem, decisions: Sequence[str], rules: Rules, max_entries: int) -> Team | None:
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


#: The numbers of the rules of the first so many members, in the order of branching.
RuleNumbers: TypeAlias = tuple[int, ...]

#: No member but the last one may have more rules.
_MAX_RULES = 2**8
#: The tables of all rules of one member together have no more entries.
_MAX_ENTRIES = 2**24
#: `numpy.einsum` has letters for so many axes.
_MAX_AXES = 52


def can_list_rules(team: Team) -> bool:
    """Whether all members but one have few rules."""
    shapes = [[team.table.shape[axis] for axis in family] for family in team.families]
    logs = sorted(math.prod(shape[:-1]) * math.log(shape[-1]) for shape in shapes)
    is_small = logs[-2] <= math.log(_MAX_RULES) and team.table.size * math.exp(logs[-2]) <= _MAX_ENTRIES
    return is_small and team.table.ndim < _MAX_AXES


class RuleSearch(Branches[RuleNumbers]):
    """Σ_x T(x) Π_i δ_i(d_i | w_i) again, as in `Team`, by whole rules.

    Once the rule of a member is fixed, T is summed to what the others see and do. So a node deep in the tree costs
    little, and the bounds of all rules of a member are computed at once. A bound is a sum-max-sum elimination, where
    members without a rule know all that those before them saw and did. For the last member it is its best rule.
    """

    __slots__ = ("_bounds", "_listed", "_order", "_path", "_slack", "_tables", "_team")

    def __init__(self, team: Team) -> None:
        self._team = team
        sizes = {member: math.prod(self._team.shape(member)[:-1]) for member in range(len(team.families))}
        num_rules = {member: size * math.log(self._team.shape(member)[-1]) for member, size in sizes.items()}
        self._order = sorted(num_rules, key=num_rules.__getitem__)
        self._listed = [_all_rules(self._team.shape(member)) for member in self._order[:-1]]
        self._path: RuleNumbers = ()
        self._tables = [team.table]  # given the first rules of the path: none, one, two, ...
        self._bounds: dict[RuleNumbers, float] = {}
        self._slack = UTILITY_NOISE * float(np.abs(team.table).sum())

    def branches(self, partial: RuleNumbers) -> Sequence[RuleNumbers]:
        if len(partial) == len(self._listed):
            return ()
        tables = self._given(self._table(partial), len(partial), self._listed[len(partial)])
        further = [(*partial, number) for number in range(len(tables))]
        self._bounds.update(zip(further, self._relaxed(tables, len(partial) + 1).tolist(), strict=True))
        return further

    def upper(self, partial: RuleNumbers) -> float:
        if partial in self._bounds:
            return self._bounds.pop(partial)
        return float(self._relaxed(self._table(partial)[None], len(partial))[0])

    def rules(self, partial: RuleNumbers) -> Rules:
        fixed = zip(self._order, self._listed, partial, strict=False)
        rules = {self._team.decisions[member]: listed[number] for member, listed, number in fixed}
        last = self._order[-1]
        family = self._team.families[last]
        worth = self._table(partial).transpose(np.argsort(np.argsort(family)))
        rules[self._team.decisions[last]] = first_best_rule(worth)
        return rules

    def numbers(self, rules: Mapping[str, Floats]) -> RuleNumbers:
        """The full solution with these rules, the first of the most likely actions where they are not deterministic."""
        numbers = []
        for member in self._order[:-1]:
            num_actions = self._team.shape(member)[-1]
            actions = rules[self._team.decisions[member]].reshape(-1, num_actions).argmax(axis=1)
            numbers.append(int(np.ravel_multi_index(tuple(actions), (num_actions,) * len(actions))))
        return tuple(numbers)

    def _axes(self, depth: int) -> tuple[int, ...]:
        """The axes that are left once so many members have their rules."""
        return tuple(sorted({axis for member in self._order[depth:] for axis in self._team.families[member]}))

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
        new = self._team.table.ndim
        family = self._team.families[self._order[depth]]
        axes, left = self._axes(depth), (new, *self._axes(depth + 1))
        tables: Floats = np.einsum(table, axes, rules, (new, *family), left, optimize=True)  # type: ignore[arg-type]
        return tables

    def _relaxed(self, tables: Floats, depth: int) -> Floats:
        """The bound for each table of those that are left at some depth."""
        axes = self._axes(depth)
        for member in sorted(self._order[depth:], reverse=True):
            place = 2 + axes.index(self._team.families[member][-1])
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


#: Going through more strategies one by one takes minutes.
_MAX_STRATEGIES = 200_000
#: The table of all that is seen and done may have so many entries then.
_MAX_TABLE = 2**20


def enumerate_rules(problem: DecisionProblem, in_time: Sequence[str], watch: Watch) -> tuple[Rules, bool]:
    """The best of all deterministic strategies, or of some where the time is over, and whether it is of all."""
    if not in_time:
        return {}, True
    logs = [problem.log_num_rules(name) for name in problem.families]
    few = sum(logs) - max(logs) <= math.log(_MAX_STRATEGIES)
    team = read_team(problem, in_time, {}, _MAX_TABLE) if few else None
    if team is None:
        raise TooLarge(
            f"There are about 10**{sum(logs) / math.log(10):.0f} deterministic strategies, too many to go through one "
            "by one.",
            remedies=[Remedy("use ", Argument("method", "auto"))],
        )
    best, is_over = -math.inf, False
    kept: Chosen = ()
    for number, chosen in enumerate(team.all_chosen()):
        if is_over:
            return team.rules(kept), False
        value = team.upper(chosen)
        if value > best:
            best, kept = value, chosen
        is_over = watch.tell(SolvingState(0, len(in_time), best / team.scale, num_steps=number + 1))
    return team.rules(kept), True
