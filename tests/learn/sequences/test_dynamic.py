"""EM of networks over time against forward-backward recursions written out, and against frequencies."""

import itertools

import numpy as np
import pandas as pd
import pytest

import plausible as pb
from plausible import DynamicBayesianNetwork, TableCPD
from plausible.errors import InvalidArgument, InvalidGraph, UnknownState, UnknownVariable
from plausible.learn import K2, ParameterKnowledge
from plausible.models.sequences import joint_chains
from plausible.variables import Variable
from slice_oracle import random_tables, random_weights

MARKOV = "H[-1] -> H -> O"


def forward_backward(initial, transition, emission, row):
    """log P(row), P(h_t | row) and P(h_t, h_t+1 | row); -1 where nothing was seen."""
    likely = np.array([np.ones(len(initial)) if seen < 0 else emission[:, seen] for seen in row])
    forward, backward = np.zeros(likely.shape), np.ones(likely.shape)
    forward[0] = initial * likely[0]
    for t in range(1, len(row)):
        forward[t] = forward[t - 1] @ transition * likely[t]
    for t in range(len(row) - 2, -1, -1):
        backward[t] = transition @ (likely[t + 1] * backward[t + 1])
    total = forward[-1].sum()
    pairs = [forward[t][:, None] * transition * (likely[t + 1] * backward[t + 1]) / total for t in range(len(row) - 1)]
    return np.log(total), forward * backward / total, pairs


def baum_welch_step(initial, transition, emission, rows):
    """The next tables, and the log-likelihood under the present ones; missing cells are expected as well."""
    first, moves, seen = np.zeros_like(initial), np.zeros_like(transition), np.zeros_like(emission)
    total = 0.0
    for row in rows:
        log, single, pairs = forward_backward(initial, transition, emission, row)
        total += log
        first += single[0]
        moves += sum(pairs, np.zeros_like(transition))
        for weights, state in zip(single, row, strict=True):
            seen += weights[:, None] * (emission if state < 0 else np.eye(emission.shape[1])[state])
    return first / first.sum(), *(t / t.sum(axis=1, keepdims=True) for t in (moves, seen)), total


def markov_rows(rng, lengths, missing=0.2):
    """Sequences of a chain with two states and three signs."""
    transition, emission = np.array([[0.9, 0.1], [0.2, 0.8]]), np.array([[0.7, 0.2, 0.1], [0.1, 0.2, 0.7]])
    rows = []
    for length in lengths:
        state, row = rng.integers(2), []
        for _ in range(length):
            row.append(-1 if rng.random() < missing else int(rng.choice(3, p=emission[state])))
            state = rng.choice(2, p=transition[state])
        rows.append(row)
    return rows


def start_tables(rng):
    tables = rng.dirichlet([2, 2]), rng.dirichlet([2, 2], size=2), rng.dirichlet([2, 2, 2], size=2)
    moves = [TableCPD("H", tables[1], ["H[-1]"]), TableCPD("O", tables[2], ["H"])]
    return tables, DynamicBayesianNetwork([TableCPD("H", tables[0])], moves)


def frames(rows):
    """As data frames."""
    return [{"O": [None if code < 0 else code for code in row]} for row in rows]


@pytest.fixture(params=["as one chain", "on trees"])
def _way(request, monkeypatch):
    """Expectations over joint states, where these are few, and on trees."""
    if request.param == "on trees":
        monkeypatch.setattr(joint_chains, "_MOST_STATES", 0)


@pytest.mark.usefixtures("_way")
@pytest.mark.filterwarnings("ignore::plausible.learn.SymmetricStart")  # variables of one state leave nothing to tell
@pytest.mark.parametrize("seed", range(6))
def test_expectations_are_sums_over_all_trajectories(seed):
    """Σ P(parents, child | o) of each family, with zeros, variables of one state, soft cells and cells of all kinds."""
    rng = np.random.default_rng(seed)
    tables = random_tables(rng, num_variables=int(rng.integers(2, 4)))
    model, sequences, logs = tables.model(), [], []
    wanted = {key: np.zeros(values.shape) for key, (_, values) in tables.tables.items()}
    for length in (1, 3, 2):
        rows, weights = random_weights(rng, tables, length, model)
        sequences.append(rows)
        joint = tables.joint(weights)
        total = sum(joint.values())
        logs.append(np.log(total))
        for path, weight in joint.items():
            for step, name in itertools.product(range(length), tables.sizes):
                key = (step if step < tables.lags else None, name)
                states = [path[step - lag][list(tables.sizes).index(each)] for each, lag in tables.tables[key][0]]
                wanted[key][(*states, path[step][list(tables.sizes).index(name)])] += weight / total
    found = pb.learn.dynamic(model, sequences, max_steps=0).em.expectations
    np.testing.assert_allclose(found.case_log_likelihoods, logs, rtol=0, atol=1e-12)
    for (step, name), table in wanted.items():
        np.testing.assert_allclose(found.counts[f"{name}[{1 if step is None else 0}]"], table, rtol=0, atol=1e-12)


@pytest.mark.usefixtures("_way")
@pytest.mark.parametrize("lengths", [[6] * 12, [1, 2, 5, 9, 9, 3, 1, 20]])
def test_steps_are_those_of_baum_and_welch(lengths):
    """For sequences of one and of several lengths, with cells missing at some times; the objective never falls."""
    rng = np.random.default_rng(len(lengths))
    rows = [*markov_rows(rng, lengths), [0, 1, 2]]
    tables, start = start_tables(rng)
    trace = []
    for _ in range(8):
        *tables, log = baum_welch_step(*tables, rows)
        trace.append(log)
    fit = pb.learn.dynamic(start, frames(rows), tolerance=0.0, max_steps=8)
    np.testing.assert_allclose(fit.trace[:8], trace, rtol=1e-10)
    np.testing.assert_allclose(fit.model.initial[0]["H"].values, tables[0], atol=1e-9)
    np.testing.assert_allclose(fit.model.transition["H"].values, tables[1], atol=1e-9)
    np.testing.assert_allclose(fit.model.transition["O"].values, tables[2], atol=1e-9)
    assert np.array_equal(fit.model.initial[0]["O"].values, fit.model.transition["O"].values)
    assert np.diff(fit.trace).min() >= -1e-9
    assert fit.log_likelihood == pytest.approx(fit.model.log_likelihood(frames(rows)), rel=1e-12)


def test_an_unrolled_network_with_tied_tables_learns_the_same():
    """learn.em of the unrolled network, with knowledge of which tables are one, for sequences of one length."""
    rng = np.random.default_rng(5)
    rows = [*markov_rows(rng, [4] * 15), [0, 1, 2, 0]]
    _, start = start_tables(rng)
    wide = start.unroll(4)
    table = pd.DataFrame({f"O[{t}]": [None if row[t] < 0 else row[t] for row in rows] for t in range(4)}, dtype=object)
    tied = [[f"H[{t}]" for t in (1, 2, 3)], [f"O[{t}]" for t in range(4)]]
    expected = pb.learn.em(wide, table, start=wide, knowledge=ParameterKnowledge(tied=tied), tolerance=0, max_steps=6)
    fit = pb.learn.dynamic(start, frames(rows), tolerance=0.0, max_steps=6)
    assert expected.trace == pytest.approx(fit.trace)
    assert expected.network.is_close(fit.model.unroll(4), 1e-9)


def test_two_steps_back_and_priors_of_slices():
    """A chain of order two with nothing missing: counts, with the prior of each slice, by hand."""
    rng = np.random.default_rng(3)
    data = [rng.integers(2, size=length) for length in (30, 2, 1, 17)]
    fit = pb.learn.dynamic("x[-2] -> x; x[-1] -> x", [{"x": each.tolist()} for each in data], K2())
    counts = np.ones((2, 2, 2))
    second = np.ones((2, 2))
    first = np.ones(2)
    for row in data:
        first[row[0]] += 1
        if len(row) > 1:
            second[row[0], row[1]] += 1
        for t in range(2, len(row)):
            counts[row[t - 2], row[t - 1], row[t]] += 1
    later = fit.model.transition["x"].to_factor().reorder(["x[-2]", "x[-1]", "x"]).values
    np.testing.assert_allclose(later, counts / counts.sum(axis=-1, keepdims=True))
    np.testing.assert_allclose(fit.model.initial[1]["x"].values, second / second.sum(axis=-1, keepdims=True))
    np.testing.assert_allclose(fit.model.initial[0]["x"].values, first / first.sum())


def test_from_a_single_trajectory_the_first_slice_can_hardly_be_told():
    """Its table has one case, while those of the moves have all the others."""
    rng = np.random.default_rng(1)
    (row,) = markov_rows(rng, [40], missing=0.1)
    fit = pb.learn.dynamic(MARKOV, frames([row]), hidden={"H": 2}, restarts=1, seed=1, max_steps=20)
    assert fit.em.expectations.counts["H[0]"].sum() == pytest.approx(1)
    assert fit.em.expectations.counts["H[1]"].sum() == pytest.approx(39)


def test_complete_sequences_give_the_frequencies_of_moves():
    """A chain with a variable that drives it: counts over all times but the first, in one step."""
    rng = np.random.default_rng(2)
    data = [pd.DataFrame({"u": rng.integers(2, size=n), "x": rng.integers(3, size=n)}) for n in (40, 25, 1)]
    fit = pb.learn.dynamic("x[-1] -> x; u -> x", data, K2())
    counts = np.ones((3, 2, 3))
    for frame in data:
        np.add.at(counts, (frame.x[:-1], frame.u[1:], frame.x[1:]), 1)
    found = fit.model.transition["x"].to_factor().reorder(["x[-1]", "u", "x"]).values
    np.testing.assert_allclose(found, counts / counts.sum(axis=-1, keepdims=True))
    assert fit.log_likelihood == pytest.approx(fit.model.log_likelihood(data), rel=1e-12)


def test_fixed_distributions_stay():
    """What fixed= names is as it was; the rest is learned."""
    rng = np.random.default_rng(4)
    rows = markov_rows(rng, [30, 20])
    tables, start = start_tables(rng)
    fit = pb.learn.dynamic(start, frames(rows), fixed=["O"], max_steps=5)
    np.testing.assert_array_equal(fit.model.transition["O"].values, tables[2])
    assert not np.allclose(fit.model.transition["H"].values, tables[1])
    with pytest.raises(InvalidArgument, match="not a graph"):
        pb.learn.dynamic(MARKOV, frames(rows), hidden={"H": 2}, fixed=["O"])


def test_wrong_sequences_are_refused():
    """Errors name the variable and the remedy."""
    with pytest.raises(UnknownVariable, match=r"hidden=\{'H': 2\}"):
        pb.learn.dynamic(MARKOV, {"O": [0, 1]})
    with pytest.raises(InvalidGraph, match="arrow leads into 'H"):
        pb.learn.dynamic("O -> H[-1]; H[-1] -> H", {"O": [0, 1], "H": [0, 1]})


def test_a_start_and_categories_set_the_states_of_sequences():
    """States that no time has stay, in the order given; tables are the frequencies of pairs, by hand."""
    rows = [{"x": ["a", "b", "b"]}, {"x": ["a", "a"]}]
    states = ["c", "b", "a"]
    start = DynamicBayesianNetwork(
        [TableCPD("x", [0.2, 0.3, 0.5], states=states)],
        [TableCPD("x", np.full((3, 3), 1 / 3), [Variable("x[-1]", states)], states=states)],
    )
    named = pb.learn.dynamic("x[-1] -> x", rows, start=start).model
    typed = [pd.DataFrame(each, dtype=pd.CategoricalDtype(states)) for each in rows]
    for found in (named, pb.learn.dynamic("x[-1] -> x", typed).model):
        assert found.variables["x"].states == tuple(states)
        assert found.initial[0]["x"].values == pytest.approx([0, 0, 1])
        assert found.transition["x"].values[1:] == pytest.approx(np.array([[0, 1, 0], [0, 0.5, 0.5]]))
    with pytest.raises(UnknownState, match="'d' is not a state of 'x'"):
        pb.learn.dynamic("x[-1] -> x", [{"x": ["a", "d"]}], start=start)
