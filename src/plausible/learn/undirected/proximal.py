"""Proximal steps uphill, for priors whose kinks are not at single weights: norms of groups."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from plausible.base.arrays import Floats
from plausible.base.tolerances import score_noise
from plausible.learn.undirected.penalized import Climb


class ProximalState(NamedTuple):
    """All that the next step needs: it can be pickled and gone on with."""

    num_steps: int  # How many steps have been made
    #: Where they led.
    point: Floats
    value: float
    gradient: Floats  # the direction of steepest ascent, kinks minded: zero at an optimum
    smooth_gradient: Floats  # the gradient of all but the kinks
    #: What the last step leaves to the next one.
    before: Floats  # where it began
    length: float  # how long it was, as a multiple of the gradient in units
    momentum: float
    is_stuck: bool = False  # Whether no step leads higher


class ProximalAscent(NamedTuple):
    """Proximal gradient ascent with momentum, restarted where that leads down (Beck & Teboulle 2009).

    It goes the same way whatever units features have: lengths are those of weights in the units of the climb, one for
    all weights of a group, so that the norm of the group is that of the weights themselves.
    """

    climbed: Climb[Any]
    squares: Floats  # of the unit of each weight

    @classmethod
    def of(cls, climbed: Climb[Any]) -> ProximalAscent:
        """Units rounded to powers of two."""
        groups, own = climbed.penalty.groups, climbed.units
        widest = np.zeros(climbed.penalty.group_rates.size)
        np.maximum.at(widest, groups, own)
        units = np.where(climbed.penalty.group_rates[groups] > 0, widest[groups], own)
        return cls(climbed, 4.0 ** np.rint(np.log2(units)))

    def init(self, point: Floats) -> ProximalState:
        """The state before the first step, which is about as long as one."""
        state = self._state(0, point, *self.climbed.smooth(point), point, 1.0, 1.0)
        steepness = math.sqrt(float(state.smooth_gradient @ (state.smooth_gradient / self.squares)))
        return state._replace(length=0.8 / max(steepness, 1e-12))

    def step(self, state: ProximalState) -> ProximalState:
        """One step, begun from where momentum carries, or else from the point."""
        length, sharp = 1.25 * state.length, self.climbed.penalty.sharp(state.point)
        grown = (1 + math.sqrt(1 + 4 * state.momentum**2)) / 2
        ahead = state.point + (state.momentum - 1) / grown * (state.point - state.before)
        for begin, momentum in ((ahead, grown), (state.point, 1.0)):
            is_here = np.array_equal(begin, state.point)
            value, gradient = (state.value - sharp, state.smooth_gradient) if is_here else self.climbed.smooth(begin)
            moved = self._backtracked(begin, gradient, length) if np.isfinite(value) else None
            if moved is None:
                continue
            point, value, gradient, length = moved
            after = self._state(state.num_steps + 1, point, value, gradient, state.point, length, momentum)
            if after.value >= state.value - 100 * score_noise(state.value):
                return after
        return state._replace(is_stuck=True)

    def _backtracked(
        self, begin: Floats, gradient: Floats, length: float
    ) -> tuple[Floats, float, Floats, float] | None:
        """The proximal point for the first of length, length/2, ... along which the slope falls slowly enough.

        With value and gradient there. Slopes tell what values no longer do, near the optimum.
        """
        for _ in range(60):
            steps = length / self.squares
            point = self.climbed.penalty.shrunk(begin + steps * gradient, steps)
            move = point - begin
            value, slope = self.climbed.smooth(point)
            if float((gradient - slope) @ move) <= float(move @ (move / steps)):
                return point, value, slope, length
            length /= 2
        return None

    def _state(
        self,
        num_steps: int,
        point: Floats,
        value: float,
        gradient: Floats,
        before: Floats,
        length: float,
        momentum: float,
    ) -> ProximalState:
        penalty = self.climbed.penalty
        whole, steepest = value + penalty.sharp(point), penalty.steepest(point, gradient)
        return ProximalState(
            num_steps, point, whole, steepest, gradient, before, length, momentum, not np.isfinite(whole)
        )
