"""An upper bound on log Σ Π φ from a mixture of submodels, each of which is solved exactly."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from plausible.base import WRITTEN_ROUNDING, Floats, QueryInfo, logarithms
from plausible.errors import ImpossibleEvidence, InvalidArgument
from plausible.factors import Factor
from plausible.inference.buckets.bucket_tree import scale_slack
from plausible.inference.compiled import compile_factors
from plausible.inference.elimination import absorb
from plausible.inference.estimates import Estimate
from plausible.inference.problem import Problem
from plausible.variables import Evidence, Variable

_NOTHING = Evidence({}, {}, {})

_EPSILON = float(np.finfo(np.float64).eps)
_NORMAL = float(np.finfo(np.float64).tiny)
#: Its logarithm, and a little less.
_LEAST = -709.0


@dataclass(frozen=True, slots=True, eq=False)
class SubmodelBound:
    """A bound, and what it is made of."""

    #: The upper bound on log Σ Π φ; its `lower` is the logarithm of the largest product met on the way.
    estimate: Estimate
    log_totals: tuple[float, ...]  # log Σ Π φ^w of each submodel
    #: The gradient of the bound by the logarithm of each factor given, reduced to the evidence: Σ_k α_k w^k P_k over
    #: its scope.
    gradient: tuple[Factor, ...]

    def gap(self, log_total: float) -> float:
        """By how much the bound exceeds log Σ Π φ: the mean Σ_k α_k D(P ‖ P_k) of relative entropies."""
        return float(self.estimate) - log_total


def submodel_bound(
    factors: Iterable[Factor], evidence: Evidence, weights: ArrayLike, shares: ArrayLike
) -> SubmodelBound:
    """log Z(θ) ≤ Σ_k α_k log Z(w^k θ) where Σ_k α_k w_i^k = 1 for each factor i, θ_i = log φ_i.

    log Z is convex in θ, which is a mixture of the w^k θ (Koller & Friedman 2009, §20.5.3; Wainwright, Jaakkola &
    Willsky 2005 for trees). A weight of zero leaves a factor out, so that submodels may be trees where the model is
    none. Each costs a clique tree. Rounding is allowed for.

    Parameters
    ----------
    factors
        The F factors.
    evidence
        States and likelihoods; the latter count fully in each submodel.
    weights
        w, of shape (K, F): the power of each factor in each submodel. Zeros of a factor allow no negative ones.
    shares
        α, of shape (K,): positive, adding up to one.

    Raises
    ------
    ImpossibleEvidence
        Where the product of some submodel, and with it that of the model, is zero everywhere.

    Examples
    --------
    >>> ring = [Factor({a: 2, b: 2}, [[1, 3], [2, 1]]) for a, b in ("AB", "BC", "CA")]
    >>> trees = 1.5 * (1 - np.eye(3))  # each leaves out one factor
    >>> found = submodel_bound(ring, Evidence.read({}, {}), trees, [1 / 3] * 3)
    >>> round(float(found.estimate), 6), round(found.gradient[0].sum(), 6)
    (3.85953, 1.0)
    """
    listed = list(factors)
    powers, alphas = _checked(listed, weights, shares)
    absorbed = absorb(listed, evidence)
    powers = np.concatenate([powers, np.ones((len(alphas), len(absorbed) - len(listed)))], axis=1)
    if not all(factor.max() for factor in absorbed):
        raise ImpossibleEvidence.outright()
    variables = {variable.name: variable for factor in absorbed for variable in factor.scope}
    solved = [_solved(absorbed, row, list(variables.values())) for row in powers]
    value, slack = (math.fsum(alphas * part) for part in ([s.log_total for s in solved], [s.slack for s in solved]))
    problem = Problem.of(absorbed, _NOTHING)
    order = [variable.name for variable in problem.variables]
    rows = np.array([[one.states[name] for name in order] for one in solved], dtype=np.int64).reshape(len(solved), -1)
    lower = float(problem.log_product(rows).max()) + problem.log_scale - scale_slack(problem)
    upper = value + slack + 4 * _EPSILON * abs(value)  # widened by what rounding may have done to it
    info = QueryInfo(
        "submodels",
        exact=False,
        error=None if lower == -math.inf else upper - lower,
        cost=sum(one.info.cost for one in solved),
        largest_table=max(one.info.largest_table for one in solved),
        advice="Submodels that agree on the expectations of the factors that they share make the bound tightest.",
    )
    gradient = []
    for number, factor in enumerate(absorbed[: len(listed)]):
        total = np.zeros(factor.flat.size)
        for one, share in zip(solved, alphas * powers[:, number], strict=True):
            if number in one.beliefs:
                total += share * one.beliefs[number].flat
        gradient.append(Factor.from_flat(factor.scope, total))
    estimate = Estimate(upper, info, lower=lower, upper=upper, is_bound=True)
    return SubmodelBound(estimate, tuple(one.log_total for one in solved), tuple(gradient))


@dataclass(frozen=True, slots=True, eq=False)
class _Solved:
    log_total: float
    slack: float  # by how much rounding may have moved it
    beliefs: dict[int, Factor]  # factor number -> P over its scope, for those that are not left out
    states: dict[str, int]  # of a best assignment
    info: QueryInfo


def _solved(factors: Sequence[Factor], weights: Floats, variables: Sequence[Variable]) -> _Solved:
    used = [number for number, weight in enumerate(weights) if weight]
    powered = [_power(factors[i].flat, float(weights[i])) for i in used]
    tables = [Factor.from_flat(factors[i].scope, one.values) for i, one in zip(used, powered, strict=True)]
    compiled = compile_factors(tables, variables)
    beliefs = compiled.joints([factors[i].scope for i in used], _NOTHING)
    best = compiled.best(_NOTHING)
    states = {variable.name: variable.states.index(best[variable.name]) for variable in variables}
    log_total = compiled.log_total(_NOTHING) + math.fsum(one.log_scale for one in powered)
    # Each power errs by its exponent's rounding, each product and each sum of a table entry by one rounding more.
    sizes = math.fsum(one.log_size + 8 for one in powered)
    slack = _EPSILON * (2 * sizes + compiled.info.cost + 8 * abs(log_total))
    return _Solved(log_total, slack, dict(zip(used, beliefs, strict=True)), states, compiled.info)


class _Power(NamedTuple):
    values: Floats
    log_scale: float
    log_size: float  # the largest finite |w log φ|


def _power(values: Floats, weight: float) -> _Power:
    """φ^w, its peak at one; what would underflow is the least normal number instead, which can only raise a sum."""
    logs = weight * logarithms(values)
    peak = float(logs.max())
    is_live = logs > -np.inf
    found = np.where(is_live, np.maximum(np.exp(np.maximum(logs - peak, _LEAST)), _NORMAL), 0.0)
    return _Power(found, peak, float(np.abs(logs[is_live]).max()))


def _checked(factors: Sequence[Factor], weights: ArrayLike, shares: ArrayLike) -> tuple[Floats, Floats]:
    powers, alphas = np.asarray(weights, dtype=np.float64), np.asarray(shares, dtype=np.float64)
    if alphas.ndim != 1 or not alphas.size or not (alphas > 0).all() or abs(alphas.sum() - 1) > WRITTEN_ROUNDING:
        raise InvalidArgument(f"shares= takes positive numbers that add up to one, not {shares!r}.")
    if powers.shape != (len(alphas), len(factors)) or not np.isfinite(powers).all():
        raise InvalidArgument(
            f"weights= takes finite numbers in {len(alphas)} rows, one a share, and {len(factors)} columns, one a "
            f"factor; its shape is {powers.shape}."
        )
    for number, (factor, mean) in enumerate(zip(factors, alphas @ powers, strict=True)):
        if abs(mean - 1) > WRITTEN_ROUNDING:
            raise InvalidArgument(
                f"The weights of factor {number}, over ({', '.join(factor.names)}), times the shares add up to "
                f"{mean:g}. Scale them so that they add up to one."
            )
        if factor.min() <= 0 and powers[:, number].min() < 0:
            raise InvalidArgument(
                f"Factor {number}, over ({', '.join(factor.names)}), has zeros, which have no negative power. "
                "Give it weights of at least zero."
            )
    return powers, alphas
