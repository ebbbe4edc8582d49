"""Climbing a function by its gradient: steepest ascent, conjugate gradient, L-BFGS, as states and steps."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from plausible.base.arrays import Floats
from plausible.errors import InvalidArgument, suggestion

#: A function to climb: the value and the gradient at a point.
Climbed: TypeAlias = Callable[[Floats], tuple[float, Floats]]


class AscentState(NamedTuple):
    """All that the next step needs: it can be pickled and gone on with."""

    num_steps: int  # How many steps have been made
    #: Where they led.
    point: Floats
    value: float
    gradient: Floats
    #: The direction of the last step, and what held before it.
    direction: Floats
    previous_value: float
    previous_gradient: Floats
    #: Differences of points and of gradients over the last steps, the newest last.
    pairs: tuple[tuple[Floats, Floats], ...] = ()
    is_stuck: bool = False  # Whether no step along the gradient leads higher


class Ascent(ABC):
    """A way to choose directions."""

    __slots__ = ()

    flatness = 0.9  # the second constant of the Wolfe conditions: how flat the function must be where a step ends
    memory = 0  # how many pairs of differences are kept

    @abstractmethod
    def direction(self, state: AscentState) -> Floats:
        """Where to go next."""

    @property
    def fixed_step(self) -> float | None:
        """The length of all steps as a multiple of the direction; searched for where there is none."""
        return None


@dataclass(frozen=True, slots=True)
class SteepestAscent(Ascent):
    """Along the gradient.

    Parameters
    ----------
    learning_rate
        η of θ ← θ + η dℓ/dθ; each step is searched for where left out, so that it never leads down.
    """

    learning_rate: float | None = None

    def __post_init__(self) -> None:
        if self.learning_rate is not None and not self.learning_rate > 0:
            raise InvalidArgument(f"The learning rate is positive, not {self.learning_rate!r}.")

    @property
    def fixed_step(self) -> float | None:
        """η."""
        return self.learning_rate

    def direction(self, state: AscentState) -> Floats:
        """The gradient."""
        return state.gradient


@dataclass(frozen=True, slots=True)
class ConjugateGradient(Ascent):
    """Nonlinear conjugate gradient with the formula of Polak and Ribière, restarted where it turns negative."""

    flatness = 0.4

    def direction(self, state: AscentState) -> Floats:
        """The gradient, and what is kept of the last direction."""
        size = float(state.previous_gradient @ state.previous_gradient)
        if not size:
            return state.gradient
        kept = max(float(state.gradient @ (state.gradient - state.previous_gradient)) / size, 0.0)
        return np.asarray(state.gradient + kept * state.direction)


@dataclass(frozen=True, slots=True)
class LBFGS(Ascent):
    """Quasi-Newton steps from the last few differences, by two loops over them (Nocedal 1980).

    Parameters
    ----------
    memory
        How many differences are kept.
    """

    memory: int = 10

    def __post_init__(self) -> None:
        if not self.memory >= 1:
            raise InvalidArgument(f"L-BFGS remembers at least one step, not {self.memory!r}.")

    def direction(self, state: AscentState) -> Floats:
        """The inverse of the estimated curvature, times the gradient."""
        ahead, shares = state.gradient.copy(), []
        for moved, turned in reversed(state.pairs):
            shares.append(float(moved @ ahead) / float(moved @ turned))
            ahead -= shares[-1] * turned
        if state.pairs:
            moved, turned = state.pairs[-1]
            ahead *= float(moved @ turned) / float(turned @ turned)
        for (moved, turned), share in zip(state.pairs, reversed(shares), strict=True):
            ahead += (share - float(turned @ ahead) / float(moved @ turned)) * moved
        return ahead


#: A method, or its name.
AscentLike: TypeAlias = Ascent | Literal["l-bfgs", "conjugate-gradient", "steepest"]

_METHODS: dict[str, type[Ascent]] = {
    "l-bfgs": LBFGS,
    "conjugate-gradient": ConjugateGradient,
    "steepest": SteepestAscent,
}


def read_ascent(method: AscentLike) -> Ascent:
    """The method that a name stands for."""
    if isinstance(method, Ascent):
        return method
    if method not in _METHODS:
        raise InvalidArgument(f"{method!r} is no way to climb.{suggestion(method, _METHODS)}")
    return _METHODS[method]()


def init_ascent(climbed: Climbed, point: Floats) -> AscentState:
    """The state before the first step."""
    value, gradient = climbed(point)
    # As if the last step had won half the slope: the first one is then about as long as one.
    before = value - 0.5 * float(np.linalg.norm(gradient))
    nothing = np.zeros(point.shape)
    return AscentState(0, point, value, gradient, nothing, before, nothing)


def ascent_step(climbed: Climbed, state: AscentState, method: Ascent) -> AscentState:
    """One step uphill; the state is stuck where none leads higher.

    The direction falls back to the gradient where it does not lead up; the length meets the strong Wolfe conditions,
    or where none is found that does, is halved until the value rises.
    """
    direction = method.direction(state)
    if not float(direction @ state.gradient) > 0:
        direction = state.gradient
        state = state._replace(pairs=())
    if method.fixed_step is not None:
        return _moved(climbed, state, method, direction, method.fixed_step)
    seen = _Remembered(climbed)
    length = _wolfe(seen, state, direction, method.flatness) or _halved(seen, state, direction)
    if length is None:
        is_steepest = np.array_equal(direction, state.gradient)
        return state._replace(is_stuck=is_steepest, pairs=(), previous_gradient=np.zeros(state.point.shape))
    return _moved(seen, state, method, direction, length)


def _moved(climbed: Climbed, state: AscentState, method: Ascent, direction: Floats, length: float) -> AscentState:
    point = state.point + length * direction
    value, gradient = climbed(point)
    pairs, moved, turned = state.pairs, point - state.point, state.gradient - gradient
    if method.memory and float(moved @ turned) > 1e-12 * float(moved @ moved):  # else no curvature is seen
        pairs = (*pairs, (moved, turned))[-method.memory :]
    kept = (direction, state.value, state.gradient)
    return AscentState(state.num_steps + 1, point, value, gradient, *kept, pairs, not np.isfinite(value))


class _Remembered:
    """A function that is not computed twice in a row at one point: searches ask for value and gradient apart."""

    def __init__(self, climbed: Climbed) -> None:
        self._climbed = climbed
        self._last: tuple[Floats, tuple[float, Floats]] | None = None

    def __call__(self, point: Floats) -> tuple[float, Floats]:
        if self._last is None or not np.array_equal(self._last[0], point):
            self._last = (point.copy(), self._climbed(point))
        return self._last[1]


def _wolfe(climbed: Climbed, state: AscentState, direction: Floats, flatness: float) -> float | None:
    """A length that meets the strong Wolfe conditions, by the search of SciPy."""
    from scipy.optimize import line_search

    def depth(point: Floats) -> float:
        return -climbed(point)[0]

    def slope(point: Floats) -> Floats:
        return -climbed(point)[1]

    before = -state.gradient, -state.value, -state.previous_value
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        length = line_search(depth, slope, state.point, direction, *before, c2=flatness)[0]
    return None if length is None or not climbed(state.point + length * direction)[0] > state.value else float(length)


def _halved(climbed: Climbed, state: AscentState, direction: Floats) -> float | None:
    """The first of 1, 1/2, 1/4, ... at which the value is higher."""
    for power in range(40):
        if climbed(state.point + 0.5**power * direction)[0] > state.value:
            return float(0.5**power)
    return None
