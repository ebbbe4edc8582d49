"""The densities of observed numbers as factors of the discrete variables that they speak of."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from plausible.base import Flags, Floats, Ints
from plausible.factors import Factor
from plausible.factors.alignment import Scope
from plausible.inference.gaussian.regression import EvidenceWeight
from plausible.inference.posterior import posterior
from plausible.variables import Evidence, Variable

#: A factor's numbers reach down to exp of minus this, well above where floats vanish.
_REACH = 600.0
#: Densities that are smaller than the largest by more than so many times the reach are taken for zero.
_MAX_PARTS = 4096


@dataclass(frozen=True, slots=True)
class Weighed:
    """The density of the evidence as a product of factors, times exp(`log_scale`)."""

    factors: tuple[Factor, ...]  # Over discrete variables
    log_scale: float  # What was taken out; -inf where the numbers can't occur, whatever the discrete variables
    #: Auxiliary variable -> the position of its state, to be given as evidence.
    states: Mapping[str, int] = field(default_factory=dict)
    point_masses: int = 0  # How many of the numbers are certain given the rest: each makes the density infinite

    @property
    def is_impossible(self) -> bool:
        """Whether no discrete configuration allows the numbers."""
        return self.log_scale == -math.inf


def weigh(weights: Iterable[EvidenceWeight]) -> Weighed:
    """The weights as factors with entries up to one.

    Densities differ by more than floats can hold. A weight that spans too much becomes a product of several equal
    factors, its roots, so that the engines, which scale as they go, still see every entry.
    """
    factors: list[Factor] = []
    log_scale = 0.0
    for weight in weights:
        finite = weight.log_density[np.isfinite(weight.log_density)]
        if not finite.size:
            return Weighed((), -math.inf)
        peak = float(finite.max())
        log_scale += peak
        if weight.scope:
            parts = min(max(math.ceil((peak - float(finite.min())) / _REACH), 1), _MAX_PARTS)
            root = np.exp((weight.log_density - peak) / parts)
            factors += [Factor(weight.scope, root)] * parts
    return Weighed(tuple(factors), log_scale)


def settle_point_masses(
    factors: Sequence[Factor], weights: Sequence[EvidenceWeight], evidence: Evidence, taken: Collection[str]
) -> Weighed:
    """`weigh`, and where certain numbers compete with merely likely ones, only what is most certain stays.

    A value that has a point mass under some configurations and a density under others belongs to the first ones: the
    density is zero beside the mass. With several such values the configurations that explain most of them by point
    masses win, among those that the factors and the evidence allow. Auxiliary variables count the masses.
    """
    weighed = weigh(weights)
    if weighed.is_impossible:
        return weighed
    fixed, uneven = 0, []
    for weight in weights:
        counts = weight.point_masses[weight.log_density > -np.inf]
        fixed += int(counts.min())
        if counts.min() < counts.max():
            uneven.append(weight)
    if not uneven:
        return replace(weighed, point_masses=fixed)
    counters = _counters([(weight.scope, weight.point_masses) for weight in uneven], taken)
    allowed = [Factor(weight.scope, (weight.log_density > -np.inf) * 1.0) for weight in weights]
    total = counters[-1].scope[-1]
    found = posterior([*factors, *allowed, *counters], [total], evidence)
    most = int(np.flatnonzero(found.flat).max())
    return Weighed((*weighed.factors, *counters), weighed.log_scale, {total.name: most}, fixed + most)


def _counters(counts: Sequence[tuple[Scope, Ints]], taken: Collection[str]) -> list[Factor]:
    """Factors that fix running totals: the last variable of the last one is the sum of all counts, each zero or one."""
    totals = []
    for number in range(len(counts) + 1):
        name = f"point masses {number}"
        while name in taken:
            name += "'"
        totals.append(Variable(name, number + 1))
    factors = []
    for before, after, (scope, table) in zip(totals, totals[1:], counts, strict=False):
        past = np.arange(before.num_states).reshape(-1, *[1] * (len(scope) + 1))
        reached = past + table[None, ..., None] == np.arange(after.num_states)
        factors.append(Factor((before, *scope, after), reached * 1.0))
    return factors


@dataclass(frozen=True, slots=True, eq=False)
class RowFactors:
    """The same for rows of evidence, an axis of rows first in each factor."""

    factors: tuple[Factor, ...]  # Over the rows and discrete variables
    log_scales: Floats  # For each row what was taken out of them
    is_certain: Flags  # For each row whether some number of it is certain given the rest


def row_factors(factors: Sequence[Factor], weights: Sequence[EvidenceWeight], rows: Variable) -> RowFactors:
    """`settle_point_masses` for each row; the factors, findings among them, say which configurations are possible."""
    found: list[Factor] = []
    log_scales = np.zeros(rows.num_states)
    for weight in weights:
        logs = weight.log_density.reshape(rows.num_states, -1)
        peaks = logs.max(axis=1, keepdims=True)
        log_scales += peaks[:, 0]
        if weight.scope:
            depth = -float(np.where(np.isfinite(logs), logs - peaks, 0.0).min())
            parts = min(max(math.ceil(depth / _REACH), 1), _MAX_PARTS)
            root = Factor.from_flat((rows, *weight.scope), np.exp((logs - peaks) / parts).ravel())
            found += [root] * parts
    counters, is_certain = _row_counters(factors, weights, rows)
    return RowFactors((*found, *counters), log_scales, is_certain)


def _row_counters(
    factors: Sequence[Factor], weights: Sequence[EvidenceWeight], rows: Variable
) -> tuple[list[Factor], Flags]:
    """Factors that leave in each row the configurations with most point masses; and which rows have any."""
    is_certain = np.zeros(rows.num_states, dtype=np.bool_)
    uneven = []
    for weight in weights:
        if not weight.point_masses.any():
            continue
        allowed = (weight.log_density > -np.inf).reshape(rows.num_states, -1)
        masses = weight.point_masses.reshape(rows.num_states, -1).astype(np.bool_)
        always = (masses | ~allowed).all(axis=1)
        is_certain |= always
        if ((masses & allowed).any(axis=1) & ~always).any():
            uneven.append(weight)
    if not uneven:
        return [], is_certain
    taken = {variable.name for factor in factors for variable in factor.scope}
    counters = _counters([((rows, *weight.scope), weight.point_masses) for weight in uneven], taken)
    allowed_factors = [
        Factor.from_flat((rows, *weight.scope), (weight.log_density > -np.inf).astype(np.float64).ravel())
        for weight in weights
    ]
    total = counters[-1].scope[-1]
    joint = posterior([*factors, *allowed_factors, *counters], [rows, total], Evidence({}, {}, {}))
    reached = joint.values.reshape(rows.num_states, -1) > 0
    most = np.where(reached, np.arange(total.num_states), 0).max(axis=1)
    chosen = (most[:, None] == np.arange(total.num_states)).astype(np.float64)
    return [*counters, Factor.from_flat((rows, total), chosen.ravel())], is_certain | (most > 0)
