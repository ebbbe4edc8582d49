"""BDe: the marginal likelihood where a network tells what is expected beforehand."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from plausible.base.arrays import Floats
from plausible.base.options import check_number
from plausible.data.statistics import Counts, Request, Stack, Statistics, counted_each
from plausible.errors import InvalidArgument
from plausible.learn.log_gamma import log_rising
from plausible.learn.scores.score import FamilyScores, Score, refuse_continuous
from plausible.models.bayesian_network import BayesianNetwork
from plausible.variables import Variable

__all__ = ["BDeScore", "ExpectedStatistics", "log_marginal_likelihood"]


@dataclass(frozen=True, slots=True, eq=False)
class ExpectedStatistics(Statistics):
    """What some rows drawn from a network are expected to count.

    Parameters
    ----------
    network
        Where rows would come from.
    total
        How many.

    Examples
    --------
    >>> from plausible.cpds import TableCPD
    >>> coin = BayesianNetwork(TableCPD("side", [0.25, 0.75], states=["heads", "tails"]))
    >>> ExpectedStatistics(coin, 8).counts("side")
    array([2., 6.])
    """

    network: BayesianNetwork
    total: float

    @property
    def variables(self) -> Mapping[str, Variable]:
        """Those of the network."""
        return self.network.variables

    def counts_of(self, requests: Sequence[Request]) -> list[list[Stack]]:
        """N P(parents, child); a query of the network for each family."""
        return counted_each(self._counts, requests)

    def _counts(self, child: str, parents: Sequence[str]) -> Counts:
        joint = self.network.query([*parents, child])
        axes = [joint.names.index(name) for name in (*parents, child)]
        return np.asarray(self.total * joint.values.transpose(axes))


@dataclass(frozen=True, slots=True, eq=False)
class BDeScore(Score):
    """ln P(D | G) where the pseudo-counts of each family are α P(x, u) of a prior network: score equivalent.

    Data that the prior network rules out have -inf. With a network of independent uniform variables it is BDeu.

    Parameters
    ----------
    network
        What is expected beforehand, on at least the variables of the data, with the same states.
    equivalent_sample_size
        α: how many rows of data the network is worth.

    References
    ----------
    Heckerman, Geiger & Chickering (1995), Learning Bayesian networks: the combination of knowledge and statistical
    data, Machine Learning 20.
    """

    network: BayesianNetwork
    equivalent_sample_size: float = 1.0
    is_score_equivalent: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_number("equivalent_sample_size", self.equivalent_sample_size, above=0)

    def on(self, statistics: Statistics) -> FamilyScores:
        """The scores of the families of some data, whose variables have the states they have in the network."""
        refuse_continuous(self, statistics)
        for name, variable in statistics.variables.items():
            expected = self.network.variables.get(name)
            if expected is None or list(expected.states) != list(variable.states):
                told = "lacks it" if expected is None else f"has {list(expected.states)}"
                raise InvalidArgument(
                    f"{name!r} has the states {list(variable.states)} in the data, but the prior network {told}. Read "
                    "the data with variables=network.variables."
                )
        return _PriorNetworkScores(statistics, ExpectedStatistics(self.network, self.equivalent_sample_size))


class _PriorNetworkScores(FamilyScores):
    __slots__ = ("_cache", "_prior", "_statistics")

    def __init__(self, statistics: Statistics, prior: Statistics) -> None:
        self._statistics, self._prior = statistics, prior
        self._cache: dict[tuple[str, frozenset[str]], float] = {}

    @property
    def names(self) -> Sequence[str]:
        return list(self._statistics.variables)

    def family(self, child: str, parents: Iterable[str]) -> float:
        return float(self.families([(child, parents)])[0])

    def families(self, families: Iterable[tuple[str, Iterable[str]]]) -> Floats:
        """Those that are not known yet are counted together."""
        keys = [(child, frozenset(parents)) for child, parents in families]
        new = list(dict.fromkeys(key for key in keys if key not in self._cache))
        asked = [Request(child, tuple(sorted(parents))) for child, parents in new]
        counts, expected = self._statistics.counts_of(asked), self._prior.counts_of(asked)
        for key, (seen,), (prior,) in zip(new, counts, expected, strict=True):
            self._cache[key] = log_marginal_likelihood(seen.counts[0], prior.counts[0])
        return np.array([self._cache[key] for key in keys], dtype=np.float64)


def log_marginal_likelihood(counts: NDArray[Any], pseudo_counts: NDArray[Any]) -> float:
    """ln of the probability of counts whose rows (the last axis) have Dirichlet priors.

    Σ ln Γ(η_u) - ln Γ(η_u + N_u) + Σ ln Γ(η_ux + N_ux) - ln Γ(η_ux), where what has no pseudo-count can't be seen.

    Parameters
    ----------
    counts, pseudo_counts
        N and η, of one shape.

    Examples
    --------
    >>> round(float(np.exp(log_marginal_likelihood(np.array([2, 1]), np.array([1, 1])))), 6)
    0.083333
    """
    if np.any((pseudo_counts <= 0) & (counts > 0)):
        return -np.inf
    seen = counts > 0
    cells = log_rising(pseudo_counts[seen], counts[seen])
    in_rows, expected = counts.sum(axis=-1), pseudo_counts.sum(axis=-1)
    seen = in_rows > 0
    return float(cells.sum() - log_rising(expected[seen], in_rows[seen]).sum())
