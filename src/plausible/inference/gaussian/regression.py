"""Linear Gaussian regressions and the reversal of an arc between two: the algebra under exact Gaussian inference."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from plausible.base import Ints
from plausible.factors.alignment import Scope, wide
from plausible.variables import Variable

Array: TypeAlias = npt.NDArray[np.float64]

_LOG_2PI = math.log(2 * math.pi)
#: Terms that cancel up to this share of the larger one cancel: what is left of them is rounding.
_CANCELLED = 256 * float(np.finfo(np.float64).eps)
#: An observed value counts as the one that the model determines where it differs by no more than this share.
_SAME_VALUE = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Regression:
    """X = intercept + Σ coefficient · parent + noise, a line for each configuration of some discrete variables.

    All arrays begin with an axis for each variable of `scope`. Scopes are in alphabetical order and hold no one-state
    variables, so that arrays over different scopes align by putting in axes of length one.
    """

    variable: Variable  # X, continuous
    parents: tuple[str, ...]  # The names of the continuous variables that X depends on
    scope: Scope  # The discrete variables that the numbers depend on
    intercept: Array  # Shape `scope`
    coefficients: Array  # Shape `(*scope, len(parents))`
    variance: Array  # Shape `scope`; zero makes X a function of its parents
    size: Array  # The largest term that went into the intercept, shape `scope`: rounding is a share of it

    @classmethod
    def of(
        cls,
        variable: Variable,
        parents: Iterable[str],
        scope: Sequence[Variable],
        intercept: npt.ArrayLike,
        coefficients: npt.ArrayLike,
        variance: npt.ArrayLike,
    ) -> Regression:
        """From arrays over discrete variables in any order; the last axis of `coefficients` is that of the parents."""
        ordered = sorted(range(len(scope)), key=lambda axis: scope[axis].name)
        kept = wide(scope[axis] for axis in ordered)
        names = tuple(parents)
        center, slopes, noise = (
            np.asarray(array, dtype=np.float64).transpose(axes).reshape([*(v.num_states for v in kept), *tail])
            for array, axes, tail in (
                (intercept, ordered, ()),
                (coefficients, [*ordered, len(ordered)], (len(names),)),
                (variance, ordered, ()),
            )
        )
        return cls(variable, names, kept, center, slopes, noise, np.abs(center))

    @property
    def name(self) -> str:
        """The name of X."""
        return self.variable.name

    def given(self, states: Mapping[str, int], values: Mapping[str, float]) -> Regression:
        """The regression where some discrete variables have a position, and some parents a number."""
        line = self
        if any(variable.name in states for variable in self.scope):
            place: tuple[Any, ...] = tuple(states.get(variable.name, slice(None)) for variable in self.scope)
            scope = tuple(variable for variable in self.scope if variable.name not in states)
            arrays = (self.intercept, self.coefficients, self.variance, self.size)
            line = Regression(self.variable, self.parents, scope, *(np.asarray(array[place]) for array in arrays))
        seen = [axis for axis, name in enumerate(self.parents) if name in values]
        if not seen:
            return line
        kept = [axis for axis in range(len(self.parents)) if axis not in set(seen)]
        terms = line.coefficients[..., seen] * np.array([values[self.parents[axis]] for axis in seen])
        return replace(
            line,
            parents=tuple(self.parents[axis] for axis in kept),
            coefficients=line.coefficients[..., kept],
            intercept=line.intercept + terms.sum(axis=-1),
            size=np.maximum(line.size, np.abs(terms).max(axis=-1)),
        )

    def against(self, value: float) -> Regression:
        """The regression of X - value: an observed X makes it zero."""
        return replace(self, intercept=np.asarray(self.intercept - value), size=np.maximum(self.size, abs(value)))

    def over(self, scope: Scope, parents: Sequence[str]) -> Regression:
        """The same regression with axes for more discrete variables, and zeros for more parents, in that order."""
        coefficients = self.coefficients
        if tuple(parents) != self.parents:
            places = {name: place for place, name in enumerate(parents)}
            coefficients = np.zeros((*self.intercept.shape, len(parents)))
            coefficients[..., [places[name] for name in self.parents]] = self.coefficients
        arrays = (self.intercept, coefficients, self.variance, self.size)
        return Regression(self.variable, tuple(parents), scope, *(spread(array, self.scope, scope) for array in arrays))


def joint_scope(scopes: Iterable[Scope]) -> Scope:
    """All variables of some scopes, in alphabetical order."""
    listed = list(dict.fromkeys(scopes))
    if len(listed) == 1:
        return listed[0]
    found = {variable.name: variable for scope in listed for variable in scope}
    return tuple(found[name] for name in sorted(found))


def spread(array: Array, scope: Scope, wider: Scope) -> Array:
    """The array over `scope` with axes of length one for the other variables of `wider`; last axes stay."""
    if scope == wider:
        return array
    own = {variable.name for variable in scope}
    shape = [variable.num_states if variable.name in own else 1 for variable in wider]
    return array.reshape((*shape, *array.shape[len(scope) :]))


def reverse_arc(parent: Regression, child: Regression) -> tuple[Regression, Regression]:
    """P(x | u) P(y | x, u) as P(y | u) P(x | y, u): Bayes' rule for an arc X -> Y (Shachter & Kenley 1989).

    With Y = a + b X + noise of variance s and X of variance t: Y has variance v = b²t + s without X, and X moves by
    the gain bt/v with Y and keeps the variance ts/v. Variances are sums and products of variances, never differences:
    none turns negative, none is lost beside a larger one, and zeros are exact, so that deterministic relations need
    no care. Where v = 0, Y says nothing about X. Cowell (2005) builds exact inference in hybrid networks on this step.
    No longer path may lead from X to Y. The result is X given Y and the parents of both, and Y without X.
    """
    scope = joint_scope((parent.scope, child.scope))
    shared = tuple(dict.fromkeys((*parent.parents, *(name for name in child.parents if name != parent.name))))
    x, y = parent.over(scope, shared), child.over(scope, (*shared, parent.name))
    slope = y.coefficients[..., -1]
    total = slope * slope * x.variance + y.variance
    divisor = np.where(total > 0, total, 1.0)
    gain, kept = slope * x.variance / divisor, np.where(total > 0, y.variance / divisor, 1.0)
    alone = _combined(child.variable, shared, (np.ones(()), y), (slope, x), total)
    backward = _combined(parent.variable, shared, (kept, x), (-gain, y), kept * x.variance)
    to_child = np.broadcast_to(gain[..., None], (*backward.coefficients.shape[:-1], 1))
    slopes = np.concatenate([backward.coefficients, to_child], axis=-1)
    return replace(backward, parents=(*shared, child.name), coefficients=slopes), alone


def rotate(pivot: Regression, row: Regression, column: str) -> tuple[Regression, Regression]:
    """Two observed regressions, both equal to zero, as two others with the same density, the second free of a parent.

    With c the quotient of their coefficients on that parent: row - c · pivot, and the combination of both whose noise
    is independent of that difference. The determinant of the change is one. This is a Givens rotation without square
    roots (Gentleman 1973), here in terms of variances, which are again sums and products only and may be zero. Which of
    the two is the pivot is decided for each configuration.
    """
    scope = joint_scope((pivot.scope, row.scope))
    shared = tuple(dict.fromkeys(name for name in (*pivot.parents, *row.parents) if name != column))
    above, below = _pivot_first(*(line.over(scope, (*shared, column)) for line in (pivot, row)))
    slope, other = above.coefficients[..., -1], below.coefficients[..., -1]
    quotient = other / np.where(slope == 0, 1.0, slope)
    total = quotient * quotient * above.variance + below.variance
    divisor = np.where(total > 0, total, 1.0)
    gain, kept = quotient * above.variance / divisor, np.where(total > 0, below.variance / divisor, 1.0)
    best = _combined(pivot.variable, (*shared, column), (kept, above), (gain, below), kept * above.variance)
    free = _combined(row.variable, shared, (np.ones(()), below), (-quotient, above), total)
    return best, free


def _combined(
    variable: Variable,
    parents: tuple[str, ...],
    first: tuple[Array, Regression],
    second: tuple[Array, Regression],
    variance: Array,
) -> Regression:
    """A sum of multiples of two regressions over the same scope, whose parents begin with those given.

    Coefficients that cancel up to rounding leave zero: else the rounding of a relation that says nothing new would pass
    for a very precise observation.
    """
    (a, one), (b, two) = first, second
    left = a[..., None] * one.coefficients[..., : len(parents)]
    right = b[..., None] * two.coefficients[..., : len(parents)]
    slopes = left + right
    slopes[np.abs(slopes) <= _CANCELLED * np.maximum(np.abs(left), np.abs(right))] = 0.0
    center, size = a * one.intercept + b * two.intercept, np.maximum(np.abs(a) * one.size, np.abs(b) * two.size)
    return Regression(variable, parents, one.scope, center, slopes, variance, size)


def _pivot_first(one: Regression, two: Regression) -> tuple[Regression, Regression]:
    """The two, exchanged wherever the second is the better pivot.

    That is the larger of the last coefficients, but an exact row comes before a noisy one, and the first of two exact
    ones: so these are changed by nothing but multiples of rows before them, and a point mass keeps its scale.
    """
    slope, other = one.coefficients[..., -1], two.coefficients[..., -1]
    is_better = (one.variance > 0) & ((two.variance == 0) | (np.abs(other) > np.abs(slope)))
    swap = np.asarray((other != 0) & ((slope == 0) | is_better))
    if not swap.any():
        return one, two
    pairs = [
        (one.intercept, two.intercept, swap),
        (one.coefficients, two.coefficients, swap[..., None]),
        (one.variance, two.variance, swap),
        (one.size, two.size, swap),
    ]
    first = (np.where(where, right, left) for left, right, where in pairs)
    second = (np.where(where, left, right) for left, right, where in pairs)
    parents, scope = one.parents, one.scope
    return Regression(one.variable, parents, scope, *first), Regression(two.variable, parents, scope, *second)


@dataclass(frozen=True, slots=True, eq=False)
class EvidenceWeight:
    """The density of an observed number, for each configuration of discrete variables."""

    scope: Scope  # The discrete variables
    log_density: Array  # Shape `scope`; -inf where the number can't occur, zero where it is certain
    point_masses: Ints  # Shape `scope`: one where the number is certain, so that its density is infinite, else zero

    def rows(self, rows: Any) -> EvidenceWeight:
        """Some of the rows, where arrays begin with an axis of rows."""
        return EvidenceWeight(self.scope, self.log_density[rows], self.point_masses[rows])


def evidence_weight(regression: Regression) -> EvidenceWeight:
    """log N(0; intercept, variance) of a regression without parents; a variance of zero makes a point mass."""
    distance, variance = np.abs(regression.intercept), regression.variance
    is_point = variance == 0
    divisor = np.where(is_point, 1.0, variance)
    log_density = -0.5 * (_LOG_2PI + np.log(divisor) + distance * distance / divisor)
    hit = distance <= _SAME_VALUE * regression.size
    log_density = np.where(is_point, np.where(hit, 0.0, -np.inf), log_density)
    return EvidenceWeight(regression.scope, log_density, np.asarray(is_point & hit).astype(np.int64))
