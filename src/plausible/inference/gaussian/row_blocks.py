"""Joint Gaussians written out, for rows of numbers: one orthogonal decomposition for each pattern of missing ones."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from plausible.base.arrays import Flags, Positions
from plausible.factors.alignment import Scope, num_entries
from plausible.inference.gaussian.regression import Array, EvidenceWeight, Regression, joint_scope
from plausible.inference.gaussian.rows import MAX_STEP, RowDensities, same_rows

_LOG_2PI = math.log(2 * math.pi)
#: A number that the others determine up to this share of its deviation is left to the careful elimination.
_DETERMINED = 1e-6
#: Larger blocks, in numbers, are not written out.
_MAX_BLOCK = 2**18


@dataclass(frozen=True, slots=True, eq=False)
class GaussianBlock:
    """The joint distribution of some continuous variables, one for each configuration of discrete ones.

    x = mean + root · z with independent standard normal z: the root of the covariance keeps twice the digits of it.

    Examples
    --------
    >>> from plausible.variables import Variable
    >>> x = Regression.of(Variable("x"), [], (), 1.0, [], 4.0)
    >>> y = Regression.of(Variable("y"), ["x"], (), -3.5, [0.5], 4.0)
    >>> block = GaussianBlock.of([x, y])
    >>> found, _ = block.given(np.array([[np.nan, 2.0], [np.nan, np.nan]]), target="x")
    >>> found.mean, found.variance
    (array([3., 1.]), array([3.2, 4. ]))
    """

    names: tuple[str, ...]  # The continuous variables, parents first
    scope: Scope  # The discrete variables that the numbers depend on
    mean: Array  # Shape `(configurations, names)`
    root: Array  # Shape `(configurations, names, names)`, lower triangular

    @classmethod
    def of(cls, regressions: Sequence[Regression]) -> GaussianBlock | None:
        """The block of regressions, parents first; `None` where some variance is zero or the block would be large."""
        scope = joint_scope([(), *(line.scope for line in regressions)])
        names = tuple(line.name for line in regressions)
        shape = tuple(variable.num_states for variable in scope)
        if num_entries(scope) * len(names) ** 2 > _MAX_BLOCK or any((line.variance == 0).any() for line in regressions):
            return None
        mean, root = np.zeros((*shape, len(names))), np.zeros((*shape, len(names), len(names)))
        places = {name: place for place, name in enumerate(names)}
        for place, regression in enumerate(regressions):
            line = regression.over(scope, regression.parents)
            axes = [places[name] for name in line.parents]
            mean[..., place] = line.intercept + np.einsum("...i,...i->...", line.coefficients, mean[..., axes])
            root[..., place, :] = np.einsum("...i,...ij->...j", line.coefficients, root[..., axes, :])
            root[..., place, place] = np.sqrt(line.variance)
        count = num_entries(scope)
        return cls(names, scope, mean.reshape(count, -1), root.reshape(count, len(names), len(names)))

    def given(self, numbers: Array, target: str | None = None) -> tuple[RowDensities, Flags]:
        """Densities of rows, NaN where a number is missing, the moments of a target, and which rows are delicate.



        Notes
        -----
        O(n³) for each pattern of missing numbers and each configuration, O(n²) for each row and configuration.
        """
        count, place = len(self.mean), None if target is None else self.names.index(target)
        log_density = np.zeros((len(numbers), count))
        mean, variance = (np.zeros((len(numbers) if target is not None else 0, count)) for _ in range(2))
        is_delicate = np.zeros(len(numbers), dtype=np.bool_)
        observed = ~np.isnan(numbers)
        if place is not None:
            observed[:, place] = False
        first, kinds = same_rows(observed)
        order = np.argsort(kinds, kind="stable")
        for rows in np.split(order, np.cumsum(np.bincount(kinds, minlength=len(first)))[:-1]) if len(order) else ():
            seen = np.flatnonzero(observed[rows[0]])
            conditional = _Conditional.of(self, seen, place)
            if conditional is None:
                is_delicate[rows] = True
                continue
            step = max(MAX_STEP // (count * max(len(seen), 1)), 1)
            for part in (rows[start : start + step] for start in range(0, len(rows), step)):
                noise = conditional.noise(numbers[part[:, None], seen])
                log_density[part] = conditional.log_density(noise).T
                if place is not None:
                    mean[part] = conditional.mean(noise).T
                    variance[part] = conditional.variance
        shape = (len(numbers), *(variable.num_states for variable in self.scope))
        weight = EvidenceWeight(self.scope, log_density.reshape(shape), np.zeros(shape, dtype=np.int64))
        if place is None:
            return RowDensities((weight,)), is_delicate
        return RowDensities((weight,), self.scope, mean.reshape(shape), variance.reshape(shape)), is_delicate


@dataclass(frozen=True, slots=True, eq=False)
class _Conditional:
    """A block at one pattern of observed variables; arrays begin with an axis of configurations.

    With A the rows of the root that belong to observed variables and Aᵀ = Q R, x = center + Aᵀz makes the noise
    w = R⁻ᵀ (x - center) = Qᵀz standard normal; what it leaves of z is at a right angle to Q.
    """

    center: Array
    whitener: Array
    log_scale: Array
    along: Array
    base: Array
    variance: Array

    @classmethod
    def of(cls, block: GaussianBlock, seen: Positions, target: int | None) -> _Conditional | None:
        part = block.root[:, seen]
        directions, upper = np.linalg.qr(part.transpose(0, 2, 1))
        diagonal = np.abs(np.diagonal(upper, axis1=1, axis2=2))
        if (diagonal <= _DETERMINED * np.sqrt((part * part).sum(axis=2))).any():
            return None
        loading = block.root[:, 0 if target is None else target]
        along = np.einsum("cn,cnk->ck", loading, directions)
        rest = loading - np.einsum("cnk,ck->cn", directions, along)
        variance = (rest * rest).sum(axis=1)
        if target is not None and (variance <= _DETERMINED**2 * (loading * loading).sum(axis=1)).any():
            return None
        return cls(
            block.mean[:, seen],
            np.linalg.inv(upper),
            -np.log(diagonal).sum(axis=1) - 0.5 * len(seen) * _LOG_2PI,
            along,
            block.mean[:, 0 if target is None else target],
            variance,
        )

    def noise(self, rows: Array) -> Array:
        """Shape `(configurations, rows, observed)`."""
        whitened: Array = (rows - self.center[:, None]) @ self.whitener
        return whitened

    def log_density(self, noise: Array) -> Array:
        """Shape `(configurations, rows)`."""
        found: Array = self.log_scale[:, None] - 0.5 * np.einsum("crk,crk->cr", noise, noise)
        return found

    def mean(self, noise: Array) -> Array:
        """Of the target, shape `(configurations, rows)`."""
        found: Array = self.base[:, None] + np.einsum("crk,ck->cr", noise, self.along)
        return found
