"""Counting numbers of factors and variables: how often the entropy of each counts, and whether that is convex."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from plausible.base.arrays import Floats
from plausible.errors import InvalidArgument
from plausible.inference.problem import Problem
from plausible.inference.propagation.belief_graph import tree_weights

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


# --- makers ---


def covering_counts(problem: Problem) -> CountingNumbers:
    """c_f = 1 / (the most factors that a variable of f has): all c are positive, and the entropy is too high.

    That is Shearer's inequality: H(x) ≤ Σ c_S H(x_S) where the sets S cover each variable once (Chung et al. 1986).
    """
    degrees = _degrees(problem, np.ones(len(problem.factors)))
    most = np.maximum.reduceat(degrees[problem.scopes], problem.scope_starts[:-1]) if problem.scopes.size else degrees
    counts = 1 / most
    return CountingNumbers(counts, np.maximum(1 - _degrees(problem, counts), 0.0), is_upper=True)


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

    program = _bethe_program(problem)
    num_factors, num_variables = len(problem.factors), len(problem.variables)
    least, most = np.zeros(program.totals.shape[1]), np.full(program.totals.shape[1], np.inf)
    least[:num_factors] = 0.1 / np.bincount(problem.scopes).max()
    most[-1] = 1.0
    bounds: Any = np.stack([least, most], axis=1)
    costs = np.zeros(most.size)
    costs[-1] = -1.0
    # The interior point method is several times as fast here as the simplex method.
    found = linprog(
        costs,
        A_ub=program.limits,
        b_ub=program.sides,
        A_eq=program.totals,
        b_eq=np.ones(num_variables),
        bounds=bounds,
        method="highs-ipm",
    )
    counts = np.asarray(program.counts @ np.asarray(found.x))
    return CountingNumbers(counts, 1 - _degrees(problem, counts))


class _BetheProgram(NamedTuple):
    """Rows of a linear program, its columns a_f, a_v, a_vf and t: `totals` are one, `limits` at most `sides`.

    Totals are c_v + Σ c_f of each variable; limits say t ≤ c_f for factors of several variables, and c_f ≤ 1. The rows
    of `counts` are c_f. Matrices are sparse, which the declared types of `linprog` do not foresee.
    """

    totals: Any
    limits: Any
    sides: Floats
    counts: csr_array


def _bethe_program(problem: Problem) -> _BetheProgram:
    from scipy.sparse import block_array, csr_array, eye_array, vstack

    num_factors, num_variables = len(problem.factors), len(problem.variables)
    by_factor, by_variable = _incidences(problem)
    around = by_variable @ by_factor.T
    totals = block_array(
        [[around, eye_array(num_variables), around @ by_factor - by_variable, csr_array((num_variables, 1))]]
    ).tocsr()
    counts = block_array(
        [[eye_array(num_factors), around.T * 0.0, by_factor, csr_array((num_factors, 1))]], format="csr"
    )
    least = np.zeros((1, totals.shape[1]))
    least[0, -1] = 1.0
    is_joint = np.diff(problem.scope_starts) > 1
    spread = csr_array(np.ones((int(is_joint.sum()), 1))) @ csr_array(least)
    sides = np.repeat([0.0, 1.0], [int(is_joint.sum()), num_factors])
    return _BetheProgram(totals, csr_array(vstack([spread - counts[is_joint], counts])), sides, counts)


def convex_split(problem: Problem, counts: CountingNumbers) -> ConvexSplit:
    r"""Proof that -Σ c_f H(b_f) - Σ c_v H(b_v) is convex where beliefs agree (Heskes 2006, theorem 3.1).

    It is a sum of -a_f H(b_f), -a_v H(b_v) and -a_vf (H(b_f) - H(b_v)), each convex; a linear program finds the shares,
    the smallest a_f as large as can be. That makes it strictly convex, with one minimum.

    Raises
    ------
    InvalidArgument
        Where there are no such shares, as for Bethe's numbers on a graph with cycles.
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
    matrix = block_array(
        [
            [eye_array(num_factors), none.T, by_factor, ones],
            [none, eye_array(num_variables), -by_variable, zeros],
        ]
    )
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
    shares, pairs = np.split(
        np.maximum(found.x, 0.0)[: num_factors + num_variables + num_edges], [num_factors + num_variables]
    )
    return ConvexSplit(shares[:num_factors] + found.x[-1], shares[num_factors:], pairs)


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
