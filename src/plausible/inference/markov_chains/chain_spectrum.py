"""How fast Markov chains forget their start: the distance of the second largest |λ| from one."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from plausible.base.arrays import Floats, Ints
from plausible.errors import NotSupported
from plausible.inference.markov_chains.chain_balance import log_balance
from plausible.inference.markov_chains.chain_limits import SMALL, stationary_vector
from plausible.inference.markov_chains.chain_structure import Structure
from plausible.inference.markov_chains.reversible_spectrum import ReversibleClass, reversible_gap

__all__ = ["gap_of"]

#: Arnoldi's method gives up after so many restarts.
_RESTARTS = 60
#: Weights below this are too few digits to scale by.
_LEAST_WEIGHT = 1e-280


def gap_of(matrix: Any, structure: Structure) -> float:
    """1 - |λ_2| of a sparse transition matrix with one closed class, which has no period.

    The matrix is block-triangular: the eigenvalues are those of the classes, one by one. Of the closed one the largest
    is one and the second counts; of the others the largest does.
    """
    stays, sizes = matrix.diagonal(), np.bincount(structure.labels)
    alone = (sizes == 1) & ~structure.is_closed
    gap = 1.0 - float(stays[alone[structure.labels]].max(initial=0.0))
    members = structure.members()
    for number in np.flatnonzero(sizes > 1):
        rows = matrix[members[number]]
        gap = min(gap, _class_gap(rows[:, members[number]], _leaks(rows, members[number])))
    return gap


def _leaks(rows: Any, places: Ints) -> Floats:
    """For each state of a class the probability to leave it: exactly zero where nothing does."""
    is_out = np.ones(rows.shape[1])
    is_out[places] = 0.0
    return np.asarray(rows @ is_out, dtype=np.float64)


def _class_gap(block: Any, leaks: Floats) -> float:
    logs = log_balance(block)
    if logs is not None:
        return reversible_gap(ReversibleClass(block, leaks, logs))
    is_closed = not leaks.any()
    values = _all_values(block, is_closed) if block.shape[0] <= SMALL else _arnoldi(block, is_closed)
    return max(0.0, 1.0 - float(np.sort(np.abs(values))[-2 if is_closed else -1]))


def _all_values(block: Any, is_closed: bool) -> NDArray[np.complex128]:
    """All eigenvalues; of a closed class those of D^½ A D^-½, D = diag(π), which stretches no vector."""
    table = block.toarray()
    if is_closed:
        weights = stationary_vector(block).weights
        if weights.min() > _LEAST_WEIGHT:
            roots = np.sqrt(weights)
            table *= roots[:, None] / roots
    return np.asarray(np.linalg.eigvals(table), dtype=np.complex128)


def _arnoldi(block: Any, is_closed: bool) -> NDArray[np.complex128]:
    from scipy.sparse.linalg import ArpackNoConvergence, eigs

    start = np.random.default_rng(0).random(block.shape[0])
    try:
        values = eigs(block, k=1 + is_closed, ncv=40, maxiter=_RESTARTS, v0=start, return_eigenvectors=False)
    except ArpackNoConvergence:
        raise NotSupported(
            f"The second eigenvalue of this chain of {block.shape[0]} states is too near to others for Arnoldi's "
            "method: the chain mixes very slowly. See stationary(), which does not need it, or lump states together."
        ) from None
    return np.asarray(values)
