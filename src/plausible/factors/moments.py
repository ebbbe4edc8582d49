"""Gaussian distributions by mean and covariance, deterministic relations included."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from plausible.base import WRITTEN_ROUNDING, Floats, TextTable, format_number
from plausible.errors import ImpossibleEvidence, InvalidArgument, InvalidFactor, NotSupported
from plausible.factors.alignment import Scope
from plausible.factors.definite import (
    LOG_2PI,
    Conditioned,
    Definite,
    Matrix,
    SemiDefinite,
    Vector,
    condition_definite,
    definite,
    finite_number,
    finite_vector,
    rounding,
    semi_definite,
    settled,
    symmetric,
)
from plausible.factors.information import log_unit
from plausible.factors.normal import GaussianValue, filled, read_continuous_scope, read_point, rectangle_probability
from plausible.variables import Variable

if TYPE_CHECKING:
    from plausible.factors.gaussian import GaussianFactor


@dataclass(frozen=True, slots=True, init=False, eq=False, repr=False)
class MomentGaussian(GaussianValue):
    """N(mean, covariance) over named continuous variables; the covariance may be singular.

    Where it is, some combination of the variables is known for certain: there is no density on the whole space, but
    marginals, conditionals, probabilities and sums of variables are all well defined, and this class gives them.

    Parameters
    ----------
    scope
        Continuous variables, or their names, in axis order.
    mean
        One number for each variable.
    covariance
        Symmetric and positive semi-definite; zero variance makes a variable a constant.
    log_normalizer
        The log of what the distribution was divided by: log P(evidence) of a conditional, zero for a prior.

    Examples
    --------
    >>> joint = MomentGaussian(["x"], [1.0], [[4.0]]).with_linear("y", {"x": 0.5}, intercept=-3.5, variance=4.0)
    >>> joint.covariance
    array([[4., 2.],
           [2., 5.]])
    >>> joint.condition({"y": 2.0}).mean
    array([3.])
    >>> round(joint.probability({"x": (-1.0, 3.0)}), 6)
    0.682689
    """

    _noun = "this Gaussian"

    scope: Scope
    mean: Vector
    covariance: Matrix
    log_normalizer: float

    def __init__(
        self,
        scope: Iterable[Variable | str],
        mean: npt.ArrayLike,
        covariance: npt.ArrayLike,
        log_normalizer: float = 0.0,
    ) -> None:
        variables = read_continuous_scope(scope)
        names = [variable.name for variable in variables]
        matrix = symmetric(covariance, names, "The covariance")
        if semi_definite(matrix).defect > WRITTEN_ROUNDING:
            raise InvalidFactor(
                f"The covariance of {names} is not positive semi-definite: some combination of these variables would "
                "have a negative variance."
            )
        center, constant = finite_vector(mean, names, "The mean"), finite_number("log_normalizer", log_normalizer)
        filled(self, scope=variables, mean=center, covariance=matrix, log_normalizer=constant)

    @classmethod
    def trusted(cls, scope: Scope, mean: Vector, covariance: Matrix, log_normalizer: float = 0.0) -> MomentGaussian:
        """From parts known to fit, which belong to the new distribution; nothing is checked."""
        moments = object.__new__(cls)
        return filled(moments, scope=scope, mean=mean, covariance=covariance, log_normalizer=float(log_normalizer))

    @property
    def variances(self) -> dict[str, float]:
        """The variance of each variable."""
        return dict(zip(self.names, self.covariance.diagonal().tolist(), strict=True))

    @property
    def means(self) -> dict[str, float]:
        """The mean of each variable."""
        return dict(zip(self.names, self.mean.tolist(), strict=True))

    @property
    def is_degenerate(self) -> bool:
        """Whether some combination of the variables is known for certain: the covariance is singular."""
        return definite(self.covariance) is None

    def correlation(self) -> Matrix:
        """The correlation matrix; a constant has correlation zero with all others."""
        deviation = np.sqrt(self.covariance.diagonal())
        scale = np.where(deviation > 0, deviation, 1.0)
        matrix = self.covariance / scale[:, None] / scale
        np.fill_diagonal(matrix, 1.0)
        return matrix

    def marginal(self, names: str | Iterable[str]) -> MomentGaussian:
        """The distribution of some variables, in the order asked for."""
        kept = self._positions(names)
        scope = tuple(self.scope[axis] for axis in kept)
        return MomentGaussian.trusted(scope, self.mean[kept], self.covariance[np.ix_(kept, kept)], self.log_normalizer)

    def marginalize(self, names: str | Iterable[str]) -> MomentGaussian:
        """The distribution of all but some variables."""
        gone = set(self._positions(names))
        return self.marginal([name for axis, name in enumerate(self.names) if axis not in gone])

    def condition(self, evidence: Mapping[str, float]) -> MomentGaussian:
        """The distribution of the others, once some variables are known; names outside the scope are ignored.

        mean_x + Σ_xe Σ_ee⁺ (e - mean_e) and Σ_xx - Σ_xe Σ_ee⁺ Σ_ex, with a pseudo-inverse where Σ_ee is singular.
        Evidence off the support raises `ImpossibleEvidence`. The log-density of the evidence (with respect to volume on
        its support, where Σ_ee is singular) is added to `log_normalizer`.

        A variance that rounding can't tell from zero, some 1e-15 of the variance before, comes out as zero. Where the
        prior is wider than that, the product of canonical factors (`linear_gaussian`) keeps both.
        """
        seen = [axis for axis, name in enumerate(self.names) if name in evidence]
        kept = [axis for axis in range(len(self.scope)) if axis not in set(seen)]
        point = np.array([finite_number(self.names[axis], evidence[self.names[axis]]) for axis in seen])
        scope = tuple(self.scope[axis] for axis in kept)
        found = condition_definite(self.mean, self.covariance, seen, kept, point)
        if found is None:
            found = self._condition_singular(seen, kept, point)
        return MomentGaussian.trusted(scope, found.mean, found.covariance, self.log_normalizer + found.log_density)

    def _condition_singular(self, seen: Sequence[int], kept: Sequence[int], point: Vector) -> Conditioned:
        solver = semi_definite(self.covariance[np.ix_(seen, seen)])
        surprise = point - self.mean[seen]
        self._check_possible(solver, seen, surprise)
        cross = self.covariance[np.ix_(kept, seen)]
        mean = self.mean[kept] + cross @ solver.pseudo_solve(surprise)
        prior = self.covariance[np.ix_(kept, kept)]
        explained = cross @ solver.pseudo_solve(np.ascontiguousarray(cross.T))
        covariance = settled(prior - explained, rounding(len(self.scope)) * prior.diagonal())
        # The density is with respect to volume on the support.
        square = float(surprise @ solver.pseudo_solve(surprise))
        log_density = -0.5 * (solver.rank * LOG_2PI + solver.log_pseudo_determinant + square)
        return Conditioned(mean, covariance, log_density)

    def _check_possible(self, solver: SemiDefinite, seen: Sequence[int], surprise: Vector) -> None:
        size = np.maximum(np.abs(self.mean[seen]), np.abs(surprise)) / solver.scale
        wrong = np.abs(solver.outside(surprise)) > 1e-7 * (1.0 + np.max(size, initial=0.0))
        if wrong.any():
            names = [self.names[axis] for axis, off in zip(seen, wrong, strict=True) if off]
            raise ImpossibleEvidence(
                f"The values given for {names} can't occur together: this Gaussian determines some of them from the "
                "others, or holds them constant."
            )

    def with_linear(
        self,
        variable: Variable | str,
        parents: Mapping[str, float],
        intercept: float = 0.0,
        variance: float = 0.0,
    ) -> MomentGaussian:
        """The joint with one more variable Y = intercept + Σ coefficient · parent + noise; variance zero is allowed.

        Adding the variables of a linear Gaussian network in topological order gives its joint distribution.

        >>> MomentGaussian(["x"], [1.0], [[4.0]]).with_linear("twice", {"x": 2.0}).covariance
        array([[ 4.,  8.],
               [ 8., 16.]])
        """
        (added,) = read_continuous_scope([variable])
        scope = read_continuous_scope((*self.scope, added))
        if not 0 <= variance < math.inf:
            raise InvalidFactor(f"The variance of {added.name!r} is {variance}; it must be zero or more, and finite.")
        weights = np.zeros(len(self.scope))
        weights[self._positions(parents)] = [finite_number(name, weight) for name, weight in parents.items()]
        covariances = self.covariance @ weights
        size = len(weights)
        covariance = np.empty((size + 1, size + 1))
        covariance[:size, :size] = self.covariance
        covariance[size, :size] = covariance[:size, size] = covariances
        covariance[size, size] = weights @ covariances + variance
        mean = np.append(self.mean, finite_number("intercept", intercept) + weights @ self.mean)
        return MomentGaussian.trusted(scope, mean, covariance, self.log_normalizer)

    def reorder(self, names: Sequence[str]) -> MomentGaussian:
        """The same distribution with its axes in the order of `names`."""
        listed = [names] if isinstance(names, str) else list(names)
        if sorted(listed) != sorted(self.names):
            raise InvalidFactor(f"{listed!r} is not an order of the scope {list(self.names)}.")
        return self.marginal(listed)

    def to_canonical(self) -> GaussianFactor:
        """exp(log_normalizer) times the density, in canonical form; refused where the covariance is singular."""
        from plausible.factors.gaussian import GaussianFactor

        return GaussianFactor.from_moments(self.scope, self.mean, self.covariance, self.log_normalizer)

    def log_density(self, columns: Mapping[str, npt.ArrayLike]) -> Floats:
        """log N(x; mean, covariance) at a point, or at many: a number or an array for each name, broadcast.

        >>> MomentGaussian(["x"], [0.0], [[1.0]]).log_density({"x": [0.0, 1.0]}).round(6)
        array([-0.918939, -1.418939])
        """
        solver = self._definite("a density")
        surprise = read_point(self.scope, columns, "take marginal() first") - self.mean
        flat = surprise.reshape(math.prod(surprise.shape[:-1]), len(self.scope))
        squares = np.einsum("ij,ji->i", flat, solver.solve(np.ascontiguousarray(flat.T)))
        volume = len(self.scope) * LOG_2PI + solver.log_determinant
        return np.asarray(-0.5 * (squares + volume)).reshape(surprise.shape[:-1])

    def density(self, columns: Mapping[str, npt.ArrayLike]) -> Floats:
        """N(x; mean, covariance): a density, not a probability; it may exceed one."""
        return np.exp(self.log_density(columns))

    def probability(
        self, intervals: Mapping[str, tuple[float, float]], tolerance: float = 1e-6, seed: int = 0
    ) -> float:
        """P(a ≤ X ≤ b for all intervals): exact for independent variables and pairs, else integrated numerically.

        Parameters
        ----------
        intervals
            A pair (low, high) for each variable that is bounded; ±inf leaves a side open. Whether an end belongs to the
            interval matters only to a variable of zero variance.
        tolerance
            The absolute error to aim for, where three or more dependent variables are bounded.
        seed
            Of the randomised integration rule used there.

        Examples
        --------
        >>> both = MomentGaussian(["x", "y"], [0.0, 0.0], [[1.0, 0.5], [0.5, 1.0]])
        >>> round(both.probability({"x": (0.0, math.inf), "y": (0.0, math.inf)}), 9)
        0.333333333
        """
        part = self.marginal(intervals)
        limits = np.array([_interval(name, intervals[name]) for name in part.names]).reshape(-1, 2)
        return rectangle_probability(part.mean, part.covariance, limits, tolerance, seed)

    def entropy(self, base: float = math.e) -> float:
        """The differential entropy ½ log det(2πe Σ); minus infinity where the covariance is singular."""
        unit = log_unit(base)
        solver = definite(self.covariance)
        if solver is None:
            return -math.inf
        return 0.5 * (len(self.scope) * (LOG_2PI + 1) + solver.log_determinant) / unit

    def kl_divergence(self, other: MomentGaussian, base: float = math.e) -> float:
        """D(self ‖ other) = ½ (tr Σ₂⁻¹Σ₁ + (m₂-m₁)ᵀΣ₂⁻¹(m₂-m₁) - n + log det Σ₂/det Σ₁).

        Infinite where `self` is degenerate; a degenerate `other` is refused unless both are equal.
        """
        unit = log_unit(base)
        if set(self.scope) != set(other.scope):
            raise InvalidFactor(f"The divergence needs one scope: {list(self.names)} is not {list(other.names)}.")
        twin = other.reorder(self.names)
        mine, its = definite(self.covariance), definite(twin.covariance)
        if mine is None or its is None:
            same = np.array_equal(self.mean, twin.mean) and np.array_equal(self.covariance, twin.covariance)
            return 0.0 if same else math.inf
        distance = twin.mean - self.mean
        quadratic = float(distance @ its.solve(distance) + np.trace(its.solve(self.covariance)))
        nats = 0.5 * (quadratic - len(self.scope) + its.log_determinant - mine.log_determinant)
        return max(nats, 0.0) / unit

    def mutual_information(
        self, x: str | Iterable[str], y: str | Iterable[str], given: str | Iterable[str] = (), base: float = math.e
    ) -> float:
        """I(X; Y | Z) = ½ log (det Σ_xz det Σ_yz / det Σ_z det Σ_xyz).

        >>> pair = MomentGaussian(["x", "y"], [0.0, 0.0], [[1.0, 0.6], [0.6, 1.0]])
        >>> round(pair.mutual_information("x", "y", base=2), 6)     # -½ log2 (1 - 0.36)
        0.321928
        """
        unit = log_unit(base)
        rest = self._positions(given)
        left, right = ([axis for axis in self._positions(side) if axis not in rest] for side in (x, y))
        if set(left) & set(right):
            shared = self.names[next(iter(set(left) & set(right)))]
            raise InvalidFactor(f"{shared!r} stands on both sides of the mutual information.")
        parts = [
            self.marginal([self.names[a] for a in s]) for s in (left + rest, right + rest, rest, left + right + rest)
        ]
        logs = [part._definite("this mutual information").log_determinant for part in parts]
        return max(0.5 * (logs[0] + logs[1] - logs[2] - logs[3]), 0.0) / unit

    def _definite(self, what: str) -> Definite:
        solver = definite(self.covariance)
        if solver is None:
            raise NotSupported(
                f"The covariance of {list(self.names)} is singular, so that {what} does not exist. "
                "Leave out the variables that the others determine."
            )
        return solver

    def _numbers(self) -> tuple[Vector, Matrix, float]:
        return self.mean, self.covariance, self.log_normalizer

    def __repr__(self) -> str:
        return f"MomentGaussian({self.summary()})"

    def summary(self, limit: int = 6) -> str:
        """Mean and variance of each variable in one line, of the first ones where there are many.

        >>> MomentGaussian(["x", "y"], [1.0, 0.0], [[4.0, 0.5], [0.5, 1.0]]).summary()
        'x: mean 1, variance 4; y: mean 0, variance 1'
        """
        numbers = zip(self.names[:limit], self.mean.tolist(), self.covariance.diagonal().tolist(), strict=False)
        parts = [f"{name}: mean {format_number(m)}, variance {format_number(v)}" for name, m, v in numbers]
        return "; ".join([*parts, f"... {len(self.names)} variables"] if len(self.names) > limit else parts)

    def to_table(self) -> TextTable:
        """Means and the rows of the covariance, one row for each variable."""
        header = ("variable", "mean", *(f"cov[{name}]" for name in self.names))
        numbers = np.column_stack([self.mean, self.covariance]).tolist()
        rows = tuple((name, *map(format_number, row)) for name, row in zip(self.names, numbers, strict=True))
        return TextTable(header, rows, 1)


def _interval(name: str, interval: tuple[float, float]) -> tuple[float, float]:
    try:
        low, high = (float(end) for end in interval)
    except (TypeError, ValueError):
        raise InvalidArgument(f"The interval of {name!r} is a pair of numbers (low, high), not {interval!r}.") from None
    if math.isnan(low) or math.isnan(high) or low > high:
        raise InvalidArgument(f"The interval of {name!r} is empty: {low} to {high}.")
    return low, high
