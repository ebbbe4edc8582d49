"""The phases of FCI after the skeleton of PC: colliders that are doubtful, and sets beyond the neighbours."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from itertools import combinations, islice
from typing import Any, NamedTuple

import numpy as np

from plausible.graphs.mark_masks import MarkMasks, bits
from plausible.learn.constraint_based.orientation import Triple
from plausible.learn.constraint_based.skeleton import Skeleton, SkeletonSearch, SkeletonWork
from plausible.learn.independence.independence_test import IndependenceTest, Question
from plausible.learn.structures.knowledge import Constraints
from plausible.search.run import Clock


def continued(test: IndependenceTest, skeleton: Skeleton, search: SkeletonSearch, known: Constraints) -> SkeletonWork:
    """The work of a phase that starts with the edges which the phase before left."""
    names = sorted(skeleton.neighbors)
    places = {name: place for place, name in enumerate(names)}
    adjacent = np.zeros((len(names), len(names)), dtype=np.bool_)
    for name, row in skeleton.neighbors.items():
        adjacent[places[name], [places[other] for other in row]] = True
    return SkeletonWork(test, replace(known, allowed=adjacent), search)


def merged(first: Skeleton, second: Skeleton) -> Skeleton:
    """What two phases found."""
    longest = max(len(first.num_tests), len(second.num_tests))
    counts = [[*phase.num_tests, *[0] * (longest - len(phase.num_tests))] for phase in (first, second)]
    pairs = {**first.p_values, **second.p_values}
    return Skeleton(
        second.neighbors,
        {**first.separating_sets, **second.separating_sets},
        {pair: max(phase.p_values.get(pair, 0.0) for phase in (first, second)) for pair in pairs},
        tuple(a + b for a, b in zip(*counts, strict=True)),
        (*first.determined, *second.determined),
        second.stopped_by,
    )


def remaining(search: SkeletonSearch, clock: Clock) -> SkeletonSearch:
    """The options for what is left of the time."""
    return search if search.time_limit is None else replace(search, time_limit=clock.seconds_left)


def check_colliders(
    test: IndependenceTest,
    skeleton: Skeleton,
    search: SkeletonSearch,
    known: Constraints,
    find: Callable[[Skeleton], Collection[Triple]],
) -> tuple[Skeleton, Collection[Triple]]:
    """The colliders whose middle causes neither end, and the skeleton without the edges that prove to be too many.

    Sets of neighbours may leave an edge a, b that is not there. Then from a and c being separated by a set without b it
    does not follow that b causes neither; it does if b depends on a and on c given that set. Where it does not, one
    more edge is found out, which may make new triples. At most edges × degree tests.

    Colombo, Maathuis, Kalisch & Richardson (2012), Learning high-dimensional directed acyclic graphs with latent and
    selection variables, lemma 3.1.
    """
    asked: set[Question] = set()
    while True:
        colliders = find(skeleton)
        work = continued(test, skeleton, search, known)
        questions = {*_collider_doubts(work, skeleton, colliders)} - asked
        if skeleton.stopped_by or not questions:
            return skeleton, colliders
        asked |= questions
        for size in range(max(len(question.given) for question in questions) + 1):
            work.num_tests.append(0)
            work.ask(size, sorted(question for question in questions if len(question.given) == size))
        skeleton = merged(skeleton, work.result())


def _collider_doubts(work: SkeletonWork, skeleton: Skeleton, colliders: Collection[Triple]) -> Iterator[Question]:
    """Whether a middle depends on an end given what separates the ends, where this was not asked before."""
    around = {name: frozenset(row) for name, row in skeleton.neighbors.items()}
    for left, middle, right in colliders:
        given = skeleton.separating_sets.get(frozenset((left, right)))
        if given is None:
            continue
        for end in (left, right):
            was_asked = around[end].issuperset(given) or around[middle].issuperset(given)
            if work.is_open(middle, end) and not was_asked:
                yield Question(middle, given, (end,))


#: At most so many sets for each edge are asked about at once.
_MAX_SETS = 512


def possible_d_sep(masks: MarkMasks, node: int, max_path_length: int | None = None, within: int = -1) -> int:
    """The nodes that may be needed to separate a node from another (Spirtes, Glymour & Scheines 2000, 6.7), as bits.

    They are at the ends of paths from the node on which every inner node is a collider or has its two neighbours on
    the path joined. O(edges × degree).
    """
    found, seen = masks.adjacent[node] & within, set()
    frontier = [(node, first) for first in bits(found)]
    length = 1
    while frontier and (max_path_length is None or length < max_path_length):
        steps = []
        for before, here in frontier:
            as_collider = masks.arrow[here] if masks.arrow[here] >> before & 1 else 0
            onward = masks.adjacent[here] & (as_collider | masks.adjacent[before]) & within & ~(1 << before | 1 << node)
            for after in bits(onward):
                if (here, after) not in seen:
                    seen.add((here, after))
                    steps.append((here, after))
            found |= onward
        frontier, length = steps, length + 1
    return found


def possible_causes_of(masks: MarkMasks, nodes: int) -> int:
    """Some nodes and those with a path to one of them without an arrowhead that points back, as bit sets."""
    found = frontier = nodes
    while frontier:
        before = 0
        for node in bits(frontier):
            before |= masks.adjacent[node] & ~masks.arrow_from[node]
        frontier = before & ~found
        found |= before
    return found


class _Doubt(NamedTuple):
    """An edge that may go, and what may separate its ends; the candidates are those of the first end."""

    name: str
    other: str
    candidates: tuple[str, ...]


def refine_skeleton(
    test: IndependenceTest,
    skeleton: Skeleton,
    masks: MarkMasks,
    search: SkeletonSearch,
    known: Constraints,
    max_path_length: int | None = None,
) -> Skeleton:
    """Take out the edges whose ends a set from `possible_d_sep` of one of them separates.

    If a and b are not joined, then the nodes to which collider paths lead from a through ancestors of a and b separate
    them, and so do those of b. Where the former are all neighbours of a, or the latter of b, the first phase has found
    it. So there is a doubt only about edges where both may go further, and one of the two sets is enough: the smaller.
    Of it only those count that are on paths between the two, that is, in the biconnected component of their edge.

    Richardson & Spirtes (2002), Ancestral graph Markov models, section 3.5 (ancestors and collider paths). Colombo,
    Maathuis, Kalisch & Richardson (2012), Learning high-dimensional directed acyclic graphs with latent and selection
    variables (components).
    """
    if skeleton.stopped_by:
        return skeleton
    work = continued(test, skeleton, search, known)
    doubts = list(_edge_doubts(work, masks, max_path_length))
    largest = max((len(doubt.candidates) for doubt in doubts), default=0)
    work.num_tests.append(0)
    for level in range(1, min(largest, largest if search.max_given is None else search.max_given) + 1):
        work.leave_useless(level)
        if work.stopped_by:
            break
        work.num_tests.append(0)
        _level(work, level, doubts, skeleton)
    return merged(skeleton, work.result())


def _edge_doubts(work: SkeletonWork, masks: MarkMasks, max_path_length: int | None) -> Iterator[_Doubt]:
    """The edges that sets beyond the neighbours may take out."""
    import networkx as nx

    graph = nx.Graph((a, b) for a in range(len(masks)) for b in bits(masks.adjacent[a]))
    parts: Iterator[Any] = nx.biconnected_components(graph)
    for component in sorted(sum(1 << node for node in part) for part in parts):
        for a in bits(component):
            for b in bits(masks.adjacent[a] & component & ~((1 << a) - 1)):
                around = possible_causes_of(masks, 1 << a | 1 << b) & component
                sides = [
                    (end, other, possible_d_sep(masks, end, max_path_length, around & ~(1 << other)))
                    for end, other in ((a, b), (b, a))
                ]
                if all(found & ~masks.adjacent[end] for end, _, found in sides):
                    end, other, found = min(sides, key=lambda side: side[2].bit_count())
                    yield _Doubt(work.names[end], work.names[other], tuple(work.names[place] for place in bits(found)))


def _level(work: SkeletonWork, level: int, doubts: Sequence[_Doubt], skeleton: Skeleton) -> None:
    """Ask about all sets of one size, first few for each edge, then more."""
    streams = {doubt: _sets(doubt, level, skeleton) for doubt in doubts}
    done = 0
    while streams and not work.stopped_by:
        size = min(1 + done // 4, _MAX_SETS)  # a round wastes at most a quarter of the tests before it
        done += size
        questions = []
        for doubt in list(streams):
            is_open = work.is_open(doubt.name, doubt.other) and work.has_open(doubt.name)
            subsets = list(islice(streams[doubt], size)) if is_open else []
            questions += [Question(doubt.name, given, (doubt.other,)) for given in subsets]
            if not subsets:
                del streams[doubt]
        work.ask(level, questions)


def _sets(doubt: _Doubt, size: int, skeleton: Skeleton) -> Iterator[tuple[str, ...]]:
    """The sets of a size that are not all neighbours of one end, which were tried before."""
    near = [frozenset(skeleton.neighbors[end]) for end in (doubt.name, doubt.other)]
    for given in combinations(doubt.candidates, size):
        if not any(around.issuperset(given) for around in near):
            yield given
