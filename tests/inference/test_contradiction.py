"""Which findings contradict each other."""

from __future__ import annotations

import math

import numpy as np
import pytest

from plausible.inference import smallest_contradiction
from plausible.inference.findings import impossible_evidence
from seeds import few_of


@pytest.mark.parametrize("seed", few_of(12, 20))
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
    """And says whether others matter."""
    evidence = {"a": 1, "b": "x", "c": 3}
    assert str(impossible_evidence(evidence, lambda found: not core <= found.keys())) == message


@pytest.mark.parametrize("core", [(0,), (299,), (10, 200), (0, 1, 2), (3, 77, 150, 298)])
def test_few_calls_find_a_small_contradiction_among_many_findings(core):
    """k out of n = 300 in at most 2k log2(n/k) + 2k calls (Junker's bound) and two more, not one for each finding."""
    calls = 0

    def possible(found):
        nonlocal calls
        calls += 1
        return not set(core) <= found.keys()

    assert smallest_contradiction(dict.fromkeys(range(300), 0), possible) == dict.fromkeys(core, 0)
    assert calls <= 2 * len(core) * math.log2(300 / len(core)) + 2 * len(core) + 2


def test_nothing_is_named_where_everything_is_impossible():
    """No finding is to blame."""
    assert smallest_contradiction({"a": 1}, lambda found: False) == {}
    assert impossible_evidence({"a": 1}, lambda found: False) is None
    assert impossible_evidence({}, lambda found: False) is None
