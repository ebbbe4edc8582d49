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

from plausible.base import Floats, Ints, check_count
from plausible.errors import InvalidArgument
from plausible.inference import AlphaExpansion, Engine, GraphCut, Optimizer, QueryInfo
from plausible.models import MarkovNetwork, ising, metric_network
from plausible.search.run import Clock

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


def denoise_binary(noisy: ArrayLike, coupling: float, field: float, engine: Labeller | None = None) -> Labelling:
    """The picture of 0 and 1 behind one in which some pixels are wrong; see `binary_field`.

    The picture has the shape (rows, columns). The engine is `GraphCut()`, which is exact, where left out.

    >>> clean = denoise_binary([[0, 0, 0, 1, 1], [0, 1, 0, 1, 1], [0, 0, 0, 1, 0]], coupling=0.6, field=0.8)
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
    states, clock = next(iter(network.variables.values())).states, Clock.of(None)
    if isinstance(engine, Optimizer):
        best = network.mpe(engine=engine)
        info, error = best.info, best.info.error
        labels = [states.index(best[name]) for name in network.variables]
    else:
        marginals = network.marginals(engine=engine)
        info, error = next(iter(marginals.values())).info, None
        labels = [int(marginals[name].values.argmax()) for name in network.variables]
    seconds = clock.seconds
    energy = network.energy({name: states[number] for name, number in zip(network.variables, labels, strict=True)})
    bound = -math.inf if error is None or energy == math.inf else energy - error
    return Labelling(np.array(labels, dtype=np.int64).reshape(shape), energy, bound, seconds, info)


def binary_field(noisy: ArrayLike, coupling: float, field: float) -> MarkovNetwork:
    """P(x) ∝ exp(coupling Σ x_i x_j + field Σ x_i y_i), spins x and observations y in {-1, +1} (Besag 1986).

    A pixel that is wrong with probability p has field = ½ log((1 - p) / p).
    """
    seen, shape = _checked(noisy, 2)
    if not np.isin(seen, (0.0, 1.0)).all():
        raise InvalidArgument(f"A binary picture has the pixels 0 and 1, not {seen[~np.isin(seen, (0.0, 1.0))][0]:g}.")
    return ising(shape, -coupling, _by_pixel(-field * (2 * seen - 1)))


def grey_field(noisy: ArrayLike, levels: int, *, noise: float, smoothness: float, truncation: float) -> MarkovNetwork:
    """P(x) ∝ exp(-Σ (x_i - y_i)² / 2 noise² - smoothness Σ min(|x_i - x_j|, truncation)); see `denoise`."""
    seen, shape = _checked(noisy, 2)
    if not (levels >= 1 and noise > 0 and smoothness >= 0):
        raise InvalidArgument(
            f"levels={levels}, noise={noise}, smoothness={smoothness}: at least one level, noise above zero and "
            "smoothness not below."
        )
    energies = (seen[:, :, None] - np.arange(levels)) ** 2 / (2 * noise**2)
    return metric_network(shape, range(levels), _by_pixel(energies), weight=smoothness, truncation=truncation)


def segment_field(image: ArrayLike, colours: ColourModel, smoothness: float) -> MarkovNetwork:
    """P(x | image) ∝ exp(-Σ ε(x_i) - smoothness Σ [x_i ≠ x_j] exp(-|y_i - y_j|² / 2β)): cuts where colours change.

    ε is the energy of a pixel's colour y_i in each segment, β the mean of |y_i - y_j|² over all neighbours, as of
    Boykov & Jolly (2001). It is a conditional random field given one image.
    """
    seen, shape = _checked(image, 3)
    if not smoothness >= 0:
        raise InvalidArgument(f"smoothness={smoothness}: neighbours may not gain by being in different segments.")
    down, across = ((np.diff(seen, axis=axis) ** 2).sum(axis=2) for axis in (0, 1))
    squares = np.concatenate([down.ravel(), across.ravel()])
    mean = float(squares.mean()) if squares.any() else 1.0
    weights = {(f"{r}_{c}", f"{r + 1}_{c}"): square for (r, c), square in np.ndenumerate(down)}
    weights |= {(f"{r}_{c}", f"{r}_{c + 1}"): square for (r, c), square in np.ndenumerate(across)}
    num_segments = len(colours.means)
    return metric_network(
        shape,
        range(num_segments),
        _by_pixel(colours.energies(seen)),
        1.0 - np.eye(num_segments),
        weight={pair: smoothness * math.exp(-square / (2 * mean)) for pair, square in weights.items()},
    )


def _checked(picture: ArrayLike, num_axes: int) -> tuple[Floats, tuple[int, int]]:
    """A picture as numbers, and how many rows and columns it has."""
    seen = np.asarray(picture, dtype=np.float64)
    if seen.ndim != num_axes or not seen.size or not np.isfinite(seen).all():
        axes = "(rows, columns)" if num_axes == 2 else "(rows, columns, colours)"
        raise InvalidArgument(
            f"A picture is an array of finite numbers with the axes {axes}; this one has the shape {seen.shape}"
            + ("." if np.isfinite(seen).all() else " and holds inf or NaN.")
        )
    return seen, (seen.shape[0], seen.shape[1])


def _by_pixel(numbers: Floats) -> dict[str, Any]:
    """What is at each row and column, by the name that the grid gives to the pixel."""
    return {f"{r}_{c}": numbers[r, c] for r, c in np.ndindex(*numbers.shape[:2])}


#: Colours run from 0 to 1; no part of a picture is more uniform than this standard deviation.
_LEAST_DEVIATION = 0.02
#: Of k-means, and then of EM, in each run.
_ROUNDS = 25


@dataclass(frozen=True, slots=True, eq=False)
class ColourModel:
    """A mixture of Gaussians over colours, one for each segment of a picture."""

    weights: Floats  # The share of each of K segments
    #: Of the colours of each, shapes (K, c) and (K, c, c); c is 3 for red, green and blue.
    means: Floats
    covariances: Floats

    @classmethod
    def from_scribbles(cls, image: Floats, scribbles: Ints) -> ColourModel:
        """From pixels that someone has marked: all segments are as likely, each with the colours of its marks.

        Scribbles have the shape (rows, columns): the number of a segment, 0 to K - 1, or -1 where nothing is marked.

        >>> image = np.array([[[0.1], [0.2], [0.5], [0.9]]])
        >>> ColourModel.from_scribbles(image, np.array([[0, 0, -1, 1]])).means.round(2).tolist()
        [[0.15], [0.9]]
        """
        if scribbles.shape != image.shape[:2]:
            raise InvalidArgument(f"Scribbles of shape {scribbles.shape} don't fit a picture of {image.shape[:2]}.")
        counts = np.bincount(scribbles[scribbles >= 0])
        if not len(counts) or not counts.all():
            missing = int(np.argmin(counts)) if len(counts) else 0
            raise InvalidArgument(f"No pixel is marked as segment {missing}; mark at least one of each.")
        shares = (scribbles.ravel()[:, None] == np.arange(len(counts))).astype(np.float64)
        fitted = _fitted(image.reshape(-1, image.shape[-1]), shares)
        return cls(np.full(len(counts), 1 / len(counts)), fitted.means, fitted.covariances)

    @classmethod
    def fit(cls, image: Floats, num_segments: int, *, restarts: int = 7, seed: int = 0) -> ColourModel:
        """From the picture alone: the most likely of several mixtures that EM finds.

        Each run begins with k-means++ (Arthur & Vassilvitskii 2007); its steps take time in proportion to pixels,
        segments and the square of c.

        >>> image = np.array([[[0.1], [0.1], [0.2], [0.9]]])
        >>> sorted(ColourModel.fit(image, 2).means.round(2).tolist())
        [[0.13], [0.9]]
        """
        colours = image.reshape(-1, image.shape[-1])
        num_different = len(np.unique(colours, axis=0))
        check_count("restarts", restarts)
        if not 1 <= num_segments <= num_different:
            raise InvalidArgument(
                f"num_segments={num_segments}: a picture of {num_different} colours has from 1 to that many segments."
            )
        rng = np.random.default_rng(seed)
        models = [_mixture(colours, num_segments, rng) for _ in range(1 + restarts)]
        return max(models, key=lambda model: model.log_likelihood(colours))

    def log_likelihood(self, colours: Floats) -> float:
        """Σ log Σ_k w_k N(colour; μ_k, Σ_k); a constant is left out, as in `energies`."""
        energies = self.energies(colours)
        least = energies.min(axis=-1, keepdims=True)
        return float((np.log(np.exp(least - energies).sum(axis=-1, keepdims=True)) - least).sum())

    def energies(self, colours: Floats) -> Floats:
        """-log (w_k N(colour; μ_k, Σ_k)) of each colour, the last axis, for each segment k; a constant is left out.

        >>> one = ColourModel(np.ones(1), np.array([[0.5]]), np.array([[[0.25]]]))
        >>> one.energies(np.array([[0.5], [1.0]])).round(4).tolist()  # log 0.5, and half a square more
        [[-0.6931], [-0.1931]]
        """
        away = colours[..., None, :] - self.means
        squares = np.einsum("...ki,kij,...kj->...k", away, np.linalg.inv(self.covariances), away)
        with np.errstate(divide="ignore"):  # a segment that no pixel is left in
            return np.asarray(squares / 2 + np.linalg.slogdet(self.covariances)[1] / 2 - np.log(self.weights))


def _mixture(colours: Floats, num_segments: int, rng: np.random.Generator) -> ColourModel:
    """k-means from colours drawn in proportion to the square of their distance from those before, then EM."""
    chosen = [colours[rng.integers(len(colours))]]
    while len(chosen) < num_segments:
        squares = _square_distances(colours, np.array(chosen)).min(axis=1)
        chosen.append(colours[rng.choice(len(colours), p=squares / squares.sum())])
    means = np.array(chosen)
    for _ in range(_ROUNDS):
        nearest = _square_distances(colours, means).argmin(axis=1)
        for segment in np.unique(nearest):
            means[segment] = colours[nearest == segment].mean(axis=0)
    nearest = _square_distances(colours, means).argmin(axis=1)
    model = _fitted(colours, np.equal.outer(nearest, np.arange(num_segments)).astype(np.float64))
    for _ in range(_ROUNDS):
        energies = model.energies(colours)
        shares = np.exp(energies.min(axis=1, keepdims=True) - energies)
        model = _fitted(colours, shares / shares.sum(axis=1, keepdims=True))
    return model


def _square_distances(colours: Floats, means: Floats) -> Floats:
    return np.asarray(((colours[:, None, :] - means) ** 2).sum(axis=2))


def _fitted(colours: Floats, shares: Floats) -> ColourModel:
    """The most likely mixture where pixel i belongs to segment k with `shares[i, k]`."""
    totals = np.maximum(shares.sum(axis=0), np.finfo(np.float64).tiny)
    means = shares.T @ colours / totals[:, None]
    away = colours[:, None, :] - means
    spread = np.einsum("nk,nki,nkj->kij", shares, away, away) / totals[:, None, None]
    spread += _LEAST_DEVIATION**2 * np.eye(colours.shape[1])
    return ColourModel(shares.sum(axis=0) / max(shares.sum(), 1.0), means, spread)
