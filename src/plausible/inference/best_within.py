"""A best assignment and its proof, as far as a budget goes: what models try before they refuse or approximate."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from plausible.factors import Factor
from plausible.inference.budget import Budget
from plausible.inference.exact_map.max_elimination import MaxOrder, summed_out
from plausible.inference.info import QueryInfo
from plausible.inference.optimization.graph_cuts import GraphCut, has_cut
from plausible.inference.optimization.map_branch_and_bound import BranchAndBound, BranchAndBoundState
from plausible.inference.optimizer import PROVED, Optimizer, Optimum
from plausible.inference.problem import Problem
from plausible.inference.propagation.belief_maximum import MaxProduct
from plausible.variables import Evidence

#: Entries of mini-buckets: small ones prove most of what can be proved, and cost little.
_SMALL, _LARGE = 2**10, 2**18
#: The nodes of a search with small mini-buckets.
_FEW_NODES = 2**20
#: Rough costs. Work is counted, and the clock is not looked at: the same question has the same answer.
_SECONDS_PER_VARIABLE = 2e-3  # to plan and make mini-buckets
_SECONDS_PER_SWEEP = 1e-8  # of messages, for each variable of each cell of each table; a search begins with some
_NUM_SWEEPS = 100
_NODES_PER_SECOND = 1e6
#: A search that has not ended in this part of a budget hardly ends in the rest.
_SHARE = 1 / 10


@dataclass(frozen=True, slots=True)
class BestWithin(Optimizer):
    """The cheapest of what proves a best assignment, in turns: a cut, messages with a search, larger tables for it.

    `GraphCut` where that is exact; else a `BranchAndBound` with small tables, then `MaxProduct`, then another one with
    large tables, from the best assignment so far, for a tenth of the budget. The answer is the best assignment of all
    these, and its bound the least: never worse than `MaxProduct` alone.

    >>> from plausible.factors import Factor
    >>> from plausible.variables import Evidence
    >>> ring = [Factor({a: 2, b: 2}, [[1, 3], [2, 1]]) for a, b in ("AB", "BC", "CA")]
    >>> best = BestWithin().best(ring, Evidence.read({}, {}))
    >>> best.info.engine, best.info.exact
    ('branch and bound', True)
    """

    budget: Budget = field(default_factory=Budget)

    def affords(self, problem: Problem) -> bool:
        """Whether a search with small tables costs no more than the budget, roughly."""
        num, work = len(problem.variables), _work(problem)
        seconds = num * _SECONDS_PER_VARIABLE + work * _SECONDS_PER_SWEEP * _NUM_SWEEPS
        return seconds <= self.budget.seconds and 8 * (3 * work + 4 * _SMALL * num) <= self.budget.bytes

    def optimize(self, problem: Problem) -> Optimum:
        """A best assignment, or a good one and a bound on better ones."""
        if has_cut(problem):
            return GraphCut().optimize(problem)
        if not self.affords(problem):
            return MaxProduct(max_steps=self._num_rounds(problem)).optimize(problem)
        engine = BranchAndBound(_SMALL, max_bytes=self.budget.bytes)
        state = engine.run(problem, progress=lambda state: state.num_nodes >= _FEW_NODES).state
        if state.upper - state.value <= PROVED:
            return engine.optimum(problem, state)
        messages = MaxProduct(max_steps=self._num_rounds(problem)).optimize(problem)
        return self._searched(problem, state, messages)

    def proved(
        self, log_factors: Sequence[Factor], order: MaxOrder
    ) -> tuple[Mapping[str, int], float, QueryInfo] | None:
        """The states of the maximised variables that are proved best, the others summed out before; see `marginal_map`.

        None where the sums need large tables, numbers lie too far apart for floats, or there is no proof.
        """
        left = summed_out(log_factors, order, _LARGE) or ()
        peaks = [float(table.max()) for table in left]
        factors = [(table - peak).exp() for table, peak in zip(left, peaks, strict=True) if peak > -math.inf]
        is_whole = all((f.flat > 0).sum() == (t.flat > -math.inf).sum() for f, t in zip(factors, left, strict=False))
        problem = Problem.of(factors, Evidence({}, {}, {}))
        if not left or -math.inf in peaks or not is_whole or not self.affords(problem):
            return None
        found = self.optimize(problem)
        value = float(problem.log_product(found.states[None, :])[0])
        if found.upper - value > PROVED:
            return None
        states = {v.name: int(state) for v, state in zip(problem.variables, found.states, strict=True)}
        return states, value + problem.log_scale + math.fsum(peaks), replace(found.info, exact=True)

    def _searched(self, problem: Problem, state: BranchAndBoundState, messages: Optimum) -> Optimum:
        """The end of a search with large tables, begun from the best that is known."""
        begun = replace(state.reopened(problem, messages.states), ceiling=min(state.upper, messages.upper))
        if begun.upper - begun.value > PROVED:
            num_nodes = begun.num_nodes + int(_SHARE * self.budget.seconds * _NODES_PER_SECOND)
            engine = BranchAndBound(_LARGE, max_bytes=self.budget.bytes // 4)
            begun = engine.run(problem, begun, progress=lambda state: state.num_nodes >= num_nodes).state
        found = BranchAndBound().optimum(problem, begun)
        return found if found.info.exact else replace(found, info=replace(found.info, advice=_ADVICE))

    def _num_rounds(self, problem: Problem) -> int:
        """The rounds of messages, each of which takes as long as two sweeps, in half of the budget."""
        rounds = self.budget.seconds / (4 * _SECONDS_PER_SWEEP * max(_work(problem), 1))
        return int(min(max(rounds, 1.0), MaxProduct().max_steps))


_ADVICE = "There may be a better assignment: raise budget=, add evidence, or try LinearRelaxation(integer=True)."


def _work(problem: Problem) -> int:
    """The variables of all cells of all tables."""
    return int((np.diff(problem.table_starts) * np.diff(problem.scope_starts)).sum())
