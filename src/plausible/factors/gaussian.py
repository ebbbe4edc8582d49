"""Gaussian factors in canonical form: exponentials of quadratic functions of continuous variables."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from plausible.base import GAUSSIAN_HINTS, WRITTEN_ROUNDING, Floats, HintedNames, TextTable, format_number
from plausible.errors import InvalidFactor, NotSupported
from plausible.factors.alignment import Scope, union_scope
from plausible.factors.definite import (
    LOG_2PI,
    Definite,
    Matrix,
    Vector,
    definite,
    finite_number,
    finite_vector,
    real_numbers,
    symmetric,
)
from plausible.factors.moments import MomentGaussian
from plausible.factors.normal import GaussianValue, filled, read_continuous_scope, read_point
from plausible.variables import Assignment, Variable


@dataclass(frozen=True, slots=True, init=False, eq=False, repr=False)
class GaussianFactor(HintedNames, GaussianValue):
    """φ(x) = exp(-½ xᵀKx + hᵀx + g), over continuous variables (Koller & Friedman 2009, §14.2.1).

    Axes are found by name, as in `Factor`. K may be any symmetric matrix: K = 0 and h = 0 is a constant (a *vacuous*
    factor, which says nothing), a quotient may have an indefinite K, and P(y | x) has a singular one. Only what needs
    an integral asks for a positive definite block, and says which variables lack it. A deterministic relation has no
    such form: see `MomentGaussian`, which can hold one.

    Parameters
    ----------
    scope
        Continuous variables, or their names, in axis order.
    K
        The precision (or information) matrix, symmetric.
    h
        The information vector.
    g
        The logarithm of the value at zero.

    Examples
    --------
    >>> prior = GaussianFactor.from_moments(["x"], [1.0], [[4.0]])
    >>> sensor = linear_gaussian("y", ["x"], intercept=-3.5, coefficients=[0.5], variance=4.0)
    >>> joint = prior * sensor
    >>> joint.to_moments().covariance
    array([[4., 2.],
           [2., 5.]])
    >>> posterior = joint.reduce({"y": 2.0}).to_moments()
    >>> posterior.mean, round(posterior.log_normalizer, 6)      # and log P(y = 2)
    (array([3.]), -4.223657)
    """

    _noun, _hints = "this Gaussian factor", GAUSSIAN_HINTS

    scope: Scope
    K: Matrix
    h: Vector
    g: float

    def __init__(self, scope: Iterable[Variable | str], K: npt.ArrayLike, h: npt.ArrayLike, g: float = 0.0) -> None:
        variables = read_continuous_scope(scope)
        names = [variable.name for variable in variables]
        constant = real_numbers(g, f"The constant g of the Gaussian factor over {names}")
        if constant.shape or not np.isfinite(constant):
            raise InvalidFactor(f"The constant g of the Gaussian factor over {names} is {g}: it must be finite.")
        matrix, vector = symmetric(K, names, "The matrix K"), finite_vector(h, names, "The vector h")
        filled(self, scope=variables, K=matrix, h=vector, g=float(constant))

    @classmethod
    def _of(cls, scope: Scope, K: Matrix, h: Vector, g: float) -> GaussianFactor:
        """From parts already checked, which belong to the new factor."""
        return filled(object.__new__(cls), scope=scope, K=K, h=h, g=float(g))

    @classmethod
    def vacuous(cls, scope: Iterable[Variable | str] = (), g: float = 0.0) -> GaussianFactor:
        """The constant exp(g): one everywhere, unless told otherwise; the neutral element of products."""
        variables = read_continuous_scope(scope)
        return cls(variables, np.zeros((len(variables), len(variables))), np.zeros(len(variables)), g)

    @classmethod
    def from_moments(
        cls,
        scope: Iterable[Variable | str],
        mean: npt.ArrayLike,
        covariance: npt.ArrayLike,
        log_normalizer: float = 0.0,
    ) -> GaussianFactor:
        """The density N(mean, covariance), times exp(log_normalizer); the covariance must be positive definite.

        >>> GaussianFactor.from_moments(["x"], [0.0], [[1.0]]).value({"x": [0.0, 2.0]}).round(7)
        array([0.3989423, 0.053991 ])
        """
        variables = read_continuous_scope(scope)
        names = [variable.name for variable in variables]
        center = finite_vector(mean, names, "The mean")
        solver = definite(symmetric(covariance, names, "The covariance"))
        if solver is None:
            raise InvalidFactor(
                f"The covariance of {names} is not positive definite. If it is singular (some combination of the "
                "variables has no variance), there is no density: keep it as a MomentGaussian."
            )
        h = solver.solve(center)
        g = log_normalizer - 0.5 * (len(names) * LOG_2PI + solver.log_determinant + float(center @ h))
        return cls._of(variables, solver.inverse(), h, g)

    def variable(self, name: str) -> Variable:
        """The variable of that name."""
        return self.scope[self._positions([name])[0]]

    @property
    def is_vacuous(self) -> bool:
        """Whether the factor is a constant: it prefers no value to another."""
        return not self.K.any() and not self.h.any()

    @property
    def is_normalizable(self) -> bool:
        """Whether the integral is finite: K is positive definite."""
        return definite(self.K) is not None

    @property
    def log_normalizer(self) -> float:
        """log ∫ φ(x) dx; infinite where K is not positive definite."""
        solver = definite(self.K)
        return math.inf if solver is None else self.g + _log_integral(solver, self.h)

    def is_distribution(self, tolerance: float = WRITTEN_ROUNDING) -> bool:
        """Whether the integral is one."""
        return abs(self.log_normalizer) <= tolerance

    def log_value(self, columns: Mapping[str, npt.ArrayLike]) -> Floats:
        """log φ at a point, or at many: a number or an array for each name (other names are ignored), broadcast.

        >>> GaussianFactor(["x"], [[2.0]], [1.0]).log_value({"x": [0.0, 1.0, 2.0]})
        array([ 0.,  0., -2.])
        """
        x = read_point(self.scope, columns, "use reduce() for a slice")
        value = x @ self.h - 0.5 * np.einsum("...i,...i->...", x @ self.K, x) + self.g
        return np.asarray(value, dtype=np.float64)

    def value(self, columns: Mapping[str, npt.ArrayLike]) -> Floats:
        """φ at a point, or at many; a density is not a probability and may exceed one."""
        return np.exp(self.log_value(columns))

    def __mul__(self, other: GaussianFactor | float) -> GaussianFactor:
        """The product: canonical parameters add."""
        return self._combine(other, 1.0)

    def __truediv__(self, other: GaussianFactor | float) -> GaussianFactor:
        """The quotient: canonical parameters subtract; K may turn out indefinite."""
        return self._combine(other, -1.0)

    __rmul__ = __mul__
    __array_ufunc__ = None

    def _combine(self, other: GaussianFactor | float, sign: float) -> GaussianFactor:
        if isinstance(other, GaussianFactor):
            return _weighted_product([self, other], [1.0, sign])
        if not isinstance(other, (int, float, np.number)):
            return NotImplemented
        if not 0 < other < math.inf:
            raise InvalidFactor(f"A Gaussian factor is positive and finite: it can't be scaled by {other}.")
        return GaussianFactor._of(self.scope, self.K, self.h, self.g + sign * math.log(other))

    def marginalize(self, names: str | Iterable[str]) -> GaussianFactor:
        """Integrate variables out: ∫ φ(x, y) dy; their block of K must be positive definite.

        With K = [[A, B], [Bᵀ, C]] over (x, y): K' = A - B C⁻¹Bᵀ, h' = h_x - B C⁻¹h_y,
        g' = g + ½ (|y| log 2π - log det C + h_yᵀC⁻¹h_y).
        """
        return self._without(names, _log_integral)

    def maximize(self, names: str | Iterable[str]) -> GaussianFactor:
        """Maximise variables out: max_y φ(x, y); as `marginalize`, but for the volume."""
        return self._without(names, _log_maximum)

    def _without(self, names: str | Iterable[str], log_total: Callable[[Definite, Vector], float]) -> GaussianFactor:
        gone = self._positions(names)
        if not gone:
            return self
        kept = [axis for axis in range(len(self.scope)) if axis not in set(gone)]
        solver = definite(self.K[np.ix_(gone, gone)])
        if solver is None:
            raise _divergent([self.names[axis] for axis in gone])
        cross = self.K[np.ix_(kept, gone)]
        K = self.K[np.ix_(kept, kept)] - cross @ solver.solve(np.ascontiguousarray(cross.T))
        h = self.h[kept] - cross @ solver.solve(self.h[gone])
        g = self.g + log_total(solver, self.h[gone])
        return GaussianFactor._of(tuple(self.scope[axis] for axis in kept), (K + K.T) / 2, h, g)

    def marginal(self, names: str | Iterable[str]) -> GaussianFactor:
        """Integrate out everything but `names`; the axes come in the order asked for."""
        kept = [self.names[axis] for axis in self._positions(names)]
        return self.marginalize([name for name in self.names if name not in set(kept)]).reorder(kept)

    def reduce(self, assignment: Mapping[str, float]) -> GaussianFactor:
        """The slice where the assigned variables have their values; names outside the scope are ignored (φ[u])."""
        fixed = [axis for axis, name in enumerate(self.names) if name in assignment]
        kept = [axis for axis in range(len(self.scope)) if axis not in set(fixed)]
        point = np.array([finite_number(self.names[axis], assignment[self.names[axis]]) for axis in fixed])
        h = self.h[kept] - self.K[np.ix_(kept, fixed)] @ point
        g = self.g + float(self.h[fixed] @ point - 0.5 * point @ self.K[np.ix_(fixed, fixed)] @ point)
        return GaussianFactor._of(tuple(self.scope[axis] for axis in kept), self.K[np.ix_(kept, kept)], h, g)

    def reorder(self, names: Sequence[str]) -> GaussianFactor:
        """The same function with its axes in the order of `names`."""
        listed = [names] if isinstance(names, str) else list(names)
        order = self._positions(listed)
        if not len(listed) == len(order) == len(self.scope):
            raise InvalidFactor(f"{listed!r} is not an order of the scope {list(self.names)}.")
        scope = tuple(self.scope[axis] for axis in order)
        return GaussianFactor._of(scope, self.K[np.ix_(order, order)], self.h[order], self.g)

    def extend(self, variables: Iterable[Variable | str]) -> GaussianFactor:
        """The same function over a larger scope, constant in the new variables."""
        return self * GaussianFactor.vacuous(variables)

    def rename(self, names: Mapping[str, str]) -> GaussianFactor:
        """The same function with some variables renamed."""
        self._positions(names)
        scope = read_continuous_scope(v.renamed(names.get(v.name, v.name)) for v in self.scope)
        return GaussianFactor._of(scope, self.K, self.h, self.g)

    def normalize(self) -> GaussianFactor:
        """The same function divided by its integral."""
        return GaussianFactor._of(self.scope, self.K, self.h, -_log_integral(self._solver(), self.h))

    def to_moments(self) -> MomentGaussian:
        """Mean K⁻¹h, covariance K⁻¹ and the log of the integral; K must be positive definite."""
        solver = self._solver()
        log_normalizer = self.g + _log_integral(solver, self.h)
        return MomentGaussian.trusted(self.scope, solver.solve(self.h), solver.inverse(), log_normalizer)

    def argmax(self) -> Assignment:
        """The point with the largest value: the mean."""
        return Assignment(dict(zip(self.names, self._solver().solve(self.h).tolist(), strict=True)))

    def _solver(self) -> Definite:
        solver = definite(self.K)
        if solver is None:
            raise _divergent(list(self.names))
        return solver

    def _numbers(self) -> tuple[Matrix, Vector, float]:
        return self.K, self.h, self.g

    def __repr__(self) -> str:
        return f"GaussianFactor({', '.join(self.names)})"

    def __str__(self) -> str:
        return f"{self.to_table()}\ng = {format_number(self.g)}"

    def _repr_html_(self) -> str:
        return f"{self.to_table().to_html()}<p>g = {format_number(self.g)}</p>"

    def to_table(self) -> TextTable:
        """h and the rows of K, one row for each variable."""
        header = ("variable", "h", *(f"K[{name}]" for name in self.names))
        numbers = np.column_stack([self.h, self.K])
        rows = zip(self.names, numbers.tolist(), strict=True)
        return TextTable(header, tuple((name, *map(format_number, row)) for name, row in rows), 1)


def linear_gaussian(
    variable: Variable | str,
    parents: Iterable[Variable | str],
    intercept: float,
    coefficients: npt.ArrayLike,
    variance: float,
) -> GaussianFactor:
    """P(y | x) = N(y; β₀ + βᵀx, σ²) as a canonical factor over `(*parents, variable)`.

    K = σ⁻² [[ββᵀ, -β], [-βᵀ, 1]], h = β₀σ⁻² [-β, 1], g = -½ (β₀²/σ² + log 2πσ²). A variance of zero makes y a
    function of x, which has no density: it is refused here; `MomentGaussian.with_linear` takes it.

    >>> linear_gaussian("y", ["x"], 1.0, [2.0], 0.5).K
    array([[ 8., -4.],
           [-4.,  2.]])
    """
    scope = read_continuous_scope((*parents, variable))
    names = [v.name for v in scope]
    weights = real_numbers(coefficients, f"The coefficients of {names[-1]!r}")
    if weights.shape != (len(scope) - 1,):
        raise InvalidFactor(f"{names[-1]!r} needs one coefficient for each of {names[:-1]}, not shape {weights.shape}.")
    if not (np.isfinite(weights).all() and math.isfinite(intercept) and math.isfinite(variance)):
        raise InvalidFactor(f"The intercept, coefficients and variance of {names[-1]!r} must be finite numbers.")
    if variance < 0:
        raise InvalidFactor(f"The variance of {names[-1]!r} is {variance}: it can't be negative.")
    if variance == 0:
        raise NotSupported(
            f"With variance zero {names[-1]!r} is a function of its parents and has no density, hence no canonical "
            "form. Use MomentGaussian.with_linear, or a small positive variance."
        )
    direction = np.append(-weights, 1.0)
    K = np.outer(direction, direction) / variance
    g = -0.5 * (intercept**2 / variance + LOG_2PI + math.log(variance))
    return GaussianFactor._of(scope, K, direction * (intercept / variance), g)


def gaussian_product(factors: Iterable[GaussianFactor]) -> GaussianFactor:
    """The product of any number of Gaussian factors over the union of their scopes; one, where there are none."""
    listed = list(factors)
    return _weighted_product(listed, [1.0] * len(listed))


def _weighted_product(factors: Sequence[GaussianFactor], exponents: Sequence[float]) -> GaussianFactor:
    scope = union_scope(factor.scope for factor in factors)
    places = {variable.name: place for place, variable in enumerate(scope)}
    K, h, g = np.zeros((len(scope), len(scope))), np.zeros(len(scope)), 0.0
    for factor, exponent in zip(factors, exponents, strict=True):
        own = [places[name] for name in factor.names]
        K[np.ix_(own, own)] += exponent * factor.K
        h[own] += exponent * factor.h
        g += exponent * factor.g
    return GaussianFactor._of(scope, K, h, g)


def _log_integral(solver: Definite, h: Vector) -> float:
    return 0.5 * (len(h) * LOG_2PI - solver.log_determinant) + _log_maximum(solver, h)


def _log_maximum(solver: Definite, h: Vector) -> float:
    return 0.5 * float(h @ solver.solve(h))


def _divergent(names: Sequence[str]) -> InvalidFactor:
    return InvalidFactor(
        f"The integral over {list(names)} is infinite: K is not positive definite there, so that some combination of "
        "these variables is not held down. Multiply by a prior over them first."
    )
