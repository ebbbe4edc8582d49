"""Forests of greatest likelihood, and what pairs say of each other when nothing else is looked at."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial

import numpy as np

from plausible.base.arrays import Floats
from plausible.base.tolerances import score_noise
from plausible.data.statistics import Request, in_order
from plausible.errors import InvalidArgument
from plausible.graphs import UndirectedGraph, maximum_spanning_forest
from plausible.graphs.nodes import Node
from plausible.learn.undirected_structures.result import MarkovStructure
from plausible.learn.undirected_structures.task import Pair, Task, fit_cliques, pairs_of
from plausible.search.run import CONVERGED, Run

#: score -> what it is, where models are scored by what they gain
GAIN_SCALES = {"bic": "gain in BIC over no edges", "likelihood": "gain in log-likelihood over no edges"}


def learn_forest(task: Task, *, score: str = "bic") -> MarkovStructure:
    """The forest of greatest likelihood, less half the degrees of freedom times log M for each edge with BIC."""
    if score not in ("bic", "likelihood"):
        raise InvalidArgument(f'score={score!r} must be "bic" or "likelihood".')
    task.refuse_missing("chow-liu")
    allowed = {pair for one in task.candidates for pair in pairs_of(one)} | task.required
    gains = pair_gains(task, allowed, is_penalized=score == "bic")
    noise = score_noise(task.total)
    tops = 1 + sum(abs(gain) for gain in gains.values())
    weights = {pair: gain + (tops if pair in task.required else 0.0) for pair, gain in gains.items()}
    wanted: dict[tuple[Node, Node], float] = {
        (min(pair), max(pair)): weights[pair] for pair in sorted(weights, key=sorted) if weights[pair] > noise
    }
    graph = maximum_spanning_forest(UndirectedGraph(list(wanted), nodes=task.variables), wanted).graph
    for pair in task.required:
        if not graph.has_edge(*sorted(pair)):
            raise InvalidArgument("The required edges have a cycle, so no forest has all of them.")
    total = sum(gains[frozenset(map(str, edge))] for edge in graph.edges)
    run = Run(graph, 0, CONVERGED, (total,))
    fitted_by = "maximum likelihood of a table on each edge, counted"
    fit = partial(fit_cliques, task.unlimited, graph)
    return MarkovStructure("chow-liu", graph, run, fitted_by, fit, score=total, scale=GAIN_SCALES[score])


def pair_gains(task: Task, pairs: Iterable[Pair], *, is_penalized: bool) -> dict[Pair, float]:
    """M times the mutual information of each pair, and with BIC less (k - 1)(l - 1)/2 · log M."""
    heads: dict[str, list[str]] = {}
    for first, second in sorted(tuple(sorted(pair)) for pair in pairs):
        heads.setdefault(first, []).append(second)
    answers = task.statistics.counts_of([Request(first, (), tuple(others)) for first, others in heads.items()])
    gains: dict[Pair, float] = {}
    for (first, others), stacks in zip(heads.items(), answers, strict=True):
        for second, counts in zip(others, in_order(stacks), strict=True):
            table = np.asarray(counts, dtype=float)
            free = (table.shape[0] - 1) * (table.shape[1] - 1)
            price = 0.5 * free * np.log(max(task.total, 1.0)) if is_penalized else 0.0
            gains[frozenset((first, second))] = log_ratio(table[:, None, :]) - price
    return gains


def log_ratio(table: Floats) -> float:
    """M I(x; y | s) of counts with axes (x, s, y): Σ counts · log P(x, y | s) / (P(x | s) P(y | s)).

    >>> round(log_ratio(np.array([[[2.0, 0.0]], [[0.0, 2.0]]])), 4)    # four rows, one bit each
    2.7726
    """
    expected = table.sum(axis=2, keepdims=True) * table.sum(axis=0, keepdims=True)
    totals = np.broadcast_to(table.sum(axis=(0, 2), keepdims=True), table.shape)
    live = table > 0
    return float((table[live] * np.log(table[live] * totals[live] / expected[live])).sum())


def screened(task: Task, num_candidates: int) -> Task:
    """The task with only so many candidates that are not required: those whose pairs depend most on each other."""
    free = [one for one in task.candidates if not task.is_required(one)]
    gains = pair_gains(task, {pair for one in free for pair in pairs_of(one)}, is_penalized=True)
    worth = [max((gains[pair] for pair in pairs_of(one)), default=0.0) for one in free]
    kept = {free[place].name for place in np.argsort(-np.array(worth), kind="stable")[:num_candidates]}
    chosen = tuple(one for one in task.candidates if one.name in kept or task.is_required(one))
    return replace(task, candidates=chosen)
