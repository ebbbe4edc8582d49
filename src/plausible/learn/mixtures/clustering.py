"""The estimator: clusters of rows with features of both kinds, in the form of scikit-learn's."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from plausible.base import Floats, Positions, own_methods
from plausible.data.table import Table
from plausible.errors import ImpossibleEvidence, InvalidArgument, PlausibleWarning, shortened
from plausible.learn.classifiers.estimator import Clusterer, number_variables, read_features, with_unseen_missing
from plausible.learn.mixtures.em import MixtureProblem, MixtureState, best_mixture, given_shares, log_joint, log_totals
from plausible.learn.mixtures.model import MixtureKind, MixtureParameters, MixturePrior, MixtureSpace, mixture_network
from plausible.models import BayesianNetwork
from plausible.search.run import Run, Stops
from plausible.variables import Variable

if TYPE_CHECKING:
    import pandas as pd


def read_clustered(X: Any) -> Table:
    """The table of features; the columns of a matrix of floats are all continuous."""
    if isinstance(X, Table):
        return X
    columns = read_features(X)
    return Table.read(columns, number_variables(X, columns))


class EmptyClusters(PlausibleWarning):
    """Fewer clusters hold rows than were asked for."""


@own_methods
class MixtureClustering(Clusterer):
    """A mixture P(x) = Σ_k π_k P(discrete features | k) N(numbers; μ_k, Σ_k), fitted by EM.

    Discrete features are independent given the cluster (naive Bayes, K&F figure 19.7); numbers are Gaussian there.
    Missing cells are summed out exactly, in fitting and in predicting. Columns of fractional numbers are continuous,
    all others have states, and so have whole numbers, unless cells are missing among more than 20 different ones;
    `Table.read(X, {"age": Variable("age")})` says otherwise. A step costs O(rows K (states + d²)), and O(patterns K d³)
    for matrices.

    Parameters
    ----------
    n_clusters, covariance
        K, and what the numbers of a cluster have: "full", "tied" (one matrix for all clusters), "diagonal",
        "spherical" (one variance in each cluster), or "unit" (variance one).
    assignment
        "soft", or "hard": each row counts wholly in its most probable cluster, of equal ones the first.
    has_equal_weights
        Whether all clusters weigh the same. Unit, hard and equal weights together are k-means.
    prior
        Pseudo-counts: a `MixturePrior`, or a number for each cell of a table, so that nothing is impossible; `None`
        for the greatest likelihood.
    variance_floor
        Least variance, or eigenvalue of a covariance, as a share of the variance of a column (with
        "spherical", of all columns); without it a cluster of one row has infinite likelihood.
    start
        "k-means++", "random", a cluster for each row, or responsibilities: a row for each row, a column for each
        cluster.
    tolerance
        Least gain of the objective, for each case, that is worth another step.
    unseen
        What becomes of a state that was not there when fitting: "error", or "missing" to sum it out.

    Attributes
    ----------
    weights_, means_, covariances_
        π; μ and Σ in the units of the data, of the shapes (K, d) and (K, d, d), or (K, d) for independent numbers.
    tables_
        Name of a discrete feature -> P(state | cluster), of the shape (K, states).
    log_likelihood_, num_parameters_
        Of the rows, missing cells summed out; and how many parameters are free.
    trace_, converged_, n_iter_
        The objective before each step of the best run, whether the last one gained less than the tolerance, and how
        many there were.
    optima_
        Where each run ended, in the units of `trace_`.
    n_features_in_, feature_names_in_
        How many features there are, and their names where these were given.

    Examples
    --------
    >>> X = {"sky": ["clear", "grey", None, "clear", "grey"] * 4, "wind": [1.0, 8.5, 9.0, 1.5, None] * 4}
    >>> found = MixtureClustering(2, covariance="diagonal").fit(X)
    >>> (found.labels_[:5] == found.labels_[0]).tolist(), found.converged_
    ([True, False, False, True, False], True)
    """

    _estimator_type: ClassVar[str] = "clusterer"

    labels_: Positions  # The most probable cluster of each row
    run_: Run[MixtureState]  # The best run: `run_.stopped_by`, `run_.seconds`
    space_: MixtureSpace
    kind_: MixtureKind
    parameters_: MixtureParameters
    n_features_in_: int

    def __init__(
        self,
        n_clusters: int = 2,
        *,
        covariance: str = "full",
        assignment: str = "soft",
        has_equal_weights: bool = False,
        prior: MixturePrior | float | None = 0.1,
        variance_floor: float = 1e-6,
        start: Any = "k-means++",
        restarts: int = 2,
        tolerance: float = 1e-5,
        max_steps: int = 500,
        unseen: str = "error",
        seed: int = 0,
        time_limit: float | None = None,
        progress: Callable[[MixtureState], object] | None = None,
    ) -> None:
        self.n_clusters, self.covariance, self.assignment = n_clusters, covariance, assignment
        self.has_equal_weights, self.prior, self.variance_floor = has_equal_weights, prior, variance_floor
        self.start, self.restarts, self.seed = start, restarts, seed
        self.tolerance, self.max_steps, self.unseen = tolerance, max_steps, unseen
        self.time_limit, self.progress = time_limit, progress

    @classmethod
    def k_means(cls, n_clusters: int = 2, **options: Any) -> Self:
        """k-means: hard EM with unit spherical covariances and equal weights (K&F 19.2.2.4).

        An empty cluster moves to the row that is farthest from its mean.

        >>> np.sort(MixtureClustering.k_means(2).fit([[0.0], [0.5], [9.0]]).means_.ravel())
        array([0.25, 9.  ])
        """
        return cls(n_clusters, covariance="unit", assignment="hard", has_equal_weights=True, **options)

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find clusters of rows: a table, a frame, name -> column, a matrix, or a list of rows; cells may be missing.

        `y` is not looked at; `sample_weight` says how often each row counts. Columns that are hardly variables (ids,
        dates, a value of its own for most rows) are left out with a warning, unless `Table.read(..., columns=)` names
        them; `predict` passes over them.
        """
        if not isinstance(self.n_clusters, (int, np.integer)) or self.n_clusters < 1:
            raise InvalidArgument(f"n_clusters={shortened(self.n_clusters)} must be a whole number above zero.")
        if self.assignment not in ("soft", "hard"):
            raise InvalidArgument(f"assignment= is 'soft' or 'hard', not {self.assignment!r}.")
        if self.unseen not in ("error", "missing"):
            raise InvalidArgument(f"unseen= is 'error' or 'missing', not {self.unseen!r}.")
        prior = self.prior if isinstance(self.prior, MixturePrior) else MixturePrior(cells=float(self.prior or 0))
        is_hard = self.assignment == "hard"
        kind = MixtureKind(self.covariance, is_hard, self.has_equal_weights, self.variance_floor, prior)
        table = self._training_table(X, sample_weight)
        self._variables_ = dict(table.variables)
        counted = np.flatnonzero(table.weights) if table.weights is not None else np.arange(table.num_rows)
        self.space_ = MixtureSpace.of(table.take(counted), kind.covariance)
        rows = self.space_.encode(table.take(counted), is_grouped=isinstance(self.start, str))
        shares = self.start
        if not isinstance(shares, str):
            given = given_shares(shares, table.num_rows, self.n_clusters)[:, counted]
            shares = np.empty_like(given)
            shares[:, rows.places] = given  # for the rows as they are encoded
        stops = Stops(self.tolerance, self.max_steps, self.time_limit, self.progress)
        problem = MixtureProblem(rows, self.space_, kind)
        runs = best_mixture(problem, self.n_clusters, shares, self.restarts, self.seed, stops)
        self.optima_ = tuple(run.state.value for run in sorted(runs, key=lambda run: run.state.restart))
        self.run_, self.kind_, self.parameters_ = runs[0], kind, runs[0].state.parameters
        self.trace_, self.converged_, self.n_iter_ = self.run_.trace[1:], self.run_.converged, self.run_.num_steps
        self.num_parameters_ = kind.num_parameters(self.n_clusters, self.space_.num_states, len(self.space_.continuous))
        space, found = self.space_, self.parameters_
        self.weights_, self.means_ = found.weights, space.location + space.scale * found.means
        scales = np.outer(space.scale, space.scale) if self.kind_.has_matrices else space.scale**2
        self.covariances_ = found.covariances * scales
        parts = np.split(found.tables, space.offsets[1:-1], axis=1) if space.discrete else []
        self.tables_ = {variable.name: part for variable, part in zip(space.discrete, parts, strict=True)}
        joint = self._log_joint(table)
        self.labels_ = joint.argmax(axis=1)
        self.log_likelihood_ = float(table.row_weights[counted] @ log_totals(joint[counted].T))
        self._tell_empty(table.row_weights)
        return self

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> Positions:
        """Find clusters, and the cluster of each row."""
        return self.fit(X, y, sample_weight).labels_

    def predict_proba(self, X: Any) -> Floats:
        """P(cluster | row), a column for each cluster; missing cells, and columns of a frame, are summed out."""
        return self._posterior(self._log_joint(self._evidence(X)))

    def _posterior(self, joint: Floats) -> Floats:
        totals = log_totals(joint.T)
        if not np.isfinite(totals).all():
            row = int(np.argmin(np.isfinite(totals)))
            raise ImpossibleEvidence(
                f"Row {row} can't happen in any cluster: what it holds was never seen. Give a prior, such as "
                "MixturePrior(cells=0.1), or mend the row."
            )
        return np.asarray(np.exp(joint - totals[:, None]))

    def predict(self, X: Any) -> Positions:
        """The most probable cluster of each row; of equally probable ones the first."""
        return np.asarray(self._log_joint(self._evidence(X)).argmax(axis=1))

    def score_samples(self, X: Any) -> Floats:
        """log P(row): the density of numbers and the probability of states, missing cells summed out."""
        return log_totals(self._log_joint(self._evidence(X)).T)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The mean of log P(row)."""
        return float(np.average(self.score_samples(X), weights=sample_weight))

    def sample(self, n_samples: int = 1, seed: int = 0) -> pd.DataFrame:
        """Rows of the mixture, with their clusters."""
        return self.to_network().sample(n_samples, seed=seed)

    def to_network(self) -> BayesianNetwork:
        """The mixture as a Bayesian network: "cluster", with underscores where a feature has that name, above all.

        Numbers that depend on each other within a cluster form a chain, each with those before it as parents.
        """
        self._check_fitted()
        return mixture_network(self.space_, self.kind_, self.parameters_)

    def _training_table(self, X: Any, weights: Any) -> Table:
        given = read_clustered(X)
        table = Table.for_learning(given)
        if weights is not None:
            table = table.weighted(weights)
        if not table.num_rows:
            raise InvalidArgument("X has 0 sample(s); at least one row is needed to learn from.")
        if not table.variables:
            raise InvalidArgument("X has 0 feature(s), but clusters need at least one.")
        if table.weights is not None and not table.weights.any():
            raise InvalidArgument("All sample weights are zero; some must be positive.")
        if self.n_clusters > table.num_rows:
            raise InvalidArgument(
                f"n_clusters={self.n_clusters} is more than n_samples={table.num_rows}: each cluster needs a row."
            )
        self._note_features(X, given.variables)
        return table

    def _tell_empty(self, weights: Floats) -> None:
        used = np.bincount(self.labels_, weights=weights, minlength=self.n_clusters) > 0
        if self.kind_.is_hard and not used.all():
            warnings.warn(
                f"{int((~used).sum())} of {self.n_clusters} clusters are empty, such as {int(np.argmin(used))}: there "
                "are too few different rows, or fewer clusters are enough.",
                EmptyClusters,
                stacklevel=3,
            )

    def _evidence(self, X: Any) -> Table:
        """Rows of features, with a column for each; what a frame leaves out is missing."""
        self._check_fitted()
        variables: dict[str, Variable] = self._variables_
        columns = self._features(X, variables, "this mixture")
        if self.unseen == "missing":
            columns = with_unseen_missing(columns, variables)
        num_rows = len(next(iter(columns.values()), ()))
        absent = {name: [None] * num_rows for name in variables if name not in columns}
        numbers = {name: np.full(num_rows, np.nan) for name in absent if variables[name].is_continuous}
        columns = {**columns, **absent, **numbers}
        return Table.read({name: columns[name] for name in variables}, variables)

    def _log_joint(self, table: Table) -> Floats:
        """log P(cluster, row) in the units of the data: (rows, K)."""
        rows = self.space_.encode(table)
        joint = log_joint(rows, self.parameters_, self.kind_) - rows.known @ np.log(self.space_.scale)
        return np.asarray(joint[:, rows.places].T)
