"""The max-sum kernels against NumPy on whole tables."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from map_oracle import NO_EVIDENCE, random_factors
from plausible.inference.optimization.relaxations import MaxSum
from plausible.inference.problem import Problem
from plausible.kernels.max_sum import ascend, shift_all
from seeds import few_of


def shifted_by_tables(problem, logs, deltas, order):
    """MPLP updates: -δ_i^{-f} + max (log φ + Σ_j δ_j^{-f}) / |f|, with a message for each (factor, variable)."""
    for f in order:
        scope = problem.scope(f)
        others = [sum(deltas[g, j] for g, j in deltas if j == i and g != f) + np.zeros(problem.sizes[i]) for i in scope]
        table = logs[problem.table_starts[f] : problem.table_starts[f + 1]].reshape(problem.sizes[list(scope)])
        for axis, other in enumerate(others):
            table = table + np.expand_dims(other, tuple(k for k in range(len(scope)) if k != axis))
        for axis, (i, other) in enumerate(zip(scope, others, strict=True)):
            best = table.max(axis=tuple(k for k in range(len(scope)) if k != axis))
            deltas[f, i] = best / len(scope) - other
    return deltas


@pytest.mark.parametrize("backward", [False, True])
@pytest.mark.parametrize("seed", range(12))
def test_a_sweep_sets_each_message_to_its_share_of_the_max_marginals(seed, backward):
    """From random messages, in both directions; the kept sums are those of the messages."""
    rng = np.random.default_rng(seed)
    problem = Problem.of(random_factors(rng), NO_EVIDENCE)
    layout = MaxSum.of(problem)
    messages = rng.normal(size=int(layout.arrays.message_starts[-1]))
    entries = list(zip(layout.arrays.owners.tolist(), problem.scopes.tolist(), strict=True))
    parts = np.split(messages, layout.arrays.message_starts[1:-1]) if entries else []
    order = range(len(problem.factors))
    expected = shifted_by_tables(
        problem, layout.arrays.logs, dict(zip(entries, parts, strict=True)), reversed(order) if backward else order
    )
    beliefs, shifted = layout.beliefs(messages), messages.copy()
    shift_all(layout.arrays, backward, beliefs, shifted)
    assert shifted == pytest.approx(np.concatenate([expected[entry] for entry in entries] or [np.empty(0)]), abs=1e-9)
    assert beliefs == pytest.approx(layout.beliefs(shifted), abs=1e-9)


@pytest.mark.parametrize("seed", few_of(6, 20))
def test_an_ascent_ends_where_no_single_change_helps(seed):
    """And returns the sum there, which is not below that of the start."""
    rng = np.random.default_rng(seed)
    problem = Problem.of(random_factors(rng), NO_EVIDENCE)
    layout = MaxSum.of(problem)
    start = rng.integers(0, problem.sizes)
    states = start.copy()
    value = ascend(layout.arrays, states)
    changed = [states, start]
    for variable, size in enumerate(problem.sizes):
        for state in range(size):
            changed.append(states.copy())
            changed[-1][variable] = state
    values = problem.log_product(np.array(changed))
    assert value == pytest.approx(values[0])
    assert values.max() <= value + 1e-9


def test_the_layout_counts_every_cell_of_every_entry():
    """Each cell's place in a message is that of the state which its index has on the axis."""
    problem = Problem.of(random_factors(np.random.default_rng(4)), NO_EVIDENCE)
    layout = MaxSum.of(problem)
    expected = []
    for entry, (f, variable) in enumerate(zip(layout.arrays.owners, problem.scopes, strict=True)):
        axis = problem.scope(f).index(variable)
        indices = itertools.product(*(range(problem.sizes[i]) for i in problem.scope(f)))
        expected += [
            (problem.table_starts[f] + cell, layout.arrays.message_starts[entry] + index[axis])
            for cell, index in enumerate(indices)
        ]
    assert list(zip(*(part.tolist() for part in layout.digits), strict=True)) == expected
