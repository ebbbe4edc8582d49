"""Planes and stray points as a mixture within a box, and one step of expectation maximisation on it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np

from plausible.base.arrays import Floats
from plausible.examples.plane_scenes import Box, Planes

__all__ = ["PlaneProblem", "PlaneState", "log_masses", "plane_init", "plane_step"]


#: How far a step goes from the old plane to that of the least squares.
_STRIDES = np.array([0.0, 1.0, 0.5, 0.25, 0.125, 2.0**-5, 2.0**-7])
#: Sides shorter than this share of the noise are taken to be this long: their effect is of the order of its square.
_LEAST_REACH = 1e-3
_NUM_NODES = 64


@dataclass(frozen=True, slots=True, eq=False)
class PlaneProblem:
    """What was measured.

    Attributes
    ----------
    points
        Shape (n, 3), all within the box.
    box
        Where points can be.
    noise
        The standard deviation σ of distances from planes.
    """

    points: Floats
    box: Box
    noise: float


@dataclass(frozen=True, slots=True, eq=False)
class PlaneState:
    """Planes, what they say of the points, and how well they explain them.

    Attributes
    ----------
    planes
        So far.
    responsibilities
        Shape (n, K + 1): P(source | point), stray first.
    trace
        The log-likelihood at the start and after each step; it never falls.
    """

    planes: Planes
    responsibilities: Floats
    trace: tuple[float, ...]

    @property
    def log_likelihood(self) -> float:
        """Σ log p(point)."""
        return self.trace[-1]


def log_masses(normals: Floats, offsets: Floats, box: Box, noise: float) -> Floats:
    """log ∫_box N(α·x - β; 0, σ²) dx: by what the density near each plane is normalised.

    It is the volume times the density at β of α·u + σε, for u uniform in the box and ε standard normal. With aᵢ =
    |αᵢ| · half the box's size, two of the three uniform parts are integrated in closed form by the second
    antiderivative x Φ(x/σ) + σ φ(x/σ) of the normal density, and the one of the shortest reach by Gauss and Legendre.

    Parameters
    ----------
    normals, offsets
        Shapes (K, 3) and (K,).
    box
        Where points can be.
    noise
        σ.

    Examples
    --------
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
