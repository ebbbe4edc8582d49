"""What a search for graphs is given, knowledge before any data, scores and limits; and what it hands back."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from plausible.base import Result, chart_by, check_count, keyword_hints, score_noise
from plausible.data.statistics import Statistics
from plausible.errors import InvalidArgument, UnknownVariable
from plausible.graphs import DAG, PDAG, consistent_extension, essential_graph
from plausible.graphs.graph_input import read_dag
from plausible.graphs.plain import read_pairs
from plausible.learn.scores.score import FamilyScores, Score
from plausible.search import Clock, Run, SearchState

if TYPE_CHECKING:
    from plausible.base.pictured import Axes, Chart

Mask = NDArray[np.bool_]

Families: TypeAlias = tuple[tuple[int, ...], ...]  # The parents of each variable, by their places, sorted


@keyword_hints
@dataclass(frozen=True, slots=True)
class Knowledge:
    """What you already know about a graph to be learned: required and forbidden edges, tiers, a limit on parents.

    Parameters
    ----------
    required, forbidden
        Edges that the graph must or must not have: pairs `(parent, child)`, or a string of arrows.
    tiers
        Groups of names, causes before effects: no edge leads from a later group to an earlier one. Variables in no
        group are free.
    max_parents
        The most parents a variable may have; `None` for no limit.

    Examples
    --------
    >>> Knowledge(required="A -> B", tiers=[["A"], ["B", "C"]]).on(["A", "B", "C"]).allowed.astype(int)
    array([[0, 1, 1],
           [0, 0, 1],
           [0, 1, 0]])
    """

    required: Any = ()
    forbidden: Any = ()
    tiers: Sequence[Iterable[str]] = ()
    max_parents: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "required", _pairs(self.required))
        object.__setattr__(self, "forbidden", _pairs(self.forbidden))
        object.__setattr__(self, "tiers", tuple(tuple(_names(tier)) for tier in self.tiers))
        both = set(self.required) & set(self.forbidden)
        if both:
            raise InvalidArgument(f"The edge {' -> '.join(min(both))} is both required and forbidden.")
        if self.max_parents is not None:
            check_count("max_parents", self.max_parents)
        for parent, child in self.required:
            if parent == child:
                raise InvalidArgument(f"The required edge {parent} -> {child} joins a variable with itself.")

    @classmethod
    def read(cls, knowledge: Knowledge | None) -> Knowledge:
        """What `knowledge=` of every learner takes; `None` is to know nothing."""
        if knowledge is None:
            return cls()
        if not isinstance(knowledge, cls):
            raise InvalidArgument(
                f"knowledge= takes a Knowledge, such as Knowledge(required='A -> B'), not {knowledge!r}."
            )
        return knowledge

    @property
    def names(self) -> list[str]:
        """Those of the variables that it mentions."""
        return [name for group in (*self.required, *self.forbidden, *self.tiers) for name in group]

    def on(self, names: Sequence[str]) -> Constraints:
        """The same for variables in a fixed order, checked."""
        places = {name: place for place, name in enumerate(names)}
        for name in self.names:
            if name not in places:
                raise UnknownVariable.named(name, names, "the data, though knowledge mentions it")
        num = len(names)
        allowed, required = ~np.eye(num, dtype=np.bool_), np.zeros((num, num), dtype=np.bool_)
        for parent, child in self.forbidden:
            allowed[places[parent], places[child]] = False
        tier_of = np.full(num, -1)
        for number, tier in enumerate(self.tiers):
            for name in tier:
                if tier_of[places[name]] >= 0:
                    raise InvalidArgument(f"{name!r} is in two tiers.")
                tier_of[places[name]] = number
        allowed &= (tier_of[:, None] <= tier_of) | (tier_of < 0)
        DAG(self.required)  # a cycle of required edges is refused with its name
        for parent, child in self.required:
            if not allowed[places[parent], places[child]]:
                raise InvalidArgument(f"The required edge {parent} -> {child} is against the tiers.")
            required[places[parent], places[child]] = True
            allowed[places[child], places[parent]] = False
        most = num if self.max_parents is None else self.max_parents
        for name, number in zip(names, required.sum(axis=0).tolist(), strict=True):
            if number > most:
                raise InvalidArgument(f"{name!r} has {number} required parents, but max_parents={most}.")
        return Constraints(allowed, required, most)


def named_in(option: object) -> set[str]:
    """The variables that an option may name: a text, those of arrows, of knowledge or a graph, and of what is in it."""
    if isinstance(option, str):
        return {option, *map(str, read_dag(option).nodes)} if re.search("<-|->", option) else {option}
    if isinstance(option, Mapping):
        return named_in([*option, *option.values()])
    listed = next((getattr(option, kind) for kind in ("names", "nodes", "variables") if hasattr(option, kind)), option)
    return {name for each in listed for name in named_in(each)} if isinstance(listed, Iterable) else set()


@dataclass(frozen=True, slots=True, eq=False)
class Constraints:
    """Knowledge about variables that go by their places; made by `Knowledge.on`."""

    allowed: Mask  # by parent and child, whether an edge may, or must, be there
    required: Mask
    max_parents: int  # no variable has more

    def along(self, order: Sequence[str], names: Sequence[str]) -> Constraints:
        """Only edges that lead forward in an order, which lists each of the names once, are allowed."""
        if sorted(order) != list(names):
            odd = sorted(set(order) ^ set(names)) or sorted({name for name in order if list(order).count(name) > 1})
            raise InvalidArgument(f"order= must list each variable once; look at {', '.join(map(repr, odd[:5]))}.")
        ranks = np.array([list(order).index(name) for name in names], dtype=np.int64)
        is_forward = ranks[:, None] < ranks[None, :]
        for parent, child in np.argwhere(self.required & ~is_forward).tolist():
            raise InvalidArgument(f"The required edge {names[parent]} -> {names[child]} is against order=.")
        return Constraints(self.allowed & is_forward, self.required, self.max_parents)

    @property
    def required_families(self) -> tuple[tuple[int, ...], ...]:
        """The parents of each variable in the graph of the required edges."""
        return tuple(tuple(np.flatnonzero(column).tolist()) for column in self.required.T)


def _pairs(edges: Any) -> tuple[tuple[str, str], ...]:
    if isinstance(edges, (str, DAG)):
        return tuple((str(parent), str(child)) for parent, child in read_pairs(edges, DAG)[1])
    if isinstance(edges, Mapping):
        return tuple((parent, child) for parent, children in edges.items() for child in _names(children))
    pairs = tuple(tuple(pair) for pair in edges)
    for pair in pairs:
        if len(pair) != 2:
            raise InvalidArgument(f"An edge is a pair (parent, child), not {pair!r}.")
    return pairs


def _names(names: str | Iterable[str]) -> list[str]:
    return [names] if isinstance(names, str) else list(names)


#: Told the state of a search after each step; an answer that is true stops it.
Progress: TypeAlias = Callable[[SearchState[Families]], object]


def check_progress(progress: object) -> None:
    """Refuse what can't be called; `None` is to tell nobody."""
    if progress is not None and not callable(progress):
        raise InvalidArgument(f"progress={progress!r} must be a function that is told of each step, or None.")


@dataclass(frozen=True, slots=True)
class StructureTask:
    """Scores of families with what limits the search for a graph."""

    scores: FamilyScores
    knowledge: Knowledge = field(default_factory=Knowledge)
    start: DAG | str | None = None  # of local searches: a graph, "tree", "random", or `None` for the required edges
    seed: int = 0
    progress: Progress | None = None  # an answer that is true stops the search
    clock: Clock = field(default_factory=partial(Clock.of, None))
    score: Score | None = None  # where `scores` come from, for methods that can make use of it
    statistics: Statistics | None = None

    @property
    def seconds_left(self) -> float | None:
        """The time that is left; `None` where there is no limit."""
        return None if self.clock.deadline == math.inf else self.clock.seconds_left

    def is_over(self, state: SearchState[Any]) -> bool:
        """Whether a search should stop after a step."""
        is_told = self.progress is not None and bool(self.progress(state))
        return is_told or self.clock.is_over

    def stopped_by(self, steps: int, score: float = -math.inf) -> str:
        """Why to stop after so many steps, which are told; "" to go on."""
        if self.is_told(steps, score):
            return "interrupted"
        return "time limit" if self.clock.is_over else ""

    def is_told(self, steps: int, score: float = -math.inf) -> bool:
        """Tell of steps and of the best score, -inf where there is none yet; whether the answer is to stop."""
        return self.progress is not None and bool(self.progress(SearchState((), score, (), score, steps)))


@dataclass(frozen=True, slots=True)
class FoundGraph(Result):
    """A graph that a search found, how it was found, and how far from the best it can be."""

    graph: DAG  # The best graph found; of a class whose graphs are as good, the one that names decide
    score: float  # Its score
    #: Why the search ended: "local maximum", "optimal", "time limit", "interrupted", "step limit", "no progress",
    #: "restarts over", "schedule over", "node limit", "family limit".
    stopped_by: str = ""
    num_steps: int = 0  # What the method counts: moves, edges, or sets of variables
    trace: tuple[tuple[int, float], ...] = ()  # (num_steps, best score) of the start and of each improvement
    bound: float = math.inf  # No graph that agrees with what is known scores more; inf where the method does not tell
    seconds: float = 0.0  # How long it took, with the scoring of families

    @property
    def gap(self) -> float:
        """By how much some graph may be better; zero proves that none is."""
        return self.bound - self.score

    @property
    def is_optimal(self) -> bool:
        """Whether no graph is better, up to rounding."""
        return self.gap <= score_noise(self.score)

    @property
    def equivalence_class(self) -> PDAG:
        """All graphs with the same independencies: what data alone can tell; directed are the edges that all share."""
        return essential_graph(self.graph)

    def plot(self, ax: Axes | None = None) -> Chart:
        """Draw the best score as the search went on; it needs matplotlib (the extra `plot`)."""
        return chart_by("plot_search", self, ax)


def search_ended(task: StructureTask, stopped_by: str) -> str:
    """Why a local search over graphs ended, in the words of its task, which looks at the clock for it."""
    if stopped_by == "interrupted" and task.clock.is_over:
        return "time limit"
    # without an operator every move is ruled out by what is known, or was taken back just now
    return "local maximum" if stopped_by == "no operator" else stopped_by


def found_graph(
    scores: FamilyScores, constraints: Constraints, families: Sequence[Sequence[int]], run: Run[Any], bound: float
) -> FoundGraph:
    """What a run led to, by the parents of each variable among the sorted names.

    Rounding decides which of several equivalent graphs a search meets first: names decide instead. The bound is never
    below the score, which rounding could do.
    """
    names = sorted(scores.names)
    graph = DAG([(names[p], names[child]) for child, ps in enumerate(families) for p in ps], nodes=names)
    score = scores.graph(graph)
    if score == -math.inf:
        raise InvalidArgument("No acyclic graph that agrees with what is known has a finite score.")
    other = consistent_extension(essential_graph(graph))
    edges = np.zeros_like(constraints.allowed)
    for parent, child in other.edges:
        edges[names.index(str(parent)), names.index(str(child))] = True
    is_known = not (edges & ~constraints.allowed).any() and not (constraints.required & ~edges).any()
    is_known = is_known and int(edges.sum(axis=0).max(initial=0)) <= constraints.max_parents
    if is_known and abs(scores.graph(other) - score) <= score_noise(score):
        graph, score = other, scores.graph(other)
    bound = score if bound - score <= score_noise(score) else bound
    graph, trace = DAG(sorted(graph.edges), nodes=scores.names), ((run.num_steps, score),)
    return FoundGraph(graph, score, run.stopped_by, run.num_steps, trace, bound, run.seconds)
