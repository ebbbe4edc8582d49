"""Intervals of estimates: by resampled cases, or by a formula where a method has one."""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import NormalDist
from typing import TypeAlias

import numpy as np

from plausible.base.arrays import Floats
from plausible.causal.estimation.method import PreparedEstimate
from plausible.errors import InvalidArgument

__all__ = ["Bootstrap", "read_bootstrap", "uncertainty"]

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
    seed
        Of the draws.
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
        draws = _resampled(prepared, plan)
        tail = (1.0 - plan.confidence) / 2
        # Weibull's positions allow for the tails that few draws do not reach.
        low, high = np.quantile(draws, [tail, 1.0 - tail], method="weibull").tolist()
        return float(draws.std(ddof=1)), (low, high)
    if prepared.standard_error is None:
        return None, None
    half = NormalDist().inv_cdf(0.5 + plan.confidence / 2) * prepared.standard_error
    return prepared.standard_error, (difference - half, difference + half)


def _resampled(prepared: PreparedEstimate, plan: Bootstrap) -> Floats:
    """The differences in resamples; those in which a level does not occur have none and are drawn without."""
    rng = np.random.default_rng(plan.seed)
    weights = prepared.weights
    total = weights.sum()
    num_cases = max(1, round(total))
    draws = []
    for _ in range(plan.resamples):
        counts = rng.multinomial(num_cases, weights / total) * (total / num_cases)
        draws.append(prepared.estimate(counts).difference)
    known = np.array([draw for draw in draws if np.isfinite(draw)])
    if len(known) < max(2, plan.resamples // 2):
        raise InvalidArgument(
            f"Only {len(known)} of {plan.resamples} resamples have cases of both levels: the rows are too few for an "
            "interval. Give more rows, or Bootstrap(resamples=0)."
        )
    return known
