"""Greedy learners that only add edges: K2, which is given an order, Buntine's B, and one graph a number of edges."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from plausible.base.tolerances import SCORE_NOISE
from plausible.errors import NotSupported
from plausible.graphs import DAG
from plausible.learn.scores.reading import fitting_score, read_score
from plausible.learn.scores.score import FamilyScores
from plausible.learn.structures.graph_search import GraphSearch
from plausible.learn.structures.task import FoundGraph, StructureTask, search_ended
from plausible.search.local_search import GreedyAscent
from plausible.search.search_state import improves


def learn_k2(task: StructureTask, *, order: Sequence[str]) -> FoundGraph:
    """Greedy parents along an order: the best predecessor is added as long as it improves the family.

    K2 with the K2 score (Cooper & Herskovits 1992), K3 with a description length or BIC (Bouckaert 1993). A gain must
    be positive: a parent that changes nothing is not added. Not optimal, but acyclic without any check, and a start for
    other searches. O(n²) families for each parent found.
    """
    names = sorted(task.scores.names)
    constraints = task.knowledge.on(names).along(order, names)
    place = {name: number for number, name in enumerate(names)}
    parents = {
        name: [names[parent] for parent in required]
        for name, required in zip(names, constraints.required_families, strict=True)
    }
    trace = [(0, sum(task.scores.family(name, parents[name]) for name in names))]
    stopped = ""
    for name in order:
        if stopped := task.stopped_by(*trace[-1]):
            break
        before, num_before = task.scores.family(name, parents[name]), len(parents[name])
        free = [names[other] for other in np.flatnonzero(constraints.allowed[:, place[name]]).tolist()]
        parents[name] = _greedy_parents(task, name, parents[name], free, constraints.max_parents)
        if len(parents[name]) > num_before:
            score = trace[-1][1] + task.scores.family(name, parents[name]) - before
            trace.append((trace[-1][0] + len(parents[name]) - num_before, score))
    edges = sorted((parent, name) for name in names for parent in parents[name])
    steps, score = trace[-1]
    return FoundGraph(DAG(edges, nodes=task.scores.names), score, stopped or "local maximum", steps, tuple(trace))


def _greedy_parents(
    task: StructureTask, child: str, required: Sequence[str], candidates: Sequence[str], most: int
) -> list[str]:
    parents = list(required)
    score = task.scores.family(child, parents)
    while len(parents) < most:
        left = [other for other in candidates if other not in parents]
        if not left:
            break
        scores = task.scores.extended(child, parents, left)
        top = float(scores.max())
        if not improves(top - score, score):
            break
        first = int((scores >= top - SCORE_NOISE * max(1.0, abs(top))).argmax())
        parents.append(left[first])
        score = float(scores[first])
    return parents


def learn_buntine(task: StructureTask, *, max_steps: int | None = None) -> FoundGraph:
    """Buntine's B: from no edges, the best edge anywhere that closes no cycle is added as long as it improves.

    Of Buntine (1991). It needs no order, and differs from hill climbing in that it takes nothing back.
    """
    problem = GraphSearch(task.scores, task.knowledge, only_additions=True)
    state = GreedyAscent(max_steps=max_steps).run(problem, problem.start, progress=task.is_over)
    trace, ended = state.trace, search_ended(task, state.stopped_by)
    return FoundGraph(problem.graph(state.best), state.best_score, ended, state.num_steps, trace)


def learn_by_edge_counts(task: StructureTask, *, patience: int = 20) -> FoundGraph:
    """For each number of edges a graph near to the data, and of all these the one with the best score.

    Lam and Bacchus' stratified search: which graph with k edges has the least divergence from the data does not depend
    on what edges cost, so that the cost, such as a description length, has to choose k alone. From k to k + 1 the edge
    is added that the likelihood gains most by. Cost: that of Buntine's B, and a score for each k.

    References
    ----------
    Lam & Bacchus (1994), Learning Bayesian belief networks: an approach based on the MDL principle.
    """
    problem = GraphSearch(_likelihood(task), task.knowledge, only_additions=True)
    state, steps, stopped = problem.start, 0, ""
    best, trace = state, [(0, task.scores.graph(problem.graph(state)))]
    while not stopped and steps - trace[-1][0] < patience:
        move = problem.best_operator(state)
        if move is None:
            break
        state, steps = problem.apply(state, move[0]), steps + 1
        score = task.scores.graph(problem.graph(state))
        if score > trace[-1][1]:
            best = state
            trace.append((steps, score))
        stopped = task.stopped_by(steps, trace[-1][1])
    return FoundGraph(problem.graph(best), trace[-1][1], stopped or "no progress", steps, tuple(trace))


def _likelihood(task: StructureTask) -> FamilyScores:
    """Of the data that the task scores."""
    if task.statistics is None:
        raise NotSupported("A search by numbers of edges needs data, for the likelihood.")
    return read_score(fitting_score(task.statistics, "log-likelihood")).on(task.statistics)
