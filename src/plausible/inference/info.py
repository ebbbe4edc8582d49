"""How an answer was got: the record that a query's Factor carries as `.info`."""

from __future__ import annotations

import math
from dataclasses import field, replace
from functools import partial
from typing import Any

from plausible.base.arrays import Floats
from plausible.base.records import Result, record
from plausible.errors import InvalidArgument, counted

#: What is said wherever an answer is not exact and has no estimate of its error: that a method came to its end is none.
NO_ERROR = "Nothing is known of the error: ask a second engine and compare."

#: No exact answer errs by more: the largest sums of logarithms do by less.
_ROUNDING = 1e-6


@record
class QueryInfo(Result):
    """How an answer was got, whether it can be trusted, and what it cost."""

    engine: str  # The name of the method
    exact: bool = True  # Whether the answer is exact up to rounding
    converged: bool = True  # Whether the method came to its end; always true for exact ones
    #: An estimate of, or a bound on, the absolute error of each number; zero for exact methods, or what uncertain
    #: parameters make of them. `None` if nothing is known, as of messages that settle: `advice` then says so.
    error: float | None = None
    cost: int = 0  # The table entries built, all tables together
    largest_table: int = 0  # The entries of the largest table
    num_steps: int = 0  # How many rounds an iterative method went; for samplers, how many samples were drawn
    residual: float | None = None  # By how much the last round changed anything; `None` where there are no rounds
    #: For samplers, how many independent draws from the answer's own distribution would tell as much.
    effective_samples: float | None = None
    #: The share of samples, or of proposals, that were accepted; `None` where nothing is rejected.
    acceptance: float | None = None
    r_hat: float | None = None  # For Markov chains the worst R-hat: one where they agree
    #: Where the parameters of the model are uncertain, that of each number of the answer, in its shape; else `None`.
    standard_deviations: Floats | None = field(default=None, compare=False)
    advice: str = ""  # What to try where the answer is not good enough; "" where there is nothing to say

    def __post_init__(self) -> None:
        if self.exact and self.standard_deviations is None and (self.error or 0.0) > _ROUNDING:
            raise InvalidArgument(f"An exact answer has no error, but error={self.error!r}: say exact=False.")
        if self.exact and self.error is None:
            object.__setattr__(self, "error", 0.0)
        is_silent = self.error is None
        told = self.advice.replace(NO_ERROR, "").strip()
        object.__setattr__(self, "advice", f"{told} {NO_ERROR}".strip() if is_silent else told)

    def __str__(self) -> str:
        parts = [self.engine, "exact" if self.exact else "approximate"]
        parts += [] if self.converged else ["not converged"]
        parts += ["error unknown"] if self.error is None else [f"error {self.error:.3g}"] if self.error else []
        parts += [f"cost {self.cost:,}"] if self.cost else []
        rounds = "sample" if self.effective_samples is not None else "round"
        parts += [counted(self.num_steps, rounds)] if self.num_steps else []
        measures = {"effective samples": self.effective_samples, "acceptance": self.acceptance, "R-hat": self.r_hat}
        parts += [f"{name} {number:.4g}" for name, number in measures.items() if number is not None]
        return f"{', '.join(parts)}{f'; {self.advice}' if self.advice else ''}"


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
