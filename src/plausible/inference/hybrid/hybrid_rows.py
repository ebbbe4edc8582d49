"""Exact answers for rows of states and numbers: densities of the numbers as factors with an axis of rows, then sums."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from plausible.base import Flags, Positions, logarithms
from plausible.data.columns import EvidenceColumns
from plausible.errors import ImpossibleEvidence, TooLarge
from plausible.factors import Factor
from plausible.factors.alignment import Scope, num_entries
from plausible.inference.budget import Budget
from plausible.inference.compiled import compile_factors
from plausible.inference.elimination import absorb
from plausible.inference.gaussian.regression import Array, EvidenceWeight, Regression
from plausible.inference.gaussian.rows import (
    MAX_STEP,
    ROWS,
    GaussianBlock,
    RowDensities,
    connected_parts,
    eliminate_rows,
    same_rows,
)
from plausible.inference.hybrid.point_masses import row_factors, settle_point_masses
from plausible.variables import Evidence, Variable

_NOTHING = Evidence({}, {}, {})
#: Rows that are summed up together, at most.
_MAX_ROWS = 4096


@dataclass(frozen=True, slots=True, eq=False)
class HybridAnswers:
    """What is known about each row."""

    #: The log of the probability of its states times the density of its numbers: -inf where it can't happen, +inf where
    #: a number is certain given the rest.
    log_totals: Array
    #: For each group of discrete variables asked for its distribution, shape `(rows, *group)`; zeros where the row
    #: can't happen.
    joints: tuple[Array, ...]
    #: Of the continuous variable asked for; empty where none is.
    mean: Array
    variance: Array


@dataclass(frozen=True, slots=True, eq=False)
class HybridRows:
    """Tables and regressions, for tables of evidence; as `HybridModel`, but for many rows at once."""

    factors: tuple[Factor, ...]  # Over discrete variables
    #: Groups of regressions that share no continuous variable, each with its joint distribution where that is handy.
    parts: tuple[tuple[tuple[Regression, ...], GaussianBlock | None], ...]
    budget: Budget | None = None  # The most that a row may cost; by default `Budget()`

    @classmethod
    def of(
        cls, factors: Iterable[Factor], regressions: Iterable[Regression], budget: Budget | None = None
    ) -> HybridRows:
        """From the factors and the regressions of a model."""
        parts = tuple((part, GaussianBlock.of(part)) for part in connected_parts(regressions))
        return cls(tuple(factors), parts, budget)

    def answer(
        self,
        rows: EvidenceColumns,
        tables: Sequence[EvidenceWeight] = (),
        groups: Sequence[Scope] = (),
        target: str | None = None,
    ) -> HybridAnswers:
        """The answers for all rows, the moments of a continuous target among them, whose own column is not there.

        `tables` are further factors that differ from row to row, as logarithms.
        """
        found = HybridAnswers(
            np.full(rows.num_rows, -np.inf),
            tuple(np.zeros((rows.num_rows, *(v.num_states for v in group))) for group in groups),
            *(np.full(rows.num_rows if target is not None else 0, np.nan) for _ in range(2)),
        )
        for places, densities in self._batches(rows, target):
            given = rows.take(places)
            extra = tuple(weight.rows(places) for weight in tables)
            weights = (*densities.weights, *extra)
            step = MAX_STEP  # with numbers alone there is nothing to sum
            if self.factors or any(weight.scope for weight in weights):
                largest = max((num_entries(weight.scope) for weight in weights), default=1)
                step = max(min(_MAX_ROWS, MAX_STEP // largest), 1)
            for start in range(0, len(places), step):
                part = np.arange(start, min(start + step, len(places)))
                self._fill(found, places[part], given.take(part), densities.rows(part, extra), groups)
        return found

    def _batches(self, rows: EvidenceColumns, target: str | None) -> Iterable[tuple[Positions, RowDensities]]:
        """Rows that can be summed up together, with what their numbers say."""
        asked = [part for part in self.parts if any(r.name in rows.numbers or r.name == target for r in part[0])]
        fast: list[RowDensities | None] = []
        kinds = np.full((rows.num_rows, len(asked)), -1, dtype=np.int64)
        for place, (regressions, block) in enumerate(asked):
            own = target if target in {regression.name for regression in regressions} else None
            densities, is_delicate = None, np.ones(rows.num_rows, dtype=np.bool_)
            if block is not None:
                missing = np.full(rows.num_rows, np.nan)
                matrix = np.column_stack([rows.numbers.get(name, missing) for name in block.names])
                densities, is_delicate = block.given(matrix, own)
            fast.append(densities)
            if is_delicate.any():
                kinds[is_delicate, place] = same_rows(_observed(rows, regressions)[is_delicate])[1]
        first, batch_of = same_rows(kinds)
        for batch, row in enumerate(first):
            places = np.flatnonzero(batch_of == batch)
            slow = [asked[place][0] if kinds[row, place] >= 0 else None for place in range(len(asked))]
            parts = [
                quick.rows(places)
                if careful is None and quick is not None
                else self._carefully(careful or (), rows.take(places), target)
                for quick, careful in zip(fast, slow, strict=True)
            ]
            weights = tuple(weight for part in parts for weight in part.weights)
            moments = next(((part.scope, part.mean, part.variance) for part in parts if part.mean is not None), ())
            yield places, RowDensities(weights, *moments)

    def _carefully(self, regressions: Sequence[Regression], rows: EvidenceColumns, target: str | None) -> RowDensities:
        """By elimination; all rows have the same columns observed."""
        names = {regression.name for regression in regressions}
        scope = {variable.name for regression in regressions for variable in regression.scope}
        numbers = {name: c for name, c in rows.numbers.items() if name in names and not np.isnan(c[0])}
        states = {name: codes for name, codes in rows.states.items() if name in scope and codes[0] >= 0}
        own = target if target in names else None
        return eliminate_rows(regressions, numbers, states, rows.num_rows, own, self.budget)

    def _fill(
        self,
        found: HybridAnswers,
        places: Positions,
        rows: EvidenceColumns,
        densities: RowDensities,
        groups: Sequence[Scope],
    ) -> None:
        """Write the answers of some rows; rows that come out as zero are tried again by themselves."""
        peaks = [weight.log_density.reshape(rows.num_rows, -1).max(axis=1) for weight in densities.weights]
        is_possible = np.isfinite(np.sum(peaks, axis=0)) if peaks else np.ones(rows.num_rows, dtype=np.bool_)
        left = np.flatnonzero(is_possible)
        while len(left):
            part, given = densities.rows(left), rows.take(left)
            asked = [*groups] if densities.mean is None else [*groups, densities.scope]
            log_totals, joints = self._sums(given, part.weights, asked)
            done = log_totals > -np.inf
            if not done.any():
                return
            there = places[left[done]]
            found.log_totals[there] = log_totals[done]
            for table, joint in zip(found.joints, joints, strict=False):
                table[there] = joint[done]
            if part.mean is not None and part.variance is not None:
                mixture = joints[-1][done], part.mean[done], part.variance[done]
                found.mean[there], found.variance[there] = _collapsed(*mixture)
            left = left[~done]

    def _sums(
        self, rows: EvidenceColumns, weights: Sequence[EvidenceWeight], groups: Sequence[Scope]
    ) -> tuple[Array, list[Array]]:
        """log Σ of each row, and its distributions of groups; fewer rows at a time where tables get too large."""
        if rows.num_rows == 1:  # an axis of one row would not be seen among discrete variables
            return self._sums_of_one(rows.evidence(0), weights, groups)
        try:
            return self._sums_at_once(rows, weights, groups)
        except TooLarge:
            pass  # a row by itself says whether it is too large
        halves = np.array_split(np.arange(rows.num_rows), 2)
        done = [self._sums(rows.take(half), [w.rows(half) for w in weights], groups) for half in halves]
        joints = [np.concatenate(pair) for pair in zip(*(joints for _, joints in done), strict=True)]
        return np.concatenate([log_totals for log_totals, _ in done]), joints

    def _sums_of_one(
        self, evidence: Evidence, weights: Sequence[EvidenceWeight], groups: Sequence[Scope]
    ) -> tuple[Array, list[Array]]:
        """The same for a row by itself."""
        own = [weight.rows(0) for weight in weights]
        tables = [np.zeros((1, *(variable.num_states for variable in group))) for group in groups]
        free = [tuple(v for v in group if v.name not in evidence.hard) for group in groups]
        scopes = [*(factor.scope for factor in self.factors), *(weight.scope for weight in own)]
        taken = {variable.name for scope in scopes for variable in scope}
        try:
            weighed = settle_point_masses(self.factors, own, replace(evidence, values={}), taken)
            states = {**evidence.hard, **weighed.states}
            factors = absorb([*self.factors, *weighed.factors], Evidence(states, {}, {}))
            together = [[variable.name for variable in group] for group in free]
            compiled = compile_factors(factors, [v for g in free for v in g], together=together, budget=self.budget)
            log_total = compiled.log_total(_NOTHING) + weighed.log_scale
            joints = compiled.joints([group for group in free if group], _NOTHING)
        except ImpossibleEvidence:
            return np.full(1, -np.inf), tables
        found = iter(joints)
        for table, group, left in zip(tables, groups, free, strict=True):
            table[(0, *(evidence.hard.get(v.name, slice(None)) for v in group))] = next(found).values if left else 1.0
        return _certain(np.array([log_total]), np.array([weighed.point_masses > 0])), tables

    def _sums_at_once(
        self, rows: EvidenceColumns, weights: Sequence[EvidenceWeight], groups: Sequence[Scope]
    ) -> tuple[Array, list[Array]]:
        shapes = [(rows.num_rows, *(variable.num_states for variable in group)) for group in groups]
        if not self.factors and not rows.states and not any(weight.scope for weight in weights):
            log_totals = sum((weight.log_density for weight in weights), np.zeros(rows.num_rows))
            masses = sum((weight.point_masses for weight in weights), np.zeros(rows.num_rows, dtype=np.int64))
            return _certain(log_totals, masses > 0), [np.ones(shape) for shape in shapes]
        axis = Variable(ROWS, rows.num_rows)
        seen = []  # one in each row for its state, or for all states where it is missing
        for name, codes in rows.states.items():
            if codes.max() >= 0:
                variable = rows.variables[name]
                table = (codes[:, None] == np.arange(variable.num_states)) | (codes[:, None] < 0)
                seen.append(Factor.from_flat((axis, variable), table.astype(np.float64).ravel()))
        try:
            weighed = row_factors([*self.factors, *seen], weights, axis)
            factors = [*self.factors, *seen, *weighed.factors]
            compiled = compile_factors(
                factors, [axis], together=[[ROWS, *(v.name for v in g)] for g in groups], budget=self.budget
            )
            log_total = compiled.log_total(_NOTHING)
            joints = compiled.joints([(axis,), *((axis, *group) for group in groups)], _NOTHING)
        except ImpossibleEvidence:
            return np.full(rows.num_rows, -np.inf), [np.zeros(shape) for shape in shapes]
        shares = joints[0].flat
        log_totals = logarithms(shares) + log_total + weighed.log_scales
        divisor = np.where(shares > 0, shares, 1.0)
        tables = [
            joint.flat.reshape(shape) / divisor.reshape(-1, *[1] * (len(shape) - 1))
            for joint, shape in zip(joints[1:], shapes, strict=True)
        ]
        return _certain(log_totals, weighed.is_certain), tables


def _observed(rows: EvidenceColumns, regressions: Sequence[Regression]) -> Flags:
    """For each row which numbers, and which discrete variables that they depend on, it has."""
    names = {regression.name for regression in regressions}
    scope = {variable.name for regression in regressions for variable in regression.scope}
    columns = [~np.isnan(column) for name, column in rows.numbers.items() if name in names]
    columns += [codes >= 0 for name, codes in rows.states.items() if name in scope]
    return np.column_stack(columns) if columns else np.zeros((rows.num_rows, 1), dtype=np.bool_)


def _collapsed(weights: Array, means: Array, variances: Array) -> tuple[Array, Array]:
    """Mean and variance of a mixture in each row."""
    axes = tuple(range(1, weights.ndim))
    center = (weights * means).sum(axis=axes)
    spread = variances + (means - center.reshape(-1, *[1] * len(axes))) ** 2
    return center, (weights * spread).sum(axis=axes)


def _certain(log_totals: Array, is_certain: Flags) -> Array:
    """The logarithms of densities, infinite for possible rows with a certain number."""
    return np.where(is_certain & (log_totals > -np.inf), np.inf, log_totals)
