"""Frozen mappings: the mapping fields of records."""

from __future__ import annotations

import copy
import pickle

import pytest

from plausible.base.frozen import FrozenMapping


def test_a_frozen_mapping_is_a_value():
    """Equal and hashed by content in any order, closed to assignment, the order of its items kept."""
    one, other = FrozenMapping({"a": 1, "b": 2}), FrozenMapping([("b", 2), ("a", 1)])
    assert one == other == {"a": 1, "b": 2}
    assert hash(one) == hash(other)
    assert list(other) == ["b", "a"]
    assert pickle.loads(pickle.dumps(other)) == copy.copy(other) == copy.deepcopy(other) == one
    with pytest.raises(TypeError):
        one["a"] = 3
    with pytest.raises(KeyError):
        one["c"]
