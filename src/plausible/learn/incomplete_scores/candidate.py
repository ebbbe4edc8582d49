"""The candidate method: P(D) = P(D | θ) P(θ) / P(θ | D), whatever θ is (Chib 1995)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from plausible.base.arrays import Floats
from plausible.inference.sampling.chain_diagnostics import monte_carlo_error
from plausible.learn.incomplete_scores.task import ScoreTask

__all__ = ["CandidateEstimate", "candidate_estimate"]

#: Chains of fewer draws tell no error.
_FEWEST_DRAWS = 4


class CandidateEstimate(NamedTuple):
    """log P(D) by the candidate method.

    Attributes
    ----------
    value
        From the mean of 1 / P(D) over candidates.
    error
        The standard error of `value` that the chains of completions have, their autocorrelation included, or how far
        candidates are from each other where that is more; zero where completions have their posterior weights, NaN
        where there are too few. Modes that no chain visits are not seen.
    by_candidate
        log P(D) as each candidate gives it.
    """

    value: float
    error: float
    by_candidate: tuple[float, ...]


def candidate_estimate(
    task: ScoreTask, candidates: Floats, completions: Floats, log_weights: Floats | None = None
) -> CandidateEstimate:
    """log P(D | θ) + log P(θ) - log mean over completions of Dirichlet(θ; α + N), at some θ.

    The mean of the Dirichlet densities of completions drawn from P(H | D) estimates P(θ | D) without bias; hence the
    mean of 1 / P(D). With the exact posterior all θ give the same, so that what candidates share of the noise of the
    chains does not average out over them. Dirichlet(θ; α + N) / P(θ) = Π θ^N / P(completed data): densities, which are
    huge for large α, are not needed. States of hidden variables are put into all orders, since chains seldom visit more
    than one; the prior is the same in all.

    Parameters
    ----------
    task
        The graph, the data and the prior.
    candidates
        Flat tables without zeros: shape (candidates, entries). Best where the posterior is large.
    completions
        The counts of completed data: shape (chains, completions, entries).
    log_weights
        Of the completions, shape (chains, completions), where these are all there are; drawn ones are all the same.
    """
    counts = completions.reshape(-1, completions.shape[-1])
    log_marginals = task.log_marginal(counts)[:, None]
    inverses = np.empty((len(candidates), len(counts)))
    for place, theta in enumerate(candidates):
        tables, log_shares = task.renamed(theta)
        densities = np.logaddexp.reduce(counts @ np.log(tables).T - log_marginals + log_shares, axis=1)
        inverses[place] = densities - task.completion.log_likelihood(theta)
    weights = np.full(len(counts), -np.log(len(counts)))
    if log_weights is not None:
        weights = log_weights.ravel() - np.logaddexp.reduce(log_weights, axis=None)
    found = -np.logaddexp.reduce(inverses + weights, axis=1)
    by_completion = np.logaddexp.reduce(inverses, axis=0) - np.log(len(candidates))
    value = -float(np.logaddexp.reduce(by_completion + weights))
    error = 0.0
    if log_weights is None:
        apart = float(np.sqrt(np.mean((found - value) ** 2)))
        error = max(apart, _error(np.exp(by_completion + value).reshape(completions.shape[:2])))
    return CandidateEstimate(value, error, tuple(found.tolist()))


def _error(shares: Floats) -> float:
    """The standard error of the mean of draws along chains, whose mean is one."""
    return float(monte_carlo_error(shares)) if shares.shape[1] >= _FEWEST_DRAWS else float("nan")
