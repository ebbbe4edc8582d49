"""What recursive conditioning will do within given memory, and what that costs, before a number is touched.

It goes by a decomposition tree: factors at the leaves of a binary tree, variables summed out where their factors met.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from math import prod

from plausible.base import Result, record
from plausible.errors import TooLarge, counted


@dataclass(frozen=True, slots=True)
class DecompositionTree:
    """A binary tree over factors, called a dtree (Darwiche 2001); children have lower numbers than their parent."""

    children: tuple[tuple[int, ...], ...]  # For each node its two children; empty for a leaf. Leaf i is factor i.
    #: For each node the variables that only the leaves below it have, and not those of one child alone: they are summed
    #: out there (the cutset of an inner node).
    closed: tuple[frozenset[str], ...]
    #: For each node the variables that it shares with leaves elsewhere, and targets: what its value depends on.
    context: tuple[frozenset[str], ...]

    @property
    def root(self) -> int:
        return len(self.children) - 1

    def cluster(self, node: int) -> frozenset[str]:
        """The variables that meet at a node."""
        return self.closed[node] | self.context[node]

    def below(self, node: int) -> list[int]:
        """The nodes of the subtree, each before its children."""
        found, waiting = [], [node]
        while waiting:
            found.append(waiting.pop())
            waiting.extend(self.children[found[-1]])
        return found


def decomposition_tree(
    scopes: Sequence[Iterable[str]], order: Iterable[str], targets: Iterable[str] = ()
) -> DecompositionTree:
    """The tree that an elimination order leads to: for each variable the trees that have it are joined.

    Its largest cluster is at most the largest clique of the elimination (Darwiche 2001, §5). Targets are never closed.
    """
    builder = _Builder(scopes, targets)
    for name in order:
        builder.join(builder.having.get(name, ()))
    builder.join(builder.roots)
    return DecompositionTree(tuple(builder.children), tuple(builder.closed), tuple(builder.context))


class _Builder:
    """Trees under construction: their `roots`, and for each variable those roots that have it in their context.

    `counts[node]` says how many leaves below a node have each variable of its context.
    """

    def __init__(self, scopes: Sequence[Iterable[str]], targets: Iterable[str]) -> None:
        leaves = [Counter(set(scope)) for scope in scopes]
        self.totals = Counter(name for leaf in leaves for name in leaf)
        self.kept = frozenset(targets)
        self.children: list[tuple[int, ...]] = []
        self.closed: list[frozenset[str]] = []
        self.context: list[frozenset[str]] = []
        self.counts: list[Counter[str]] = []
        self.roots: set[int] = set()
        self.having: dict[str, set[int]] = {}
        for leaf in leaves:
            self._add((), leaf)

    def join(self, nodes: Iterable[int]) -> None:
        """Join trees to one, those with small contexts first."""
        waiting = sorted(nodes, key=lambda node: (len(self.context[node]), node))
        joined = waiting[0] if waiting else -1
        for node in waiting[1:]:
            joined = self._add((joined, node), self.counts[joined] + self.counts[node])

    def _add(self, children: tuple[int, ...], counts: Counter[str]) -> int:
        closed = frozenset(n for n, count in counts.items() if count == self.totals[n] and n not in self.kept)
        for name in closed:
            del counts[name]
        node = len(self.children)
        self.children.append(children)
        self.closed.append(closed)
        self.context.append(frozenset(counts))
        self.counts.append(counts)
        for child in children:
            self.roots.discard(child)
            for name in self.context[child]:
                self.having[name].discard(child)
        self.roots.add(node)
        for name in counts:
            self.having.setdefault(name, set()).add(node)
        return node


#: The time of one step in Python, in table entries that could be worked off meanwhile.
STEP = 10_000


@record
class ConditioningPlan(Result):
    """Where to condition, what to remember, and the price."""

    tree: DecompositionTree  # The decomposition tree
    #: For each node the variables that are set to each of their states in turn there, the outermost first.
    conditioned: tuple[tuple[str, ...], ...]
    given: tuple[tuple[str, ...], ...]  # For each node the variables that are set above it, the outermost first
    cached: frozenset[int]  # The nodes whose values are remembered while they can be asked for again
    num_steps: int  # How many times a table is joined with another, or a factor is read
    cost: int  # The entries of all tables built
    largest_table: int  # The entries of the largest of them
    cache_entries: int  # The most entries that are remembered at one time

    @property
    def cutset(self) -> tuple[str, ...]:
        """All variables that are conditioned on somewhere, each once, those nearest to the root first."""
        return tuple(dict.fromkeys(name for names in reversed(self.conditioned) for name in names))

    def key_names(self, node: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The set variables that a node's value depends on: those that change least often, then the others.

        The first part is as long as all variables set above count. Once one of these moves on, its old states never
        come back, so what was remembered for them can go.
        """
        return _key_names(self.given[node], self.tree.context[node])

    def __str__(self) -> str:
        names = ", ".join(self.cutset[:8]) + (", ..." if len(self.cutset) > 8 else "")
        where = f"on {counted(len(self.cutset), 'variable')} ({names})" if self.cutset else "on no variable"
        return (
            f"recursive conditioning {where}: {self.num_steps:,} steps, {self.cost:.3g} entries built, the largest "
            f"table {self.largest_table:,}, {self.cache_entries:,} remembered"
        )


def plan_conditioning(
    tree: DecompositionTree, num_states: Mapping[str, int], max_table_entries: int, max_cache_entries: int
) -> ConditioningPlan:
    """Condition only where a table would be too large, and remember what saves most work for its memory."""
    answer = prod(num_states[name] for name in tree.context[tree.root])
    if answer > max_table_entries:
        raise TooLarge(
            f"The answer over {', '.join(sorted(tree.context[tree.root]))} has {answer:,} entries, more than the "
            f"{max_table_entries:,} allowed for a table. Ask for fewer variables at once, or raise max_table_entries."
        )
    planner = _Planner(tree, num_states, max_table_entries)
    return planner.priced(*planner.choose_cached(max_cache_entries))


class _Planner:
    """The numbers that choices depend on; lists have an entry for each node."""

    def __init__(self, tree: DecompositionTree, num_states: Mapping[str, int], limit: int) -> None:
        self.tree, self.num_states, self.limit = tree, num_states, limit
        count = len(tree.children)
        self.parent = [-1] * count
        self.given: list[tuple[str, ...]] = [()] * count
        self.conditioned: list[tuple[str, ...]] = [()] * count
        for node in reversed(range(count)):
            if tree.children[node]:
                self.conditioned[node] = self._choose_conditioned(node)
            for child in tree.children[node]:
                self.parent[child] = node
                self.given[child] = (*self.given[node], *self.conditioned[node])
        self.repeats = [self._product(names) for names in self.conditioned]
        # of the table that is built at a node each time
        self.entries = [self._product(self._open(node).difference(self.conditioned[node])) for node in range(count)]
        self.distinct = [self._product(n for n in self.given[node] if n in tree.context[node]) for node in range(count)]

    def _product(self, names: Iterable[str]) -> int:
        return prod(self.num_states[name] for name in names)

    def _open(self, node: int) -> frozenset[str]:
        """The variables that meet at a node and are not set above it."""
        return self.tree.cluster(node).difference(self.given[node])

    def _choose_conditioned(self, node: int) -> tuple[str, ...]:
        """Variables to set at a node until its table fits: first those in most of the large tables below.

        The context fits, because the table of the parent does, so closed variables will do.
        """
        unset = self._open(node)
        if self._product(unset) <= self.limit:
            return ()
        chosen: list[str] = []
        fixed = set(self.given[node])
        large = [set(self.tree.cluster(other) - fixed) for other in self.tree.below(node) if self.tree.children[other]]
        candidates = sorted(self.tree.closed[node])
        while self._product(unset.difference(chosen)) > self.limit:
            large = [cluster for cluster in large if self._product(cluster.difference(chosen)) > self.limit]
            best = max(candidates, key=lambda name: (self.num_states[name] > 1, sum(name in c for c in large)))
            candidates.remove(best)
            chosen.append(best)
        return tuple(chosen)

    def choose_cached(self, budget: int) -> tuple[frozenset[int], int]:
        """Nodes by the work that remembering them saves for each entry, as long as there is room.

        What a node saves only shrinks as others are chosen, so an old figure that is still the best once renewed is
        the best of all (lazy greedy).
        """
        work: list[int] = []  # the entries and steps of one evaluation, if nothing were remembered below
        for node, children in enumerate(self.tree.children):
            inside = sum(work[child] for child in children)
            work.append(self.repeats[node] * (self.entries[node] + STEP + inside))
        sizes: dict[int, int] = {}  # of those that have something to compute, and are asked for again
        for node in range(self.tree.root):
            is_computed = bool(self.tree.children[node] or self.tree.closed[node])
            if is_computed and self._product(self.given[node]) > self.distinct[node]:
                inner = _key_names(self.given[node], self.tree.context[node])[1]
                table = self.tree.context[node].difference(self.given[node])
                sizes[node] = self._product(inner) * self._product(table)
        cached: set[int] = set()

        def rank(node: int) -> float:
            """Minus what is saved for each entry remembered."""
            return -((self._calls(node, cached) - self.distinct[node]) * work[node]) / sizes[node]

        heap = [(rank(node), node) for node in sizes]
        heapify(heap)
        used = 0
        while heap:
            _, node = heappop(heap)
            if used + sizes[node] > budget:
                continue
            renewed = rank(node)
            if heap and renewed > heap[0][0]:
                heappush(heap, (renewed, node))
            elif renewed != 0:
                cached.add(node)
                used += sizes[node]
        return frozenset(cached), used

    def _calls(self, node: int, cached: set[int]) -> int:
        """How often the value of a node is asked for, given what is remembered above it."""
        calls, above = 1, self.parent[node]
        while above >= 0:
            calls *= self.repeats[above]
            if above in cached:
                return calls * self.distinct[above]
            above = self.parent[above]
        return calls

    def priced(self, cached: frozenset[int], cache_entries: int) -> ConditioningPlan:
        """The plan with its cost."""
        evaluations = [1] * len(self.parent)
        for node in reversed(range(self.tree.root)):
            above = self.parent[node]
            calls = evaluations[above] * self.repeats[above]
            evaluations[node] = self.distinct[node] if node in cached else calls
        steps = [count * repeats for count, repeats in zip(evaluations, self.repeats, strict=True)]
        inner = [node for node, children in enumerate(self.tree.children) if children]
        return ConditioningPlan(
            tree=self.tree,
            conditioned=tuple(self.conditioned),
            given=tuple(self.given),
            cached=cached,
            num_steps=sum(steps),
            cost=sum(count * entries for count, entries in zip(steps, self.entries, strict=True)),
            largest_table=max((self.entries[node] for node in inner), default=1),
            cache_entries=cache_entries,
        )


def _key_names(given: Sequence[str], context: frozenset[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    outer = next((place for place, name in enumerate(given) if name not in context), len(given))
    return tuple(given[:outer]), tuple(name for name in given[outer:] if name in context)
