"""Roots of semi-definite matrices that do not hang on how they are found."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plausible.factors.definite import condition_definite, pivoted_root


@given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.integers(0, 6))
@settings(max_examples=24, deadline=None)
def test_the_root_squares_to_the_matrix_and_has_as_many_columns_as_its_rank(seed, size, rank):
    rng = np.random.default_rng(seed)
    factor = rng.normal(size=(size, min(rank, size)))
    root, pivots = pivoted_root(factor @ factor.T, 1e-9)
    assert root.shape == (size, min(rank, size))
    assert root @ root.T == pytest.approx(factor @ factor.T, abs=1e-7)
    assert len(set(pivots)) == len(pivots) == root.shape[1]
    assert all(root[pivot, place] > 0 for place, pivot in enumerate(pivots))
    for place, pivot in enumerate(pivots):
        assert root[pivot, place + 1 :] == pytest.approx(0.0, abs=1e-7)


@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.integers(0, 4))
@settings(max_examples=24, deadline=None)
def test_a_projection_has_one_orthonormal_basis_whatever_digits_it_ends_in(seed, size, more):
    """Columns that weigh the same, too: all of them twice."""
    rng = np.random.default_rng(seed)
    space = np.linalg.qr(np.tile(rng.normal(size=(size, size + more)), 2).T)[0]
    rotation = np.linalg.qr(rng.normal(size=(size, size)))[0]
    turned = (space @ rotation) * (1 + 1e-14 * rng.uniform(-1, 1, space.shape))
    one, other = (pivoted_root(basis @ basis.T, 1e-10) for basis in (space, turned))
    assert one.pivots == other.pivots
    assert one.root == pytest.approx(other.root, abs=1e-10)
    assert one.root.T @ one.root == pytest.approx(np.eye(size), abs=1e-10)
    assert one.root @ (one.root.T @ space) == pytest.approx(space, abs=1e-10)


@pytest.mark.parametrize("seed", range(8))
def test_conditioning_is_the_same_in_all_units(seed):
    """Units that are powers of two change no digit: which variable goes first hangs on its share of variance left."""
    rng = np.random.default_rng(seed)
    factor, units = rng.normal(size=(6, 6)), 2.0 ** rng.integers(-20, 20, size=6)
    covariance, mean, point = factor @ factor.T, rng.normal(size=6), rng.normal(size=4)
    plain = condition_definite(mean, covariance, range(4), [4, 5], point)
    scaled = condition_definite(mean * units, covariance * np.outer(units, units), range(4), [4, 5], point * units[:4])
    np.testing.assert_array_equal(scaled.mean, plain.mean * units[4:])
    np.testing.assert_array_equal(scaled.covariance, plain.covariance * np.outer(units[4:], units[4:]))
    assert scaled.log_density == pytest.approx(plain.log_density - np.log(units[:4]).sum(), rel=1e-12)


def test_nothing_has_no_columns():
    assert pivoted_root(np.zeros((3, 3)), 1e-12).root.shape == (3, 0)
    assert pivoted_root(np.zeros((0, 0)), 1e-12).root.shape == (0, 0)
