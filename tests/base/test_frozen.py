"""Values can't be changed: not their slots, not their properties, not by deleting."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

import plausible as pb
from plausible.base.frozen import Frozen
from plausible.errors import ImmutableValue

RAIN = pb.TableCPD("rain", [0.8, 0.2])
NETWORK = pb.BayesianNetwork(RAIN, pb.NoisyOr("wet", ["rain"], [0.9], leak=0.1))
FACTOR = pb.Factor({"A": 2, "B": 2}, [[1, 2], [2, 1]])
SETTINGS = [
    (NETWORK.cpds["wet"], "leak", 0.9),
    (NETWORK.cpds["wet"], "activation", [0.5]),
    (RAIN, "variable", pb.Variable("snow", 2)),
    (RAIN, "parent_names", ("snow",)),
    (RAIN, "values", [0.5, 0.5]),
    (RAIN, "kind", "tree"),
    (pb.TableCPD("X", [[1, 0]], parents=["U"]), "parents", ()),
    (pb.LinearGaussianCPD("Y", variance=2.0), "variance", 1.0),
    (pb.ConditionalGaussianCPD("Y", [0.0, 1.0], {}, [1.0, 1.0], parents=["A"]), "discrete_names", ()),
    (NETWORK, "notes", pb.models.Notes(name="other")),
    (NETWORK, "cpds", {}),
    (NETWORK, "title", "a name that no network has"),
    (pb.MarkovNetwork(FACTOR), "notes", pb.models.Notes()),
    (pb.FactorGraph([FACTOR]), "factors", {}),
    (pb.ConditionalRandomField(FACTOR, inputs=["A"]), "inputs", ()),
    (pb.Assignment({"A": 1}, log_probability=-1.0), "log_probability", 0.0),
]


@pytest.mark.parametrize(("value", "name", "new"), SETTINGS, ids=lambda part: part if isinstance(part, str) else "")
def test_no_public_attribute_can_be_set_or_deleted(value: Any, name: str, new: object) -> None:
    """The error names the attribute and says what to do instead."""
    kind = type(value).__name__
    with pytest.raises(ImmutableValue, match=f"{kind} can't be changed, so '{name}' can't be set: make a new one"):
        setattr(value, name, new)
    with pytest.raises(ImmutableValue, match=f"{kind} can't be changed, so '{name}' can't be deleted"):
        delattr(value, name)


def test_an_answer_is_the_same_after_an_attempt_to_change_the_model() -> None:
    before = NETWORK.query("wet")
    with pytest.raises(AttributeError, match="leak"):
        NETWORK.cpds["wet"].leak = 0.9
    assert NETWORK.query("wet") == before


def test_a_model_says_which_edits_it_offers() -> None:
    with pytest.raises(ImmutableValue, match=r"make a new one with with_cpd, .* or the constructor"):
        NETWORK.notes = pb.models.Notes()


@pytest.mark.parametrize("value", [value for value, _, _ in SETTINGS], ids=lambda value: type(value).__name__)
def test_values_can_be_copied_and_pickled_and_stay_closed(value: Any) -> None:
    name = "variables" if hasattr(value, "variables") else "parent_names"
    for twin in (copy.copy(value), copy.deepcopy(value), pickle.loads(pickle.dumps(value))):
        assert twin == value
        with pytest.raises(ImmutableValue):
            setattr(twin, name, ())


def test_a_slot_is_written_once() -> None:
    class Point(Frozen):
        __slots__ = ("_cache", "x")

        def __init__(self, x: float) -> None:
            self.x = x
            self._cache = 0
            self._cache = 1

    with pytest.raises(ImmutableValue, match="A Point can't be changed, so 'x'"):
        Point(2.0).x = 3.0
    with pytest.raises(ImmutableValue, match="'y'"):
        Point(2.0).y = 3.0
