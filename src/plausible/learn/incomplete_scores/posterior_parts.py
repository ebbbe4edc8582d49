"""What scores need of Bayesian learning: completions drawn from the posterior, and the variational bound."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from plausible.base.arrays import Floats
from plausible.learn.bayesian.samplers import CollapsedCellGibbs, RowGibbs
from plausible.learn.bayesian.variational import VariationalState, variational_bayes, variational_step
from plausible.learn.incomplete_scores.task import ScoreTask

__all__ = ["VariationalBound", "completion_counts", "variational_bound"]


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
    start = variational_step(problem, VariationalState(task.pseudo_counts, task.counts, ()))
    fit = variational_bayes(
        task.graph, task.data, task.prior, hidden=task.hidden, start=start, time_limit=task.time_limit
    )
    return VariationalBound(fit.bound, fit.converged)
