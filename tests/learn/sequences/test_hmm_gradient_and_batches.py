"""Other ways to learn hidden Markov models: along the gradient, and from batches that are seen once."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import plausible as pb
from plausible.errors import InvalidArgument, NotSupported
from plausible.learn import HMMPrior, OnlineHMM, hmm
from plausible.learn.sequences.baum_welch import HMMProblem
from plausible.learn.sequences.emission_learner import EmissionRules
from plausible.learn.sequences.hmm_gradient import HMMSpace

WORDS = ["a", "b", "c"]
CHAIN = [0.6, 0.4], [[0.8, 0.2], [0.3, 0.7]]
PRIORS = [HMMPrior(), HMMPrior(1.0, 0.5, 0.3, 0.2, 0.7, 1.5)]


def emission_of(kind, rng):
    """Words beside numbers in the plane, whose covariances have a form."""
    spread = {"full": [[[2, 0.5], [0.5, 1]], np.eye(2)], "diagonal": [[1, 2], [0.5, 1]], "spherical": [1.0, 2.0]}
    spread |= {"tied": [[2, 0.5], [0.5, 1]], "mixture": np.ones((2, 2))}
    words = rng.dirichlet(np.ones(3), size=2)
    if kind == "mixture":
        numbers = pb.GaussianMixtureEmission([[0.3, 0.7], [0.5, 0.5]], rng.normal(size=(2, 2, 2)), spread[kind])
    else:
        numbers = pb.GaussianEmission(rng.normal(size=(2, 2)), spread[kind], covariance=kind)
    return {"word": words, ("x", "y"): numbers}


def drawn(kind, seed=0):
    rng = np.random.default_rng(seed)
    model = pb.HiddenMarkovModel(*CHAIN, emission_of(kind, rng), symbols={"word": WORDS})
    rows = model.sample(12, seed=seed, sequences=2).drop(columns="state")
    rows.loc[3, ["word"]] = None
    rows.loc[5, ["x"]] = np.nan
    return model, rows


@pytest.mark.parametrize("prior", PRIORS, ids=["likelihood", "posterior"])
@pytest.mark.parametrize("kind", ["full", "diagonal", "spherical", "tied", "mixture"])
def test_the_gradient_is_that_of_differences(kind, prior):
    """Fisher's identity: expected counts and moments of EM say how the objective changes with each coordinate."""
    _, rows = drawn(kind)
    start = pb.HiddenMarkovModel(*CHAIN, emission_of(kind, np.random.default_rng(5)), symbols={"word": WORDS})
    sequences = start._read(rows, "sequence", "time", "refuse")
    problem = HMMProblem.of(start, sequences, EmissionRules(prior, 1e-3))
    space = HMMSpace(start, problem.learner, problem.rules, ())
    point = space.point(start)
    np.testing.assert_allclose(
        problem.init(space.model(point)).log_likelihood, start.log_likelihood(rows, sequence="sequence", time="time")
    )
    gradient = space.gradient(problem.init(start))
    for place in range(len(point)):
        step = np.zeros(len(point))
        step[place] = 1e-5
        ends = [problem.init(space.model(point + sign * step)).value for sign in (1, -1)]
        assert gradient[place] == pytest.approx((ends[0] - ends[1]) / 2e-5, abs=2e-6)


@pytest.mark.parametrize("optimizer", ["l-bfgs", "conjugate-gradient", "steepest"])
def test_the_gradient_leads_where_em_leads(optimizer):
    """From one start, upwards at each step; the best methods end where EM does."""
    model, rows = drawn("diagonal", 1)
    names = {"sequence": "sequence", "time": "time", "prior": PRIORS[1]}
    by_em = hmm(rows, start=model, tolerance=1e-12, max_steps=3000, **names)
    fit = hmm(rows, start=model, optimizer=optimizer, tolerance=1e-11, max_steps=150, **names)
    assert np.diff(fit.trace).min() >= 0
    assert fit.trace[0] < fit.trace[-1] <= by_em.trace[-1] + 1e-5
    if optimizer != "steepest":
        assert fit.trace[-1] == pytest.approx(by_em.trace[-1], abs=1e-4)
    told = []
    part = hmm(
        rows, start=model, optimizer=optimizer, tolerance=0.0, max_steps=6,
        progress=lambda state: told.append(state) or len(told) == 2, **names,
    )  # fmt: skip
    assert (part.num_steps, part.stopped_by) == (2, "interrupted")
    assert hmm(rows, start=part, max_steps=6, tolerance=0.0).trace[:3] == part.trace


def test_zeros_and_ties_are_kept_along_the_gradient():
    """What a table rules out stays ruled out, and tied states share their rows."""
    start = pb.HiddenMarkovModel(
        [1, 0, 0], [[0.5, 0.5, 0], [0, 0.5, 0.5], [0, 0, 1]],
        np.random.default_rng(0).dirichlet(np.ones(3), size=3), symbols=WORDS,
    )  # fmt: skip
    rows = start.sample(8, seed=0, sequences=20).drop(columns="state")
    names = {"sequence": "sequence", "time": "time", "max_steps": 8}
    fit = hmm(rows, start=start, optimizer="l-bfgs", tied=[[0, 2]], **names)
    assert ((fit.model.transition == 0) == (start.transition == 0)).all()
    np.testing.assert_allclose(fit.model.emission.table[0], fit.model.emission.table[2], atol=1e-12)
    assert np.diff(fit.trace).min() >= 0
    cpd = pb.LogisticCPD("y", ["state"], [[0.0, 1.0]], -1.0, states=["no", "yes"])
    by_em = hmm(rows, start=start, tied=[[0, 2]], **names)
    assert np.diff(by_em.trace).min() >= -1e-9
    with pytest.raises(NotSupported, match="Gradients are for tables and Gaussian"):
        hmm({"y": ["no", "yes", "no"]}, start=pb.HiddenMarkovModel(*CHAIN, cpd), optimizer="l-bfgs")


@pytest.mark.parametrize("kind", ["full", "diagonal", "spherical", "tied"])
def test_batches_with_known_states_are_all_rows_at_once(kind):
    """With decay 1: counts, means and covariances in the units of the first batch, which is far from the others."""
    model, _ = drawn(kind)
    rows = [model.sample(40, seed=seed) for seed in range(4)]
    for number, batch in enumerate(rows):
        batch[["x", "y"]] = batch[["x", "y"]] * (1 + 3 * number) + 100 * number
    online = OnlineHMM(model, decay=1.0, variance_floor=1e-12)
    for batch in rows:
        online = online.partial_fit(batch)
    together = pd.concat([batch.assign(sequence=number) for number, batch in enumerate(rows)])
    fit = hmm(together, start=model, sequence="sequence", prior=online.prior)
    np.testing.assert_allclose(online.model.transition, fit.model.transition, atol=1e-12)
    for mine, other in zip(online.model.emission.parts, fit.model.emission.parts, strict=True):
        if isinstance(mine, pb.GaussianEmission):
            np.testing.assert_allclose(mine.means, other.means, rtol=1e-9)
            np.testing.assert_allclose(mine.covariances, other.covariances, rtol=1e-7, atol=1e-7)
        else:
            np.testing.assert_allclose(mine.table, other.table, atol=1e-12)
    assert len(online.batch_log_likelihoods) == 4


def test_hidden_states_are_found_from_batches():
    """Stepwise EM comes near the truth, and its test of itself rises; a value stays as it was."""
    truth = pb.HiddenMarkovModel([0.5, 0.5], [[0.95, 0.05], [0.1, 0.9]], pb.GaussianEmission([0.0, 4.0], [1.0, 2.0]))
    start = pb.HiddenMarkovModel([0.5, 0.5], [[0.5, 0.5], [0.5, 0.5]], pb.GaussianEmission([1.0, 2.0], [4.0, 4.0]))
    first = online = OnlineHMM(start)
    for seed in range(60):
        online = online.partial_fit(truth.sample(100, seed=seed)["observation"].tolist())
    np.testing.assert_allclose(online.model.emission.means.ravel(), [0, 4], atol=0.2)
    np.testing.assert_allclose(online.model.transition, truth.transition, atol=0.05)
    assert np.mean(online.batch_log_likelihoods[-10:]) > np.mean(online.batch_log_likelihoods[:3])
    assert first.model == start
    assert first.partial_fit([]) is first


def test_wrong_options_of_batches_are_named():
    """The decay, what to start from, emissions that need all rows."""
    start = pb.HiddenMarkovModel(*CHAIN, [[0.5, 0.5], [0.1, 0.9]])
    with pytest.raises(InvalidArgument, match="decay="):
        OnlineHMM(start, decay=0.4)
    with pytest.raises(InvalidArgument, match=r"learn\.hmm"):
        OnlineHMM("model")
    cpd = pb.LogisticCPD("y", ["state"], [[0.0, 1.0]], -1.0, states=["no", "yes"])
    with pytest.raises(NotSupported, match="all rows at once"):
        OnlineHMM(pb.HiddenMarkovModel(*CHAIN, cpd))
