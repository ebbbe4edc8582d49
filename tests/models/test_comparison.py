"""Comparing networks."""

from __future__ import annotations

import copy
import pickle

import pytest

from network_oracle import asia_network, binary
from plausible.errors import InvalidModel
from plausible.models import BayesianNetwork, compare


def test_a_network_does_not_differ_from_itself():
    """Nothing missing, nothing extra, no difference of parameters."""
    result = compare(asia_network(), asia_network())
    assert result.structure.shd == 0
    assert result.largest_difference == 0
    assert set(result.parameters) == set(asia_network().variables)
    assert result.incomparable == ()


def test_edges_and_parameters_that_differ_are_found():
    """An edge less, an edge more, and one changed number."""
    meant = asia_network()
    found = meant.without_edge("S", "B").with_edge("V", "L").with_cpd(binary("X", [0.05, 0.9], ["A"]))
    result = compare(meant, found)
    assert [str(edge) for edge in result.structure.missing] == ["S -> B"]
    assert [str(edge) for edge in result.structure.extra] == ["V -> L"]
    assert set(result.incomparable) == {"B", "L"}
    assert result.parameters["X"] == pytest.approx(0.08)
    assert result.largest_difference == pytest.approx(0.08)
    assert "X: 0.08" in str(result)
    assert "other parents (2): L, B" in str(result)


def test_the_order_of_parents_does_not_matter():
    """The same table with its axes exchanged."""
    a, b = binary("A", 0.5), binary("B", 0.5)
    one = BayesianNetwork(a, b, binary("C", [[0.1, 0.2], [0.3, 0.4]], ["A", "B"]))
    two = BayesianNetwork(a, b, binary("C", [[0.1, 0.3], [0.2, 0.4]], ["B", "A"]))
    assert compare(one, two).largest_difference == 0


def test_other_states_are_refused():
    """The error names the variable."""
    with pytest.raises(InvalidModel, match="'S' has the states"):
        compare(asia_network(), asia_network().with_states_renamed("S", {False: "no", True: "yes"}))


def test_a_comparison_is_a_value():
    """It can be hashed, pickled and copied, and not changed."""
    meant, found = asia_network(), asia_network().with_cpd(binary("X", [0.05, 0.9], ["A"]))
    result, again, other = compare(meant, found), compare(meant, found), compare(meant, meant)
    assert len({result, again, other}) == 2
    assert pickle.loads(pickle.dumps(result)) == copy.deepcopy(result) == result
    with pytest.raises(TypeError, match="does not support item assignment"):
        result.parameters["X"] = 0.0
