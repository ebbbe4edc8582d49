"""The kernels of clique trees against their NumPy twins."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from plausible.engine.compilation import _Views
from plausible.kernels.cliques import accumulate, fill, multiply


@st.composite
def laid_over(draw):
    """A table, a small array over some of its axes in any order, the view, and the axes' places."""
    sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=6))
    chosen = draw(st.lists(st.sampled_from(range(len(sizes))), unique=True))
    seed = draw(st.integers(0, 10**6))
    rng = np.random.default_rng(seed)
    views = _Views()
    views.add(tuple(range(len(sizes))), tuple(chosen), sizes)
    small = rng.random([sizes[axis] for axis in chosen])
    return rng.random(sizes), small, np.array(views.numbers, dtype=np.int64), chosen


def _broadcast(table, small, chosen):
    """The small array with the table's axes: named axes by einsum, no strides."""
    return np.einsum(small, chosen, np.ones(table.shape), list(range(table.ndim)), list(range(table.ndim)))


@settings(max_examples=150, deadline=None)
@given(case=laid_over())
def test_multiply_is_the_broadcast_product(case):
    """table *= small along the axes that it has."""
    table, small, view, chosen = case
    expected = table * _broadcast(table, small, chosen)
    flat = table.ravel().copy()
    multiply(flat, small.ravel(), view, np.zeros(64, dtype=np.int64))
    np.testing.assert_allclose(flat.reshape(table.shape), expected, rtol=1e-15)


@settings(max_examples=150, deadline=None)
@given(case=laid_over())
def test_fill_is_the_broadcast_copy(case):
    """table = small along the axes that it has."""
    table, small, view, chosen = case
    flat = np.empty(table.size)
    fill(flat, small.ravel(), view, np.zeros(64, dtype=np.int64))
    np.testing.assert_array_equal(flat.reshape(table.shape), _broadcast(table, small, chosen))


@settings(max_examples=150, deadline=None)
@given(case=laid_over())
def test_accumulate_sums_over_the_other_axes(case):
    """small += the sum of the table over the axes that it lacks."""
    table, small, view, chosen = case
    expected = small + np.einsum(table, list(range(table.ndim)), chosen)
    flat = small.ravel().copy()
    accumulate(table.ravel(), flat, view, np.zeros(64, dtype=np.int64))
    np.testing.assert_allclose(flat.reshape(small.shape), expected, rtol=1e-12)
