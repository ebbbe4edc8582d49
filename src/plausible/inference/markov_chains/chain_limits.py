"""Which states of a Markov chain lead to which, and what it comes to: classes, stationary distributions, mixing."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from plausible.base import Flags, Floats, Ints, starts_of
from plausible.errors import NotSupported
from plausible.kernels.elimination import eliminate
from plausible.kernels.heuristics import MIN_NEIGHBORS
from plausible.kernels.markov_chain import censor, passed_back, solve_censored
from plausible.search.run import CONVERGED, Run, Stops, iterate

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


@dataclass(frozen=True, slots=True, eq=False)
class Structure:
    """The communicating classes of a chain."""

    labels: Ints  # the number of each state's class; classes are numbered by their first states
    is_closed: Flags  # for each class, whether no transition leaves it
    periods: Ints  # for each class the greatest common divisor of the lengths of its cycles; zero where there are none

    @property
    def num_classes(self) -> int:
        """How many classes there are."""
        return len(self.is_closed)

    def members(self) -> list[Ints]:
        """The states of each class."""
        order = np.argsort(self.labels, kind="stable")
        return np.split(order, np.flatnonzero(np.diff(self.labels[order])) + 1)


def structure_of(matrix: Any) -> Structure:
    """The structure of a sparse transition matrix, in time linear in its entries up to a logarithm.

    Classes are the strong components of the graph of positive transitions. All periods come from one search: with
    distances d from a state of each class, the period is the greatest common divisor of d(i) + 1 - d(j) over the
    transitions i -> j inside it (Denardo 1977).
    """
    from scipy.sparse import coo_array, csr_array
    from scipy.sparse.csgraph import connected_components, dijkstra

    size = matrix.shape[0]
    entries = coo_array(matrix)
    positive = entries.data > 0
    sources, targets = entries.row[positive], entries.col[positive]
    found = connected_components(csr_array(matrix), directed=True, connection="strong")[1]
    _, roots, labels = np.unique(found, return_index=True, return_inverse=True)
    order = np.argsort(np.argsort(roots))  # classes by their first states
    labels, roots = order[labels].astype(np.int64), np.sort(roots)
    is_closed = np.ones(len(roots), dtype=bool)
    inside = labels[sources] == labels[targets]
    is_closed[labels[sources[~inside]]] = False
    sources, targets = sources[inside], targets[inside]
    rows, columns = np.append(sources, np.full(len(roots), size)), np.append(targets, roots)
    graph = csr_array((np.ones(len(rows)), (rows, columns)), shape=(size + 1, size + 1))
    depths = dijkstra(graph, unweighted=True, indices=size)[:size].astype(np.int64)
    periods = np.zeros(len(roots), dtype=np.int64)
    np.gcd.at(periods, labels[sources], np.abs(depths[sources] + 1 - depths[targets]))
    return Structure(labels, is_closed, periods)


#: Up to so many states dense matrices are quick.
SMALL = 1000
#: So many steps of a chain are tried where elimination is too much.
_POWER_STEPS = 3000
_POWER_TOLERANCE = 1e-14
_MAX_DOUBLINGS = 60


class StationaryVector(NamedTuple):
    """A distribution, whether it is right up to rounding, the steps made, and whether the last one changed nothing."""

    weights: Floats
    is_exact: bool
    num_steps: int
    is_settled: bool


def stationary_vector(matrix: Any) -> StationaryVector:
    """The π with π = π A and sum one of an irreducible sparse chain.

    By elimination, which is accurate for every entry; where that would take too long, by steps of the lazy chain
    (A + I) / 2, which has no period. That these change little says nothing about how far there is to go.
    """
    size = matrix.shape[0]
    found = censored(matrix, np.zeros(size))
    if found is not None:
        return StationaryVector(found.stationary(), True, 0, True)
    transposed = matrix.T.tocsr()
    run = settled(lambda vector: 0.5 * (vector + transposed @ vector), size, _POWER_STEPS)
    return StationaryVector(run.state, False, run.num_steps, run.converged)


def settled(step: Callable[[Floats], Floats], size: int, max_steps: int) -> Run[Floats]:
    """Steps of distributions, from the uniform one on, until one changes next to nothing; `trace` has all changes."""

    def scaled(pair: tuple[Floats, float]) -> tuple[Floats, float]:
        after = step(pair[0])
        after /= after.sum()
        return after, float(np.abs(after - pair[0]).sum())

    def is_at_rest(pair: tuple[Floats, float]) -> str:
        return CONVERGED if pair[1] <= _POWER_TOLERANCE else ""

    start = np.full(size, 1.0 / size), math.inf
    run = iterate(scaled, start, Stops(0.0, max_steps), ends=is_at_rest, objective=lambda pair: pair[1])
    return Run(run.state[0], run.num_steps, run.stopped_by, run.trace, run.seconds)


def power_of(matrix: Any, exponent: int) -> Any:
    """A^n by repeated squaring, the rows of each product being scaled to one: rounding would double each time."""
    from scipy.sparse import csr_array, eye_array

    square: Any = matrix
    result: Any = csr_array(eye_array(matrix.shape[0]))
    if isinstance(matrix, np.ndarray):
        result = np.eye(len(matrix))
    while exponent:
        if exponent & 1:
            result = _scaled(result @ square)
        exponent >>= 1
        if exponent:
            square = _scaled(square @ square)
    return result


def _scaled(matrix: Any) -> Any:
    sums = np.asarray(matrix.sum(axis=1)).ravel()
    if isinstance(matrix, np.ndarray):
        return matrix / sums[:, None]
    matrix.data /= np.repeat(sums, np.diff(matrix.indptr))
    return matrix


def steps_to_mix(table: Floats, limit: Floats, tolerance: float) -> int | None:
    """The least t with max_i ½ Σ_j |A^t[i, j] - π(j)| within the tolerance; `None` if it is beyond 2^60.

    The distance never grows with t, so powers of two first go beyond t, then its digits are found one by one.
    """

    def is_near(power: Floats) -> bool:
        return float(np.abs(power - limit).sum(axis=1).max()) / 2 <= tolerance

    power = np.eye(len(table))
    if is_near(power):
        return 0
    doubled = [table]
    while not is_near(doubled[-1]):
        if len(doubled) > _MAX_DOUBLINGS:
            return None
        doubled.append(_scaled(doubled[-1] @ doubled[-1]))
    steps = 0
    for exponent in reversed(range(len(doubled) - 1)):  # the largest number of steps that is too small
        longer = power @ doubled[exponent]
        if not is_near(longer):
            power, steps = longer, steps + 2**exponent
    return steps + 1
