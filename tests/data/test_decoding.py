"""State positions become states again, whatever their type and however many columns there are."""

from __future__ import annotations

import datetime as dt
import enum

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plausible.data import decode, encode_columns
from plausible.variables import Variable


class Color(enum.Enum):
    """A state may be any value."""

    RED = 1
    BLUE = 2


STATES = st.sampled_from(
    [
        ("yes", "no"),
        ("no", "yes"),
        (0, 1),
        (False, True),
        (0.0, 1.0),
        (1, "1"),
        ((1, 2), (True, 3)),
        ((True, 2), (1, 3)),
        tuple(Color),
        (dt.date(2020, 1, 1), dt.date(2021, 1, 1)),
        ("only",),
        None,
    ]
)


@given(st.lists(STATES, max_size=8), st.integers(0, 4), st.integers(0, 2**32 - 1))
@settings(max_examples=32, deadline=None)
def test_each_cell_is_the_state_at_its_position(kinds, num_rows, seed):
    """Looked up one by one; equal states of different types, such as 1 and True, are not mixed up."""
    rng = np.random.default_rng(seed)
    variables = {f"v{place}": Variable(f"v{place}", states) for place, states in enumerate(kinds)}
    columns = {
        name: rng.random(num_rows) if v.is_continuous else rng.integers(v.num_states, size=num_rows)
        for name, v in variables.items()
    }
    frame = decode(columns, variables)
    assert list(frame.columns) == list(variables)
    for name, variable in variables.items():
        cells = frame[name].tolist()
        expected = [x if variable.is_continuous else variable.states[x] for x in columns[name].tolist()]
        assert cells == expected
        assert list(map(repr, cells)) == list(map(repr, expected))


@pytest.mark.parametrize(
    ("states", "dtype"), [(["a", "b"], "category"), ([0, 1], "int64"), ([False, True], "bool"), ([0.5, 1.5], "float64")]
)
def test_columns_have_the_type_of_their_states(states, dtype):
    """As pandas would choose it for a column of them; texts are categories."""
    frame = decode({"X": np.array([1, 0, 1])}, {"X": Variable("X", states)})
    pd.testing.assert_frame_equal(frame, pd.DataFrame({"X": [states[1], states[0], states[1]]}, dtype=dtype))


def test_decoding_undoes_encoding():
    """Of columns with the same states and with their own."""
    variables = {"A": Variable("A", ["x", "y"]), "B": Variable("B", ["x", "y"]), "C": Variable("C", 3)}
    columns = {"A": np.array([0, 1, 1]), "B": np.array([1, 1, 0]), "C": np.array([2, 0, 1])}
    back = encode_columns(decode(columns, variables), variables)
    assert {name: column.tolist() for name, column in back.items()} == {n: c.tolist() for n, c in columns.items()}


def test_changing_a_cell_changes_no_other_column():
    """Though columns with the same states are looked up together."""
    variables = {name: Variable(name, ["x", "y"]) for name in "AB"}
    frame = decode({"A": np.array([0, 0]), "B": np.array([0, 0])}, variables)
    frame.loc[0, "A"] = "y"
    assert frame["B"].tolist() == ["x", "x"]
    assert frame["A"].tolist() == ["y", "x"]
