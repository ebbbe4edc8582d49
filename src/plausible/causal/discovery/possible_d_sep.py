"""The second phase of FCI: separating sets that are not among the neighbours."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations, islice
from typing import Any, NamedTuple

import numpy as np

from plausible.graphs.mark_masks import MarkMasks, bits
from plausible.learn.constraint_based.skeleton import Skeleton, SkeletonSearch, SkeletonWork
from plausible.learn.independence.independence_test import IndependenceTest, Question
from plausible.learn.structures.knowledge import Constraints

__all__ = ["possible_d_sep", "refine_skeleton"]

#: At most so many sets for each variable are asked about at once.
_MAX_SETS = 512


def possible_d_sep(masks: MarkMasks, node: int, max_path_length: int | None = None) -> int:
    """The nodes that may be needed to separate a node from another, as a bit set.

    They are at the ends of paths from the node on which every inner node is a collider or has its two neighbours on
    the path joined. O(edges × degree).

    Parameters
    ----------
    masks
        The skeleton with the arrowheads of unshielded colliders.
    node
        Where the paths begin.
    max_path_length
        Longer paths do not count; `None` for no limit.

    References
    ----------
    Spirtes, Glymour & Scheines (2000), Causation, Prediction, and Search, section 6.7.

    Examples
    --------
    >>> masks = MarkMasks([0b0010, 0b0101, 0b1010, 0b0100])  # a path of four nodes
    >>> bin(possible_d_sep(masks, 0))
    '0b10'
    """
    found, seen = masks.adjacent[node], set()
    frontier = [(node, first) for first in bits(found)]
    length = 1
    while frontier and (max_path_length is None or length < max_path_length):
        steps = []
        for before, here in frontier:
            as_collider = masks.arrow[here] if masks.arrow[here] >> before & 1 else 0
            onward = masks.adjacent[here] & (as_collider | masks.adjacent[before]) & ~(1 << before | 1 << node)
            for after in bits(onward):
                if (here, after) not in seen:
                    seen.add((here, after))
                    steps.append((here, after))
            found |= onward
        frontier, length = steps, length + 1
    return found


class _Question(NamedTuple):
    """A variable, those that may separate it from some neighbours, and these neighbours: within one component."""

    name: str
    candidates: tuple[str, ...]
    others: tuple[str, ...]


def refine_skeleton(
    test: IndependenceTest,
    skeleton: Skeleton,
    masks: MarkMasks,
    search: SkeletonSearch,
    known: Constraints,
    max_path_length: int | None = None,
) -> Skeleton:
    """Take out the edges whose ends a set from `possible_d_sep` of one of them separates.

    A set helps only if all of it is on paths between the two, that is, in the biconnected component of their edge
    (Colombo et al. 2012). Sets of neighbours were tried before.

    Parameters
    ----------
    test
        Answers questions of independence.
    skeleton
        What sets of neighbours leave.
    masks
        The skeleton with the arrowheads of its unshielded colliders, names sorted.
    search
        Options; a time limit is that of this phase.
    known
        Required edges stay.
    max_path_length
        See `possible_d_sep`.
    """
    if skeleton.stopped:
        return skeleton
    names = sorted(skeleton.neighbors)
    adjacent = np.array([[bool(row >> b & 1) for b in range(len(names))] for row in masks.adjacent], dtype=np.bool_)
    work = SkeletonWork(test, replace(known, allowed=adjacent.reshape(len(names), len(names))), search)
    asked = list(_questions(names, masks, max_path_length))
    largest = max((len(question.candidates) for question in asked), default=0)
    work.num_tests.append(0)
    for level in range(1, min(largest, largest if search.max_given is None else search.max_given) + 1):
        work.leave_useless(level)
        if work.stopped:
            break
        work.num_tests.append(0)
        _level(work, level, asked, skeleton)
    return _merged(skeleton, work.result())


def _questions(names: Sequence[str], masks: MarkMasks, max_path_length: int | None) -> Iterator[_Question]:
    """What to ask: only where there are candidates beyond the neighbours."""
    for component in _components(masks):
        for node in bits(component):
            candidates = possible_d_sep(masks, node, max_path_length) & component
            if candidates & ~masks.adjacent[node]:
                others = tuple(names[b] for b in bits(masks.adjacent[node] & component))
                yield _Question(names[node], tuple(names[b] for b in bits(candidates)), others)


def _components(masks: MarkMasks) -> list[int]:
    """The biconnected components as bit sets."""
    import networkx as nx

    graph = nx.Graph((a, b) for a in range(len(masks)) for b in bits(masks.adjacent[a]))
    parts: Iterator[Any] = nx.biconnected_components(graph)
    return sorted(sum(1 << node for node in part) for part in parts)


def _level(work: SkeletonWork, level: int, asked: Sequence[_Question], skeleton: Skeleton) -> None:
    """Ask about all sets of one size, first few of each variable, then more."""
    reach: dict[str, set[str]] = {}
    for question in asked:
        reach.setdefault(question.name, set()).update(question.candidates)
    streams = {question: _sets(question, level, skeleton) for question in asked}
    done = 0
    while streams and not work.stopped:
        size = min(1 + done // 4, _MAX_SETS)  # a round wastes at most a quarter of the tests before it
        done += size
        questions = []
        for key in list(streams):
            others = [other for other in key.others if work.is_open(key.name, other)]
            subsets = list(islice(streams[key], size)) if others and work.has_open(key.name) else []
            if not subsets:
                del streams[key]
            for given in subsets:
                # Where all of them are candidates of the other as well, one of the two asks.
                left = [
                    other
                    for other in others
                    if other not in given and (key.name < other or not reach.get(other, set()).issuperset(given))
                ]
                if left:
                    questions.append(Question(key.name, given, tuple(left)))
        work.ask(level, questions)


def _sets(question: _Question, size: int, skeleton: Skeleton) -> Iterator[tuple[str, ...]]:
    """The sets of a size that are not all neighbours, which were tried before."""
    near = set(skeleton.neighbors[question.name])
    return (given for given in combinations(question.candidates, size) if not near.issuperset(given))


def _merged(first: Skeleton, second: Skeleton) -> Skeleton:
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
        second.stopped,
    )


def remaining(search: SkeletonSearch, start: float) -> SkeletonSearch:
    """The options for what is left of the time since `start`."""
    if search.time_limit is None:
        return search
    return replace(search, time_limit=max(0.0, search.time_limit - (time.monotonic() - start)))
