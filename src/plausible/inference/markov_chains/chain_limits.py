"""What Markov chains come to in the long run: stationary distributions, absorption, speed of mixing."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["SMALL", "absorption_solutions", "second_modulus", "stationary_vector", "steps_to_mix"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Up to so many states dense matrices are quick.
SMALL = 1000
#: So many steps of a sparse chain are tried before its equations are solved by elimination.
_POWER_STEPS = 3000
_POWER_TOLERANCE = 1e-14
_MAX_DOUBLINGS = 60


def stationary_vector(matrix: Any) -> Floats:
    """The π with π = π A and sum one of an irreducible sparse chain.

    Small chains by the elimination of Grassmann, Taksar & Heyman (1985), which subtracts nothing and so is accurate
    for every entry. Others by steps of the lazy chain (A + I) / 2, which has no period; where these are slow, by
    sparse elimination with the weight of one state held at one.
    """
    if matrix.shape[0] <= SMALL:
        return _eliminated(matrix.toarray())
    transposed = matrix.T.tocsr()
    vector: Floats = np.full(matrix.shape[0], 1.0 / matrix.shape[0])
    for _ in range(_POWER_STEPS):
        after = 0.5 * (vector + transposed @ vector)
        change = np.abs(after - vector).sum()
        vector = np.asarray(after / after.sum())
        if change <= _POWER_TOLERANCE:
            return vector
    return _solved(transposed)


def _eliminated(table: Floats) -> Floats:
    """Censor the chain to ever fewer states, then put the weights of the others back."""
    size = len(table)
    for last in range(size - 1, 0, -1):
        table[:last, last] /= table[last, :last].sum()
        table[:last, :last] += np.outer(table[:last, last], table[last, :last])
    weights = np.ones(size)
    for place in range(1, size):
        weights[place] = weights[:place] @ table[:place, place]
        if weights[place] > 1e100:
            weights[: place + 1] /= weights[place]
    return np.asarray(weights / weights.sum())


def _solved(transposed: Any) -> Floats:
    from scipy.sparse import eye_array
    from scipy.sparse.linalg import spsolve

    size = transposed.shape[0]
    system = (eye_array(size - 1) - transposed[1:, 1:]).tocsc()
    rest = spsolve(system, transposed[1:, [0]].toarray().ravel())
    weights = np.maximum(np.append(1.0, rest), 0.0)
    return np.asarray(weights / weights.sum())


def absorption_solutions(matrix: Any, transient: Ints, into: Floats) -> Floats:
    """N · into, where N = (I - Q)^-1 is the fundamental matrix and Q the transitions between transient states."""
    from scipy.sparse import eye_array
    from scipy.sparse.linalg import splu

    within = matrix[transient][:, transient]
    system = eye_array(len(transient)) - within
    if len(transient) <= SMALL:
        return np.asarray(np.linalg.solve(system.toarray(), into))
    return np.asarray(splu(system.tocsc()).solve(into))


def second_modulus(matrix: Any) -> float:
    """The second largest |λ| among the eigenvalues of a transition matrix; zero where there is only one."""
    size = matrix.shape[0]
    if size == 1:
        return 0.0
    if size <= SMALL:
        values = np.linalg.eigvals(matrix.toarray())
    else:
        from scipy.sparse.linalg import eigs

        start = np.random.default_rng(0).random(size)
        values = eigs(matrix, k=2, v0=start, return_eigenvectors=False)
    return float(min(1.0, np.sort(np.abs(values))[-2]))


def steps_to_mix(table: Floats, limit: Floats, tolerance: float) -> int | None:
    """The least t with max_i ½ Σ_j |A^t[i, j] - π(j)| within the tolerance; `None` if it is beyond 2^60.

    The distance never grows with t, so powers of two first go beyond t, then its digits are found one by one.
    """

    def is_near(power: Floats) -> bool:
        return float(np.abs(power - limit).sum(axis=1).max()) / 2 <= tolerance

    power = np.eye(len(table))
    if is_near(power):
        return 0
    doubled = [table]
    while not is_near(doubled[-1]):
        if len(doubled) > _MAX_DOUBLINGS:
            return None
        doubled.append(doubled[-1] @ doubled[-1])
    steps = 0
    for exponent in reversed(range(len(doubled) - 1)):  # the largest number of steps that is too small
        longer = power @ doubled[exponent]
        if not is_near(longer):
            power, steps = longer, steps + 2**exponent
    return steps + 1
