"""Counts of extended families, those of one shape together."""

import numpy as np
import pytest

from plausible.data.table import Table
from plausible.data.table_statistics import TableStatistics

OPTIONS = [{}, {"weights": np.linspace(0, 2, 50)}, {"interventions": {"a": np.arange(50) % 3 == 0}}]


@pytest.mark.parametrize("options", OPTIONS, ids=["plain", "weights", "interventions"])
@pytest.mark.parametrize("parents", [[], ["b"], ["b", "large", "e"]], ids=len)
@pytest.mark.parametrize("combined", [False, True])
def test_each_candidate_is_in_one_stack_with_the_counts_of_its_family(options, parents, combined):
    rng = np.random.default_rng(0)
    sizes = {"a": 2, "b": 3, "c": 2, "d": 4, "e": 3, "f": 2, "large": 30}
    table = Table.read({name: rng.permuted(np.arange(50) % size) for name, size in sizes.items()}, **options)
    statistics = TableStatistics(table)
    asked = statistics + statistics if combined else statistics
    candidates = [name for name in ("f", "d", "c", "e", "b") if name not in parents]
    found = {}
    for places, counts in asked.extension_stacks("a", parents, candidates):
        found |= {candidates[place]: one for place, one in zip(places.tolist(), counts, strict=True)}
    assert set(found) == set(candidates)
    for name, counts in found.items():
        expected = statistics.counts("a", [name, *parents]) * (2 if combined else 1)
        np.testing.assert_allclose(counts, expected)
    assert asked.extension_stacks("a", parents, []) == []
