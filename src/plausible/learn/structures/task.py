"""What every structure learner is given, and what it hands back."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from plausible.data.statistics import Statistics
from plausible.errors import InvalidArgument
from plausible.graphs import DAG
from plausible.learn.scores.score import FamilyScores, Score
from plausible.learn.structures.knowledge import Knowledge
from plausible.learn.structures.search_graph import Families
from plausible.search.local_search import SearchState

__all__ = ["Found", "Progress", "StructureTask", "check_progress"]

#: Told the state of a search after each step; an answer that is true stops it.
Progress: TypeAlias = Callable[[SearchState[Families]], object]


def check_progress(progress: object) -> None:
    """Refuse what can't be called; `None` is to tell nobody."""
    if progress is not None and not callable(progress):
        raise InvalidArgument(f"progress={progress!r} must be a function that is told of each step, or None.")


@dataclass(frozen=True, slots=True)
class StructureTask:
    """Scores of families with what limits the search for a graph.

    Attributes
    ----------
    scores
        The scores of families on the data.
    knowledge
        What is known of the graph.
    start
        Where local searches start: a graph, "tree", "random", or `None` for the required edges alone.
    seed
        Of random choices.
    progress
        Told each state of a search; an answer that is true stops it.
    deadline
        When to stop, by `time.monotonic`; `None` for never.
    score, statistics
        Where `scores` come from, for methods that can make use of it.
    """

    scores: FamilyScores
    knowledge: Knowledge = field(default_factory=Knowledge)
    start: DAG | str | None = None
    seed: int = 0
    progress: Progress | None = None
    deadline: float | None = None
    score: Score | None = None
    statistics: Statistics | None = None

    def is_over(self, state: SearchState[Any]) -> bool:
        """Whether a search should stop after a step."""
        is_told = self.progress is not None and bool(self.progress(state))
        return is_told or self.is_late()

    def is_told(self, steps: int, score: float = -math.inf) -> bool:
        """Tell of steps and of the best score, -inf where there is none yet; whether the answer is to stop."""
        state: SearchState[Families] = SearchState((), score, (), score, steps)
        return self.progress is not None and bool(self.progress(state))

    def stopped(self, steps: int, score: float = -math.inf) -> str:
        """Why to stop after so many steps, which are told; "" to go on."""
        if self.is_told(steps, score):
            return "interrupted"
        return "time limit" if self.is_late() else ""

    def is_late(self) -> bool:
        """Whether the time is up."""
        return self.deadline is not None and time.monotonic() >= self.deadline


@dataclass(frozen=True, slots=True)
class Found:
    """A graph, the way to it as (steps, best score), why the search stopped, its steps, and what no graph exceeds."""

    graph: DAG
    trace: tuple[tuple[int, float], ...]
    stopped: str
    steps: int = 0
    bound: float = math.inf
