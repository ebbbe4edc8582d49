"""What "auto" does where no tables fit: beliefs, sums and proved best assignments, as far as a budget goes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

import numpy as np

from plausible.base import Argument, Call, QueryInfo, Remedy, told_remedies
from plausible.errors import ImpossibleEvidence, NotSupported
from plausible.factors import Factor
from plausible.inference import variational
from plausible.inference.approximate import ApproximateEngine, Beliefs
from plausible.inference.buckets.mini_buckets import MiniBuckets, ProbabilityBounds
from plausible.inference.budget import ADD_EVIDENCE, RAISE_BUDGET, Budget
from plausible.inference.engine_bases import PROVED, Optimizer, Optimum
from plausible.inference.estimates import Estimate
from plausible.inference.exact_map.max_elimination import MaxOrder, summed_out
from plausible.inference.optimization.graph_cuts import GraphCut, has_cut
from plausible.inference.optimization.map_branch_and_bound import BranchAndBound, BranchAndBoundState
from plausible.inference.problem import Problem
from plausible.inference.propagation.belief_propagation import LoopyBP, MaxProduct, TreeReweightedBP
from plausible.inference.sampling.chains import Gibbs
from plausible.variables import Evidence, Variable

#: Rough costs of mini-buckets, all sweeps together, for each variable and each entry that its table may have. Work is
#: counted, and the clock is not looked at: the same question has the same answer.
_SECONDS_PER_ENTRY = 5e-8
_BYTES_PER_ENTRY = 64
_SECONDS_PER_DRAW = 1e-7  # of one variable
#: Damped messages settle more often than plain ones, for little more.
MESSAGES = LoopyBP(damping=0.3)
#: Sweeps of chains: fewer tell too little of their own error.
_FEWEST_SAMPLES = 1000
#: Tables of mini-buckets: more entries gain little for what they cost.
_LARGEST, _SMALLEST = 2**18, 2**4
#: The part of a budget for mini-buckets, for draws, and for a search, which hardly ends in the rest if not in this.
_SHARE = 1 / 10
#: Chains whose R-hat is larger have not met.
_UNMIXED = 1.2
_MESSAGES, _DRAWS = "loopy belief propagation", "Gibbs sampling"
#: Certain bounds take a run of mini-buckets for each group of variables.
_FEW_GROUPS = 4


@dataclass(frozen=True, slots=True)
class BeliefsWithin(ApproximateEngine):
    """Estimates that several methods agree on, with certain bounds or an estimate of their error.

    log Z lies, for certain, between the better of the lower bounds of mini-buckets and mean field and the better of the
    upper ones of mini-buckets and tree-reweighted messages. The estimate is that of `LoopyBP`, or the middle where it
    lies outside or does not settle.

    Beliefs are those of `LoopyBP` where draws by `Gibbs` agree with them as well as they can tell, else those of the
    draws; `info.error` is how far the two are apart and what the draws themselves may be off, and one where chains have
    not met. Where only a few groups are asked for, mini-buckets bound them for certain.
    """

    budget: Budget = field(default_factory=Budget)

    is_noisy = True

    def estimate(self, problem: Problem) -> Estimate:
        """log Σ Π φ between certain bounds."""
        loopy = MESSAGES.estimate(problem)
        if loopy.info.exact:
            return loopy
        found = [TreeReweightedBP(damping=0.3).estimate(problem), self._buckets(problem, 1).estimate(problem)]
        if not any(estimate.info.exact for estimate in found):
            with suppress(ImpossibleEvidence, NotSupported):  # a lower bound, where there is one
                found.append(variational.MeanField().estimate(problem))  # loaded when it is needed
        lower, upper = max(one.lower for one in found), min(one.upper for one in found)
        if upper == -math.inf:
            return Estimate.within(-math.inf, found[1].info)
        middle = (lower + upper) / 2 if lower > -math.inf else upper
        value = float(loopy) if loopy.info.converged and lower <= loopy <= upper else middle
        error = max(upper - value, value - lower)
        info = _told(f"{_MESSAGES} within bounds", [loopy.info, *(one.info for one in found)], error, _BOUND_REMEDIES)
        return Estimate(value, info, lower=lower, upper=upper, is_bound=True)

    def beliefs(self, problem: Problem, groups: Sequence[tuple[int, ...]]) -> Beliefs:
        """The joint of each group, with an error that two ways agree on, or that is certain."""
        draws = self._chains(problem).beliefs(problem, groups)
        try:
            messages = MESSAGES.beliefs(problem, groups)
        except NotSupported:  # no factor has all variables of a group
            messages = draws
        if messages.info.exact or draws.info.exact:
            return messages if messages.info.exact else draws
        beliefs = _agreed(messages, draws)
        tables, error, name = beliefs.tables, beliefs.info.error or 0.0, beliefs.info.engine
        if (bounds := self._bounds(problem, groups)) and max(bound.error for bound in bounds) < error:
            tables = tuple(
                table if ((table >= bound.lower) & (table <= bound.upper)).all() else bound.estimate
                for bound, table in zip(bounds, tables, strict=True)
            )
            error = max(
                float(np.maximum(bound.upper - table, table - bound.lower).max())
                for bound, table in zip(bounds, tables, strict=True)
            )
            name += ", within mini-bucket bounds"
        return Beliefs(tables, replace(beliefs.info, engine=name, error=error))

    def bound_marginal_map(
        self, factors: Iterable[Factor], targets: Sequence[Variable], evidence: Evidence
    ) -> tuple[tuple[int, ...], float]:
        """Positions of good states of targets that are not observed, and what log Σ Π φ exceeds for none."""
        listed = list(factors)
        return self._buckets(Problem.of(listed, evidence), 1).bound_marginal_map(listed, targets, evidence)

    def shared_by(self, num_questions: int) -> BeliefsWithin:
        """The same with the budget of one of so many questions."""
        return replace(self, budget=replace(self.budget, seconds=self.budget.seconds / max(num_questions, 1)))

    def _bounds(self, problem: Problem, groups: Sequence[tuple[int, ...]]) -> list[ProbabilityBounds]:
        """Certain bounds of each group; none where there are many groups, or large ones."""
        if len(groups) > _FEW_GROUPS:
            return []
        try:
            return self._buckets(problem, len(groups)).probability_bounds(problem, groups)
        except (ImpossibleEvidence, NotSupported):
            return []

    def _chains(self, problem: Problem) -> Gibbs:
        """Chains as long as usual, or shorter where that takes too long."""
        usual = Gibbs()
        affordable = _SHARE * self.budget.seconds / (max(len(problem.variables), 1) * _SECONDS_PER_DRAW)
        num_samples = int(min(max(affordable, _FEWEST_SAMPLES), usual.num_samples))
        return Gibbs(num_samples, burn_in=usual.burn_in * num_samples // usual.num_samples)

    def _buckets(self, problem: Problem, num_runs: int) -> MiniBuckets:
        """Mini-buckets of the largest tables that the budget allows, roughly."""
        num = max(len(problem.variables), 1) * max(num_runs, 1)
        affordable = min(
            _SHARE * self.budget.seconds / (num * _SECONDS_PER_ENTRY), self.budget.bytes / (num * _BYTES_PER_ENTRY)
        )
        entries = int(min(max(affordable, _SMALLEST), _LARGEST))
        return MiniBuckets(bound=max(entries.bit_length() - 1, 1), max_entries=entries)


def _agreed(messages: Beliefs, draws: Beliefs) -> Beliefs:
    """The better of two, off by no more than they are apart and the draws may be off.

    Messages, where draws can't tell them from the truth; else draws, which settle in the end. Both may be wrong: so the
    difference always counts, and nothing has converged where it is more than noise. Chains that have not met know
    nothing.
    """
    apart = max((float(np.abs(a - b).max()) for a, b in zip(messages.tables, draws.tables, strict=True)), default=0.0)
    is_blind = draws.info.error is None or (draws.info.r_hat or 1.0) > _UNMIXED
    noise = 1.0 if is_blind else float(draws.info.error or 0.0)
    agree = apart <= noise
    trusts_messages = messages.info.converged and (agree or not draws.info.converged)
    first, second = (_MESSAGES, _DRAWS) if trusts_messages else (_DRAWS, _MESSAGES)
    name = _DRAWS if messages is draws else f"{first} against {second}"
    told = _told(name, [messages.info, draws.info], min(1.0, apart + noise), _BELIEF_REMEDIES)
    return Beliefs((messages if trusts_messages else draws).tables, replace(told, converged=told.converged and agree))


_BOUND_REMEDIES = (
    RAISE_BUDGET,
    ADD_EVIDENCE,
    Remedy("take larger tables: ", Argument("engine", Call("MiniBuckets", Argument("bound", Ellipsis)))),
)
_BELIEF_REMEDIES = (
    RAISE_BUDGET,
    ADD_EVIDENCE,
    Remedy("draw more: ", Argument("engine", Call("Gibbs", Argument("num_samples", Ellipsis)))),
    Remedy("pass messages between regions: ", Argument("engine", Call("RegionBP"))),
)


def _told(name: str, infos: Sequence[QueryInfo], error: float, remedies: Sequence[Remedy]) -> QueryInfo:
    """How an answer of several ways was got, and what to try next."""
    return QueryInfo(
        name,
        exact=False,
        converged=all(info.converged for info in infos),
        error=error,
        cost=sum(info.cost for info in infos),
        largest_table=max(info.largest_table for info in infos),
        num_steps=max(info.num_steps for info in infos),
        advice=told_remedies(remedies).strip(),
    )


#: Entries of mini-buckets: small ones prove most of what can be proved, and cost little.
_SMALL, _LARGE = 2**10, 2**18
#: The nodes of a search with small mini-buckets.
_FEW_NODES = 2**20
#: Rough costs. Work is counted, and the clock is not looked at: the same question has the same answer.
_SECONDS_PER_VARIABLE = 2e-3  # to plan and make mini-buckets
_SECONDS_PER_SWEEP = 1e-8  # of messages, for each variable of each cell of each table; a search begins with some
_NUM_SWEEPS = 100
_NODES_PER_SECOND = 1e6


@dataclass(frozen=True, slots=True)
class BestWithin(Optimizer):
    """The cheapest of what proves a best assignment, in turns: a cut, messages with a search, larger tables for it.

    `GraphCut` where that is exact; else a `BranchAndBound` with small tables, then `MaxProduct`, then another one with
    large tables, from the best assignment so far, for a tenth of the budget. The answer is the best assignment of all
    these, and its bound the least: never worse than `MaxProduct` alone.
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
        return states, value + problem.log_scale + math.fsum(peaks), replace(found.info, exact=True, error=0.0)

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
