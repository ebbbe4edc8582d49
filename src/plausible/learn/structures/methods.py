"""Searches for graphs by name, and a search that is ready to be run on any statistics."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from functools import partial
from types import MappingProxyType
from typing import Any

from plausible.data.statistics import Statistics
from plausible.errors import InvalidArgument, suggestion
from plausible.graphs import DAG
from plausible.learn.constraint_based.by_name import CLASS_LEARNERS
from plausible.learn.constraint_based.hybrid import learn_max_min
from plausible.learn.scores.penalized import BIC
from plausible.learn.scores.reading import SCORES
from plausible.learn.scores.score import FamilyScores, Score
from plausible.learn.structures.edge_counts import learn_by_edge_counts
from plausible.learn.structures.greedy import learn_buntine, learn_k2
from plausible.learn.structures.knowledge import Knowledge
from plausible.learn.structures.local import LOCAL_METHODS, Stage, search_in_stages
from plausible.learn.structures.overall import OVERALL_METHODS
from plausible.learn.structures.task import Found, Progress, StructureTask
from plausible.learn.structures.trees import learn_tan, learn_tree
from plausible.search.local_search import SearchMethod

__all__ = ["METHODS", "StructureSearch"]

#: Name -> what finds a graph for a task; options follow the task, by name.
METHODS: Mapping[str, Callable[..., Found]] = MappingProxyType(
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

#: What is told by `knowledge=`.
_KNOWLEDGE = frozenset(part.name for part in fields(Knowledge))

#: What people call some methods for short.
_SHORT = {"hc": "hill-climbing", "dp": "exact", "sa": "annealing", "obs": "orders", "cl": "chow-liu"}


@dataclass(frozen=True, slots=True, eq=False)
class StructureSearch:
    """How a graph is searched; `on` runs the search.

    Attributes
    ----------
    method, options
        One of `METHODS` and what it is told, or a search such as `TabuSearch(length=5)`.
    score
        By which graphs are judged.
    knowledge
        What is known of the graph.
    start
        Where a local search starts; `None` for the required edges alone.
    seed
        Of random choices.
    progress, deadline
        See `StructureTask`.
    """

    method: str | SearchMethod = "hill-climbing"
    options: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    score: Score = field(default_factory=BIC)
    knowledge: Knowledge = field(default_factory=Knowledge)
    start: DAG | str | None = None
    seed: int = 0
    progress: Progress | None = None
    deadline: float | None = None

    def __post_init__(self) -> None:
        """Refuse methods and options that there are not."""
        _check_options(_learner(self.method), self.name, self.options)
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

    def on(self, statistics: Statistics) -> tuple[Found, FamilyScores]:
        """The graph found, and the scores of families on these statistics."""
        scores = self.score.on(statistics)
        return self.by(scores, statistics), scores

    def by(self, scores: FamilyScores, statistics: Statistics | None = None) -> Found:
        """The graph found by scores of families, wherever they come from."""
        task = StructureTask(
            scores, self.knowledge, self.start, self.seed, self.progress, self.deadline, self.score, statistics
        )
        return _learner(self.method)(task, **self.options)


def _learner(method: str | SearchMethod) -> Callable[..., Found]:
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
        raise InvalidArgument(f"{method!r} is no method.{_close(meant, METHODS)} There are {', '.join(METHODS)}.")
    return METHODS[method]


def _close(name: str, known: Iterable[str]) -> str:
    """Those like a name, if there are any; for messages that list all of them anyway."""
    hint = suggestion(name, known)
    return hint if "Did you mean" in hint else ""


def _instead_of(option: str, value: object, known: Iterable[str]) -> str:
    """Where what was meant by an option goes."""
    if option in _KNOWLEDGE:
        return f" It is part of what is known: give knowledge=Knowledge({option}={value!r})."
    if option == "hidden":
        return " Graphs with hidden variables are learned by learn.structural_em(data, hidden=...)."
    has = f"It has {', '.join(known)}." if known else "It has none."
    return f"{_close(option, (*known, 'score', 'method', 'knowledge', 'start', 'seed'))} {has}"


def _check_options(learner: Callable[..., Found], name: str, options: Mapping[str, Any]) -> None:
    """Refuse options that a method does not have, and ask for those that it needs."""
    known = dict(list(inspect.signature(learner).parameters.items())[1:])
    for option in options:
        if option not in known:
            raise InvalidArgument(f"{name!r} has no option {option!r}.{_instead_of(option, options[option], known)}")
    for option, parameter in known.items():
        if parameter.default is inspect.Parameter.empty and option not in options:
            raise InvalidArgument(f"{name!r} needs {option}=.")
