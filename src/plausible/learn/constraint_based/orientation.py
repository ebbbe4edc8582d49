"""From a skeleton to a partially directed graph: colliders, knowledge, Meek's rules, and what contradicts.

Also what tests can't tell of copies.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from itertools import combinations
from typing import TYPE_CHECKING, ClassVar, Generic, Literal, TypeAlias, TypeVar, final

import numpy as np

from plausible.base import Result, record
from plausible.errors import CyclicGraph, PlausibleWarning, counted, warn_caller
from plausible.graphs import DAG, PDAG, Edge, Orientation, immoralities
from plausible.graphs.marked import MarkedGraph
from plausible.learn.constraint_based.skeleton import Pair, Skeleton
from plausible.learn.independence.independence_test import Answers, IndependenceTest, Question
from plausible.learn.structures.knowledge import Constraints

if TYPE_CHECKING:
    import pandas as pd

Variant: TypeAlias = Literal["stable", "original", "majority", "conservative"]

Verdict: TypeAlias = Literal["collider", "no collider", "ambiguous"]

VARIANTS = ("stable", "original", "majority", "conservative")


#: A variable between two neighbours of it: (left, middle, right), left before right by name.
Triple: TypeAlias = tuple[str, str, str]
Arrow: TypeAlias = tuple[str, str]  # An edge and the end that it points into: (tail, head)
Kind: TypeAlias = Literal["opposed colliders", "against knowledge", "cycle", "new collider"]

_SENTENCES: dict[Kind, str] = {
    "opposed colliders": "{0} - {1} stays undirected: one collider needs {0} -> {1}, another one {1} -> {0}.",
    "against knowledge": "A collider needs {0} -> {1}, but knowledge says {1} -> {0}, which stands.",
    "cycle": "{0} - {1} stays undirected: {0} -> {1} follows, but would close a directed cycle.",
    "new collider": "{0} -> {1} <- {2} follows from other directions, though the tests speak against this collider.",
}


@record
class Conflict(Result):
    """A contradiction between directions: a sign of too few rows, or of a common cause that is not in the data."""

    #: What contradicts: two colliders about one edge, a collider and knowledge, directions that close a cycle, or a
    #: collider that Meek's rules force and the tests do not confirm.
    kind: Kind
    names: tuple[str, ...]  # The edge (tail, head), or the collider (left, middle, right)

    def __str__(self) -> str:
        return _SENTENCES[self.kind].format(*self.names)


def unshielded_triples(neighbors: Mapping[str, Sequence[str]]) -> Iterator[Triple]:
    """All (left, middle, right) with edges at the middle and none between left and right."""
    around = {name: set(row) for name, row in neighbors.items()}
    for middle in sorted(neighbors):
        for left, right in combinations(sorted(neighbors[middle]), 2):
            if right not in around[left]:
                yield left, middle, right


def orient(
    names: Sequence[str],
    neighbors: Mapping[str, Sequence[str]],
    colliders: Iterable[Triple],
    known: Constraints,
    ambiguous: Iterable[Triple] = (),
) -> tuple[PDAG, tuple[Conflict, ...]]:
    """Direct the edges of a skeleton as far as colliders, knowledge and Meek's rules say.

    Contradictions leave an edge undirected rather than let the first direction win, so that the graph does not depend
    on any order. Knowledge always stands: where it directs edges that were found in a cycle, it is refused.
    """
    ordered, colliders = sorted(names), list(colliders)
    places = {name: place for place, name in enumerate(ordered)}
    edges = [(a, b) for a in ordered for b in sorted(neighbors[a])]
    fixed = {(a, b) for a, b in edges if not known.allowed[places[b], places[a]]}
    try:
        DAG(sorted(fixed))
    except CyclicGraph as error:
        advice = "Knowledge directs these edges, which the tests found, in a circle: forbid one of them both ways."
        raise CyclicGraph(error.cycle, advice) from None
    wanted = {(end, middle) for left, middle, right in colliders for end in (left, right)}
    arrows, conflicts = set(), []
    for tail, head in sorted(wanted):
        if (head, tail) in fixed:
            conflicts.append(Conflict("against knowledge", (tail, head)))
        elif (head, tail) not in wanted or (tail, head) in fixed:
            arrows.add((tail, head))
        elif tail < head:
            conflicts.append(Conflict("opposed colliders", (tail, head)))
    closing = _in_cycles(arrows | fixed) - fixed
    conflicts += [Conflict("cycle", arrow) for arrow in sorted(closing)]
    arrows = (arrows | fixed) - closing
    lines = [(a, b) for a, b in edges if a < b and (a, b) not in arrows and (b, a) not in arrows]
    directed, undirected = [Edge.of(a, "->", b) for a, b in sorted(arrows)], [Edge.of(a, "-", b) for a, b in lines]
    before = PDAG([*directed, *undirected], nodes=ordered)  # sorted: contradictions are met in the order of the nodes
    # A collider that could not be had is still none of the triples that Meek's rules may count on.
    after, cyclic = _close(before, [*ambiguous, *colliders])
    conflicts += [Conflict("cycle", arrow) for arrow in cyclic]
    conflicts += [Conflict("new collider", triple) for triple in _triples(after) - _triples(before) - set(colliders)]
    conflicts.sort(key=lambda conflict: (conflict.kind, conflict.names))
    return PDAG(after.edges, nodes=names), tuple(conflicts)


def _triples(pdag: PDAG) -> set[Triple]:
    """The immoralities."""
    found = set()
    for one in immoralities(pdag):
        left, right = sorted((str(one.left), str(one.right)))
        found.add((left, str(one.child), right))
    return found


def _in_cycles(arrows: Iterable[Arrow]) -> set[Arrow]:
    """The arrows within strongly connected components: all that are in some directed cycle."""
    import networkx as nx

    graph = nx.DiGraph(sorted(arrows))
    component = {name: place for place, part in enumerate(nx.strongly_connected_components(graph)) for name in part}
    return {(tail, head) for tail, head in graph.edges if component[tail] == component[head]}


def _close(pdag: PDAG, ambiguous: Iterable[Triple]) -> tuple[PDAG, list[Arrow]]:
    """Meek's rules; the directions that would close a cycle are taken back and listed."""
    work = _CautiousOrientation(pdag, ambiguous)
    found = work.close()
    names = [str(node) for node in pdag.nodes]
    arrows = {(names[a], names[b]): (a, b) for a, row in enumerate(work.children) for b in row}
    taken_back = _in_cycles(arrows) & {(names[a], names[b]) for a, b in found}
    for arrow in taken_back:
        work.undo(*arrows[arrow])
    return work.to_pdag(), sorted(taken_back)


class _CautiousOrientation(Orientation):
    """Meek's rules, except where they count on an ambiguous triple not to be a collider."""

    def __init__(self, pdag: PDAG, ambiguous: Iterable[Triple]) -> None:
        super().__init__(pdag)
        places = {str(node): place for place, node in enumerate(pdag.nodes)}
        self._ambiguous: dict[int, list[frozenset[int]]] = {}
        for left, middle, right in ambiguous:
            self._ambiguous.setdefault(places[middle], []).append(frozenset((places[left], places[right])))

    def _consequences(self, a: int, b: int) -> Iterator[tuple[int, int]]:
        for source, target in super()._consequences(a, b):
            unsure = self._ambiguous.get(source, ())
            if source == b:  # rule 1 counts on a, b and the target
                is_sure = frozenset((a, target)) not in unsure
            else:  # rule 3 counts on two neighbours of the source that point into the target
                is_sure = not any(ends <= self.neighbors[source] & self.parents[target] for ends in unsure)
            if is_sure:
                yield source, target


GraphT = TypeVar("GraphT", bound=MarkedGraph)


@record
class ConstraintBasedResult(Result, ABC, Generic[GraphT]):
    """A graph learned by tests, and what it rests on."""

    graph: GraphT  # What the tests say
    separating_sets: Mapping[Pair, tuple[str, ...]] = field(repr=False)  # Pair -> what made it independent
    #: Pair -> the largest p-value of its tests: for an edge, how nearly it was taken out.
    p_values: Mapping[Pair, float] = field(repr=False)
    num_tests: tuple[int, ...]  # How many tests were made with 0, 1, ... given.
    conflicts: tuple[object, ...] = ()  # What contradicted each other, and what was made of it
    #: Triples (left, middle, right) of which the tests do not tell whether they are colliders.
    ambiguous: tuple[Triple, ...] = ()
    #: Pairs separated by a set that determines one of them, such as a copy of it: independent they are then, whether or
    #: not they have to do with each other besides.
    determined: tuple[Pair, ...] = ()
    stopped_by: Literal["", "time limit", "interrupted"] = ""  # "" if the search came to its end

    _also: ClassVar[tuple[str, ...]] = ("untested",)

    @property
    def untested(self) -> tuple[Pair, ...]:
        """The edges that no test was made of: knowledge requires them, the search was stopped, or rows are too few."""
        pairs = (frozenset(map(str, edge.ends)) for edge in self.graph.edges)
        return tuple(pair for pair in pairs if pair not in self.p_values)

    def to_frame(self) -> pd.DataFrame:
        """A row for each edge, with the largest p-value of its tests; NaN where none was made."""
        import pandas as pd

        rows = [
            (edge.left, edge.symbol, edge.right, self.p_values.get(frozenset(map(str, edge.ends)), np.nan))
            for edge in self.graph.edges
        ]
        return pd.DataFrame(rows, columns=["left", "edge", "right", "p_value"])

    @abstractmethod
    def _described(self) -> str:
        """The edges, counted by kind."""

    def __str__(self) -> str:
        parts = [
            f"{counted(len(self.graph.nodes), 'variable')}, {self._described()}",
            counted(sum(self.num_tests), "test"),
            counted(len(self.conflicts), "conflict") if self.conflicts else "",
            counted(len(self.ambiguous), "ambiguous triple") if self.ambiguous else "",
            f"{counted(len(self.determined), 'pair')} separated by what determines one" if self.determined else "",
            counted(len(self.untested), "untested edge") if self.untested else "",
            f"stopped by {self.stopped_by}" if self.stopped_by else "",
        ]
        return f"{'; '.join(filter(None, parts))}\n{self.graph}"


def warn_untested(found: ConstraintBasedResult[GraphT], known: Constraints) -> None:
    """Name the edges that are there because no test of them could be made."""
    required, names = known.required | known.required.T, sorted(map(str, found.graph.nodes))
    untested = sorted(sorted(pair) for pair in found.untested)
    pairs = [f"{a} - {b}" for a, b in untested if not required[names.index(a), names.index(b)]]
    if pairs and not found.stopped_by:
        shown = ", ".join(pairs[:5]) + (", ..." if len(pairs) > 5 else "")
        warn_caller(
            f"{counted(len(pairs), 'edge')} could not be tested, for too few rows, and stayed: {shown}. Join states of "
            "these variables, leave out those with hardly a state twice, or gather more rows.",
            PlausibleWarning,
        )


def find_colliders(
    test: IndependenceTest, skeleton: Skeleton, alpha: float, variant: Variant, *, recorded_votes: bool = False
) -> tuple[list[Triple], tuple[Triple, ...]]:
    """The unshielded triples that are colliders, and those of which the tests do not tell."""
    verdicts: dict[Triple, Verdict] = {}
    recorded: dict[Triple, tuple[str, ...]] = {}
    voting: dict[Pair, set[tuple[str, ...]]] = {}  # the sets of a pair vote on all that are between its ends
    for triple in unshielded_triples(skeleton.neighbors):
        left, middle, right = triple
        pair = frozenset((left, right))
        given = skeleton.separating_sets.get(pair)
        if given is None or variant in ("majority", "conservative"):  # or nothing was tested
            if pair not in voting:
                voting[pair] = _separators(test, skeleton, alpha, left, right)
                if recorded_votes and given is not None:
                    voting[pair].add(given)
            verdicts[triple] = _verdict(voting[pair], middle, variant)
        else:
            verdicts[triple] = "no collider" if middle in given else "collider"
        if verdicts[triple] == "collider" and given is not None and variant in ("stable", "original"):
            recorded[triple] = given  # told by one set, in which the middle could as well be
    verdicts |= dict.fromkeys(interchangeable(test, recorded), "ambiguous")
    ambiguous = tuple(triple for triple, verdict in verdicts.items() if verdict == "ambiguous")
    return [triple for triple, verdict in verdicts.items() if verdict == "collider"], ambiguous


def _separators(
    test: IndependenceTest, skeleton: Skeleton, alpha: float, left: str, right: str
) -> set[tuple[str, ...]]:
    """The sets of neighbours of either variable that separate both."""
    largest = max(len(skeleton.num_tests) - 1, 0)
    sides = [[one for one in skeleton.neighbors[end] if one not in (left, right)] for end in (left, right)]
    subsets = sorted({given for side in sides for size in range(largest + 1) for given in combinations(side, size)})
    separates = test.ask([Question(left, given, (right,)) for given in subsets]).are_independent(alpha)
    return {subsets[place] for place in np.flatnonzero(separates).tolist()}


def _verdict(separators: Collection[tuple[str, ...]], middle: str, variant: Variant) -> Verdict:
    """By the share of the sets that separate its ends and have the middle in them."""
    share = sum(middle in given for given in separators) / len(separators) if separators else 0.5
    if variant == "conservative":
        return "collider" if share == 0 else "no collider" if share == 1 else "ambiguous"
    return "collider" if share < 0.5 else "no collider" if share > 0.5 else "ambiguous"


@final
class CopyGuard(IndependenceTest):
    """A test that says nothing of x and y where a copy of one of them is given.

    Given a copy, a variable is independent of all, and so is the copy given the variable: taken at their word such
    tests would leave neither an edge. Two variables are copies if each determines the other. Tests given what
    determines x, but is not determined by it, count. With it `pc`, `structure_from_blankets` and `causal.fci` keep more
    edges of data in which variables determine each other, at the price of more tests.

    >>> from plausible.learn.constraint_based.pc import pc
    >>> from plausible.learn.independence.count_tests import GTest
    >>> rows = {"a": [0, 1] * 50, "copy": [0, 1] * 50, "b": [0, 1, 0, 1, 0, 1, 0, 1, 1, 0] * 10}
    >>> pc(GTest(rows)).graph.num_edges, pc(CopyGuard(GTest(rows))).graph.num_edges
    (1, 3)
    """

    plain: IndependenceTest  # The test without the guard

    def __init__(self, test: IndependenceTest) -> None:
        self.plain, self.names = test, test.names
        self._are_copies: dict[tuple[str, str, str], bool] = {}

    def ask(self, questions: Sequence[Question]) -> Answers:
        answers = self.plain.ask(questions)
        determined = np.flatnonzero(answers.are_determined).tolist()
        if determined:
            asked = [(x, other, given) for x, given, others in questions for other in others]
            hidden = [place for place in determined if self._has_copy(*asked[place])]
            for values in (answers.statistics, answers.p_values):
                values[hidden] = np.nan
            answers.are_reliable[hidden] = False
        return answers

    def _has_copy(self, x: str, y: str, given: tuple[str, ...]) -> bool:
        """Whether one of those given and x, or y, determine each other: each leaves nothing to compare of the other."""
        for key in [(one, copy, other) for copy in given for one, other in ((x, y), (y, x))]:
            if key not in self._are_copies:
                one, copy, other = key
                answers = self.plain.ask([Question(one, (copy,), (other,)), Question(copy, (one,), (other,))])
                self._are_copies[key] = bool(answers.are_determined.all())
            if self._are_copies[key]:
                return True
        return False


def interchangeable(test: IndependenceTest, separators: Mapping[Triple, tuple[str, ...]]) -> set[Triple]:
    """The triples whose middle could stand in a set that separates their ends, in place of one that is in it.

    A copy of a common cause separates its effects as well as the cause does: that the cause is not in the set then
    shows no collider. So it is where the set determines the middle, or the middle and the rest of the set determine
    one of the set: a test of the one against an end has no degrees of freedom, given the others.
    """
    asked: list[tuple[Triple, Question]] = []
    for triple, given in separators.items():
        left, middle, _ = triple
        if given:
            asked.append((triple, Question(middle, given, (left,))))
        for one in given:
            rest = sorted({*given, middle} - {one})
            asked.append((triple, Question(one, tuple(rest), (left,))))
    plain = test.plain if isinstance(test, CopyGuard) else test  # which says what a copy determines
    answers = plain.ask([question for _, question in asked])
    return {asked[place][0] for place in np.flatnonzero(answers.are_determined).tolist()}
