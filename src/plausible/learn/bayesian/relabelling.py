"""The states of hidden variables in one order over many draws of parameters."""

from __future__ import annotations

import numpy as np

from plausible.base.arrays import Floats, Ints
from plausible.learn.bayesian.completion_problem import CompletionProblem

__all__ = ["align_states"]


def align_states(problem: CompletionProblem, draws: Floats, reference: Floats) -> Ints:
    """For each draw (a row of flat tables) the entries that stand at each place once hidden states are in order.

    One hidden variable after the other: its states are matched with those of the reference so that the squared distance
    of all tables with an axis for it is least (an assignment problem: K³ for each draw).
    """
    from scipy.optimize import linear_sum_assignment

    order = np.tile(np.arange(draws.shape[1]), (len(draws), 1))
    for name in problem.cases.hidden:
        moved = np.take_along_axis(draws, order, axis=1)
        size = problem.tables.variables[name].num_states
        best = np.array([linear_sum_assignment(cost)[1] for cost in _costs(problem, name, moved, reference)])
        order = np.take_along_axis(order, _permuted(problem, name, best.reshape(len(draws), size)), axis=1)
    return order


def _costs(problem: CompletionProblem, name: str, draws: Floats, reference: Floats) -> Floats:
    """(draws, K, K): the squared distance of state i of the reference and state j of each draw."""
    tables, size = problem.tables, problem.tables.variables[name].num_states
    total = np.zeros((len(draws), size, size))
    for family in tables.touching[name]:
        axis = (*tables.parents[family], family).index(name)
        part, shape = tables.part(family), tables.shapes[family]
        mine = np.moveaxis(draws[:, part].reshape(-1, *shape), axis + 1, 1).reshape(len(draws), size, -1)
        wanted = np.moveaxis(reference[part].reshape(shape), axis, 0).reshape(size, -1)
        total += ((wanted[None, :, None, :] - mine[:, None, :, :]) ** 2).sum(axis=-1)
    return total


def _permuted(problem: CompletionProblem, name: str, states: Ints) -> Ints:
    """(draws, entries): the entry that comes to each place where state i of a variable is what was `states[:, i]`."""
    tables = problem.tables
    places = np.tile(np.arange(int(tables.starts[-1])), (len(states), 1))
    for family in tables.touching[name]:
        axis = (*tables.parents[family], family).index(name)
        part, shape = tables.part(family), tables.shapes[family]
        inside = np.moveaxis(places[:, part].reshape(-1, *shape), axis + 1, 1)
        picks = states.reshape(*states.shape, *([1] * (inside.ndim - 2)))
        moved = np.take_along_axis(inside, np.broadcast_to(picks, inside.shape), axis=1)
        places[:, part] = np.moveaxis(moved, 1, axis + 1).reshape(len(states), -1)
    return places
