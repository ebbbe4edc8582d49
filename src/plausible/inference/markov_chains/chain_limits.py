"""What Markov chains come to in the long run: stationary distributions, time to mix, many steps at once."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from plausible.base.arrays import Floats
from plausible.inference.markov_chains.chain_elimination import censored

__all__ = [
    "SMALL",
    "StationaryVector",
    "power_of",
    "stationary_vector",
    "steps_to_mix",
]


#: Up to so many states dense matrices are quick.
SMALL = 1000
#: So many steps of a chain are tried where elimination is too much.
_POWER_STEPS = 3000
_POWER_TOLERANCE = 1e-14
_MAX_DOUBLINGS = 60


class StationaryVector(NamedTuple):
    """A distribution, whether it is right up to rounding, the steps made, and whether the last one changed nothing."""

    weights: Floats
    is_exact: bool
    num_steps: int
    is_settled: bool


def stationary_vector(matrix: Any) -> StationaryVector:
    """The π with π = π A and sum one of an irreducible sparse chain.

    By elimination, which is accurate for every entry; where that would take too long, by steps of the lazy chain
    (A + I) / 2, which has no period. That these change little says nothing about how far there is to go.
    """
    size = matrix.shape[0]
    found = censored(matrix, np.zeros(size))
    if found is not None:
        return StationaryVector(found.stationary(), True, 0, True)
    transposed = matrix.T.tocsr()
    vector: Floats = np.full(size, 1.0 / size)
    for step in range(_POWER_STEPS):
        after = 0.5 * (vector + transposed @ vector)
        change = np.abs(after - vector).sum()
        vector = np.asarray(after / after.sum())
        if change <= _POWER_TOLERANCE:
            return StationaryVector(vector, False, step + 1, True)
    return StationaryVector(vector, False, _POWER_STEPS, False)


def power_of(matrix: Any, exponent: int) -> Any:
    """A^n by repeated squaring, the rows of each product being scaled to one: rounding would double each time."""
    from scipy.sparse import csr_array, eye_array

    square: Any = matrix
    result: Any = csr_array(eye_array(matrix.shape[0]))
    if isinstance(matrix, np.ndarray):
        result = np.eye(len(matrix))
    while exponent:
        if exponent & 1:
            result = _scaled(result @ square)
        exponent >>= 1
        if exponent:
            square = _scaled(square @ square)
    return result


def _scaled(matrix: Any) -> Any:
    sums = np.asarray(matrix.sum(axis=1)).ravel()
    if isinstance(matrix, np.ndarray):
        return matrix / sums[:, None]
    matrix.data /= np.repeat(sums, np.diff(matrix.indptr))
    return matrix


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
        doubled.append(_scaled(doubled[-1] @ doubled[-1]))
    steps = 0
    for exponent in reversed(range(len(doubled) - 1)):  # the largest number of steps that is too small
        longer = power @ doubled[exponent]
        if not is_near(longer):
            power, steps = longer, steps + 2**exponent
    return steps + 1
