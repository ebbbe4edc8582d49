"""Neighbourhoods of all variables at once: the variables that a penalised regression on all others wants."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Literal

import numpy as np

from plausible.base.arrays import Flags, Floats
from plausible.base.options import check_count, check_number
from plausible.errors import InvalidArgument
from plausible.graphs import UndirectedGraph
from plausible.learn.undirected_structures.paths import run_along
from plausible.learn.undirected_structures.regressions import Coded, Regressions, RegressionState
from plausible.learn.undirected_structures.result import MarkovStructure, PathPoint
from plausible.learn.undirected_structures.task import Task, fit_either, pair_feature
from plausible.search.run import Run, Stops, iterate


def learn_neighbourhoods(
    task: Task,
    *,
    strength: float | None = None,
    strengths: Sequence[float] | None = None,
    num_strengths: int = 20,
    rule: Literal["and", "or"] = "and",
    gamma: float = 0.25,
) -> MarkovStructure:
    """A penalised (multinomial) logistic regression of each variable on all others; edges where both or one want it."""
    if rule not in ("and", "or"):
        raise InvalidArgument(f'rule={rule!r} must be "and" or "or".')
    check_count("num_strengths", num_strengths, 1)
    check_number("gamma", gamma, least=0)
    task.refuse_missing("neighbourhood")
    coded, clock = Coded.of(task), task.clock
    given = [strength] if strength is not None else list(strengths) if strengths is not None else None
    for one in given or ():
        check_number("strength", one, above=0)
    listed = sorted(given, reverse=True) if given is not None else _strengths(task, coded, num_strengths)

    def begun(one: float, before: RegressionState | None) -> tuple[Regressions, RegressionState]:
        problem = Regressions(coded, np.where(coded.is_allowed, one * coded.penalties, np.inf), task.stops.tolerance)
        size = (1 + coded.owner.size, coded.owner.size)
        return problem, problem.init(np.zeros(size) if before is None else before.weights)

    states = run_along(task, listed, begun)
    wanted = [coded.norms(run.state.weights) > 0 for run in states]
    scores = np.full((1, len(task.variables)), np.nan)
    if len(states) > 1:
        scores = np.array([_scores(task, coded, run.state, w, gamma) for run, w in zip(states, wanted, strict=True)])
    chosen = np.argmax(scores, axis=0)  # each variable has the strength that is best for it
    best = np.stack([wanted[row][:, target] for target, row in enumerate(chosen)], axis=1)
    graph = _graph(task, best, rule)
    path = tuple(
        _point(task, one, run.state, _graph(task, w, rule), float(line.sum()))
        for one, run, w, line in zip(listed, states, wanted, scores, strict=False)
    )
    whole = Run(
        states[-1].state,
        sum(run.num_steps for run in states),
        states[-1].stopped_by,
        tuple(float(line.sum()) for line in scores),
        clock.seconds,
    )
    return MarkovStructure(
        "neighbourhood",
        graph,
        whole,
        "likelihood of a table on each pair, or the pseudolikelihood where log Z takes too long, without a penalty",
        partial(fit_either, task.unlimited, [pair_feature(map(str, edge), task.variables) for edge in graph.edges]),
        "pseudolikelihood",
        float(scores.max(axis=0).sum()),
        path,
        listed[0] if len(listed) == 1 else math.nan,
        max(point.kkt_residual for point in path),
        scale="extended BIC of all regressions",
    )


def _strengths(task: Task, coded: Coded, num: int) -> list[float]:
    """From the least that leaves nothing down to a hundredth of it, by equal factors."""
    size = (1 + coded.owner.size, coded.owner.size)
    fixed = np.where(coded.penalties == 0, 0.0, 1e9)
    problem = Regressions(coded, np.where(coded.is_allowed, fixed, np.inf), task.stops.tolerance)
    empty = iterate(problem.step, problem.init(np.zeros(size)), Stops(max_steps=100), ends=problem.ends)
    slopes = coded.norms(empty.state.slopes) * (coded.is_allowed & (coded.penalties > 0))
    top = float(slopes.max(initial=0.0))
    if top <= task.stops.tolerance:
        return [max(top, task.stops.tolerance, 1e-12)]
    return [top] if num == 1 else list(np.geomspace(top, top / 100, num))


def _scores(task: Task, coded: Coded, state: RegressionState, wanted: Flags, gamma: float) -> Floats:
    """The extended BIC of each target's regression, learned again without the penalty (Barber & Drton 2015)."""
    problem = Regressions(coded, np.where(wanted, 0.0, np.inf), 1e-4)
    fitted = iterate(problem.step, problem.init(state.weights), Stops(max_steps=20), ends=problem.ends)
    widths = np.array([contrast.shape[1] for contrast in coded.contrasts], dtype=float)
    free = widths * (widths @ wanted)
    price = 0.5 * math.log(max(task.total, 1.0)) + gamma * math.log(max(len(widths) - 1, 1))
    return np.asarray(-task.total * fitted.state.losses - free * price)


def _graph(task: Task, wanted: Flags, rule: str) -> UndirectedGraph:
    names = list(task.variables)
    both = wanted & wanted.T if rule == "and" else wanted | wanted.T
    edges = {(min(names[a], names[b]), max(names[a], names[b])) for a, b in np.argwhere(both) if a < b}
    edges |= {(min(pair), max(pair)) for pair in task.required}
    return UndirectedGraph(sorted(edges), nodes=names)


def _point(task: Task, strength: float, state: RegressionState, graph: UndirectedGraph, score: float) -> PathPoint:
    edges = tuple((str(a), str(b)) for a, b in graph.edges)
    total = -task.total * float(state.losses.sum())
    return PathPoint(float(strength), len(edges), score, total, float(state.residuals.max(initial=0.0)), edges)
