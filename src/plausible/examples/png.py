"""Pictures on paper: arrays put side by side and written as PNG."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from os import PathLike
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from plausible.errors import InvalidArgument

__all__ = ["png_bytes", "side_by_side", "write_png"]

Bytes = NDArray[np.uint8]

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
#: The colour type that PNG gives to pictures of one and of three numbers a pixel.
_COLOUR_TYPES = {1: 0, 3: 2}


def side_by_side(pictures: Sequence[Bytes], magnify: int = 4, gap: int = 8) -> Bytes:
    """Pictures of the same height in a row, each pixel a square of `magnify` pixels, white between them.

    Grey pictures of shape (rows, columns) turn into colours, of shape (rows, columns, 3), where another one has them.

    >>> side_by_side([np.zeros((2, 1), np.uint8), np.ones((2, 1), np.uint8)], magnify=1, gap=2)
    array([[  0, 255, 255,   1],
           [  0, 255, 255,   1]], dtype=uint8)
    """
    if any(picture.ndim == 3 for picture in pictures):
        pictures = [picture if picture.ndim == 3 else np.repeat(picture[:, :, None], 3, axis=2) for picture in pictures]
    large = [picture.repeat(magnify, axis=0).repeat(magnify, axis=1) for picture in pictures]
    white = np.full((large[0].shape[0], gap, *large[0].shape[2:]), 255, dtype=np.uint8)
    return np.concatenate([part for picture in large for part in (white, picture)][1:], axis=1)


def png_bytes(pixels: Bytes) -> bytes:
    """A picture as the bytes of a PNG file (W3C 2003, Portable Network Graphics).

    Parameters
    ----------
    pixels
        Whole numbers from 0 to 255: of shape (rows, columns) for greys, (rows, columns, 3) for red, green and blue.

    Examples
    --------
    >>> png_bytes(np.zeros((2, 2), np.uint8))[1:4]
    b'PNG'
    """
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
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(lines.tobytes(), 9)), (b"IEND", b""))
    return _SIGNATURE + b"".join(_chunk(name, content) for name, content in chunks)


def write_png(path: str | PathLike[str], pixels: Bytes) -> Path:
    """Write a picture as `png_bytes` makes it, into a folder that is made where it is missing; gives the path."""
    target = Path(path)
    content = png_bytes(pixels)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(content)
    return target


def _chunk(name: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))
