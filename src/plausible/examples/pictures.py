"""Pictures made by formulas, with the truth about them known; put side by side and written as PNG."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from os import PathLike
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from plausible.base.arrays import Floats, Ints
from plausible.errors import InvalidArgument

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
