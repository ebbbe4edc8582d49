"""Most probable explanations with a proof: depth-first search in compiled code, bounded by mini-buckets."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from plausible.base.arrays import Floats, Ints
from plausible.base.options import check_count, check_seconds
from plausible.errors import ImpossibleEvidence
from plausible.graphs.undirected import UndirectedGraph
from plausible.inference.exact_map.bound_plan import TimeUpError, plan_bound
from plausible.inference.info import QueryInfo
from plausible.inference.iteration import IterativeEngine
from plausible.inference.optimization.flips import States
from plausible.inference.optimization.map_local_search import LocalSearch
from plausible.inference.optimization.mini_bucket_heuristic import Heuristic, mini_bucket_heuristic
from plausible.inference.optimizer import Optimizer, Optimum
from plausible.inference.problem import Problem
from plausible.kernels.depth_first import BoundingTables, Path, depth_first
from plausible.search.clock import UNLIMITED, Clock
from plausible.search.local_search import GreedyAscent
from plausible.search.run import CONVERGED, Run

#: The nodes between two looks at the clock: some hundredths of a second.
_CHUNK = 2**17


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    """The search in one connected part of the model, the variables numbered in the order of the heuristic."""

    variables: Ints  # their places in the problem
    heuristic: Heuristic
    states: Ints
    bounds: Floats
    depth: int
    best: Ints
    value: float
    num_nodes: int = 0

    @property
    def upper(self) -> float:
        """The best bound of what is not closed, or the best value."""
        return max(self.value, float(self.bounds[: self.depth + 1].max(initial=-math.inf)))

    def advanced(self, num_nodes: int) -> _Part:
        """After so many nodes more."""

        h = self.heuristic
        tables = BoundingTables(
            h.sizes,
            h.scope_starts,
            h.scopes,
            h.strides,
            h.table_starts,
            h.logs,
            h.added_starts,
            h.added,
            h.taken_starts,
            h.taken,
        )
        path = Path(self.states.copy(), self.bounds.copy(), self.best.copy())
        depth, value, num = depth_first(tables, path, self.depth, self.value, num_nodes)
        return _Part(self.variables, h, path.states, path.bounds, depth, path.best, value, self.num_nodes + num)


@dataclass(frozen=True, slots=True, eq=False)
class _Waiting:
    """A connected part for whose tables there was no time: an assignment to its variables, and no bound but peaks."""

    variables: Ints
    factors: tuple[int, ...]
    best: Ints
    value: float
    upper: float = 0.0  # every factor's peak is one
    depth: int = 0
    num_nodes: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class BranchAndBoundState:
    """How far a search is."""

    #: The searches in the connected parts of the model, which go on side by side; those without their tables wait.
    parts: tuple[_Part | _Waiting, ...]
    num_variables: int  # of the problem

    @property
    def num_nodes(self) -> int:
        """The partial assignments that were looked at."""
        return sum(part.num_nodes for part in self.parts)

    @property
    def converged(self) -> bool:
        """Whether all parts are finished."""
        return all(part.depth < 0 for part in self.parts)

    @property
    def is_searching(self) -> bool:
        """Whether some part that has its tables is not finished."""
        return any(isinstance(part, _Part) and part.depth >= 0 for part in self.parts)

    @property
    def value(self) -> float:
        """log Π φ of the best assignment; -inf as long as there is none."""
        return math.fsum(part.value for part in self.parts) if self.parts else 0.0

    @property
    def upper(self) -> float:
        """No assignment has a larger log Π φ."""
        uppers = [part.upper for part in self.parts]
        return -math.inf if -math.inf in uppers else math.fsum(uppers)

    @property
    def residual(self) -> float:
        """By how much a better assignment could be better."""
        return 0.0 if self.converged else self.upper - self.value

    @property
    def states(self) -> Ints:
        """The best assignment."""
        states = np.zeros(self.num_variables, dtype=np.int64)
        for part in self.parts:
            states[part.variables] = part.best
        return states


@dataclass(frozen=True, slots=True)
class BranchAndBound(IterativeEngine[BranchAndBoundState], Optimizer):
    """Find a best assignment by depth-first branch and bound, or bound it if time runs out (Kask & Dechter 2001).

    Mini-buckets bound what the unassigned variables can add; the first assignment comes from `LocalSearch`. Connected
    components are searched separately. Larger tables give tighter bounds; if they are large enough for exact
    elimination, the search goes straight to a best assignment. Memory is that of the tables; time is exponential in the
    number of variables at worst.

    Parameters
    ----------
    max_entries
        The most entries in a mini-bucket: 2^i for i binary variables. A larger factor is not split.
    time_limit
        Stop after this many seconds, with the best assignment so far; `None` for no limit. A greedy ascent always
        finishes; tables that would take longer are not built, and the bound is then the product of the factors' largest
        entries.
    seed
        A non-negative integer for the local search; the same seed gives the same answer.

    Examples
    --------
    >>> from plausible.factors import Factor
    >>> from plausible.variables import Evidence
    >>> ring = [Factor({a: 2, b: 2}, [[1, 3], [2, 1]]) for a, b in ("AB", "BC", "CD", "DA")]
    >>> found = BranchAndBound(max_entries=4).best(ring, Evidence.read({}, {}))
    >>> round(found.log_probability, 6), found.info.exact, found.info.error
    (3.583519, True, 0.0)
    """

    max_entries: int = 2**16
    time_limit: float | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        check_count("max_entries", self.max_entries, 1)
        check_count("seed", self.seed)
        check_seconds("time_limit", self.time_limit)

    def init(self, problem: Problem) -> BranchAndBoundState:
        """The tables that bound, and a first assignment, however long they take."""
        return self._prepared(problem, self._begun(problem, LocalSearch(seed=self.seed).run(problem).best))

    def step(self, problem: Problem, state: BranchAndBoundState, num_nodes: int = _CHUNK) -> BranchAndBoundState:
        """Some nodes more in each part, whose tables are made where they were not."""
        return self._advanced(self._prepared(problem, state), num_nodes)

    def run(
        self,
        problem: Problem,
        start: BranchAndBoundState | Run[BranchAndBoundState] | None = None,
        progress: Callable[[BranchAndBoundState], object] | None = None,
    ) -> Run[BranchAndBoundState]:
        """Search until finished or late; `progress` is told each state, and stops by an answer that is true.

        From a state that was left late it goes on, for as long again.
        """
        clock = Clock.of(self.time_limit)
        if start is None:
            start = self._begun(problem, self._first_states(problem))
        begun = start if isinstance(start, Run) else Run(start)
        begun = replace(begun, state=self._prepared(problem, begun.state, clock))
        return self._iterate(self._advanced, begun, progress, clock)

    def _ends(self, state: BranchAndBoundState) -> str:
        return "" if state.is_searching else CONVERGED if state.converged else "time limit"

    def optimize(self, problem: Problem) -> Optimum:
        """A best assignment, or the best one found in time."""
        state = self.run(problem).state
        if problem.is_impossible or state.upper == -math.inf:
            raise ImpossibleEvidence.outright()
        advice = "" if state.converged else "Give more time, or a larger max_entries for tighter bounds."
        heuristics = [part.heuristic for part in state.parts if isinstance(part, _Part)]
        info = QueryInfo(
            engine="branch and bound",
            exact=state.converged,
            converged=state.converged,
            error=state.residual,
            cost=sum(h.logs.size for h in heuristics),
            largest_table=max((h.largest for h in heuristics), default=0),
            num_steps=state.num_nodes,
            residual=state.residual,
            advice=advice,
        )
        states = state.states
        upper = float(problem.log_product(states[None, :])[0]) if state.converged else state.upper
        return Optimum(states, upper, info)

    def _first_states(self, problem: Problem) -> States:
        """By local search, which is given a quarter of the time if that is limited."""
        if self.time_limit is None:
            return LocalSearch(seed=self.seed).run(problem).best
        climbed = LocalSearch(GreedyAscent(), self.seed).run(problem).best
        search = LocalSearch(seed=self.seed, time_limit=self.time_limit / 4)
        return search.run(problem, search.init(problem, np.array(climbed, dtype=np.int64))).best

    def _begun(self, problem: Problem, first: States) -> BranchAndBoundState:
        """All parts waiting for their tables."""
        start, parts = np.array(first, dtype=np.int64), []
        for variables, factors in _parts(problem):
            places = np.array(variables, dtype=np.int64)
            value = _value(*_log_tables(problem, variables, factors), start[places])
            parts.append(_Waiting(places, tuple(factors), start[places], value))
        return BranchAndBoundState(tuple(parts), len(problem.variables))

    def _prepared(self, problem: Problem, state: BranchAndBoundState, clock: Clock = UNLIMITED) -> BranchAndBoundState:
        """With the tables of parts that wait, as far as there is time for them."""
        parts = tuple(self._part(problem, part, clock) if isinstance(part, _Waiting) else part for part in state.parts)
        return replace(state, parts=parts)

    def _advanced(self, state: BranchAndBoundState, num_nodes: int = _CHUNK) -> BranchAndBoundState:
        parts = tuple(
            part.advanced(num_nodes) if isinstance(part, _Part) and part.depth >= 0 else part for part in state.parts
        )
        return replace(state, parts=parts)

    def _part(self, problem: Problem, waiting: _Waiting, clock: Clock) -> _Part | _Waiting:
        scopes, tables = _log_tables(problem, waiting.variables.tolist(), waiting.factors)
        sizes = problem.sizes[waiting.variables].tolist()
        if clock.deadline < math.inf:
            try:  # to plan takes a fourth to a third of the time that the tables take
                plan_bound(scopes, sizes, range(len(sizes)), self.max_entries, clock.share(1 / 4))
            except TimeUpError:
                return waiting
        heuristic = mini_bucket_heuristic(scopes, tables, sizes, self.max_entries)
        bounds = np.full((len(sizes), max(sizes)), -math.inf)
        bounds[0] = _first_bounds(heuristic, max(sizes))
        blank, order = np.zeros(len(sizes), dtype=np.int64), heuristic.order
        return _Part(waiting.variables[order], heuristic, blank, bounds, 0, waiting.best[order], waiting.value)


def _log_tables(
    problem: Problem, variables: Sequence[int], factors: Sequence[int]
) -> tuple[list[tuple[int, ...]], list[Floats]]:
    """The scopes of a part's factors, its variables numbered in their order, and their logarithms, an axis each."""
    numbers = {variable: number for number, variable in enumerate(variables)}
    scopes, tables = [], []
    for factor in factors:
        free = [variable for variable in problem.scope(factor) if variable in numbers]
        logs = problem.logs[problem.table_starts[factor] : problem.table_starts[factor + 1]]
        tables.append(logs.reshape([int(problem.sizes[variable]) for variable in free]))
        scopes.append(tuple(numbers[variable] for variable in free))
    return scopes, tables


def _value(scopes: Sequence[tuple[int, ...]], tables: Sequence[Floats], states: Ints) -> float:
    return float(sum(float(table[tuple(states[list(scope)])]) for scope, table in zip(scopes, tables, strict=True)))


def _first_bounds(heuristic: Heuristic, width: int) -> Floats:
    """The bound of each state of the first variable; -inf for states that it does not have."""
    bounds = np.full(width, -math.inf)
    if heuristic.upper > -math.inf:
        first = bounds[: heuristic.sizes[0]]
        first[:] = heuristic.upper
        for table in heuristic.taken[: heuristic.taken_starts[1]]:
            first -= heuristic.entries(table)
        for table in heuristic.added[: heuristic.added_starts[1]]:
            first += heuristic.entries(table)
    return bounds


def _parts(problem: Problem) -> list[tuple[list[int], list[int]]]:
    """The variables with a choice in each connected part, and its factors; factors without a choice add nothing.

    A factor over one-state variables has one entry, which is its peak: one.
    """
    free = [[v for v in problem.scope(f) if problem.sizes[v] > 1] for f in range(len(problem.factors))]
    edges = [pair for scope in free for pair in combinations(scope, 2)]
    graph = UndirectedGraph(edges, nodes=sorted({variable for scope in free for variable in scope}))
    members = [[node for node in component if isinstance(node, int)] for component in graph.components]
    home = {variable: number for number, part in enumerate(members) for variable in part}
    factors: list[list[int]] = [[] for _ in members]
    for factor, scope in enumerate(free):
        if scope:
            factors[home[scope[0]]].append(factor)
    return list(zip(members, factors, strict=True))
