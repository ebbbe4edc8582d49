"""Denoising and segmentation by several engines at once: scores, energies, bounds, and a strip of pictures."""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plausible.base import Floats, Ints
from plausible.errors import InvalidArgument
from plausible.examples.images import ColourModel, Labeller, Labelling, binary_field, grey_field, label, segment_field
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

_STROKES = (
    "####...####.",
    "#...#..#...#",
    "#...#..#...#",
    "####...####.",
    "#......#...#",
    "#......#...#",
    "#......####.",
)


def letters(size: int = 64) -> Ints:
    """The letters P and B, a ring and a bar in a square of 0 and 1."""
    strokes = np.array([[sign == "#" for sign in row] for row in _STROKES], dtype=np.int64)
    rows, columns = _places(size)
    top, left = (rows * 16 - 1) * 0.97, (columns - 0.08) * 14
    is_inside = (top >= 0) & (top < 7) & (left >= 0) & (left < 12)
    written = strokes[np.clip(top, 0, 6).astype(np.int64), np.clip(left, 0, 11).astype(np.int64)] * is_inside
    distance = np.hypot(rows - 0.74, columns - 0.28)
    ring = (distance > 0.1) & (distance < 0.2)
    bar = (abs(rows - 0.74) < 0.18) & (abs(columns - 0.72) < 0.09)
    return written | ring | bar


def grey_scene(levels: int, size: int = 64) -> Ints:
    """A disc and a box before a background that grows lighter, in grey levels from 0 to `levels` - 1."""
    rows, columns = _places(size)
    shade = 0.2 + 0.6 * columns
    shade = np.where(np.hypot(rows - 0.36, columns - 0.34) < 0.22, 1.0, shade)
    shade = np.where((abs(rows - 0.72) < 0.16) & (abs(columns - 0.68) < 0.2), 0.0, shade)
    return np.rint(shade * (levels - 1)).astype(np.int64)


def colour_scene(size: int = 64) -> tuple[Floats, Ints]:
    """A sky that grows paler, a sun, hills and a house, with the number of the thing that each pixel shows.

    Returns red, green and blue from 0 to 1, of shape (size, size, 3), and the numbers 0 to 3.
    """
    rows, columns = _places(size)
    things = np.zeros((size, size), dtype=np.int64)
    things[np.hypot(rows - 0.24, columns - 0.72) < 0.14] = 1
    things[rows > 0.62 + 0.08 * np.sin(7 * columns)] = 2
    things[(abs(columns - 0.34) < 0.2) & (rows > 0.46) & (rows < 0.72)] = 3
    colours = np.array([[0.35, 0.55, 0.9], [0.95, 0.8, 0.3], [0.3, 0.6, 0.3], [0.7, 0.35, 0.3]])
    fading = np.where(things == 0, 0.25 * rows, 0.1 * (columns - 0.5))
    return np.clip(colours[things] + fading[:, :, None], 0.0, 1.0), things


def flipped(picture: Ints, probability: float, seed: int = 0) -> Ints:
    """A picture of 0 and 1 in which each pixel is the other one with some probability."""
    is_wrong = np.random.default_rng(seed).random(picture.shape) < probability
    return np.where(is_wrong, 1 - picture, picture)


def scribbled(things: Ints) -> Ints:
    """A thin line through each thing: its number along the middle of its rows, -1 elsewhere."""
    marks = np.full_like(things, -1)
    for thing in np.unique(things):
        rows = np.flatnonzero((things == thing).any(axis=1))
        middle = rows[len(rows) // 2]
        marks[middle, things[middle] == thing] = thing
    return marks


def _places(size: int) -> tuple[Floats, Floats]:
    """The middle of each pixel's row and column, from 0 to 1."""
    middles = (np.arange(size) + 0.5) / size
    return middles[:, None] + np.zeros(size), middles + np.zeros((size, 1))


Bytes = NDArray[np.uint8]

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
#: The colour type that PNG gives to pictures of one and of three numbers a pixel.
_COLOUR_TYPES = {1: 0, 3: 2}


def side_by_side(pictures: Sequence[Bytes], magnify: int = 4, gap: int = 8) -> Bytes:
    """Pictures of the same height in a row, each pixel a square of `magnify` pixels, white between them.

    Grey pictures of shape (rows, columns) turn into colours, of shape (rows, columns, 3), where another one has them.
    """
    if any(picture.ndim == 3 for picture in pictures):
        pictures = [picture if picture.ndim == 3 else np.repeat(picture[:, :, None], 3, axis=2) for picture in pictures]
    large = [picture.repeat(magnify, axis=0).repeat(magnify, axis=1) for picture in pictures]
    white = np.full((large[0].shape[0], gap, *large[0].shape[2:]), 255, dtype=np.uint8)
    return np.concatenate([part for picture in large for part in (white, picture)][1:], axis=1)


def png_bytes(pixels: Bytes) -> bytes:
    """A picture as the bytes of a PNG file (W3C 2003, Portable Network Graphics)."""
    num_values = pixels.shape[2] if pixels.ndim == 3 else 1
    if pixels.dtype != np.uint8 or pixels.ndim not in (2, 3) or num_values not in _COLOUR_TYPES or not pixels.size:
        raise InvalidArgument(
            f"A PNG is made of an array of uint8 with the shape (rows, columns) or (rows, columns, 3), not of "
            f"{pixels.dtype} with the shape {pixels.shape}."
        )
    rows, columns = pixels.shape[:2]
    header = struct.pack(">IIBBBBB", columns, rows, 8, _COLOUR_TYPES[num_values], 0, 0, 0)
    # Each row begins with the number of its filter; 0 leaves the numbers as they are.
    lines = np.concatenate([np.zeros((rows, 1), np.uint8), pixels.reshape(rows, -1)], axis=1)
    result = _SIGNATURE
    for name, content in ((b"IHDR", header), (b"IDAT", zlib.compress(lines.tobytes(), 9)), (b"IEND", b"")):
        result += struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))
    return result


def write_png(path: str | PathLike[str], pixels: Bytes) -> Path:
    """Write a picture as `png_bytes` makes it, into a folder that is made where it is missing; gives the path."""
    target = Path(path)
    content = png_bytes(pixels)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(content)
    return target


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
