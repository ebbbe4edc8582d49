"""Most probable explanations by local search: one variable flipped at a time, in compiled code."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from plausible.errors import InvalidArgument
from plausible.inference.info import QueryInfo
from plausible.inference.optimization.flips import FlipProblem, Floats, Ints, States
from plausible.inference.optimizer import Optimizer, Optimum
from plausible.inference.problem import Problem
from plausible.inference.search.annealing import SimulatedAnnealing
from plausible.inference.search.local_search import (
    FirstAscent,
    GreedyAscent,
    SearchMethod,
    SearchState,
    StopReason,
    check_count,
    improves,
)
from plausible.inference.search.restarts import PerturbationRestarts, Restarts
from plausible.inference.search.tabu_search import TabuSearch

__all__ = ["LocalSearch"]

#: The flips between two looks at the clock, the step limit and the one who wants to know.
_CHUNK = 2**16


@dataclass(frozen=True, slots=True)
class LocalSearch(Optimizer):
    """A local maximum of Π φ over the flips of one variable: fast, on models of any size, without a guarantee.

    Zeros are repaired first: an assignment with fewer factors at zero beats any with more. Steepest and first ascent,
    tabu search and annealing, alone or with restarts, run in compiled code, at about a million flips a second; other
    searches run as they are. The bound that comes with the answer is the product of the factors' peaks.

    Parameters
    ----------
    method
        The search; where left out, tabu search with five restarts from perturbations, its length a quarter and its
        patience ten times the number of variables. On large models without zeros `SimulatedAnnealing` often comes
        further in the same time.
    seed
        The same seed gives the same answer.

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

    def __post_init__(self) -> None:
        if self.method is not None and not isinstance(self.method, SearchMethod):
            raise InvalidArgument(f"method={self.method!r} must be a search, such as TabuSearch() or GreedyAscent().")
        check_count("seed", self.seed)

    def init(self, problem: Problem, start: NDArray[np.int64] | None = None) -> SearchState[States]:
        """A search at a start, by default a random one; `current` and `best` are tuples of states."""
        flips = FlipProblem.of(problem)
        first = flips.random_state(np.random.default_rng(self.seed)) if start is None else tuple(map(int, start))
        return self._search(flips).init(flips, first, self.seed)

    def step(self, problem: Problem, state: SearchState[States]) -> SearchState[States]:
        """Some ten thousand flips."""
        flips = FlipProblem.of(problem)
        return self._search(flips).step(flips, state)

    def run(
        self,
        problem: Problem,
        state: SearchState[States] | None = None,
        progress: Callable[[SearchState[States]], object] | None = None,
    ) -> SearchState[States]:
        """Search to the end; `progress` is told each state, and stops the search by an answer that is true."""
        flips = FlipProblem.of(problem)
        return self._search(flips).resume(flips, self.init(problem) if state is None else state, progress=progress)

    def optimize(self, problem: Problem) -> Optimum:
        """The best assignment that the search comes by."""
        state = self.run(problem)
        is_possible = not FlipProblem.of(problem).num_zeros(state.best)
        advice = (
            "A local maximum: try more restarts or more patience, and BranchAndBound() for a proof."
            if is_possible
            else "No assignment with a positive product was found: try BranchAndBound(), which tells if there is one."
        )
        info = QueryInfo(
            engine="local search",
            exact=False,
            converged=is_possible and state.stopped != "step limit",
            error=None,
            iterations=state.steps,
            advice=advice,
        )
        return Optimum(np.array(state.best, dtype=np.int64), 0.0, info)  # every factor's peak is one

    def _search(self, flips: FlipProblem) -> SearchMethod:
        num = flips.num_variables
        tabu = TabuSearch(length=max(1, num // 4), patience=max(100, 10 * num))
        return _compiled(self.method or PerturbationRestarts(tabu, num=5, length=min(max(3, num // 10), 50)))


def _compiled(method: SearchMethod) -> SearchMethod:
    """The same search of flips by kernels, where there are any for it."""
    if isinstance(method, Restarts):
        return replace(method, inner=_compiled(method.inner))
    return _FlipSearch(method, max_steps=method.max_steps) if type(method) in _RUNS else method


@dataclass(frozen=True, slots=True)
class _FlipSearch(SearchMethod):
    """A search of flips whose steps are many flips each."""

    method: SearchMethod = field(default_factory=GreedyAscent)

    def move(self, problem: Any, state: SearchState[Any]) -> SearchState[Any]:
        num = _CHUNK if self.max_steps is None else min(_CHUNK, self.max_steps - state.steps)
        run = _Run(problem, state)
        reason = _RUNS[type(self.method)](self.method, run, num)
        return run.finished().halted(reason)


_Structure: TypeAlias = tuple[
    Ints, Ints, Ints, Ints, Ints, Ints, Ints, Ints, Floats, NDArray[np.uint8], float, Ints, Floats, Ints
]


class _Run:
    """The arrays of some flips from a state on."""

    def __init__(self, problem: FlipProblem, state: SearchState[States]) -> None:
        self.problem, self.state = problem, state
        self.states = np.array(state.current, dtype=np.int64)
        self.best = np.array(state.best, dtype=np.int64)
        self.fields = problem.fields(self.states)
        self.progress = np.array([state.score, state.best_score, state.steps, state.idle], dtype=np.float64)
        self.memory: Any = state.memory

    @property
    def structure(self) -> _Structure:
        """What all kernels are given first."""
        p = self.problem
        cells, sums, counts = self.fields
        shape = (p.starts, p.scope_starts, p.scopes, p.strides, p.entry_starts, p.entries, p.tables)
        return *shape, cells, p.logs, p.zeros, p.penalty, self.states, sums, counts

    @property
    def is_maximum(self) -> bool:
        """Whether no flip improves."""
        _, sums, counts = self.fields
        scores = sums - self.problem.penalty * counts
        own = np.repeat(scores[self.problem.starts[:-1] + self.states], np.diff(self.problem.starts))
        return not improves(float((scores - own).max()), float(self.progress[0]))

    def finished(self) -> SearchState[States]:
        """The state after the flips, its scores summed anew so that rounding does not pile up."""
        current, best = tuple(self.states.tolist()), tuple(self.best.tolist())
        state = replace(
            self.state,
            current=current,
            score=self.problem.score(current),
            steps=int(self.progress[2]),
            memory=self.memory,
        )
        after = state.seen(best, self.problem.score(best), 0)
        return replace(after, idle=int(self.progress[3]))


def _greedy(method: SearchMethod, run: _Run, num: int) -> StopReason:
    from plausible.kernels import local_moves

    barred, ring = np.full(int(run.problem.starts[-1]), -1), np.empty(0, dtype=np.int64)
    code = local_moves.climb(*run.structure, barred, ring, 0, num, run.progress, run.best)
    return _REASONS[code]


def _tabu(method: SearchMethod, run: _Run, num: int) -> StopReason:
    from plausible.kernels import local_moves

    method = cast(TabuSearch, method)
    known = run.memory or (np.full(int(run.problem.starts[-1]), -1), np.full(method.length + 1, -1))
    barred, ring = known[0].copy(), known[1].copy()
    run.memory = barred, ring
    code = local_moves.climb(*run.structure, barred, ring, method.patience, num, run.progress, run.best)
    return _REASONS[code]


def _anneal(method: SearchMethod, run: _Run, num: int) -> StopReason:
    from plausible.kernels import local_moves

    schedule, first = cast(SimulatedAnnealing, method).schedule, run.state.steps
    movable = run.problem.movable
    if not len(movable):
        return "no operator"
    num = min(num, schedule.num_attempts - first)
    seed = run.state.generator().integers(2**63, size=1).astype(np.uint64)
    temperatures = schedule.temperatures(first, num)
    local_moves.wander(*run.structure, movable, temperatures, seed, run.progress, run.best)
    return "schedule over" if first + num >= schedule.num_attempts else ""


def _first(method: SearchMethod, run: _Run, num: int) -> StopReason:
    from plausible.kernels import local_moves

    movable = run.problem.movable
    if not len(movable):
        return "no operator"
    if run.is_maximum:
        return "local maximum"
    seed = run.state.generator().integers(2**63, size=1).astype(np.uint64)
    seed += np.uint64(run.memory or 0)  # attempts, not steps: some attempts make no step
    made = local_moves.wander(*run.structure, movable, np.zeros(num), seed, run.progress, run.best)
    run.progress[2:] = run.state.steps + made, 0
    run.memory = (run.memory or 0) + num
    return ""


_REASONS: tuple[StopReason, ...] = ("", "local maximum", "no operator", "no progress")

_RUNS: dict[type[SearchMethod], Callable[[SearchMethod, _Run, int], StopReason]] = {
    GreedyAscent: _greedy,
    TabuSearch: _tabu,
    SimulatedAnnealing: _anneal,
    FirstAscent: _first,
}
