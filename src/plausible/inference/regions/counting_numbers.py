"""Counting numbers of factors and variables: how often the entropy of each counts, and whether that is convex."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from plausible.base import Floats
from plausible.errors import InvalidArgument
from plausible.inference.problem import Problem
from plausible.inference.propagation.belief_graph import hosts_of, tree_weights

if TYPE_CHECKING:
    from scipy.sparse import csr_array


#: Shares of entropy below this are rounding of the solver.
_LEAST = 1e-7


@dataclass(frozen=True, slots=True, eq=False)
class CountingNumbers:
    """The entropy Σ c_f H(b_f) + Σ c_v H(b_v)."""

    #: c_f and c_v; valid where c_v + Σ_{f ∋ v} c_f = 1 for each variable.
    factors: Floats
    variables: Floats
    #: Whether a theorem says that the true entropy is never more, so that log Z is bounded from above.
    is_upper: bool = False

    def check(self, problem: Problem) -> None:
        """Refuse numbers of which some variable does not count once."""
        if self.factors.shape != (len(problem.factors),) or self.variables.shape != (len(problem.variables),):
            raise InvalidArgument(
                f"There are {len(problem.factors)} factors and {len(problem.variables)} variables; the counting "
                f"numbers have shapes {self.factors.shape} and {self.variables.shape}."
            )
        totals = self.variables + _degrees(problem, self.factors)
        wrong = np.flatnonzero(np.abs(totals - 1) > 1e-6)
        if wrong.size:
            name = problem.variables[wrong[0]].name
            raise InvalidArgument(f"{name!r} counts {totals[wrong[0]]:.6g} times, with all its factors; it must once.")


@dataclass(frozen=True, slots=True, eq=False)
class ConvexSplit:
    """Counting numbers as shares of convex terms: c_f = a_f + Σ_v a_vf and c_v = a_v - Σ_f a_vf, none negative."""

    #: a_f, all positive; a_v; and a_vf, in the order of `problem.scopes`.
    factors: Floats
    variables: Floats
    edges: Floats


def covering_counts(problem: Problem) -> CountingNumbers:
    """c_f = 1 / (the most factors that a variable of f has): all c are positive, and the entropy is too high.

    That is Shearer's inequality: H(x) ≤ Σ c_S H(x_S) where the sets S cover each variable once (Chung et al. 1986).
    """
    degrees = _degrees(problem, np.ones(len(problem.factors)))
    most = np.maximum.reduceat(degrees[problem.scopes], problem.scope_starts[:-1]) if problem.scopes.size else degrees
    counts = 1 / most
    return CountingNumbers(counts, np.maximum(1 - _degrees(problem, counts), 0.0), is_upper=True)


def bethe_counts(problem: Problem) -> CountingNumbers:
    """c_f = 1 and c_v = 1 - the factors of v, 0 for factors within others: those of loopy belief propagation.

    The entropy is the true one on trees; on most graphs with cycles it is not convex.
    """
    counts = (hosts_of(problem) == np.arange(len(problem.factors))).astype(np.float64)
    return CountingNumbers(counts, 1 - _degrees(problem, counts))


def tree_counts(problem: Problem, num_trees: int = 30, seed: int = 0) -> CountingNumbers:
    """c_f = the share of random trees that have f (Wainwright, Jaakkola & Willsky 2005): the entropy is too high."""
    counts = tree_weights(problem, num_trees, seed)
    return CountingNumbers(counts, 1 - _degrees(problem, counts), is_upper=True)


def bethe_like_counts(problem: Problem) -> CountingNumbers:
    """Valid and convex numbers near those of Bethe, which are one for factors, by a linear program.

    It raises the least c_f of factors of several variables as far as it can, none above one, while each a_f keeps a
    tenth of what it would have if the factors of a variable shared its entropy: where Bethe's numbers leave them so
    much, as for independent factors, it finds these. A grid of 50 x 50 variables takes a second or so, and the split
    another two; `covering_counts` and `tree_counts` need no such program.
    """
    if not problem.factors:
        return CountingNumbers(np.zeros(0), np.zeros(0))
    from scipy.optimize import linprog
    from scipy.sparse import block_array, csr_array, eye_array, vstack

    num_factors, num_variables = len(problem.factors), len(problem.variables)
    by_factor, by_variable = _incidences(problem)
    around = by_variable @ by_factor.T
    # The columns are a_f, a_v, a_vf and t. Totals are c_v + Σ c_f of each variable, which are one; the rows of `counts`
    # are c_f; limits say t ≤ c_f for factors of several variables, and c_f ≤ 1.
    last = csr_array((num_variables, 1)), csr_array((num_factors, 1))
    totals = block_array([[around, eye_array(num_variables), around @ by_factor - by_variable, last[0]]]).tocsr()
    counts = block_array([[eye_array(num_factors), around.T * 0.0, by_factor, last[1]]], format="csr")
    unit = np.zeros(totals.shape[1])
    unit[-1] = 1.0
    is_joint = np.diff(problem.scope_starts) > 1
    spread = csr_array(np.ones((int(is_joint.sum()), 1))) @ csr_array(unit[None])
    limits: Any = csr_array(vstack([spread - counts[is_joint], counts]))
    sides = np.repeat([0.0, 1.0], [int(is_joint.sum()), num_factors])
    least = np.where(np.arange(unit.size) < num_factors, 0.1 / np.bincount(problem.scopes).max(), 0.0)
    bounds: Any = np.stack([least, np.where(unit > 0, 1.0, np.inf)], axis=1)
    rows: Any = {"A_ub": limits, "b_ub": sides, "A_eq": totals, "b_eq": np.ones(num_variables), "bounds": bounds}
    # The interior point method is several times as fast here as the simplex method.
    found = linprog(-unit, **rows, method="highs-ipm")
    numbers = np.asarray(counts @ np.asarray(found.x))
    return CountingNumbers(numbers, 1 - _degrees(problem, numbers))


#: The convex ones by their names.
CONVEX_COUNTS: Mapping[str, Callable[[Problem], CountingNumbers]] = {
    "bethe-like": bethe_like_counts,
    "covering": covering_counts,
    "trees": tree_counts,
}


def convex_split(problem: Problem, counts: CountingNumbers) -> ConvexSplit:
    """Proof that -Σ c_f H(b_f) - Σ c_v H(b_v) is convex where beliefs agree (Heskes 2006, theorem 3.1).

    It is a sum of -a_f H(b_f), -a_v H(b_v) and -a_vf (H(b_f) - H(b_v)), each convex; a linear program finds the shares,
    the smallest a_f as large as can be. That makes it strictly convex, with one minimum. Numbers without such shares,
    as Bethe's on a graph with cycles, are refused.
    """
    counts.check(problem)
    num_factors, num_variables, num_edges = len(problem.factors), len(problem.variables), problem.scopes.size
    if not num_factors:
        return ConvexSplit(np.zeros(0), np.zeros(0), np.zeros(0))
    from scipy.optimize import linprog
    from scipy.sparse import block_array, csr_array, eye_array

    by_factor, by_variable = _incidences(problem)
    none = by_variable @ by_factor.T * 0.0
    ones, zeros = csr_array(np.ones((num_factors, 1))), csr_array((num_variables, 1))
    of_factors = [eye_array(num_factors), none.T, by_factor, ones]
    matrix = block_array([of_factors, [none, eye_array(num_variables), -by_variable, zeros]])
    costs = np.zeros(matrix.shape[1])
    costs[-1] = -1.0
    # a variable of one state has no entropy to be negative.
    variables = np.where(problem.sizes > 1, counts.variables, np.maximum(counts.variables, 0.0))
    found = linprog(costs, A_eq=matrix, b_eq=np.concatenate([counts.factors, variables]))
    if found.x is None or found.x[-1] < _LEAST:
        raise InvalidArgument(
            "The counting numbers are not convex: the factors have too little entropy to make up for the negative "
            "numbers of variables. Take tree_counts, covering_counts or bethe_like_counts."
        )
    parts = np.split(np.maximum(found.x, 0.0), np.cumsum([num_factors, num_variables, num_edges]))
    return ConvexSplit(parts[0] + found.x[-1], parts[1], parts[2])


def _incidences(problem: Problem) -> tuple[csr_array, csr_array]:
    """Ones where an edge, a column, is one of a factor, and of a variable."""
    from scipy.sparse import csr_array

    num, ones = problem.scopes.size, np.ones(problem.scopes.size)
    owners = np.repeat(np.arange(len(problem.factors)), np.diff(problem.scope_starts))
    return (
        csr_array((ones, (owners, np.arange(num))), shape=(len(problem.factors), num)),
        csr_array((ones, (problem.scopes, np.arange(num))), shape=(len(problem.variables), num)),
    )


def _degrees(problem: Problem, weights: Floats) -> Floats:
    """For each variable the weights of its factors together."""
    spread = np.repeat(weights, np.diff(problem.scope_starts))
    return np.asarray(np.bincount(problem.scopes, spread, len(problem.variables)), dtype=np.float64)
