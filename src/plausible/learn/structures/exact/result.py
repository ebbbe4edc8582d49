"""A graph with its score and with what no graph can exceed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from plausible.base.tolerances import score_noise
from plausible.errors import InvalidArgument
from plausible.graphs import DAG, PDAG
from plausible.graphs.consistent_extension import consistent_extension
from plausible.graphs.equivalence import essential_graph
from plausible.learn.scores.score import FamilyScores
from plausible.learn.structures.knowledge import Constraints

__all__ = ["BoundedResult", "Families", "Outcome", "bounded_result"]

#: The parents of each variable, by their places.
Families = Sequence[Sequence[int]]


@dataclass(frozen=True, slots=True)
class BoundedResult:
    """A learned graph and how far from the best it can be.

    Attributes
    ----------
    graph
        The best graph found; of a class whose graphs are as good, the one that names decide.
    score
        Its score.
    bound
        No graph that agrees with what is known scores more; inf if nothing is known.
    stopped
        Why the search ended: "optimal", or what stopped it.
    steps
        What the method counts: sets of variables, or moves.
    seconds
        How long it took, with the scoring of families.
    """

    graph: DAG
    score: float
    bound: float
    stopped: str
    steps: int
    seconds: float

    @property
    def gap(self) -> float:
        """By how much some graph may be better."""
        return self.bound - self.score

    @property
    def is_optimal(self) -> bool:
        """Whether no graph is better, up to rounding."""
        return self.gap <= score_noise(self.score)

    @property
    def equivalence_class(self) -> PDAG:
        """All graphs with the same independencies; directed are the edges that all of them share."""
        return essential_graph(self.graph)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a search hands over: parents, by places among the sorted names, and how it came by them."""

    families: Families
    bound: float
    stopped: str
    steps: int
    seconds: float


def bounded_result(
    scores: FamilyScores, names: Sequence[str], constraints: Constraints, outcome: Outcome
) -> BoundedResult:
    """The result of a search; the bound is never below the score, which rounding could do."""
    graph = DAG([(names[p], names[child]) for child, ps in enumerate(outcome.families) for p in ps], nodes=names)
    score = scores.graph(graph)
    if score == -math.inf:
        raise InvalidArgument("No acyclic graph that agrees with what is known has a finite score.")
    # Rounding decides which of several equivalent graphs a search meets first: names decide instead.
    other = consistent_extension(essential_graph(graph))
    if _agrees(other, names, constraints) and abs(scores.graph(other) - score) <= score_noise(score):
        graph, score = other, scores.graph(other)
    bound = max(outcome.bound, score)
    if bound - score <= score_noise(score):
        bound = score
    graph = DAG(sorted(graph.edges), nodes=scores.names)
    return BoundedResult(graph, score, bound, outcome.stopped, outcome.steps, outcome.seconds)


def _agrees(graph: DAG, names: Sequence[str], constraints: Constraints) -> bool:
    places = {name: place for place, name in enumerate(names)}
    edges = {(places[str(a)], places[str(b)]) for a, b in graph.edges}
    is_allowed = all(constraints.allowed[edge] for edge in edges)
    has_required = all(edge in edges for edge in zip(*map(list, constraints.required.nonzero()), strict=True))
    return is_allowed and has_required and all(len(graph.parents(n)) <= constraints.max_parents for n in names)
