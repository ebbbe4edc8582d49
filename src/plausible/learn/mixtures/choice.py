"""How many clusters: one mixture for each number, judged by a criterion."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from plausible.base.records import record
from plausible.data.table import Table
from plausible.errors import InvalidArgument, suggestion
from plausible.learn.classifiers.features import read_features
from plausible.learn.log_gamma import log_rising
from plausible.learn.mixtures.clustering import MixtureClustering
from plausible.learn.mixtures.em import expect, log_totals

#: By which numbers of clusters are judged; greater values are better for all.
CRITERIA = ("bic", "icl", "aic", "holdout", "cheeseman-stutz")


class ClusterScore(NamedTuple):
    """One number of clusters: its figures, and the standard error of a value that was measured on folds."""

    num_clusters: int
    value: float
    standard_error: float
    log_likelihood: float
    num_parameters: int
    converged: bool


@record(eq=False)
class ClusterChoice:
    """The best number of clusters, and those that are about as good."""

    criterion: str  # By which it was chosen
    scores: tuple[ClusterScore, ...]  # One for each number, in their order
    best: int  # That of the greatest value; of equal ones the least number
    #: All numbers that the criterion hardly tells from the best: less than one below it (a Bayes factor of e), or for
    #: "holdout" within the standard error of the best.
    close: tuple[int, ...]
    clustering: MixtureClustering  # The mixture with the best number, fitted to all rows

    def __str__(self) -> str:
        lines = [f"{'clusters':>8}  {self.criterion:>15}  {'log-likelihood':>14}  {'parameters':>10}"]
        for score in self.scores:
            mark = " best" if score.num_clusters == self.best else " close" * (score.num_clusters in self.close)
            value = f"{score.value:.2f}" if math.isfinite(score.value) else str(score.value)
            line = f"{score.num_clusters:>8}  {value:>15}  {score.log_likelihood:>14.2f}  {score.num_parameters:>10}"
            lines.append(line + mark)
        return "\n".join(lines)


def choose_clusters(
    data: Any,
    numbers: Iterable[int] = range(1, 9),
    criterion: str = "bic",
    *,
    folds: int = 5,
    progress: Callable[[ClusterScore], object] | None = None,
    **options: Any,
) -> ClusterChoice:
    """Fit mixtures of several numbers of clusters, and choose.

    With ℓ the log-likelihood, n rows and d free parameters: BIC is ℓ - d/2 log n, AIC ℓ - d, ICL is BIC less the
    entropy of the assignments (Biernacki et al. 2000); "holdout" is the log-likelihood of rows left out, fold by fold;
    "cheeseman-stutz", for discrete features alone, is log P(D*) + ℓ - log P(D* | θ) for the data D* completed by its
    expectation, with the Dirichlet distributions of the prior (K&F 19.4.1.4).

    Parameters
    ----------
    data
        Rows as for `MixtureClustering.fit`.
    numbers
        Of clusters, to be tried.
    criterion
        One of `CRITERIA`.
    folds
        Into how many parts "holdout" divides the rows.
    progress
        Told the score of each number; a true answer stops, and the best so far is taken.
    options
        Those of `MixtureClustering`.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 2)) + 8.0 * np.arange(200)[:, None] % 16
    >>> choose_clusters(X, range(1, 4)).best
    2
    """
    if criterion not in CRITERIA:
        raise InvalidArgument(f"criterion={criterion!r} is none.{suggestion(criterion, CRITERIA)}")
    if isinstance(numbers, int):
        raise InvalidArgument(
            f"numbers={numbers} is one number of clusters: give several, such as range(1, {numbers + 1})."
        )
    tried = sorted(set(numbers))
    if not tried:
        raise InvalidArgument("There is no number of clusters to choose from.")
    table = data if isinstance(data, Table) else Table.read(read_features(data))
    if criterion == "cheeseman-stutz" and table.continuous:
        raise InvalidArgument(
            f"The Cheeseman-Stutz score is for discrete features, but {table.continuous[0]!r} is continuous: take "
            "'bic'."
        )
    if criterion == "holdout" and not 2 <= folds <= table.num_rows:
        raise InvalidArgument(f"folds={folds}: from 2 to the number of rows, {table.num_rows}.")
    scores, fitted = list[ClusterScore](), list[MixtureClustering]()
    for number in tried:
        fitted.append(MixtureClustering(number, **options).fit(table))
        scores.append(_scored(fitted[-1], table, criterion, folds, options))
        if progress is not None and progress(scores[-1]):
            break
    place = max(range(len(scores)), key=lambda i: (scores[i].value, -i))
    best = scores[place]
    near = best.standard_error if criterion == "holdout" else 1.0
    close = tuple(score.num_clusters for score in scores if score.value >= best.value - near)
    return ClusterChoice(criterion, tuple(scores), best.num_clusters, close, fitted[place])


def _scored(
    clustering: MixtureClustering, table: Table, criterion: str, folds: int, options: dict[str, Any]
) -> ClusterScore:
    likelihood, free = clustering.log_likelihood_, clustering.num_parameters_
    error = 0.0
    penalty = free / 2 * math.log(max(table.total, 1.0))
    if criterion == "aic":
        value = likelihood - free
    elif criterion == "bic":
        value = likelihood - penalty
    elif criterion == "icl":
        value = likelihood - penalty - _entropy(clustering, table)
    elif criterion == "holdout":
        value, error = _held_out(table, clustering.n_clusters, folds, options)
    else:
        value = _cheeseman_stutz(clustering, table)
    return ClusterScore(clustering.n_clusters, value, error, likelihood, free, clustering.converged_)


def _entropy(clustering: MixtureClustering, table: Table) -> float:
    shares = clustering._posterior(clustering._log_joint(table))
    weights = 1.0 if table.weights is None else table.weights[:, None]
    logs = np.log(np.where(shares > 0, shares, 1.0))
    return -float((weights * shares * logs).sum())


def _held_out(table: Table, num_clusters: int, folds: int, options: dict[str, Any]) -> tuple[float, float]:
    """The log-likelihood of all rows, each by a mixture of the other folds, and its standard error."""
    fold = np.random.default_rng(options.get("seed", 0)).permutation(table.num_rows) % folds
    logs = np.empty(table.num_rows)
    for part in range(folds):
        found = MixtureClustering(num_clusters, **options).fit(table.take(fold != part))
        logs[fold == part] = log_totals(found._log_joint(table.take(fold == part)).T)
    weights = table.row_weights
    terms = weights * logs
    finite = bool(np.isfinite(logs).all())
    return float(terms.sum()), float(np.sqrt(len(terms)) * terms.std()) if finite else math.inf


def _cheeseman_stutz(clustering: MixtureClustering, table: Table) -> float:
    """The marginal likelihood of the expected complete data, corrected by the likelihoods at the fit."""
    space, found, prior = clustering.space_, clustering.parameters_, clustering.kind_.prior
    expected = expect(space.encode(table), found, clustering.kind_)
    starts = space.offsets[:-1]
    seen = np.add.reduceat(expected.counts, starts, axis=1)
    # Missing cells are completed by the tables of the cluster.
    hidden = np.repeat(expected.sizes[:, None] - seen, space.num_states, axis=1)
    counts = expected.counts + np.maximum(hidden, 0.0) * found.tables
    marginal = sum(
        _dirichlet_marginal(block, 1 + prior.cells) for block in np.split(counts, space.offsets[1:-1], axis=1)
    )
    complete = _times_log(counts, found.tables)
    if clustering.kind_.has_equal_weights:
        both = 0.0
    else:
        both = _dirichlet_marginal(expected.sizes[None], 1 + prior.weights) - _times_log(expected.sizes, found.weights)
    return clustering.log_likelihood_ + marginal - complete + both


def _dirichlet_marginal(counts: Any, cases: float) -> float:
    """log Π over rows of B(counts + cases) / B(cases)."""
    return float(log_rising(cases, counts).sum() - log_rising(counts.shape[1] * cases, counts.sum(axis=1)).sum())


def _times_log(counts: Any, probabilities: Any) -> float:
    return float((counts * np.log(np.where(counts > 0, probabilities, 1.0))).sum())
