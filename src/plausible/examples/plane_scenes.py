"""Rooms as a robot's range finder sees them: points near planes, and stray ones, in a box."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from plausible.base.arrays import Flags, Floats
from plausible.base.display import html_of_print
from plausible.base.seeds import Seed, generator_of
from plausible.errors import InvalidArgument

Ints = NDArray[np.intp]


@dataclass(frozen=True, slots=True, eq=False)
class Box:
    """The points x with low ≤ x ≤ high, beyond which nothing is measured."""

    low: Floats  # three numbers each
    high: Floats  # three numbers each

    def __post_init__(self) -> None:
        for name in ("low", "high"):
            corner = np.array(getattr(self, name), dtype=np.float64)
            corner.setflags(write=False)
            object.__setattr__(self, name, corner)
        if self.low.shape != (3,) or self.high.shape != (3,) or not (self.low < self.high).all():
            raise InvalidArgument(
                f"A box has two corners of three numbers each, the first one below the second, not {self.low.tolist()} "
                f"and {self.high.tolist()}."
            )

    @classmethod
    def around(cls, points: Floats, margin: float) -> Self:
        """The least box with all points at least `margin` inside."""
        return cls(points.min(axis=0) - margin, points.max(axis=0) + margin)

    @property
    def centre(self) -> Floats:
        """The middle."""
        return (self.low + self.high) / 2

    @property
    def half_sizes(self) -> Floats:
        """From the middle to the sides."""
        return (self.high - self.low) / 2

    @property
    def volume(self) -> float:
        """The product of the sizes."""
        return float(np.prod(self.high - self.low))

    def contains(self, points: Floats) -> Flags:
        """Which of the points are inside."""
        return np.asarray(((points >= self.low) & (points <= self.high)).all(axis=-1))


@dataclass(frozen=True, slots=True, eq=False)
class Planes:
    """Planes α·x = β, and how many of all points belong to each."""

    normals: Floats  # shape (K, 3): α, of length one
    offsets: Floats  # shape (K,): β, the distance of the plane from the origin along α
    weights: Floats  # shape (K + 1,), of sum one: the share of stray points, then those of the planes

    @classmethod
    def none(cls) -> Self:
        """No plane at all: all points are stray."""
        return cls(np.empty((0, 3)), np.empty(0), np.ones(1))

    def __len__(self) -> int:
        return len(self.offsets)

    def distances(self, points: Floats) -> Floats:
        """α·x - β, shape (points, K): the distance of each point from each plane, with its side as sign."""
        return np.asarray(points @ self.normals.T - self.offsets)

    def __str__(self) -> str:
        lines = [
            f"{weight:6.1%}  {_equation(*plane)}"
            for *plane, weight in zip(self.normals, self.offsets, self.weights[1:], strict=True)
        ]
        return "\n".join([*lines, f"{self.weights[0]:6.1%}  stray points"])

    _repr_html_ = html_of_print


def _equation(normal: Floats, offset: float) -> str:
    terms = "".join(
        f" {'-' if part < 0 else '+'} {abs(part):.3f} {axis}" for part, axis in zip(normal, "xyz", strict=True)
    )
    return f"{terms.removeprefix(' + ').strip()} = {offset:.3f}"


@dataclass(frozen=True, slots=True, eq=False)
class PlaneScene:
    """Measured points, and what they were measured of."""

    points: Floats  # shape (n, 3), all within the box
    sources: Ints  # shape (n,): 0 for a stray point, k for one of plane k - 1
    planes: Planes  # the truth
    box: Box  # where points can be
    noise: float  # the standard deviation of distances


#: Floor, two walls, and a ramp: (normal, offset, share of the points).
_ROOM = (((0, 0, 1), 0.3, 0.3), ((1, 0, 0), 0.5, 0.2), ((0, 1, 0), 3.6, 0.2), ((-0.5, 0.0, 1.0), -1.1, 0.15))


def simulate_room(
    num_points: int = 1000,
    noise: float = 0.03,
    planes: ArrayLike | None = None,
    box: Box | None = None,
    seed: Seed = 0,
) -> PlaneScene:
    """Points drawn from the very model that `map_planes` fits: densities ∝ N(distance; 0, noise²) within the box.

    >>> scene = simulate_room(num_points=500)
    >>> print(scene.planes)
     30.0%  0.000 x + 0.000 y + 1.000 z = 0.300
     20.0%  1.000 x + 0.000 y + 0.000 z = 0.500
     20.0%  0.000 x + 1.000 y + 0.000 z = 3.600
     15.0%  - 0.447 x + 0.000 y + 0.894 z = -0.984
     15.0%  stray points
    >>> bool(scene.box.contains(scene.points).all())
    True
    """
    given = [(*normal, offset, share) for normal, offset, share in _ROOM] if planes is None else planes
    rows = np.asarray(given, dtype=np.float64).reshape(-1, 5)
    truth, room, generator = _planes(rows), box or Box(np.zeros(3), np.array([5.0, 4.0, 3.0])), generator_of(seed)
    sources = np.sort(generator.choice(len(truth) + 1, size=num_points, p=truth.weights))
    points = room.low + generator.random((num_points, 3)) * (room.high - room.low)
    for number in range(len(truth)):
        mine = sources == number + 1
        points[mine] = _near_plane(truth, number, room, noise, int(mine.sum()), generator)
    return PlaneScene(points, sources, truth, room, noise)


def _planes(rows: Floats) -> Planes:
    lengths = np.linalg.norm(rows[:, :3], axis=1)
    shares = rows[:, 4]
    if not (lengths > 0).all() or (shares < 0).any() or shares.sum() > 1 + 1e-9:
        raise InvalidArgument(
            "Planes have normals that are not zero, and shares of the points whose sum is at most one."
        )
    weights = np.concatenate([[max(0.0, 1 - shares.sum())], shares])
    return Planes(rows[:, :3] / lengths[:, None], rows[:, 3] / lengths, weights / weights.sum())


def _near_plane(
    planes: Planes, number: int, box: Box, noise: float, size: int, generator: np.random.Generator
) -> Floats:
    """Points near one plane: uniform on a square that covers its part of the box, moved by noise, kept inside."""
    normal, offset = planes.normals[number], planes.offsets[number]
    within = np.linalg.svd(normal[None])[2][1:]  # two directions within the plane
    middle = box.centre - (normal @ box.centre - offset) * normal
    reach = float(np.linalg.norm(box.half_sizes))
    kept = np.empty((0, 3))
    for _ in range(1000):
        if len(kept) >= size:
            return kept[:size]
        spread = generator.uniform(-reach, reach, (4 * size + 16, 2)) @ within
        drawn = middle + spread + noise * generator.standard_normal((len(spread), 1)) * normal
        kept = np.concatenate([kept, drawn[box.contains(drawn)]])
    raise InvalidArgument(f"Plane {number} hardly meets the box: move the plane, or make the box larger.")
