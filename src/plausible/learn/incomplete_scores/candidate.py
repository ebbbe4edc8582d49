"""The candidate method: P(D) = P(D | θ) P(θ) / P(θ | D), whatever θ is (Chib 1995)."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from plausible.base.arrays import Floats
from plausible.inference.sampling.chain_diagnostics import monte_carlo_error
from plausible.learn.bayesian.samplers import CollapsedCellGibbs, RowGibbs
from plausible.learn.bayesian.variational import VariationalState, variational_bayes, variational_step
from plausible.learn.incomplete_scores.task import ScoreTask

#: Chains of fewer draws tell no error.
_FEWEST_DRAWS = 4


class CandidateEstimate(NamedTuple):
    """log P(D) by the candidate method."""

    value: float  # From the mean of 1 / P(D) over candidates
    #: The standard error of `value` that the chains of completions have, their autocorrelation included, or how far
    #: candidates are from each other where that is more; zero where completions have their posterior weights, NaN
    #: where there are too few. Modes that no chain visits are not seen.
    error: float
    by_candidate: tuple[float, ...]  # log P(D) as each candidate gives it


def candidate_estimate(
    task: ScoreTask, candidates: Floats, completions: Floats, log_weights: Floats | None = None
) -> CandidateEstimate:
    """log P(D | θ) + log P(θ) - log mean over completions of Dirichlet(θ; α + N), at some θ.

    The mean of the Dirichlet densities of completions drawn from P(H | D) estimates P(θ | D) without bias; hence the
    mean of 1 / P(D). With the exact posterior all θ give the same, so that what candidates share of the noise of the
    chains does not average out over them. Dirichlet(θ; α + N) / P(θ) = Π θ^N / P(completed data): densities, which are
    huge for large α, are not needed. States of hidden variables are put into all orders, since chains seldom visit more
    than one; the prior is the same in all.
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


class VariationalBound(NamedTuple):
    """The bound, and whether its ascent came to an end."""

    value: float
    converged: bool


def completion_counts(task: ScoreTask, seed: int) -> Floats:
    """Counts of completed data drawn from P(H | D) by a chain that starts at the fit: shape (draws, entries)."""
    problem, collapsed = task.completion, CollapsedCellGibbs()
    state = collapsed.init(problem, seed)
    state = RowGibbs().step(problem, replace(state, tables=task.theta))
    drawn = np.empty((task.options.num_draws, len(task.theta)))
    for number in range(-task.options.burn_in, len(drawn)):
        state = collapsed.step(problem, state)
        if number >= 0:
            drawn[number] = problem.counts(state.codes)
    return drawn


def variational_bound(task: ScoreTask) -> VariationalBound:
    """The bound of variational Bayes, from the completion of the fit: there it is the Cheeseman-Stutz score."""
    problem = task.completion
    start = variational_step(problem, VariationalState(task.pseudo_counts, task.counts, -np.inf))
    fit = variational_bayes(
        task.graph, task.data, task.prior, hidden=task.hidden, start=start, time_limit=task.time_limit
    )
    return VariationalBound(fit.bound, fit.converged)
