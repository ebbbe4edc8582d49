"""Marginal likelihoods under Dirichlet priors: K2, BDeu, BDs, BDe; and the standard Bayesian measure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from plausible.base import Checked, Ints, real
from plausible.data.statistics import Request, Statistics
from plausible.errors import InvalidArgument
from plausible.learn.estimation.priors import BDe, log_rising
from plausible.learn.scores.penalized import half_log
from plausible.learn.scores.score import (
    FamilyScores,
    KeptScores,
    Score,
    Term,
    Terms,
    TermScore,
    n_log_n,
    refuse_continuous,
)
from plausible.models.bayesian_network import BayesianNetwork


@lru_cache(maxsize=4096)
def rising_term(pseudo_count: float) -> Term:
    """The function n -> ln Γ(η + n) - ln Γ(η); the same object for the same η, so that tables of it are shared."""
    return partial(log_rising, pseudo_count)


@dataclass(frozen=True, slots=True)
class DirichletScore(TermScore, Checked, pseudo_count=real(above=0)):
    """ln P(D | G) where each row of each table has a Dirichlet prior with the same pseudo-count η for every state.

    Σ ln Γ(rη) - ln Γ(rη + N_u) + Σ ln Γ(η + N_ux) - ln Γ(η): the product of the predictive probabilities of the rows
    of data, one after the other, in any order.

    1 is K2, ½ Jeffreys' prior. Heckerman, Geiger & Chickering (1995), Learning Bayesian networks: the combination of
    knowledge and statistical data, Machine Learning 20.
    """

    pseudo_count: float = 1.0
    is_score_equivalent: ClassVar[bool] = False

    def terms(self, num_rows: int, num_states: int, total: float) -> Terms:
        return Terms(rising_term(self.pseudo_count), rising_term(self.pseudo_count * num_states))


@dataclass(frozen=True, slots=True)
class K2Score(TermScore):
    """ln P(D | G) where all rows of tables are equally probable beforehand: a pseudo-count of 1 everywhere.

    It is not score equivalent: the total of the pseudo-counts depends on the directions of edges. Cooper & Herskovits
    (1992), A Bayesian method for the induction of probabilistic networks from data, Machine Learning 9.

    >>> scores = K2Score().on_data({"rain": ["no", "yes", "no"], "grass": ["dry", "wet", "wet"]})
    >>> round(float(np.exp(scores.family("grass", ["rain"]))), 6)  # 1/2 1/3 without rain, 1/2 with it
    0.083333
    """

    is_score_equivalent: ClassVar[bool] = False

    def terms(self, num_rows: int, num_states: int, total: float) -> Terms:
        return DirichletScore(1.0).terms(num_rows, num_states, total)


@dataclass(frozen=True, slots=True)
class BDeuScore(TermScore, Checked, equivalent_sample_size=real(above=0)):
    """ln P(D | G) where every table has the same number of pseudo-counts, evenly spread: score equivalent.

    The pseudo-count of a cell is α / (|X| |U|), where α says how many rows of data the prior is worth. Large α brings
    more edges; with sparse counts the score depends much on it. Buntine (1991), Theory refinement on Bayesian networks,
    UAI; Heckerman, Geiger & Chickering (1995).

    >>> scores = BDeuScore(2).on_data({"rain": ["no", "yes", "no"], "grass": ["dry", "wet", "wet"]})
    >>> round(scores.family("grass", ["rain"]), 4)
    -2.7726
    """

    equivalent_sample_size: float = 1.0
    is_score_equivalent: ClassVar[bool] = True

    def terms(self, num_rows: int, num_states: int, total: float) -> Terms:
        in_row = self.equivalent_sample_size / max(num_rows, 1)
        return Terms(rising_term(in_row / num_states), rising_term(in_row))


@dataclass(frozen=True, slots=True)
class BDsScore(TermScore, Checked, equivalent_sample_size=real(above=0)):
    """BDeu with the pseudo-counts spread over those joint states of the parents that the data show.

    Sparse data thus don't weaken the prior, worth α rows. The score is equivalent only where all joint states are seen.
    Scutari (2016), An empirical-Bayes score for discrete Bayesian networks, PGM.
    """

    equivalent_sample_size: float = 1.0
    is_score_equivalent: ClassVar[bool] = False

    def num_rows(self, counts: NDArray[Any]) -> Ints:
        """How many joint states of the parents are in the data."""
        return np.asarray((counts.max(axis=2, initial=0) > 0).sum(axis=1), dtype=np.int64)

    def terms(self, num_rows: int, num_states: int, total: float) -> Terms:
        return BDeuScore(self.equivalent_sample_size).terms(num_rows, num_states, total)


@dataclass(frozen=True, slots=True)
class StandardBayesian(TermScore):
    """The posterior's logarithm at its mode, less BIC's price: Σ (N_ux + η - 1) ln θ_MAP - ½ ln N Dim(G).

    θ_MAP = (N_ux + η - 1) / (N_u + r(η - 1)), with η >= 1 for every cell; with η = 1 it is BIC. Castillo, Gutiérrez &
    Hadi (1997), Expert Systems and Probabilistic Network Models, section 11.2.
    """

    pseudo_count: float = 1.0
    is_score_equivalent: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not 1 <= self.pseudo_count < float("inf"):
            raise InvalidArgument(f"A mode needs pseudo-counts of at least 1, not {self.pseudo_count}.")

    def terms(self, num_rows: int, num_states: int, total: float) -> Terms:
        extra = self.pseudo_count - 1
        price = half_log(total) * num_rows * (num_states - 1)
        return Terms(_shifted_n_log_n(extra), _shifted_n_log_n(extra * num_states), -price)


@lru_cache(maxsize=1024)
def _shifted_n_log_n(extra: float) -> Term:
    return lambda counts: n_log_n(counts + extra)


@dataclass(frozen=True, slots=True, eq=False)
class BDeScore(Score, Checked, equivalent_sample_size=real(above=0)):
    """ln P(D | G) where the pseudo-counts of each family are α P(x, u) of a prior network: score equivalent.

    Data that the prior network rules out have -inf. With a network of independent uniform variables it is BDeu. The
    network has at least the variables of the data, with the same states, and is worth α rows of data (Heckerman, Geiger
    & Chickering 1995).
    """

    network: BayesianNetwork
    equivalent_sample_size: float = 1.0
    is_score_equivalent: ClassVar[bool] = True

    def on(self, statistics: Statistics) -> FamilyScores:
        refuse_continuous(self, statistics)
        for name, variable in statistics.variables.items():
            expected = self.network.variables.get(name)
            if expected is None or list(expected.states) != list(variable.states):
                told = "lacks it" if expected is None else f"has {list(expected.states)}"
                raise InvalidArgument(
                    f"{name!r} has the states {list(variable.states)} in the data, but the prior network {told}. Read "
                    "the data with variables=network.variables."
                )
        return _PriorNetworkScores(statistics, BDe(self.network, self.equivalent_sample_size))


class _PriorNetworkScores(KeptScores):
    def __init__(self, statistics: Statistics, prior: BDe) -> None:
        super().__init__(statistics.variables)
        self._statistics, self._prior = statistics, prior

    def _scored(self, families: Sequence[Request]) -> Iterable[float]:
        for family, (seen,) in zip(families, self._statistics.counts_of(families), strict=True):
            child, *parents = (self._statistics.variables[name] for name in (family.child, *family.parents))
            yield log_marginal_likelihood(seen.counts[0], self._prior.pseudo_counts(child, parents))


def log_marginal_likelihood(counts: NDArray[Any], pseudo_counts: NDArray[Any]) -> float:
    """Σ ln Γ(η_u) - ln Γ(η_u + N_u) + Σ ln Γ(η_ux + N_ux) - ln Γ(η_ux); what has no pseudo-count can't be seen."""
    if np.any((pseudo_counts <= 0) & (counts > 0)):
        return -np.inf
    seen = counts > 0
    cells = log_rising(pseudo_counts[seen], counts[seen])
    in_rows, expected = counts.sum(axis=-1), pseudo_counts.sum(axis=-1)
    seen = in_rows > 0
    return float(cells.sum() - log_rising(expected[seen], in_rows[seen]).sum())
