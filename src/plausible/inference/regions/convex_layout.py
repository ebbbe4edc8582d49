"""The arrays of convex belief propagation: shares of entropy, and turns of variables that share no factor."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count

import numpy as np

from plausible.base.arrays import Floats, Ints
from plausible.inference.problem import Problem
from plausible.inference.regions.counting_numbers import ConvexSplit, CountingNumbers, convex_split

__all__ = ["ConvexLayout", "Turn", "lay_out_convex", "log_sums"]


@dataclass(frozen=True, slots=True, eq=False)
class Turn:
    """Variables that share no factor, and the entries of all factors around them.

    Entries follow each other variable by variable, then state by state, then factor by factor; a row is what one
    factor has for one state.

    Attributes
    ----------
    entries, messages
        The place of each entry among the tables, and among the messages.
    entry_scales, entry_shares
        a_f + a_vf and a_f of each entry.
    row_starts, row_scales, row_shares
        Where each row begins; its a_f + a_vf and a_vf.
    states, state_scales
        For each row the state of a variable, numbered through; for each state a_v + Σ_f a_f.
    variable_starts, variable_shares
        Where the states of each variable begin; its a_v.
    """

    entries: Ints
    messages: Ints
    entry_scales: Floats
    entry_shares: Floats
    row_starts: Ints
    row_scales: Floats
    row_shares: Floats
    states: Ints
    state_scales: Floats
    variable_starts: Ints
    variable_shares: Floats


@dataclass(frozen=True, slots=True, eq=False)
class ConvexLayout:
    """What a round needs.

    Attributes
    ----------
    turns
        Of all variables, in their order.
    factor_shares
        a_f.
    num_messages
        The entries of all messages.
    is_upper
        Whether the dual bounds log Z.
    slack
        By how much the shares can make the entropy too low, as the solver rounds.
    """

    turns: tuple[Turn, ...]
    factor_shares: Floats
    num_messages: int
    is_upper: bool
    slack: float


def lay_out_convex(problem: Problem, counts: CountingNumbers) -> ConvexLayout:
    """Split the counting numbers and group the variables; refuses numbers that are not convex."""
    split = convex_split(problem, counts)
    owners = np.repeat(np.arange(len(problem.factors)), np.diff(problem.scope_starts))
    widths = np.diff(problem.table_starts)[owners]
    starts = np.cumsum(widths) - widths
    colors = _colors(problem)
    turns = [
        _turn(problem, split, (owners, starts), np.flatnonzero(colors[problem.scopes] == color))
        for color in range(int(colors.max(initial=-1)) + 1)
    ]
    return ConvexLayout(tuple(turns), split.factors, int(widths.sum()), counts.is_upper, _slack(problem, split, counts))


def _slack(problem: Problem, split: ConvexSplit, counts: CountingNumbers) -> float:
    """Σ (c - its shares)⁺ · the logarithm of the number of states, which no entropy exceeds."""
    if not problem.variables:
        return 0.0
    factors = counts.factors - split.factors - np.add.reduceat(split.edges, problem.scope_starts[:-1])
    variables = counts.variables - split.variables + np.bincount(problem.scopes, split.edges)
    logs = np.log(np.diff(problem.table_starts)), np.log(problem.sizes)
    return float(np.maximum(factors, 0.0) @ logs[0] + np.maximum(variables, 0.0) @ logs[1])


def _colors(problem: Problem) -> Ints:
    """For each variable the lowest number that none with a factor in common has."""
    factors_of: list[list[int]] = [[] for _ in problem.variables]
    scopes = [problem.scope(factor) for factor in range(len(problem.factors))]
    for factor, scope in enumerate(scopes):
        for variable in scope:
            factors_of[variable].append(factor)
    colors = [-1] * len(factors_of)
    for variable, factors in enumerate(factors_of):
        taken = {colors[other] for factor in factors for other in scopes[factor]}
        colors[variable] = next(color for color in count() if color not in taken)
    return np.array(colors, dtype=np.int64)


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
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(sums) + safe)
