"""The candidate method: P(D) = P(D | θ) P(θ) / P(θ | D), whatever θ is (Chib 1995)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from plausible.learn.incomplete_scores.dirichlet_rows import Floats
from plausible.learn.incomplete_scores.task import ScoreTask

__all__ = ["CandidateEstimate", "candidate_estimate"]


class CandidateEstimate(NamedTuple):
    """log P(D) by the candidate method.

    Attributes
    ----------
    value
        From the mean of 1 / P(D) over candidates.
    error
        The standard error of `value`, by how far the candidates differ; NaN with one.
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
    mean of 1 / P(D). States of hidden variables are put into all orders, since chains seldom visit more than one.
    Exact, at every θ, where the completions are all there are with their posterior weights.

    Parameters
    ----------
    task
        The graph, the data and the prior.
    candidates
        Flat tables without zeros: shape (candidates, entries). Best where the posterior is large.
    completions
        The counts of completed data: shape (completions, entries).
    log_weights
        Of the completions; all the same where left out.
    """
    weights = np.zeros(len(completions)) if log_weights is None else log_weights
    weights = weights - np.logaddexp.reduce(weights)
    found = []
    for theta in candidates:
        ordered = task.renamed(theta)
        densities = np.array([np.logaddexp.reduce(weights + task.rows.log_density(t, completions)) for t in ordered])
        log_posterior = np.logaddexp.reduce(densities) - np.log(len(ordered))
        found.append(task.log_likelihood(theta) + float(task.rows.log_density(theta)) - float(log_posterior))
    inverse = -np.array(found)
    value = float(np.log(len(found)) - np.logaddexp.reduce(inverse))
    share = np.exp(inverse + value)
    error = float(share.std(ddof=1) / np.sqrt(len(found))) if len(found) > 1 else float("nan")
    return CandidateEstimate(value, error, tuple(found))
