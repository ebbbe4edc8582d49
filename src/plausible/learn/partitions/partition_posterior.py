"""What chains over partitions found: clusters, how sure they are, and what they predict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from plausible.base.arrays import Floats, Ints
from plausible.base.seeds import Seed, generator_of
from plausible.data.table import Table, TableLike
from plausible.errors import InvalidArgument, TooLarge, counted
from plausible.inference.sampling.chain_diagnostics import ChainDiagnostics, diagnose
from plausible.learn.partitions.partition_chain import PartitionModel, PartitionState
from plausible.learn.partitions.partition_distances import overlap_terms
from plausible.learn.partitions.partition_predictive import cluster_weights, log_joint, sample_rows
from plausible.learn.partitions.partition_priors import PartitionPrior
from plausible.learn.partitions.partition_problem import PartitionProblem
from plausible.variables import Variable

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["LOSSES", "PartitionPosterior"]


#: What a point estimate makes small.
LOSSES = ("variation of information", "least squares", "map")

#: So many draws, evenly spaced, are candidates for a point estimate, and judge it.
_CANDIDATES = 300

#: A matrix of pairs of rows has at most so many entries.
_MAX_PAIRS = 10**8


@dataclass(frozen=True, slots=True, eq=False)
class PartitionPosterior:
    """Draws of P(partition, α₀ | rows).

    Attributes
    ----------
    problem, model
        Rows, base measure and prior.
    labels
        (chains, draws, rows): partitions, clusters numbered in order of appearance.
    concentrations, log_posteriors
        (chains, draws): α₀, and the log posterior up to a constant.
    acceptance
        The share of merges and splits that were taken; NaN where none were proposed.
    states
        The last state of each chain: give them to `sample_partitions` to go on.
    stopped
        "" after all draws, or why there are fewer.
    """

    problem: PartitionProblem
    model: PartitionModel
    labels: Ints
    concentrations: Floats
    log_posteriors: Floats
    acceptance: float
    states: tuple[PartitionState, ...]
    stopped: str = ""

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

        Parameters
        ----------
        data
            New rows of the same features; missing ones are summed out.
        max_draws
            So many draws, evenly spaced, are averaged.
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
        order = rng.permutation(num_rows)
        names = self.feature_variables
        columns = {name: np.concatenate([[], *(rows[name] for rows in drawn)])[order] for name in names}
        return pd.DataFrame({name: _shown(names[name], column) for name, column in columns.items()})

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


def _shown(variable: Variable, column: NDArray[Any]) -> Any:
    if variable.is_continuous:
        return column
    return [variable.states[int(code)] for code in column]
