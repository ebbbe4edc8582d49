"""The best parents of one variable, and of all variables along an order, by depth-first branch and bound."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from plausible.base.tolerances import score_noise
from plausible.learn.scores.score import FamilyScores
from plausible.learn.structures.exact.superset_bounds import NoBound, SupersetBound
from plausible.learn.structures.knowledge import Knowledge
from plausible.learn.structures.task import FoundGraph, found_graph
from plausible.search.clock import Clock
from plausible.search.run import Run


@dataclass(frozen=True, slots=True)
class ParentChoice:
    """The best parents of a variable, sorted, their score, and how many families were scored to find them."""

    parents: tuple[str, ...]
    score: float
    num_families: int


def optimal_parents(
    scores: FamilyScores,
    child: str,
    candidates: Sequence[str],
    *,
    required: Sequence[str] = (),
    max_parents: int | None = None,
    bound: SupersetBound | None = None,
) -> ParentChoice:
    """The parent set with the largest score among all subsets of the candidates.

    A tree of sets is searched depth first: a child of U adds a candidate later than those in U, so that each set is met
    once. U⁺ is U with all later candidates; where the bound of all sets between U and U⁺ does not exceed the best score
    so far, that of greedy search (K3) at first, the tree below U is left out. At worst 2^m families.

    Parameters
    ----------
    scores
        Scores of families.
    child, candidates
        The variable, and those that may be its parents.
    required
        Parents that it has in any case.
    max_parents
        It has no more of them, the required ones included; `None` for no limit.
    bound
        Of the score; without it every set is scored.

    References
    ----------
    Darwiche (2009), Modeling and Reasoning with Bayesian Networks, section 17.4.3.

    Examples
    --------
    >>> class Parity(FamilyScores):
    ...     names = ("A", "B", "C", "X")
    ...     def family(self, child, parents): return {"AB": 2.0, "": 0.0}.get("".join(sorted(parents)), -1.0)
    >>> optimal_parents(Parity(), "X", ["A", "B", "C"])
    ParentChoice(parents=('A', 'B'), score=2.0, num_families=8)
    """
    search = _SubsetSearch(scores, child, bound or NoBound())
    free = sorted(set(candidates) - {child, *required})
    room = len(free) if max_parents is None else min(max_parents - len(required), len(free))
    start = tuple(sorted(required))
    search.look_at(start, scores.family(child, start))
    search.climb(start, free, room)
    search.descend(start, free, room)
    return ParentChoice(tuple(sorted(search.best)), search.score, len(search.seen))


class _SubsetSearch:
    """The best set so far, and the scores of all that were met."""

    def __init__(self, scores: FamilyScores, child: str, bound: SupersetBound) -> None:
        self._scores, self._child, self._bound = scores, child, bound
        self.best: tuple[str, ...] = ()
        self.score = -math.inf
        self.seen: dict[frozenset[str], float] = {}

    def look_at(self, parents: tuple[str, ...], score: float) -> None:
        """Remember a set, as the best one if it is."""
        self.seen[frozenset(parents)] = score
        if len(self.seen) == 1 or score > self.score + score_noise(self.score):
            self.best, self.score = parents, score

    def climb(self, parents: tuple[str, ...], free: Sequence[str], room: int) -> None:
        """Greedy search: add the best candidate as long as the score improves."""
        while room > 0 and free:
            values = self._extended(parents, free)
            place = int(np.argmax(values))
            parents = (*parents, free[place])
            if frozenset(parents) != frozenset(self.best):
                return
            free, room = [name for name in free if name != parents[-1]], room - 1

    def descend(self, parents: tuple[str, ...], later: Sequence[str], room: int) -> None:
        """All sets between some parents and those with all later candidates, but for those ruled out."""
        if room <= 0 or not later or self._bound.above(self._child, parents, later) <= self.score:
            return
        values = self._extended(parents, later)
        for place in np.argsort([-value for value in values], kind="stable").tolist():
            self.descend((*parents, later[place]), later[place + 1 :], room - 1)

    def _extended(self, parents: tuple[str, ...], others: Sequence[str]) -> list[float]:
        """The score with each of the others as another parent; only what was not met before is worked out."""
        sets = [frozenset((*parents, name)) for name in others]
        unknown = [name for name, found in zip(others, sets, strict=True) if found not in self.seen]
        if unknown:
            scores = self._scores.extended(self._child, parents, unknown).tolist()
            for name, score in zip(unknown, scores, strict=True):
                self.look_at((*parents, name), score)
        return [self.seen[found] for found in sets]


def optimal_along_order(
    scores: FamilyScores,
    order: Sequence[str],
    knowledge: Knowledge | None = None,
    *,
    bound: SupersetBound | None = None,
) -> FoundGraph:
    """The best graph whose edges all lead forward in an order: n searches for parents that don't affect each other.

    The bound of the result is that of graphs along this order.

    Parameters
    ----------
    scores
        Scores of families.
    order
        All names, causes before effects.
    knowledge
        Required and forbidden edges, tiers, and how many parents there may be.
    bound
        Of the score; see `optimal_parents`.

    Examples
    --------
    >>> class Pairs(FamilyScores):
    ...     names = ("A", "B", "C")
    ...     def family(self, child, parents): return -abs(len(list(parents)) - 1.0)
    >>> optimal_along_order(Pairs(), ["C", "B", "A"]).graph.edges
    (('B', 'A'), ('C', 'B'))
    """
    clock = Clock.of(None)
    names = sorted(scores.names)
    constraints = Knowledge.read(knowledge).on(names).along(order, names)
    choices = []
    for v, name in enumerate(names):
        choices.append(
            optimal_parents(
                scores,
                name,
                [names[p] for p in np.flatnonzero(constraints.allowed[:, v]).tolist()],
                required=[names[p] for p in constraints.required_families[v]],
                max_parents=constraints.max_parents,
                bound=bound,
            )
        )
    families = [[names.index(parent) for parent in choice.parents] for choice in choices]
    score = sum(choice.score for choice in choices)
    num_families = sum(choice.num_families for choice in choices)
    run = Run(families, num_families, "optimal", seconds=clock.seconds)
    return found_graph(scores, constraints, families, run, score)
