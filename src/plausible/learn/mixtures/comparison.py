"""Mixtures compared: numbers of clusters by a criterion, and two side by side, whatever their clusters are called."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from plausible.base import Floats, Positions, Result, chart_by, logarithms, record
from plausible.data.table import Table
from plausible.errors import InvalidArgument, suggestion
from plausible.learn.estimation.priors import log_rising
from plausible.learn.mixtures.clustering import MixtureClustering, read_clustered
from plausible.learn.mixtures.em import expect, log_totals

if TYPE_CHECKING:
    from plausible.base.pictured import Axes, Chart

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
class ClusterChoice(Result):
    """The best number of clusters, and those that are about as good."""

    criterion: str  # By which it was chosen
    scores: tuple[ClusterScore, ...]  # One for each number, in their order
    best: int  # That of the greatest value; of equal ones the least number
    #: All numbers that the criterion hardly tells from the best: less than one below it (a Bayes factor of e), or for
    #: "holdout" within the standard error of the best.
    close: tuple[int, ...]
    clustering: MixtureClustering  # The mixture with the best number, fitted to all rows

    def plot(self, ax: Axes | None = None) -> Chart:
        """Draw the criterion by the number of clusters; it needs matplotlib (the extra `plot`)."""
        numbers, values = [one.num_clusters for one in self.scores], [one.value for one in self.scores]
        named = {"title": "Clusters", "what": "number of clusters", "score": self.criterion}
        return chart_by("plot_choice", numbers, values, self.best, ax, **named)

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
    data, options
        Rows, and options, as for `MixtureClustering`.
    numbers
        Of clusters, to be tried.
    criterion
        One of `CRITERIA`.
    folds
        Into how many parts "holdout" divides the rows.
    progress
        Told the score of each number; a true answer stops, and the best so far is taken.

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
    given = read_clustered(data)
    table = Table.for_learning(given)
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
    fitted[place]._note_features(data, given.variables)
    best = scores[place]
    near = best.standard_error if criterion == "holdout" else 1.0
    close = tuple(score.num_clusters for score in scores if score.value >= best.value - near)
    return ClusterChoice(criterion, tuple(scores), best.num_clusters, close, fitted[place])


def _scored(
    clustering: MixtureClustering, table: Table, criterion: str, folds: int, options: dict[str, Any]
) -> ClusterScore:
    likelihood, free, error = clustering.log_likelihood_, clustering.num_parameters_, 0.0
    penalty = free / 2 * math.log(max(table.total, 1.0))
    if criterion == "aic":
        value = likelihood - free
    elif criterion == "bic":
        value = likelihood - penalty
    elif criterion == "icl":
        shares = clustering._posterior(clustering._log_joint(table))
        weights = 1.0 if table.weights is None else table.weights[:, None]
        value = likelihood - penalty + _times_log(weights * shares, shares)
    elif criterion == "holdout":
        value, error = _held_out(table, clustering.n_clusters, folds, options)
    else:
        value = _cheeseman_stutz(clustering, table)
    return ClusterScore(clustering.n_clusters, value, error, likelihood, free, clustering.converged_)


def _cheeseman_stutz(clustering: MixtureClustering, table: Table) -> float:
    """The marginal likelihood of the expected complete data, corrected by the likelihoods at the parameters found."""
    space, found, prior = clustering.space_, clustering.parameters_, clustering.kind_.prior
    expected = expect(space.encode(table), found, clustering.kind_)
    seen = np.add.reduceat(expected.counts, space.offsets[:-1], axis=1)
    # Missing cells are completed by the tables of the cluster.
    hidden = np.repeat(expected.sizes[:, None] - seen, space.num_states, axis=1)
    counts = expected.counts + np.maximum(hidden, 0.0) * found.tables
    blocks = np.split(counts, space.offsets[1:-1], axis=1)
    marginal = sum(_dirichlet_marginal(block, 1 + prior.cells) for block in blocks)
    value = clustering.log_likelihood_ + marginal - _times_log(counts, found.tables)
    if clustering.kind_.has_equal_weights:
        return value
    of_weights = _dirichlet_marginal(expected.sizes[None], 1 + prior.weights)
    return value + (of_weights - _times_log(expected.sizes, found.weights))


def _held_out(table: Table, num_clusters: int, folds: int, options: dict[str, Any]) -> tuple[float, float]:
    """The log-likelihood of all rows, each by a mixture of the other folds, and its standard error."""
    fold = np.random.default_rng(options.get("seed", 0)).permutation(table.num_rows) % folds
    logs = np.empty(table.num_rows)
    for part in range(folds):
        found = MixtureClustering(num_clusters, **options).fit(table.take(fold != part))
        logs[fold == part] = log_totals(found._log_joint(table.take(fold == part)).T)
    terms = table.row_weights * logs
    error = float(np.sqrt(len(terms)) * terms.std()) if np.isfinite(logs).all() else math.inf
    return float(terms.sum()), error


def _dirichlet_marginal(counts: Any, cases: float) -> float:
    """log Π over rows of B(counts + cases) / B(cases)."""
    return float(log_rising(cases, counts).sum() - log_rising(counts.shape[1] * cases, counts.sum(axis=1)).sum())


def _times_log(counts: Any, probabilities: Any) -> float:
    return float((counts * np.log(np.where(counts > 0, probabilities, 1.0))).sum())


class ClusteringComparison(NamedTuple):
    """How far two clusterings of the same rows agree."""

    adjusted_rand: float  # 1 for equal clusterings and 0 on average for independent ones (Hubert & Arabie 1985)
    agreement: float  # the share of rows that are matched
    matching: dict[Any, Any]  # the pairing of names with most rows in common
    counts: Floats  # rows in cluster `first_names[i]` of the one and `second_names[j]` of the other
    first_names: tuple[Any, ...]
    second_names: tuple[Any, ...]


def compare_clusterings(first: Any, second: Any) -> ClusteringComparison:
    """Compare two lists of clusters, one for each row; names make no difference. O(rows + K³).

    ARI = (Σ C(n_ij, 2) - e) / ((Σ C(a_i, 2) + Σ C(b_j, 2)) / 2 - e), e = Σ C(a_i, 2) Σ C(b_j, 2) / C(n, 2).

    >>> compare_clusterings([0, 0, 1, 1], ["b", "b", "a", "a"]).adjusted_rand
    1.0
    """
    one, two = np.asarray(first), np.asarray(second)
    if one.ndim != 1 or one.shape != two.shape:
        raise InvalidArgument(
            f"A clustering is a cluster for each row, but the shapes are {one.shape} and {two.shape}."
        )
    names_one, codes_one = np.unique(one, return_inverse=True)
    names_two, codes_two = np.unique(two, return_inverse=True)
    counts = np.zeros((len(names_one), len(names_two)))
    np.add.at(counts, (codes_one, codes_two), 1)
    pairs, by_first, by_second = (float((c * (c - 1) / 2).sum()) for c in (counts, counts.sum(1), counts.sum(0)))
    expected = by_first * by_second / max(1.0, len(one) * (len(one) - 1) / 2)
    possible = (by_first + by_second) / 2 - expected
    adjusted = (pairs - expected) / possible if possible else 1.0
    rows, columns = _assignment(-counts)
    matching = {names_one[i].item(): names_two[j].item() for i, j in zip(rows, columns, strict=True)}
    agreement = float(counts[rows, columns].sum() / len(one)) if len(one) else 1.0
    names = tuple(names_one.tolist()), tuple(names_two.tolist())
    return ClusteringComparison(adjusted, agreement, matching, counts, *names)


class MixtureComparison(NamedTuple):
    """Clusters of two mixtures side by side, as many pairs as the smaller one has."""

    order: tuple[int, ...]  # cluster i of the first is cluster `order[i]` of the second
    distances: Floats  # the Hellinger distance of the features' distributions in each pair, from 0 to 1
    weight_differences: Floats  # what the first weighs more


def compare_mixtures(first: MixtureClustering, second: MixtureClustering) -> MixtureComparison:
    """Pair the clusters of two mixtures so that their squared Hellinger distances have the least sum.

    H² = 1 - Π_i Σ_x √(p(x) q(x)) · |Σ_p|^¼ |Σ_q|^¼ |S|^-½ exp(-δᵀ S⁻¹ δ / 8), with S the mean of both matrices.
    Permuting the clusters of a mixture changes no likelihood, so that no parameters can be compared without this.

    Both are fitted to the same features.

    >>> X = [[0.0], [0.5], [9.0], [9.5]]
    >>> one, two = (MixtureClustering(2, start=start).fit(X) for start in ([0, 0, 1, 1], [1, 1, 0, 0]))
    >>> compare_mixtures(one, two).order
    (1, 0)
    """
    for clustering in (first, second):
        clustering._check_fitted()
    if first._variables_ != second._variables_:
        raise InvalidArgument("The mixtures have different features, or states: they can't be compared.")
    affinity = _gaussian_log_affinity(first, second)
    for name, table in first.tables_.items():
        affinity = affinity + logarithms(np.sqrt(table) @ np.sqrt(second.tables_[name]).T)
    squares = np.clip(1 - np.exp(affinity), 0.0, 1.0)
    rows, columns = _assignment(squares)
    distances = np.sqrt(squares[rows, columns])
    differences = first.weights_[rows] - second.weights_[columns]
    return MixtureComparison(tuple(int(column) for column in columns), distances, differences)


def _gaussian_log_affinity(first: MixtureClustering, second: MixtureClustering) -> Floats:
    one, two = (
        c.covariances_ if c.covariances_.ndim == 3 else c.covariances_[:, :, None] * np.eye(c.means_.shape[1])
        for c in (first, second)
    )
    middle = (one[:, None] + two[None]) / 2
    differences = first.means_[:, None] - second.means_[None]
    solved = np.linalg.solve(middle, differences[..., None])[..., 0]
    logs = [np.linalg.slogdet(matrix)[1] for matrix in (one, two, middle)]
    determinants = logs[0][:, None] / 4 + logs[1][None] / 4 - logs[2] / 2
    return np.asarray(determinants - (differences * solved).sum(axis=-1) / 8)


def _assignment(costs: Floats) -> tuple[Positions, Positions]:
    from scipy.optimize import linear_sum_assignment

    rows, columns = linear_sum_assignment(costs)
    return rows, columns
