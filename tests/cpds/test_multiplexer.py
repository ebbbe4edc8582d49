"""Multiplexers: Y copies the selected input."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from plausible.cpds import Multiplexer
from plausible.errors import InvalidCPD, TooLarge, UnknownState
from plausible.variables import Variable

A = Variable("A", ["first", "second", "third"])
INPUTS = [Variable("Z1", ["r", "g"]), Variable("Z2", ["g", "b"]), Variable("Z3", ["r"])]


def test_copies_the_selected_input_by_name_of_state() -> None:
    cpd = Multiplexer("Y", A, INPUTS)
    assert cpd.variable.states == ("r", "g", "b")
    table = cpd.to_factor()
    for number, selected in enumerate(A.states):
        for values in itertools.product(*(z.states for z in INPUTS)):
            for y in "rgb":
                assert table[(selected, *values, y)] == float(y == values[number])


def test_thirty_inputs_cost_thirty_small_tables() -> None:
    inputs = [Variable(f"Z{i}", 2) for i in range(30)]
    cpd = Multiplexer("Y", Variable("A", 30), inputs)
    with pytest.raises(TooLarge, match="The table of 'Y' over 32 variables"):
        cpd.to_table()
    assert [factor.size for factor in cpd.to_factors()] == [30 * 2 * 2] * 30
    rng = np.random.default_rng(0)
    rows = rng.integers(2, size=(40, 30))
    selected = rng.integers(30, size=40)
    columns = {f"Z{i}": rows[:, i] for i in range(30)} | {"A": selected, "Y": rows[np.arange(40), selected]}
    assert (cpd.log_probability(columns) == 0).all()
    assert (cpd.log_probability({**columns, "Y": 1 - columns["Y"]}) == -np.inf).all()
    for row in range(40):
        whole = np.prod(
            [f.values[columns["A"][row], columns[f.names[1]][row], columns["Y"][row]] for f in cpd.to_factors()]
        )
        assert whole == 1.0


def test_independence_in_a_context() -> None:
    """Where A selects input i, Y is independent of all other inputs."""
    cpd = Multiplexer("Y", A, INPUTS)
    assert cpd.ignores(["Z1", "Z3"], {"A": "second"})
    assert not cpd.ignores("Z2", {"A": "second"})
    assert cpd.ignores("Z3"), "one state: nothing to depend on"
    assert not cpd.ignores("A")
    assert cpd.ignores("A", {"Z1": "g", "Z2": "g"}) is False, "Z3 is r"
    assert Multiplexer("Y", Variable("A", 2), INPUTS[:2]).ignores("A", {"Z1": "g", "Z2": "g"})


def test_nothing_to_fit() -> None:
    assert Multiplexer("Y", A, INPUTS).num_parameters == 0


def test_wrong_parts_are_refused_by_name() -> None:
    with pytest.raises(InvalidCPD, match="The selector 'A' of 'Y' has 3 states for 2 inputs"):
        Multiplexer("Y", A, INPUTS[:2])
    with pytest.raises(UnknownState, match="The input 'Z2' can't be copied to 'Y': 'b' is not a state of 'Y'"):
        Multiplexer("Y", A, INPUTS, states=["r", "g"])
    with pytest.raises(InvalidCPD, match="needs at least one input"):
        Multiplexer("Y", A, [])
    with pytest.raises(InvalidCPD, match=r"'Y' needs states=\[...\], or all inputs"):
        Multiplexer("Y", A, [*INPUTS[:2], "Z3"])
    with pytest.raises(InvalidCPD, match="'Z1' stands twice"):
        Multiplexer("Y", A, ["Z1", "Z1"], states=2)


def test_wrong_records_are_refused() -> None:
    y = Variable("Y", ["r", "g", "b"])
    for copies in ([[0, 1], [1, 2]], [[0, 1], [1, 2], [0, 1]], [[0, 1], [1, 3], [0]]):
        with pytest.raises(InvalidCPD, match="'Y'"):
            Multiplexer.from_record(y, (A, *INPUTS), {"copies": copies})
    with pytest.raises(InvalidCPD, match="needs a selector and at least one input"):
        Multiplexer.from_record(y, (), {"copies": []})
    with pytest.raises(InvalidCPD, match="no field 'copies'"):
        Multiplexer.from_record(y, (A, *INPUTS), {})
