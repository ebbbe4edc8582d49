"""Methods that look at all graphs at once, by name: exact ones, orders, and equivalence classes."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType

from plausible.data.statistics import Statistics
from plausible.errors import InvalidArgument, NotSupported
from plausible.graphs import DAG
from plausible.learn.scores.dirichlet import BDeuScore, BDsScore, K2Score
from plausible.learn.scores.gaussian import GaussianLikelihood
from plausible.learn.scores.penalized import AIC, BIC, PenalizedLikelihood
from plausible.learn.scores.score import Score
from plausible.learn.structures.exact.dynamic_programming import optimal_by_subsets
from plausible.learn.structures.exact.equivalence import search_classes
from plausible.learn.structures.exact.order_graph import optimal_by_orders
from plausible.learn.structures.exact.orders import FEW_FAMILIES, search_orders
from plausible.learn.structures.exact.parent_sets import MAX_FAMILIES
from plausible.learn.structures.exact.result import BoundedResult
from plausible.learn.structures.exact.superset_bounds import DirichletBound, GaussianBound, PenaltyBound, SupersetBound
from plausible.learn.structures.local import Stage, search_in_stages
from plausible.learn.structures.task import Found, StructureTask
from plausible.search.local_search import GreedyAscent

__all__ = ["OVERALL_METHODS", "bound_for"]


def bound_for(score: Score | None, statistics: Statistics | None) -> SupersetBound | None:
    """What rules out parent sets that can't be best under a score; `None` where nothing is known of it."""
    if statistics is None:
        return None
    if isinstance(score, BIC):
        return PenaltyBound(statistics)
    if isinstance(score, AIC):
        return PenaltyBound(statistics, 1.0)
    if isinstance(score, PenalizedLikelihood):
        return PenaltyBound(statistics, score.penalty)
    if isinstance(score, GaussianLikelihood):
        return GaussianBound(statistics, score.penalty)
    return DirichletBound(statistics) if isinstance(score, (BDeuScore, BDsScore, K2Score)) else None


def _exact(task: StructureTask, *, max_bytes: float = 2**30, max_families: int = MAX_FAMILIES) -> Found:
    bound, num_sets = bound_for(task.score, task.statistics), 2.0 ** len(task.scores.names)
    climbed = _climbed(task)
    found = optimal_by_subsets(
        task.scores,
        task.knowledge,
        bound=bound,
        max_bytes=max_bytes,
        max_families=max_families,
        time_limit=_seconds_left(task),
        progress=lambda fraction: task.is_told(round(fraction * num_sets)),
    )
    return _better(_found(found), climbed)


def _a_star(task: StructureTask, *, max_nodes: int = 2_000_000, max_families: int = MAX_FAMILIES) -> Found:
    bound, climbed = bound_for(task.score, task.statistics), _climbed(task)
    found = optimal_by_orders(
        task.scores,
        task.knowledge,
        bound=bound,
        max_nodes=max_nodes,
        max_families=max_families,
        time_limit=_seconds_left(task),
        progress=lambda score, _: task.is_told(0, score),
    )
    return _better(_found(found), climbed)


def _orders(task: StructureTask, *, max_families: int = FEW_FAMILIES) -> Found:
    bound, seconds = bound_for(task.score, task.statistics), _seconds_left(task)
    found = search_orders(
        task.scores,
        task.knowledge,
        bound=bound,
        max_families=max_families,
        seed=task.seed,
        time_limit=seconds,
        progress=task.progress,
    )
    return _found(found)


def _classes(task: StructureTask) -> Found:
    if isinstance(task.start, str):
        raise InvalidArgument(
            f"start={task.start!r}: a search over equivalence classes starts from a DAG, or from none."
        )
    if task.score is not None and not task.score.is_score_equivalent:
        raise NotSupported(
            f"{type(task.score).__name__} scores graphs of one equivalence class differently, so that 'ges' can't tell "
            "how good a class is. Take a score such as 'bic' or 'bdeu' (states), 'gaussian-bic' or 'bge' (numbers); "
            "or, as for mixed data, whose directions are restricted, the method 'hill-climbing', 'orders' or 'a-star'."
        )
    if task.statistics is not None and task.statistics.interventions:
        name = next(iter(task.statistics.interventions))
        raise NotSupported(
            f"Rows in which {name!r} was set from outside tell graphs of one equivalence class apart, so that 'ges' "
            "can't tell how good a class is. causal.gies searches the classes that they leave; the methods "
            "'hill-climbing', 'orders' and 'a-star' search single graphs."
        )
    found = search_classes(
        task.scores,
        task.knowledge,
        start=task.start,
        time_limit=_seconds_left(task),
        progress=task.is_told,
    )
    return _found(found)


def _climbed(task: StructureTask) -> Found | None:
    """A graph by hill climbing, for when a method that is to be exact has to stop: none if time sets no limit.

    A quarter of the time goes to it at most.
    """
    seconds = _seconds_left(task)
    if seconds is None:
        return None
    return search_in_stages(replace(task, deadline=time.monotonic() + seconds / 4), [Stage(GreedyAscent())])


def _better(found: Found, other: Found | None) -> Found:
    """What was found, with the graph of the other if that is better."""
    if other is None or not other.trace or other.trace[-1][1] <= found.trace[-1][1]:
        return found
    return replace(found, graph=other.graph, trace=other.trace)


def _seconds_left(task: StructureTask) -> float | None:
    return None if task.deadline is None else max(0.0, task.deadline - time.monotonic())


def _found(result: BoundedResult) -> Found:
    graph: DAG = result.graph
    return Found(graph, ((result.steps, result.score),), result.stopped, result.steps, result.bound)


#: Name -> what finds a graph for a task.
OVERALL_METHODS: Mapping[str, Callable[..., Found]] = MappingProxyType(
    {"exact": _exact, "a-star": _a_star, "orders": _orders, "ges": _classes}
)
