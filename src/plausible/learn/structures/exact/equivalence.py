"""Greedy equivalence search: steepest ascent over classes of graphs that data can't tell apart."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Literal

import numpy as np

from plausible.base.options import check_seconds
from plausible.data.statistics import Request
from plausible.errors import NotSupported
from plausible.graphs import DAG, PDAG
from plausible.graphs.equivalence import essential_graph
from plausible.graphs.mark_masks import bits
from plausible.learn.scores.score import FamilyScores
from plausible.learn.structures.exact.class_moves import ClassGraph, ClassMove
from plausible.learn.structures.exact.result import BoundedResult, Outcome, bounded_result
from plausible.learn.structures.knowledge import Constraints, Knowledge
from plausible.search.search_state import improves

__all__ = ["ClassSearch", "TimeIsUp", "class_constraints", "search_classes"]

#: Families with so many sets of parents are scored between two looks at the clock.
_BASES_AT_ONCE = 64
#: Told the number of steps and the score; an answer that is true stops the search.
Progress = Callable[[int, float], object]


def search_classes(
    scores: FamilyScores,
    knowledge: Knowledge | None = None,
    *,
    start: DAG | None = None,
    time_limit: float | None = None,
    progress: Progress | None = None,
) -> BoundedResult:
    """Greedy equivalence search (GES): insert edges as long as the score improves, then delete them.

    Each step takes the best operator over all graphs of the class. With enough data from a distribution that is
    faithful to some graph, and a score that is consistent and score equivalent such as BIC or BDeu, the result is the
    class of that graph. The two phases are repeated until neither improves. A step scores only families that no step
    before it has met; the number of operators grows with the cliques among neighbours. A step is taken only if the
    score of a graph of the new class is truly larger: so a search ends, even with a score that is not score equivalent.

    Parameters
    ----------
    scores
        Scores of families, of a score-equivalent score.
    knowledge
        How many parents there may be, and pairs with both directions forbidden. What tells directions apart is refused:
        a class has no directions of its own.
    start
        The search starts at its class; at that of the graph without edges if not given.
    progress
        Told the steps made and the score; an answer that is true stops the search.

    References
    ----------
    Chickering (2002), Optimal structure identification with greedy search, JMLR 3; Meek (1997), Graphical models:
    selecting causal and statistical models, PhD thesis, Carnegie Mellon University.

    Examples
    --------
    >>> class Chain(FamilyScores):
    ...     names = ("A", "B", "C")
    ...     def family(self, child, parents):
    ...         parents = set(parents)
    ...         return self.fit(parents | {child}) - self.fit(parents) - 0.1 * len(parents)
    ...     def fit(self, names): return len(names) - 1.0 if "B" in names else 0.5 * (len(names) == 2)
    >>> search_classes(Chain()).equivalence_class
    PDAG('A - B; B - C')
    """
    began = time.monotonic()
    check_seconds("time_limit", time_limit)
    names = sorted(scores.names)
    deadline = math.inf if time_limit is None else began + time_limit
    search = ClassSearch(scores, names, class_constraints(Knowledge.read(knowledge), names), deadline)
    search.start(start or DAG(nodes=names))
    try:
        stopped = _climb(search, progress)
    except TimeIsUp:
        stopped = "time limit"
    families = [[names.index(str(p)) for p in search.graph.parents(name)] for name in names]
    outcome = Outcome(families, math.inf, stopped, search.steps, time.monotonic() - began)
    return bounded_result(scores, names, search.constraints, outcome)


class TimeIsUp(Exception):
    """The deadline passed while moves were scored."""


def _climb(search: ClassSearch, progress: Progress | None) -> str:
    """Insert and delete by turns until neither improves; why it ended."""
    kind: Literal["insert", "delete"] = "insert"
    phases_without_gain = 0
    while phases_without_gain < 2:
        before = search.steps
        while search.improve(kind):
            if progress is not None and progress(search.steps, search.score):
                return "interrupted"
        phases_without_gain = 0 if search.steps > before else phases_without_gain + 1
        kind = "delete" if kind == "insert" else "insert"
    return "local maximum"


class ClassSearch:
    """Where a search is, with the gains of the moves at each variable, kept as long as nothing around it changes.

    Parameters
    ----------
    scores
        Of families; the same for all graphs of a class.
    names
        The variables.
    constraints
        Pairs that are not joined, and how many parents there may be.
    deadline
        By `time.monotonic`; then `TimeIsUp` is raised.
    class_of
        From a graph to that of its class.
    """

    def __init__(
        self,
        scores: FamilyScores,
        names: list[str],
        constraints: Constraints,
        deadline: float = math.inf,
        class_of: Callable[[DAG], PDAG] = essential_graph,
    ) -> None:
        self._class_of = class_of
        self._scores, self._names, self.constraints, self._deadline = scores, names, constraints, deadline
        self._allowed = [sum(1 << int(v) for v in np.flatnonzero(column)) for column in constraints.allowed.T]
        self._changes: dict[tuple[int, int, int], float] = {}
        self._moves: dict[tuple[str, int], tuple[tuple[int, ...], list[tuple[float, ClassMove]]]] = {}
        self.steps, self.score = 0, -math.inf
        self.graph: DAG
        self.essential: ClassGraph

    def start(self, graph: DAG) -> None:
        """Begin at the class of a graph."""
        self.essential = ClassGraph.of(self._class_of(graph), self._names)
        self.graph, self.score = self.essential.member(), self._scores.graph(graph)

    def improve(self, kind: Literal["insert", "delete"]) -> bool:
        """Go to the class that the best valid move of a kind leads to; whether there was one."""
        found = [entry for y in range(len(self._names)) for entry in self._gains(kind, y)]
        for _, move in sorted(found, key=lambda entry: (-entry[0], entry[1])):
            self.look_at_clock()
            if self.essential.is_valid(move) and self.go(self.essential.after(move)):
                return True
        return False

    def go(self, after: DAG) -> bool:
        """Go to the class of a graph if it has few enough parents and a score that is better; whether it has."""
        if any(len(after.parents(name)) > self.constraints.max_parents for name in self._names):
            return False
        score = self._scores.graph(after)
        if not (score > self.score == -math.inf or improves(score - self.score, self.score)):
            return False
        self.graph, self.score, self.steps = after, score, self.steps + 1
        self.essential = ClassGraph.of(self._class_of(after), self._names)
        return True

    def look_at_clock(self) -> None:
        """Raise `TimeIsUp` after the deadline."""
        if time.monotonic() >= self._deadline:
            raise TimeIsUp

    def _gains(self, kind: Literal["insert", "delete"], y: int) -> list[tuple[float, ClassMove]]:
        """The moves of edges at y that improve the score, valid or not."""
        around = self.essential.surroundings(y)
        known = self._moves.get((kind, y))
        # which insertions there are depends on what is joined with the neighbours of y only
        if known is None or known[0] != around:
            moves = list(self.essential.deletions(y) if kind == "delete" else self._insertions(y))
            self._score(moves)
            sign = 1.0 if kind == "insert" else -1.0
            gains = [(sign * self._changes[move.y, move.base, move.x], move) for move in moves]
            known = around, [(gain, move) for gain, move in gains if improves(gain, self.score)]
            self._moves[kind, y] = known
        return known[1]

    def _insertions(self, y: int) -> Iterator[ClassMove]:
        """Those that leave y with few enough parents."""
        most = self.constraints.max_parents
        return (move for move in self.essential.insertions(y, self._allowed[y]) if move.base.bit_count() < most)

    def _score(self, moves: Iterable[ClassMove]) -> None:
        """What x adds to the score of y with a base, for all x of a base at once."""
        wanted: dict[tuple[int, int], list[int]] = {}
        for _, x, y, _, base in moves:
            if (y, base, x) not in self._changes:
                wanted.setdefault((y, base), []).append(x)
        groups = iter(wanted.items())
        while some := list(islice(groups, _BASES_AT_ONCE)):
            self.look_at_clock()
            asked = [
                Request(self._names[y], self._named(bits(base)), self._named(dict.fromkeys(xs)))
                for (y, base), xs in some
            ]
            before = self._scores.families((request.child, request.parents) for request in asked).tolist()
            found = self._scores.extended_each(asked)
            for ((y, base), xs), score, scores in zip(some, before, found, strict=True):
                for x, after in zip(dict.fromkeys(xs), scores.tolist(), strict=True):
                    self._changes[y, base, x] = after - score

    def _named(self, places: Iterable[int]) -> tuple[str, ...]:
        return tuple(self._names[place] for place in places)


def class_constraints(knowledge: Knowledge, names: list[str]) -> Constraints:
    """What is known, for a search over classes: nothing that tells directions."""
    constraints = knowledge.on(names)
    one_way = constraints.allowed != constraints.allowed.T
    if constraints.required.any() or one_way.any():
        raise NotSupported(
            "A search over equivalence classes can't be told directions: its classes have none. Give Knowledge that "
            "forbids pairs both ways or limits parents, or search graphs or orders instead."
        )
    return constraints
