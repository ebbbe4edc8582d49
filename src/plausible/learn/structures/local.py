"""Local searches over graphs: the searches of `plausible.search`, with defaults that suit graphs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from plausible.base import check_count, unless, whole
from plausible.errors import InvalidArgument, NotSupported
from plausible.graphs import DAG
from plausible.learn.structures.constructive import learn_tree
from plausible.learn.structures.exact.equivalence import search_classes
from plausible.learn.structures.exact.optimal_parents import bound_for
from plausible.learn.structures.exact.orders import search_orders
from plausible.learn.structures.graph_search import GraphSearch
from plausible.learn.structures.knowledge import Families, FoundGraph, StructureTask, search_ended
from plausible.search.local_search import BasinFlooding, BeamSearch, FirstAscent, GreedyAscent, SearchMethod, TabuSearch
from plausible.search.metaheuristics import (
    CoolingSchedule,
    ExponentialCooling,
    PerturbationRestarts,
    RandomRestarts,
    Restarts,
    SimulatedAnnealing,
)
from plausible.search.search_problem import OperatorT, SearchProblem, SearchState, StateT, improves

#: Steps of a walk within an equivalence class: enough to change the neighbours, few enough to score them soon.
_WALK = 20
#: A walk takes the edges of fewer variables out, which are near each other: what far ones gain or lose does not meet.
_MOST_STRIPPED = 10
#: So many walks in a row lead nowhere before a start is left: on 48 data sets of 8 networks 100 gained no more.
_ESCAPES = 60
#: Many variables need more: walks for each of them, which are near all others in turn.
_ESCAPES_PER_VARIABLE = 0.3
#: Of more variables one start is climbed from, the graph of equivalence search where there is one: from it, three
#: networks of 1,000 ended 388 below and 812 and 142 above where they did from the best forest.
_MANY = 500


#: Of no more variables an order is looked for, too, with the best parents along it: on 22 small data sets 7 graphs
#: without it were short of the best one.
_FEW = 12


class Stage(NamedTuple):
    """A search, and what finds the graph that it starts from; it starts from the best one so far where none does."""

    search: SearchMethod
    start: Callable[[], DAG] | None = None


def search_in_stages(task: StructureTask, stages: Sequence[Stage]) -> FoundGraph:
    """Search by one method after another; the best graph of all."""
    problem = GraphSearch(task.scores, task.knowledge)
    best, steps = _start(task, problem), 0
    trace: list[tuple[int, float]] = []
    stopped = "local maximum"
    for search, start in stages:
        first = best if start is None else problem.state(start())
        state: SearchState[Families] = search.run(problem, first, seed=task.seed, progress=task.is_over)
        top = trace[-1][1] if trace else -math.inf
        if not trace or improves(state.best_score - top, top):  # of equal graphs the first, whatever the last digits
            best = state.best
            trace += [(steps + step, score) for step, score in state.trace if not trace or improves(score - top, top)]
        steps, stopped = steps + state.num_steps, search_ended(task, state.stopped_by)
        if state.stopped_by == "interrupted":
            break
    return FoundGraph(problem.graph(best), trace[-1][1], stopped, steps, tuple(trace))


def _start(task: StructureTask, problem: GraphSearch) -> Families:
    if task.start is None:
        return problem.start
    if task.start == "random":
        return problem.random_state(np.random.default_rng(task.seed))
    if task.start == "tree":
        return problem.state(learn_tree(task, is_forest=True).graph)
    if isinstance(task.start, str) and not task.start.strip().isalpha():
        return problem.state(DAG(task.start))
    if isinstance(task.start, DAG):
        return problem.state(task.start)
    raise InvalidArgument(f"start={task.start!r} must be a DAG, arrow text, 'tree' or 'random'.")


def _hill_climbing(task: StructureTask, *, escapes: int | None = None, max_steps: int | None = None) -> FoundGraph:
    """Steepest ascent and then walks away from the top, from each of several starts; the best graph of all.

    A start is left after `escapes` walks in a row that led to nothing better; 0 for one steepest ascent from the graph
    given, or from the required edges. `max_steps` limits each start.
    """
    if escapes is None:
        escapes = max(_ESCAPES, int(_ESCAPES_PER_VARIABLE * len(task.scores.names)))
    check_count("escapes", escapes)
    climb = GreedyAscent(max_steps=max_steps)
    if not escapes:
        return search_in_stages(task, [Stage(climb)])
    walks = ClassWalks(inner=GreedyAscent(), num=escapes, length=_WALK, max_steps=max_steps)
    starts = _other_starts(task)
    stages = [Stage(walks), *(Stage(walks, start) for start in starts)]
    if len(task.scores.names) > _MANY:
        stages = stages[-1:]
    return search_in_stages(task, [*stages, Stage(climb)])


def _other_starts(task: StructureTask) -> list[Callable[[], DAG]]:
    """What finds graphs to start from besides the required edges: orders, the best forest, then equivalence search."""
    known, score = task.knowledge, task.score
    starts: list[Callable[[], DAG]] = []
    if task.start is None and len(task.scores.names) <= _FEW:
        starts.append(lambda: _by_orders(task))
    is_free = task.start is None and not known.required and known.max_parents != 0
    if not is_free or score is None or not score.is_score_equivalent:
        return starts
    starts.append(lambda: learn_tree(task, is_forest=True).graph)
    has_interventions = task.statistics is not None and bool(task.statistics.interventions)
    if not (known.forbidden or known.tiers or has_interventions):
        starts.append(lambda: _by_classes(task))
    return starts


def _by_orders(task: StructureTask) -> DAG:
    bound, limit = bound_for(task.score, task.statistics), task.seconds_left
    found = search_orders(task.scores, task.knowledge, bound=bound, seed=task.seed, time_limit=limit)
    return found.graph


def _by_classes(task: StructureTask) -> DAG:
    return search_classes(task.scores, task.knowledge, time_limit=task.seconds_left, progress=task.is_told).graph


def _first_ascent(task: StructureTask, *, max_steps: int | None = None) -> FoundGraph:
    return search_in_stages(task, [Stage(FirstAscent(max_steps=max_steps))])


def _tabu(
    task: StructureTask, *, length: int | None = None, patience: int | None = None, max_steps: int | None = None
) -> FoundGraph:
    """Remember as many moves as there are variables, and go on for five times as many without a new best graph."""
    num = len(task.scores.names)
    tabu = TabuSearch(
        length=num if length is None else length,
        patience=max(100, 5 * num) if patience is None else patience,
        max_steps=max_steps,
    )
    return search_in_stages(task, [Stage(tabu)])


def _beam(
    task: StructureTask, *, width: float = 5, min_gain: float | None = None, max_steps: int | None = None
) -> FoundGraph:
    return search_in_stages(task, [Stage(BeamSearch(width=width, min_gain=min_gain, max_steps=max_steps))])


def _annealing(
    task: StructureTask, *, schedule: CoolingSchedule | None = None, max_steps: int | None = None
) -> FoundGraph:
    """Steepest ascent; temperatures from 10 to 0.1 (in nats), ten attempts at each for each variable; ascent again."""
    usual = ExponentialCooling(start=10.0, stop=0.1, factor=0.9, every=10 * max(1, len(task.scores.names)))
    annealing = SimulatedAnnealing(schedule or usual, max_steps=max_steps)
    return search_in_stages(task, [Stage(GreedyAscent()), Stage(annealing), Stage(GreedyAscent())])


def _random_restarts(
    task: StructureTask, *, restarts: int = 10, inner: SearchMethod | None = None, max_steps: int | None = None
) -> FoundGraph:
    check_count("restarts", restarts)
    return search_in_stages(
        task, [Stage(RandomRestarts(inner=inner or GreedyAscent(), num=restarts, max_steps=max_steps))]
    )


def _perturbation_restarts(
    task: StructureTask,
    *,
    restarts: int = 10,
    length: int = 10,
    growth: float = 1.0,
    inner: SearchMethod | None = None,
    max_steps: int | None = None,
) -> FoundGraph:
    check_count("restarts", restarts)
    walks = PerturbationRestarts(
        inner=inner or GreedyAscent(), num=restarts, length=length, growth=growth, max_steps=max_steps
    )
    return search_in_stages(task, [Stage(walks)])


def _basin_flooding(task: StructureTask, *, patience: int = 100, max_steps: int | None = None) -> FoundGraph:
    return search_in_stages(task, [Stage(BasinFlooding(patience=patience, max_steps=max_steps))])


#: Name -> local search; options follow the task, by name.
LOCAL_METHODS: Mapping[str, Callable[..., FoundGraph]] = MappingProxyType(
    {
        "hill-climbing": _hill_climbing,
        "first-ascent": _first_ascent,
        "tabu": _tabu,
        "beam": _beam,
        "annealing": _annealing,
        "random-restarts": _random_restarts,
        "perturbation-restarts": _perturbation_restarts,
        "basin-flooding": _basin_flooding,
    }
)


@dataclass(frozen=True, slots=True)
class ClassWalks(Restarts, length=unless(None, whole(1))):
    """Walk from the best graph to another one that means the same, and search from there (Castelo & Kočka 2003).

    A walk turns covered edges round, those whose ends have the same other parents, in random order. Graphs of a class
    have the same score under a score-equivalent score, but not the same neighbours, so that a maximum need not stay
    one. After walks that led to nothing better the next ones also take out all edges, but the required ones, of a
    random variable and of others around it: of one more each time up to nine, then of none again. It ends after `num`
    walks in a row that led to nothing better. A walk turns at most `length` edges, each once, by default all that it
    can; a step of `inner`, the search to run, is a step.

    >>> ClassWalks(num=3)
    ClassWalks(max_steps=None, inner=GreedyAscent(max_steps=None), num=3, length=None)
    """

    length: int | None = None

    def is_over(self, num: int, failures: int) -> bool:
        """Whether so many walks in a row led to nothing better."""
        return failures >= self.num or not self.num

    def next_start(
        self, problem: SearchProblem[StateT, OperatorT], best: StateT, failures: int, rng: np.random.Generator
    ) -> StateT:
        if not isinstance(problem, GraphSearch):
            raise NotSupported("Only searches over graphs walk within equivalence classes.")
        state: Families = best  # type: ignore[assignment]  # the states of a search over graphs
        state = _walked(problem, state, self.length, rng)
        return _stripped(problem, state, failures % _MOST_STRIPPED, rng)  # type: ignore[return-value]


def _walked(problem: GraphSearch, state: Families, length: int | None, rng: np.random.Generator) -> Families:
    """Turn up to so many covered edges round, in random order: no cycle can come of that, and no other class."""
    edges = [(parent, child) for child, parents in enumerate(state) for parent in parents]
    left = len(edges) if length is None else length
    families = [set(parents) for parents in state]
    for parent, child in (edges[place] for place in rng.permutation(len(edges)).tolist()):
        is_covered = families[child] == {*families[parent], parent}
        if left and is_covered and problem.can_turn(parent, child, len(families[parent])):
            families[child].remove(parent)
            families[parent].add(child)
            left -= 1
    return tuple(tuple(sorted(parents)) for parents in families)


def _stripped(problem: GraphSearch, state: Families, num: int, rng: np.random.Generator) -> Families:
    """Take out the edges, but the required ones, of a random variable and others near it, `num` in all."""
    adjacent = [set(parents) for parents in state]
    for child, parents in enumerate(state):
        for parent in parents:
            adjacent[parent].add(child)
    stripped: set[int] = set()
    around: set[int] = set()
    while len(stripped) < min(num, len(state)):
        near = sorted(around) or [place for place in range(len(state)) if place not in stripped]
        stripped.add(near[int(rng.integers(len(near)))])
        around = set().union(*(adjacent[place] for place in stripped)) - stripped
    return tuple(
        tuple(p for p in parents if p in required or (p not in stripped and child not in stripped))
        for child, (parents, required) in enumerate(zip(state, problem.start, strict=True))
    )
