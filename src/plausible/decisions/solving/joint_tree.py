"""A clique tree whose messages are pairs of a probability and an expected utility."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from plausible.decisions.solving.layout import TreeLayout, lay_out
from plausible.decisions.solving.problem import Floats, Problem, Tabled
from plausible.factors.alignment import MAX_ENTRIES, reduce_axes

__all__ = ["JointTree", "Pair", "scaled"]

#: Tables from this size on are summed by merged axes; below it NumPy's own sum takes less time.
_LARGE = 2048

#: How to look at an array with the axes of one scope as one with those of a larger scope.
_View: TypeAlias = tuple[slice | None, ...]


class Pair(NamedTuple):
    """A joint factor (φ, μ) on arrays; φ up to a scale, `None` for μ = 0. Axes of length one stand for any length."""

    probability: Floats
    utility: Floats | None

    @property
    def expected_utility(self) -> float:
        """μ of a pair over nothing."""
        return 0.0 if self.utility is None else float(self.utility)


class JointTree:
    """Joint factors in a clique tree: rules can be replaced, and what depends on them is computed when it is asked for.

    The message from a clique to a neighbour is kept until a rule behind it is replaced. So rules along a chain can be
    optimised one after the other at the cost of two messages each (Lauritzen & Nilsson 2001).

    Parameters
    ----------
    problem
        The tables.
    rules
        Decision -> its rule over its family; a decision without one stays open.
    together
        Scopes that have to lie in one clique, beside those of the tables and families.
    max_entries
        The limit on the entries of all cliques together.
    """

    __slots__ = (
        "_axes",
        "_base",
        "_homes",
        "_messages",
        "_problem",
        "_rules",
        "_sizes",
        "_views",
        "layout",
        "together",
    )

    layout: TreeLayout

    def __init__(
        self,
        problem: Problem,
        rules: Mapping[str, Floats],
        together: Sequence[tuple[int, ...]] = (),
        max_entries: int = MAX_ENTRIES,
    ) -> None:
        tables = (*problem.probabilities, *problem.utilities)
        scopes = [*(scope for scope, _ in tables), *problem.families.values(), *together]
        self._problem, self._sizes = problem, problem.sizes
        self.layout = lay_out(problem.variables, scopes, max_entries)
        homes = iter(self.layout.homes)
        self._base = self._base_tables(problem, [next(homes) for _ in tables])
        self._homes = {name: next(homes) for name in problem.families}
        self.together = tuple(homes)
        self._axes: dict[tuple[int, int], tuple[int, ...]] = {}
        self._views: dict[tuple[int, int], _View] = {}
        self._messages: dict[tuple[int, int], Pair] = {}
        self._rules: list[dict[str, Floats]] = [{} for _ in self.layout.cliques]
        for name, rule in rules.items():
            self._rules[self._homes[name]][name] = self._placed(rule, problem.families[name], self._homes[name])

    def _base_tables(self, problem: Problem, homes: Sequence[int]) -> list[Pair]:
        """The tables of each clique, rules left out."""
        phis: list[list[Floats]] = [[] for _ in self.layout.cliques]
        mus: list[list[Floats]] = [[] for _ in self.layout.cliques]
        kinds = [phis] * len(problem.probabilities) + [mus] * len(problem.utilities)
        tables: tuple[Tabled, ...] = (*problem.probabilities, *problem.utilities)
        for kind, home, (scope, table) in zip(kinds, homes, tables, strict=True):
            kind[home].append(self._placed(table, scope, home))
        return [
            Pair(_product(phi, problem.is_conditioned) if phi else np.ones((1,) * len(clique)), _sum(mu))
            for phi, mu, clique in zip(phis, mus, self.layout.cliques, strict=True)
        ]

    def _placed(self, table: Floats, scope: tuple[int, ...], clique: int) -> Floats:
        """A table over a scope as one that broadcasts over the axes of a clique."""
        members = self.layout.cliques[clique]
        axes = [scope.index(v) if v in scope else -1 for v in members]
        shape = [1 if axis < 0 else table.shape[axis] for axis in axes]
        return table.transpose([axis for axis in axes if axis >= 0]).reshape(shape)

    # --- rules ---

    def replace(self, decision: str, rule: Floats) -> None:
        """Put another rule in the place of that of a decision."""
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

    # --- what is expected ---

    def total(self) -> Pair:
        """P(evidence), up to a scale, and the expected utility."""
        pair = self._joined(0)
        axes = tuple(range(pair.probability.ndim))
        return _reduced(pair, axes)

    def family(self, decision: str) -> tuple[Floats, Floats]:
        """P(seen) and P(seen) E[utility | seen, action], both over the family, whatever the rule of the decision."""
        return self.open_table(self._homes[decision], self._problem.families[decision], [decision])

    def weighted(self, decision: str) -> Floats:
        """P(seen) E[utility | seen, action] over the family, up to a scale, whatever the rule of the decision."""
        home = self._homes[decision]
        phi, mu = self._joined(home, frozenset((decision,)))
        return self._family_table(_times(phi, mu), home, self._problem.families[decision])

    def open_table(self, clique: int, scope: tuple[int, ...], decisions: Iterable[str]) -> tuple[Floats, Floats]:
        """φ and φ μ over a scope that lies in a clique, where some decisions are open and their rules left out.

        The rules of open decisions with other home cliques must not have been given.
        """
        phi, mu = self._joined(clique, frozenset(decisions))
        return self._family_table(phi, clique, scope), self._family_table(_times(phi, mu), clique, scope)

    def _family_table(self, table: Floats, clique: int, scope: tuple[int, ...]) -> Floats:
        """A table of a clique summed to a scope."""
        members = self.layout.cliques[clique]
        gone = tuple([axis for axis, v in enumerate(members) if v not in scope])
        left = [v for v in members if v in scope]
        shape = tuple([self._sizes[v] for v in left])
        table = _summed(table, gone)
        whole = table if table.shape == shape else np.broadcast_to(table, shape)
        return whole.transpose([left.index(v) for v in scope])

    def marginal(self, place: int, scope: tuple[int, ...]) -> Floats:
        """φ over the scope of one of `together`."""
        return self.open_table(self.together[place], scope, ())[0]

    # --- messages ---

    def _joined(self, root: int, left_out: frozenset[str] = frozenset()) -> Pair:
        """The joint factor of a clique with all messages in."""
        todo, stack = [], [(root, -1)]
        while stack:
            clique, target = stack.pop()
            for other in self.layout.neighbors[clique]:
                if other != target and (other, clique) not in self._messages:
                    todo.append((other, clique))
                    stack.append((other, clique))
        for source, target in reversed(todo):
            self._messages[source, target] = self._message(source, target)
        return self._gathered(root, -1, left_out)

    def _message(self, source: int, target: int) -> Pair:
        axes = self._axes.get((source, target))
        if axes is None:
            inside = set(self.layout.cliques[target])
            axes = tuple(axis for axis, v in enumerate(self.layout.cliques[source]) if v not in inside)
            self._axes[source, target] = axes
        message = _reduced(self._gathered(source, target), axes)
        return Pair(scaled(message.probability), message.utility) if self._problem.is_conditioned else message

    def _gathered(self, clique: int, target: int, left_out: frozenset[str] = frozenset()) -> Pair:
        """The tables of a clique, its rules, and what its neighbours say, but for one."""
        phi, mu = self._base[clique]
        for name, rule in self._rules[clique].items():
            if name not in left_out:
                phi = phi * rule
        for other in self.layout.neighbors[clique]:
            if other != target:
                view = self._view(other, clique)
                said = self._messages[other, clique]
                phi = phi * said.probability[view]
                if self._problem.is_conditioned:
                    phi = scaled(phi)
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


def _reduced(pair: Pair, axes: tuple[int, ...]) -> Pair:
    """Sum axes out: (Σ φ, Σ φ μ / Σ φ), with 0/0 = 0."""
    phi, mu = pair
    total = _summed(phi, axes)
    if mu is None:
        return Pair(total, None)
    weighted = _summed(phi * mu, axes)
    return Pair(total, weighted / np.where(total > 0, total, 1.0))


def scaled(table: Floats) -> Floats:
    """The table with its largest entry at one, so that no evidence is too unlikely; zeros stay."""
    peak = table.max()
    return table / peak if peak > 0 else table


def _summed(table: Floats, axes: tuple[int, ...]) -> Floats:
    if not axes:
        return table
    if table.size < _LARGE:
        return np.asarray(np.add.reduce(table, axis=axes))
    return reduce_axes(np.add, np.ascontiguousarray(table), axes)


def _times(phi: Floats, mu: Floats | None) -> Floats:
    return np.zeros_like(phi) if mu is None else phi * mu


def _product(tables: Sequence[Floats], is_scaled: bool) -> Floats:
    product = tables[0]
    for table in tables[1:]:
        product = scaled(product * table) if is_scaled else product * table
    return product


def _sum(tables: Sequence[Floats]) -> Floats | None:
    if not tables:
        return None
    total = tables[0]
    for table in tables[1:]:
        total = total + table
    return total
