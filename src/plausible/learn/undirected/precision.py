"""Newton's method for a penalised precision matrix, on arrays; blocks that do not hang together are solved apart."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from plausible.base.arrays import Floats, Ints
from plausible.kernels.precision import newton_direction
from plausible.search.run import CONVERGED, Clock, Run, Stops, iterate

#: Sweeps over the coordinates for one direction, and the share of it below which a sweep is the last one: the less the
#: closer the last step came, so that the last steps converge quadratically.
_MAX_SWEEPS, _COARSE, _FINE = 60, 0.05, 1e-4
#: How often sweeps alternate with conjugate gradients where they get nowhere, and how many gradients at a time.
_MAX_ROUNDS, _MAX_GRADIENTS = 20, 50
#: A step is taken if it brings this share of what the slope promises.
_SUFFICIENT = 1e-4
#: Values that differ by no more than this share of their size differ by rounding.
_ROUNDING = 1e-13
#: Variables that are solved at one time at least, whether they hang together or not: small matrices take as long.
_TOGETHER = 100
#: Entries of the scaled precision matrix beyond this grow without end; beyond its root, where there is no bound either.
_UNBOUNDED = 1e12


class Problem(NamedTuple):
    """Minimise -log det X + tr(S X) + Σ Λ_ij |X_ij| over positive definite X; X_ij = 0 where Λ_ij is infinite."""

    covariance: Floats  # S
    penalty: Floats  # Λ, symmetric, not negative

    def part(self, places: Ints) -> Problem:
        """The problem of some of the variables."""
        if np.array_equal(places, np.arange(len(self.covariance))):
            return self
        chosen = np.ix_(places, places)
        return Problem(self.covariance[chosen], self.penalty[chosen])


class Block(NamedTuple):
    """Where some variables that hang together got to, or several such sets of variables."""

    places: Ints  # the variables
    precision: Floats  # X
    covariance: Floats  # W = X⁻¹
    log_determinant: float  # of X
    value: float  # of the objective
    gap: float  # how much at most it lies above the least value; infinite where that was not computed
    gain: float = math.inf  # how much the last step brought, for each variable
    ended: str = ""  # why no further step is made


class PrecisionState(NamedTuple):
    """Where all blocks got to."""

    blocks: tuple[Block, ...]

    @property
    def value(self) -> float:
        """The objective."""
        return sum(block.value for block in self.blocks)

    @property
    def gap(self) -> float:
        """How much at most it lies above the least value."""
        return sum(block.gap for block in self.blocks)


class Solution(NamedTuple):
    """A precision matrix in the units of the problem."""

    precision: Floats
    covariance: Floats
    log_determinant: float  # of the precision matrix
    objective: float
    duality_gap: float
    run: Run[PrecisionState]
    scale: Floats  # by which variables were divided


def solve(problem: Problem, stops: Stops, clock: Clock | None = None, start: Solution | None = None) -> Solution:
    """The best precision matrix, from a diagonal one or the solution of the same problem with larger penalties.

    Variables are scaled first, so that the best diagonal matrix is the identity. Those that no chain of pairs with
    |S_ij| > Λ_ij connects are independent in the solution (Witten, Friedman & Simon 2011; Mazumder & Hastie 2012).
    """
    scale = np.sqrt(problem.covariance.diagonal() + problem.penalty.diagonal())
    units = np.outer(scale, scale)
    scaled = Problem(problem.covariance / units, problem.penalty / units)
    places = _together([chosen for chosen in _components(scaled) if len(chosen) > 1])  # one alone is done already
    parts = [scaled.part(chosen) for chosen in places]
    share, log_units = stops.tolerance / max(1, len(scale)), 2 * float(np.log(scale).sum())
    shift = log_units + len(scale) - sum(map(len, places))

    def checked(part: Problem, block: Block) -> Block:
        return _checked(part, block, share * len(part.covariance))

    def step(state: PrecisionState) -> PrecisionState:
        made = zip(parts, state.blocks, strict=True)
        return PrecisionState(
            tuple(block if block.ended else checked(part, newton_step(part, block)) for part, block in made)
        )

    begun = (_begin(part, chosen, start, scale) for part, chosen in zip(parts, places, strict=True))
    first = PrecisionState(tuple(map(checked, parts, begun)))
    run = iterate(step, first, stops, ends=_ends, objective=lambda state: state.value + shift, clock=clock)
    precision, covariance = (
        _whole(matrices, places, len(scale))
        for matrices in ([b.precision for b in run.state.blocks], [b.covariance for b in run.state.blocks])
    )
    gap = sum(
        block.gap if math.isfinite(block.gap) else duality_gap(part, block)
        for part, block in zip(parts, run.state.blocks, strict=True)
    )
    log_determinant = sum(block.log_determinant for block in run.state.blocks) - log_units
    return Solution(precision / units, covariance * units, log_determinant, run.state.value + shift, gap, run, scale)


def _whole(matrices: Sequence[Floats], places: Sequence[Ints], size: int) -> Floats:
    """The matrix that has these at some places, and else ones on the diagonal."""
    if len(matrices) == 1 and len(matrices[0]) == size:
        return matrices[0]
    whole = np.eye(size)
    for matrix, chosen in zip(matrices, places, strict=True):
        whole[np.ix_(chosen, chosen)] = matrix
    return whole


def _ends(state: PrecisionState) -> str:
    reasons = [block.ended for block in state.blocks]
    return "" if "" in reasons else next((reason for reason in reasons if reason != CONVERGED), CONVERGED)


def _components(problem: Problem) -> list[Ints]:
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    pairs = _pairs(np.abs(problem.covariance) > problem.penalty)
    linked: Any = coo_array((np.ones(pairs[0].size), pairs), shape=problem.covariance.shape)
    num, labels = connected_components(linked, directed=False)
    order = np.argsort(labels, kind="stable")
    return list(np.split(order, np.cumsum(np.bincount(labels, minlength=num))[:-1])) if num else []


def _together(places: list[Ints]) -> list[Ints]:
    """Small sets of variables put together, each in the order of the variables."""
    made: list[Ints] = []
    for chosen in sorted(places, key=len, reverse=True):
        if made and len(made[-1]) < _TOGETHER:
            made[-1] = np.append(made[-1], chosen)
        else:
            made.append(chosen)
    return [np.sort(chosen) for chosen in made]


def _begin(part: Problem, places: Ints, start: Solution | None, scale: Floats) -> Block:
    """Where the solution of the same problem with larger penalties is, or else at the identity."""
    identity = np.eye(len(places))
    cold = Block(places, identity, identity, 0.0, float(len(places)), math.inf)
    if start is None:
        return cold
    if np.array_equal(scale, start.scale):
        for block in start.run.state.blocks:
            if np.array_equal(block.places, places):
                return block._replace(
                    value=_linear(part, block.precision) - block.log_determinant, gap=math.inf, gain=math.inf, ended=""
                )
    # What hung together before does so now: blocks of the inverse are inverses.
    chosen, units = np.ix_(places, places), np.outer(scale[places], scale[places])
    root = _root(precision := start.precision[chosen] * units)
    if root is None:
        return cold
    warm = cold._replace(
        precision=precision, covariance=start.covariance[chosen] / units, log_determinant=_log_determinant(root)
    )
    return warm._replace(value=_linear(part, precision) - warm.log_determinant)


def _root(matrix: Floats) -> Floats | None:
    """The lower triangular root of a matrix; None where it is not positive definite."""
    from scipy.linalg.lapack import dpotrf

    root, failed = dpotrf(matrix, lower=1, clean=1)
    return None if failed or not np.isfinite(root.diagonal()).all() else root


def _inverse(root: Floats) -> Floats:
    from scipy.linalg.lapack import dpotri

    lower = np.asarray(dpotri(root, lower=1)[0])  # zero above the diagonal, as the root is
    inverse = np.add(lower.T, lower, order="C")
    inverse[np.diag_indices_from(inverse)] /= 2
    return np.asarray(inverse)


def _pairs(mask: Any) -> tuple[Ints, Ints]:
    """The pairs i <= j that a symmetric mask has, column by column."""
    columns, rows = np.divmod(np.flatnonzero(mask), len(mask))
    is_upper = rows <= columns
    return rows[is_upper], columns[is_upper]


def _linear(part: Problem, precision: Floats) -> float:
    """tr(S X) + Σ Λ |X|."""
    rows, columns = _pairs(precision != 0)
    points, times = precision[rows, columns], np.where(rows == columns, 1.0, 2.0)
    return float(times @ (part.covariance[rows, columns] * points + part.penalty[rows, columns] * np.abs(points)))


def _log_determinant(root: Floats) -> float:
    return 2 * float(np.log(root.diagonal()).sum())


def newton_step(part: Problem, block: Block) -> Block:
    """A Newton direction on the pairs that are not at rest at zero, and as much of it as lowers the objective."""
    slope = part.covariance - block.covariance
    rows, columns = _pairs((block.precision != 0) | (np.abs(slope) > part.penalty))
    points, slopes, weights = block.precision[rows, columns], slope[rows, columns], part.penalty[rows, columns]
    model = _Model(block.precision, block.covariance, rows, columns, slopes, points, weights)
    moves = model.direction(min(max(block.gain, _FINE), _COARSE))
    times = np.where(rows == columns, 1.0, 2.0)
    promised = float(times @ (slopes * moves + weights * (np.abs(points + moves) - np.abs(points))))
    noise = _ROUNDING * (abs(block.value) + len(slope))
    length = 1.0
    while length > 1e-10 and promised < 0:
        there = points + length * moves
        matrix = np.zeros_like(slope)
        matrix[rows, columns] = matrix[columns, rows] = there
        root = _root(matrix)
        if root is not None:
            log_determinant = _log_determinant(root)
            value = _linear(part, matrix) - log_determinant
            if value <= block.value + _SUFFICIENT * length * promised + noise:
                ended = "stuck" if promised > -noise / 1000 else ""
                gain = (block.value - value) / len(slope)
                return Block(block.places, matrix, _inverse(root), log_determinant, value, math.inf, gain, ended)
        length /= 2
    return block._replace(ended="stuck")


@dataclass(frozen=True, slots=True, eq=False)
class _Model:
    """tr(G D) + tr(W D W D)/2 + Σ Λ |X + D|, of a D on some pairs: what Newton's method makes small."""

    precision: Floats  # X
    covariance: Floats  # W
    rows: Ints
    columns: Ints
    slopes: Floats  # G, X and Λ of each pair
    points: Floats
    weights: Floats

    def direction(self, tolerance: float) -> Floats:
        """The best D by sweeps over its coordinates; where these get nowhere, with conjugate gradients in between."""
        starts = np.searchsorted(self.columns, np.arange(len(self.covariance) + 1)).astype(np.int64)
        moves, product = np.zeros(self.rows.size), np.zeros_like(self.covariance)
        arrays = (self.covariance, starts, self.rows, self.slopes, self.points, self.weights)
        for _ in range(_MAX_ROUNDS):
            if newton_direction(*arrays, _MAX_SWEEPS, tolerance, moves, product):
                break
            moves = self._refined(moves, tolerance)
            product = self._matrix(moves) @ self.covariance
        return moves

    def _matrix(self, values: Floats) -> Floats:
        matrix = np.zeros_like(self.covariance)
        matrix[self.rows, self.columns] = matrix[self.columns, self.rows] = values
        return matrix

    def _between(self, matrix: Floats, values: Floats) -> Floats:
        """M V M at the pairs, for a V that has values there."""
        return np.asarray((matrix @ self._matrix(values) @ matrix)[self.rows, self.columns])

    def _refined(self, moves: Floats, tolerance: float) -> Floats:
        """Towards the best D with the same zeros and signs of X + D, as far as that lowers the model."""
        signs = np.sign(self.points + moves)
        aim = self._gradients(moves, signs, tolerance)
        least, length = self._value(moves), 1.0
        while length > 1e-3:
            there = self.points + moves + length * aim
            made = np.where(np.sign(there) == signs, there, 0.0) - self.points
            if self._value(made) < least:
                return made
            length /= 4
        return moves

    def _value(self, moves: Floats) -> float:
        times = np.where(self.rows == self.columns, 1.0, 2.0)
        smooth = (self.slopes + self._between(self.covariance, moves) / 2) * moves
        return float(times @ (smooth + self.weights * np.abs(self.points + moves)))

    def _gradients(self, moves: Floats, signs: Floats, tolerance: float) -> Floats:
        """Conjugate gradients with X R X for the inverse of W D W, which it is where all pairs are there."""
        free, times = signs != 0, np.where(self.rows == self.columns, 1.0, 2.0)
        rest = -np.where(free, self.slopes + self._between(self.covariance, moves) + self.weights * signs, 0.0)
        aim, towards, before, first = np.zeros_like(moves), np.zeros_like(moves), 1.0, 0.0
        for number in range(_MAX_GRADIENTS):
            scaled = np.where(free, self._between(self.precision, rest), 0.0)
            size = float(times * rest @ scaled)
            first = max(first, size)
            if size <= tolerance**2 * first:
                break
            towards = scaled + (size / before if number else 0.0) * towards
            bent = np.where(free, self._between(self.covariance, towards), 0.0)
            length = size / float(times * towards @ bent)
            aim, rest, before = aim + length * towards, rest - length * bent, size
        return aim


def _checked(part: Problem, block: Block, tolerance: float) -> Block:
    """The block with its gap, where that may be small enough."""
    largest = block.precision.diagonal().max()
    if largest > _UNBOUNDED or (
        block.ended and largest > math.sqrt(_UNBOUNDED) and duality_gap(part, block) == math.inf
    ):
        return block._replace(ended="unbounded")
    # This much is left of the slope along X; the gap is of the order of its square.
    if abs(_linear(part, block.precision) - len(part.covariance)) > math.sqrt(tolerance) and not block.ended:
        return block
    gap = duality_gap(part, block)
    noise = 1e-9 * (1 + abs(block.value))
    is_enough = gap <= tolerance or (bool(block.ended) and gap <= noise)
    return block._replace(gap=gap, ended=CONVERGED if is_enough else block.ended)


def duality_gap(part: Problem, block: Block) -> float:
    """The objective less log det V + p, for the V nearest to W that has |V_ij - S_ij| <= Λ_ij; at least zero.

    No X has a lower objective than log det V + p with any such V (Banerjee, El Ghaoui & d'Aspremont 2008).
    """
    excess = np.clip(block.covariance - part.covariance, -part.penalty, part.penalty)
    root = _root(part.covariance + excess)
    if root is None:
        return math.inf
    return max(0.0, block.value - _log_determinant(root) - len(excess))
