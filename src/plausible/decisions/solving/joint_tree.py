"""What weighs decisions: all joint factors in one table where that is small, else in a clique tree.

The messages of the tree are pairs of a probability and an expected utility.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import pairwise
from typing import TypeAlias

import numpy as np

from plausible.base import Floats
from plausible.decisions.solving.arithmetic import (
    LOGS,
    PLAIN,
    SCALED,
    Arithmetic,
    Pair,
    placed,
    scaled_or_logs,
    summed,
    summed_to,
)
from plausible.decisions.solving.problem import DecisionProblem, Tabled
from plausible.engine.compilation import best_elimination
from plausible.errors import TooLarge
from plausible.factors.alignment import MAX_ENTRIES
from plausible.variables import Variable


@dataclass(frozen=True, slots=True, eq=False)
class TreeLayout:
    """A tree of cliques with the running intersection property."""

    cliques: tuple[tuple[int, ...], ...]  # the variables of each clique, those that are eliminated first last
    #: For each clique the cliques that it is joined to; parts without common variables are joined too.
    neighbors: tuple[tuple[int, ...], ...]
    homes: tuple[int, ...]  # for each scope asked for, a clique that has all of it
    rank: tuple[int, ...]  # variables come in this order in every clique
    num_entries: int  # the entries of the tables of all cliques
    largest: tuple[int, ...]  # the clique with the largest table


def lay_out(
    variables: Sequence[Variable], scopes: Sequence[tuple[int, ...]], max_entries: int = MAX_ENTRIES
) -> TreeLayout:
    """A tree with a clique for each scope, by a greedy elimination order; refused where its tables are too large."""
    if not variables:
        return TreeLayout(((),), ((),), (0,) * len(scopes), (), 1, ())
    starts = np.cumsum([0, *map(len, scopes)], dtype=np.int64)
    items = np.array([variable for scope in scopes for variable in scope], dtype=np.int64)
    run = best_elimination(items, starts, np.array([v.num_states for v in variables], dtype=np.int64))
    steps = [tuple(run.cliques[a:b].tolist()) for a, b in zip(run.clique_starts, run.clique_starts[1:], strict=False)]
    order = run.order.tolist()
    step_of = {variable: step for step, variable in enumerate(order)}
    following = [min((step_of[v] for v in clique[1:]), default=-1) for clique in steps]
    # For each step one with a maximal clique that holds its clique: see `plausible.graphs.cliques._absorbing_steps`.
    absorber = list(range(len(steps)))
    for step, after in enumerate(following):
        if after >= 0 and len(steps[step]) == len(steps[after]) + 1:
            absorber[after] = absorber[step]
    kept = sorted(set(absorber))
    place = {step: number for number, step in enumerate(kept)}
    rank = [0] * len(variables)
    for step, variable in enumerate(order):
        rank[variable] = len(order) - step
    cliques = tuple(tuple(sorted(steps[step], key=rank.__getitem__)) for step in kept)
    sizes = [math.prod(variables[v].num_states for v in clique) for clique in cliques]
    largest = cliques[max(range(len(cliques)), key=sizes.__getitem__)]
    _check(variables, sum(sizes), largest, max_entries)
    first = [min((step_of[v] for v in scope), default=len(order) - 1) for scope in scopes]
    homes = tuple(place[absorber[step]] for step in first)
    number = [place[step] for step in absorber]
    return TreeLayout(cliques, _neighbors(number, following), homes, tuple(rank), sum(sizes), largest)


def _neighbors(number: Sequence[int], following: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    """The cliques joined where the result of a step enters another, and the last ones of separate parts in a row."""
    around: list[dict[int, None]] = [{} for _ in range(max(number) + 1)]
    roots = [number[step] for step, after in enumerate(following) if after < 0]
    joined = ((number[step], number[after]) for step, after in enumerate(following) if after >= 0)
    for a, b in (*joined, *pairwise(roots)):
        if a != b:
            around[a][b] = around[b][a] = None
    return tuple(map(tuple, around))


def _check(variables: Sequence[Variable], entries: int, largest: tuple[int, ...], limit: int) -> None:
    if entries > limit:
        names = ", ".join(variables[v].name for v in largest[:8]) + (", ..." if len(largest) > 8 else "")
        raise TooLarge(
            f"Solving would need tables with {entries:.3g} entries ({entries * 8 / 2**30:.3g} GiB), the largest over "
            f"{len(largest)} variables ({names}); the limit is {limit:.3g}. Let decisions see less, or join states."
        )


#: A clique has no more neighbours than this, and one more where it is a copy.
_MAX_NEIGHBORS = 8
#: Copies of one clique have no more entries together.
_MAX_COPIED = 2**22


def spread(layout: TreeLayout, sizes: Sequence[int]) -> TreeLayout:
    """A tree in which a clique with many neighbours has copies of itself between it and them.

    Messages to k neighbours of one clique are products of k - 1 others each: k² steps. By a tree of copies these are
    O(k), since a message from a copy to another is a product that many of them share.
    """
    if max(map(len, layout.neighbors)) <= _MAX_NEIGHBORS:
        return layout
    cliques, around = list(layout.cliques), list(map(list, layout.neighbors))
    for clique in range(len(layout.cliques)):
        outer = around[clique]
        entries = math.prod(sizes[v] for v in cliques[clique])
        if len(outer) <= _MAX_NEIGHBORS or entries * len(outer) > _MAX_COPIED:
            continue
        while len(outer) > _MAX_NEIGHBORS:
            outer = [
                _copied(cliques, around, clique, outer[start : start + _MAX_NEIGHBORS])
                for start in range(0, len(outer), _MAX_NEIGHBORS)
            ]
        for copy in outer:
            around[copy].append(clique)
        around[clique] = outer
    return replace(layout, cliques=tuple(cliques), neighbors=tuple(map(tuple, around)))


def _copied(cliques: list[tuple[int, ...]], around: list[list[int]], clique: int, outer: list[int]) -> int:
    """Put a copy of a clique between it and some neighbours, of which copies do not know it yet."""
    copy = len(cliques)
    cliques.append(cliques[clique])
    around.append(list(outer))
    for other in outer:
        if clique in around[other]:
            around[other][around[other].index(clique)] = copy
        else:
            around[other].append(copy)
    return copy


#: Up to this many entries one table takes less time than the messages of a tree.
SMALL = 2**12
#: How to look at an array with the axes of one scope as one with those of a larger scope.
_View: TypeAlias = tuple[slice | None, ...]


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


class JointTree:
    """Joint factors in a clique tree: rules can be replaced, and what depends on them is computed when it is asked for.

    The message from a clique to a neighbour is kept until a rule behind it is replaced. So rules along a chain can be
    optimised one after the other at the cost of two messages each (Lauritzen & Nilsson 2001). Given evidence, tables
    are scaled; if some number still gets too small for a float, all is computed again in logarithms.
    """

    def __init__(
        self,
        problem: DecisionProblem,
        rules: Mapping[str, Floats],
        together: Sequence[tuple[int, ...]] = (),
        max_entries: int = MAX_ENTRIES,
    ) -> None:
        tables = (*problem.probabilities, *problem.utilities)
        scopes = [*(scope for scope, _ in tables), *problem.families.values(), *together]
        self._problem, self._sizes, self.rounding = problem, problem.sizes, problem.rounding
        self.layout = spread(lay_out(problem.variables, scopes, max_entries), self._sizes)
        homes = iter(self.layout.homes)
        self._table_homes = [next(homes) for _ in tables]
        self._homes = {name: next(homes) for name in problem.families}
        self.together = tuple(homes)
        self._axes: dict[tuple[int, int], tuple[int, ...]] = {}
        self._views: dict[tuple[int, int], _View] = {}
        self._messages: dict[tuple[int, int], Pair] = {}
        self._rules: list[dict[str, Floats]] = [{} for _ in self.layout.cliques]
        self._arithmetic: Arithmetic = SCALED if problem.is_conditioned else PLAIN
        self._base: list[Pair] = []
        for name, rule in rules.items():
            self._rules[self._homes[name]][name] = self._placed(rule, problem.families[name], self._homes[name])

    def _base_tables(self) -> list[Pair]:
        """The tables of each clique, rules left out."""
        phis: list[list[Floats]] = [[np.ones((1,) * len(clique))] for clique in self.layout.cliques]
        mus: list[list[Floats]] = [[] for _ in self.layout.cliques]
        problem = self._problem
        kinds = [phis] * len(problem.probabilities) + [mus] * len(problem.utilities)
        tables: tuple[Tabled, ...] = (*problem.probabilities, *problem.utilities)
        for kind, home, (scope, table) in zip(kinds, self._table_homes, tables, strict=True):
            kind[home].append(self._placed(table, scope, home))
        product = self._arithmetic.product
        return [
            Pair(product(phi[1:] or phi), reduce(np.add, mu) if mu else None) for phi, mu in zip(phis, mus, strict=True)
        ]

    def _placed(self, table: Floats, scope: tuple[int, ...], clique: int) -> Floats:
        """A table over a scope as one that broadcasts over the axes of a clique."""
        members = self.layout.cliques[clique]
        return placed(table, [members.index(v) for v in scope], len(members))

    def replace(self, decision: str, rule: Floats) -> None:
        home = self._homes[decision]
        self._rules[home][decision] = self._placed(rule, self._problem.families[decision], home)
        stack = [(home, -1)]
        while stack:  # where a message is gone, so are those that were made from it
            clique, source = stack.pop()
            stack += [
                (other, clique)
                for other in self.layout.neighbors[clique]
                if other != source and self._messages.pop((clique, other), None) is not None
            ]

    def total(self) -> Pair:
        phi, mu = self._joined(0)
        return PLAIN.reduced(Pair(phi, mu), tuple(range(phi.ndim)))

    def family(self, decision: str) -> tuple[Floats, Floats]:
        """P(seen) and P(seen) E[utility | seen, action], both over the family, whatever the rule of the decision."""
        return self.open_table(self._homes[decision], self._problem.families[decision], [decision])

    def weighted(self, decision: str) -> Floats:
        home = self._homes[decision]
        phi, mu = self._joined(home, frozenset((decision,)))
        return self._family_table(_times(phi, mu), home, self._problem.families[decision])

    def open_table(self, clique: int, scope: tuple[int, ...], decisions: Iterable[str]) -> tuple[Floats, Floats]:
        """φ and φ μ over a scope that lies in a clique, where some decisions are open and their rules left out.

        The rules of open decisions with other home cliques must not have been given.
        """
        phi, mu = self._joined(clique, frozenset(decisions))
        return self._family_table(phi, clique, scope), self._family_table(_times(phi, mu), clique, scope)

    def log_table(self, place: int, scope: tuple[int, ...]) -> tuple[Floats, Floats]:
        """log φ, up to a constant, and μ over the scope of one of `together`."""
        clique = self.together[place]
        pair = self._calibrated(clique, frozenset())
        phi, mu = self._arithmetic.reduced(pair, self._gone(clique, scope))
        both = self._arithmetic.logs(phi), np.zeros_like(phi) if mu is None else mu
        logs, gains = (self._ordered(table, clique, scope) for table in both)
        return logs, gains

    def _family_table(self, table: Floats, clique: int, scope: tuple[int, ...]) -> Floats:
        """A table of a clique summed to a scope."""
        return self._ordered(summed(table, self._gone(clique, scope)), clique, scope)

    def _gone(self, clique: int, scope: tuple[int, ...]) -> tuple[int, ...]:
        """The axes of a clique that are not in a scope."""
        return tuple([axis for axis, v in enumerate(self.layout.cliques[clique]) if v not in scope])

    def _ordered(self, table: Floats, clique: int, scope: tuple[int, ...]) -> Floats:
        """A table with the axes of a clique that are in a scope, in the order of the scope and of full length."""
        left = [v for v in self.layout.cliques[clique] if v in scope]
        shape = tuple([self._sizes[v] for v in left])
        whole = table if table.shape == shape else np.broadcast_to(table, shape)
        return whole.transpose([left.index(v) for v in scope])

    def _joined(self, root: int, left_out: frozenset[str] = frozenset()) -> Pair:
        """The joint factor of a clique with all messages in, its probabilities as they are."""
        phi, mu = self._calibrated(root, left_out)
        return Pair(self._arithmetic.plain(phi), mu)

    def _calibrated(self, root: int, left_out: frozenset[str]) -> Pair:
        """The joint factor of a clique with all messages in, in the arithmetic of the tree."""
        if self._arithmetic is not SCALED:
            return self._collected(root, left_out)
        try:
            with np.errstate(under="raise", over="raise"):
                return self._collected(root, left_out)
        except FloatingPointError:
            self._arithmetic, self._base = LOGS, []
            self._messages.clear()
            return self._collected(root, left_out)

    def _collected(self, root: int, left_out: frozenset[str]) -> Pair:
        """Make the messages that are missing."""
        if not self._base:
            self._base = self._base_tables()
        todo, stack = [], [(root, -1)]
        while stack:
            clique, target = stack.pop()
            for other in self.layout.neighbors[clique]:
                if other != target and (other, clique) not in self._messages:
                    todo.append((other, clique))
                    stack.append((other, clique))
        for source, target in reversed(todo):
            axes = self._axes.get((source, target))
            if axes is None:
                inside = set(self.layout.cliques[target])
                axes = tuple(axis for axis, v in enumerate(self.layout.cliques[source]) if v not in inside)
                self._axes[source, target] = axes
            self._messages[source, target] = self._arithmetic.reduced(self._gathered(source, target), axes)
        return self._gathered(root, -1, left_out)

    def _gathered(self, clique: int, target: int, left_out: frozenset[str] = frozenset()) -> Pair:
        """The tables of a clique, its rules, and what its neighbours say, but for one."""
        phi, mu = self._base[clique]
        times = self._arithmetic.times
        for name, rule in self._rules[clique].items():
            if name not in left_out:
                phi = times(phi, self._arithmetic.read(rule))
        for other in self.layout.neighbors[clique]:
            if other != target:
                view = self._view(other, clique)
                said = self._messages[other, clique]
                phi = times(phi, said.probability[view])
                if said.utility is not None:
                    mu = said.utility[view] if mu is None else mu + said.utility[view]
        return Pair(phi, mu)

    def _view(self, source: int, target: int) -> _View:
        view = self._views.get((source, target))
        if view is None:
            inside = set(self.layout.cliques[source])
            view = tuple(slice(None) if v in inside else None for v in self.layout.cliques[target])
            self._views[source, target] = view
        return view


def _times(phi: Floats, mu: Floats | None) -> Floats:
    return np.zeros_like(phi) if mu is None else phi * mu


#: What a decision can be weighed with: the rules of all decisions, and what follows from them.
Weighing: TypeAlias = JointTable | JointTree
