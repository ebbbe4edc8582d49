"""Maps of planes from measured points: expectation maximisation inside, planes that come and go outside."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from plausible.base.arrays import Flags, Positions
from plausible.base.seeds import Seed, generator_of
from plausible.errors import InvalidArgument
from plausible.examples.plane_model import PlaneProblem, PlaneState, plane_init, plane_step
from plausible.examples.plane_scenes import Box, Planes

__all__ = ["PlaneMap", "map_planes"]


#: Planes through three points that are tried for a new one.
_NUM_TRIPLES = 400
#: A normal has two free numbers, an offset and a weight one each.
_FREE_PARAMETERS = 4
_MAX_STEPS = 200
#: Least gain of log-likelihood for each point that is worth another step.
_TOLERANCE = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class PlaneMap:
    """Planes found so far, and how.

    Attributes
    ----------
    problem
        The points.
    state
        The planes, what they say of each point, and the log-likelihood after each step of the last run.
    num_rounds
        How often a new plane was tried.
    num_failures
        How many of the last tries were in vain.
    stopped
        Why it ended: "converged" (new planes were tried in vain), "enough planes", "time limit", "interrupted"; or "",
        for one that goes on.
    """

    problem: PlaneProblem
    state: PlaneState
    num_rounds: int = 0
    num_failures: int = 0
    stopped: str = ""

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

    Parameters
    ----------
    points
        Shape (n, 3).
    noise
        The standard deviation of the distance of a point from its plane.
    box
        Where points can be; the least box around them, with the noise as margin, where left out.
    max_planes
        At most so many.
    patience
        After so many new planes in vain it ends.
    fewest
        Planes with a smaller sum of responsibilities are removed.
    seed
        A whole number or a generator.
    progress
        Told the `PlaneMap` after each round; a true answer stops.
    time_limit
        In seconds.

    Examples
    --------
    >>> from plausible.examples.plane_scenes import simulate_room
    >>> scene = simulate_room(num_points=600)
    >>> found = map_planes(scene.points, scene.noise, scene.box)
    >>> len(found.planes), found.stopped
    (4, 'converged')
    """
    problem = _problem(points, noise, box)
    generator = generator_of(seed)
    deadline = math.inf if time_limit is None else time.perf_counter() + time_limit
    found = PlaneMap(problem, plane_init(problem, Planes.none()))
    while not (stopped := _end(found, max_planes, patience, deadline)):
        found = _round(found, fewest, generator)
        if progress is not None and progress(found):
            stopped = "interrupted"
            break
    return PlaneMap(problem, found.state, found.num_rounds, found.num_failures, stopped)


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


def _end(found: PlaneMap, max_planes: int, patience: int, deadline: float) -> str:
    """Why no further plane is tried, or nothing."""
    if len(found.planes) >= max_planes:
        return "enough planes"
    if found.num_failures >= patience or len(found.problem.points) < 3:
        return "converged"
    return "time limit" if time.perf_counter() >= deadline else ""


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
