"""EM from sequences against forward-backward recursions written out."""

import numpy as np
import pandas as pd
import pytest

from plausible.cpds import TableCPD
from plausible.data.table import Table
from plausible.errors import InvalidArgument, NotSupported, UnknownState, UnknownVariable
from plausible.graphs import DAG
from plausible.learn.estimation.families import ParameterKnowledge
from plausible.learn.estimation.priors import K2
from plausible.learn.incomplete.em import learn_em
from plausible.learn.incomplete.sequences import SliceGraph, learn_sequences, unroll
from plausible.models import BayesianNetwork
from plausible.variables import Variable

MARKOV = SliceGraph("H -> O", [("H", "H")])


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
    hidden, seen = [Variable(f"H@{t}", 2) for t in (0, 1)], [Variable(f"O@{t}", 3) for t in (0, 1)]
    pair = BayesianNetwork(
        TableCPD(hidden[0], tables[0]),
        TableCPD(seen[0], tables[2], [hidden[0]]),
        TableCPD(hidden[1], tables[1], [hidden[0]]),
        TableCPD(seen[1], tables[2], [hidden[1]]),
    )
    return tables, pair


def frames(rows):
    """As data frames; the first sequence shows all signs, so that they are read in order."""
    return [{"O": [None if code < 0 else code for code in row]} for row in rows]


@pytest.mark.parametrize("lengths", [[6] * 12, [1, 2, 5, 9, 9, 3, 1, 20]])
def test_steps_are_those_of_baum_and_welch(lengths):
    """For sequences of one and of several lengths, with cells missing at some times."""
    rng = np.random.default_rng(len(lengths))
    rows = [*markov_rows(rng, lengths), [0, 1, 2]]
    tables, start = start_tables(rng)
    trace = []
    for _ in range(8):
        *tables, log = baum_welch_step(*tables, rows)
        trace.append(log)
    fit = learn_sequences(MARKOV, frames(rows), hidden={"H": 2}, start=start, tolerance=0.0, max_steps=8)
    np.testing.assert_allclose(fit.trace[:8], trace, rtol=1e-10)
    np.testing.assert_allclose(fit.network.cpd("H@0").values, tables[0], atol=1e-9)
    np.testing.assert_allclose(fit.network.cpd("H@1").values, tables[1], atol=1e-9)
    np.testing.assert_allclose(fit.network.cpd("O@1").values, tables[2], atol=1e-9)
    assert np.array_equal(fit.network.cpd("O@0").values, fit.network.cpd("O@1").values)
    assert np.diff(fit.trace).min() >= -1e-9


def test_an_unrolled_network_with_tied_tables_learns_the_same():
    """learn_em with knowledge of which tables are one: Baum-Welch for sequences of one length."""
    rng = np.random.default_rng(5)
    rows = [*markov_rows(rng, [4] * 15), [0, 1, 2, 0]]
    _, start = start_tables(rng)
    wide = unroll(MARKOV, start, 4)
    table = Table.read(
        {f"O@{t}": [None if row[t] < 0 else row[t] for row in rows] for t in range(4)},
        [wide.variables[f"O@{t}"] for t in range(4)],
    )
    knowledge = ParameterKnowledge(tied=MARKOV.tied(4))
    tied = learn_em(wide, table, start=wide, knowledge=knowledge, tolerance=0, max_steps=6)
    fit = learn_sequences(MARKOV, frames(rows), hidden={"H": 2}, start=start, tolerance=0.0, max_steps=6)
    assert tied.trace == pytest.approx(fit.trace)
    assert tied.network.is_close(unroll(MARKOV, fit.network, 4), 1e-9)
    assert MARKOV.unrolled(4) == wide.graph


def test_from_a_single_trajectory_the_first_slice_can_hardly_be_told():
    """Its table has one case, while those of the moves have all the others."""
    rng = np.random.default_rng(1)
    (row,) = markov_rows(rng, [40], missing=0.1)
    fit = learn_sequences(MARKOV, frames([row]), hidden={"H": 2}, restarts=1, seed=1)
    assert fit.expectations.counts["H@0"].sum() == pytest.approx(1)
    assert fit.expectations.counts["H@1"].sum() == pytest.approx(39)
    assert set(fit.poorly_determined(2)) == {"H@0", "O@0"}


def test_complete_sequences_give_the_frequencies_of_moves():
    """A chain with an input that drives it: counts over all times but the first, in one step."""
    rng = np.random.default_rng(2)
    data = [pd.DataFrame({"u": rng.integers(2, size=n), "x": rng.integers(3, size=n)}) for n in (40, 25, 1)]
    graph = SliceGraph("u -> x", [("x", "x")])
    fit = learn_sequences(graph, data, K2())
    counts = np.ones((3, 2, 3))
    for frame in data:
        np.add.at(counts, (frame.x[:-1], frame.u[1:], frame.x[1:]), 1)
    found = fit.network.cpd("x@1").to_factor().reorder(["x@0", "u@1", "x@1"]).values
    np.testing.assert_allclose(found, counts / counts.sum(axis=-1, keepdims=True))


def test_wrong_sequences_are_refused():
    with pytest.raises(InvalidArgument, match="list of tables"):
        learn_sequences(MARKOV, {"O": [0, 1]}, hidden={"H": 2})
    with pytest.raises(InvalidArgument, match="not empty"):
        learn_sequences(MARKOV, [], hidden={"H": 2})
    with pytest.raises(NotSupported, match="'O' is continuous"):
        learn_sequences(MARKOV, [{"O": [0.5, 1.5]}], hidden={"H": 2})
    with pytest.raises(UnknownVariable):
        SliceGraph("H -> O", [("G", "H")])
    only = learn_sequences(SliceGraph(DAG([], nodes=["X"]), [("X", "X")]), [{"X": [0]}, {"X": [1]}])
    np.testing.assert_allclose(only.network.cpd("X@0").values, [0.5, 0.5])
    assert only.cases.visibility["X@1"] == "hidden"  # what follows the last slice is not known


def test_tables_are_sequences_with_the_states_that_they_declare():
    variable = Variable("x", ["a", "b", "never"])
    rows = [["a", "b", None, "a"], ["b", "b"]]
    graph = SliceGraph(DAG([], nodes=["x"]), [("x", "x")])
    fit = learn_sequences(graph, [Table.read({"x": row}, [variable]) for row in rows], K2())
    assert fit.network.variables["x@1"].states == variable.states
    short = learn_sequences(graph, [{"x": row} for row in rows], {"x@0": K2(), "x@1": K2()})
    assert fit.cases.codes.tolist() == short.cases.codes.tolist()
    with pytest.raises(InvalidArgument, match="'x' has the states"):
        learn_sequences(graph, [Table.read({"x": rows[0]}, [variable]), Table.read({"x": rows[1]})])
    with pytest.raises(NotSupported, match="no weights"):
        learn_sequences(graph, [Table.read({"x": ["a", "b"]}, weights=[1.0, 2.0])])


def test_a_start_and_categories_set_the_states_of_sequences():
    """States that no time has stay, in the order given; tables are the frequencies of pairs, by hand."""
    graph = SliceGraph(DAG([], nodes=["x"]), [("x", "x")])
    rows = [{"x": ["a", "b", "b"]}, {"x": ["a", "a"]}]
    states = ["c", "b", "a"]
    first = TableCPD("x@0", [0.2, 0.3, 0.5], states=states)
    start = BayesianNetwork(first, TableCPD("x@1", np.full((3, 3), 1 / 3), ["x@0"], states=states))
    named = learn_sequences(graph, rows, start=start).network
    frames = [pd.DataFrame(each, dtype=pd.CategoricalDtype(states)) for each in rows]
    for found in (named, learn_sequences(graph, frames).network):
        assert found.variables["x@1"].states == tuple(states)
        assert found.cpd("x@0").values == pytest.approx([0, 0, 1])
        assert found.cpd("x@1").values[1:] == pytest.approx(np.array([[0, 1, 0], [0, 0.5, 0.5]]))
    with pytest.raises(UnknownState, match="'d' is not a state of 'x'"):
        learn_sequences(graph, [{"x": ["a", "d"]}], start=start)
