"""What recursive conditioning will do within given memory, and what that costs, before a number is touched."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from heapq import heapify, heappop, heappush
from math import prod

from plausible.base.records import record
from plausible.errors import TooLarge, counted
from plausible.inference.conditioning.decomposition_tree import DecompositionTree

#: The time of one step in Python, in table entries that could be worked off meanwhile.
STEP = 10_000


@record
class ConditioningPlan:
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
    """Condition only where a table would be too large, and remember what saves most work for its memory.



    Examples
    --------
    >>> from plausible.inference.conditioning.decomposition_tree import decomposition_tree
    >>> tree = decomposition_tree(["AB", "BC", "CA"], "ABC")
    >>> print(plan_conditioning(tree, dict.fromkeys("ABC", 10), max_table_entries=100, max_cache_entries=0))
    recursive conditioning on 1 variable (A): 32 steps, 1.4e+03 entries built, the largest table 100, 0 remembered
    """
    answer = prod(num_states[name] for name in tree.context[tree.root])
    if answer > max_table_entries:
        raise TooLarge(
            f"The answer over {', '.join(sorted(tree.context[tree.root]))} has {answer:,} entries, more than the "
            f"{max_table_entries:,} allowed for a table. Ask for fewer variables at once, or raise max_table_entries."
        )
    planner = _Planner(tree, num_states, max_table_entries)
    cached, cache_entries = planner.choose_cached(max_cache_entries)
    return planner.priced(cached, cache_entries)


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
        self.entries = [self._entries(node) for node in range(count)]
        self.distinct = [self._product(n for n in self.given[node] if n in tree.context[node]) for node in range(count)]

    def _product(self, names: Iterable[str]) -> int:
        return prod(self.num_states[name] for name in names)

    def _entries(self, node: int) -> int:
        """The entries of the table that is built at a node each time."""
        return self._product(self.tree.cluster(node).difference(self.given[node], self.conditioned[node]))

    def _choose_conditioned(self, node: int) -> tuple[str, ...]:
        """Variables to set at a node until its table fits: first those in most of the large tables below.

        The context fits, because the table of the parent does, so closed variables will do.
        """
        chosen: list[str] = []
        open_ = set(self.tree.cluster(node).difference(self.given[node]))
        if self._product(open_) <= self.limit:
            return ()
        fixed = set(self.given[node])
        large = [set(self.tree.cluster(other) - fixed) for other in self.tree.below(node) if self.tree.children[other]]
        candidates = sorted(self.tree.closed[node])
        while self._product(open_) > self.limit:
            large = [cluster for cluster in large if self._product(cluster) > self.limit]
            best = max(candidates, key=lambda name: (self.num_states[name] > 1, sum(name in c for c in large)))
            candidates.remove(best)
            chosen.append(best)
            for cluster in (open_, *large):
                cluster.discard(best)
        return tuple(chosen)

    # --- what to remember ---

    def choose_cached(self, budget: int) -> tuple[frozenset[int], int]:
        """Nodes by the work that remembering them saves for each entry, as long as there is room.

        What a node saves only shrinks as others are chosen, so an old figure that is still the best once renewed is
        the best of all (lazy greedy).
        """
        work = self._work()
        sizes = {node: self._cache_size(node) for node in range(self.tree.root) if self._is_worth(node)}
        cached: set[int] = set()
        heap = [(-self._saving(node, work, cached) / size, node) for node, size in sizes.items()]
        heapify(heap)
        used = 0
        while heap:
            _, node = heappop(heap)
            if used + sizes[node] > budget:
                continue
            renewed = -self._saving(node, work, cached) / sizes[node]
            if renewed == 0:
                continue
            if heap and renewed > heap[0][0]:
                heappush(heap, (renewed, node))
                continue
            cached.add(node)
            used += sizes[node]
        return frozenset(cached), used

    def _is_worth(self, node: int) -> bool:
        """Whether a node has something to compute that it is asked for again."""
        is_computed = bool(self.tree.children[node] or self.tree.closed[node])
        return is_computed and self._product(self.given[node]) > self.distinct[node]

    def _work(self) -> list[int]:
        """For each node the entries and steps of one evaluation, if nothing were remembered below it."""
        work: list[int] = []
        for node, children in enumerate(self.tree.children):
            inside = sum(work[child] for child in children)
            work.append(self.repeats[node] * (self.entries[node] + STEP + inside))
        return work

    def _saving(self, node: int, work: Sequence[int], cached: set[int]) -> int:
        return (self._calls(node, cached) - self.distinct[node]) * work[node]

    def _calls(self, node: int, cached: set[int]) -> int:
        """How often the value of a node is asked for, given what is remembered above it."""
        calls, above = 1, self.parent[node]
        while above >= 0:
            calls *= self.repeats[above]
            if above in cached:
                return calls * self.distinct[above]
            above = self.parent[above]
        return calls

    def _cache_size(self, node: int) -> int:
        rest = _key_names(self.given[node], self.tree.context[node])[1]
        return self._product(rest) * self._product(self.tree.context[node].difference(self.given[node]))

    # --- the price ---

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
