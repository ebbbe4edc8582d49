"""P(data | graph) by completions (all, or some) and by derivatives (Laplace; how many parameters data show)."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from plausible.base import Codes, Flags, Floats, Ints
from plausible.errors import InvalidArgument, TooLarge
from plausible.inference.sampling.chain_diagnostics import monte_carlo_error
from plausible.learn.bayesian.samplers import CollapsedCellGibbs, RowGibbs
from plausible.learn.bayesian.variational import VariationalState, variational_bayes, variational_step
from plausible.learn.estimation.priors import log_rising
from plausible.learn.gradients.information import Entries, FreeParameters, entry_posteriors, pair_counts
from plausible.learn.gradients.space import ObservedLikelihood, ParameterSpace, tables_of
from plausible.learn.incomplete.cases import distinct_rows
from plausible.learn.incomplete_scores.task import ScoreTask
from plausible.models import BayesianNetwork
from plausible.search.run import Clock


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


#: Up to so many configurations of what is observed are all listed; of more, some are drawn.
_MOST_CONFIGURATIONS = 1024

#: Drawn configurations are added until so many lots of them in a row tell nothing new.
_LOTS = 2

#: Singular values below this share of the largest count as zero.
_NOTHING = 1e-8


def effective_dimension(task: ScoreTask) -> int:
    """The rank, nearly everywhere, of θ -> P(what is observed): the dimension of the model (Geiger et al. 1996).

    The patterns of observed cells matter, not the values in them. It is the number of free parameters where some row is
    complete, else the rank of d log P(o) / dθ at random tables, over all configurations o of a pattern, or so many
    drawn ones that more tell nothing new. Cost: a run for each configuration and entry.
    """
    if not task.cases.num_cases:
        return 0
    # the different patterns that are not part of another: P of a part follows from that of the whole
    distinct, network = np.unique(task.cases.codes >= 0, axis=0), task.random_network()
    patterns = distinct[[((one & distinct) == one).all(axis=1).sum() <= 1 for one in distinct]]
    likelihood = ObservedLikelihood.of(network, task.data)
    if patterns.all(axis=1).any():
        return task.tables.num_free
    sizes = np.array([variable.num_states for variable in task.cases.variables.values()])
    configurations = sum(math.prod(sizes[pattern].tolist()) for pattern in patterns)
    if configurations <= _MOST_CONFIGURATIONS:
        rows = []
        for pattern in patterns:  # each configuration of the observed variables, -1 for the others
            shape = sizes[pattern].tolist()
            rows.append(np.full((math.prod(shape), len(sizes)), -1, dtype=np.int32))
            rows[-1][:, pattern] = np.indices(shape).reshape(len(shape), math.prod(shape)).T
        return _rank(_scores(network, likelihood, np.concatenate(rows)))
    rng = np.random.default_rng(task.seed)
    scores, rank, idle = np.zeros((0, task.tables.num_free)), 0, 0
    while idle < _LOTS and rank < task.tables.num_free:
        drawn = _scores(network, likelihood, _some(task, sizes, patterns, rng))
        scores, before = np.concatenate([scores, drawn]), rank
        rank = _rank(scores)
        idle = 0 if rank > before else idle + 1
    return rank


def _some(task: ScoreTask, sizes: Ints, patterns: Flags, rng: np.random.Generator) -> Codes:
    """A configuration for each entry of each table, which agrees with it; the rest of it is drawn."""
    rows = []
    for name, shape in task.tables.shapes.items():
        num = math.prod(shape)
        drawn = rng.integers(sizes, size=(num, len(sizes)), dtype=np.int32)
        drawn[:, task.tables.scopes[name]] = np.indices(shape).reshape(len(shape), num).T
        drawn[~patterns[rng.integers(len(patterns), size=num)]] = -1
        rows.append(drawn)
    return np.concatenate(rows)


def _scores(network: BayesianNetwork, likelihood: ObservedLikelihood, rows: Codes) -> Floats:
    """d log P(o) / dθ, a row for each different configuration, a column for each free parameter."""
    distinct = distinct_rows(rows)[0]
    asked = likelihood.of_rows(distinct, np.ones(len(distinct)), np.arange(len(distinct)))
    tables = tables_of(network)
    entries = Entries.of(tables)
    slopes = FreeParameters.of(ParameterSpace.of(network), entries).slopes
    return np.asarray((entry_posteriors(asked, tables, entries) / entries.taken(tables)) @ slopes)


def _rank(scores: Floats) -> int:
    sizes = np.linalg.norm(scores, axis=0)
    values = np.linalg.svd(scores / np.where(sizes > 0, sizes, 1.0), compute_uv=False)
    return int((values > _NOTHING * values.max(initial=0.0)).sum()) if values.size else 0


#: Eigenvalues below this count as zero, where the matrix has been scaled to a diagonal of ones.
_FLAT = 1e-10


class LaplaceIntegral(NamedTuple):
    """log ∫ exp g ≈ g(w₀) + volume + curvature."""

    peak: float  # g(w₀)
    volume: float  # (d/2) log 2π, where d is the rank
    #: -½ log |C|, over the directions that have a curvature.
    curvature: float
    rank: int  # How many these are
    num_upward: int  # Directions in which g curves upwards: the point is no maximum

    @property
    def value(self) -> float:
        """The logarithm of the integral."""
        return self.peak + self.volume + self.curvature


def laplace_integral(peak: float, curvature: Any) -> LaplaceIntegral:
    """log ∫ exp g(w) dw ≈ g(w₀) + (d/2) log 2π - ½ log |C|, with C = -g'' at the maximum w₀.

    `peak` is g(w₀), and `curvature` the symmetric C. Exact where g is quadratic. Where C is not of full rank, its
    pseudo-determinant stands for |C| and its rank for d: the integral over the directions that the data tell anything
    of (Koller & Friedman 2009, box 19.F).

    >>> round(laplace_integral(0.0, np.diag([4.0, 1.0])).value, 6)  # log(2π / 2)
    1.14473
    """
    matrix = np.asarray(curvature, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise InvalidArgument(f"A curvature is a square matrix, but this one has the shape {matrix.shape}.")
    diagonal = np.abs(np.diag(matrix))
    scales = np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2 / np.outer(scales, scales))
    is_kept = values > _FLAT
    # det* (S R S) = det S² det* R det(NᵀS⁻²N), where the columns of N are an orthonormal basis of what R leaves out.
    left_out = vectors[:, ~is_kept] / scales[:, None]
    log_determinant = 2 * np.log(scales).sum() + np.log(values[is_kept]).sum()
    log_determinant += np.linalg.slogdet(left_out.T @ left_out).logabsdet
    rank = int(is_kept.sum())
    volume = rank / 2 * math.log(2 * math.pi)
    return LaplaceIntegral(peak, volume, -0.5 * float(log_determinant), rank, int((values < -_FLAT).sum()))


def posterior_curvature(task: ScoreTask) -> Floats:
    """C = -d²[ℓ + log P(λ)] / dλ², where θ_x = exp λ_x / Σ exp λ, the last λ of each row being zero.

    In these coordinates the Dirichlet density is ∝ Π θ^α, so that the fit of EM is its mode for any α > 0, and
    C = Σ_u (M̄[u] + α_u) (diag θ - θθᵀ) - Σ_m Cov(s | o[m]), s = 1{x, u} - θ_x 1{u}: the information in the completed
    data, less what is missing of it (Louis 1982). Cost: a run for each different row and entry.
    """
    network = task.fit.network
    likelihood = ObservedLikelihood.of(network, task.data)
    tables = {name: tables_of(network)[name] for name in task.tables.shapes}
    entries = Entries.of(tables)
    posteriors = entry_posteriors(likelihood, tables, entries)
    joints = pair_counts(likelihood, tables, entries, posteriors)
    counts = likelihood.weights @ posteriors
    spread = (joints + joints.T) / 2 + np.diag(counts) - posteriors.T @ (likelihood.weights[:, None] * posteriors)
    theta, row = task.theta, task.tables.row_of_entry
    is_free = np.append(row[1:] == row[:-1], False) if len(row) else np.zeros(0, dtype=np.bool_)
    same = row[:, None] == row
    scores = (np.eye(len(theta)) - same * theta)[:, is_free]
    complete = task.tables.row_sums(counts + task.pseudo_counts)[row] * (np.diag(theta) - same * np.outer(theta, theta))
    return np.asarray(complete[np.ix_(is_free, is_free)] - scores.T @ spread @ scores)
