"""Denoising and segmentation by several engines at once: scores, energies, bounds, and a strip of pictures."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plausible.base.arrays import Floats, Ints
from plausible.examples.images import ColourModel, Labeller, Labelling, binary_field, grey_field, label, segment_field
from plausible.examples.pictures import colour_scene, flipped, grey_scene, letters, scribbled, side_by_side
from plausible.inference import (
    AlphaBetaSwap,
    AlphaExpansion,
    DualDecomposition,
    Gibbs,
    GraphCut,
    LoopyBP,
    MaxProduct,
    MeanField,
)
from plausible.models import MarkovNetwork

Bytes = NDArray[np.uint8]


@dataclass(frozen=True, slots=True, eq=False)
class Attempt:
    """What one engine made of a picture."""

    engine: str  # its name
    result: Labelling  # the labels, with energy and bound
    score: float  # how near they are to the truth


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """A picture, what noise made of it, and what engines made of that."""

    title: str  # what was done
    measure: str  # what the scores are
    before: float  # the score of the noisy picture, or of the labels that each pixel has by itself
    attempts: tuple[Attempt, ...]  # in the order of the pictures
    pictures: tuple[Bytes, ...]  # the truth, the noisy one, and one for each attempt, as pixels from 0 to 255

    @property
    def bound(self) -> float:
        """What no labels have less energy than: the best of all the engines' bounds."""
        return max(attempt.result.bound for attempt in self.attempts)

    def strip(self) -> Bytes:
        """All pictures in a row."""
        return side_by_side(self.pictures)

    def table(self) -> str:
        """A line for each engine: its score, its energy, how far that is above the best bound, and its seconds."""
        lines = [
            f"{self.title}: {self.measure} {self.before:.4g} before; no energy is below {self.bound:.6g}",
            f"{'engine':<20}{self.measure:>16}{'energy':>12}{'gap':>12}{'seconds':>9}",
        ]
        for attempt in self.attempts:
            energy, seconds = attempt.result.energy, attempt.result.seconds
            gap = max(energy - self.bound, 0.0)
            lines.append(f"{attempt.engine:<20}{attempt.score:>16.4g}{energy:>12.6g}{gap:>12.3g}{seconds:>9.2f}")
        return "\n".join(lines)


def _compared(
    title: str,
    measure: str,
    network: MarkovNetwork,
    engines: Sequence[Labeller],
    truth: Ints,
    noisy: NDArray[Any],
    score: Callable[[Any], float],
    pictures: Callable[[Any], NDArray[Any]],
    first: Sequence[Floats] = (),
) -> Comparison:
    """What engines make of a field: pictures, from zero to one, begin with the truth and the noise."""
    results = [(type(engine).__name__, label(network, truth.shape, engine)) for engine in engines]
    attempts = tuple(Attempt(name, result, score(result.labels)) for name, result in results)
    shown = [*(first or map(pictures, (truth, noisy))), *(pictures(result.labels) for _, result in results)]
    pixels = tuple(np.rint(np.clip(each, 0.0, 1.0) * 255).astype(np.uint8) for each in shown)
    return Comparison(title, measure, score(noisy), attempts, pixels)


def compare_binary(size: int = 64, seed: int = 0) -> Comparison:
    """Letters with 15 % wrong pixels, an Ising prior: a cut, which is exact, and three ways to marginals."""
    truth, wrong = letters(size), 0.15
    noisy = flipped(truth, wrong, seed)
    network = binary_field(noisy, coupling=0.6, field=math.log((1 - wrong) / wrong) / 2)
    engines = (GraphCut(), LoopyBP(damping=0.3), MeanField(), Gibbs(num_samples=200, burn_in=50, seed=seed))

    def error_rate(labels: Ints) -> float:
        return float((labels != truth).mean())

    return _compared("Binary denoising", "error rate", network, engines, truth, noisy, error_rate, np.asarray)


def compare_grey(levels: int = 8, size: int = 64, seed: int = 0) -> Comparison:
    """Grey levels with Gaussian noise, a truncated linear prior: two kinds of moves, messages, and a dual bound."""
    truth, noise = grey_scene(levels, size), 0.15 * (levels - 1)
    noisy = truth + np.random.default_rng(seed).normal(0.0, noise, truth.shape)
    network = grey_field(noisy, levels, noise=noise, smoothness=1.0, truncation=0.4 * (levels - 1))
    engines = (AlphaExpansion(), AlphaBetaSwap(), MaxProduct(max_steps=30), DualDecomposition(max_steps=100))

    def decibels(picture: Floats | Ints) -> float:
        """The peak signal-to-noise ratio, 20 log10(peak / root mean square error)."""
        error = math.sqrt(float(((picture - truth) ** 2).mean()))
        return 20 * math.log10((levels - 1) / error) if error else math.inf

    def greys(labels: Floats) -> Floats:
        return labels / (levels - 1)

    return _compared("Grey denoising", "PSNR in dB", network, engines, truth, noisy, decibels, greys)


def compare_segments(size: int = 64, seed: int = 0) -> Comparison:
    """Sky, sun, hills and house in noisy colours, known from scribbles: contrast-sensitive Potts energies."""
    image, truth = colour_scene(size)
    noisy = np.clip(image + np.random.default_rng(seed).normal(0.0, 0.2, image.shape), 0.0, 1.0)
    colours = ColourModel.from_scribbles(noisy, scribbled(truth))
    network = segment_field(noisy, colours, smoothness=6.0)
    by_colour = colours.energies(noisy).argmin(axis=2)
    engines = (AlphaExpansion(), AlphaBetaSwap(), DualDecomposition(max_steps=100))

    def share_right(labels: Ints) -> float:
        return 1 - float((labels != truth).mean())

    def painted(labels: Ints) -> Floats:
        return colours.means[labels]

    first = (image, noisy, painted(by_colour))
    return _compared("Segmentation", "pixels right", network, engines, truth, by_colour, share_right, painted, first)


#: The comparisons by name.
COMPARISONS: Mapping[str, Callable[[], Comparison]] = MappingProxyType(
    {"denoise-binary": compare_binary, "denoise-grey": compare_grey, "segment": compare_segments}
)
