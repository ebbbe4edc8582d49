"""What is climbed: an objective and the prior of its weights, and when that is enough."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import numpy as np

from plausible.base.arrays import Floats
from plausible.base.tolerances import SMALLEST
from plausible.learn.undirected.priors import Penalty
from plausible.search.ascent import AscentState, init_ascent
from plausible.search.run import CONVERGED


class Climbable(Protocol):
    """A function of weights, as far as a climb looks at it."""

    @property
    def total(self) -> float:
        """The sum of the weights of all rows."""

    @property
    def spreads(self) -> Floats:
        """How far the values of each weight's feature lie apart: the units that its gradient is judged in."""

    def at(self, weights: Floats) -> tuple[float, Floats]:
        """The value and the gradient."""


ObjectiveT = TypeVar("ObjectiveT", bound=Climbable)


@dataclass(frozen=True, slots=True, eq=False)
class Climb(Generic[ObjectiveT]):
    """An objective and a prior of its weights."""

    objective: ObjectiveT
    penalty: Penalty

    @property
    def units(self) -> Floats:
        """What each weight is multiplied by, so that objective and prior bend by about the same along all of them.

        It is the spread s of a feature, which bends the mean over rows by s²/4 at most, unless the prior bends more.
        """
        spreads = self.objective.spreads
        bends = 4 * self.penalty.curvature(np.zeros(spreads.size)) / max(self.objective.total, 1.0)
        return np.hypot(spreads, np.sqrt(bends))

    def smooth(self, weights: Floats) -> tuple[float, Floats]:
        """All but the part of the prior that has kinks, and its gradient."""
        value, gradient = self.objective.at(weights)
        more, whole = self.penalty.smooth(weights)
        whole += gradient
        return value + more, whole

    def init(self, weights: Floats) -> AscentState:
        """The state before the first step."""
        return init_ascent(self.smooth, weights, self.penalty)

    def moment_gap(self, gradient: Floats) -> float:
        """The largest difference that a gradient tells of, a mean over rows, in the units of each weight."""
        gaps = np.abs(gradient) / self.units
        return float(gaps.max(initial=0.0)) / max(self.objective.total, SMALLEST)

    def ends(self, tolerance: float) -> Callable[[AscentState], str]:
        """Why a state is the last: the gradient, kinks minded, is at most the tolerance times the rows everywhere."""
        enough = tolerance * max(self.objective.total, 1.0) * self.units

        def ended(state: AscentState) -> str:
            if np.isfinite(state.value) and (np.abs(state.gradient) <= enough).all():
                return CONVERGED
            return "stuck" if state.is_stuck else ""

        return ended

    def moved(self, state: AscentState, point: Floats, value: float, gradient: Floats) -> AscentState:
        """The next state, at a point where all but the kinks has this value and gradient."""
        whole, steepest = value + self.penalty.sharp(point), self.penalty.steepest(point, gradient)
        kept = (point - state.point, state.value, state.gradient, gradient, state.pairs)
        return AscentState(state.num_steps + 1, point, whole, steepest, *kept, not np.isfinite(whole))
