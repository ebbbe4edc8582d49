"""Maps of planes from measured points: expectation maximisation inside, planes that come and go outside."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import ArrayLike

from plausible.base.arrays import Flags, Floats, Positions
from plausible.base.seeds import Seed, generator_of
from plausible.errors import InvalidArgument
from plausible.examples.plane_scenes import Box, Planes
from plausible.search.clock import Clock

#: How far a step goes from the old plane to that of the least squares.
_STRIDES = np.array([0.0, 1.0, 0.5, 0.25, 0.125, 2.0**-5, 2.0**-7])
#: Sides shorter than this share of the noise are taken to be this long: their effect is of the order of its square.
_LEAST_REACH = 1e-3
_NUM_NODES = 64


@dataclass(frozen=True, slots=True, eq=False)
class PlaneProblem:
    """What was measured."""

    points: Floats  # shape (n, 3), all within the box
    box: Box  # where points can be
    noise: float  # the standard deviation σ of distances from planes


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


def log_masses(normals: Floats, offsets: Floats, box: Box, noise: float) -> Floats:
    """log ∫_box N(α·x - β; 0, σ²) dx: by what the density near each plane is normalised.

    It is the volume times the density at β of α·u + σε, for u uniform in the box and ε standard normal. With aᵢ =
    |αᵢ| · half the box's size, two of the three uniform parts are integrated in closed form by the second
    antiderivative x Φ(x/σ) + σ φ(x/σ) of the normal density, and the one of the shortest reach by Gauss and Legendre.

    >>> box = Box(np.zeros(3), np.array([2.0, 3.0, 5.0]))
    >>> masses = log_masses(np.eye(3), np.ones(3), box, noise=0.01)
    >>> np.exp(masses).round(6)  # the areas of sections of the box
    array([15., 10.,  6.])
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


@cache
def _nodes() -> tuple[Floats, Floats]:
    nodes, weights = np.polynomial.legendre.leggauss(_NUM_NODES)
    return nodes, weights / 2


def plane_init(problem: PlaneProblem, planes: Planes) -> PlaneState:
    """The state before the first step."""
    return _expected(problem, planes, ())


def plane_step(problem: PlaneProblem, state: PlaneState) -> PlaneState:
    """One step: the log-likelihood Σ log Σ_k w_k p_k(x) does not fall.

    p_0 = 1 / volume, p_k(x) = N(α_k·x - β_k; 0, σ²) / mass_k. Without the masses, which are different for all planes,
    E-steps would be no posteriors of any model. The weighted total least squares (α the eigenvector of the least
    eigenvalue of the weighted scatter, β = α·mean; K&F box 19.D) minimises Σ r d² but not Σ r (d²/2σ² + log mass), so
    that of some planes on the way there the best is taken, the old one among them: a generalised M-step.
    """
    shares = state.responsibilities
    totals = shares.sum(axis=0)
    found = _best_planes(problem, state.planes, shares[:, 1:], totals[1:])
    planes = Planes(found[0], found[1], totals / totals.sum())
    return _expected(problem, planes, state.trace)


def _expected(problem: PlaneProblem, planes: Planes, trace: tuple[float, ...]) -> PlaneState:
    """E-step: P(source | point) by Bayes' rule, and the log-likelihood on the way."""
    noise, box = problem.noise, problem.box
    masses = log_masses(planes.normals, planes.offsets, box, noise)
    logs = np.empty((len(problem.points), len(planes) + 1))
    logs[:, 0] = -math.log(box.volume)
    logs[:, 1:] = -((planes.distances(problem.points) / noise) ** 2) / 2
    logs[:, 1:] -= math.log(noise * math.sqrt(2 * math.pi)) + masses
    with np.errstate(divide="ignore"):
        logs += np.log(planes.weights)
    peaks = logs.max(axis=1, keepdims=True)
    joint = np.exp(logs - peaks)
    totals = joint.sum(axis=1, keepdims=True)
    return PlaneState(planes, joint / totals, (*trace, float((peaks + np.log(totals)).sum())))


def _best_planes(problem: PlaneProblem, old: Planes, shares: Floats, totals: Floats) -> tuple[Floats, Floats]:
    """For each plane the best of those from the old one to the total least squares, by what the M-step maximises."""
    sizes = np.maximum(totals, np.finfo(float).tiny)
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
    best = (-squares / (2 * problem.noise**2) - masses).argmax(axis=0)
    each = np.arange(len(old))
    return normals[best, each], moved[best, each]


#: Planes through three points that are tried for a new one.
_NUM_TRIPLES = 400
#: A normal has two free numbers, an offset and a weight one each.
_FREE_PARAMETERS = 4
_MAX_STEPS = 200
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
        """BIC: the log-likelihood, less ½ log n for each free parameter."""
        free = _FREE_PARAMETERS * len(self.planes)
        return self.state.log_likelihood - free / 2 * math.log(len(self.problem.points))


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

    >>> from plausible.examples.plane_scenes import simulate_room
    >>> scene = simulate_room(num_points=600)
    >>> found = map_planes(scene.points, scene.noise, scene.box)
    >>> len(found.planes), found.stopped_by
    (4, 'converged')
    """
    problem = _problem(points, noise, box)
    generator = generator_of(seed)
    clock = Clock.of(time_limit)
    found = PlaneMap(problem, plane_init(problem, Planes.none()))
    while not (stopped_by := _end(found, max_planes, patience, clock)):
        found = _round(found, fewest, generator)
        if progress is not None and progress(found):
            stopped_by = "interrupted"
            break
    return PlaneMap(problem, found.state, found.num_rounds, found.num_failures, stopped_by)


def _problem(points: ArrayLike, noise: float, box: Box | None) -> PlaneProblem:
    measured = np.asarray(points, dtype=np.float64)
    if measured.ndim != 2 or measured.shape[1] != 3 or not len(measured) or not np.isfinite(measured).all():
        raise InvalidArgument(f"points= are rows of three finite numbers, at least one, not of shape {measured.shape}.")
    if not 0 < noise < math.inf:
        raise InvalidArgument(f"noise={noise!r} is a standard deviation above zero.")
    room = Box.around(measured, noise) if box is None else box
    outside = ~room.contains(measured)
    if outside.any():
        raise InvalidArgument(f"Point {int(outside.argmax())} is outside of the box: leave box= out, or the point.")
    return PlaneProblem(measured, room, noise)


def _end(found: PlaneMap, max_planes: int, patience: int, clock: Clock) -> str:
    """Why no further plane is tried, or nothing."""
    if len(found.planes) >= max_planes:
        return "enough planes"
    if found.num_failures >= patience or len(found.problem.points) < 3:
        return "converged"
    return "time limit" if clock.is_over else ""


def _round(found: PlaneMap, fewest: float, generator: np.random.Generator) -> PlaneMap:
    """One plane more, without those that too few points are left for; the old map where that is no better."""
    problem = found.problem
    state = _run(problem, plane_init(problem, _with_plane(problem, found.state, generator)))
    while (light := state.responsibilities.sum(axis=0)[1:] < fewest).any():
        state = _run(problem, plane_init(problem, _without(state.planes, light)))
    tried = PlaneMap(problem, state, found.num_rounds + 1)
    if tried.score > found.score + _TOLERANCE * len(problem.points):
        return tried
    return PlaneMap(problem, found.state, found.num_rounds + 1, found.num_failures + 1)


def _run(problem: PlaneProblem, state: PlaneState) -> PlaneState:
    for _ in range(_MAX_STEPS):
        before, state = state, plane_step(problem, state)
        if state.log_likelihood - before.log_likelihood <= _TOLERANCE * len(problem.points):
            break
    return state


def _with_plane(problem: PlaneProblem, state: PlaneState, generator: np.random.Generator) -> Planes:
    """The planes, and one through three stray points that most stray points are near to; it takes half their weight."""
    planes, stray = state.planes, state.responsibilities[:, 0]
    share = (stray + 1e-12) / (stray + 1e-12).sum()
    chosen = generator.choice(len(stray), size=(_NUM_TRIPLES, 3), p=share)
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


def _without(planes: Planes, light: Flags) -> Planes:
    """The planes that are not light; what the others held is stray."""
    kept = planes.weights[1:][~light]
    return Planes(planes.normals[~light], planes.offsets[~light], np.concatenate([[1 - kept.sum()], kept]))
