"""The gradient of linear Gaussian networks, against differences of normal densities."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import multivariate_normal

import likelihood_oracle as oracle
from plausible.cpds import LinearGaussianCPD, TableCPD
from plausible.data.table import Table
from plausible.errors import NotSupported
from plausible.learn.gradients.gradient import gaussian_likelihood_gradient
from plausible.models import BayesianNetwork


def density(parameters, parents, rows, weights):
    """Σ w log p(row): means and covariances grown one variable after the other, missing cells left out."""
    size = len(parents)
    mean, covariance = np.zeros(size), np.zeros((size, size))
    for child in range(size):
        intercept, *coefficients, variance = parameters[child]
        mean[child] = intercept + sum(c * mean[p] for c, p in zip(coefficients, parents[child], strict=True))
        for other in range(child):
            pairs = zip(coefficients, parents[child], strict=True)
            covariance[child, other] = covariance[other, child] = sum(c * covariance[p, other] for c, p in pairs)
        pairs = zip(coefficients, parents[child], strict=True)
        covariance[child, child] = variance + sum(c * covariance[p, child] for c, p in pairs)
    total = 0.0
    for row, weight in zip(rows, weights, strict=True):
        seen = ~np.isnan(row)
        if seen.any():
            total += weight * multivariate_normal(mean[seen], covariance[np.ix_(seen, seen)]).logpdf(row[seen])
    return total


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 2**32))
def test_gradient_is_the_derivative_of_the_normal_density_of_what_was_seen(seed):
    """Intercepts, coefficients and variances; weights; rows with nothing seen."""
    rng = np.random.default_rng(seed)
    size = int(rng.integers(1, 5))
    parents = [[p for p in range(child) if rng.random() < 0.6] for child in range(size)]
    parameters = [[*rng.normal(size=1 + len(found)), rng.gamma(3.0) + 0.2] for found in parents]
    rows = np.where(rng.random((5, size)) < 0.4, np.nan, rng.normal(size=(5, size)) * 2)
    weights = rng.gamma(1.0, size=5)
    network = BayesianNetwork(
        LinearGaussianCPD(f"X{i}", own[0], own[1:-1], own[-1], [f"X{p}" for p in found])
        for i, (own, found) in enumerate(zip(parameters, parents, strict=True))
    )
    frame = {f"X{i}": rows[:, i].tolist() for i in range(size)}
    gradient = gaussian_likelihood_gradient(network, frame, weights)
    assert gradient.log_likelihood == pytest.approx(density(parameters, parents, rows, weights), abs=1e-8)
    for child in range(size):
        listed = list(gradient.parameters[f"X{child}"].values())
        for place, found in enumerate(listed):

            def along(step, child=child, place=place):
                moved = [list(own) for own in parameters]
                moved[child][place] += step
                return density(moved, parents, rows, weights)

            assert found == pytest.approx(oracle.slope(along, 1e-3), rel=1e-5, abs=1e-6)


def test_the_estimate_of_complete_rows_is_stationary_and_tables_are_read():
    """At mean and variance of the data both derivatives vanish; no rows have none."""
    numbers = np.array([1.0, 2.0, 4.5, 0.5])
    best = BayesianNetwork(LinearGaussianCPD("X", float(numbers.mean()), (), float(numbers.var())))
    table = Table.read({"X": numbers, "n": [1.0, 1, 1, 1]}, best.variables, weights="n")
    assert gaussian_likelihood_gradient(best, table).parameters["X"] == pytest.approx(
        {"(intercept)": 0.0, "(variance)": 0.0}, abs=1e-12
    )
    assert gaussian_likelihood_gradient(best, {"X": []}).log_likelihood == 0.0


def test_tables_are_refused_with_the_door_that_takes_them():
    """And the other way round."""
    with pytest.raises(NotSupported, match="log_likelihood_gradient"):
        gaussian_likelihood_gradient(BayesianNetwork(TableCPD("A", [0.5, 0.5])), {"A": [0]})
