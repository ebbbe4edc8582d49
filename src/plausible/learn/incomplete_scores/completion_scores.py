"""P(data | graph) by completions: the sum over all, and estimates by some that are drawn or expected."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from plausible.base.arrays import Floats
from plausible.errors import InvalidArgument, TooLarge
from plausible.inference.sampling.chain_diagnostics import monte_carlo_error
from plausible.learn.bayesian.samplers import CollapsedCellGibbs, RowGibbs
from plausible.learn.bayesian.variational import VariationalState, variational_bayes, variational_step
from plausible.learn.incomplete_scores.task import ScoreTask
from plausible.learn.log_gamma import log_rising
from plausible.search.clock import Clock


class CompletionSums(NamedTuple):
    """The different counts that completions have, and the log of how many completions have them."""

    counts: Floats  # (different counts, entries of all tables)
    log_numbers: Floats


def exact_log_marginal(task: ScoreTask) -> float:
    """log Σ over completions H of P(D, H | G), each of which has a closed form.

    Those with the same counts are as probable as each other. Cost: the number of different counts, which grows as a
    power of the number of rows with the number of entries that missing cells leave open; for tiny data.
    """
    counts, log_numbers = exact_completions(task)
    return float(np.logaddexp.reduce(log_numbers + task.log_marginal(counts)))


def exact_completions(task: ScoreTask) -> CompletionSums:
    """The different counts of all families that completions have, and the log of how many completions have them."""
    cases, clock = task.cases, Clock.of(task.time_limit)
    weights = cases.weights
    _refuse_large(_least_counts(task) * len(task.pseudo_counts), task.options.max_entries)
    base = np.zeros(len(task.pseudo_counts))
    counts, log_numbers = np.zeros((1, len(base))), np.zeros(1)
    for case in range(cases.num_cases):
        added = _additions(task, case)
        if len(added) == 1:
            base += weights[case] * added[0]
            continue
        if weights[case] != round(weights[case]):
            raise InvalidArgument(
                f"Row {cases.first_row(case)} has missing cells and weighs {weights[case]}: completions are summed for "
                "whole rows. Take score='cheeseman-stutz' or 'variational', which take weights."
            )
        for _ in range(round(weights[case])):
            _refuse_large(len(counts) * len(added) * len(base), task.options.max_entries)
            if clock.is_over:
                raise TooLarge(
                    f"Completions were not summed within time_limit={task.time_limit:.3g} seconds, and part of a sum "
                    "is no score. Take score='cheeseman-stutz', or raise the limit."
                )
            wider = (counts[:, None] + added).reshape(-1, len(base))
            logs = np.repeat(log_numbers, len(added))
            counts, places = np.unique(wider, axis=0, return_inverse=True)  # equal ones once, their numbers summed
            peaks = np.full(len(counts), -np.inf)
            np.maximum.at(peaks, places.ravel(), logs)
            shares = np.bincount(places.ravel(), np.exp(logs - peaks[places.ravel()]), len(counts))
            log_numbers = np.asarray(peaks + np.log(shares))
    return CompletionSums(counts + base, log_numbers)


def _least_counts(task: ScoreTask) -> float:
    """No fewer different counts than so many, by cases whose completions change counts linearly independently.

    Rows of a case of weight w with k completions divide them in C(w + k - 1, k - 1) ways, all of different counts.
    """
    weights, size = task.cases.weights, len(task.pseudo_counts)
    basis, least = np.zeros((0, size)), 0.0
    for case in np.argsort(-weights, kind="stable").tolist():
        added = _additions(task, case)
        changes = added[1:] - added[0]
        fresh = changes - changes @ basis.T @ basis
        singular, directions = np.linalg.svd(fresh, full_matrices=False)[1:] if fresh.size else (np.ones(0), fresh)
        if len(basis) + len(changes) <= size and (singular > 1e-9).all():
            basis = np.concatenate([basis, directions])
            least += float(log_rising(weights[case] + 1.0, len(changes))) - math.lgamma(len(added))
        if len(basis) == size:
            break
    return math.exp(min(least, 700.0))


def _additions(task: ScoreTask, case: int) -> Floats:
    """What each completion of a case adds to the counts: shape (completions, entries)."""
    cases, tables = task.cases, task.tables
    sizes = [variable.num_states for variable in cases.variables.values()]
    seen = cases.codes[case]
    free = np.flatnonzero(seen < 0)
    shape = [sizes[column] for column in free]
    _refuse_large(math.prod(shape) * len(task.pseudo_counts), task.options.max_entries)
    codes = np.repeat(seen[:, None].astype(np.intp), math.prod(shape), axis=1)
    codes[free] = np.indices(shape).reshape(len(free), math.prod(shape))
    places = {name: place for place, name in enumerate(cases.variables)}
    added = np.zeros((codes.shape[1], len(task.pseudo_counts)))
    for name, shape_of_table in tables.shapes.items():
        if name not in cases.setting_names[int(cases.settings[case])]:
            family = tuple(codes[places[other]] for other in (*task.parents[name], name))
            entry = tables.part(name).start + np.ravel_multi_index(family, shape_of_table)
            added[np.arange(len(added)), entry] = 1.0
    return added


def _refuse_large(num_entries: float, most: int) -> None:
    if num_entries > most:
        raise TooLarge(
            f"The completions have {num_entries:.3g} counts to keep, more than {most}: the exact score is for tiny "
            "data. Take score='cheeseman-stutz', or raise max_entries of ScoreOptions."
        )


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
        shares = np.exp(by_completion + value).reshape(completions.shape[:2])  # their mean is one
        drawn = float(monte_carlo_error(shares)) if shares.shape[1] >= _FEWEST_DRAWS else math.nan
        error = max(float(np.sqrt(np.mean((found - value) ** 2))), drawn)
    return CandidateEstimate(value, error, tuple(found.tolist()))


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


def variational_bound(task: ScoreTask) -> tuple[float, bool]:
    """The bound of variational Bayes from the fit, where it is the Cheeseman-Stutz score, and whether it converged."""
    start = variational_step(task.completion, VariationalState(task.pseudo_counts, task.counts, -np.inf))
    given, limit = (task.graph, task.data, task.prior), task.time_limit
    fit = variational_bayes(*given, hidden=task.hidden, start=start, time_limit=limit)
    return fit.bound, fit.converged
