"""Numbers that an approximate method computed: with limits, and how they were got."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import Any

from plausible.base import QueryInfo


class Estimate(float):
    """A float computed by an approximate method, with limits and a record of how it was computed.

    Attributes
    ----------
    lower, upper
        Limits of the true number: guaranteed if `is_bound`, else with about 95 % confidence; infinite if unknown.
    is_bound
        Whether `lower` and `upper` are guaranteed.
    info
        How it was computed.

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

    @classmethod
    def within(cls, value: float, info: QueryInfo, margin: float = 0.0) -> Estimate:
        """A number that is known for certain up to a margin, which rounding needs; -inf for the logarithm of zero."""
        return cls(value, info, lower=value - margin, upper=value + margin, is_bound=True)

    def __repr__(self) -> str:
        limits = [
            f"{word} {limit:.6g}" if limit != float(self) else f"{word} {float(self)!r}"
            for word, limit in (("at least", self.lower), ("at most", self.upper))
            if math.isfinite(limit)
        ]
        return f"{float(self)!r} ({', '.join([*limits, f'by {self.info.engine}'])})"

    def __reduce__(self) -> tuple[Any, ...]:
        made = partial(Estimate, lower=self.lower, upper=self.upper, is_bound=self.is_bound)
        return made, (float(self), self.info)


def is_surely_zero(log_number: float) -> bool:
    """Whether a logarithm is that of zero for certain: what sampling has found to be zero need not be.

    >>> is_surely_zero(-math.inf), is_surely_zero(Estimate(-math.inf, QueryInfo("rejection sampling", exact=False)))
    (True, False)
    """
    if isinstance(log_number, Estimate):
        return log_number.is_bound and log_number.upper == -math.inf
    return log_number == -math.inf


def as_estimate(number: float) -> Estimate:
    """An estimate as it is; a number that is none is exact."""
    return number if isinstance(number, Estimate) else Estimate.within(number, QueryInfo("exact inference"))


def difference(first: float, second: float) -> float:
    """first - second, an estimate where one of them is: as good as both together, a number that is none being exact.

    A first of -inf, log zero, stays that.
    """
    if not (isinstance(first, Estimate) or isinstance(second, Estimate)):
        return first - second
    some, other = as_estimate(first), as_estimate(second)
    if some.upper == -math.inf:
        return some
    return Estimate(
        -math.inf if some == -math.inf else float(some) - float(other),
        _both(some.info, other.info),
        lower=-math.inf if some.lower == -math.inf else some.lower - other.upper,
        upper=some.upper - other.lower,
        is_bound=some.is_bound and other.is_bound,
    )


def _both(first: QueryInfo, second: QueryInfo) -> QueryInfo:
    """How a number was got that two others make: the worse of the two in all that says what it is worth."""
    worse, better = sorted((first, second), key=lambda info: (info.converged, info.exact))
    errors = [info.error for info in (first, second) if info.error is not None]
    residuals = [info.residual for info in (first, second) if info.residual is not None]
    return replace(
        worse,
        exact=first.exact and second.exact,
        converged=first.converged and second.converged,
        error=sum(errors) if len(errors) == 2 else None,
        cost=first.cost + second.cost,
        largest_table=max(first.largest_table, second.largest_table),
        num_steps=first.num_steps + second.num_steps,
        residual=max(residuals, default=None),
        advice=worse.advice or better.advice,
    )
