"""Draws of weights: their posterior against integrals over grids and enumeration of the joint."""

import itertools
import math
import pickle

import numpy as np
import pandas as pd
import pytest

import plausible as pb
from plausible.search.chains import ChainLengths

LOG_PRIORS = {
    pb.GaussianPrior(1.0): lambda w: -0.5 * w**2,
    pb.LaplacePrior(0.5): lambda w: -2 * np.abs(w),
    pb.HyperbolicPrior(): lambda w: -np.log(np.cosh(w)),
}
#: Chains that are longer than the usual ones.
LONG = ChainLengths(num_draws=600, num_chains=2, burn_in=200, thin=2)


def agreements(letters="ABC"):
    """Few rows of a chain of binary variables; each neighbour agrees or not."""
    rows = np.random.default_rng(0).integers(0, 2, (8, len(letters)))
    return pd.DataFrame(rows, columns=list(letters))


def posterior_on_a_grid(frame, pairs, log_prior):
    """One weight for all agreeing pairs: grid, masses, and the joint for each weight, by enumeration."""
    grid = np.linspace(-6.0, 6.0, 2401)
    cells = np.array(list(itertools.product((0, 1), repeat=frame.shape[1])))
    places = [(frame.columns.get_loc(a), frame.columns.get_loc(b)) for a, b in pairs]
    agree = sum((cells[:, a] == cells[:, b]).astype(float) for a, b in places)
    seen = sum(float((frame[a] == frame[b]).sum()) for a, b in pairs)
    joints = np.exp(grid[:, None] * agree)
    logs = grid * seen - len(frame) * np.log(joints.sum(axis=1)) + log_prior(grid)
    masses = np.exp(logs - logs.max())
    return grid, masses / masses.sum(), joints / joints.sum(axis=1, keepdims=True), cells


@pytest.mark.parametrize("prior", LOG_PRIORS, ids=repr)
def test_draws_have_the_moments_and_quantiles_of_the_posterior(prior):
    """Mean, standard deviation and interval of a shared weight on a cycle, by a grid; priors with kinks too."""
    frame, pairs = agreements(), ["AB", "BC", "CA"]
    agree = pb.Feature([list(pair) for pair in pairs], lambda a, b: float(a == b), name="agree")
    draws = pb.learn.sample_weights(pb.learn.markov([agree], frame, prior=prior), lengths=LONG, seed=1)
    grid, masses, _, _ = posterior_on_a_grid(frame, pairs, LOG_PRIORS[prior])
    mean = float(masses @ grid)
    spread = math.sqrt(float(masses @ (grid - mean) ** 2))
    noise = 4 * spread / math.sqrt(draws.diagnostics.bulk_size)
    assert draws.mean["agree"] == pytest.approx(mean, abs=noise)
    assert draws.standard_deviation["agree"] == pytest.approx(spread, abs=noise)
    wanted = np.interp([0.05, 0.95], masses.cumsum(), grid)
    assert draws.interval(0.9)["agree"] == pytest.approx(wanted, abs=2 * noise)
    assert draws.r_hats["agree"] < 1.02
    assert draws.diagnostics.advice == ""
    assert draws.kind == "exact"


def test_answers_are_averaged_over_the_posterior():
    """P(C | A) in the next row: the integral of P(A, C | w) over that of P(A | w), by enumeration on a grid."""
    frame, pairs = agreements(), ["AB", "BC"]
    agree = pb.Feature([list(pair) for pair in pairs], lambda a, b: float(a == b), name="agree")
    draws = pb.learn.sample_weights(pb.learn.markov([agree], frame, prior=pb.GaussianPrior(1.0)), lengths=LONG)
    _, masses, joints, cells = posterior_on_a_grid(frame, pairs, LOG_PRIORS[pb.GaussianPrior(1.0)])
    predictive = masses @ joints
    wanted = [predictive[(cells[:, 0] == 1) & (cells[:, 2] == c)].sum() for c in (0, 1)]
    answer = draws.query("C", {"A": 1}, max_draws=600).values
    assert answer == pytest.approx(np.array(wanted) / sum(wanted), abs=0.01)
    assert draws.query(["A", "C"]).values.sum() == pytest.approx(1.0)


def test_many_weights_have_the_covariance_of_a_gaussian_where_rows_are_many():
    """With 5,000 rows the posterior is as Laplace has it: best weights, and the inverse information."""
    frame = pb.examples.load("asia").sample(5000, seed=0)[["smoke", "bronc", "dysp"]]
    scopes = [["smoke"], ["bronc"], ["smoke", "bronc"], ["bronc", "dysp"]]
    fit = pb.learn.markov(scopes, frame, prior=pb.GaussianPrior(0.5), tolerance=1e-9)
    draws = pb.learn.sample_weights(fit, lengths=LONG, seed=2)
    flat = draws.weights.reshape(-1, len(fit.weights))
    errors = np.sqrt(np.diag(fit.covariance()))
    assert (np.abs(flat.mean(axis=0) - list(fit.weights.values())) < 0.1 * errors).all()
    assert np.cov(flat.T) / np.outer(errors, errors) == pytest.approx(
        fit.covariance() / np.outer(errors, errors), abs=0.12
    )
    assert 0.4 < draws.acceptance < 0.75


def test_belief_propagation_draws_the_same_on_trees():
    """Bethe's log Z is exact there: the same chains as by a clique tree; on a cycle they say what they are."""
    agree = pb.Feature([["A", "B"], ["B", "C"]], lambda a, b: float(a == b), name="agree")
    cycle = pb.Feature([["A", "B"], ["B", "C"], ["C", "A"]], lambda a, b: float(a == b), name="agree")
    engine, short = pb.inference.LoopyBP(tolerance=1e-12), ChainLengths(num_draws=50, burn_in=20, thin=1)
    exact, bethe, around = (
        pb.learn.sample_weights(
            pb.learn.markov([feature], agreements(), prior=pb.GaussianPrior(1.0), engine=one), lengths=short
        )
        for feature, one in ((agree, None), (agree, engine), (cycle, engine))
    )
    assert bethe.weights == pytest.approx(exact.weights, abs=1e-6)
    assert around.kind == "approximation"


def test_weights_of_fields_are_drawn_too():
    """A logistic regression of one input with a Gaussian prior: the posterior by a grid."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=30)
    frame = pd.DataFrame({"y": (rng.random(30) < 1 / (1 + np.exp(-x))).astype(int), "x": x})
    push = pb.Feature(["y", "x"], lambda y, x: y * x, name="push")
    fit = pb.learn.crf([push], frame, targets=["y"], prior=pb.GaussianPrior(2.0))
    draws = pb.learn.sample_weights(fit, lengths=LONG)
    grid = np.linspace(-5, 6, 4001)
    logs = (frame["y"].to_numpy() * x) @ np.ones(30) * grid - np.logaddexp(0, np.outer(x, grid)).sum(axis=0)
    masses = np.exp(logs - grid**2 / 4 - (logs - grid**2 / 4).max())
    mean = float(masses @ grid / masses.sum())
    assert draws.mean["push"] == pytest.approx(mean, abs=0.03)
    with pytest.raises(pb.errors.NotSupported, match="a network for each row"):
        draws.query("y")


def test_chains_go_on_are_kept_and_stop_when_told():
    """The states of a run go on as one longer run would; results are pickled; time and progress end them."""
    agree = pb.Feature([["A", "B"], ["B", "C"]], lambda a, b: float(a == b), name="agree")
    fit = pb.learn.markov([agree], agreements(), prior=pb.GaussianPrior(1.0))
    lengths = ChainLengths(num_draws=20, num_chains=2, burn_in=10, thin=1)
    first = pb.learn.sample_weights(fit, lengths=lengths)
    more = pb.learn.sample_weights(fit, lengths=lengths, start=first.states)
    whole = pb.learn.sample_weights(fit, lengths=ChainLengths(num_draws=40, num_chains=2, burn_in=10, thin=1))
    assert np.array_equal(np.concatenate([first.weights, more.weights], axis=1), whole.weights)
    assert np.array_equal(pickle.loads(pickle.dumps(first)).weights, first.weights)
    assert list(first.to_frame()["weight"]) == ["agree"]
    assert "2 chains of 20 draws of 1 weight" in repr(first)
    cut = pb.learn.sample_weights(fit, progress=lambda told: told.num_steps >= 5)
    assert cut.stopped_by == "interrupted"
    assert cut.num_steps == 5
    assert pb.learn.sample_weights(fit, time_limit=0.0).stopped_by == "time limit"


def test_what_has_no_posterior_is_refused():
    """Weights without a prior, margins, states of other chains."""
    frame = agreements()
    with pytest.raises(pb.errors.NotSupported, match=r"has no prior.*GaussianPrior"):
        pb.learn.sample_weights(pb.learn.markov([["A", "B"]], frame))
    with pytest.raises(pb.errors.NotSupported, match="margin"):
        pb.learn.sample_weights(pb.learn.markov([["A", "B"]], frame, objective="margin", prior=pb.GaussianPrior(1.0)))
    wide, narrow = (pb.learn.markov([scope], frame, prior=pb.GaussianPrior(1.0)) for scope in (["A", "B"], ["A"]))
    states = pb.learn.sample_weights(narrow, lengths=ChainLengths(num_draws=4, burn_in=0, thin=1)).states
    with pytest.raises(pb.errors.InvalidArgument, match="other weights"):
        pb.learn.sample_weights(wide, start=states)
