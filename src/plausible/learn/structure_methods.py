"""Searches for graphs by name, local and global, and a search that is ready to be run on any statistics."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType
from typing import Any

from plausible.base import keyword_advice, score_noise
from plausible.data.statistics import Statistics
from plausible.errors import InvalidArgument, NotSupported, close_match
from plausible.graphs import DAG
from plausible.learn.constraint_based.blanket_structure import CLASS_LEARNERS
from plausible.learn.constraint_based.parents_and_children import learn_max_min
from plausible.learn.scores.penalized import BIC
from plausible.learn.scores.reading import SCORES
from plausible.learn.scores.remembered import RememberedScores
from plausible.learn.scores.score import FamilyScores, Score
from plausible.learn.structures.constructive import learn_buntine, learn_by_edge_counts, learn_k2, learn_tan, learn_tree
from plausible.learn.structures.exact.equivalence import search_classes
from plausible.learn.structures.exact.optimal_graphs import optimal_by_orders, optimal_by_subsets, refuse_many_sets
from plausible.learn.structures.exact.optimal_parents import bound_for
from plausible.learn.structures.exact.orders import FEW_FAMILIES, search_orders
from plausible.learn.structures.exact.parent_sets import MAX_FAMILIES
from plausible.learn.structures.knowledge import FoundGraph, Knowledge, Progress, StructureTask
from plausible.learn.structures.local import LOCAL_METHODS, Stage, search_in_stages
from plausible.search import Clock, SearchMethod
from plausible.search.checkpoint import Checkpoint


def _exact(task: StructureTask, *, max_bytes: float = 2**30, max_families: int = MAX_FAMILIES) -> FoundGraph:
    num = len(task.scores.names)
    refuse_many_sets(num, max_bytes)

    def told(fraction: float) -> bool:
        return task.is_told(round(fraction * 2.0**num))

    return _proved(task, partial(optimal_by_subsets, max_bytes=max_bytes, max_families=max_families, progress=told))


def _a_star(task: StructureTask, *, max_nodes: int = 2_000_000, max_families: int = MAX_FAMILIES) -> FoundGraph:
    def told(score: float, _: float) -> bool:
        return task.is_told(0, score)

    return _proved(task, partial(optimal_by_orders, max_nodes=max_nodes, max_families=max_families, progress=told))


def _proved(task: StructureTask, search: Callable[..., FoundGraph]) -> FoundGraph:
    """What a search that is to be exact finds; where time is limited the default comes first, and is the least.

    The search has the time that is left, and need not look at what is no better.
    """
    bound = bound_for(task.score, task.statistics)
    if task.clock.deadline == math.inf:
        return search(task.scores, task.knowledge, bound=bound)
    climbed = LOCAL_METHODS["hill-climbing"](task)
    found = search(task.scores, task.knowledge, bound=bound, floor=climbed.score, time_limit=task.seconds_left)
    if climbed.score <= found.score + score_noise(found.score):
        return found
    return replace(found, graph=climbed.graph, score=climbed.score, trace=climbed.trace)


def _orders(task: StructureTask, *, max_families: int = FEW_FAMILIES) -> FoundGraph:
    bound, limit = bound_for(task.score, task.statistics), task.seconds_left
    told: dict[str, Any] = {"seed": task.seed, "time_limit": limit, "progress": task.progress}
    return search_orders(task.scores, task.knowledge, bound=bound, max_families=max_families, **told)


def _classes(task: StructureTask) -> FoundGraph:
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
    return search_classes(
        task.scores, task.knowledge, start=task.start, time_limit=task.seconds_left, progress=task.is_told
    )


#: Name -> what finds a graph for a task.
OVERALL_METHODS: Mapping[str, Callable[..., FoundGraph]] = MappingProxyType(
    {"exact": _exact, "a-star": _a_star, "orders": _orders, "ges": _classes}
)

#: Name -> what finds a graph for a task; options follow the task, by name.
METHODS: Mapping[str, Callable[..., FoundGraph]] = MappingProxyType(
    {
        **LOCAL_METHODS,
        "chow-liu": learn_tree,
        "forest": partial(learn_tree, is_forest=True),
        "tan": learn_tan,
        "k2": learn_k2,
        "buntine": learn_buntine,
        "edge-counts": learn_by_edge_counts,
        "mmhc": learn_max_min,
        **OVERALL_METHODS,
    }
)


#: What people call some methods for short.
_SHORT = {"hc": "hill-climbing", "dp": "exact", "sa": "annealing", "obs": "orders", "cl": "chow-liu"}


@dataclass(frozen=True, slots=True, eq=False)
class StructureSearch:
    """How a graph is searched; `on` runs the search."""

    #: one of `METHODS` and what it is told, or a search such as `TabuSearch(length=5)`
    method: str | SearchMethod = "hill-climbing"
    options: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    score: Score = field(default_factory=BIC)  # by which graphs are judged
    knowledge: Knowledge = field(default_factory=Knowledge)  # what is known of the graph
    start: DAG | str | None = None  # where a local search starts; `None` for the required edges alone
    seed: int = 0  # of random choices
    progress: Progress | None = None  # see `StructureTask`
    clock: Clock = field(default_factory=partial(Clock.of, None))
    #: What remembers the scores of families that were asked for, and with them how far the search is
    checkpoint: Checkpoint | None = None

    def __post_init__(self) -> None:
        """Refuse methods and options that there are not."""
        known = dict(list(inspect.signature(_learner(self.method)).parameters.items())[1:])
        for option in self.options:
            if option not in known:
                raise InvalidArgument(
                    f"{self.name!r} has no option {option!r}.{_instead_of(option, self.options[option], known)}"
                )
        for option, parameter in known.items():
            if parameter.default is inspect.Parameter.empty and option not in self.options:
                raise InvalidArgument(f"{self.name!r} needs {option}=.")
        if self.start is not None and not self.has_start:
            raise InvalidArgument(f"{self.name!r} has no start; only local searches have one.")

    @property
    def name(self) -> str:
        """What the method is called."""
        return self.method if isinstance(self.method, str) else type(self.method).__name__

    @property
    def has_start(self) -> bool:
        """Whether the method sets out from a graph."""
        return not isinstance(self.method, str) or self.method in (*LOCAL_METHODS, "ges")

    def on(self, statistics: Statistics) -> tuple[FoundGraph, FamilyScores]:
        """The graph found, and the scores of families on these statistics."""
        scores = self.remembered(self.score.on(statistics))
        return self.by(scores, statistics), scores

    def remembered(self, scores: FamilyScores) -> FamilyScores:
        """The scores, those among them that a checkpoint knows as they were."""
        return scores if self.checkpoint is None else RememberedScores(scores, self.checkpoint)

    def by(self, scores: FamilyScores, statistics: Statistics | None = None) -> FoundGraph:
        """The graph found by scores of families, wherever they come from."""
        limits = (self.knowledge, self.start, self.seed, self.progress, self.clock)
        return _learner(self.method)(StructureTask(scores, *limits, self.score, statistics), **self.options)


def _learner(method: str | SearchMethod) -> Callable[..., FoundGraph]:
    if isinstance(method, SearchMethod):
        return lambda task: search_in_stages(task, [Stage(method)])
    if method.lower() in CLASS_LEARNERS:
        raise InvalidArgument(
            f"{method!r} finds no single graph, but a class of graphs by tests: call plausible.learn."
            f"{CLASS_LEARNERS[method.lower()].function}, whose result has a .network(data)."
        )
    if method not in METHODS:
        if method.lower() in SCORES:
            raise InvalidArgument(f"{method!r} is no method but a score: score={method!r}.")
        meant = _SHORT.get(method.lower(), method)
        raise InvalidArgument(f"{method!r} is no method.{close_match(meant, METHODS)} There are {', '.join(METHODS)}.")
    return METHODS[method]


def _instead_of(option: str, value: object, known: Iterable[str]) -> str:
    """Where what was meant by an option goes."""
    if option == "hidden":
        return " Graphs with hidden variables are learned by learn.structural_em(data, hidden=...)."
    advice = keyword_advice(option, (*known, "score", "method", "knowledge", "start", "seed"), value)
    if advice.endswith("."):  # not a question
        return advice
    return f"{advice} It has {', '.join(known) or 'none'}."
