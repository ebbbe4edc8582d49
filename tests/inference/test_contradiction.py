"""Which findings contradict each other."""

from __future__ import annotations

import numpy as np
import pytest

from plausible.inference import smallest_contradiction
from plausible.inference.contradiction import impossible_evidence
from plausible.variables import jeffrey


@pytest.mark.parametrize("seed", range(20))
def test_contradiction_is_impossible_and_can_spare_nothing(seed):
    """With random sets of findings that can't hold together."""
    rng = np.random.default_rng(seed)
    names = list("abcdefg")
    cores = [set(rng.permutation(names)[: rng.integers(1, 4)]) for _ in range(3)]

    def possible(found):
        return not any(core <= found.keys() for core in cores)

    result = smallest_contradiction(dict.fromkeys(names, 0), possible)
    assert not possible(result)
    for name in result:
        assert possible({other: 0 for other in result if other != name})


def test_possible_evidence_has_no_contradiction():
    """There is nothing to name."""
    assert smallest_contradiction({"a": 1}, lambda found: True) is None
    assert impossible_evidence({"a": 1}, lambda found: True) is None


@pytest.mark.parametrize(
    ("core", "message"),
    [
        ({"a"}, "The evidence a=1 has probability zero."),
        ({"a", "b"}, "The evidence a=1, b='x' has probability zero together, whatever the other findings."),
        ({"a", "b", "c"}, "The evidence a=1, b='x', c=3 has probability zero together."),
    ],
)
def test_message_names_the_findings(core, message):
    """And says whether others matter; Jeffrey findings are no events."""
    evidence = {"a": 1, "b": "x", "c": 3, "d": jeffrey([1.0])}
    assert str(impossible_evidence(evidence, lambda found: not core <= found.keys())) == message
