"""Most probable explanations by local search: flips of one variable at a time, in compiled code where there is any."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from plausible.base import Checked, Floats, Ints, QueryInfo, check_seconds, starts_of, whole
from plausible.errors import InvalidArgument
from plausible.inference.engine_bases import Optimizer, Optimum
from plausible.inference.problem import Problem
from plausible.kernels.local_moves import Attempts, FlipFields, FlipLayout, Moves, Tabu, Tally, climb, fill, wander
from plausible.search.local_search import FirstAscent, GreedyAscent, SearchMethod, TabuSearch
from plausible.search.metaheuristics import PerturbationRestarts, Restarts, SimulatedAnnealing
from plausible.search.search_problem import SearchProblem, SearchState, StopReason, improves

States: TypeAlias = tuple[int, ...]


class Flip(NamedTuple):
    """Put a variable, given by its place, from one state into another."""

    variable: int
    old: int
    new: int


@dataclass(frozen=True, slots=True, eq=False)
class FlipProblem(SearchProblem[States, Flip]):
    """log Π φ(x) over assignments x, zeros counted first; made by `FlipProblem.of`.

    The score is the sum of the logarithms that are finite, minus a penalty for each factor that is zero: so large that
    an assignment with fewer zeros always scores more. A search hence repairs what is impossible before all else.
    """

    starts: Ints  # State s of variable v has the number `starts[v] + s`
    #: The variables of each factor, and how far apart the entries of their states are.
    scope_starts: Ints
    scopes: Ints
    strides: Ints
    tables: Ints  # The factor of each entry of `scopes`
    #: Where variable v is in `scopes`: `entries[entry_starts[v]:entry_starts[v + 1]]`.
    entry_starts: Ints
    entries: Ints
    #: The logarithms of the factors, 0 for zero, and marks of what is zero.
    table_starts: Ints
    logs: Floats
    zeros: NDArray[np.uint8]
    penalty: float  # What a zero costs

    @classmethod
    def of(cls, problem: Problem) -> FlipProblem:
        """The flips of the variables of a problem.

        >>> from plausible.factors import Factor
        >>> from plausible.variables import Evidence
        >>> either = Factor({"A": 2, "B": 2}, [[0.0, 1.0], [0.5, 0.0]])
        >>> flips = FlipProblem.of(Problem.of([either], Evidence.read({}, {})))
        >>> flips.num_zeros((0, 0)), flips.num_zeros((1, 0)), round(flips.score((1, 0)), 6)
        (1, 0, -0.693147)
        """
        zeros = np.isneginf(problem.logs)
        logs = np.where(zeros, 0.0, problem.logs)
        num = len(problem.factors)
        ranges = -np.minimum.reduceat(logs, problem.table_starts[:-1]) if num else np.zeros(0)
        return cls(
            starts=starts_of(problem.sizes),
            scope_starts=problem.scope_starts,
            scopes=problem.scopes,
            strides=problem.strides,
            tables=np.repeat(np.arange(num), np.diff(problem.scope_starts)),
            entry_starts=np.searchsorted(np.sort(problem.scopes), np.arange(len(problem.sizes) + 1)).astype(np.int64),
            entries=np.argsort(problem.scopes, kind="stable").astype(np.int64),
            table_starts=problem.table_starts,
            logs=logs,
            zeros=zeros.astype(np.uint8),
            penalty=1.0 + float(ranges.sum()),
        )

    @property
    def num_variables(self) -> int:
        """How many variables there are."""
        return len(self.starts) - 1

    @property
    def movable(self) -> Ints:
        """Each variable once for each of its states but one: what a random flip is drawn from."""
        return np.repeat(np.arange(self.num_variables), np.diff(self.starts) - 1)

    def score(self, state: States) -> float:
        """The sum of the logarithms, and the penalty for zeros."""
        cells = self._cells(state)
        return float(self.logs[cells].sum()) - self.penalty * int(self.zeros[cells].sum())

    def num_zeros(self, state: States) -> int:
        """How many factors are zero."""
        return int(self.zeros[self._cells(state)].sum())

    def operators(self, state: States) -> list[Flip]:
        """Every variable to every other state."""
        sizes = np.diff(self.starts).tolist()
        return [Flip(v, old, new) for v, old in enumerate(state) for new in range(sizes[v]) if new != old]

    def apply(self, state: States, operator: Flip) -> States:
        """The assignment with one variable changed."""
        return (*state[: operator.variable], operator.new, *state[operator.variable + 1 :])

    def reverses(self, operator: Flip, other: Flip) -> bool:
        """Whether a variable goes back to a state that the other flip took it out of."""
        return operator.variable == other.variable and operator.new == other.old

    def deltas(self, state: States, operators: Sequence[Flip]) -> list[float]:
        """The change of the score by each flip, from one pass over the factors."""
        fields = self.fields(state)
        scores = fields.sums - self.penalty * fields.counts
        firsts = self.starts.tolist()
        return [float(scores[firsts[v] + new] - scores[firsts[v] + old]) for v, old, new in operators]

    def propose(self, state: States, rng: np.random.Generator) -> Flip | None:
        """A random flip, each with the same probability."""
        movable = self.movable
        if not len(movable):
            return None
        variable = int(rng.choice(movable))
        new = int(rng.integers(self.starts[variable + 1] - self.starts[variable] - 1))
        return Flip(variable, state[variable], new + (new >= state[variable]))

    def random_state(self, rng: np.random.Generator) -> States:
        """Each variable in a random state."""
        return tuple(rng.integers(np.diff(self.starts)).tolist())

    @property
    def layout(self) -> FlipLayout:
        """What kernels are given."""
        return FlipLayout(*(getattr(self, name) for name in FlipLayout._fields))

    def fields(self, states: States) -> FlipFields:
        """The arrays of a search at some states: for each state of each variable the logarithms and zeros it adds."""
        num = int(self.starts[-1])
        cells, counts = self.table_starts[:-1].copy(), np.empty(num, dtype=np.int64)
        fields = FlipFields(np.array(states, dtype=np.int64), cells, np.empty(num), counts)
        fill(self.layout, fields)
        return fields

    def _cells(self, state: States) -> Ints:
        steps = self.strides * np.array(state, dtype=np.int64)[self.scopes]
        moved = np.bincount(self.tables, weights=steps, minlength=len(self.table_starts) - 1)
        return self.table_starts[:-1] + moved.astype(np.int64)


#: The flips between two looks at the clock, the step limit and the one who wants to know.
_CHUNK = 2**16

_REASONS: tuple[StopReason, ...] = ("", "local maximum", "no operator", "no progress")


def compiled(method: SearchMethod) -> SearchMethod:
    """The same search of flips by kernels, where there are any for it."""
    if isinstance(method, Restarts):
        return replace(method, inner=compiled(method.inner))
    if isinstance(method, GreedyAscent | TabuSearch | SimulatedAnnealing | FirstAscent):
        return _CompiledFlips(method, max_steps=method.max_steps)
    return method


@dataclass(frozen=True, slots=True, eq=False)
class _Barred:
    """Until which step each state is barred, and the variables of the last flips, each looked at again in its turn."""

    until: Ints
    ring: Ints


@dataclass(frozen=True, slots=True)
class _CompiledFlips(SearchMethod):
    """A search of flips whose steps are many flips each."""

    method: SearchMethod = field(default_factory=GreedyAscent)

    def move(self, problem: Any, state: SearchState[Any]) -> SearchState[Any]:
        num = _CHUNK if self.max_steps is None else min(_CHUNK, self.max_steps - state.num_steps)
        if not len(problem.movable):
            return state.halted("no operator")
        if isinstance(self.method, SimulatedAnnealing):
            return _annealed(problem, state, self.method, num)
        if isinstance(self.method, FirstAscent):
            return _ascended(problem, state, num)
        return _climbed(problem, state, self.method if isinstance(self.method, TabuSearch) else None, num)


def _climbed(
    problem: FlipProblem, state: SearchState[States], tabu: TabuSearch | None, num: int
) -> SearchState[States]:
    """Steepest ascent, or tabu search."""
    fields, best, tally = _begun(problem, state)
    num_variables, num_rows = problem.num_variables, 1 if tabu is None else 2
    ring_size = 0 if tabu is None else tabu.length + 1
    memory = state.memory or _Barred(np.full(int(problem.starts[-1]), -1), np.full(ring_size, -1))
    # Room for the best flip of each variable and a tournament with as many places as the next power of two.
    nodes = np.empty((num_rows, 2 << (num_variables - 1).bit_length()), dtype=np.int64)
    targets = np.zeros((num_rows, num_variables), dtype=np.int64)
    moves = Moves(np.empty((num_rows, num_variables)), targets, nodes)
    barred = Tabu(memory.until.copy(), memory.ring.copy(), 1 if tabu is None else tabu.patience, moves)
    code, tally = climb(problem.layout, fields, barred, num, tally, best)
    after = _after(problem, state, fields, tally, best)
    return replace(after, memory=_Barred(barred.barred, barred.ring)).halted(_REASONS[code])


def _annealed(
    problem: FlipProblem, state: SearchState[States], method: SimulatedAnnealing, num: int
) -> SearchState[States]:
    """Simulated annealing; every attempt is a step."""
    num = min(num, method.schedule.num_attempts - state.num_steps)
    if num <= 0:
        return state.halted("schedule over")
    fields, best, tally = _begun(problem, state)
    seed = state.generator().integers(2**63, size=1).astype(np.uint64)
    attempts = Attempts(problem.movable, method.schedule.temperatures(state.num_steps, num), seed)
    _, tally = wander(problem.layout, fields, attempts, tally, best)
    return _after(problem, state, fields, tally, best)


def _ascended(problem: FlipProblem, state: SearchState[States], num: int) -> SearchState[States]:
    """First ascent: annealing at temperature zero, where only the attempts that succeed are steps."""
    fields, best, tally = _begun(problem, state)
    scores = fields.sums - problem.penalty * fields.counts
    own = np.repeat(scores[problem.starts[:-1] + fields.states], np.diff(problem.starts))
    if not improves(float((scores - own).max()), state.score):
        return state.halted("local maximum")
    num_before: int = state.memory or 0  # attempts, not steps: some make none, and random numbers must go on
    seed = state.generator().integers(2**63, size=1).astype(np.uint64) + np.uint64(num_before)
    attempts = Attempts(problem.movable, np.zeros(num), seed)
    made, tally = wander(problem.layout, fields, attempts, tally, best)
    steps = tally._replace(steps=state.num_steps + made, idle=0 if made else state.idle)
    return replace(_after(problem, state, fields, steps, best), memory=num_before + num)


def _begun(problem: FlipProblem, state: SearchState[States]) -> tuple[FlipFields, Ints, Tally]:
    tally = Tally(state.score, state.best_score, state.num_steps, state.idle)
    return problem.fields(state.current), np.array(state.best, dtype=np.int64), tally


def _after(
    problem: FlipProblem, state: SearchState[States], fields: FlipFields, tally: Tally, best: Ints
) -> SearchState[States]:
    """The state after some flips, its scores summed anew so that rounding does not pile up."""
    current, found = tuple(fields.states.tolist()), tuple(best.tolist())
    moved = replace(state, current=current, score=problem.score(current), num_steps=tally.steps, operator=None)
    return replace(moved.seen(found, problem.score(found), 0), idle=tally.idle)


_MAXIMUM = "A local maximum: try more restarts or more patience, and BranchAndBound() for a proof."


@dataclass(frozen=True, slots=True)
class LocalSearch(Optimizer, Checked, seed=whole(), time_limit=check_seconds):
    """Find a good assignment by changing one variable at a time: fast, for models of any size, no guarantee.

    It repairs zeros first: an assignment with fewer factors at zero beats any with more. Steepest and first ascent,
    tabu search and annealing, alone or with restarts, run in compiled code, at up to a million flips a second; other
    searches run as written. The bound of the answer is the product of the factors' largest entries.

    Parameters
    ----------
    method
        The search; by default tabu search with five restarts from perturbations, with a length of a quarter and a
        patience of ten times the number of variables. On large models without zeros, `SimulatedAnnealing` often does
        better in the same time.

    Examples
    --------
    >>> from plausible.factors import Factor
    >>> from plausible.variables import Evidence
    >>> ring = [Factor({a: 2, b: 2}, [[1, 3], [2, 1]]) for a, b in ("AB", "BC", "CD", "DA")]
    >>> found = LocalSearch().best(ring, Evidence.read({}, {}))
    >>> dict(found), round(found.log_probability, 6)
    ({'A': 1, 'B': 0, 'C': 1, 'D': 0}, 3.583519)
    """

    method: SearchMethod | None = None
    seed: int = 0
    time_limit: float | None = None

    def __post_init__(self) -> None:
        Checked.__post_init__(self)
        if self.method is not None and not isinstance(self.method, SearchMethod):
            raise InvalidArgument(f"method={self.method!r} must be a search, such as TabuSearch() or GreedyAscent().")

    def init(self, problem: Problem, start: Ints | None = None) -> SearchState[States]:
        """A search at a start, by default a random one; `current` and `best` are tuples of states."""
        flips = FlipProblem.of(problem)
        first = flips.random_state(np.random.default_rng(self.seed)) if start is None else tuple(map(int, start))
        return self._search(flips).init(flips, first, self.seed)

    def step(self, problem: Problem, state: SearchState[States]) -> SearchState[States]:
        """One step: up to 65536 flips or attempts by compiled searches, one step of the method by others."""
        flips = FlipProblem.of(problem)
        return self._search(flips).step(flips, state)

    def run(
        self,
        problem: Problem,
        state: SearchState[States] | None = None,
        progress: Callable[[SearchState[States]], object] | None = None,
    ) -> SearchState[States]:
        """Search to the end or the time limit; `progress` is told each state, and stops it by an answer that is true.

        From a state that was stopped by a limit or by `progress` the search goes on.
        """
        flips, state = FlipProblem.of(problem), self.init(problem) if state is None else state
        return self._search(flips).resume(flips, state, time_limit=self.time_limit, progress=progress)

    def optimize(self, problem: Problem) -> Optimum:
        """The best assignment that the search comes by."""
        state = self.run(problem)
        is_cut_off = state.stopped_by in ("step limit", "time limit")
        info = QueryInfo(
            "local search",
            exact=False,
            converged=not is_cut_off,
            error=None,
            num_steps=state.num_steps,
            advice=f"The search was stopped by its {state.stopped_by}: raise it." if is_cut_off else _MAXIMUM,
        )
        return Optimum(np.array(state.best, dtype=np.int64), 0.0, info)  # every factor's peak is one

    def _search(self, flips: FlipProblem) -> SearchMethod:
        num = flips.num_variables
        tabu = TabuSearch(length=max(1, num // 4), patience=max(100, 10 * num))
        return compiled(self.method or PerturbationRestarts(tabu, num=5, length=min(max(3, num // 10), 50)))
