"""Clustering by Dirichlet processes as an estimator in the form of scikit-learn's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from plausible.base.arrays import Floats, Ints
from plausible.base.method_names import own_methods
from plausible.base.seeds import Seed
from plausible.data.columns import refuse_others
from plausible.data.table import Table
from plausible.errors import InvalidArgument
from plausible.learn.classifiers.estimator import Clusterer, read_features
from plausible.learn.partitions.base_measures import BaseMeasure, default_base
from plausible.learn.partitions.partition_chain import (
    GammaPrior,
    PartitionModel,
    PartitionMoves,
    PartitionProblem,
    log_joint,
)
from plausible.learn.partitions.partition_posterior import PartitionPosterior, sample_partitions
from plausible.learn.partitions.partition_priors import ChineseRestaurant, FiniteDirichlet
from plausible.search.chains import ChainLengths

if TYPE_CHECKING:
    import pandas as pd


@own_methods
class DirichletProcessMixture(Clusterer):
    """Clusters whose number the data decides: a Bayesian mixture over all partitions of the rows.

    Features are states, numbers, or both; missing cells are summed out. Draws come from collapsed Gibbs sweeps with
    merges and splits. Koller & Friedman 2009, §19.5.2.2.

    Parameters
    ----------
    concentration
        α₀, or the `GammaPrior` that it is drawn from; `None` for `GammaPrior(1, 1)`, or one if `num_clusters` is given.
    num_clusters
        K for a finite mixture of Dirichlet(α₀/K) weights, of which some may stay empty; `None` for no limit.
    base
        The distribution of the parameters of a cluster: "diagonal" or "full" for that of `default_base` with this
        covariance, or a `BaseMeasure` that names the columns.
    loss
        What the point partition makes small: "variation of information", "least squares" or "map".
    moves, lengths
        What a step of a chain does, and how many chains and draws there are.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(-4, 1, (30, 2)), rng.normal(4, 1, (30, 2))])
    >>> mixture = DirichletProcessMixture(lengths=ChainLengths(50, 2, 30, 1)).fit(X)
    >>> mixture.n_clusters_, mixture.predict([[-4.0, -4.0], [4.0, np.nan]]).tolist()
    (2, [0, 1])
    """

    _estimator_type: ClassVar[str] = "clusterer"

    posterior_: PartitionPosterior  # All draws: the number of clusters, co-clustering, diagnostics
    labels_: Ints  # The cluster of each row in the point partition
    n_clusters_: int  # How many clusters that has
    n_features_in_: int  # How many features there are, with `feature_names_in_` where names were given

    def __init__(
        self,
        *,
        concentration: float | GammaPrior | None = None,
        num_clusters: int | None = None,
        base: str | BaseMeasure = "diagonal",
        loss: str = "variation of information",
        moves: PartitionMoves | None = None,
        lengths: ChainLengths | None = None,
        time_limit: float | None = None,
        seed: Seed = 0,
    ) -> None:
        self.concentration, self.num_clusters, self.base, self.loss = concentration, num_clusters, base, loss
        self.moves, self.lengths, self.time_limit, self.seed = moves, lengths, time_limit, seed

    def fit(self, X: Any, y: Any = None) -> Self:
        """Draw partitions of the rows of a frame, name -> column, a matrix, or a list of rows.

        Columns of fractional numbers are continuous, all others have states; `y` is ignored.
        """
        columns = read_features(X)
        table = Table.read(columns)
        if not table.num_rows:
            raise InvalidArgument("X has 0 sample(s) while a minimum of 1 is required.")
        base = default_base(table, covariance=self.base) if isinstance(self.base, str) else self.base
        problem, limit = PartitionProblem.of(table, base), self.time_limit
        self.posterior_ = sample_partitions(
            problem, self._model(), self.moves, lengths=self.lengths, seed=self.seed, time_limit=limit
        )
        self.labels_ = self.posterior_.point_estimate(self.loss)
        self.n_clusters_, self.n_features_in_ = int(self.labels_.max()) + 1, len(columns)
        self._note_names(X, columns)
        return self

    def fit_predict(self, X: Any, y: Any = None) -> Ints:
        """The cluster of each row in the point partition."""
        return self.fit(X).labels_

    def predict_proba(self, X: Any) -> Floats:
        """P(cluster | row) given the point partition and that the row opens none: (rows, clusters)."""
        self._check_fitted()
        prior = self.posterior_.model.prior.with_concentration(float(self.posterior_.concentrations.mean()))
        logs = log_joint(self.posterior_.problem, self.labels_, prior, self._table(X))[:, :-1]
        weights = np.exp(logs - logs.max(axis=1, keepdims=True))
        return np.asarray(weights / weights.sum(axis=1, keepdims=True))

    def predict(self, X: Any) -> Ints:
        """The most probable cluster of each row, among those of the point partition."""
        return np.asarray(self.predict_proba(X).argmax(axis=1))

    def score_samples(self, X: Any) -> Floats:
        """The log density of each row, averaged over drawn partitions, new clusters included."""
        self._check_fitted()
        return self.posterior_.log_density(self._table(X))

    def score(self, X: Any, y: Any = None) -> float:
        """The mean of `score_samples`."""
        return float(self.score_samples(X).mean())

    def sample(self, num_rows: int = 1, *, seed: Seed = 0) -> pd.DataFrame:
        """New rows from the posterior predictive distribution."""
        self._check_fitted()
        return self.posterior_.sample(num_rows, seed=seed)

    def _model(self) -> PartitionModel:
        given = self.concentration
        if given is None:
            given = GammaPrior() if self.num_clusters is None else 1.0
        if not isinstance(given, GammaPrior):
            num = self.num_clusters
            return PartitionModel(ChineseRestaurant(given) if num is None else FiniteDirichlet(given, num))
        if self.num_clusters is not None:
            raise InvalidArgument("With num_clusters= the concentration is a number: concentration=1.0, for example.")
        return PartitionModel(ChineseRestaurant(given.shape / given.rate), given)

    def _table(self, X: Any) -> Table:
        variables = self.posterior_.problem.table.variables
        columns = read_features(X, list(variables))
        self._check_width(len(columns))
        refuse_others(columns, variables, "the data that was fitted")
        return Table.read(columns, variables)
