"""Pseudo-data as a prior, and how strong priors are chosen by rows held out."""

import itertools

import numpy as np
import pandas as pd
import pytest

import plausible as pb

SAME = [pb.Feature(list(pair), lambda a, b: a == b, name=pair) for pair in ("AB", "BC", "CA")]
VARIABLES = [pb.Variable(name, 2) for name in "ABC"]
STATES = np.array(list(itertools.product((0, 1), repeat=3)))
TABLE = np.array([[a == b, b == c, c == a] for a, b, c in STATES], float)


def rows(number=60, seed=0):
    """Rows whose first two columns mostly agree."""
    rng = np.random.default_rng(seed)
    first = rng.integers(0, 2, number)
    return pd.DataFrame(
        {"A": first, "B": first ^ (rng.random(number) < 0.2), "C": rng.integers(0, 2, number)}, dtype=int
    )


def means_of(weights):
    """E[f] by listing all states."""
    shares = np.exp(TABLE @ weights)
    return shares / shares.sum() @ TABLE


@pytest.mark.parametrize("means", [None, {"AB": 0.7, "BC": 0.5, "CA": 0.6}])
def test_pseudo_data_blend_with_the_means_of_the_data(means):
    """The model has the means (M0 α + M E_D) / (M0 + M), by enumeration."""
    frame = rows()
    prior = pb.learn.PseudoData(20, means)
    fit = pb.learn.markov(SAME, frame, prior=prior, variables=VARIABLES, tolerance=1e-9)
    seen = TABLE[frame.to_numpy() @ [4, 2, 1]].mean(axis=0)
    alpha = np.full(3, 0.5) if means is None else np.array(list(means.values()))
    assert means_of(list(fit.weights.values())) == pytest.approx((20 * alpha + 60 * seen) / 80, abs=1e-7)


def test_pseudo_data_are_rows_where_cells_are_missing_too():
    """As many copies of all states added to the rows give the same weights."""
    frame = rows().astype(float).mask(np.random.default_rng(1).random((60, 3)) < 0.2)
    fit = pb.learn.markov(SAME, frame, prior=pb.learn.PseudoData(8), variables=VARIABLES, tolerance=1e-8)
    more = pd.concat([frame, pd.DataFrame(STATES, columns=list("ABC"), dtype=float)])
    other = pb.learn.markov(SAME, more, variables=VARIABLES, tolerance=1e-8)
    assert list(fit.weights.values()) == pytest.approx(list(other.weights.values()), abs=1e-4)


def test_what_pseudo_data_refuse():
    """Other objectives, fields, and means that are no weight's."""
    with pytest.raises(pb.errors.NotSupported, match="conjugate"):
        pb.learn.markov(SAME, rows(), prior=pb.learn.PseudoData(), objective="pseudolikelihood")
    for options in ({"objective": "pseudo-moment-matching"}, {"optimizer": "ipf"}):
        with pytest.raises(pb.errors.NotSupported, match="PseudoData"):
            pb.learn.markov([["A", "B"]], rows(), prior=pb.learn.PseudoData(), **options)
    with pytest.raises(pb.errors.InvalidArgument, match="markov"):
        pb.learn.crf(SAME, rows(), ["A", "B"], prior=pb.learn.PseudoData())
    with pytest.raises(pb.errors.InvalidArgument, match="'AX'"):
        pb.learn.markov(SAME, rows(), prior=pb.learn.PseudoData(means={"AX": 0.5}))
    with pytest.raises(pb.errors.InvalidArgument, match="no mean of 'BC'"):
        pb.learn.markov(SAME, rows(), prior=pb.learn.PseudoData(means={"AB": 0.5}))


def test_scores_are_the_log_likelihood_of_held_out_rows():
    """Each fold's, by enumeration; the folds are a partition, and the largest total wins."""
    frame, priors = rows(), [pb.GaussianPrior(v) for v in (1e-3, 1.0, 100.0)]
    chosen = pb.learn.choose_prior(SAME, frame, priors, folds=3, seed=4, tolerance=1e-8)
    again = pb.learn.choose_prior(SAME, frame, priors, folds=3, seed=4, tolerance=1e-8)
    assert chosen.scores.equals(again.scores)
    order = np.random.default_rng(4).permutation(60)
    for prior, row in zip(priors, chosen.scores.to_numpy(), strict=True):
        for part, score in zip(np.array_split(order, 3), row[2:], strict=True):
            fit = pb.learn.markov(SAME, frame.drop(index=part), prior=prior, variables=VARIABLES, tolerance=1e-8)
            logs = TABLE @ list(fit.weights.values())
            logs = logs - np.logaddexp.reduce(logs)
            assert score == pytest.approx(logs[frame.iloc[part].to_numpy() @ [4, 2, 1]].sum(), abs=1e-5)
    assert chosen.prior == priors[int(np.argmax(chosen.scores["total"]))]
    assert chosen.fit.objective == pytest.approx(pb.learn.markov(SAME, frame, prior=chosen.prior).objective, abs=1e-3)


def test_folds_that_are_ruled_out_have_no_chance():
    """Without a prior a combination that was not seen has probability zero."""
    frame = pd.DataFrame({"A": [0, 0, 0, 0, 1], "B": [0, 0, 0, 0, 0]})
    chosen = pb.learn.choose_prior([["A"]], frame, [None, pb.GaussianPrior(1.0)], folds=5, seed=0)
    assert chosen.scores["total"].iloc[0] == -np.inf
    assert chosen.prior == pb.GaussianPrior(1.0)
