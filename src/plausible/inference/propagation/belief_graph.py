"""The Bethe cluster graph of a problem as lists of edges, and how often each factor counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from plausible.inference.problem import Problem

if TYPE_CHECKING:
    from plausible.kernels.messages import MessageGraph

__all__ = ["is_forest", "message_graph", "tree_weights", "walking_order"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def message_graph(problem: Problem, weights: Floats) -> MessageGraph:
    """One cluster for each factor and one for each variable, joined by an edge for each variable of each factor.

    `weights` says how often each factor counts: once in ordinary belief propagation.
    """
    from plausible.kernels.messages import EDGE, FACTOR, VARIABLE, MessageGraph

    variables = np.empty(len(problem.variables), dtype=VARIABLE)
    ends = np.cumsum(np.bincount(problem.scopes, minlength=variables.size))
    variables["size"], variables["first"], variables["last"] = problem.sizes, _before(ends), ends
    factors = np.empty(len(problem.factors), dtype=FACTOR)
    factors["first"], factors["last"] = problem.scope_starts[:-1], problem.scope_starts[1:]
    factors["table"], factors["weight"] = problem.table_starts[:-1], weights
    edges = np.empty(problem.scopes.size, dtype=EDGE)
    edges["variable"], edges["factor"] = problem.scopes, _owners(problem)
    edges["start"] = _before(np.cumsum(problem.sizes[problem.scopes]))
    with np.errstate(divide="ignore"):
        logs = np.log(problem.tables) / np.repeat(weights, np.diff(problem.table_starts))
    return MessageGraph(variables, factors, edges, _around(problem), logs, np.exp(logs))


def walking_order(problem: Problem) -> Ints:
    """The variables of each component of the factor graph, nearest to its first first."""
    from plausible.kernels.message_graphs import walk

    order = np.empty(len(problem.variables), dtype=np.int64)
    edge_starts = np.searchsorted(np.sort(problem.scopes), np.arange(order.size + 1))
    seen = np.zeros(order.size + len(problem.factors), dtype=np.int64)
    around, owners = _around(problem), _owners(problem)
    walk(problem.sizes, problem.scope_starts, problem.scopes, edge_starts, around, owners, seen, order)
    return order


def is_forest(problem: Problem) -> bool:
    """Whether the factor graph has no cycle, variables of one state aside.

    Two factors that share two variables make a cycle.
    """
    return bool(_counts_without_cycle(problem, np.arange(len(problem.factors))).all())


def tree_weights(problem: Problem, num_trees: int, seed: int) -> Floats:
    """In what share of random sets of factors without cycles each factor is: always above zero, one on a forest.

    A set is filled in random order, for as long as no cycle arises in the factor graph, so that for pairs it is a
    spanning forest. Factors that no set had yet come first, and sets are added to the first `num_trees` until all
    had their turn.
    """
    rng = np.random.default_rng(seed)
    counts = np.zeros(len(problem.factors), dtype=np.int64)
    if is_forest(problem):
        return np.ones(len(problem.factors))
    num_drawn = 0
    while num_drawn < num_trees or not counts.all():
        sequence = np.argsort(rng.random(counts.size) + (counts > 0))
        counts += _counts_without_cycle(problem, sequence)
        num_drawn += 1
    return counts / num_drawn


def _counts_without_cycle(problem: Problem, sequence: Ints) -> Ints:
    """One for each factor that closes no cycle with those before it in the sequence, zero for the others."""
    from plausible.kernels.message_graphs import acyclic

    num = len(problem.variables)
    counts = np.zeros(len(problem.factors), dtype=np.int64)
    roots, stamps = np.arange(num), np.full(num, -1)
    acyclic(problem.sizes, problem.scope_starts, problem.scopes, sequence, roots, stamps, counts)
    return counts


def _owners(problem: Problem) -> Ints:
    """The factor of each edge."""
    return np.repeat(np.arange(len(problem.factors)), np.diff(problem.scope_starts))


def _around(problem: Problem) -> Ints:
    """The edges, variable by variable."""
    return np.argsort(problem.scopes, kind="stable")


def _before(ends: Ints) -> Ints:
    """Where each begins, from where each ends."""
    return np.concatenate([np.zeros(1, dtype=np.int64), ends[:-1]]) if ends.size else ends
