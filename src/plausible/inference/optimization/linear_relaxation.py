"""Best assignments as linear programs: over the local polytope, or over its corners with whole numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from plausible.base.arrays import Floats, Ints
from plausible.base.options import check_count, check_flag, check_seconds
from plausible.errors import ImpossibleEvidence, InvalidArgument, NotSupported
from plausible.inference.info import QueryInfo
from plausible.inference.optimization.dual_decomposition import MaxSum
from plausible.inference.optimizer import Optimizer, Optimum
from plausible.inference.problem import Problem

#: The status by which the solver says that a limit was reached, and that nothing meets the constraints.
_LIMIT, _INFEASIBLE = 1, 2
_FRACTIONS = "The relaxation has fractions. LinearRelaxation(integer=True) branches on them."
_CLOSE = "The solver tells no better assignment apart from this one; BranchAndBound() may prove that there is none."
#: What the solver may be wrong by, in the unit of its costs: the gap at which it stops, and the reduced costs, one for
#: each factor, that it takes for zero.
_GAP, _REDUCED_COST = 1e-6, 1e-7
#: Costs are scaled so that the solver's errors stay below this, as long as no cost exceeds the largest one.
_WANTED_ERROR, _LARGEST_COST = 2.5e-10, 1e8


@dataclass(frozen=True, slots=True)
class LinearRelaxation(Optimizer):
    """Solve the linear relaxation (local polytope) with HiGHS and round it; if the bound is met, this is optimal.

    Maximise Σ_f Σ μ_f(x_f) log φ_f(x_f) over pseudo-marginals μ ≥ 0 that sum to one and agree with each other:
    Σ_{x_f \\ x_i} μ_f(x_f) = μ_i(x_i) for each variable of each factor (Schlesinger 1976; Koller & Friedman 2009,
    §13.5). Its corners with whole numbers are the assignments, hence an upper bound; on trees and for submodular
    binary pairs there are no others. The bound is computed anew from the multipliers that the solver gives, so that
    it holds whatever the solver's tolerance. Factors may have any number of variables, and zeros.

    Parameters
    ----------
    integer
        Require integers, by branch and bound: this finds the best assignment, but the time can be exponential. The
        bound is the solver's plus its tolerance; with many factors that is too loose for a proof.
    max_nodes
        Stop branching after this many nodes, with the best assignment and bound so far.

    Examples
    --------
    >>> from plausible.factors import Factor
    >>> from plausible.variables import Evidence
    >>> odd = [Factor({a: 2, b: 2}, [[1, 2], [2, 1]]) for a, b in ("AB", "BC", "CA")]
    >>> relaxed = LinearRelaxation().best(odd, Evidence.read({}, {}))
    >>> relaxed.info.exact, round(relaxed.info.error, 4)  # no cycle of three can differ throughout: log 2 is lost
    (False, 0.6931)
    >>> LinearRelaxation(integer=True).best(odd, Evidence.read({}, {})).info.exact
    True
    """

    integer: bool = False
    max_nodes: int | None = None
    time_limit: float | None = None

    def __post_init__(self) -> None:
        check_flag("integer", self.integer)
        check_seconds("time_limit", self.time_limit)
        if self.max_nodes is not None:
            check_count("max_nodes", self.max_nodes, 1)
            if not self.integer:
                raise InvalidArgument(f"max_nodes={self.max_nodes!r} must go with integer=True.")

    def optimize(self, problem: Problem) -> Optimum:
        """A corner of the polytope, rounded where it is none, and the bound."""
        layout = MaxSum.of(problem)
        if not problem.variables:
            return Optimum(np.empty(0, dtype=np.int64), 0.0, QueryInfo("linear relaxation", exact=False))
        program = _Program.of(layout)
        return self._by_branching(program) if self.integer else self._relaxed(program)

    def _by_branching(self, program: _Program) -> Optimum:
        from scipy.optimize import Bounds, LinearConstraint, milp

        options: Any = {"mip_rel_gap": 0.0, **self._limits}
        if self.max_nodes is not None:
            options["node_limit"] = self.max_nodes
        scale, error = program.scaling
        found = milp(
            -scale * program.weights,
            integrality=(np.arange(len(program.weights)) < program.num_beliefs).astype(np.int64),
            bounds=Bounds(0.0, program.tops),
            constraints=LinearConstraint(program.constraints, program.sides, program.sides),
            options=options,
        )
        if found.status == _INFEASIBLE:
            raise ImpossibleEvidence.outright()
        states, value = program.rounded(found.x)
        upper = 0.0 if found.mip_dual_bound is None else -float(found.mip_dual_bound) / scale + error
        info = QueryInfo(
            "integer program",
            exact=False,
            converged=found.status == 0,
            num_steps=int(found.mip_node_count or 0),
            advice=_CLOSE if found.status == 0 else "Raise max_nodes= or time_limit= for a smaller gap.",
        )
        return Optimum(states, max(min(0.0, upper), value), info)

    def _relaxed(self, program: _Program) -> Optimum:
        from scipy.optimize import linprog

        bounds: Any = np.stack([np.zeros_like(program.tops), program.tops], axis=1)
        scale, _ = program.scaling
        sides: Any = {"A_eq": program.constraints, "b_eq": program.sides, "bounds": bounds}
        found = linprog(-scale * program.weights, **sides, method="highs", options=self._limits)
        if found.status == _INFEASIBLE:
            raise ImpossibleEvidence.outright()
        if found.x is None and found.status != _LIMIT:
            raise NotSupported(
                f"HiGHS found no solution: {found.message} DualDecomposition() gives a bound of the same kind."
            )
        is_solved = found.status == 0
        info = QueryInfo(
            "linear relaxation",
            exact=False,
            converged=is_solved,
            num_steps=int(found.nit or 0),
            advice=_FRACTIONS if is_solved else "Raise time_limit=: without a solution there is no bound.",
        )
        upper = program.bound(found.eqlin.marginals / scale) if is_solved else 0.0
        return Optimum(program.rounded(found.x)[0], upper, info)

    @property
    def _limits(self) -> Any:
        return {} if self.time_limit is None else {"time_limit": float(self.time_limit)}


@dataclass(frozen=True, slots=True, eq=False)
class _Program:
    """max weights · μ with constraints μ = sides, 0 ≤ μ ≤ tops; the μ of variables come first, then those of factors.

    The first rows say that the μ of each variable sum to one; the others, one for each state of each entry, that
    those of factors sum to them.
    """

    layout: MaxSum
    num_beliefs: int  # the μ of variables
    weights: Floats
    tops: Floats
    constraints: Any
    sides: Floats

    @classmethod
    def of(cls, layout: MaxSum) -> _Program:
        from scipy.sparse import csr_array

        problem, places = layout.problem, layout.message_places
        num_variables, num_rows, num_beliefs = len(problem.variables), len(places), int(problem.sizes.sum())
        cells, of_cells = layout.digits
        rows = [np.repeat(np.arange(num_variables), problem.sizes), num_variables + np.arange(num_rows)]
        row = np.concatenate([*rows, num_variables + of_cells])
        column = np.concatenate([np.arange(num_beliefs), places, num_beliefs + cells])
        signs = np.concatenate([np.ones(num_beliefs), -np.ones(num_rows), np.ones(len(cells))])
        shape = (num_variables + num_rows, num_beliefs + len(problem.tables))
        return cls(
            layout,
            num_beliefs,
            np.concatenate([np.zeros(num_beliefs), np.where(problem.tables > 0, layout.arrays.logs, 0.0)]),
            np.concatenate([np.ones(num_beliefs), (problem.tables > 0).astype(np.float64)]),
            csr_array((signs, (row, column)), shape=shape),
            (np.arange(num_variables + num_rows) < num_variables).astype(np.float64),
        )

    @property
    def scaling(self) -> tuple[float, float]:
        """What to multiply the weights by so that the solver counts small ones, and what it may be wrong by then.

        Its tolerances are absolute: a cost of 10⁻⁷ is nothing to it.
        """
        largest = float(np.abs(self.weights).max(initial=0.0)) or 1.0
        tolerance = _GAP + _REDUCED_COST * len(self.layout.problem.factors)
        scale = min(max(tolerance / _WANTED_ERROR, 1e3 / largest), _LARGEST_COST / largest)
        return scale, tolerance / scale

    def rounded(self, pseudo_marginals: Floats | None) -> tuple[Ints, float]:
        """The most believed states, or the first ones where nothing is believed, improved one at a time; their sum."""
        if pseudo_marginals is None:
            pseudo_marginals = np.zeros(self.num_beliefs)
        return self.layout.ascend(self.layout.favourites(pseudo_marginals[: self.num_beliefs]))

    def bound(self, multipliers: Floats) -> float:
        """The bound that the rows' multipliers prove: they are messages of a dual decomposition."""
        # HiGHS minimises, so that its multipliers have the other sign; it was told nothing about entries of zero.
        messages = -multipliers[len(self.layout.problem.variables) :]
        logs = np.where(self.layout.problem.tables > 0, self.layout.arrays.logs, -np.inf)
        return min(0.0, self.layout.bound(messages, self.layout.digits, logs))
