"""Convex belief propagation: messages that tend to the one minimum of a convex free energy."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from plausible.base import Checked, Floats, Ints, QueryInfo, logarithms, real, whole
from plausible.errors import ImpossibleEvidence, InvalidArgument, NotSupported
from plausible.inference.approximate import Beliefs, ResumableEngine
from plausible.inference.engine_bases import RoundState
from plausible.inference.estimates import Estimate
from plausible.inference.problem import Problem
from plausible.inference.regions.counting_numbers import (
    CONVEX_COUNTS,
    ConvexSplit,
    CountingNumbers,
    convex_split,
)
from plausible.inference.regions.region_graph import colors_of


@dataclass(frozen=True, slots=True, eq=False)
class Turn:
    """Variables that share no factor, and the entries of all factors around them.

    Entries follow each other variable by variable, then state by state, then factor by factor; a row is what one
    factor has for one state.
    """

    entries: Ints  # the place of each entry among the tables, and among the messages
    messages: Ints
    entry_scales: Floats  # a_f + a_vf and a_f of each entry
    entry_shares: Floats
    row_starts: Ints  # where each row begins; its a_f + a_vf and a_vf
    row_scales: Floats
    row_shares: Floats
    states: Ints  # for each row the state of a variable, numbered through; for each state a_v + Σ_f a_f
    state_scales: Floats
    variable_starts: Ints  # where the states of each variable begin; its a_v
    variable_shares: Floats


@dataclass(frozen=True, slots=True, eq=False)
class ConvexLayout:
    """What a round needs."""

    turns: tuple[Turn, ...]  # of all variables, in their order
    factor_shares: Floats  # a_f
    num_messages: int  # the entries of all messages
    is_upper: bool  # whether the dual bounds log Z
    slack: float  # by how much the shares can make the entropy too low, as the solver rounds


def lay_out_convex(problem: Problem, counts: CountingNumbers) -> ConvexLayout:
    """Split the counting numbers and group the variables; refuses numbers that are not convex."""
    split = convex_split(problem, counts)
    owners = np.repeat(np.arange(len(problem.factors)), np.diff(problem.scope_starts))
    widths = np.diff(problem.table_starts)[owners]
    starts = np.cumsum(widths) - widths
    # For each variable the lowest number that none with a factor in common has.
    factors_of: list[list[int]] = [[] for _ in problem.variables]
    scopes = [problem.scope(factor) for factor in range(len(problem.factors))]
    for factor, scope in enumerate(scopes):
        for variable in scope:
            factors_of[variable].append(factor)
    colors = np.array(colors_of(factors_of, scopes), dtype=np.int64)
    turns = [
        _turn(problem, split, (owners, starts), np.flatnonzero(colors[problem.scopes] == color))
        for color in range(int(colors.max(initial=-1)) + 1)
    ]
    slack = 0.0
    if problem.variables:  # Σ (c - its shares)⁺ · the logarithm of the number of states, which no entropy exceeds
        own = counts.factors - split.factors - np.add.reduceat(split.edges, problem.scope_starts[:-1])
        shared = counts.variables - split.variables + np.bincount(problem.scopes, split.edges)
        slack = float(np.maximum(own, 0.0) @ np.log(np.diff(problem.table_starts)))
        slack += float(np.maximum(shared, 0.0) @ np.log(problem.sizes))
    return ConvexLayout(tuple(turns), split.factors, int(widths.sum()), counts.is_upper, slack)


def _turn(problem: Problem, split: ConvexSplit, places: tuple[Ints, Ints], edges: Ints) -> Turn:
    owners, starts = places
    widths = np.diff(problem.table_starts)[owners[edges]]
    offsets = np.arange(int(widths.sum())) - np.repeat(np.cumsum(widths) - widths, widths)
    edge = np.repeat(edges, widths)
    state = offsets // problem.strides[edge] % problem.sizes[problem.scopes[edge]]
    order = np.lexsort((edge, state, problem.scopes[edge]))
    edge, state, offsets = edge[order], state[order], offsets[order]
    variable, factor = problem.scopes[edge], owners[edge]
    row_starts = _changes(edge, state)
    rows_edge, rows_variable, rows_state = edge[row_starts], variable[row_starts], state[row_starts]
    state_starts = _changes(rows_variable, rows_state)
    states = np.cumsum(np.isin(np.arange(rows_edge.size), state_starts)) - 1
    variables = rows_variable[state_starts]
    variable_starts = _changes(variables)
    scales = split.factors[owners] + split.edges
    sums = np.bincount(problem.scopes, split.factors[owners], len(problem.variables)) + split.variables
    return Turn(
        entries=problem.table_starts[factor] + offsets,
        messages=starts[edge] + offsets,
        entry_scales=scales[edge],
        entry_shares=split.factors[factor],
        row_starts=row_starts,
        row_scales=scales[rows_edge],
        row_shares=split.edges[rows_edge],
        states=states,
        state_scales=sums[variables],
        variable_starts=variable_starts,
        variable_shares=split.variables[variables[variable_starts]],
    )


def _changes(*keys: Ints) -> Ints:
    """Where some key differs from the one before it, the first place included."""
    is_new = np.zeros(keys[0].size, dtype=bool)
    is_new[:1] = True
    for key in keys:
        is_new[1:] |= key[1:] != key[:-1]
    return np.flatnonzero(is_new)


def log_sums(values: Floats, starts: Ints) -> Floats:
    """log Σ exp of each stretch of values, -inf where all are."""
    peaks = np.maximum.reduceat(values, starts)
    safe = np.where(np.isneginf(peaks), 0.0, peaks)
    sums = np.add.reduceat(np.exp(values - np.repeat(safe, np.diff(starts, append=values.size))), starts)
    return np.asarray(logarithms(sums) + safe)


@dataclass(frozen=True, slots=True, eq=False)
class ConvexState(RoundState):
    """All messages after some rounds; the residual is of beliefs about factors, in a turn of the last round."""

    layout: ConvexLayout  # counting numbers, and the order of turns
    logs: Floats  # a_f log b_f of each entry, in the order of `problem.tables`; -inf for those proved to be zero
    messages: Floats  # what each variable has taken from each entry of its factors


@dataclass(frozen=True, slots=True, kw_only=True)
class ConvexBP(ResumableEngine[ConvexState], Checked, tolerance=real(least=0), max_steps=whole(1)):
    r"""Belief propagation with a convex free energy: it converges to the same beliefs from any start.

    Beliefs minimise -Σ ⟨log φ_f⟩ - Σ c_f H(b_f) - Σ c_v H(b_v) among those that agree on variables. Where the counting
    numbers split into shares a_f > 0, a_v, a_vf ≥ 0 (see `convex_split`), that is strictly convex. Let λ_vf be what v
    has taken from f, T_f = log φ_f - Σ λ_vf, and b_f ∝ exp(T_f / a_f). The turn of v solves its part of the dual:

    .. math:: m_{fv} = â_{vf} \log \sum_{x_f ∼ x_v} e^{(T_f + λ_{vf}) / â_{vf}}, \qquad
              b_v ∝ e^{\sum_f m_{fv} / (a_v + \sum_f a_f)}, \qquad
              b_f = b_v e^{(T_f + λ_{vf} - m_{fv}) / â_{vf}}

    with â_vf = a_f + a_vf, and T_f becomes a_f log b_f. Variables that share no factor take their turns at once. The
    dual falls with each turn, to log Z as the free energy has it; if the entropy is never too low, it bounds log Z at
    any time (Hazan & Shashua 2010; Heskes 2006; Meltzer, Globerson & Weiss 2009).

    Parameters
    ----------
    counts
        "bethe-like": the convex counting numbers closest to those of loopy belief propagation. "trees": those of
        tree-reweighted belief propagation, which give an upper bound. "covering": all positive, a looser upper bound
        that converges fastest. Or a function from a `Problem` to `CountingNumbers`.
    tolerance
        Beliefs about factors have converged when they change by no more than this in a turn.

    Examples
    --------
    >>> from plausible.factors import Factor
    >>> from plausible.variables import Evidence
    >>> ring = [Factor({a: 2, b: 2}, [[2, 1], [1, 2]]) for a, b in ("AB", "BC", "CA")]
    >>> found = ConvexBP(counts="trees").log_total(ring, Evidence.read({}, {}))
    >>> found.is_bound, round(math.log(28), 3), round(found.upper, 3)
    (True, 3.332, 3.379)
    """

    counts: str | Callable[[Problem], CountingNumbers] = "bethe-like"
    tolerance: float = 1e-6
    max_steps: int = 5000

    def __post_init__(self) -> None:
        Checked.__post_init__(self)
        if not callable(self.counts) and not (isinstance(self.counts, str) and self.counts in CONVEX_COUNTS):
            known = ", ".join(map(repr, CONVEX_COUNTS))
            raise InvalidArgument(f"counts={self.counts!r} must be one of {known}, or a function of a problem.")

    def init(self, problem: Problem) -> ConvexState:
        """Nothing taken yet."""
        maker = self.counts if callable(self.counts) else CONVEX_COUNTS[self.counts]
        layout = lay_out_convex(problem, maker(problem))
        state = ConvexState(layout, problem.logs, np.zeros(layout.num_messages))
        return state if problem.variables else state.at_rest(is_contradictory=False)

    def step(self, problem: Problem, state: ConvexState) -> ConvexState:
        """One turn of each variable."""
        logs, messages, residual = state.logs.copy(), state.messages.copy(), 0.0
        for turn in state.layout.turns:
            change = _take(turn, logs, messages)
            if change < 0:
                residual = -1.0
                break
            residual = max(residual, change)
        return state.after_round(residual, self.tolerance, logs=logs, messages=messages)

    def beliefs_from(self, problem: Problem, state: ConvexState, groups: Sequence[tuple[int, ...]]) -> Beliefs:
        """The belief about each group of variables that some factor has."""
        state, _ = _read_off(problem, state)
        if state.is_contradictory:
            raise ImpossibleEvidence.outright()
        tables = tuple(_belief(problem, state, group) if group else np.ones(()) for group in groups)
        return Beliefs(tables, self._info(problem, state))

    def estimate(self, problem: Problem) -> Estimate:
        """The dual of the free energy: an upper bound on log Z where the counting numbers are known to give one."""
        state, dual = _read_off(problem, self.run(problem).state)
        info = self._info(problem, state)
        if state.is_contradictory:
            return Estimate.within(-math.inf, info)
        value, margin = dual + problem.log_scale, problem.scale_rounding
        if not problem.variables:
            return Estimate.within(value, info, margin)
        if state.layout.is_upper:
            # A generous measure of what rounding can have done to the dual.
            logs = problem.logs[problem.logs > -np.inf]
            magnitude = problem.logs.size + float(np.abs(logs).sum() + np.abs(state.messages).sum())
            margin += state.layout.slack + 16 * float(np.finfo(np.float64).eps) * magnitude
            return Estimate(value, info, upper=value + margin, is_bound=True)
        return Estimate(value, info)

    def _info(self, problem: Problem, state: ConvexState) -> QueryInfo:
        other = "" if self.counts == "covering" else "counts='covering', which settles faster, "
        return state.info(
            "convex belief propagation",
            is_exact=not problem.variables,
            cost=int(problem.tables.size),
            largest_table=int(np.diff(problem.table_starts).max(initial=0)),
            advice="The beliefs are on their way. Try more max_steps, a higher tolerance, "
            f"{other}MiniBuckets() for bounds, or Gibbs().",
        )


def _read_off(problem: Problem, state: ConvexState) -> tuple[ConvexState, float]:
    """The dual, `problem.log_scale` left out, and the state, contradictory where the dual shows it first."""
    if state.is_contradictory or problem.is_impossible:
        return replace(state, converged=True, is_contradictory=True), -math.inf
    dual = dual_value(problem, state)
    return (state, dual) if dual > -math.inf else (replace(state, converged=True, is_contradictory=True), dual)


def dual_value(problem: Problem, state: ConvexState) -> float:
    """Σ a_f log Σ exp(T_f / a_f) + the conjugates of the variables' terms, `problem.log_scale` left out.

    T_f is taken from the messages afresh: what rounding did to it round by round is no matter then.
    """
    layout = state.layout
    if not problem.variables:
        return 0.0
    shares, starts = layout.factor_shares, problem.table_starts[:-1]
    entries = np.concatenate([turn.entries for turn in layout.turns])
    messages = np.concatenate([turn.messages for turn in layout.turns])
    logs = problem.logs - np.bincount(entries, state.messages[messages], problem.logs.size)
    logs = np.where(np.isneginf(state.logs), -np.inf, logs)
    total = float(shares @ log_sums(logs / np.repeat(shares, np.diff(problem.table_starts)), starts))
    return total + sum(_conjugate(turn, state) for turn in layout.turns)


def _take(turn: Turn, logs: Floats, messages: Floats) -> float:
    """The turns of some variables, in place; the largest change of a belief, negative for a contradiction."""
    old = logs[turn.entries]
    scaled = (old + messages[turn.messages]) / turn.entry_scales
    rows = log_sums(scaled, turn.row_starts)
    sums = np.bincount(turn.states, turn.row_scales * rows) / turn.state_scales
    if np.isneginf(np.maximum.reduceat(sums, turn.variable_starts)).any():
        return -1.0
    sums -= np.repeat(log_sums(sums, turn.variable_starts), np.diff(turn.variable_starts, append=sums.size))
    new = np.full(old.size, -np.inf)
    per_row = np.where(np.isneginf(rows), -np.inf, sums[turn.states] - np.where(np.isneginf(rows), 0.0, rows))
    spread = np.repeat(per_row, np.diff(turn.row_starts, append=old.size))
    is_live = (spread > -np.inf) & (scaled > -np.inf)
    new[is_live] = turn.entry_shares[is_live] * (spread[is_live] + scaled[is_live])
    left = np.zeros(old.size)
    left[is_live] = scaled[is_live] * turn.entry_scales[is_live] - new[is_live]
    logs[turn.entries], messages[turn.messages] = new, left
    return float(np.abs(np.exp(new / turn.entry_shares) - np.exp(np.minimum(old / turn.entry_shares, 0.0))).max())


def _conjugate(turn: Turn, state: ConvexState) -> float:
    """Σ_v a_v log Σ exp(Σ_f L_vf / a_v), where L_vf = a_vf log Σ exp(λ_vf / a_vf); maxima where a share is zero."""
    values = np.where(np.isneginf(state.logs[turn.entries]), -np.inf, state.messages[turn.messages])
    inner = _softened(values, turn.row_starts, turn.row_shares)
    sums = np.asarray(np.bincount(turn.states, inner), dtype=np.float64)
    return float(_softened(sums, turn.variable_starts, turn.variable_shares).sum())


def _softened(values: Floats, starts: Ints, shares: Floats) -> Floats:
    """a log Σ exp(values / a) of each stretch; its maximum for a = 0."""
    peaks = np.maximum.reduceat(values, starts)
    safe = np.where(np.isneginf(peaks), 0.0, peaks)
    widths = np.diff(starts, append=values.size)
    divisors = np.where(shares > 0, shares, 1.0)
    sums = np.add.reduceat(np.exp((values - np.repeat(safe, widths)) / np.repeat(divisors, widths)), starts)
    return np.asarray(peaks + np.where((shares > 0) & (sums > 0), shares * np.log(np.where(sums > 0, sums, 1.0)), 0.0))


def _belief(problem: Problem, state: ConvexState, group: tuple[int, ...]) -> Floats:
    """The marginal of the belief about the smallest factor that holds the group."""
    edges = np.flatnonzero(problem.scopes == group[0])
    factors = (np.searchsorted(problem.scope_starts, edges, side="right") - 1).tolist()
    holders = [factor for factor in factors if set(group) <= set(problem.scope(factor))]
    if not holders:
        names = ", ".join(repr(problem.variables[variable].name) for variable in group)
        raise NotSupported(
            f"There is no joint belief of {names}: no factor has them all. Ask for fewer of them at a time, add a "
            "factor of ones over them, or take an exact engine such as JunctionTree()."
        )
    factor = min(holders, key=lambda holder: int(problem.table_starts[holder + 1] - problem.table_starts[holder]))
    scope = problem.scope(factor)
    logs = state.logs[problem.table_starts[factor] : problem.table_starts[factor + 1]]
    table = np.exp((logs - logs.max()) / state.layout.factor_shares[factor]).reshape(problem.sizes[list(scope)])
    found = np.einsum(table, list(range(len(scope))), [scope.index(variable) for variable in group])
    return np.asarray(found / found.sum())
