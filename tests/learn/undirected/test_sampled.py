"""The likelihood with log Z told by draws, against enumeration."""

import itertools

import numpy as np
import pandas as pd
import pytest

import plausible as pb
from plausible.learn.undirected.learning import read_sample
from plausible.learn.undirected.sampled import SampledPartition

NAMES = "ABC"
FEATURES = [
    pb.Feature(["A", "B"], lambda a, b: a == b, name="AB"),
    pb.Feature(["B", "C"], lambda b, c: b * c, name="BC"),
]
STATES = np.array(list(itertools.product(range(2), repeat=3)))
TABLE = np.array([[a == b, b * c] for a, b, c in STATES], float)


def rows(number=500, weights=(1.0, -0.7)):
    """Rows of the model."""
    shares = np.exp(TABLE @ weights)
    drawn = np.random.default_rng(0).choice(8, number, p=shares / shares.sum())
    return pd.DataFrame(STATES[drawn], columns=list(NAMES))


def test_value_and_gradient_are_those_of_the_formula():
    """log mean exp((θ - θ0)·f) + log Z(θ0), and means by self-normalised weights; concave, exact at θ0."""
    sample = read_sample(FEATURES, rows(), (), None, None)
    design, first, other = sample.design, np.array([0.3, 0.2]), np.array([0.9, -0.4])
    draws = STATES[np.random.default_rng(1).integers(8, size=50)]
    part = SampledPartition(design.positions(draws), design.logs(first), 1.25)
    features = np.array([TABLE[STATES.tolist().index(draw)] for draw in draws.tolist()])
    gains = features @ (other - first)
    value, entries = part.at(design.logs(other))
    shares = np.exp(gains) / np.exp(gains).sum()
    assert value == pytest.approx(np.log(np.exp(gains).mean()) + 1.25, rel=1e-12)
    assert design.expected(entries) == pytest.approx(shares @ features, rel=1e-12)
    assert part.worth(design.logs(other)) == pytest.approx(1 / (50 * (shares**2).sum()), rel=1e-12)
    middle = part.at(design.logs((first + other) / 2))[0]
    assert middle <= (value + part.at(design.logs(first))[0]) / 2


@pytest.mark.parametrize("sweeps", [None, 20])
def test_the_loop_comes_to_the_largest_likelihood_within_the_error_of_draws(sweeps):
    """By independent draws and by chains; the same seed gives the same weights."""
    frame = rows()
    method = pb.learn.SampledLikelihood(4000, sweeps=sweeps, seed=2)
    fit, again = (pb.learn.markov(FEATURES, frame, objective=method) for _ in "ab")
    best = pb.learn.markov(FEATURES, frame)
    assert fit.converged
    assert fit.weights == again.weights
    assert list(fit.weights.values()) == pytest.approx(list(best.weights.values()), abs=0.15)
    assert np.isnan(fit.objective) == (sweeps is not None)
    if sweeps is None:
        assert fit.objective == pytest.approx(best.log_likelihood, abs=2)


def test_means_outside_of_the_draws_have_no_maximum():
    """With one round that is told; a prior, or further rounds, find weights."""
    frame = rows(500, (6.0, -0.7))
    few = pb.learn.SampledLikelihood(2, rounds=1, seed=0)
    with pytest.raises(pb.errors.InvalidArgument, match="no mixture"):
        pb.learn.markov(FEATURES, frame, objective=few)
    assert pb.learn.markov(FEATURES, frame, objective=few, prior=pb.GaussianPrior(1.0)).converged
    loop = pb.learn.markov(FEATURES, frame, objective=pb.learn.SampledLikelihood(3000, rounds=40, seed=0))
    best = pb.learn.markov(FEATURES, frame)
    assert loop.log_likelihood == pytest.approx(best.log_likelihood, abs=5)


def test_fields_are_refused():
    """Each of their rows has a log Z of its own."""
    with pytest.raises(pb.errors.NotSupported, match="markov"):
        pb.learn.crf(FEATURES, rows(), ["A", "B"], objective=pb.learn.SampledLikelihood())


def test_draws_that_say_nothing_of_a_direction_lead_nowhere_in_it():
    """A weight whose feature is rare in the data and in few draws moves by a few nats a round, and comes back."""
    rng = np.random.default_rng(1)
    a = rng.integers(2, size=300)
    c = np.where(rng.random(300) < 0.01, 1 - a, a)
    frame = {"a": a, "c": c}
    fit = pb.learn.markov([["a", "c"]], frame, objective=pb.learn.SampledLikelihood(50, seed=0))
    assert max(map(abs, fit.weights.values())) < 20
    assert np.isfinite(fit.objective)
