"""What Gaussians of all forms share: scopes, points and functions of them; probabilities of rectangles."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
import numpy.typing as npt

from plausible.base import TextTable
from plausible.errors import InvalidArgument, InvalidFactor
from plausible.factors.alignment import Scope, axes_named
from plausible.factors.definite import Matrix, Vector
from plausible.variables import Variable

Value = TypeVar("Value")


def read_continuous_scope(scope: Iterable[Variable | str]) -> Scope:
    """Continuous variables from whatever a caller gave, each once; a name stands for a variable of that name."""
    listed = (scope,) if isinstance(scope, (str, Variable)) else tuple(scope)
    found: dict[str, Variable] = {}
    for item in listed:
        variable = Variable(item) if isinstance(item, str) else item
        if not isinstance(variable, Variable):
            raise InvalidFactor(f"A scope holds Variable objects or names, not {item!r}.")
        if not variable.is_continuous:
            raise InvalidFactor(f"{variable.name!r} is discrete: a Gaussian can't hold it; see Factor.")
        if variable.name in found:
            raise InvalidFactor(f"{variable.name!r} stands twice in the scope.")
        found[variable.name] = variable
    return tuple(found.values())


def read_point(scope: Scope, columns: Mapping[str, npt.ArrayLike], advice: str) -> Matrix:
    """The numbers of a point, or of many, broadcast; the last axis runs over the scope."""
    missing = [variable.name for variable in scope if variable.name not in columns]
    if missing:
        raise InvalidFactor(f"The point leaves {missing[0]!r} open; {advice}.")
    point = np.broadcast_arrays(*(np.asarray(columns[variable.name], dtype=np.float64) for variable in scope))
    return np.stack(point, axis=-1) if point else np.zeros(0)


def filled(value: Value, **parts: Any) -> Value:
    """A frozen value with its parts, which belong to it from now on: arrays become read-only."""
    for name, part in parts.items():
        if isinstance(part, np.ndarray):
            part.setflags(write=False)
        object.__setattr__(value, name, part)
    return value


class GaussianValue(ABC):
    """What Gaussians of all forms are as values: dataclasses with read-only arrays that compare by content."""

    __slots__ = ()

    #: What errors call it.
    _noun: ClassVar[str]
    scope: Scope

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the variables, in axis order."""
        return tuple(variable.name for variable in self.scope)

    @abstractmethod
    def marginal(self, names: str | Iterable[str]) -> Self:
        """The same over some of the variables, in the order asked for."""

    @abstractmethod
    def to_table(self) -> TextTable:
        """The numbers for people."""

    @abstractmethod
    def _numbers(self) -> tuple[Any, ...]:
        """All numbers, in arrays whose axes are in the order of the names."""

    def _variables(self) -> set[Variable]:
        return set(self.scope)

    def _positions(self, names: str | Iterable[str]) -> list[int]:
        return list(axes_named(names, self.names, self._noun).values())

    def _content(self) -> dict[str, Any]:
        return {part.name: getattr(self, part.name) for part in fields(self)}  # type: ignore[arg-type]

    def is_close(self, other: Self, tolerance: float = 1e-9) -> bool:
        """Whether all numbers agree up to `tolerance` (absolute and relative), whatever the order of the axes."""
        if not isinstance(other, type(self)):
            kind = type(self).__name__
            raise InvalidArgument(f"A {kind} is close to another one or not; {other!r} is none.")
        if self._variables() != other._variables():
            return False
        pairs = zip(self._numbers(), other.marginal(self.names)._numbers(), strict=True)
        return all(np.allclose(mine, its, rtol=tolerance, atol=tolerance) for mine, its in pairs)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, type(self)):
            return NotImplemented
        pairs = zip(self._content().values(), other._content().values(), strict=True)
        return all(np.array_equal(a, b) if isinstance(a, np.ndarray) else a == b for a, b in pairs)

    def __hash__(self) -> int:
        parts = self._content().values()
        return hash(tuple((part + 0.0).tobytes() if isinstance(part, np.ndarray) else part for part in parts))

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle by its parts, so that the arrays come back read-only."""
        parts = {n: np.array(part) if isinstance(part, np.ndarray) else part for n, part in self._content().items()}
        return _restored, (type(self), parts)

    def __str__(self) -> str:
        return str(self.to_table())

    def _repr_html_(self) -> str:
        return self.to_table().to_html()


def _restored(kind: type[Value], parts: Mapping[str, Any]) -> Value:
    return filled(object.__new__(kind), **parts)


def interval_probability(low: float, high: float) -> float:
    """P(low ≤ Z ≤ high) of a standard normal Z; accurate in both tails."""
    if low > 0:
        low, high = -high, -low
    return 0.5 * (math.erfc(-high / math.sqrt(2)) - math.erfc(-low / math.sqrt(2)))


def rectangle_probability(mean: Vector, covariance: Matrix, limits: Matrix, tolerance: float, seed: int) -> float:
    """P(X in the box) of X ~ N(mean, covariance), which may be singular; `limits` has a row (low, high) a variable.

    Variables that are independent of each other are treated apart: constants and single variables in closed form,
    pairs through Owen's T function, larger groups by quasi-Monte Carlo integration (Genz 1992).
    """
    from scipy.sparse.csgraph import connected_components

    deviation = np.sqrt(covariance.diagonal())
    constant = deviation == 0
    if np.any((mean[constant] < limits[constant, 0]) | (mean[constant] > limits[constant, 1])):
        return 0.0
    free = np.flatnonzero(~constant)
    scale = deviation[free]
    correlation = covariance[np.ix_(free, free)] / scale[:, None] / scale
    box = (limits[free] - mean[free, None]) / scale[:, None]
    number, labels = connected_components(correlation != 0) if free.size else (0, free)
    groups = [np.flatnonzero(labels == label) for label in range(number)]
    return math.prod(_part(correlation[np.ix_(group, group)], box[group], tolerance, seed) for group in groups)


def _part(correlation: Matrix, box: Matrix, tolerance: float, seed: int) -> float:
    if len(box) == 1:
        return interval_probability(float(box[0, 0]), float(box[0, 1]))
    if len(box) == 2:
        return _pair(float(correlation[0, 1]), box)
    from scipy.stats import multivariate_normal

    options: dict[str, Any] = {"maxpts": 10**6 * len(box), "abseps": tolerance, "releps": 0.0}
    normal = multivariate_normal(np.zeros(len(box)), correlation, allow_singular=True, seed=seed, **options)
    return float(np.clip(normal.cdf(box[:, 1], lower_limit=box[:, 0]), 0.0, 1.0))


def _pair(rho: float, box: Matrix) -> float:
    """P(low ≤ (X, Y) ≤ high) of two standard normal variables with correlation `rho`."""
    if abs(rho) >= 1 - 1e-14:
        other = box[1] if rho > 0 else -box[1, ::-1]
        low, high = max(float(box[0, 0]), float(other[0])), min(float(box[0, 1]), float(other[1]))
        return interval_probability(low, high) if low < high else 0.0
    (a, b), (c, d) = box.tolist()
    total = _quadrant(b, d, rho) - _quadrant(a, d, rho) - _quadrant(b, c, rho) + _quadrant(a, c, rho)
    return min(max(total, 0.0), 1.0)


def _quadrant(h: float, k: float, rho: float) -> float:
    """P(X ≤ h, Y ≤ k) by Owen's T function (Owen 1956, equation 2.1)."""
    from scipy.special import owens_t

    if math.isinf(h) or math.isinf(k):
        low, high = min(h, k), max(h, k)
        return 0.0 if low == -math.inf else interval_probability(-math.inf, low if high == math.inf else high)
    if h == 0 and k == 0:
        return 0.25 + math.asin(rho) / (2 * math.pi)
    root = math.sqrt((1 - rho) * (1 + rho))
    pieces = 0.5 * (interval_probability(-math.inf, h) + interval_probability(-math.inf, k))
    for near, far in ((h, k), (k, h)):
        slope = (far - rho * near) / (near * root) if near else math.copysign(math.inf, far)
        pieces -= float(owens_t(near, slope))
    return pieces - (0.5 if h * k < 0 or (h * k == 0 and h + k < 0) else 0.0)
