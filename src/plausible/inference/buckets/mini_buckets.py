"""Bounds on log Σ Π φ, on marginals and on maxima of sums: weighted mini-buckets with cost shifting."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from plausible.base import PROOF, SMALLEST, Floats, Ints, QueryInfo, check_flag
from plausible.errors import ImpossibleEvidence, NotSupported
from plausible.factors import Factor
from plausible.inference.approximate import ApproximateEngine, Beliefs
from plausible.inference.buckets.bucket_sweeps import BucketOptions, Side, decoded, improved
from plausible.inference.buckets.bucket_tree import BucketTree, Limits, free_order, scale_slack, tree_of
from plausible.inference.engine_bases import IterativeEngine, Optimizer, Optimum
from plausible.inference.estimates import Estimate
from plausible.inference.exact_map.max_elimination import constrained_order
from plausible.inference.optimization.map_local_search import LocalSearch
from plausible.inference.problem import Problem
from plausible.search.run import CONVERGED, Stops, iterate
from plausible.variables import Evidence, Variable

#: More than the rounding of a sum and a quotient, and than what underflows.
_RELATIVE, _ABSOLUTE = 1e-12, SMALLEST


@dataclass(frozen=True, slots=True, eq=False)
class ProbabilityBounds:
    """Where the probability of each state, or joint state, lies for certain."""

    #: An axis for each variable.
    lower: Floats
    upper: Floats
    #: A distribution to go on: the upper bounds on the sums, normalised. They err by factors that the states have in
    #: common, more so than the lower ones.
    estimate: Floats

    @property
    def error(self) -> float:
        """By how much `estimate` may be wrong anywhere."""
        return float(np.maximum(self.upper - self.estimate, self.estimate - self.lower).max())


def probability_bounds(log_lower: Floats, log_upper: Floats) -> ProbabilityBounds:
    """L(s) / (L(s) + Σ U of the others) ≤ P(s) ≤ U(s) / (U(s) + Σ L of the others)."""
    peak = log_upper.max()
    low, high = np.exp(log_lower - peak).ravel(), np.exp(log_upper - peak).ravel()
    under, over = low + _others(high), high + _others(low)
    lower = np.divide(low, under, out=np.zeros_like(low), where=under > 0) * (1 - _RELATIVE) - _ABSOLUTE
    upper = np.divide(high, over, out=np.zeros_like(low), where=over > 0) * (1 + _RELATIVE) + _ABSOLUTE
    shape = log_upper.shape
    return ProbabilityBounds(
        np.maximum(lower, 0.0).reshape(shape),
        np.minimum(upper, 1.0).reshape(shape),
        np.asarray((high / high.sum()).reshape(shape)),
    )


def _others(values: Floats) -> Floats:
    """For each number the sum of all others, without taking differences."""
    before = np.concatenate([[0.0], np.cumsum(values)[:-1]])
    after = np.concatenate([np.cumsum(values[::-1])[-2::-1], [0.0]])
    return np.asarray(before + after)


@dataclass(frozen=True, slots=True, eq=False)
class MarginalMapBound:
    """States of the maximised variables, and where log max Σ Π φ lies, `problem.log_scale` left out."""

    states: Ints  # The position of the state of each maximised variable, in the order asked for
    lower: float  # log Σ Π φ over the others, given these states, is at least this; so the maximum is
    upper: float  # No states have a larger log Σ Π φ
    info: QueryInfo  # How they were found; `error` is the gap


#: Each copy but the first has this weight, with a minus, in a bound from below: found by trial on grids.
_SPREAD = 2.0
#: ... and this where a minimum is wanted in its place.
_NARROW = 0.01
#: The weight that a maximum has where copies are compared.
_SOFTNESS = 0.1


@dataclass(frozen=True, slots=True, eq=False)
class MiniBucketState:
    """Mini-buckets after some sweeps; it can be pickled, and a run can go on from it."""

    tree: BucketTree
    upper: Side  # the tables and the best bound of either side
    lower: Side
    num_steps: int = 0  # sweeps with shifts that each side had after its first
    converged: bool = False  # whether the last one changed too little to go on

    @property
    def residual(self) -> float:
        """By how much the last sweep moved a bound."""
        return 0.0 if self.tree.is_exact else max(self.upper.change, self.lower.change)


@dataclass(frozen=True, slots=True)
class MiniBuckets(BucketOptions, IterativeEngine[MiniBucketState], ApproximateEngine, is_weighted=check_flag):
    """Guaranteed upper and lower bounds on log Z, by weighted mini-buckets (Liu & Ihler 2011).

    If the table of a variable would be too large, elimination splits the variable into copies and sums them out one by
    one, each as a powered sum:

        Σ_x Π_r f_r(x) ≤ Π_r (Σ_x f_r(x)^(1 / w_r))^w_r   for w_r > 0 that add up to one,

    and ≥ if one weight is positive and the others are negative. Shifting values between the copies then tightens both
    bounds, which allow for rounding. Zeros weaken the lower bound, more so with more copies: it may be -inf.
    Probabilities come from bounds for each state of a group of variables, one run per group; the `error` in their
    `.info` bounds the error of each probability. If no copies are needed, everything is exact.

    A sweep costs a few operations on each table: n tables of up to `states ** bound` entries for n variables.

    Parameters
    ----------
    bound, max_entries
        The most variables, and the most entries, in a table; a larger factor is not split.
    max_steps
        How many sweeps that tighten the bound follow the first one; zero for none.
    tolerance
        Stop when a sweep changes the bound by less than this.
    is_weighted
        Whether the copies of a variable share its weight. Otherwise the first copy has all of it and the others are
        maximised, as in the mini-buckets of Dechter & Rish (2003); for the lower bound they are minimised, up to a
        power.

    Examples
    --------
    >>> from plausible.factors import Factor
    >>> ring = [Factor({a: 2, b: 2}, [[1, 3], [2, 1]]) for a, b in ("AB", "BC", "CD", "DA")]
    >>> loose, exact = (MiniBuckets(bound=i).log_total(ring, Evidence.read({}, {})) for i in (2, 3))
    >>> loose.lower < float(exact) < loose.upper, exact.info.exact, round(float(exact), 6)
    (True, True, 4.983607)
    """

    max_steps: int = 5
    tolerance: float = 1e-3
    is_weighted: bool = True

    def init(self, problem: Problem, kept: Sequence[int] = ()) -> MiniBucketState:
        """The mini-buckets after a first sweep, some variables being kept."""
        num_kept = math.prod(problem.sizes[list(kept)].tolist())
        limits = Limits(self.bound, max(self.max_entries // num_kept, 1))
        tree = tree_of(problem, free_order(problem), kept, limits)
        upper = self._begun(problem, tree, self._weights(tree), _SOFTNESS)
        spread = _SPREAD if self.is_weighted else _NARROW
        rest = [len(bucket) - 1 for bucket in tree.buckets()]
        weights = [weight for num in rest for weight in (1 + spread * num, *[-spread] * num)]
        # States with a positive product, if they are easily found.
        states = np.zeros(len(problem.variables), dtype=np.int64)
        if tree.kept:
            states[list(tree.kept)] = np.unravel_index(int(upper.bound.argmax()), upper.bound.shape)
        states = decoded(tree, upper, states)
        if problem.log_product(states[None, :])[0] == -math.inf:
            states = np.array(LocalSearch().run(problem).best, dtype=np.int64)
        lower = self._begun(problem, tree, weights, _SOFTNESS, tuple(states.tolist()))
        return MiniBucketState(tree, upper, lower, converged=tree.is_exact or self.max_steps == 0)

    def step(self, problem: Problem, state: MiniBucketState) -> MiniBucketState:
        """A sweep with shifts for each side."""
        if state.tree.is_exact:
            return replace(state, converged=True)
        upper, lower = improved(state.tree, state.upper), improved(state.tree, state.lower)
        is_over = max(upper.change, lower.change) <= self.tolerance
        return MiniBucketState(state.tree, upper, lower, state.num_steps + 1, is_over)

    def estimate(self, problem: Problem) -> Estimate:
        """Bounds on log Σ Π φ, and the middle between them, or the upper one where there is no lower one."""
        state = self.run(problem).state
        scale, slack = problem.log_scale, scale_slack(problem)
        upper = state.upper.total + state.upper.slack + slack + scale
        lower = state.lower.total - state.lower.slack - slack + scale
        if upper == -math.inf:
            info = replace(self._info([state]), exact=True, converged=True, error=0.0, advice="")
            return Estimate.within(-math.inf, info)
        value = upper if lower == -math.inf else (lower + upper) / 2
        error = None if lower == -math.inf else (upper - lower) / 2
        info = replace(self._info([state]), error=0.0 if state.tree.is_exact else error)
        return Estimate(value, info, lower=lower, upper=upper, is_bound=True)

    def beliefs(self, problem: Problem, groups: Sequence[tuple[int, ...]]) -> Beliefs:
        """The normalised upper bounds of each group's states, with the error that all bounds allow; a run for each."""
        states = {group: self._run_keeping(problem, group) for group in dict.fromkeys(groups)}
        bounds = {group: _bounds(state) for group, state in states.items()}
        tables = {group: found.estimate for group, found in bounds.items()}
        info = self._info(list(states.values()))
        worst = max((found.error for found in bounds.values()), default=0.0)
        return Beliefs(tuple(tables[group] for group in groups), replace(info, error=0.0 if info.exact else worst))

    def probability_bounds(self, problem: Problem, groups: Sequence[tuple[int, ...]]) -> list[ProbabilityBounds]:
        """Bounds on P(group) for each group of variables, given by their places; they hold for certain."""
        return [_bounds(self._run_keeping(problem, group)) for group in groups]

    def bound_marginal_map(
        self, factors: Iterable[Factor], targets: Sequence[Variable], evidence: Evidence
    ) -> tuple[tuple[int, ...], float]:
        """Positions of good states of targets that are not observed, and what log Σ Π φ exceeds for none."""
        problem = Problem.of(factors, evidence)
        found = self.marginal_map(problem, problem.places(targets))
        return tuple(found.states.tolist()), found.upper + problem.log_scale

    def marginal_map(self, problem: Problem, max_places: Collection[int]) -> MarginalMapBound:
        """Bounds on log max Σ Π φ over some variables, the others being summed out, and states that come near it.

        The sums, as powered sums of copies, go before the maxima. The states are decoded from the mini-buckets of the
        maximised variables.

        >>> from plausible.factors import Factor
        >>> ring = [Factor({a: 2, b: 2}, [[1, 3], [2, 1]]) for a, b in ("AB", "BC", "CD", "DA")]
        >>> found = MiniBuckets().marginal_map(Problem.of(ring, Evidence.read({}, {})), [0, 2])
        >>> found.states.tolist(), found.info.exact
        ([0, 0], True)
        """
        places = list(max_places)
        sums_first = constrained_order(problem.factors, {problem.variables[place].name for place in places})
        order = [problem.place_of[name] for name in (*sums_first.sums, *sums_first.maxima)]
        tree = tree_of(problem, order, (), Limits(self.bound, self.max_entries))
        side = self._begun(problem, tree, self._weights(tree, set(places)), _SOFTNESS)
        best = decoded(tree, side, np.zeros(len(problem.variables), dtype=np.int64))
        found = self._given(problem, places, best)

        def settled(side: Side) -> str:
            return CONVERGED if tree.is_exact or side.change <= self.tolerance else ""

        run = iterate(partial(improved, tree), side, Stops(self.tolerance, self.max_steps), ends=settled)
        side = run.state
        if run.num_steps:
            later = decoded(tree, side, best)
            other = self._given(problem, places, later)
            best, found = (later, other) if float(other) > float(found) else (best, found)
        if side.total == -math.inf:
            raise ImpossibleEvidence.outright()
        info = self._worth(
            [tree],
            is_exact=tree.is_exact and found.info.exact,
            residual=side.change,
            converged=run.converged or not self.max_steps,
            num_steps=run.num_steps,
            advice="" if tree.is_exact else f"Raise bound above {self.bound} for tighter bounds.",
        )
        lower, upper = found.lower - problem.log_scale - scale_slack(problem), side.total + side.slack
        gap = max(0.0, upper - lower) if lower > -math.inf else None
        return MarginalMapBound(best[places], lower, upper, replace(info, error=gap))

    def _given(self, problem: Problem, places: Sequence[int], states: Ints) -> Estimate:
        """log Σ Π φ, `problem.log_scale` included, given the states of some variables."""
        hard = {problem.variables[place].name: int(states[place]) for place in places}
        return self.log_total(problem.reduced, Evidence(hard, {}, {}))

    def _run_keeping(self, problem: Problem, group: tuple[int, ...]) -> MiniBucketState:
        num_entries = math.prod(problem.sizes[list(group)].tolist())
        if num_entries > self.max_entries:
            names = ", ".join(problem.variables[place].name for place in group)
            raise NotSupported(
                f"The joint of {names} has {num_entries:.3g} entries; max_entries={self.max_entries}. "
                "Ask for fewer variables at once."
            )
        state = self.run(problem, self.init(problem, group)).state
        if state.upper.total == -math.inf:
            raise ImpossibleEvidence.outright()
        return state

    def _weights(self, tree: BucketTree, maximized: Collection[int] = ()) -> list[float]:
        weights: list[float] = []
        for bucket in tree.buckets():
            if tree.clusters[bucket[0]].axes[0] in maximized:
                weights += [0.0] * len(bucket)
            elif self.is_weighted:
                weights += [1 / len(bucket)] * len(bucket)
            else:
                weights += [1.0, *[0.0] * (len(bucket) - 1)]
        return weights

    def _info(self, states: Sequence[MiniBucketState]) -> QueryInfo:
        is_exact = all(state.tree.is_exact for state in states)
        return self._worth(
            [state.tree for state in states],
            is_exact=is_exact,
            residual=max((state.residual for state in states), default=0.0),
            converged=all(state.converged for state in states),
            num_steps=max((state.num_steps for state in states), default=0),
            advice="" if is_exact else f"Raise bound above {self.bound}: with larger tables the bounds meet.",
        )


def _bounds(state: MiniBucketState) -> ProbabilityBounds:
    upper, lower = state.upper, state.lower
    return probability_bounds(lower.bound - lower.slack, upper.bound + upper.slack)


#: The weight that a maximum has where copies are compared: next to none.
_MAX_SOFTNESS = 0.01


@dataclass(frozen=True, slots=True, eq=False)
class MiniBucketMaxState:
    """Mini-buckets after some sweeps; it can be pickled, and a run can go on from it."""

    tree: BucketTree
    side: Side  # the tables of the mini-buckets and the best bound
    states: Ints  # the best assignment so far, by state positions
    value: float  # log Π φ of it, `problem.log_scale` left out; -inf where some factor is zero
    num_steps: int = 0  # sweeps with shifts after the first
    converged: bool = False  # whether the bound is reached, or stopped going down

    @property
    def upper(self) -> float:
        """What no assignment exceeds."""
        return self.value if self.tree.is_exact else max(self.value, self.side.total + self.side.slack)

    @property
    def residual(self) -> float:
        """By how much the last sweep moved the bound."""
        return 0.0 if self.tree.is_exact else self.side.change


@dataclass(frozen=True, slots=True)
class MiniBucketMax(BucketOptions, IterativeEngine[MiniBucketMaxState], Optimizer):
    """A good assignment and an upper bound on the best one, from tables of limited size (Dechter & Rish 2003).

    If the table of a variable would be too large, elimination splits the variable into copies that need not agree,
    which can only raise the maximum. Shifting values until the max-marginals of the copies agree lowers it again
    (Ihler, Flerova, Dechter & Otten 2012). Assignments are read from the mini-buckets; the variables eliminated last
    are set first. If no copies are needed, the assignment is a best one. A sweep costs a few operations on each table.
    Options are as for `MiniBuckets`.

    >>> from plausible.factors import Factor
    >>> from plausible.variables import Evidence
    >>> ring = [Factor({a: 2, b: 2}, [[1, 3], [2, 1]]) for a, b in ("AB", "BC", "CD", "DA")]
    >>> found = MiniBucketMax(bound=3).best(ring, Evidence.read({}, {}))
    >>> round(found.log_probability, 6), found.info.exact
    (3.583519, True)
    """

    def init(self, problem: Problem) -> MiniBucketMaxState:
        """The mini-buckets after a first sweep, and what it favours."""
        tree = tree_of(problem, free_order(problem), (), Limits(self.bound, self.max_entries))
        side = self._begun(problem, tree, [0.0] * len(tree.clusters), _MAX_SOFTNESS)
        nothing = np.zeros(len(problem.variables), dtype=np.int64)
        return self._decoded(problem, MiniBucketMaxState(tree, side, nothing, -math.inf))

    def step(self, problem: Problem, state: MiniBucketMaxState) -> MiniBucketMaxState:
        """A sweep with shifts, and the assignment that it favours, if it is better."""
        if state.converged:
            return state
        side = improved(state.tree, state.side)
        return self._decoded(problem, replace(state, side=side, num_steps=state.num_steps + 1))

    def optimize(self, problem: Problem) -> Optimum:
        """The best assignment that was met, with the best bound."""
        state = self.run(problem).state
        if state.upper == -math.inf:
            raise ImpossibleEvidence.outright()
        is_proved = state.upper - state.value <= PROOF
        advice = "" if is_proved else f"Raise bound above {self.bound}, or search with BranchAndBound()."
        facts = {"converged": state.converged, "num_steps": state.num_steps, "advice": advice}
        return Optimum(
            state.states, state.upper, self._worth([state.tree], is_exact=is_proved, residual=state.residual, **facts)
        )

    def _decoded(self, problem: Problem, state: MiniBucketMaxState) -> MiniBucketMaxState:
        states = decoded(state.tree, state.side, state.states)
        value = float(problem.log_product(states[None, :])[0])
        if value > state.value:
            state = replace(state, states=states, value=value)
        is_over = state.upper - state.value <= PROOF if state.upper > -math.inf else True
        return replace(state, converged=is_over or state.side.change <= self.tolerance)
