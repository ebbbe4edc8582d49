"""Likelihood, likelihood less a price for each free parameter (AIC, BIC, description length), and information."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from plausible.data.statistics import Statistics
from plausible.data.table_statistics import DataLike, read_statistics
from plausible.errors import InvalidArgument
from plausible.learn.scores.score import FamilyScores, Score
from plausible.learn.scores.structure_prior import EdgePenalty, WithPrior
from plausible.learn.scores.terms import Terms, TermScore, n_log_n


def half_log(total: float) -> float:
    """½ ln N, the price of a parameter in BIC; 0 for less than one row."""
    return 0.5 * math.log(max(total, 1.0))


@dataclass(frozen=True, slots=True)
class LogLikelihood(TermScore):
    """ln P(D | θ̂, G) = Σ N_ux ln(N_ux / N_u) = -N Σ H(X | U): how well the best parameters fit.

    It never falls when an edge is added, and is largest for every complete graph.

    Examples
    --------
    >>> scores = LogLikelihood().on_data({"rain": ["no", "yes", "no"], "grass": ["dry", "wet", "wet"]})
    >>> round(scores.family("grass", ["rain"]), 4), round(scores.family("grass", []), 4)
    (-1.3863, -1.9095)
    """

    is_score_equivalent: ClassVar[bool] = True

    def terms(self, num_rows: int, num_states: int, total: float) -> Terms:
        """Σ N_ux ln N_ux - Σ N_u ln N_u."""
        return Terms(n_log_n, n_log_n)


@dataclass(frozen=True, slots=True)
class PenalizedLikelihood(TermScore):
    """ln P(D | θ̂, G) - ψ(N) Dim(G), where Dim(G) = Σ (|X| - 1) |U| is the number of free parameters.

    Parameters
    ----------
    penalty
        ψ: the price of a parameter, a number or a function of N.

    References
    ----------
    Darwiche (2009), Modeling and Reasoning with Bayesian Networks, section 17.4.

    Examples
    --------
    >>> data = {"rain": ["no", "yes", "no"], "grass": ["dry", "wet", "wet"]}
    >>> hannan_quinn = PenalizedLikelihood(lambda total: math.log(math.log(total)))
    >>> round(hannan_quinn.on_data(data).family("grass", ["rain"]), 4)
    -1.5744
    """

    penalty: float | Callable[[float], float]
    is_score_equivalent: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not callable(self.penalty) and not self.penalty >= 0:
            raise InvalidArgument(f"The price of a parameter is not negative, but penalty is {self.penalty}.")

    def terms(self, num_rows: int, num_states: int, total: float) -> Terms:
        """Those of the likelihood, less the price of all parameters."""
        price = self.penalty(total) if callable(self.penalty) else self.penalty
        return Terms(n_log_n, n_log_n, -price * num_rows * (num_states - 1))


@dataclass(frozen=True, slots=True)
class AIC(TermScore):
    """ln P(D | θ̂, G) - Dim(G), which aims at prediction and keeps more edges than BIC.

    References
    ----------
    Akaike (1974), A new look at the statistical model identification, IEEE Transactions on Automatic Control 19.
    """

    is_score_equivalent: ClassVar[bool] = True

    def terms(self, num_rows: int, num_states: int, total: float) -> Terms:
        """The price of a parameter is 1."""
        return PenalizedLikelihood(1.0).terms(num_rows, num_states, total)


@dataclass(frozen=True, slots=True)
class BIC(TermScore):
    """ln P(D | θ̂, G) - ½ ln N Dim(G), the limit of the Bayesian scores; also called MDL.

    Software that minimises writes -2 BIC, and the MDL literature counts in bits: divide by ln 2.

    References
    ----------
    Schwarz (1978), Estimating the dimension of a model, Annals of Statistics 6.

    Examples
    --------
    >>> from plausible.graphs import DAG
    >>> scores = BIC().on_data({"rain": ["no", "yes", "no"], "grass": ["dry", "wet", "wet"]})
    >>> round(scores.graph(DAG("rain -> grass")), 4)
    -4.9438
    """

    is_score_equivalent: ClassVar[bool] = True

    def terms(self, num_rows: int, num_states: int, total: float) -> Terms:
        """The price of a parameter is ½ ln N."""
        return PenalizedLikelihood(half_log).terms(num_rows, num_states, total)


@dataclass(frozen=True, slots=True)
class DescriptionLength(Score):
    """The negative of Lam & Bacchus' description length, in nats as all scores: bits are -score / ln 2.

    The network takes Σ k log₂ n + d (|X| - 1) |U| bits, where k is a variable's number of parents and n the number of
    variables; the data take -N Σ P log₂ Q, with Q the best fit.

    Parameters
    ----------
    bits_per_number
        d; by default ½ log₂ N, which is as exact as N rows can tell.

    References
    ----------
    Lam & Bacchus (1994), Learning Bayesian belief networks: an approach based on the MDL principle, Computational
    Intelligence 10.

    Examples
    --------
    >>> from plausible.graphs import DAG
    >>> scores = DescriptionLength(8).on_data({"rain": ["no", "yes"], "grass": ["dry", "wet"]})
    >>> -scores.graph(DAG("rain -> grass")) / math.log(2)  # an edge, three numbers, two rows
    27.0
    """

    bits_per_number: float | None = None
    is_score_equivalent: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.bits_per_number is not None and not self.bits_per_number >= 0:
            raise InvalidArgument(f"A number takes no negative number of bits: {self.bits_per_number}.")

    def on(self, statistics: Statistics) -> FamilyScores:
        """The scores of the families of some data."""
        penalty = half_log if self.bits_per_number is None else self.bits_per_number * math.log(2)
        names: Sequence[str] = list(statistics.variables)
        return WithPrior(PenalizedLikelihood(penalty), EdgePenalty(1 / max(len(names), 1))).on(statistics)


def conditional_entropy(data: DataLike, variable: str, given: Sequence[str] = ()) -> float:
    """H(X | U) = -Σ P(x, u) ln P(x | u) of the empirical distribution; 0 without rows.

    Parameters
    ----------
    data
        Complete rows of discrete variables, or statistics of them.
    variable
        X.
    given
        U; more of them never raise it.

    Examples
    --------
    >>> data = {"rain": ["no", "yes", "no"], "grass": ["dry", "wet", "wet"]}
    >>> round(conditional_entropy(data, "grass", ["rain"]), 4)
    0.4621
    """
    statistics = read_statistics(data)
    counts = statistics.counts(variable, given)
    total = float(counts.sum())
    if total <= 0:
        return 0.0
    fit = LogLikelihood().of_counts(counts.reshape(1, -1, counts.shape[-1]), total)
    return max(0.0, -float(fit[0]) / total)


def mutual_information(
    statistics: Statistics, variable: str, others: Sequence[str], given: Sequence[str] = ()
) -> float:
    """I(X; Y | Z) = H(X | Z) - H(X | Y, Z) of the empirical distribution: what the others tell about a variable.

    With a variable's parents as the others it is the family's weight of Chow & Liu and of Lam & Bacchus: the sum over
    all families is how much less the likelihood's logarithm would be without edges, divided by N.

    Parameters
    ----------
    statistics
        The counts of the data.
    variable
        X.
    others
        Y, taken together.
    given
        Z.

    Examples
    --------
    >>> from plausible.data.table_statistics import TableStatistics
    >>> statistics = TableStatistics({"rain": ["no", "yes", "no"], "grass": ["dry", "wet", "wet"]})
    >>> round(mutual_information(statistics, "grass", ["rain"]), 4)
    0.1744
    """
    known = conditional_entropy(statistics, variable, given)
    return max(0.0, known - conditional_entropy(statistics, variable, [*others, *given]))
