"""Variables: names, states in a fixed order, and what can't be one."""

from __future__ import annotations

import copy
import enum
import math
import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plausible.errors import InvalidVariable, NotSupported, PlausibleError, UnknownState
from plausible.variables import Variable
from refusals import refuses


class Weather(enum.Enum):
    SUN = 1
    RAIN = 2


STATE_LISTS = [
    ["low", "high"],
    [True, False],
    [0.5, -1.0],
    [("a", 1), ("a", 2)],
    [Weather.SUN, Weather.RAIN],
    ["None", "missing"],
    [1, "1"],
    ["only"],
    ["", " "],
]


@pytest.mark.parametrize("states", STATE_LISTS, ids=repr)
def test_states_keep_their_order_and_are_found_by_position(states):
    """index inverts the list; states are never renamed, sorted or converted."""
    variable = Variable("X", states)
    assert variable.states == tuple(states)
    assert [variable.index(state) for state in states] == list(range(len(states)))
    assert all(variable.has_state(state) for state in states)
    assert variable.num_states == len(states)
    assert not variable.is_continuous


@settings(max_examples=80, deadline=None)
@given(st.lists(st.one_of(st.text(), st.integers(), st.booleans(), st.floats(allow_nan=False)), min_size=1))
def test_any_hashable_values_are_states_unless_two_are_equal(states):
    """A list is accepted iff no two of its values are equal (1, 1.0 and True are)."""
    repeated = any(a == b for i, a in enumerate(states) for b in states[:i])
    if repeated:
        refuses(InvalidVariable, "stands twice", Variable, "X", states)
    else:
        assert Variable("X", states).states == tuple(states)


@pytest.mark.parametrize("number", [1, 2, 5, np.int64(3)])
def test_a_number_stands_for_that_many_states(number):
    """n means the states 0, ..., n - 1, as plain integers."""
    assert Variable("X", number).states == tuple(range(int(number)))
    assert all(type(state) is int for state in Variable("X", number).states)


def test_other_ordered_collections_give_states():
    """Tuples, ranges, arrays, indexes and the keys of a dictionary have an order."""
    for states in (("a", "b"), np.array(["a", "b"]), pd.Index(["a", "b"]), {"a": 1, "b": 2}.keys(), iter("ab")):
        assert Variable("X", states).states == ("a", "b")
    assert Variable("X", range(2, 4)).states == (2, 3)


def test_without_states_a_variable_is_continuous():
    """It has no states to count, find or list."""
    height = Variable("height")
    assert height.is_continuous
    assert height.states == ()
    assert height == pickle.loads(pickle.dumps(height)) == height.renamed("x").renamed("height")
    assert pickle.loads(pickle.dumps(height)).is_continuous
    with pytest.raises(AttributeError):
        height.is_continuous = False
    assert not height.has_state(1.0)
    with pytest.raises(NotSupported, match="'height' is continuous"):
        _ = height.num_states
    refuses(UnknownState, "expected a number", height.index, "tall")


@pytest.mark.parametrize(
    ("name", "states", "message"),
    [
        ("", ["a"], "non-empty text"),
        (3, ["a"], "non-empty text"),
        ("X", [], "at least one state"),
        ("X", 0, "at least one state"),
        ("X", -2, "at least one state"),
        ("X", "ab", "list in a fixed order"),
        ("X", {"a", "b"}, "list in a fixed order"),
        ("X", True, "list in a fixed order"),
        ("X", 2.5, "list in a fixed order"),
        ("X", ["a", "b", "a"], "'a' of 'X' stands twice"),
        ("X", [1, True], "stands twice"),
        ("X", [None, "here"], "None can't be a state of 'X': in tables of data it stands for what is not observed"),
        ("X", [math.nan, 1.0], "does not equal itself"),
        ("X", [pd.NA, 1.0], "does not equal itself"),
        ("X", [["a"]], "can't be hashed"),
        ("X", [("a", ["b"])], "can't be hashed"),
    ],
)
def test_what_is_no_variable_is_refused(name, states, message):
    """The error names the variable and the state at fault."""
    refuses(InvalidVariable, message, Variable, name, states)


def test_an_unknown_state_gets_close_matches():
    """Misspelt and wrongly typed states are told apart from the right ones."""
    grade = Variable("grade", ["excellent", "good", "poor"])
    refuses(UnknownState, r"'Good' is not a state of 'grade'\. Did you mean 'good'\?", grade.index, "Good")
    refuses(UnknownState, r"Known: 'excellent', 'good', 'poor'\.", grade.index, 17)
    for unhashable in (["good"], {"good": 1}, ("good", ["x"]), np.array(["good"])):
        assert not grade.has_state(unhashable)
        with pytest.raises(UnknownState):
            grade.index(unhashable)
    assert issubclass(UnknownState, PlausibleError)
    assert issubclass(UnknownState, ValueError)


def test_text_from_files_names_states_by_how_they_print():
    """A state that is the text comes first, then one that prints as it."""
    assert Variable("X", [False, True]).state_from_text("True") is True
    assert Variable("X", [0.5, 1]).state_from_text("0.5") == 0.5
    assert Variable("X", [1, "1"]).state_from_text("1") == "1"
    refuses(UnknownState, "'yes'", Variable("X", [False, True]).state_from_text, "yes")


def test_numpy_scalars_find_their_python_twins():
    """Values from arrays and frames need no conversion."""
    assert Variable("X", [0, 1, 2]).index(np.int64(2)) == 2
    assert Variable("X", ["a", "b"]).index(np.str_("b")) == 1
    assert Variable("X", [False, True]).index(np.True_) == 1
    assert Variable("X", [0.5, 1.5]).index(np.float64(1.5)) == 1


@pytest.mark.parametrize("clone", [copy.copy, copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))])
def test_variables_are_frozen_values(clone):
    """Equal by name and states; hashable; copied and pickled; nothing can be set."""
    variable = Variable("X", ["a", "b"])
    twin = clone(variable)
    assert twin == variable
    assert hash(twin) == hash(variable)
    assert twin.index("b") == 1
    assert variable != Variable("X", ["b", "a"])
    assert variable != Variable("Y", ["a", "b"])
    assert variable.renamed("Y") == Variable("Y", ["a", "b"])
    assert clone(Variable("x")) == Variable("x")
    with pytest.raises(AttributeError):
        variable.name = "Y"


def test_printing():
    """repr can be evaluated; str is the name."""
    for variable in (Variable("X", ["a", 1]), Variable("x")):
        assert eval(repr(variable)) == variable
        assert str(variable) == variable.name
