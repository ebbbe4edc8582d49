"""What a method of estimation is, how sure its estimate is, and what the estimate says."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import NamedTuple, Protocol, TypeAlias, runtime_checkable

import numpy as np

from plausible.base.arrays import Floats
from plausible.base.display import format_number
from plausible.base.records import Result, record
from plausible.base.remedies import Argument, Call, Remedy
from plausible.causal.adjustment.problem import AdjustableGraph
from plausible.causal.estimation.rows import EffectTask, PositivityReport
from plausible.errors import InvalidArgument
from plausible.variables import State


class Means(NamedTuple):
    """E[Y | do(x)] and E[Y | do(x')], NaN where a method does not tell them, and their difference."""

    low: float
    high: float
    difference: float

    @classmethod
    def of(cls, means: Sequence[float] | Floats) -> Means:
        """With the difference of the two."""
        return cls(float(means[0]), float(means[1]), float(means[1] - means[0]))


@dataclass(frozen=True, slots=True, eq=False)
class PreparedEstimate:
    """A method that is ready to be asked, as often as there are resamples."""

    weights: Floats  # How many cases each row stands for.
    estimate: Callable[[Floats], Means]  # Weights -> means.
    # What the method used besides treatment and outcome: covariates, mediators, or an instrument and its conditions.
    variables: tuple[str, ...] = ()
    positivity: PositivityReport | None = None  # For methods that compare within strata.
    # That of the difference by its influence function; `None` where only resampling tells.
    standard_error: float | None = None
    strength: float | None = None  # The F statistic of the first stage, for instruments.
    assumption: str = ""  # What the estimate takes for granted besides the graph, as a clause; empty where nothing.


@runtime_checkable
class EffectMethod(Protocol):
    """A way to estimate an effect."""

    @property
    def name(self) -> str:
        """What the method is called."""

    def prepare(self, task: EffectTask, graph: AdjustableGraph) -> PreparedEstimate:
        """Read the columns, check the graph, and refuse what can't be estimated."""


Seed: TypeAlias = int | np.random.Generator | None


@dataclass(frozen=True, slots=True)
class Bootstrap:
    """Intervals from estimates of resampled cases.

    Parameters
    ----------
    resamples
        How often cases are drawn anew; with 0 the interval is that of the influence function, where a method has one.
    confidence
        The chance that the interval covers the effect.
    """

    resamples: int = 200
    confidence: float = 0.95
    seed: Seed = field(default=0)

    def __post_init__(self) -> None:
        if self.resamples < 0 or 0 < self.resamples < 10:
            raise InvalidArgument(f"resamples={self.resamples!r} tell nothing; draw some 200, or 0 for none.")
        if not 0 < self.confidence < 1:
            raise InvalidArgument(f"confidence= lies between 0 and 1, not at {self.confidence!r}.")


def read_bootstrap(bootstrap: Bootstrap | int | None) -> Bootstrap:
    """The plan, or that of a number of resamples."""
    if bootstrap is None or isinstance(bootstrap, Bootstrap):
        return bootstrap or Bootstrap()
    if isinstance(bootstrap, bool) or not isinstance(bootstrap, int | np.integer):
        raise InvalidArgument(f"bootstrap= is a Bootstrap(...) or a number of resamples, not {bootstrap!r}.")
    return Bootstrap(resamples=int(bootstrap))


def uncertainty(
    prepared: PreparedEstimate, difference: float, plan: Bootstrap
) -> tuple[float | None, tuple[float, float] | None]:
    """The standard error and the interval."""
    if plan.resamples:
        rng = np.random.default_rng(plan.seed)
        total = prepared.weights.sum()
        num_cases = max(1, round(total))
        cases = (rng.multinomial(num_cases, prepared.weights / total) for _ in range(plan.resamples))
        differences = np.array([prepared.estimate(counts * (total / num_cases)).difference for counts in cases])
        draws = differences[np.isfinite(differences)]  # resamples without a level have no difference
        if len(draws) < max(2, plan.resamples // 2):
            raise InvalidArgument(
                f"Only {len(draws)} of {plan.resamples} resamples have cases of both levels: the rows are too few for "
                "an interval.",
                remedies=[Remedy("give more rows"), Remedy("take ", Call("Bootstrap", Argument("resamples", 0)))],
            )
        tail = (1.0 - plan.confidence) / 2
        # Weibull's positions allow for the tails that few draws do not reach.
        low, high = np.quantile(draws, [tail, 1.0 - tail], method="weibull").tolist()
        return float(draws.std(ddof=1)), (low, high)
    if prepared.standard_error is None:
        return None, None
    half = NormalDist().inv_cdf(0.5 + plan.confidence / 2) * prepared.standard_error
    return prepared.standard_error, (difference - half, difference + half)


@record
class EffectEstimate(Result):
    """The effect of x' instead of x on the mean of Y, as data tell it."""

    #: Y and X.
    outcome: str
    treatment: str
    levels: tuple[State, State]  # x and x'
    #: The state of the outcome whose probability the mean is; `None` where it is the mean of numbers.
    event: State | None
    method: str  # How it was estimated
    variables: tuple[str, ...]  # What was used besides: covariates, mediators, or an instrument and its conditions
    means: tuple[float, float]  # E[Y | do(x)] and E[Y | do(x')]; NaN for instruments, which tell only the difference
    difference: float  # E[Y | do(x')] - E[Y | do(x)]
    standard_error: float | None  # Of the difference; `None` where nothing was resampled and the method has no formula
    #: For the difference: the quantiles of the resamples, or the Normal interval of the standard error.
    interval: tuple[float, float] | None
    confidence: float  # Of the interval
    num_cases: float  # How much the rows weigh
    positivity: PositivityReport | None  # For methods that compare within strata
    strength: float | None  # The F statistic of the first stage, for instruments; below 10 the instrument is weak
    #: What the estimate takes for granted besides the graph, such as linearity; empty where nothing.
    assumption: str = ""
    #: Which rows of experiments were used, or left out; empty where nothing was set from outside that matters.
    rows: str = ""

    def __str__(self) -> str:
        used = f", using {', '.join(self.variables)}" if self.variables else ""
        change = " -> ".join(format_number(level) if type(level) is float else str(level) for level in self.levels)
        measure = self.outcome if self.event is None else f"P({self.outcome}={self.event})"
        lines = [
            f"Effect of {self.treatment}: {change} on {measure} ({self.method}{used})",
            f"  difference {format_number(self.difference)}",
        ]
        if self.interval is not None:
            low, high = (format_number(end) for end in self.interval)
            lines[1] += f", {self.confidence:.0%} interval {low} to {high}"
        if not np.isnan(self.means[0]):
            low, high = (format_number(mean) for mean in self.means)
            lines.append(f"  means      {low} and {high}")
        if self.strength is not None:
            lines.append(f"  strength   F = {format_number(self.strength)}")
        if self.positivity is not None:
            lines += [f"  {line}" for line in str(self.positivity).splitlines()]
        if self.rows:
            lines.append(f"  rows       {self.rows}")
        if self.assumption:
            lines.append(f"  assuming   {self.assumption}")
        report = self.positivity
        if report is not None and report.empty:
            lines.append("  caution    where there are no cases, a model or a prior fills in, and not the data")
        if report is not None and report.unlikely:
            lines.append(
                f"  caution    only {report.comparable:.2%} of all cases had a real chance of both levels; for the "
                "others very few cases tell, or a model alone. Take cases that could have had both, or adjust for "
                "another set"
            )
        if report is not None and report.sparse and self.interval is not None:
            lines.append(
                "  caution    where there are few cases, their mean hardly varies over resamples: the interval may be "
                "too narrow"
            )
        return "\n".join(lines)
