"""Markov chains of any order, n-grams, and classes of sequences."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import numpy as np
import pytest

import plausible as pb
from plausible.errors import InvalidArgument, NotSupported
from plausible.learn import NGramCounts, SequenceClassifier, markov_chain, ngram_counts


def text(rng, length, letters="abc"):
    return [str(letter) for letter in rng.choice(list(letters), size=length)]


@pytest.mark.parametrize("order", [0, 1, 2, 3])
@pytest.mark.parametrize("prior", [0.0, 1.0])
def test_chains_are_ratios_of_counts(order, prior):
    """(α + #hx) / (Σ α + #h), and the likelihood is the product of these along each sequence."""
    rng = np.random.default_rng(order)
    sequences = [text(rng, 60), text(rng, 40), ["a"]]
    fit = markov_chain(sequences, order, prior=prior)
    windows = Counter(tuple(each[t - order : t + 1]) for each in sequences for t in range(order, len(each)))
    for history in itertools.product("abc", repeat=order):
        counts = np.array([windows[(*history, letter)] + prior for letter in "abc"])
        if counts.sum():
            row = fit.transition[tuple("abc".index(letter) for letter in history)]
            np.testing.assert_allclose(row, counts / counts.sum(), atol=1e-12)
    total = 0.0
    for each in sequences:
        for t, letter in enumerate(each):
            table = fit.starts[t] if t < order else fit.transition
            history = each[max(0, t - order) : t]
            total += math.log(table[tuple("abc".index(x) for x in (*history, letter))])
    assert fit.log_likelihood(sequences) == pytest.approx(total)
    assert fit.log_likelihoods(sequences).sum() == pytest.approx(total)


def test_interpolation_mixes_shorter_contexts():
    """(#hx + s P(x | shorter)) / (#h + s), from the symbols alone upwards; what was never seen is the shorter one."""
    rows = [list("aabab")]
    fit = markov_chain(rows, 1, backoff=2.0)
    single = np.array([3, 2]) / 5
    np.testing.assert_allclose(fit.transition[0], (np.array([1, 2]) + 2 * single) / 5)
    np.testing.assert_allclose(fit.transition[1], (np.array([1, 0]) + 2 * single) / 3)
    unseen = markov_chain(rows, 2)
    np.testing.assert_allclose(unseen.transition[1, 1], markov_chain(rows, 1).transition[1])


@pytest.mark.parametrize("order", [1, 2])
def test_a_chain_over_contexts_says_the_same(order):
    """The chain of order one over tuples has the same likelihood of what comes after the first symbols."""
    rng = np.random.default_rng(0)
    each = text(rng, 50)
    fit = markov_chain([text(rng, 80) for _ in range(4)], order, prior=0.5)
    chain = fit.to_chain()
    path = each if order == 1 else list(itertools.pairwise(each))
    assert chain.log_likelihood(path) == pytest.approx(fit.log_likelihood([each]))


def test_simulated_chains_have_the_chain_as_their_estimate():
    """What 20,000 symbols of a chain of order two teach is that chain."""
    fit = markov_chain([text(np.random.default_rng(1), 200, "ab")], 2)
    again = markov_chain(fit.simulate(20_000, seed=0), 2)
    np.testing.assert_allclose(again.transition, fit.transition, atol=0.03)


def test_chains_of_gaps_and_numbers_are_refused():
    """Missing symbols are named by place, numbers are no symbols."""
    with pytest.raises(InvalidArgument, match="missing at row 1"):
        markov_chain(["a", None, "b"])
    with pytest.raises(NotSupported, match="numbers"):
        markov_chain([0.5, 1.5, 2.25])


@pytest.mark.parametrize("seed", range(6))
def test_pruned_counts_are_the_frequent_ones_of_all(seed):
    """Every run that occurs often enough, with how often, and no other."""
    rng = np.random.default_rng(seed)
    sequences = [text(rng, int(rng.integers(0, 12))) for _ in range(4)]
    every = Counter(
        tuple(each[start : start + size])
        for each in sequences
        for size in (1, 2, 3, 4)
        for start in range(len(each) - size + 1)
    )
    for least in (1, 2, 3):
        assert ngram_counts(sequences, longest=4, least=least) == {run: n for run, n in every.items() if n >= least}


def test_features_are_counts_of_runs():
    """A row for each sequence."""
    features = NGramCounts(longest=2)
    X = [list("abab"), list("b")]
    counts = features.fit_transform(X)
    for row, each in zip(counts, X, strict=True):
        own = ngram_counts([each], longest=2)
        assert dict(zip(features.ngrams_, row, strict=True)) == {run: own.get(run, 0) for run in features.ngrams_}


def words_of_two_classes(num_each=25):
    slow = pb.HiddenMarkovModel([0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]], [[0.9, 0.1], [0.1, 0.9]], symbols=["x", "y"])
    fast = pb.HiddenMarkovModel([0.5, 0.5], [[0.1, 0.9], [0.9, 0.1]], [[0.9, 0.1], [0.1, 0.9]], symbols=["x", "y"])
    X, y = [], []
    for name, model in (("slow", slow), ("fast", fast)):
        for number in range(num_each):
            X.append(model.sample(20, seed=number)["observation"].tolist())
            y.append(name)
    return X, y


@pytest.mark.parametrize("kind", ["hmm", "chain"])
def test_classes_of_sequences_are_told_apart(kind):
    """Two classes that differ in time only; probabilities are Bayes' rule on the models' likelihoods."""
    X, y = words_of_two_classes()
    model = SequenceClassifier(kind=kind, restarts=1).fit(X[::2], y[::2])
    assert model.score(X[1::2], y[1::2]) > 0.9
    told = model.predict_proba(X[:3])
    logs = np.array([[one.log_likelihood([x]) for one in model.models_] for x in X[:3]]) + np.log(model.class_prior_)
    np.testing.assert_allclose(told, np.exp(logs - np.logaddexp.reduce(logs, axis=1, keepdims=True)), atol=1e-10)
    assert model.classes_.tolist() == ["fast", "slow"]


def test_classes_of_numbers():
    """Matrices of numbers as sequences."""
    rng = np.random.default_rng(0)
    X = [rng.normal(loc=level, size=(15, 2)) for level in (0, 3) for _ in range(10)]
    y = [0] * 10 + [1] * 10
    assert SequenceClassifier(num_states=1).fit(X, y).score(X, y) == 1.0
    with pytest.raises(pb.PlausibleError, match="call fit first"):
        SequenceClassifier().predict(X)
