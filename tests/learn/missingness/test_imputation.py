"""Filling cells: what may not change, and what the filled cells are drawn from."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from network_oracle import joint_of_bayesian_network, random_network
from plausible.cpds import LinearGaussianCPD, TableCPD
from plausible.data.table import Table
from plausible.errors import ImpossibleEvidence, InvalidArgument
from plausible.learn.missingness.imputation import impute
from plausible.models import BayesianNetwork
from plausible.variables import Variable

seeds = st.integers(0, 10**6)
COLUMN_METHODS = ["most-frequent", "mean", "median", "random", "uniform", "hot-deck"]
NETWORK_METHODS = ["most-probable", "most-probable-completion", "draw"]

PANDAS = pd.DataFrame(
    {
        "number": [1.5, None, 2.5, 9.0, None],
        "text": ["a", None, "b", "b", "b"],
        "category": pd.Categorical(["u", "v", None, "v", "w"], categories=["w", "v", "u"], ordered=True),
        "whole": pd.array([1, 2, None, 2, 3], dtype="Int64"),
        "flag": pd.array([True, None, False, True, True], dtype="boolean"),
        "complete": [7, 8, 9, 7, 8],
    },
    index=list("vwxyz"),
)


def _same(before, after):
    """Observed cells are equal, and nothing is missing any more."""
    assert not after.isna().any().any()
    for name in before.columns:
        there = before[name].notna()
        assert before[name][there].tolist() == after[name][there].tolist()


@pytest.mark.parametrize("method", COLUMN_METHODS)
def test_types_index_and_order_of_columns_come_back_as_they_went_in(method):
    """With pandas and polars, whole numbers, booleans, categories and text; and nothing observed changes."""
    result = impute(PANDAS, method, seed=0)
    pd.testing.assert_index_equal(result.data.index, PANDAS.index)
    assert result.data.dtypes.to_dict() == PANDAS.dtypes.to_dict()
    assert list(result.data.columns) == list(PANDAS.columns)
    _same(PANDAS, result.data)
    assert {name: mask.tolist() for name, mask in result.filled.items()} == {
        name: PANDAS[name].isna().tolist() for name in PANDAS.columns if name != "complete"
    }
    frame = pl.from_pandas(PANDAS)
    filled = impute(frame, method, seed=0).data
    assert filled.schema == frame.schema
    _same(PANDAS.reset_index(drop=True), filled.to_pandas())


def test_baselines_fill_what_they_say():
    """Mode and mean, median, defaults; ties go to the first state."""
    rows = {"x": ["b", "a", None], "y": [0.5, 2.0, None], "z": [5, None, 5]}
    assert impute(rows).data == {"x": ["b", "a", "a"], "y": [0.5, 2.0, 1.25], "z": [5, 5, 5]}
    assert impute({"y": [0.5, 2.0, 9.0, None]}, "median").data["y"][-1] == 2.0
    assert impute(rows, "default", values={"x": "b", "z": 5}).data == {
        "x": ["b", "a", "b"],
        "y": [0.5, 2.0, None],
        "z": [5, 5, 5],
    }
    assert impute(Table.read(rows), "default", values={"y": 4}).data.numbers[0].tolist() == [0.5, 2.0, 4.0]
    assert set(impute({"x": [None] * 50}, "uniform", variables={"x": Variable("x", 2)}, seed=0).data["x"]) == {0, 1}


def test_draws_of_baselines_follow_the_column_or_the_uniform_distribution():
    """Chi-square of 3,000 cells; hot-deck takes from rows that agree."""
    rows = {"x": ["a", "b", "b", "c"] * 500 + [None] * 3000}
    for method, shares in (("random", [0.25, 0.5, 0.25]), ("uniform", [1 / 3] * 3)):
        drawn = impute(rows, method, seed=1).data["x"][2000:]
        assert stats.chisquare([drawn.count(s) for s in "abc"], np.array(shares) * 3000).pvalue > 1e-4
    deck = {"x": ["a"] * 6 + ["b"] * 6, "y": [1, 1, 2, 2, None, None, 5, 5, 6, 6, None, None]}
    filled = impute(deck, "hot-deck", seed=2).data["y"]
    assert {*filled[4:6]} <= {1, 2}
    assert {*filled[10:]} <= {5, 6}
    near = {"x": [1.0, 2.0, 10.0, 9.8], "y": ["low", "low", "high", None]}
    assert impute(near, "hot-deck").data["y"][-1] == "high"


def _holes(rng, network, num_rows, share=0.5):
    frame = network.sample(num_rows, seed=rng).astype(object)
    return {name: [None if rng.random() < share else cell for cell in frame[name]] for name in network.variables}


@given(seed=seeds)
@settings(max_examples=15, deadline=None)
def test_cells_and_rows_get_what_enumeration_says_is_most_probable(seed):
    """Per cell the mode of P(x | row); per row a completion of the largest joint probability."""
    rng = np.random.default_rng(seed)
    network = random_network(rng, 4)
    rows = _holes(rng, network, 6)
    joint = joint_of_bayesian_network(network)
    cells, best = (impute(rows, method, network=network).data for method in NETWORK_METHODS[:2])
    for row in range(6):
        known = {name: column[row] for name, column in rows.items() if column[row] is not None}
        fitting = [(a, p) for a, p in joint if all(a[n] == s for n, s in known.items())]
        chosen = {name: column[row] for name, column in best.items()}
        assert known.items() <= chosen.items()
        assert dict_probability(joint, chosen) == pytest.approx(max(p for _, p in fitting))
        for name in network.variables:
            shares = {s: sum(p for a, p in fitting if a[name] == s) for s in network.variables[name].states}
            assert shares[cells[name][row]] == pytest.approx(max(shares.values()))


def dict_probability(joint, assignment):
    """The probability of one full assignment."""
    return next(p for a, p in joint if a == assignment)


@pytest.mark.parametrize("seed", range(4))
def test_draws_follow_the_joint_distribution_of_all_missing_cells_of_a_row(seed):
    """Chi-square of 4,000 draws of equal rows against the enumerated posterior, not only of each cell alone."""
    rng = np.random.default_rng(seed)
    network = random_network(rng, 5, zeros=0.1)
    one = {name: column[0] for name, column in _holes(rng, network, 1, 0.6).items()}
    drawn = impute({name: [cell] * 4000 for name, cell in one.items()}, "draw", network=network, seed=rng).data
    joint = joint_of_bayesian_network(network)
    fitting = [(a, p) for a, p in joint if p > 0 and all(s is None or a[n] == s for n, s in one.items())]
    counts = [sum(all(drawn[n][r] == a[n] for n in a) for r in range(4000)) for a, _ in fitting]
    assert sum(counts) == 4000
    shares = np.array([p for _, p in fitting])
    expected = 4000 * shares / shares.sum()
    common = expected > 5
    if common.sum() > 1:
        pooled = [*np.array(counts)[common], sum(np.array(counts)[~common])]
        wanted = [*expected[common], expected[~common].sum()]
        keep = np.array(wanted) > 0
        assert stats.chisquare(np.array(pooled)[keep], np.array(wanted)[keep]).pvalue > 1e-4


def test_draws_of_numbers_have_the_conditional_moments():
    """Two hidden numbers of a chain given the first and a state: mean and covariance by the Gaussian formulas."""
    network = BayesianNetwork(
        TableCPD("k", [0.5, 0.5]),
        LinearGaussianCPD("x", 0.0, variance=1.0),
        LinearGaussianCPD("y", 1.0, {"x": 2.0}, 0.5),
        LinearGaussianCPD("z", 0.0, {"y": 1.0}, 0.25),
    )
    num = 20000
    rows = {"k": [0] * num, "x": [1.5] * num, "y": [None] * num, "z": [None] * num}
    drawn = impute(rows, "draw", network=network, seed=0).data
    y, z = np.array(drawn["y"]), np.array(drawn["z"])
    assert np.mean(y) == pytest.approx(4.0, abs=0.03)
    np.testing.assert_allclose(np.cov(y, z), [[0.5, 0.5], [0.5, 0.75]], atol=0.03)
    mean = impute({"x": [1.5], "y": [None]}, "most-probable", network=network).data
    assert mean == {"x": [1.5], "y": [4.0]}


@pytest.mark.parametrize("method", NETWORK_METHODS)
def test_columns_that_a_network_does_not_know_stay_and_hidden_ones_are_summed_out(method):
    """Names outside the network, missing cells included, and variables without a column."""
    rng = np.random.default_rng(0)
    network = random_network(rng, 4, zeros=0.0)
    rows = {"note": ["p", None], **_holes(rng, network, 2)}
    del rows["X1"]
    for data in (rows, Table.read(rows, [network.variables[n] for n in rows if n != "note"])):
        result = impute(data, method, network=network, seed=1)
        table = Table.read(result.data, [network.variables[n] for n in rows if n != "note"])
        assert table.missing == {"note": 1}
        assert list(table.variables) == list(rows)


@pytest.mark.parametrize("method", NETWORK_METHODS)
def test_a_row_that_cannot_happen_is_an_error_with_its_number(method):
    """So is a method without its network, and one that does not exist."""
    network = BayesianNetwork(
        TableCPD("A", [1.0, 0.0]), TableCPD("B", [[1.0, 0.0], [0.5, 0.5]], parents=["A"]), TableCPD("C", [0.5, 0.5])
    )
    rows = {"A": [0, 0, 0], "B": [0, 0, 1], "C": [1, None, None]}
    with pytest.raises(ImpossibleEvidence, match="Row 2"):
        impute(rows, method, network=network)
    with pytest.raises(InvalidArgument, match="network="):
        impute(rows, method)
    with pytest.raises(InvalidArgument, match="no way to fill"):
        impute(rows, "mood")
    with pytest.raises(InvalidArgument, match="No column"):
        impute({"Q": [1]}, method, network=network)


@pytest.mark.parametrize("method", [*COLUMN_METHODS, *NETWORK_METHODS])
def test_complete_and_empty_tables_come_back(method):
    """Nothing to fill is nothing changed."""
    network = BayesianNetwork(TableCPD("A", [0.5, 0.5]))
    for rows in ({"A": [0, 1]}, {"A": np.empty(0, dtype=np.int64)}):
        result = impute(rows, method, network=network, seed=0, variables=network.variables)
        assert list(result.data["A"]) == list(rows["A"])
        assert result.num_filled == 0


@pytest.mark.parametrize("method", ["most-frequent", "mean", "median"])
def test_weights_fill_as_repeated_rows_do(method):
    rng = np.random.default_rng(0)
    for size in (4, 5, 9):
        weights = rng.integers(1, 4, size)
        columns = {"c": rng.choice(list("ab"), size).astype(object), "x": rng.normal(size=size)}
        columns["c"][0], columns["x"][0] = None, np.nan
        table = Table.read(columns)
        filled = impute(table.weighted(weights), method).data
        repeated = impute(table.take(np.repeat(np.arange(size), weights)), method).data
        assert filled.codes[0, 0] == repeated.codes[0, 0]
        assert filled.numbers[0, 0] == pytest.approx(repeated.numbers[0, 0])


def test_random_values_are_drawn_by_weight():
    table = Table.read({"c": ["a", "b", *[None] * 4000]}, weights=[9, 1, *[1] * 4000])
    drawn = impute(table, "random", seed=0).data.codes[0, 2:]
    assert np.mean(drawn == 0) == pytest.approx(0.9, abs=0.02)


def test_cells_that_the_network_does_not_know_are_told():
    net = BayesianNetwork(TableCPD("A", [0.6, 0.4]))
    found = impute({"A": [None, 0], "B": ["x", None], "C": [1, 2]}, network=net)
    assert dict(found.left) == {"B": 1}
    assert "1 cells of B left" in repr(found)
    assert not impute({"A": [None, 0], "B": ["x", None]}).left


@pytest.mark.parametrize("method", ["most-frequent", "median", "random", "uniform", "hot-deck"])
def test_a_column_without_any_value_is_left_and_told_of(method):
    """Be it without states, with states that no row has, or of a table that was read before."""
    frame = pd.DataFrame({"x": ["a", None, "a"], "empty": [None] * 3})
    found = impute(frame, method, seed=0)
    assert found.data["x"].tolist() == ["a", "a", "a"]
    assert found.data["empty"].isna().all()
    assert (dict(found.left), list(found.filled)) == ({"empty": 3}, ["x"])
    states = {"empty": Variable("empty")}
    for data in (frame, Table.read(frame, states)):
        assert dict(impute(data, method, seed=0, variables=states).left) == {"empty": 3}


def test_states_have_no_mean():
    """Where numbers are missing too, these are filled by it, and states by the most frequent."""
    with pytest.raises(InvalidArgument, match="'x' has states, of which there is no mean"):
        impute({"x": ["a", None], "y": [0.5, 1.5]}, "mean")
