"""How an answer was got: the record that a query's Factor carries as `.info`."""

from __future__ import annotations

from dataclasses import field

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
