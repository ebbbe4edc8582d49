"""Best assignments by relaxations: dual decomposition, and linear programs over the local polytope or its corners."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from plausible.base import (
    PROOF,
    Checked,
    Floats,
    Ints,
    QueryInfo,
    check_count,
    check_flag,
    check_seconds,
    real,
    starts_of,
    whole,
)
from plausible.errors import ImpossibleEvidence, InvalidArgument, NotSupported
from plausible.inference.engine_bases import Optimizer, Optimum, PreparedEngine
from plausible.inference.problem import Problem
from plausible.kernels.max_sum import SumLayout, ascend, shift_all
from plausible.search.run import Clock


@dataclass(frozen=True, slots=True, eq=False)
class MaxSum:
    """max Σ_f log φ_f(x_f), with the places of everything; an *entry* is a variable of a factor, in scope order."""

    problem: Problem  # what it was made from
    least: float  # no assignment without a zero has a sum below this
    #: What kernels take. The logarithm of a zero is a number below what all the others can add up to.
    arrays: SumLayout

    @classmethod
    def of(cls, problem: Problem) -> MaxSum:
        """Lay out a problem, none of whose factors is zero everywhere."""
        logs = problem.logs.copy()
        is_zero = np.isinf(logs)
        lowest = np.minimum.reduceat(np.where(is_zero, 0.0, logs), problem.table_starts[:-1]) if len(logs) else logs
        least = float(lowest.sum())
        logs[is_zero] = 2 * least - 10.0
        arrays = SumLayout(
            logs,
            problem.table_starts,
            problem.scopes,
            problem.scope_starts,
            owners=np.repeat(np.arange(len(problem.factors)), np.diff(problem.scope_starts)),
            strides=problem.strides,
            belief_starts=starts_of(problem.sizes),
            message_starts=starts_of(problem.sizes[problem.scopes]),
            entry_starts=starts_of(np.bincount(problem.scopes, minlength=len(problem.variables))),
            entries=np.argsort(problem.scopes, kind="stable"),
        )
        return cls(problem, least, arrays)

    @property
    def digits(self) -> tuple[Ints, Ints]:
        """For each cell of each table and each entry of its factor: the cell, and its place in a vector of messages."""
        at, owners = self.arrays, self.arrays.owners
        sizes = np.diff(at.table_starts)[owners]
        entries = np.repeat(np.arange(len(owners)), sizes)
        inside = np.arange(len(entries)) - np.repeat(starts_of(sizes)[:-1], sizes)
        states = inside // at.strides[entries] % self.problem.sizes[at.scopes[entries]]
        return at.table_starts[owners[entries]] + inside, at.message_starts[entries] + states

    @property
    def message_places(self) -> Ints:
        """For each number of a vector of messages its place in one of beliefs."""
        at, sizes = self.arrays, self.problem.sizes[self.arrays.scopes]
        return np.repeat(at.belief_starts[at.scopes] - at.message_starts[:-1], sizes) + np.arange(at.message_starts[-1])

    def beliefs(self, messages: Floats) -> Floats:
        """The sum of what each state of each variable was sent."""
        num = int(self.arrays.belief_starts[-1])
        return np.asarray(np.bincount(self.message_places, weights=messages, minlength=num), dtype=np.float64)

    def bound(self, messages: Floats, digits: tuple[Ints, Ints], logs: Floats | None = None) -> float:
        """Σ_i max Σ_f δ_fi + Σ_f max (log φ_f - Σ_i δ_fi), which no assignment exceeds, whatever the messages δ are."""
        logs = self.arrays.logs if logs is None else logs
        if not len(logs):
            return 0.0
        cells, places = digits
        left = logs - np.bincount(cells, weights=messages[places], minlength=len(logs))
        return float(
            np.maximum.reduceat(left, self.arrays.table_starts[:-1]).sum()
            + np.maximum.reduceat(self.beliefs(messages), self.arrays.belief_starts[:-1]).sum()
        )

    def shifted(self, messages: Floats) -> tuple[Floats, Floats]:
        """log φ_f - Σ_i δ_fi for each cell of each factor, and Σ_f δ_fi for each state: the same products as before."""
        cells, places = self.digits
        logs = self.problem.logs
        return logs - np.bincount(cells, weights=messages[places], minlength=len(logs)), self.beliefs(messages)

    def favourites(self, beliefs: Floats) -> Ints:
        """The state of each variable with the largest belief, the first of several."""
        starts = self.arrays.belief_starts[:-1]
        if not len(starts):
            return starts
        tops = np.repeat(np.maximum.reduceat(beliefs, starts), self.problem.sizes)
        places = np.where(beliefs >= tops, np.arange(len(beliefs)), len(beliefs))
        return np.minimum.reduceat(places, starts) - starts

    def ascend(self, states: Ints) -> tuple[Ints, float]:
        """States that no change of a single one improves, reached from some, and their sum: below `least` for zero."""
        improved = states.astype(np.int64, copy=True)
        return improved, ascend(self.arrays, improved)

    def is_impossible(self, upper: float) -> bool:
        """Whether an upper bound, or a sum, proves that there is a zero in every assignment, or in that one."""
        return upper < self.least - 1.0


@dataclass(frozen=True, slots=True, eq=False)
class DualState:
    """Where a dual decomposition is."""

    messages: Floats  # δ_fi(x_i), one after the other for each variable of each factor, in scope order
    states: Ints  # the best assignment so far, by state positions
    value: float  # log Π φ of it, `problem.log_scale` left out; -inf where some factor is zero
    upper: float  # what no assignment exceeds
    num_steps: int = 0  # sweeps over all factors, there and back
    residual: float = np.inf  # by how much the last one lowered the bound
    converged: bool = False  # whether the bound is reached, or stopped going down


@dataclass(frozen=True, slots=True)
class DualDecomposition(PreparedEngine[DualState], Optimizer, Checked, max_steps=whole(1), tolerance=real(least=0)):
    """Find a good assignment and an ever tighter bound on the best one; if they meet, the assignment is optimal.

    Every factor is maximised by itself; messages δ_fi(x_i) shift values between factors so that

        max_x Σ_f log φ_f(x_f) ≤ Σ_i max Σ_f δ_fi(x_i) + Σ_f max (log φ_f(x_f) - Σ_i δ_fi(x_i)).

    One factor's messages after the other are set to what lowers the right side most (MPLP, Globerson & Jaakkola 2007;
    Sontag, Globerson & Jaakkola 2011, §1.5), and assignments are read off the sums of the messages and improved one
    state at a time. On a tree the bound is met; elsewhere it goes down towards that of `LinearRelaxation`, though it
    may stop earlier. Factors may have any number of variables, and zeros. A sweep takes time in proportion to the
    entries of each table times its variables. The bound has stopped where a sweep lowers it by less than the
    `tolerance` times the largest logarithm of a factor's ratio of entries, or the `tolerance` if that is more than one.

    >>> from plausible.factors import Factor
    >>> from plausible.variables import Evidence
    >>> triangle = [Factor({a: 2, b: 2}, [[1, 2], [3, 5]]) for a, b in ("AB", "BC", "CA")]
    >>> best = DualDecomposition().best(triangle, Evidence.read({}, {}))
    >>> best, best.info.exact
    (Assignment(A=1, B=1, C=1), True)
    """

    max_steps: int = 1000
    tolerance: float = 1e-7

    def _prepared(self, problem: Problem, clock: Clock) -> tuple[MaxSum, tuple[Ints, Ints]]:
        layout = MaxSum.of(problem)
        return layout, layout.digits

    def _first(self, prepared: tuple[MaxSum, tuple[Ints, Ints]]) -> DualState:
        """No messages: each factor at its own largest entry, which is one."""
        layout, _ = prepared
        states, value = layout.ascend(np.zeros(len(layout.problem.variables), dtype=np.int64))
        value = -np.inf if layout.is_impossible(value) else value
        messages = np.zeros(int(layout.arrays.message_starts[-1]))
        return DualState(messages, states, value, 0.0, converged=value >= -PROOF)

    def _next(self, prepared: tuple[MaxSum, tuple[Ints, Ints]], state: DualState) -> DualState:
        """A sweep over all factors and back, and the assignment that the new messages favour, if it is better."""
        layout, digits = prepared
        messages, beliefs = state.messages.copy(), layout.beliefs(state.messages)
        for backward in (False, True):
            shift_all(layout.arrays, backward, beliefs, messages)
        states, value = layout.ascend(layout.favourites(beliefs))
        value = -np.inf if layout.is_impossible(value) else value
        if value <= state.value:
            states, value = state.states, state.value
        upper = min(state.upper, layout.bound(messages, digits))
        residual, logs = state.upper - upper, layout.problem.logs
        # The most by which the logarithms of a factor's positive entries differ.
        largest_range = -float(np.where(np.isneginf(logs), 0.0, logs).min(initial=0.0))
        pace = self.tolerance * min(largest_range, 1.0)
        is_over = upper - value <= PROOF or residual < pace or layout.is_impossible(upper)
        return DualState(messages, states, value, upper, state.num_steps + 1, residual, is_over)

    def optimize(self, problem: Problem) -> Optimum:
        """The best assignment that was met, with the last bound."""
        state = self.run(problem).state
        if MaxSum.of(problem).is_impossible(state.upper):
            raise ImpossibleEvidence.outright()
        advice = ""
        if state.upper - state.value > PROOF:
            advice = (
                "The bound has stopped above the value. LinearRelaxation(integer=True) closes the gap where the "
                "problem is small enough."
                if state.converged
                else f"Raise max_steps above {self.max_steps}: the bound was still going down."
            )
        info = QueryInfo(
            "dual decomposition",
            exact=False,
            converged=state.converged,
            num_steps=state.num_steps,
            residual=state.residual,
            advice=advice,
        )
        return Optimum(state.states, state.upper, info)


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
class LinearRelaxation(Optimizer, Checked, integer=check_flag, time_limit=check_seconds):
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
        Checked.__post_init__(self)
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
