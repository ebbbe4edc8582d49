"""Maps of planes: the density within a box, EM that climbs it, and planes that are found again."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment
from scipy.stats import norm

from plausible.errors import InvalidArgument
from plausible.examples.planes import (
    Box,
    PlaneProblem,
    Planes,
    log_masses,
    map_planes,
    plane_init,
    plane_step,
    simulate_room,
)

ROOM = Box([0, -1, 2], [2, 2, 3])


def _unit(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def _random_planes(num_planes, seed):
    """Planes through points of the room; the first one is parallel to a side."""
    rng = np.random.default_rng(seed)
    normals = _unit(rng.normal(size=(num_planes, 3)))
    normals[0] = [0, 1, 0]
    through = ROOM.low + rng.random((num_planes, 3)) * (ROOM.high - ROOM.low)
    return Planes(normals, (normals * through).sum(axis=1), rng.dirichlet(np.ones(num_planes + 1)))


def _midpoints(box, number):
    axes = [lo + (np.arange(number) + 0.5) / number * (hi - lo) for lo, hi in zip(box.low, box.high, strict=True)]
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)


@pytest.mark.parametrize("noise", [0.15, 3.0])
def test_densities_near_planes_have_the_mass_one_within_the_box(noise):
    """∫_box N(α·x - β; 0, σ²) dx, by the midpoints of 60³ cells."""
    planes = _random_planes(5, seed=1)
    points = _midpoints(ROOM, 60)
    sums = norm.pdf(points @ planes.normals.T - planes.offsets, scale=noise).mean(axis=0) * ROOM.volume
    found = log_masses(planes.normals, planes.offsets, ROOM, noise)
    np.testing.assert_allclose(np.exp(found), sums, rtol=1e-3)


def test_a_plane_far_from_the_box_has_a_finite_mass():
    """Rounding never gives the logarithm of zero or less."""
    found = log_masses(np.eye(3), np.array([50.0, -80.0, 1e6]), ROOM, 0.01)
    assert np.isfinite(found).all()
    assert (found < -10).all()


@pytest.mark.parametrize("seed", range(4))
def test_steps_never_lower_the_likelihood_and_shares_are_posteriors(seed):
    """A generalised EM step on normalised densities; shares by Bayes' rule with masses of a grid."""
    noise = 0.3
    problem = PlaneProblem(
        simulate_room(200, noise, box=ROOM, planes=[[1, 1, 0, 1, 0.5]], seed=seed).points, ROOM, noise
    )
    state = plane_init(problem, _random_planes(3, seed))
    grid = _midpoints(ROOM, 40)
    for _ in range(15):
        state = plane_step(problem, state)
    planes = state.planes
    masses = norm.pdf(grid @ planes.normals.T - planes.offsets, scale=noise).mean(axis=0) * ROOM.volume
    near = norm.pdf(problem.points @ planes.normals.T - planes.offsets, scale=noise) / masses
    joint = planes.weights * np.column_stack([np.full(200, 1 / ROOM.volume), near])
    np.testing.assert_allclose(state.responsibilities, joint / joint.sum(axis=1, keepdims=True), atol=2e-3)
    assert state.log_likelihood == pytest.approx(np.log(joint.sum(axis=1)).sum(), abs=0.2)
    assert (np.diff(state.trace) > -1e-9 * abs(state.log_likelihood)).all()
    assert state.trace[-1] > state.trace[0] + 1
    np.testing.assert_allclose(np.linalg.norm(planes.normals, axis=1), 1)


def test_one_step_is_the_total_least_squares_where_the_mass_is_constant():
    """Points near a plane parallel to a side of a wide box: the new plane is that of the singular vectors."""
    rng = np.random.default_rng(0)
    points = np.column_stack([rng.uniform(-9, 9, (300, 2)), rng.normal(0.02, 0.1, 300)])
    problem = PlaneProblem(points, Box([-10, -10, -10], [10, 10, 10]), 0.1)
    start = Planes(np.array([[0.0, 0.0, 1.0]]), np.zeros(1), np.array([0.0, 1.0]))
    found = plane_step(problem, plane_init(problem, start)).planes
    expected = np.linalg.svd(points - points.mean(axis=0))[2][2]
    expected *= np.sign(expected[2])
    np.testing.assert_allclose(found.normals[0], expected, atol=1e-9)
    assert found.offsets[0] == pytest.approx(expected @ points.mean(axis=0), abs=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_the_simulated_planes_are_recovered_within_noise(seed):
    """All four and no other: angles below 1.5°, distances at their middles below the noise, shares within 5 %."""
    scene = simulate_room(num_points=800, noise=0.03, seed=seed)
    found = map_planes(scene.points, scene.noise, scene.box, seed=seed).planes
    assert len(found) == len(scene.planes) == 4
    cosines = np.abs(found.normals @ scene.planes.normals.T)
    mine, theirs = linear_sum_assignment(-cosines)
    assert np.degrees(np.arccos(np.minimum(cosines[mine, theirs], 1))).max() < 1.5
    for one, other in zip(mine, theirs, strict=True):
        middle = scene.points[scene.sources == other + 1].mean(axis=0)
        assert abs(found.normals[one] @ middle - found.offsets[one]) < scene.noise
    np.testing.assert_allclose(found.weights[1:][mine], scene.planes.weights[1:][theirs], atol=0.05)


def test_stray_points_alone_are_no_planes():
    """Uniform points have no plane worth its parameters."""
    scene = simulate_room(num_points=400, planes=np.empty((0, 5)), seed=3)
    found = map_planes(scene.points, 0.03, scene.box)
    assert len(found.planes) == 0
    assert found.planes.weights.tolist() == [1.0]


def test_two_points_equal_points_and_points_on_a_line_are_mapped():
    """Degenerate points give an answer without warnings."""
    found = map_planes([[0, 0, 0], [1, 1, 1]], 0.1)
    assert len(found.planes) == 0
    np.testing.assert_allclose([found.problem.box.low, found.problem.box.high], [[-0.1] * 3, [1.1] * 3])
    line = np.column_stack([np.linspace(0, 1, 50)] * 3)
    for points in (np.zeros((30, 3)), line):
        found = map_planes(points, 0.1)
        assert np.isfinite(found.state.log_likelihood)


def test_the_same_seed_gives_the_same_map_and_maps_can_be_stored():
    """Randomness is that of the seed; a progress callback sees every round and stops by a true answer."""
    scene = simulate_room(num_points=300)
    rounds = []
    one = map_planes(scene.points, scene.noise, seed=5, progress=rounds.append)
    other = map_planes(scene.points, scene.noise, seed=5)
    assert one.state.trace == other.state.trace
    assert [found.num_rounds for found in rounds] == list(range(1, one.num_rounds + 1))
    assert pickle.loads(pickle.dumps(one)).score == one.score
    stopped = map_planes(scene.points, scene.noise, progress=lambda found: True)
    assert (stopped.stopped_by, stopped.num_rounds) == ("interrupted", 1)
    assert map_planes(scene.points, scene.noise, time_limit=0.0).stopped_by == "time limit"
    assert map_planes(scene.points, scene.noise, max_planes=1).stopped_by == "enough planes"


@pytest.mark.parametrize(
    ("points", "noise", "box", "words"),
    [
        ([[0, 0]], 0.1, None, "three finite numbers"),
        (np.empty((0, 3)), 0.1, None, "at least one"),
        ([[0, 0, np.nan]], 0.1, None, "finite"),
        ([[0, 0, 0]], 0.0, None, "noise=0.0"),
        ([[9, 9, 9]], 0.1, ROOM, "Point 0 is outside"),
    ],
)
def test_what_is_no_measurement_is_refused(points, noise, box, words):
    """Errors name what is wrong."""
    with pytest.raises(InvalidArgument, match=words):
        map_planes(points, noise, box)
    with pytest.raises(InvalidArgument, match="below the second"):
        Box([0, 0, 0], [1, 0, 1])
    with pytest.raises(InvalidArgument, match="hardly meets the box"):
        simulate_room(10, planes=[[1, 0, 0, 99, 1]])
    with pytest.raises(InvalidArgument, match="at most one"):
        simulate_room(10, planes=[[1, 0, 0, 1, 1.5]])
