"""Seeds of random cases: some for every run, more for `make test-slow`."""

from __future__ import annotations

import pytest


def few_of(num: int, in_all: int) -> list[object]:
    """0, 1, ... `in_all` - 1, of which all but the first `num` are slow."""
    return [*range(num), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(num, in_all))]
