"""Sums of one table over many scopes."""

import numpy as np

from plausible.learn.undirected.table_sums import table_sums


def test_sums_over_scopes_are_those_of_any_order_of_adding():
    """Scopes of any size and order, axes of one state and unused ones included, equal einsum's."""
    rng = np.random.default_rng(0)
    for _ in range(200):
        num = int(rng.integers(1, 7))
        table = rng.random(tuple(rng.integers(1, 4, size=num)))
        sizes = rng.integers(1, min(num, 3) + 1, size=rng.integers(1, 10))
        scopes = {key: tuple(rng.permutation(num)[:size].tolist()) for key, size in enumerate(sizes)}
        sums = table_sums(table, scopes)
        assert sums.keys() == scopes.keys()
        for key, scope in scopes.items():
            assert np.allclose(sums[key], np.einsum(table, list(range(num)), list(scope)), rtol=1e-13)
