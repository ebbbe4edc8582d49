"""Mechanisms that hide cells: what they hide, how often, and in which kinds of tables."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plausible.data.table import Table
from plausible.errors import InvalidArgument, UnknownVariable
from plausible.learn.missingness.mechanisms import (
    AtRandom,
    CompletelyAtRandom,
    Mechanism,
    NotAtRandom,
    WholeVariables,
    hide,
)

COLUMNS = {
    "text": ["a", "b", "a", "c"] * 50,
    "whole": [1, 2, 3, 4] * 50,
    "flag": [True, False, False, True] * 50,
    "number": [0.5, 1.5, 2.5, 3.5] * 50,
}


def _columns(kind):
    if kind == "pandas":
        return pd.DataFrame(COLUMNS, index=range(1000, 1200)).astype({"text": "category"})
    if kind == "polars":
        return pl.DataFrame(COLUMNS)
    if kind == "arrays":
        return {name: np.array(column) for name, column in COLUMNS.items()}
    return Table.read(COLUMNS) if kind == "table" else dict(COLUMNS)


def _cells(data, name):
    """The cells of a column as a list, `None` where missing."""
    if isinstance(data, Table):
        variable = data.variables[name]
        if variable.is_continuous:
            return [None if np.isnan(x) else x for x in data.numbers[data.continuous.index(name)]]
        return [None if c < 0 else variable.states[c] for c in data.codes[data.discrete.index(name)]]
    column = data[name]
    listed = column.to_list() if hasattr(column, "to_list") else list(column)
    return [None if cell is None or cell is pd.NA or cell != cell else cell for cell in listed]


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrays", "lists", "table"])
def test_exactly_the_cells_of_the_account_are_missing_and_the_same_kind_comes_back(kind):
    """Hidden cells are missing, all others are as they were, and whole numbers stay whole."""
    data = _columns(kind)
    found = hide(data, CompletelyAtRandom(0.3), seed=5)
    assert type(found.data) is type(data)
    for name in COLUMNS:
        expected = [None if hidden else cell for hidden, cell in zip(found.hidden[name], COLUMNS[name], strict=True)]
        assert _cells(found.data, name) == expected
        assert _cells(data, name) == COLUMNS[name]
    assert found.num_hidden == sum(cells.count(None) for cells in (_cells(found.data, n) for n in COLUMNS))
    if kind == "pandas":
        assert list(found.data.index) == list(data.index)
        assert str(found.data["text"].dtype) == "category"
    again = Table.read(found.data)
    assert {n: v.is_continuous for n, v in again.variables.items()} == {n: n == "number" for n in COLUMNS}


def test_the_cells_do_not_depend_on_the_order_of_columns():
    """The same seed hides the same cells."""
    found = hide(COLUMNS, CompletelyAtRandom(0.4), seed=1).data
    assert hide(dict(reversed(COLUMNS.items())), CompletelyAtRandom(0.4), seed=1).data == found


def test_fractions_are_those_asked_for():
    """By variable, from none to all, and within five standard errors in between."""
    rows = {name: [0, 1] * 5000 for name in "abc"}
    found = hide(rows, CompletelyAtRandom({"a": 0.0, "b": 0.2}), seed=0)
    assert set(found.hidden) == {"b"}
    assert abs(found.hidden["b"].mean() - 0.2) < 5 * np.sqrt(0.2 * 0.8 / 10000)
    assert hide(rows, WholeVariables(["c"])).data["c"] == [None] * 10000
    assert (found.kind, hide(rows, CompletelyAtRandom(0.0)).num_hidden) == ("MCAR", 0)


@given(seed=st.integers(0, 10**6))
@settings(max_examples=10, deadline=None)
def test_hiding_at_random_follows_the_table_of_the_values_looked_at(seed):
    """In each cell of the deciding variables the share hidden is the probability given for it."""
    rng = np.random.default_rng(seed)
    rows = {"x": rng.integers(2, size=4000).tolist(), "y": rng.integers(3, size=4000).tolist(), "z": [0, 1] * 2000}
    table = {(x, y): rng.random() for x in range(2) for y in range(3)}
    found = hide(rows, AtRandom("z", ["x", "y"], table), seed=rng)
    for (x, y), probability in table.items():
        there = (np.array(rows["x"]) == x) & (np.array(rows["y"]) == y)
        assert abs(found.hidden["z"][there].mean() - probability) < 5 * np.sqrt(0.25 / there.sum())
    assert found.kind == "MAR"
    assert set(found.hidden) == {"z"}


def test_the_kind_follows_from_what_is_looked_at_and_what_is_hidden():
    """A variable that decides and is itself hidden makes it MNAR, as does its own value."""
    by_x = AtRandom("number", "text", {"a": 0.5})
    assert hide(COLUMNS, by_x, seed=0).kind == "MAR"
    assert hide(COLUMNS, [by_x, CompletelyAtRandom({"text": 0.1})], seed=0).kind == "MNAR"
    assert hide(COLUMNS, [by_x, CompletelyAtRandom({"whole": 0.1})], seed=0).kind == "MAR"
    found = hide(COLUMNS, NotAtRandom("number", lambda number: number > 2), seed=0)
    assert (found.kind, _cells(found.data, "number")) == ("MNAR", [0.5, 1.5, None, None] * 50)
    both = NotAtRandom("whole", lambda text, whole: (text == "a") & (whole < 3), on=["text"])
    assert _cells(hide(COLUMNS, both).data, "whole") == [None, 2, 3, 4] * 50


def test_cells_that_were_missing_are_not_in_the_account():
    """Only what was observed can be hidden; a missing cell decides nothing."""
    found = hide({"x": [None, 1, 1], "y": ["a", "b", "a"]}, [WholeVariables("x"), AtRandom("y", "x", {1: 1.0})])
    assert found.hidden["x"].tolist() == [False, True, True]
    assert found.hidden["y"].tolist() == [False, True, True]


class Odd(Mechanism):
    """Hides what it is told, right or wrong."""

    looks_at = ("text",)

    def __init__(self, told):
        self.told = told

    def probabilities(self, table):
        return self.told


@pytest.mark.parametrize(
    ("mechanism", "error"),
    [
        (CompletelyAtRandom(1.5), InvalidArgument),
        (CompletelyAtRandom({"nobody": 0.5}), UnknownVariable),
        (AtRandom("text", ["text"], {"a": 1.0}), InvalidArgument),
        (AtRandom("text", ["number"], {0.5: 1.0}), InvalidArgument),
        (AtRandom("text", ["nobody"], {0.5: 1.0}), UnknownVariable),
        (NotAtRandom("number", lambda number: number), InvalidArgument),
        ("mcar", InvalidArgument),
        (0.5, InvalidArgument),
        (Odd({"text": np.full(200, 1.7)}), InvalidArgument),
        (Odd({"text": np.zeros(3)}), InvalidArgument),
        (Odd({"text": 0.5}), InvalidArgument),
    ],
)
def test_mistakes_are_named(mechanism, error):
    """Errors of the library, not of NumPy."""
    with pytest.raises(error):
        hide(COLUMNS, mechanism)


def test_rows_sampled_and_cells_hidden_with_one_seed_are_independent():
    """A column drawn by the same number is not hidden by its own values."""
    for seed in range(5):
        column = np.random.default_rng(seed).random(2000) < 0.5
        found = hide({"x": column.astype(int).tolist()}, CompletelyAtRandom(0.3), seed=seed).hidden["x"]
        assert abs(found[column].mean() - found[~column].mean()) < 0.1
