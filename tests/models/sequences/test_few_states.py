"""Chains of at most four states have kernels of their own: they say what those of many states say."""

from dataclasses import replace

import numpy as np
import pytest

import plausible as pb
from plausible.models.sequences import state_inference

NUM_MORE = 5


def _models(num_states, seed, *, has_zeros):
    """A model, and the same with states that nothing leads to."""
    rng = np.random.default_rng(seed)
    initial, transition = rng.dirichlet(np.ones(num_states)), rng.dirichlet(np.ones(num_states), size=num_states)
    if has_zeros and num_states > 2:
        transition[0, 1] = transition[2, 0] = 0.0
        transition /= transition.sum(axis=1, keepdims=True)
    means = rng.normal(scale=3.0, size=num_states + NUM_MORE)
    more = np.zeros((num_states + NUM_MORE, num_states + NUM_MORE))
    more[:num_states, :num_states] = transition
    more[num_states:, 0] = 1.0
    return (
        pb.HiddenMarkovModel(initial, transition, pb.GaussianEmission(means[:num_states], np.ones(num_states))),
        pb.HiddenMarkovModel(
            np.append(initial, np.zeros(NUM_MORE)), more, pb.GaussianEmission(means, np.ones(len(means)))
        ),
    )


@pytest.mark.parametrize("has_zeros", [False, True])
@pytest.mark.parametrize("num_states", [1, 2, 3, 4])
def test_states_that_nothing_leads_to_change_nothing(num_states, has_zeros):
    few, many = _models(num_states, num_states, has_zeros=has_zeros)
    rows = [few.sample(length, seed=length)["observation"].to_numpy() for length in (40, 1, 0, 17)]
    for ask in ("filter", "smooth"):
        mine, theirs = (getattr(model, ask)(rows).to_numpy() for model in (few, many))
        np.testing.assert_allclose(mine, theirs[:, :num_states], rtol=1e-10, atol=1e-14)
        assert not theirs[:, num_states:].any()
    assert few.log_likelihood(rows) == pytest.approx(many.log_likelihood(rows), rel=1e-12)
    one, other = few.mpe(rows), many.mpe(rows)
    assert one == other
    assert one.log_probability == pytest.approx(other.log_probability, rel=1e-12)


@pytest.mark.parametrize("has_zeros", [False, True])
@pytest.mark.parametrize("num_states", [1, 2, 3, 4])
def test_expected_counts_are_the_same_whether_steps_share_their_rows(num_states, has_zeros):
    few, many = _models(num_states, num_states, has_zeros=has_zeros)
    values = np.repeat(few.sample(30, seed=0)["observation"].to_numpy(), 2)
    found = []
    for model in (few, many):
        chains = model._chains(model._read([values, values[:9]], None, None, "refuse"))
        apart = state_inference.expected(chains, chains.num_steps)
        shared = state_inference._summed(chains, chains.row_of, chains.num_steps, has_pairs=True)
        np.testing.assert_allclose(apart.rows, shared.rows, rtol=1e-12, atol=1e-15)
        np.testing.assert_allclose(apart.pairs, shared.pairs, rtol=1e-12)
        assert apart.rows.sum() == pytest.approx(chains.num_steps)
        assert apart.pairs.sum() == pytest.approx(chains.num_steps - 2)
        found.append(apart)
    np.testing.assert_allclose(found[0].firsts, found[1].firsts[:num_states], rtol=1e-10)
    np.testing.assert_allclose(found[0].pairs[0], found[1].pairs[0, :num_states, :num_states], rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("is_shared", [False, True])
def test_a_start_that_is_too_unlikely_for_numbers_is_counted_in_logarithms(is_shared):
    """Of several short sequences the second begins where only the state that cannot be first is probable."""
    emission = pb.GaussianEmission([0.0, 36.0], [1.0, 1.0])
    model = pb.HiddenMarkovModel([1.0, 0.0], [[0.9, 0.1], [0.2, 0.8]], emission)
    chains = model._chains(model._read([[0.1, 0.3], [36.0, 35.0, 0.4], [], [0.2, 18.0]], None, None, "refuse"))
    places = chains.row_of if is_shared else state_inference._NO_PLACES
    found, logs = (
        state_inference._summed(chains, places, chains.num_steps, has_pairs=True),
        state_inference._in_logs(chains),
    )
    np.testing.assert_allclose(found.rows, logs.smoothed, rtol=1e-10, atol=1e-14)
    np.testing.assert_allclose(found.firsts, [3.0, 0.0], rtol=1e-12)
    np.testing.assert_allclose(found.pairs, logs.pairs, rtol=1e-10)
    np.testing.assert_allclose(found.step_logs, logs.step_logs, rtol=1e-10)


@pytest.mark.parametrize("num_states", [2, 3, 4])
def test_each_step_counts_for_the_matrix_that_leads_to_it(num_states):
    few, _ = _models(num_states, num_states, has_zeros=False)
    rows = [few.sample(length, seed=length)["observation"].to_numpy() for length in (9, 0, 1, 14)]
    chains = few._chains(few._read(rows, None, None, "refuse"))
    matrices = np.concatenate([chains.transitions, chains.transitions[:, ::-1]])
    matrix_of = np.random.default_rng(0).integers(0, 2, chains.num_steps).astype(np.int32)
    chains = replace(chains, transitions=matrices, matrix_of=matrix_of)
    found, logs = state_inference.expected(chains, chains.num_steps), state_inference._in_logs(chains)
    np.testing.assert_allclose(found.pairs, logs.pairs, rtol=1e-10)
    np.testing.assert_allclose(found.firsts, logs.firsts, rtol=1e-10)
    np.testing.assert_allclose(found.step_logs, logs.step_logs, rtol=1e-10, atol=1e-14)


def test_nothing_observed_counts_nothing():
    model = pb.HiddenMarkovModel([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], [[0.7, 0.3], [0.4, 0.6]])
    found = state_inference.expected(model._chains(model._read([], None, None, "refuse")), 4)
    assert not any(part.any() for part in (found.rows, found.firsts, found.pairs))
