"""When EM has done enough: rules that look at a run after each step."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, TypeAlias

import numpy as np

from plausible.errors import InvalidArgument, suggestion
from plausible.learn.incomplete.gaussian_maximization import gaussian_lines
from plausible.learn.incomplete.problem import EMState
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
class ObjectiveGain:
    """Enough where the objective gains at most tolerance · |objective|: "likelihood".

    >>> ObjectiveGain(0.01)(Run(None, 2, trace=[-50.0, -40.0, -39.9]))
    'converged'
    """

    tolerance: float = 1e-6

    def __call__(self, run: Run[EMState]) -> str:
        """Why the run ends here; "" to go on."""
        room = self.tolerance * abs(run.trace[-1])
        return _at_rest(run.trace, room, run.trace[-1] - run.trace[-2] <= room)


@dataclass(frozen=True, slots=True)
class ExtrapolatedGain:
    """Enough where the distance to the limit, by `remaining_error`, is at most tolerance · |objective|: "extrapolated".

    >>> ExtrapolatedGain(0.01)(Run(None, 2, trace=[-50.0, -40.0, -39.9]))
    'converged'
    """

    tolerance: float = 1e-6

    def __call__(self, run: Run[EMState]) -> str:
        """Why the run ends here; "" to go on."""
        room = self.tolerance * abs(run.trace[-1])
        return _at_rest(run.trace, room, run.trace[-1] <= run.trace[-2] or remaining_error(run.trace) <= room)


def _at_rest(trace: Sequence[float], room: float, is_enough: bool) -> str:
    """What is enough for objectives that never fall, made a rule for all: one that fell lately is judged by its trend.

    The slope of its regression line must be within the room and two standard errors.
    """
    recent = np.asarray(trace[-_WINDOW - 1 :])
    if np.diff(recent).min() < -_ROUNDING * abs(trace[-1]):
        times = np.arange(len(recent)) - (len(recent) - 1) / 2
        slope = float(times @ recent / (times @ times))
        residuals = recent - recent.mean() - slope * times
        error = np.sqrt(residuals @ residuals / max(len(recent) - 2, 1) / (times @ times))
        is_enough = len(recent) > _WINDOW and bool(abs(slope) <= room + 2.0 * error)
    return CONVERGED if is_enough else ""


@dataclass(frozen=True, slots=True)
class ParameterChange:
    """Enough where no probability, and no number of a Gaussian, changes by more than the tolerance: "parameters"."""

    tolerance: float = 1e-6

    def __call__(self, run: Run[EMState]) -> str:
        """Why the run ends here; "" to go on."""
        assert run.previous is not None
        change = 0.0
        for name, cpd in run.previous.network.cpds.items():
            pair = (cpd, run.state.network.cpd(name))
            if cpd.variable.is_continuous:
                before, after = (np.column_stack(gaussian_lines(one)) for one in pair)
            elif any(parent.is_continuous for parent in cpd.parents):
                continue
            else:
                before, after = (one.to_factor().values for one in pair)
            change = max(change, float(np.abs(before - after).max(initial=0.0)))
        return CONVERGED if change <= self.tolerance else ""


@dataclass(frozen=True, slots=True)
class ValidationGain:
    """Enough where the log-likelihood of the validation data does not rise: "validation"; the state before is best."""

    tolerance: float = 0.0

    def __call__(self, run: Run[EMState]) -> str:
        """Why the run ends here; "" to go on."""
        *_, before, now = run.state.validation_trace
        return "validation" if now <= before else ""


#: Name -> rule, made with a tolerance.
STOPPING: Mapping[str, Callable[[float], Rule]] = MappingProxyType(
    {
        **{"likelihood": ObjectiveGain, "extrapolated": ExtrapolatedGain},
        **{"parameters": ParameterChange, "validation": ValidationGain},
    }
)


def read_stopping(stopping: Stopping, tolerance: float) -> Rule:
    """The rule that a name stands for, with a tolerance; a rule is taken as it is."""
    if callable(stopping):
        return stopping
    if stopping not in STOPPING:
        raise InvalidArgument(f"stopping={stopping!r} is no rule.{suggestion(str(stopping), STOPPING)}")
    return STOPPING[stopping](tolerance)
