"""Partial correlations of continuous variables, all from one correlation matrix."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import final

import numpy as np

from plausible.base.arrays import Flags, Floats, Ints
from plausible.base.tolerances import DETERMINED
from plausible.data.statistics import Statistics
from plausible.data.table_statistics import DataLike, read_statistics
from plausible.errors import InvalidArgument
from plausible.learn.independence.count_tests import only_observed
from plausible.learn.independence.independence_test import Answers, IndependenceTest, Question

__all__ = ["FisherZ", "refuse_missing"]


@final
class FisherZ(IndependenceTest):
    """Fisher's test of partial correlations: z = sqrt(N - |Z| - 3) artanh(r) is standard normal if r is zero.

    With normal variables no partial correlation means independence. r of x and y given Z comes from the correlation
    matrix, the part that Z explains taken off; all tests that are asked for together and have as many given are
    computed in one go. Where those given determine x or y no correlation is left, nor a degree of freedom.

    Parameters
    ----------
    data
        What `Table.read` takes, or statistics; its continuous variables are tested.

    References
    ----------
    Fisher (1924), The distribution of the partial correlation coefficient.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> a = rng.normal(size=200); b = a + rng.normal(size=200); c = b + rng.normal(size=200)
    >>> test = FisherZ({"a": a, "b": b, "c": c})
    >>> test.test("a", "c").is_independent(), test.test("a", "c", given="b").is_independent()
    (False, True)
    """

    __slots__ = ("_correlations", "_names", "_places", "_total")

    def __init__(self, data: DataLike) -> None:
        statistics = only_observed(read_statistics(data))
        self._names = tuple(statistics.continuous)
        refuse_missing(statistics, self._names)
        self._places = {name: place for place, name in enumerate(self._names)}
        self._total = statistics.total
        self._correlations = _correlations(statistics.moments(self._names[0]).scatter) if self._names else np.eye(0)

    @property
    def names(self) -> Sequence[str]:
        """The continuous variables of the data."""
        return self._names

    def partial_correlation(self, x: str, y: str, given: Iterable[str] = ()) -> float:
        """The correlation of what a linear regression on those given leaves of x and y."""
        places = self._places
        line = [places[x], places[y], *(places[name] for name in sorted(given))]
        return float(self._partial(np.array([line]))[0][0])

    def ask(self, questions: Sequence[Question]) -> Answers:
        """The outcomes for each question and each of its others, in order."""
        from scipy.special import erfc

        lines = [
            [self._places[name] for name in (x, other, *given)] for x, given, others in questions for other in others
        ]
        sizes = np.array([len(line) for line in lines], dtype=np.int64)
        partial, is_left = np.zeros(len(lines)), np.zeros(len(lines), dtype=np.bool_)
        for size in np.unique(sizes).tolist():
            chosen = np.flatnonzero(sizes == size)
            partial[chosen], is_left[chosen] = self._partial(np.array([lines[place] for place in chosen.tolist()]))
        degrees: Floats = self._total - sizes.astype(np.float64) - 1.0  # N - |Z| - 3
        reliable = degrees > 0
        degrees[reliable & ~is_left] = 0.0
        bounded = np.clip(partial, -1 + 1e-15, 1 - 1e-15)
        statistics = np.where(reliable, np.sqrt(np.maximum(degrees, 0)) * np.abs(np.arctanh(bounded)), np.nan)
        return Answers(statistics, erfc(statistics / np.sqrt(2.0)), degrees, reliable)

    def _partial(self, lines: Ints) -> tuple[Floats, Flags]:
        """r for each line (x, y, given...), and whether those given leave something of x and y."""
        pair, given = lines[:, :2], lines[:, 2:]
        left = self._correlations[pair[:, :, None], pair[:, None, :]]
        if given.shape[1]:
            across = self._correlations[given[:, :, None], pair[:, None, :]]
            among = self._correlations[given[:, :, None], given[:, None, :]]
            left = left - across.swapaxes(1, 2) @ np.linalg.pinv(among, hermitian=True) @ across
        variances = np.maximum(left[:, 0, 0], 0) * np.maximum(left[:, 1, 1], 0)
        is_left = (left[:, [0, 1], [0, 1]] > DETERMINED).all(axis=1)
        partial: Floats = np.where(is_left, left[:, 0, 1], 0.0) / np.sqrt(np.where(is_left, variances, 1.0))
        return partial, np.asarray(is_left)


def _correlations(scatter: Floats) -> Floats:
    """Those of the continuous variables; a constant one has variance zero and is correlated with nothing."""
    deviations = np.sqrt(np.diag(scatter))
    deviations = np.where(deviations > 0, deviations, 1.0)
    correlations: Floats = scatter / deviations / deviations[:, None]
    return correlations


def refuse_missing(statistics: Statistics, names: Iterable[str]) -> None:
    """Tests on numbers need them all."""
    missing = statistics.missing
    for name in names:
        if name in missing:
            raise InvalidArgument(
                f"{name!r} is missing in {missing[name]} of {statistics.num_rows:g} rows; tests need complete columns. "
                "Leave these rows out."
            )
