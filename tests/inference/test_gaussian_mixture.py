"""Mixtures of Gaussians as values: moments, marginals, densities, refusals."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest

from plausible.errors import InvalidArgument, InvalidFactor, NotSupported, UnknownVariable
from plausible.factors import Factor
from plausible.factors.gaussian_mixture import GaussianMixture
from refusals import refuses


@pytest.fixture
def mixture():
    rng = np.random.default_rng(0)
    weights = Factor({"a": ["p", "q"], "b": 3}, rng.dirichlet(np.ones(6)).reshape(2, 3))
    roots = rng.normal(size=(2, 3, 2, 2))
    return GaussianMixture(weights, ["x", "y"], rng.normal(size=(2, 3, 2)), roots @ roots.swapaxes(-1, -2))


def test_collapsing_is_the_law_of_total_covariance(mixture):
    """E[Cov] + Cov[E], over plain loops."""
    weights, means = mixture.weights.flat, mixture.means.reshape(-1, 2)
    mean = sum(w * m for w, m in zip(weights, means, strict=True))
    second = sum(
        w * (c + np.outer(m, m)) for w, m, c in zip(weights, means, mixture.covariances.reshape(-1, 2, 2), strict=True)
    )
    np.testing.assert_allclose(mixture.moments().mean, mean)
    np.testing.assert_allclose(mixture.moments().covariance, second - np.outer(mean, mean))


def test_marginals_commute(mixture):
    """Discrete and continuous variables may go in any order; what was merged is noted."""
    direct = mixture.marginal(["y", "b"])
    assert direct.names == ("b", "y")
    assert direct.collapsed == ("a",)
    assert mixture.marginal(["y", "a", "b"]).marginal(["b", "y"]).is_close(direct)
    assert mixture.marginal(["b", "a", "y"]).names == ("b", "a", "y")
    assert mixture.marginal("y").moments().is_close(mixture.moments().marginal("y"))
    assert mixture.marginal(["b", "a", "y", "x"]).is_close(mixture)
    assert not direct.is_close(mixture)


def test_the_density_integrates_to_one(mixture):
    """Summed over a fine grid in one dimension; and it is the weighted sum of the components' densities."""
    alone = mixture.marginal(["a", "b", "x"])
    grid = np.linspace(-25, 25, 20001)
    assert alone.density({"x": grid}).sum() * (grid[1] - grid[0]) == pytest.approx(1.0, abs=1e-6)
    parts = [
        weight * alone.given({"a": a, "b": b}).density({"x": 0.3}) for (a, b), weight in alone.weights.to_dict().items()
    ]
    assert float(alone.density({"x": 0.3})) == pytest.approx(math.fsum(parts))


def test_merged_and_singular_components_have_no_density(mixture):
    """Refused with what to ask instead."""
    with pytest.raises(NotSupported, match=r"mixtures over \['a'\]"):
        mixture.marginal(["b", "x"]).density({"x": 0.0})
    certain = GaussianMixture(Factor({"a": 2}, [0.5, 0.5]), ["x"], [[0.0], [1.0]], [[[1.0]], [[0.0]]])
    refuses(NotSupported, r"singular at \{'a': 1\}", certain.density, {"x": 0.0})
    refuses(InvalidFactor, "leaves 'y' open", mixture.density, {"x": 0.0})


def test_impossible_components_are_passed_over():
    """A weight of zero hides whatever its component holds."""
    mixture = GaussianMixture(Factor({"a": 2}, [1.0, 0.0]), ["x"], [[2.0], [9.0]], [[[1.0]], [[0.0]]])
    assert float(mixture.density({"x": 2.0})) == pytest.approx(1 / math.sqrt(2 * math.pi))
    assert mixture.moments().variances == {"x": 1.0}


def test_parts_that_do_not_fit_are_refused():
    """Shapes, sums, names and matrices are checked."""
    fair = Factor({"a": 2}, [0.5, 0.5])
    ones = np.ones((2, 1, 1))
    refuses(InvalidFactor, "sum to 2", GaussianMixture, Factor({"a": 2}, [1.0, 1.0]), ["x"], np.zeros((2, 1)), ones)
    refuses(InvalidFactor, r"need shape \(2, 1\)", GaussianMixture, fair, ["x"], np.zeros(2), ones)
    refuses(InvalidFactor, "positive semi-definite", GaussianMixture, fair, ["x"], np.zeros((2, 1)), -ones)
    refuses(InvalidFactor, "both discrete and continuous", GaussianMixture, fair, ["a"], np.zeros((2, 1)), ones)
    refuses(InvalidFactor, "no finite number", GaussianMixture, fair, ["x"], np.full((2, 1), math.nan), ones)
    good = GaussianMixture(fair, ["x"], np.zeros((2, 1)), ones)
    refuses(UnknownVariable, "this mixture", good.marginal, "z")
    refuses(InvalidArgument, "state of 'a'", good.given, {})
    refuses(InvalidArgument, "is none", good.is_close, 3)


def test_a_mixture_is_a_value(mixture):
    """Equal by content, hashable, read-only, and itself after pickling."""
    again = pickle.loads(pickle.dumps(mixture))
    assert again == mixture
    assert hash(again) == hash(mixture)
    assert mixture != mixture.marginal(["b", "a", "x", "y"])
    assert not again.means.flags.writeable
    mean, variance = mixture.moments().means["x"], mixture.moments().variances["x"]
    assert repr(mixture).startswith(f"GaussianMixture(x: mean {mean:.6g}, variance {variance:.6g}; y: mean ")
    assert repr(mixture).endswith(" | a, b: 6 components)")
    assert "mean[x]" in str(mixture)
    assert mixture._repr_html_().startswith("<table>")
