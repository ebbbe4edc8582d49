"""Greedy search over features by a score: add or delete, by gains first and the score itself then."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from plausible.base.arrays import Floats
from plausible.base.options import check_count, generator_of
from plausible.base.tolerances import score_noise
from plausible.errors import InvalidArgument, TooLarge
from plausible.graphs import UndirectedGraph
from plausible.graphs.graph_input import read_as
from plausible.learn.undirected.fit import MarkovFit
from plausible.learn.undirected.priors import GaussianPrior, GroupPrior, LaplacePrior, WeightPrior
from plausible.learn.undirected_structures.gains import Measured, best_alone, gradients_of
from plausible.learn.undirected_structures.l1 import kept_fit, num_free
from plausible.learn.undirected_structures.result import MarkovStructure
from plausible.learn.undirected_structures.task import Task, pairs_of, width_of
from plausible.models.features import Feature
from plausible.search.run import CONVERGED, Clock, Run, best_run, iterate

#: score -> what it is
_SCORES = {
    "bic": "BIC",
    "laplace": "Laplace's approximation of log P(rows)",
    "map": "log-likelihood with the prior",
    "pseudolikelihood": "BIC of the pseudolikelihood",
}
#: A restart adds or deletes so many features at random.
_PERTURBED = 3


class GreedyState(NamedTuple):
    """The features that a model has, its fit and its score."""

    active: frozenset[int]  # places among the candidates
    fit: MarkovFit
    score: float
    is_last: bool = False  # whether no move that was tried leads higher
    moved: tuple[int, ...] = ()  # candidates that a tabu search moved last, the newest last
    best: GreedyState | None = None  # where a tabu search was highest, while it is lower
    num_lower: int = 0  # its steps since then


@dataclass(frozen=True, slots=True, eq=False)
class GreedySearch:
    """Greedy search of a task by a score (Koller & Friedman 2009, algorithm 20.1)."""

    task: Task
    score: str
    prior: WeightPrior | None
    is_feasible: Callable[[frozenset[int]], bool]
    batch: int
    tries: int
    tabu: int = 0

    @property
    def objective(self) -> str:
        """What is fitted."""
        return "pseudolikelihood" if self.score == "pseudolikelihood" else "likelihood"

    def features(self, active: Iterable[int]) -> list[Feature]:
        """The candidates at some places."""
        return [self.task.candidates[place] for place in sorted(active)]

    def state(self, active: frozenset[int], start: Mapping[str, float]) -> GreedyState:
        """Learn the weights, and score; features with weights of zero leave under the score "map"."""
        features = self.features(active)
        prior = {one.name: self._prior_of(one) for one in features} if self.score == "map" else self.prior
        fit = self.task.fit(features, self.objective, prior, start)
        if self.score == "map":
            groups = fit._data.design.groups
            norms = np.bincount(groups, fit.run.state.point**2, minlength=len(fit._data.design.group_names))
            kept = norms[len(self.task.singles) :] > 0
            active = frozenset(p for p, k in zip(sorted(active), kept, strict=True) if k or self._is_fixed(p))
        return GreedyState(active, fit, self._value(fit, features))

    def _prior_of(self, feature: Feature) -> Any:
        if isinstance(self.prior, LaplacePrior) and feature.is_table:
            return GroupPrior(self.prior.scale)
        return self.prior

    def _is_fixed(self, place: int) -> bool:
        return self.task.is_required(self.task.candidates[place])

    def _value(self, fit: MarkovFit, features: Iterable[Feature]) -> float:
        if self.score == "bic":
            return fit.bic()
        if self.score == "laplace":
            return fit.laplace()
        if self.score == "map":
            return fit.objective - fit._climb.penalty.constant
        singles = sum(variable.num_states - 1 for variable in self.task.variables.values())
        free = singles + 2 * sum(num_free(self.task, one) for one in features)
        return fit.objective - 0.5 * free * math.log(max(self.task.total, 1.0))

    def _price(self, feature: Feature) -> float:
        """About what the score takes for a feature."""
        times = {"map": 0, "pseudolikelihood": 2}.get(self.score, 1)
        return 0.5 * times * num_free(self.task, feature) * math.log(max(self.task.total, 1.0))

    def step(self, state: GreedyState) -> GreedyState:
        """The most promising moves together, if the score rises; else the first of them that raises it alone."""
        moves = self._moves(state)
        better = state.score + score_noise(state.score)
        together = self._joined(state.active, [place for gain, place in moves if gain > 0])
        trials = [together] if len(together ^ state.active) > 1 else []
        trials += [state.active ^ {place} for _, place in moves[: self.tries]]
        for active in trials:
            if self.task.clock.is_over:
                return state
            try:
                found = self.state(active, state.fit.weights)
            except TooLarge:
                continue
            if found.score > better:
                return found
        return state._replace(is_last=True)

    def tabu_step(self, state: GreedyState) -> GreedyState:
        """The best of the most promising moves that are not among the last few, though it may lead lower.

        It ends at the highest graph where none of twice as many steps led higher.
        """
        best = state.best or state
        free = [place for _, place in self._moves(state) if place not in state.moved]
        found: GreedyState | None = None
        for place in free[: self.tries]:
            if self.task.clock.is_over:
                break
            try:
                tried = self.state(state.active ^ {place}, state.fit.weights)
            except TooLarge:
                continue
            if found is None or tried.score > found.score:
                found = tried._replace(moved=(*state.moved, place)[-self.tabu :])
        if found is not None and found.score > best.score + score_noise(best.score):
            return found
        if found is None or state.num_lower >= 2 * self.tabu:
            return best._replace(is_last=True)
        return found._replace(best=best, num_lower=state.num_lower + 1)

    def _joined(self, active: frozenset[int], places: list[int]) -> frozenset[int]:
        """Up to `batch` moves at once, those that break a bound left out."""
        made = active
        for place in places:
            if len(made ^ active) < self.batch and self.is_feasible(made ^ {place}):
                made = made ^ {place}
        return made

    def _moves(self, state: GreedyState) -> list[tuple[float, int]]:
        """(about what the score gains, candidate to add or delete), the best first."""
        every = self.task.candidates
        absent = [p for p in range(len(every)) if p not in state.active and self.is_feasible(state.active | {p})]
        gains = self._gains(state.fit, [every[place] for place in absent])
        moves = [(gain - self._price(every[place]), place) for gain, place in zip(gains, absent, strict=True)]
        for number, place in enumerate(sorted(state.active)):
            if not self._is_fixed(place):
                moves.append((self._price(every[place]) - self._loss(state.fit, number), place))
        return sorted(moves, key=lambda move: -round(move[0], 9))

    def _gains(self, fit: MarkovFit, features: list[Feature]) -> list[float]:
        """By what each adds alone; by slopes where there is no such formula."""
        slopes = [float(np.linalg.norm(slope)) for slope in gradients_of(fit, features)]
        if self.score == "pseudolikelihood" or not features:
            return slopes
        measured = Measured.of(fit, features)
        parts = [measured.part(number) for number in range(len(features))]
        return [
            best_alone(part, self._prior_of(one))[0] if len(part.design.scopes) == 1 else slope
            for part, one, slope in zip(parts, features, slopes, strict=True)
        ]

    def _loss(self, fit: MarkovFit, number: int) -> float:
        """What is lost at most where the weights of an active feature become zero: no other weight moves."""
        climbed, point = fit._climb, fit.run.state.point
        is_meant = fit._data.design.groups == len(self.task.singles) + number
        without: Floats = np.where(is_meant, 0.0, point)
        here, there = (climbed.objective.at(at)[0] + climbed.penalty.log_density(at) for at in (point, without))
        return here - there


def learn_greedy(
    task: Task,
    *,
    score: str = "bic",
    prior: WeightPrior | None = None,
    start: Any = (),
    max_edges: int | None = None,
    max_features: int | None = None,
    max_treewidth: int | None = None,
    batch: int = 1,
    tries: int = 5,
    restarts: int = 0,
    tabu: int = 0,
) -> MarkovStructure:
    """Add and delete features while a score rises."""
    if score not in _SCORES:
        raise InvalidArgument(f"score={score!r} is none of {', '.join(map(repr, _SCORES))}.")
    if prior is not None and score not in ("laplace", "map"):
        raise InvalidArgument(f"score={score!r} takes no prior=.")
    for name, count, least in (("batch", batch, 1), ("tries", tries, 1), ("restarts", restarts, 0), ("tabu", tabu, 0)):
        check_count(name, count, least)
    task.refuse_missing("greedy")
    chosen = prior or {"laplace": GaussianPrior(1.0), "map": LaplacePrior(1.0)}.get(score)
    limits = (max_edges, max_features, max_treewidth)
    for name, limit in zip(("max_edges", "max_features", "max_treewidth"), limits, strict=True):
        if limit is not None:
            check_count(name, limit)
    search = GreedySearch(
        replace(task, objective="likelihood"), score, chosen, partial(_is_within, task, limits), batch, tries, tabu
    )
    begun = read_as(start, UndirectedGraph).edges if start else ()
    pairs = {frozenset(map(str, edge)) for edge in begun} | task.required
    first = frozenset(place for place, one in enumerate(task.candidates) if pairs_of(one) and pairs_of(one) <= pairs)

    def run_from(active: frozenset[int], clock: Clock) -> Run[GreedyState]:
        ends: Callable[[GreedyState], str] = lambda state: CONVERGED if state.is_last else ""  # noqa: E731
        begin = search.state(active, {})
        step = search.tabu_step if tabu else search.step
        return iterate(step, begin, task.stops, ends=ends, objective=attrgetter("score"), clock=clock)

    runs = best_run(run_from, _starts(search, first, restarts), task.clock)
    state = runs[0].state.best or runs[0].state  # a tabu search that a limit ended may be lower than it was
    graph = task.graph(search.features(state.active))
    fitted_by = f"{search.objective}, as scored"
    fit = partial(kept_fit, state.fit)
    return MarkovStructure(
        "greedy", graph, runs[0], fitted_by, fit, search.objective, state.score, scale=_SCORES[score]
    )


def _starts(search: GreedySearch, first: frozenset[int], restarts: int) -> Iterator[frozenset[int]]:
    """The start, then others a few random moves away from it that break no bound."""
    yield first
    generator = generator_of(search.task.seed)
    free = [place for place in range(len(search.task.candidates)) if not search._is_fixed(place)]
    for _ in range(restarts):
        flipped = generator.permutation(free)[:_PERTURBED].tolist()
        moved = first ^ frozenset(flipped)
        yield moved if search.is_feasible(moved) else first


def _is_within(task: Task, limits: tuple[int | None, ...], active: frozenset[int]) -> bool:
    """Whether the graph of some candidates has no more edges, features and treewidth (by min-fill) than allowed."""
    max_edges, max_features, max_treewidth = limits
    if limits == (None, None, None):
        return True
    graph = task.graph([task.candidates[place] for place in active])
    return (
        (max_edges is None or graph.num_edges <= max_edges)
        and (max_features is None or len(active) <= max_features)
        and (max_treewidth is None or width_of(graph) <= max_treewidth)
    )
