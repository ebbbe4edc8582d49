"""Contrastive divergence against enumeration: its gradient tends to that of the likelihood."""

import itertools

import numpy as np
import pandas as pd
import pytest

import plausible as pb
from plausible.learn.undirected.learning import read_sample

PAIRS = ("AB", "BC", "CD", "DA")
FEATURES = [pb.Feature(list(pair), lambda a, b: a == b, name=pair) for pair in PAIRS]
FEATURES.append(pb.Feature(["A", "C"], lambda a, c: a * c, name="AC"))
STATES = np.array(list(itertools.product(range(2), range(2), range(3), range(2))))
TABLE = np.array([[a == b, b == c, c == d, d == a, a * c] for a, b, c, d in STATES], float)
VARIABLES = [pb.Variable(name, size) for name, size in zip("ABCD", (2, 2, 3, 2), strict=True)]


def rows(number, weights, seed=0):
    """Rows of the model with these weights."""
    logs = TABLE @ weights
    shares = np.exp(logs - np.logaddexp.reduce(logs))
    drawn = np.random.default_rng(seed).choice(len(STATES), number, p=shares)
    return pd.DataFrame(STATES[drawn], columns=list("ABCD"))


def gradient(frame, weights):
    """Σ f over rows less M E[f], by listing all states."""
    shares = np.exp(TABLE @ weights)
    places = [STATES.tolist().index(row) for row in frame.to_numpy().tolist()]
    return TABLE[places].sum(axis=0) - len(frame) * (shares / shares.sum()) @ TABLE


def estimate(frame, weights, **options):
    """The gradient of contrastive divergence."""
    sample = read_sample(FEATURES, frame, VARIABLES, None, None)
    return pb.learn.ContrastiveDivergence(seed=1, **options).on(sample).at(weights)[1]


def test_more_sweeps_tend_to_the_gradient_of_the_likelihood():
    """The bias of CD-k shrinks with k; at 50 sweeps what is left is the error of the draws."""
    frame = rows(20_000, np.array([0.8, -0.5, 0.3, 0.6, 0.4]))
    weights = np.array([0.2, 0.1, -0.3, 0.4, 0.9])
    exact = gradient(frame, weights)
    errors = [np.abs(estimate(frame, weights, steps=steps) - exact).max() / len(frame) for steps in (1, 4, 50)]
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 5 / np.sqrt(len(frame))
    fewer = estimate(frame, weights, steps=50, chains=10_000)
    assert np.abs(fewer - exact).max() / len(frame) < 5 / np.sqrt(10_000)


@pytest.mark.parametrize("persistent", [False, True])
def test_weights_are_near_those_of_the_largest_likelihood(persistent):
    """Both ways, and the same seed gives the same weights; no objective is claimed, the pseudolikelihood is traced."""
    frame = rows(1500, np.array([0.8, -0.5, 0.3, 0.6, 0.4]))
    method = pb.learn.ContrastiveDivergence(steps=3, persistent=persistent, seed=3)
    fit, again = (pb.learn.markov(FEATURES, frame, objective=method, variables=VARIABLES, max_steps=150) for _ in "ab")
    best = pb.learn.markov(FEATURES, frame, variables=VARIABLES)
    assert fit.weights == again.weights
    assert list(fit.weights.values()) == pytest.approx(list(best.weights.values()), abs=0.1)
    assert fit.log_likelihood == pytest.approx(best.log_likelihood, abs=5)
    assert (np.isnan(fit.objective), fit.kind, fit.stopped_by) == (True, "approximation", "step limit")
    other = pb.learn.markov(FEATURES, frame, variables=VARIABLES, objective="pseudolikelihood")
    assert fit.trace[0] < fit.trace[-1] < other.objective


def test_a_laplace_prior_makes_weights_zero():
    """Steps shrink weights, so that those the data hardly ask for vanish in each of them."""
    frame = rows(2000, np.array([1.0, 0.0, 0.0, 0.0, 0.0]))
    method = pb.learn.ContrastiveDivergence(steps=2, seed=0)
    options = {"variables": VARIABLES, "prior": pb.LaplacePrior(0.005)}
    fit = pb.learn.markov(FEATURES, frame, objective=method, max_steps=100, **options)
    exact = pb.learn.markov(FEATURES, frame, **options)
    assert [name for name, value in exact.weights.items() if value] == ["AB"]
    assert list(fit.weights.values()) == pytest.approx(list(exact.weights.values()), abs=0.05)
    assert fit.run.state.weights[1:3].tolist() == [0.0, 0.0]


def test_fields_learn_from_a_chain_for_each_row():
    """A conditional field comes near the weights of its likelihood."""
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({"x": rng.normal(size=3000).round(1)})
    for name in ("Y1", "Y2"):
        frame[name] = (rng.random(3000) < 1 / (1 + np.exp(-frame["x"]))).astype(int)
    features = [
        pb.Feature(["Y1", "Y2"], lambda a, b: a == b, name="same"),
        pb.Feature([["Y1", "x"], ["Y2", "x"]], lambda y, x: y * x, name="push"),
    ]
    method = pb.learn.ContrastiveDivergence(steps=2, seed=0)
    fit = pb.learn.crf(features, frame, ["Y1", "Y2"], objective=method, max_steps=150)
    best = pb.learn.crf(features, frame, ["Y1", "Y2"])
    assert list(fit.weights.values()) == pytest.approx(list(best.weights.values()), abs=0.1)


def test_what_contrastive_divergence_refuses():
    """Missing cells, optimisers, and no chains."""
    frame = pd.DataFrame({"A": [0, 1, None], "B": [0, 1, 1]})
    same = [pb.Feature(["A", "B"], lambda a, b: a == b, name="same")]
    with pytest.raises(pb.errors.NotSupported, match="missing"):
        pb.learn.markov(same, frame, objective="contrastive-divergence")
    with pytest.raises(pb.errors.NotSupported, match="optimizer"):
        pb.learn.markov(same, frame.dropna(), objective="contrastive-divergence", optimizer="newton")
    with pytest.raises(pb.errors.InvalidArgument, match="chains"):
        pb.learn.ContrastiveDivergence(chains=0)
