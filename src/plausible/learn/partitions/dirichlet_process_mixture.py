"""Clustering by Dirichlet processes as an estimator in the form of scikit-learn's."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from plausible.base import Floats, Ints, Seed, generator_of, own_methods
from plausible.data.table import Table, TableLike
from plausible.errors import InvalidArgument, TooLarge, counted
from plausible.inference.sampling.chain_diagnostics import ChainDiagnostics, diagnose
from plausible.learn.classifiers.estimator import Clusterer, read_features
from plausible.learn.partitions.base_measures import BaseMeasure, default_base
from plausible.learn.partitions.partition_chain import (
    GammaPrior,
    PartitionModel,
    PartitionMoves,
    PartitionProblem,
    PartitionState,
    cluster_weights,
    log_joint,
    partition_init,
    partition_step,
    sample_rows,
)
from plausible.learn.partitions.partition_priors import (
    ChineseRestaurant,
    FiniteDirichlet,
    PartitionPrior,
    canonical_labels,
)
from plausible.search.chains import ChainLengths, ChainProgress, ChainRun, HasChains, run_chains
from plausible.variables import Variable

if TYPE_CHECKING:
    import pandas as pd


def variation_of_information(first: ArrayLike, second: ArrayLike) -> float:
    """H(first | second) + H(second | first) of the cluster of a random row: zero for equal partitions (Meilă 2007).

    >>> variation_of_information([0, 0, 1, 1], [5, 5, 2, 2]), round(variation_of_information([0, 0], [0, 1]), 4)
    (0.0, 0.6931)
    """
    return _distance(first, second, "variation of information")


def pair_distance(first: ArrayLike, second: ArrayLike) -> float:
    """The share of ordered pairs of rows that only one of the partitions puts together (Binder 1978).

    >>> round(pair_distance([0, 0, 1], [0, 1, 1]), 4)  # four of nine
    0.4444
    """
    return _distance(first, second, "least squares")


def _distance(first: ArrayLike, second: ArrayLike, loss: str) -> float:
    one, other = canonical_labels(first), canonical_labels(second)
    if one.shape != other.shape:
        raise InvalidArgument(f"The partitions are of {one.size} and {other.size} rows: they must be of the same.")
    apart = overlap_terms(one, other[None], loss)[0]
    mine, yours = overlap_terms(one, one[None], loss)[0], overlap_terms(other, other[None], loss)[0]
    return max(0.0, float(mine + yours - 2 * apart))


def overlap_terms(labels: Ints, others: Ints, loss: str) -> Floats:
    """Σ f(n_ij / M) over the overlaps of clusters with those of each of `others`, (partitions, rows).

    With f(p) = p log p, or p² for "least squares", the distance of partitions a and b is Σ f(a, a) + Σ f(b, b) -
    2 Σ f(a, b). Costs O(partitions rows), plus the products of the numbers of clusters.
    """
    if not labels.size:
        return np.zeros(len(others))
    width, height = int(labels.max()) + 1, int(others.max()) + 1
    places = (np.arange(len(others))[:, None] * height + others) * width + labels
    counts = np.bincount(places.ravel(), minlength=len(others) * height * width).reshape(len(others), -1)
    shares = counts / labels.size
    if loss == "least squares":
        return np.asarray((shares**2).sum(axis=1))
    return np.asarray((shares * np.log(np.where(shares > 0, shares, 1.0))).sum(axis=1))


LOSSES = ("variation of information", "least squares", "map")  # What a point estimate makes small

_CANDIDATES = 300  # So many draws, evenly spaced, are candidates for a point estimate, and judge it

_MAX_PAIRS = 10**8  # A matrix of pairs of rows has at most so many entries


@dataclass(frozen=True, slots=True, eq=False)
class PartitionPosterior(HasChains):
    """Draws of P(partition, α₀ | rows)."""

    problem: PartitionProblem  # Rows and base measure
    model: PartitionModel  # The prior
    labels: Ints  # (chains, draws, rows): partitions, clusters numbered in order of appearance
    concentrations: Floats  # (chains, draws): α₀
    log_posteriors: Floats  # (chains, draws): up to a constant
    acceptance: float  # The share of merges and splits that were taken; NaN where none were proposed
    run: ChainRun[PartitionState]  # How the chains went; its last `states` can be given to `sample_partitions` to go on

    def __repr__(self) -> str:
        chains, draws, rows = self.labels.shape
        return f"<PartitionPosterior: {counted(chains, 'chain')} of {draws} partitions of {counted(rows, 'row')}>"

    @property
    def num_clusters(self) -> Ints:
        """(chains, draws): how many clusters there are."""
        return np.asarray(self.labels.max(axis=2, initial=-1) + 1)

    @property
    def cluster_probabilities(self) -> dict[int, float]:
        """Number of clusters -> its posterior probability."""
        values, counts = np.unique(self.num_clusters, return_counts=True)
        return dict(zip(values.tolist(), (counts / counts.sum()).tolist(), strict=True))

    @property
    def diagnostics(self) -> Mapping[str, ChainDiagnostics]:
        """R-hat and effective sizes of the log posterior, the number of clusters and α₀; needs four draws a chain."""
        draws = {
            "log posterior": self.log_posteriors,
            "number of clusters": self.num_clusters,
            "concentration": self.concentrations,
        }
        return {name: diagnose(values) for name, values in draws.items()}

    @property
    def co_clustering(self) -> Floats:
        """(rows, rows): the probability that two rows are in one cluster; O(draws rows²)."""
        num = self.problem.num_rows
        if num**2 > _MAX_PAIRS:
            raise TooLarge(f"The co-clustering matrix of {num} rows has {num**2} entries: take a subset of the rows.")
        draws, total = self.labels.reshape(-1, num), np.zeros((num, num))
        for labels in draws:
            total += labels[:, None] == labels
        return total / len(draws)

    def point_estimate(self, loss: str = "variation of information") -> Ints:
        """The drawn partition of the least expected loss, or "map" that of the highest log posterior.

        The loss is the variation of information (Wade & Ghahramani 2018), or "least squares": Σ_ij (together - P(i, j
        together))² (Binder 1978; Dahl 2006). At most 300 draws are compared, at O(300² rows).
        """
        if loss not in LOSSES:
            raise InvalidArgument(f"loss is one of {', '.join(map(repr, LOSSES))}, not {loss!r}.")
        draws = self.labels.reshape(-1, self.problem.num_rows)
        if loss == "map":
            return np.asarray(draws[self.log_posteriors.argmax()])
        chosen = draws[np.unique(np.linspace(0, len(draws) - 1, _CANDIDATES).astype(np.int64))]
        candidates, counts = np.unique(chosen, axis=0, return_counts=True)
        own = np.array([overlap_terms(labels, labels[None], loss)[0] for labels in candidates])
        shared = np.array([counts @ overlap_terms(labels, candidates, loss) for labels in candidates]) / counts.sum()
        return np.asarray(candidates[(own - 2 * shared).argmin()])

    def log_density(self, data: TableLike, *, max_draws: int = 100) -> Floats:
        """log of the mean over draws of P(x | rows, partition) for each new row, a new cluster included.

        Missing features are summed out; at most `max_draws` draws, evenly spaced, are averaged.
        """
        table = Table.read(data, self.feature_variables)
        total, chosen = np.full(table.num_rows, -np.inf), self._chosen(max_draws)
        for chain, draw in chosen:
            logs = log_joint(self.problem, self.labels[chain, draw], self._prior(chain, draw), table)
            total = np.logaddexp(total, np.logaddexp.reduce(logs, axis=1))
        return np.asarray(total - np.log(len(chosen)))

    def sample(self, num_rows: int, *, seed: Seed = 0) -> pd.DataFrame:
        """New rows: a drawn partition for each, a cluster of it or a new one, and a row that it predicts."""
        import pandas as pd

        rng = generator_of(seed)
        chosen, drawn = self._chosen(self.num_clusters.size), []
        picks, counts = np.unique(rng.integers(len(chosen), size=num_rows), return_counts=True)
        for pick, count in zip(picks, counts, strict=True):
            chain, draw = chosen[pick]
            labels = self.labels[chain, draw]
            weights = cluster_weights(labels, self._prior(chain, draw))
            clusters, sizes = np.unique(rng.choice(len(weights), count, p=weights), return_counts=True)
            for cluster, size in zip(clusters, sizes, strict=True):
                base = self.problem.base.updated(self.problem.table.take(labels == cluster))
                drawn.append(sample_rows(base, int(size), rng))
        order, shown = rng.permutation(num_rows), {}
        for name, variable in self.feature_variables.items():
            column = np.concatenate([[], *(rows[name] for rows in drawn)])[order]
            shown[name] = column if variable.is_continuous else [variable.states[int(code)] for code in column]
        return pd.DataFrame(shown)

    @property
    def feature_variables(self) -> dict[str, Variable]:
        """Name -> variable of the features of the base measure, in the order of the columns."""
        used = {name for part in self.problem.base.parts for name in part.names}
        return {name: variable for name, variable in self.problem.table.variables.items() if name in used}

    def _prior(self, chain: int, draw: int) -> PartitionPrior:
        return self.model.prior.with_concentration(float(self.concentrations[chain, draw]))

    def _chosen(self, most: int) -> list[tuple[int, int]]:
        """(chain, draw) of evenly spaced draws."""
        num_chains, num_draws = self.concentrations.shape
        picks = np.unique(np.linspace(0, num_chains * num_draws - 1, most).astype(np.int64))
        return [divmod(int(pick), num_draws) for pick in picks]


def sample_partitions(
    data: TableLike | PartitionProblem,
    model: PartitionModel | None = None,
    moves: PartitionMoves | None = None,
    *,
    lengths: ChainLengths | None = None,
    start: str | Sequence[PartitionState] = "prior",
    seed: Seed = 0,
    progress: Callable[[ChainProgress[PartitionState]], object] | None = None,
    time_limit: float | None = None,
) -> PartitionPosterior:
    """Draw partitions of the rows from P(partition | rows), all parameters of clusters summed out.

    Parameters
    ----------
    data
        What `Table.read` takes, with the base measure of `default_base`; or a `PartitionProblem` with one of your own.
    model, moves
        The prior over partitions, by default `ChineseRestaurant(1.0)`; and what a step of a chain does.
    lengths
        How many chains and draws; by default 4 chains of 250 draws, 100 steps before the first.
    start
        "prior", "one", "apart" (see `partition_init`), or the states of a run before, which then goes on with its own
        random numbers. Steps that they have made count as burn-in, so that none is repeated, and one that was stopped
        is finished.

    Examples
    --------
    >>> rows = {"a": [0, 0, 0, 1, 1, 1], "b": [0, 0, 0, 1, 1, 1], "c": [0, 0, 0, 1, 1, 1]}
    >>> found = sample_partitions(rows, lengths=ChainLengths(num_draws=200, num_chains=2, burn_in=20, thin=1))
    >>> found.point_estimate().tolist()
    [0, 0, 0, 1, 1, 1]
    """
    problem = data if isinstance(data, PartitionProblem) else PartitionProblem.of(data)
    law, step = model or PartitionModel(), moves or PartitionMoves()
    options = ChainLengths.read(lengths, ChainLengths(num_draws=250, burn_in=100, thin=1))
    if isinstance(start, str):
        seeds = generator_of(seed).integers(2**63, size=options.num_chains)
        states = tuple(partition_init(problem, law, start=start, seed=int(word)) for word in seeds)
    else:
        states = tuple(start)
    if not states or any(len(state.labels) != problem.num_rows for state in states):
        raise InvalidArgument(f"start= needs states of chains over these {problem.num_rows} rows, one or more.")
    done = min(state.num_steps for state in states)
    move = partial(partition_step, problem, law, step)

    def kept(state: PartitionState) -> tuple[Ints, float, float]:
        return canonical_labels(state.labels), state.concentration, state.log_posterior

    run = run_chains(move, states, options.steps.after(done), progress, time_limit, kept)
    proposed = run.num_steps * step.merge_splits * len(states) * (problem.num_rows > 1)
    accepted = sum(state.num_accepted for state in run.last) - sum(state.num_accepted for state in states)
    share, ended = accepted / proposed if proposed else np.nan, replace(run, kept=(), after_burn_in=())
    labels, concentrations, log_posteriors = map(run.gathered, range(3))
    return PartitionPosterior(problem, law, labels, concentrations, log_posteriors, share, ended)


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

        Columns of fractional numbers are continuous, all others have states; `y` is ignored. Columns that are hardly
        variables (ids, dates, a value of its own for most rows) are left out with a warning, unless
        `Table.read(..., columns=)` or the base measure names them.
        """
        columns = read_features(X)
        table = X if isinstance(X, Table) else Table.read(columns)
        if isinstance(self.base, str):
            table = Table.for_learning(table)
        if not table.num_rows:
            raise InvalidArgument("X has 0 sample(s) while a minimum of 1 is required.")
        base = default_base(table, covariance=self.base) if isinstance(self.base, str) else self.base
        problem, limit = PartitionProblem.of(table, base), self.time_limit
        self.posterior_ = sample_partitions(
            problem, self._model(), self.moves, lengths=self.lengths, seed=self.seed, time_limit=limit
        )
        self.labels_ = self.posterior_.point_estimate(self.loss)
        self.n_clusters_ = int(self.labels_.max()) + 1
        self._note_features(X, columns)
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
        return Table.read(self._features(X, variables, "the data that was fitted"), variables)
