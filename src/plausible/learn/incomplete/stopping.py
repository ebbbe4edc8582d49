"""When EM has done enough: rules that look at a run after each step."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, TypeAlias

import numpy as np

from plausible.base.arrays import Floats
from plausible.cpds import CPD
from plausible.errors import InvalidArgument, suggestion
from plausible.learn.incomplete.gaussian_maximization import gaussian_lines
from plausible.learn.incomplete.problem import EMState
from plausible.models import BayesianNetwork
from plausible.search.run import CONVERGED, Rule, Run

#: Which rule ends a run; see `learn.em`.
Stopping: TypeAlias = Rule | Literal["likelihood", "parameters", "extrapolated", "validation"]

#: A fall by less than this, relatively, is rounding of sums over all cases.
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
        return math.inf
    before, gain = trace[-2] - trace[-3], trace[-1] - trace[-2]
    if gain == 0:
        return 0.0
    if gain < 0:
        return math.inf
    return gain * (gain / before) / (1.0 - gain / before) if gain < before else math.inf


@dataclass(frozen=True, slots=True)
class _TraceRule(ABC):
    """A rule for objectives that never fall, made one for all: where one fell lately, its trend is judged instead."""

    tolerance: float = 1e-6

    @abstractmethod
    def _is_enough(self, trace: Sequence[float], tolerance: float) -> bool:
        """Whether an objective that does not fall has come to rest, with an absolute tolerance."""

    def __call__(self, run: Run[EMState]) -> str:
        """Why the run ends here; "" to go on."""
        recent, tolerance = np.asarray(run.trace[-_WINDOW - 1 :]), self.tolerance * abs(run.trace[-1])
        if np.diff(recent).min() >= -_ROUNDING * abs(run.trace[-1]):
            return CONVERGED if self._is_enough(run.trace, tolerance) else ""
        return CONVERGED if len(recent) > _WINDOW and _is_level(recent, tolerance) else ""


@dataclass(frozen=True, slots=True)
class ObjectiveGain(_TraceRule):
    """Enough where the objective gains at most tolerance · |objective|: "likelihood".

    >>> ObjectiveGain(0.01)(Run(None, 2, trace=[-50.0, -40.0, -39.9]))
    'converged'
    """

    def _is_enough(self, trace: Sequence[float], tolerance: float) -> bool:
        return trace[-1] - trace[-2] <= tolerance


@dataclass(frozen=True, slots=True)
class ExtrapolatedGain(_TraceRule):
    """Enough where the distance to the limit, by `remaining_error`, is at most tolerance · |objective|: "extrapolated".

    >>> ExtrapolatedGain(0.01)(Run(None, 2, trace=[-50.0, -40.0, -39.9]))
    'converged'
    """

    def _is_enough(self, trace: Sequence[float], tolerance: float) -> bool:
        return trace[-1] <= trace[-2] or remaining_error(trace) <= tolerance


@dataclass(frozen=True, slots=True)
class ParameterChange:
    """Enough where no probability, and no number of a Gaussian, changes by more than the tolerance: "parameters"."""

    tolerance: float = 1e-6

    def __call__(self, run: Run[EMState]) -> str:
        """Why the run ends here; "" to go on."""
        assert run.previous is not None
        return CONVERGED if _largest_change(run.previous.network, run.state.network) <= self.tolerance else ""


@dataclass(frozen=True, slots=True)
class ValidationGain:
    """Enough where the log-likelihood of the validation data does not rise: "validation"; the state before is best."""

    tolerance: float = 0.0

    def __call__(self, run: Run[EMState]) -> str:
        """Why the run ends here; "" to go on."""
        *_, before, now = run.state.validation_trace
        return "validation" if now <= before else ""


#: Name -> rule, made with a tolerance.
STOPPING: Mapping[str, type[ObjectiveGain | ExtrapolatedGain | ParameterChange | ValidationGain]] = MappingProxyType(
    {
        "likelihood": ObjectiveGain,
        "parameters": ParameterChange,
        "extrapolated": ExtrapolatedGain,
        "validation": ValidationGain,
    }
)


def read_stopping(stopping: Stopping, tolerance: float) -> Rule:
    """The rule that a name stands for, with a tolerance; a rule is taken as it is."""
    if callable(stopping):
        return stopping
    if stopping not in STOPPING:
        raise InvalidArgument(f"stopping={stopping!r} is no rule.{suggestion(str(stopping), STOPPING)}")
    return STOPPING[stopping](tolerance)


def _largest_change(before: BayesianNetwork, after: BayesianNetwork) -> float:
    """The largest change of a probability in any table, or of a number of a Gaussian."""
    changes = [
        np.abs(_parameters(cpd) - _parameters(after.cpd(name))).max(initial=0.0)
        for name, cpd in before.cpds.items()
        if cpd.variable.is_continuous or not any(parent.is_continuous for parent in cpd.parents)
    ]
    return float(max(changes, default=0.0))


def _parameters(cpd: CPD) -> Floats:
    return np.column_stack(gaussian_lines(cpd)) if cpd.variable.is_continuous else cpd.to_factor().values


def _is_level(values: Floats, tolerance: float) -> bool:
    """Whether the slope of the regression line is within a tolerance and two of its standard errors."""
    times = np.arange(len(values)) - (len(values) - 1) / 2
    slope = float(times @ values / (times @ times))
    residuals = values - values.mean() - slope * times
    error = np.sqrt(residuals @ residuals / (len(values) - 2) / (times @ times))
    return bool(abs(slope) <= tolerance + 2.0 * error)
