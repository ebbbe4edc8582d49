"""The sampling kernels against twins in plain NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from plausible.kernels.sampling import BLOCK, Lookups, draw_block, sum_samples

KEY = np.uint64(0x0123456789ABCDEF)


def integers(*numbers):
    return np.array(numbers, dtype=np.int64)


def uniform(variable, sample):
    """SplitMix64 in Python's own integers."""
    mask = (1 << 64) - 1
    z = (int(KEY) + ((variable << 40) + sample) * 0x9E3779B97F4A7C15) & mask
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
    return ((z ^ (z >> 31)) >> 11) / 2**53


def chain():
    """X0 with three states, X1 with two given X0, X2 with one; weights by (X0, X1), some of them zero."""
    first = np.array([0.2, 0.7])
    second = np.array([0.5, 0.1, 0.8])
    draws = Lookups(integers(0, 0, 1, 1), integers(0), integers(1), integers(0, 2, 5), np.concatenate([first, second]))
    logs = np.array([0.0, -1.0, -np.inf, 2.0, -3.0, 0.5])
    weights = Lookups(integers(0, 2), integers(0, 1), integers(2, 1), integers(0), logs)
    return draws, integers(2, 1, 0), weights


def twin(first, last):
    """States and log-weights, sample by sample."""
    draws, _, weights = chain()
    rows, logs = [], []
    for sample in range(first, last):
        x0 = int(np.searchsorted(draws.tables[:2], uniform(0, sample), side="right"))
        x1 = int(uniform(1, sample) >= draws.tables[2 + x0])
        rows.append((x0, x1, 0))
        logs.append(weights.tables[2 * x0 + x1])
    return np.array(rows), np.array(logs)


def test_blocks_equal_the_twin_wherever_they_begin():
    draws, widths, weights = chain()
    states, logs = np.empty((3, BLOCK), dtype=np.int32), np.empty(BLOCK)
    for first, count in ((0, 300), (123_456, 200), (1 << 33, 100)):
        draw_block(draws, widths, weights, KEY, first, count, states, logs, np.empty(BLOCK, dtype=np.int32))
        rows, expected = twin(first, first + count)
        assert np.array_equal(states[:, :count].T, rows)
        assert np.array_equal(logs[:count], expected)


def test_sums_equal_those_of_the_twin():
    """More than one block, the last not full; sums over X1 and over all samples, as multiples of the largest weight."""
    draws, widths, weights = chain()
    last = 2 * BLOCK + 77
    groups = Lookups(integers(0, 1), integers(1), integers(2), integers(0), np.zeros(4))
    peak, total, squares = sum_samples(draws, widths, weights, groups, KEY, 0, last)
    rows, logs = twin(0, last)
    scaled = np.exp(logs - logs.max())
    assert peak == logs.max()
    assert total == pytest.approx(scaled.sum())
    assert squares == pytest.approx((scaled**2).sum())
    sums = [(scaled**power)[rows[:, 1] == state].sum() for state in range(2) for power in (1, 2)]
    assert groups.tables == pytest.approx(sums)


def test_samples_without_weight_add_nothing():
    draws, widths, weights = chain()
    nothing = weights._replace(tables=np.full(6, -np.inf))
    groups = Lookups(integers(0, 1), integers(1), integers(2), integers(0), np.zeros(4))
    assert sum_samples(draws, widths, nothing, groups, KEY, 0, 5000) == (-np.inf, 0.0, 0.0)
    assert not groups.tables.any()
