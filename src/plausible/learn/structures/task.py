"""What every structure learner is given, and what it hands back."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias

from plausible.base.tolerances import score_noise
from plausible.data.statistics import Statistics
from plausible.errors import InvalidArgument
from plausible.graphs import DAG, PDAG
from plausible.graphs.consistent_extension import consistent_extension
from plausible.graphs.equivalence import essential_graph
from plausible.learn.scores.score import FamilyScores, Score
from plausible.learn.structures.graph_search import Families
from plausible.learn.structures.knowledge import Constraints, Knowledge
from plausible.search.clock import Clock
from plausible.search.run import Run
from plausible.search.search_state import SearchState

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

    def is_over(self, state: SearchState[Any]) -> bool:
        """Whether a search should stop after a step."""
        is_told = self.progress is not None and bool(self.progress(state))
        return is_told or self.clock.is_over

    def is_told(self, steps: int, score: float = -math.inf) -> bool:
        """Tell of steps and of the best score, -inf where there is none yet; whether the answer is to stop."""
        state: SearchState[Families] = SearchState((), score, (), score, steps)
        return self.progress is not None and bool(self.progress(state))

    def stopped_by(self, steps: int, score: float = -math.inf) -> str:
        """Why to stop after so many steps, which are told; "" to go on."""
        if self.is_told(steps, score):
            return "interrupted"
        return "time limit" if self.clock.is_over else ""


@dataclass(frozen=True, slots=True)
class FoundGraph:
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
    if _agrees(other, names, constraints) and abs(scores.graph(other) - score) <= score_noise(score):
        graph, score = other, scores.graph(other)
    bound = score if bound - score <= score_noise(score) else bound
    graph, trace = DAG(sorted(graph.edges), nodes=scores.names), ((run.num_steps, score),)
    return FoundGraph(graph, score, run.stopped_by, run.num_steps, trace, bound, run.seconds)


def _agrees(graph: DAG, names: Sequence[str], constraints: Constraints) -> bool:
    places = {name: place for place, name in enumerate(names)}
    edges = {(places[str(a)], places[str(b)]) for a, b in graph.edges}
    is_allowed = all(constraints.allowed[edge] for edge in edges)
    has_required = all(edge in edges for edge in zip(*map(list, constraints.required.nonzero()), strict=True))
    return is_allowed and has_required and all(len(graph.parents(n)) <= constraints.max_parents for n in names)
