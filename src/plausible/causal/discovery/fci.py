"""FCI: what tests of independence tell about causes where some causes may be hidden, and where they contradict."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, Literal, TypeAlias, Unpack, final

import numpy as np

from plausible.base import Result, check_count, record
from plausible.causal.discovery.skeleton_phases import check_colliders, refine_skeleton, remaining
from plausible.data.table import TableLike
from plausible.errors import InvalidArgument, counted, suggestion
from plausible.graphs import MAG, PAG, Mark, pag_member, stands_for_class
from plausible.graphs.mark_masks import MarkMasks, adjacency_masks, bits
from plausible.graphs.pag_rules import DiscriminatingPath, MarkRules
from plausible.learn.constraint_based.orientation import (
    VARIANTS,
    ConstraintBasedResult,
    Triple,
    Variant,
    find_colliders,
    warn_untested,
)
from plausible.learn.constraint_based.pc import read_knowledge
from plausible.learn.constraint_based.skeleton import Skeleton, SkeletonOptions, SkeletonSearch, find_skeleton
from plausible.learn.independence.gaussian_tests import TestName, read_test
from plausible.learn.independence.independence_test import IndependenceTest
from plausible.learn.structures.knowledge import Constraints, Knowledge
from plausible.search.run import Clock

Kind: TypeAlias = Literal["opposed marks", "against knowledge", "cycle", "ancestor", "undirected", "no class"]
End: TypeAlias = tuple[int, int]

_SENTENCES: dict[Kind, str] = {
    "opposed marks": "At {0} on its edge to {1} the tests speak both for an arrowhead and for a tail.",
    "against knowledge": "At {0} on its edge to {1} the tests speak against knowledge, which stands.",
    "cycle": "{0} -> {1} would be in a directed cycle: both its ends are open again.",
    "ancestor": "{0} <-> {1} says that {0} is no ancestor of {1}, but other edges do: its end at {0} is open again.",
    "undirected": "{0} - {1} meets an arrowhead, or there is no selection that could make it: its ends are open.",
    "no class": "No ancestral graph has exactly these marks in all members of its class: that tells of selection, "
    "feedback or unfaithfulness, or of tests that err.",
}


@record
class MarkConflict(Result):
    """A contradiction between marks: a sign of too few rows, of a cycle, or of an assumption that does not hold."""

    #: What contradicts: two marks at one end, tests and knowledge, directed edges that form a cycle, `<->` between a
    #: node and an ancestor of it, an edge `-` where there can be none, or marks that stand for no class.
    kind: Kind
    #: The end in question, and the other one of its edge; () where it is about all marks together.
    names: tuple[str, ...] = ()

    def __str__(self) -> str:
        return _SENTENCES[self.kind].format(*self.names)


def take_back(masks: MarkMasks, names: Sequence[str], *, selection: bool) -> list[MarkConflict]:
    """Make circles of marks until no two contradict each other."""
    import networkx as nx

    nodes = range(len(masks))

    def directed() -> Any:
        return nx.DiGraph((a, b) for a in nodes for b in bits(masks.children(a)))

    def reopened(kind: Kind, ends: Iterable[End]) -> list[MarkConflict]:
        pairs = sorted(ends)
        for node, other in pairs:
            masks.put(node, other, Mark.CIRCLE)
            if kind != "ancestor":
                masks.put(other, node, Mark.CIRCLE)
        return [MarkConflict(kind, (names[node], names[other])) for node, other in pairs]

    arrows = directed()
    parts = enumerate(nx.strongly_connected_components(arrows))
    part_of = {node: number for number, part in parts for node in part}
    found = reopened("cycle", [(a, b) for a, b in arrows.edges if part_of[a] == part_of[b]])
    lines = ((a, b) for a in nodes for b in bits(masks.tail[a] & masks.tail_from[a]) if a < b)
    found += reopened("undirected", [(a, b) for a, b in lines if not selection or masks.arrow[a] or masks.arrow[b]])
    arrows = directed()
    double = ((a, b) for a in nodes for b in bits(masks.arrow[a] & masks.arrow_from[a]) if {a, b} <= set(arrows))
    return found + reopened("ancestor", [(a, b) for a, b in double if nx.has_path(arrows, a, b)])


def cycle_conflicts(cycles: Iterable[Sequence[int]], names: Sequence[str]) -> list[MarkConflict]:
    """The edges of cycles of circles that only selection makes, where there is none."""
    ends = {(min(pair), max(pair)) for cycle in cycles for pair in pairwise((*cycle, cycle[0]))}
    return [MarkConflict("undirected", (names[a], names[b])) for a, b in sorted(ends)]


@final
@record
class PAGResult(ConstraintBasedResult[PAG]):
    """A partial ancestral graph and what it rests on.

    Attributes
    ----------
    graph
        Without conflicts, ambiguous triples and knowledge the PAG of an equivalence class, if the search was not
        stopped. With knowledge but no conflicts, some members of a class have all its marks.
    separating_sets, p_values, num_tests, conflicts, ambiguous, determined, stopped_by
        What the graph rests on: see `ConstraintResult`.
    """

    conflicts: tuple[MarkConflict, ...] = ()
    selection: bool = False  # Whether the rows may have been selected by what the variables cause

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What must hold of the world for the marks to be true of it."""
        always = ("no feedback", "causal Markov", "faithfulness", "tests are right")
        return always if self.selection else (*always, "no selection")

    def member(self) -> MAG:
        """One MAG of the class; `InvalidGraph` if the tests contradict each other so that there is none."""
        return pag_member(self.graph)

    def _described(self) -> str:
        circles = sum(edge.mark_at(end) is Mark.CIRCLE for edge in self.graph.edges for end in edge.ends)
        return f"{counted(self.graph.num_edges, 'edge')} with {counted(circles, 'open end')}"


def fci(
    source: TableLike | IndependenceTest,
    *,
    test: TestName = "auto",
    alpha: float = 0.05,
    variant: Variant = "stable",
    knowledge: Knowledge | None = None,
    max_given: int | None = None,
    max_path_length: int | None = None,
    selection: bool = False,
    **options: Unpack[SkeletonOptions],
) -> PAGResult:
    """Learn a partial ancestral graph by tests of independence, with any number of latent causes.

    The skeleton of PC loses the edges that `check_colliders` and `refine_skeleton` find to be too many: some set of
    `possible_d_sep` separates their ends. Unshielded colliders get their arrowheads (R0), and rules R1 to R4 and R8 to
    R10, with selection R5 to R7 as well, all marks that follow. With tests that are right about a distribution faithful
    to some DAG with latent and selected variables, the result is the PAG of its class: `pag_of`. Where tests contradict
    each other a mark stays a circle and `conflicts` says so; the answer does not depend on the order of the columns.
    The second phase asks 2^|possible_d_sep| tests of an edge at worst, but few edges need it. See Spirtes, Meek &
    Richardson (1999), An algorithm for causal inference in the presence of latent variables and selection bias. Zhang
    (2008), On the completeness of orientation rules for causal discovery in the presence of latent confounders and
    selection bias. Colombo, Maathuis, Kalisch & Richardson (2012), Learning high-dimensional directed acyclic graphs
    with latent and selection variables.

    Parameters
    ----------
    source
        What `Table.read` takes, or a test such as `GTest(frame)` or `MSeparationOracle(graph, latent)`.
    test
        Which test, for data: "auto", "g", "chi-square", "permutation", "fisher-z" or "conditional-gaussian".
    variant
        How the skeleton and colliders are told: see `pc`. From rows "majority" gets more marks right than "stable"; it
        asks 2^degree tests of each unshielded triple.
    knowledge
        A required edge A -> B is there. A forbidden one says that A is no cause of B: an edge between them has an
        arrowhead at A. If both directions are forbidden, what the tests leave is `A <-> B`. So it is with tiers. The
        rules find what follows, but with knowledge they need not find all.
    max_given
        At most so many variables are given; `None` for no limit.
    max_path_length
        Of the paths of the second phase; 1 leaves it out, which is fast but may leave edges that should go.
    selection
        Whether the rows may have been selected by effects of the variables: only then edges have tails at both ends.
    **options
        `false_discovery_rate` (of the first phase), `progress`, `time_limit`: see `SkeletonSearch`.

    Examples
    --------
    >>> from plausible.learn.independence.independence_test import MSeparationOracle
    >>> found = fci(MSeparationOracle("D -> G <- I -> S; G -> J"))
    >>> found.graph
    PAG('D o-> G; I o-> G; G -> J; I o-o S')
    >>> fci(MSeparationOracle("A -> B <- L -> C <- D", latent="L")).graph
    PAG('A o-> B; B <-> C; D o-> C')
    """
    if variant not in VARIANTS:
        raise InvalidArgument(f"There is no variant {variant!r} of FCI.{suggestion(variant, VARIANTS)}")
    if max_path_length is not None:
        check_count("max_path_length", max_path_length, 1)
    clock, asked = Clock.of(options.get("time_limit")), read_test(source, test, Knowledge.read(knowledge).names)
    known = read_knowledge(knowledge, asked)
    search = SkeletonSearch(alpha=alpha, is_stable=variant != "original", max_given=max_given, **options)
    joined = replace(known, allowed=~np.eye(len(known.allowed), dtype=np.bool_))
    skeleton = find_skeleton(asked, joined, search)
    skeleton, colliders = check_colliders(
        asked, skeleton, remaining(search, clock), known, lambda found: find_colliders(asked, found, alpha, "stable")[0]
    )
    masks, _ = _with_colliders(skeleton, colliders, known, selection)
    skeleton = refine_skeleton(asked, skeleton, masks, remaining(search, clock), known, max_path_length)
    colliders, ambiguous = find_colliders(asked, skeleton, alpha, variant, recorded_votes=True)
    masks, fixed = _with_colliders(skeleton, colliders, known, selection)
    conflicts = _orient(masks, fixed, skeleton, ambiguous, known, selection)
    graph = PAG(masks.edges(sorted(skeleton.neighbors)), nodes=asked.names)
    # Knowledge that requires or forbids anything narrows the class; ambiguous triples and a search that was stopped
    # leave marks open that a class has.
    narrowed = bool(known.required.any() or not known.allowed[joined.allowed].all())
    if not (ambiguous or skeleton.stopped_by or stands_for_class(graph, narrowed=narrowed)):
        conflicts.append(MarkConflict("no class"))
    found = PAGResult(
        graph,
        skeleton.separating_sets,
        skeleton.p_values,
        skeleton.num_tests,
        tuple(conflicts),
        ambiguous,
        skeleton.determined,
        skeleton.stopped_by,
        selection,
    )
    warn_untested(found, known)
    return found


def _orient(
    masks: MarkMasks,
    fixed: set[End],
    skeleton: Skeleton,
    ambiguous: Iterable[Triple],
    known: Constraints,
    selection: bool,
) -> list[MarkConflict]:
    """Put the marks that follow; where marks contradict each other."""
    names = sorted(skeleton.neighbors)
    places = {name: place for place, name in enumerate(names)}

    def is_collider(path: DiscriminatingPath) -> bool | None:
        given = skeleton.separating_sets.get(frozenset((names[path.theta], names[path.gamma])))
        return None if given is None else names[path.beta] not in given

    unsure = [(places[a], places[b], places[c]) for a, b, c in ambiguous]
    rules = MarkRules(masks, is_collider, selection=selection, ambiguous=unsure)
    is_new = True
    while is_new:
        rules.close()
        # Arrowheads at A where `A o-> B` must not become `A -> B`.
        for a in range(len(masks)):
            for b in bits(masks.circle(a) & masks.arrow_from[a]):
                if not known.allowed[a, b]:
                    masks.want(a, b, Mark.ARROW)
        is_new = masks.settle()
    conflicts = [
        MarkConflict("against knowledge" if end in fixed else "opposed marks", (names[end[0]], names[end[1]]))
        for end in sorted(masks.conflicts)
    ]
    conflicts += take_back(masks, names, selection=selection)
    return conflicts if selection else conflicts + cycle_conflicts(rules.circle_cycles(), names)


def _with_colliders(
    skeleton: Skeleton, colliders: Iterable[Triple], known: Constraints, selection: bool
) -> tuple[MarkMasks, set[End]]:
    """The skeleton, names sorted, with the marks of knowledge and of colliders; and the ends that knowledge marks."""
    names = sorted(skeleton.neighbors)
    places = {name: place for place, name in enumerate(names)}
    pairs = ((places[name], places[other]) for name, row in skeleton.neighbors.items() for other in row)
    masks = MarkMasks(adjacency_masks(len(names), pairs))
    fixed = set()
    for a in range(len(names)):
        for b in bits(masks.adjacent[a]):
            # With selection, that A does not cause B does not make an arrowhead: A may cause what selects.
            if known.required[a, b] or known.required[b, a] or not (selection or known.allowed[a, b]):
                masks.put(a, b, Mark.TAIL if known.required[a, b] else Mark.ARROW)
                fixed.add((a, b))
    for left, middle, right in colliders:
        for end in (left, right):
            masks.want(places[middle], places[end], Mark.ARROW)
    masks.settle()
    return masks, fixed
