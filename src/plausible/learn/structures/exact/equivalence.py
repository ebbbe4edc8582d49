"""Greedy equivalence search: steepest ascent over classes of graphs that data can't tell apart."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from plausible.base import Floats, Ints, score_noise
from plausible.errors import NotSupported
from plausible.graphs import DAG
from plausible.graphs.mark_masks import bits
from plausible.learn.scores.score import FamilyScores
from plausible.learn.structures.exact.class_graph import (
    KINDS,
    ClassGraph,
    ClassMove,
    MoveKind,
    ParentMasks,
    dag_of,
    masks_of,
)
from plausible.learn.structures.exact.family_gains import FamilyGains, TimeIsUp, mask_of
from plausible.learn.structures.knowledge import Constraints, FoundGraph, Knowledge, found_graph
from plausible.search.run import Clock, Run
from plausible.search.search_problem import improves


def search_classes(
    scores: FamilyScores,
    knowledge: Knowledge | None = None,
    *,
    start: DAG | None = None,
    time_limit: float | None = None,
    progress: Callable[[int, float], object] | None = None,
) -> FoundGraph:
    """Greedy equivalence search (GES): insert edges as long as the score improves, then delete them.

    Each step takes the best operator over all graphs of the class; the two phases are repeated until neither improves.
    With enough data from a distribution that is faithful to some graph, and a score that is consistent and score
    equivalent such as BIC or BDeu, the result is the class of that graph. A step looks only at
    variables around which something has changed, and scores families that no step before it has met; the number of
    operators grows with the cliques among neighbours. A step is taken only if the
    score of a graph of the new class is truly larger: so a search ends, even with a score that is not score equivalent.
    Chickering (2002), Optimal structure identification with greedy search, JMLR 3; Meek (1997), Graphical models:
    selecting causal and statistical models, PhD thesis, Carnegie Mellon University.

    Parameters
    ----------
    scores
        Of families, by a score-equivalent score.
    knowledge
        How many parents there may be, and pairs with both directions forbidden. What tells directions apart is refused:
        a class has no directions of its own.
    start
        The search starts at its class; by default at that of the graph without edges.
    progress
        Told the steps made and the score; an answer that is true stops the search.

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
    clock, names = Clock.of(time_limit), sorted(scores.names)
    search = ClassSearch(scores, names, class_constraints(Knowledge.read(knowledge), names), clock)
    search.start(start or DAG(nodes=names))
    stopped, is_better = "local maximum", True
    try:
        while is_better and stopped == "local maximum":
            is_better = False
            for kind in KINDS:
                while stopped == "local maximum" and search.improve(kind):
                    is_better = True
                    if progress is not None and progress(search.num_steps, search.score):
                        stopped = "interrupted"
    except TimeIsUp:
        stopped = "time limit"
    families = [list(bits(parents)) for parents in search.member]
    run = Run(families, search.num_steps, stopped, seconds=clock.seconds)
    return found_graph(scores, search.constraints, families, run, math.inf)


#: What finds the class of a graph.
ClassOf: TypeAlias = Callable[[ParentMasks, Sequence[str]], ClassGraph]


class _Moves(NamedTuple):
    """The moves of edges at a variable that gain anything, valid or not, from the largest gain down."""

    gains: Floats
    others: Ints  # x of each
    befores: list[int]  # of each the neighbours that come before the variable, as bits

    @classmethod
    def joined(cls, parts: Sequence[tuple[Floats, Ints, int]]) -> _Moves:
        """Gains by x, for each set of neighbours."""
        gains = np.concatenate([np.empty(0), *(values for values, _, _ in parts)])
        order = np.argsort(-gains, kind="stable")
        order = order[: np.count_nonzero(gains > 0)]
        others = np.concatenate([np.empty(0, dtype=np.int64), *(places for _, places, _ in parts)])[order]
        befores = [before for values, _, before in parts for _ in range(len(values))]
        return cls(gains[order], others, [befores[place] for place in order.tolist()])


class ClassSearch:
    """Where a search is, with the gains of the moves at each variable, kept as long as nothing around it changes."""

    def __init__(
        self,
        scores: FamilyScores,
        names: list[str],
        constraints: Constraints,
        clock: Clock,
        class_of: ClassOf = ClassGraph.of_member,
    ) -> None:
        self._scores, self._names, self.constraints, self._class_of = scores, names, constraints, class_of
        self._gains = FamilyGains(scores, names, clock)
        self._allowed = [mask_of(np.flatnonzero(column)) for column in constraints.allowed.T]
        self._moves: dict[MoveKind, list[_Moves]] = {kind: [_Moves.joined(())] * len(names) for kind in KINDS}
        self._stale: dict[MoveKind, set[int]] = {kind: set(range(len(names))) for kind in KINDS}
        self.member: ParentMasks = (0,) * len(names)
        self.num_steps, self.score = 0, -math.inf
        self._of_families: list[float] = []
        self.essential: ClassGraph

    @property
    def graph(self) -> DAG:
        """A graph of the class."""
        return dag_of(self.member, self._names)

    def start(self, graph: DAG) -> None:
        """Begin at the class of a graph."""
        self.member = masks_of(graph, self._names)
        self.essential = self._class_of(self.member, self._names)
        self._of_families = self._scored(self.member, range(len(self._names)))
        self.score = math.fsum(self._of_families)

    def improve(self, kind: MoveKind) -> bool:
        """Go to the class that the best valid move of a kind leads to; whether there was one.

        Of moves whose gains only rounding tells apart the first is taken, by x, y and what comes before y.
        """
        self._renew(kind)
        noise, known = score_noise(self.score), self._moves[kind]
        tops = np.array([moves.gains[0] if moves.gains.size else -np.inf for moves in known])
        tried = [0] * len(known)
        while (top := tops.max(initial=-np.inf)) > noise:
            near: list[ClassMove] = []
            for y in np.flatnonzero(tops >= top - noise).tolist():
                gains, others, befores = known[y]
                end = int(np.searchsorted(-gains, noise - top, side="right"))
                near += (ClassMove(kind, int(others[place]), y, befores[place]) for place in range(tried[y], end))
                tried[y], tops[y] = end, gains[end] if end < gains.size else -np.inf
            for move in sorted(near):
                self.look_at_clock()
                if self.essential.is_valid(move) and self.go(self.essential.after(move, self.member)):
                    return True
        return False

    def go(self, after: ParentMasks) -> bool:
        """Go to the class of a graph if it has few enough parents and a score that is better; whether it has."""
        changed = [v for v, (new, old) in enumerate(zip(after, self.member, strict=True)) if new != old]
        if any(after[v].bit_count() > self.constraints.max_parents for v in changed):
            return False
        of_families = list(self._of_families)
        for v, score in zip(changed, self._scored(after, changed), strict=True):
            of_families[v] = score
        score = math.fsum(of_families)
        if not (score > self.score == -math.inf or improves(score - self.score, self.score)):
            return False
        before, self.essential = self.essential, self._class_of(after, self._names)
        self.member, self._of_families, self.score = after, of_families, score
        self.num_steps += 1
        near = self.essential.changes(before)
        for stale in self._stale.values():
            stale |= near
        return True

    def look_at_clock(self) -> None:
        """Raise `TimeIsUp` after the deadline."""
        self._gains.look_at_clock()

    def _scored(self, member: ParentMasks, children: Sequence[int]) -> list[float]:
        names = self._names
        families = ((names[v], [names[parent] for parent in bits(member[v])]) for v in children)
        return [float(score) for score in self._scores.families(families)]

    def _renew(self, kind: MoveKind) -> None:
        """Find the moves anew at the variables around which something has changed; all are scored together."""
        sign = 1.0 if kind == "insert" else -1.0
        options = {y: list(self._options(kind, y)) for y in sorted(self._stale[kind])}
        wanted: defaultdict[tuple[int, int], int] = defaultdict(int)
        for y, found in options.items():
            for _, base, others in found:
                wanted[y, base] |= others
        self._gains.score(wanted)
        for y, found in options.items():
            parts = []
            for before, base, others in found:
                places, gains = self._gains.of(y, base, others)
                parts.append((sign * gains, places, before))
            self._moves[kind][y] = _Moves.joined(parts)
        self._stale[kind].clear()

    def _options(self, kind: MoveKind, y: int) -> Iterator[tuple[int, int, int]]:
        """Neighbours that come before y, with that the parents of y but x, and all x that they go with."""
        graph = self.essential
        found = graph.insertions(y, self._allowed[y]) if kind == "insert" else graph.deletions(y)
        for before, others in found:
            base = before | graph.parents[y]
            if kind == "delete":
                yield before, base & ~others, others
            elif base.bit_count() < self.constraints.max_parents:
                yield before, base, others


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
