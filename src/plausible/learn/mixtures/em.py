"""EM for mixtures: the E-step (whose rows are whose), the M-step (the parameters of that), and runs of both."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from plausible.base import Flags, Floats, check_count, generator_of, logarithms
from plausible.errors import ImpossibleEvidence, InvalidArgument
from plausible.learn.incomplete.gaussian_rows import (
    LOG_TWO_PI,
    MatrixBlock,
    Moments,
    PatternBlock,
    expected_moments,
    matrix_block,
)
from plausible.learn.incomplete.starts_and_stops import SymmetricStart
from plausible.learn.mixtures.model import MixtureKind, MixtureParameters, MixtureRows, MixtureSpace
from plausible.search.run import CONVERGED, Clock, Run, Stops, best_run, iterate

_NEVER = -1e200  # Stands for log 0 in matrix products, where 0 · -inf would be no number


class MixtureProblem(NamedTuple):
    """Rows, their features, and the kind of mixture."""

    rows: MixtureRows
    space: MixtureSpace
    kind: MixtureKind


class Expectation(NamedTuple):
    """Expected statistics of complete rows under given parameters."""

    shares: Floats  # (K, rows), without weights
    sizes: Floats  # (K,)
    counts: Floats  # (K, states)
    moments: Moments
    log_likelihood: float  # of the rows; of rows and clusters together where assignments are hard


def expect(
    rows: MixtureRows, parameters: MixtureParameters, kind: MixtureKind, shares: Floats | None = None
) -> Expectation:
    """Shares P(k | row), and the statistics that they give; one pass over the rows. O(rows K (states + d²)).

    `shares` (K, rows) are taken instead of the posterior, as at a start.
    """
    base = _discrete_log_joint(rows, parameters)
    chosen = np.empty_like(base)
    means, covariances, value = parameters.means, parameters.covariances, 0.0
    moments = Moments(np.zeros_like(means), np.zeros_like(means), np.zeros_like(covariances))
    for block in rows.blocks:
        here = slice(block.start, block.stop)
        gaussian = _gaussian(rows, block, parameters, kind)
        if shares is None:
            joint = base[:, here] + gaussian.log_density
            chosen[:, here], totals = _shares(joint, kind, block.start)
            value += float(totals @ rows.weights[here])
        else:
            chosen[:, here] = shares[:, here]
        weighted = chosen[:, here] * rows.weights[here]
        more = (
            vector_moments(gaussian, weighted)
            if isinstance(gaussian, VectorBlock)
            else expected_moments(gaussian, weighted, covariances)
        )
        moments = moments.plus(more)
    weighted = chosen * rows.weights
    return Expectation(chosen, weighted.sum(axis=1), weighted @ rows.indicators, moments, value)


def log_joint(rows: MixtureRows, parameters: MixtureParameters, kind: MixtureKind) -> Floats:
    """log P(k, row) in the units of the space: (K, rows); missing cells are summed out."""
    found = _discrete_log_joint(rows, parameters)
    for block in rows.blocks:
        found[:, block.start : block.stop] += _gaussian(rows, block, parameters, kind).log_density
    return found


def log_totals(joint: Floats) -> Floats:
    """log P(row) of log P(k, row)."""
    top = joint.max(axis=0)
    safe = np.where(np.isfinite(top), top, 0.0)
    return np.asarray(safe + logarithms(np.exp(joint - safe).sum(axis=0)))


def log_prior(parameters: MixtureParameters, kind: MixtureKind) -> float:
    """The logarithm of the prior's density, but for a constant; zero where there is none."""
    prior, value = kind.prior, 0.0
    if prior.weights and not kind.has_equal_weights:
        value += prior.weights * float(np.log(parameters.weights).sum())
    if prior.cells:
        value += prior.cells * float(np.log(parameters.tables).sum())
    if not parameters.means.shape[1] or not (prior.means or prior.variances):
        return value
    means, covariances = parameters.means, parameters.covariances
    if not kind.has_matrices:
        value -= prior.means / 2 * float((means**2 / covariances).sum())
        has_variances = kind.covariance != "unit"
        return value - has_variances * prior.variances / 2 * float((np.log(covariances) + 1 / covariances).sum())
    inverse = np.linalg.inv(covariances)
    value -= prior.means / 2 * float(np.einsum("ki,kij,kj->", means, inverse, means))
    spread = np.linalg.slogdet(covariances)[1] + np.trace(inverse, axis1=1, axis2=2)
    return value - prior.variances / 2 * float(spread[0] if kind.covariance == "tied" else spread.sum())


def _discrete_log_joint(rows: MixtureRows, parameters: MixtureParameters) -> Floats:
    with np.errstate(divide="ignore"):
        tables = np.maximum(np.log(parameters.tables), _NEVER)
        found = tables @ rows.indicators.T + np.log(parameters.weights)[:, None]
    found[found <= _NEVER / 2] = -np.inf
    return np.asarray(found)


def _gaussian(
    rows: MixtureRows, block: PatternBlock, parameters: MixtureParameters, kind: MixtureKind
) -> MatrixBlock | VectorBlock:
    numbers, known = rows.numbers[block.start : block.stop], rows.known[block.start : block.stop]
    if not kind.has_matrices:
        return vector_block(numbers, known, parameters.means, parameters.covariances)
    size = len(numbers) // block.num_groups
    grouped = numbers.reshape(block.num_groups, size, numbers.shape[1])
    return matrix_block(grouped, known[::size], parameters.means, parameters.covariances)


def _shares(joint: Floats, kind: MixtureKind, start: int) -> tuple[Floats, Floats]:
    """P(k | row), or all for the first of the best clusters; and what each row adds to the objective."""
    top = joint.max(axis=0)
    if not np.isfinite(top).all():
        row = start + int(np.argmin(np.isfinite(top)))
        raise ImpossibleEvidence(
            f"Row {row} of the distinct rows can't happen in any cluster. Give a prior, such as "
            "MixturePrior(cells=0.1)."
        )
    if kind.is_hard:
        best = joint.argmax(axis=0)
        return (np.arange(len(joint))[:, None] == best).astype(float), top
    shares = np.exp(joint - top)
    sums = shares.sum(axis=0)
    return shares / sums, top + np.log(sums)


class VectorBlock(NamedTuple):
    """Rows of a block, c of them, beside K clusters: `log_density` is (K, c), `numbers` and `known` (c, d)."""

    log_density: Floats
    numbers: Floats
    known: Floats
    means: Floats


def vector_block(numbers: Floats, known: Flags, means: Floats, variances: Floats) -> VectorBlock:
    """The log density of the numbers known, (c, d), for each cluster: O(rows K d), in matrix products.

    In units where columns vary by about one this loses less than 1e-15 x² / floor by rounding.
    """
    there = known.astype(np.float64)
    constant = (means**2 / variances + np.log(variances) + LOG_TWO_PI) @ there.T
    distance = (1 / variances) @ (numbers**2).T - (2 * means / variances) @ numbers.T
    return VectorBlock(-0.5 * (distance + constant), numbers, there, means)


def vector_moments(block: VectorBlock, shares: Floats) -> Moments:
    """Moments of the numbers known: those missing tell nothing, as others don't tell of them."""
    counts, sums = shares @ block.known, shares @ block.numbers
    squares = shares @ block.numbers**2 - 2 * block.means * sums + counts * block.means**2
    return Moments(counts, sums - counts * block.means, np.maximum(squares, 0.0))


def maximize(
    expected: Expectation, parameters: MixtureParameters, kind: MixtureKind, space: MixtureSpace
) -> MixtureParameters:
    """The parameters of greatest posterior density; those of which the statistics tell nothing (0/0) stay."""
    weights, tables, cases = parameters.weights, parameters.tables, expected.sizes + kind.prior.weights
    if kind.has_equal_weights:
        weights = np.full(len(cases), 1 / len(cases))
    elif cases.sum() > 0:
        weights = cases / cases.sum()
    if len(space.discrete):
        cells = expected.counts + kind.prior.cells
        totals = np.repeat(np.add.reduceat(cells, space.offsets[:-1], axis=1), space.num_states, axis=1)
        tables = np.asarray(np.divide(cells, totals, out=tables.copy(), where=totals > 0))
    known = expected.moments.counts + kind.prior.means
    sums = expected.moments.counts * parameters.means + expected.moments.firsts
    means = np.divide(sums, known, out=parameters.means.copy(), where=known > 0)
    return MixtureParameters(weights, tables, means, _covariances(expected.moments, means, parameters, kind))


def _covariances(moments: Moments, means: Floats, parameters: MixtureParameters, kind: MixtureKind) -> Floats:
    """Scatter around the new means and that of the prior, by cases; what is below the floor is raised to it."""
    if kind.covariance == "unit" or not means.shape[1]:
        return parameters.covariances
    shifts, prior = means - parameters.means, kind.prior
    if not kind.has_matrices:
        scatter = moments.seconds - 2 * shifts * moments.firsts + moments.counts * shifts**2
        scatter += prior.means * means**2 + prior.variances
        cases = moments.counts + prior.variances
        if kind.covariance == "spherical":
            scatter, cases = (np.broadcast_to(a.sum(axis=1, keepdims=True), means.shape) for a in (scatter, cases))
        variances = np.divide(scatter, cases, out=parameters.covariances.copy(), where=cases > 0)
        return np.maximum(variances, kind.variance_floor)
    crossed = shifts[:, :, None] * moments.firsts[:, None, :]
    sizes = moments.counts[:, :1, None]
    matrices = moments.seconds - crossed - np.swapaxes(crossed, 1, 2) + sizes * shifts[:, :, None] * shifts[:, None, :]
    matrices += prior.means * means[:, :, None] * means[:, None, :]
    if kind.covariance == "tied":
        matrices, sizes = matrices.sum(axis=0, keepdims=True), sizes.sum(axis=0, keepdims=True)
    matrices = matrices + prior.variances * np.eye(means.shape[1])
    cases = np.broadcast_to(sizes + prior.variances, parameters.covariances.shape)
    matrices = np.broadcast_to((matrices + np.swapaxes(matrices, 1, 2)) / 2, cases.shape)
    found = np.divide(matrices, cases, out=parameters.covariances.copy(), where=cases > 0)
    return clipped(found, kind.variance_floor)


def clipped(covariances: Floats, floor: float) -> Floats:
    """The covariances with eigenvalues of at least `floor` that have the greatest likelihood (K&F exercise 19.10)."""
    if not covariances.size:
        return covariances
    values, vectors = np.linalg.eigh(covariances)
    if (values >= floor).all():
        return covariances
    return np.asarray((vectors * np.maximum(values, floor)[:, None, :]) @ np.swapaxes(vectors, -1, -2))


@dataclass(frozen=True, slots=True, eq=False)
class MixtureState:
    """The parameters after an M-step, and the objective of those before it."""

    parameters: MixtureParameters  # The present ones
    #: The objective of the parameters before: log-likelihood and logarithm of the prior's density, in the units of the
    #: space; for hard assignments, that of rows and clusters together. -inf at a start.
    value: float = -math.inf
    moved: int = 0  # Clusters that had become empty and were moved to the row farthest from its own mean, up to now
    num_steps: int = 0  # The steps made
    restart: int = 0  # Which of several runs this is


def step(problem: MixtureProblem, state: MixtureState) -> MixtureState:
    """One E-step and one M-step; the objective never falls (Dempster, Laird & Rubin 1977)."""
    rows, space, kind = problem
    expected = expect(rows, state.parameters, kind)
    value = expected.log_likelihood + log_prior(state.parameters, kind)
    parameters = maximize(expected, state.parameters, kind, space)
    moved = 0
    if kind.is_hard and kind.has_equal_weights and kind.covariance == "unit":  # k-means
        parameters, moved = _with_empty_moved(problem, expected, parameters)
    return MixtureState(parameters, value, state.moved + moved, state.num_steps + 1, state.restart)


def mixture_run(
    problem: MixtureProblem, start: MixtureState | Run[MixtureState], stops: Stops, clock: Clock | None = None
) -> Run[MixtureState]:
    """Steps until one gains no more than the tolerance for each case, and moves no cluster."""
    enough = stops.tolerance * float(problem.rows.weights.sum())

    def settled(run: Run[MixtureState]) -> str:
        before, now = run.previous, run.state
        assert before is not None
        return CONVERGED if now.moved == before.moved and abs(now.value - before.value) <= enough else ""

    return iterate(partial(step, problem), start, stops, [settled], objective=attrgetter("value"), clock=clock)


def _with_empty_moved(
    problem: MixtureProblem, expected: Expectation, parameters: MixtureParameters
) -> tuple[MixtureParameters, int]:
    """Empty clusters of k-means take the rows farthest from their own means, unless that lowers the objective."""
    empty = np.flatnonzero(expected.sizes == 0)
    if not len(empty) or not len(parameters.means.T):
        return parameters, 0
    rows = problem.rows
    joint = log_joint(rows, parameters, problem.kind)
    # The density that a row would have at its own mean, less that which it has.
    fall = -0.5 * np.log(2 * np.pi) * rows.known.sum(axis=1) - joint.max(axis=0) - np.log(len(parameters.weights))
    far = np.argsort(-fall, kind="stable")[: len(empty)]
    far = far[fall[far] > 1e-9 * (1 + (rows.numbers**2).sum(axis=1).max())]  # what is more than rounding
    means = parameters.means.copy()
    means[empty[: len(far)]] = np.where(rows.known[far], rows.numbers[far], means[empty[: len(far)]])
    tried = parameters._replace(means=means)
    gain = float((log_joint(rows, tried, problem.kind).max(axis=0) - joint.max(axis=0)) @ rows.weights)
    gain += log_prior(tried, problem.kind) - log_prior(parameters, problem.kind)
    return (tried, len(far)) if len(far) and gain > 0 else (parameters, 0)


STARTS = ("k-means++", "random")  # How shares are drawn


def best_mixture(
    problem: MixtureProblem, num_clusters: int, shares: str | Floats, restarts: int, seed: int, stops: Stops
) -> tuple[Run[MixtureState], ...]:
    """The runs, that with the greatest objective first; one run where shares are given."""
    check_count("restarts", restarts)
    generators = generator_of(seed).spawn(1 + restarts if isinstance(shares, str) else 1)
    starts = (
        MixtureState(start(problem.rows, problem.space, problem.kind, num_clusters, shares, rng), restart=number)
        for number, rng in enumerate(generators)
    )
    return best_run(lambda state, clock: mixture_run(problem, state, stops, clock), starts, stops.time_limit)


def start(
    rows: MixtureRows,
    space: MixtureSpace,
    kind: MixtureKind,
    num_clusters: int,
    shares: str | Floats,
    rng: np.random.Generator,
) -> MixtureParameters:
    """First parameters: the M-step for shares that are drawn, or given as (K, rows).

    "k-means++" draws seeds one after the other, each with probability proportional to its squared distance from the
    seeds before (Arthur & Vassilvitskii 2007), and gives each row to the nearest; "random" draws the shares of each
    row from the flat Dirichlet distribution. Missing numbers stand at their mean there.
    """
    drawn = _draw(rows, num_clusters, shares, rng) if isinstance(shares, str) else shares
    num_numbers = rows.numbers.shape[1]
    unit = np.eye(num_numbers) if kind.has_matrices else np.ones(num_numbers)
    tables = np.repeat(1 / space.num_states, space.num_states)
    flat = MixtureParameters(np.ones(1), tables[None], np.zeros((1, num_numbers)), unit[None])
    known = maximize(expect(rows, flat, kind, np.ones((1, len(rows)))), flat, kind, space)
    weights = np.full(num_clusters, 1 / num_clusters)
    pooled = MixtureParameters(weights, *(np.repeat(part, num_clusters, axis=0) for part in known[1:]))
    parameters = maximize(expect(rows, pooled, kind, drawn), pooled, kind, space)
    has_rows = drawn.sum(axis=1) > 0
    pairs = [pair for pair in equal_clusters(parameters) if has_rows[list(pair)].all()]
    if pairs and len(rows) > 1 and not isinstance(shares, str):
        first, second = pairs[0]
        warnings.warn(
            f"Clusters {first} and {second} start equal, and EM keeps them so: give other responsibilities, or "
            "start='k-means++'.",
            SymmetricStart,
            stacklevel=4,
        )
    return parameters


def equal_clusters(parameters: MixtureParameters, tolerance: float = 1e-9) -> list[tuple[int, int]]:
    """Pairs of clusters that weigh something and whose features have the same distributions.

    Where P(x | k) does not depend on k, the shares are the weights for every row, and the next parameters have the
    same symmetry: such a start leads to independent features (K&F exercise 19.11). A fitted mixture with equal
    clusters, up to the tolerance in any parameter, has more of them than it uses.


    >>> alike = MixtureParameters(np.array([0.6, 0.4]), np.array([[0.3, 0.7]] * 2), np.zeros((2, 0)), np.zeros((2, 0)))
    >>> equal_clusters(alike)
    [(0, 1)]
    """
    flat = np.hstack([part.reshape(len(part), -1) for part in parameters[1:]])
    used = parameters.weights > 0
    return [
        (first, second)
        for first in range(len(flat))
        for second in range(first + 1, len(flat))
        if used[first] and used[second] and np.abs(flat[first] - flat[second]).max(initial=0.0) <= tolerance
    ]


def given_shares(start: Any, num_rows: int, num_clusters: int) -> Floats:
    """Responsibilities (rows, K), or a cluster for each row, as shares (K, rows)."""
    given = np.asarray(start)
    if given.shape == (num_rows,) and given.dtype.kind in "iu":
        if given.size and not (given.min() >= 0 and given.max() < num_clusters):
            raise InvalidArgument(
                f"start= names cluster {given.min()} to {given.max()}; they go from 0 to {num_clusters - 1}."
            )
        return np.asarray(np.arange(num_clusters)[:, None] == given, dtype=np.float64)
    if given.shape != (num_rows, num_clusters) or given.dtype.kind not in "fiu":
        raise InvalidArgument(
            f"start= is one of {', '.join(STARTS)}, a cluster for each of {num_rows} rows, or a matrix of "
            f"{num_rows} rows and {num_clusters} columns; not of the shape {given.shape}."
        )
    if not (np.isfinite(given).all() and (given >= 0).all() and np.allclose(given.sum(axis=1), 1)):
        raise InvalidArgument("start= has rows that are no distributions: numbers from 0 to 1 whose sum is 1.")
    return np.ascontiguousarray(given.T, dtype=np.float64)


def _draw(rows: MixtureRows, num_clusters: int, method: str, rng: np.random.Generator) -> Floats:
    if method == "random":
        return rng.dirichlet(np.ones(num_clusters), size=len(rows)).T.copy()
    if method != "k-means++":
        raise InvalidArgument(f"start= is one of {', '.join(STARTS)}, or responsibilities; not {method!r}.")
    points = np.hstack([rows.numbers, rows.indicators / np.sqrt(2)])
    nearest, owner = np.full(len(rows), np.inf), np.zeros(len(rows), dtype=np.intp)
    for cluster in range(num_clusters):
        chances = rows.weights * (nearest if cluster else 1.0)
        if not chances.sum() > 0:
            break  # each row is a seed already
        seed = int(rng.choice(len(rows), p=chances / chances.sum()))
        distance = ((points - points[seed]) ** 2).sum(axis=1)
        owner[distance < nearest] = cluster
        nearest = np.minimum(nearest, distance)
    return np.asarray(np.arange(num_clusters)[:, None] == owner, dtype=np.float64)
