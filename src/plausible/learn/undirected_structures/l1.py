"""Sparse models: pairs or features that a penalty on their weights leaves, along a path of strengths."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from plausible.base.arrays import Floats
from plausible.base.options import check_count, check_flag, check_number, generator_of
from plausible.data.table_statistics import TableStatistics
from plausible.errors import InvalidArgument, TooLarge
from plausible.learn.undirected.fit import MarkovFit
from plausible.learn.undirected.priors import GroupPrior, LaplacePrior, WeightPrior
from plausible.learn.undirected.sample import Sample
from plausible.learn.undirected_structures.gains import gradients_of
from plausible.learn.undirected_structures.paths import run_along
from plausible.learn.undirected_structures.result import MarkovStructure, PathPoint
from plausible.learn.undirected_structures.task import Task
from plausible.models.features import Feature
from plausible.search.run import CONVERGED, Run

#: So many features enter at a time: those with the steepest slopes, which often make others needless. More where there
#: is no tree that each of them makes larger.
_AT_ONCE = 10
#: The path ends where this many scores in a row are below the best: models only get denser, and dearer.
_MOST_FALLS = 3
#: score -> what it is, of an objective
_SCORES = {"ebic": "extended BIC of the {}", "bic": "BIC of the {}", "cross-validation": "{} of held-out rows"}


class GraftState(NamedTuple):
    """The features that a model has, its fit, and by how much the others' slopes exceed their rates, for one row."""

    active: frozenset[int]  # places among the candidates
    fit: MarkovFit
    excess: Floats  # of each candidate; -inf for those in the model

    @property
    def residual(self) -> float:
        """By how much the conditions of an optimum are missed."""
        return max(self.fit.moment_gap, float(self.excess.max(initial=0.0)), 0.0)


class Grafting(NamedTuple):
    """The penalised model of a task at one strength: features enter by their slopes (Perkins, Lacker & Theiler 2003).

    At the optimum the slope of a feature in the model equals its rate, and that of every other is at most its rate
    (Koller & Friedman 2009, prop. 20.5, whose 1/(2β) should be 1/β).
    """

    task: Task
    objective: str
    strength: float  # the rate for one row
    by_size: bool

    def rate(self, feature: Feature) -> float:
        """Of the penalty of a feature, for one row."""
        return (
            0.0
            if self.task.is_required(feature)
            else self.strength * (_size(self.task, feature) if self.by_size else 1)
        )

    def prior(self, features: Iterable[Feature]) -> Mapping[str, WeightPrior]:
        """The penalty of each feature that has one."""
        scales = {one: 1 / (self.rate(one) * self.task.total) for one in features if self.rate(one) > 0}
        return {one.name: GroupPrior(s) if one.is_table else LaplacePrior(s) for one, s in scales.items()}

    def state(self, active: Iterable[int], start: Mapping[str, float]) -> GraftState:
        """The fit of some features; those whose weights are zero leave."""
        every = self.task.candidates
        listed = sorted(active)
        features = [every[place] for place in listed]
        fit = self.task.fit(features, self.objective, self.prior(features), start)
        design = fit._data.design
        norms = np.bincount(design.groups, fit.run.state.point**2, minlength=len(design.group_names))
        kept = norms[len(self.task.singles) :]
        left = {p for p, norm in zip(listed, kept, strict=True) if norm > 0 or self.task.is_required(every[p])}
        excess = np.full(len(every), -np.inf)
        others = [place for place in range(len(every)) if place not in listed]
        slopes = gradients_of(fit, [every[place] for place in others])
        rates = [self.rate(every[place]) for place in others]
        excess[others] = [np.linalg.norm(s) / self.task.total - r for s, r in zip(slopes, rates, strict=True)]
        return GraftState(frozenset(left), fit, excess)

    def step(self, state: GraftState) -> GraftState:
        """Take in the features whose slopes exceed their rates most, and learn again."""
        most = _AT_ONCE if self.objective == "likelihood" else max(_AT_ONCE, 2 * len(self.task.variables))
        steepest = np.argsort(-state.excess, kind="stable")[:most]
        entering = [place for place in steepest.tolist() if state.excess[place] > self.task.stops.tolerance]
        return self.state({*state.active, *entering}, state.fit.weights)

    def ends(self, state: GraftState) -> str:
        """Converged where no slope outside exceeds its rate, unless time was over before that was known."""
        if state.fit.stopped_by == "time limit":
            return state.fit.stopped_by
        return CONVERGED if not (state.excess > self.task.stops.tolerance).any() else ""


def _size(task: Task, feature: Feature) -> float:
    """The square root of the number of weights that matter."""
    return math.sqrt(num_free(task, feature))


def num_free(task: Task, feature: Feature) -> int:
    """How many weights a feature adds to a model that has all smaller tables."""
    if not feature.is_table:
        return 1
    return math.prod(task.variables[name].num_states - 1 for name in feature.scopes[0])


def learn_l1(
    task: Task,
    *,
    strength: float | None = None,
    strengths: Sequence[float] | None = None,
    num_strengths: int = 20,
    score: str = "ebic",
    folds: int = 5,
    by_size: bool = False,
) -> MarkovStructure:
    """A sparse model by a penalty on pairs or features, at a strength given or chosen along a path."""
    if score not in _SCORES:
        raise InvalidArgument(
            f"score={score!r} is none of {', '.join(map(repr, _SCORES))}, by which strengths are chosen."
        )
    check_flag("by_size", by_size)
    check_count("num_strengths", num_strengths, 1)
    check_count("folds", folds, 2)
    given = [strength] if strength is not None else list(strengths) if strengths is not None else None
    for one in given or ():
        check_number("strength", one, above=0)
    objectives = ("likelihood", "pseudolikelihood") if task.objective is None else (task.objective,)
    for objective in objectives:
        try:
            return _learned(task, objective, given, num_strengths, score, folds, by_size)
        except TooLarge:
            if objective == objectives[-1] or not _is_complete(task):
                raise
    raise AssertionError


def _is_complete(task: Task) -> bool:
    return not any(task.statistics.missing.values())


def _learned(
    task: Task, objective: str, given: Sequence[float] | None, num: int, score: str, folds: int, by_size: bool
) -> MarkovStructure:
    listed = sorted(given, reverse=True) if given is not None else _strengths(task, objective, num, by_size)
    worth = _information(task, objective, is_extended=score == "ebic")
    is_held_out = score == "cross-validation" and len(listed) > 1
    scores: list[float] = []

    def is_enough(state: GraftState) -> bool:
        scores.append(worth(state))
        return given is None and int(np.argmax(scores[::-1])) >= _MOST_FALLS

    runs = _path(task, objective, listed, by_size, *(() if is_held_out else (is_enough,)))
    done = listed[: len(runs)]
    if is_held_out:
        scores = _held_out(task, objective, done, folds, by_size)
    best = int(np.argmax(scores))
    graphs = [task.graph([task.candidates[place] for place in run.state.active]) for run in runs]
    path = tuple(
        PathPoint(
            s, g.num_edges, v, _value(run.state.fit), run.state.residual, tuple((str(a), str(b)) for a, b in g.edges)
        )
        for s, g, v, run in zip(done, graphs, scores, runs, strict=True)
    )
    chosen = runs[best]
    steps = sum(run.num_steps for run in runs)
    whole = Run(chosen.state, steps, runs[-1].stopped_by, tuple(scores), task.clock.seconds)
    features = [task.candidates[place] for place in sorted(chosen.state.active)]
    refit = partial(task.unlimited.fit, features, objective, None, chosen.state.fit.weights, task.stops.tolerance)
    is_kept = len(listed) == 1 or score == "cross-validation"  # then the penalty is part of what was chosen
    return MarkovStructure(
        "l1",
        graphs[best],
        whole,
        f"penalised {objective} at the chosen strength" if is_kept else f"{objective} without the penalty",
        partial(kept_fit, chosen.state.fit) if is_kept else refit,
        objective,
        scores[best],
        path,
        done[best],
        chosen.state.residual,
        scale=_SCORES["bic" if score == "cross-validation" and not is_held_out else score].format(objective),
    )


def kept_fit(fit: MarkovFit) -> MarkovFit:
    """A fit that is there already."""
    return fit


def _strengths(task: Task, objective: str, num: int, by_size: bool) -> list[float]:
    """From the least that leaves nothing down to a hundredth of it, by equal factors."""
    required = [place for place, one in enumerate(task.candidates) if task.is_required(one)]
    empty = Grafting(task, objective, 0.0, by_size).state(required, {})
    factors = np.array([_size(task, one) if by_size else 1.0 for one in task.candidates])
    top = float((empty.excess / factors).max(initial=0.0)) if factors.size else 0.0
    if top <= task.stops.tolerance:
        return [max(top, task.stops.tolerance, 1e-12)]
    return [top] if num == 1 else list(np.geomspace(top, top / 100, num))


def _path(
    task: Task,
    objective: str,
    strengths: Sequence[float],
    by_size: bool,
    is_enough: Callable[[GraftState], bool] = lambda _: False,
) -> list[Run[GraftState]]:
    """The run at each strength, each from the model at the one before."""
    required = [place for place, one in enumerate(task.candidates) if task.is_required(one)]

    def begun(strength: float, before: GraftState | None) -> tuple[Grafting, GraftState]:
        grafting = Grafting(task, objective, strength, by_size)
        known = (required, {}) if before is None else (before.active, before.fit.weights)
        return grafting, grafting.state(*known)

    return run_along(task, strengths, begun, is_enough)


def _value(fit: MarkovFit) -> float:
    """The total objective without the prior."""
    return fit._climb.objective.at(fit.run.state.point)[0]


def _information(task: Task, objective: str, *, is_extended: bool) -> Callable[[GraftState], float]:
    """BIC, or the extended one that also counts how many pairs there are to choose from (Foygel & Drton 2010).

    The weights are learned again without the penalty, which would favour models with edges to spare. In the
    pseudolikelihood each pair is part of two local models, so it counts twice.
    """
    singles = sum(variable.num_states - 1 for variable in task.variables.values())
    made: dict[frozenset[int], float] = {}

    def worth(state: GraftState) -> float:
        if state.active not in made:
            features = [task.candidates[place] for place in sorted(state.active)]
            free = sum(num_free(task, one) for one in features) * (1 if objective == "likelihood" else 2)
            extra = free * math.log(len(task.variables)) if is_extended else 0.0
            value = _value(task.fit(features, objective, None, state.fit.weights, 1e-4))
            made[state.active] = value - 0.5 * (free + singles) * math.log(max(task.total, 1.0)) - extra
        return made[state.active]

    return worth


def _held_out(task: Task, objective: str, strengths: Sequence[float], folds: int, by_size: bool) -> list[float]:
    """The total objective of rows that the fit has not seen, at each strength.

    Rows with a state that the others lack are left out: no strength makes them likely.
    """
    table = task.statistics.table
    fold_of = generator_of(task.seed).permutation(table.num_rows) % folds
    totals = np.zeros(len(strengths))
    for fold in range(min(folds, table.num_rows)):
        seen, new = np.flatnonzero(fold_of != fold), np.flatnonzero(fold_of == fold)
        codes = {name: np.asarray(table.column(name)) for name in task.variables}
        known = [np.isin(column[new], column[seen]) for column in codes.values()]
        new = new[np.all(known, axis=0)]
        if not new.size:
            continue
        inner = replace(task, statistics=TableStatistics(table.take(seen)))
        held = TableStatistics(table.take(new))
        runs = _path(inner, objective, strengths, by_size)
        values = [_held_value(run.state.fit, held) for run in runs if run.converged]
        totals[: len(values)] += values
        totals[len(values) :] = -np.inf
    return [float(total) for total in totals]


def _held_value(fit: MarkovFit, held: TableStatistics) -> float:
    sample = fit._data
    goal = fit._method.on(Sample.of(sample.design, held, sample.engine, sample.budget))
    return replace(goal, design=fit._climb.objective.design).at(fit.run.state.point)[0]
