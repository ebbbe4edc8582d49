"""The E-step: how much of each row belongs to each cluster, and the expected statistics of that."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from plausible.base.arrays import Floats
from plausible.errors import ImpossibleEvidence
from plausible.learn.mixtures.gaussians import (
    MatrixBlock,
    Moments,
    VectorBlock,
    matrix_block,
    matrix_moments,
    no_moments,
    vector_block,
    vector_moments,
)
from plausible.learn.mixtures.options import MixtureKind, MixtureParameters
from plausible.learn.mixtures.rows import MixtureRows, PatternBlock

__all__ = ["Expectation", "expect", "log_joint", "log_prior", "log_totals"]


#: Stands for log 0 in matrix products, where 0 · -inf would be no number.
_NEVER = -1e200


class Expectation(NamedTuple):
    """Expected statistics of complete rows under given parameters.

    `shares` is (K, rows), without weights; `counts` (K, states); `log_likelihood` that of the rows, or of rows and
    clusters together where assignments are hard.
    """

    shares: Floats
    sizes: Floats
    counts: Floats
    moments: Moments
    log_likelihood: float


def expect(
    rows: MixtureRows, parameters: MixtureParameters, kind: MixtureKind, shares: Floats | None = None
) -> Expectation:
    """Shares P(k | row), and the statistics that they give; one pass over the rows. O(rows K (states + d²)).

    Parameters
    ----------
    rows
        Encoded by the space of the mixture.
    parameters
        Under which is expected.
    kind
        Whether assignments are hard, and which numbers depend on each other.
    shares
        (K, rows): taken instead of the posterior, as at a start.
    """
    base = _discrete_log_joint(rows, parameters)
    chosen = np.empty_like(base)
    moments, value = no_moments(parameters.means, parameters.covariances), 0.0
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
            else matrix_moments(gaussian, weighted, parameters.covariances)
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
    with np.errstate(divide="ignore"):
        return np.asarray(safe + np.log(np.exp(joint - safe).sum(axis=0)))


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
    size, num_numbers = len(numbers) // block.num_groups, numbers.shape[1]
    grouped = numbers.reshape(block.num_groups, size, num_numbers)
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
