"""Depth-first branch and bound over the states of maximised variables.

It goes in stages: small tables that bound loosely first, larger ones while the search stays open.
"""

from __future__ import annotations

import math
from bisect import insort
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from plausible.base import Floats, QueryInfo, Remedy, score_noise
from plausible.errors import TooLarge
from plausible.factors import Factor
from plausible.factors.alignment import table_shape, union_scope, wide
from plausible.inference.budget import refusal
from plausible.inference.exact_map.bounds import BoundPlan, BoundTree, LogTable, TimeUpError, bound_tree, plan_bound
from plausible.search.run import UNLIMITED, Clock
from plausible.variables import Variable

#: The seconds between two reports.
_PAUSE = 0.1


@dataclass(frozen=True, slots=True)
class SearchProgress:
    """How far a search has come."""

    log_value: float  # The value of the best assignment so far; -inf as long as there is none
    log_bound: float  # No assignment has a larger value
    num_nodes: int  # The partial assignments looked at


@dataclass(frozen=True, slots=True)
class SearchResult:
    """What a search found, and how far it came."""

    #: (value, states) of the best assignments, best first: for each variable the position of its state, -1 if it is not
    #: maximised. Empty where no assignment with a positive value was found.
    best: tuple[tuple[float, tuple[int, ...]], ...]
    progress: SearchProgress  # How far the search is
    is_finished: bool  # Whether no other assignment is better than those, or fewer are possible than were wanted


def branch_and_bound(
    tree: BoundTree,
    num_best: int = 1,
    start: SearchResult | None = None,
    *,
    max_nodes: float = math.inf,
    clock: Clock = UNLIMITED,
    is_patient: bool = True,
    progress: Callable[[SearchProgress], None] | None = None,
) -> SearchResult:
    """The assignments to the maximised variables with the largest values, and a proof of that (Park & Darwiche 2003).

    At each node the tree bounds every state of every free variable. States that promise no more than the worst of the
    best values so far are struck out; the search branches on the variable whose best state stands out most, best state
    first. A first assignment is guessed from the tree, and improved one variable at a time before the search goes on; a
    patient search waits for it after its time. `start` is what a search with another tree for the same question found.
    """
    best, ceiling = ([], math.inf) if start is None else (list(start.best), start.progress.log_bound)
    root = [-1] * len(tree.sizes)
    search = _Search(tree, num_best, clock, is_patient, progress, best, ceiling, [(math.inf, root)])
    with suppress(TimeUpError):
        if search.best:
            search.stack[0] = tree.bound(root, search.limit), root
            search.report()
        else:  # a guess may be all that there is time for
            search.guess()
        while search.stack and search.num_nodes < max_nodes and not search.limit.is_over:
            search.step()
    return SearchResult(tuple(search.best), search.report(), not search.open_bounds())


@dataclass(slots=True)
class _Search:
    """The best assignments so far, and the nodes still to be looked at: a bound and the states, -1 for free ones."""

    tree: BoundTree
    num_best: int
    clock: Clock
    is_patient: bool
    progress: Callable[[SearchProgress], None] | None
    best: list[tuple[float, tuple[int, ...]]]
    ceiling: float  # What an earlier search knows that no value exceeds
    stack: list[tuple[float, list[int]]]
    num_nodes: int = 0
    reported: Clock = UNLIMITED  # Since the last report

    @property
    def cutoff(self) -> float:
        """What a branch must exceed."""
        if len(self.best) < self.num_best:
            return -math.inf
        return self.best[-1][0] + score_noise(self.best[-1][0])

    @property
    def limit(self) -> Clock:
        """The clock, once there is an answer to return or none is waited for."""
        return self.clock if self.best or not self.is_patient else UNLIMITED

    def guess(self) -> None:
        """Complete the node on top of the stack at once, and keep the result if it is possible."""
        bound, states = self.tree.guess(self.stack[-1][1], self.limit)
        self.stack[-1] = bound, self.stack[-1][1]
        self.num_nodes += 1
        self.report()
        log_value = self.tree.bound(states, self.limit) if bound > -math.inf else -math.inf
        if log_value > -math.inf:
            self.accept(states, log_value)

    def step(self) -> None:
        """Look at the node on top of the stack."""
        bound, states = self.stack[-1]
        if bound > self.cutoff:
            if not self.best and self.clock.is_over:
                self.guess()
            self.num_nodes += 1
            bound, vectors = self.tree.bounds(states, self.limit)
            self.stack.pop()
            if bound > self.cutoff:
                if vectors:
                    self.branch(states, bound, vectors)
                else:
                    self.accept(states, bound)
        else:
            self.stack.pop()
        if self.progress is not None and self.reported.seconds > _PAUSE:
            self.report()

    def branch(self, states: list[int], bound: float, vectors: dict[int, Floats]) -> None:
        """Push the states of one variable, or the same node with variables set that have only one state left."""
        forced, cutoff = list(states), self.cutoff
        for variable, vector in vectors.items():
            alive = np.flatnonzero(vector > cutoff)
            if len(alive) == 0:
                return
            if len(alive) == 1:
                forced[variable] = int(alive[0])
                bound = min(bound, float(vector[alive[0]]))
        if forced != states:
            self.stack.append((bound, forced))
            return

        def contrast(variable: int) -> float:  # the share of the best state in all that are still to be followed
            alive = vectors[variable][vectors[variable] > cutoff]
            return 1.0 / float(np.exp(alive - alive.max()).sum())

        variable = max(vectors, key=contrast)
        vector = vectors[variable]
        for state in sorted(range(len(vector)), key=lambda state: (vector[state], -state)):  # the best on top
            if vector[state] > cutoff:
                self.stack.append((min(bound, float(vector[state])), _with(states, variable, state)))

    def accept(self, states: list[int], log_value: float) -> None:
        """A full assignment that beats the worst of the best so far; the first one is improved at once."""
        is_first = not self.best
        self.keep(states, log_value)
        if is_first:
            self.climb(states, log_value)
        self.report()

    def keep(self, states: list[int], log_value: float) -> None:
        """Put an assignment in its place among the best, behind those that are as good; once, if it comes twice."""
        entry = (log_value, tuple(states))
        if all(known != entry[1] for _, known in self.best):
            insort(self.best, entry, key=lambda kept: -kept[0])
            del self.best[self.num_best :]

    def climb(self, states: list[int], log_value: float) -> None:
        """Change the state of one variable at a time as long as that helps."""
        is_improved = True
        while is_improved:
            is_improved = False
            for variable in self.tree.homes:
                for state in range(self.tree.sizes[variable]):
                    if self.limit.is_over:
                        return
                    neighbor = _with(states, variable, state)
                    value = self.tree.bound(neighbor, self.limit) if neighbor != states else -math.inf
                    if value > log_value + score_noise(log_value):
                        states, log_value, is_improved = neighbor, value, True
                        self.keep(states, log_value)

    def open_bounds(self) -> list[float]:
        """The bounds of the nodes that might still hold something better."""
        return [bound for bound, _ in self.stack if bound > self.cutoff]

    def report(self) -> SearchProgress:
        """How far the search is, told to who wants to know."""
        self.reported = Clock.of(None)
        log_value = self.best[0][0] if self.best else -math.inf
        open_bound = max(self.open_bounds(), default=log_value)
        state = SearchProgress(log_value, max(log_value, min(open_bound, self.ceiling)), self.num_nodes)
        if self.progress is not None:
            self.progress(state)
        return state


def _with(states: list[int], variable: int, state: int) -> list[int]:
    changed = list(states)
    changed[variable] = state
    return changed


#: The stages of a search: entries that a table may have, and nodes after which larger tables bound more tightly.
_STAGES = ((2**10, 500.0), (2**14, 100.0), (2**18, 1000.0))

#: A stage is left out if hidden variables make one of its tables so many times larger than it wants them; if it is the
#: last one the question is refused.
_EXCESS = 4


@dataclass(frozen=True, slots=True)
class StagedSearch:
    """What a search found, and how it was got."""

    #: (logarithm of the value, name -> position of the state) of the best assignments, best first; those with a
    #: positive value only.
    best: tuple[tuple[float, Mapping[str, int]], ...]
    log_bound: float  # No assignment has a larger value
    num_nodes: int  # The partial assignments that were looked at
    info: QueryInfo  # The engine and the cost; `exact` is false where the time ran out


def search_in_stages(
    log_factors: Sequence[Factor],
    targets: Sequence[Variable],
    *,
    num_best: int = 1,
    max_entries: int,
    clock: Clock = UNLIMITED,
    is_patient: bool = True,
    progress: Callable[[SearchProgress], None] | None = None,
) -> StagedSearch:
    """The best assignments to the targets, which the factors mention, all else summed out.

    When the time is over, `TimeUpError` where there is no answer and none is waited for; else the best ones so far.
    """
    variables = wide(union_scope(factor.scope for factor in log_factors))
    numbers = {variable.name: number for number, variable in enumerate(variables)}
    sizes = [variable.num_states for variable in variables]
    chosen = [variable.name for variable in targets if variable.name in numbers]
    maximized = [numbers[name] for name in chosen]
    tables = [
        LogTable(tuple(numbers[v.name] for v in wide(factor.scope)), factor.flat.reshape(table_shape(factor.scope)))
        for factor in log_factors
    ]
    found: SearchResult | None = None
    num_nodes = cost = largest = 0
    for limit, max_nodes in (*(stage for stage in _STAGES if stage[0] < max_entries), (max_entries, math.inf)):
        patience = UNLIMITED if is_patient and not (found and found.best) else clock
        try:
            plan = plan_bound([table.axes for table in tables], sizes, maximized, limit, patience)
        except TimeUpError:
            break
        if plan.num_largest > max(_EXCESS * limit, *(table.values.size for table in tables)):
            if limit < max_entries:
                continue
            raise _too_large(plan, variables, max_entries)
        try:
            tree = bound_tree(tables, plan, sizes, maximized, patience)
        except TimeUpError:
            break
        found = branch_and_bound(
            tree, num_best, found, max_nodes=max_nodes, clock=clock, is_patient=is_patient, progress=progress
        )
        num_nodes += found.progress.num_nodes
        cost += found.progress.num_nodes * sum(table.size for table in tree.potentials)
        largest = max(largest, plan.num_largest)
        if found.is_finished or ((found.best or not is_patient) and clock.is_over):
            break
    if found is None or not (found.best or found.is_finished):
        raise TimeUpError
    state, is_exact = found.progress, found.is_finished
    info = QueryInfo("branch and bound", is_exact, is_exact, state.log_bound - state.log_value, cost, largest)
    best = [(value, {name: states[numbers[name]] for name in chosen}) for value, states in found.best]
    return StagedSearch(tuple(best), state.log_bound, num_nodes, info)


def _too_large(plan: BoundPlan, variables: Sequence[Variable], max_entries: int) -> TooLarge:
    """Why a plan is refused before any table is built: copies of targets can't split hidden variables."""
    shown = [variables[number].name for number in sorted(plan.largest)]
    names = ", ".join(shown[:8]) + (", ..." if len(shown) > 8 else "")
    return refusal(
        f"Summing out what is not asked for needs a table over {len(plan.largest)} variables ({names}) with "
        f"{plan.num_largest:.3g} entries ({plan.num_largest * 8 / 2**30:.3g} GiB), too many for "
        f"max_entries={max_entries}; without it no answer has a value, so that no time_limit= brings a first one. With "
        f"memory for several such tables, max_entries=2**{(plan.num_largest - 1).bit_length()} would do.",
        remedies=[Remedy("ask for more variables"), Remedy("give more evidence")],
    )
