"""A number with what is known about it."""

from __future__ import annotations

import math
from typing import Any

from plausible.inference.info import QueryInfo

__all__ = ["Estimate", "difference"]


class Estimate(float):
    """A float that an approximate method found, with bounds and the record of how it was got.

    Attributes
    ----------
    lower, upper
        Where the true number lies: for certain if `is_bound`, else with about 95 % confidence; infinite if unknown.
    is_bound
        Whether `lower` and `upper` are certain.
    info
        How it was got.

    Examples
    --------
    >>> Estimate(-2.0, QueryInfo("mean field", exact=False), lower=-2.0, is_bound=True)
    -2.0 (at least -2.0, by mean field)
    """

    __slots__ = ("info", "is_bound", "lower", "upper")

    info: QueryInfo
    is_bound: bool
    lower: float
    upper: float

    def __new__(
        cls,
        value: float,
        info: QueryInfo,
        *,
        lower: float = -math.inf,
        upper: float = math.inf,
        is_bound: bool = False,
    ) -> Estimate:
        estimate = super().__new__(cls, value)
        estimate.info, estimate.lower, estimate.upper, estimate.is_bound = info, lower, upper, is_bound
        return estimate

    def __repr__(self) -> str:
        limits = [
            f"{word} {limit:.6g}" if limit != float(self) else f"{word} {float(self)!r}"
            for word, limit in (("at least", self.lower), ("at most", self.upper))
            if math.isfinite(limit)
        ]
        return f"{float(self)!r} ({', '.join([*limits, f'by {self.info.engine}'])})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (float(self), self.info, self.lower, self.upper, self.is_bound)


def _restored(value: float, info: QueryInfo, lower: float, upper: float, is_bound: bool) -> Estimate:
    return Estimate(value, info, lower=lower, upper=upper, is_bound=is_bound)


def difference(first: float, second: float) -> float:
    """first - second, with bounds where both are estimates and the first is finite.

    >>> info = QueryInfo("mean field", exact=False)
    >>> difference(Estimate(3.0, info, lower=2.5), Estimate(1.0, info, upper=1.5))
    2.0 (at least 1, by mean field)
    """
    if not (isinstance(first, Estimate) and isinstance(second, Estimate)) or math.isinf(first):
        return first - second
    return Estimate(
        float(first) - float(second),
        first.info,
        lower=first.lower - second.upper,
        upper=first.upper - second.lower,
        is_bound=first.is_bound and second.is_bound,
    )
