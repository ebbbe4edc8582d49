"""A graph for each number of edges by likelihood, and of these the best by a score."""

from __future__ import annotations

from plausible.errors import NotSupported
from plausible.learn.scores.reading import fitting_score, read_score
from plausible.learn.scores.score import FamilyScores
from plausible.learn.structures.graph_search import GraphSearch
from plausible.learn.structures.task import Found, StructureTask

__all__ = ["learn_by_edge_counts"]


def learn_by_edge_counts(task: StructureTask, *, patience: int = 20) -> Found:
    """For each number of edges a graph near to the data, and of all these the one with the best score.

    Lam and Bacchus' stratified search: which graph with k edges has the least divergence from the data does not depend
    on what edges cost, so that the cost, such as a description length, has to choose k alone. From k to k + 1 the edge
    is added that the likelihood gains most by. Cost: that of Buntine's B, and a score for each k.

    Parameters
    ----------
    task
        Scores and knowledge.
    patience
        It ends after so many edges in a row without a better score.

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
        stopped = task.stopped(steps, trace[-1][1])
    return Found(problem.graph(best), tuple(trace), stopped or "no progress", steps)


def _likelihood(task: StructureTask) -> FamilyScores:
    """Of the data that the task scores."""
    if task.statistics is None:
        raise NotSupported("A search by numbers of edges needs data, for the likelihood.")
    return read_score(fitting_score(task.statistics, "log-likelihood")).on(task.statistics)
