"""Counts of extended families, those of one shape together."""

import numpy as np
import pytest

from plausible.data.table import Table
from plausible.data.table_statistics import TableStatistics
from plausible.kernels.counting import weigh_extensions
from plausible.variables import Variable

OPTIONS = [{}, {"weights": np.linspace(0, 2, 50)}, {"interventions": {"a": np.arange(50) % 3 == 0}}]


@pytest.mark.parametrize("options", OPTIONS, ids=["plain", "weights", "interventions"])
@pytest.mark.parametrize("parents", [[], ["b"], ["b", "large", "e"]], ids=len)
@pytest.mark.parametrize("combined", [False, True])
def test_each_candidate_is_in_one_stack_with_the_counts_of_its_family(options, parents, combined):
    rng = np.random.default_rng(0)
    sizes = {"a": 2, "b": 3, "c": 2, "d": 4, "e": 3, "f": 2, "large": 30, "huge": 400}
    columns = {name: rng.permuted(np.arange(50) % size) for name, size in sizes.items()}
    table = Table.read(columns, [Variable("huge", 400)], **options)
    statistics = TableStatistics(table)
    asked = statistics + statistics if combined else statistics
    candidates = [name for name in ("f", "huge", "d", "c", "e", "b") if name not in parents]
    found = {}
    for places, counts in asked.extension_stacks("a", parents, candidates):
        found |= {candidates[place]: one for place, one in zip(places.tolist(), counts, strict=True)}
    assert set(found) == set(candidates)
    for name, counts in found.items():
        expected = statistics.counts("a", [name, *parents]) * (2 if combined else 1)
        np.testing.assert_allclose(counts, expected)
    assert asked.extension_stacks("a", parents, []) == []


def test_no_sets_are_made_for_candidates_with_many_states(monkeypatch):
    """A set of rows for each of 5,000 states would take much longer than one pass over the rows."""
    rng = np.random.default_rng(1)
    statistics = TableStatistics({"a": rng.integers(2, size=6000), "b": rng.permutation(6000) % 5000})
    packed = []
    monkeypatch.setattr("plausible.data.table_statistics._packed", lambda *arguments: packed.append(arguments))
    ((_, counts),) = statistics.extension_stacks("a", [], ["b"])
    assert packed == []
    assert counts.dtype == np.int64
    assert counts.shape == (1, 5000, 2)
    assert counts.sum() == 6000


@pytest.mark.parametrize("dtype", [np.int8, np.int32])
def test_the_kernel_weighs_each_family_as_a_sum_over_its_rows(dtype):
    """Against NumPy's own histogram, over more rows than one block has."""
    rng = np.random.default_rng(2)
    sizes = [2, 3, 4, 5]
    codes = np.array([rng.integers(size, size=2500) for size in sizes]).astype(dtype)
    codes.setflags(write=False)
    weights = rng.random(2500)
    counts = np.zeros(6 * (4 + 5))
    weigh_extensions(codes, np.array([1, 0]), np.array([6, 2, 1]), weights, np.array([2, 3]), np.array([0, 24]), counts)
    family = codes[1].astype(int) * 2 + codes[0]
    for candidate, part in [(2, counts[:24]), (3, counts[24:])]:
        expected = np.bincount(codes[candidate] * 6 + family, weights, part.size)
        np.testing.assert_allclose(part, expected, rtol=1e-12)
