"""Chains that look further back are hidden Markov models over tuples."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from plausible.models.sequences.chain_structures import higher_order_hmm


@pytest.mark.parametrize("length", [1, 2, 4])
def test_a_chain_of_order_two_equals_enumeration(length):
    """Σ over paths of P(x_1, x_2) Π P(x_t | x_t-2, x_t-1) Π P(o_t | x_t)."""
    rng = np.random.default_rng(length)
    joint = rng.dirichlet(np.ones(4)).reshape(2, 2)
    table, symbols = rng.dirichlet(np.ones(2), size=(2, 2)), rng.dirichlet(np.ones(3), size=2)
    rows = rng.integers(3, size=length).tolist()
    total = 0.0
    for path in itertools.product(range(2), repeat=length):
        weight = joint.sum(axis=1)[path[0]] if length == 1 else joint[path[:2]]
        for t in range(2, length):
            weight *= table[path[t - 2 : t + 1]]
        total += weight * math.prod(symbols[state, row] for state, row in zip(path, rows, strict=True))
    model = higher_order_hmm(joint, table, symbols)
    assert model.log_likelihood(rows) == pytest.approx(math.log(total), abs=1e-12)
