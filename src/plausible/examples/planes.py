"""A robot maps planes: rooms as a range finder sees them, EM for planes and stray points, planes that come and go."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from plausible.base import (
    PROBABILITY_NOISE,
    WRITTEN_ROUNDING,
    Flags,
    Floats,
    Positions,
    Seed,
    generator_of,
    html_of_print,
    logarithms,
)
from plausible.errors import InvalidArgument
from plausible.search.run import CONVERGED, Run, Stops, iterate


@dataclass(frozen=True, slots=True, eq=False)
class Box:
    """The points x with low ≤ x ≤ high, beyond which nothing is measured; corners of three numbers each."""

    low: Floats
    high: Floats

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
    def read(cls, planes: ArrayLike) -> Self:
        """From rows of a normal of any length, an offset in its units, and a share of the points."""
        rows = np.asarray(planes, dtype=np.float64).reshape(-1, 5)
        lengths, shares = np.linalg.norm(rows[:, :3], axis=1), rows[:, 4]
        if not (lengths > 0).all() or (shares < 0).any() or shares.sum() > 1 + WRITTEN_ROUNDING:
            raise InvalidArgument(
                "Planes have normals that are not zero, and shares of the points whose sum is at most one."
            )
        weights = np.concatenate([[max(0.0, 1 - shares.sum())], shares])
        return cls(rows[:, :3] / lengths[:, None], rows[:, 3] / lengths, weights / weights.sum())

    def __len__(self) -> int:
        return len(self.offsets)

    def distances(self, points: Floats) -> Floats:
        """α·x - β, shape (points, K): the distance of each point from each plane, with its side as sign."""
        return np.asarray(points @ self.normals.T - self.offsets)

    def __str__(self) -> str:
        lines = []
        for normal, offset, weight in zip(self.normals, self.offsets, self.weights[1:], strict=True):
            signed = zip(np.where(normal < 0, "-", "+"), abs(normal), "xyz", strict=True)
            terms = " ".join(f"{sign} {part:.3f} {axis}" for sign, part, axis in signed).removeprefix("+ ")
            lines.append(f"{weight:6.1%}  {terms} = {offset:.3f}")
        return "\n".join([*lines, f"{self.weights[0]:6.1%}  stray points"])

    _repr_html_ = html_of_print


@dataclass(frozen=True, slots=True, eq=False)
class PlaneProblem:
    """What was measured."""

    points: Floats  # shape (n, 3), all within the box
    box: Box  # where points can be
    noise: float  # the standard deviation σ of distances from planes


@dataclass(frozen=True, slots=True, eq=False)
class PlaneScene(PlaneProblem):
    """What was measured, and of what."""

    sources: Positions  # shape (n,): 0 for a stray point, k for one of plane k - 1
    planes: Planes  # the truth


#: Floor, two walls, and a ramp: normal, offset, share of the points.
_ROOM = ((0, 0, 1, 0.3, 0.3), (1, 0, 0, 0.5, 0.2), (0, 1, 0, 3.6, 0.2), (-0.5, 0.0, 1.0, -1.1, 0.15))


def simulate_room(
    num_points: int = 1000, noise: float = 0.03, planes: ArrayLike | None = None, box: Box | None = None, seed: Seed = 0
) -> PlaneScene:
    """Points drawn from the very model that `map_planes` fits: densities ∝ N(distance; 0, noise²) within the box."""
    truth, generator = Planes.read(_ROOM if planes is None else planes), generator_of(seed)
    room = box or Box(np.zeros(3), np.array([5.0, 4, 3]))
    sources = np.sort(generator.choice(len(truth) + 1, size=num_points, p=truth.weights))
    points = room.low + generator.random((num_points, 3)) * (room.high - room.low)
    for number in range(len(truth)):
        mine = sources == number + 1
        points[mine] = _near_plane(truth, number, room, noise, int(mine.sum()), generator)
    return PlaneScene(points, room, noise, sources, truth)


def _near_plane(
    planes: Planes, number: int, box: Box, noise: float, size: int, generator: np.random.Generator
) -> Floats:
    """Points near one plane: uniform on a square that covers its part of the box, moved by noise, kept inside."""
    normal, offset = planes.normals[number], planes.offsets[number]
    within = np.linalg.svd(normal[None])[2][1:]  # two directions within the plane
    middle = box.centre - (normal @ box.centre - offset) * normal
    reach, kept = float(np.linalg.norm(box.half_sizes)), np.empty((0, 3))
    for _ in range(1000):
        if len(kept) >= size:
            return kept[:size]
        spread = generator.uniform(-reach, reach, (4 * size + 16, 2)) @ within
        drawn = middle + spread + noise * generator.standard_normal((len(spread), 1)) * normal
        kept = np.concatenate([kept, drawn[box.contains(drawn)]])
    raise InvalidArgument(f"Plane {number} hardly meets the box: move the plane, or make the box larger.")


#: How far a step goes from the old plane to that of the least squares.
_STRIDES = np.array([0.0, 1.0, 0.5, 0.25, 0.125, 2.0**-5, 2.0**-7])
#: Sides shorter than this share of the noise are taken to be this long: their effect is of the order of its square.
_LEAST_REACH = 1e-3


@dataclass(frozen=True, slots=True, eq=False)
class PlaneState:
    """Planes, what they say of the points, and how well they explain them."""

    planes: Planes  # so far
    responsibilities: Floats  # shape (n, K + 1): P(source | point), stray first
    trace: tuple[float, ...]  # the log-likelihood at the start and after each step; it never falls

    @property
    def log_likelihood(self) -> float:
        """Σ log p(point)."""
        return self.trace[-1]


@cache
def _nodes() -> tuple[Floats, Floats]:
    nodes, weights = np.polynomial.legendre.leggauss(64)
    return nodes, weights / 2


def log_masses(normals: Floats, offsets: Floats, box: Box, noise: float) -> Floats:
    """log ∫_box N(α·x - β; 0, σ²) dx: by what the density near each plane is normalised.

    It is the volume times the density at β of α·u + σε, for u uniform in the box and ε standard normal. With aᵢ =
    |αᵢ| · half the box's size, two of the three uniform parts are integrated in closed form by the second
    antiderivative x Φ(x/σ) + σ φ(x/σ) of the normal density, and the one of the shortest reach by Gauss and Legendre.
    """
    from scipy.special import ndtr

    reach = np.sort(np.maximum(np.abs(normals) * box.half_sizes, _LEAST_REACH * noise), axis=1)
    short, middle, long = (reach[:, [place]] for place in range(3))
    nodes, weights = _nodes()
    places = ((offsets - normals @ box.centre)[:, None] - short * nodes) / noise
    total = np.zeros_like(places)
    for sign, shift in ((1, long + middle), (-1, long - middle), (-1, middle - long), (1, -long - middle)):
        moved = places + shift / noise
        total += sign * noise * (moved * ndtr(moved) + np.exp(-(moved**2) / 2) / math.sqrt(2 * math.pi))
    density = (total @ weights) / (4 * middle * long)[:, 0]
    # Planes that miss the box by far have no mass but that of rounding.
    return np.asarray(np.log(np.maximum(density, 1e-9 / long[:, 0])) + math.log(box.volume))


def plane_init(problem: PlaneProblem, planes: Planes, trace: tuple[float, ...] = ()) -> PlaneState:
    """E-step: P(source | point) by Bayes' rule, and the log-likelihood, put behind those before."""
    noise, box = problem.noise, problem.box
    logs = np.empty((len(problem.points), len(planes) + 1))
    logs[:, 0] = -math.log(box.volume)
    logs[:, 1:] = -((planes.distances(problem.points) / noise) ** 2) / 2
    logs[:, 1:] -= math.log(noise * math.sqrt(2 * math.pi)) + log_masses(planes.normals, planes.offsets, box, noise)
    logs += logarithms(planes.weights)
    peaks = logs.max(axis=1, keepdims=True)
    joint = np.exp(logs - peaks)
    totals = joint.sum(axis=1, keepdims=True)
    return PlaneState(planes, joint / totals, (*trace, float((peaks + np.log(totals)).sum())))


def plane_step(problem: PlaneProblem, state: PlaneState) -> PlaneState:
    """One step: the log-likelihood Σ log Σ_k w_k p_k(x) does not fall.

    p_0 = 1 / volume, p_k(x) = N(α_k·x - β_k; 0, σ²) / mass_k. Without the masses, which are different for all planes,
    E-steps would be no posteriors of any model. The weighted total least squares (α the eigenvector of the least
    eigenvalue of the weighted scatter, β = α·mean; K&F box 19.D) minimises Σ r d² but not Σ r (d²/2σ² + log mass), so
    that of some planes on the way there the best is taken, the old one among them: a generalised M-step.
    """
    old, totals, shares = state.planes, state.responsibilities.sum(axis=0), state.responsibilities[:, 1:]
    sizes = np.maximum(totals[1:], np.finfo(float).tiny)
    means = shares.T @ problem.points / sizes[:, None]
    scatter = np.einsum("nk,ni,nj->kij", shares, problem.points, problem.points, optimize=True)
    scatter = scatter / sizes[:, None, None] - means[:, :, None] * means[:, None, :]
    least = np.linalg.eigh(scatter)[1][:, :, 0]
    least *= np.where((least * old.normals).sum(axis=1) < 0, -1.0, 1.0)[:, None]
    offsets = (least * means).sum(axis=1)
    strides = _STRIDES[:, None]
    normals = old.normals + strides[:, :, None] * (least - old.normals)
    lengths = np.linalg.norm(normals, axis=2)
    normals, moved = normals / lengths[:, :, None], (old.offsets + strides * (offsets - old.offsets)) / lengths
    squares = np.einsum("ski,kij,skj->sk", normals, scatter, normals) + ((normals * means).sum(axis=2) - moved) ** 2
    masses = log_masses(normals.reshape(-1, 3), moved.ravel(), problem.box, problem.noise).reshape(moved.shape)
    best = (-squares / (2 * problem.noise**2) - masses).argmax(axis=0), np.arange(len(old))
    return plane_init(problem, Planes(normals[best], moved[best], totals / totals.sum()), state.trace)


#: Planes through three points that are tried for a new one.
_NUM_TRIPLES = 400
#: Least gain of log-likelihood for each point that is worth another step.
_TOLERANCE = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class PlaneMap:
    """Planes found so far, and how."""

    problem: PlaneProblem  # the points
    state: PlaneState  # the planes, what they say of each point, and the log-likelihood after each step of the last run
    num_rounds: int = 0  # how often a new plane was tried
    num_failures: int = 0  # how many of the last tries were in vain
    #: Why it ended: "converged" (new planes were tried in vain), "enough planes", "time limit", "interrupted"; or "",
    #: for one that goes on.
    stopped_by: str = ""

    @property
    def planes(self) -> Planes:
        """The planes."""
        return self.state.planes

    @property
    def labels(self) -> Positions:
        """The most probable source of each point: 0 for a stray one, k for plane k - 1."""
        return np.asarray(self.state.responsibilities.argmax(axis=1))

    @property
    def score(self) -> float:
        """BIC: the log-likelihood, less ½ log n for each free parameter: two of a normal, an offset, a weight."""
        return self.state.log_likelihood - 2 * len(self.planes) * math.log(len(self.problem.points))


def map_planes(
    points: ArrayLike,
    noise: float,
    box: Box | None = None,
    *,
    max_planes: int = 20,
    patience: int = 3,
    fewest: float = 10.0,
    seed: Seed = 0,
    progress: Callable[[PlaneMap], object] | None = None,
    time_limit: float | None = None,
) -> PlaneMap:
    """The planes behind measured points (Thrun et al. 2004; K&F box 19.D).

    A mixture of planes and of stray points within a box is fitted by EM, see `plane_step`. Around it a plane is added
    where most points are without one, planes with too few points are removed, and the new map is kept where its BIC is
    better. A step costs O(n K), a new plane O(400 n).
    """
    measured = np.asarray(points, dtype=np.float64)
    if measured.ndim != 2 or measured.shape[1] != 3 or not len(measured) or not np.isfinite(measured).all():
        raise InvalidArgument(f"points= are rows of three finite numbers, at least one, not of shape {measured.shape}.")
    if not 0 < noise < math.inf:
        raise InvalidArgument(f"noise={noise!r} is a standard deviation above zero.")
    room = box or Box(measured.min(axis=0) - noise, measured.max(axis=0) + noise)
    outside = ~room.contains(measured)
    if outside.any():
        raise InvalidArgument(f"Point {int(outside.argmax())} is outside of the box: leave box= out, or the point.")
    problem = PlaneProblem(measured, room, noise)

    def ends(found: PlaneMap) -> str:
        if len(found.planes) >= max_planes:
            return "enough planes"
        return CONVERGED if found.num_failures >= patience or len(measured) < 3 else ""

    start = PlaneMap(problem, plane_init(problem, Planes.read([])))
    step = partial(_with_one_more, fewest=fewest, generator=generator_of(seed))
    run = iterate(step, start, Stops(0.0, None, time_limit, progress), ends=ends)
    return replace(run.state, stopped_by=run.stopped_by)


def _with_one_more(found: PlaneMap, fewest: float, generator: np.random.Generator) -> PlaneMap:
    """One plane more, without those that too few points are left for; the old map where that is no better."""
    problem, worth = found.problem, _TOLERANCE * len(found.problem.points)

    def settles(run: Run[Any]) -> str:
        return CONVERGED if run.state.trace[-1] - run.state.trace[-2] <= worth else ""

    def fitted(planes: Planes) -> PlaneState:
        start = plane_init(problem, planes)
        return iterate(partial(plane_step, problem), start, Stops(max_steps=200), [settles]).state

    state = fitted(_with_plane(problem, found.state, generator))
    while (light := state.responsibilities.sum(axis=0)[1:] < fewest).any():  # what light planes held is stray
        planes, kept = state.planes, state.planes.weights[1:][~light]
        weights = np.concatenate([[1 - kept.sum()], kept])
        state = fitted(Planes(planes.normals[~light], planes.offsets[~light], weights))
    tried = PlaneMap(problem, state, found.num_rounds + 1)
    if tried.score > found.score + worth:
        return tried
    return PlaneMap(problem, found.state, found.num_rounds + 1, found.num_failures + 1)


def _with_plane(problem: PlaneProblem, state: PlaneState, generator: np.random.Generator) -> Planes:
    """The planes, and one through three stray points that most stray points are near to; it takes half their weight."""
    planes, stray = state.planes, state.responsibilities[:, 0]
    share = stray + PROBABILITY_NOISE
    chosen = generator.choice(len(stray), size=(_NUM_TRIPLES, 3), p=share / share.sum())
    first, second, third = (problem.points[chosen[:, place]] for place in range(3))
    normals = np.cross(second - first, third - first)
    lengths = np.linalg.norm(normals, axis=1, keepdims=True)
    # Of points on a line, or of one point twice, there is no plane: any one through them will do.
    normals = np.where(lengths > 0, normals / np.where(lengths > 0, lengths, 1.0), [0.0, 0.0, 1.0])
    offsets = (normals * first).sum(axis=1)
    distances = problem.points @ normals.T - offsets
    best = int((stray @ np.exp(-((distances / problem.noise) ** 2) / 2)).argmax())
    half = planes.weights[0] / 2
    weights = np.concatenate([[half], planes.weights[1:], [half]])
    return Planes(np.vstack([planes.normals, normals[best]]), np.append(planes.offsets, offsets[best]), weights)
