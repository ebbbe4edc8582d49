"""Restricted Boltzmann machines against enumeration."""

import itertools

import numpy as np
import pandas as pd
import pytest

import plausible as pb
from plausible.learn.boltzmann import EpochState

ROWS = np.repeat([[1, 1, 0, 0], [0, 0, 1, 1], [1, 1, 1, 1], [0, 0, 0, 0]], [300, 300, 50, 50], axis=0)


def test_probabilities_are_those_of_listing_all_states():
    """log P(v), log Z, P(h | v) and the network, by the definition exp(v·b + h·c + vWh)."""
    machine = pb.learn.RestrictedBoltzmannMachine(3, num_epochs=5, seed=0).fit(ROWS)
    weights, b, c = machine.weights_, machine.visible_bias_, machine.hidden_bias_
    visible = np.array(list(itertools.product((0, 1), repeat=4)))
    hidden = np.array(list(itertools.product((0, 1), repeat=3)))
    logs = visible @ b[:, None] + hidden @ c + visible @ weights @ hidden.T
    total = np.logaddexp.reduce(logs.ravel())
    assert machine.log_partition() == pytest.approx(total, rel=1e-9)
    assert machine.score_samples(visible) == pytest.approx(np.logaddexp.reduce(logs, axis=1) - total, rel=1e-9)
    shares = np.exp(logs - np.logaddexp.reduce(logs, axis=1, keepdims=True))
    assert machine.transform(visible) == pytest.approx(shares @ hidden, rel=1e-9)
    network = machine.to_network()
    assert network.log_partition() == pytest.approx(total, rel=1e-9)
    wide = pb.learn.RestrictedBoltzmannMachine(6, num_epochs=1, seed=0).fit(ROWS)
    assert wide.log_partition() == pytest.approx(wide.to_network().log_partition(), rel=1e-9)


@pytest.mark.parametrize("persistent", [False, True])
def test_learning_comes_near_the_entropy_of_the_rows(persistent):
    """No model has a larger mean of log P than the rows' own frequencies; independent columns are far below."""
    options = {"num_epochs": 300, "learning_rate": 1.0, "persistent": persistent, "seed": 0}
    machine, again = (pb.learn.RestrictedBoltzmannMachine(4, **options).fit(ROWS) for _ in "ab")
    assert np.array_equal(machine.weights_, again.weights_)
    shares = np.array([300, 300, 50, 50]) / 700
    best = float(shares @ np.log(shares))
    assert best - 0.35 < machine.score(ROWS) <= best


def test_draws_have_the_distribution_of_the_machine():
    """Frequencies of many chains against exp(score_samples)."""
    machine = pb.learn.RestrictedBoltzmannMachine(3, num_epochs=20, seed=0).fit(ROWS)
    drawn = machine.sample(20_000, sweeps=100, seed=2) @ [8, 4, 2, 1]
    visible = np.array(list(itertools.product((0, 1), repeat=4)))
    found = np.bincount(drawn.astype(int), minlength=16) / 20_000
    assert found == pytest.approx(np.exp(machine.score_samples(visible)), abs=0.015)


def test_a_stack_has_a_machine_for_each_layer():
    """Each layer learns from the transformed rows of the one below."""
    stack = pb.learn.fit_stack(ROWS, [5, 2], num_epochs=20, seed=0)
    first, second = stack.machines
    assert stack.transform(ROWS) == pytest.approx(second.transform(first.transform(ROWS)), rel=1e-12)
    assert stack.sample(10, sweeps=5, seed=0).shape == (10, 4)
    with pytest.raises(pb.errors.InvalidArgument, match="at least one layer"):
        pb.learn.fit_stack(ROWS, [])


def test_constant_columns_one_row_and_what_is_refused():
    """Degenerate rows are learned from; others are told of."""
    one = pb.learn.RestrictedBoltzmannMachine(2, seed=0).fit(pd.DataFrame({"A": [1], "B": [0]}))
    assert np.isfinite(one.score_samples([[1, 0]])).all()
    with pytest.raises(pb.errors.InvalidArgument, match="row 0, column 1"):
        one.fit([[0, 3.0]])
    with pytest.raises(pb.errors.InvalidArgument, match="2 features"):
        one.transform([[0]])
    with pytest.raises(ValueError, match="call fit first"):
        pb.learn.RestrictedBoltzmannMachine().transform([[0]])
    with pytest.raises(pb.errors.InvalidArgument, match="num_hidden"):
        pb.learn.RestrictedBoltzmannMachine(0).fit(ROWS)
    large = pb.learn.RestrictedBoltzmannMachine(30, num_epochs=0, seed=0).fit(np.zeros((2, 25)))
    with pytest.raises(pb.errors.TooLarge, match=r"2\^25"):
        large.log_partition()


@pytest.mark.parametrize(("steps", "persistent"), [(1, False), (2, False), (60, False), (60, True)])
def test_a_step_goes_along_the_gradient_of_its_sweeps(steps, persistent):
    """The mean move from given weights is E over rows - E after so many sweeps, by listing all states.

    After many sweeps, wherever they begin, that is the gradient of the likelihood.
    """
    rng = np.random.default_rng(3)
    shapes = (4, 2), (4,), (2,)
    parts = [rng.normal(size=shape).astype(np.float32) for shape in shapes]
    state = EpochState(0, *parts, chains=np.ones((len(ROWS), 2), dtype=np.float32))
    weights, b, c = (part.astype(float) for part in parts)
    visible = np.array(list(itertools.product((0, 1), repeat=4)))
    hidden = np.array(list(itertools.product((0, 1), repeat=2)))
    logs = visible @ b[:, None] + hidden @ c + visible @ weights @ hidden.T
    up, down = (np.exp(logs - np.logaddexp.reduce(logs, axis=axis, keepdims=True)) for axis in (1, 0))
    rows = np.bincount(ROWS @ [8, 4, 2, 1], minlength=16) / len(ROWS)
    after = rows @ up if not persistent else np.eye(4)[3]
    for _ in range(steps):
        seen = down @ after
        after = seen @ up
    expected = visible.T @ ((rows - seen)[:, None] * (up @ hidden))
    if steps > 50:
        model = np.exp(np.logaddexp.reduce(logs, axis=1) - np.logaddexp.reduce(logs.ravel()))
        np.testing.assert_allclose(seen, model, atol=1e-6)

    def moved(seed):
        options = {"steps": steps, "persistent": persistent, "learning_rate": 1.0, "batch_size": len(ROWS)}
        machine = pb.learn.RestrictedBoltzmannMachine(2, num_epochs=1, resume=state, seed=seed, **options)
        return machine.fit(ROWS).weights_ - weights

    moves = np.array([moved(seed) for seed in range(60)])
    errors = moves.std(axis=0) / np.sqrt(len(moves))
    assert (np.abs(moves.mean(axis=0) - expected) < 5 * errors + 1e-4).all()


def test_training_is_told_of_ended_and_gone_on_with():
    """Each epoch is told; who keeps the last state goes on after Ctrl-C; what grows beyond all numbers is refused."""
    states = []

    def watch(state):
        states.append(state)
        if len(states) == 3:
            raise KeyboardInterrupt

    options = {"num_epochs": 8, "seed": 0}
    with pytest.raises(KeyboardInterrupt):
        pb.learn.RestrictedBoltzmannMachine(2, progress=watch, **options).fit(ROWS)
    gone_on = pb.learn.RestrictedBoltzmannMachine(2, resume=states[-1], **options).fit(ROWS)
    assert [gone_on.run_.num_steps, gone_on.run_.stopped_by] == [8, "step limit"]
    assert not np.array_equal(gone_on.weights_, states[-1].weights)
    ended = pb.learn.RestrictedBoltzmannMachine(2, progress=lambda state: True, **options).fit(ROWS)
    assert ended.run_.stopped_by == "interrupted"
    assert np.array_equal(ended.weights_, states[0].weights)
    with pytest.raises(pb.errors.InvalidArgument, match="4 columns and 3 units"):
        pb.learn.RestrictedBoltzmannMachine(3, resume=ended.run_).fit(ROWS)
    with pytest.raises(pb.errors.InvalidArgument, match=r"in epoch 1: take a learning_rate= below 1e\+40"):
        pb.learn.RestrictedBoltzmannMachine(4, learning_rate=1e40, seed=0).fit(ROWS)
    with pytest.raises(pb.errors.InvalidArgument, match="no table of numbers"):
        pb.learn.RestrictedBoltzmannMachine(4).fit([["yes", "no"]])
