"""What an estimate of an effect says."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from plausible.base.display import format_number, html_of_print
from plausible.causal.estimation.positivity import PositivityReport
from plausible.variables import State

__all__ = ["EffectEstimate"]


@dataclass(frozen=True, slots=True)
class EffectEstimate:
    """The effect of x' instead of x on the mean of Y, as data tell it.

    Attributes
    ----------
    outcome, treatment
        Y and X.
    levels
        x and x'.
    event
        The state of the outcome whose probability the mean is; `None` where it is the mean of numbers.
    method
        How it was estimated.
    variables
        What was used besides: covariates, mediators, or an instrument and its conditions.
    means
        E[Y | do(x)] and E[Y | do(x')]; NaN for instruments, which tell only the difference.
    difference
        E[Y | do(x')] - E[Y | do(x)].
    standard_error
        Of the difference; `None` where nothing was resampled and the method has no formula.
    interval
        For the difference: the quantiles of the resamples, or the Normal interval of the standard error.
    confidence
        Of the interval.
    num_cases
        How much the rows weigh.
    positivity
        For methods that compare within strata.
    strength
        The F statistic of the first stage, for instruments; below 10 the instrument is weak.
    assumption
        What the estimate takes for granted besides the graph, such as linearity; empty where nothing.
    rows
        Which rows of experiments were used, or left out; empty where nothing was set from outside that matters.
    """

    outcome: str
    treatment: str
    levels: tuple[State, State]
    event: State | None
    method: str
    variables: tuple[str, ...]
    means: tuple[float, float]
    difference: float
    standard_error: float | None
    interval: tuple[float, float] | None
    confidence: float
    num_cases: float
    positivity: PositivityReport | None
    strength: float | None
    assumption: str = ""
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
        return "\n".join([*lines, *(f"  caution    {line}" for line in self._cautions())])

    __repr__ = __str__

    _repr_html_ = html_of_print

    def _cautions(self) -> Iterator[str]:
        if self.positivity is None:
            return
        if self.positivity.empty:
            yield "where there are no cases, a model or a prior fills in, and not the data"
        if self.positivity.unlikely:
            yield (
                f"only {self.positivity.comparable:.2%} of all cases had a real chance of both levels; for the others "
                "very few cases tell, or a model alone. Take cases that could have had both, or adjust for another set"
            )
        if self.positivity.sparse and self.interval is not None:
            yield "where there are few cases, their mean hardly varies over resamples: the interval may be too narrow"
