"""Conditional likelihood: on a naive Bayes graph it is logistic regression."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import likelihood_oracle as oracle
from network_oracle import random_network
from plausible.cpds import TableCPD
from plausible.errors import InvalidArgument, UnknownVariable
from plausible.learn.estimation.priors import Dirichlet
from plausible.learn.gradients.learner import GradientOptions, learn_by_gradient, learn_conditional
from plausible.learn.gradients.space import Objective, ObservedLikelihood, ParameterSpace
from plausible.models import BayesianNetwork


def naive_bayes(num_classes=2, sizes=(2, 3, 2)):
    rng = np.random.default_rng(0)
    features = [TableCPD(f"X{i}", rng.dirichlet(np.ones(size) * 5, num_classes), ["Y"]) for i, size in enumerate(sizes)]
    return BayesianNetwork(TableCPD("Y", np.full(num_classes, 1 / num_classes)), *features)


def correlated_rows(rng, num_rows=400):
    """Features that are not independent given the class, so that naive Bayes is the wrong generative model."""
    y = rng.integers(2, size=num_rows)
    x0 = (rng.random(num_rows) < 0.3 + 0.4 * y).astype(int)
    x1 = np.clip(x0 + rng.integers(0, 2, size=num_rows), 0, 2)
    x2 = np.where(rng.random(num_rows) < 0.8, x0, y)
    return {"Y": y.tolist(), "X0": x0.tolist(), "X1": x1.tolist(), "X2": x2.tolist()}


def test_naive_bayes_trained_for_prediction_is_logistic_regression():
    """The class posteriors equal those of scikit-learn's unpenalised logistic regression on indicators."""
    linear_model = pytest.importorskip("sklearn.linear_model")
    rows = correlated_rows(np.random.default_rng(1))
    fit = learn_conditional(naive_bayes(), rows, "Y", options=GradientOptions(tolerance=1e-7))
    design = np.column_stack([rows["X0"], np.equal(rows["X1"], 1), np.equal(rows["X1"], 2), rows["X2"]]).astype(float)
    other = linear_model.LogisticRegression(C=np.inf, tol=1e-10, max_iter=5000).fit(design, rows["Y"])
    features = {name: column for name, column in rows.items() if name != "Y"}
    ours = fit.network.compile().predict_proba(features, "Y").to_numpy()
    np.testing.assert_allclose(ours, other.predict_proba(design), atol=1e-4)
    chances = other.predict_proba(design)[np.arange(len(design)), rows["Y"]]
    assert fit.log_likelihood == pytest.approx(np.log(chances).sum(), abs=1e-4)
    generative = learn_by_gradient(naive_bayes(), rows)
    assert fit.log_likelihood > conditional_likelihood(generative.network, rows) + 1


def conditional_likelihood(network, rows):
    """Σ log P(y | x) by the whole joint table."""
    codes = np.array([rows[name] for name in network.variables]).T
    hidden = codes.copy()
    hidden[:, list(network.variables).index("Y")] = -1
    tables, ones = oracle.own_tables(network), np.ones(len(codes))
    whole = oracle.log_likelihood(network, tables, codes, ones)
    return whole - oracle.log_likelihood(network, tables, hidden, ones)


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 2**32))
def test_gradient_of_the_conditional_likelihood_is_its_derivative(seed):
    """Any network, several targets, cells missing on both sides: differences of the enumerated likelihoods."""
    rng = np.random.default_rng(seed)
    network = random_network(rng, num_variables=4, zeros=0.0)
    names = list(network.variables)
    rows, targets = oracle.random_rows_of(network, rng, 5, missing=0.3), names[:2]
    hidden = rows.copy()
    hidden[:, :2] = -1
    space = ParameterSpace.of(network)
    whole = ObservedLikelihood.of(network, oracle.frame_of(network, rows))
    objective = Objective(space, ((1.0, whole), (-1.0, whole.hiding(targets))), {})

    def value(point):
        other = space.network_at(point)
        tables, ones = oracle.own_tables(other), np.ones(len(rows))
        return oracle.log_likelihood(other, tables, rows, ones) - oracle.log_likelihood(other, tables, hidden, ones)

    point = space.start
    found, gradient = objective.at(point)
    assert found == pytest.approx(value(point), abs=1e-10)
    for place in range(len(point)):
        unit = np.eye(len(point))[place]
        assert gradient[place] == pytest.approx(oracle.slope(lambda h, u=unit: value(point + h * u), 1e-3), abs=1e-7)


def test_separable_classes_end_by_a_prior():
    """Without one the maximum lies at infinity; with one it is inside."""
    rows = {"Y": [0, 0, 1, 1], "X0": [0, 0, 1, 1]}
    network = naive_bayes(sizes=(2,))
    fit = learn_conditional(network, rows, "Y", Dirichlet(2.0))
    assert fit.converged
    assert 0.01 < fit.network.cpd("X0").values.min() < 0.5


def test_targets_must_be_there():
    """By name, at least one."""
    with pytest.raises(UnknownVariable, match="'Z'"):
        learn_conditional(naive_bayes(), {"Y": [0]}, "Z")
    with pytest.raises(InvalidArgument, match="nothing"):
        learn_conditional(naive_bayes(), {"Y": [0]}, [])
