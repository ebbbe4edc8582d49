"""Assignments: mappings from names to states."""

from __future__ import annotations

import copy
import pickle

import pytest

from plausible.errors import UnknownVariable
from plausible.variables import Assignment

BEST = Assignment({"I": "high", "G": "A", "odd name": 3}, log_probability=-1.31)


def test_an_assignment_is_a_mapping():
    """It equals, unpacks and iterates like the dictionary it holds."""
    assert BEST == {"I": "high", "G": "A", "odd name": 3}
    assert {**BEST} == {"I": "high", "G": "A", "odd name": 3}
    assert list(BEST) == ["I", "G", "odd name"]
    assert len(BEST) == 3
    assert "G" in BEST
    assert "L" not in BEST
    assert BEST.get("L", "none") == "none"


def test_an_unknown_name_gets_close_matches():
    """It is a KeyError, so mappings behave; the message helps."""
    with pytest.raises(
        UnknownVariable, match=r"'odd nam' is not a variable of this assignment\. Did you mean 'odd name'"
    ):
        BEST["odd nam"]
    with pytest.raises(KeyError):
        BEST["L"]


def test_restriction_projects_on_the_names_it_has():
    """ξ⟨U⟩ keeps order and drops the log-probability, which belongs to the whole."""
    part = BEST.restrict(["G", "I", "L"])
    assert part == {"I": "high", "G": "A"}
    assert list(part) == ["I", "G"]
    assert part.log_probability is None
    assert BEST.restrict([]) == {}


def test_consistency_is_agreement_where_both_speak():
    """Variables that only one assigns don't matter."""
    assert BEST.is_consistent({"G": "A", "L": "weak"})
    assert BEST.is_consistent({})
    assert not BEST.is_consistent({"G": "B", "I": "high"})


@pytest.mark.parametrize("clone", [copy.copy, copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))])
def test_assignments_are_frozen_values(clone):
    """Order doesn't matter to equality or hash; the dictionary given and the fields can't be used to change it."""
    given = {"A": 1}
    assignment = Assignment(given)
    given["A"] = 2
    assert assignment["A"] == 1
    twin = clone(BEST)
    assert twin == BEST
    assert twin.log_probability == -1.31
    assert hash(Assignment({"a": 1, "b": 2})) == hash(Assignment({"b": 2, "a": 1}))
    with pytest.raises(TypeError):
        BEST["I"] = "low"
    with pytest.raises(AttributeError):
        BEST.log_probability = 0.0


def test_printing_names_every_state():
    """Names that are no identifiers are quoted."""
    assert repr(BEST) == "Assignment(I='high', G='A', 'odd name': 3)"
    assert repr(Assignment({})) == "Assignment()"
