"""Hidden semi-Markov models: equal to the enumeration of all segmentations, whether or not the last state ends."""

from __future__ import annotations

import math

import numpy as np
import pytest

import plausible as pb
from plausible.errors import InvalidModel
from plausible.models import HiddenSemiMarkovModel

WORDS = ["a", "b", "c"]


def segmentations(num_states, length):
    """Lists of (state, steps) that fill a length, neighbours with different states."""
    if length == 0:
        yield []
    for steps in range(1, length + 1):
        for rest in segmentations(num_states, length - steps):
            for state in range(num_states):
                if not rest or rest[-1][0] != state:
                    yield [*rest, (state, steps)]


def weight(model, segments, likelihoods):
    """P(segments, rows), from the definition."""
    total, t = float(model.initial[segments[0][0]]), 0
    for number, (state, steps) in enumerate(segments):
        if number:
            total *= model.transition[segments[number - 1][0], state]
        row = np.append(model.durations[state], np.zeros(20))
        is_last = number == len(segments) - 1
        total *= row[steps - 1 :].sum() if is_last and model.end == "censored" else row[steps - 1]
        for _ in range(steps):
            total *= likelihoods[t][state]
            t += 1
    return total


def random_model(seed, end):
    rng = np.random.default_rng(seed)
    size = 3
    transition = rng.dirichlet(np.ones(size), size=size) * (1 - np.eye(size))
    durations = rng.dirichlet(np.ones(4), size=size) * (rng.random((size, 4)) < 0.7) + [0, 0.1, 0, 0]
    return HiddenSemiMarkovModel(
        rng.dirichlet(np.ones(size)),
        transition / transition.sum(axis=1, keepdims=True),
        durations / durations.sum(axis=1, keepdims=True),
        rng.dirichlet(np.ones(3), size=size),
        symbols=WORDS,
        end=end,
    )


@pytest.mark.parametrize("end", ["exact", "censored"])
@pytest.mark.parametrize("seed", range(5))
def test_answers_equal_the_enumeration_of_segmentations(seed, end):
    """Likelihood, smoothing and the best path, with a missing row."""
    model, rng = random_model(seed, end), np.random.default_rng(seed)
    codes = rng.integers(3, size=5)
    words = [WORDS[code] for code in codes]
    likelihoods = [model.emission.table[:, code] for code in codes]
    words[2], likelihoods[2] = None, np.ones(3)
    every = [(segments, weight(model, segments, likelihoods)) for segments in segmentations(3, 5)]
    total = sum(value for _, value in every)
    beliefs = np.zeros((5, 3))
    for segments, value in every:
        path = [state for state, steps in segments for _ in range(steps)]
        beliefs[np.arange(5), path] += value
    assert model.log_likelihood(words) == pytest.approx(math.log(total), abs=1e-12)
    np.testing.assert_allclose(model.smooth(words), beliefs / total, atol=1e-12)
    best, value = max(every, key=lambda pair: pair[1])
    path = model.mpe(words)
    assert path == [state for state, steps in best for _ in range(steps)]
    assert path.log_probability == pytest.approx(math.log(value), abs=1e-12)
    second = sorted((value for _, value in every), reverse=True)[1]
    assert model.k_best(2, words)[1].log_probability == pytest.approx(math.log(second), abs=1e-12)


def test_geometric_durations_are_a_hidden_markov_model():
    """With P(d) = a^(d-1) (1 - a), cut off where nothing is left, it is the chain with a on the diagonal."""
    stay = np.array([0.6, 0.3])
    steps = np.arange(60)
    durations = stay[:, None] ** steps * (1 - stay[:, None])
    durations /= durations.sum(axis=1, keepdims=True)
    table = [[0.8, 0.2], [0.3, 0.7]]
    semi = HiddenSemiMarkovModel([0.5, 0.5], [[0, 1], [1, 0]], durations, table)
    plain = pb.HiddenMarkovModel([0.5, 0.5], [[0.6, 0.4], [0.7, 0.3]], table)
    rows = [0, 0, 1, None, 0, 1, 1]
    np.testing.assert_allclose(semi.smooth(rows), plain.smooth(rows), atol=1e-9)
    np.testing.assert_allclose(semi.predict(rows, steps=3), plain.predict(rows, steps=3), atol=1e-9)


def test_samples_last_as_long_as_durations_say():
    """Frequencies of 3,000 segments or so."""
    model = random_model(1, "censored")
    path = model.sample(6000, seed=0)["state"].to_numpy()
    cuts = np.flatnonzero(np.diff(path)) + 1
    segments = np.split(path, cuts)[:-1]
    for state in range(3):
        lengths = np.array([len(each) for each in segments if each[0] == state])
        np.testing.assert_allclose(
            np.bincount(lengths, minlength=5)[1:] / len(lengths), model.durations[state], atol=0.06
        )


def test_a_file_holds_it_and_a_state_that_goes_to_itself_is_refused(tmp_path):
    """Saved and loaded it is the same value."""
    model = random_model(2, "exact")
    pb.save(model, tmp_path / "model.json")
    assert pb.load(tmp_path / "model.json") == model
    with pytest.raises(InvalidModel, match="0 goes to itself"):
        HiddenSemiMarkovModel([1, 0], [[0.5, 0.5], [1, 0]], [[1.0], [1.0]], np.eye(2))
