"""Beliefs and sums by several ways, as far as a budget goes: what "auto" does where no tables fit.

No approximation is good everywhere, and none but bounds knows how good it is. So "auto" asks several that err in
different ways, and tells what they agree on: certain bounds on log Z, and of beliefs the difference of two ways.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

import plausible.inference
from plausible.base.arrays import Floats
from plausible.base.remedies import Argument, Call, Remedy, told_remedies
from plausible.errors import ImpossibleEvidence, NotSupported
from plausible.inference.approximate import ApproximateEngine, Beliefs
from plausible.inference.buckets.mini_buckets import MiniBuckets, ProbabilityBounds
from plausible.inference.budget import ADD_EVIDENCE, RAISE_BUDGET, Budget
from plausible.inference.info import Estimate, QueryInfo
from plausible.inference.problem import Problem
from plausible.inference.propagation.belief_propagation import LoopyBP, TreeReweightedBP
from plausible.inference.sampling.chains import Gibbs

#: Rough costs of mini-buckets, all sweeps together, for each variable and each entry that its table may have. Work is
#: counted, and the clock is not looked at: the same question has the same answer.
_SECONDS_PER_ENTRY = 5e-8
_BYTES_PER_ENTRY = 64
_SECONDS_PER_DRAW = 1e-7  # of one variable
#: Sweeps of chains: fewer tell too little of their own error.
_FEWEST_SAMPLES = 1000
#: Tables of mini-buckets: more entries gain little for what they cost.
_LARGEST, _SMALLEST = 2**18, 2**4
#: The part of a budget for mini-buckets, and for draws.
_SHARE = 1 / 10
#: Messages differ from draws that don't know better by no more than so many times what those may be off.
_AGREE = 1.0
_MESSAGES, _DRAWS = "loopy belief propagation", "Gibbs sampling"
#: Certain bounds take a run of mini-buckets for each group of variables.
_FEW_GROUPS = 4


@dataclass(frozen=True, slots=True)
class BeliefsWithin(ApproximateEngine):
    """Estimates that several methods agree on, with certain bounds or an estimate of their error.

    log Z lies, for certain, between the better of the lower bounds of mini-buckets and mean field and the better of the
    upper ones of mini-buckets and tree-reweighted messages. The estimate is that of `LoopyBP`, moved between them where
    it lies outside, or their middle where messages don't settle.

    Beliefs are those of `LoopyBP` where draws by `Gibbs` agree with them as well as they can tell, else those of the
    draws; `info.error` is how far the two are apart and what the draws themselves may be off. Where only a few groups
    are asked for, mini-buckets bound them for certain.

    >>> from plausible.factors import Factor
    >>> from plausible.variables import Evidence
    >>> ring = [Factor({a: 2, b: 2}, [[2, 1], [1, 2]]) for a, b in ("AB", "BC", "CA")] + [Factor({"A": 2}, [3, 1])]
    >>> found = BeliefsWithin().log_total(ring, Evidence.read({}, {}))
    >>> found.lower <= math.log(56) <= found.upper, found.is_bound
    (True, True)
    """

    budget: Budget = field(default_factory=Budget)

    is_noisy = True

    def estimate(self, problem: Problem) -> Estimate:
        """log Σ Π φ between certain bounds."""
        loopy = LoopyBP(damping=0.3).estimate(problem)
        if loopy.info.exact:
            return loopy
        found = [TreeReweightedBP(damping=0.3).estimate(problem), self._buckets(problem, 1).estimate(problem)]
        if not any(estimate.info.exact for estimate in found):
            found += _mean_field(problem)
        lower, upper = max(one.lower for one in found), min(one.upper for one in found)
        if upper == -math.inf:
            return Estimate.within(-math.inf, found[1].info)
        is_inside = loopy.info.converged and math.isfinite(loopy)
        middle = (lower + upper) / 2 if lower > -math.inf else upper
        value = min(max(float(loopy) if is_inside else middle, lower), upper)
        error = max(upper - value, value - lower)
        info = _told(f"{_MESSAGES} within bounds", [loopy.info, *(one.info for one in found)], error, _BOUND_REMEDIES)
        return Estimate(value, info, lower=lower, upper=upper, is_bound=True)

    def beliefs(self, problem: Problem, groups: Sequence[tuple[int, ...]]) -> Beliefs:
        """The joint of each group, with an error that two ways agree on, or that is certain."""
        draws = self._chains(problem).beliefs(problem, groups)
        try:
            messages = LoopyBP(damping=0.3).beliefs(problem, groups)
        except NotSupported:  # no factor has all variables of a group
            messages = draws
        if messages.info.exact or draws.info.exact:
            return messages if messages.info.exact else draws
        apart = max((float(np.abs(a - b).max()) for a, b in zip(messages.tables, draws.tables, strict=True)), default=0)
        noise = math.inf if draws.info.error is None else draws.info.error
        trusts_messages = messages.info.converged and (apart <= _AGREE * noise or not draws.info.converged)
        tables = messages.tables if trusts_messages else draws.tables
        doubt = 0.0 if draws.info.converged and not trusts_messages else apart
        error = min(1.0, doubt + noise if messages.info.converged else max(doubt, noise))
        infos = [messages.info, draws.info]
        first, second = (_MESSAGES, _DRAWS) if trusts_messages else (_DRAWS, _MESSAGES)
        name = f"{first} against {second}"
        if (bounds := self._bounds(problem, groups)) and max(bound.error for bound in bounds) < error:
            tables = tuple(map(_inside, bounds, tables))
            error = max(
                float(np.maximum(bound.upper - table, table - bound.lower).max())
                for bound, table in zip(bounds, tables, strict=True)
            )
            name += ", within mini-bucket bounds"
        return Beliefs(tables, _told(name, infos, error, _BELIEF_REMEDIES))

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


def _inside(bound: ProbabilityBounds, table: Floats) -> Floats:
    """A distribution within bounds: the one given, where it is, else that of the bounds."""
    is_inside = bool(((table >= bound.lower) & (table <= bound.upper)).all())
    return table if is_inside else bound.estimate


def _mean_field(problem: Problem) -> list[Estimate]:
    """A lower bound, where there is one; the method is loaded when it is needed."""
    try:
        return [plausible.inference.MeanField().estimate(problem)]
    except (ImpossibleEvidence, NotSupported):
        return []


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
