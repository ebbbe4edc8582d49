"""The M-step: the parameters of greatest posterior density for expected statistics."""

from __future__ import annotations

import numpy as np

from plausible.base.arrays import Floats
from plausible.learn.mixtures.expectation import Expectation
from plausible.learn.mixtures.gaussians import Moments, clipped
from plausible.learn.mixtures.options import MixtureKind, MixtureParameters
from plausible.learn.mixtures.rows import MixtureSpace

__all__ = ["maximize"]


def maximize(
    expected: Expectation, parameters: MixtureParameters, kind: MixtureKind, space: MixtureSpace
) -> MixtureParameters:
    """The next parameters; those of which the statistics tell nothing (0/0) stay as they are.

    Parameters
    ----------
    expected
        Statistics under `parameters`, around whose means its moments are.
    parameters
        The present ones.
    kind
        Covariances, prior and floor of the variances.
    space
        The features.
    """
    means = _means(expected.moments, parameters, kind)
    return MixtureParameters(
        _weights(expected.sizes, parameters, kind),
        _tables(expected.counts, parameters, kind, space),
        means,
        _covariances(expected.moments, means, parameters, kind),
    )


def _weights(sizes: Floats, parameters: MixtureParameters, kind: MixtureKind) -> Floats:
    if kind.has_equal_weights:
        return np.full(len(sizes), 1 / len(sizes))
    cases = sizes + kind.prior.weights
    return cases / cases.sum() if cases.sum() > 0 else parameters.weights


def _tables(counts: Floats, parameters: MixtureParameters, kind: MixtureKind, space: MixtureSpace) -> Floats:
    if not len(space.discrete):
        return parameters.tables
    cases = counts + kind.prior.cells
    totals = np.repeat(np.add.reduceat(cases, space.offsets[:-1], axis=1), space.num_states, axis=1)
    return np.asarray(np.divide(cases, totals, out=parameters.tables.copy(), where=totals > 0))


def _means(moments: Moments, parameters: MixtureParameters, kind: MixtureKind) -> Floats:
    """(Σ x + κ m) / (n + κ), with m = 0 in the units of the space."""
    cases = moments.counts + kind.prior.means
    sums = moments.counts * parameters.means + moments.firsts
    return np.divide(sums, cases, out=parameters.means.copy(), where=cases > 0)


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
