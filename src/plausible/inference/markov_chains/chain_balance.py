"""Detailed balance of Markov chains, in logarithms: stationary weights that would underflow do no harm."""

from __future__ import annotations

from typing import Any

import numpy as np

from plausible.base.arrays import Floats

__all__ = ["log_balance"]


#: Flows that differ by no more than this share of themselves are the same.
_BALANCE = 1e-9


def log_balance(matrix: Any) -> Floats | None:
    """log w with w(i) A[i, j] = w(j) A[j, i] for all i, j, at zero for state 0; `None` where there is no such w.

    By Kolmogorov's criterion: log A[i, j] - log A[j, i] is a difference of potentials, found along a tree and then
    looked at on every other transition. Linear in the entries, up to the logarithm of the depth of the tree.

    Parameters
    ----------
    matrix
        A sparse matrix of rates between states of which each leads to each, directly or not; its diagonal plays no
        part, its rows may sum to less than one.
    """
    if matrix.shape[0] == 1:
        return np.zeros(1)
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import breadth_first_order

    entries = matrix.tocoo()
    is_move = entries.row != entries.col
    rates = csr_array((entries.data[is_move], (entries.row[is_move], entries.col[is_move])), shape=matrix.shape)
    back = rates.T.tocsr()
    if not (np.array_equal(rates.indptr, back.indptr) and np.array_equal(rates.indices, back.indices)):
        return None
    rises = csr_array((np.log(rates.data) - np.log(back.data), rates.indices, rates.indptr), shape=matrix.shape)
    parents = breadth_first_order(rates, 0)[1].astype(np.int64)
    parents[0] = 0
    potentials: Floats = np.zeros(matrix.shape[0])
    potentials[1:] = rises[parents[1:], np.arange(1, matrix.shape[0])]
    # Each round looks twice as far up the tree as the one before.
    while parents.any():
        potentials += potentials[parents]
        parents = parents[parents]
    sources = np.repeat(np.arange(matrix.shape[0]), np.diff(rises.indptr))
    misses = np.abs(potentials[rises.indices] - potentials[sources] - rises.data)
    return potentials if misses.max(initial=0.0) <= _BALANCE else None
