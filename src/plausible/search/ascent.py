"""Climbing a function by its gradient, as states and steps: steepest ascent, conjugate gradient, L-BFGS, OWL-QN."""

from __future__ import annotations

import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol, TypeAlias

import numpy as np

from plausible.base import Floats, inner, score_noise
from plausible.errors import InvalidArgument, suggestion

#: A function to climb: the value and the gradient at a point.
Climbed: TypeAlias = Callable[[Floats], tuple[float, Floats]]


class AscentState(NamedTuple):
    """All that the next step needs: it can be pickled and gone on with."""

    num_steps: int  # How many steps have been made
    #: Where they led.
    point: Floats
    value: float
    gradient: Floats  # the direction of steepest ascent, where there are kinks: zero at an optimum
    #: The direction of the last step, and what held before it.
    direction: Floats
    previous_value: float
    previous_gradient: Floats
    smooth_gradient: Floats  # the gradient of all but the sharp part of the method; where it has none, of all
    #: Differences of points and of gradients over the last steps, and their products, the newest last.
    pairs: tuple[tuple[Floats, Floats, float], ...] = ()
    is_stuck: bool = False  # Whether no step along the gradient leads higher


class SharpPart(Protocol):
    """What is added to the function that is climbed and has kinks where coordinates are zero, such as -Σ|x|."""

    def sharp(self, point: Floats, /) -> float:
        """Its value."""

    def steepest(self, point: Floats, gradient: Floats, /) -> Floats:
        """The direction of steepest ascent of the whole, where that of all else is `gradient`; zero at an optimum."""


class Ascent(ABC):
    """A way to choose directions."""

    __slots__ = ()

    sharp_part: SharpPart | None = None

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
        size = inner(state.previous_gradient, state.previous_gradient)
        if not size:
            return state.gradient
        kept = max(inner(state.gradient, state.gradient - state.previous_gradient) / size, 0.0)
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
        return _newton_direction(state)


@dataclass(frozen=True, slots=True, eq=False)
class OrthantWise(Ascent):
    """L-BFGS for a function with a sharp part that is a sum over coordinates, such as an L1 penalty: OWL-QN.

    A step stays in the orthant that the point, or at zero the direction of steepest ascent, is in: coordinates that
    would change their sign become zero, and may leave it again in a later step. The curvature is that of the smooth
    part alone.

    Parameters
    ----------
    sharp_part
        It is climbed together with the function that `init_ascent` and `ascent_step` are given.
    memory
        How many differences are kept.

    References
    ----------
    Andrew & Gao (2007), Scalable training of L1-regularized log-linear models.
    """

    sharp_part: SharpPart
    memory: int = 10

    def direction(self, state: AscentState) -> Floats:
        """That of L-BFGS, but for coordinates in which it does not lead up."""
        ahead = _newton_direction(state)
        return np.where(ahead * state.gradient > 0, ahead, 0.0)


def _length(vector: Floats) -> float:
    return math.sqrt(inner(vector, vector))


def _newton_direction(state: AscentState) -> Floats:
    """The two loops of L-BFGS."""
    ahead, shares, scratch = state.gradient.copy(), [], np.empty(state.gradient.shape)
    for moved, turned, product in reversed(state.pairs):
        shares.append(inner(moved, ahead) / product)
        ahead -= np.multiply(turned, shares[-1], out=scratch)
    if state.pairs:
        moved, turned, product = state.pairs[-1]
        ahead *= product / inner(turned, turned)
    for (moved, turned, product), share in zip(state.pairs, reversed(shares), strict=True):
        ahead += np.multiply(moved, share - inner(turned, ahead) / product, out=scratch)
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


def init_ascent(climbed: Climbed, point: Floats, sharp_part: SharpPart | None = None) -> AscentState:
    """The state before the first step; a sharp part is that of the method."""
    value, gradient, smooth = _whole(_Reached(point, *climbed(point)), sharp_part)
    # As if the last step had won half the slope: the first one is then about as long as one.
    before = value - 0.5 * _length(gradient)
    nothing = np.zeros(point.shape)
    return AscentState(0, point, value, gradient, nothing, before, nothing, smooth)


def ascent_step(climbed: Climbed, state: AscentState, method: Ascent) -> AscentState:
    """One step uphill; the state is stuck where none leads higher.

    The direction falls back to the gradient where it does not lead up; the length meets the strong Wolfe conditions,
    or where none is found that does, is halved until the value rises. Where there are kinks, it is halved until the
    value rises enough.
    """
    direction = method.direction(state)
    if not inner(direction, state.gradient) > 0:
        direction = state.gradient
        state = state._replace(pairs=())
    if method.fixed_step is not None:
        return _moved(state, method, direction, _Line(climbed, state, direction).at(method.fixed_step))
    if method.sharp_part is None:
        reached = _searched(_Line(climbed, state, direction), state, method.flatness)
    else:
        reached = _searched_orthant(climbed, state, method.sharp_part, direction)
    if reached is None:
        is_steepest = np.array_equal(direction, state.gradient)
        return state._replace(is_stuck=is_steepest, pairs=(), previous_gradient=np.zeros(state.point.shape))
    return _moved(state, method, direction, reached)


class _Reached(NamedTuple):
    """A point, and the value and the gradient of what is climbed there."""

    point: Floats
    value: float
    gradient: Floats


def _whole(reached: _Reached, sharp_part: SharpPart | None) -> tuple[float, Floats, Floats]:
    """Value and steepest direction of the whole, and the gradient of the smooth part."""
    point, value, gradient = reached
    if sharp_part is None:
        return value, gradient, gradient
    return value + sharp_part.sharp(point), sharp_part.steepest(point, gradient), gradient


def _moved(state: AscentState, method: Ascent, direction: Floats, reached: _Reached) -> AscentState:
    value, gradient, smooth = _whole(reached, method.sharp_part)
    pairs, moved, turned = state.pairs, reached.point - state.point, state.smooth_gradient - smooth
    product = inner(moved, turned) if method.memory else 0.0
    if product > 1e-12 * inner(moved, moved):  # else no curvature is seen
        pairs = (*pairs, (moved, turned, product))[-method.memory :]
    kept = (direction, state.value, state.gradient)
    return AscentState(
        state.num_steps + 1, reached.point, value, gradient, *kept, smooth, pairs, not np.isfinite(value)
    )


class _Line:
    """A function along a direction; the latest point is remembered, as searches ask for value and slope apart."""

    def __init__(self, climbed: Climbed, state: AscentState, direction: Floats) -> None:
        self._climbed, self._start, self._direction = climbed, state.point, direction
        self._latest: tuple[float, _Reached] | None = None
        self.first_slope = inner(state.gradient, direction)

    def at(self, length: float) -> _Reached:
        """So many times the direction away."""
        if self._latest is None or self._latest[0] != length:
            point = length * self._direction
            point += self._start
            self._latest = length, _Reached(point, *self._climbed(point))
        return self._latest[1]

    def slope(self, length: float) -> float:
        """Of the function there."""
        return inner(self.at(length).gradient, self._direction)


def _searched(line: _Line, state: AscentState, flatness: float) -> _Reached | None:
    """Where a search along a line ends."""
    if state.pairs and _is_flat(line, state, flatness):
        return line.at(1.0)
    length = _wolfe(line, state, flatness) or _halved(line, state)
    return None if length is None else line.at(length)


def _is_flat(line: _Line, state: AscentState, flatness: float) -> bool:
    """Whether a direction promises no more than noise, and its end is nearer to the top by what slopes tell.

    The slope along the direction is flatter there, and the gradient smaller (Hager & Zhang 2005).
    """
    noise = score_noise(state.value)
    if line.first_slope > noise or not abs(line.at(1.0).value - state.value) <= noise:
        return False
    is_along = abs(line.slope(1.0)) <= flatness * line.first_slope
    return is_along and _length(line.at(1.0).gradient) < _length(state.gradient)


def _searched_orthant(
    climbed: Climbed, state: AscentState, sharp_part: SharpPart, direction: Floats
) -> _Reached | None:
    """The first of 1, 1/2, 1/4, ... times the direction, cut off at the orthant, that wins enough of what the slope
    promises; without a memory the first step is about as long as one."""
    orthant = np.where(state.point != 0, state.point, state.gradient)
    first = 1.0 if state.pairs else min(1.0, 1.0 / _length(direction))
    for power in range(60):
        point = state.point + first * 0.5**power * direction
        point[point * orthant <= 0] = 0.0
        reached = _Reached(point, *climbed(point))
        won = reached.value + sharp_part.sharp(point) - state.value
        if won > 0 and won >= 1e-4 * inner(state.gradient, point - state.point):
            return reached
    return None


def _wolfe(line: _Line, state: AscentState, flatness: float) -> float | None:
    """A length that meets the strong Wolfe conditions, by the search of SciPy."""
    from scipy.optimize import line_search

    def depth(length: Floats) -> float:
        return -line.at(float(length[0])).value

    def slope(length: Floats) -> Floats:
        return np.array([-line.slope(float(length[0]))])

    before = np.array([-line.first_slope]), -state.value, -state.previous_value
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        length = line_search(depth, slope, np.zeros(1), np.ones(1), *before, c2=flatness)[0]
    return None if length is None or not line.at(float(length)).value > state.value else float(length)


def _halved(line: _Line, state: AscentState) -> float | None:
    """The first of 1, 1/2, 1/4, ... at which the value is higher."""
    for power in range(40):
        if line.at(0.5**power).value > state.value:
            return float(0.5**power)
    return None
