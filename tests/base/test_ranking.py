"""Orders by numbers that rounding has touched."""

import numpy as np
import pytest

from plausible.base.arrays import ranked


@pytest.mark.parametrize("seed", range(5))
def test_noise_below_the_room_changes_no_order(seed):
    """Values on a grid, many of them equal: the order is that of the grid, and of the items where it has them equal."""
    rng = np.random.default_rng(seed)
    grid = rng.integers(0, 10, 200)
    noisy = grid + rng.uniform(-1e-9, 1e-9, 200)
    expected = sorted(range(200), key=lambda place: (-grid[place], place))
    assert ranked(range(200), lambda place: noisy[place], 2.1e-9) == expected


def test_nothing_infinite_and_no_items():
    values = {"low": -np.inf, "high": np.inf, "other": -np.inf, "mid": 0.0}
    assert ranked(values, values.__getitem__, 1.0) == ["high", "mid", "low", "other"]
    assert ranked([], float, 1.0) == []
