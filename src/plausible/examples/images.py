"""Pictures as random fields: the best picture given a noisy one, and the best segments given colours.

A field has a variable for each pixel, named by row and column as in `models.grid`, so `network.query("3_7")` asks for
the fourth row and the eighth column.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from plausible.base.arrays import Floats, Ints
from plausible.errors import InvalidArgument
from plausible.examples.colour_model import ColourModel
from plausible.inference import AlphaExpansion, Engine, GraphCut, Optimizer, QueryInfo
from plausible.models import MarkovNetwork, ising, metric_network
from plausible.search.clock import Clock

#: What chooses labels: the best ones together, or the most probable one of each pixel.
Labeller: TypeAlias = Optimizer | Engine


@dataclass(frozen=True, slots=True, eq=False)
class Labelling:
    """A label for each pixel, and what it is worth."""

    labels: Ints  # Shape (rows, columns): the position of each pixel's state
    #: -Σ log φ of the labels: the less, the more probable.
    energy: float
    bound: float  # What the energy of no labels is below; -inf where the engine does not tell
    seconds: float  # The time that the engine took
    info: QueryInfo  # How the labels were found

    @property
    def gap(self) -> float:
        """By how much better labels can be better at most; zero proves that there are none."""
        return self.energy - self.bound


# --- what a user asks ---


def denoise_binary(noisy: ArrayLike, coupling: float, field: float, engine: Labeller | None = None) -> Labelling:
    """The picture of 0 and 1 behind one in which some pixels are wrong; see `binary_field`.

    Parameters
    ----------
    noisy
        Shape (rows, columns), of 0 and 1.
    coupling, field
        How much neighbours and observations count.
    engine
        `GraphCut()`, which is exact, where left out.

    Examples
    --------
    >>> noisy = [[0, 0, 0, 1, 1], [0, 1, 0, 1, 1], [0, 0, 0, 1, 0]]
    >>> clean = denoise_binary(noisy, coupling=0.6, field=0.8)
    >>> clean.labels.tolist(), clean.gap
    ([[0, 0, 0, 1, 1], [0, 0, 0, 1, 1], [0, 0, 0, 1, 1]], 0.0)
    """
    return label(binary_field(noisy, coupling, field), np.shape(noisy), engine or GraphCut())


def denoise(
    noisy: ArrayLike,
    levels: int,
    *,
    noise: float,
    smoothness: float,
    truncation: float,
    engine: Labeller | None = None,
) -> Labelling:
    """The picture of grey levels behind one to which Gaussian noise was added; see `grey_field`.

    Parameters
    ----------
    noisy
        Shape (rows, columns), any numbers, in units of levels.
    levels
        The number of grey levels, 0 to `levels` - 1.
    noise
        The standard deviation of the noise.
    smoothness
        What neighbours pay for each level that they differ by.
    truncation
        The most levels that they pay for, so that contours stay sharp.
    engine
        `AlphaExpansion()` where left out.

    Examples
    --------
    >>> noisy = [[0.1, 1.2, 0.2, 3.0, 2.9], [0.0, 0.1, -0.3, 2.2, 3.1]]
    >>> denoise(noisy, 4, noise=1.0, smoothness=0.5, truncation=2.0).labels.tolist()
    [[0, 0, 0, 3, 3], [0, 0, 0, 3, 3]]
    """
    network = grey_field(noisy, levels, noise=noise, smoothness=smoothness, truncation=truncation)
    return label(network, np.shape(noisy), engine or AlphaExpansion())


def segment(
    image: ArrayLike, colours: ColourModel, smoothness: float = 2.0, engine: Labeller | None = None
) -> Labelling:
    """The segments of a picture, by colour and by where contours are; see `segment_field`.

    Parameters
    ----------
    image
        Shape (rows, columns, c), colours from 0 to 1.
    colours
        The colours of each segment: `ColourModel.fit(image, 4)` or `ColourModel.from_scribbles(image, marks)`.
    smoothness
        What neighbours of the same colour pay for being in different segments.
    engine
        `AlphaExpansion()` where left out.

    Examples
    --------
    >>> image = np.array([[[0.1], [0.2], [0.6], [0.9]], [[0.1], [0.5], [0.8], [0.9]]])
    >>> colours = ColourModel.from_scribbles(image, np.array([[0, 0, -1, 1], [-1, -1, 1, -1]]))
    >>> segment(image, colours).labels.tolist()
    [[0, 0, 1, 1], [0, 0, 1, 1]]
    """
    return label(segment_field(image, colours, smoothness), np.shape(image)[:2], engine or AlphaExpansion())


def label(network: MarkovNetwork, shape: tuple[int, ...], engine: Labeller) -> Labelling:
    """Labels for a field of this shape.

    An engine for best assignments gives the labels that are most probable together; one for marginals the most
    probable label of each pixel by itself, which expects the fewest wrong pixels.
    """
    states = next(iter(network.variables.values())).states
    clock = Clock.of(None)
    if isinstance(engine, Optimizer):
        best = network.mpe(engine=engine)
        seconds, info = clock.seconds, best.info
        labels = np.array([states.index(best[name]) for name in network.variables], dtype=np.int64)
        error = info.error
    else:
        marginals = network.marginals(engine=engine)
        seconds, info = clock.seconds, next(iter(marginals.values())).info
        labels = np.array([marginals[name].values.argmax() for name in network.variables], dtype=np.int64)
        error = None
    energy = network.energy({name: states[number] for name, number in zip(network.variables, labels, strict=True)})
    bound = -math.inf if error is None or energy == math.inf else energy - error
    return Labelling(labels.reshape(shape), energy, bound, seconds, info)


# --- the fields ---


def binary_field(noisy: ArrayLike, coupling: float, field: float) -> MarkovNetwork:
    """P(x) ∝ exp(coupling Σ x_i x_j + field Σ x_i y_i), spins x and observations y in {-1, +1} (Besag 1986).

    A pixel that is wrong with probability p has field = ½ log((1 - p) / p).

    >>> round(binary_field([[0, 1]], coupling=0.5, field=1.0).energy({"0_0": -1, "0_1": 1}), 9)  # 0.5 - 2
    -1.5
    """
    seen = _checked(noisy, 2)
    if not np.isin(seen, (0.0, 1.0)).all():
        raise InvalidArgument(f"A binary picture has the pixels 0 and 1, not {seen[~np.isin(seen, (0.0, 1.0))][0]:g}.")
    return ising(_shape(seen), -coupling, _by_pixel(-field * (2 * seen - 1)))


def grey_field(noisy: ArrayLike, levels: int, *, noise: float, smoothness: float, truncation: float) -> MarkovNetwork:
    """P(x) ∝ exp(-Σ (x_i - y_i)² / 2 noise² - smoothness Σ min(|x_i - x_j|, truncation)), levels x, observations y.

    The parameters are those of `denoise`.

    >>> field = grey_field([[0.0, 2.0]], 8, noise=1.0, smoothness=0.5, truncation=3.0)
    >>> field.energy({"0_0": 0, "0_1": 7})  # 5² / 2 + 0.5 · 3
    14.0
    """
    seen = _checked(noisy, 2)
    if not (levels >= 1 and noise > 0 and smoothness >= 0):
        raise InvalidArgument(
            f"levels={levels}, noise={noise}, smoothness={smoothness}: at least one level, noise above zero and "
            "smoothness not below."
        )
    energies = (seen[:, :, None] - np.arange(levels)) ** 2 / (2 * noise**2)
    return metric_network(_shape(seen), range(levels), _by_pixel(energies), weight=smoothness, truncation=truncation)


def segment_field(image: ArrayLike, colours: ColourModel, smoothness: float) -> MarkovNetwork:
    """P(x | image) ∝ exp(-Σ ε(x_i) - smoothness Σ [x_i ≠ x_j] exp(-|y_i - y_j|² / 2β)): cuts where colours change.

    ε is the energy of a pixel's colour y_i in each segment, β the mean of |y_i - y_j|² over all neighbours, as of
    Boykov & Jolly (2001). It is a conditional random field given one image.
    """
    seen = _checked(image, 3)
    if not smoothness >= 0:
        raise InvalidArgument(f"smoothness={smoothness}: neighbours may not gain by being in different segments.")
    down, across = ((np.diff(seen, axis=axis) ** 2).sum(axis=2) for axis in (0, 1))
    squares = np.concatenate([down.ravel(), across.ravel()])
    mean = float(squares.mean()) if squares.any() else 1.0
    weights = {(f"{r}_{c}", f"{r + 1}_{c}"): square for (r, c), square in np.ndenumerate(down)}
    weights |= {(f"{r}_{c}", f"{r}_{c + 1}"): square for (r, c), square in np.ndenumerate(across)}
    num_segments = len(colours.means)
    return metric_network(
        _shape(seen),
        range(num_segments),
        _by_pixel(colours.energies(seen)),
        1.0 - np.eye(num_segments),
        weight={pair: smoothness * math.exp(-square / (2 * mean)) for pair, square in weights.items()},
    )


def _checked(picture: ArrayLike, num_axes: int) -> Floats:
    seen = np.asarray(picture, dtype=np.float64)
    if seen.ndim != num_axes or not seen.size or not np.isfinite(seen).all():
        axes = "(rows, columns)" if num_axes == 2 else "(rows, columns, colours)"
        raise InvalidArgument(
            f"A picture is an array of finite numbers with the axes {axes}; this one has the shape {seen.shape}"
            + ("." if np.isfinite(seen).all() else " and holds inf or NaN.")
        )
    return seen


def _shape(seen: Floats) -> tuple[int, int]:
    return seen.shape[0], seen.shape[1]


def _by_pixel(numbers: Floats) -> dict[str, Any]:
    """What is at each row and column, by the name that the grid gives to the pixel."""
    return {f"{r}_{c}": numbers[r, c] for r, c in np.ndindex(*numbers.shape[:2])}
