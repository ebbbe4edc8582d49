"""Table CPDs: what is accepted, what is repaired with a warning, and what is refused by name."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest

from plausible.cpds import TableCPD
from plausible.errors import InvalidCPD, RoundedProbabilities, UnknownState
from plausible.variables import Variable

G = Variable("G", ["A", "B", "C"])
I = Variable("I", ["low", "high"])  # noqa: E741 - the name it has in the student network


def test_size_is_free_parameters_of_a_row_times_rows() -> None:
    """(m - 1) n^k for a child of m states and k parents of n states each."""
    parents = [Variable(f"U{i}", 3) for i in range(4)]
    assert TableCPD.uniform(Variable("X", 5), parents).num_parameters == 4 * 3**4


def test_rows_keyed_by_states_equal_the_array() -> None:
    array = np.array([[[0.1, 0.9], [0.2, 0.8], [0.3, 0.7]], [[0.4, 0.6], [0.5, 0.5], [1.0, 0.0]]])
    rows = {(i, g): array[I.index(i), G.index(g)] for g in G.states for i in I.states}
    assert TableCPD("X", rows, [I, G]) == TableCPD("X", array, [I, G])
    by_state = {key: {1: row[1], 0: row[0]} for key, row in rows.items()}
    assert TableCPD("X", by_state, ["I", "G"]).bind({"G": G, "I": I}) == TableCPD("X", array, [I, G])


def test_minus_zero_equals_zero() -> None:
    assert TableCPD("X", [-0.0, 1.0]) == TableCPD("X", [0.0, 1.0])


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([[0.5, 0.5]], r"needs shape \(3, 2\), not \(1, 2\)"),
        ([0.5, 0.5], r"has axes \(G, L\) and needs shape \(3, 2\), not \(2,\)"),
        ([[0.1, 0.4, 0.99], [0.9, 0.6, 0.01]], "last axis, not the first"),
        ([[0.5, 0.5], [0.5, 0.6], [1, 0]], "The row of 'L' for G=B sums to 1.1, not to one"),
        ([[0.5, 0.5], [1.5, -0.5], [1, 0]], "for G=B has the entry -0.5, which is no probability"),
        ([[0.5, 0.5], [0.5, float("nan")], [1, 0]], "for G=B has the entry nan"),
        ([[0.5, 0.5], [0.5, float("inf")], [1, 0]], "for G=B has the entry inf"),
        ([[0.5, 0.5], [0.5]], "are all rows equally long"),
        ("text", "not a regular array of numbers"),
        (0.5, "one probability for each state"),
        ({}, "has no rows"),
        ({"A": [1, 0], "B": [1, 0]}, "has no row for G=C"),
        ({"A": [1, 0], "B": [1, 0], "C": [1, 0, 0]}, r"The row 'C' of 'L' has shape \(3,\)"),
        ({"A": [1, 0], "B": [1, 0], "C": ["x", "y"]}, "The row 'C' of 'L' is no list of numbers"),
        ({"A": [1, 0], "B": [1, 0], "C": 0.5}, "The row 'C' of 'L' is no list of numbers"),
        ({"A": {"weak": 1}, "B": [1, 0], "C": [1, 0]}, "no probability for 'strong'"),
        ({("A", "A"): [1, 0]}, "must be keyed by a state of each parent"),
    ],
)
def test_a_wrong_table_is_refused_by_name(values: object, message: str) -> None:
    with pytest.raises(InvalidCPD, match=message):
        TableCPD("L", values, [G], states=["weak", "strong"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0.5, 0.5], ["yes", "no"]), r"If ['yes', 'no'] are the states of 'X', write states=['yes', 'no']."),
        (([[0.1, 0.9], [0.2, 0.8]], ["yes", "no"]), r"write states=['yes', 'no']"),
        (([[0.1, 0.9], [0.2, 0.8]], ["yes", "no"], ["A"]), r"Did you mean parents=['A'], states=['yes', 'no']?"),
        ((["yes", "no"], [0.5, 0.5]), r"write TableCPD('X', probabilities, states=['yes', 'no'])"),
        ((np.array(["yes", "no"]),), r"write TableCPD('X', probabilities, states="),
        (
            ([[0.5, 0.5], [0.5, 0.5]], {"A": ["yes", "no"]}),
            "Give names, parents=['A'], or variables with their states, such as pb.Variable('A', ['yes', 'no']).",
        ),
        (([0.5, 0.5], 2), "Its states, or their number, are states=."),
        (({"a0": [0.1, 0.9], "a1": [0.2, 0.8]},), "of which it has none. Name them: parents=[...]."),
    ],
)
def test_states_in_the_place_of_others_are_recognised(arguments: tuple[object, ...], message: str) -> None:
    """States given as parents or as probabilities, and parents and states the wrong way round."""
    with pytest.raises(InvalidCPD, match=re.escape(message)):
        TableCPD("X", *arguments)


def test_a_table_for_real_parents_gets_no_advice_about_states() -> None:
    """Parents that are variables were meant as parents."""
    with pytest.raises(InvalidCPD) as raised:
        TableCPD("X", [0.3, 0.7], [I, G])
    assert "states=" not in str(raised.value)


def test_wrong_states_are_named() -> None:
    with pytest.raises(UnknownState, match=r"'feeble' is not a state of 'L'"):
        TableCPD("L", {"A": {"feeble": 1, "strong": 0}}, [G], states=["weak", "strong"])
    with pytest.raises(UnknownState, match=r"'D' is not a state of 'G'"):
        TableCPD("L", {"D": [0.5, 0.5]}, ["G"]).bind({"G": G})


def test_rounding_is_repaired_with_one_warning() -> None:
    values = [[0.333, 0.333, 0.333], [0.3335, 0.3335, 0.3335], [0.2, 0.3, 0.5]]
    with pytest.warns(RoundedProbabilities, match=r"2 rows of 'X' missed one by up to 0.001 \(worst: G=A\)") as caught:
        cpd = TableCPD("X", values, [G])
    assert len(caught) == 1
    np.testing.assert_allclose(cpd.values[:2], 1 / 3, rtol=1e-15)
    assert cpd.values[2].tolist() == [0.2, 0.3, 0.5], "exact rows are left as they are"
    assert caught[0].filename == __file__


def test_rows_off_by_more_than_rounding_are_an_error() -> None:
    with pytest.raises(InvalidCPD, match=r"sums to 0\.9985, not to one"):
        TableCPD("X", [0.4985, 0.5])


def test_binary_fractions_are_no_rounding() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        TableCPD("X", [0.1] * 10)
        TableCPD("X", [1 / 3] * 3)


def test_rounding_below_1e_9_is_mended_without_a_word() -> None:
    """The sums are exact and a second look changes nothing, so that files keep such a table."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cpd = TableCPD("X", [[0.333333333, 0.333333333, 0.333333334 - 9e-10], [0.2, 0.3, 0.5]], parents=["Y"])
        again = TableCPD("X", cpd.values, parents=["Y"])
    assert cpd.values.sum(axis=-1) == pytest.approx(1.0, abs=1e-15)
    assert cpd.values[1].tolist() == [0.2, 0.3, 0.5]
    assert again.values.tolist() == cpd.values.tolist()


def test_from_rows_reports_rounding_without_a_warning() -> None:
    table, rounding = TableCPD.from_rows(Variable("X", 2), (I,), np.array([[0.5, 0.5], [0.5, 0.4995]]))
    assert rounding is not None
    assert (rounding.num_rows, rounding.row) == (1, (1,))
    np.testing.assert_allclose(table.values.sum(axis=-1), 1.0, atol=1e-15)
    with pytest.raises(InvalidCPD, match=r"The row of 'X' for I=high sums to 0\.9"):
        TableCPD.from_rows(Variable("X", 2), (I,), np.array([[0.5, 0.5], [0.5, 0.4]]))


def test_the_callers_array_is_not_shared() -> None:
    values = np.array([0.5, 0.5])
    cpd = TableCPD("X", values)
    values[:] = [0.9, 0.1]
    assert cpd.values.tolist() == [0.5, 0.5]


def test_a_record_of_the_wrong_length_is_refused() -> None:
    with pytest.raises(InvalidCPD, match="needs 6 numbers in a row"):
        TableCPD.from_record(Variable("X", 2), (G,), {"values": [0.5, 0.5]})


@pytest.mark.parametrize("last", [0.499, 0.501])
def test_a_thousandth_is_rounding_on_both_sides(last: float) -> None:
    """1 - 0.999 is a little more than 1e-3 in binary fractions."""
    with pytest.warns(RoundedProbabilities, match=r"missed one by up to 0\.001"):
        cpd = TableCPD("x", [0.5, last])
    assert cpd.values.sum() == pytest.approx(1.0, abs=1e-15)


@pytest.mark.parametrize("last", [0.4989999, 0.5010001])
def test_more_than_a_thousandth_is_an_error(last: float) -> None:
    with pytest.raises(InvalidCPD, match="not to one"):
        TableCPD("x", [0.5, last])
