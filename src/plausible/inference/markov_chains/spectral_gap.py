"""How fast Markov chains forget their start: the distance of the second largest |λ| from one."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from plausible.base import WEIGHT_NOISE, Floats
from plausible.errors import NotSupported
from plausible.inference.markov_chains.chain_limits import (
    SMALL,
    Structure,
    censored,
    eliminated_pattern,
    stationary_vector,
)


def log_balance(matrix: Any) -> Floats | None:
    """log w with w(i) A[i, j] = w(j) A[j, i] for all i, j, at zero for state 0; `None` where there is no such w.

    By Kolmogorov's criterion: log A[i, j] - log A[j, i] is a difference of potentials, found along a tree and then
    looked at on every other transition. Linear in the entries, up to the logarithm of the depth of the tree.
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
    return potentials if misses.max(initial=0.0) <= WEIGHT_NOISE else None


#: Eigenvalues below this share of the largest rate have lost digits; inverse iteration finds them again.
_SMALL_SHARE = 1e-7
#: Up to so many states an operator is written out.
_TINY = 60
#: Roots of weights below this can't be divided by.
_LEAST_ROOT = 1e-140
_TOLERANCE = 1e-10
_BASIS = 40
#: Lanczos' and Arnoldi's methods give up after so many restarts; after few of them where there is another way.
_RESTARTS = 60
_FEW_RESTARTS = 15


@dataclass(frozen=True, slots=True, eq=False)
class ReversibleClass:
    """A communicating class in detailed balance."""

    block: Any  # Q: the transitions inside it, sparse
    leaks: Floats  # for each state the probability to leave the class for good; zeros if it is closed
    log_weights: Floats  # log w with w(i) Q[i, j] = w(j) Q[j, i]

    @property
    def is_closed(self) -> bool:
        """Whether nothing leads out of the class."""
        return not self.leaks.any()

    @property
    def roots(self) -> Floats:
        """√w, the largest being one: the vector that a closed class's I - S takes to zero."""
        return np.asarray(np.exp(0.5 * (self.log_weights - self.log_weights.max())))

    def laplacian(self) -> Any:
        """I - S, S[i, j] = √(Q[i, j] Q[j, i]): similar to I - Q. Its diagonal is summed from the rates out."""
        from scipy.sparse import csr_array, diags_array

        entries = self.block.tocoo()
        is_move = entries.row != entries.col
        moves = csr_array((entries.data[is_move], (entries.row[is_move], entries.col[is_move])), shape=self.block.shape)
        rates_out = np.asarray(moves.sum(axis=1)).ravel() + self.leaks
        moves.data = np.sqrt(moves.data)
        return (diags_array(rates_out) - moves.multiply(moves.T)).tocsr()


def reversible_gap(found: ReversibleClass) -> float:
    """1 - |λ|, for the second largest |λ| of a closed class, else for the largest.

    The eigenvalues 1 - λ of the symmetric I - S: all of them for up to a thousand states; by bisection if S is
    tridiagonal; else the two ends by Lanczos' method. Where that takes long, or the least eigenvalue is so small that
    it has lost digits, Lanczos' method on the inverse, which is applied by an elimination that subtracts nothing. The
    error of 1 - λ_2 is about 1e-9 of itself, however slow the chain; that of 1 + λ_min about 1e-15.
    """
    laplacian = found.laplacian()
    scale = float(laplacian.diagonal().max())
    scaled = laplacian / scale
    ends = _ends(scaled, found.is_closed)
    least = ends[0] if ends is not None else _least_by_steps(found, scaled, _FEW_RESTARTS)
    if least is None or least < _SMALL_SHARE:
        rough = least
        ways = (
            lambda: _least_by_inverse(found, scale),
            lambda: rough,
            lambda: _least_by_steps(found, scaled, _RESTARTS),
        )
        least = _first_of(ways, found.roots.size)
    gap = max(0.0, least * scale)
    # 1 + λ_min is at least twice the least probability to stay (Gershgorin).
    if not found.is_closed or 2.0 * float(found.block.diagonal().min()) >= gap:
        return gap
    return min(gap, max(0.0, 2.0 - ends[1] * scale if ends is not None else _other_end(found, laplacian)))


def _ends(laplacian: Any, is_closed: bool) -> tuple[float, float] | None:
    """The least eigenvalue, but for the zero of a closed class, and the largest; `None` where they take iterations."""
    from scipy.linalg import eigvalsh_tridiagonal

    size, first = laplacian.shape[0], int(is_closed)
    if size <= SMALL:
        values = np.linalg.eigvalsh(laplacian.toarray())
        return float(values[first]), float(values[-1])
    entries = laplacian.tocoo()
    if np.abs(entries.row - entries.col).max() > 1:
        return None
    places = ((first, first), (size - 1, size - 1))
    diagonals = laplacian.diagonal(), laplacian.diagonal(1)
    low, high = (eigvalsh_tridiagonal(*diagonals, select="i", select_range=place)[0] for place in places)
    return float(low), float(high)


def _least_by_inverse(found: ReversibleClass, scale: float) -> float | None:
    """The least eigenvalue, over the scale, but for zero; `None` where elimination is too much or roots underflow.

    A closed class has no inverse, but off the zero vector that of I - S without its heaviest state is one.
    """
    roots, ground = found.roots, int(np.argmax(found.log_weights))
    rest = np.delete(np.arange(roots.size), ground) if found.is_closed else np.arange(roots.size)
    rows = found.block[rest]
    leaks = rows[:, [ground]].toarray().ravel() if found.is_closed else found.leaks
    solver = censored(rows[:, rest], leaks) if roots.min() > _LEAST_ROOT else None
    if solver is None or not solver.totals.all():
        return None
    null = (roots / np.linalg.norm(roots) if found.is_closed else np.zeros_like(roots))[:, None]
    kept = roots[rest, None]

    def times(vectors: Floats) -> Floats:
        """Columns times scale · P (I - S)^-1 P by elimination, P taking away what is along `null`."""
        columns = vectors.reshape(null.size, -1)
        sides = columns - null * (null.T @ columns)
        result = np.zeros_like(sides)
        result[rest] = kept * solver.expected(scale * sides[rest] / kept)
        return np.asarray(result - null * (null.T @ result))

    if roots.size <= _TINY:
        return 1.0 / float(np.linalg.eigvalsh(times(np.eye(roots.size)))[-1])
    largest = _lanczos(times, roots.size, "LA", _RESTARTS)
    return None if largest is None else 1.0 / largest


def _least_by_steps(found: ReversibleClass, scaled: Any, num_restarts: int) -> float | None:
    """The least eigenvalue but for zero, which is lifted above all others: none of them is above two."""
    null = found.roots / np.linalg.norm(found.roots) if found.is_closed else np.zeros(found.roots.size)

    def times(vectors: Floats) -> Floats:
        vector = vectors.ravel()
        return np.asarray(scaled @ vector + 3.0 * null * (null @ vector))

    return _lanczos(times, null.size, "SA", num_restarts)


def _other_end(found: ReversibleClass, laplacian: Any) -> float:
    """1 + λ_min, the least eigenvalue of I + S."""
    size = laplacian.shape[0]

    def by_steps(num_restarts: int) -> float | None:
        largest = _lanczos(lambda vector: np.asarray(laplacian @ vector), size, "LA", num_restarts)
        return None if largest is None else 2.0 - largest

    ways = (
        lambda: by_steps(_FEW_RESTARTS),
        lambda: _other_end_by_inverse(found, laplacian),
        lambda: by_steps(_RESTARTS),
    )
    return _first_of(ways, size)


def _other_end_by_inverse(found: ReversibleClass, laplacian: Any) -> float | None:
    from scipy.sparse import diags_array
    from scipy.sparse.linalg import splu

    pattern = eliminated_pattern(found.block)
    if pattern is None:
        return None
    order, size = pattern[0], laplacian.shape[0]
    # a shift of the size of rounding keeps pivots off zero.
    mirrored = (diags_array(np.full(size, 2.0 + 1e-15)) - laplacian)[order][:, order].tocsc()
    factors = splu(mirrored, permc_spec="NATURAL", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
    largest = _lanczos(lambda vector: np.asarray(factors.solve(vector)), size, "LA", _RESTARTS)
    return None if largest is None else 1.0 / largest


def _first_of(ways: Iterable[Callable[[], float | None]], size: int) -> float:
    """The number of the first way that gives one."""
    for way in ways:
        number = way()
        if number is not None:
            return number
    raise _too_slow(size, "Lanczos' method")


def _too_slow(size: int, method: str) -> NotSupported:
    return NotSupported(
        f"The second eigenvalue of this chain of {size} states is too near to others for {method}: the chain mixes "
        "very slowly. See stationary(), which does not need it, or lump states together."
    )


def _lanczos(
    times: Callable[[Floats], Floats], size: int, which: Literal["LA", "SA"], num_restarts: int
) -> float | None:
    """The largest ("LA") or least ("SA") eigenvalue of a symmetric operator; `None` where it does not settle."""
    from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

    operator = LinearOperator((size, size), matvec=times, dtype=np.float64)
    start = np.random.default_rng(0).standard_normal(size)
    options: Any = {"k": 1, "ncv": min(size, _BASIS), "maxiter": num_restarts, "tol": _TOLERANCE, "v0": start}
    try:
        return float(eigsh(operator, which=which, return_eigenvectors=False, **options)[0])
    except ArpackNoConvergence:
        return None


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
        places, is_out = members[number], np.ones(matrix.shape[1])
        is_out[places] = 0.0
        # The probabilities to leave the class are exactly zero where nothing does.
        leaks = np.asarray(matrix[places] @ is_out, dtype=np.float64)
        gap = min(gap, _class_gap(matrix[places][:, places], leaks))
    return gap


def _class_gap(block: Any, leaks: Floats) -> float:
    logs = log_balance(block)
    if logs is not None:
        return reversible_gap(ReversibleClass(block, leaks, logs))
    is_closed, size = not leaks.any(), block.shape[0]
    if size > SMALL:
        from scipy.sparse.linalg import ArpackNoConvergence, eigs

        start = np.random.default_rng(0).random(size)
        try:
            values = eigs(block, k=1 + is_closed, ncv=40, maxiter=_RESTARTS, v0=start, return_eigenvectors=False)
        except ArpackNoConvergence:
            raise _too_slow(size, "Arnoldi's method") from None
    else:
        table = block.toarray()
        if is_closed:  # D^½ A D^-½, D = diag(π), stretches no vector
            weights = stationary_vector(block).weights
            if weights.min() > _LEAST_WEIGHT:
                table *= np.sqrt(weights)[:, None] / np.sqrt(weights)
        values = np.linalg.eigvals(table)
    return max(0.0, 1.0 - float(np.sort(np.abs(values))[-2 if is_closed else -1]))
