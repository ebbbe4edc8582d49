"""Priors of weights."""

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import minimize

import plausible as pb
from plausible.learn.undirected.priors import GroupPrior, Penalty, read_prior

PRIORS = [
    pb.GaussianPrior(0.7),
    pb.LaplacePrior(0.4),
    pb.HyperbolicPrior(),
    pb.GaussianPrior(0.7) + pb.LaplacePrior(0.4) + pb.HyperbolicPrior(),
]


def penalty_of(prior: object, size: int = 4) -> Penalty:
    return read_prior(prior, [f"w{place}" for place in range(size)], np.arange(size) // 2)  # type: ignore[arg-type]


@pytest.mark.parametrize("prior", PRIORS[:3], ids=repr)
def test_the_density_of_a_weight_integrates_to_one(prior):
    """A prior of one kind is a normalised density of each weight."""
    penalty = penalty_of(prior, 1)
    halves = [
        quad(lambda weight: math.exp(penalty.log_density(np.array([weight]))), *ends)[0]
        for ends in ((-np.inf, 0), (0, np.inf))
    ]
    assert sum(halves) == pytest.approx(1, abs=1e-7)


def test_densities_at_zero_and_two_are_those_of_the_figure():
    """Laplace with scale 1 and Gauss with variance 1 at 0 and 2."""
    for prior, at_zero, at_two in (
        (pb.LaplacePrior(1.0), 0.5, 0.0676676),
        (pb.GaussianPrior(1.0), 0.3989423, 0.0539910),
    ):
        density = [math.exp(penalty_of(prior, 1).log_density(np.array([weight]))) for weight in (0.0, 2.0)]
        assert density == pytest.approx([at_zero, at_two], abs=5e-8)


def test_a_gaussian_prior_punishes_growth_of_large_weights_more():
    """θ from 0 to 0.1 costs less than from 3 to 3.1 under a Gaussian prior, the same under a Laplace prior."""

    def cost(prior, first, last):
        penalty = penalty_of(prior, 1)
        return penalty.log_density(np.array([first])) - penalty.log_density(np.array([last]))

    assert [cost(pb.GaussianPrior(1.0), *ends) for ends in ((0, 0.1), (3, 3.1))] == pytest.approx([0.005, 0.305])
    assert [cost(pb.LaplacePrior(1.0), *ends) for ends in ((0, 0.1), (3, 3.1))] == pytest.approx([0.1, 0.1])


@pytest.mark.parametrize("prior", PRIORS, ids=repr)
def test_the_gradient_is_that_of_the_smooth_part(prior):
    """Central differences of the smooth part agree with its gradient and its curvature."""
    penalty, weights, step = penalty_of(prior), np.array([0.3, -1.2, 0.05, 2.0]), 1e-5
    for place, move in enumerate(np.eye(4) * step):
        ahead, behind = penalty.smooth(weights + move), penalty.smooth(weights - move)
        assert penalty.smooth(weights)[1][place] == pytest.approx((ahead[0] - behind[0]) / (2 * step), abs=1e-8)
        slope = (ahead[1][place] - behind[1][place]) / (2 * step)
        assert penalty.curvature(weights)[place] == pytest.approx(-slope, abs=1e-6)


@pytest.mark.parametrize("by_size", [False, True])
def test_the_proximal_map_minimises_its_definition(by_size):
    """A general minimiser finds nothing lower than what the proximal map returns."""
    penalty = penalty_of(pb.LaplacePrior(1.5) + GroupPrior(0.8, by_size=by_size))
    rng = np.random.default_rng(1)
    steps = np.array([0.5, 0.5, 0.2, 0.2])
    for weights in rng.normal(scale=2, size=(20, 4)):
        shrunk = penalty.shrunk(weights, steps)

        def goal(point, weights=weights):
            return float(((point - weights) ** 2 / steps).sum() / 2 - penalty.sharp(point))

        others = [minimize(goal, start, method="Nelder-Mead", options={"maxiter": 4000}).fun for start in (weights,)]
        assert goal(shrunk) <= min(others) + 1e-9


def test_the_steepest_direction_vanishes_just_where_no_small_step_helps():
    """At weights of zero the direction is zero exactly where the gradient is within the rates."""
    penalty = penalty_of(pb.LaplacePrior(0.5))
    assert penalty.steepest(np.zeros(4), np.array([1.9, -1.9, 2.5, -3.0])).tolist() == [0, 0, 0.5, -1.0]
    assert penalty.steepest(np.ones(4), np.full(4, 2.0)).tolist() == [0, 0, 0, 0]
    groups = penalty_of(GroupPrior(1.0))
    assert groups.steepest(np.zeros(4), np.array([0.6, 0.79, 3.0, 4.0])) == pytest.approx([0, 0, 2.4, 3.2])
    assert groups.steepest(np.array([3.0, 4.0, 0, 0]), np.array([0.6, 0.8, 0, 0])) == pytest.approx(0, abs=1e-15)


@pytest.mark.parametrize("optimizer", [None, "newton", "conjugate-gradient", "proximal"])
@pytest.mark.parametrize("size", [1e-150, 1e-9, 1e-4, 1e4, 1e100])
def test_features_of_any_size_meet_a_prior_of_one(size, optimizer):
    """Where a feature is so small that only its prior counts, or so large that only the data do, others are learned."""
    a = np.array([0, 0, 1, 1, 1, 0, 1, 1])
    frame = {"A": a, "B": np.array([0, 1, 1, 1, 0, 0, 1, 1])}
    features = [
        pb.Feature(["A", "B"], lambda a, b: size * (a == b), name="same"),
        pb.Feature(["A"], lambda a: float(a), name="first"),
    ]
    fit = pb.learn.markov(features, frame, prior=pb.GaussianPrior(1.0), tolerance=1e-7, optimizer=optimizer)

    def slope(scaled):
        """Of the objective in the weights times the sizes of their features, with all four assignments listed."""
        on = np.array([[1.0, 0.0, 0.0, 1.0], [0.0, 0.0, 1.0, 1.0]])
        mass = np.exp(scaled @ on)
        prior = scaled / np.array([size, 1.0]) ** 2
        return np.array([6 / 8, 5 / 8]) * 8 - 8 * on @ mass / mass.sum() - np.minimum(prior, 1e300)

    found = np.array([fit.weights["same"] * size, fit.weights["first"]])
    assert fit.converged
    bends = np.maximum(2.0, np.array([size, 1.0]) ** -2.0)  # what the slope changes by, about
    np.testing.assert_allclose(slope(found) / bends, 0.0, atol=1e-5)


def test_priors_by_name_leave_other_weights_alone():
    """A mapping gives priors to the weights, or the groups of weights, that it names."""
    groups, names = np.array([0, 0, 1]), ["a=0", "a=1", "same"]
    penalty = read_prior({"a": pb.GaussianPrior(2.0), "same": pb.LaplacePrior(0.1)}, names, groups, ["a", "same"])
    assert penalty.precisions.tolist() == [0.5, 0.5, 0]
    assert penalty.rates.tolist() == [0, 0, 10]
    grouped = read_prior({"same": GroupPrior(0.5)}, names, groups, ["a", "same"])
    assert grouped.group_rates.tolist() == [0, 2]


def test_what_is_no_prior_is_refused():
    """Wrong numbers, names and kinds are named."""
    with pytest.raises(pb.PlausibleError, match="variance=0 must be a number above 0"):
        pb.GaussianPrior(0)
    with pytest.raises(pb.PlausibleError, match="Did you mean 'same'"):
        read_prior({"smae": pb.GaussianPrior()}, ["same"], np.zeros(1, dtype=int))
    with pytest.raises(pb.PlausibleError, match=r"GaussianPrior\(1.0\)"):
        read_prior(1.0, ["same"], np.zeros(1, dtype=int))  # type: ignore[arg-type]
    with pytest.raises(pb.PlausibleError, match="can't be added"):
        pb.GaussianPrior() + 1.0  # type: ignore[operator]
