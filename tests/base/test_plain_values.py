"""NumPy's scalars are read as what they equal, and never shown."""

from __future__ import annotations

import numpy as np
import pytest

import plausible as pb
from plausible.base.records import plain, shown
from plausible.errors import PlausibleError

ONE, YES, NO = np.int64(1), np.str_("yes"), np.str_("no")
NET = pb.BayesianNetwork(
    pb.TableCPD(np.str_("A"), [0.6, 0.4], states=np.array([0, 1])),
    pb.TableCPD("B", [[1, 0], [0.3, 0.7]], parents=["A"], states=np.array(["no", "yes"])),
)


@pytest.mark.parametrize(
    "value", [np.int8(-3), np.uint64(2**63), np.float32(0.1), np.float64(0.5), np.bool_(True), YES, np.bytes_(b"x")]
)
def test_the_plain_value_equals_the_scalar_and_is_no_scalar(value):
    """It hashes the same, so states and evidence of both kinds meet."""
    assert plain(value) == value
    assert hash(plain(value)) == hash(value)
    assert not isinstance(plain(value), np.generic)


@pytest.mark.parametrize(
    "value", [np.datetime64("2020-01-01", "ns"), np.arange(3), "text", None, (ONE,), pb.DAG("A -> B")]
)
def test_all_else_stays_as_it_is(value):
    """A date of NumPy in nanoseconds would become a number."""
    assert plain(value) is value


def test_states_given_by_an_array_are_plain():
    """Variables, best assignments and names."""
    assert repr(NET.variables["A"]) == "Variable('A', [0, 1])"
    assert repr(NET.mpe({"B": YES})) == "Assignment(A=1, B='yes')"
    assert repr(pb.likelihood({NO: ONE, YES: 0})) == "likelihood({'no': 1.0, 'yes': 0.0})"
    assert [type(state) for state in NET.sample(9, seed=1)["B"]] == [str] * 9
    assert repr(pb.DAG([(ONE, np.int64(2))])) == "DAG([(1, 2)], nodes=[1, 2])"
    assert "B='yes': 0.9163 nats" in repr(NET.evidence_impact("A", {"B": YES}))


@pytest.mark.parametrize(
    ("ask", "told"),
    [
        (lambda: NET.query("B", {"A": np.int64(2)}), "2 is not a state of 'A'. Known: 0, 1."),
        (lambda: NET.query("A", {"B": [np.str_("noo")]}), "'noo' is not a state of 'B'. Did you mean 'no'?"),
        (lambda: NET.query(np.str_("C")), "'C' is not a variable of this network. Known: 'A', 'B'."),
        (lambda: NET.query("A", {np.str_("D"): ONE}), "'D' is not a variable of this network. Known: 'A', 'B'."),
        (
            lambda: NET.query("A", {"A": np.int64(0), "B": YES}),
            "The evidence A=0, B='yes' has probability zero together.",
        ),
        (lambda: NET.query("B", {"A": ONE}, do={"A": np.int64(0)}), "The evidence A=1 contradicts do={'A': 0}."),
        (lambda: NET.query("A", {"B": pb.likelihood({NO: 1})}), "likelihood evidence for 'B' has no weight for 'yes'."),
        (lambda: NET.query("A")[np.int64(7)], "7 is not a state of 'A'. Known: 0, 1."),
        (lambda: NET.graph.parents(np.str_("C")), "'C' is not a node of this graph. Known: 'A', 'B'."),
        (lambda: pb.Variable("C", [ONE, ONE]), "The state 1 of 'C' stands twice (1, 1.0 and True count as equal)."),
    ],
)
def test_errors_show_plain_values(ask, told):
    """What was given, what is known and what would do."""
    with pytest.raises(PlausibleError) as raised:
        ask()
    assert str(raised.value) == told


def test_collections_are_shown_with_plain_members():
    """Lists, tuples and sets; others as they print."""
    assert [shown(kind([ONE])) for kind in (list, tuple, set, frozenset)] == ["[1]", "(1,)", "{1}", "frozenset({1})"]
    assert shown({"a": 1}) == "{'a': 1}"
