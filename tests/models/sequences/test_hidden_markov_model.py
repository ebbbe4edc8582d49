"""Hidden Markov models answer as enumeration of all paths does, whatever is missing, impossible or tied."""

from __future__ import annotations

import json
import math

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import plausible as pb
from plausible.errors import ImpossibleEvidence, InvalidArgument, InvalidCPD, InvalidModel, UnknownState
from sequence_oracle import PathOracle, filtered, normal_density

SEEDS = range(12)
WORDS = ["a", "b", "c"]


def umbrella():
    return pb.HiddenMarkovModel(
        initial=[0.5, 0.5],
        transition=[[0.7, 0.3], [0.3, 0.7]],
        emission=[[0.9, 0.1], [0.2, 0.8]],
        states=["rain", "dry"],
        symbols=["umbrella", "none"],
    )


def rows_of(rng, shape, zeros):
    """Rows of probabilities, some of them zero."""
    numbers = rng.dirichlet(np.ones(shape[-1]), size=shape[:-1])
    numbers[(rng.random(shape) < zeros) & (np.arange(shape[-1]) != rng.integers(shape[-1]))] = 0.0
    return numbers / numbers.sum(axis=-1, keepdims=True)


def random_case(seed, zeros=0.3, length=None):
    """A model, a sequence that it can make, and the likelihoods of its steps."""
    rng = np.random.default_rng(seed)
    num_states, num_steps = int(rng.integers(1, 4)), int(rng.integers(1, 6)) if length is None else length
    initial, transition = rows_of(rng, (num_states,), zeros), rows_of(rng, (num_states, num_states), zeros)
    table = rows_of(rng, (num_states, 3), zeros)
    model = pb.HiddenMarkovModel(initial, transition, table, symbols=WORDS)
    words = model.sample(num_steps, seed=rng)["observation"].tolist()
    likelihoods = [table[:, WORDS.index(word)] for word in words]
    for t in range(num_steps):
        kind = rng.integers(5)
        if kind == 0:
            words[t], likelihoods[t] = None, np.ones(num_states)
        if kind == 1:
            open_to = {words[t], "a"}
            words[t], likelihoods[t] = sorted(open_to), sum(table[:, WORDS.index(word)] for word in open_to)
        if kind == 2:
            weights = rng.random(3)
            words[t], likelihoods[t] = pb.likelihood(weights.tolist()), table @ weights
    return model, words, PathOracle(initial, [transition] * num_steps, likelihoods), likelihoods


def column(words):
    return {"observation": words}


@pytest.mark.parametrize("seed", SEEDS)
def test_beliefs_equal_enumeration(seed):
    """P(x_t | o_1..t), P(x_t | o), P(x_t-1, x_t | o) and log p(o), with zeros, missing and soft cells."""
    model, words, oracle, likelihoods = random_case(seed)
    num_states, rows = model.num_states, column(words)
    matrices = [model.transition] * len(words)
    np.testing.assert_allclose(model.filter(rows), filtered(model.initial, matrices, likelihoods), atol=1e-12)
    np.testing.assert_allclose(model.smooth(rows), oracle.smoothed(), atol=1e-12)
    pairs = model.pairwise(rows).to_numpy().reshape(-1, num_states, num_states)
    assert np.isnan(pairs[0]).all()
    np.testing.assert_allclose(pairs[1:], oracle.pairs()[1:], atol=1e-12)
    assert model.log_likelihood(rows) == pytest.approx(oracle.log_likelihood, abs=1e-12)
    steps = model.step_log_likelihoods(rows)
    parts = [PathOracle(model.initial, matrices, likelihoods[: t + 1]).log_likelihood for t in range(len(words))]
    np.testing.assert_allclose(steps.cumsum(), parts, atol=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_paths_equal_enumeration(seed):
    """The best paths, in their order, with ties and with fewer paths than asked for."""
    model, words, oracle, _ = random_case(seed)
    best = oracle.best(6)
    path = model.mpe(column(words))
    assert path == [model.states[code] for code in best[0][0]]
    assert path.log_probability == pytest.approx(best[0][1], abs=1e-12)
    found = model.k_best(6, column(words))
    assert [list(each) for each in found] == [list(each) for each, _ in best]
    np.testing.assert_allclose([each.log_probability for each in found], [value for _, value in best], atol=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_answers_equal_those_of_the_unrolled_network(seed):
    """The engine says the same of the Bayesian network with as many slices."""
    model, words, _, _ = random_case(seed)
    network = model.unroll(len(words))
    evidence = {f"observation[{t}]": word for t, word in enumerate(words) if word is not None}
    smoothed, marginals = model.smooth(column(words)), network.marginals(evidence=evidence)
    for t in range(len(words)):
        np.testing.assert_allclose(smoothed.iloc[t], marginals[f"state[{t}]"].values, atol=1e-12)
    assert model.log_likelihood(column(words)) == pytest.approx(network.log_probability(evidence), abs=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_sequences_in_any_order_are_answered_each_by_itself(seed):
    """Rows of several sequences, mixed up: each answer stands at its row, and totals are sums."""
    model = umbrella()
    rng = np.random.default_rng(seed)
    frame = model.sample(4, seed=rng, sequences=3).drop(columns="state")
    mixed = frame.sample(frac=1, random_state=seed)
    smoothed = model.smooth(mixed, sequence="sequence", time="time")
    apart = [model.smooth(one["observation"].tolist()).set_index(one.index) for _, one in frame.groupby("sequence")]
    pd.testing.assert_frame_equal(smoothed.loc[frame.index], pd.concat(apart), check_exact=False, rtol=1e-12)
    each = model.log_likelihoods(mixed, sequence="sequence", time="time")
    for name, one in frame.groupby("sequence"):
        assert each[name] == pytest.approx(model.log_likelihood(one["observation"].tolist()))
    path = model.mpe(mixed, sequence="sequence", time="time")
    whole = path.to_frame().loc[frame.index, "state"]
    assert whole.tolist() == [
        state for _, one in frame.groupby("sequence") for state in model.mpe(one["observation"].tolist())
    ]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_known_state_is_evidence_wherever_it_is_told(seed):
    """A column of the state's name, with gaps and collections, is a likelihood of states."""
    model, words, _, likelihoods = random_case(seed, zeros=0.0)
    rng = np.random.default_rng(seed)
    told, weighed = [], []
    for row in likelihoods:
        state = int(rng.integers(model.num_states))
        kind = rng.integers(3)
        told.append([None, state, list(range(state + 1))][kind])
        mask = [np.ones(model.num_states), np.eye(model.num_states)[state], np.arange(model.num_states) <= state][kind]
        weighed.append(row * mask)
    rows = {"observation": words, "state": told}
    oracle = PathOracle(model.initial, [model.transition] * len(words), weighed)
    np.testing.assert_allclose(model.smooth(rows), oracle.smoothed(), atol=1e-12)
    assert model.log_likelihood(rows) == pytest.approx(oracle.log_likelihood, abs=1e-12)


@pytest.mark.parametrize("kind", ["full", "diagonal", "spherical", "tied"])
@pytest.mark.parametrize("seed", range(4))
def test_vectors_of_numbers_equal_enumeration_with_parts_missing(kind, seed):
    """N(x; μ_k, Σ_k) with missing components summed out."""
    rng = np.random.default_rng(seed)
    num_states, size, num_steps = 3, 2, 4
    factors = rng.normal(size=(num_states, size, size))
    covariances = factors @ np.swapaxes(factors, 1, 2) + 0.3 * np.eye(size)
    given = {
        "full": covariances,
        "diagonal": np.diagonal(covariances, axis1=1, axis2=2),
        "spherical": covariances[:, 0, 0],
        "tied": covariances[0],
    }[kind]
    means = rng.normal(size=(num_states, size), scale=2)
    emission = pb.GaussianEmission(means, given, columns=["x", "y"], covariance=kind if kind == "tied" else None)
    assert emission.covariance == kind
    model = pb.HiddenMarkovModel(rows_of(rng, (3,), 0.2), rows_of(rng, (3, 3), 0.2), emission)
    numbers = rng.normal(size=(num_steps, size), scale=2)
    numbers[rng.random(numbers.shape) < 0.3] = np.nan
    likelihoods = [
        [normal_density(row, means[k], emission.covariances[k]) for k in range(num_states)] for row in numbers
    ]
    oracle = PathOracle(model.initial, [model.transition] * num_steps, likelihoods)
    rows = pd.DataFrame(numbers, columns=["x", "y"])
    np.testing.assert_allclose(model.smooth(rows), oracle.smoothed(), atol=1e-12)
    assert model.log_likelihood(rows) == pytest.approx(oracle.log_likelihood, abs=1e-11)
    np.testing.assert_allclose(model.smooth(numbers), oracle.smoothed(), atol=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_mixtures_equal_enumeration_of_their_components(seed):
    """Σ_m w_km N(x; μ_km, σ²_km)."""
    rng = np.random.default_rng(seed)
    weights, means, variances = rows_of(rng, (2, 3), 0.3), rng.normal(size=(2, 3), scale=3), rng.random((2, 3)) + 0.1
    model = pb.HiddenMarkovModel(
        [0.4, 0.6], [[0.9, 0.1], [0.3, 0.7]], pb.GaussianMixtureEmission(weights, means, variances)
    )
    numbers = rng.normal(size=5, scale=3)
    likelihoods = [
        [sum(weights[k, m] * normal_density(x, means[k, m], variances[k, m]) for m in range(3)) for k in range(2)]
        for x in numbers
    ]
    oracle = PathOracle(model.initial, [model.transition] * 5, likelihoods)
    np.testing.assert_allclose(model.smooth(numbers), oracle.smoothed(), atol=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_several_columns_are_independent_given_the_state(seed):
    """A table, numbers and a CPD side by side; each may be missing."""
    rng = np.random.default_rng(seed)
    table, means = rows_of(rng, (2, 3), 0.2), rng.normal(size=2, scale=3)
    switch = pb.TableCPD("switch", [[0.9, 0.1], [0.4, 0.6]], parents=["mood"], states=["off", "on"])
    model = pb.HiddenMarkovModel(
        [0.5, 0.5],
        [[0.8, 0.2], [0.1, 0.9]],
        {"word": table, "x": pb.GaussianEmission(means, [1.0, 2.0]), "switch": switch},
        states=["good", "bad"],
        symbols={"word": WORDS},
        state="mood",
    )
    rows = model.sample(5, seed=rng)
    shown = rows.drop(columns="mood").astype(object)
    shown = shown.mask(rng.random(shown.shape) < 0.3)
    shown["x"] = shown["x"].astype(float)
    likelihoods = np.ones((5, 2))
    for t, row in enumerate(shown.to_dict("records")):
        if isinstance(row["word"], str):
            likelihoods[t] *= table[:, WORDS.index(row["word"])]
        likelihoods[t] *= [normal_density(row["x"], means[k], [1.0, 2.0][k]) for k in range(2)]
        if isinstance(row["switch"], str):
            likelihoods[t] *= switch.values[:, ["off", "on"].index(row["switch"])]
    oracle = PathOracle(model.initial, [model.transition] * 5, likelihoods)
    np.testing.assert_allclose(model.smooth(shown), oracle.smoothed(), atol=1e-12)


def test_numbers_by_any_distribution_with_the_state_as_parent():
    """A conditional Gaussian CPD is the Gaussian emission that it says."""
    cpd = pb.ConditionalGaussianCPD("y", [0.0, 3.0], {}, [1.0, 4.0], parents=["state"])
    by_cpd = pb.HiddenMarkovModel([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], cpd)
    same = pb.HiddenMarkovModel([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], pb.GaussianEmission([0, 3], [1.0, 4.0], "y"))
    numbers = {"y": [0.1, 2.0, np.nan, 5.0]}
    pd.testing.assert_frame_equal(by_cpd.smooth(numbers), same.smooth(numbers), rtol=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_an_emission_may_depend_on_the_observation_before(seed):
    """An autoregressive model, by its unrolled network and by enumeration."""
    rng = np.random.default_rng(seed)
    first, table = rows_of(rng, (2, 3), 0.0), rows_of(rng, (2, 3, 3), 0.0)
    word = pb.Variable("word", WORDS)
    model = pb.HiddenMarkovModel(
        [0.3, 0.7],
        [[0.8, 0.2], [0.4, 0.6]],
        pb.TableCPD(word, table, parents=["state", "word[-1]"]),
        first_emission=pb.TableCPD(word, first, parents=["state"]),
    )
    words = model.sample(4, seed=rng)["word"].tolist()
    codes = [WORDS.index(each) for each in words]
    likelihoods = [first[:, codes[0]], *(table[:, codes[t - 1], codes[t]] for t in range(1, 4))]
    oracle = PathOracle(model.initial, [model.transition] * 4, likelihoods)
    np.testing.assert_allclose(model.smooth(words), oracle.smoothed(), atol=1e-12)
    unrolled = model.unroll(4).query("state[1]", evidence={f"word[{t}]": each for t, each in enumerate(words)})
    np.testing.assert_allclose(unrolled.values, oracle.smoothed()[1], atol=1e-12)
    online = model.online()
    for each in words:
        online = online.update(each)
    np.testing.assert_allclose(online.belief, oracle.smoothed()[3], atol=1e-12)
    with pytest.raises(InvalidArgument, match=r"'word\[-1\]' is missing at row 2"):
        model.smooth(["a", None, "b"])


@pytest.mark.parametrize("seed", range(4))
def test_inputs_choose_the_transitions(seed):
    """Transitions of each step are those of its input; what comes needs the inputs to come."""
    rng = np.random.default_rng(seed)
    drug, table = pb.Variable("drug", ["no", "yes"]), rows_of(rng, (2, 3), 0.0)
    transition = rows_of(rng, (2, 2, 2), 0.2)
    model = pb.HiddenMarkovModel([0.5, 0.5], transition, table, symbols=WORDS, transition_input=drug)
    given, codes = rng.integers(2, size=5), rng.integers(3, size=5)
    rows = {"drug": [drug.states[each] for each in given], "observation": [WORDS[each] for each in codes]}
    matrices, likelihoods = transition[given], table[:, codes].T
    oracle = PathOracle(model.initial, matrices, likelihoods)
    np.testing.assert_allclose(model.smooth(rows), oracle.smoothed(), atol=1e-12)
    np.testing.assert_allclose(model.filter(rows), filtered(model.initial, matrices, likelihoods), atol=1e-12)
    assert tuple(model.mpe(rows)) == oracle.best(1)[0][0]
    assert [tuple(each) for each in model.k_best(3, rows)] == [each for each, _ in oracle.best(3)]
    ahead = model.predict(rows, steps=2, inputs={"drug": ["yes", "no"]})
    last = oracle.smoothed()[-1]
    np.testing.assert_allclose(ahead, [last @ transition[1], last @ transition[1] @ transition[0]], atol=1e-12)
    online = model.online()
    for row in pd.DataFrame(rows).to_dict("records"):
        online = online.update(row)
    np.testing.assert_allclose(online.belief, last, atol=1e-12)
    assert online.log_likelihood == pytest.approx(oracle.log_likelihood)
    with pytest.raises(InvalidArgument, match="inputs="):
        model.predict(rows)
    rows["drug"][2] = None
    with pytest.raises(InvalidArgument, match="'drug' is missing at row 2"):
        model.smooth(rows)


@pytest.mark.parametrize("seed", SEEDS)
def test_what_comes_is_filtered_and_then_carried_on(seed):
    """P(x_t+n | o_1..t) = P(x_t | o_1..t) Aⁿ, and what is seen then; without rows it starts with the initial one."""
    model, words, oracle, _ = random_case(seed)
    ahead = model.predict(column(words), steps=3)
    expected = [oracle.smoothed()[-1] @ np.linalg.matrix_power(model.transition, n) for n in (1, 2, 3)]
    np.testing.assert_allclose(ahead, expected, atol=1e-12)
    forecast = model.forecast(column(words), steps=3)["observation"]
    np.testing.assert_allclose(forecast, np.array(expected) @ model.emission.table, atol=1e-12)
    np.testing.assert_allclose(model.predict([], steps=1).to_numpy()[0], model.initial, atol=1e-12)


def test_a_forecast_of_numbers_has_an_interval_with_its_probability():
    """Mass between its ends is the level, with equal tails; the mean is that of the mixture."""
    from scipy.stats import norm

    model = pb.HiddenMarkovModel([1, 0], [[0.6, 0.4], [0.5, 0.5]], pb.GaussianEmission([0.0, 10.0], [1.0, 4.0]))
    told = model.forecast([], steps=2, level=0.8)["observation"].iloc[1]
    beliefs = np.array([0.6, 0.4])
    for end, mass in (("lower", 0.1), ("upper", 0.9)):
        below = beliefs @ norm.cdf(told[end], [0, 10], [1, 2])
        assert below == pytest.approx(mass, abs=1e-9)
    assert told["mean"] == pytest.approx(4.0)


@pytest.mark.parametrize("seed", SEEDS)
def test_an_online_filter_says_what_filtering_says(seed):
    """After each row; it is a value, and goes through JSON."""
    model, words, _, _ = random_case(seed)
    beliefs, online = model.filter(column(words)).to_numpy(), model.online()
    for t, word in enumerate(words):
        before, online = online, online.update({"observation": word})
        np.testing.assert_allclose(online.belief, beliefs[t], atol=1e-12)
        assert before.num_steps == t
    again = pb.models.OnlineFilter.from_dict(json.loads(json.dumps(online.to_dict())), model)
    assert again.log_likelihood == pytest.approx(model.log_likelihood(column(words)), abs=1e-12)
    np.testing.assert_array_equal(again.belief, online.belief)


def test_posterior_paths_come_as_often_as_they_are_probable():
    """Frequencies of 20,000 paths, within five standard errors."""
    model, words = umbrella(), ["umbrella", None, "none", "none"]
    codes = [[0.9, 0.2], [1, 1], [0.1, 0.8], [0.1, 0.8]]
    oracle = PathOracle(model.initial, [model.transition] * 4, codes)
    paths = model.sample_posterior(words, 20_000, seed=1)
    places = (paths.values["state"] == "dry").astype(int)
    counts = np.bincount(places @ [8, 4, 2, 1], minlength=16) / 20_000
    chances = np.array(oracle.weights) / oracle.total
    assert (np.abs(counts - chances) < 5 * np.sqrt(chances * (1 - chances) / 20_000) + 1e-9).all()


def test_samples_have_the_frequencies_of_the_model():
    """States and symbols of long samples; the same seed gives the same rows."""
    model = umbrella()
    rows = model.sample(20_000, seed=3)
    table = pd.crosstab(rows["state"], rows["observation"], normalize="index").loc[
        ["rain", "dry"], ["umbrella", "none"]
    ]
    np.testing.assert_allclose(table, model.emission.table, atol=0.02)
    stays = (rows["state"].to_numpy()[1:] == rows["state"].to_numpy()[:-1]).mean()
    assert stays == pytest.approx(0.7, abs=0.02)
    pd.testing.assert_frame_equal(rows, model.sample(20_000, seed=3))


# --- numbers at their limits ---


def test_beliefs_that_vanish_matter_again_where_later_rows_call_for_them():
    """A left-to-right chain that is told late that it never moved: e^-3000 and less, by closed form."""
    model = pb.HiddenMarkovModel(
        [1.0, 0.0], [[0.9, 0.1], [0.0, 1.0]], {"x": pb.GaussianEmission([0.0, 100.0], [1.0, 1.0])}
    )
    rows = {"x": [100.0, 100.0, 0.0], "state": [None, None, 0]}
    assert model.smooth(rows).to_numpy().tolist() == [[1, 0], [1, 0], [1, 0]]
    logs = -0.5 * np.array([1e4, 1e4, 0.0]) - 0.5 * math.log(2 * math.pi)
    assert model.log_likelihood(rows) == pytest.approx(logs.sum() + 2 * math.log(0.9), rel=1e-14)
    assert set(model.sample_posterior(rows, 5, seed=0).values["state"].ravel()) == {0}


@pytest.mark.parametrize("seed", range(6))
def test_far_observations_are_as_in_logarithms(seed):
    """Random chains with zeros and far numbers: the same as a sum in logarithms, written out here."""
    rng = np.random.default_rng(seed)
    size, length = 4, 60
    initial, matrix = rows_of(rng, (size,), 0.4), rows_of(rng, (size, size), 0.5)
    means = rng.normal(size=size, scale=60)
    numbers = rng.normal(size=length, scale=60)
    model = pb.HiddenMarkovModel(initial, matrix, pb.GaussianEmission(means, np.ones(size)))
    logs = -0.5 * (numbers[:, None] - means) ** 2 - 0.5 * math.log(2 * math.pi)
    with np.errstate(divide="ignore"):
        steps, first = np.log(matrix), np.log(initial)
    forward, backward = [first + logs[0]], [np.zeros(size)]
    for t in range(1, length):
        forward.append(np.logaddexp.reduce(forward[-1][:, None] + steps, axis=0) + logs[t])
        backward.insert(0, np.logaddexp.reduce(steps + logs[length - t] + backward[0], axis=1))
    total = np.logaddexp.reduce(forward[-1])
    np.testing.assert_allclose(model.log_likelihood(numbers), total, rtol=1e-12)
    np.testing.assert_allclose(model.smooth(numbers), np.exp(np.array(forward) + backward - total), atol=1e-9)
    each = np.array(forward)
    each = np.exp(each - np.logaddexp.reduce(each, axis=1, keepdims=True))
    np.testing.assert_allclose(model.filter(numbers), each, atol=1e-9)


@pytest.mark.parametrize("num_states", [2, 6])
def test_blocks_of_steps_change_nothing(monkeypatch, num_states):
    """Messages that are made twice are the same to the bit: beliefs, best path, likelihood; counts but for rounding."""
    from plausible.models.sequences import state_inference

    rng = np.random.default_rng(num_states)
    initial, transition = rng.dirichlet(np.ones(num_states)), rng.dirichlet(np.ones(num_states), size=num_states)
    model = pb.HiddenMarkovModel(initial, transition, rng.dirichlet(np.ones(3), size=num_states))
    rows = [model.sample(length, seed=0)["observation"].to_numpy() for length in (400, 1, 14, 30)]
    chains = model._chains(model._read(rows, None, None, "refuse"))

    def answers():
        counts = state_inference.expected(chains, chains.num_steps)
        return model.smooth(rows), model.mpe(rows), model.log_likelihood(rows), counts

    whole = answers()
    monkeypatch.setattr(state_inference, "block_of", lambda chains: 7)
    pieces = answers()
    pd.testing.assert_frame_equal(whole[0], pieces[0], check_exact=True)
    assert whole[1:3] == pieces[1:3]
    np.testing.assert_allclose(pieces[3].pairs, whole[3].pairs, rtol=1e-12)
    np.testing.assert_allclose(pieces[3].rows, whole[3].rows, rtol=1e-12)
    found, symbols, logs = model.mpe(rows[0]), rows[0], np.log(model.transition)
    path = list(found)
    weights = np.log(model.emission.table[:, symbols].T)
    best = np.log(initial) + weights[0]
    for row in weights[1:]:
        best = (best[:, None] + logs).max(axis=0) + row
    assert found.log_probability == pytest.approx(best.max(), rel=1e-12)
    told = np.log(initial[path[0]]) + logs[path[:-1], path[1:]].sum() + weights[np.arange(len(path)), path].sum()
    assert told == pytest.approx(best.max(), rel=1e-12)


def test_nothing_observed_is_the_chain_alone():
    """NaN everywhere: beliefs are q Aⁿ, and the likelihood is one."""
    model = umbrella()
    rows = {"observation": [None] * 4}
    expected = [model.initial @ np.linalg.matrix_power(model.transition, n) for n in range(4)]
    np.testing.assert_allclose(model.smooth(rows), expected, atol=1e-12)
    assert model.log_likelihood(rows) == pytest.approx(0.0, abs=1e-12)


def test_no_rows_have_no_beliefs():
    """An empty sequence has likelihood one and an empty frame."""
    model = umbrella()
    assert model.log_likelihood([]) == 0.0
    assert model.smooth([]).shape == (0, 2)
    assert len(model.mpe([])) == 0


def test_the_first_impossible_step_is_named():
    """By row, and what was seen there; the likelihood is zero, -inf at that step and unknown after it."""
    model = pb.HiddenMarkovModel([1, 0], [[1, 0], [0, 1]], [[1, 0], [0, 1]], states=["a", "b"], symbols=["A", "B"])
    rows = ["A", "A", "B", "A"]
    assert model.log_likelihood(rows) == -math.inf
    assert model.step_log_likelihoods(rows).tolist()[:3] == [0.0, 0.0, -math.inf]
    assert np.isnan(model.step_log_likelihoods(rows)[3])
    for ask in (model.filter, model.smooth, model.mpe, model.pairwise, model.predict, model.sample_posterior):
        with pytest.raises(ImpossibleEvidence, match="row 2"):
            ask(rows)
    with pytest.raises(ImpossibleEvidence, match="row 2"):
        model.k_best(2, rows)


# --- what is given ---


def test_transitions_that_lead_nowhere_are_refused_by_name():
    """A zero row is no absorbing state: that one says so."""
    with pytest.raises(InvalidModel, match=r"from state\[-1\]='dry' are all zero.*itself with probability 1"):
        pb.HiddenMarkovModel([1, 0], [[0.5, 0.5], [0, 0]], np.eye(2), states=["rain", "dry"])
    with pytest.raises(InvalidCPD, match=r"state\[-1\]=dry"):
        pb.HiddenMarkovModel([1, 0], [[0.5, 0.5], [0.5, 0.4]], np.eye(2), states=["rain", "dry"])
    with pytest.raises(UnknownState, match="no transitions from 'dry'"):
        pb.HiddenMarkovModel([1, 0], {"rain": {"dry": 1.0}}, np.eye(2), states=["rain", "dry"])
    with pytest.raises(InvalidModel, match="shape"):
        pb.HiddenMarkovModel([1, 0], np.eye(3), np.eye(2))
    with pytest.raises(InvalidModel, match="3 states, but there are 2"):
        pb.HiddenMarkovModel([1, 0], np.eye(2), pb.GaussianEmission([0, 1, 2], [1, 1, 1]))
    with pytest.raises(InvalidModel, match="state 1 is not positive definite"):
        pb.GaussianEmission([0, 1], [1, 0])


def test_mappings_name_states_and_symbols():
    """Tables by name are the same model."""
    model = pb.HiddenMarkovModel(
        {"rain": 0.5, "dry": 0.5},
        {"rain": {"rain": 0.7, "dry": 0.3}, "dry": {"rain": 0.3, "dry": 0.7}},
        {"rain": {"umbrella": 0.9, "none": 0.1}, "dry": {"umbrella": 0.2, "none": 0.8}},
    )
    assert model == umbrella()


def test_a_lone_column_may_have_any_name():
    """Where the model was given none; also beside the state and the sequence."""
    model = umbrella()
    words = ["umbrella", "none", "none"]
    expected = model.smooth(words)
    seen = {"seen": words}
    for frame in (seen, pd.DataFrame(seen), pd.Series(words), pl.DataFrame(seen), pa.table(seen)):
        np.testing.assert_array_equal(model.smooth(frame), expected)
    beside = pd.DataFrame({"id": [1] * 3, "day": [2, 1, 3], "seen": ["none", "umbrella", "none"], "state": [None] * 3})
    answer = model.smooth(beside, sequence="id", time="day")
    np.testing.assert_allclose(answer.to_numpy()[[1, 0, 2]], expected, atol=1e-15)


def test_a_symbol_that_is_none_is_refused_with_its_place():
    """An unseen symbol is named, with what is like it."""
    with pytest.raises(UnknownState, match=r"umbrela.*Did you mean 'umbrella'"):
        umbrella().smooth(["umbrella", "umbrela"])


@pytest.mark.parametrize(
    "emission",
    [
        [[0.9, 0.1], [0.2, 0.8]],
        pb.GaussianEmission([0, 1], [1.0, 2.0]),
        pb.GaussianEmission([[0, 1], [2, 3]], np.eye(2), covariance="tied", columns=["x", "y"]),
        pb.GaussianMixtureEmission([[0.5, 0.5], [1, 0]], [[0, 1], [2, 3]], np.ones((2, 2))),
        {"a": [[0.9, 0.1], [0.2, 0.8]], "b": pb.GaussianEmission([0, 1], [1.0, 2.0])},
        pb.ConditionalGaussianCPD("y", [0.0, 3.0], {}, [1.0, 4.0], parents=["state"]),
    ],
    ids=["table", "gaussian", "tied", "mixture", "product", "cpd"],
)
def test_files_hold_models(tmp_path, emission):
    """Saved and loaded it is the same value, and answers alike."""
    model = pb.HiddenMarkovModel([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], emission)
    pb.save(model, tmp_path / "model.json")
    again = pb.load(tmp_path / "model.json")
    assert again == model
    rows = model.sample(5, seed=0).drop(columns="state")
    pd.testing.assert_frame_equal(again.smooth(rows), model.smooth(rows))


def test_the_long_run_is_the_stationary_distribution():
    """π = π A."""
    model = pb.HiddenMarkovModel([1, 0], [[0.9, 0.1], [0.3, 0.7]], np.eye(2))
    np.testing.assert_allclose(model.stationary().values, [0.75, 0.25], atol=1e-12)


@pytest.mark.parametrize(("covariance", "free"), [("full", 9), ("tied", 3), ("diagonal", 6), ("spherical", 3)])
def test_numbers_that_are_free_are_counted(covariance, free):
    """Rows of tables less their sums, zeros being given; means; matrices by their kind, here of two columns."""
    initial, transition = [0.5, 0.5, 0], [[0.2, 0.3, 0.5], [0, 0.5, 0.5], [0, 0, 1]]
    words = pb.HiddenMarkovModel(initial, transition, [[0.2, 0.3, 0.5], [0, 0.5, 0.5], [1, 0, 0]])
    assert words.num_parameters == 1 + (2 + 1 + 0) + (2 + 1 + 0)
    spread = {"full": (3, 2, 2), "tied": (2, 2), "diagonal": (3, 2), "spherical": (3,)}[covariance]
    matrices = np.broadcast_to(np.eye(2), spread) if covariance in ("full", "tied") else np.ones(spread)
    numbers = pb.models.GaussianEmission(np.zeros((3, 2)), matrices, covariance=covariance)
    assert pb.HiddenMarkovModel(initial, transition, numbers).num_parameters == 4 + 6 + free


def test_numbers_whose_squares_no_float_holds_are_impossible():
    """Their density is zero, without a warning of overflow."""
    mixed = pb.GaussianMixtureEmission([[0.5, 0.5]] * 2, [[[0.0], [3.0]]] * 2, np.ones((2, 2, 1, 1)))
    for emission in (pb.GaussianEmission([0.0, 3.0], [1.0, 1.0]), mixed):
        model = pb.HiddenMarkovModel([0.5, 0.5], [[0.7, 0.3], [0.3, 0.7]], emission)
        assert model.log_likelihood([0.0, 1e200, 3.0]) == -np.inf


@pytest.mark.parametrize("num_states", [2, 4, 6])
def test_a_state_that_is_never_reached_has_no_say_however_well_it_fits(num_states):
    """Beliefs and EM's counts are those of the model without it, though it alone would explain a long stretch."""
    reached = num_states - 1
    transition = np.zeros((num_states, num_states))
    transition[:reached, :reached] = np.random.default_rng(0).dirichlet(np.ones(reached), size=reached)
    transition[reached, reached] = 1.0
    initial = np.append(np.full(reached, 1 / reached), 0.0)
    means = np.append(np.linspace(5.0, 6.0, reached), 0.0)
    rows = np.append(np.zeros(600), 5.5)
    full = pb.HiddenMarkovModel(initial, transition, pb.GaussianEmission(means, np.ones(num_states)))
    small = pb.HiddenMarkovModel(
        initial[:reached], transition[:reached, :reached], pb.GaussianEmission(means[:reached], np.ones(reached))
    )
    beliefs = full.smooth(rows).to_numpy()
    np.testing.assert_allclose(beliefs[:, :reached], small.smooth(rows).to_numpy(), atol=1e-9)
    assert (beliefs[:, reached] == 0).all()
    learned = pb.learn.hmm([rows, rows[-3:]], start=full, max_steps=1).model
    plain = pb.learn.hmm([rows, rows[-3:]], start=small, max_steps=1).model
    np.testing.assert_allclose(learned.transition[:reached, :reached], plain.transition, atol=1e-9)
    np.testing.assert_allclose(learned.initial[:reached], plain.initial, atol=1e-9)
