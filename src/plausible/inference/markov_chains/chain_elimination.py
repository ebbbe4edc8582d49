"""The equations of Markov chains, solved by eliminating states: all digits are right, however slow the chain."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from plausible.base.arrays import Floats, Ints, starts_of
from plausible.errors import NotSupported
from plausible.kernels.censoring import censor, passed_back, solve_censored
from plausible.kernels.elimination import eliminate
from plausible.kernels.heuristics import MIN_NEIGHBORS

#: States with more neighbours than this at a time are too many: nearly as many as powers of two that floats have.
_MAX_WIDTH = 1015
#: ... and so are more products than this in all: several seconds.
_MAX_PRODUCTS = 3_000_000_000


class Censored(NamedTuple):
    """A chain from which all states were eliminated, one after the other."""

    order: Ints  # the states in the order in which they went
    upper_starts: Ints  # for each of them, by its place in the order, the later places that it leads to, and the rates
    upper: Ints
    onward: Floats
    #: For each of them the earlier places that lead to it or that it leads to, and its rate to each over the total rate
    #: out of that one.
    lower_starts: Ints
    lower: Ints
    shares: Floats
    totals: Floats  # the rate out of each when it went

    def stationary(self) -> Floats:
        """The π with π = π A and sum one of an irreducible chain without leaks."""
        weights, result = np.empty(self.order.size), np.empty(self.order.size)
        # The last state has no way out, nor has one whose way out underflows: those after it have next to no weight.
        passed_back(self.lower_starts, self.lower, self.shares, int(np.argmin(self.totals)), weights)
        result[self.order] = weights / weights.sum()
        return result

    def expected(self, rewards: Floats) -> Floats:
        """N · rewards, N = (I - Q)^-1: for each state what is expected in all; a column for each kind of reward."""
        if not self.totals.all():
            raise NotSupported("Some states are left so rarely that the probability is not a positive float.")
        sides = np.ascontiguousarray(rewards[self.order], dtype=np.float64)
        solve_censored(*self[1:], sides)
        result = np.empty_like(sides)
        result[self.order] = sides
        return result


def censored(matrix: Any, leaks: Floats) -> Censored | None:
    """Eliminate all states of a sparse matrix Q whose rows, with the leaks, sum to one; `None` if that is too much.

    No rate of a state to itself is looked at and nothing is subtracted, so that every number has a small relative error
    (Grassmann, Taksar & Heyman 1985; O'Cinneide 1993), however near to one the diagonal is. States with the fewest
    neighbours go first. The cost is the sum of the squares of their numbers of neighbours when they go.
    """
    from scipy.sparse import csr_array

    pattern = eliminated_pattern(matrix)
    if pattern is None:
        return None
    (order, later), entries = pattern, matrix.tocoo()
    places, is_move = np.argsort(order), entries.row != entries.col
    pairs = places[entries.row[is_move]], places[entries.col[is_move]]
    moves = csr_array((entries.data[is_move], pairs), shape=matrix.shape)
    upper, lower = ((part.indptr.astype(np.int64), part.indices.astype(np.int64)) for part in (later, later.T.tocsr()))
    onward, shares, totals = np.empty(later.nnz), np.empty(later.nnz), np.empty(order.size)
    rates = moves.indptr.astype(np.int64), moves.indices.astype(np.int64), moves.data
    censor(*rates, leaks[order].astype(np.float64), *upper, *lower, onward, shares, totals)
    return Censored(order, *upper, onward, *lower, shares, totals)


def eliminated_pattern(matrix: Any) -> tuple[Ints, Any] | None:
    """The order in which states go, and ones where a place in it has a later neighbour; `None` if it is too much."""
    from scipy.sparse import csr_array

    size = matrix.shape[0]
    entries = matrix.tocoo()
    is_move = entries.row != entries.col
    pairs = np.stack([entries.row[is_move], entries.col[is_move]], axis=1).astype(np.int64).ravel()
    # With two states each a clique of w variables costs 2^w: a limit on the cost is one on the width.
    order, cliques, starts, cost, _ = eliminate(
        pairs,
        np.arange(0, pairs.size + 1, 2, dtype=np.int64),
        np.full(size, 2, dtype=np.int64),
        MIN_NEIGHBORS,
        np.empty(0, dtype=np.int64),
        0,
        2.0 ** (_MAX_WIDTH + 4),
    )
    widths = np.diff(starts) - 1
    if np.isinf(cost) or float((widths.astype(np.float64) ** 2).sum()) > _MAX_PRODUCTS:
        return None
    later = np.delete(cliques, starts[:-1])
    ones = np.ones(later.size, dtype=np.int8)
    return order, csr_array((ones, np.argsort(order)[later], starts_of(widths)), shape=(size, size))
