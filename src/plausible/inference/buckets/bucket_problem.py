"""From a `Problem` to mini-buckets: an order, a tree, and logarithms."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

import numpy as np

from plausible.base.arrays import Floats
from plausible.engine.ordering import best_elimination
from plausible.inference.buckets.bucket_tree import BucketTree, Limits, bucket_tree
from plausible.inference.map_orders import constrained_order
from plausible.inference.problem import Problem

__all__ = ["free_order", "log_tables", "scale_slack", "sums_first", "tree_of"]


def free_order(problem: Problem) -> list[int]:
    """All variables in a greedy order that keeps exact tables small: copies are then few, too."""
    if not problem.variables:
        return []
    return [int(v) for v in best_elimination(problem.scopes, problem.scope_starts, problem.sizes).order]


def sums_first(problem: Problem, maximized: Collection[int]) -> list[int]:
    """All variables, those that are not maximised first."""
    names = {problem.variables[place].name for place in maximized}
    order = constrained_order(problem.factors, names)
    places = {variable.name: place for place, variable in enumerate(problem.variables)}
    return [places[name] for name in (*order.sums, *order.maxima)]


def tree_of(problem: Problem, order: Sequence[int], kept: Sequence[int], limits: Limits) -> BucketTree:
    """The mini-buckets of a problem whose other variables are eliminated in the order given."""
    scopes = [problem.scope(factor) for factor in range(len(problem.factors))]
    left = [v for v in order if v not in set(kept)]
    return bucket_tree(scopes, problem.sizes.tolist(), left, kept, limits)


def log_tables(problem: Problem) -> list[Floats]:
    """The logarithms of each factor's table, without axes for variables of one state."""
    shapes = [[int(n) for n in problem.sizes[list(problem.scope(f))] if n > 1] for f in range(len(problem.factors))]
    starts = problem.table_starts.tolist()
    return [
        problem.logs[start:end].reshape(shape) for start, end, shape in zip(starts, starts[1:], shapes, strict=False)
    ]


def scale_slack(problem: Problem) -> float:
    """By how much rounding may have moved `problem.log_scale`, a pairwise sum of logarithms of floats."""
    num_factors = len(problem.factors) + 1
    largest = 2 * math.log(np.finfo(np.float64).max)
    return float(np.finfo(np.float64).eps) * (math.log2(num_factors) + 4) * num_factors * largest
