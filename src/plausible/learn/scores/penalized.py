"""Likelihood, and likelihood less a price for each free parameter: AIC, BIC."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from plausible.errors import InvalidArgument
from plausible.learn.scores.terms import Terms, TermScore, n_log_n

__all__ = ["AIC", "BIC", "LogLikelihood", "PenalizedLikelihood", "half_log"]


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
