"""Decisions that do not rely on each other, settled in one small table that shrinks as it goes back in time."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from plausible.base.arrays import Floats
from plausible.decisions.solving.arithmetic import PLAIN, scaled_or_logs
from plausible.decisions.solving.problem import Problem
from plausible.decisions.solving.updating import Rules, first_best_rule
from plausible.errors import ImpossibleEvidence

__all__ = ["settle_backward"]


def settle_backward(problem: Problem, order: Sequence[str]) -> tuple[Rules, float]:
    """The best rules of decisions, each of which relies on those before it in `order` only, and their worth.

    T = P U is the table of all variables. In turn each decision takes the largest entry of T, summed to what it sees
    and does; T is multiplied by this rule and summed to what the decisions that are left see and do. Axes come in an
    order in which these sums run along memory.

    Parameters
    ----------
    problem
        The tables.
    order
        All decisions, those relied on first.
    """
    axes: dict[int, None] = {}
    num_left = []  # the number of axes that are still of use when it is the turn of a decision
    for name in reversed(order):
        axes.update(dict.fromkeys(problem.families[name]))
        num_left.append(len(axes))
    axes.update(dict.fromkeys(range(len(problem.variables))))
    rank = {variable: axis for axis, variable in enumerate(axes)}
    table, scale = _weighted_utility(problem, rank)
    rules: Rules = {}
    for name, left in zip(order, reversed(num_left), strict=True):
        if left < table.ndim:
            table = np.add.reduce(table.reshape(*table.shape[:left], -1), axis=-1)
        own = [rank[variable] for variable in problem.families[name]]
        gone = tuple(axis for axis in range(left) if axis not in own)
        worth = np.add.reduce(table, axis=gone) if gone else table
        kept = sorted(own)
        rule = first_best_rule(worth.transpose([kept.index(axis) for axis in own]))
        rules[name] = rule
        table = table * _placed(rule, own, left)
    return rules, float(table.sum()) / scale


def _weighted_utility(problem: Problem, rank: dict[int, int]) -> tuple[Floats, float]:
    """P U over all variables, in the order of the axes; and the probability of the evidence, up to a scale.

    Evidence comes before all decisions, so its probability does not depend on what they do.
    """
    sizes = problem.sizes
    shape = tuple(sizes[variable] for variable in rank)
    utility = np.zeros((1,) * len(rank))
    tables = [_placed(values, [rank[v] for v in scope], len(rank)) for scope, values in problem.probabilities]
    tables = tables or [np.ones((1,) * len(rank))]
    if problem.is_conditioned:
        probability = scaled_or_logs(lambda arithmetic: arithmetic.plain(arithmetic.product(tables)))
    else:
        probability = PLAIN.product(tables)
    for scope, values in problem.utilities:
        utility = utility + _placed(values, [rank[variable] for variable in scope], len(rank))
    scale = 1.0
    if problem.is_conditioned:
        free = math.prod(shape[axis] for axis, length in enumerate(probability.shape) if length < shape[axis])
        actions = math.prod(problem.family_shape(name)[-1] for name in problem.families)
        scale = float(probability.sum()) * free / actions
        if scale <= 0:
            raise ImpossibleEvidence.outright()
    weighted = probability * utility
    return weighted if weighted.shape == shape else np.broadcast_to(weighted, shape), scale


def _placed(values: Floats, axes: Sequence[int], ndim: int) -> Floats:
    """A table with some axes as one that broadcasts over all."""
    shape = [1] * ndim
    for axis, length in zip(axes, values.shape, strict=True):
        shape[axis] = length
    order = sorted(range(len(axes)), key=axes.__getitem__)
    return values.transpose(order).reshape(shape)
