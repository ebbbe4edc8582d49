"""Climbing a function by its gradient, as states and steps: steepest ascent, conjugate gradient, L-BFGS, OWL-QN."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol, TypeAlias

import numpy as np

from plausible.base import Floats, score_noise
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


def _newton_direction(state: AscentState) -> Floats:
    """The two loops of L-BFGS."""
    ahead, shares, scratch = state.gradient.copy(), [], np.empty(state.gradient.shape)
    for moved, turned, product in reversed(state.pairs):
        shares.append(float(moved @ ahead) / product)
        ahead -= np.multiply(turned, shares[-1], out=scratch)
    if state.pairs:
        moved, turned, product = state.pairs[-1]
        ahead *= product / float(turned @ turned)
    for (moved, turned, product), share in zip(state.pairs, reversed(shares), strict=True):
        ahead += np.multiply(moved, share - float(turned @ ahead) / product, out=scratch)
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
    value, gradient, smooth = _whole(climbed, point, sharp_part)
    # As if the last step had won half the slope: the first one is then about as long as one.
    with np.errstate(over="ignore"):
        before = value - 0.5 * float(np.linalg.norm(gradient))
    nothing = np.zeros(point.shape)
    return AscentState(0, point, value, gradient, nothing, before, nothing, smooth)


def ascent_step(climbed: Climbed, state: AscentState, method: Ascent) -> AscentState:
    """One step uphill; the state is stuck where none leads higher.

    The direction falls back to the gradient where it does not lead up; the length meets the strong Wolfe conditions,
    or where none is found that does, is halved until the value rises. Where there are kinks, it is halved until the
    value rises enough.
    """
    direction = method.direction(state)
    if not float(direction @ state.gradient) > 0:
        direction = state.gradient
        state = state._replace(pairs=())
    if method.fixed_step is not None:
        return _moved(climbed, state, method, direction, state.point + method.fixed_step * direction)
    seen = _Remembered(climbed)
    sharp_part = method.sharp_part
    if sharp_part is None:
        point = _searched(seen, state, method.flatness, direction)
    else:
        point = _searched_orthant(seen, state, sharp_part, direction)
    if point is None:
        is_steepest = np.array_equal(direction, state.gradient)
        return state._replace(is_stuck=is_steepest, pairs=(), previous_gradient=np.zeros(state.point.shape))
    return _moved(seen, state, method, direction, point)


def _whole(climbed: Climbed, point: Floats, sharp_part: SharpPart | None) -> tuple[float, Floats, Floats]:
    """Value and steepest direction of the whole, and the gradient of the smooth part."""
    value, gradient = climbed(point)
    if sharp_part is None:
        return value, gradient, gradient
    return value + sharp_part.sharp(point), sharp_part.steepest(point, gradient), gradient


def _moved(climbed: Climbed, state: AscentState, method: Ascent, direction: Floats, point: Floats) -> AscentState:
    value, gradient, smooth = _whole(climbed, point, method.sharp_part)
    pairs, moved, turned = state.pairs, point - state.point, state.smooth_gradient - smooth
    product = float(moved @ turned) if method.memory else 0.0
    if product > 1e-12 * float(moved @ moved):  # else no curvature is seen
        pairs = (*pairs, (moved, turned, product))[-method.memory :]
    kept = (direction, state.value, state.gradient)
    return AscentState(state.num_steps + 1, point, value, gradient, *kept, smooth, pairs, not np.isfinite(value))


class _Remembered:
    """A function that is not computed twice in a row at one point: searches ask for value and gradient apart."""

    def __init__(self, climbed: Climbed) -> None:
        self._climbed = climbed
        self._last: tuple[Floats, tuple[float, Floats]] | None = None

    def __call__(self, point: Floats) -> tuple[float, Floats]:
        if self._last is None or not np.array_equal(self._last[0], point):
            self._last = (point.copy(), self._climbed(point))
        return self._last[1]


def _searched(climbed: Climbed, state: AscentState, flatness: float, direction: Floats) -> Floats | None:
    """The point that a search along the direction ends at."""
    if state.pairs and _is_flat(climbed, state, flatness, direction):
        return state.point + direction
    length = _wolfe(climbed, state, direction, flatness) or _halved(climbed, state, direction)
    return None if length is None else state.point + length * direction


def _is_flat(climbed: Climbed, state: AscentState, flatness: float, direction: Floats) -> bool:
    """Whether a direction promises no more than noise, and its end is nearer to the top by what slopes tell.

    The slope along the direction is flatter there, and the gradient smaller (Hager & Zhang 2005).
    """
    promised, noise = float(state.gradient @ direction), score_noise(state.value)
    if promised > noise:
        return False
    value, gradient = climbed(state.point + direction)
    if not abs(value - state.value) <= noise:
        return False
    is_along = abs(float(gradient @ direction)) <= flatness * promised
    return is_along and float(np.linalg.norm(gradient)) < float(np.linalg.norm(state.gradient))


def _searched_orthant(climbed: Climbed, state: AscentState, sharp_part: SharpPart, direction: Floats) -> Floats | None:
    """The first of 1, 1/2, 1/4, ... times the direction, cut off at the orthant, that wins enough of what the slope
    promises; without a memory the first step is about as long as one."""
    orthant = np.where(state.point != 0, state.point, state.gradient)
    first = 1.0 if state.pairs else min(1.0, 1.0 / float(np.linalg.norm(direction)))
    for power in range(60):
        point = state.point + first * 0.5**power * direction
        point[point * orthant <= 0] = 0.0
        value = climbed(point)[0] + sharp_part.sharp(point)
        if value > state.value and value - state.value >= 1e-4 * float(state.gradient @ (point - state.point)):
            return point
    return None


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
