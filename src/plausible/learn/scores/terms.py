"""Scores that are sums of terms, one for each count: looked up where counts are whole numbers."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from plausible.base.arrays import Floats, Ints
from plausible.kernels.family_terms import sum_family_terms
from plausible.learn.scores.score import CountScore

#: All tables of terms of one data set have at most so many entries.
_MAX_TABLED = 2**24

Term = Callable[[Any], Floats]


class Terms(NamedTuple):
    """A score is Σ cell(N_ux) - Σ row(N_u) + constant, over the joint states u of the parents and x of the child."""

    cell: Term
    row: Term
    constant: float = 0.0


class TermScore(CountScore):
    """A score that is a sum of functions of single counts.

    Most are. On data whose rows count once, the functions are tabled for 0, ..., N as soon as they were worked out for
    as many counts, so that a search looks its terms up in compiled code.
    """

    __slots__ = ()

    @abstractmethod
    def terms(self, num_rows: int, num_states: int, total: float) -> Terms:
        """The terms of families of one shape."""

    def num_rows(self, counts: NDArray[Any]) -> Ints | int:
        """How many joint states of the parents the terms are for: a number for each family, or one for all."""
        return int(counts.shape[1])

    def of_counts(self, counts: NDArray[Any], total: float) -> Floats:
        """The score of each of several families of one child and one shape."""
        return self._by_sort(counts, lambda chosen, sort: _direct(chosen, self.terms(sort, counts.shape[2], total)))

    def bound(self) -> Callable[[NDArray[Any], float], Floats]:
        """The same with tables of terms."""
        tables, terms = _Tables(), cache(self.terms)

        def of_counts(counts: NDArray[Any], total: float) -> Floats:
            def sums(chosen: NDArray[Any], sort: int) -> Floats:
                return tables.sums(chosen, terms(sort, counts.shape[2], total), int(total))

            return self._by_sort(counts, sums)

        return of_counts

    def _by_sort(self, counts: NDArray[Any], sums: Callable[[NDArray[Any], int], Floats]) -> Floats:
        """Families whose terms are the same together."""
        num_rows = self.num_rows(counts)
        if isinstance(num_rows, int):
            return sums(counts, num_rows)
        scores = np.empty(len(counts))
        for sort in np.unique(num_rows).tolist():
            chosen = num_rows == sort
            scores[chosen] = sums(counts[chosen], sort)
        return scores


def n_log_n(counts: Any) -> Floats:
    """Each number times its logarithm; zero for zero."""
    from scipy.special import xlogy

    return np.asarray(xlogy(counts, counts), dtype=np.float64)


def _direct(counts: NDArray[Any], terms: Terms) -> Floats:
    cells = terms.cell(counts).sum(axis=(1, 2))
    return np.asarray(cells - terms.row(counts.sum(axis=2)).sum(axis=1) + terms.constant, dtype=np.float64)


class _Tables:
    """The terms of 0, ..., N, by the shape of families; those that do not depend on it are kept once."""

    __slots__ = ("_entries", "_found", "_spent")

    def __init__(self) -> None:
        self._entries = 0
        self._found: dict[tuple[Term, int], Floats] = {}
        self._spent: dict[tuple[Term, int], int] = {}

    def sums(self, counts: NDArray[Any], terms: Terms, total: int) -> Floats:
        """The sums of terms of families, by table once that is worth it."""
        if counts.dtype.kind not in "iu" or not self._has(terms, total, counts.size):
            return _direct(counts, terms)

        sums = np.empty(len(counts))
        whole = np.ascontiguousarray(counts, dtype=np.int64).view()
        whole.setflags(write=False)  # whoever counted: one kind of array, one compiled kernel
        sum_family_terms(whole, self._found[terms.cell, total], self._found[terms.row, total], sums)
        return sums + terms.constant

    def _has(self, terms: Terms, total: int, size: int) -> bool:
        """Whether there are tables of these terms: made once as many terms were wanted as a table has."""
        key = (terms.cell, total)
        if key in self._found and (terms.row, total) in self._found:
            return True
        self._spent[key] = self._spent.get(key, 0) + size
        return self._spent[key] >= total and self._make(terms, total)

    def _make(self, terms: Terms, total: int) -> bool:
        """Whether there was room for tables of these terms."""
        for term in (terms.cell, terms.row):
            if (term, total) not in self._found:
                if self._entries + total + 1 > _MAX_TABLED:
                    return False
                self._found[term, total] = term(np.arange(total + 1))
                self._entries += total + 1
        return True
