"""Linear Gaussian CPDs: a mean that is linear in continuous parents, and a constant variance."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Self

import numpy as np

from plausible.base import Floats, format_number
from plausible.cpds.base import CPD, Columns
from plausible.cpds.reading import (
    TextLines,
    VariableLike,
    linear_text,
    name_of,
    numbers,
    read_continuous_child,
    read_parents,
    record_field,
    values_by_parent,
)
from plausible.errors import InvalidCPD, NotSupported
from plausible.factors import GaussianFactor, MomentGaussian, linear_gaussian
from plausible.variables import Variable


class GaussianCPD(CPD):
    """A normal distribution whose mean and variance are functions of the parents."""

    __slots__ = ()

    @abstractmethod
    def mean(self, columns: Columns) -> Floats:
        """E[Y | u] of each row of parents."""

    @abstractmethod
    def _variance_at(self, columns: Columns) -> Floats:
        """The variance of each row of parents."""

    def log_probability(self, columns: Columns) -> Floats:
        """log N(y; mean, σ²) = -½ (log 2πσ² + (y - mean)²/σ²) of each row; the point mass of variance zero is ±inf."""
        variance, distance = self._variance_at(columns), self._column(columns, self.variable) - self.mean(columns)
        with np.errstate(divide="ignore", invalid="ignore"):
            density = -0.5 * (np.log(2 * math.pi * variance) + distance**2 / variance)
        return np.where(variance > 0, density, np.where(distance == 0, np.inf, -np.inf))

    def quantile(self, columns: Columns, levels: Floats) -> Floats:
        """The value that Y stays below with probability `levels` (in (0, 1)): uniform levels give a sample."""
        from scipy.special import ndtri

        variance = self._variance_at(columns)
        return np.asarray(self.mean(columns) + np.sqrt(variance) * np.where(variance > 0, ndtri(levels), 0.0))

    def _row(self, columns: Columns) -> MomentGaussian:
        variance = float(self._variance_at(columns))
        return MomentGaussian((self.variable,), [float(self.mean(columns))], [[variance]])


class LinearGaussianCPD(GaussianCPD):
    """A linear Gaussian: Y ~ N(β_0 + Σ β_i x_i, σ²), with continuous parents and constant variance.

    Parameters
    ----------
    intercept
        β_0.
    coefficients
        β_i for each parent: a mapping by name, or a list in the order of the `parents`.
    variance
        σ². Zero makes Y a function of its parents: you can sample, but there is no density, so `log_probability` is
        +inf if y is exactly the mean and -inf otherwise, and `to_factors` is refused.
    parents
        Names or continuous `Variable` objects; by default the names in `coefficients`, in order.

    Examples
    --------
    >>> speed = LinearGaussianCPD("speed", intercept=1.0, coefficients={"slope": 2.0}, variance=4.0)
    >>> print(speed)
    speed ~ N(1 + 2 slope, 4)
    >>> speed.mean({"slope": np.array([0.0, 3.0])})
    array([1., 7.])
    >>> speed.to_factors()[0].names
    ('slope', 'speed')
    """

    __slots__ = ("coefficients", "intercept", "variance")

    kind: ClassVar[str] = "linear-gaussian"
    #: β_0.
    intercept: float
    #: β_i of each parent, read-only.
    coefficients: Floats
    #: σ².
    variance: float

    def __init__(
        self,
        variable: VariableLike,
        intercept: float = 0.0,
        coefficients: Mapping[str, float] | Iterable[float] = (),
        variance: float = 1.0,
        parents: VariableLike | Iterable[VariableLike] | None = None,
    ) -> None:
        name = name_of(variable)
        self.variable = read_continuous_child(variable)
        if parents is None:
            parents = tuple(coefficients) if isinstance(coefficients, Mapping) else ()
        self.parent_names, known = read_parents(name, parents)
        # All parents are continuous, so that a name says everything.
        self._known_parents = tuple(p or Variable(n) for n, p in zip(self.parent_names, known, strict=True))
        listed = values_by_parent(name, "coefficients", self.parent_names, coefficients)
        self.intercept = _number(intercept, f"The intercept of {name!r}")
        pairs = zip(self.parent_names, listed, strict=True)
        self.coefficients = np.array([_number(x, f"The coefficient of {p!r} for {name!r}") for p, x in pairs])
        self.coefficients.setflags(write=False)
        self.variance = _number(variance, f"The variance of {name!r}")
        if self.variance < 0:
            raise InvalidCPD(f"The variance of {name!r} is {self.variance:g}; it can't be negative.")
        self._settle()

    def _settle(self) -> None:
        for parent in self.parents:
            self._check_continuous(parent)

    def _check_continuous(self, parent: Variable) -> None:
        if not parent.is_continuous:
            raise InvalidCPD(
                f"The parent {parent.name!r} of {self.variable.name!r} has states, but a LinearGaussianCPD takes "
                "continuous parents only; use ConditionalGaussianCPD."
            )

    def bind(self, variables: Mapping[str, Variable]) -> Self:
        """The same CPD, its parents found to be continuous in `variables`."""
        for name in self.parent_names:
            self._check_continuous(self._look_up(name, variables))
        return super().bind(variables)

    @property
    def is_deterministic(self) -> bool:
        """Whether the variance is zero."""
        return self.variance == 0

    @property
    def num_parameters(self) -> int:
        """The intercept, a coefficient for each parent, and the variance."""
        return 2 + len(self.parent_names)

    def mean(self, columns: Columns) -> Floats:
        """E[Y | x] of each row of parents."""
        total = np.asarray(self.intercept)
        for parent, coefficient in zip(self.parents, self.coefficients, strict=True):
            total = total + coefficient * self._column(columns, parent)
        return total

    def _variance_at(self, columns: Columns) -> Floats:
        return np.asarray(self.variance)

    def to_factors(self) -> tuple[GaussianFactor, ...]:
        """The density in canonical form, over `(*parents, variable)`."""
        if not self.variance:
            raise NotSupported(
                f"{self.variable.name!r} has variance zero: it is a function of its parents and has no density. "
                "Give it a small variance, or write it out of the model."
            )
        return (linear_gaussian(self.variable, self.parents, self.intercept, self.coefficients, self.variance),)

    def _ignores(self, free: frozenset[int], fixed: Mapping[int, int], tolerance: float) -> bool:
        return all(abs(float(self.coefficients[axis])) <= tolerance for axis in free)

    def to_record(self) -> dict[str, Any]:
        """Intercept, coefficients in the order of the parents, variance."""
        return {
            "intercept": self.intercept,
            "coefficients": self.coefficients.tolist(),
            "variance": self.variance,
        }

    @classmethod
    def from_record(cls, variable: Variable, parents: tuple[Variable, ...], record: Mapping[str, Any]) -> Self:
        fields = ("intercept", "coefficients", "variance")
        intercept, coefficients, variance = (record_field(variable, record, field) for field in fields)
        return cls(variable, intercept, coefficients, variance, parents)

    def _shown(self) -> TextLines:
        terms = zip(self.parent_names, self.coefficients.tolist(), strict=True)
        return TextLines("", [f"{self.variable.name} ~ {gaussian_text(self.intercept, terms, self.variance)}"], "lines")

    def _is_close(self, other: CPD, tolerance: float) -> bool:
        if not isinstance(other, LinearGaussianCPD):
            return other._is_close(self, tolerance)
        mine, its = (dict(zip(c.parent_names, c.coefficients.tolist(), strict=True)) for c in (self, other))
        pairs = [(self.intercept, other.intercept), (self.variance, other.variance)]
        pairs += [(mine[name], its[name]) for name in mine]
        return all(abs(one - two) <= tolerance for one, two in pairs)


def gaussian_text(intercept: float, terms: Iterable[tuple[str, float]], variance: float) -> str:
    """`N(1 + 2 X, 4)`: the mean and the variance."""
    return f"N({linear_text(intercept, terms)}, {format_number(variance)})"


def _number(value: Any, what: str) -> float:
    array = numbers(value, what)
    if array.ndim:
        raise InvalidCPD(f"{what}: expected a number, not {value!r}.")
    return float(array)
