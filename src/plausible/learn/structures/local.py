"""Local searches over graphs: the searches of `plausible.search`, with defaults that suit graphs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from plausible.base.options import check_count
from plausible.errors import InvalidArgument, NotSupported
from plausible.graphs import DAG
from plausible.learn.structures.constructive import learn_tree
from plausible.learn.structures.graph_search import GraphSearch, Move
from plausible.learn.structures.knowledge import Families, FoundGraph, StructureTask, search_ended
from plausible.search.annealing import CoolingSchedule, ExponentialCooling, SimulatedAnnealing
from plausible.search.local_search import BasinFlooding, BeamSearch, FirstAscent, GreedyAscent, SearchMethod, TabuSearch
from plausible.search.restarts import PerturbationRestarts, RandomRestarts, Restarts
from plausible.search.search_problem import OperatorT, SearchProblem, StateT
from plausible.search.search_state import SearchState

#: Steps of a walk within an equivalence class: enough to change the neighbours, few enough to score them soon.
_WALK = 20
#: Tabu searches remember half as many moves as there are variables, and wait for as many, within these limits.
_TABU = (10, 200)


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
        if not trace or state.best_score > trace[-1][1]:
            best = state.best
        trace += [(steps + step, score) for step, score in state.trace if not trace or score > trace[-1][1]]
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


def _hill_climbing(task: StructureTask, *, escapes: int = 3, max_steps: int | None = None) -> FoundGraph:
    """Steepest ascent from no edges and from the best forest; walks within the class, each with a tabu search; the top.

    `escapes` is the number of walks, 0 for steepest ascent alone; `max_steps` limits each stage.
    """
    check_count("escapes", escapes)
    climb, known = Stage(GreedyAscent(max_steps=max_steps)), task.knowledge
    if not escapes:
        return search_in_stages(task, [climb])
    climbs = [climb]
    # a forest is another start than the one given, agrees with what is known, and is found soon
    is_free = task.start is None and not known.required and known.max_parents != 0
    if is_free and task.score is not None and task.score.is_score_equivalent:
        climbs.append(climb._replace(start=lambda: learn_tree(task, is_forest=True).graph))
    length = int(np.clip(len(task.scores.names) // 2, *_TABU))
    inner = TabuSearch(length=length, patience=length)
    walks = ClassWalks(inner=inner, num=escapes, length=_WALK, max_steps=max_steps)
    return search_in_stages(task, [*climbs, Stage(walks), climb])


def _first_ascent(task: StructureTask, *, max_steps: int | None = None) -> FoundGraph:
    return search_in_stages(task, [Stage(FirstAscent(max_steps=max_steps))])


def _tabu(task: StructureTask, *, length: int = 30, patience: int = 100, max_steps: int | None = None) -> FoundGraph:
    return search_in_stages(task, [Stage(TabuSearch(length=length, patience=patience, max_steps=max_steps))])


def _beam(
    task: StructureTask, *, width: float = 5, min_gain: float | None = None, max_steps: int | None = None
) -> FoundGraph:
    return search_in_stages(task, [Stage(BeamSearch(width=width, min_gain=min_gain, max_steps=max_steps))])


def _annealing(
    task: StructureTask, *, schedule: CoolingSchedule | None = None, max_steps: int | None = None
) -> FoundGraph:
    """Temperatures from 10 to 0.1 (in nats), with ten attempts at each for each variable; then steepest ascent."""
    usual = ExponentialCooling(start=10.0, stop=0.1, factor=0.9, every=10 * max(1, len(task.scores.names)))
    annealing = SimulatedAnnealing(schedule or usual, max_steps=max_steps)
    return search_in_stages(task, [Stage(annealing), Stage(GreedyAscent())])


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


def covered_reversals(problem: GraphSearch, state: Families) -> list[Move]:
    """The legal reversals that stay in the equivalence class: those of edges whose ends have the same other parents."""
    turns = [
        Move("reverse", parent, child)
        for child, parents in enumerate(state)
        for parent in parents
        if len(state[parent]) + 1 == len(parents) and set(state[parent]) < set(parents)
    ]
    return [turn for turn in turns if problem.is_legal(state, turn)]


@dataclass(frozen=True, slots=True)
class ClassWalks(Restarts):
    """Walk from the best graph to another one that means the same, and search from there (Castelo & Kočka 2003).

    Each step of a walk turns a random covered edge round. Graphs of a class have the same score under a
    score-equivalent score, but not the same neighbours, so that a maximum need not stay one. After walks that led to
    nothing better the next ones also make random moves that leave the class, one more each time. `num` walks of
    `length` steps, by default as many as there are edges; a step of `inner`, the search to run, is a step.

    >>> ClassWalks(num=3)
    ClassWalks(max_steps=None, inner=GreedyAscent(max_steps=None), num=3, length=None)
    """

    length: int | None = None

    def __post_init__(self) -> None:
        Restarts.__post_init__(self)
        if self.length is not None:
            check_count("length", self.length, 1)

    def next_start(
        self, problem: SearchProblem[StateT, OperatorT], best: StateT, failures: int, rng: np.random.Generator
    ) -> StateT:
        if not isinstance(problem, GraphSearch):
            raise NotSupported("Only searches over graphs walk within equivalence classes.")
        state: Families = best  # type: ignore[assignment]  # the states of a search over graphs
        num_steps = sum(map(len, state)) if self.length is None else self.length
        for _ in range(num_steps):
            turns = covered_reversals(problem, state)
            if not turns:
                break
            state = problem.apply(state, turns[int(rng.integers(len(turns)))])
        for _ in range(failures):
            move = problem.propose(state, rng)
            if move is None:
                break
            state = problem.apply(state, move)
        return state  # type: ignore[return-value]
