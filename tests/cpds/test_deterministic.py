"""Deterministic CPDs: functions of the parents' states."""

from __future__ import annotations

import itertools
import pickle

import numpy as np
import pytest

from plausible.cpds import DeterministicCPD
from plausible.errors import InvalidCPD, TooLarge, UnknownState
from plausible.variables import Variable

Y, Z = Variable("Y", 2), Variable("Z", 2)


def test_and_is_independent_of_y_in_the_context_z_off_only() -> None:
    """P(X=0 | Z=0) = P(X=0 | Z=0, Y=0) = P(X=0 | Z=0, Y=1) = 1: X ⟂ Y in context Z = 0, and in no other."""
    both = DeterministicCPD("X", lambda z, y: z and y, [Z, Y])
    table = both.to_factor()
    assert [table[{"Z": 0, "Y": y, "X": 0}] for y in (0, 1)] == [1.0, 1.0]
    assert both.ignores("Y", {"Z": 0})
    assert not both.ignores("Y", {"Z": 1})
    assert not both.ignores("Y")
    assert both.ignores("Z", {"Y": 0})


def test_exclusive_or_ignores_neither_parent_in_any_context() -> None:
    parity = DeterministicCPD("X", lambda z, y: z ^ y, [Z, Y])
    assert not any(parity.ignores("Y", {"Z": z}) or parity.ignores("Z", {"Y": z}) for z in (0, 1))
    assert not parity.ignores(["Y", "Z"])


def test_table_is_the_indicator_of_the_function() -> None:
    parents = [Variable("A", ["x", "y", "z"]), Variable("B", [10, 20])]
    cpd = DeterministicCPD("X", lambda a, b: f"{a}{b}"[-2:], parents)
    for a, b in itertools.product("xyz", (10, 20)):
        for state in cpd.variable.states:
            assert cpd.to_factor()[{"A": a, "B": b, "X": state}] == float(state == f"{a}{b}"[-2:])


def test_states_are_collected_in_order_of_appearance() -> None:
    cpd = DeterministicCPD("X", lambda z, y: ["none", "one", "two"][2 - z - y], [Z, Y])
    assert cpd.variable.states == ("two", "one", "none")
    assert cpd.positions.tolist() == [[0, 1], [1, 2]]


@pytest.mark.parametrize("states", [None, [0, 1]])
def test_the_function_is_called_once_for_each_assignment(states: list[int] | None) -> None:
    calls = []
    DeterministicCPD("X", lambda *u: calls.append(u) or 0, [Z, Y], states)
    assert calls == [(0, 0), (0, 1), (1, 0), (1, 1)]


def test_no_call_before_the_parents_are_known() -> None:
    calls = []
    cpd = DeterministicCPD("X", lambda *u: calls.append(u) or 0, ["Z", "Y"], [0, 1])
    assert not calls
    cpd.bind({"Z": Z, "Y": Y})
    assert len(calls) == 4


def test_a_bound_lambda_can_be_pickled() -> None:
    cpd = DeterministicCPD("X", lambda z: 1 - z, [Z])
    assert pickle.loads(pickle.dumps(cpd)) == cpd


def test_two_functions_with_the_same_results_are_equal() -> None:
    assert DeterministicCPD("X", lambda z, y: z and y, [Z, Y]) == DeterministicCPD("X", min, [Z, Y])


def test_states_are_needed_where_parents_are_names() -> None:
    with pytest.raises(InvalidCPD, match="'X' needs states="):
        DeterministicCPD("X", lambda z: z, ["Z"])


def test_a_result_that_is_no_state_is_named_with_its_place() -> None:
    with pytest.raises(UnknownState, match="The function of 'X' at Z=1, Y=0: 'maybe' is not a state of 'X'"):
        DeterministicCPD("X", lambda z, y: "maybe" if z and not y else "no", [Z, Y], ["no", "yes"])
    with pytest.raises(UnknownState, match=r"at Z=0: \[\] is not a state of 'X'"):
        DeterministicCPD("X", lambda z: [], [Z], [0, 1])
    with pytest.raises(InvalidCPD, match="can't be a state"):
        DeterministicCPD("X", lambda z: [], [Z])


def test_an_error_inside_the_function_says_where() -> None:
    """For a function that fails, and for one that takes another number of parents."""
    with pytest.raises(InvalidCPD, match="function of 'X' fails at Y=1, Z=0: ZeroDivisionError: ") as caught:
        DeterministicCPD("X", lambda y, z: y and 1 // z, [Y, Z])
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    with pytest.raises(InvalidCPD, match="function of 'X' fails at Z=0: TypeError: "):
        DeterministicCPD("X", lambda: 0, ["Z"], [0, 1]).bind({"Z": Z})


def test_too_many_assignments_are_refused_before_the_first_call() -> None:
    parents = [Variable(f"P{i}", 2) for i in range(30)]
    with pytest.raises(TooLarge, match="The function of 'X' over 30 variables"):
        DeterministicCPD("X", lambda *u: pytest.fail("called"), parents, [0, 1])


def test_something_that_is_no_function_is_refused() -> None:
    with pytest.raises(InvalidCPD, match="needs a function"):
        DeterministicCPD("X", [0, 1], [Z])


def test_a_record_with_wrong_positions_is_refused() -> None:
    for positions, message in (([0], "needs 2 positions"), ([0, 2], "2 is not the position"), ([0, "1"], "'1' is not")):
        with pytest.raises(InvalidCPD, match=message):
            DeterministicCPD.from_record(Variable("X", 2), (Z,), {"positions": positions})


def test_many_one_state_parents() -> None:
    parents = [Variable(f"P{i}", 1) for i in range(60)]
    cpd = DeterministicCPD("X", lambda *u: 1 + sum(u), parents, [0, 1])
    columns = {parent.name: np.zeros(2, int) for parent in parents}
    assert cpd.log_probability({**columns, "X": np.array([0, 1])}).tolist() == [-np.inf, 0.0]
