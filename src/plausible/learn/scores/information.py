"""Entropies and mutual information of data, in nats."""

from __future__ import annotations

from collections.abc import Sequence

from plausible.data.statistics import Statistics
from plausible.data.table_statistics import DataLike, read_statistics
from plausible.learn.scores.penalized import LogLikelihood

__all__ = ["conditional_entropy", "mutual_information"]


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
