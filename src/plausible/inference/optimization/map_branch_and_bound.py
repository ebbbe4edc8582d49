"""Most probable explanations with a proof: depth-first search in compiled code, bounded by mini-buckets."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations
from typing import Any

import numpy as np

from plausible.base import PROOF, Checked, Floats, Ints, QueryInfo, check_seconds, starts_of, whole
from plausible.errors import ImpossibleEvidence
from plausible.factors.alignment import reduce_axes
from plausible.graphs.undirected import UndirectedGraph
from plausible.inference.engine_bases import PROVED, IterativeEngine, Optimizer, Optimum
from plausible.inference.exact_map.bounds import BoundPlan, TimeUpError, plan_bound
from plausible.inference.optimization.map_local_search import LocalSearch
from plausible.inference.optimization.relaxations import DualDecomposition, MaxSum
from plausible.inference.problem import Problem
from plausible.kernels.depth_first import BoundingTables, Path, depth_first
from plausible.search.local_search import GreedyAscent
from plausible.search.run import CONVERGED, UNLIMITED, Clock, Run

#: The nodes between two looks at the clock: some hundredths of a second.
_CHUNK = 2**17
#: Sweeps of messages, which end earlier where one lowers the bound by less than this.
_SWEEPS = 100
_PACE = 1e-5
#: How many times smaller mini-buckets are made where all of them together don't fit.
_SMALLER = 8


@dataclass(frozen=True, slots=True, eq=False)
class Heuristic:
    """Tables in the order in which variables are set: position d is the d-th variable to be set."""

    order: Ints  # the variable of each position
    tables: BoundingTables  # logarithms, by positions
    upper: float  # the bound when nothing is set
    largest: int  # the entries of the largest table

    def entries(self, table: int) -> Floats:
        """The entries of one table."""
        return self.tables.logs[self.tables.table_starts[table] : self.tables.table_starts[table + 1]]


def mini_bucket_heuristic(
    scopes: Sequence[tuple[int, ...]], tables: Sequence[Floats], sizes: Sequence[int], plan: BoundPlan
) -> Heuristic:
    """Eliminate all variables by maximising, in mini-buckets that fit, and keep what they send (Kask & Dechter 2001).

    A variable whose table does not fit is given copies that need not agree, which can only raise the maximum. Set in
    the opposite order, f(x₁..x_d) = Σ log φ known so far + Σ messages from variables that are not set to those that are
    bounds every completion, and changes by a few table entries from one variable to the next.
    """
    everything = list(zip(scopes, tables, strict=True))
    for bucket in plan.buckets:
        axes = (*sorted(bucket.scope - {bucket.variable}), bucket.variable)
        total = np.zeros([sizes[variable] for variable in axes])
        for scope, table in (everything[member] for member in bucket.members):
            order = np.argsort([axes.index(variable) for variable in scope])
            total += table.transpose(order).reshape([sizes[v] if v in scope else 1 for v in axes])
        everything.append((axes[:-1], reduce_axes(np.maximum, total, (len(axes) - 1,)).reshape(total.shape[:-1])))
    return _arranged(plan, everything, len(scopes), sizes)


def _arranged(
    plan: BoundPlan, tables: Sequence[tuple[tuple[int, ...], Floats]], num_factors: int, sizes: Sequence[int]
) -> Heuristic:
    order = list(dict.fromkeys(bucket.variable for bucket in reversed(plan.buckets)))
    position = {variable: place for place, variable in enumerate(order)}
    added: list[list[int]] = [[] for _ in order]
    taken: list[list[int]] = [[] for _ in order]
    for place, bucket in enumerate(plan.buckets):
        added[position[bucket.variable]] += bucket.members
        taken[position[bucket.variable]].append(num_factors + place)
    strides = [[math.prod(table.shape[axis + 1 :]) for axis in range(table.ndim)] for _, table in tables]
    arranged = BoundingTables(
        np.array([sizes[variable] for variable in order], dtype=np.int64),
        *_laid_out([[position[variable] for variable in axes] for axes, _ in tables]),
        _laid_out(strides)[1],
        starts_of(table.size for _, table in tables),
        np.concatenate([np.zeros(0), *(table.ravel() for _, table in tables)]),
        *_laid_out(added),
        *_laid_out(taken),
    )
    upper = sum(float(table) for axes, table in tables[num_factors:] if not axes)
    return Heuristic(np.array(order, dtype=np.int64), arranged, float(upper), plan.num_largest)


def _laid_out(lists: Sequence[Sequence[int]]) -> tuple[Ints, Ints]:
    """Where each list begins if they are laid one after the other, and that."""
    return starts_of(map(len, lists)), np.fromiter(chain.from_iterable(lists), dtype=np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    """The search in one connected part of the model; it waits as long as there was no time for its tables."""

    variables: Ints  # their places in the problem, in the order of the heuristic where there is one
    factors: tuple[int, ...]
    best: Ints
    value: float  # log Π φ of it; -inf where it has a zero
    heuristic: Heuristic | None = None
    states: Ints | None = None
    bounds: Floats | None = None
    depth: int = 0
    num_nodes: int = 0

    @property
    def upper(self) -> float:
        """The best bound of what is not closed, or the best value; every factor's peak is one."""
        if self.bounds is None:
            return 0.0
        return max(self.value, float(self.bounds[: self.depth + 1].max(initial=-math.inf)))

    def advanced(self, num_nodes: int) -> _Part:
        """After so many nodes more; what waits, or is finished, stays as it is."""
        if self.heuristic is None or self.states is None or self.bounds is None or self.depth < 0:
            return self
        path = Path(self.states.copy(), self.bounds.copy(), self.best.copy())
        depth, value, num = depth_first(self.heuristic.tables, path, self.depth, self.value, num_nodes)
        found: Any = path._asdict()
        return replace(self, **found, depth=depth, value=value, num_nodes=self.num_nodes + num)


@dataclass(frozen=True, slots=True, eq=False)
class BranchAndBoundState:
    """How far a search is."""

    #: The searches in the connected parts of the model, which go on side by side; those without their tables wait.
    parts: tuple[_Part, ...]
    num_variables: int  # of the problem
    #: Messages of a `DualDecomposition`, which shift values between the factors before tables are made of them, and the
    #: bound that they prove.
    messages: Floats
    ceiling: float

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
        return any(part.heuristic is not None and part.depth >= 0 for part in self.parts)

    @property
    def value(self) -> float:
        """log Π φ of the best assignment; -inf as long as there is none."""
        return math.fsum(part.value for part in self.parts) if self.parts else 0.0

    @property
    def upper(self) -> float:
        """No assignment has a larger log Π φ."""
        uppers = [part.upper for part in self.parts]
        return -math.inf if -math.inf in uppers else max(self.value, min(self.ceiling, math.fsum(uppers)))

    @property
    def residual(self) -> float:
        """By how much a better assignment could be better."""
        return 0.0 if self.converged else self.upper - self.value

    def reopened(self, problem: Problem, states: Ints) -> BranchAndBoundState:
        """The same with parts that are not finished before their tables, and at these states where they are better."""
        parts = []
        for part in self.parts:
            if part.depth >= 0:
                own = states[part.variables]
                scopes, tables = _log_tables(problem, problem.logs, part.variables.tolist(), part.factors)
                cells = [float(table[tuple(own[list(scope)])]) for scope, table in zip(scopes, tables, strict=True)]
                value = -math.inf if -math.inf in cells else math.fsum(cells)
                part = replace(part, heuristic=None, states=None, bounds=None, depth=0)
                part = replace(part, best=own, value=value) if value > part.value else part
            parts.append(part)
        return replace(self, parts=tuple(parts))

    @property
    def states(self) -> Ints:
        """The best assignment."""
        states = np.zeros(self.num_variables, dtype=np.int64)
        for part in self.parts:
            states[part.variables] = part.best
        return states


@dataclass(frozen=True, slots=True)
class BranchAndBound(
    IterativeEngine[BranchAndBoundState],
    Optimizer,
    Checked,
    max_entries=whole(1),
    max_bytes=whole(1),
    seed=whole(),
    time_limit=check_seconds,
):
    """Find a best assignment by depth-first branch and bound, or bound it if time runs out (Kask & Dechter 2001).

    Mini-buckets bound what the unassigned variables can add. Before that the messages of a `DualDecomposition` shift
    values between the factors, which leaves all products as they are and tightens these bounds, often to the best value
    itself (Ihler et al. 2012). The first assignment is its, or that of a `LocalSearch`, whichever is better. Connected
    components are searched separately. Larger tables give tighter bounds; if they are large enough for exact
    elimination, the search goes straight to a best assignment. Memory is that of the tables; time is exponential in the
    number of variables at worst.

    Parameters
    ----------
    max_entries
        The most entries in a mini-bucket: 2^i for i binary variables. A larger factor is not split.
    max_bytes
        The memory for all tables: where they would need more, smaller mini-buckets are made.
    time_limit
        One sweep of messages and a greedy ascent always finish; tables that would take longer are not built, and the
        bound is then that of the messages.

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
    max_bytes: int = 2**30

    def init(self, problem: Problem) -> BranchAndBoundState:
        """Messages, a first assignment and the tables."""
        return self._begun(problem, UNLIMITED)

    def _begun(self, problem: Problem, clock: Clock) -> BranchAndBoundState:
        dual = DualDecomposition(_SWEEPS, _PACE).run(problem, progress=lambda state: clock.is_over).state
        ceiling = -math.inf if MaxSum.of(problem).is_impossible(dual.upper) else dual.upper
        # Shifts so large that they leave a proof no digits are not made.
        is_sound = float(np.abs(dual.messages).sum()) * float(np.finfo(np.float64).eps) <= PROVED
        widths = problem.sizes[problem.scopes]  # variables with one state are in no part
        messages = np.where(is_sound & np.repeat(widths > 1, widths), dual.messages, 0.0)
        parts = []
        for variables, factors in _parts(problem):
            places = np.array(variables, dtype=np.int64)
            parts.append(_Part(places, tuple(factors), dual.states[places], -math.inf))
        state = BranchAndBoundState(tuple(parts), len(problem.variables), messages, ceiling)
        state = state.reopened(problem, dual.states)
        if ceiling - dual.value > PROOF:
            state = state.reopened(problem, self._searched(problem, clock))
        return self._with_tables(problem, state, clock)

    def _searched(self, problem: Problem, clock: Clock) -> Ints:
        """An assignment by local search, for a quarter of the time if that is limited."""
        if clock.deadline == math.inf or self.time_limit is None:
            best = LocalSearch(seed=self.seed).run(problem).best
        else:
            climbed = LocalSearch(GreedyAscent(), self.seed).run(problem).best
            search = LocalSearch(seed=self.seed, time_limit=self.time_limit / 4)
            best = search.run(problem, search.init(problem, np.array(climbed, dtype=np.int64))).best
        return np.array(best, dtype=np.int64)

    def step(self, problem: Problem, state: BranchAndBoundState, num_nodes: int = _CHUNK) -> BranchAndBoundState:
        """Some nodes more in each part, whose tables are made where they were not."""
        return _advanced(self._with_tables(problem, state, UNLIMITED), num_nodes)

    def run(
        self,
        problem: Problem,
        start: BranchAndBoundState | Run[BranchAndBoundState] | None = None,
        progress: Callable[[BranchAndBoundState], object] | None = None,
    ) -> Run[BranchAndBoundState]:
        """Search until finished or late; from a state that was left late it goes on, for as long again."""
        clock = Clock.of(self.time_limit)
        if start is None:
            begun = Run(self._begun(problem, clock))
        else:
            begun = start if isinstance(start, Run) else Run(start)
            begun = replace(begun, state=self._with_tables(problem, begun.state, clock))
        return self._iterate(lambda state: _advanced(state, _CHUNK), begun, progress, clock)

    def _ends(self, state: BranchAndBoundState) -> str:
        return "" if state.is_searching else CONVERGED if state.converged else "time limit"

    def optimize(self, problem: Problem) -> Optimum:
        """A best assignment, or the best one found in time."""
        return self.optimum(problem, self.run(problem).state)

    def optimum(self, problem: Problem, state: BranchAndBoundState) -> Optimum:
        """What a state has found."""
        if problem.is_impossible or state.upper == -math.inf:
            raise ImpossibleEvidence.outright()
        heuristics = [part.heuristic for part in state.parts if part.heuristic is not None]
        info = QueryInfo(
            "branch and bound",
            exact=state.converged,
            converged=state.converged,
            error=state.residual,
            cost=sum(heuristic.tables.logs.size for heuristic in heuristics),
            largest_table=max((heuristic.largest for heuristic in heuristics), default=0),
            num_steps=state.num_nodes,
            residual=state.residual,
            advice="" if state.converged else "Give more time, or a larger max_entries for tighter bounds.",
        )
        states = state.states
        upper = float(problem.log_product(states[None, :])[0]) if state.converged else state.upper
        return Optimum(states, upper, info)

    def _with_tables(self, problem: Problem, state: BranchAndBoundState, clock: Clock) -> BranchAndBoundState:
        """With the tables of parts that wait, as far as there is time for them."""
        if all(part.heuristic is not None for part in state.parts):
            return state
        logs, beliefs = MaxSum.of(problem).shifted(state.messages)
        starts, parts = starts_of(problem.sizes), []
        room = self.max_bytes // 8 - sum(part.heuristic.tables.logs.size for part in state.parts if part.heuristic)
        for part in state.parts:
            if part.heuristic is None:
                scopes, tables = _log_tables(problem, logs, part.variables.tolist(), part.factors)
                scopes += [(place,) for place in range(len(part.variables))]
                tables += [beliefs[starts[variable] : starts[variable + 1]] for variable in part.variables]
                part = self._ready(problem, part, scopes, tables, clock, room)
                room -= part.heuristic.tables.logs.size if part.heuristic else 0
            parts.append(part)
        return replace(state, parts=tuple(parts))

    def _ready(
        self,
        problem: Problem,
        part: _Part,
        scopes: Sequence[tuple[int, ...]],
        tables: Sequence[Floats],
        clock: Clock,
        room: int,
    ) -> _Part:
        sizes = problem.sizes[part.variables].tolist()
        try:  # to plan takes a fourth to a third of the time that the tables take
            plan = _plan_within(scopes, sizes, self.max_entries, room, clock.share(1 / 4))
        except TimeUpError:
            return part
        heuristic = mini_bucket_heuristic(scopes, tables, sizes, plan)
        bounds, order = np.full((len(sizes), max(sizes)), -math.inf), heuristic.order
        if heuristic.upper > -math.inf:  # the bound of each state of the first variable
            first, known = bounds[0, : sizes[order[0]]], heuristic.tables
            first[:] = heuristic.upper
            for table in known.taken[: known.taken_starts[1]]:
                first -= heuristic.entries(table)
            for table in known.added[: known.added_starts[1]]:
                first += heuristic.entries(table)
        return replace(
            part,
            variables=part.variables[order],
            best=part.best[order],
            heuristic=heuristic,
            states=np.zeros(len(sizes), dtype=np.int64),
            bounds=bounds,
        )


def _advanced(state: BranchAndBoundState, num_nodes: int) -> BranchAndBoundState:
    return replace(state, parts=tuple(part.advanced(num_nodes) for part in state.parts))


def _plan_within(
    scopes: Sequence[tuple[int, ...]], sizes: Sequence[int], max_entries: int, room: int, clock: Clock
) -> BoundPlan:
    """The plan whose tables, all together, fit, with mini-buckets as large as wanted or else so many times smaller."""
    while True:
        plan = plan_bound(scopes, sizes, range(len(sizes)), max_entries, clock)
        if plan.num_entries(sizes) <= room or max_entries == 1:
            return plan
        max_entries = max(1, max_entries // _SMALLER)


def _log_tables(
    problem: Problem, logs: Floats, variables: Sequence[int], factors: Sequence[int]
) -> tuple[list[tuple[int, ...]], list[Floats]]:
    """The scopes of a part's factors, its variables numbered in their order, and their numbers, an axis each."""
    numbers = {variable: number for number, variable in enumerate(variables)}
    scopes, tables = [], []
    for factor in factors:
        free = [variable for variable in problem.scope(factor) if variable in numbers]
        own = logs[problem.table_starts[factor] : problem.table_starts[factor + 1]]
        tables.append(own.reshape([int(problem.sizes[variable]) for variable in free]))
        scopes.append(tuple(numbers[variable] for variable in free))
    return scopes, tables


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
