"""When EM has done enough."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Literal, TypeAlias

import numpy as np

from plausible.base.arrays import Floats
from plausible.cpds import CPD
from plausible.learn.incomplete.gaussian_maximization import gaussian_lines
from plausible.models import BayesianNetwork

__all__ = ["STOPPING", "Stopping", "largest_change", "remaining_error"]

#: Which rule ends a run; see `learn.em`.
Stopping: TypeAlias = Literal["likelihood", "parameters", "extrapolated", "validation"]

#: A fall by less than this, relatively, is rounding.
_ROUNDING = 1e-10
#: So many gains tell the trend of an objective that has fallen.
_WINDOW = 10


def remaining_error(trace: Sequence[float]) -> float:
    """How far the last of some values is from their limit, where they converge linearly.

    If each error is at most a times the one before, the error after the gain g is at most g a / (1 - a); a is taken to
    be the ratio of the last two gains. Infinite where gains do not fall yet, are fewer than two, or are losses.

    >>> remaining_error([0.0, 8.0, 12.0, 14.0])
    2.0
    """
    if len(trace) < 3:
        return float("inf")
    before, gain = trace[-2] - trace[-3], trace[-1] - trace[-2]
    if gain == 0:
        return 0.0
    if gain < 0:
        return float("inf")
    return gain * (gain / before) / (1.0 - gain / before) if gain < before else float("inf")


def largest_change(before: BayesianNetwork, after: BayesianNetwork) -> float:
    """The largest change of a probability in any table, or of a number of a Gaussian."""
    changes = [
        np.abs(_parameters(cpd) - _parameters(after.cpd(name))).max(initial=0.0)
        for name, cpd in before.cpds.items()
        if cpd.variable.is_continuous or not any(parent.is_continuous for parent in cpd.parents)
    ]
    return float(max(changes, default=0.0))


def _parameters(cpd: CPD) -> Floats:
    return np.column_stack(gaussian_lines(cpd)) if cpd.variable.is_continuous else cpd.to_factor().values


def _by_likelihood(trace: Sequence[float], tolerance: float) -> bool:
    return trace[-1] - trace[-2] <= tolerance * abs(trace[-1])


def _by_extrapolation(trace: Sequence[float], tolerance: float) -> bool:
    return trace[-1] <= trace[-2] or remaining_error(trace) <= tolerance * abs(trace[-1])


def _unless_falling(rule: Callable[[Sequence[float], float], bool]) -> Callable[[Sequence[float], float], bool]:
    """A rule for objectives that never fall, made one for all: where one fell lately, its trend is judged instead."""

    def judged(trace: Sequence[float], tolerance: float) -> bool:
        recent = np.asarray(trace[-_WINDOW - 1 :])
        if np.diff(recent).min() >= -_ROUNDING * abs(trace[-1]):
            return rule(trace, tolerance)
        return len(recent) > _WINDOW and _is_level(recent, tolerance * abs(trace[-1]))

    return judged


def _is_level(values: Floats, tolerance: float) -> bool:
    """Whether the slope of the regression line is within a tolerance and two of its standard errors."""
    times = np.arange(len(values)) - (len(values) - 1) / 2
    slope = float(times @ values / (times @ times))
    residuals = values - values.mean() - slope * times
    error = np.sqrt(residuals @ residuals / (len(values) - 2) / (times @ times))
    return bool(abs(slope) <= tolerance + 2.0 * error)


def _by_validation(trace: Sequence[float], tolerance: float) -> bool:
    return trace[-1] <= trace[-2]


#: Rules that look at a trace: of the objective, or of the log-likelihood of validation data.
STOPPING: Mapping[str, Callable[[Sequence[float], float], bool]] = MappingProxyType(
    {
        "likelihood": _unless_falling(_by_likelihood),
        "extrapolated": _unless_falling(_by_extrapolation),
        "validation": _by_validation,
    }
)
