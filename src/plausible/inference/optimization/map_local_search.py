"""Most probable explanations by local search: one variable flipped at a time, in compiled code."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from plausible.base.arrays import Ints
from plausible.base.options import check_count, check_seconds
from plausible.errors import InvalidArgument
from plausible.inference.info import QueryInfo
from plausible.inference.optimization.flips import FlipProblem, States, compiled
from plausible.inference.optimizer import Optimizer, Optimum
from plausible.inference.problem import Problem
from plausible.search.local_search import SearchMethod, TabuSearch
from plausible.search.restarts import PerturbationRestarts
from plausible.search.search_state import SearchState

_MAXIMUM = "A local maximum: try more restarts or more patience, and BranchAndBound() for a proof."


@dataclass(frozen=True, slots=True)
class LocalSearch(Optimizer):
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
    time_limit
        Stop after this many seconds, checked every ten thousand flips or so, with the best assignment so far; `None`
        for no limit.

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
        if self.method is not None and not isinstance(self.method, SearchMethod):
            raise InvalidArgument(f"method={self.method!r} must be a search, such as TabuSearch() or GreedyAscent().")
        check_count("seed", self.seed)
        check_seconds("time_limit", self.time_limit)

    def init(self, problem: Problem, start: Ints | None = None) -> SearchState[States]:
        """A search at a start, by default a random one; `current` and `best` are tuples of states."""
        return self._init(FlipProblem.of(problem), start)

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
        return self._run(FlipProblem.of(problem), state, progress)

    def optimize(self, problem: Problem) -> Optimum:
        """The best assignment that the search comes by."""
        state = self._run(FlipProblem.of(problem))
        is_cut_off = state.stopped_by in ("step limit", "time limit")
        info = QueryInfo(
            engine="local search",
            exact=False,
            converged=not is_cut_off,
            error=None,
            num_steps=state.num_steps,
            advice=f"The search was stopped by its {state.stopped_by}: raise it." if is_cut_off else _MAXIMUM,
        )
        return Optimum(np.array(state.best, dtype=np.int64), 0.0, info)  # every factor's peak is one

    def _init(self, flips: FlipProblem, start: Ints | None = None) -> SearchState[States]:
        first = flips.random_state(np.random.default_rng(self.seed)) if start is None else tuple(map(int, start))
        return self._search(flips).init(flips, first, self.seed)

    def _run(
        self,
        flips: FlipProblem,
        state: SearchState[States] | None = None,
        progress: Callable[[SearchState[States]], object] | None = None,
    ) -> SearchState[States]:
        state = self._init(flips) if state is None else state
        return self._search(flips).resume(flips, state, time_limit=self.time_limit, progress=progress)

    def _search(self, flips: FlipProblem) -> SearchMethod:
        num = flips.num_variables
        tabu = TabuSearch(length=max(1, num // 4), patience=max(100, 10 * num))
        return compiled(self.method or PerturbationRestarts(tabu, num=5, length=min(max(3, num // 10), 50)))
